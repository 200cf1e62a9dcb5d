"""Progress on a terminal; nothing in a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress"]


@contextmanager
def progress(what: str, total: int | None, *, steps: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar while a step runs; the value takes how far it went on.

    Parameters
    ----------
    what : str
    total : int or None
        Of the whole; None where that is not known.
    steps : bool, default False
        Whether progress is counted in steps, not in bytes.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    done = MofNCompleteColumn() if steps else DownloadColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), done, TimeRemainingColumn())
    shown = columns if total else columns[:2]
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)
