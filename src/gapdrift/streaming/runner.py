"""Run of a monitor over a source of rows: its windows are kept in a history and sent to sinks."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gapdrift.errors import ParameterError
from gapdrift.history import History
from gapdrift.sinks import Sink, make_record
from gapdrift.streaming.monitor import Monitor
from gapdrift.streaming.windows import ZONES, WindowResult
from gapdrift.tables.frame import Table

__all__ = ["RunSummary", "run_monitor"]

TableStream = Callable[[int], Iterable[Any]] | Iterable[Any]
"""Tables one after the other, or a function that takes the position of a row and returns the tables from there on."""

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

    @property
    def drift(self) -> bool:
        """Whether any window of this run was in the drift zone."""
        return self.zones.get("drift", 0) > 0


class Outbox(Protocol):
    """Windows that wait to be sent to the sinks, kept by a history or in memory."""

    def write(self, windows: Sequence[WindowResult]) -> None:
        """Keep windows, and whatever else a later run needs."""
        ...

    def pending(self, sink: str) -> list[tuple[int, dict[str, Any]]]:
        """Index and record of the windows that a sink has not received."""
        ...

    def delivered(self, sink: str, index: int) -> None:
        """Remember that a sink has received all windows up to this one."""
        ...


class MemoryOutbox:
    """Outbox of a run without a history."""

    def __init__(self, stream: str, sinks: Sequence[str]) -> None:
        self._stream = stream
        self._waiting: dict[str, list[tuple[int, dict[str, Any]]]] = {name: [] for name in sinks}

    def write(self, windows: Sequence[WindowResult]) -> None:
        """Keep windows until all sinks have received them."""
        records = [(window.index, make_record(window, self._stream)) for window in windows]
        for waiting in self._waiting.values():
            waiting.extend(records)

    def pending(self, sink: str) -> list[tuple[int, dict[str, Any]]]:
        """Index and record of the windows that a sink has not received."""
        return list(self._waiting[sink])

    def delivered(self, sink: str, index: int) -> None:
        """Forget the windows that a sink has received."""
        self._waiting[sink] = [(place, record) for place, record in self._waiting[sink] if place > index]


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
) -> RunSummary:
    """Summary of a run of a monitor over a source, from the first row that is not in its history.

    Parameters
    ----------
    monitor : Monitor
        One that has taken no rows yet.
    source : callable or iterable of tables
        A callable is given the position to start from and returns tables. In an iterable, the rows before that
        position are skipped. The rows must come in the same order each time.
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

    Notes
    -----
    A sink that fails stops nothing: its windows wait and are sent again with the next windows, at the end and, with a
    history, by the next run. Each failure is logged to the logger ``gapdrift``.

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
    outbox: Outbox = MemoryOutbox(stream, names) if history is None else history.begin(monitor, stream, names)
    first, zones, failed = monitor.position, dict.fromkeys(ZONES, 0), {}
    try:
        for windows in _decide_windows(monitor, source, first, outbox, flush, progress):
            for window in windows:
                zones[window.zone] += window.n_windows
                if on_window is not None:
                    on_window(window)
            if windows:
                failed = _deliver_all(sinks, outbox)
        failed = _deliver_all(sinks, outbox)
    finally:
        for sink in sinks:
            sink.close()
    skipped = monitor.late_rows, monitor.duplicate_rows, monitor.untimed_rows
    return RunSummary(first, monitor.position, zones, *skipped, failed)


def _decide_windows(
    monitor: Monitor,
    source: TableStream,
    first: int,
    outbox: Outbox,
    flush: bool,
    progress: Callable[[int], None] | None,
) -> Iterator[tuple[WindowResult, ...]]:
    """Windows that each table completes, once they are written to the outbox."""
    for table in source(first) if callable(source) else _skip_rows(source, first):
        windows = monitor.advance(table)
        outbox.write(windows)
        yield windows
        if progress is not None:
            progress(monitor.position)
    if flush:
        windows = monitor.flush()
        outbox.write(windows)
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


def _deliver_all(sinks: Sequence[Sink], outbox: Outbox) -> dict[str, str]:
    """Send each sink the windows that it has not received; return why sinks failed, by their names."""
    reasons = {}
    for sink in sinks:
        reason = _deliver(sink, outbox)
        if reason:
            logger.warning("%s Its windows wait for the next try.", reason)
            reasons[sink.name] = reason
    return reasons


def _deliver(sink: Sink, outbox: Outbox) -> str:
    """Send a sink all windows that it has not received, in order; return why it failed, or an empty text."""
    while waiting := outbox.pending(sink.name):
        last, reason = _emit_records(sink, waiting)
        if last is not None:
            outbox.delivered(sink.name, last)
        if reason:
            return reason
    return ""


def _emit_records(sink: Sink, waiting: list[tuple[int, dict[str, Any]]]) -> tuple[int | None, str]:
    """Index of the last window that a sink accepted, and why it accepted no more."""
    last = None
    for index, record in waiting:
        try:
            sink.emit(record)
        except Exception as error:
            # A sink may be the user's own, and whatever goes wrong in it must not cost a window.
            return last, f"Sink {sink.name!r} failed at window {index}: {error}"
        last = index
    return last, ""
