"""Test of means: of u and w, adjusted for the cells that are missing at other values than before."""

from typing import NamedTuple

import numpy as np

from gapdrift._typing import Matrix, Vector
from gapdrift.counting.sums import Side
from gapdrift.inference.blocks import Entries, Moments, taper, whitened_sum
from gapdrift.inference.missingness import Conditions
from gapdrift.inference.null import ReferenceNull

__all__ = ["Location", "location"]

RIDGE, RIDGE_PER_COLUMN = 0.02, 1.0

SELECTED = 4.0
"""Standard deviations of a column's own selection up to which others are adjusted by it; beyond, ever less."""

ROWS_KNOWN = 20.0

LEAST_LEFT = 0.05
"""Variance of a function that others leave unexplained, at least."""

GUARD = 0.3
"""Share of what changed conditions may explain that is left after straight lines were taken off.

What two columns select together no straight line takes off.
"""


class Location(NamedTuple):
    """Differences of the means: entries, their whitened sum, and the differences in standard deviations of a row."""

    entries: Entries
    together: Moments
    difference: Vector
    explained: Vector


def location(
    null: ReferenceNull, sides: tuple[Side, Side], correlation: Matrix, changed: Conditions
) -> Location | None:
    """Test of the means of all functions.

    Notes
    -----
    The mean of a function j over the rows that have it is adjusted by the regression estimator of survey sampling,
    mu_j = m_j - sum_k B_jk (M_k|j - m_k), with M_k|j the mean of k over the rows that have both: where cells of j are
    missing at values of k, it estimates the mean over all rows as far as j follows k in a straight line. Under MCAR it
    does so with any B, and varies less.
    """
    functions = sides[0].functions
    owner, kurtosis = functions.function_owner, null.functions.kurtosis
    m, n = (np.maximum(side.n_own, 1.0) for side in sides)
    fewest = np.minimum(np.minimum(m, n), null.functions.n_rows)
    weights = np.where(np.isfinite(kurtosis), taper(fewest, np.where(np.isfinite(kurtosis), kurtosis, 0.0)), 0.0)
    weights = np.where(np.minimum(sides[0].n_own, sides[1].n_own) >= 5.0, weights, 0.0)
    used = np.flatnonzero(weights > 0.05)
    if not len(used):
        return None
    spread = np.sqrt(np.maximum(null.functions.variance, 1.0))
    inverse, slopes = _regression(null, sides, correlation, changed)
    slopes *= changed.changed[owner][:, None]
    adjusted, reduced = [], np.zeros(len(owner))
    for side, shift, rows in zip(sides, changed.shifts, (m, n), strict=True):
        own = slopes * side.rows / (side.rows + ROWS_KNOWN)
        adjusted.append(side.means / spread - (own * shift[:, owner].T).sum(axis=1))
        noisier = correlation * side.rows * side.n_rows / np.outer(rows, rows)
        gained = 2.0 * (own * correlation).sum(axis=1) - ((own @ noisier) * own).sum(axis=1)
        reduced += (1.0 / rows - 1.0 / side.n_rows) * np.minimum(gained, 1.0 - LEAST_LEFT)
    followed = (slopes * correlation).sum(axis=1)
    other = changed.shifts[1] - changed.shifts[0]
    by_slopes = ((inverse @ other) * other).sum(axis=0)[owner] / (m + n)
    left = np.clip(1.0 - followed, LEAST_LEFT, 1.0)
    variance = _pooled_variance(null, sides)
    scale = 1.0 / m + 1.0 / n
    own = variance * (scale - reduced) + left * by_slopes * changed.changed[owner]
    deviation = np.sqrt(np.maximum(own, 1e-12))
    difference = adjusted[1] - adjusted[0]
    covariance = correlation * sum(side.rows / np.outer(rows, rows) for side, rows in zip(sides, (m, n), strict=True))
    covariance *= np.sqrt(np.outer(variance, variance))
    standard = np.clip(covariance / np.outer(deviation, deviation), -1.0, 1.0)
    np.fill_diagonal(standard, 1.0)
    finite = np.where(np.isfinite(kurtosis), kurtosis, 0.0)
    skewness = null.functions.skewness * (1.0 / n**2 - 1.0 / m**2) / scale**1.5
    excess = finite * (1.0 / n**3 + 1.0 / m**3) / scale**2 + 6.0 / np.maximum(m + n - 6.0, 1.0)
    explained = np.maximum(GUARD * changed.moved, changed.moved_by_two)[owner] / deviation
    scores = np.where(weights > 0.0, difference / deviation, 0.0)
    entries = Entries(scores, skewness, np.maximum(excess, 0.0), np.where(weights > 0.05, weights, 0.0))
    n_r, n_w = (float(side.n_rows) for side in sides)
    heavier = (1.0 / n_r**3 + 1.0 / n_w**3) / (1.0 / n_r + 1.0 / n_w) ** 2
    n_known = float(np.mean((sides[0].rows + sides[1].rows)[np.ix_(used, used)]))
    guarded = np.sign(scores) * np.maximum(np.abs(scores) - explained, 0.0)
    together = whitened_sum(
        guarded, entries.weights / (1.0 + explained**2), standard, n_known, null.location_excess * heavier
    )
    return Location(entries, together, difference, explained)


def _pooled_variance(null: ReferenceNull, sides: tuple[Side, Side]) -> Vector:
    """Variance of each function within the sides, over that of the rows of the reference."""
    m, n = (side.n_own for side in sides)
    pooled = (m * np.diag(sides[0].covariance) + n * np.diag(sides[1].covariance)) / np.maximum(m + n - 2.0, 1.0)
    found: Vector = np.maximum(pooled / np.maximum(null.functions.variance, 1.0), 1e-3)
    return found


def _regression(
    null: ReferenceNull, sides: tuple[Side, Side], correlation: Matrix, changed: Conditions
) -> tuple[Matrix, Matrix]:
    """Inverse of the correlation with ridges, and slopes of each function on those of other columns."""
    functions = sides[0].functions
    owner, size = functions.function_owner, len(functions.function_owner)
    rows = sides[0].rows + sides[1].rows
    seen = np.minimum(*(np.maximum(side.n_own, 1.0) / side.n_rows for side in sides))
    lost = 1.0 / seen - 1.0
    selected = (changed.selected[owner] / SELECTED) ** 4 * (lost > 0.0)
    # Columns that are often missing, or selectively, adjust little, and cost as little.
    taking_part = float((1.0 / (1.0 + lost + selected)).sum())
    added = RIDGE + RIDGE_PER_COLUMN * taking_part / max(float(np.median(np.diag(rows))), 1.0) + lost + selected
    added = np.where(np.isfinite(null.functions.kurtosis), added, 1e6)
    known = correlation * (rows / (rows + ROWS_KNOWN))
    np.fill_diagonal(known, 1.0)
    values, vectors = np.linalg.eigh(known + np.diag(np.minimum(added, 1e6)))
    values = np.maximum(values, RIDGE)
    inverse = (vectors / values) @ vectors.T
    slopes = np.zeros((size, size))
    for place in range(len(functions.inputs)):
        mine = np.flatnonzero(owner == place)
        if len(mine):
            slopes[mine] = -np.linalg.solve(inverse[np.ix_(mine, mine)], inverse[mine])
            slopes[np.ix_(mine, mine)] = 0.0
    return inverse, slopes
