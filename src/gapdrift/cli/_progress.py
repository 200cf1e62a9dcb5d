"""Progress bars, on a terminal that can draw them only."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress"]


@contextmanager
def progress(what: str, total: int | None, *, steps: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a progress bar; the value is a function to call with the bytes or steps done since its last call.

    Parameters
    ----------
    what : str
        Text beside the bar.
    total : int or None
        Total number of bytes or steps; None if it is not known.
    steps : bool, default False
        Whether progress is measured in steps, not in bytes.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
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
