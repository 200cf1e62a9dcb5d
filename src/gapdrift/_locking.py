"""A lock between processes: whoever holds it is alone."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: there two runs are told apart when they write.
    HAS_LOCKS = False
else:
    HAS_LOCKS = True

__all__ = ["exclusive_file"]


@contextmanager
def exclusive_file(path: Path, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock that a file stands for; wait for whoever holds it.

    Parameters
    ----------
    path : Path
        The file is created, and removed at the end. A file that a killed process left behind locks nothing.
    on_wait : callable, optional
        Called once if another process holds the lock.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "history.db.lock"
    >>> with exclusive_file(path):
    ...     path.exists()
    True
    >>> path.exists()
    False
    """
    if not HAS_LOCKS:
        yield
        return
    handle = _acquire(path, on_wait)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(handle)


def _acquire(path: Path, on_wait: Callable[[], None] | None) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if on_wait is not None:
                on_wait()
                on_wait = None
            fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        # Whoever held it has removed the file meanwhile: the lock of that one is worth nothing.
        os.close(handle)
