from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

import gapdrift as gd
from gapdrift.tables.batches import check_plan, label_rows, order_of_rows
from gapdrift.tables.frame import Table

DAYS = [datetime(2024, 1, 1) + timedelta(days=day) for day in range(40)]
TABLE = Table.read({"when": DAYS, "shop": ["a", "b"] * 20, "x": np.arange(40.0)})


def labels(batches, time=None, table=TABLE):
    plan = check_plan(table, batches, time, (), None)
    codes, names = label_rows(table, plan)
    return codes.tolist(), names


def test_spans_of_time():
    codes, names = labels("1w")
    assert codes[:8] == [0] * 7 + [1]
    assert names[:2] == ["2024-01-01", "2024-01-08"]
    assert labels(timedelta(days=7)) == (codes, names)
    assert labels("1mo", "when")[1] == ["2024-01-01", "2024-02-01"]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_columns_and_labels_of_any_library(library):
    frame = library({"when": DAYS, "shop": ["a", "b"] * 20, "x": np.arange(40.0)})
    assert labels("shop", table=Table.read(frame)) == ([0, 1] * 20, ["a", "b"])
    assert labels(frame["shop"]) == ([0, 1] * 20, ["a", "b"])
    assert labels(["a", "b"] * 20) == ([0, 1] * 20, ["a", "b"])


def test_consecutive_rows():
    codes, names = labels(15)
    assert codes == [0] * 15 + [1] * 15 + [2] * 10
    assert names == ["rows from 0", "rows from 15", "rows from 30"]


def test_the_order_of_rows():
    table = Table.read({"t": DAYS[::-1], "n": np.arange(40.0)[::-1]})
    assert order_of_rows(table, "t").tolist() == list(range(39, -1, -1)) == order_of_rows(table, "n").tolist()


@pytest.mark.parametrize(
    ("batches", "time", "season", "message"),
    [
        ("nonsense", None, (), "neither a column"),
        ("7d", "nowhere", (), "no column"),
        ("7d", 5, (), "time is 5"),
        (0, None, (), "at least one row"),
        ([1, 2, 3], None, (), "3 labels for 40 rows"),
        (3.5, None, (), "batches"),
        (None, None, ("day",), "no batches"),
        (None, "when", ("day",), "no batches"),
        ("shop", None, ("month",), "month"),
    ],
)
def test_what_is_no_plan(batches, time, season, message):
    with pytest.raises((gd.errors.ParameterError, gd.errors.InputError), match=message):
        check_plan(TABLE, batches, time, season, None)


def test_times_have_to_be_named_where_there_are_several():
    two = Table.read({"a": DAYS, "b": DAYS})
    with pytest.raises(gd.errors.ParameterError, match="2 columns of dates"):
        check_plan(two, "7d", None, (), None)
    with pytest.raises(gd.errors.ParameterError, match="no column has dates"):
        check_plan(Table.read({"x": [1.0]}), "7d", None, (), None)


def test_rows_without_a_batch_are_not_lost():
    table = Table.read({"when": [None, *DAYS[1:]], "shop": [None, *["a"] * 39]})
    for batches in ("shop", "7d"):
        plan = check_plan(table, batches, "when", (), None)
        with pytest.raises(gd.errors.InputError, match=r"1 row\(s\) have no value"):
            label_rows(table, plan)
