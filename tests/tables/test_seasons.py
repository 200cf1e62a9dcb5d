from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import gapdrift as gd
from gapdrift.tables.seasons import SeasonTerms, check_seasons

HOURS = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=hour) for hour in range(24 * 7)]


def test_whole_seasons_cancel_out():
    calendar = SeasonTerms("t", ("day", "week"), 2)
    assert calendar.sums({"t": HOURS}) == pytest.approx(np.zeros(8), abs=1e-3)
    assert calendar.sums({"t": HOURS[:12]})[1] == pytest.approx(sum(np.sin(2 * np.pi * np.arange(12) / 24)), abs=1e-3)


def test_sums_add_up_to_the_bit():
    calendar = SeasonTerms("t", ("day", "week", "year"), 2, "Europe/Rome")
    whole = calendar.sums({"t": HOURS})
    assert np.array_equal(whole, sum(calendar.sums({"t": HOURS[k : k + 5]}) for k in range(0, len(HOURS), 5)))
    assert np.array_equal(calendar.sums({"t": []}), np.zeros(12))


def test_days_are_those_of_the_time_zone():
    noon = {"t": [datetime(2024, 1, 1, 12, tzinfo=UTC)]}
    assert SeasonTerms("t", ("day",)).sums(noon).tolist() == pytest.approx([-1.0, 0.0], abs=1e-5)
    assert SeasonTerms("t", ("day",), time_zone="Asia/Tokyo").sums(noon).tolist() == pytest.approx(
        [np.cos(2 * np.pi * 21 / 24), np.sin(2 * np.pi * 21 / 24)], abs=1e-5
    )


def test_rows_without_a_time():
    calendar = SeasonTerms("t", ("day",))
    with pytest.raises(gd.errors.InputError, match="no column 't'"):
        calendar.sums({"x": [1.0]})
    with pytest.raises(gd.errors.InputError, match=r"1 row\(s\) have no time"):
        calendar.sums({"t": [HOURS[0], None]})


@pytest.mark.parametrize("wrong", [5, ("month",), ["day", 3], None])
def test_what_is_no_season(wrong):
    with pytest.raises(gd.errors.ParameterError, match="season"):
        check_seasons(wrong)


def test_stored_calendars_are_checked():
    for wrong in (SeasonTerms("t", ()), SeasonTerms("t", ("month",)), SeasonTerms("t", ("day",), 7)):
        with pytest.raises(gd.errors.StorageError):
            wrong.check_stored()
