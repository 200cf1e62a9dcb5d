import numpy as np
import pytest

import gapdrift as gd
from gapdrift.inference.observed import (
    _ring_means,
    _shrink,
)


def hidden(rows, rate, rng):
    return np.where(rng.random(rows.shape) < rate, np.nan, rows)


def parts_of(result):
    found = {part.name: part.p_value for part in result.values.parts}
    return found | {part.name: part.p_value for part in result.missingness.parts}


def test_noisy_variances_are_drawn_together():
    rng = np.random.default_rng(0)
    noise = np.full(1_000, 0.09)
    assert _shrink(rng.normal(0.0, 0.3, 1_000), noise).std() < 0.1
    far = rng.normal(0.0, 3.0, 1_000)
    assert _shrink(far, noise) == pytest.approx(far, abs=0.2)


BLIND_SPOTS = {
    "skewness": (lambda x, rng: np.column_stack([rng.exponential(size=len(x)) - 1.0, x[:, 1:]]), "distributions"),
    "spike": (lambda x, rng: np.where(rng.random(x.shape) < [0.12, 0, 0], 0.0, x), "distributions"),
    "bent": (
        lambda x, _: np.column_stack([x[:, 0], 0.8 * (np.abs(x[:, 0]) - 0.8) + 0.6 * x[:, 1], x[:, 2]]),
        "interactions",
    ),
    "circle": (
        lambda x, _: x * np.where([1, 1, 0], 1.4 / np.linalg.norm(x[:, :2], axis=1, keepdims=True), 1),
        "interactions",
    ),
    "three-way": (
        lambda x, _: np.column_stack([x[:, :2], np.abs(x[:, 2]) * np.sign(x[:, 0] * x[:, 1])]),
        "interactions",
    ),
}


@pytest.mark.parametrize("kind", BLIND_SPOTS)
def test_what_means_and_correlations_do_not_tell_is_found(kind):
    change, part = BLIND_SPOTS[kind]
    rng = np.random.default_rng(4)
    detector = gd.DriftDetector(random_state=0).fit(hidden(rng.normal(size=(1_000, 3)), 0.2, rng))
    result = detector.test(hidden(change(rng.normal(size=(1_000, 3)), rng), 0.2, rng))
    assert result.drift
    assert parts_of(result)[part] < 1e-4


def test_three_columns_that_depend_on_each_other_only_together_are_found_in_few_rows():
    """Products of three scores that are cut off are no heavier than these: 250 rows with all three tell enough."""
    change, part = BLIND_SPOTS["three-way"]
    rng = np.random.default_rng(5)
    detector = gd.DriftDetector(random_state=0).fit(hidden(rng.normal(size=(500, 3)), 0.2, rng))
    result = detector.test(hidden(change(rng.normal(size=(500, 3)), rng), 0.2, rng))
    assert parts_of(result)[part] < 1e-4


@pytest.mark.parametrize("seed", [30, 45, 59])
def test_flags_that_half_of_the_rows_have_are_calm(seed):
    """The cosines of their two scores are nearly equal: their products hardly vary, and noise ruled these cases."""
    rng = np.random.default_rng(seed)

    def draw():
        return hidden(np.column_stack([rng.normal(size=(150, 2)), rng.random((150, 4)) < 0.5]).astype(float), 0.2, rng)

    result = gd.DriftDetector(random_state=0).fit(draw()).test(draw())
    assert parts_of(result)["interactions"] > 1e-4


