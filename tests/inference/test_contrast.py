import numpy as np
import pytest
from scipy.stats import norm, ttest_ind

from gapdrift.inference.contrast import Sample, Shape, compare, covariance_of, entry_p_values


def plain_shape(size):
    nothing = np.zeros(size)
    return Shape(nothing, nothing, nothing.astype(bool), np.ones(size), nothing, nothing.astype(bool))


def sample(n_rows, sums, squares, observed):
    return Sample(n_rows, sums, sums, squares, observed)


def sample_of(rows):
    return sample(len(rows), rows.sum(axis=0), (rows**2).sum(axis=0), np.full(rows.shape[1], float(len(rows))))


def contrast_of(one, two, shape=None):
    samples = [sample_of(side) for side in (one, two)]
    return compare(*samples, shape or plain_shape(one.shape[1]))


def test_entries_are_two_sample_tests(rng):
    one, two = rng.normal(size=(300, 4)), rng.normal(0.1, 1, size=(200, 4))
    expected = 2 * norm.sf(np.abs(ttest_ind(two, one).statistic))
    np.testing.assert_allclose(entry_p_values(contrast_of(one, two)), expected, rtol=1e-9)


def test_sides_that_are_constant_but_differ():
    one, two = np.zeros((50, 1)), np.ones((50, 1))
    assert entry_p_values(contrast_of(one, two))[0] < 1e-12


def test_constant_entries_are_not_used():
    contrast = contrast_of(np.ones((50, 1)), np.ones((60, 1)))
    assert not contrast.usable.any()
    assert entry_p_values(contrast)[0] == 1.0


@pytest.mark.parametrize(("m", "n"), [(500, 100), (100, 500)])
def test_rare_indicators_hold_their_level(m, n):
    """An indicator of frequency 2 %: the gamma tail keeps 4,000 null trials at alpha 0.05 within a binomial bound."""
    rng = np.random.default_rng(0)
    shape = Shape(np.zeros(1), np.zeros(1), np.ones(1, bool), np.ones(1), np.zeros(1), np.zeros(1, bool))
    alarms = 0
    for _ in range(4_000):
        sums = [np.array([float(rng.binomial(size, 0.02))]) for size in (m, n)]
        samples = [
            sample(size, total, total, np.array([float(size)])) for size, total in zip((m, n), sums, strict=True)
        ]
        contrast = compare(*samples, shape)
        alarms += entry_p_values(contrast)[0] < 0.05
    assert 0.02 < alarms / 4_000 < 0.065


def test_missing_cells_make_no_indicator_frequent():
    """Of a value that 4 of 100 rows had a window has none; half of its cells are missing, which count as 4 of 100."""
    shape = Shape(np.zeros(1), np.zeros(1), np.ones(1, bool), np.ones(1), np.full(1, 0.04), np.zeros(1, bool))
    reference = sample(100, np.array([0.0]), np.array([4 * 0.96]), np.array([100.0]))
    sums, squares = np.array([500 * -0.04]), np.array([500 * 0.04**2])
    half, whole = (
        compare(reference, sample(1_000, sums, squares, np.array([observed])), shape) for observed in (500.0, 1_000.0)
    )
    assert abs(half.skewness[0]) > 1.2 * abs(whole.skewness[0])
    # 4 of 600 are 0.67 %: the skewness of one row is that of a value as rare, of which 600 of 1,100 are observed.
    share, observed, scale = 4 / 600, 600 / 1_100, 1 / 100 + 1 / 1_000
    row = (1 - 2 * share) / np.sqrt(share * (1 - share) * observed)
    np.testing.assert_allclose(half.skewness[0], row * (1 / 1_000**2 - 1 / 100**2) / scale**1.5)


def test_rough_entries_stay_out_of_quadratic_forms():
    shape = Shape(
        np.array([0.0, 40.0]), np.array([0.0, 2000.0]), np.zeros(2, bool), np.ones(2), np.zeros(2), np.zeros(2, bool)
    )
    rng = np.random.default_rng(0)
    contrast = contrast_of(rng.normal(size=(500, 2)), rng.normal(size=(50, 2)), shape)
    assert contrast.usable.tolist() == [True, False]
    assert contrast.smooth.tolist() == [True, False]


def test_parts_and_factors(rng):
    contrast = contrast_of(rng.normal(size=(100, 5)), rng.normal(size=(80, 5)))
    part = contrast.part(slice(1, 3))
    np.testing.assert_array_equal(part.difference, contrast.difference[1:3])
    np.testing.assert_array_equal(part.variance, contrast.variance[1:3])
    np.testing.assert_array_equal(contrast.scaled(np.full(5, 0.5)).difference, contrast.difference / 2)
    assert part.n_rows == 180


def test_covariance_is_that_of_both_sides_together(rng):
    one, two = rng.normal(size=(100, 3)), rng.normal(0.5, 1, size=(80, 3))
    found = covariance_of((100, 80), (one.sum(axis=0), two.sum(axis=0)), (one.T @ one, two.T @ two))
    np.testing.assert_allclose(found, np.cov(np.vstack([one, two]).T))
