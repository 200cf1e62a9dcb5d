from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from benchmarks.grammar.nulls import null_case
from scipy.stats import binom

import gapdrift as gd
from gapdrift.inference.columns import ColumnTest
from gapdrift.inference.extremes import extremes_test, with_extremes
from gapdrift.tables.facts import empty_facts
from gapdrift.tables.histograms import HistogramAxis

NUMBERS = HistogramAxis(tuple(np.linspace(0.0, 1.0, 21).tolist()), (0.5,), ())


def tallies(before, after):
    return tuple({str(value): 1 for value in side} for side in (before, after))


def test_the_probability_is_that_of_all_orders():
    """Four values against three: of the 35 orders, so many have that many of one side at one end."""
    values = np.arange(7.0)
    tails = dict.fromkeys(range(1, 6), 0)
    for chosen in combinations(range(7), 3):
        outermost = next((k for k in range(7) if 6 - k not in chosen), 7)
        for k in tails:
            tails[k] += outermost >= k
    before, after = values[:5].tolist()[:4], [*values[4:].tolist()]
    p_value, chance = extremes_test(tallies(before, after), (4.0, 3.0), all_values=True)
    # All three of the window are above all four of the reference, and these below them.
    above = 2 * 0.5 * (tails[3] + tails[4]) / 35
    below = 2 * 0.5 / 35
    assert p_value == pytest.approx(1 - (1 - min(above, below)) ** 2)
    assert chance == pytest.approx(2.0)


@pytest.mark.parametrize("sizes", [(300, 300), (2_000, 80), (80, 2_000)])
@pytest.mark.parametrize("law", ["normal", "standard_cauchy", "exponential"])
def test_the_level_holds_whatever_the_distribution_is(sizes, law):
    rng = np.random.default_rng(3)
    p_values = []
    for _ in range(300):
        before, after = (getattr(rng, law)(size=size).round(2) for size in sizes)
        counts = tuple(
            dict(zip(*np.unique(side.astype(str), return_counts=True), strict=True)) for side in (before, after)
        )
        p_values.append(extremes_test(counts, sizes, all_values=True)[0])
    assert sum(p < 0.05 for p in p_values) <= binom.isf(1e-3, len(p_values), 0.05)


def test_ties_with_the_other_side_are_not_beyond_it():
    p_value, chance = extremes_test(({"5": 40, "1": 60}, {"5": 90, "1": 10}), (100.0, 100.0), all_values=True)
    assert p_value == 1.0
    assert 0.0 < chance < 1e-12
    assert extremes_test(({}, {}), (100.0, 100.0), all_values=False) == (1.0, 0.0)


def test_what_cannot_alarm_costs_nothing():
    test, facts = ColumnTest(0.5, 0.1, 0.5), empty_facts(1)
    shared = facts.__class__(facts.smallest, facts.largest, ({"1": 30, "-1": 30},), facts.hashes, facts.copies)
    counts = [(np.array([50.0, 50.0]), np.array([50.0, 50.0]))]
    assert with_extremes([test], (NUMBERS,), counts, (shared, shared), np.zeros(1)) == [test]


def test_outermost_values_alone_are_a_test_where_they_could_alarm():
    """Nothing else is compared of the column: five values that are alike say little wherever they fall, twelve much."""
    test, facts = ColumnTest(1.0, 0.1, None, can_alarm=False), empty_facts(1)
    counts = [(np.array([50.0, 50.0]), np.array([50.0, 50.0]))]

    def found(before, after):
        sides = (replace(facts, tallies=(tally,)) for tally in (before, after))
        return with_extremes([test], (NUMBERS,), counts, tuple(sides), np.zeros(1))[0]

    alike, apart = {"1": 5}, {str(place): 1 for place in range(1, 13)}
    assert found({}, alike) == test
    whole, _ = extremes_test(({}, apart), (100.0, 100.0), all_values=False)
    assert found({}, apart) == test._replace(p_value=whole, can_alarm=True)


def test_one_end_may_be_that_of_the_reference():
    limited, _ = extremes_test(({"1": 3, "2": 9}, {}), (1_000.0, 1_000.0), all_values=False)
    assert limited < 0.001


def test_a_code_for_what_is_not_known_is_found_and_named():
    rng = np.random.default_rng(0)

    def draw(n_codes):
        rows = rng.normal(size=(800, 6))
        rows[:n_codes, 2] = -9.0
        return pd.DataFrame(rows, columns=list("abcdef")).mask(rng.random(rows.shape) < 0.2)

    detector = gd.DriftDetector(random_state=0).fit(draw(0))
    found = detector.test(draw(24))
    assert found.drift
    assert [feature.name for feature in found.features if feature.adjusted_p_value < 0.01] == ["c"]


def test_what_selects_cells_explains_extremes_too():
    test, facts = ColumnTest(0.5, 0.1, 0.5), empty_facts(1)
    window = facts.__class__(facts.smallest, facts.largest, ({"3": 20},), facts.hashes, facts.copies)
    counts = [(np.array([50.0, 50.0]), np.array([50.0, 50.0]))]
    alone, explained = (
        with_extremes([test], (NUMBERS,), counts, (facts, window), np.array([away]))[0].p_value for away in (0.0, 9.0)
    )
    assert alone < 1e-4
    assert explained == pytest.approx(0.5)


def test_columns_without_numbers_or_facts_are_as_they_are():
    test, facts = ColumnTest(0.5, 0.1, 0.5), empty_facts(1)
    counts = [(np.ones(2), np.ones(2))]
    labels = HistogramAxis((), (), ("a", "(other)"))
    assert with_extremes([test], (labels,), counts, (facts, facts), np.zeros(1)) == [test]
    assert with_extremes([test], (NUMBERS,), counts, (None, facts), np.zeros(1)) == [test]
    assert with_extremes([None], (NUMBERS,), counts, (facts, facts), np.zeros(1)) == [None]


def test_values_that_are_too_many_to_be_kept_are_not_taken_for_the_outermost():
    """A few different numbers in the reference, tens of thousands in the window, of which a part is kept."""
    reference, window = null_case("drawn 660216").pair(660_000_000)
    result = gd.DriftDetector(random_state=0).fit(reference).test(window)
    assert result.values.p_value > 1e-3
