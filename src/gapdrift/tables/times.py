"""Times as whole microseconds since 1970, in UTC.

`docs/guides/monitor.md` states the rules for users: naive times are UTC, text is ISO 8601, numbers are not times.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Mask
from gapdrift.errors import InputError
from gapdrift.tables.frame import Table, is_missing

__all__ = ["EPOCH", "MICROSECOND", "Micros", "as_datetime", "as_micros", "check_time", "times_of"]

Micros = NDArray[np.int64]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def as_datetime(micros: int) -> datetime:
    """Time, in UTC, that is this many microseconds after 1970 began."""
    return EPOCH + micros * MICROSECOND


def as_micros(moment: datetime) -> int:
    """Microseconds since 1970 of a time; one without a time zone is UTC."""
    zoned = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (zoned - EPOCH) // MICROSECOND


def check_time(moment: Any) -> int:
    """Microseconds since 1970 of a time; anything else, or a time at the ends of the calendar, is an error."""
    if not isinstance(moment, datetime) or not EARLIEST <= as_datetime(as_micros(moment)) <= LATEST:
        raise InputError(f"The time is {moment!r}, expected a date and time in the years 1 to 9999.")
    return as_micros(moment)


def times_of(table: Table, name: str) -> tuple[Micros, Mask]:
    """Times of a column in microseconds since 1970, 0 where missing; and which of them are missing."""
    column = table.stored(name)
    if isinstance(column, np.ndarray):
        times, missing = _times_in_array(name, column)
    elif column.dtype in (nw.Datetime, nw.Date):
        missing = column.is_null().to_numpy().astype(bool)
        times = np.zeros(len(missing), dtype=np.int64)
        present = column.filter(~column.is_null())
        moments = present.cast(nw.Datetime("us")) if column.dtype == nw.Date else present
        times[~missing] = moments.dt.timestamp("us").to_numpy()
    else:
        times, missing = _times_in_cells(name, column.to_list())
    _check_range(name, times)
    return times, missing


def _times_in_array(name: str, column: NDArray[Any]) -> tuple[Micros, Mask]:
    data, masked = np.ma.getdata(column), np.ma.getmaskarray(column)
    if data.dtype.kind == "M":
        missing = np.isnat(data) | masked
        return np.where(missing, np.datetime64(0, "us"), data.astype("M8[us]")).astype(np.int64), missing
    cells = data.astype(object)
    cells[masked] = None
    return _times_in_cells(name, cells.tolist())


def _times_in_cells(name: str, cells: list[Any]) -> tuple[Micros, Mask]:
    missing = np.array([is_missing(cell) for cell in cells], dtype=bool)
    times = np.zeros(len(cells), dtype=np.int64)
    for place in np.flatnonzero(~missing):
        times[place] = _parse_time(name, cells[place])
    return times, missing


def _parse_time(name: str, cell: Any) -> int:
    moment = cell
    if isinstance(cell, np.datetime64):
        return int(cell.astype("M8[us]").astype(np.int64))
    if isinstance(cell, str):
        try:
            moment = datetime.fromisoformat(cell.strip())
        except ValueError:
            moment = None
    elif isinstance(cell, date) and not isinstance(cell, datetime):
        moment = datetime(cell.year, cell.month, cell.day)
    if not isinstance(moment, datetime):
        raise InputError(
            f"Column {name!r} has the time {cell!r}, expected dates and times, or text such as "
            "2024-01-31T12:30:00+01:00. Convert it first; a number needs its unit and origin."
        )
    return as_micros(moment)


def _check_range(name: str, times: Micros) -> None:
    low, high = ((limit - EPOCH) // MICROSECOND for limit in (EARLIEST, LATEST))
    if len(times) and not (low <= times.min() and times.max() <= high):
        raise InputError(f"Column {name!r} has times outside the years 1 to 9999. Correct them, or leave them empty.")
