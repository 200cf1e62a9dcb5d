import numpy as np
import pytest
from gapdrift.inference.contrast import covariance_of, standardised
from scipy.stats import chi2
from scipy.stats import f as f_distribution
from scipy.stats import t as t_distribution

from gapdrift.inference.combination import (
    Component,
    combine,
    effective_number,
    matched_filter,
    min_p,
    sidak,
    sum_of_squares,
    wald,
)
from gapdrift.inference.null import Null, correlation_of
from tests.inference.test_contrast import contrast_of


def wald_of(one, two, max_rank=10):
    products = one.T @ one, two.T @ two
    covariance = covariance_of((len(one), len(two)), (one.sum(axis=0), two.sum(axis=0)), products)
    n_rows = len(one) + len(two)
    return wald(
        "all",
        two.mean(axis=0) - one.mean(axis=0),
        covariance,
        draws_of(one),
        n_rows=n_rows,
        scale=1 / len(one) + 1 / len(two),
        freedom=n_rows - 2,
        max_rank=max_rank,
    )


def draws_of(rows):
    return Null(np.arange(rows.shape[1]), correlation_of(rows), len(rows)).draws


def test_wald_is_hotelling(rng):
    one, two = rng.normal(size=(60, 3)), rng.normal(0.2, 1, size=(50, 3))
    component = wald_of(one, two)
    pooled = (59 * np.cov(one.T) + 49 * np.cov(two.T)) / 108
    difference = two.mean(axis=0) - one.mean(axis=0)
    t_square = difference @ np.linalg.solve(pooled, difference) / (1 / 60 + 1 / 50)
    expected = f_distribution.sf(t_square * (110 - 3 - 1) / (3 * 108), 3, 110 - 3 - 1)
    assert component.p_value == pytest.approx(expected, rel=1e-9)
    assert component.degrees_of_freedom == 3


def test_wald_looks_along_no_more_directions_than_it_has_degrees_of_freedom(rng):
    draws = rng.normal(size=(2_000, 4))
    settings = {"n_rows": 86, "scale": 0.05, "max_rank": 2}
    for freedom in (1, 2, 3):
        component = wald("rates", np.full(4, 0.06), 0.034 * np.eye(4), draws, freedom=freedom, **settings)
        assert 0.0 < component.p_value <= 1.0
        assert component.degrees_of_freedom == min(freedom, 2)


def test_duplicate_and_constant_entries_cost_nothing(rng):
    one, two = rng.normal(size=(60, 2)), rng.normal(0.2, 1, size=(50, 2))
    # A copy of one column next to another that is independent of it: the same plane, seen with another weight.
    padded = [np.column_stack([side, side[:, 0], np.ones(len(side))]) for side in (one, two)]
    expected, found = wald_of(one, two), wald_of(*padded)
    assert found.degrees_of_freedom == 2
    assert found.p_value == pytest.approx(expected.p_value, rel=1e-6)


def test_nothing_to_test():
    assert wald_of(np.ones((30, 2)), np.ones((30, 2))) is None
    assert min_p("none", contrast_of(np.ones((30, 2)), np.ones((30, 2))), np.zeros((2_000, 2))) is None
    assert combine("none", [(None, 1.0), (None, 0.5)]) is None


def test_one_component_is_itself(rng):
    contrast = contrast_of(rng.normal(size=(60, 2)), rng.normal(size=(50, 2)))
    only = min_p("only", contrast, draws_of(rng.normal(size=(60, 2))))
    assert combine("all", [(None, 0.5), (only, 1.0)]).p_value == only.p_value


def test_effective_number_of_equal_tests_is_one():
    one = np.random.default_rng(0).random(50_000)
    five_equal = np.stack([one] * 5).min(axis=0)
    assert effective_number(five_equal) == pytest.approx(1.0, abs=0.05)
    five_apart = np.random.default_rng(1).random((50_000, 5)).min(axis=1)
    assert effective_number(five_apart) == pytest.approx(5.0, abs=0.25)


def test_adjusting_keeps_tiny_p_values():
    assert sidak(1e-40, 3) == pytest.approx(3e-40)
    assert sidak(1.0, 3) == pytest.approx(1.0)


def test_independent_entries_count_each(rng):
    contrast = contrast_of(rng.normal(size=(200, 50)), rng.normal(size=(200, 50)))
    counted = min_p("all", contrast, None)
    drawn = min_p("all", contrast, np.random.default_rng(0).standard_normal((20_000, 50)))
    assert counted.p_value == pytest.approx(drawn.p_value, rel=0.1)
    assert counted.degrees_of_freedom == 50


def test_a_heavier_part_alarms_sooner():
    simulated = np.random.default_rng(0).random((2, 2_000))
    parts = [Component("one", 0.01, simulated[0]), Component("two", 0.5, simulated[1])]
    heavy = combine("all", [(parts[0], 1.0), (parts[1], 0.5)]).p_value
    light = combine("all", [(parts[0], 0.5), (parts[1], 1.0)]).p_value
    assert heavy == pytest.approx(0.015, abs=0.003)
    assert light == pytest.approx(0.03, abs=0.005)


