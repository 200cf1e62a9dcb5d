"""Tests of products of two or three functions, over the rows that have all: how columns go together."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import erfc

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.functions import Functions
from gapdrift.counting.sums import Side
from gapdrift.inference.blocks import (
    LEAST_IN_SUM,
    MIN_ROWS,
    Entries,
    EntryShape,
    Moments,
    attenuation,
    entries_of,
    ridge,
    shrunk,
    taper,
)
from gapdrift.persistence.records import expect, stored

__all__ = [
    "MAX_GRAM",
    "PRODUCT_KURTOSIS",
    "Correlations",
    "ProductSum",
    "correlations",
    "fisher",
    "gaussian_moments",
    "indicator_products",
    "product_entries",
    "product_kinds",
    "product_weights",
    "products_together",
    "triple_places",
    "whitening",
]

MAX_GRAM = 512
"""Rows whose whitened products are compared with each other, at most."""

PRODUCT_KURTOSIS = 6.0
"""Excess kurtosis of the product of two independent Gaussian columns."""

CERTAIN = 1.0 - 1e-6
"""Largest correlation: that of copies has no z."""


@stored
@dataclass(frozen=True)
class ProductSum:
    """Whitened sum of products in the reference, beside that of Gaussian columns.

    Parameters
    ----------
    mean, variance : float
        Times those of Gaussian columns.
    excess : float
        Squared coefficient of variation of one row's.
    """

    mean: float
    variance: float
    excess: float

    def check_stored(self) -> None:
        """Check what was read from a file: moments that can be squared."""
        moments = (self.mean, self.variance, self.excess)
        expect(min(moments) >= 0.0 < self.mean and max(moments) <= 1e12, "moments from 0 to 1e12")


class Correlations(NamedTuple):
    """Correlations of pairs on one side, and the rows that they rest on."""

    values: Vector
    n_rows: Vector


def correlations(side: Side, first: Indices, second: Indices) -> Correlations:
    """Correlations of two functions each, over the rows that have both."""
    variance = np.maximum(np.diag(side.covariance), 1e-9)
    return Correlations(
        side.covariance[first, second] / np.sqrt(variance[first] * variance[second]), side.rows[first, second]
    )


def fisher(before: Correlations, after: Correlations) -> Vector:
    """p-values of the change of correlations, by Fisher's z; 1 where there are too few rows.

    Examples
    --------
    >>> rows = np.array([103.0])
    >>> before, after = Correlations(np.array([0.5]), rows), Correlations(np.array([0.0]), rows)
    >>> round(float(fisher(before, after)[0]), 5)
    0.0001
    """
    rows = np.stack([before.n_rows, after.n_rows]) - 3.0
    shift = np.arctanh(np.clip(after.values, -CERTAIN, CERTAIN)) - np.arctanh(np.clip(before.values, -CERTAIN, CERTAIN))
    found: Vector = erfc(np.abs(shift) / np.sqrt(2.0 * (1.0 / np.maximum(rows, 1.0)).sum(axis=0)))
    return np.where(rows.min(axis=0) > 0.0, found, 1.0)


def product_kinds(functions: Functions, products: EntryShape) -> list[tuple[Indices, Indices]]:
    """First and second of the products that are tested: of two u, and others."""
    size, n_columns, own = len(functions.function_owner), len(functions.columns), functions.function_owner
    first, second = np.triu_indices(size, 1)
    is_plain = second < n_columns
    # Of one column, only u with its w.
    apart = (own[first] != own[second]) | ((first < n_columns) & ~is_plain)
    kept = apart & np.isfinite(products.kurtosis[first, second])
    return [(first[kept & part], second[kept & part]) for part in (is_plain, ~is_plain)]


def triple_places(functions: Functions) -> tuple[Indices, Indices]:
    """Pair and third column of the products of three that are tested: of three input columns, each once."""
    first, second = functions.pairs
    own, third = functions.function_owner, np.arange(len(functions.columns))
    apart = (third > second[:, None]) & (own[third] != own[second][:, None]) & (own[third] != own[first][:, None])
    pair, column = np.nonzero(apart)
    return pair, column


def product_entries(
    variance: Vector, shape: EntryShape, sides: tuple[Side, Side], first: Indices, second: Indices
) -> tuple[Entries, Vector]:
    """Entries of the products of some functions, and their differences in products of standard deviations.

    Parameters
    ----------
    variance : (functions,) array
        Of each function in the reference.
    shape : EntryShape
        Of all products.
    sides : pair of Side
    first, second : (entries,) arrays of int
    """
    spread = np.sqrt(np.maximum(variance, 1.0))
    both = spread[first] * spread[second]
    before, after = (side.covariance[first, second] / both for side in sides)
    m, n = (side.rows[first, second] for side in sides)
    shape = _of_indicators(shape.at((first, second)), sides, first, second, both)
    return entries_of(after - before, shape, m, n, second_order=True), after - before


def _of_indicators(
    shape: EntryShape, sides: tuple[Side, Side], first: Indices, second: Indices, spread: Vector
) -> EntryShape:
    """Shape of products, that of two categories or flags as both sides together show how often they meet.

    Two rare ones that happen not to meet in the reference would seem not to vary.
    """
    low, height = sides[0].functions.indicators
    chosen = np.flatnonzero(np.isfinite(low[first]) & np.isfinite(low[second]))
    if not len(chosen):
        return shape
    one, two = first[chosen], second[chosen]
    m, n = (side.rows[one, two] for side in sides)
    total = np.maximum(m + n, 1.0)
    shares = []
    for place in (one, two):
        mean = (sides[0].means[place] * m + sides[1].means[place] * n) / total
        shares.append(np.clip((mean - low[place]) / height[place], 1e-6, 1.0 - 1e-6))
    covariance = (sides[0].covariance[one, two] * m + sides[1].covariance[one, two] * n) / total
    size = height[one] * height[two]
    variance, kurtosis = indicator_products(shares[0], shares[1], covariance / size)
    found = EntryShape(shape.variance.copy(), shape.skewness.copy(), shape.kurtosis.copy(), shape.n_rows.copy())
    found.variance[chosen] = np.maximum(variance * (size / spread[chosen]) ** 2, 1e-9)
    found.kurtosis[chosen] = np.where(
        np.isfinite(found.kurtosis[chosen]), np.maximum(kurtosis, PRODUCT_KURTOSIS), np.inf
    )
    found.n_rows[chosen] = total
    return found


def indicator_products(one: Vector, two: Vector, covariance: Vector) -> tuple[Vector, Vector]:
    """Variance and excess kurtosis of the product of two centred indicators of these shares and this covariance.

    At least those of independent indicators: two rare ones that never met would seem never to meet.
    """
    found = [_moments_of_indicators(one, two, each) for each in (covariance, np.zeros_like(covariance))]
    variance, kurtosis = np.maximum(*found)
    return variance, kurtosis


def _moments_of_indicators(one: Vector, two: Vector, covariance: Vector) -> Matrix:
    """Variance and excess kurtosis: (2, products)."""
    both = np.clip(one * two + covariance, 0.0, np.minimum(one, two))
    shares = np.stack([both, one - both, two - both, np.maximum(1.0 - one - two + both, 0.0)])
    values = np.stack([(1.0 - one) * (1.0 - two), -(1.0 - one) * two, -one * (1.0 - two), one * two])
    values = values - (shares * values).sum(axis=0)
    variance = (shares * values**2).sum(axis=0)
    kurtosis = (shares * values**4).sum(axis=0) / np.maximum(variance, 1e-12) ** 2 - 3.0
    return np.stack([variance, np.where(variance > 1e-12, kurtosis, 0.0)])


def products_together(
    known: Mask, shape: EntryShape, usual: ProductSum, sides: tuple[Side, Side], explained: Vector
) -> Moments | None:
    """Whitened sum of the products of u, with its moments where nothing changed; None where nothing is known.

    Parameters
    ----------
    known : (functions,) array of bool
        Functions that vary in the reference.
    shape : EntryShape
        Of all products.
    usual : ProductSum
    sides : pair of Side
    explained : (functions,) array
        Standard deviations that changed conditions of missing cells may explain.
    """
    functions = sides[0].functions
    columns = np.flatnonzero(known[: len(functions.columns)])
    if len(columns) < 2:
        return None
    sub = np.ix_(columns, columns)
    m, n = (side.rows[sub] for side in sides)
    shape = shape.at(sub)
    fewest = np.minimum(np.minimum(m, n), shape.n_rows)
    covariances = [side.covariance[sub] for side in sides]
    pooled = (m * covariances[0] + n * covariances[1]) / np.maximum(m + n, 1.0)
    deviation = np.sqrt(np.maximum(np.diag(pooled), 1e-6))
    correlation = np.clip(pooled / np.outer(deviation, deviation), -1.0, 1.0)
    weights = product_weights(functions, columns, shape, fewest, correlation)
    used = np.flatnonzero(weights.any(axis=0))
    if len(used) < 2:
        return None
    columns, sub, deviation = columns[used], np.ix_(used, used), deviation[used]
    m, n, shape, weights, correlation = m[sub], n[sub], shape.at(sub), weights[sub], correlation[sub]
    covariances = [each[sub] for each in covariances]
    one, two = 1.0 / np.maximum(m, 1.0), 1.0 / np.maximum(n, 1.0)
    scale = one + two
    difference = (covariances[1] - covariances[0]) / np.outer(deviation, deviation) / np.sqrt(scale)
    # What is explained is known in standard deviations of each product.
    varies = np.sqrt(shape.variance)
    away = np.add.outer(explained[columns], explained[columns])
    weights = weights / (1.0 + away**2)
    scores = shrunk(difference / varies, away) * varies * weights
    share_r, share_w = one / scale, two / scale
    both, *parts = (attenuation(rows) * correlation for rows in (m + n, m, n))
    for part in (both, *parts):
        np.fill_diagonal(part, 1.0)
    turn = whitening(both, 1.0 / float(np.mean(np.diag(scale))))
    mean, variance, third = gaussian_moments(turn, parts, [weights * np.sqrt(share_r), weights * np.sqrt(share_w)])
    n_r, n_w = (float(side.n_rows) for side in sides)
    heavier = (1.0 / n_r**3 + 1.0 / n_w**3) / (1.0 / n_r + 1.0 / n_w) ** 2
    mean *= usual.mean
    variance = variance * usual.variance + usual.excess * mean**2 * (heavier + 1.0 / min(n_r, MAX_GRAM))
    third *= usual.variance**1.5
    return Moments(0.5 * float(((turn @ scores @ turn) ** 2).sum()), mean, variance, third)


def product_weights(
    functions: Functions, columns: Indices, shape: EntryShape, rows: Matrix, correlation: Matrix
) -> Matrix:
    """Weights of the products of two columns in their whitened sum; squares are of numbers alone.

    A product that varies more than that of Gaussian columns counts as much less: few rows would rule the sum.
    """
    own = functions.function_owner[columns]
    same, alone = own[:, None] == own[None, :], np.eye(len(columns), dtype=bool)
    is_number = np.isin(columns, functions.numbers)
    allowed = (~same | alone) & (~alone | is_number[:, None])
    finite = np.where(np.isfinite(shape.kurtosis), shape.kurtosis, 1e12)
    found = np.where(allowed & (rows >= MIN_ROWS), taper(rows, finite), 0.0)
    found *= np.sqrt(np.minimum((1.0 + correlation**2) / np.maximum(shape.variance, 1e-9), 1.0))
    return np.where(found > LEAST_IN_SUM, found, 0.0)


def whitening(correlation: Matrix, n_known: float) -> Matrix:
    """Symmetric root of the inverse of a correlation with a ridge."""
    values, vectors = np.linalg.eigh(correlation)
    added = ridge(len(correlation), n_known)
    found: Matrix = (vectors / np.sqrt((np.maximum(values, 0.0) + added) / (1.0 + added))) @ vectors.T
    return found


def gaussian_moments(turn: Matrix, correlations: list[Matrix], weights: list[Matrix]) -> tuple[float, float, float]:
    """Mean, variance and third central moment of |A Z A|^2 / 2 for products Z of Gaussian columns.

    Parameters
    ----------
    turn : (columns, columns) array
        A.
    correlations, weights : lists of (columns, columns) arrays
        Of each independent part of Z = sum_s W_s * Y_s.

    Notes
    -----
    Y_s has the covariance R_ik R_jl + R_il R_jk. With B = A R A of one part without weights the mean is
    ((tr B)^2 + tr B^2) / 2, the variance (tr B^2)^2 + tr B^4 and the third moment 4 ((tr B^3)^2 + tr B^6). With weights
    and H = A^2 * R the first term of the mean is sum_ij W_ij (H W H)_ij / 2; the second one goes from
    sum_ij W_ii H_ij^2 W_jj / 2, where squares alone take part, to the one above, where all do. Variance and third
    moment are those of as many entries as that leaves, each so much smaller.
    """
    both, apart = turn @ turn, 1.0 - np.eye(len(turn))
    squared = np.sum([weight**2 for weight in weights], axis=0)
    parts = [float((weight**2).mean()) * each for each, weight in zip(correlations, weights, strict=True)]
    mixed = np.sum(parts, axis=0)
    whole = turn @ (mixed / float(squared.mean())) @ turn
    square = whole @ whole
    cube = square @ whole
    trace, of_square = float(np.trace(whole)), float(np.trace(square))
    scale = float((squared**2).sum() / squared.sum())
    share = min(float((squared * apart).sum()) / (scale * max(float(apart.sum()), 1.0)), 1.0)
    kept = 0.5 * share * of_square * scale
    for correlation, weight in zip(correlations, weights, strict=True):
        part, own = both * correlation, np.diag(weight)
        kept += 0.5 * float((weight * (part @ weight @ part)).sum() + (1.0 - share) * (own @ part**2 @ own))
    left = kept / (0.5 * (trace**2 + of_square) * scale)
    variance = (of_square**2 + float((square * square.T).sum())) * left * scale**2
    third = 4.0 * (float(np.trace(cube)) ** 2 + float((cube * cube.T).sum())) * left * scale**3
    return kept, variance, third
