import numpy as np
import pytest
from scipy.stats import beta, binom, chisquare, kstest

from experiments.baselines.quant_tree import (
    QuantTree,
    bin_sizes,
    build,
    build_scripted,
    count_in_intervals,
    count_rows,
    null_statistics,
    principal_axes,
    statistic,
    turn,
)
from gapdrift.errors import ParameterError
from tests.experiments import naive

DISTRIBUTIONS = {
    "Gaussian": lambda rng, shape: rng.multivariate_normal([0, 5, 0], [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 9]], shape[0]),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "Poisson": lambda rng, shape: rng.poisson(2, size=shape).astype(float),
}


@pytest.mark.parametrize(("n_rows", "n_bins"), [(500, 10), (103, 7), (7, 7), (10, 4)])
def test_bins_share_the_rows(n_rows, n_bins):
    sizes = bin_sizes(n_rows, n_bins)
    assert sum(sizes) == n_rows
    assert len(sizes) == n_bins
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("draw", [DISTRIBUTIONS["Gaussian"], DISTRIBUTIONS["uniform"]], ids=["Gaussian", "uniform"])
def test_each_bin_takes_its_share_of_the_reference(draw, rng):
    reference = draw(rng, (103, 3))
    cuts = build(reference, 7, rng)
    by_row = np.bincount([naive.bin_of(cuts, row) for row in reference], minlength=7)
    assert by_row.tolist() == list(bin_sizes(103, 7))


def test_rows_are_counted_as_one_by_one(rng):
    cuts, window = build(rng.random((103, 3)), 7, rng), rng.random((50, 3))
    by_row = np.bincount([naive.bin_of(cuts, row) for row in window], minlength=7)
    assert count_rows(cuts, window, rng).tolist() == by_row.tolist()


def test_equal_rows_are_shared_between_the_bins(rng):
    """A constant column has nothing but ties; each bin still takes its share."""
    counts = sum(count_rows(build(np.ones((50, 1)), 5, rng), np.ones((40, 1)), rng) for _ in range(200))
    np.testing.assert_allclose(counts / (200 * 40), 0.2, atol=0.03)


def test_columns_and_tails_are_drawn_evenly(rng):
    cuts = [cut for _ in range(200) for cut in build(rng.random((20, 4)), 3, rng)]
    kinds = np.bincount([2 * cut.column + cut.below for cut in cuts], minlength=8)
    assert chisquare(kinds).pvalue > 1e-3


def test_probability_of_a_bin_is_beta(rng):
    """On uniform columns the volume of the first bin is its probability."""
    volumes = []
    for _ in range(400):
        cut = build(rng.random((60, 3)), 4, rng)[0]
        volumes.append(cut.value if cut.below else 1 - cut.value)
    assert kstest(volumes, beta(15, 60 - 15 + 1).cdf).pvalue > 1e-3


def test_probability_of_the_last_bin_is_beta(rng):
    """What all cuts leave of a uniform square: a product of what each leaves of its column."""
    volumes = []
    for _ in range(400):
        low, high = np.zeros(2), np.ones(2)
        for cut in build(rng.random((60, 2)), 4, rng):
            (low if cut.below else high)[cut.column] = cut.value
        volumes.append(np.prod(high - low))
    assert kstest(volumes, beta(15 + 1, 45).cdf).pvalue > 1e-3


def test_statistic_is_pearsons(rng):
    counts = rng.multinomial(100, [0.2, 0.3, 0.5], size=4)
    np.testing.assert_allclose(statistic(counts), [chisquare(row).statistic for row in counts])


def test_null_is_that_of_trees_on_uniform_data(rng):
    found = []
    for _ in range(1000):
        cuts = build(rng.random((60, 1)), 6, rng)
        found.append(float(statistic(count_rows(cuts, rng.random((40, 1)), rng))))
    null = null_statistics(60, 40, 6)
    for level in (0.5, 0.9, 0.95):
        threshold = np.quantile(null, level)
        expected = np.mean(null > threshold)
        above = np.sum(np.array(found) > threshold)
        assert binom.ppf(5e-4, 1000, expected) <= above <= binom.ppf(1 - 5e-4, 1000, expected)


