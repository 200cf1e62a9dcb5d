import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gapdrift.errors import InputError, ParameterError, SchemaError
from gapdrift.tables.encoding import encode
from gapdrift.tables.schema import DEFAULT_CATEGORY_RULE, CategoryRule, learn_schema

NAN = float("nan")


@pytest.fixture
def frame(rng):
    return pd.DataFrame(
        {
            "size": rng.normal(size=100),
            "count": pd.array(rng.integers(0, 9, 100), dtype="Int64"),
            "colour": rng.choice(["red", "green", "blue"], 100),
            "open": rng.random(100) < 0.5,
        }
    )


def test_the_same_matrix_from_every_library(frame):
    schema = learn_schema(frame)
    expected = encode(frame, schema)
    for table in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert learn_schema(table) == schema
        np.testing.assert_array_equal(encode(table, schema).values, expected.values)
        np.testing.assert_array_equal(encode(table, schema).missing, expected.missing)


def test_column_order_does_not_matter(frame):
    schema = learn_schema(frame)
    shuffled = frame[["open", "colour", "size", "count"]]
    np.testing.assert_array_equal(encode(shuffled, schema).values, encode(frame, schema).values)


def test_different_categories_are_at_distance_one():
    table = pd.DataFrame({"c": ["a", "b", "c"] * 3})
    window = pd.DataFrame({"c": ["a", "b", "never seen", "c"]})
    values = encode(window, learn_schema(table)).values
    distances = np.linalg.norm(values[:, None] - values[None], axis=2)
    np.testing.assert_allclose(distances, 1.0 - np.eye(4))


def test_unseen_category_is_noted():
    schema = learn_schema(pd.DataFrame({"c": ["a", "b"] * 5}))
    assert encode(pd.DataFrame({"c": ["a"]}), schema).notes == frozenset()
    (note,) = encode(pd.DataFrame({"c": ["z"]}), schema).notes
    assert "'c'" in note


def test_a_missing_category_is_missing_in_all_its_columns():
    schema = learn_schema(pd.DataFrame({"n": [1.0, 2.0], "c": ["a", "b"]}))
    row = encode(pd.DataFrame({"n": [1.0], "c": [None]}), schema)
    np.testing.assert_array_equal(np.isnan(row.values), [[False, True, True, True]])
    np.testing.assert_array_equal(row.missing, [[False, True]])


def test_rare_categories_are_pooled(rng):
    table = pd.DataFrame({"c": rng.integers(0, 100, 5000).astype(str)})
    schema = learn_schema(table)
    assert schema.columns[0].width == DEFAULT_CATEGORY_RULE.max_categories + 1
    assert "100 categories" in schema.notes[0]
    assert encode(table, schema).notes == frozenset()


def test_categories_in_groups_whatever_their_frequency(rng):
    table = pd.DataFrame({"c": np.r_[["often"] * 500, rng.integers(0, 30, 500).astype(str)]})
    schema = learn_schema(table, category_rule=CategoryRule(12, 0.1))
    assert schema.columns[0].categories == ("often",)
    assert schema.columns[0].n_groups == 11
    values = encode(pd.DataFrame({"c": ["often", "7", "never seen", "7"]}), schema).values
    assert values.shape == (4, 12)
    np.testing.assert_array_equal(values[1], values[3])
    assert (values[:, 0] > 0).tolist() == [True, False, False, False]


