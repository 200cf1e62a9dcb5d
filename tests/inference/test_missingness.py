import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import fisher_exact

from gapdrift.inference.missingness import (
    patterns,
    pooled_variance,
    rate_p_values,
    rates_together,
    smallest_rate,
    standard_correlation,
)
from tests.inference.conftest import draw, hide, is_uniform


def gaps(n_rows, rng, rates, together=0.0):
    """Independent columns; a share of the rows misses all cells."""
    rows = rng.normal(size=(n_rows, len(rates)))
    hidden = (rng.random(rows.shape) < rates) | (rng.random((n_rows, 1)) < together)
    return np.where(hidden, np.nan, rows)


def test_rates_are_compared_by_fishers_exact_test(fit, rng):
    sides = fit(gaps(300, rng, [0.0, 0.02, 0.5, 0.97])).sides(gaps(200, rng, [0.0, 0.08, 0.6, 0.9]))
    found = rate_p_values(sides)
    assert found[0] == 1.0
    for place in (1, 2, 3):
        one, two = (int(side.missing[place]) for side in sides)
        table = [[one, 300 - one], [two, 200 - two]]
        exact = 2.0 * min(fisher_exact(table, alternative=side).pvalue for side in ("less", "greater"))
        # Half of the probability of the counts themselves is left out; the approximation errs on the safe side.
        assert 0.5 * exact < found[place] < 1.5 * exact
    assert smallest_rate(found, sides) == pytest.approx(1.0 - (1.0 - found.min()) ** 3)


def test_without_missing_cells_there_is_nothing_to_test(fit, rng):
    sides = fit(rng.normal(size=(100, 3))).sides(rng.normal(size=(100, 3)))
    assert smallest_rate(rate_p_values(sides), sides) is None
    assert rates_together(sides) is None


def test_rates_and_patterns_hold_their_level(fit, rng):
    rates = [0.02, 0.1, 0.1, 0.4, 0.8]
    sides = [fit(gaps(200, rng, rates, 0.1)).sides(gaps(150, rng, rates, 0.1)) for _ in range(150)]
    assert is_uniform([rates_together(each).p_value for each in sides])
    for found in (
        [patterns(each) for each in sides],
        [smallest_rate(rate_p_values(each), each) for each in sides],
    ):
        assert np.mean(np.array(found) < 0.05) < 0.12
        assert 0.4 < np.mean(found) < 0.68


def test_many_rates_that_change_a_little_are_found_together(fit, rng):
    sides = fit(gaps(500, rng, [0.2] * 30)).sides(gaps(500, rng, [0.24] * 30))
    assert rates_together(sides).p_value < 1e-3
    assert rates_together(sides).p_value < smallest_rate(rate_p_values(sides), sides)


def test_cells_that_are_missing_together_make_a_pattern(fit, rng):
    sides = fit(gaps(500, rng, [0.28] * 3)).sides(gaps(500, rng, [0.1] * 3, 0.2))
    assert patterns(sides) < 1e-9
    assert rate_p_values(sides).min() > 1e-3


def test_correlations_and_variances_of_both_sides(fit, rng):
    rows = rng.normal(size=(2_000, 3)) + rng.normal(size=(2_000, 1))
    found = fit(hide(rows[:1_000], rng))
    rows[1_000:, 2] += 2.0
    sides = found.sides(hide(rows[1_000:], rng, 0.5))
    correlation = standard_correlation(sides)
    assert np.diag(correlation).tolist() == [1.0] * 6
    np.testing.assert_allclose(correlation[0, 1], 0.5, atol=0.06)
    # A mean that moved is part of the variance about the common one.
    variance = pooled_variance(sides)[:3] / 32.0**2
    np.testing.assert_allclose(variance[:2], 1.0, atol=0.1)
    assert variance[2] > 1.2


def test_conditions_hold_their_level_whatever_the_rates(unchanged):
    found = np.array([(each.conditions.single, each.conditions.together) for each in unchanged])
    for p_values in found.T:
        assert np.mean(p_values < 0.05) < 0.12
        assert np.mean(p_values < 0.01) < 0.05
    # Chance alone takes little off from the tests of values, and mostly nothing: standard deviations of the products.
    explained = [each.pairs.explained.max() for each in unchanged]
    assert np.median(explained) == 0.0
    assert np.quantile(explained, 0.9) < 1.5


def selected(n_rows, rng, slope):
    """A third column that is missing by the first one."""
    rows = draw(n_rows, rng, 0.1)
    hidden = rng.random(n_rows) < ndtr(-0.5 + slope * np.nan_to_num(rows[:, 0]))
    rows[hidden, 3] = np.nan
    return rows


def test_cells_that_come_to_be_missing_at_values_of_others_are_found(fit, rng):
    found = fit(selected(1_000, rng, 0.0)).compare(selected(1_000, rng, 1.0)).conditions
    assert found.single < 1e-6
    assert found.moved.argmax() == 3
    assert found.changed[3] > 0.9
    assert found.selected.argmax() == 3
    shift = found.shifts[1][0, 3] - found.shifts[0][0, 3]
    assert shift < -0.2
    # Differences of means of as few rows as a thousandth of a variance tells apart are explained by it.
    assert found.explained(np.array([3]), np.array([1e-3]))[0] == pytest.approx(found.moved[3] / np.sqrt(1e-3), rel=0.5)


def test_cells_that_go_on_to_be_missing_at_values_of_others_are_no_change(fit, rng):
    found = fit(selected(1_000, rng, 1.0)).compare(selected(1_000, rng, 1.0)).conditions
    assert found.single > 1e-3
    assert found.together > 1e-3
    assert found.selected[3] > 4.0
