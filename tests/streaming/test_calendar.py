from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

import gapdrift as gd
from tests.stream_rows import cut, detector, rows, told


def stream(first, last, every):
    """One row for each step of time from the first to the last, which is included."""
    times = [first + place * every for place in range((last - first) // every + 1)]
    return rows(len(times), 1) | {"time": times}


def windows(table, window, step=None, **options):
    return gd.Monitor(detector(), window, step, time_column="time", **options).advance(table)


def day(year, month, number, hour=0):
    return datetime(year, month, number, hour, tzinfo=UTC)


def test_months_have_their_own_lengths():
    table = stream(day(2024, 1, 1), day(2024, 4, 1), timedelta(days=1))
    found = windows(table, "1mo")
    assert [window.n_rows for window in found] == [31, 29, 31]
    assert [window.start for window in found] == [day(2024, 1, 1), day(2024, 2, 1), day(2024, 3, 1)]
    assert found[-1].end == day(2024, 4, 1)


def test_quarters_slide_by_months():
    table = stream(day(2023, 12, 1), day(2024, 6, 1), timedelta(days=1))
    found = windows(table, "3mo", "1mo")
    assert [(window.start.month, window.end.month) for window in found] == [(12, 3), (1, 4), (2, 5), (3, 6)]
    assert [window.n_rows for window in found] == [91, 91, 90, 92]


def test_weeks_begin_on_mondays():
    found = windows(stream(day(2024, 1, 3), day(2024, 1, 22), timedelta(hours=12)), "1w")
    assert [window.start for window in found] == [day(2024, 1, 1), day(2024, 1, 8), day(2024, 1, 15)]
    assert {window.start.weekday() for window in found} == {0}
    assert [window.n_rows for window in found] == [10, 14, 14]


@pytest.mark.parametrize(("month", "number", "hours"), [(3, 31, 23), (10, 27, 25), (6, 1, 24)])
def test_days_of_a_time_zone_have_23_to_25_hours(month, number, hours):
    rome = ZoneInfo("Europe/Rome")
    first = datetime(2024, month, number, tzinfo=rome).astimezone(UTC)
    table = stream(first - timedelta(hours=24), first + timedelta(hours=49), timedelta(hours=1))
    found = {w.start.astimezone(rome).date().day: w for w in windows(table, "1d", time_zone="Europe/Rome")}
    assert found[number].n_rows == hours
    assert found[number].end - found[number].start == timedelta(hours=hours)


def test_months_of_a_time_zone_begin_at_its_midnight():
    table = stream(day(2024, 1, 31, 12), day(2024, 3, 2), timedelta(hours=1))
    second = windows(table, "1mo", time_zone="Asia/Tokyo")[1]
    assert (second.start, second.end) == (day(2024, 1, 31, 15), day(2024, 2, 29, 15))
    assert second.n_rows == 29 * 24


def test_months_do_not_depend_on_how_rows_are_divided():
    table = stream(day(2024, 1, 15), day(2024, 4, 15), timedelta(hours=8))
    options = {"window": "1mo", "time_column": "time", "time_zone": "America/New_York", "lateness": "2d"}
    monitor, found = gd.Monitor(detector(), **options), []
    for piece in cut(table, (1, 50, 51, 180)):
        found += monitor.advance(piece)
        state, monitor = monitor.state(), gd.Monitor(detector(), **options)
        monitor.restore(state)
    assert told(found) == told(gd.Monitor(detector(), **options).advance(table))
    assert monitor.settings["window"] == "1mo" and monitor.settings["time_zone"] == "America/New_York"
    (rest,) = monitor.flush()
    assert rest.start < day(2024, 4, 2) < rest.end


def test_times_at_the_end_of_all_times_are_decided():
    last = stream(day(9999, 12, 20), day(9999, 12, 29), timedelta(hours=6))
    monitor = gd.Monitor(detector(), "1mo", time_column="time")
    monitor.advance(last)
    (window,) = monitor.flush()
    assert (window.n_rows, window.start, window.end) == (37, day(9999, 12, 1), day(9999, 12, 30))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": "1mo", "step": "1w"}, "months differ in length"),
        ({"window": "4w", "step": "1mo"}, "months differ in length"),
        ({"window": "1mo", "step": "2mo"}, "expected a step of at most the window"),
        ({"window": "0mo"}, "window is '0mo', expected more than 0"),
        ({"window": "1mo", "lateness": "1mo"}, "months and years differ in length"),
        ({"window": "1mo", "time_zone": "Mars/Olympus"}, "time_zone is 'Mars/Olympus', expected the name"),
        ({"window": 50, "time_column": None, "time_zone": "Europe/Rome"}, "time_zone is 'Europe/Rome', but window"),
    ],
)
def test_what_has_no_calendar_is_told(options, message):
    with pytest.raises(gd.errors.ParameterError, match=message):
        gd.Monitor(detector(), **({"time_column": "time"} | options))
