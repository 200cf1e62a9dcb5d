"""Tests of the distribution of each column, by the counts of its codes on both sides; exact where counts are few.

Categories that have no code of their own are looked at one by one: given how often each occurs on both sides together,
its cells fall to the window as coins do, whatever the distribution of the categories is.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, gammainc, gammaincc, gammaln, ndtr

from gapdrift._typing import Vector
from gapdrift.inference.combination import sidak
from gapdrift.inference.counts import chi_square, effective_tests, largest_cell, less_surely, merge_cells, smooth
from gapdrift.tables.facts import Tally, tally_threshold, up_to

__all__ = [
    "ColumnTest",
    "category_counts",
    "category_test",
    "number_test",
    "outermost_test",
    "rare_categories_test",
    "tallied_counts",
    "with_many_categories",
]

MIN_CELL = 5.0
"""Expected values of a cell on the smaller side, at least; and observed values of a column that is tested."""

MOST_CELLS = 32.0
"""Cells of a column of numbers, about: frequent values have one each."""

OUTERMOST_SHARE = 0.1
"""Share of the false alarms of a column of numbers that its outermost values have."""

MIN_RARE = 20
"""Categories without a matrix column of their own, in the reference, from which they are tested one by one."""

MIN_CELLS = 5.0
"""Cells of a category on both sides together from which its share is tested by itself."""

LARGE_VARIANCE = 10.0
"""Variance of the number of new categories from which its distribution is taken as normal."""


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
    if min(m, n) < MIN_CELL or np.count_nonzero(total) < 2:
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
    if min(m, n) < MIN_CELL or np.count_nonzero(total) < 2:
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


def category_counts(
    categories: Sequence[str], cells: tuple[Vector, Vector], tallies: Sequence[Tally | None]
) -> tuple[Vector, Vector]:
    """Counts of the categories of one column on both sides; those that one side lacks have cells of their own.

    Parameters
    ----------
    categories : sequence of str
        Those with a code of their own; all others share the codes that follow.
    cells : pair of (codes,) arrays
    tallies : pair of mappings of str to int, or None
        How often what occurs that has no code of its own.

    Notes
    -----
    Categories that the reference has once are encoded as new ones are, so that these have something to be compared
    with. By themselves they say little: where all of few categories were seen, there is nothing new, however many of
    them were seen once, and of many categories the one that happened to be absent may be frequent. One by one, given
    how often each occurs on both sides together, they fall to the sides as coins do.
    """
    n_own = len(categories)
    before, after = (np.append(own[:n_own], own[n_own:].sum()) for own in cells)
    seen_once, new = tallies
    if seen_once is None or new is None or not set(categories) >= seen_once.keys() or tally_threshold(new) is not None:
        return before, after
    once = np.array([seen_once.get(name, 0) for name in categories], dtype=float)
    rest = np.array([*new.values()], dtype=float)
    return np.concatenate([before[:-1] + once, np.zeros(len(rest))]), np.concatenate([after[:-1], rest])


def tallied_counts(reference: Tally, window: Tally) -> tuple[Vector, Vector]:
    """Cells of each category in the reference and in the window; of tallies that were cut, what both have in full."""
    thresholds = [limit for limit in (tally_threshold(reference), tally_threshold(window)) if limit is not None]
    limit = min(thresholds, default=None)
    before, after = up_to(reference, limit), up_to(window, limit)
    names = list({**before, **after})
    return (
        np.array([before.get(name, 0) for name in names], dtype=float),
        np.array([after.get(name, 0) for name in names], dtype=float),
    )


def rare_categories_test(reference: Tally, window: Tally) -> ColumnTest | None:
    """Test of the categories of one column that share matrix columns; None where the reference has few such ones.

    Notes
    -----
    Three p-values, of which the smallest counts (Sidak): how far the shares of all categories are spread beyond
    binomial variation, how many categories occur in the window alone, and the category whose share changed most.

    The effect size is the share of the window's cells that belong to new categories beyond what is expected of rare
    ones.
    """
    if len(reference) < MIN_RARE or not window:
        return None
    before, after = tallied_counts(reference, window)
    total = before + after
    m, n = before.sum(), after.sum()
    if not (m and n):
        return None
    share = n / (m + n)
    p_values = [_dispersion(after, total, share), _new_categories(before, total, share)]
    often = total >= MIN_CELLS
    if often.any():
        p_values.append(_surest_category(before[often], after[often], share))
    new = after[before == 0.0].sum() / n
    expected = float((total * share**total).sum() / n)
    p_value = sidak(min(p_values), len(p_values))
    return ColumnTest(p_value, float(max(new - expected, 0.0)), True)


def with_many_categories(
    test: ColumnTest | None, categories: Sequence[str], tallies: Sequence[Tally | None], explained: float
) -> ColumnTest | None:
    """Test of a column of categories, together with that of its many rare ones.

    Parameters
    ----------
    test : ColumnTest or None
        Of those that have a code of their own.
    categories : sequence of str
    tallies : pair of mappings of str to int, or None
    explained : float
        Standard deviations that changed conditions of missing values may explain.
    """
    before, after = tallies
    if before is None or after is None or set(categories) >= before.keys():
        return test
    rare = rare_categories_test(before, after)
    if rare is None:
        return test
    p_value = float(less_surely(np.array([rare.p_value]), explained)[0])
    # Without a category of its own, a column has nothing else to be tested by.
    others = [] if test is None or not test.can_alarm else [test]
    p_value = sidak(min([p_value, *(other.p_value for other in others)]), 1 + len(others))
    effect = max(rare.effect_size, 0.0 if test is None else test.effect_size)
    return ColumnTest(p_value, effect, True)


def _dispersion(after: Vector, total: Vector, share: float) -> float:
    """p-value of the sum of squared standardised counts: a gamma distribution with its mean and variance."""
    variance = share * (1.0 - share)
    statistic = float(((after - total * share) ** 2 / (total * variance)).sum())
    mean = len(total) - 1.0
    spread = float((2.0 + (1.0 / variance - 6.0) / total).sum())
    # All categories that occur once fall to either side: nothing can be told by them where both are equally likely.
    if mean <= 0.0 or spread <= 1e-9 * mean:
        return 1.0
    return float(gammaincc(mean**2 / spread, statistic * mean / spread))


def _surest_category(before: Vector, after: Vector, share: float) -> float:
    """p-value of the category whose share changed most: both tails of a binomial distribution, times their number."""
    more = np.where(after > 0, betainc(np.maximum(after, 1.0), before + 1.0, share), 1.0)
    fewer = np.where(before > 0, betainc(np.maximum(before, 1.0), after + 1.0, 1.0 - share), 1.0)
    return sidak(float(np.minimum(2.0 * np.minimum(more, fewer), 1.0).min()), len(before))


def _new_categories(before: Vector, total: Vector, share: float) -> float:
    """p-value of the number of categories that occur in the window alone."""
    chances = share**total
    mean, variance = float(chances.sum()), float((chances * (1.0 - chances)).sum())
    found = float(np.count_nonzero(before == 0.0))
    if found <= mean:
        return 1.0
    if variance >= LARGE_VARIANCE:
        return float(ndtr(-(found - 0.5 - mean) / np.sqrt(variance)))
    # As many rare events vary less than a Poisson distribution.
    return float(gammainc(found, mean))
