"""Tests of columns with more categories than have a matrix column of their own: each is looked at by itself.

Given how often each category occurs on both sides together, its cells fall to the window as coins do, whatever the
distribution of the categories is, so that no variance has to be learned.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import betainc, gammainc, gammaincc, ndtr

from gapdrift._typing import Vector
from gapdrift.inference.columns import ColumnTest
from gapdrift.inference.combination import sidak
from gapdrift.inference.counts import less_surely
from gapdrift.tables.facts import Tally, tally_threshold, up_to

__all__ = ["category_counts", "rare_categories_test", "tallied_counts", "with_many_categories"]

MIN_RARE = 20
"""Categories without a matrix column of their own, in the reference, from which they are tested one by one."""

MIN_CELLS = 5.0
"""Cells of a category on both sides together from which its share is tested by itself."""

LARGE_VARIANCE = 10.0
"""Variance of the number of new categories from which its distribution is taken as normal."""


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
