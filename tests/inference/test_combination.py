import numpy as np
import pytest
from scipy.stats import f as f_distribution

from gapdrift.inference.combination import adjust, combine, effective_number, largest, make_null, wald
from tests.inference.test_contrast import contrast_of


def test_wald_is_hotelling(rng):
    one, two = rng.normal(size=(60, 3)), rng.normal(0.2, 1, size=(50, 3))
    contrast = contrast_of(one, two)
    component = wald("all", contrast, make_null(contrast), 10)
    pooled = (59 * np.cov(one.T) + 49 * np.cov(two.T)) / 108
    difference = two.mean(axis=0) - one.mean(axis=0)
    t_square = difference @ np.linalg.solve(pooled, difference) / (1 / 60 + 1 / 50)
    expected = f_distribution.sf(t_square * (110 - 3 - 1) / (3 * 108), 3, 110 - 3 - 1)
    assert component.p_value == pytest.approx(expected, rel=1e-9)
    assert component.degrees_of_freedom == 3


def test_duplicate_and_constant_entries_cost_nothing(rng):
    one, two = rng.normal(size=(60, 2)), rng.normal(0.2, 1, size=(50, 2))
    plain = contrast_of(one, two)
    padded = contrast_of(*(np.column_stack([side, side[:, 0], np.ones(len(side))]) for side in (one, two)))
    expected = wald("plain", plain, make_null(plain), 10)
    found = wald("padded", padded, make_null(padded), 10)
    assert found.degrees_of_freedom == 2
    assert found.p_value == pytest.approx(expected.p_value, rel=1e-9)


def test_nothing_to_test():
    contrast = contrast_of(np.ones((30, 2)), np.ones((30, 2)))
    null = make_null(contrast)
    assert wald("none", contrast, null, 5) is None
    assert largest("none", contrast, null.draws) is None


def test_draws_have_the_correlation_and_never_change(rng):
    mixing = rng.normal(size=(4, 4))
    contrast = contrast_of(rng.normal(size=(500, 4)) @ mixing, rng.normal(size=(500, 4)) @ mixing)
    null = make_null(contrast)
    deviation = np.sqrt(np.diag(contrast.covariance))
    np.testing.assert_allclose(
        np.corrcoef(null.draws.T), contrast.covariance / np.outer(deviation, deviation), atol=0.08
    )
    np.testing.assert_array_equal(null.draws, make_null(contrast).draws)


def test_one_component_is_itself(rng):
    contrast = contrast_of(rng.normal(size=(60, 2)), rng.normal(size=(50, 2)))
    only = largest("only", contrast, make_null(contrast).draws)
    assert combine("all", [only], [1.0]).p_value == only.p_value


def test_equal_components_count_once(rng):
    contrast = contrast_of(rng.normal(size=(60, 2)), rng.normal(0.3, 1, size=(50, 2)))
    only = largest("only", contrast, make_null(contrast).draws)
    assert combine("all", [only, only], [1.0, 1.0]).p_value == pytest.approx(only.p_value, rel=1e-5)


@pytest.mark.parametrize("n_tests", [1, 2, 10])
def test_effective_number_of_independent_tests_is_their_number(n_tests):
    draws = np.random.default_rng(0).random((50_000, n_tests)).min(axis=1)
    assert effective_number(draws) == pytest.approx(n_tests, rel=0.05)


def test_adjusting_keeps_tiny_p_values():
    assert adjust(1e-40, 3) == pytest.approx(3e-40)
    assert adjust(1.0, 3) == pytest.approx(1.0)


def test_combination_holds_its_level():
    """400 null contrasts of correlated entries: the combined p-value is uniform at 0.05, within a binomial bound."""
    rng = np.random.default_rng(1)
    mixing = rng.normal(size=(6, 6))
    alarms = 0
    for _ in range(400):
        contrast = contrast_of(rng.normal(size=(100, 6)) @ mixing, rng.normal(size=(100, 6)) @ mixing)
        null = make_null(contrast)
        parts = [wald("wald", contrast, null, 20), largest("largest", contrast, null.draws)]
        alarms += combine("both", parts, [1.0, 0.5]).p_value < 0.05
    assert 7 <= alarms <= 36
