import numpy as np
import pytest

from experiments.distributions import DISTRIBUTIONS, DRIFTS, POISSON_RATES
from experiments.protocols import PROTOCOLS
from experiments.scripted import REFERENCE, draw_distribution, draw_scripted

PUBLISHED = PROTOCOLS["published"]


def draw(kind, severity, number, seed=0):
    return draw_scripted(kind, severity, number, 500, PUBLISHED, seed)


@pytest.fixture
def old_generator():
    """numpy's global generator, which the scripts seed, and which is put back as it was."""
    state = np.random.get_state()  # noqa: NPY002
    yield np.random
    np.random.set_state(state)  # noqa: NPY002


def test_the_reference_is_that_of_seed_zero(old_generator):
    old_generator.seed(0)
    uniform = old_generator.uniform(size=[500, 10])
    np.testing.assert_array_equal(draw("uniform-mean", 0, REFERENCE).complete, uniform)
    old_generator.seed(0)
    mean = old_generator.rand(4) * 10
    gaussian = old_generator.multivariate_normal(mean, np.diag(np.ones(4)), 500)
    for kind in ("gaussian-mean", "gaussian-covariance"):
        np.testing.assert_allclose(draw(kind, 0, REFERENCE).complete, gaussian)
    old_generator.seed(0)
    rates = old_generator.randint(low=5, high=50, size=8)
    np.testing.assert_array_equal(draw("poisson-mean", 0, REFERENCE).complete, old_generator.poisson(rates, (500, 8)))


def test_the_rates_are_those_of_the_library():
    reference = draw("poisson-mean", 0, REFERENCE).complete
    np.testing.assert_allclose(reference.mean(axis=0), POISSON_RATES, atol=1.0)


@pytest.mark.parametrize("kind", DRIFTS)
def test_gaps_are_drawn_after_seeding_again(kind, old_generator):
    window = draw(kind, 2, 7)
    old_generator.seed(2 * 500 + 7 + 1)
    for column in DRIFTS[kind].missing_columns:
        np.testing.assert_array_equal(
            np.flatnonzero(np.isnan(window.with_missing[:, column])), np.sort(old_generator.permutation(500)[:100])
        )
    known = ~np.isnan(window.with_missing)
    np.testing.assert_array_equal(window.with_missing[known], window.complete[known])
    assert known.sum() == known.size - 100 * len(DRIFTS[kind].missing_columns)


def test_a_window_of_covariance_is_drawn_after_the_gaps(old_generator):
    old_generator.seed(0)
    mean = old_generator.rand(4) * 10
    old_generator.seed(8 * 500 + 3 + 1)
    old_generator.multivariate_normal(mean, np.eye(4), 500)
    old_generator.seed(8 * 500 + 3 + 1)
    for _ in range(4):
        old_generator.permutation(500)
    covariance = np.eye(4)
    covariance[0, 1] = covariance[1, 0] = 0.64
    drawn = old_generator.multivariate_normal(mean, covariance, 500)
    np.testing.assert_allclose(draw("gaussian-covariance", 8, 3).complete, drawn)


@pytest.mark.parametrize("kind", DRIFTS)
def test_other_seeds_are_other_samples_of_the_same_law(kind):
    one, other = draw(kind, 10, 0), draw(kind, 10, 0, seed=1)
    assert one.complete.shape == other.complete.shape
    assert not np.allclose(one.complete, other.complete)


def test_the_common_part_of_two_poisson_columns():
    windows = np.vstack([draw("poisson-rho", 10, number).complete for number in range(20)])
    assert np.corrcoef(windows[:, 0], windows[:, 1])[0, 1] == pytest.approx(0.65, abs=0.03)
    assert windows[:, :2].mean(axis=0) == pytest.approx([49.0, 49.0], abs=0.5)


@pytest.mark.parametrize(("severity", "shift"), [(3, 0.0), (4, 1.0), (10, 2.0)])
def test_poisson_means_move_by_whole_numbers(severity, shift):
    windows = np.vstack([draw("poisson-mean", severity, number).complete for number in range(40)])
    assert windows[:, 1].mean() - 5.0 == pytest.approx(shift, abs=0.1)


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_data_sets_of_experiment_1(kind):
    first, second = draw_distribution(kind, 0, 500), draw_distribution(kind, 1, 500)
    np.testing.assert_array_equal(np.isnan(second.with_missing).sum(axis=0)[:5], 100)
    assert not np.isnan(second.with_missing[:, 5:]).any()
    assert not np.allclose(first.complete, second.complete)
    standard_errors = first.complete.std(axis=0) * np.sqrt(2 / 500)
    assert (np.abs(first.complete.mean(axis=0) - second.complete.mean(axis=0)) < 4.0 * standard_errors).all()