def test_tests_that_agree_alarm_sooner():
    simulated = np.random.default_rng(0).random((2, 2_000))
    one = Component("one", 0.02, simulated[0])
    alone, together = (
        combine("all", [(one, 0.5), (Component("two", p_value, simulated[1]), 0.5)]).p_value for p_value in (0.5, 0.03)
    )
    assert alone == pytest.approx(0.04, abs=0.008)
    assert together < 0.7 * alone


def test_combining_tiny_p_values_gives_a_tiny_one():
    simulated = np.random.default_rng(0).random((2, 2_000))
    parts = [(Component(str(place), p_value, simulated[place]), 0.5) for place, p_value in enumerate((0.0, 1e-40))]
    assert 0.0 < combine("all", parts).p_value < 1e-290


def test_combination_holds_its_level():
    """400 null contrasts of correlated entries: the combined p-value is uniform at 0.05, within a binomial bound."""
    rng = np.random.default_rng(1)
    mixing = rng.normal(size=(6, 6))
    alarms = 0
    for _ in range(400):
        one, two = (rng.normal(size=(100, 6)) @ mixing for _ in range(2))
        parts = [(wald_of(one, two, 20), 1.0), (min_p("least", contrast_of(one, two), draws_of(one)), 0.5)]
        alarms += combine("both", parts).p_value < 0.05
    assert 7 <= alarms <= 36


def equicorrelated(size, correlation=0.7):
    matrix = np.full((size, size), correlation)
    np.fill_diagonal(matrix, 1.0)
    return matrix, Null(np.arange(size), matrix, 1_000).draws


def test_a_matched_filter_sees_the_entry_that_moved_alone():
    correlation, draws = equicorrelated(6)
    score = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    found = matched_filter("filter", score, correlation, draws, freedom=500)
    inverse = np.linalg.inv(correlation)
    expected = 2.0 * t_distribution.sf(abs(inverse[0] @ score) / np.sqrt(inverse[0, 0]), 500 + 1 - 6)
    number = effective_number(found.simulated)
    assert 0.8 < number < 1.2
    assert expected < found.p_value < 6.5 * expected
    assert found.p_value < 0.02


def test_a_matched_filter_holds_its_level():
    correlation, draws = equicorrelated(5)
    rng = np.random.default_rng(7)
    scores = rng.multivariate_normal(np.zeros(5), correlation, size=1_000)
    alarms = sum(matched_filter("filter", score, correlation, draws, 5_000).p_value < 0.05 for score in scores)
    assert 28 <= alarms <= 74


def test_a_matched_filter_needs_two_entries():
    assert matched_filter("filter", np.ones(1), np.eye(1), np.ones((10, 1)), freedom=90) is None


def sum_of(score, correlation, draws, n_rows=10_000):
    return sum_of_squares("sum", score, correlation, draws, n_rows=n_rows, kurtosis=np.zeros(len(score)))


def test_a_sum_of_squares_holds_its_level():
    correlation, draws = equicorrelated(5)
    rng = np.random.default_rng(8)
    scores = rng.multivariate_normal(np.zeros(5), correlation, size=1_000)
    found = [sum_of(score, correlation, draws) for score in scores]
    assert 28 <= sum(each.p_value < 0.05 for each in found) <= 74
    assert 450 <= sum(each.p_value < 0.5 for each in found) <= 550
    assert (found[0].simulated < 0.05).mean() == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize(("m", "n", "size"), [(40, 40, 60), (30, 400, 60), (100, 100, 3)])
def test_a_sum_of_squares_holds_its_level_with_a_correlation_that_few_rows_tell(m, n, size):
    """400 null contrasts: dependent columns, more of them than rows; a bound of four standard deviations."""
    rng = np.random.default_rng(3)
    mixing = 0.7 * np.eye(size) + 0.5 * rng.normal(size=(size, size)) / np.sqrt(size) + 0.3 / np.sqrt(size)
    alarms = 0
    for _ in range(400):
        one, two = rng.normal(size=(m, size)) @ mixing, rng.normal(size=(n, size)) @ mixing
        correlation = np.corrcoef(np.vstack([one, two]).T)
        score = standardised(contrast_of(one, two))
        alarms += sum_of(score, correlation, draws_of(one), n_rows=m + n).p_value < 0.05
    assert 3 <= alarms <= 37


def test_a_sum_of_squares_sees_what_moves_all_entries_along_their_correlation():
    correlation, draws = equicorrelated(8)
    score = np.full(8, 2.2)
    statistic = score @ np.linalg.solve(correlation, score)
    assert sum_of(score, correlation, draws).p_value < 0.04
    assert chi2.sf(statistic, 8) > 0.3


def test_a_sum_of_squares_needs_two_entries():
    assert sum_of(np.ones(1), np.eye(1), np.ones((10, 1))) is None
