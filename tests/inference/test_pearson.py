import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from gapdrift.inference.pearson import expected_frequencies, pearson
from tests import naive

counts = st.lists(st.tuples(st.integers(1, 500), st.integers(1, 500)), min_size=2, max_size=12)


@given(counts)
def test_equals_scipy(pairs):
    first, second = np.array(pairs, dtype=float).T
    expected = chi2_contingency([first, second], correction=False)
    finding = pearson(first, second)
    assert finding.statistic == pytest.approx(expected.statistic, rel=1e-12, abs=1e-12)
    assert finding.degrees_of_freedom == expected.dof
    assert finding.p_value == pytest.approx(max(expected.pvalue, np.finfo(float).tiny), rel=1e-9)
    np.testing.assert_allclose(expected_frequencies(first, second), expected.expected_freq)


@given(counts)
def test_equals_the_equation(pairs):
    first, second = zip(*pairs, strict=True)
    finding = pearson(np.array(first, dtype=float), np.array(second, dtype=float))
    assert finding.statistic == pytest.approx(naive.chi_square(first, second), rel=1e-9, abs=1e-9)
    assert sum(finding.contributions) == pytest.approx(finding.statistic)


def test_bin_empty_on_both_sides_is_left_out():
    with_empty = pearson(np.array([30.0, 0.0, 20.0]), np.array([20.0, 0.0, 30.0]))
    without = pearson(np.array([30.0, 20.0]), np.array([20.0, 30.0]))
    assert with_empty.p_value == without.p_value
    assert with_empty.contributions[1] == 0.0


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([0.0, 0.0], [3.0, 4.0], "reference has no rows"),
        ([3.0, 4.0], [0.0, 0.0], "window has no rows"),
        ([3.0, 0.0], [4.0, 0.0], "one bin"),
    ],
)
def test_impossible_tests_say_why(first, second, reason):
    finding = pearson(np.array(first), np.array(second))
    assert (finding.p_value, finding.determined) == (1.0, False)
    assert (finding.statistic, finding.degrees_of_freedom, finding.effect_size) == (None, None, None)
    assert finding.contributions == ()
    assert reason in finding.reason


def test_p_value_is_never_zero():
    assert 0 < pearson(np.array([1e6, 0.0]), np.array([0.0, 1e6])).p_value < 1e-300


def test_effect_size_is_the_share_that_moved():
    assert pearson(np.array([10.0, 0.0]), np.array([0.0, 10.0])).effect_size == 1.0
    assert pearson(np.array([10.0, 10.0]), np.array([5.0, 5.0])).effect_size == 0.0
