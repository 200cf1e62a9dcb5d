"""The one way in which files are written: at any moment there is the old one or the new one, whole."""

import os
import secrets
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from gapdrift.errors import StorageError

__all__ = ["as_path", "cannot_be_kept", "copy_pipe", "reason_of", "write_file"]

FIRST_BYTES = 16
"""Bytes by which a format is recognised."""


def write_file(path: str | PathLike[str], data: bytes | str) -> None:
    """Write a file so that at any moment there is the old one or the new one, whole.

    The new content is written under a random name in the same folder, flushed to the disk, and then takes the name of
    the file. A file that is replaced keeps its permissions; what a link leads to is replaced, not the link.

    Parameters
    ----------
    path : str or path
        A device or a pipe is written into: to replace it would destroy it.
    data : bytes or str
        Text is written as UTF-8. A character that has no such form (half of a surrogate pair) is written as an XML
        character reference: reports show names of columns, which may hold anything.

    Raises
    ------
    StorageError
        Where the system refuses. An older file is then untouched, and no draft is left behind.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_file(path, "<p>Größe</p>")
    >>> path.read_text(encoding="utf-8")
    '<p>Größe</p>'
    """
    content = data.encode("utf-8", "xmlcharrefreplace") if isinstance(data, str) else data
    given = as_path(path)
    with _refusals(given):
        target = given.resolve()
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(content)
            return
    draft = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.part")
    with _refusals(given):
        file = draft.open("xb")
    try:
        with _refusals(given):
            with file:
                # Before anything is in it: what only its owner may read is never open to others.
                with suppress(FileNotFoundError):
                    draft.chmod(stat.S_IMODE(target.stat().st_mode))
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
    finally:
        # Gone where all went well; left behind otherwise, also by an interrupt from the keyboard.
        with suppress(OSError):
            draft.unlink()
    _sync_folder(target.parent)


def as_path(path: Any) -> Path:
    """Path of a text or path; anything else raises a `StorageError`, and so does an empty text, which is no folder."""
    if path == "":
        raise StorageError("The path is '', expected the name of a file.")
    try:
        return Path(path)
    except TypeError as error:
        raise StorageError(f"The path is a {type(path).__name__}, expected a text or a path.") from error


def copy_pipe(pipe: Path, owner: object, ending_of: Callable[[bytes], str]) -> Path:
    """Temporary file with all that comes out of a pipe. It is removed when its owner is.

    Parameters
    ----------
    pipe : Path
    owner : object
    ending_of : callable
        Returns the ending of the file's name, given its first bytes.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="gapdrift-")
        weakref.finalize(owner, folder.cleanup)
        copy = Path(folder.name) / pipe.name
        with pipe.open("rb") as source, copy.open("wb") as target:
            first = source.read(FIRST_BYTES)
            target.write(first)
            shutil.copyfileobj(source, target)
        return copy.rename(copy.with_name(copy.name + ending_of(first)))
    except OSError as error:
        raise cannot_be_kept(f"The pipe {pipe}", error) from error


def cannot_be_kept(what: str, error: Exception) -> StorageError:
    """Error that says why rows that can be read only once cannot be kept in a temporary file."""
    return StorageError(
        f"{what} can be read only once, and its rows cannot be kept in a temporary file: {reason_of(error)}. Expected "
        "room for all of them, and cells of numbers, text or dates. Name a folder with more room by the environment "
        "variable TMPDIR, or give files."
    )


def reason_of(error: Exception) -> str:
    """Why the system refused, in its own words and without a full stop."""
    return getattr(error, "strerror", None) or str(error).rstrip(".") or type(error).__name__


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Turn whatever the system refuses into an error of ours."""
    try:
        yield
    # A path with a zero byte is a ValueError, a circle of links a RuntimeError.
    except (OSError, ValueError, RuntimeError) as error:
        raise StorageError(
            f"Cannot write {str(path)!r}: {reason_of(error)}. An older file is untouched. Give a file in a folder that "
            "exists and may be written to."
        ) from error


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power failure, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
