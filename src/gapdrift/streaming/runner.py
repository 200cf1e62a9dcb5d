"""Run of a monitor over a source of rows: its windows are kept in a history and sent to sinks."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapdrift.errors import ParameterError
from gapdrift.files import FileChanges, FileTracker, TableFiles
from gapdrift.history import History, StreamLog
from gapdrift.sinks import Sink
from gapdrift.streaming.delivery import Delivery, MemoryOutbox
from gapdrift.streaming.monitor import Monitor
from gapdrift.streaming.windows import ZONES, WindowResult
from gapdrift.tables.frame import Table

__all__ = ["RunSummary", "run_monitor"]

TableStream = TableFiles | Callable[[int], Iterable[Any]] | Iterable[Any]
"""Files, tables one after the other, or a function that returns the tables from the position of a row on."""

logger = logging.getLogger("gapdrift")


@dataclass(frozen=True)
class RunSummary:
    """Summary of one run of a monitor.

    Parameters
    ----------
    first_row, position : int
        Positions in the stream at which the run began and ended.
    zones : dict of str to int
        Number of windows that were decided in this run, by zone.
    late_rows, duplicate_rows, untimed_rows : int
        Numbers of rows that were not counted, since the start of the stream.
    undelivered : dict of str to str
        Sinks that did not get all windows, with the last reason. With a history, the next run tries again.
    parked : dict of str to tuple of str
        Sinks that refused windows for good, with the reasons: these windows are not sent again.
    notes : tuple of str
        Sentences about files: what was assumed, moved, rewritten, has vanished or is not complete.
    empty_files : tuple of str
        Names of new files without a row, in a run with a history.

    Examples
    --------
    >>> RunSummary(0, 500, {"drift": 1}).drift
    True
    """

    first_row: int
    position: int
    zones: dict[str, int] = field(default_factory=dict)
    late_rows: int = 0
    duplicate_rows: int = 0
    untimed_rows: int = 0
    undelivered: dict[str, str] = field(default_factory=dict)
    parked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    empty_files: tuple[str, ...] = ()

    @property
    def drift(self) -> bool:
        """Whether any window of this run was in the drift zone."""
        return self.zones.get("drift", 0) > 0


def run_monitor(
    monitor: Monitor,
    source: TableStream,
    *,
    history: History | None = None,
    stream: str = "default",
    sinks: Sequence[Sink] = (),
    flush: bool = False,
    on_window: Callable[[WindowResult], None] | None = None,
    progress: Callable[[int], None] | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> RunSummary:
    """Summary of a run of a monitor over a source, from the first row that is not in its history.

    Parameters
    ----------
    monitor : Monitor
        One that has taken no rows yet.
    source : TableFiles, callable or iterable of tables
        Files come from `gapdrift.files.open_files`, and their cells are read as in the detector's reference. A callable
        is given the position to start from and returns tables. In an iterable, the rows before that position are
        skipped; the rows must come in the same order each time.
    history : History, optional
    stream : str, default "default"
        Name of the stream in the history and in the records.
    sinks : sequence of Sink
        Where each window is sent. Their names must differ. They are closed at the end.
    flush : bool, default False
        Whether windows of time that are not over when the source ends are decided all the same.
    on_window : callable, optional
        Called with each window, after it was written.
    progress : callable, optional
        Called with the position after each table.
    on_bytes : callable, optional
        Called with the number of bytes that were read from files since its last call.

    Notes
    -----
    Each sink has a thread of its own, so that a slow one costs the stream nothing. A sink that fails stops nothing: its
    windows wait and are sent again with the next windows, at the end and, with a history, by the next run. A window
    that a sink refuses for good (`gapdrift.errors.RefusedError`) is parked: it is not sent again, and the next ones
    are. Each failure is logged to the logger ``gapdrift``.

    With a history, the rows of files are recognised by their content: only rows that are new are counted, also of files
    that have grown, and a last line that is not complete waits. If another run is at work on the same stream, this one
    waits until it has ended.

    Examples
    --------
    >>> import gapdrift as gd
    >>> from gapdrift.streaming import run_monitor
    >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(1_000, rng=0))
    >>> chunks = [gd.datasets.stations(800, rng=1, drift=drift) for drift in (False, True)]
    >>> summary = run_monitor(gd.Monitor(detector, window=400), chunks)
    >>> summary.zones
    {'calm': 2, 'warning': 0, 'drift': 2, 'undetermined': 0}
    >>> summary.drift
    True
    """
    names = [sink.name for sink in sinks]
    if len(set(names)) < len(names):
        raise ParameterError(f"sinks have the names {names}, expected different names. Give each its own.")

    def say_waiting() -> None:
        logger.warning("Another run is at work on the stream %r: this one waits until it has ended.", stream)

    with nullcontext() if history is None else history.run(stream, say_waiting):
        detector = monitor.detector
        log = MemoryOutbox(stream, names) if history is None else history.begin(monitor, stream, names)
        rows = _open_source(source, monitor.position, detector, log, on_bytes)
        first, zones = monitor.position, dict.fromkeys(ZONES, 0)
        delivery = Delivery(sinks, log)
        try:
            for windows in _decide_windows(monitor, rows, log, flush, progress):
                for window in windows:
                    zones[window.zone] += window.n_windows
                    if on_window is not None:
                        on_window(window)
                if windows:
                    delivery.announce()
        finally:
            delivery.finish()
    parked = {name: tuple(reasons) for name, reasons in delivery.parked.items()}
    skipped = monitor.late_rows, monitor.duplicate_rows, monitor.untimed_rows
    return RunSummary(
        first, monitor.position, zones, *skipped, dict(delivery.undelivered), parked, rows.notes(), rows.empty_files()
    )


@dataclass(frozen=True)
class _Rows:
    """Tables of a source that are not in the history yet, and what is to be stored and said about their files."""

    tables: Iterable[Any]
    changes: Callable[[], FileChanges | None] = lambda: None
    notes: Callable[[], tuple[str, ...]] = tuple
    empty_files: Callable[[], tuple[str, ...]] = tuple


def _open_source(
    source: TableStream,
    first: int,
    detector: Any,
    log: StreamLog | MemoryOutbox,
    on_bytes: Callable[[int], None] | None,
) -> _Rows:
    if isinstance(source, TableFiles) and isinstance(log, StreamLog):
        tracker = FileTracker(source, log.known_files(), log.digests_of)
        return _Rows(
            tracker.tables(detector, on_bytes),
            tracker.changes,
            lambda: (*source.notes, *tracker.notes),
            lambda: tuple(tracker.empty_files),
        )
    if isinstance(source, TableFiles):
        return _Rows(source.tables(detector, progress=on_bytes), notes=lambda: source.notes)
    return _Rows(source(first) if callable(source) else _skip_rows(source, first))


def _decide_windows(
    monitor: Monitor,
    rows: _Rows,
    log: StreamLog | MemoryOutbox,
    flush: bool,
    progress: Callable[[int], None] | None,
) -> Iterator[tuple[WindowResult, ...]]:
    """Windows that each table completes, once they are written to the log."""
    for table in rows.tables:
        windows = monitor.advance(table)
        log.write(windows, rows.changes())
        yield windows
        if progress is not None:
            progress(monitor.position)
    windows, changes = monitor.flush() if flush else (), rows.changes()
    if windows or changes:
        log.write(windows, changes)
        yield windows


def _skip_rows(tables: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """Tables without the first ``n_rows`` rows of them all."""
    left = n_rows
    for table in tables:
        if not left:
            yield table
            continue
        read = Table.read(table)
        if read.n_rows > left:
            yield read.take(np.arange(left, read.n_rows))
        left -= min(left, read.n_rows)
