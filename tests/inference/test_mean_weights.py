import numpy as np
import pytest
from scipy.stats import binom, f

from gapdrift.inference.mean_weights import compare_mean_weights
from gapdrift.inference.pearson import pearson


def sums(rows):
    return rows.sum(axis=0), rows.T @ rows


def compare(one, two):
    return compare_mean_weights(sums(one), sums(two), len(one), len(two))


def whole(rng, n_rows, shares=(0.2, 0.3, 0.5)):
    return rng.multinomial(1, shares, n_rows).astype(float)


def test_it_is_hotellings_test_of_all_bins_but_one(rng):
    """Weights sum to 1, so that one bin is what the others leave."""
    one, two = rng.dirichlet([3, 4, 5], 60), rng.dirichlet([4, 4, 5], 80)
    finding = compare(one, two)
    a, b = one[:, :2], two[:, :2]
    pooled = (59 * np.cov(a.T) + 79 * np.cov(b.T)) / 138
    difference = a.mean(axis=0) - b.mean(axis=0)
    statistic = difference @ np.linalg.inv(pooled) @ difference / (1 / 60 + 1 / 80)
    assert finding.statistic == pytest.approx(statistic)
    assert finding.degrees_of_freedom == 2
    assert finding.p_value == pytest.approx(f.sf(statistic * 137 / (138 * 2), 2, 137))
    assert finding.effect_size == pytest.approx(np.abs(one.mean(axis=0) - two.mean(axis=0)).sum() / 2)


def test_whole_rows_are_judged_as_by_pearson(rng):
    one, two = whole(rng, 4_000), whole(rng, 4_000, (0.22, 0.29, 0.49))
    assert compare(one, two).statistic == pytest.approx(pearson(one.sum(axis=0), two.sum(axis=0)).statistic, rel=0.01)


def test_contributions_are_those_of_the_single_bins(rng):
    one, two = whole(rng, 300), whole(rng, 300, (0.4, 0.1, 0.5))
    variance = (299 * one.var(axis=0, ddof=1) + 299 * two.var(axis=0, ddof=1)) / 598
    expected = (one.mean(axis=0) - two.mean(axis=0)) ** 2 / variance / (2 / 300)
    np.testing.assert_allclose(compare(one, two).contributions, expected)


@pytest.mark.parametrize("divided", [False, True], ids=["whole", "divided"])
def test_false_alarms_hold(divided, rng):
    draw = (lambda: rng.dirichlet([2, 1, 1, 3], 200)) if divided else (lambda: whole(rng, 200, (0.1, 0.2, 0.3, 0.4)))
    trials = 1_000
    alarms = sum(compare(draw(), draw()).p_value < 0.05 for _ in range(trials))
    assert binom.ppf(1e-3, trials, 0.05) <= alarms <= binom.ppf(1 - 1e-3, trials, 0.05)


def test_divided_rows_are_seen_where_pearson_is_blind(rng):
    """Each row is divided nearly alike: the means are known far better than those of whole rows."""
    one, two = rng.dirichlet([40, 30, 30], 200), rng.dirichlet([43, 29, 28], 200)
    assert pearson(one.sum(axis=0), two.sum(axis=0)).p_value > 0.3
    assert compare(one, two).p_value < 1e-4


def test_an_unused_bin_is_left_out(rng):
    one, two = whole(rng, 100), whole(rng, 100)
    padded = [np.column_stack([rows, np.zeros(100)]) for rows in (one, two)]
    finding = compare(*padded)
    assert finding.p_value == pytest.approx(compare(one, two).p_value)
    assert finding.contributions[3] == 0.0


@pytest.mark.parametrize(
    ("one", "two", "reason"),
    [
        (np.empty((0, 2)), np.eye(2), "reference has no rows"),
        (np.eye(2), np.empty((0, 2)), "window has no rows"),
        (np.ones((9, 1)), np.ones((9, 1)), "one bin"),
        (np.tile([1.0, 0.0], (9, 1)), np.tile([1.0, 0.0], (9, 1)), "one bin"),
        (np.eye(3), np.eye(3)[:1], "4 rows for 3 bins"),
    ],
)
def test_what_cannot_be_tested_says_why(one, two, reason):
    finding = compare(one, two)
    assert reason in finding.reason
    assert (finding.p_value, finding.statistic, finding.contributions) == (1.0, None, ())


def test_far_apart_is_not_exactly_zero():
    one, two = np.tile(np.eye(2), (3_000, 1)), np.tile([[1.0, 0.0]], (6_000, 1))
    assert 0 < compare(one, two).p_value < 1e-300
