"""The covariance of the statistics of two sides, by what the reference shows and the sums tell."""

import numpy as np
from numpy.typing import NDArray

from gapdrift.counting.bulk._counter import Bulk
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.profile import Profile
from gapdrift.inference.contrast import SMALLEST_VARIANCE
from gapdrift.models.hot_deck import EmpiricalResiduals

__all__ = ["expected_products"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def expected_products(bulk: Bulk, profile: Profile, own: Evidence, window: Evidence) -> tuple[Matrix, Matrix]:
    """Sums of the products of statistics over the rows of both sides, as they would be with one covariance.

    Parameters
    ----------
    bulk : Bulk
    profile : Profile
    own, window : Evidence

    Returns
    -------
    products : pair of (statistics, statistics) arrays
        Of the reference, then of the window.

    Notes
    -----
    Where nothing changed, both sides have one covariance C, up to what their gaps make of it. The covariance S of the
    expected scores follows from sums of both sides; with T = S^1/2 C^-1/2 for these statistics and factors for the
    others, the whole is T C T'. The variances of shares follow from the shares, and expected products vary as much as
    there are pairs of observed cells.
    """
    return _products(bulk, profile, own, own, window), _products(bulk, profile, window, own, window)


def _products(bulk: Bulk, profile: Profile, side: Evidence, own: Evidence, window: Evidence) -> Matrix:
    layout = profile.layout
    mean = side.sums["statistics"] / side.n_rows
    known = np.diag(bulk.covariance)
    variance = _variances(profile, own, side, known)
    present = known > SMALLEST_VARIANCE
    factor = np.where(present, np.sqrt(variance / np.where(present, known, 1.0)), 0.0)
    covariance = bulk.covariance * np.outer(factor, factor)
    np.fill_diagonal(covariance, variance)
    location = _location(bulk, profile, own, window) if profile.direct else _own_location(profile, side)
    turn = _root(location) @ _inverse_root(bulk.covariance[layout.location, layout.location])
    others = slice(layout.location.stop, None)
    crossed = (turn @ bulk.covariance[layout.location, others]) * factor[others]
    covariance[layout.location, layout.location] = location
    covariance[layout.location, others], covariance[others, layout.location] = crossed, crossed.T
    return np.asarray(side.n_rows * (covariance + np.outer(mean, mean)))


def _own_location(profile: Profile, side: Evidence) -> Matrix:
    """Covariance of the expected scores of one side."""
    mean = side.sums["statistics"][profile.layout.location] / side.n_rows
    return np.asarray(side.sums["scatter"] / side.n_rows - np.outer(mean, mean))


def _location(bulk: Bulk, profile: Profile, own: Evidence, window: Evidence) -> Matrix:
    """Covariance of one row that stands for the difference of the mean expected scores.

    Notes
    -----
    With P the inverse of the model's covariance, U the mean conditional covariance of a side's rows, 0 where
    observed, and J = P - P U P what a row tells of the mean, the mean expected score of n window rows is off by
    U_w P e + noise of covariance S_w / n, e the error of the model's mean, and that of the m reference rows by e, as
    far as the model was fitted to them: e has the covariance (m J_r)^-1. The difference then varies by
    S_w / n + (1 - U_w P) (m J_r)^-1 (1 - P U_w), and where only L of the m rows taught the model by
    (1 / L - 1 / m) (U_w - U_r) P J_r^-1 P (U_w - U_r) more. For equal gaps this is S (1 / n + 1 / m).

    A few rows know S_w badly, and quadratic forms take what they lack for drift. The reference says S_r + U_r - U_w:
    what gaps do not hide is seen. Both are taken, by their numbers of rows.
    """
    assert isinstance(profile.residuals, EmpiricalResiduals)
    precision, m, n = profile.residuals.precision, own.n_rows, window.n_rows
    before, after = own.sums["hidden"] / m, window.sums["hidden"] / n
    told = precision - precision @ before @ precision
    error = np.linalg.pinv((told + told.T) / 2.0, rcond=1e-6, hermitian=True)
    share = np.eye(len(precision)) - after @ precision
    moved = (after - before) @ precision
    said = _own_location(profile, own) + before - after
    seen = (n * _own_location(profile, window) + m * _root(said) @ _root(said)) / (n + m)
    total = seen / n + share @ error @ share.T / m
    total += max(1.0 / bulk.n_learned - 1.0 / m, 0.0) * moved @ error @ moved.T
    return np.asarray((total + total.T) / 2.0 / (1.0 / m + 1.0 / n))


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
