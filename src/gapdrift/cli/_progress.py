"""Progress bars, on a terminal that can draw them only."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["progress", "without_bar"]

_LIVE: list[Any] = []
"""The bars that are drawn at the moment: one at most."""

_PRINTING = threading.RLock()


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
        _LIVE.append(bar)
        try:
            yield lambda done: bar.advance(task, done)
        finally:
            _LIVE.remove(bar)


@contextmanager
def without_bar() -> Iterator[None]:
    """Take the bar off the terminal while something else is printed, also from another thread."""
    with _PRINTING:
        for bar in _LIVE:
            bar.stop()
        try:
            yield
        finally:
            for bar in _LIVE:
                bar.start()
