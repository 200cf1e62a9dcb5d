"""The result of one window of a stream."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gapdrift.results import DriftResult
from gapdrift.results.report.words import format_p_value

__all__ = ["ZONES", "WindowResult"]

ZONES = ("calm", "warning", "drift", "undetermined")


@dataclass(frozen=True)
class WindowResult:
    """One decided window of a stream.

    Parameters
    ----------
    index : int
        Number of the window in its stream, from 0.
    zone : {"calm", "warning", "drift", "undetermined"}
    result : DriftResult or None
        None if the window has no rows.
    n_rows : int
        Number of rows that were counted.
    n_windows : int
        1, or more for consecutive windows without rows, which share one record.
    first_row, last_row : int or None
        Positions in the stream, from 0, of the first and the last row that were counted.
    start, end : datetime or None
        Bounds of a window of time, in UTC; ``end`` itself is excluded.
    decided_at : int
        Number of rows that the monitor had taken when it decided.
    late_rows, duplicate_rows, untimed_rows : int
        Numbers of rows that were not counted, since the previous window was decided: rows that came too late, that had
        the key of an earlier row, or that had no time.
    adapted : bool
        Whether a new reference was fitted after this window.
    reference : str
        Fingerprint of the reference that the window was compared with.
    warnings : tuple of str
        Sentences about rows not counted and references replaced; those about the test are in ``result``.
    evidence : float or None
        Of a sequential monitor: the evidence against "nothing changed" that has accumulated, as the mean number of
        windows without drift until there is as much of it by chance.
    change_window, change_row : int or None
        Of an alarm of a sequential monitor: window and row at which the change is estimated to have begun.
    change_time : datetime or None
        Start of that window, for windows of time.
    since_change : DriftResult or None
        Result of all rows from the estimated change on, compared with all before.

    Examples
    --------
    >>> import gapdrift as gd
    >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(1_000, rng=0))
    >>> monitor = gd.Monitor(detector, window=500)
    >>> (window,) = monitor.advance(gd.datasets.stations(600, rng=1, drift=True))
    >>> window.zone, window.first_row, window.last_row, window.drift
    ('drift', 0, 499, True)
    """

    index: int
    zone: str
    result: DriftResult | None
    n_rows: int
    n_windows: int = 1
    first_row: int | None = None
    last_row: int | None = None
    start: datetime | None = None
    end: datetime | None = None
    decided_at: int = 0
    late_rows: int = 0
    duplicate_rows: int = 0
    untimed_rows: int = 0
    adapted: bool = False
    reference: str = ""
    warnings: tuple[str, ...] = ()
    evidence: float | None = None
    change_window: int | None = None
    change_row: int | None = None
    change_time: datetime | None = None
    since_change: DriftResult | None = None

    @property
    def drift(self) -> bool | None:
        """Whether the window is in the drift zone; None if undetermined."""
        return None if self.zone == "undetermined" else self.zone == "drift"

    @property
    def p_value(self) -> float:
        """p-value of the verdict; 1 if the window has no rows."""
        return 1.0 if self.result is None else self.result.p_value

    @property
    def alarm(self) -> bool:
        """Whether the window is in the warning or the drift zone."""
        return self.zone in {"warning", "drift"}

    def summary(self) -> str:
        """The window in one line of text.

        Examples
        --------
        >>> WindowResult(3, "undetermined", None, 0, n_windows=7).summary()
        'windows 3 to 9: undetermined, no rows'
        """
        number = f"s {self.index} to {self.index + self.n_windows - 1}" if self.n_windows > 1 else f" {self.index}"
        time = "" if self.start is None or self.end is None else f" ({self.start:%Y-%m-%d %H:%M:%S} UTC)"
        rows = "" if self.first_row is None else f", rows {self.first_row} to {self.last_row}"
        test = "no rows" if self.result is None else format_p_value(self.p_value)
        new = ", new reference" if self.adapted else ""
        return f"window{number}{time}: {self.zone}, {test}{rows}{self._evidence_in_words()}{new}"

    def _evidence_in_words(self) -> str:
        if self.evidence is None:
            return ""
        words = f", evidence of 1 in {self.evidence:,.0f} windows"
        if self.change_window is None:
            return words
        time = "" if self.change_time is None else f", {self.change_time:%Y-%m-%d %H:%M:%S} UTC"
        return f"{words}, change at about window {self.change_window} (row {self.change_row}{time})"

    def to_dict(self) -> dict[str, Any]:
        """The window as plain dicts, lists, numbers and strings; times are ISO 8601 text."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {
            "p_value": self.p_value,
            "drift": self.drift,
            "start": None if self.start is None else self.start.isoformat(),
            "end": None if self.end is None else self.end.isoformat(),
            "change_time": None if self.change_time is None else self.change_time.isoformat(),
            "warnings": list(self.warnings),
            "result": None if self.result is None else self.result.to_dict(),
            "since_change": None if self.since_change is None else self.since_change.to_dict(),
        }
