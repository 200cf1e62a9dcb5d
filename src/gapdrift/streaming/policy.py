"""Checked settings of a monitor: windows, columns, and how often its alarms may be false."""

from dataclasses import dataclass
from datetime import timedelta
from numbers import Real
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from gapdrift._validation import check_count
from gapdrift.detectors.base import Detector
from gapdrift.errors import ParameterError
from gapdrift.streaming.panes import WindowGrid
from gapdrift.streaming.rows import Columns, columns_of
from gapdrift.tables.spans import Span, check_zone, format_duration, parse_duration, parse_span

__all__ = ["Policy", "check_detector", "make_policy"]

MIN_WINDOW_ROWS = 10
"""Smallest window of rows: `DriftDetector` leaves smaller ones undetermined."""


@dataclass(frozen=True)
class Policy:
    """Checked settings of a monitor; see `gapdrift.Monitor`.

    Parameters
    ----------
    grid : WindowGrid
    lateness : int
        Microseconds.
    time_column, key_column : str or None
    false_alarm_every, warning_every : float
    adapt : int or None
    sequential : bool
    extend : int or None
    """

    grid: WindowGrid
    lateness: int
    time_column: str | None
    key_column: str | None
    false_alarm_every: float
    warning_every: float
    adapt: int | None
    sequential: bool
    extend: int | None

    @property
    def timed(self) -> bool:
        """Whether windows are lengths of time, not numbers of rows."""
        return self.time_column is not None

    def to_dict(self) -> dict[str, Any]:
        """Settings as plain values; monitors with equal settings decide alike."""
        zone = None if self.grid.calendar is None else self.grid.calendar.zone
        return {
            "window": self.grid.length(self.grid.window),
            "step": self.grid.length(self.grid.step),
            "false_alarm_every": self.false_alarm_every,
            "warning_every": self.warning_every,
            "time_column": self.time_column,
            "time_zone": None if zone is None else str(zone),
            "key_column": self.key_column,
            "lateness": format_duration(self.lateness) if self.timed else None,
            "adapt": self.adapt,
            "sequential": self.sequential,
            "extend": self.extend,
        }


def make_policy(
    detector: Detector,
    window: Any,
    step: Any,
    false_alarm_every: Any,
    *,
    time_column: Any,
    time_zone: Any,
    key_column: Any,
    lateness: Any,
    warning_every: Any,
    adapt: Any,
    sequential: Any,
    extend: Any,
) -> Policy:
    """Policy made from the settings of `gapdrift.Monitor`; a wrong one raises a ParameterError."""
    _check_columns(columns_of(detector), time_column, key_column)
    alarm_every = _check_every("false_alarm_every", false_alarm_every)
    grid = _make_grid(window, step, time_column, time_zone)
    return Policy(
        grid,
        _check_lateness(lateness, time_column),
        time_column,
        key_column,
        alarm_every,
        _check_warning_every(warning_every, alarm_every),
        _check_adapt(adapt, detector),
        _check_sequential(sequential, grid, (window, step)),
        _check_extend(extend, grid, (window, step), sequential),
    )


def check_detector(detector: Any) -> Detector:
    """The detector, if it is one and is fitted; otherwise an error is raised."""
    if not isinstance(detector, Detector):
        raise ParameterError(
            f"detector is a {type(detector).__name__}, expected a DriftDetector, an MDLFWF, or one of your own that "
            "derives from gapdrift.detectors.Detector."
        )
    detector.check_fitted()
    return detector


def _make_grid(window: Any, step: Any, time_column: str | None, time_zone: Any) -> WindowGrid:
    if isinstance(window, str | timedelta | np.timedelta64):
        return _time_grid(window, step, time_column, check_zone("time_zone", time_zone))
    for name, value in (("time_column", time_column), ("time_zone", time_zone)):
        if value is not None:
            raise ParameterError(
                f'{name} is {value!r}, but window is {window!r} rows. Give the window as a time, such as "1h", '
                f"or leave {name} out: windows of rows take them in the order of arrival."
            )
    length = check_count("window", window, MIN_WINDOW_ROWS)
    assert length is not None  # not optional
    stride = check_count("step", length if step is None else step, 1)
    assert stride is not None  # not optional
    _check_step(stride, length, (window, step))
    return WindowGrid.of(length, stride)


