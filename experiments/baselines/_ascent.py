"""The mean-embedding test as the published scripts run it: rows in pairs, gradient ascent from fixed seeds."""

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.stats import chi2, ncx2

from gapdrift._typing import Indices, Matrix

__all__ = ["Locations", "ascend", "paired_statistic", "scripts_rows"]

SPLIT_SEED, START_SEED = 1, 0
LOCATION_STEP, WIDTH_STEP = 1.0, 0.1
STEPS = 200
TOLERANCE = 1e-4
REGULARISATION = 1e-5
"""Settings of the scripts: seeds of the rows and of the first locations; lengths of a step; number of steps, and the
change of the statistic at which they end; regularisation while climbing (the test has none)."""

GRID = 2.0 ** np.linspace(-3.0, 4.0, 30)
"""First squared widths that are tried, in squared medians of the distances."""

SHRUNK_POWER, ADDED_VARIANCE = 0.9, 1e-3
ALPHA = 0.05


class Locations(NamedTuple):
    """Where two samples are compared: (J, columns) points, and the width w of the kernel exp(-d^2 / 2 w^2)."""

    points: Matrix
    width: float


def scripts_rows(n_rows: int, share: float = 0.1) -> Indices:
    """Rows of both samples on which the locations are chosen.

    Examples
    --------
    >>> len(scripts_rows(500))
    50
    """
    return np.sort(np.random.RandomState(SPLIT_SEED).choice(n_rows, int(share * n_rows), replace=False))


def paired_statistic(x: Matrix, y: Matrix, locations: Locations) -> float:
    """Hotelling statistic of the differences of kernel values of pairs of rows: Jitkrittum et al. (2016), Eq. (1).

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> locations = Locations(np.array([[0.0, 0.0], [1.0, 0.0]]), 1.0)
    >>> [round(paired_statistic(rows[:100], rows[100:] + shift, locations)) for shift in (0, 1)]
    [0, 27]
    """
    differences = _kernel(x, locations) - _kernel(y, locations)
    mean = differences.mean(axis=0)
    covariance = np.atleast_2d(np.cov(differences.T))
    try:
        direction = np.linalg.solve(covariance, mean)
    except np.linalg.LinAlgError:
        direction = np.linalg.pinv(covariance) @ mean
    return max(float(len(x) * mean @ direction), 0.0)


def ascend(x: Matrix, y: Matrix, n_locations: int, signs: np.random.Generator | None = None) -> Locations:
    """Locations and width at which the statistic of two samples is large.

    Parameters
    ----------
    x, y : (rows, columns) arrays
        Of as many rows.
    n_locations : int
    signs : numpy.random.Generator or None
        Draws the signs of the axes along which the first points are drawn. None takes those of the linear algebra
        library that numpy was built with, as the scripts did with theirs.

    Notes
    -----
    Points start as draws from a Gaussian fitted to the first sample (half of them, rounded down) and to the second,
    with covariances shrunk to the power 0.9; the width starts at the best of a grid, by the power to three decimals.
    Step t moves all points by 1 / sqrt(t) in all along the gradient, and the width by at most 0.1 / sqrt(t).
    """
    points = _first_points(x, y, n_locations, signs)
    median = float(np.median(pdist(np.vstack([x, y])))) or 1.0
    powers = [_power(x, y, Locations(points, float(np.sqrt(median**2 * scale)))) for scale in GRID]
    width = float(np.sqrt(median**2 * GRID[int(np.argmax(np.round(powers, 3)))]))
    before = np.inf
    for step in range(1, STEPS + 1):
        found, slope = _climb(x, y, Locations(points, width))
        length = float(np.sqrt((slope.points**2).sum()))
        if not length:
            break
        points = points + LOCATION_STEP / np.sqrt(step) / length * slope.points
        width = width + WIDTH_STEP / np.sqrt(step) * float(np.clip(slope.width, -1.0, 1.0))
        if step >= 3 and abs(found - before) <= TOLERANCE:
            break
        before = found
    return Locations(points, abs(width))


def _climb(x: Matrix, y: Matrix, locations: Locations) -> tuple[float, Locations]:
    """Statistic, regularised and with the covariance over n, and its derivatives by points and width."""
    points, width = locations
    kernels = [_kernel(rows, locations) for rows in (x, y)]
    differences = kernels[0] - kernels[1]
    mean = differences.mean(axis=0)
    centred = differences - mean
    covariance = centred.T @ centred / len(x)
    direction = np.linalg.solve(covariance + REGULARISATION * np.eye(len(mean)), mean)
    by_difference = 2.0 * (1.0 - centred @ direction)[:, None] * direction
    slope_points, slope_width = np.zeros_like(points), 0.0
    for rows, kernel, sign in zip((x, y), kernels, (1.0, -1.0), strict=True):
        by_exponent = sign * by_difference * kernel / width**2
        slope_points += by_exponent.T @ rows - by_exponent.sum(axis=0)[:, None] * points
        slope_width += float((by_exponent * cdist(rows, points, "sqeuclidean")).sum()) / width
    return float(len(x) * mean @ direction), Locations(slope_points, slope_width)


def _first_points(x: Matrix, y: Matrix, n_locations: int, signs: np.random.Generator | None) -> Matrix:
    """Draws from a Gaussian fitted to each sample, as numpy's old generator makes them of singular vectors."""
    state = np.random.RandomState(START_SEED)
    numbers = n_locations // 2, n_locations - n_locations // 2
    drawn = []
    for rows, number in zip((x, y), numbers, strict=True):
        _, variances, axes = np.linalg.svd(_shrunk(rows))
        if signs is not None:
            axes = axes * signs.choice([-1.0, 1.0], len(axes))[:, None]
        normal = state.standard_normal((number, rows.shape[1]))
        drawn.append(rows.mean(axis=0) + normal @ (np.sqrt(variances)[:, None] * axes))
    return np.vstack(drawn)


def _shrunk(rows: Matrix) -> Matrix:
    identity = ADDED_VARIANCE * np.eye(rows.shape[1])
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(rows.T)) + identity)
    values = np.where(values > 0, values, ADDED_VARIANCE)
    return np.asarray((vectors * values**SHRUNK_POWER) @ vectors.T + identity)


def _power(x: Matrix, y: Matrix, locations: Locations) -> float:
    """Probability that the test finds a difference as large as that of these samples."""
    freedom = len(locations.points)
    return float(ncx2.sf(chi2.isf(ALPHA, freedom), freedom, paired_statistic(x, y, locations)))


def _kernel(rows: Matrix, locations: Locations) -> Matrix:
    return np.asarray(np.exp(cdist(rows, locations.points, "sqeuclidean") / (-2.0 * locations.width**2)))
