import numpy as np
import pytest

import gapdrift as gd


@pytest.fixture(scope="module")
def detector():
    return gd.DriftDetector(random_state=0).fit(gd.datasets.stations(1_000, rng=0))


def test_the_pair_that_changed_is_the_first_with_its_correlations_and_rows(detector):
    reference, window = gd.datasets.stations(1_000, rng=0), gd.datasets.stations(1_000, rng=2, drift=True)
    result = detector.test(window)
    (pair,) = (pair for pair in result.pairs if pair.adjusted_p_value < result.alpha)
    assert {pair.first, pair.second} == {"temperature", "humidity"}
    assert pair.is_straight
    for side, rows in ((pair.reference, reference), (pair.window, window)):
        both = ~np.isnan(rows["temperature"]) & ~np.isnan(rows["humidity"])
        assert side.n_rows == both.sum()
        exact = np.corrcoef(rows["temperature"][both], rows["humidity"][both])[0, 1]
        assert side.correlation == pytest.approx(exact, abs=0.05)
    assert pair.effect_size == pytest.approx(0.79, abs=0.05)
    # Half of the values lie on either side of the middle of the axis.
    middles = dict(zip((pair.first, pair.second), (ticks[2] for ticks in pair.ticks), strict=True))
    assert middles["temperature"] == pytest.approx(np.nanmedian(reference["temperature"]), abs=1.0)


def test_without_drift_no_pair_is_named_more_often_than_asked(detector):
    named = 0
    for seed in range(12):
        fresh = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(300, rng=100 + seed))
        result = fresh.test(gd.datasets.stations(300, rng=200 + seed))
        named += any(pair.adjusted_p_value < 0.05 for pair in result.pairs)
    assert named <= 3


def test_a_pair_of_a_number_and_a_category_names_the_category():
    rng = np.random.default_rng(1)
    colour = rng.choice(["blue", "red"], 1_000).astype(object)
    size = rng.normal(size=1_000)
    related = {"size": size + 2.0 * (colour == "red"), "colour": colour}
    shuffled = {"size": rng.permutation(related["size"]), "colour": colour}
    (pair,) = gd.compare(related, shuffled).pairs
    assert pair.categories[(pair.first, pair.second).index("colour")] in {"blue", "red"}
    assert pair.categories[(pair.first, pair.second).index("size")] == ""
    assert abs(pair.reference.correlation) > 0.6
    assert abs(pair.window.correlation) < 0.1


def test_of_many_columns_the_pair_is_named_too():
    rng = np.random.default_rng(2)
    reference, window = rng.normal(size=(800, 80)), rng.normal(size=(500, 80))
    reference[:, 7] = 0.8 * reference[:, 3] + 0.6 * reference[:, 7]
    pair = gd.compare(reference, window).pairs[0]
    assert {pair.first, pair.second} == {"x3", "x7"}
    assert pair.reference.correlation == pytest.approx(0.8, abs=0.1)
    assert abs(pair.window.correlation) < 0.2
    assert pair.window.n_rows == 500


def test_a_column_that_is_spread_wider_is_not_blamed_on_pairs():
    rng = np.random.default_rng(3)
    rows = rng.multivariate_normal(np.zeros(3), 0.5 + 0.5 * np.eye(3), 2_000)
    window = rows[1_000:] * [4.0, 1.0, 1.0]
    result = gd.compare(rows[:1_000], window)
    assert not [pair for pair in result.pairs if pair.adjusted_p_value < 0.05]
    assert result.features[0].adjusted_p_value < 1e-6


@pytest.mark.parametrize("n_columns", [6, 80])
def test_columns_that_are_shifted_each_by_itself_are_no_pair(n_columns):
    """Their product changes most surely of all; the pair whose correlation turned round is the only one."""
    rng = np.random.default_rng(4)
    reference, window = rng.normal(size=(1_500, n_columns)), rng.normal(size=(1_500, n_columns))
    for rows, slope in ((reference, 0.8), (window, -0.8)):
        rows[:, 5] = slope * rows[:, 4] + 0.6 * rows[:, 5]
    window[:, :4] += 1.6
    result = gd.compare(reference, window)
    changed = [pair for pair in result.pairs if pair.adjusted_p_value < result.alpha]
    assert [{pair.first, pair.second} for pair in changed] == [{"x4", "x5"}]
    assert changed[0].is_straight
    assert changed[0].effect_size == pytest.approx(1.6, abs=0.1)


def test_a_relation_that_is_no_straight_line_is_told_as_such():
    rng = np.random.default_rng(5)
    x, noise, apart = rng.normal(size=(3, 1_500))
    result = gd.compare({"x": x, "y": x**2 + 0.3 * noise}, {"x": x, "y": apart**2 + 0.3 * noise})
    (pair,) = (pair for pair in result.pairs if pair.adjusted_p_value < result.alpha)
    assert not pair.is_straight
    assert pair.effect_size < 0.1


def test_fewer_missing_values_do_not_move_what_factors_cannot_tell():
    """Sixty pairs of copies are too many for a few factors: hidden products have another mean than observed ones."""
    rng = np.random.default_rng(0)

    def draw(rate):
        base = rng.normal(size=(1_500, 60))
        rows = np.hstack([base, base + 0.5 * rng.normal(size=base.shape)])
        return np.where(rng.random(rows.shape) < rate, np.nan, rows)

    detector = gd.DriftDetector(random_state=0).fit(draw(0.4))
    assert detector.test(draw(0.0)).values.p_value > 0.01