def _time_grid(window: Any, step: Any, time_column: str | None, zone: ZoneInfo | None) -> WindowGrid:
    if time_column is None:
        raise ParameterError(f"window is {window!r}, a time, but no time_column says which column has the times.")
    length = parse_span("window", window)
    stride = length if step is None else parse_span("step", step)
    for name, value, given in (("window", length, window), ("step", stride, step)):
        if value == Span():
            raise ParameterError(f"{name} is {given!r}, expected more than 0.")
    if bool(length.months) != bool(stride.months):
        raise ParameterError(
            f"step is {step!r} and window {window!r}, but months differ in length: expected both in months and years, "
            "or both in weeks and shorter units."
        )
    _check_step(stride.months or stride.micros, length.months or length.micros, (window, step))
    return WindowGrid.of_times(length, stride, zone)


def _check_step(stride: int, length: int, given: tuple[Any, Any]) -> None:
    if stride > length:
        raise ParameterError(
            f"step is {given[1]!r} and window {given[0]!r}, expected a step of at most the window: rows between two "
            "windows would be lost."
        )


def _check_lateness(lateness: Any, time_column: str | None) -> int:
    if lateness is None:
        return 0
    if time_column is None:
        raise ParameterError(f"lateness is {lateness!r}, but windows of rows have no times. Leave it out.")
    return parse_duration("lateness", lateness)


def _check_every(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 1 < float(value) <= 1e9:
        raise ParameterError(f"{name} is {value!r}, expected a number of windows above 1 and up to a billion.")
    return float(value)


def _check_warning_every(value: Any, alarm_every: float) -> float:
    """Windows per false warning; the default is a tenth of those per alarm or, below 20 of them, no warning zone."""
    if value is None:
        return alarm_every / 10.0 if alarm_every >= 20.0 else alarm_every
    warning_every = _check_every("warning_every", value)
    if warning_every > alarm_every:
        raise ParameterError(
            f"warning_every is {value!r} and false_alarm_every {alarm_every:g}, expected warnings at least as often "
            "as alarms."
        )
    return warning_every


def _check_adapt(adapt: Any, detector: Detector) -> int | None:
    if adapt is not None and getattr(detector, "usual_", None) is not None:
        raise ParameterError(
            f"adapt is {adapt!r}, but the detector compares with the usual variation between batches, which a few "
            "windows do not show. Leave it out, and fit a new detector on batches after the change; extend lets calm "
            "windows join the batches."
        )
    seed = detector.get_params(deep=False).get("random_state", 0)
    if adapt is not None and not isinstance(seed, int | np.integer):
        raise ParameterError(
            "adapt fits new references, which must come out the same when a stopped run continues: expected a detector "
            "with a whole number as random_state."
        )
    return check_count("adapt", adapt, 1, optional=True)


def _check_sequential(sequential: Any, grid: WindowGrid, given: tuple[Any, Any]) -> bool:
    if not isinstance(sequential, bool):
        raise ParameterError(f"sequential is {sequential!r}, expected True or False.")
    if sequential and grid.step != grid.window:
        raise ParameterError(
            f"step is {given[1]!r} and window {given[0]!r}, but a sequential monitor adds up the evidence of windows, "
            "which must not share rows. Leave step out; shorter windows find a change as soon."
        )
    return sequential


def _check_extend(extend: Any, grid: WindowGrid, given: tuple[Any, Any], sequential: bool) -> int | None:
    checked = check_count("extend", extend, 0, optional=True)
    if checked is None:
        return None
    if sequential:
        raise ParameterError(
            f"extend is {extend!r}, but a sequential monitor compares with all windows before anyway. Leave it out."
        )
    if grid.step != grid.window:
        raise ParameterError(
            f"step is {given[1]!r} and window {given[0]!r}, but windows that join the reference must not share rows. "
            "Leave step or extend out."
        )
    return checked


def _check_columns(columns: Columns, time_column: Any, key_column: Any) -> None:
    for setting, name in (("time_column", time_column), ("key_column", key_column)):
        if name is None:
            continue
        if not isinstance(name, str):
            raise ParameterError(f"{setting} is {name!r}, expected the name of a column, or None.")
        if not columns.named:
            raise ParameterError(f"{setting} is {name!r}, but the detector was fitted on an array, without names.")
        if name in columns.names and name != columns.time:
            raise ParameterError(
                f"{setting} is {name!r}, which the detector compares. Fit it with ignore=[{name!r}], or on a table "
                "without this column."
            )
    if time_column is not None and time_column == key_column:
        raise ParameterError(f"time_column and key_column are both {time_column!r}, expected two columns.")
