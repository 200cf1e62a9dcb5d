import numpy as np
import pytest
from scipy.stats import kurtosis, norm, skew, ttest_ind

from gapdrift.inference.contrast import Shape, central_moments, compare, entry_p_values


def plain_shape(size):
    nothing = np.zeros(size)
    return Shape(nothing, nothing, nothing.astype(bool), np.ones(size), nothing, nothing.astype(bool))


def contrast_of(one, two, shape=None):
    sums = tuple(side.sum(axis=0) for side in (one, two))
    products = tuple(side.T @ side for side in (one, two))
    return compare((len(one), len(two)), sums, products, shape or plain_shape(one.shape[1]))


def test_entries_are_two_sample_tests(rng):
    one, two = rng.normal(size=(300, 4)), rng.normal(0.1, 1, size=(200, 4))
    expected = 2 * norm.sf(np.abs(ttest_ind(two, one).statistic))
    np.testing.assert_allclose(entry_p_values(contrast_of(one, two)), expected, rtol=1e-9)


def test_sides_that_are_constant_but_differ(rng):
    one, two = np.zeros((50, 1)), np.ones((50, 1))
    assert entry_p_values(contrast_of(one, two))[0] < 1e-12


def test_constant_entries_are_not_used():
    contrast = contrast_of(np.ones((50, 1)), np.ones((60, 1)))
    assert not contrast.usable.any()
    assert entry_p_values(contrast)[0] == 1.0


def test_moments_from_powers(rng):
    rows = rng.exponential(size=(500, 3))
    powers = np.stack([(rows**power).sum(axis=0) for power in (1, 2, 3, 4)])
    variance, skewness, excess = central_moments(powers, 500)
    np.testing.assert_allclose(variance, rows.var(axis=0))
    np.testing.assert_allclose(skewness, skew(rows))
    np.testing.assert_allclose(excess, kurtosis(rows))


@pytest.mark.parametrize(("m", "n"), [(500, 100), (100, 500)])
def test_rare_indicators_hold_their_level(m, n):
    """An indicator of frequency 2 %: the gamma tail keeps 4,000 null trials at alpha 0.05 within a binomial bound."""
    rng = np.random.default_rng(0)
    shape = Shape(np.zeros(1), np.zeros(1), np.ones(1, bool), np.ones(1), np.zeros(1), np.zeros(1, bool))
    alarms = 0
    for _ in range(4_000):
        counts = rng.binomial(m, 0.02), rng.binomial(n, 0.02)
        sums = tuple(np.array([float(count)]) for count in counts)
        products = tuple(np.array([[float(count)]]) for count in counts)
        alarms += entry_p_values(compare((m, n), sums, products, shape))[0] < 0.05
    assert 0.02 < alarms / 4_000 < 0.065


def test_rough_entries_stay_out_of_quadratic_forms():
    size = 2
    shape = Shape(
        np.array([0.0, 40.0]), np.array([0.0, 2000.0]), np.zeros(2, bool), np.ones(2), np.zeros(2), np.zeros(2, bool)
    )
    rng = np.random.default_rng(0)
    contrast = contrast_of(rng.normal(size=(500, size)), rng.normal(size=(50, size)), shape)
    assert contrast.usable.tolist() == [True, False]
    assert contrast.smooth.tolist() == [True, False]


def test_parts_and_maps(rng):
    one, two = rng.normal(size=(100, 5)), rng.normal(size=(80, 5))
    contrast = contrast_of(one, two)
    part = contrast.part(slice(1, 3))
    np.testing.assert_array_equal(part.difference, contrast.difference[1:3])
    matrix = rng.normal(size=(2, 5))
    mapped = contrast.mapped(matrix)
    direct = contrast_of(one @ matrix.T, two @ matrix.T)
    np.testing.assert_allclose(mapped.difference, direct.difference)
    np.testing.assert_allclose(mapped.covariance, direct.covariance)
    assert mapped.n_rows == 180
