import numpy as np
import pytest
from scipy.stats import hypergeom

import gapdrift as gd
from gapdrift.inference.columns import (
    _at_least,
    _effective_tests,
    column_tests,
    merge_cells,
)
from gapdrift.inference.combination import effective_number
from gapdrift.inference.observed_null import _Column, _column_p_values
from gapdrift.inference.parts import distributions_part
from gapdrift.tables.histograms import HistogramAxis

LABELS = HistogramAxis((), (), ("a", "b", "c", "(other)"))


def test_the_largest_cell_is_hypergeometric():
    before, after = np.array([50.0, 50.0, 0.0, 0.0]), np.array([55.0, 45.0, 12.0, 0.0])
    (found,) = column_tests((LABELS,), [(before, after)], np.zeros(1))
    # All twelve values of one cell are in the window: half of that probability, on both sides; three cells, and
    # little more than one test.
    alone = hypergeom.pmf(12, 212, 12, 112)
    assert found.p_value == pytest.approx(1 - (1 - alone) ** (3 * 1.04), rel=0.01)
    assert found.effect_size == pytest.approx(0.5 * np.abs(after / 112 - before / 100).sum())


@pytest.mark.parametrize(("total", "size", "n_all"), [(5, 50, 100), (40, 60, 400), (300, 100, 2_000), (45, 50, 100)])
def test_tails_of_cells_are_those_of_fishers_exact_test(total, size, n_all):
    counts = np.arange(1.0, min(total, size) + 1)
    exact = hypergeom.sf(counts - 1, n_all, total, size)
    likely = (exact > 1e-3) & (exact < 0.5)
    ratio = _at_least(counts, np.full(len(counts), float(total)), size, n_all)[likely] / exact[likely]
    assert 0.98 < ratio.min() <= ratio.max() < 1.6


@pytest.mark.parametrize("shares", [[0.5, 0.3, 0.2], [0.9, 0.06, 0.04]])
def test_categories_spend_their_level(shares):
    """At 0.2: what 600 trials of that rate give but for once in a thousand times, on either side."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(600):
        before, after = (np.append(rng.multinomial(size, shares), 0.0) for size in (400, 300))
        found += [test.p_value for test in column_tests((LABELS,), [(before, after)], np.zeros(1)) if test]
    assert 89 <= np.sum(np.array(found) < 0.2) <= 152


def test_too_few_values_are_not_tested():
    few = np.array([3.0, 1.0, 0.0, 0.0])
    assert column_tests((LABELS, HistogramAxis((), (), ())), [(few, few), (few[:0], few[:0])], np.zeros(2)) == [
        None,
        None,
    ]


def test_columns_of_which_nothing_is_compared_leave_their_false_alarms_to_the_others(rng):
    """One number beside nine flags that two rows in a thousand have: too few to be compared."""

    def draw():
        return np.column_stack([rng.normal(size=300), (rng.random((300, 9)) < 0.002).astype(float)])

    detector = gd.DriftDetector(random_state=0).fit(draw())
    comparison = detector.reference_.comparison(detector.count(draw()))
    assert [*comparison.observed.tested] == [0]
    alone = comparison.observed.columns[0].p_value
    (found,) = [part for part in detector.test(draw()).values.parts if part.name == "distributions"]
    assert distributions_part(comparison)[0].p_value == pytest.approx(alone, abs=0.1)
    assert found.degrees_of_freedom == 1


@pytest.mark.parametrize("is_number", [True, False])
@pytest.mark.parametrize("largest", [0.0, 0.7])
@pytest.mark.parametrize("n_cells", [2, 3, 7, 20, 80])
def test_tests_of_one_column_are_worth_what_draws_say(n_cells, largest, is_number):
    """Numbers of independent tests read off from 40,000 draws, and those of one way of sharing out; within a tenth."""
    rng = np.random.default_rng(n_cells)
    shares = np.full(n_cells, 1.0 / n_cells)
    if largest:
        shares = np.append(largest, np.full(n_cells - 1, (1.0 - largest) / (n_cells - 1)))
    noise = rng.normal(size=(40_000, n_cells)) * np.sqrt(shares)
    sums = noise - noise.sum(axis=1, keepdims=True) * shares
    column = _Column(is_number, [shares], np.zeros((0, n_cells)))
    assert effective_number(_column_p_values(column, sums).min(axis=0)) == pytest.approx(
        _effective_tests(n_cells, is_number=is_number), rel=0.1
    )


@pytest.mark.parametrize(("m", "n"), [(60, 60), (100, 2_000), (2_000, 100)])
def test_columns_hold_their_level(m, n):
    """At alpha 0.05: at most what 400 trials of a rate of 0.05 give once in a thousand times."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(400):
        edges = tuple(np.linspace(-3, 3, 21).tolist())
        axis = HistogramAxis(edges, edges[1:-1], ())
        counts = [np.bincount(axis.cells_of(rng.normal(size=size)), minlength=len(axis)) for size in (m, n)]
        (found,) = column_tests((axis,), [tuple(side.astype(float) for side in counts)], np.zeros(1))
        alarms += found.p_value < 0.05
    assert alarms <= 35


def test_cells_are_merged_with_their_neighbours():
    assert merge_cells(np.array([1.0, 1.0, 9.0, 1.0, 1.0]), 2.0, ordered=True).tolist() == [0, 0, 1, 2, 2]
    assert merge_cells(np.array([1.0, 9.0, 1.0, 9.0]), 2.0, ordered=False).tolist() == [0, 1, 0, 2]
    # What is rare has too little by itself: one other joins it, and not all that have as many.
    assert merge_cells(np.array([9.0, 1.0, 9.0, 9.0]), 2.0, ordered=False).tolist() == [0, 0, 1, 2]
