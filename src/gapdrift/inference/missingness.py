"""Tests of what is missing: the rates of all columns, which are missing together, and at which values of others.

By how much changed conditions move the cells that are left is what tests of values adjust for and are guarded against.
"""

from typing import NamedTuple

import numpy as np

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.functions import STEPS
from gapdrift.counting.sums import Side
from gapdrift.inference.blocks import (
    LEAST_IN_SUM,
    Entries,
    EntryShape,
    Moments,
    attenuation,
    inverse_of,
    largest,
    ridge,
    taper,
    whitened_sum,
)
from gapdrift.inference.combination import gamma_tail, sidak
from gapdrift.inference.counts import mid_p
from gapdrift.inference.null import ReferenceNull
from gapdrift.inference.products import indicator_products

__all__ = [
    "Conditions",
    "conditions",
    "patterns",
    "pooled_variance",
    "rate_of_all",
    "rate_p_values",
    "rates_together",
    "smallest_rate",
    "standard_correlation",
]

MIN_WITH = 5.0
"""Rows with both a function and a column below which nothing is said of it."""

RIDGE = 1.0
"""Ridge of the sum of the changes of one column: rows that miss it need not vary as all rows do along directions in
which columns that follow each other differ."""

ROWS_KNOWN = 10.0
"""Rows like all others that are added to those that miss a column: a handful tells no spread."""

MOST_WIDER = 6.0
"""Times by which a function varies more where a column is missing, at most."""


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


def rate_of_all(sides: tuple[Side, Side]) -> float | None:
    """p-value of the number of missing cells of all columns: rates too rare for a sum of squares add up.

    Cells of a row that go missing together count for as many fewer as the variance of their number is larger.
    """
    _, covariance, _ = _moments_of(sides)
    own = float(np.trace(covariance))
    if np.count_nonzero(np.diag(covariance)) < 2:
        return None
    size = own / max(float(covariance.sum()), own)
    before, after = (np.array([size * np.trace(side.together)]) for side in sides)
    m, n = (float(size * len(covariance) * side.n_rows) for side in sides)
    return float(mid_p(before, after, m, n)[0])


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


class Conditions(NamedTuple):
    """Where the rows that have each column lie among all, and how that changed.

    Parameters
    ----------
    shifts : pair of (functions, inputs) arrays
        Mean of a function over the rows that have a column less that over all, on each side, in standard deviations of
        a row.
    moved, moved_by_two : (inputs,) arrays
        By how many standard deviations of a row the rows that have a column moved beyond chance: along functions, and
        along products of two columns.
    changed : (inputs,) array
        From 0, where that is chance, to 1.
    selected : (inputs,) array
        How surely the cells of a column are missing at values of others, on either side: standard deviations.
    single, together : float or None
        p-values of the largest change, and of all changes of one column together.
    """

    shifts: tuple[Matrix, Matrix]
    moved: Vector
    moved_by_two: Vector
    changed: Vector
    selected: Vector
    single: float | None
    together: float | None

    def explained(self, owner: Indices, scale: Vector) -> Vector:
        """Standard deviations that it may explain in differences of this scale: 1/m + 1/n."""
        found: Vector = np.maximum(self.moved, self.moved_by_two)[owner] / np.sqrt(np.maximum(scale, 1e-12))
        return found


