"""Tests of the distribution of each column, by the counts of its codes on both sides; exact where counts are few."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from gapdrift._typing import Vector
from gapdrift.inference.combination import sidak
from gapdrift.inference.counts import chi_square, effective_tests, largest_cell, less_surely, merge_cells, smooth

__all__ = ["ColumnTest", "category_test", "number_test"]

MIN_VALUES = 5
"""Observed values of a column on either side below which it is not tested."""

MIN_CELL = 5.0
"""Expected values of a cell on the smaller side, at least."""

MOST_CELLS = 32.0
"""Cells of a column of numbers, about: frequent values have one each."""

OUTERMOST_SHARE = 0.1
"""Share of the false alarms of a column of numbers that its outermost values have."""


class ColumnTest(NamedTuple):
    """Test of the observed values of one column.

    Parameters
    ----------
    p_value : float
    effect_size : float
        Numbers: difference of the means of normal scores, or of their standard deviations, whichever is larger.
        Categories: the share of values that would have to change.
    can_alarm : bool
        Whether anything is compared.
    unguarded : float, default 1
        p-value, about, if nothing were explained by changed conditions of missing cells.
    """

    p_value: float
    effect_size: float
    can_alarm: bool
    unguarded: float = 1.0


def number_test(before: Vector, after: Vector, scores: Vector, explained: float) -> ColumnTest | None:
    """Test of a column of numbers; None where too little is observed.

    Parameters
    ----------
    before, after : (codes,) arrays
        How often each code occurs in reference and window.
    scores : (codes,) array
        Normal score of each.
    explained : float
        Standard deviations that changed conditions of missing cells may explain.
    """
    m, n, total = before.sum(), after.sum(), before + after
    if min(m, n) < MIN_VALUES or np.count_nonzero(total) < 2:
        return None
    occupied = np.flatnonzero(total)
    before, after, total, scores = before[occupied], after[occupied], total[occupied], scores[occupied]
    often = max(MIN_CELL * (m + n) / min(m, n), (m + n) / MOST_CELLS)
    merged = merge_cells(total, often, ordered=True)
    cells = [np.bincount(merged, counts).astype(float) for counts in (before, after)]
    n_cells, effect = len(cells[0]), _effect(before / m, after / n, scores)
    outermost, reachable = outermost_test(before, after)
    outermost = float(less_surely(np.array([outermost]), explained)[0])
    if n_cells < 2:
        return ColumnTest(outermost, effect, reachable)
    smallest = min(*smooth(*cells), chi_square(*cells), largest_cell(*cells))
    p_value = sidak(float(less_surely(np.array([smallest]), explained)[0]), effective_tests(n_cells, is_number=True))
    both = min(sidak(p_value, 1.0 / (1.0 - OUTERMOST_SHARE)), sidak(outermost, 1.0 / OUTERMOST_SHARE))
    return ColumnTest(both, effect, True, sidak(smallest, effective_tests(n_cells, is_number=True)))


def category_test(before: Vector, after: Vector, explained: float) -> ColumnTest | None:
    """Test of a column of categories; parameters as of `number_test`."""
    m, n, total = before.sum(), after.sum(), before + after
    if min(m, n) < MIN_VALUES or np.count_nonzero(total) < 2:
        return None
    often = MIN_CELL * (m + n) / min(m, n)
    p_values = []
    for least, test in ((often, chi_square), (MIN_CELL, largest_cell)):
        merged = merge_cells(total, least, ordered=False)
        cells = [np.bincount(merged, counts).astype(float) for counts in (before, after)]
        n_cells = int(np.count_nonzero(cells[0] + cells[1]))
        p_values.append(test(*cells) if n_cells > 1 else 1.0)
    effect = float(0.5 * np.abs(after / n - before / m).sum())
    if n_cells < 2:
        return ColumnTest(1.0, effect, False)
    number = effective_tests(n_cells, is_number=False)
    smallest = float(less_surely(np.array([min(p_values)]), explained)[0])
    return ColumnTest(sidak(smallest, number), effect, True, sidak(min(p_values), number))


def outermost_test(before: Vector, after: Vector) -> tuple[float, bool]:
    """p-value of how many values one side has beyond all of the other, at either end; and whether it can be small.

    Notes
    -----
    Where nothing changed all orders of the values of both sides are equally likely, so that the k outermost are all
    among the n of one side, and none of the m of the other, with probability n! (m + n - k)! / ((n - k)! (m + n)!),
    whatever their distribution. Half of the probability of exactly k is left out (mid-p). Values of one code are ties.
    """
    sizes = float(before.sum()), float(after.sum())
    ends = [(before[::step], after[::step]) for step in (1, -1)]
    p_values = [_end_p_value(one, two, sizes) for one, two in ends]
    reachable = any(_can_alarm(one + two, sizes) for one, two in ends)
    return sidak(min(p_values), 2), reachable


def _end_p_value(one: Vector, two: Vector, sizes: tuple[float, float]) -> float:
    """p-value of the values of one side before the first one of the other."""
    first, second = (int(np.flatnonzero(side)[0]) for side in (one, two))
    if first == second:
        return 1.0
    k, own = (one[:second].sum(), sizes[0]) if first < second else (two[:first].sum(), sizes[1])
    tail = 0.5 * (_all_on_one_side(k, own, sum(sizes)) + _all_on_one_side(k + 1, own, sum(sizes)))
    return min(2.0 * tail, 1.0)


def _can_alarm(total: Vector, sizes: tuple[float, float]) -> bool:
    reached = np.cumsum(total)
    for own in sizes:
        most = float(reached[reached <= own].max(initial=0.0))
        if most and 2.0 * _all_on_one_side(most, own, sum(sizes)) <= 0.001:
            return True
    return False


def _all_on_one_side(k: float, n_own: float, n_all: float) -> float:
    """Probability that the k outermost of all values are among those of one side."""
    if k > n_own:
        return 0.0
    own, everything = (gammaln(size + 1.0) - gammaln(size - k + 1.0) for size in (n_own, n_all))
    return float(np.exp(own - everything))


def _effect(before: Vector, after: Vector, scores: Vector) -> float:
    (mean, spread), (moved, wider) = (_mean_and_spread(side, scores) for side in (before, after))
    return max(abs(moved - mean), abs(wider - spread)) / max(spread, 1e-3)


def _mean_and_spread(shares: Vector, scores: Vector) -> tuple[float, float]:
    mean = float(shares @ scores)
    return mean, float(np.sqrt(max(float(shares @ scores**2) - mean**2, 0.0)))
