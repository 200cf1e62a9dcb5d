"""Counting equals loops over cells, adds up over any split of the rows, and is the same in numpy and machine code."""

import numpy as np
import pandas as pd
import pytest

from gapdrift.counting import counter
from gapdrift.counting.counter import count, count_table, zeros
from gapdrift.counting.functions import fit_functions
from gapdrift.counting.regions import fit_regions
from gapdrift.errors import InputError
from gapdrift.tables.encoding import Encoded, encode
from gapdrift.tables.schema import learn_schema
from tests.counting import naive_sums as naive
from tests.counting.conftest import numbers


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert np.array_equal(found[name], array), name


def take(rows, places):
    return Encoded(rows.values[places], rows.missing[places], codes=rows.codes[places])


@pytest.fixture
def machine_code(monkeypatch):
    """Count in machine code, however few the rows; where numba is not installed the test is skipped."""
    pytest.importorskip("numba")
    monkeypatch.setattr(counter, "COMPILED_ROWS", 0)


@pytest.fixture
def only_numpy(monkeypatch):
    monkeypatch.setattr(counter, "machine_code", lambda n_rows: None)


def test_counts_equal_loops_over_cells(kind, only_numpy):
    found = count(kind.functions, kind.rows, kind.regions)
    expected = naive.count(kind.functions, kind.rows.values, kind.regions.centres)
    same(found, {name: np.array(part).reshape(found[name].shape) for name, part in expected.items()})


def test_machine_code_counts_the_same(kind, machine_code):
    compiled = count(kind.functions, kind.rows, kind.regions)
    expected = naive.count(kind.functions, kind.rows.values, kind.regions.centres)
    same(compiled, {name: np.array(part).reshape(compiled[name].shape) for name, part in expected.items()})


def test_evidence_of_a_table_is_the_same_in_machine_code(kind, monkeypatch):
    compiled = pytest.importorskip("gapdrift.counting.compiled")
    found = []
    for code in (None, compiled):
        monkeypatch.setattr(counter, "machine_code", lambda n_rows, code=code: code)
        found.append(count_table(kind.window, kind.schema, kind.functions, kind.regions))
    one, two = found
    same(one.sums, two.sums)
    for name in ("smallest", "largest", "hashes", "copies"):
        assert np.array_equal(getattr(one.facts, name), getattr(two.facts, name)), name
    assert one.facts.tallies == two.facts.tallies


@pytest.mark.parametrize("seed", range(5))
def test_counts_of_parts_in_any_order_add_up(kind, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(kind.rows))
    cuts = np.sort(rng.integers(0, len(order), 3))
    parts = [take(kind.rows, places) for places in np.split(order, cuts)]
    total = zeros(kind.functions, kind.regions)
    for part in parts:
        own = count(kind.functions, part, kind.regions)
        total = {name: array + own[name] for name, array in total.items()}
    expected = count(kind.functions, kind.rows, kind.regions)
    same(total, expected)
    same(count(kind.functions, parts, kind.regions), expected)


@pytest.mark.parametrize(("chunk", "exact"), [(1, 1), (7, 3), (64, 64)])
def test_the_number_of_rows_counted_at_once_does_not_matter(kind, chunk, exact, monkeypatch):
    expected = count(kind.functions, kind.rows, kind.regions)
    monkeypatch.setattr(counter, "CHUNK", chunk)
    monkeypatch.setattr(counter, "EXACT_ROWS", exact)
    same(count(kind.functions, kind.rows, kind.regions), expected)


def test_no_rows_count_nothing(kind):
    found = count(kind.functions, take(kind.rows, np.zeros(0, dtype=int)), kind.regions)
    same(found, zeros(kind.functions, kind.regions))


def test_rows_at_the_ends_of_scores_are_added_up_exactly():
    """All products at their largest, over more rows than single precision adds up exactly."""
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(2_000, 11))
    schema = learn_schema(reference)
    functions = fit_functions(encode(reference, schema), schema)
    n_rows = 3 * counter.EXACT_ROWS + 5
    found = count(functions, np.full((n_rows, 11), 50.0))["products"]
    assert np.array_equal(found[:11, :11], np.full((11, 11), 80.0**2 * n_rows))


def test_more_matrix_columns_than_are_multiplied_are_all_counted_by_their_codes(rng):
    reference = rng.normal(size=(60, 310))
    schema = learn_schema(reference)
    functions = fit_functions(encode(reference, schema), schema)
    found = count(functions, reference)
    assert found["cells"].sum() == reference.size
    assert found["products"].shape == (900, 900)
    values, observed = functions.values(functions.codes(encode(reference, schema)))
    block = np.hstack([values, observed]).astype(float)
    assert np.array_equal(found["products"], block.T @ block)


@pytest.fixture
def plain(rng):
    """A table of numbers, and what it is counted by."""
    table = numbers(rng, 300, 4)
    schema = learn_schema(table)
    rows = encode(table, schema)
    functions = fit_functions(rows, schema)
    return table, schema, functions, fit_regions(functions, functions.codes(rows), 3, rng)


def test_numbers_are_read_in_chunks_as_if_they_were_encoded(plain, monkeypatch):
    table, schema, *rest = plain
    expected = count_table(encode(table, schema), schema, *rest)
    monkeypatch.setattr(counter, "encode", lambda *_, **__: pytest.fail("encoded"))
    found = count_table(table, schema, *rest)
    same(found.sums, expected.sums)
    assert np.array_equal(found.facts.hashes, expected.facts.hashes)
    assert found.n_rows == len(table)


@pytest.mark.parametrize(("number", "words"), [(np.inf, "infinite"), (1e101, r"1e\+101")])
def test_a_number_out_of_range_is_named(plain, number, words):
    table, *rest = plain
    table.iloc[3, 2] = number
    with pytest.raises(InputError, match=f"'c2'.*{words}"):
        count_table(table, *rest)


def test_a_large_table_is_read_in_parts(plain, monkeypatch):
    table, schema, *rest = plain
    expected = count_table(table, schema, *rest)
    monkeypatch.setattr(counter, "ENCODED_ROWS", 70)
    found = [count_table(each, schema, *rest) for each in (table, table.astype(object))]
    for each in found:
        same(each.sums, expected.sums)
        assert np.array_equal(each.facts.copies, expected.facts.copies)
        assert each.n_rows == expected.n_rows


def test_notes_of_parts_reach_the_evidence(rng):
    reference = pd.DataFrame({"a": ["x", "y"] * 50, "b": rng.normal(size=100)})
    schema = learn_schema(reference)
    functions = fit_functions(encode(reference, schema), schema)
    window = reference.assign(a="new", extra=1.0)
    found = count_table(window, schema, functions, origin="abc")
    assert any("'a' has values that the reference does not have" in note for note in found.notes)
    assert found.facts.tallies[0] == {"new": 100}
    assert (found.origin, found.n_rows) == ("abc", 100)


def test_machine_code_is_for_many_rows_and_where_there_is_numba(monkeypatch):
    def no_numba(name):
        raise ImportError(name)

    monkeypatch.setattr(counter, "import_module", no_numba)
    counter._compiled.cache_clear()
    assert counter.machine_code(counter.COMPILED_ROWS) is None
    monkeypatch.setattr(counter, "import_module", lambda name: name)
    counter._compiled.cache_clear()
    assert counter.machine_code(counter.COMPILED_ROWS - 1) is None
    assert counter.machine_code(counter.COMPILED_ROWS) == "gapdrift.counting.compiled"
    assert counter.machine_code(1) == "gapdrift.counting.compiled"
    counter._compiled.cache_clear()
