import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

from experiments.baselines.mmd import MMD, median_width, permuted_statistics, scripts_null, scripts_width, statistic
from tests.experiments import naive


def off_diagonal_kernel(joint, width):
    kernel = np.exp(-(squareform(pdist(joint)) ** 2) / (2 * width**2))
    np.fill_diagonal(kernel, 0)
    return kernel


@pytest.mark.parametrize("sizes", [(6, 6), (5, 9)])
def test_statistic_is_that_of_the_loops(sizes, rng):
    x, y = (rng.normal(size=(size, 3)) for size in sizes)
    assert statistic(x, y, 0.8) == pytest.approx(naive.mmd(x, y, 0.8), abs=1e-12)


@pytest.mark.parametrize("sizes", [(6, 6), (5, 9)])
def test_permuted_statistics_are_those_of_permuted_samples(sizes, rng):
    joint = rng.normal(size=(sum(sizes), 2))
    found = permuted_statistics(off_diagonal_kernel(joint, 1.3), sizes[0], 5, np.random.default_rng(4))
    labels, same = np.repeat([True, False], sizes), np.random.default_rng(4)
    for number, value in enumerate(found):
        first = labels if number == 0 else same.permutation(labels)
        assert value == pytest.approx(naive.mmd(joint[first], joint[~first], 1.3), abs=1e-12)


def test_test_takes_the_median_width_and_counts_permutations(rng):
    x, y = rng.normal(size=(2, 20, 2))
    width = np.median(pdist(np.vstack([x, y])))
    assert median_width(x, y) == pytest.approx(width, rel=1e-3)
    outcome = MMD(permutations=50).fit(x, rng).test(y, np.random.default_rng(1))
    null = permuted_statistics(off_diagonal_kernel(np.vstack([x, y]), width), 20, 50, np.random.default_rng(1))
    assert outcome.statistic == pytest.approx(naive.mmd(x, y, width), rel=1e-2)
    assert outcome.p_value == pytest.approx(np.mean(null >= null[0]))


def test_equal_samples_tie_with_their_permutations():
    """Rounding must not tell apart statistics that are equal."""
    rows = np.arange(12.0).reshape(6, 2)
    assert MMD(permutations=30).fit(np.repeat(rows[:1], 6, 0), None).p_value(
        np.repeat(rows[:1], 6, 0), np.random.default_rng(0)
    ) == pytest.approx(1.0)


def test_width_of_the_scripts_gives_their_kernel(rng):
    x, y = rng.normal(size=(2, 15, 3))
    median = np.median(cdist(x, y))
    squares = cdist(x, y) ** 2
    np.testing.assert_allclose(np.exp(-squares / (2 * scripts_width(x, y) ** 2)), np.exp(-squares / median))
    fitted = MMD(kernel="scripts").fit(x, rng)
    assert fitted.test(y, rng).statistic == pytest.approx(statistic(x, y, scripts_width(x, y)))


def test_first_width_and_null_are_kept(rng):
    reference, first, later = rng.normal(size=(3, 30, 2))
    later = later * 3
    kept = MMD(permutations=50, width="first").fit(reference, rng, first=first)
    assert kept.test(later, rng).statistic == pytest.approx(statistic(reference, later, median_width(reference, first)))
    fitted = MMD(permutations=50, width="first", null="first").fit(reference, rng, first=first)
    kernel = off_diagonal_kernel(np.vstack([reference, first]), median_width(reference, first))
    null = scripts_null(kernel, 30, 50)
    found = fitted.test(later, rng)
    assert found.statistic == pytest.approx(kept.test(later, rng).statistic)
    assert found.p_value == pytest.approx((1 + np.sum(null >= found.statistic)) / 51)


def test_permutations_of_the_scripts(rng):
    """Numpy's old generator, seed 8273; a row of the first half is not compared with its partner in the second."""
    kernel = off_diagonal_kernel(rng.normal(size=(20, 2)), 1.0)
    state = np.random.RandomState(8273)
    for found in scripts_null(kernel, 10, 3):
        order = state.choice(20, 20, replace=False)
        one, two = order[:10], order[10:]
        within = [kernel[np.ix_(part, part)].sum() / 90 for part in (one, two)]
        between = [kernel[i, j] for a, i in enumerate(one) for b, j in enumerate(two) if a != b]
        assert found == pytest.approx(sum(within) - 2.0 * np.mean(between))
