import numpy as np
import pytest
from scipy.stats import norm

from gapdrift.inference.combination import (
    Adjustment,
    Component,
    combine,
    effective_number,
    gamma_tail,
    sidak,
    sidak_all,
)


def uniform(*shape, seed=0):
    return np.random.default_rng(seed).random(shape)


def test_nothing_to_test():
    assert combine("none", [(None, 1.0), (None, 0.5)]) is None


def test_one_component_is_itself():
    only = Component("only", 0.03, uniform(2_000))
    assert combine("all", [(None, 0.5), (only, 1.0)]).p_value == only.p_value


def test_effective_number_of_equal_tests_is_one():
    five_equal = np.stack([uniform(50_000)] * 5).min(axis=0)
    assert effective_number(five_equal) == pytest.approx(1.0, abs=0.05)
    assert effective_number(uniform(50_000, 5, seed=1).min(axis=1)) == pytest.approx(5.0, abs=0.25)


def test_adjusting_keeps_tiny_p_values():
    assert sidak(1e-40, 3) == pytest.approx(3e-40)
    assert sidak(1.0, 3) == pytest.approx(1.0)
    assert sidak_all(np.array([1e-40, 0.01]), 3.0) == pytest.approx([3e-40, 0.029701])


def test_an_adjusted_p_value_is_uniform():
    found = Adjustment(uniform(20_000, 7).min(axis=1)).all(uniform(20_000, 7, seed=1).min(axis=1))
    np.testing.assert_allclose(np.quantile(found, [0.01, 0.05, 0.5, 0.9]), [0.01, 0.05, 0.5, 0.9], rtol=0.1)


def test_a_gamma_tail_without_skewness_is_normal():
    scores = np.array([-3.0, 0.0, 3.0, 8.0])
    np.testing.assert_allclose(gamma_tail(scores, 1e-4), norm.sf(scores), rtol=0.02)


def test_a_heavier_part_alarms_sooner():
    simulated = uniform(2, 2_000)
    parts = [Component("one", 0.01, simulated[0]), Component("two", 0.5, simulated[1])]
    heavy = combine("all", [(parts[0], 1.0), (parts[1], 0.5)]).p_value
    light = combine("all", [(parts[0], 0.5), (parts[1], 1.0)]).p_value
    assert heavy == pytest.approx(0.015, abs=0.003)
    assert light == pytest.approx(0.03, abs=0.005)


def test_tests_that_agree_alarm_sooner():
    simulated = uniform(2, 2_000)
    one = Component("one", 0.02, simulated[0])
    alone, together = (
        combine("all", [(one, 0.5), (Component("two", p_value, simulated[1]), 0.5)]).p_value for p_value in (0.5, 0.03)
    )
    assert alone == pytest.approx(0.04, abs=0.008)
    assert together < 0.7 * alone


def test_combining_tiny_p_values_gives_a_tiny_one():
    simulated = uniform(2, 2_000)
    parts = [(Component(str(place), p_value, simulated[place]), 0.5) for place, p_value in enumerate((0.0, 1e-40))]
    assert 0.0 < combine("all", parts).p_value < 1e-290


def test_combination_holds_its_level():
    """1,000 triples of independent uniform p-values of unequal weights, within four standard deviations."""
    simulated, p_values = uniform(3, 2_000), uniform(1_000, 3, seed=1)
    names, weights = ("one", "two", "three"), (1.0, 0.5, 0.3)
    found = [
        combine(
            "all",
            [
                (Component(name, p_value, draws), weight)
                for name, p_value, draws, weight in zip(names, row, simulated, weights, strict=True)
            ],
        ).p_value
        for row in p_values
    ]
    assert 0.023 < np.mean(np.array(found) < 0.05) < 0.077
    assert 0.43 < np.mean(np.array(found) < 0.5) < 0.57
