"""Whether columns are missing at the same values of others as before, and by how much it moves those that are left."""

from typing import NamedTuple

import numpy as np

from gapdrift._typing import Mask, Matrix, Vector
from gapdrift.counting.functions import STEPS
from gapdrift.counting.sums import Side
from gapdrift.inference.blocks import LEAST_IN_SUM, LEAST_WEIGHT, Entries, inverse_of, largest, ridge, taper
from gapdrift.inference.combination import gamma_tail, sidak
from gapdrift.inference.null import ReferenceNull
from gapdrift.inference.product_sums import attenuation

__all__ = ["Conditions", "conditions", "pooled_variance", "standard_correlation"]

MIN_WITH = 5.0
"""Rows with both a function and a column below which nothing is said of it."""

RIDGE = 1.0
"""Ridge of the sum of the changes of one column: rows that miss it need not vary as all rows do along directions in
which columns that follow each other differ."""

ROWS_KNOWN = 10.0
"""Rows like all others that are added to those that miss a column: a handful tells no spread."""

MOST_WIDER = 6.0
"""Times by which a function varies more where a column is missing, at most."""


class Conditions(NamedTuple):
    """Where the rows that have each column lie among all, and how that changed.

    Parameters
    ----------
    shifts : pair of (functions, inputs) arrays
        Mean of a function over the rows that have a column less that over all, on each side, in standard deviations of
        a row.
    moved : (inputs,) array
        By how many standard deviations of a row the rows that have a column moved beyond chance.
    changed : (inputs,) array
        From 0, where that is chance, to 1.
    selected : (inputs,) array
        How surely the cells of a column are missing at values of others, on either side: standard deviations.
    single, together : float or None
        p-values of the largest change, and of all changes of one column together.
    """

    shifts: tuple[Matrix, Matrix]
    moved: Vector
    changed: Vector
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


def pooled_variance(sides: tuple[Side, Side]) -> Vector:
    """Variance of each function about the common mean of both sides, in squared steps."""
    m, n = (np.maximum(side.n_own, 1.0) for side in sides)
    one, two = (np.diag(side.covariance) for side in sides)
    apart = sides[1].means - sides[0].means
    found: Vector = (m * one + n * two) / (m + n) + m * n / (m + n) ** 2 * apart**2
    return found


