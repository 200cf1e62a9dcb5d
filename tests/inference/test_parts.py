import numpy as np
import pytest
from benchmarks.grammar.nulls import null_case
from scipy.stats import binom

import gapdrift as gd
from gapdrift.inference.parts import _within, bins_part, dependence_part, location_part


def follow_each_other(n_rows, n_columns, rng, correlation):
    rows = rng.normal(size=(n_rows, n_columns))
    for place in range(1, n_columns):
        rows[:, place] = correlation * rows[:, place - 1] + np.sqrt(1 - correlation**2) * rows[:, place]
    return rows


def hidden(rows, rate, rng):
    return np.where(rng.random(rows.shape) < rate, np.nan, rows)


def location_p_values(n_trials, sizes, rates, draw):
    """P-values of the location, a fresh reference and window in each trial."""
    found = []
    for seed in range(n_trials):
        rng = np.random.default_rng(seed)
        reference, window = (hidden(draw(n, rng), rate, rng) for n, rate in zip(sizes, rates, strict=True))
        detector = gd.DriftDetector(random_state=seed).fit(reference)
        found.append(location_part(detector.reference_.comparison(detector.count(window))).p_value)
    return np.array(found)


@pytest.mark.parametrize(
    ("sizes", "rates", "n_columns", "correlation"),
    [
        ((195, 5_000), (0.67, 0.0), 17, 0.53),
        ((300, 3_000), (0.6, 0.0), 12, 0.8),
        ((500, 500), (0.5, 0.2), 10, 0.9),
        ((500, 500), (0.05, 0.6), 5, 0.7),
    ],
)
def test_the_location_of_columns_that_follow_each_other_holds_its_level_under_other_rates(
    sizes, rates, n_columns, correlation
):
    """How columns differ that follow each other is known from rows with both of them only."""
    p_values = location_p_values(60, sizes, rates, lambda n, rng: follow_each_other(n, n_columns, rng, correlation))
    assert (p_values < 0.05).sum() <= binom.isf(1e-3, len(p_values), 0.05)


def test_the_location_of_columns_that_are_large_together_holds_its_level_under_other_rates():
    """Their rows tell less of the mean than Gaussian ones: with the information for the variance 11 of 40 alarmed."""

    def draw(n_rows, rng):
        return rng.normal(size=(n_rows, 30)) / np.abs(rng.normal(size=(n_rows, 1)))

    p_values = location_p_values(40, (800, 10_000), (0.55, 0.0), draw)
    assert (p_values < 0.05).sum() <= binom.isf(1e-3, len(p_values), 0.05)


def test_a_reference_that_lacks_a_rare_value_does_not_know_how_rare_it_is():
    """Drawn 700283: half of 56 rows, none of them with a rare value, seemed to know the mean to any digit."""
    case = null_case("drawn 700283")
    for trial in (5_016, 5_030, 5_033):
        reference, window = case.pair(trial)
        assert gd.DriftDetector(random_state=trial).fit(reference).test(window).p_value > 1e-6


