"""Correlations of observed cells, and tests of their change: no mean or spread of a single column moves them."""

from typing import NamedTuple

import numpy as np
from scipy.special import erfc

from gapdrift._typing import Indices, Matrix, Vector

__all__ = ["Correlations", "fisher", "observed_correlations"]

CERTAIN = 1.0 - 1e-6
"""Largest correlation: that of copies has no z."""


class Correlations(NamedTuple):
    """Correlations of pairs on one side, and the rows that they rest on."""

    values: Vector
    n_rows: Vector


def observed_correlations(matrix: Matrix, owner: Indices, entries: Indices) -> Correlations:
    """Correlations of two of u and w each, over the rows that have both cells.

    Parameters
    ----------
    matrix : (size, size) array
        Sums of products of u, w and o (`gapdrift.counting.observed`).
    owner : (u and w,) array of int
        Input column behind each of them.
    entries : (pairs, 2) array of int
    """
    (one, two), (of_one, of_two) = entries.T, len(owner) + owner[entries.T]
    n_rows = matrix[of_one, of_two]
    safe = np.maximum(n_rows, 1.0)
    covariance = matrix[one, two] / safe - (matrix[one, of_two] / safe) * (matrix[two, of_one] / safe)
    own = np.arange(len(owner))
    n_own = np.maximum(matrix[len(owner) + owner, len(owner) + owner], 1.0)
    variance = matrix[own, own] / n_own - (matrix[own, len(owner) + owner] / n_own) ** 2
    spread = np.sqrt(np.maximum(variance, 0.0))
    return Correlations(covariance / np.maximum(spread[one] * spread[two], 1e-9), n_rows)


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
