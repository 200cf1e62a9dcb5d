"""Whether columns are missing at the same values of others as before, and by how much it moves those that are left."""

from typing import NamedTuple

import numpy as np

from gapdrift._typing import Matrix, Vector
from gapdrift.inference.combination import gamma_tail, sidak
from gapdrift.observed.blocks import LEAST_WEIGHT, Entries, inverse_of, largest, ridge, taper
from gapdrift.observed.null import ReferenceNull
from gapdrift.observed.products import attenuation
from gapdrift.observed.sums import Side

__all__ = ["Conditions", "conditions", "standard_correlation"]

MIN_WITH = 5.0
"""Rows with both a function and a column below which nothing is said of it."""


class Conditions(NamedTuple):
    """Where the rows that have each column lie among all, and how that changed.

    Parameters
    ----------
    shifts : pair of (functions, inputs) arrays
        Mean of a function over the rows that have a column less that over all, on each side, in standard deviations of
        a row.
    moved : (inputs,) array
        By how many standard deviations of a row the rows that have a column moved beyond chance.
    selected : (inputs,) array
        How surely the cells of a column are missing at values of others, on either side: standard deviations.
    single, together : float or None
        p-values of the largest change, and of all changes of one column together.
    """

    shifts: tuple[Matrix, Matrix]
    moved: Vector
    selected: Vector
    single: float | None
    together: float | None

    def explained(self, owner: object, scale: Vector) -> Vector:
        """Standard deviations that it may explain in differences of this scale: 1/m + 1/n."""
        found: Vector = self.moved[owner] / np.sqrt(np.maximum(scale, 1e-12))
        return found


