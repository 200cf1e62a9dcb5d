"""Tests of what is missing: the rates of all columns, and which are missing together."""

import numpy as np

from gapdrift._typing import Matrix, Vector
from gapdrift.counting.sums import Side
from gapdrift.inference.blocks import Entries, Moments, largest, taper, whitened_sum
from gapdrift.inference.combination import sidak
from gapdrift.inference.counts import mid_p
from gapdrift.inference.products import indicator_products

__all__ = ["patterns", "rate_p_values", "rates_together", "smallest_rate"]


def rate_p_values(sides: tuple[Side, Side]) -> Vector:
    """p-value of the missing rate of each input column: Fisher's exact test, mid-p."""
    before, after = (side.missing for side in sides)
    m, n = (float(side.n_rows) for side in sides)
    # Of a column with more than half of its cells missing the others are looked at: their share changed as theirs did.
    common = before + after > 0.5 * (m + n)
    before, after = np.where(common, m - before, before), np.where(common, n - after, after)
    found = mid_p(before, after, m, n)
    return np.where(before + after > 0.0, found, 1.0)


def smallest_rate(p_values: Vector, sides: tuple[Side, Side]) -> float | None:
    """p-value of the rate that changed most; None where nothing is missing."""
    total = sides[0].missing + sides[1].missing
    tested = (total > 0.0) & (total < sides[0].n_rows + sides[1].n_rows)
    if not tested.any():
        return None
    return sidak(float(p_values[tested].min()), float(tested.sum()))


def _moments_of(sides: tuple[Side, Side]) -> tuple[Vector, Matrix, Vector]:
    """Standardised differences of the rates of `Functions.inputs`, their covariance in a row, and weights."""
    m, n = (float(side.n_rows) for side in sides)
    shares = [np.diag(side.together) / rows for side, rows in zip(sides, (m, n), strict=True)]
    within = [
        side.together - rows * np.outer(share, share) for side, rows, share in zip(sides, (m, n), shares, strict=True)
    ]
    pooled = (m * shares[0] + n * shares[1]) / (m + n)
    covariance = (within[0] + within[1]) / max(m + n - 2.0, 1.0)
    variance = np.maximum(np.diag(covariance), 0.0)
    present = variance > 0.0
    scores = np.where(
        present, (shares[1] - shares[0]) / np.sqrt(np.where(present, variance, 1.0) * (1 / m + 1 / n)), 0.0
    )
    kurtosis = 1.0 / np.maximum(pooled * (1.0 - pooled), 1e-9) - 6.0
    weights = np.where(present, taper(np.full(len(scores), min(m, n)), kurtosis), 0.0)
    return scores, covariance, weights


def rates_together(sides: tuple[Side, Side]) -> Moments | None:
    """Whitened sum of the changes of all rates; None where nothing is missing often enough."""
    scores, covariance, weights = _moments_of(sides)
    used = weights > 0.05
    if not used.any():
        return None
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    correlation = np.clip(covariance / np.outer(deviation, deviation), -1.0, 1.0)
    return whitened_sum(
        scores, np.where(used, weights, 0.0), correlation, float(sides[0].n_rows + sides[1].n_rows), 0.0
    )


def patterns(sides: tuple[Side, Side]) -> float | None:
    """p-value of the pair of columns that are missing together more or less often than before; None without pairs."""
    m, n = (float(side.n_rows) for side in sides)
    shares = [np.diag(side.together) / rows for side, rows in zip(sides, (m, n), strict=True)]
    first, second = np.triu_indices(len(shares[0]), 1)
    pooled = (m * shares[0] + n * shares[1]) / (m + n)
    found = [
        side.together[first, second] / rows - own[first] * own[second]
        for side, rows, own in zip(sides, (m, n), shares, strict=True)
    ]
    variance, kurtosis = indicator_products(pooled[first], pooled[second], (m * found[0] + n * found[1]) / (m + n))
    usual = pooled * (1.0 - pooled)
    present = variance > 1e-12
    kurtosis = np.where(present, kurtosis, 0.0)
    weights = np.where(present, taper(np.full(len(variance), min(m, n)), kurtosis), 0.0)
    scale = 1.0 / m + 1.0 / n
    # About their own means, products vary by noise of second order more.
    noise = variance * scale + usual[first] * usual[second] * (1.0 / m**2 + 1.0 / n**2)
    scores = np.where(present, (found[1] - found[0]) / np.sqrt(np.maximum(noise, 1e-18)), 0.0)
    excess = np.maximum(kurtosis * (1.0 / n**3 + 1.0 / m**3) / scale**2, 0.0)
    return largest(Entries(scores, np.zeros(len(scores)), excess, weights), 1.0)
