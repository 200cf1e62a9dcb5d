"""Dates and times that are written as text, in ISO form and in other common ones."""

import re
from collections.abc import Mapping

__all__ = ["are_dates", "is_date"]

MIN_DATE_SHARE = 0.95
"""Smallest share of cells that are dates in a column of dates, as for numbers in CSV files."""

_MONTH = r"(?P<word>jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]*\.?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::[0-5]\d(?:[.,]\d+)?)?\s*(?:[ap]\.?m\.?)?"
    r"\s*(?:z|utc|gmt|[+-]\d{2}:?(?:\d{2})?(?::?\d{2})?)?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"

_DATES = (
    r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",  # 2024-01-31, 2024/1/31
    r"(?P<year>\d{4})-(?P<month>\d{2})",  # 2024-01
    r"(?P<year>\d{4})-?w(?P<week>[0-5]\d)(?:-?[1-7])?",  # 2024-W05-3
    r"(?P<first>\d{1,2})(?P<mark>[./-])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4})",  # 31.12.2024, 12/31/2024
    r"(?P<first>\d{2})(?P<mark>[./-])(?P<second>\d{2})(?P=mark)(?P<short>\d{2})",  # 31.12.24
    rf"{_DAY}[\s.-]*{_MONTH},?[\s-]*(?P<year>\d{{4}}|'?\d{{2}})",  # 5 Jan 2024, 05-Jan-24
    rf"{_MONTH}\s*{_DAY},?\s+(?P<year>\d{{4}})",  # Jan 5, 2024
    rf"{_MONTH}\s*(?P<year>\d{{4}})",  # January 2024
)
_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        *(rf"{_WEEKDAY}{date}(?:(?:[\st,]|\bat\b)+{_TIME})?" for date in _DATES),
        rf"{_WEEKDAY}{_MONTH}\s+{_DAY}\s+{_TIME}\s*(?P<year>\d{{4}})",  # Mon Jan  5 10:00:00 2024
        _TIME,
    )
)


def are_dates(counts: Mapping[str, int]) -> bool:
    """Whether nearly all cells of a column are dates or times, given how often each text occurs.

    Examples
    --------
    >>> are_dates({"2024-01-31": 60, "31.1.2024 12:30": 38, "unknown": 2}), are_dates({"10-12": 5, "08/10": 5})
    (True, False)
    """
    total = sum(counts.values())
    allowed = total - MIN_DATE_SHARE * total
    others = 0
    for text, count in counts.items():
        others += 0 if is_date(text) else count
        if others > allowed:
            return False
    return total > 0


def is_date(text: str) -> bool:
    """Whether a text is a date, a time, or both.

    ISO forms, 31.12.2024, 12/31/2024, 31-12-24, 5 Jan 2024, Jan 5, 2024 and the like, with or without a time of the
    day. Two numbers with a mark between them, such as 10-12 or 08/10, are no date.

    Examples
    --------
    >>> [is_date(text) for text in ("2024-01-31T10:00Z", "5-Jan-24", "12/31/2024 1:05 pm", "31/31/2024", "1.2.3")]
    [True, True, True, False, False]
    """
    plain = text.strip()
    return 4 <= len(plain) <= 40 and any(
        _is_possible(found.groupdict()) for form in _FORMS if (found := form.fullmatch(plain)) is not None
    )


def _is_possible(parts: Mapping[str, str | None]) -> bool:
    """Whether the numbers of a date can be those of a year, a month, a day, an hour and a week."""
    number = {name: int(value.strip("'")) for name, value in parts.items() if value and value.strip("'").isdigit()}
    first, second = number.get("first", 1), number.get("second", 1)
    return (len(parts.get("year") or "19") < 4 or 1000 <= number["year"] < 3000) and (
        1 <= number.get("month", 1) <= 12
        and 1 <= number.get("day", 1) <= 31
        and 1 <= min(first, second) <= 12
        and 1 <= max(first, second) <= 31
        and number.get("hour", 0) <= 24
        and 1 <= number.get("week", 1) <= 53
    )
