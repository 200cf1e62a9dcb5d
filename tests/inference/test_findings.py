import numpy as np
import pytest
from gapdrift.inference.parts import merge_bins
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

import gapdrift as gd
from gapdrift.inference.comparison import reference_error
from gapdrift.inference.findings import combine_verdict, holm
from gapdrift.results import Finding


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


@given(st.integers(2, 12), st.integers(10, 300), st.integers(0, 10**6))
def test_merged_bins_keep_every_row(n_bins, n_rows, seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_bins))
    groups = merge_bins(shares, n_rows, rng.normal(size=(n_bins, 2)))
    np.testing.assert_array_equal(groups.sum(axis=0), np.ones(n_bins))
    merged = groups @ shares
    assert len(merged) == 2 or (merged * n_rows >= 5).all()


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


def hidden(n_rows, rates, rng):
    return np.where(rng.random((n_rows, 60)) < rates, np.nan, rng.normal(size=(n_rows, 60)))


def test_rates_that_differ_by_chance_do_not_make_bins_cautious():
    rng = np.random.default_rng(0)
    detector = gd.DriftDetector(random_state=0).fit(hidden(500, 0.2, rng))
    profile = detector.reference_.profile
    errors = [
        reference_error(profile, detector.evidence_, detector.count(hidden(500, rate, rng)))[profile.layout.bins].max()
        for rate in (0.2, 0.4)
    ]
    assert errors[0] < 1.02
    assert errors[1] > 1.1


def test_few_rows_that_miss_much_tell_little_of_the_correlation_of_rates():
    rng = np.random.default_rng(0)
    often = np.where(rng.random((1_000, 1)) < 0.03, 0.6, 0.01)
    known = [
        gd.DriftDetector(random_state=0).fit(hidden(1_000, rates, rng)).reference_.missing_null.n_effective
        for rates in (0.1, often)
    ]
    assert known[1] < 0.5 * known[0]


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


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_products_vary_as_their_variance_says_whatever_is_missing(rate):
    """150 null windows, bounds of five standard deviations: with half missing their squares once varied by 0.51."""
    found = []
    for seed in range(150):
        rng = np.random.default_rng([seed, 7])
        reference, window = (rng.normal(size=(400, 3)) for _ in range(2))
        for rows in (reference, window):
            rows[:, 1] = 0.5 * rows[:, 0] + np.sqrt(0.75) * rows[:, 1]
            rows[rng.random(rows.shape) < rate] = np.nan
        detector = gd.DriftDetector(random_state=0).fit(reference)
        part = detector.reference_.comparison(detector.count(window)).contrast
        part = part.part(detector.reference_.profile.layout.dependence)
        found.append(part.difference / np.sqrt(part.variance * part.scale))
    first, second = detector.reference_.profile.layout.pairs
    squared = np.array(found) ** 2
    assert 0.7 < squared[:, first == second].mean() < 1.35
    assert 0.7 < squared[:, first != second].mean() < 1.35


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
