"""Tests of two histograms of counts: exact where counts are few, and without any variance to be learned."""

import numpy as np
from scipy.special import betainc, chdtrc, ndtr, ndtri

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.inference.combination import sidak

__all__ = [
    "SMALLEST_EIGENVALUE",
    "at_least",
    "chi_square",
    "effective_tests",
    "largest_cell",
    "less_surely",
    "merge_cells",
    "mid_p",
    "smooth",
]

WAVES = np.arange(1.0, 7.0)
"""Half waves of the cosines that a column's distribution is compared by (Neyman's smooth test)."""

SMALLEST_EIGENVALUE = 0.02
"""Least eigenvalue of the correlation of the cosines that is looked at."""

CELLS = np.log([2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0])
"""Logarithms of numbers of cells for which it is known how many independent tests those of a column are worth."""

TESTS_OF_NUMBERS = np.array([1.0, 1.58, 1.91, 2.17, 2.33, 2.63, 2.97, 3.12, 3.28, 3.36, 3.45, 3.52, 3.57])
"""Independent tests that the four tests of a number are worth.

The mean over shares of the cells, all equal or one of them 0.34, 0.66 and 0.9: these are within a tenth of it.
"""

TESTS_OF_CATEGORIES = np.array([1.0, 1.04, 1.24, 1.33, 1.42, 1.5, 1.61, 1.66, 1.73, 1.76, 1.83, 1.85, 1.87])
"""Independent tests that the two tests of a category are worth, likewise."""


def effective_tests(n_cells: int, *, is_number: bool) -> float:
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


def largest_cell(before: Vector, after: Vector) -> float:
    """p-value of the cell whose share changed most, for the number of cells."""
    m, n, n_cells = before.sum(), after.sum(), int(np.count_nonzero(before + after))
    # Of a cell with more than half of the values the others are looked at: its share changed as theirs did.
    common = before + after > 0.5 * (m + n)
    before, after = np.where(common, m - before, before), np.where(common, n - after, after)
    p_values = mid_p(before, after, m, n)
    return sidak(float(p_values.min()), n_cells)


def mid_p(before: Vector, after: Vector, m: float, n: float) -> Vector:
    """Two-sided p-values of cells with these counts among m and n values: Fisher's exact test, mid-p.

    Half of the probability of the counts themselves is left out: with small counts, the whole would have half its
    nominal level.
    """
    tails = [
        0.5 * (at_least(count, count + other, size, m + n) + at_least(count + 1.0, count + other, size, m + n))
        for count, other, size in ((after, before, n), (before, after, m))
    ]
    found: Vector = np.minimum(2.0 * np.minimum(*tails), 1.0)
    return found


def at_least(count: Vector, total: Vector, size: float, n_all: float) -> Vector:
    """Probability that at least ``count`` of the ``total`` values of a cell are among ``size`` out of ``n_all`` values.

    By Wise's approximation of the hypergeometric distribution by a binomial one, which errs on the safe side.
    """
    trials, others = np.minimum(total, size), np.maximum(total, size)
    share = np.clip((others - 0.5 * (count - 1.0)) / (n_all - 0.5 * (trials - 1.0)), 0.0, 1.0)
    tail = betainc(np.maximum(count, 1.0), np.maximum(trials - count, 0.0) + 1.0, share)
    return np.where(count > trials, 0.0, np.where(count > 0.0, tail, 1.0))


def chi_square(before: Vector, after: Vector) -> float:
    """p-value of Pearson's test of all cells together."""
    total = before + after
    # The group of rare values of a category is empty where all are frequent.
    n_cells = int(np.count_nonzero(total))
    if n_cells < 2:
        return 1.0
    m, n = before.sum(), after.sum()
    share = np.where(total > 0, total, 1.0) / (m + n)
    statistic = ((after / n - before / m) ** 2 / share).sum() / (1.0 / m + 1.0 / n)
    return float(chdtrc(n_cells - 1, statistic))


def smooth(before: Vector, after: Vector) -> list[float]:
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


def less_surely(p_values: Vector, explained: Vector | float) -> Vector:
    """p-values of differences of which so many standard deviations are explained otherwise."""
    away = -ndtri(np.maximum(p_values, 1e-300) / 2.0)
    left = 2.0 * ndtr(-np.maximum(away - explained, 0.0))
    return np.where(np.asarray(explained) > 0.0, left, p_values)
