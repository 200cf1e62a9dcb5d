from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import gapdrift as gd
from gapdrift.inference.columns import column_tests
from gapdrift.inference.levels import cell_counts, level_counts, level_test
from gapdrift.tables import facts
from gapdrift.tables.histograms import HistogramAxis


def tally(levels):
    return {f"level {level}": count for level, count in Counter(levels.tolist()).items()}


def many(rng, n_rows, start=0):
    return np.array([f"user {level}" for level in start + rng.integers(0, 4_000, n_rows)], dtype=object)


@pytest.mark.parametrize("law", ["uniform", "zipf", "geometric"])
def test_the_level_holds_without_drift(law):
    rng = np.random.default_rng(11)
    draw = {
        "uniform": lambda n: rng.integers(0, 3_000, n),
        "zipf": lambda n: rng.zipf(1.6, n) % 5_000,
        "geometric": lambda n: rng.geometric(0.02, n),
    }[law]
    p_values = [level_test(tally(draw(1_500)), tally(draw(700))).p_value for _ in range(150)]
    assert sum(p < 0.05 for p in p_values) <= binom.isf(1e-3, len(p_values), 0.05)


def test_what_changed_is_found():
    rng = np.random.default_rng(12)
    before = tally(rng.integers(0, 3_000, 5_000))
    replaced = level_test(before, tally(3_000 + rng.integers(0, 3_000, 1_000)))
    assert replaced.p_value < 1e-6
    assert replaced.effect_size > 0.6
    one = rng.integers(0, 3_000, 1_000)
    one[:30] = 17
    assert level_test(before, tally(one)).p_value < 1e-6
    assert level_test(before, tally(rng.integers(0, 1_000, 1_000))).p_value < 1e-6


def test_few_categories_are_left_to_other_tests():
    assert level_test({"a": 3, "b": 4}, {"c": 5}) is None
    assert level_test(tally(np.arange(100)), {}) is None


def test_of_tallies_that_were_cut_what_both_have_in_full_is_compared(monkeypatch):
    monkeypatch.setattr(facts, "MAX_TALLIED", 50)
    rng = np.random.default_rng(13)
    whole = [tally(rng.integers(0, 200, 2_000)) for _ in range(2)]
    before, after = level_counts(*(facts.cut_tally(own) for own in whole))
    assert 30 < len(before) <= 50
    pairs = {(whole[0].get(name, 0), whole[1].get(name, 0)) for name in {**whole[0], **whole[1]}}
    assert set(zip(before.tolist(), after.tolist(), strict=True)) <= pairs
    assert level_test(*(facts.cut_tally(own) for own in whole)).p_value > 0.001


def test_all_of_thousands_of_categories_replaced_is_drift_and_names_the_column():
    rng = np.random.default_rng(14)
    detector = gd.DriftDetector(random_state=0).fit({"x": rng.normal(size=9_000), "user": many(rng, 9_000)})
    found = [detector.test({"x": rng.normal(size=1_000), "user": many(rng, 1_000, 9_000)}) for _ in range(5)]
    assert all(result.drift for result in found)
    assert all(result.features[1].adjusted_p_value < 1e-9 for result in found)
    assert all(result.features[1].n_new_cells == 1_000 for result in found)


@pytest.mark.parametrize("n_levels", [5, 9, 20])
def test_categories_of_a_few_values_hold_their_level(n_levels):
    """Levels that 25 values happen to have once, or never, against thousands: at most what chance gives of 0.05."""
    rng = np.random.default_rng(n_levels)
    trials, alarms = 300, 0
    for _ in range(trials):
        small, large = (rng.integers(n_levels, size=size) for size in (25, 4_000))
        counts = np.bincount(small, minlength=n_levels)
        order = np.argsort(-counts, kind="stable")
        kept = [place for place in order if counts[place]]
        labels = (*map(str, kept), "(other)")
        # As they are encoded: what the reference has once is counted apart there, and what is new in the window.
        once = {str(place): 1 for place in kept if counts[place] == 1}
        after = np.bincount(large, minlength=n_levels)
        new = {str(place): int(after[place]) for place in range(n_levels) if not counts[place] and after[place]}
        before = np.array([*(0 if counts[place] == 1 else counts[place] for place in kept), len(once)], dtype=float)
        window = np.array([*after[kept], sum(new.values())], dtype=float)
        axis = HistogramAxis((), (), labels)
        sides = [(row, facts_of(tally)) for row, tally in ((before, once), (window, new))]
        (test,) = column_tests((axis,), cell_counts((axis,), *sides), np.zeros(1))
        alarms += test.p_value < 0.05
    assert alarms <= binom.ppf(0.999, trials, 0.05)


def test_each_category_has_a_cell_of_its_own():
    axis = HistogramAxis((), (), ("a", "b", "(other)"))
    reference = np.array([7.0, 0.0, 1.0]), facts_of({"b": 1})
    window = np.array([5.0, 2.0, 4.0]), facts_of({"c": 3, "d": 1})
    ((before, after),) = cell_counts((axis,), reference, window)
    assert before.tolist() == [7, 1, 0, 0]
    assert after.tolist() == [5, 2, 3, 1]
    # More categories than are kept: they are looked at by `level_test`.
    pooled = np.array([7.0, 3.0, 4.0]), facts_of({"e": 4})
    ((before, after),) = cell_counts((axis,), pooled, window)
    assert (before.tolist(), after.tolist()) == ([7, 3, 4], [5, 2, 4])


def facts_of(tally):
    return replace(facts.empty_facts(1), tallies=(tally,))
