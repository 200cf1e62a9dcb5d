import numpy as np
import pytest

import gapdrift as gd
from gapdrift.inference.columns import column_tests
from gapdrift.inference.combination import effective_number
from gapdrift.inference.null import N_DRAWS, Null, correlation_of
from gapdrift.inference.observed_null import ObservedNull, _weights
from gapdrift.inference.parts import _closer


def observed_null(rows):
    return gd.DriftDetector(random_state=0).fit(rows).reference_.observed_null


def test_weighted_sums_of_rows_are_the_draws_of_the_null():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    null = Null(np.arange(4), correlation_of(rows), 200)
    weights = _weights(rows, null)
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    sums = weights @ scaled / np.sqrt(len(rows))
    agreement = [np.corrcoef(sums[:, place], null.draws[:, place])[0, 1] for place in range(4)]
    assert min(agreement) > 0.999
    # Otherwise they are independent: variances of 2,000 draws, largest of 200.
    assert weights.var(axis=0) == pytest.approx(np.ones(200), abs=5 * np.sqrt(2 / N_DRAWS))


def test_weights_do_not_depend_on_how_a_machine_rounds():
    """Copies, and a column that hardly varies, leave directions of which nothing is left but rounding."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 4))
    rows = np.column_stack([rows, rows, rows.sum(axis=1), 1e-6 * rng.normal(size=200), np.ones(200)])
    other = rows * (1.0 + 1e-14 * rng.normal(size=rows.shape))
    one, two = (_weights(each, Null(np.arange(11), correlation_of(each), 200)) for each in (rows, other))
    assert one == pytest.approx(two, abs=1e-3)


def test_independent_columns_count_each_and_copies_once():
    rng = np.random.default_rng(0)
    free = rng.normal(size=(400, 6))
    one = np.repeat(free[:, :1], 6, axis=1)
    several, copies = observed_null(free), observed_null(one)
    assert effective_number(several.distributions) > 4.5
    assert effective_number(copies.distributions) < 1.5
    assert effective_number(copies.interactions) < 0.5 * effective_number(several.interactions)


def test_simulated_tests_are_uniform():
    found = observed_null(np.random.default_rng(0).normal(size=(500, 5)))
    for simulated in (
        found.distributions_test(np.full(5, 0.5), np.full(5, 0.5), np.arange(5)).simulated,
        found.interactions_test(0.5, 40).simulated,
    ):
        # Of 2,000 draws; read off from 0.03 to 0.08, and at every tenth.
        assert (simulated < 0.05).mean() == pytest.approx(0.05, abs=0.02)
        assert (simulated < 0.5).mean() == pytest.approx(0.5, abs=0.01)


def test_what_was_not_simulated_is_taken_as_independent():
    uniform = np.random.default_rng(0).random(N_DRAWS)
    null = ObservedNull(np.ones(3, dtype=bool), uniform, np.zeros(N_DRAWS), 0, uniform, 0)
    found = null.distributions_test(*[np.array([0.01, 0.5, 0.9])] * 2, np.arange(3))
    assert found.p_value == pytest.approx(1 - 0.99**3)
    assert null.interactions_test(0.01, 3).p_value == pytest.approx(1 - 0.99**3)
    assert null.distributions_test(np.zeros(0), np.zeros(0), np.arange(0)) is None


def test_columns_that_all_changed_a_little_are_found_together():
    null = observed_null(np.random.default_rng(0).normal(size=(500, 8)))
    assert null.distributions_test(*[np.full(8, 0.05)] * 2, np.arange(8)).p_value < 0.01
    assert null.distributions_test(*[np.array([0.05, *[0.5] * 7])] * 2, np.arange(8)).p_value > 0.1


def test_independent_columns_together_vary_as_the_sum_of_each():
    """Fisher's sums over 20 columns: cells are more than weighed rows, which must not make columns look alike."""
    rng = np.random.default_rng(0)
    # -2 log p has the variance 4, a little more or less where p is the smallest of several.
    assert 2.5 * 20 < observed_null(rng.normal(size=(500, 20))).together.var() < 6.0 * 20


