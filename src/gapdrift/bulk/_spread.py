"""The covariance of a window's statistics, by what the reference shows and the window's own sums tell."""

import numpy as np
from numpy.typing import NDArray

from gapdrift.bulk._counter import Bulk
from gapdrift.contrast import SMALLEST_VARIANCE
from gapdrift.evidence import Evidence
from gapdrift.profile import Profile

__all__ = ["expected_products"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def expected_products(bulk: Bulk, profile: Profile, own: Evidence, side: Evidence) -> Matrix:
    """Sum of the products of statistics over rows, as they would be with the correlations of the reference.

    Parameters
    ----------
    bulk : Bulk
    profile : Profile
    own : Evidence
        Of the reference.
    side : Evidence
        Of the rows in question: of a window, or of the reference itself.

    Returns
    -------
    products : (statistics, statistics) array

    Notes
    -----
    Where nothing changed, window and reference have one covariance C, up to what their gaps make of it: the gaps of a
    row take away what its expected scores could differ by. The covariance of the expected scores is therefore the
    rows' own, S; with T = S^1/2 C^-1/2 for these statistics and factors for the others, the whole is T C T'. The
    variances of shares follow from the shares, and expected products vary as much as there are pairs of observed cells.
    """
    layout = profile.layout
    known = np.diag(bulk.covariance)
    mean = side.sums["statistics"] / side.n_rows
    location = side.sums["scatter"] / side.n_rows - np.outer(mean[layout.location], mean[layout.location])
    variance = _variances(profile, own, side, known)
    present = known > SMALLEST_VARIANCE
    factor = np.where(present, np.sqrt(variance / np.where(present, known, 1.0)), 0.0)
    covariance = bulk.covariance * np.outer(factor, factor)
    np.fill_diagonal(covariance, variance)
    before = bulk.covariance[layout.location, layout.location]
    turn = _root(location) @ _inverse_root(before)
    others = slice(layout.location.stop, None)
    crossed = (turn @ bulk.covariance[layout.location, others]) * factor[others]
    covariance[layout.location, layout.location] = location
    covariance[layout.location, others], covariance[others, layout.location] = crossed, crossed.T
    return np.asarray(side.n_rows * (covariance + np.outer(mean, mean)))


def _variances(profile: Profile, own: Evidence, side: Evidence, known: Vector) -> Vector:
    layout = profile.layout
    mean, base = (part.sums["statistics"] / part.n_rows for part in (side, own))
    variance = known.copy()
    variance[layout.bins] = np.clip(mean[layout.bins] * (1.0 - mean[layout.bins]), 0.0, None)
    # Rates and common gaps; the last entry is the squared number of gaps.
    shares = slice(layout.rates.start, layout.patterns.stop - 1)
    variance[shares] = np.clip(mean[shares] * (1.0 - mean[shares]), 0.0, None)
    if profile.direct:
        first, second = profile.owner[profile.products]
        observed = [1.0 - part[layout.rates] for part in (base, mean)]
        pairs = [np.maximum(np.where(first == second, one[first], one[first] * one[second]), 1e-6) for one in observed]
        variance[layout.dependence] *= pairs[1] / pairs[0]
    return variance


def _root(matrix: Matrix) -> Matrix:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T)


def _inverse_root(matrix: Matrix) -> Matrix:
    """Inverse of the root, 0 where the matrix has nothing."""
    values, vectors = np.linalg.eigh(matrix)
    present = values > SMALLEST_VARIANCE
    inverse = np.where(present, 1.0 / np.sqrt(np.where(present, values, 1.0)), 0.0)
    return np.asarray((vectors * inverse) @ vectors.T)