def test_products_of_which_few_rows_tell_the_variance_are_not_compared_however_many_there_are():
    """Of 60,000 rows 4,096 are looked at one by one: too few for products of values that one row in 150 has."""
    smallest, n_tested = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)

        def draw(n_rows, rng=rng):
            usual = rng.random((n_rows, 5)) < 0.9935
            rows = np.column_stack([np.where(usual, 7.0, 3.0 + rng.normal(size=(n_rows, 5))), rng.normal(size=n_rows)])
            return hidden(rows, 0.3, rng)

        detector = gd.DriftDetector(random_state=seed).fit(draw(60_000))
        crossed = detector.reference_.comparison(detector.count(draw(40_000))).observed.crossed
        tested = crossed.usable & ~crossed.is_plain
        n_tested.append(tested.sum())
        smallest.append(crossed.p_values[tested].min(initial=1.0))
    # Each by itself holds its level: the smallest of so many is as small as chance makes it (1 time in 1,000).
    assert min(smallest) > 1e-3 / max(sum(n_tested), 1)


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_a_neighbour_of_a_column_that_moved_is_not_named(rate):
    rng = np.random.default_rng(1)

    def rows(shift):
        common = rng.normal(size=(1_000, 1))
        return hidden(0.9 * common + 0.44 * rng.normal(size=(1_000, 2)) + [shift, 0.0], rate, rng)

    detector = gd.DriftDetector(random_state=0).fit(rows(0.0))
    named = [feature.name for feature in detector.test(rows(1.0)).features if feature.adjusted_p_value < 0.01]
    assert named == ["x0"]


def ring_rows(n_rows, share, radius, rng):
    rows = rng.normal(size=(n_rows, 4))
    chosen = rng.random((n_rows, 1)) < share
    rows[:, :2] *= np.where(chosen, radius / np.linalg.norm(rows[:, :2], axis=1, keepdims=True), 1.0)
    return rows


@pytest.mark.parametrize("radius", [np.sqrt(2.0), 1.7, 2.0])
def test_rows_that_come_to_lie_on_a_circle_are_found(radius):
    """A quarter of 500 rows, on a circle; a large one shows in each column as well."""
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        reference, window = (hidden(ring_rows(500, share, radius, rng), 0.2, rng) for share in (0.0, 0.26))
        found.append(gd.DriftDetector(random_state=seed).fit(reference).test(window).values.p_value)
    assert (np.array(found) < 0.05).sum() >= 6


def test_sums_and_rows_tell_the_same_covariance_of_rings():
    rng = np.random.default_rng(0)
    rows = hidden(ring_rows(300, 0.3, 1.0, rng), 0.2, rng)
    reference = gd.DriftDetector(random_state=0).fit(rows).reference_
    crossed = reference._counter.crossed
    scores = np.where(np.isnan(rows), 0.0, reference.profile.scores.transform(rows) - reference.profile.mean)
    values = crossed.rows(scores, np.isnan(rows))
    sums = crossed.zeros()
    crossed.add(sums, values)
    means, n_rows = _ring_means(crossed, sums["rings"])
    cosines, sines, present = np.split(crossed.waves(values).astype(float), 3, axis=1)
    waves = cosines + 1j * sines
    for place, (one, two) in enumerate(zip(*crossed.rings, strict=True)):
        both = (present[:, one] * present[:, two]).astype(bool)
        first, second = waves[both, one], waves[both, two]
        expected = ((first - first.mean()) * (second - second.mean())).mean()
        assert n_rows[place] == both.sum()
        assert means[place] == pytest.approx(expected.real)
        assert means[len(crossed.rings[0]) + place] == pytest.approx(expected.imag)


@pytest.mark.parametrize(("correlation", "n_rows", "shift"), [(0.95, (8_000, 100), 1.0), (0.98, (500, 500), 0.3)])
def test_close_followers_of_a_column_that_moved_are_not_named(correlation, n_rows, shift):
    """Their products with it tell of its shift more surely than it does itself."""
    named = false = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sides = []
        for size, moved in zip(n_rows, (0.0, shift), strict=True):
            rows = np.sqrt(correlation) * rng.normal(size=(size, 1))
            rows = rows + np.sqrt(1.0 - correlation) * rng.normal(size=(size, 4))
            rows[:, 0] += moved
            sides.append(rows)
        result = gd.DriftDetector(random_state=seed).fit(sides[0]).test(sides[1])
        named += result.features[0].adjusted_p_value < 0.05
        false += any(feature.adjusted_p_value < 0.05 for feature in result.features[1:])
    assert named >= 15
    assert false <= 3
