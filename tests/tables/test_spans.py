from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gapdrift as gd
from gapdrift.tables.spans import Span, check_zone, format_duration, local_times, parse_duration, parse_span
from gapdrift.tables.times import as_datetime, as_micros

DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("given", "micros"),
    [
        ("250us", 250),
        ("7 ms", 7_000),
        ("90s", 90_000_000),
        ("15min", 900_000_000),
        ("24h", DAY),
        ("7d", 7 * DAY),
        ("1w", 7 * DAY),
        (timedelta(days=1), DAY),
        (np.timedelta64(1, "D"), DAY),
        (pd.Timedelta(days=1), DAY),
    ],
)
def test_durations(given, micros):
    assert parse_duration("window", given) == micros
    assert parse_duration("window", format_duration(micros)) == micros


@pytest.mark.parametrize("wrong", ["", "h", "1.5h", "-1h", "1 month", "1H", 5, None, np.timedelta64("NaT")])
def test_what_is_no_duration(wrong):
    with pytest.raises(gd.errors.ParameterError, match="window is"):
        parse_duration("window", wrong)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("1mo", "1mo"),
        ("12mo", "1y"),
        ("3 mo", "3mo"),
        ("2y", "2y"),
        ("7d", "1w"),
        (np.timedelta64(1, "M"), "1mo"),
        (np.timedelta64(1, "Y"), "1y"),
        (timedelta(hours=36), "36h"),
    ],
)
def test_spans(given, text):
    span = parse_span("batches", given)
    assert str(span) == text
    assert parse_span("batches", text) == span


@pytest.mark.parametrize("wrong", ["101y", "99999999d", timedelta(days=-1)])
def test_spans_out_of_range(wrong):
    with pytest.raises(gd.errors.ParameterError, match="a hundred years"):
        parse_span("window", wrong)


def test_months_are_no_duration():
    with pytest.raises(gd.errors.ParameterError, match="months and years differ in length"):
        parse_duration("lateness", "1mo")


@pytest.mark.parametrize(
    ("span", "moment", "start", "end"),
    [
        ("1w", datetime(2024, 2, 29, 12), datetime(2024, 2, 26), datetime(2024, 3, 4)),
        ("7d", datetime(1969, 12, 31), datetime(1969, 12, 29), datetime(1970, 1, 5)),
        ("1mo", datetime(2024, 2, 29, 23, 59), datetime(2024, 2, 1), datetime(2024, 3, 1)),
        ("3mo", datetime(2023, 12, 1), datetime(2023, 10, 1), datetime(2024, 1, 1)),
        ("1y", datetime(1969, 7, 20), datetime(1969, 1, 1), datetime(1970, 1, 1)),
        ("6h", datetime(2024, 1, 1, 7), datetime(2024, 1, 1, 6), datetime(2024, 1, 1, 12)),
    ],
)
def test_the_calendar(span, moment, start, end):
    length = parse_span("window", span)
    (number,) = length.numbers_of(np.array([as_micros(moment)])).tolist()
    assert length.start_of(number) == as_micros(start)
    assert length.start_of(number + 1) == as_micros(end)


def test_days_of_a_time_zone_have_23_to_25_hours():
    rome = ZoneInfo("Europe/Rome")
    span = parse_span("window", "1d")
    hours = np.arange(as_micros(datetime(2024, 3, 29)), as_micros(datetime(2024, 11, 2)), DAY // 24)
    numbers = span.numbers_of(hours, rome)
    _, counts = np.unique(numbers, return_counts=True)
    assert sorted(set(counts[1:-1].tolist())) == [23, 24, 25]
    starts = [span.start_of(number, rome) for number in np.unique(numbers).tolist()]
    assert {as_datetime(start).astimezone(rome).hour for start in starts} == {0}
    assert span.numbers_of(np.array(starts), rome).tolist() == np.unique(numbers).tolist()
    # Hours are counted in UTC: none is twice as long as others.
    assert len(np.unique(parse_span("window", "1h").numbers_of(hours, rome))) == len(hours)


@pytest.mark.parametrize("span", ["1d", "1w", "1mo", "5h", "90min"])
@given(micros=st.integers(-(10**16), 4 * 10**15), zone=st.sampled_from([None, "America/Sao_Paulo", "Asia/Kolkata"]))
@settings(max_examples=60, deadline=None)
def test_a_time_lies_in_its_span(span, micros, zone):
    length, place = parse_span("window", span), check_zone("time_zone", zone)
    (number,) = length.numbers_of(np.array([micros]), place).tolist()
    assert length.start_of(number, place) <= micros < length.start_of(number + 1, place)


def test_spans_follow_each_other():
    span = parse_span("window", "5mo")
    starts = [span.start_of(number) for number in range(-30, 30)]
    assert all(one < two for one, two in pairwise(starts))


def test_what_is_no_time_zone():
    assert check_zone("time_zone", None) is None
    for wrong in ("Mars/Olympus", 5, "../etc/passwd", ""):
        with pytest.raises(gd.errors.ParameterError, match="name of a time zone"):
            check_zone("time_zone", wrong)


def test_local_times():
    noon = np.array([as_micros(datetime(2024, 7, 1, 12)), as_micros(datetime(2024, 12, 1, 12))])
    assert ((local_times(noon, ZoneInfo("Europe/Rome")) - noon) // (DAY // 24)).tolist() == [2, 1]
    assert len(local_times(noon[:0], ZoneInfo("Europe/Rome"))) == 0


@pytest.mark.parametrize("wrong", [Span(), Span(1, 1), Span(micros=-5), Span(months=10_000)])
def test_stored_spans_are_checked(wrong):
    with pytest.raises(gd.errors.StorageError):
        wrong.check_stored()
