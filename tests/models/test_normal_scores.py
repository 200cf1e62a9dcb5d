import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from gapdrift.models.normal_scores import MAX_KNOTS, fit_scores

NUMBER = np.array([True])


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=40).filter(lambda cells: len(set(cells)) > 1))
def test_scores_are_normal_scores_of_mid_ranks(cells):
    values = np.array(cells, dtype=float)[:, None]
    raw = norm.ppf((rankdata(cells) - 0.5) / len(cells))
    expected = (raw - raw.mean()) / raw.std()
    np.testing.assert_allclose(fit_scores(values, NUMBER).transform(values).ravel(), expected, atol=1e-9)


def test_monotone_and_clipped(rng):
    scores = fit_scores(rng.standard_t(1, size=(500, 1)), NUMBER)
    line = scores.transform(np.linspace(-1e6, 1e6, 999)[:, None]).ravel()
    assert (np.diff(line) >= 0).all()
    assert np.abs(line).max() < 4


def test_missing_stays_missing_and_levels_stay_as_they_are():
    values = np.array([[1.0, 0.7], [2.0, np.nan], [np.nan, 0.0]])
    found = fit_scores(values, np.array([True, False])).transform(values)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(values))
    np.testing.assert_array_equal(found[[0, 2], 1], [0.7, 0.0])


def test_a_constant_column_still_tells_other_values():
    scores = fit_scores(np.full((9, 1), 3.0), NUMBER)
    np.testing.assert_array_equal(scores.transform(np.array([[2.0], [3.0], [7.0]])).ravel(), [1, 0, 1])


def test_many_values_are_thinned(rng):
    values = rng.normal(size=(10_000, 1))
    scores = fit_scores(values, NUMBER)
    assert len(scores.knots[0][0]) <= MAX_KNOTS
    assert scores.transform(values).std() == pytest.approx(1.0, abs=0.01)