def test_bins_of_rows_with_one_observed_number_hold_their_level():
    """The reference has its knots themselves, windows what lies between: both choose donors by the same cells."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        reference, window = (
            hidden(np.sinh(3.0 * rng.normal(size=(n, 1)) + rng.normal(size=(n, 3))), 0.85, rng) for n in (2_500, 15_000)
        )
        detector = gd.DriftDetector(random_state=seed).fit(reference)
        bins = bins_part(detector.reference_.comparison(detector.count(window)))
        # Not compared where chance makes missing cells seem to follow other values.
        found += [bins.p_value] if bins is not None else []
    assert len(found) > 30
    assert (np.array(found) < 0.05).sum() <= binom.isf(1e-3, len(found), 0.05)


def test_near_copies_among_many_columns_hold_their_level_where_few_cells_are_missing():
    """No single rate differs beyond chance with so few rows, but all together do."""

    def draw(n_rows, rng):
        flags = (rng.random((n_rows, 136)) < 0.002).astype(float)
        number = rng.normal(size=(n_rows, 1))
        return np.hstack([number, number + flags[:, :2], flags])

    p_values = location_p_values(30, (209, 1_600), (0.04, 0.0), draw)
    assert (p_values < 0.05).sum() <= binom.isf(1e-3, len(p_values), 0.05)


def test_a_shift_is_found_though_more_is_missing():
    """What more missing cells leave of the location varies less, and counts as that."""

    def draw(n_rows, rng):
        return follow_each_other(n_rows, 5, rng, 0.5)

    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        detector = gd.DriftDetector(random_state=seed).fit(hidden(draw(1_000, rng), 0.05, rng))
        comparison = detector.reference_.comparison(detector.count(hidden(draw(1_000, rng) + 0.2, 0.5, rng)))
        found.append(location_part(comparison).p_value)
    assert (np.array(found) < 0.05).sum() >= 15


def test_the_covariance_of_one_side_is_that_of_its_expected_scores():
    rng = np.random.default_rng(0)
    detector = gd.DriftDetector(random_state=0).fit(rng.normal(size=(500, 3)))
    window = detector.count(rng.normal(size=(400, 3)) * [1.0, 0.5, 0.25])
    found = _within(window, detector.reference_.profile.paired)
    np.testing.assert_allclose(np.sqrt(np.diag(found)), [1.0, 0.5, 0.25], rtol=0.1)


@pytest.mark.parametrize("trial", [500_000_001, 500_000_003, 500_000_007])
def test_a_handful_of_observed_cells_is_no_location(trial):
    """Five cells of a column are observed in the rows that are compared: of hardly any value is their mean Gaussian."""
    reference, window = null_case("drawn 500234").pair(trial)
    detector = gd.DriftDetector(random_state=trial).fit(reference)
    part = location_part(detector.reference_.comparison(detector.count(window)))
    assert part is None or part.p_value > 0.01


@pytest.mark.parametrize("trial", [7_000_001, 7_000_007, 7_000_010])
def test_a_rare_value_that_a_window_of_fewer_cells_lacks_is_no_change_of_location(trial):
    """Its own rows would say that the window knows to any digit how rare the value is."""
    reference, window = null_case("drawn 600535").pair(trial)
    detector = gd.DriftDetector(random_state=trial).fit(reference)
    assert location_part(detector.reference_.comparison(detector.count(window))).p_value > 0.001


def test_products_that_few_rows_teach_are_not_compared_under_other_rates():
    """35 matrix columns, two of which 90 rows have together: what they teach is hidden in other shares of the rows."""
    case = null_case("drawn 600716")
    found = []
    for trial in range(7_000_000, 7_000_020):
        reference, window = case.pair(trial)
        detector = gd.DriftDetector(random_state=trial).fit(reference)
        part = dependence_part(detector.reference_.comparison(detector.count(window)))
        found.append(1.0 if part is None else part.p_value)
    assert (np.array(found) < 0.05).sum() <= binom.isf(1e-3, len(found), 0.05)


@pytest.mark.parametrize("trial", [5_000_000_022, 5_000_000_045, 5_000_000_047])
def test_rare_products_that_a_small_window_lacks_are_no_change_of_dependence(trial):
    """Where nearly nothing is left of a tail, the reference's rows know the skewness too roughly for a p-value."""
    reference, window = null_case("drawn 700148").pair(trial)
    detector = gd.DriftDetector(random_state=trial).fit(reference)
    assert dependence_part(detector.reference_.comparison(detector.count(window))).p_value > 0.05


def dependence_p_values(n_trials, draw):
    """P-values of the dependence, a fresh reference and window in each trial; 1 where there is no test."""
    found = []
    for seed in range(n_trials):
        reference, window = draw(np.random.default_rng([2024, seed]))
        detector = gd.DriftDetector(random_state=seed).fit(reference)
        part = dependence_part(detector.reference_.comparison(detector.count(window)))
        found.append(1.0 if part is None else part.p_value)
    return np.array(found)