@pytest.mark.parametrize("draw", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_one_threshold_serves_all_distributions(draw, rng):
    trials, above = 600, 0
    null = null_statistics(100, 100, 5)
    threshold = np.quantile(null, 0.95)
    expected = np.mean(null > threshold)
    for _ in range(trials):
        reference, window = draw(rng, (100, 3)), draw(rng, (100, 3))
        cuts = build(reference, 5, rng)
        above += float(statistic(count_rows(cuts, window, rng))) > threshold
    assert binom.ppf(5e-4, trials, expected) <= above <= binom.ppf(1 - 5e-4, trials, expected)


@pytest.mark.parametrize(("n_rows", "n_bins", "published"), [(500, 10, 33.4), (1000, 20, 59.96)])
def test_published_thresholds_are_near_those_of_the_null(n_rows, n_bins, published):
    """Published ones come from 5000 simulations; the quantile of so many scatters by this much."""
    null = null_statistics(n_rows, n_rows, n_bins)
    share_above = np.mean(null > published)
    assert abs(share_above - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 5000)


def test_null_is_kept_and_cannot_be_changed():
    assert null_statistics(50, 50, 3, 1000) is null_statistics(50, 50, 3, 1000)
    with pytest.raises(ValueError, match="read-only"):
        null_statistics(50, 50, 3, 1000)[0] = 1


def test_fixed_threshold_decides(rng):
    fitted = QuantTree(n_bins=5, threshold=0.0).fit(rng.normal(size=(100, 2)), rng)
    outcome = fitted.test(rng.normal(size=(100, 2)), rng)
    assert outcome.rejects(1e-12) == (outcome.statistic > 0)
    assert not outcome._replace(threshold=1e6).rejects(0.999)
    assert outcome._replace(threshold=None).rejects(1.0)


def test_number_of_bins_is_the_papers(rng):
    assert QuantTree().fit(rng.normal(size=(500, 2)), rng).n_bins == 10
    assert QuantTree().fit(rng.normal(size=(20, 2)), rng).n_bins == 2


def test_axes_are_those_of_the_reference(rng):
    rows = rng.multivariate_normal([3, 0], [[2, 1.5], [1.5, 2]], 4000)
    fitted = QuantTree(n_bins=4, pca=True).fit(rows, rng)
    expected = np.linalg.eigh(np.cov(rows.T))[1][:, ::-1].T
    np.testing.assert_allclose(np.abs(fitted.axes), np.abs(expected))
    np.testing.assert_allclose(np.cov(turn(rows, fitted.axes).T), np.diag([3.5, 0.5]), atol=0.2)
    np.testing.assert_array_equal(QuantTree(n_bins=4).fit(rows, rng).axes, np.eye(2))


def test_turned_rows_round_alone_as_in_a_crowd(rng):
    rows, axes = rng.normal(size=(101, 7)), principal_axes(rng.normal(size=(50, 7)))
    np.testing.assert_array_equal(turn(rows, axes), np.vstack([turn(rows[[row]], axes) for row in range(101)]))


def test_bins_of_the_scripts_are_drawn_by_numpys_old_generator(rng):
    """Two numbers for each bin but the last, and one for that: a second tree goes on where the first ended."""
    rows = rng.normal(size=(100, 3))
    state, drawn = np.random.RandomState(0), np.random.RandomState(0)
    bins = [*build_scripted(rows, 4, state), *build_scripted(rows, 4, state)]
    for tree in (bins[:3], bins[3:]):
        for number, found in enumerate(tree):
            assert found.column == drawn.randint(3)
            lower = drawn.choice([True, False])
            earlier = [other for other in tree[:number] if other.column == found.column]
            assert (found.high if lower else found.low) in rows[:, found.column]
            open_end = found.low if lower else found.high
            assert np.isinf(open_end) or open_end in [edge for other in earlier for edge in other[1:]]
        drawn.randint(3)


def test_bins_of_the_scripts_hold_a_row_more_or_less(rng):
    """A lower tail of 25 ends with the 26th value, an upper one begins after the 25th largest."""
    rows = np.arange(100.0)[:, None]
    for seed in range(8):
        (found, *_) = build_scripted(rows, 4, np.random.RandomState(seed))
        assert count_in_intervals((found,), rows)[0] == (26 if np.isinf(found.low) else 24)


def test_each_kind_of_bins_has_its_generator(rng):
    rows = rng.normal(size=(100, 2))
    with pytest.raises(ParameterError, match="expected a RandomState"):
        QuantTree(bins="scripts").fit(rows, rng)
    with pytest.raises(ParameterError, match="expected a numpy Generator"):
        QuantTree().fit(rows, np.random.RandomState(0))


def test_the_farthest_row_lies_on_the_positive_side(rng):
    rows = rng.exponential(size=(60, 3)) * [5.0, 2.0, 1.0]
    along = turn(rows - rows.mean(axis=0), principal_axes(rows))
    assert (along[np.abs(along).argmax(axis=0), range(3)] > 0).all()
