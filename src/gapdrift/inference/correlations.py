"""Correlations of observed cells, and tests of their change: no mean or spread of a single column moves them."""

from typing import NamedTuple

import numpy as np
from scipy.special import erfc

from gapdrift._typing import Indices, Vector
from gapdrift.counting.sums import Side

__all__ = ["Correlations", "correlations", "fisher"]

CERTAIN = 1.0 - 1e-6
"""Largest correlation: that of copies has no z."""


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
