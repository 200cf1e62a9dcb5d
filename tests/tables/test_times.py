from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import gapdrift as gd
from gapdrift.tables.frame import Table
from gapdrift.tables.times import as_datetime, as_micros, times_of

DAY = 86_400_000_000


@pytest.mark.parametrize(
    "column",
    [
        [date(1970, 1, 2), None, date(1969, 12, 31)],
        [datetime(1970, 1, 2), None, datetime(1969, 12, 31, tzinfo=UTC)],
        ["1970-01-02", None, "1969-12-31T02:00:00+02:00"],
        np.array(["1970-01-02", "NaT", "1969-12-31"], dtype="M8[D]"),
        [np.datetime64("1970-01-02"), np.datetime64("NaT"), np.datetime64("1969-12-31")],
        np.ma.array(np.array(["1970-01-02", "1970-01-01", "1969-12-31"], dtype="M8[ns]"), mask=[0, 1, 0]),
    ],
)
def test_times_of_lists_and_arrays(column):
    times, missing = times_of(Table.read({"t": column}), "t")
    assert times.tolist() == [DAY, 0, -DAY]
    assert missing.tolist() == [False, True, False]


@pytest.mark.parametrize("library", [pd, pl])
def test_times_of_frames(library):
    frame = library.DataFrame(
        {"t": [datetime(1970, 1, 2), None], "d": [date(1970, 1, 2), None], "s": ["1970-01-02", None]}
    )
    for name in ("t", "d", "s"):
        times, missing = times_of(Table.read(frame), name)
        assert (times.tolist(), missing.tolist()) == ([DAY, 0], [False, True])


def test_times_out_of_all_calendars():
    with pytest.raises(gd.errors.InputError, match="outside the years 1 to 9999"):
        times_of(Table.read({"t": np.array(["12000-01-01"], dtype="M8[s]")}), "t")


def test_datetimes():
    assert as_micros(datetime(1970, 1, 2)) == DAY == as_micros(datetime(1970, 1, 2, tzinfo=UTC))
    assert as_datetime(-DAY) == datetime(1969, 12, 31, tzinfo=UTC)
