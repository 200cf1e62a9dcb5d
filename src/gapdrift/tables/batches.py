"""Which batch each row of a table belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices
from gapdrift.errors import InputError, ParameterError
from gapdrift.tables.frame import Table, is_missing, quote
from gapdrift.tables.seasons import check_seasons
from gapdrift.tables.spans import Span, check_zone, parse_span
from gapdrift.tables.times import as_datetime, times_of

__all__ = ["BatchPlan", "check_plan", "label_rows", "order_of_rows"]


@dataclass(frozen=True)
class BatchPlan:
    """How the rows of a reference are divided into batches.

    Parameters
    ----------
    span : Span or None
        Batches are spans of time.
    column : str or None
        Batches are the rows with the same cell in this column.
    n_rows : int or None
        Batches are so many consecutive rows.
    labels : array or None
        Label of each row.
    parts : tuple or None
        Batches are these tables, or evidence counted before.
    time : str or None
        Column with the times, or the order, of the rows.
    seasons : tuple of str
    time_zone : str or None
    """

    span: Span | None = None
    column: str | None = None
    n_rows: int | None = None
    labels: NDArray[Any] | None = None
    parts: tuple[Any, ...] | None = None
    time: str | None = None
    seasons: tuple[str, ...] = ()
    time_zone: str | None = None

    @property
    def in_order(self) -> bool:
        """Whether nothing is said but the order of the rows."""
        return all(way is None for way in (self.span, self.column, self.n_rows, self.labels, self.parts))

    @property
    def zone(self) -> ZoneInfo | None:
        """Time zone of spans and seasons."""
        return check_zone("time_zone", self.time_zone)

    @property
    def unit(self) -> str:
        """What a batch is, for users."""
        if self.span is not None:
            return str(self.span)
        if self.column is not None:
            return self.column
        if self.n_rows is not None:
            return f"{self.n_rows} rows"
        return f"rows in order of {self.time}" if self.in_order else "batches"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that say when a row was and where it belongs, and are not compared."""
        return tuple(dict.fromkeys(name for name in (self.column, self.time) if name is not None))


def check_plan(table: Any, batches: Any, time: Any, season: Any, time_zone: Any) -> BatchPlan | None:
    """Plan for the settings of `gapdrift.DriftDetector.fit`; None where all rows are one reference.

    Parameters
    ----------
    table : Table or None
        Reference, for the names and types of its columns; None for rows that are not in memory.
    batches, time, season, time_zone : object
        As the user gave them.
    """
    seasons = check_seasons(season)
    if time is not None and not isinstance(time, str):
        raise ParameterError(f"time is {time!r}, expected the name of a column.")
    if batches is None and time is None:
        if seasons:
            raise ParameterError("season is given, but no batches: what is usual at a time is learned from batches.")
        return None
    if batches is None and seasons:
        raise ParameterError("season is given, but no batches: say how long they are, such as batches='1d'.")
    zone = None if time_zone is None else str(check_zone("time_zone", time_zone))
    if batches is not None:
        time = _find_time(table, time, needed=bool(seasons) or _is_span(table, batches))
    plan = BatchPlan(**_division(table, batches), time=time, seasons=seasons, time_zone=zone)
    _check_names(table, plan)
    return plan


def label_rows(table: Table, plan: BatchPlan) -> tuple[Indices, list[str]]:
    """Number of the batch of each row, and what the batches are called, in the order of their labels or times."""
    if plan.span is not None:
        times, missing = times_of(table, str(plan.time))
        _refuse_missing(missing.sum(), str(plan.time))
        numbers, codes = np.unique(plan.span.numbers_of(times, plan.zone), return_inverse=True)
        starts = [as_datetime(plan.span.start_of(number, plan.zone)) for number in numbers.tolist()]
        local = [start.astimezone(plan.zone) if plan.zone is not None else start for start in starts]
        return codes.reshape(-1), [f"{start:%Y-%m-%d %H:%M}".removesuffix(" 00:00") for start in local]
    if plan.n_rows is not None:
        codes = np.arange(table.n_rows) // plan.n_rows
        return codes, [f"rows from {start}" for start in range(0, table.n_rows, plan.n_rows)]
    cells = _labels(table, plan)
    texts = np.array([str(cell) for cell in cells], dtype=object)
    labels, codes = np.unique(texts, return_inverse=True)
    return codes.reshape(-1), labels.tolist()