def standard_correlation(sides: tuple[Side, Side]) -> Matrix:
    """Correlation of the functions over the rows that have both, of both sides together."""
    m, n = (side.rows for side in sides)
    pooled = (m * sides[0].covariance + n * sides[1].covariance) / np.maximum(m + n, 1.0)
    spread = np.sqrt(np.maximum(np.diag(pooled), 1.0))
    found: Matrix = np.clip(pooled / np.outer(spread, spread), -1.0, 1.0)
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
    The test compares how far the rows that have a column lie from those that miss it, which varies by
    v (1/k + 1/l) with k and l of them. What it explains follows from the shift of those that are left. Where columns
    are few, products of two u are looked at as well: cells may be missing by what two columns are together.
    """
    functions = sides[0].functions
    others = functions.function_owner[:, None] != np.arange(len(functions.inputs))
    places = tuple(_placed(side, null) for side in sides)
    single = _changes(places, null.functions, others, _wider(sides, places))
    first, second = functions.pairs
    pairs = tuple(_pairs_placed(side, null) for side in sides)
    both = _changes(pairs, null.products.at((first, second)), others[first] & others[second], np.ones((1, 1)))
    p_values, _ = _together(single.scores, single.weights, correlation, sides, _excess(null, places))
    _, beyond = _together(single.guarded, single.light, correlation, sides, _excess(null, places))
    typical = (single.factor * single.light).sum(axis=0) / np.maximum(single.light.sum(axis=0), 1e-9)
    surely = np.maximum(single.beyond.max(axis=0, initial=0.0), np.maximum(beyond, 0.0))
    tested = p_values < 1.0
    return Conditions(
        (places[0].shift, places[1].shift),
        np.maximum(
            np.maximum(single.moved, np.sqrt((1.0 + RIDGE) * np.maximum(beyond, 0.0) * typical)),
            _moved_in_common(single, sides),
        ),
        both.moved,
        surely / (1.0 + surely),
        _selected(places, single.light),
        largest(_joined(single.entries, both.entries), null.shares[0]),
        sidak(float(p_values.min()), float(tested.sum())) if tested.any() else None,
    )


class _Placed(NamedTuple):
    """How far the mean of each function over the rows that have a column is from that over all: (functions, inputs).

    Parameters
    ----------
    shift
        In standard deviations of a row.
    with_both, n_rows
        Rows that have both, and that have the function.
    """

    shift: Matrix
    with_both: Matrix
    n_rows: Matrix

    @property
    def lost(self) -> Matrix:
        """Rows that have the function and miss the column."""
        return self.n_rows - self.with_both

    @property
    def factor(self) -> Matrix:
        """Variance of the shift over that of one row."""
        found: Matrix = np.maximum(1.0 / np.maximum(self.with_both, 1.0) - 1.0 / self.n_rows, 0.0)
        return found

    @property
    def apart(self) -> Matrix:
        """How far the rows that have the column are from those that miss it."""
        found: Matrix = self.shift * self.n_rows / np.maximum(self.lost, 1e-9)
        return found


class _Changes(NamedTuple):
    """Changes of how functions are placed beside missing cells: (functions, inputs) arrays.

    Parameters
    ----------
    scores, weights
        Standardised change of how far apart rows are that have and that miss a column, and how well it is known.
    guarded, light
        The same of the shift of the rows that are left, which matters for what is explained.
    factor
        Variance of that shift.
    entries : Entries
        Of the scores.
    """

    scores: Matrix
    weights: Matrix
    guarded: Matrix
    light: Matrix
    factor: Matrix
    entries: Entries

    @property
    def beyond(self) -> Matrix:
        """Squared standardised shifts beyond the largest that chance explains."""
        found: Matrix = np.maximum(self.guarded**2 - 2.0 * np.log(max(float(self.light.sum()), 2.0)), 0.0)
        return found

    @property
    def moved(self) -> Vector:
        """Largest shift beyond chance, in standard deviations of a row: (inputs,)."""
        found: Vector = np.sqrt(self.beyond * self.factor).max(axis=0, initial=0.0)
        return found


def _placed(side: Side, null: ReferenceNull) -> _Placed:
    spread = np.sqrt(np.maximum(null.functions.variance, 1.0))[:, None]
    with_both = side.together[side.functions.function_owner]
    shift = np.where(with_both > 0.0, side.means_with - side.means[:, None], 0.0) / spread
    return _Placed(shift, with_both, np.maximum(side.n_own, 1.0)[:, None])


def _pairs_placed(side: Side, null: ReferenceNull) -> _Placed:
    """The same of products of two u."""
    functions = side.functions
    first, second = functions.pairs
    if not len(first):
        nothing = np.zeros((0, len(functions.inputs)))
        return _Placed(nothing, nothing, nothing)
    own, n_columns = functions.function_owner[first][:, None], len(functions.columns)
    spread = np.sqrt(
        null.functions.variance[first] * null.functions.variance[second] * null.products.variance[first, second]
    )
    sums, with_all = np.split(side.triples[:, n_columns:], 2, axis=1)
    means = sums / np.maximum(with_all, 1.0)
    # Rows with the two columns are those that have one of them besides.
    n_rows = np.maximum(np.take_along_axis(with_all, own, axis=1), 1.0)
    shift = np.where(with_all > 0.0, means - np.take_along_axis(means, own, axis=1), 0.0)
    return _Placed(shift / np.maximum(spread, 1.0)[:, None], with_all, n_rows)


def _changes(places: tuple[_Placed, ...], shape: EntryShape, others: Mask, wider: Matrix) -> _Changes:
    before, after = places
    kurtosis = np.where(np.isfinite(shape.kurtosis), shape.kurtosis, 0.0)[:, None]
    known = others & np.isfinite(shape.kurtosis)[:, None]
    known &= np.minimum(before.with_both, after.with_both) >= MIN_WITH
    telling = 1.0 / (1.0 / np.maximum(before.lost, 1e-9) + 1.0 / np.maximum(after.lost, 1e-9))
    weights = _well_known(known, telling, kurtosis)
    noise = sum(
        (1.0 / np.maximum(each.lost, 1.0) + 1.0 / np.maximum(each.with_both, 1.0) for each in places), np.zeros(1)
    )
    scores = weights * (after.apart - before.apart) / np.sqrt(noise * wider)
    factor = before.factor + after.factor
    light = _well_known(known & (factor > 0.0), np.maximum(before.lost, after.lost), kurtosis)
    guarded = light * (after.shift - before.shift) / np.sqrt(np.maximum(factor, 1e-12))
    heavier = (kurtosis + 1.5 * shape.skewness[:, None] ** 2) / np.maximum(telling, 1.0)
    plain = np.where(weights > 0.0, scores / np.where(weights > 0.0, weights, 1.0), 0.0)
    entries = Entries(plain.ravel(), np.zeros(plain.size), heavier.ravel(), weights.ravel())
    return _Changes(scores, weights, guarded, light, factor, entries)


def _moved_in_common(changes: _Changes, sides: tuple[Side, Side]) -> Vector:
    """Largest shift along functions that select cells of many columns, on average over these: (inputs,).

    None of the columns need show it by itself. The mean square of k standardised shifts, whose columns are missing
    together with the correlation R, is 1 on average and varies by 2 sum R^2 / k^2, as one of k^2 / sum R^2 independent
    ones; its quantiles are those of Wilson and Hilferty.
    """
    taking_part = (changes.light > 0.0).astype(float)
    number = np.maximum(taking_part.sum(axis=1), 1.0)
    mean_square = (changes.guarded**2).sum(axis=1) / number
    together = _missing_together(sides) ** 2
    spread = np.sqrt(2.0 / 9.0 * ((taking_part @ together) * taking_part).sum(axis=1)) / number
    # One standard deviation more than the largest of so many functions is by chance.
    away = np.sqrt(2.0 * np.log(max(len(number), 2))) + 1.0
    beyond = np.maximum(mean_square - (1.0 - spread**2 + away * spread) ** 3, 0.0)
    found: Vector = np.sqrt(beyond[:, None] * changes.factor * taking_part).max(axis=0, initial=0.0)
    return found


def _missing_together(sides: tuple[Side, Side]) -> Matrix:
    """Correlation of being missing of two columns, the stronger one of both sides: (inputs, inputs)."""
    found = []
    for side in sides:
        both = side.together / max(side.n_rows, 1)
        share = np.diag(both)
        spread = np.sqrt(np.maximum(share * (1.0 - share), 0.0))
        scale = np.outer(spread, spread)
        found.append(np.where(scale > 0.0, (both - np.outer(share, share)) / np.where(scale > 0.0, scale, 1.0), 0.0))
    stronger: Matrix = np.where(np.abs(found[0]) > np.abs(found[1]), *found)
    np.fill_diagonal(stronger, 1.0)
    return stronger


def _joined(one: Entries, two: Entries) -> Entries:
    names = ("scores", "skewness", "kurtosis", "weights")
    return Entries(*(np.concatenate([getattr(one, name), getattr(two, name)]) for name in names))


def _excess(null: ReferenceNull, places: tuple[_Placed, ...]) -> Vector:
    """What heavy rows add to the variance of the sum of the changes of each column: (inputs,)."""
    fewest = [np.where(each.lost > 0.0, each.lost, 1e9).min(axis=0, initial=1e9) for each in places]
    one, three = (sum((1.0 / each**power for each in fewest), np.zeros(1)) for power in (1, 3))
    found: Vector = null.location_excess * three / one**2
    return found


def _selected(places: tuple[_Placed, ...], light: Matrix) -> Vector:
    """How surely cells are missing at values of others on either side, in standard deviations: (inputs,)."""
    sure = [np.abs(each.shift) / np.sqrt(np.maximum(each.factor, 1e-12)) * (each.factor > 0.0) for each in places]
    found: Vector = np.where(light > 0.5, np.maximum(*sure), 0.0).max(axis=0, initial=0.0)
    return found


def _well_known(known: Mask, rows: Matrix, kurtosis: Matrix) -> Matrix:
    weights = np.where(known, taper(rows, kurtosis), 0.0)
    return np.where(weights > LEAST_IN_SUM, weights, 0.0)


def _wider(sides: tuple[Side, Side], places: tuple[_Placed, ...]) -> Matrix:
    """How much more each function varies over the rows that miss a column than over all, at least as much.

    Columns that are missing at large values of themselves are missed where others vary more. Of Gaussian numbers of
    variance s^2, 1 - w has the mean exp(-1.125 s^2); of a category of share p the variance is p (1 - p).
    """
    functions = sides[0].functions
    n_columns = len(functions.columns)
    (one, two), (m, n) = sides, (each.n_rows for each in places)
    lost, total = places[0].lost + places[1].lost, m + n
    mean = (one.means[:, None] * m + two.means[:, None] * n) / total
    beyond = one.means_with * places[0].with_both + two.means_with * places[1].with_both
    of_lost = (mean * total - beyond + ROWS_KNOWN * mean) / (lost + ROWS_KNOWN)
    found = np.ones(lost.shape)
    waves = np.arange(n_columns, len(mean))
    spread, usual = (-np.log(np.clip(1.0 - each[waves] / STEPS, 0.02, 0.999)) for each in (of_lost, mean))
    found[functions.numbers] = spread / usual
    low, height = functions.indicators
    flags = np.flatnonzero(np.isfinite(low))
    p, q = (
        np.clip((each[flags] - low[flags, None]) / height[flags, None], 1e-4, 1.0 - 1e-4) for each in (of_lost, mean)
    )
    found[flags] = p * (1.0 - p) / (q * (1.0 - q))
    return np.clip(found, 1.0, MOST_WIDER)


def _together(
    scores: Matrix, weights: Matrix, correlation: Matrix, sides: tuple[Side, Side], excess: Vector
) -> tuple[Vector, Vector]:
    """p-value of all changes of each column together, and by how much their whitened sum is beyond chance."""
    rows = sides[0].rows + sides[1].rows
    used = np.flatnonzero((weights > 0.0).any(axis=1))
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