def standard_correlation(null: ReferenceNull, sides: tuple[Side, Side]) -> Matrix:
    """Correlation of the functions over the rows that have both, of both sides together."""
    m, n = (side.rows for side in sides)
    pooled = (m * sides[0].covariance + n * sides[1].covariance) / np.maximum(m + n, 1.0)
    spread = np.sqrt(np.maximum(np.diag(pooled), 1.0))
    found = np.clip(pooled / np.outer(spread, spread), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def conditions(null: ReferenceNull, sides: tuple[Side, Side], correlation: Matrix) -> Conditions:
    """Conditions of the missing cells of each column, compared between two sides.

    Notes
    -----
    The mean of u or w over the rows that have a column, less that over all rows, is 0 under MCAR, whatever the rates.
    It varies by (1/k - 1/n) v with k of n rows; and, where missing cells select values that lie d apart, by
    q (1 - q) d^2 / n more, since their number varies.
    """
    owner = sides[0].functions.function_owner
    n_inputs = len(sides[0].functions.inputs)
    parts = [_shift(side, null) for side in sides]
    lost = [np.where(part.factor > 0.0, part.lost, 0.0) for part in parts]
    apart = sum(part.shift / np.maximum(part.rate, 1e-9) * each for part, each in zip(parts, lost, strict=True))
    apart = apart / np.maximum(lost[0] + lost[1], 1.0)
    factors = [part.factor + apart**2 * part.rate * (1.0 - part.rate) / part.n_rows for part in parts]
    factor = factors[0] + factors[1]
    finite = np.where(np.isfinite(null.functions.kurtosis), null.functions.kurtosis, 0.0)[:, None]
    telling = (factors[0] * parts[0].lost + factors[1] * parts[1].lost) / np.maximum(factor, 1e-12)
    known = np.isfinite(null.functions.kurtosis)[:, None] & (owner[:, None] != np.arange(n_inputs)) & (factor > 0.0)
    known &= np.minimum(parts[0].with_both, parts[1].with_both) >= MIN_WITH
    weights = np.where(known, taper(telling, finite), 0.0)
    safe = np.maximum(factor, 1e-12)
    scores = np.where(weights > LEAST_WEIGHT, (parts[1].shift - parts[0].shift) / np.sqrt(safe), 0.0)
    few = np.maximum(telling, 1.0)
    heavier = (finite + 1.5 * null.functions.skewness[:, None] ** 2) / few
    entries = Entries(scores.ravel(), np.zeros(scores.size), heavier.ravel(), weights.ravel())
    number = max(float(weights.sum()), 2.0)
    single = np.sqrt(np.maximum(scores**2 * (weights > 0.5) - 2.0 * np.log(number), 0.0) * factor).max(axis=0, initial=0.0)
    p_values, beyond = _together(scores * weights, weights, correlation, sides)
    typical = np.where(weights > LEAST_WEIGHT, factor, 0.0).sum(axis=0) / np.maximum((weights > LEAST_WEIGHT).sum(axis=0), 1)
    tested = p_values < 1.0
    selected = np.zeros(n_inputs)
    for part in parts:
        away = np.where(weights > 0.5, np.abs(part.shift) / np.sqrt(np.maximum(part.factor, 1e-12)), 0.0)
        selected = np.maximum(selected, np.where(part.factor > 0.0, away, 0.0).max(axis=0, initial=0.0))
    return Conditions(
        (parts[0].shift, parts[1].shift),
        np.maximum(single, np.sqrt(np.maximum(beyond, 0.0) * typical)),
        selected,
        largest(entries, null.shares[0]),
        sidak(float(p_values.min()), float(tested.sum())) if tested.any() else None,
    )


class _Shift(NamedTuple):
    shift: Matrix
    factor: Matrix
    lost: Matrix
    rate: Matrix
    with_both: Matrix
    n_rows: Matrix


def _shift(side: Side, null: ReferenceNull) -> _Shift:
    spread = np.sqrt(np.maximum(null.functions.variance, 1.0))[:, None]
    with_both = side.together[side.functions.function_owner]
    n_rows = np.maximum(side.n_own, 1.0)[:, None]
    lost = n_rows - with_both
    shift = np.where(with_both > 0.0, side.means_with - side.means[:, None], 0.0) / spread
    factor = 1.0 / np.maximum(with_both, 1.0) - 1.0 / n_rows
    return _Shift(shift, np.maximum(factor, 0.0), lost, lost / n_rows, with_both, n_rows)


def _together(scores: Matrix, weights: Matrix, correlation: Matrix, sides: tuple[Side, Side]) -> tuple[Vector, Vector]:
    """p-value of all changes of each column together, and by how much their whitened sum is beyond chance."""
    rows = sides[0].rows + sides[1].rows
    used = np.flatnonzero((weights > LEAST_WEIGHT).any(axis=1))
    if len(used) < 2:
        return np.ones(scores.shape[1]), np.zeros(scores.shape[1])
    own = (correlation * attenuation(rows))[np.ix_(used, used)]
    np.fill_diagonal(own, 1.0)
    n_known = float(np.mean(rows[np.ix_(used, used)]))
    inverse = inverse_of(own, ridge(len(used), n_known))
    plain = inverse @ own
    left = max(1.0 - float(np.trace(plain)) / max(n_known, 1.0), 0.2)
    z, w = scores[used], weights[used]
    value = (z * (inverse @ z)).sum(axis=0)
    mean = (w * ((inverse * own) @ w)).sum(axis=0) / left
    share = mean * left / max(float(np.trace(plain)), 1e-9)
    variance = 2.0 * float((plain * plain.T).sum()) * share / left**2
    third = 8.0 * float(((plain @ plain) * plain.T).sum()) * share / left**3
    tested = mean > 1e-6
    spread = np.sqrt(np.where(tested, variance, 1.0))
    skewness = np.maximum(np.where(tested, third, 0.0) / spread**3, 1e-3)
    found = np.where(tested, gamma_tail((value - mean) / spread, skewness), 1.0)
    return found, np.where(tested, value - mean - 2.0 * spread, 0.0)
