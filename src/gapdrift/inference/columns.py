"""Tests of the distribution of one column, by the counts of the cells of its histogram on both sides."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, chdtrc, ndtr, ndtri

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.inference.combination import sidak
from gapdrift.inference.null import SMALLEST_EIGENVALUE
from gapdrift.tables.histograms import HistogramAxis

__all__ = ["MIN_CELL", "MIN_VALUES", "ColumnTest", "column_tests", "less_surely", "merge_cells", "wave_features"]

WAVES = np.arange(1.0, 7.0)
"""Half waves of the cosines that a column's distribution is compared by (Neyman's smooth test)."""

MIN_CELL = 5.0
"""Expected values of a cell on the smaller side, at least."""

MIN_VALUES = 5
"""Observed values of a column on either side below which it is not tested."""

CELLS = np.log([2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0])
"""Logarithms of numbers of cells for which it is known how many independent tests those of a column are worth."""

TESTS_OF_NUMBERS = np.array([1.0, 1.58, 1.91, 2.17, 2.33, 2.63, 2.97, 3.12, 3.28, 3.36, 3.45, 3.52, 3.57])
"""Independent tests that the four tests of a number are worth.

The mean over shares of the cells, all equal or one of them 0.34, 0.66 and 0.9: these are within a tenth of it.
"""

TESTS_OF_CATEGORIES = np.array([1.0, 1.04, 1.24, 1.33, 1.42, 1.5, 1.61, 1.66, 1.73, 1.76, 1.83, 1.85, 1.87])
"""Independent tests that the two tests of a category are worth, likewise."""


class ColumnTest(NamedTuple):
    """Test of the observed values of one column.

    Parameters
    ----------
    p_value : float
    effect_size : float
        Numbers: difference of the means of normal scores of the reference, or of their standard deviations, whichever
        is larger. Categories: the share of values that would have to change.
    of_cells : float or None
        p-value of the cells alone, which counts in a sum over columns: the share of the outermost values, which hardly
        ever show anything, would be missing in the sum over many columns. None where all values fall into one merged
        cell.
    can_alarm : bool, default True
        Whether anything is compared. Otherwise the p-value is 1, and the column takes no part in tests of all columns:
        counted as a test, it would take false alarms from the others that it cannot spend.
    """

    p_value: float
    effect_size: float
    of_cells: float | None
    can_alarm: bool = True


def column_tests(
    axes: tuple[HistogramAxis, ...], counts: Sequence[tuple[Vector, Vector]], explained: Vector
) -> list[ColumnTest | None]:
    """Test of each input column by the counts of its cells; None where too little is observed.

    Parameters
    ----------
    axes : tuple of HistogramAxis
    counts : sequence of (array, array)
        Of the cells of each column in the reference and in the window.
    explained : (input columns,) array
        Standard deviations that are explained otherwise: `Mechanism.of_own`.
    """
    found = []
    for axis, (before, after), away in zip(axes, counts, explained, strict=True):
        enough = min(before.sum(), after.sum()) >= MIN_VALUES and np.count_nonzero(before + after) > 1
        found.append(_column_test(axis, before, after, away) if enough else None)
    return found


def _column_test(axis: HistogramAxis, before: Vector, after: Vector, explained: float) -> ColumnTest:
    m, n = before.sum(), after.sum()
    is_number = bool(axis.edges)
    often, least = MIN_CELL * (m + n) / min(m, n), MIN_CELL
    merged = merge_cells(before + after, often, ordered=is_number)
    cells = [np.bincount(merged, counts).astype(float) for counts in (before, after)]
    p_values = [*(_smooth(*cells) if is_number else ()), _pearson(*cells)]
    if not is_number:
        merged = merge_cells(before + after, least, ordered=False)
        cells = [np.bincount(merged, counts).astype(float) for counts in (before, after)]
    n_cells, effect = int(np.count_nonzero(cells[0] + cells[1])), _column_effect(axis, before / m, after / n)
    if n_cells < 2:
        return ColumnTest(1.0, effect, None, can_alarm=False)
    p_values.append(_largest_cell(*cells))
    smallest = float(less_surely(np.array([min(p_values)]), explained)[0])
    p_value = sidak(smallest, _effective_tests(n_cells, is_number=is_number))
    return ColumnTest(p_value, effect, p_value)


def _effective_tests(n_cells: int, *, is_number: bool) -> float:
    """Independent tests that those of a column with so many cells are worth.

    The fewer the cells, the more its tests are alike; with two they are the same.
    """
    return float(np.interp(np.log(n_cells), CELLS, TESTS_OF_NUMBERS if is_number else TESTS_OF_CATEGORIES))


def merge_cells(counts: Vector, least: float, *, ordered: bool) -> Indices:
    """Group of each cell, so that each group has enough; cells that have an order are merged from the left.

    Others are merged with all that have too little, and with the next larger one where these have too little together.

    Examples
    --------
    >>> merge_cells(np.array([9.0, 1.0, 1.0, 9.0, 1.0]), 5.0, ordered=True)
    array([0, 1, 1, 1, 1])
    """
    if not ordered:
        rare = counts < least
        if 0.0 < counts[rare].sum() < least and not rare.all():
            rare[np.where(rare, np.inf, counts).argmin()] = True
        groups = np.where(rare, 0, np.cumsum(~rare))
        return np.unique(groups, return_inverse=True)[1].astype(np.intp)
    groups, current, total = np.empty(len(counts), dtype=np.intp), 0, 0.0
    for place, count in enumerate(counts.tolist()):
        if total >= least and (count >= least or counts[place:].sum() >= least):
            current, total = current + 1, 0.0
        groups[place] = current
        total += count
    return groups


def _largest_cell(before: Vector, after: Vector) -> float:
    """p-value of the cell whose share changed most: hypergeometric (Fisher's exact test), for the number of cells.

    Half of the probability of the counts themselves is left out (mid-p): with counts as small as these, the whole would
    have half its nominal level.
    """
    m, n, n_cells = before.sum(), after.sum(), int(np.count_nonzero(before + after))
    # Of a cell with more than half of the values the others are looked at: its share changed as theirs did.
    common = before + after > 0.5 * (m + n)
    before, after = np.where(common, m - before, before), np.where(common, n - after, after)
    # Both tails, with the counts themselves and without them.
    tails = [
        0.5 * (_at_least(count, count + other, size, m + n) + _at_least(count + 1.0, count + other, size, m + n))
        for count, other, size in ((after, before, n), (before, after, m))
    ]
    p_values = np.minimum(2.0 * np.minimum(*tails), 1.0)
    return sidak(float(p_values.min()), n_cells)


def _at_least(count: Vector, total: Vector, size: float, n_all: float) -> Vector:
    """Probability that at least ``count`` of the ``total`` values of a cell are among ``size`` out of ``n_all`` values.

    By Wise's approximation of the hypergeometric distribution by a binomial one, which errs on the safe side.
    """
    trials, others = np.minimum(total, size), np.maximum(total, size)
    share = np.clip((others - 0.5 * (count - 1.0)) / (n_all - 0.5 * (trials - 1.0)), 0.0, 1.0)
    tail = betainc(np.maximum(count, 1.0), np.maximum(trials - count, 0.0) + 1.0, share)
    return np.where(count > trials, 0.0, np.where(count > 0.0, tail, 1.0))


def _pearson(before: Vector, after: Vector) -> float:
    total = before + after
    # The group of rare values of a category is empty where all are frequent.
    n_cells = int(np.count_nonzero(total))
    if n_cells < 2:
        return 1.0
    m, n = before.sum(), after.sum()
    share = np.where(total > 0, total, 1.0) / (m + n)
    statistic = ((after / n - before / m) ** 2 / share).sum() / (1.0 / m + 1.0 / n)
    return float(chdtrc(n_cells - 1, statistic))


def _smooth(before: Vector, after: Vector) -> list[float]:
    """p-values of the mean of normal scores of the common ranks, and of several cosines of them together (Neyman)."""
    if len(before) < 2:
        return [1.0, 1.0]
    m, n, total = before.sum(), after.sum(), before + after
    features, whitening = wave_features(total / (m + n))
    difference = features @ (after / n - before / m)
    statistic = ((difference[1:] @ whitening) ** 2).sum()
    scale = 1.0 / m + 1.0 / n
    return [float(chdtrc(1, difference[0] ** 2 / scale)), float(chdtrc(whitening.shape[1], statistic / scale))]


def wave_features(share: Vector) -> tuple[Matrix, Matrix]:
    """Features of cells with these shares: normal score, then cosines of the rank; and what whitens the cosines.

    Returns
    -------
    features : (1 + waves, cells) array
        Of mean 0 and variance 1.
    whitening : (waves, directions) array
    """
    rank = np.cumsum(share) - share / 2.0
    features = np.vstack([ndtri(np.clip(rank, 1e-9, 1.0 - 1e-9)), np.cos(np.pi * WAVES[:, None] * rank)])
    features -= (features @ share)[:, None]
    features /= np.sqrt(np.maximum((features**2) @ share, 1e-12))[:, None]
    values, vectors = np.linalg.eigh((features[1:] * share) @ features[1:].T)
    kept = values > SMALLEST_EIGENVALUE
    return features, vectors[:, kept] / np.sqrt(values[kept])


def _column_effect(axis: HistogramAxis, before: Vector, after: Vector) -> float:
    if not axis.edges:
        return float(0.5 * np.abs(after - before).sum())
    scores = ndtri(np.clip(np.cumsum(before) - before / 2.0, 1e-4, 1.0 - 1e-4))
    (mean, spread), (moved, wider) = (_mean_and_spread(side, scores) for side in (before, after))
    return max(abs(moved - mean), abs(wider - spread)) / max(spread, 1e-3)


def _mean_and_spread(shares: Vector, scores: Vector) -> tuple[float, float]:
    mean = float(shares @ scores)
    return mean, float(np.sqrt(max(float(shares @ scores**2) - mean**2, 0.0)))


def less_surely(p_values: Vector, explained: Vector | float) -> Vector:
    """p-values of differences of which so many standard deviations are explained otherwise."""
    away = -ndtri(np.maximum(p_values, 1e-300) / 2.0)
    left = 2.0 * ndtr(-np.maximum(away - explained, 0.0))
    return np.where(np.asarray(explained) > 0.0, left, p_values)
