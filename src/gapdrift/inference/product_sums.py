"""The whitened sum of the products of two columns, and its moments where columns are Gaussian."""

import numpy as np

from gapdrift._typing import Indices, Matrix
from gapdrift.counting.functions import Functions
from gapdrift.inference.blocks import LEAST_IN_SUM, ridge, taper
from gapdrift.inference.shapes import EntryShape

__all__ = ["MIN_ROWS", "attenuation", "gaussian_moments", "product_weights", "whitening"]

MIN_ROWS = 8.0
"""Rows with both cells, on either side, below which a product takes no part."""


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
    sum_ij W_ii H_ij^2 W_jj / 2, where squares alone take part, to the one above, where all do. Variance and third moment
    are those of as many entries as that leaves, each so much smaller.
    """
    both, apart = turn @ turn, 1.0 - np.eye(len(turn))
    squared = sum(weight**2 for weight in weights)
    mixed = sum(float((weight**2).mean()) * each for each, weight in zip(correlations, weights, strict=True))
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


def attenuation(rows: Matrix) -> Matrix:
    """Rows with both cells over the root of those with each: by so much means of two columns go together less."""
    own = np.sqrt(np.maximum(np.diag(rows), 1.0))
    found: Matrix = rows / np.outer(own, own)
    return found
