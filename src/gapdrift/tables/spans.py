"""Spans of time, such as "15min", "7d" or "1mo", and the calendar they divide time by."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from gapdrift.errors import ParameterError
from gapdrift.persistence.records import expect, stored
from gapdrift.tables.times import LATEST, MICROSECOND, Micros, as_datetime, as_micros

__all__ = [
    "DAY",
    "MONDAY",
    "Calendar",
    "Span",
    "check_zone",
    "format_duration",
    "local_times",
    "parse_duration",
    "parse_span",
]

UNITS = {
    "us": timedelta(microseconds=1),
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
"""Units that always have the same length."""

MONTHS = {"mo": 1, "y": 12}
"""Units of the calendar, in months."""

DAY = timedelta(days=1) // MICROSECOND

MONDAY = 4 * DAY
"""The first Monday of 1970, from which days and weeks are counted, so that weeks begin on Mondays."""

OFFSET_STEP = timedelta(minutes=15) // MICROSECOND
"""Time zones change their offset on multiples of a quarter of an hour."""

LONGEST_MONTHS, LONGEST_MICROS = 1_200, 36_525 * DAY
"""A hundred years: longer spans are mistakes of the unit."""


@stored
@dataclass(frozen=True)
class Span:
    """Length of time: a number of calendar months, or of microseconds.

    Parameters
    ----------
    months, micros : int
        One of them is 0.

    Notes
    -----
    Spans of one length follow each other without pause. Months are counted from January 1970, so that "3mo" are
    quarters and "1y" calendar years; all other spans from Monday, 5 January 1970, so that weeks begin on Mondays.
    Months and spans of whole days begin at midnight in the time zone that is asked for; shorter ones are counted in
    UTC, whatever the zone, so that none is left out or longer where clocks are put forward or back.

    Examples
    --------
    >>> span = parse_span("batches", "1mo")
    >>> (number,) = span.numbers_of(np.array([as_micros(datetime(2024, 2, 29, 12))])).tolist()
    >>> print(as_datetime(span.start_of(number)), as_datetime(span.start_of(number + 1)))
    2024-02-01 00:00:00+00:00 2024-03-01 00:00:00+00:00
    >>> str(span)
    '1mo'
    """

    months: int = 0
    micros: int = 0

    def __str__(self) -> str:
        """Text that `parse_span` reads."""
        if not self.months:
            return format_duration(self.micros)
        return f"{self.months // 12}y" if self.months % 12 == 0 else f"{self.months}mo"

    @property
    def in_local_time(self) -> bool:
        """Whether spans of this length begin at midnight of a time zone."""
        return bool(self.months) or self.micros % DAY == 0

    def numbers_of(self, times: Micros, zone: ZoneInfo | None = None) -> NDArray[np.int64]:
        """Number of the span that each time lies in: (times,).

        Parameters
        ----------
        times : (times,) array of int
            Microseconds since 1970, UTC.
        zone : ZoneInfo, optional
            Of months, weeks and days. None means UTC.
        """
        local = local_times(times, zone) if self.in_local_time else times
        if self.months:
            return local.view("M8[us]").astype("M8[M]").astype(np.int64) // self.months
        return (local - MONDAY) // self.micros

    def start_of(self, number: int, zone: ZoneInfo | None = None) -> int:
        """Start of a span, in microseconds since 1970, UTC; the span ends where the next one starts."""
        if self.months:
            year, month = divmod(number * self.months, 12)
            start = datetime(1970 + year, month + 1, 1)
        elif self.in_local_time:
            start = datetime(1970, 1, 5) + number * self.micros * MICROSECOND
        else:
            return MONDAY + number * self.micros
        return as_micros(start.replace(tzinfo=UTC if zone is None else zone))

    def check_stored(self) -> None:
        """Check what was read from a file: months or microseconds, at most a hundred years."""
        sound = (0 < self.months <= LONGEST_MONTHS) != (0 < self.micros <= LONGEST_MICROS)
        expect(sound and self.months * self.micros == 0, "a span of months or of microseconds")


@dataclass(frozen=True)
class Calendar:
    """Division of time into spans of one length.

    Parameters
    ----------
    span : Span
    zone : ZoneInfo or None
        Of months, weeks and days. None means UTC.

    Examples
    --------
    >>> calendar = Calendar(parse_span("window", "1d"), ZoneInfo("Europe/Rome"))
    >>> noon = as_micros(datetime(2024, 3, 31, 12, tzinfo=UTC))
    >>> (number,) = calendar.numbers_of(np.array([noon])).tolist()
    >>> print(as_datetime(calendar.start_of(number)), as_datetime(calendar.start_of(number + 1)))
    2024-03-30 23:00:00+00:00 2024-03-31 22:00:00+00:00
    """

    span: Span
    zone: ZoneInfo | None = None

    def numbers_of(self, times: Micros) -> NDArray[np.int64]:
        """Number of the span that each time lies in: (times,)."""
        return self.span.numbers_of(times, self.zone)

    def number_of(self, time: int) -> int:
        """Number of the span that a time lies in."""
        return int(self.numbers_of(np.array([time], dtype=np.int64))[0])

    def start_of(self, number: int) -> int:
        """Start of a span, in microseconds since 1970, UTC; the latest time of all for spans that begin after it."""
        try:
            return min(self.span.start_of(number, self.zone), as_micros(LATEST))
        except (ValueError, OverflowError):
            return as_micros(LATEST)


def parse_span(name: str, value: Any) -> Span:
    """Span of a timedelta, or of a text such as "15min", "7d", "1w", "1mo" or "1y".

    Parameters
    ----------
    name : str
        Of the setting, for messages.
    value : str, timedelta or numpy timedelta64

    Examples
    --------
    >>> parse_span("window", "90s"), parse_span("window", "1y")
    (Span(months=0, micros=90000000), Span(months=12, micros=0))
    """
    match = _split(value)
    if match is not None and match[1] in MONTHS:
        span = Span(months=match[0] * MONTHS[match[1]])
    elif match is not None and match[1] in UNITS:
        span = Span(micros=match[0] * (UNITS[match[1]] // MICROSECOND))
    elif isinstance(value, np.timedelta64) and not np.isnat(value):
        span = _span_of_timedelta64(value)
    elif isinstance(value, timedelta):
        span = Span(micros=value // MICROSECOND)
    else:
        units = ", ".join([*UNITS, *MONTHS])
        raise ParameterError(
            f"{name} is {value!r}, expected a timedelta, or a number with one of the units {units}, such as "
            '"1h", "15min" or "1mo".'
        )
    if not (0 <= span.months <= LONGEST_MONTHS and 0 <= span.micros <= LONGEST_MICROS):
        raise ParameterError(f"{name} is {value!r}, expected from 0 to a hundred years.")
    return span


def parse_duration(name: str, value: Any) -> int:
    """Number of microseconds in a timedelta, or in a text such as "1h", "15min" or "7d"; months have no such number.

    Examples
    --------
    >>> parse_duration("lateness", "90s")
    90000000
    """
    span = parse_span(name, value)
    if span.months:
        raise ParameterError(
            f"{name} is {value!r}, but months and years differ in length: expected one of the units {', '.join(UNITS)}."
        )
    return span.micros


def format_duration(micros: int) -> str:
    """Duration as text that `parse_duration` reads, in the largest unit of which it is a whole multiple.

    Examples
    --------
    >>> format_duration(5_400_000_000)
    '90min'
    """
    whole_in = [unit for unit, length in UNITS.items() if micros % (length // MICROSECOND) == 0]
    unit = whole_in[-1] if micros else "s"
    return f"{micros // (UNITS[unit] // MICROSECOND)}{unit}"


def check_zone(name: str, value: Any) -> ZoneInfo | None:
    """Time zone by its name, such as "Europe/Rome"; None, which means UTC, for None.

    Examples
    --------
    >>> str(check_zone("time_zone", "Europe/Rome"))
    'Europe/Rome'
    """
    if value is None or isinstance(value, ZoneInfo):
        return value
    try:
        return ZoneInfo(value)
    except (TypeError, ValueError, OSError, LookupError) as error:
        raise ParameterError(
            f"{name} is {value!r}, expected the name of a time zone that this computer knows, such as "
            '"Europe/Rome". Where it knows none, install the package tzdata.'
        ) from error


def local_times(times: Micros, zone: ZoneInfo | None) -> Micros:
    """What the clocks of a time zone show, in microseconds since 1970; the times themselves where it is None."""
    if zone is None or not len(times):
        return times
    steps, place = np.unique(times // OFFSET_STEP, return_inverse=True)
    moments = (as_datetime(step * OFFSET_STEP).astimezone(zone) for step in steps.tolist())
    offsets = [(moment.utcoffset() or timedelta()) // MICROSECOND for moment in moments]
    return times + np.array(offsets, dtype=np.int64)[place.reshape(-1)]


def _split(value: Any) -> tuple[int, str] | None:
    """Number and unit of a text; None for anything else."""
    match = re.fullmatch(r"\s*(\d{1,12})\s*([a-z]+)\s*", value) if isinstance(value, str) else None
    return None if match is None else (int(match[1]), match[2])


def _span_of_timedelta64(value: np.timedelta64) -> Span:
    """Span of numpy's durations, which may be months or years."""
    if np.datetime_data(value.dtype)[0] in {"M", "Y"}:
        return Span(months=int(value.astype("m8[M]").astype(np.int64)))
    return Span(micros=int(value // np.timedelta64(1, "us")))
