import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import binom, chi2, kstest

from experiments.baselines import _ascent
from experiments.baselines.mean_embedding import (
    Locations,
    MeanEmbedding,
    optimise,
    statistic,
    statistic_and_gradient,
)
from tests.experiments import naive


@pytest.mark.parametrize("sizes", [(30, 30), (20, 35)])
@pytest.mark.parametrize("regularisation", [1e-5, 0.1])
def test_gradient_is_that_of_finite_differences(sizes, regularisation, rng):
    x, y = rng.normal(size=(sizes[0], 3)), rng.normal(size=(sizes[1], 3)) + 0.5
    points = rng.normal(size=(4, 3))

    def value(packed):
        return statistic(x, y, Locations(packed[:-1].reshape(4, 3), np.exp(packed[-1])), regularisation)

    packed = np.r_[points.ravel(), np.log(1.2)]
    found, slope = statistic_and_gradient(x, y, Locations(points, 1.2), regularisation)
    assert found == pytest.approx(value(packed))
    # Central differences, of steps to both sides: their error is of the square of the step.
    numeric = (approx_fprime(packed, value, 1e-5) + approx_fprime(packed, value, -1e-5)) / 2
    np.testing.assert_allclose(np.r_[slope.points.ravel(), slope.width], numeric, rtol=1e-4, atol=1e-4)


def test_statistic_is_the_average_of_the_paired_one(rng):
    """Without pairs: the covariance of differences has no terms between the samples."""
    x, y = rng.normal(size=(2, 400, 2))
    y = y + 0.4
    points = rng.normal(size=(3, 2))
    ours = statistic(x, y, Locations(points, 1.0))
    paired = [naive.paired_mean_embedding(x, rng.permutation(y), points, 1.0, 1e-5) for _ in range(20)]
    assert ours == pytest.approx(np.mean(paired), rel=0.05)


def test_statistic_at_fixed_locations_is_chi_square(rng):
    locations = Locations(np.array([[0.0, 0.0], [1.0, -1.0], [-1.0, 0.5]]), 1.0)
    found = [statistic(*rng.normal(size=(2, 300, 2)), locations) for _ in range(400)]
    assert kstest(found, chi2(3).cdf).pvalue > 1e-3


def test_optimised_locations_beat_those_it_starts_from(rng):
    x, y = rng.normal(size=(100, 4)), rng.normal([0.5, 0, 0, 0], size=(100, 4))
    best = optimise(x, y, 3, np.random.default_rng(1))
    start = optimise(x, y, 3, np.random.default_rng(1), max_iter=1)
    assert statistic(x, y, best) > statistic(x, y, start)
    slope = statistic_and_gradient(x, y, best)[1]
    assert np.isfinite(slope.points).all()


def test_columns_of_any_scale_are_optimised(rng):
    """The statistic of columns all in other units is the same, at locations in those units."""
    x, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 0.7
    one = optimise(x, y, 2, np.random.default_rng(1))
    other = optimise(x * 1e6, y * 1e6, 2, np.random.default_rng(1))
    assert statistic(x * 1e6, y * 1e6, other) == pytest.approx(statistic(x, y, one), rel=1e-3)


def test_half_is_optimised_and_the_other_half_tested(rng, monkeypatch):
    seen = {}

    def spy(x, y, *arguments, **settings):
        seen["rows"] = {tuple(row) for row in np.vstack([x, y])}
        return Locations(np.zeros((5, 2)) + np.eye(5, 2), 1.0)

    monkeypatch.setattr("experiments.baselines.mean_embedding.optimise", spy)
    tested = {}
    monkeypatch.setattr(
        "experiments.baselines.mean_embedding.statistic",
        lambda x, y, *rest: tested.update(rows={tuple(row) for row in np.vstack([x, y])}) or 1.0,
    )
    x, y = rng.normal(size=(2, 100, 2))
    MeanEmbedding().fit(x, rng).test(y, rng)
    assert len(seen["rows"]) == len(tested["rows"]) == 100
    assert not seen["rows"] & tested["rows"]
    MeanEmbedding(split="tenth").fit(x, rng).test(y, rng)
    assert len(seen["rows"]) == 20
    assert len(tested["rows"]) == 200


def test_first_locations_are_kept(rng):
    reference, first, later = rng.normal(size=(3, 100, 2))
    fitted = MeanEmbedding(split="tenth", locations="first").fit(reference, rng, first=first)
    assert fitted.kept is not None
    assert fitted.test(later, rng).statistic == pytest.approx(statistic(reference, later, fitted.kept))


def test_false_alarms_hold(rng):
    """Two hundred rows: with fewer in a half chi-square is not reached."""
    trials, rejected = 200, 0
    for _ in range(trials):
        x, y = rng.normal(size=(2, 200, 3))
        rejected += MeanEmbedding(max_iter=30).fit(x, rng).p_value(y, rng) <= 0.05
    assert binom.ppf(1e-3, trials, 0.03) <= rejected <= binom.ppf(1 - 1e-3, trials, 0.05)


def test_the_published_test_takes_rows_in_pairs_without_regularisation(rng):
    reference, first, later = rng.normal(size=(3, 200, 2))
    fitted = MeanEmbedding.as_published().fit(reference, rng, first=first)
    points, width = fitted.kept
    assert points.shape == (5, 2)
    expected = naive.paired_mean_embedding(reference, later, points, width, 0.0)
    assert fitted.test(later, rng).statistic == pytest.approx(expected, rel=1e-6)


def test_the_gradient_of_the_ascent_is_that_of_its_statistic(rng):
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 0.5
    points, width = rng.normal(size=(3, 2)), 1.3
    value, slope = _ascent._climb(x, y, Locations(points, width))
    scaled = naive.paired_mean_embedding(x, y, points, width, 1e-5 * 30 / 29) * 30 / 29  # covariance over n, not n - 1
    assert value == pytest.approx(scaled)
    for place in np.ndindex(points.shape):
        moved = [points.copy(), points.copy()]
        moved[0][place] += 1e-6
        moved[1][place] -= 1e-6
        up, down = (_ascent._climb(x, y, Locations(each, width))[0] for each in moved)
        assert slope.points[place] == pytest.approx((up - down) / 2e-6, rel=1e-4)
    up, down = (_ascent._climb(x, y, Locations(points, width + step))[0] for step in (1e-6, -1e-6))
    assert slope.width == pytest.approx((up - down) / 2e-6, rel=1e-4)


def test_the_ascent_climbs_and_is_always_the_same(rng):
    x, y = rng.normal(size=(50, 3)), rng.normal(size=(50, 3)) + 0.3
    found = _ascent.ascend(x, y, 5)
    start = Locations(_ascent._first_points(x, y, 5, None), found.width)
    assert _ascent.paired_statistic(x, y, found) > _ascent.paired_statistic(x, y, start)
    np.testing.assert_array_equal(_ascent.ascend(x, y, 5).points, found.points)
    assert not np.allclose(_ascent.ascend(x, y, 5, np.random.default_rng(1)).points, found.points)


def test_first_points_are_numpys_old_draws(rng):
    x, y = rng.normal(size=(40, 3)), rng.exponential(size=(40, 3))
    state = np.random.RandomState(0)
    drawn = [state.multivariate_normal(rows.mean(axis=0), _ascent._shrunk(rows), n) for rows, n in ((x, 2), (y, 3))]
    np.testing.assert_allclose(_ascent._first_points(x, y, 5, None), np.vstack(drawn))
