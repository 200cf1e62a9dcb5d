import numpy as np
import pytest

from gapdrift.tables.encoding import encode
from gapdrift.tables.order import consecutive_rows_note
from gapdrift.tables.schema import learn_schema


def note_of(table):
    schema = learn_schema(table)
    return consecutive_rows_note(encode(table, schema), schema)


def chain(rng, n_rows, phi):
    noise = rng.normal(size=n_rows)
    for row in range(1, n_rows):
        noise[row] += phi * noise[row - 1]
    return noise


@pytest.mark.parametrize("phi", [0.5, 0.9])
def test_dependent_rows_are_noticed(phi):
    rng = np.random.default_rng(0)
    (note,) = note_of({"a": rng.normal(size=1_000), "b": chain(rng, 1_000, phi)})
    assert "Consecutive rows are alike" in note
    assert "'b'" in note
    assert "batches=" in note


def test_sorted_rows_are_noticed():
    rng = np.random.default_rng(1)
    assert note_of({"a": np.sort(rng.normal(size=500))})


def test_independent_rows_are_not():
    rng = np.random.default_rng(2)
    for _ in range(30):
        table = {"a": rng.exponential(size=400) ** 3, "b": rng.choice(["x", "y"], 400), "c": np.full(400, np.nan)}
        table["a"][rng.random(400) < 0.3] = np.nan
        assert note_of(table) == ()
    assert note_of({"a": np.sort(rng.normal(size=50))}) == ()


def test_a_pair_of_rare_values_is_no_likeness():
    rows = np.zeros((500, 3))
    rows[[100, 101, 300], 0] = 1.0
    rows[[7, 8], 1] = 1.0
    rows[:, 2] = np.random.default_rng(0).normal(size=500)
    assert note_of(rows) == ()