def conditions(null: ReferenceNull, sides: tuple[Side, Side], correlation: Matrix) -> Conditions:
    """Conditions of the missing cells of each column, compared between two sides.

    Notes
    -----
    The mean of u or w over the rows that have a column, less that over all rows, is 0 under MCAR, whatever the rates.
    The test compares how far the rows that have a column lie from those that miss it, which varies by v (1/k + 1/l) with
    k and l of them. What it explains follows from the shift of those that are left.
    """
    owner = sides[0].functions.function_owner
    n_inputs = len(sides[0].functions.inputs)
    parts = [_shift(side, null) for side in sides]
    one, two = (1.0 / np.maximum(part.lost, 1.0) + 1.0 / np.maximum(part.with_both, 1.0) for part in parts)
    telling = 1.0 / (1.0 / np.maximum(parts[0].lost, 1e-9) + 1.0 / np.maximum(parts[1].lost, 1e-9))
    finite = np.where(np.isfinite(null.functions.kurtosis), null.functions.kurtosis, 0.0)[:, None]
    known = np.isfinite(null.functions.kurtosis)[:, None] & (owner[:, None] != np.arange(n_inputs))
    known &= np.minimum(parts[0].with_both, parts[1].with_both) >= MIN_WITH
    weights = _well_known(known, telling, finite)
    apart = [part.shift / np.maximum(part.rate, 1e-9) for part in parts]
    wider = _wider(sides, parts)
    scores = np.where(weights > LEAST_WEIGHT, (apart[1] - apart[0]) / np.sqrt((one + two) * wider), 0.0)
    factor = parts[0].factor + parts[1].factor
    guarded = np.where(
        known & (factor > 0.0), (parts[1].shift - parts[0].shift) / np.sqrt(np.maximum(factor, 1e-12)), 0.0
    )
    light = _well_known(known, np.maximum(parts[0].lost, parts[1].lost), finite)
    few = np.maximum(telling, 1.0)
    heavier = (finite + 1.5 * null.functions.skewness[:, None] ** 2) / few
    entries = Entries(scores.ravel(), np.zeros(scores.size), heavier.ravel(), weights.ravel())
    number = max(float(light.sum()), 2.0)
    beyond_one = np.maximum((guarded * light) ** 2 - 2.0 * np.log(number), 0.0)
    single = np.sqrt(beyond_one * factor).max(axis=0, initial=0.0)
    fewest = [np.where(part.lost > 0.0, part.lost, np.inf).min(axis=0, initial=np.inf) for part in parts]
    heavier = null.location_excess * sum(1.0 / np.minimum(each, 1e9) ** 3 for each in fewest)
    heavier = heavier / np.maximum(sum(1.0 / np.minimum(each, 1e9) for each in fewest), 1e-12) ** 2
    p_values, _ = _together(scores * weights, weights, correlation, sides, heavier)
    _, beyond = _together(guarded * light, light, correlation, sides, heavier)
    typical = (factor * light).sum(axis=0) / np.maximum(light.sum(axis=0), 1e-9)
    surely = np.maximum(beyond_one.max(axis=0, initial=0.0), np.maximum(beyond, 0.0))
    tested = p_values < 1.0
    selected = np.zeros(n_inputs)
    for part in parts:
        away = np.where(light > 0.5, np.abs(part.shift) / np.sqrt(np.maximum(part.factor, 1e-12)), 0.0)
        selected = np.maximum(selected, np.where(part.factor > 0.0, away, 0.0).max(axis=0, initial=0.0))
    return Conditions(
        (parts[0].shift, parts[1].shift),
        np.maximum(single, np.sqrt(np.maximum(beyond, 0.0) * typical)),
        surely / (1.0 + surely),
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


def _well_known(known: Mask, rows: Matrix, kurtosis: Matrix) -> Matrix:
    weights = np.where(known, taper(rows, kurtosis), 0.0)
    return np.where(weights > LEAST_IN_SUM, weights, 0.0)


def _wider(sides: tuple[Side, Side], parts: list[_Shift]) -> Matrix:
    """How much more each function varies over the rows that miss a column than over all, at least as much.

    Columns that are missing at large values of themselves are missed where others vary more. Of Gaussian numbers of
    variance s^2, 1 - w has the mean exp(-1.125 s^2); of a category of share p the variance is p (1 - p).
    """
    functions = sides[0].functions
    n_columns = len(functions.columns)
    lost = parts[0].lost + parts[1].lost
    total = sum(part.n_rows for part in parts)
    mean = sum(side.means[:, None] * part.n_rows for side, part in zip(sides, parts, strict=True)) / total
    beyond = sum(side.means_with * part.with_both for side, part in zip(sides, parts, strict=True))
    of_lost = (mean * total - beyond + ROWS_KNOWN * mean) / (lost + ROWS_KNOWN)
    found = np.ones(lost.shape)
    waves = np.arange(n_columns, len(mean))
    spread, usual = (-np.log(np.clip(1.0 - each[waves] / STEPS, 0.02, 0.999)) for each in (of_lost, mean))
    found[functions.numbers] = spread / usual
    low, height = functions.indicators
    two = np.flatnonzero(np.isfinite(low))
    p, q = (np.clip((each[two] - low[two, None]) / height[two, None], 1e-4, 1.0 - 1e-4) for each in (of_lost, mean))
    found[two] = p * (1.0 - p) / (q * (1.0 - q))
    return np.clip(found, 1.0, MOST_WIDER)


def _together(
    scores: Matrix, weights: Matrix, correlation: Matrix, sides: tuple[Side, Side], excess: Vector
) -> tuple[Vector, Vector]:
    """p-value of all changes of each column together, and by how much their whitened sum is beyond chance."""
    rows = sides[0].rows + sides[1].rows
    used = np.flatnonzero((weights > LEAST_WEIGHT).any(axis=1))
    if len(used) < 2:
        return np.ones(scores.shape[1]), np.zeros(scores.shape[1])
    own = (correlation * attenuation(rows))[np.ix_(used, used)]
    np.fill_diagonal(own, 1.0)
    n_known = float(np.mean(rows[np.ix_(used, used)]))
    inverse = inverse_of(own, RIDGE + ridge(len(used), n_known))
    plain = inverse @ own
    left = max(1.0 - float(np.trace(plain)) / max(n_known, 1.0), 0.2)
    z, w = scores[used], weights[used]
    value = (z * (inverse @ z)).sum(axis=0)
    mean = (w * ((inverse * own) @ w)).sum(axis=0) / left
    scale = (w**4).sum(axis=0) / np.maximum((w**2).sum(axis=0), 1e-12)
    share = mean * left / max(float(np.trace(plain)), 1e-9)
    variance = 2.0 * float((plain * plain.T).sum()) * share * scale / left**2
    third = 8.0 * float(((plain @ plain) * plain.T).sum()) * share * scale**2 / left**3
    variance = variance + excess
    tested = mean > 1e-6
    spread = np.sqrt(np.where(tested, variance, 1.0))
    skewness = np.maximum(np.where(tested, third, 0.0) / spread**3, 1e-3)
    found = np.where(tested, gamma_tail((value - mean) / spread, skewness), 1.0)
    return found, np.where(tested, value - mean - 2.0 * spread, 0.0)
