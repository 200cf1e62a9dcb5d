import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

import gapdrift as gd
from gapdrift.inference.findings import combine_verdict, feature_tests, holm, missingness_finding, values_finding
from gapdrift.results import Finding
from tests.inference.conftest import draw, is_uniform


def finding(p_value):
    return Finding("values", None, None, p_value, 0.0)


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=8))
def test_holm_equals_its_definition(p_values):
    array = np.array(p_values)
    order = np.argsort(array, kind="stable")
    expected, worst = np.empty_like(array), 0.0
    for rank, place in enumerate(order):
        worst = max(worst, min(array[place] * (len(array) - rank), 1.0))
        expected[place] = worst
    np.testing.assert_allclose(holm(array), expected)


def test_the_verdict_spends_alpha_once():
    """Independent uniform p-values of values and gaps: alarms at 0.05 in 5 % of 40,000 pairs."""
    rng = np.random.default_rng(0)
    pairs = rng.random((40_000, 2))
    alarms = np.mean([combine_verdict(finding(one), finding(two)) < 0.05 for one, two in pairs])
    assert alarms == pytest.approx(0.05, abs=0.005)


def test_without_gaps_the_values_decide():
    assert combine_verdict(finding(0.03), None) == 0.03
    assert combine_verdict(finding(1e-320), None) == 1e-320
    assert combine_verdict(finding(1e-320), finding(0.5)) > 0


def test_parts_are_those_that_were_tested(unchanged):
    values, missingness = values_finding(unchanged[0]), missingness_finding(unchanged[0])
    assert [part.name for part in values.parts] == ["location", "dependence", "interactions", "distributions"]
    assert [part.name for part in missingness.parts] == ["rates", "patterns", "conditions"]
    assert missingness.effect_size == pytest.approx(0.2, abs=0.1)
    assert missingness.p_value < 1e-9


def test_values_hold_their_level_where_more_cells_are_missing(unchanged):
    assert is_uniform([values_finding(each).p_value for each in unchanged])


def test_without_missing_cells_there_is_no_missingness(fit, rng):
    assert missingness_finding(fit(rng.normal(size=(100, 2))).compare(rng.normal(size=(100, 2)))) is None


def test_a_product_is_laid_to_its_two_columns(fit, rng):
    window = draw(1_000, rng)
    window[:, 3] = window[rng.permutation(1_000), 3]
    found = feature_tests(fit(draw(1_000, rng)).compare(window))
    assert found.p_values[3] == found.p_values.min()
    assert found.by_product[3]
    assert found.p_values[3] < 1e-6
    # About the change of a correlation of 0.3, which the square of the score of a rounded column is part of.
    assert found.effects[3] == pytest.approx(0.3, abs=0.15)


def test_a_column_that_moved_is_blamed_by_its_own_values(fit, rng):
    window = draw(1_000, rng)
    window[:, 3] += 1.0
    found = feature_tests(fit(draw(1_000, rng)).compare(window))
    assert (found.p_values < 0.001).tolist() == [False, False, False, True, False]
    assert not found.by_product[3]


def test_what_changed_conditions_explain_is_not_made_much_of_by_an_inverse():
    """Nearly dependent columns; taking something off some products alone once gave p-values of 1e-16."""
    rng = np.random.default_rng([107, 50, 2])
    mix = rng.normal(size=(5, 5))

    def sample(n_rows):
        rows = rng.normal(size=(n_rows, 5)) @ mix
        return np.where(rng.random(rows.shape) < 0.2, np.nan, rows)

    detector = gd.DriftDetector(random_state=107).fit(sample(2_000))
    smallest = min(
        next(part.p_value for part in detector.test(sample(200)).values.parts if part.name == "dependence")
        for _ in range(40)
    )
    # Forty p-values reach this by chance four times in a thousand.
    assert smallest > 1e-4


def test_slopes_that_are_not_well_known_move_no_column_that_is_missing_elsewhere():
    """Independent columns, 80 % missing at random, then by the first one: slopes of 0 are known with an error."""
    rng = np.random.default_rng(0)

    def draw(n_rows, offset, slope):
        rows = rng.normal(size=(n_rows, 12))
        missing = rng.random((n_rows, 11)) < ndtr(offset + slope * rows[:, :1])
        rows[:, 1:] = np.where(missing, np.nan, rows[:, 1:])
        return rows

    alarms = 0
    for _ in range(16):
        values = gd.DriftDetector(random_state=0).fit(draw(2_000, 0.9, 0.0)).test(draw(8_000, 4.0, -4.0)).values
        alarms += any(part.name == "location" and part.p_value < 0.05 for part in values.parts)
    # 16 trials of a rate of 0.05 give more once in a thousand times.
    assert alarms <= 4


def test_windows_that_drifted_alike_do_not_differ_from_each_other():
    """40 pairs of windows whose columns depend on each other as those of the reference do not: once 0.6 alarmed."""
    rng = np.random.default_rng(3)

    def draw(n_rows, correlation):
        rows = rng.normal(size=(n_rows, 5))
        rows[:, 1:] = correlation * rows[:, :1] + np.sqrt(1.0 - correlation**2) * rows[:, 1:]
        return np.where(rng.random(rows.shape) < 0.2, np.nan, rows)

    detector = gd.DriftDetector(random_state=0).fit(draw(2_000, 0.8))
    alarms = 0
    for _ in range(40):
        one, two = (detector.count(draw(500, -0.3)) for _ in range(2))
        alarms += detector.compared_with(one).test(two).values.p_value < 0.05
    assert alarms <= 8
