"""The monitor of a stream: it divides rows into windows and decides which of them raise an alarm.

`docs/guides/monitor.md` states every rule of this module for users.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.base import Detector
from gapdrift.errors import HistoryError, InputError, SchemaError
from gapdrift.streaming.adaptation import refit
from gapdrift.streaming.admission import (
    SKIPPED,
    check_columns,
    check_evidence,
    check_fits,
    fingerprint_of,
    notes_about_columns,
    notes_about_skipped,
    pane_of_times,
)
from gapdrift.streaming.buffer import RowBuffer
from gapdrift.streaming.decisions import is_of_batches, make_decider
from gapdrift.streaming.dependence import NeighbourCheck
from gapdrift.streaming.intake import (
    BEFORE_ALL,
    FIRST_TIME,
    Batch,
    KeyMemory,
    Step,
    read_batch,
    steps_by_rows,
    steps_by_time,
)
from gapdrift.streaming.panes import BLOCK_ROWS, Pane, add_up, pack_rows, unpack_rows
from gapdrift.streaming.policy import check_detector, make_policy
from gapdrift.streaming.rows import Rows, columns_of
from gapdrift.streaming.sequential import ChangePoint
from gapdrift.streaming.windows import WindowResult
from gapdrift.tables.frame import quote
from gapdrift.tables.spans import Calendar
from gapdrift.tables.times import as_datetime, check_time, times_of

__all__ = ["Monitor"]

Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def _one_at_a_time(
    method: "Callable[Concatenate[Monitor, Given], Returned]",
) -> "Callable[Concatenate[Monitor, Given], Returned]":
    """Method of a monitor that waits until no other thread is inside one."""

    @wraps(method)
    def locked(self: "Monitor", /, *args: Given.args, **options: Given.kwargs) -> Returned:
        with self._lock:
            return method(self, *args, **options)

    return locked


class Monitor:
    """Alarms about a stream of rows, at a rate of false alarms that you choose.

    Rows are gathered in windows, by their number or by their times, and each window is compared with the detector's
    reference. Sums are kept, not rows.

    Parameters
    ----------
    detector : DriftDetector, MDLFWF, or another `gapdrift.detectors.Detector`
        A fitted detector.
    window : int, str or timedelta, default 500
        Length of a window: a number of rows, or a time such as "1h", "1w" or "1mo", which needs ``time_column``.
    step : int, str or timedelta, default None
        Length from the start of one window to the start of the next. None means the length of a window (tumbling
        windows); a smaller step makes windows overlap (sliding windows).
    false_alarm_every : float, default 1000
        Average number of windows without drift per false alarm: a window is in the drift zone if the detector finds
        drift with ``alpha=1 / false_alarm_every``.
    time_column : str, optional
        Column with the time of each row, for windows of time. It is not compared.
    time_zone : str, optional
        Time zone, such as "Europe/Rome", in which days, weeks (from Monday on), months and years begin. The default is
        UTC. Times without a zone are UTC all the same.
    key_column : str, optional
        Column with a key of each row. A row with the key of another row within the last two window lengths is not
        counted. The column is not compared.
    lateness : str or timedelta, optional
        How much earlier than the latest time so far a row may be and still be counted; 0 by default.
    warning_every : float, optional
        Like ``false_alarm_every``, for the warning zone. The default is a tenth of ``false_alarm_every``.
    adapt : int, optional
        Number of consecutive windows in the drift zone after which a new reference is fitted on their rows. The
        default is never. A sequential monitor fits it on the window of the alarm and those after it.
    sequential : bool, default False
        Whether evidence accumulates over windows: changes that no single window shows are found, and the time of the
        change is estimated. ``false_alarm_every`` is then the mean number of windows until a false alarm. Windows must
        not overlap.
    extend : int, optional
        Number of calm windows that must follow a calm window until its rows are compared with, too, as if they were of
        the reference. The default is never. Windows must not overlap.

    Attributes
    ----------
    drift_detected, warning_detected : bool
        Whether the last update decided a window in that zone.
    position : int
        Number of rows taken since the start of the stream.
    late_rows, duplicate_rows, untimed_rows : int
        Numbers of rows that were not counted, since the start of the stream.
    on_panes : callable or None
        Called for each window with rows that is decided, with the evidence of its panes by their numbers, so that a
        program of yours can keep it; a pane of several windows comes several times.

    Notes
    -----
    The rate of false alarms is an average over references and windows. All windows of a stream are compared with one
    reference: an unusual one raises more false alarms than asked for, another one fewer. The larger the reference, the
    smaller the difference.

    Threads may share a monitor: one update ends before the next begins. Their windows are what an update returns;
    ``drift_detected`` is that of whichever update was the last.

    Examples
    --------
    >>> import gapdrift as gd
    >>> stations = gd.datasets.stations
    >>> detector = gd.DriftDetector(random_state=0).fit(stations(2_000, rng=0))
    >>> monitor = gd.Monitor(detector, window=500, false_alarm_every=1000)
    >>> for chunk in (stations(1_500, rng=1), stations(500, rng=2), stations(1_000, rng=3, drift=True)):
    ...     for alarm in monitor.update(chunk):
    ...         print(alarm.index, alarm.zone, alarm.first_row)
    4 drift 2000
    5 drift 2500
    """

    def __init__(
        self,
        detector: Detector,
        window: int | str | timedelta = 500,
        step: int | str | timedelta | None = None,
        false_alarm_every: float = 1_000,
        *,
        time_column: str | None = None,
        time_zone: str | None = None,
        key_column: str | None = None,
        lateness: str | timedelta | None = None,
        warning_every: float | None = None,
        adapt: int | None = None,
        sequential: bool = False,
        extend: int | None = None,
    ) -> None:
        self.detector = self._original_detector = check_detector(detector)
        self._policy = make_policy(
            detector,
            window,
            step,
            false_alarm_every,
            time_column=time_column,
            time_zone=time_zone,
            key_column=key_column,
            lateness=lateness,
            warning_every=warning_every,
            adapt=adapt,
            sequential=sequential,
            extend=extend,
        )
        policy, grid = self._policy, self._policy.grid
        self._decider = make_decider(policy.sequential, policy.false_alarm_every, policy.warning_every, policy.extend)
        self._neighbours = NeighbourCheck(-(-grid.window // grid.step))
        self._columns = columns_of(detector)
        self._new_reference: bytes | None = None
        self._fingerprint = fingerprint_of(detector)
        self._position = 0
        self._lock = RLock()
        # Rows that come one by one have no order in time that could be known before they are read.
        self._buffer_rows = time_column is None and key_column is None
        self._buffer = RowBuffer(detector)
        self.drift_detected = self.warning_detected = False
        self.late_rows = self.duplicate_rows = self.untimed_rows = 0
        self._panes: dict[int, Pane] = {}
        self._keys = KeyMemory()
        self._packed_panes: dict[int, bytes] = {}
        self._index = 0
        self._start: int | None = None
        self._closed = 0 if time_column is None else BEFORE_ALL
        self._latest_time = BEFORE_ALL
        self._skipped_since = dict.fromkeys(SKIPPED, 0)
        self._streak, self._streak_start = 0, 0
        self.on_panes: Callable[[Mapping[int, Evidence]], None] | None = None
        self._buffer_room = self._room_of_buffer() if self._buffer_rows else 0

    def update(self, rows: Any) -> tuple[WindowResult, ...]:
        """Windows that these rows complete and that are in the warning or the drift zone.

        Parameters
        ----------
        rows : pandas, polars or pyarrow table, mapping of columns, numpy array, dict of one row, or list of such
            Any number of rows, in the order of their arrival. A column that the dict of a row lacks is missing there.
            A number is a row of a reference with one column.

        Notes
        -----
        If some rows cannot be used, an error is raised before any row is taken.
        """
        return tuple(window for window in self.advance(rows) if window.alarm)

    @_one_at_a_time
    def advance(self, rows: Any) -> tuple[WindowResult, ...]:
        """All windows that these rows complete, including calm and undetermined ones; otherwise like `update`."""
        rows = self._as_row(rows)
        if not self._buffer_rows or not self._buffer.add(rows):
            self._read_buffer()
            return self._remember_zones(self._advance_table(rows, checked=False))
        if len(self._buffer) < self._buffer_room:
            return self._remember_zones([])
        return self._remember_zones(self._read_buffer())

    def _as_row(self, rows: Any) -> Any:
        """A single number as a row of the only column, as river gives it; anything else as it is."""
        if not isinstance(rows, int | float | np.number | np.bool_):
            return rows
        names = self._columns.names
        if len(names) != 1:
            raise InputError(f"Got the number {rows!r}, expected rows with the columns {quote(names)}.")
        return {names[0]: rows}

    def _read_buffer(self) -> list[WindowResult]:
        """Windows that the rows of the buffer complete."""
        if not len(self._buffer):
            return []
        decided = self._advance_table(self._buffer.drain(), checked=True)
        self._buffer_room = self._room_of_buffer()
        return decided

    def _room_of_buffer(self) -> int:
        """Number of rows that the buffer takes until a pane or a block is full."""
        pane = self._panes.get(self._closed)
        return min(self._policy.grid.pane - (0 if pane is None else pane.n_rows), BLOCK_ROWS)

    def _advance_table(self, rows: Any, *, checked: bool) -> list[WindowResult]:
        columns, policy = self._columns, self._policy
        batch = read_batch(rows, columns.names, columns.named, policy.time_column, policy.key_column)
        given = self._with_times(Rows.read(batch.table, columns.names), batch)
        if not checked:
            timed = given if batch.untimed is None else given.take(~batch.untimed)
            check_columns(self.detector, columns, batch.table, timed)
        notes = notes_about_columns(columns, batch.table)
        decided: list[WindowResult] = []
        first = self._position
        for step in self._steps(batch):
            self._take(given, notes, step, first)
            decided += self._decide(step.closed)
        self._buffer_room = self._room_of_buffer() if self._buffer_rows else 0
        return decided

    def _with_times(self, rows: Rows, batch: Batch) -> Rows:
        """Rows whose times, by which the detector knows what is usual, are moments and not text, if it needs them."""
        name = self._columns.time
        if name is None or name not in batch.table.names:
            return rows
        times, missing = times_of(batch.table, name)
        cells = np.where(missing, np.datetime64("NaT", "us"), times.astype("M8[us]"))
        return Rows({**rows.cells, name: cells}, rows.named)

    @property
    def position(self) -> int:
        """Number of rows taken since the start of the stream."""
        return self._position + len(self._buffer)

    @_one_at_a_time
    def advance_evidence(
        self, evidence: Evidence, *, times: tuple[datetime, datetime] | None = None
    ) -> tuple[WindowResult, ...]:
        """All windows that rows complete which were counted elsewhere, by ``count`` of the monitor's detector.

        Evidence cannot be divided: its rows must belong to one pane. They arrive together, after all rows before.

        Parameters
        ----------
        evidence : Evidence
        times : (earliest, latest), optional
            Times of its earliest and its latest row, for windows of time.

        Examples
        --------
        >>> import gapdrift as gd
        >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(1_000, rng=0))
        >>> monitor = gd.Monitor(detector, window=500)
        >>> monitor.room
        500
        >>> counted = detector.count(gd.datasets.stations(500, rng=1))
        >>> [window.zone for window in monitor.advance_evidence(counted)]
        ['calm']
        """
        self._read_buffer()
        check_evidence(self.detector, self._policy, evidence)
        if self._policy.timed:
            number, last = pane_of_times(self._policy, self._calendar, times)
            high = max(self._latest_time, last)
        else:
            check_fits(self._policy, evidence, self.room or 0, times)
            number, high = self._closed, self._latest_time
        n_rows = evidence.n_rows
        if n_rows == 0:
            return self._remember_zones([])
        if number < self._closed:
            self._finish_step(
                Step({}, n_rows, late=n_rows, closed=self._closed, high=self._latest_time), self.position, set()
            )
            return self._remember_zones([])
        pane = self._panes.setdefault(number, Pane(number))
        pane.add_counted(evidence)
        pane.note_positions(self.position, self.position + n_rows - 1)
        if self._policy.timed:
            closed = max(self._closed, self._calendar.number_of(max(high - self._policy.lateness, FIRST_TIME)))
        else:
            closed = number + (pane.n_rows == self._policy.grid.pane)
        self._finish_step(Step({}, n_rows, closed=closed, high=high), self.position, {number})
        return self._remember_zones(list(self._decide(closed)))

    @property
    def room(self) -> int | None:
        """Number of rows that the open pane still takes; None for windows of time."""
        if self._policy.timed:
            return None
        pane = self._panes.get(self._closed)
        return self._policy.grid.pane - (0 if pane is None else pane.n_rows) - len(self._buffer)

    @property
    def pane_length(self) -> int | str:
        """Rows of a pane, or its time as text: the part of windows that evidence from elsewhere must fit into."""
        return self._policy.grid.length(1)

    def pane_at(self, moment: datetime) -> int:
        """Number of the pane of a time, for windows of time."""
        if not self._policy.timed:
            raise InputError("The monitor has windows of rows, whose panes have no times.")
        return self._calendar.number_of(check_time(moment))

    @_one_at_a_time
    def replace_detector(self, detector: Detector) -> int:
        """Compare later windows with another reference; return the number of rows that are then in no window.

        Evidence of the same origin, as of a reference with other sums, stays. Otherwise rows of windows that have begun
        were counted by the old reference and are dropped, and the next window starts after them.
        """
        self._read_buffer()
        check_detector(detector)
        if columns_of(detector) != self._columns:
            raise SchemaError(
                f"The new reference has the columns {quote(columns_of(detector).names)}, expected those of the old "
                f"one: {quote(self._columns.names)}. Begin another monitor for other columns."
            )
        dropped = 0
        if detector.evidence_.origin != self.detector.evidence_.origin:
            grid = self._policy.grid
            dropped = sum(pane.n_rows for number, pane in self._panes.items() if number >= self._closed)
            if self._policy.timed and self._panes:
                self._closed = max(self._closed, max(self._panes) + 1)
            self._panes, self._packed_panes = {}, {}
            self._start = None if self._start is None else -(-self._closed // grid.step) * grid.step
        self.detector = self._original_detector = detector
        self._new_reference, self._streak = None, 0
        self._forget_windows()
        self._fingerprint = fingerprint_of(detector)
        return dropped

    @_one_at_a_time
    def flush(self) -> tuple[WindowResult, ...]:
        """Windows of time that have begun, decided now as if no more of their rows were to come.

        Rows that still come for them are late. Windows of rows are decided only when they are full.
        """
        grid = self._policy.grid
        if not self._policy.timed or self._start is None:
            return self._remember_zones([])
        last = self._calendar.number_of(self._latest_time)
        if self._start > last:
            return self._remember_zones([])
        begun = (last - self._start) // grid.step + 1
        self._closed = self._start + (begun - 1) * grid.step + grid.window
        self._keys.forget_below(self._closed - 2 * grid.window)
        return self._remember_zones(list(self._decide(self._closed)))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about the stream as a whole: whether its rows are clearly dependent on each other."""
        return (self._neighbours.warning,) if self._neighbours.warning else ()

    @property
    def settings(self) -> dict[str, Any]:
        """Settings as plain values; monitors with equal settings decide alike."""
        return self._policy.to_dict()

    @property
    def index(self) -> int:
        """Number of the next window to be decided."""
        return self._index

    @property
    def fingerprint(self) -> str:
        """Text that differs between detectors whose results may differ, for the detector given at the start."""
        return self._fingerprint

    @_one_at_a_time
    def state(self) -> dict[str, bytes]:
        """Everything a monitor needs to continue, in named parts; a part whose name ends in "closed" never changes.

        Notes
        -----
        The parts hold sums and, for each open pane, fewer than 1,024 of its rows. With ``adapt`` they also hold all
        rows of the open windows and those that the current reference was fitted on. Keys are stored as digests.
        """
        self._read_buffer()
        facts = {
            "position": self._position,
            "totals": {kind: getattr(self, f"{kind}_rows") for kind in SKIPPED},
            "index": self._index,
            "start": self._start,
            "closed": self._closed,
            "high": self._latest_time,
            "since": self._skipped_since,
            "streak": [self._streak, self._streak_start],
        }
        parts = {"facts": json.dumps(facts).encode()}
        for number, pane in self._panes.items():
            parts[f"pane/{number}/{'closed' if pane.closed else 'open'}"] = self._pack(pane)
        for number, keys in self._keys.packed().items():
            parts[f"keys/{number}"] = keys
        if self._new_reference is not None:
            parts["reference"] = self._new_reference
        return parts | self._decider.packed() | self._neighbours.packed()

    @_one_at_a_time
    def restore(self, parts: Mapping[str, bytes]) -> None:
        """Continue where the monitor that had this state stopped.

        Parameters
        ----------
        parts : mapping of str to bytes
            State of a monitor with the same detector and settings.
        """
        try:
            facts = json.loads(parts["facts"])
            self._position, self._index, self._start = facts["position"], facts["index"], facts["start"]
            self._closed, self._latest_time, self._skipped_since = facts["closed"], facts["high"], facts["since"]
            self._streak, self._streak_start = facts["streak"]
            for kind in SKIPPED:
                setattr(self, f"{kind}_rows", facts["totals"][kind])
        except (KeyError, ValueError, TypeError) as error:
            raise HistoryError("The stored state of the monitor cannot be read: the history is damaged.") from error
        panes = [Pane.unpack(data) for name, data in sorted(parts.items()) if name.startswith("pane/")]
        self._panes = {pane.number: pane for pane in sorted(panes, key=lambda pane: pane.number)}
        keys = {int(name[5:]): data for name, data in parts.items() if name.startswith("keys/")}
        self._keys = KeyMemory(dict(sorted(keys.items())))
        self._packed_panes = {}
        self._decider.restore(parts)
        self._neighbours.restore(parts)
        self._new_reference = parts.get("reference")
        if self._new_reference is not None:
            self.detector = refit(self._original_detector, unpack_rows(self._new_reference))
        self._buffer = RowBuffer(self.detector)
        self._buffer_room = self._room_of_buffer() if self._buffer_rows else 0

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock, which belongs to this process."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy has a lock of its own."""
        vars(self).update(state, _lock=RLock())

    @property
    def _calendar(self) -> Calendar:
        calendar = self._policy.grid.calendar
        assert calendar is not None  # only windows of time ask
        return calendar

    def _steps(self, batch: Batch) -> Iterator[Step]:
        grid = self._policy.grid
        if self._policy.timed:
            after = self._closed, self._latest_time, self._calendar
            return steps_by_time(batch, *after, self._policy.lateness, self._keys)
        pane = self._panes.get(self._closed)
        return steps_by_rows(batch, self._closed, 0 if pane is None else pane.n_rows, grid.pane, self._keys)

    def _take(self, rows: Rows, notes: set[str], step: Step, first: int) -> None:
        """Add the rows of a step to their panes."""
        for number, places in step.panes.items():
            pane = self._panes.setdefault(number, Pane(number))
            taken = rows.take(places)
            pane.add(taken, self.detector.count)
            pane.note_positions(first + int(places[0]), first + int(places[-1]))
            pane.notes |= notes
            if self._policy.adapt is not None:
                pane.kept.append(taken)
        self._finish_step(step, first, set(step.panes))

    def _finish_step(self, step: Step, first: int, panes: set[int]) -> None:
        """Remember where a step ended, and which rows it did not count."""
        self._position, self._latest_time, self._closed = first + step.stop, step.high, step.closed
        for kind in SKIPPED:
            count = getattr(step, kind)
            self._skipped_since[kind] += count
            setattr(self, f"{kind}_rows", getattr(self, f"{kind}_rows") + count)
        self._set_first_start(panes)
        self._keys.forget_below(step.closed - 2 * self._policy.grid.window)

    def _set_first_start(self, panes: set[int]) -> None:
        """Set where the first window starts: at the first row or, on the grid, at the earliest time so far."""
        if self._index or not panes or (self._start is not None and not self._policy.timed):
            return
        earliest = min(panes) // self._policy.grid.step * self._policy.grid.step
        self._start = earliest if self._start is None else min(self._start, earliest)

    def _decide(self, closed: int) -> Iterator[WindowResult]:
        """Windows whose panes are all closed."""
        while self._start is not None and self._start + self._policy.grid.window <= closed:
            start, end = self._start, self._start + self._policy.grid.window
            panes = [pane for number, pane in sorted(self._panes.items()) if start <= number < end]
            window = self._test_window(panes, start, end) if panes else self._record_empty_windows(start, closed)
            self._index += window.n_windows
            self._skipped_since = dict.fromkeys(SKIPPED, 0)
            self._start = start + window.n_windows * self._policy.grid.step
            yield self._adapt(window, start, end)
            self._drop_panes()

    def _test_window(self, panes: list[Pane], start: int, end: int) -> WindowResult:
        parts = [pane.close(self.detector.count) for pane in panes]
        if self.on_panes is not None:
            self.on_panes({pane.number: part for pane, part in zip(panes, parts, strict=True)})
        evidence = add_up(parts)
        first_row = min(pane.first_row for pane in panes)
        time = self._calendar.start_of(start) if self._policy.timed else None
        decision = self._decider.decide(self.detector, ChangePoint(self._index, first_row, time), evidence)
        window = self._record(
            start,
            end,
            n_rows=evidence.n_rows,
            first_row=first_row,
            last_row=max(pane.last_row for pane in panes),
            **decision.facts(),
        )
        if not is_of_batches(self.detector):
            self._neighbours.look(self._index, self.detector, evidence)
        notes = self.warnings if window.alarm else ()
        return replace(window, warnings=(*window.warnings, *decision.warnings, *notes))

    def _record_empty_windows(self, start: int, closed: int) -> WindowResult:
        """One record for all windows without rows that come next."""
        next_pane = min((number for number in self._panes if number >= start), default=None)
        n_windows = self._policy.grid.empty_windows(start, next_pane, closed)
        end = start + (n_windows - 1) * self._policy.grid.step + self._policy.grid.window
        return self._record(start, end, zone="undetermined", result=None, n_rows=0, n_windows=n_windows)

    def _record(self, start: int, end: int, **facts: Any) -> WindowResult:
        bounds: tuple[datetime | None, datetime | None] = (None, None)
        if self._policy.timed:
            bounds = as_datetime(self._calendar.start_of(start)), as_datetime(self._calendar.start_of(end))
        return WindowResult(
            index=self._index,
            decided_at=self.position,
            late_rows=self._skipped_since["late"],
            duplicate_rows=self._skipped_since["duplicate"],
            untimed_rows=self._skipped_since["untimed"],
            reference=self.detector.evidence_.origin,
            warnings=notes_about_skipped(self._policy, self._skipped_since),
            start=bounds[0],
            end=bounds[1],
            **facts,
        )

    def _adapt(self, window: WindowResult, start: int, end: int) -> WindowResult:
        """The window, after fitting a new reference if enough consecutive windows were in the drift zone."""
        if window.zone != "undetermined":
            self._streak_start = self._streak_start if self._streak else start
            # The evidence begins anew after an alarm, so that the windows after it are calm at first.
            goes_on = window.zone == "drift" or (self._policy.sequential and self._streak > 0)
            self._streak = self._streak + 1 if goes_on else 0
        if self._policy.adapt is None or window.zone == "undetermined" or not 0 < self._policy.adapt <= self._streak:
            return window
        panes = [pane for number, pane in sorted(self._panes.items()) if self._streak_start <= number < end]
        rows = Rows.join([piece for pane in panes for piece in pane.kept])
        try:
            self.detector = refit(self._original_detector, rows)
        except InputError as error:
            note = f"No new reference could be fitted on the drift windows: {error}"
            return replace(window, warnings=(*window.warnings, note))
        self._new_reference = pack_rows(rows)
        self._forget_windows()
        self._streak = 0
        self._start = end if not self._policy.timed else -(-end // self._policy.grid.step) * self._policy.grid.step
        self._drop_panes()
        for pane in self._panes.values():
            pane.recount(self.detector.count)
        note = f"A new reference was fitted on {self.detector.evidence_.n_rows} rows."
        return replace(window, adapted=True, warnings=(*window.warnings, note))

    def _forget_windows(self) -> None:
        """Begin anew with what is learned from windows: there is a new reference."""
        self._decider.restart()
        self._neighbours.forget()
        self._buffer = RowBuffer(self.detector)

    def _drop_panes(self) -> None:
        """Forget panes that neither a later window nor a new reference needs."""
        assert self._start is not None  # a window was decided
        keep = min(self._start, self._streak_start) if self._policy.adapt is not None and self._streak else self._start
        self._panes = {number: pane for number, pane in self._panes.items() if number >= keep}
        self._packed_panes = {number: data for number, data in self._packed_panes.items() if number in self._panes}

    def _pack(self, pane: Pane) -> bytes:
        """Pane as bytes; those of a closed pane are kept, since they do not change."""
        if not pane.closed:
            return pane.pack()
        if pane.number not in self._packed_panes:
            self._packed_panes[pane.number] = pane.pack()
        return self._packed_panes[pane.number]

    def _remember_zones(self, decided: list[WindowResult]) -> tuple[WindowResult, ...]:
        zones = {window.zone for window in decided}
        self.drift_detected, self.warning_detected = "drift" in zones, "warning" in zones
        return tuple(decided)