def order_of_rows(table: Table, time: str) -> Indices:
    """Places of the rows in the order of a column of times or numbers; equal ones stay as they are."""
    column = table.column(time)
    if column.kind in {"number", "integer"}:
        keys, missing = column.values, column.missing
    else:
        keys, missing = times_of(table, time)
    _refuse_missing(missing.sum(), time)
    return np.argsort(keys, kind="stable")


def _division(table: Any, batches: Any) -> dict[str, Any]:
    if batches is None:
        return {}
    if isinstance(batches, str):
        return {"span": parse_span("batches", batches)} if _is_span(table, batches) else {"column": batches}
    if isinstance(batches, int | np.integer) and not isinstance(batches, bool):
        if batches < 1:
            raise ParameterError(f"batches is {batches}, expected at least one row in a batch.")
        return {"n_rows": int(batches)}
    if isinstance(batches, list | tuple) and batches and not isinstance(batches[0], str | int | float | np.generic):
        return {"parts": tuple(batches)}
    try:
        return {"span": parse_span("batches", batches)}
    except ParameterError:
        return {"labels": _as_labels(table, batches)}


def _is_span(table: Any, batches: Any) -> bool:
    """Whether batches are spans of time: a column of that name goes first."""
    if not isinstance(batches, str):
        return not isinstance(batches, Sequence | np.ndarray) and hasattr(batches, "total_seconds")
    if table is not None and batches in table.names:
        return False
    try:
        parse_span("batches", batches)
    except ParameterError:
        if table is None:
            return False
        raise ParameterError(
            f"batches is {batches!r}, which is neither a column ({quote(table.names)}) nor a span of time such as "
            '"7d", "1w" or "1mo".'
        ) from None
    return True


def _as_labels(table: Any, batches: Any) -> NDArray[Any]:
    expected = "expected a column, a span of time such as '7d', a number of rows, one label for each row, or tables"
    try:
        labels = np.asarray(batches.to_numpy() if hasattr(batches, "to_numpy") else batches, dtype=object)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"batches is a {type(batches).__name__}, {expected}.") from error
    if labels.ndim != 1 or table is None or len(labels) != table.n_rows:
        rows = "rows that are not in memory" if table is None else f"{table.n_rows} rows"
        size = f"{len(labels)} labels" if labels.ndim == 1 else f"a {type(batches).__name__}"
        raise ParameterError(f"batches has {size} for {rows}, {expected}.")
    return labels


def _labels(table: Table, plan: BatchPlan) -> list[Any]:
    if plan.labels is not None:
        cells, name = list(plan.labels.tolist()), "batches"
    else:
        name = str(plan.column)
        if name not in table.names:
            raise InputError(f"The reference has no column {name!r}, which says what batch a row is in.")
        stored = table.stored(name)
        cells = list(stored.tolist() if isinstance(stored, np.ndarray) else stored.to_list())
    _refuse_missing(sum(map(is_missing, cells)), name)
    return cells


def _refuse_missing(n_missing: Any, name: str) -> None:
    if n_missing:
        raise InputError(
            f"{int(n_missing)} row(s) have no value in {name!r}, expected one in each: it says what batch they belong "
            "to. Fill them in, or leave these rows out."
        )


def _find_time(table: Any, time: str | None, *, needed: bool) -> str | None:
    """Column with the times: the one given, or the only one of dates."""
    if time is not None or not needed:
        return time
    found = [] if table is None else [name for name in table.names if _is_date(table, name)]
    if len(found) != 1:
        which = f"the reference has {len(found)} columns of dates ({quote(found)})" if found else "no column has dates"
        raise ParameterError(f"time is not given, and {which}. Name the column with the time of each row: time=...")
    return str(found[0])


def _is_date(table: Table, name: str) -> bool:
    stored = table.stored(name)
    if isinstance(stored, np.ndarray):
        return stored.dtype.kind == "M" or (stored.dtype == object and table.column(name).kind == "date")
    return stored.dtype in (nw.Datetime, nw.Date)


def _check_names(table: Any, plan: BatchPlan) -> None:
    absent = [] if table is None else [name for name in plan.columns if name not in table.names]
    if absent:
        raise InputError(f"The reference has no column {quote(absent)}. It has: {quote(table.names)}.")