def test_categories_that_happened_to_be_frequent_are_not_kept():
    table = pd.DataFrame({"c": ["a"] * 6 + ["b"] * 6 + [str(place // 2) for place in range(26)]})
    assert learn_schema(table, category_rule=CategoryRule(12, 0.1)).columns[0].categories == ()
    many = pd.DataFrame({"c": pd.concat([table["c"]] * 20)})
    assert learn_schema(many, category_rule=CategoryRule(12, 0.1)).columns[0].categories == ("a", "b")


def test_categories_that_occur_once_can_be_pooled():
    table = pd.DataFrame({"c": ["a"] * 5 + ["b"] * 5 + ["once"]})
    schema = learn_schema(table, category_rule=CategoryRule(12, 0.1))
    assert schema.columns[0].singletons == ("once",)
    usual, careful = (encode(table, schema, pool_singletons=choice) for choice in (False, True))
    assert usual.values[-1].argmax() == 2
    assert careful.values[-1].argmax() == 3
    np.testing.assert_array_equal(usual.values[:-1], careful.values[:-1])
    assert careful.notes == frozenset()


@pytest.mark.parametrize(
    ("name", "values", "word"),
    [
        ("when", pd.date_range("2020-01-01", periods=100), "dates"),
        ("when", pd.date_range("2020-01-01", periods=100).astype(str), "dates written as text"),
        ("when", [f"2020/01/{1 + i % 28:02d}" for i in range(100)], "dates written as text"),
        ("who", [f"user {i}" for i in range(100)], "identifier or free text"),
        ("row", np.arange(100), "row number or key"),
        ("row", np.arange(100)[::-1], "row number or key"),
        ("row", np.random.default_rng(0).permutation(100), "row number or key"),
    ],
)
def test_ignored_columns_are_named(name, values, word):
    table = pd.DataFrame({name: values, "x": np.random.default_rng(1).normal(size=100)})
    schema = learn_schema(table)
    assert schema.names == ("x",)
    assert schema.ignored == (name,)
    assert name in schema.notes[0]
    assert word in schema.notes[0]


@pytest.mark.parametrize(
    "values",
    [
        np.arange(100) % 50,
        np.arange(100) + 0.5,
        np.random.default_rng(0).integers(0, 10**6, 100),
        [f"city {i % 30}" for i in range(100)],
    ],
    ids=["repeats", "fractions", "sparse", "text"],
)
def test_columns_that_are_kept(values):
    assert learn_schema(pd.DataFrame({"x": values})).names == ("x",)


def test_arrays_are_used_as_they_are():
    assert learn_schema(np.arange(100).reshape(-1, 1)).names == ("x0",)


def test_ignored_columns_may_lack_later(frame):
    schema = learn_schema(frame.assign(day=pd.Timestamp("2020-01-01")))
    assert encode(frame, schema).notes == frozenset()
    assert encode(frame.assign(day=1), schema).notes == frozenset()


def test_target_is_a_category_and_always_kept():
    table = pd.DataFrame({"x": [0.5, 1.5] * 50, "y": np.arange(100)})
    assert learn_schema(table).names == ("x",)
    assert learn_schema(table, target="y").columns[1].kind == "number"
    assert learn_schema(table.assign(y=table["y"] % 5), target="y").columns[1].kind == "category"
    assert (
        learn_schema(table.assign(y=(table["y"] % 5).where(table["y"] > 3)), target="y").columns[1].kind == "category"
    )
    assert learn_schema(table.assign(y=table["x"]), target="y").columns[1].kind == "number"
    assert learn_schema(table.assign(y=True), target="y").columns[1].categories == ("True",)


def test_categories_by_request_agree_across_types():
    schema = learn_schema(pd.DataFrame({"k": [1, 2, 3] * 9}), categories=["k"])
    assert set(schema.columns[0].categories) == {"1", "2", "3"}
    for values in ([1, 2], [1.0, 2.0], ["1", "2"]):
        assert encode(pd.DataFrame({"k": values}), schema).notes == frozenset()


def test_ignore_by_request(frame):
    assert learn_schema(frame, ignore=["size", "open"]).names == ("count", "colour")
    assert learn_schema(np.zeros((3, 2)), ignore=[0]).names == ("x1",)


@pytest.mark.parametrize("setting", ["categories", "ignore"])
def test_unknown_names(frame, setting):
    with pytest.raises(ParameterError, match=r"'price'.*'colour'"):
        learn_schema(frame, **{setting: ["price"]})
    with pytest.raises(ParameterError, match="'price'"):
        learn_schema(frame, target="price")


@pytest.mark.parametrize("table", [{}, pd.DataFrame(), pd.DataFrame({"a": []}), np.empty((0, 3)), np.empty((3, 0))])
def test_empty_reference(table):
    with pytest.raises(InputError, match="empty"):
        learn_schema(table)


def test_nothing_to_compare():
    with pytest.raises(InputError, match="no value in the reference"):
        learn_schema(np.full((30, 2), np.nan))
    with pytest.raises(InputError, match="ignore"):
        learn_schema(np.zeros((30, 1)), ignore=[0])


def test_wholly_missing_column_keeps_its_gaps():
    schema = learn_schema(pd.DataFrame({"a": [1.0, 2.0], "b": [None, None]}))
    assert schema.columns[1].kind == "empty"
    window = encode(pd.DataFrame({"a": [1.0, 2.0], "b": ["now", None]}), schema)
    assert window.values.shape == (2, 1)
    np.testing.assert_array_equal(window.missing, [[False, False], [False, True]])
    assert any("'b'" in note for note in window.notes)


def test_a_window_column_may_be_wholly_missing():
    schema = learn_schema(pd.DataFrame({"n": [1.0, 2.0], "c": ["a", "b"]}))
    window = encode(pd.DataFrame({"n": [None, None], "c": [None, None]}), schema)
    assert np.isnan(window.values).all()


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (pd.DataFrame({"n": [1.0]}), "lacks the column.*'c'"),
        (pd.DataFrame({"n": ["one"], "c": ["a"]}), "'n' holds text.*'one'"),
        (pd.DataFrame({"n": pd.to_datetime(["2020-01-01"]), "c": ["a"]}), "'n' holds dates"),
        (pd.DataFrame({"n": [1.0], "c": pd.to_datetime(["2020-01-01"])}), "'c' holds dates"),
        (np.zeros((1, 2)), "no names"),
    ],
)
def test_windows_that_do_not_fit(window, message):
    schema = learn_schema(pd.DataFrame({"n": [1.0, 2.0], "c": ["a", "b"]}))
    with pytest.raises(SchemaError, match=message):
        encode(window, schema)


def test_extra_columns_are_ignored_with_a_note(frame):
    (note,) = encode(frame.assign(new=1), learn_schema(frame)).notes
    assert "'new'" in note


@pytest.mark.parametrize("n_columns", [1, 3])
def test_arrays_need_the_same_columns(n_columns):
    with pytest.raises(SchemaError, match="column"):
        encode(np.zeros((5, n_columns)), learn_schema(np.zeros((5, 2))))


def test_a_frame_after_an_array():
    with pytest.raises(SchemaError, match="names"):
        encode(pd.DataFrame({"x0": [1.0]}), learn_schema(np.zeros((5, 1))))


@pytest.mark.real_data
def test_real_tables_are_read_without_options(real_data):
    used = {}
    for path in sorted(real_data.glob("*/*.parquet")):
        table = pl.read_parquet(path).head(5_000)
        schema = learn_schema(table)
        used[path.stem] = schema
        assert np.isfinite(encode(table, schema).values).any()
    assert set(used["titanic"].ignored) >= {"PassengerId", "Ticket"}
    assert used["weather_aus"].ignored == ("Date",)
    assert set(used["nannyml_car_loan_dq"].ignored) == {"id", "timestamp"}
