import numpy as np
import pytest
from scipy.stats import kurtosis, skew

from gapdrift.inference.null import Null, correlation_of, effective_sample_size, largest_products, shape_of


def test_moments_from_powers(rng):
    rows = rng.exponential(size=(500, 3))
    powers = np.stack([(rows**power).mean(axis=0) for power in (1, 2, 3, 4)])
    variance, skewness, excess = shape_of(powers)
    np.testing.assert_allclose(variance, rows.var(axis=0))
    np.testing.assert_allclose(skewness, skew(rows))
    np.testing.assert_allclose(excess, kurtosis(rows))


def test_draws_have_the_correlation_and_never_change(rng):
    correlation = correlation_of(rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)))
    null = Null(np.arange(4), correlation, 500)
    np.testing.assert_allclose(np.corrcoef(null.draws.T), correlation, atol=0.08)
    np.testing.assert_array_equal(null.draws, Null(np.arange(4), correlation, 500).draws)


def test_draws_change_as_little_as_the_correlation_does(rng):
    correlation = correlation_of(rng.normal(size=(500, 6)))
    shaken = correlation + 1e-12 * rng.normal(size=(6, 6))
    one, two = (Null(np.arange(6), (matrix + matrix.T) / 2, 500).draws for matrix in (correlation, shaken))
    assert np.abs(one - two).max() < 1e-9


def test_unknown_entries_are_independent_of_all(rng):
    null = Null(np.array([2, 5]), np.array([[1.0, 0.9], [0.9, 1.0]]), 500)
    found = np.corrcoef(null.draws_of(np.array([1, 2, 5, 7])).T)
    expected = np.eye(4)
    expected[1, 2] = expected[2, 1] = 0.9
    np.testing.assert_allclose(found, expected, atol=0.1)
    assert Null(np.zeros(0, dtype=int), np.zeros((0, 0)), 5).draws_of(np.arange(3)).shape == (2_000, 3)


def test_correlation_known_from_many_rows_is_kept(rng):
    rows = rng.normal(size=(5_000, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(correlation_of(rows), np.corrcoef(rows.T), atol=0.002)


def test_chance_correlation_of_few_rows_is_shrunk_away(rng):
    rows = rng.normal(size=(30, 200))
    off = correlation_of(rows)[np.triu_indices(200, 1)]
    assert np.abs(off).mean() < 0.1 * np.abs(np.corrcoef(rows.T)[np.triu_indices(200, 1)]).mean()


def test_constant_columns_correlate_with_none(rng):
    rows = np.column_stack([rng.normal(size=100), np.ones(100)])
    np.testing.assert_array_equal(correlation_of(rows), np.eye(2))


@pytest.mark.parametrize("columns", [0, 1])
def test_constant_rows_know_their_covariance(columns):
    assert effective_sample_size(np.ones((50, columns))) == 50


def test_a_column_of_two_values_that_are_equally_frequent_is_known_as_well_as_can_be():
    assert effective_sample_size(np.repeat([[0.0], [1.0]], 50, axis=0)) == 100


def test_largest_products_are_those_of_gaussian_rows(rng):
    mixing = np.vstack([np.full(12, 0.8), 0.6 * np.eye(12)])
    pairs = np.triu_indices(12)
    covariance = mixing.T @ mixing
    spread = np.sqrt(covariance[pairs] ** 2 + np.outer(np.diag(covariance), np.diag(covariance))[pairs])
    rows = rng.normal(size=(400, 500, 13)) @ mixing
    sums = np.einsum("tri,trj->tij", rows, rows)[:, *pairs] / 500 - covariance[pairs]
    expected = np.abs(sums * np.sqrt(500) / spread).max(axis=1)
    found = largest_products(covariance, pairs, 1_000_000)
    for share in (0.25, 0.5, 0.75):
        assert np.quantile(found, share) == pytest.approx(np.quantile(expected, share), rel=0.1)
