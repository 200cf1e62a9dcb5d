"""Tests of columns with more categories than have a matrix column of their own: each is looked at by itself.

Given how often each category occurs on both sides together, its cells fall to the window as coins do, whatever the
distribution of the categories is, so that no variance has to be learned.
"""

import numpy as np
from scipy.special import betainc, gammainc, gammaincc, ndtr

from gapdrift._typing import Vector
from gapdrift.inference.columns import ColumnTest, less_surely
from gapdrift.inference.combination import sidak
from gapdrift.tables.facts import Facts, Tally, tally_threshold, up_to
from gapdrift.tables.histograms import HistogramAxis

__all__ = ["MIN_LEVELS", "cell_counts", "level_counts", "level_test", "with_levels"]

MIN_LEVELS = 20
"""Categories without a matrix column of their own, in the reference, from which they are tested one by one."""

MIN_CELLS = 5.0
"""Cells of a category on both sides together from which its share is tested by itself."""

LARGE_VARIANCE = 10.0
"""Variance of the number of new categories from which its distribution is taken as normal."""


def cell_counts(
    axes: tuple[HistogramAxis, ...], reference: tuple[Vector, Facts | None], window: tuple[Vector, Facts | None]
) -> list[tuple[Vector, Vector]]:
    """Counts of the cells of each column on both sides; categories that one side lacks have cells of their own.

    Parameters
    ----------
    axes : tuple of HistogramAxis
    reference, window : tuple of array and Facts
        Counts of all columns, one after the other, and the facts about the same rows.

    Notes
    -----
    Categories that the reference has once are encoded as new ones are, so that these have something to be compared
    with. By themselves they say little: where all of few categories were seen, there is nothing new, however many of
    them were seen once, and of many categories the one that happened to be absent may be frequent. One by one, given
    how often each occurs on both sides together, they fall to the sides as coins do.
    """
    ends = np.cumsum([0, *map(len, axes)])[1:-1]
    parts = zip(*(np.split(counts, ends) for counts, _ in (reference, window)), strict=True)
    if reference[1] is None or window[1] is None:
        return list(parts)
    return [
        _one_by_one(axis.labels, before, after, seen_once, new) if axis.labels else (before, after)
        for axis, (before, after), seen_once, new in zip(
            axes, parts, reference[1].tallies, window[1].tallies, strict=True
        )
    ]


def _one_by_one(
    labels: tuple[str, ...], before: Vector, after: Vector, seen_once: Tally, new: Tally
) -> tuple[Vector, Vector]:
    """Counts with a cell for each category; as they are where the reference has more of them than it keeps."""
    place_of = {label: place for place, label in enumerate(labels[:-1])}
    if not place_of.keys() >= seen_once.keys() or tally_threshold(new) is not None:
        return before, after
    own = np.zeros(len(labels) - 1)
    for label, count in seen_once.items():
        own[place_of[label]] = count
    rest = np.array([*new.values()], dtype=float)
    return np.concatenate([before[:-1] + own, np.zeros(len(rest))]), np.concatenate([after[:-1], rest])


def level_counts(reference: Tally, window: Tally) -> tuple[Vector, Vector]:
    """Cells of each category in the reference and in the window; of tallies that were cut, what both have in full."""
    thresholds = [limit for limit in (tally_threshold(reference), tally_threshold(window)) if limit is not None]
    limit = min(thresholds, default=None)
    before, after = up_to(reference, limit), up_to(window, limit)
    names = list({**before, **after})
    return (
        np.array([before.get(name, 0) for name in names], dtype=float),
        np.array([after.get(name, 0) for name in names], dtype=float),
    )


def level_test(reference: Tally, window: Tally) -> ColumnTest | None:
    """Test of the categories of one column that share matrix columns; None where the reference has few such ones.

    Notes
    -----
    Three p-values, of which the smallest counts (Sidak): how far the shares of all categories are spread beyond
    binomial variation, how many categories occur in the window alone, and the category whose share changed most.

    The effect size is the share of the window's cells that belong to new categories beyond what is expected of rare
    ones.
    """
    if len(reference) < MIN_LEVELS or not window:
        return None
    before, after = level_counts(reference, window)
    total = before + after
    m, n = before.sum(), after.sum()
    if not (m and n):
        return None
    share = n / (m + n)
    p_values = [_dispersion(after, total, share), _new_levels(before, total, share)]
    often = total >= MIN_CELLS
    if often.any():
        p_values.append(_surest_level(before[often], after[often], share))
    new = after[before == 0.0].sum() / n
    expected = float((total * share**total).sum() / n)
    p_value = sidak(min(p_values), len(p_values))
    return ColumnTest(p_value, float(max(new - expected, 0.0)), p_value)


def with_levels(
    tests: list[ColumnTest | None],
    axes: tuple[HistogramAxis, ...],
    reference: Facts | None,
    window: Facts | None,
    explained: Vector,
) -> list[ColumnTest | None]:
    """Tests of columns, with those of their many categories.

    Parameters
    ----------
    tests : list of ColumnTest or None
        Of each input column.
    axes : tuple of HistogramAxis
    reference, window : Facts or None
    explained : (input columns,) array
        Standard deviations that changed conditions of missing values may explain.
    """
    if reference is None or window is None:
        return tests
    found = list(tests)
    for place, (before, after) in enumerate(zip(reference.tallies, window.tallies, strict=True)):
        are_pooled = not set(axes[place].labels) >= before.keys()
        test, levels = tests[place], level_test(before, after) if are_pooled and axes[place].labels else None
        if levels is not None:
            p_value = float(less_surely(np.array([levels.p_value]), explained[place])[0])
            # Without a category of its own, a column has nothing else to be tested by.
            others = [] if test is None or not test.can_alarm else [test]
            p_value = sidak(min([p_value, *(other.p_value for other in others)]), 1 + len(others))
            effect = max(levels.effect_size, 0.0 if test is None else test.effect_size)
            found[place] = ColumnTest(p_value, effect, p_value)
    return found


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


def _surest_level(before: Vector, after: Vector, share: float) -> float:
    """p-value of the category whose share changed most: both tails of a binomial distribution, times their number."""
    more = np.where(after > 0, betainc(np.maximum(after, 1.0), before + 1.0, share), 1.0)
    fewer = np.where(before > 0, betainc(np.maximum(before, 1.0), after + 1.0, 1.0 - share), 1.0)
    return sidak(float(np.minimum(2.0 * np.minimum(more, fewer), 1.0).min()), len(before))


def _new_levels(before: Vector, total: Vector, share: float) -> float:
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
