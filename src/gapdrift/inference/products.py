"""Tests of products of two functions, over the rows that have both: how columns go together."""

import numpy as np

from gapdrift._typing import Indices, Vector
from gapdrift.counting.sums import Side
from gapdrift.inference.blocks import Entries, Moments, shrunk, taper
from gapdrift.inference.null import MAX_GRAM, PRODUCT_KURTOSIS, ReferenceNull
from gapdrift.inference.product_sums import MIN_ROWS, attenuation, gaussian_moments, product_weights, whitening
from gapdrift.inference.shapes import EntryShape

__all__ = ["entries_of", "indicator_products", "product_entries", "products_together"]


def product_entries(
    null: ReferenceNull, sides: tuple[Side, Side], first: Indices, second: Indices
) -> tuple[Entries, Vector]:
    """Entries of the products of some functions, and their differences in products of standard deviations."""
    spread = np.sqrt(np.maximum(null.functions.variance, 1.0))
    both = spread[first] * spread[second]
    before, after = (side.covariance[first, second] / both for side in sides)
    m, n = (side.rows[first, second] for side in sides)
    shape = _of_indicators(null.products.at((first, second)), sides, first, second, both)
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
    variance, kurtosis = indicator_products(*shares, covariance / size)
    found = EntryShape(shape.variance.copy(), shape.skewness.copy(), shape.kurtosis.copy(), shape.n_rows.copy())
    found.variance[chosen] = np.maximum(variance * (size / spread[chosen]) ** 2, 1e-9)
    found.kurtosis[chosen] = np.where(
        np.isfinite(found.kurtosis[chosen]), np.maximum(kurtosis, PRODUCT_KURTOSIS), np.inf
    )
    found.n_rows[chosen] = total
    return found


def indicator_products(one: Vector, two: Vector, covariance: Vector) -> tuple[Vector, Vector]:
    """Variance and excess kurtosis of the product of two centred indicators of these shares and this covariance."""
    both = np.clip(one * two + covariance, 0.0, np.minimum(one, two))
    shares = np.stack([both, one - both, two - both, np.maximum(1.0 - one - two + both, 0.0)])
    values = np.stack([(1.0 - one) * (1.0 - two), -(1.0 - one) * two, -one * (1.0 - two), one * two])
    values = values - (shares * values).sum(axis=0)
    variance = (shares * values**2).sum(axis=0)
    kurtosis = (shares * values**4).sum(axis=0) / np.maximum(variance, 1e-12) ** 2 - 3.0
    return variance, kurtosis


def entries_of(difference: Vector, shape: EntryShape, m: Vector, n: Vector, *, second_order: bool = False) -> Entries:
    """Entries of differences of means over so many rows of the reference and of the window.

    Means of products of standardised functions about their own means vary by (1/m^2 + 1/n^2) more: it rules products
    that hardly vary, such as that of a column with two values and its copy.
    """
    one, two = 1.0 / np.maximum(m, 1.0), 1.0 / np.maximum(n, 1.0)
    scale = one + two
    kurtosis = np.where(np.isfinite(shape.kurtosis), shape.kurtosis, 0.0)
    known = np.minimum(m, shape.n_rows)
    excess = kurtosis * (two**3 + one**3) / scale**2 + 3.0 * (kurtosis + 2.0) / np.maximum(known, 1.0)
    fewest = np.minimum(np.minimum(m, n), shape.n_rows)
    weights = np.where(np.isfinite(shape.kurtosis) & (fewest >= MIN_ROWS), taper(fewest, kurtosis), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = shape.variance * scale + (one**2 + two**2 if second_order else 0.0)
        scores = np.where(weights > 0.0, difference / np.sqrt(variance), 0.0)
    return Entries(scores, shape.skewness * (two**2 - one**2) / scale**1.5, excess, weights)


def products_together(null: ReferenceNull, sides: tuple[Side, Side], explained: Vector) -> Moments | None:
    """Whitened sum of the products of u, with its moments where nothing changed; None where nothing is known.

    Parameters
    ----------
    null : ReferenceNull
    sides : pair of Side
    explained : (functions,) array
        Standard deviations that changed conditions of missing cells may explain.
    """
    functions = sides[0].functions
    columns = np.flatnonzero(np.isfinite(null.functions.kurtosis[: len(functions.columns)]))
    if len(columns) < 2:
        return None
    sub = np.ix_(columns, columns)
    m, n = (side.rows[sub] for side in sides)
    shape = null.products.at(sub)
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
    away = np.maximum.outer(explained[columns], explained[columns])
    weights = weights / (1.0 + away**2)
    scores = shrunk(difference / varies, away) * varies * weights
    share_r, share_w = one / scale, two / scale
    known, *parts = (attenuation(rows) * correlation for rows in (m + n, m, n))
    for part in (known, *parts):
        np.fill_diagonal(part, 1.0)
    turn = whitening(known, 1.0 / float(np.mean(np.diag(scale))))
    mean, variance, third = gaussian_moments(turn, parts, [weights * np.sqrt(share_r), weights * np.sqrt(share_w)])
    n_r, n_w = (float(side.n_rows) for side in sides)
    heavier = (1.0 / n_r**3 + 1.0 / n_w**3) / (1.0 / n_r + 1.0 / n_w) ** 2
    mean *= null.product_mean
    variance = variance * null.product_variance + null.product_excess * mean**2 * (heavier + 1.0 / min(n_r, MAX_GRAM))
    third *= null.product_variance**1.5
    return Moments(0.5 * float(((turn @ scores @ turn) ** 2).sum()), mean, variance, third)
