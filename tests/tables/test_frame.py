from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gapdrift.errors import InputError
from gapdrift.tables.frame import Table, join_tables

NAN = float("nan")


def column(table, name="a"):
    return Table.read(table).column(name)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1.0, NAN, 3.0]}),
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}),
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Float32")}),
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="int64[pyarrow]")}),
        pd.DataFrame({"a": [1, None, 3]}, dtype=object),
        pd.DataFrame({"a": [1, pd.NA, 3.0]}, dtype=object),
        pd.DataFrame({"a": [Decimal(1), None, Decimal("3")]}),
        pd.DataFrame({"a": [Decimal(1), Decimal("NaN"), 3]}, dtype=object),
        pl.DataFrame({"a": [1, None, 3]}),
        pl.DataFrame({"a": [1.0, NAN, 3.0]}),
        pl.DataFrame({"a": [Decimal("1"), None, Decimal("3")]}),
        pl.DataFrame({"a": [timedelta(seconds=1), None, timedelta(seconds=3)]}),
        pa.table({"a": pa.array([1, None, 3], pa.int8())}),
        pa.table({"a": pa.array([1.0, NAN, 3.0], pa.float32())}),
        pa.table({"a": pa.array([1.0, None, 3.0])}),
        pa.table({"a": pa.array([Decimal("1"), None, Decimal("3")], pa.decimal128(5, 2))}),
        pd.DataFrame({"a": pd.to_timedelta([1, None, 3], unit="s")}),
    ],
    ids=str,
)
def test_every_kind_of_missing_number(table):
    found = column(table)
    assert found.kind in {"number", "integer"}
    np.testing.assert_array_equal(found.values, [1.0, NAN, 3.0])
    np.testing.assert_array_equal(found.missing, [False, True, False])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": ["x", None, "y"]}),
        pd.DataFrame({"a": ["x", NAN, "y"]}, dtype=object),
        pd.DataFrame({"a": pd.array(["x", pd.NA, "y"], dtype="string")}),
        pd.DataFrame({"a": pd.Categorical(["x", None, "y"])}),
        pl.DataFrame({"a": ["x", None, "y"]}),
        pl.DataFrame({"a": ["x", None, "y"]}, schema={"a": pl.Categorical}),
        pl.DataFrame({"a": ["x", None, "y"]}, schema={"a": pl.Enum(["x", "y"])}),
        pa.table({"a": ["x", None, "y"]}),
        pa.table({"a": pa.array(["x", None, "y"]).dictionary_encode()}),
        pl.DataFrame({"a": [b"x", None, b"y"]}),
    ],
    ids=str,
)
def test_every_kind_of_missing_text(table):
    found = column(table)
    assert found.kind == "text"
    assert found.values[[0, 2]].tolist() == ["x", "y"]
    np.testing.assert_array_equal(found.missing, [False, True, False])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [True, None, False]}, dtype=object),
        pd.DataFrame({"a": pd.array([True, None, False], dtype="boolean")}),
        pl.DataFrame({"a": [True, None, False]}),
        pa.table({"a": [True, None, False]}),
    ],
    ids=str,
)
def test_booleans_are_numbers_marked_as_boolean(table):
    found = column(table)
    np.testing.assert_array_equal(found.values, [1.0, NAN, 0.0])
    assert found.is_boolean


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01", None])}),
        pd.DataFrame({"a": [date(2020, 1, 1), None]}),
        pl.DataFrame({"a": [date(2020, 1, 1), None]}),
        pa.table({"a": [date(2020, 1, 1), None]}),
    ],
    ids=str,
)
def test_dates(table):
    found = column(table)
    assert found.kind == "date"
    np.testing.assert_array_equal(found.missing, [False, True])


def test_mapping_of_columns():
    table = Table.read({"a": [1, None, 3.0], "b": np.array(["x", "y", "z"]), 5: [True, False, None]})
    assert (table.names, table.n_rows, table.named) == (("a", "b", "5"), 3, True)
    np.testing.assert_array_equal(table.column("a").values, [1.0, NAN, 3.0])
    assert table.column("b").kind == "text"
    assert table.column("5").is_boolean
    assert Table.read({}).n_rows == 0


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i8", "b", "O", "U1", "S1"])
def test_arrays(dtype):
    found = column(np.array([[1], [0]]).astype(dtype), "x0")
    assert found.kind in {"number", "integer", "text"}
    assert not found.missing.any()