def test_others_are_not_filled_along_a_column_of_which_the_reference_has_three_cells():
    """Slopes that three cells teach are noise; a window that has the column would be filled along them."""

    def draw(rng):
        reference, window = rng.normal(size=(2_600, 4)), rng.normal(size=(870, 4))
        gone = np.ones(2_600, dtype=bool)
        gone[rng.choice(2_600, 3, replace=False)] = False
        reference[gone, 3] = np.nan
        return reference, hidden(window, 0.1, rng)

    p_values = dependence_p_values(30, draw)
    assert (p_values < 0.05).sum() <= binom.isf(1e-3, len(p_values), 0.05)


def test_products_hold_their_level_where_other_columns_come_to_be_missing():
    """Of two columns the one is missing in the reference, the other in the window: as many rows have both."""

    def draw(rng):
        sides = []
        for columns in ([0, 1, 2], [3, 4, 5]):
            shared = np.sqrt(0.8) * rng.normal(size=(1_000, 1))
            flags = (shared + np.sqrt(0.2) * rng.normal(size=(1_000, 6)) > 0.5).astype(float)
            flags[:, columns] = hidden(flags[:, columns], 0.76, rng)
            sides.append(flags)
        return sides

    p_values = dependence_p_values(60, draw)
    assert (p_values < 0.05).sum() <= binom.isf(1e-3, len(p_values), 0.05)


def test_products_of_many_columns_that_go_together_are_not_taken_as_independent():
    found = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        reference, window = (0.9 * rng.normal(size=(300, 1)) + 0.45 * rng.normal(size=(300, 40)) for _ in range(2))
        detector = gd.DriftDetector(random_state=seed).fit(reference)
        found.append(dependence_part(detector.reference_.comparison(detector.count(window))).p_value)
    # 0.98 where they are; uniform p-values are 0.5 on average, plus or minus 0.06.
    assert 0.3 < np.mean(found) < 0.7


@pytest.mark.parametrize("share", [0.5, 0.46])
def test_the_square_of_an_even_flag_is_not_compared_under_other_rates(share):
    """It varies by its missing cells alone; without that 17 of 25 alarmed for even flags, p down to 1e-300."""

    def draw(rng):
        rows = [np.column_stack([rng.random(1_000) < share, rng.normal(size=1_000)]) for _ in range(2)]
        return hidden(rows[0], 0.6, rng), hidden(rows[1], 0.05, rng)

    p_values = dependence_p_values(30, draw)
    assert (p_values < 0.05).sum() <= binom.isf(1e-3, len(p_values), 0.05)
    assert p_values.min() > 1e-5


def test_columns_that_the_reference_never_has_together_are_not_compared_together():
    """Two halves of a questionnaire, each asked of half of the rows: nothing is known of how they go together."""

    def draw(rng):
        reference, window = (rng.normal(size=(n, 1)) + rng.normal(size=(n, 5)) for n in (700, 500))
        first = rng.random(700) < 0.5
        reference[np.ix_(first, [1, 2])] = np.nan
        reference[np.ix_(~first, [3, 4])] = np.nan
        return reference, window

    p_values = dependence_p_values(30, draw)
    assert (p_values < 0.05).sum() <= binom.isf(1e-3, len(p_values), 0.05)


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False)])
def test_products_hold_their_level_where_cells_come_to_be_missing_together(before, after):
    """At the same rates, so that no column shows it by itself: with shares of independent cells 25 of 60 alarmed."""

    def side(rng, together):
        rows = rng.normal(size=(1_000, 1)) + rng.normal(size=(1_000, 5))
        missing = rng.random((1_000, 1 if together else 4)) < 0.5
        rows[:, 1:] = np.where(missing, np.nan, rows[:, 1:])
        return rows

    p_values = dependence_p_values(40, lambda rng: (side(rng, before), side(rng, after)))
    assert (p_values < 0.05).sum() <= binom.isf(1e-3, len(p_values), 0.05)
