"""Tests of products of two functions, over the rows that have both: how columns go together."""

import numpy as np

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.observed.blocks import Entries, ridge, shrunk, taper
from gapdrift.observed.functions import Functions
from gapdrift.observed.null import Moments, ReferenceNull, EntryShape
from gapdrift.observed.sums import Side

__all__ = ["gaussian_moments", "product_entries", "product_weights", "products_together", "whitening"]

MIN_ROWS = 8.0
"""Rows with both cells, on either side, below which a product takes no part."""


def product_weights(functions: Functions, columns: Indices, shape: EntryShape, rows: Matrix) -> Matrix:
    """Weights of the products of two columns in their whitened sum; squares are of numbers alone."""
    own = functions.function_owner[columns]
    same, alone = own[:, None] == own[None, :], np.eye(len(columns), dtype=bool)
    is_number = np.isin(columns, functions.numbers)
    allowed = (~same | alone) & (~alone | is_number[:, None])
    finite = np.where(np.isfinite(shape.kurtosis), shape.kurtosis, 1e12)
    found = np.where(allowed & (rows >= MIN_ROWS), taper(rows, finite), 0.0)
    return np.where(found > 0.05, found, 0.0)


def whitening(correlation: Matrix, n_known: float) -> Matrix:
    """Symmetric root of the inverse of a correlation with a ridge."""
    values, vectors = np.linalg.eigh(correlation)
    added = ridge(len(correlation), n_known)
    found: Matrix = (vectors / np.sqrt((np.maximum(values, 0.0) + added) / (1.0 + added))) @ vectors.T
    return found


def gaussian_moments(turn: Matrix, correlation: Matrix, weights: Matrix) -> tuple[float, float, float]:
    """Mean, variance and third central moment of |A (Z * W) A|^2 / 2 for products Z of Gaussian columns.

    Notes
    -----
    Z has the covariance R_ik R_jl + R_il R_jk. With all weights 1 and B = A R A the mean is ((tr B)^2 + tr B^2) / 2, the
    variance (tr B^2)^2 + tr B^4 and the third moment 4 ((tr B^3)^2 + tr B^6). Weights make all of them smaller by the
    share that they leave of the mean.
    """
    whole = turn @ correlation @ turn
    square = whole @ whole
    cube = square @ whole
    trace, of_square = float(np.trace(whole)), float(np.trace(square))
    mean = 0.5 * (trace**2 + of_square)
    both = (turn @ turn) * correlation
    kept = 0.5 * (float((weights * (both @ weights @ both)).sum()) + of_square * float((weights**2).mean()))
    left = kept / mean
    variance = of_square**2 + float((square * square.T).sum())
    third = 4.0 * (float(np.trace(cube)) ** 2 + float((cube * cube.T).sum()))
    return kept, variance * left, third * left


def product_entries(null: ReferenceNull, sides: tuple[Side, Side], first: Indices, second: Indices) -> Entries:
    """Entries of the products of some functions."""
    shape = null.products.at((first, second))
    spread = np.sqrt(np.maximum(null.functions.variance, 1.0))
    before, after = (side.covariance[first, second] / (spread[first] * spread[second]) for side in sides)
    m, n = (side.rows[first, second] for side in sides)
    return entries_of(after - before, shape, m, n)


def entries_of(difference: Vector, shape: EntryShape, m: Vector, n: Vector) -> Entries:
    """Entries of differences of means over so many rows of the reference and of the window."""
    one, two = 1.0 / np.maximum(m, 1.0), 1.0 / np.maximum(n, 1.0)
    scale = one + two
    kurtosis = np.where(np.isfinite(shape.kurtosis), shape.kurtosis, 0.0)
    known = np.minimum(m, shape.n_rows)
    excess = kurtosis * (two**3 + one**3) / scale**2 + 3.0 * (kurtosis + 2.0) / np.maximum(known, 1.0)
    fewest = np.minimum(np.minimum(m, n), shape.n_rows)
    weights = np.where(np.isfinite(shape.kurtosis) & (fewest >= MIN_ROWS), taper(fewest, kurtosis), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(weights > 0.0, difference / np.sqrt(shape.variance * scale), 0.0)
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
    weights = product_weights(functions, columns, shape, fewest)
    used = np.flatnonzero(weights.any(axis=0))
    if len(used) < 2:
        return None
    columns, sub = columns[used], np.ix_(used, used)
    m, n, shape, weights = m[sub], n[sub], shape.at(sub), weights[sub]
    sub = np.ix_(columns, columns)
    spread = np.sqrt(null.functions.variance[columns])
    covariances = [side.covariance[sub] / np.outer(spread, spread) for side in sides]
    pooled = (m * covariances[0] + n * covariances[1]) / np.maximum(m + n, 1.0)
    deviation = np.sqrt(np.maximum(np.diag(pooled), 1e-6))
    correlation = np.clip(pooled / np.outer(deviation, deviation), -1.0, 1.0)
    one, two = 1.0 / np.maximum(m, 1.0), 1.0 / np.maximum(n, 1.0)
    scale = one + two
    gauss = 1.0 + correlation**2
    scores = (covariances[1] - covariances[0]) / np.sqrt(shape.variance * scale)
    away = np.maximum.outer(explained[columns], explained[columns])
    scores = shrunk(scores, away) * weights * np.sqrt(gauss)
    share_r, share_w = one / scale, two / scale
    mixed = correlation * (np.sqrt(share_r) * attenuation(m) + np.sqrt(share_w) * attenuation(n)) / (
        np.sqrt(share_r) + np.sqrt(share_w)
    )
    known = attenuation(m + n) * correlation
    np.fill_diagonal(mixed, 1.0)
    np.fill_diagonal(known, 1.0)
    turn = whitening(known, 1.0 / float(np.mean(np.diag(scale))))
    mean, variance, third = gaussian_moments(turn, mixed, weights)
    n_r, n_w = (float(side.n_rows) for side in sides)
    heavier = (1.0 / n_r**3 + 1.0 / n_w**3) / (1.0 / n_r + 1.0 / n_w) ** 2
    mean *= null.product_mean
    variance = variance * null.product_variance + null.product_excess * mean**2 * heavier
    third *= null.product_variance**1.5
    return Moments(0.5 * float(((turn @ scores @ turn) ** 2).sum()), mean, variance, third)


def attenuation(rows: Matrix) -> Matrix:
    """Rows with both cells over the root of those with each: by so much means of two columns go together less."""
    own = np.sqrt(np.maximum(np.diag(rows), 1.0))
    found: Matrix = rows / np.outer(own, own)
    return found