def test_masked_array():
    array = np.ma.array([[1.0], [2.0]], mask=[[True], [False]])
    np.testing.assert_array_equal(column(array, "x0").values, [NAN, 2.0])


def test_masked_objects_and_dates():
    objects = np.ma.array(np.array([["x"], ["y"]], dtype=object), mask=[[True], [False]])
    np.testing.assert_array_equal(column(objects, "x0").missing, [True, False])
    days = np.array([["2020-01-01"], ["NaT"]], dtype="M8[D]")
    np.testing.assert_array_equal(column(days, "x0").missing, [False, True])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1.0]], "Got list"),
        ({"a": [1], "b": [1, 2]}, "1, 2 rows"),
        ({"a": 3}, "is a int"),
        ({"a": "text"}, "is a str"),
        ({"a": np.zeros((2, 2))}, "2 dimensions"),
        ({"1": [1], 1: [2]}, "more than once"),
        (None, "Got NoneType"),
        ("table.csv", "Got str"),
        (np.zeros(3), "1 dimension"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        (np.zeros(2, dtype=[("a", float)]), "structured"),
        (pd.Series([1.0]), "Got a single column|Got Series"),
        (pl.Series([1.0]), "Got a single column|Got Series"),
        (pl.LazyFrame({"a": [1]}), "collect"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than once"),
        (pa.table([[1], [2]], names=["a", "a"]), "more than once"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "more than once"),
    ],
    ids=str,
)
def test_what_is_no_table(table, message):
    with pytest.raises(InputError, match=message):
        Table.read(table)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1, "x"]}),
        pd.DataFrame({"a": [[1], [2]]}),
        pd.DataFrame({"a": [{1}, None]}),
        pl.DataFrame({"a": [[1], [2]]}),
        pl.DataFrame({"a": [{"b": 1}]}),
        pd.DataFrame({"a": [1j, 2j]}),
    ],
    ids=str,
)
def test_columns_of_no_use(table):
    with pytest.raises(InputError, match="'a'"):
        column(table)


def test_complex_array():
    with pytest.raises(InputError, match="complex"):
        column(np.array([[1j]]), "x0")


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300, -1e101, 10**400])
def test_numbers_out_of_range(value):
    with pytest.raises(InputError, match="'a'"):
        column(pd.DataFrame({"a": [1.0, value]}, dtype=object))


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_texts_that_a_library_numbers_are_the_same_texts(dtype):
    frame = pd.DataFrame({"x": pd.Series(["b", None, "a", "b", "c"], dtype=dtype)})
    for table in (frame, pa.Table.from_pandas(frame)):
        column = Table.read(table).column("x")
        numbers, texts = column.numbered
        assert column.missing.tolist() == [False, True, False, False, False]
        assert [texts[number] for number in numbers[~column.missing]] == ["b", "a", "b", "c"]
        assert column.values[~column.missing].tolist() == ["b", "a", "b", "c"]


def test_tables_of_all_libraries_are_joined():
    tables = [
        {"a": [1, None], "b": ["x", None]},
        pd.DataFrame({"b": pd.Categorical([10]), "a": [0.5], "more": [1]}),
        pl.DataFrame({"a": pl.Series([2], dtype=pl.Int128), "b": [None]}),
        pa.table({"a": pa.array([Decimal("2.5")]), "b": pa.array(["x"]).dictionary_encode()}),
    ]
    joined = join_tables([Table.read(table) for table in tables])
    assert (joined.names, len(joined)) == (("a", "b"), 5)
    np.testing.assert_array_equal(joined.column("a").values, [1.0, NAN, 0.5, 2.0, 2.5])
    assert joined.column("b").values[[0, 2, 4]].tolist() == ["x", "10", "x"]
    assert joined.column("b").missing.tolist() == [False, True, False, True, False]


def test_arrays_are_joined():
    masked = np.ma.masked_less(np.array([[0.0, 3.0]]), 1)
    joined = join_tables([Table.read(np.array([[1, 2]])), Table.read(masked)])
    assert not joined.named
    np.testing.assert_array_equal(joined.column("x0").values, [1.0, NAN])
    np.testing.assert_array_equal(joined.column("x1").values, [2.0, 3.0])
    with pytest.raises(InputError, match="do not mix tables with arrays"):
        join_tables([Table.read({"x0": [1]}), Table.read(np.zeros((1, 1)))])
