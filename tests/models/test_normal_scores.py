import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from gapdrift.models.normal_scores import MAX_KNOTS, N_CELLS, UNIT, fit_normal_scores

NUMBER = np.array([True])


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=40).filter(lambda cells: len(set(cells)) > 1))
def test_scores_are_normal_scores_of_mid_ranks(cells):
    values = np.array(cells, dtype=float)[:, None]
    raw = norm.ppf((rankdata(cells) - 0.5) / len(cells))
    expected = (raw - raw.mean()) / raw.std()
    np.testing.assert_allclose(fit_normal_scores(values, NUMBER).transform(values).ravel(), expected, atol=UNIT)


def test_monotone_and_clipped(rng):
    scores = fit_normal_scores(rng.standard_t(1, size=(500, 1)), NUMBER)
    line = scores.transform(np.linspace(-1e6, 1e6, 999)[:, None]).ravel()
    assert (np.diff(line) >= 0).all()
    assert np.abs(line).max() < 4


def test_missing_stays_missing_and_one_hot_entries_stay_as_they_are():
    values = np.array([[1.0, np.sqrt(0.5)], [2.0, np.nan], [np.nan, 0.0]])
    found = fit_normal_scores(values, np.array([True, False])).transform(values)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(values))
    np.testing.assert_allclose(found[[0, 2], 1], [np.sqrt(0.5), 0.0], atol=UNIT)


def test_a_constant_column_still_tells_other_values():
    scores = fit_normal_scores(np.full((9, 1), 3.0), NUMBER)
    np.testing.assert_array_equal(scores.transform(np.array([[2.0], [3.0], [7.0]])).ravel(), [1, 0, 1])


def test_many_values_are_thinned(rng):
    values = rng.normal(size=(10_000, 1))
    scores = fit_normal_scores(values, NUMBER)
    assert len(scores.knots[0][0]) <= MAX_KNOTS
    assert scores.transform(values).std() == pytest.approx(1.0, abs=0.01)


def test_scores_by_table_are_near_the_exact_ones():
    rng = np.random.default_rng(0)
    columns = [
        rng.normal(size=5_000),
        np.exp(5.0 * rng.normal(size=5_000)),
        np.rint(3.0 * rng.normal(size=5_000)),
        1e9 + rng.normal(size=5_000),
        np.where(rng.random(5_000) < 0.5, 0.0, rng.standard_cauchy(5_000)),
        np.full(5_000, 7.0),
    ]
    values = np.column_stack(columns)
    values[::7] = np.nan
    scores = fit_normal_scores(values, np.ones(len(columns), dtype=bool))
    found = scores.transform(values)
    exact = np.column_stack([np.interp(column, *pair) for column, pair in zip(values.T, scores.knots, strict=True)])
    away = np.abs(np.where(np.isnan(values), np.nan, exact) - found)
    assert np.array_equal(np.isnan(found), np.isnan(values))
    assert np.nanquantile(away, 0.99, axis=0).max() < 0.05
    # Ties, and a constant, have their exact scores.
    assert np.nanmax(away[:, [2, 5]]) < UNIT
    assert scores.transform(np.full((1, len(columns)), 8.0))[0, 5] == 1.0


def test_numbers_beyond_the_grid_fall_into_its_outer_cells():
    scores = fit_normal_scores(np.arange(100.0)[:, None], NUMBER)
    far = np.array([[-1e99, 1e99, np.nan]])
    assert scores.table.keys(far, np.isnan(far)).tolist() == [[0, N_CELLS - 1, 0]]


def test_scores_are_whole_multiples_of_a_unit(rng):
    scores = fit_normal_scores(rng.exponential(size=(500, 2)), np.array([True, True]))
    centred = scores.table.centred(np.array([0.3, -0.2])).scores / UNIT
    np.testing.assert_array_equal(centred, np.rint(centred))
