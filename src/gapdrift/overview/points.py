"""Windows as points of a timeline: what a chart shows of each, without its full result."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gapdrift.streaming.windows import ZONES

__all__ = ["SEVERITY", "SIDES", "ColumnPoint", "Timeline", "WindowPoint", "group_points", "point_of"]

SEVERITY = {"undetermined": 0, "calm": 1, "warning": 2, "drift": 3}
"""Order of the zones from the least to the most alarming."""

SIDES = {"values": "Values", "missing": "Missing values", "concept": "Label, given the other columns"}
"""What is compared, with titles; the last where the detector was fitted with a target."""

assert set(SEVERITY) == set(ZONES)


@dataclass(frozen=True)
class ColumnPoint:
    """One column in one window.

    Parameters
    ----------
    name : str
    effect_size, p_value : float or None
        Size of the change of its values, and their p-value adjusted for the number of columns.
    missing : float
        Share of missing cells in the window.
    missing_reference : float
    missing_p_value : float or None
        Adjusted for the number of columns.
    """

    name: str
    effect_size: float | None
    p_value: float | None
    missing: float
    missing_reference: float
    missing_p_value: float | None


@dataclass(frozen=True)
class WindowPoint:
    """One window, or several that share a place in a chart.

    Parameters
    ----------
    index : int
    zone : str
    p_value : float
    n_rows : int
    n_windows : int
    start, end : str or None
        Bounds of a window of time, as ISO 8601 text.
    values_p, values_effect, missing_p, missing_effect, concept_p, concept_effect : float or None
        p-values and effect sizes of the tests of values, of missing cells, and of the label given the other columns;
        None where there was no test.
    columns : tuple of ColumnPoint
    adapted : bool
        Whether a new reference was fitted after the window.
    first_row, last_row : int or None
    """

    index: int
    zone: str
    p_value: float
    n_rows: int
    n_windows: int = 1
    start: str | None = None
    end: str | None = None
    values_p: float | None = None
    values_effect: float | None = None
    missing_p: float | None = None
    missing_effect: float | None = None
    concept_p: float | None = None
    concept_effect: float | None = None
    columns: tuple[ColumnPoint, ...] = ()
    adapted: bool = False
    first_row: int | None = None
    last_row: int | None = None

    @property
    def alarm(self) -> bool:
        """Whether the window is in the warning or the drift zone."""
        return self.zone in {"warning", "drift"}

    @property
    def place(self) -> str:
        """Number of the window, or numbers of the first and the last one, as text."""
        return str(self.index) if self.n_windows == 1 else f"{self.index} to {self.index + self.n_windows - 1}"

    def changed(self, alpha: float) -> list[str]:
        """Names of the columns whose values or missing cells changed, the largest change first."""
        found = [
            (max(column.effect_size or 0.0, abs(column.missing - column.missing_reference)), column.name)
            for column in self.columns
            if min(_or_one(column.p_value), _or_one(column.missing_p_value)) < alpha
        ]
        return [name for _, name in sorted(found, key=lambda pair: (-pair[0], pair[1]))]


@dataclass(frozen=True)
class Timeline:
    """Windows of a stream in their order, with the p-values below which its zones begin.

    Parameters
    ----------
    name : str
    points : tuple of WindowPoint
    alarm_at, warning_at : float
        A smaller p-value is in the drift zone, in the warning zone.
    n_windows : int
        Number of windows of the stream, of which ``points`` may be the last ones.
    """

    name: str
    points: tuple[WindowPoint, ...]
    alarm_at: float
    warning_at: float
    n_windows: int

    @property
    def columns(self) -> list[str]:
        """Names of all columns, in the order in which they first occur."""
        return list(dict.fromkeys(column.name for point in self.points for column in point.columns))

    @property
    def sides(self) -> dict[str, str]:
        """What is compared, with its title: the label given the other columns only where there is a label."""
        has_label = any(point.concept_p is not None for point in self.points)
        return {side: title for side, title in SIDES.items() if side != "concept" or has_label}


def point_of(record: Mapping[str, Any]) -> WindowPoint:
    """Point of the record of a window (`gapdrift.sinks.make_record`)."""
    result = record.get("result") or {}
    values, missing, concept = (result.get(name) or {} for name in ("values", "missingness", "concept"))
    return WindowPoint(
        index=record["index"],
        zone=record["zone"],
        p_value=record["p_value"],
        n_rows=record["n_rows"],
        n_windows=record["n_windows"],
        start=record["start"],
        end=record["end"],
        values_p=_tested(values, "p_value"),
        values_effect=_tested(values, "effect_size"),
        missing_p=_tested(missing, "p_value"),
        missing_effect=_tested(missing, "effect_size"),
        concept_p=_tested(concept, "p_value"),
        concept_effect=_tested(concept, "effect_size"),
        columns=tuple(map(_column_of, result.get("features", ()))),
        adapted=record["adapted"],
        first_row=record["first_row"],
        last_row=record["last_row"],
    )


def group_points(points: Sequence[WindowPoint], most: int) -> list[WindowPoint]:
    """Points, at most ``most`` of them: consecutive ones are joined, and the most alarming facts of each are kept.

    Examples
    --------
    >>> calm, drift = WindowPoint(0, "calm", 0.4, 50), WindowPoint(1, "drift", 1e-6, 50)
    >>> (joined,) = group_points([calm, drift], 1)
    >>> joined.zone, joined.p_value, joined.n_windows, joined.n_rows
    ('drift', 1e-06, 2, 100)
    """
    size = max(1, math.ceil(len(points) / most))
    if size == 1:
        return list(points)
    return [_join(points[start : start + size]) for start in range(0, len(points), size)]


def _join(points: Sequence[WindowPoint]) -> WindowPoint:
    first, last = points[0], points[-1]
    return replace(
        first,
        zone=max((point.zone for point in points), key=lambda zone: SEVERITY[zone]),
        p_value=min(point.p_value for point in points),
        n_rows=sum(point.n_rows for point in points),
        n_windows=last.index + last.n_windows - first.index,
        end=last.end,
        values_p=_least(point.values_p for point in points),
        values_effect=_most(point.values_effect for point in points),
        missing_p=_least(point.missing_p for point in points),
        missing_effect=_most(point.missing_effect for point in points),
        concept_p=_least(point.concept_p for point in points),
        concept_effect=_most(point.concept_effect for point in points),
        columns=_join_columns(points),
        adapted=any(point.adapted for point in points),
        last_row=last.last_row,
    )


def _join_columns(points: Sequence[WindowPoint]) -> tuple[ColumnPoint, ...]:
    of_name: dict[str, list[ColumnPoint]] = {}
    for point in points:
        for column in point.columns:
            of_name.setdefault(column.name, []).append(column)
    return tuple(
        ColumnPoint(
            name,
            _most(column.effect_size for column in columns),
            _least(column.p_value for column in columns),
            max(columns, key=_missing_change).missing,
            columns[0].missing_reference,
            _least(column.missing_p_value for column in columns),
        )
        for name, columns in of_name.items()
    )


def _missing_change(column: ColumnPoint) -> float:
    return abs(column.missing - column.missing_reference)


def _column_of(feature: Mapping[str, Any]) -> ColumnPoint:
    return ColumnPoint(
        feature["name"],
        feature["effect_size"],
        feature["adjusted_p_value"],
        feature["missing_window"],
        feature["missing_reference"],
        feature["adjusted_missing_p_value"],
    )


def _tested(finding: Mapping[str, Any], name: str) -> float | None:
    return None if not finding or finding.get("reason") else finding.get(name)


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _or_one(p_value: float | None) -> float:
    return 1.0 if p_value is None else p_value