def test_columns_that_are_alike_vary_together():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 1)) + 0.05 * rng.normal(size=(500, 20))
    assert observed_null(rows).together.var() > 40.0 * 20


def test_columns_of_which_too_little_is_known_are_not_taken_together():
    """Copies of a category whose levels are all rare: together they would seem to change ten times over."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 60, size=100).astype(str)
    rows = {"x": rng.normal(size=100), "y": rng.normal(size=100), **{f"copy {place}": labels for place in range(10)}}
    null = observed_null(rows)
    assert null.is_known.tolist() == [True, True] + [False] * 10
    p_values = np.array([0.5, 0.5, *[0.1] * 10])
    assert null.distributions_test(p_values, p_values, np.arange(12)).p_value > 0.3


@pytest.mark.parametrize("correlation", [0.3, 0.85])
def test_sums_over_columns_that_go_together_vary_as_the_draws_say(correlation):
    rng = np.random.default_rng(0)

    def draw():
        return np.sqrt(correlation) * rng.normal(size=(400, 1)) + np.sqrt(1 - correlation) * rng.normal(size=(400, 20))

    reference = gd.DriftDetector(random_state=0).fit(draw()).reference_
    axes, sums = reference.histogram_axes, []
    for _ in range(200):
        sides = draw(), draw()
        counts = [
            tuple(np.bincount(axis.cells_of(side[:, place]), minlength=len(axis)).astype(float) for side in sides)
            for place, axis in enumerate(axes)
        ]
        sums.append(-2.0 * sum(np.log(test.p_value) for test in column_tests(axes, counts, np.zeros(20))))
    # Standard deviations of 200 sums with long tails are within a third of the true one.
    assert reference.observed_null.together.std() == pytest.approx(np.std(sums), rel=0.33)
    assert reference.observed_null.together.mean() == pytest.approx(np.mean(sums), rel=0.15)


def test_columns_that_correlate_more_than_in_the_reference_are_less_sure_together(rng):
    """Twenty columns alike, 70 % missing: those of windows without gaps go together more than draws show."""
    rows = 0.95 * rng.normal(size=(2_000, 1)) + 0.31 * rng.normal(size=(2_000, 20))
    detector = gd.DriftDetector(random_state=0).fit(np.where(rng.random(rows.shape) < 0.7, np.nan, rows))
    null, p_values = detector.reference_.observed_null, np.full(20, 0.15)
    as_drawn, closer = (
        null.distributions_test(p_values, p_values, np.arange(20), factor).p_value for factor in (1.0, 3.0)
    )
    assert as_drawn < 0.05
    assert closer > 2.0 * as_drawn
    same, complete = (
        _closer(detector.reference_.comparison(detector.count(window)), np.arange(20))
        for window in (np.where(rng.random((200, 20)) < 0.7, np.nan, rows[:200]), rows[:200])
    )
    assert same == pytest.approx(1.0, abs=0.05)
    # (1/2000 + 1/200) / (1/600 + 1/200) over 0.3.
    assert complete == pytest.approx(2.75, abs=0.1)


def test_the_sum_over_many_columns_spends_its_level():
    """The share of the outermost values of each column is not missing in it: mean p-value of 40 windows, 30 columns."""
    rng = np.random.default_rng(0)
    found = []
    for seed in range(40):
        reference = gd.DriftDetector(random_state=seed).fit(rng.normal(size=(400, 30))).reference_
        tests = reference.comparison(reference.count(rng.normal(size=(400, 30)))).observed.columns
        assert any(test.p_value > test.of_cells for test in tests)
        found += [reference.observed_null._all_columns(np.array([test.of_cells for test in tests]), 1.0).p_value]
    # Standard error 0.046 of a uniform one.
    assert np.mean(found) < 0.5 + 3 * 0.046
