import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import gapdrift as gd
from gapdrift.counting.observed import MAX_CROSSED, MAX_MULTIPLIED, MAX_RINGS, MAX_TRIPLED, CrossedSums
from gapdrift.tables.encoding import encode
from tests import naive


def table(n_rows, seed):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 3)) ** 3
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"]).assign(d=rng.choice(["x", "y"], n_rows))
    return frame.mask(rng.random(frame.shape) < 0.2)


def test_sums_are_those_of_the_products_of_single_rows():
    reference = gd.DriftDetector(random_state=0).fit(table(400, 0)).reference_
    rows = encode(table(60, 1), reference.schema)
    profile = reference.profile
    scores = profile.scores.transform(rows.values) - profile.mean
    scores = np.rint(scores * 2.0**14) / 2.0**14
    expected = [
        naive.observed_products(row, gone, profile.owner, ~profile.is_category)
        for row, gone in zip(scores, rows.missing, strict=True)
    ]
    sums = reference._counter.count([rows], len(rows))
    np.testing.assert_array_equal(sums["crossed"], sum(products for products, *_ in expected))
    np.testing.assert_array_equal(sums["triples"], sum(triples for _, triples, *_ in expected))
    np.testing.assert_array_equal(sums["rings"], sum(rings for *_, rings, _ in expected))
    np.testing.assert_array_equal(sums["joint"], sum(joint for *_, joint in expected))


@pytest.mark.parametrize(("n_columns", "n_triples"), [(2, 0), (3, 1), (MAX_TRIPLED, 120), (MAX_TRIPLED + 1, 0)])
def test_products_of_three_are_those_of_few_columns(n_columns, n_triples):
    owner = np.arange(n_columns)
    crossed = CrossedSums(owner, np.zeros(n_columns, dtype=bool), n_columns)
    assert crossed.zeros()["triples"].shape == (2, n_triples)
    n_pairs = n_columns * (n_columns - 1) // 2 if n_triples else 0
    assert crossed.zeros()["joint"].shape == (2, n_pairs, n_columns if n_pairs else 0)
    assert crossed.zeros()["crossed"].shape == (3 * n_columns, 3 * n_columns)


@pytest.mark.parametrize(("n_numbers", "n_waves"), [(1, 0), (2, 6), (MAX_RINGS - 2, 54), (MAX_RINGS - 1, 0)])
def test_rings_are_those_of_numbers_in_few_matrix_columns(n_numbers, n_waves):
    """Two matrix columns are those of a category."""
    owner, is_category = np.r_[np.arange(n_numbers), [n_numbers] * 2], np.r_[np.zeros(n_numbers), 1, 1].astype(bool)
    crossed = CrossedSums(owner, is_category, n_numbers + 1)
    assert crossed.zeros()["rings"].shape == (n_waves, n_waves)


def test_columns_of_wide_tables_are_not_multiplied():
    sizes = (MAX_MULTIPLIED, MAX_MULTIPLIED + 1)
    found = [CrossedSums(np.arange(size), np.zeros(size, dtype=bool), size) for size in sizes]
    assert [crossed.has_products for crossed in found] == [True, False]
    assert found[1].zeros()["crossed"].shape == (3 * sizes[1], 3 * sizes[1])


@pytest.mark.parametrize("feature", [lambda x: x, lambda x: 2.0 * (np.abs(x) - 0.7)], ids=["value", "size"])
def test_a_wide_table_shows_at_which_values_columns_are_missing(feature):
    def rows(seed, *, by_value):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(500, MAX_MULTIPLIED + 5))
        share = 0.4 / (1.0 + np.exp(-3.0 * feature(values[:, :1]))) if by_value else 0.2
        gone = rng.random(values.shape) < share
        gone[:, 0] = False
        return np.where(gone, np.nan, values)

    detector = gd.DriftDetector(random_state=0).fit(rows(0, by_value=False))
    p_values = [
        next(part.p_value for part in detector.test(window).missingness.parts if part.name == "conditions")
        for window in (rows(1, by_value=False), rows(2, by_value=True))
    ]
    assert p_values[1] < 1e-3 < p_values[0]


def test_categories_of_many_values_are_looked_at_evenly():
    """Two numbers and 70 categories of five values: 352 matrix columns of 72 input columns."""
    owner = np.concatenate([[0], np.repeat(np.arange(1, 71), 5), [71]])
    is_category = (owner > 0) & (owner < 71)
    crossed = CrossedSums(owner, is_category, 72)
    assert crossed.n_columns == MAX_CROSSED
    assert not crossed.is_whole
    assert crossed.owner[crossed.numbers].tolist() == [0, 71]
    assert np.bincount(crossed.owner, minlength=72).min() >= 1
    rng = np.random.default_rng(0)
    missing = rng.random((50, 72)) < 0.2
    scores = np.where(missing[:, owner], 0.0, rng.normal(size=(50, len(owner))))
    rows, sums = crossed.rows(scores, missing), crossed.zeros()
    crossed.add(sums, rows)
    assert rows[:, 3] == pytest.approx(np.clip(np.rint(32.0 * scores[:, crossed.columns[3]]), -80, 80))
    assert sums["crossed"][-72:, -72:] == pytest.approx((~missing).T.astype(float) @ ~missing)


def test_conditions_of_a_table_with_many_categories_are_told_from_values():
    """70 categories of five values that depend on a number, which selects their missing cells in the window."""
    rng = np.random.default_rng(1)

    def draw(n_rows, slope):
        size = rng.normal(size=n_rows)
        table = {"size": size}
        for place in range(70):
            level = np.clip(np.rint(size + rng.normal(size=n_rows)) + 2, 0, 4).astype(int)
            gone = rng.random(n_rows) < ndtr(slope * size - 0.4)
            table[f"answer {place}"] = np.where(gone, None, np.array(list("abcde"), dtype=object)[level])
        return table

    detector = gd.DriftDetector(random_state=0).fit(draw(200, 0.0))
    found = detector.test(draw(2_000, 0.5))
    conditions = next(part for part in found.missingness.parts if part.name == "conditions")
    assert len(detector.reference_.profile.owner) > MAX_CROSSED
    assert conditions.p_value < 1e-6
    assert found.values.p_value > 0.01


def test_very_wide_tables_have_no_products():
    crossed = CrossedSums(np.arange(MAX_CROSSED + 1), np.zeros(MAX_CROSSED + 1, dtype=bool), MAX_CROSSED + 1)
    assert crossed.size == 0
    rows = crossed.rows(np.zeros((5, MAX_CROSSED + 1)), np.zeros((5, MAX_CROSSED + 1), dtype=bool))
    sums = crossed.zeros()
    crossed.add(sums, rows)
    assert sums["crossed"].shape == (0, 0)
