"""Whether columns are missing at the same values of others as before, and what it explains where they are not."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from gapdrift._typing import Indices, Mask, Matrix, Stack, Vector
from gapdrift.counting.observed import CrossedSums
from gapdrift.inference.columns import MIN_VALUES
from gapdrift.inference.combination import gamma_tail, sidak_all
from gapdrift.inference.contrast import SMALLEST_VARIANCE
from gapdrift.inference.observed import (
    MIN_COMMON_ROWS,
    ROWS_PER_HEAVINESS,
    CrossedShape,
    Sums,
    crossed_owner,
    product_entries,
)

__all__ = ["UNSEEN_CORRELATION", "Mechanism", "explained_by", "mechanism_test"]

LIGHT = 0.5
"""Excess kurtosis of u and w up to which means of `MIN_VALUES` rows are nearly Gaussian."""

CHANGED = 0.05
"""p-value of a column being missing at the same values as before below which that may explain something."""

BY_CHANCE = 9.0
"""Rows times squared correlation up to which it may be chance: three standard deviations."""

CLEARLY_FEWER = 4.0
"""Standard deviations by which missing cells must be fewer than on the other side to be next to none."""

BEYOND_CORRELATION = 1.5
"""Times the correlation of their functions up to which a column may follow another that selects its cells.

What goes together most closely need be none of these functions; the more so the harder cells are selected: it is so
much for each half standard deviation that the other one moves. And what selects cells need be none of them either: with
a twentieth of the cells missing, logistic curves of a number or of its size correlate with u and w by 0.7. So a column
that follows another perfectly may move by so many times as much as u and w do.
"""

UNSEEN_CORRELATION = 0.4
"""Correlation up to which a column may follow what selects its cells though none of these functions shows it.

Such as a spread that depends on a number by whose size cells are missing, or decimals that are those of another column.
"""

ENOUGH_OTHERS = 10
"""Functions of columns from which on their scatter estimates how much each of them varies by chance."""

MOST_USUAL = 2.0
"""Mean square of standardised differences that others vary by beside missing cells, at most."""

MOST_SCATTER = 3.0
"""Times its own deviation that such a mean square scatters, at most."""

MEDIAN_DEVIATION = 0.6745
"""Median absolute deviation of a normal distribution of variance 1."""

MIN_MISSING = 10
"""Rows that miss a column below which the conditions of its being missing are not tested."""


class Mechanism(NamedTuple):
    """Whether columns are missing at the same values of others on both sides.

    Parameters
    ----------
    p_values : (input columns,) array
    bent : (input columns,) array
        Standard deviations, about, by which what changed may move a column beyond its regression on a straight line.
    moved : (input columns,) array
        By how much the means of others over the rows that have a column moved beyond chance, the largest, in standard
        deviations of one row.
    along : (input columns,) array of int
        Matrix column of that largest one.
    together : float
        p-value of all columns together, 1 where fewer than two are tested.
    in_common : (input columns,) array
        Standard deviations by which what selects cells of many columns moved, on average over these; 0 where nothing
        does.
    of_own : (input columns,) array
        Standard deviations by which all this may move the column's own observed values, as far as they go with what
        selects them.
    """

    p_values: Vector
    bent: Vector
    moved: Vector
    along: Indices
    together: float
    in_common: Vector
    of_own: Vector

    @classmethod
    def unchanged(cls, n_inputs: int) -> "Mechanism":
        """Of columns that are missing at the same values as before."""
        nothing = np.zeros(n_inputs)
        return cls(np.ones(n_inputs), nothing, nothing, np.zeros(n_inputs, dtype=np.intp), 1.0, nothing, nothing)


def mechanism_test(
    crossed: CrossedSums, shape: CrossedShape, reference: Sums, window: Sums, n_rows: tuple[int, int]
) -> Mechanism:
    """Whether each input column is missing at the same values of the others on both sides.

    Parameters
    ----------
    crossed : CrossedSums
    shape : CrossedShape
    reference, window : dict
        Sums of `CrossedSums`.
    n_rows : pair of int
        Of reference and window.

    Notes
    -----
    For u and w of another column, the mean over rows that have this column less the mean over all rows is compared
    between the sides. Under MCAR it is 0 on both, whatever the rates. For each u and w the sum of the squared
    standardised differences over all columns is tested as well. Where columns are few, products of two u are compared
    likewise: cells may be missing by what two columns are together, such as a number in one of two groups.
    """
    size, owner = crossed.n_columns + len(crossed.numbers), crossed_owner(crossed)
    if not size:
        return Mechanism.unchanged(crossed.n_inputs)
    by_two = _by_two(crossed, shape, reference, window)
    one, two = reference["crossed"], window["crossed"]
    few = np.maximum(MIN_MISSING, shape.own_kurtosis * ROWS_PER_HEAVINESS)[:, None]
    # What selects the few cells that a column's distribution is compared by must be seen where that is.
    least = np.where(shape.own_kurtosis <= LIGHT, MIN_VALUES, MIN_COMMON_ROWS)[:, None]
    before, after = (_shifts(crossed, matrix, shape.wider, few, least) for matrix in (one, two))
    total = np.maximum(before.n_rows + after.n_rows, 1.0)
    pooled = (before.variance * before.n_rows + after.variance * after.n_rows) / total
    factor = before.factor + after.factor + _by_number(before, after, few)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = (after.shift - before.shift) / np.sqrt(pooled[:, None] * factor)
    usable = np.isfinite(score) & (owner[:, None] != np.arange(crossed.n_inputs)) & np.isfinite(factor)
    usable &= _tells(before, after, few) & _tells(after, before, few)
    away = np.abs(np.where(usable, score, 0.0))
    tails = np.where(usable, 2.0 * ndtr(-away), 1.0)
    numbers = usable.sum(axis=0)
    p_values = np.where(numbers > 0, sidak_all(tails.min(axis=0), np.maximum(numbers, 1)), 1.0)
    is_tested = by_two.p_values < 1.0
    p_values = np.where(is_tested, sidak_all(np.minimum(p_values, by_two.p_values), 2.0), p_values)
    bent = (away[crossed.n_columns :] * _bend(crossed, one)).max(axis=0, initial=0.0)
    bent = np.maximum(bent, np.where(by_two.p_values < CHANGED, by_two.away, 0.0))
    plain = (np.where(usable, factor, 0.0) * np.maximum(away**2 - 1.0, 0.0))[: crossed.n_columns]
    moved = np.sqrt(plain.max(axis=0, initial=0.0))
    together, common = _in_common(away, usable, _common_missing(size, (one, two), n_rows))
    in_common = common.max(axis=0)
    changed = (p_values < CHANGED) | (in_common > 0.0)
    bent, moved = np.where(changed, bent, 0.0), np.where(changed, moved, 0.0)
    # A mean over rows that have the column, in its own standard deviations instead of those of its shift.
    n_values = (np.diagonal(matrix[size:, size:]) for matrix in (one, two))
    scale = sum(1.0 / np.maximum(number, 1.0) for number in n_values)
    beyond = BEYOND_CORRELATION * (1.0 + 2.0 * away * np.sqrt(np.where(usable, factor, 0.0)))
    related = beyond * _related(crossed, one + two, shape.own_kurtosis)
    related = np.clip(related, UNSEEN_CORRELATION, BEYOND_CORRELATION)
    passed_on = related * np.sqrt(np.where(usable, factor, 0.0) / scale)
    of_own = (np.maximum(common, np.where(_is_changed(p_values), away, 0.0)) * passed_on).max(axis=0)
    # How far a column follows what two others are together is not known: as far as it can.
    by_both = BEYOND_CORRELATION * by_two.passed_on / np.sqrt(scale)
    of_own = np.maximum(of_own, np.where(_is_changed(p_values) & (by_two.p_values < CHANGED), by_both, 0.0))
    along = crossed.columns[plain.argmax(axis=0)]
    return Mechanism(p_values, bent, moved, along, together, in_common, of_own)


def _is_changed(p_values: Vector) -> Mask:
    """Columns whose conditions changed, among all that are tested."""
    tested = max(int((p_values < 1.0).sum()), 1)
    return np.asarray(sidak_all(p_values, tested) < CHANGED)


def _related(crossed: CrossedSums, matrix: Matrix, kurtosis: Vector) -> Matrix:
    """Correlation of each u and w with all u and w of each input column, and its error: (u and w, columns).

    The root of the sum of the squared ones: of a category with many values each follows a number a little only. Rare
    values may go with what is rare in others, which u and w hardly show: the heavier, the larger it is taken.
    """
    size, owner = crossed.n_columns + len(crossed.numbers), crossed_owner(crossed)
    present = matrix[size:, size:]
    counts = np.maximum(present[np.ix_(owner, owner)], 1.0)
    means = matrix[:size, size:][:, owner] / counts
    covariance = matrix[:size, :size] / counts - means * means.T
    n_own = np.maximum(np.diagonal(present)[owner], 1.0)
    variance = np.diagonal(matrix)[:size] / n_own - (matrix[np.arange(size), size + owner] / n_own) ** 2
    spread = np.sqrt(np.maximum(variance, 1e-9))
    correlation = np.abs(covariance) / np.outer(spread, spread) + 1.0 / np.sqrt(counts)
    correlation *= np.sqrt(1.0 + np.clip(kurtosis, 0.0, 1e9) / 3.0)
    found = np.zeros((crossed.n_inputs, size))
    np.add.at(found, owner, correlation.T**2)
    return np.sqrt(found.T)


def _in_common(away: Matrix, usable: Mask, correlation: Matrix) -> tuple[float, Matrix]:
    """p-value of all columns together, and how far each u and w moved that selects cells of many: as ``away``.

    Parameters
    ----------
    away : (u and w, input columns) array
        Absolute standardised differences, 0 where not usable.
    usable : (u and w, input columns) array of bool
    correlation : (input columns, input columns) array
        Of being missing, which is that of the differences of one u or w.

    Notes
    -----
    With R the correlation of k differences, the sum of their squares has the variance 2 tr R^2 and the third central
    moment 8 tr R^3. Where one column selects the cells of many, these are nearly one difference: their mean square is
    as skewed as a single square, far more than its variance suggests.

    Where columns are missing at large values of themselves, others vary more there, and all mean squares are larger
    than 1. So the mean square of one u or w is compared with that of all, and its deviation is at least theirs, where
    there are enough of them. That of all is taken to be 2 at most, and three times their own deviation: where columns
    follow each other closely, all of them move with the one that selects cells, and none of them stands out.
    """
    in_common = np.zeros(away.shape)
    numbers = usable.sum(axis=1)
    tested = np.flatnonzero(numbers > 1)
    if not len(tested):
        return 1.0, in_common
    number, chosen = numbers[tested], usable[tested].astype(float)
    mean_square = (away[tested] ** 2).sum(axis=1) / number
    variance = 2.0 * ((chosen @ correlation**2) * chosen).sum(axis=1)
    third = 8.0 * ((chosen @ (correlation * (correlation @ correlation))) * chosen).sum(axis=1)
    deviation = np.sqrt(variance) / number
    usual = 1.0
    if len(tested) >= ENOUGH_OTHERS:
        usual = float(np.clip(np.median(mean_square), 1.0, MOST_USUAL))
        scatter = float(np.median(np.abs(mean_square - np.median(mean_square)))) / MEDIAN_DEVIATION
        deviation = np.maximum(deviation, np.minimum(scatter, MOST_SCATTER * deviation))
    skewness = np.maximum(third / variance**1.5, 2.0 * deviation / usual)
    p_values = gamma_tail((mean_square - usual) / deviation, skewness)
    adjusted = sidak_all(p_values, len(tested))
    on_average = np.sqrt(np.maximum(mean_square - 1.0, 0.0))
    moved = tested[adjusted < CHANGED]
    least = on_average[adjusted < CHANGED, None]
    in_common[moved] = np.where(usable[moved], np.maximum(away[moved], least), 0.0)
    return float(adjusted.min()), in_common


def _common_missing(size: int, matrices: tuple[Matrix, Matrix], n_rows: tuple[int, int]) -> Matrix:
    """Correlations of being missing, the stronger one of both sides: (input columns, input columns)."""
    found = []
    for matrix, number in zip(matrices, n_rows, strict=True):
        both = matrix[size:, size:] / number
        share = np.diagonal(both)
        variance = share * (1.0 - share)
        scale = np.sqrt(np.outer(variance, variance))
        correlation = (both - np.outer(share, share)) / np.maximum(scale, 1e-6)
        found.append(np.where(scale > 0.0, np.clip(correlation, -1.0, 1.0), 0.0))
    stronger: Matrix = np.where(np.abs(found[0]) > np.abs(found[1]), *found)
    np.fill_diagonal(stronger, 1.0)
    return stronger


def _bend(crossed: CrossedSums, matrix: Matrix) -> Matrix:
    """Correlation of each w with the u of each input column beyond chance, the largest: (numbers, input columns)."""
    n_columns, size = crossed.n_columns, crossed.n_columns + len(crossed.numbers)
    folded, present = size + crossed.owner[crossed.numbers], size + crossed.owner[:n_columns]
    counts = np.maximum(matrix[np.ix_(folded, present)], 1.0)
    w_mean, u_mean = matrix[n_columns:size][:, present] / counts, matrix[:n_columns][:, folded].T / counts
    squares = np.diagonal(matrix)
    rows = np.diagonal(matrix[size:, size:])
    w_square = squares[n_columns:size] / np.maximum(rows[crossed.owner[crossed.numbers]], 1.0)
    u_square = squares[:n_columns] / np.maximum(rows[crossed.owner[:n_columns]], 1.0)
    variances = np.maximum(w_square[:, None] - w_mean**2, 1e-9) * np.maximum(u_square - u_mean**2, 1e-9)
    covariance = matrix[n_columns:size, :n_columns] / counts - w_mean * u_mean
    squared = np.clip(covariance**2 / variances, 0.0, 1.0)
    beyond = np.sqrt(np.maximum(squared - BY_CHANCE / counts, 0.0))
    found = np.zeros((crossed.n_inputs, len(crossed.numbers)))
    np.maximum.at(found, crossed.owner[:n_columns], beyond.T)
    return found.T


class _Shifts(NamedTuple):
    """How far the mean of each u and w over the rows that have an input column is from that over all rows.

    Parameters
    ----------
    shift, factor : (u and w, input columns) arrays
        Its variance is ``factor`` times that of one row.
    lost : (u and w, input columns) array
        Rows that have the one but not the other.
    variance, n_rows : (u and w,) arrays
        Variance in one row, and the rows that have it.
    """

    shift: Matrix
    factor: Matrix
    lost: Matrix
    variance: Vector
    n_rows: Vector


def _tells(own: _Shifts, other: _Shifts, few: Matrix) -> Mask:
    """Whether the missing cells of a side show their conditions: they are many, or next to none beside the other side.

    Few of them would count as missing nowhere, though they are missing where those of the other side are.
    """
    expected = own.n_rows[:, None] * other.lost / np.maximum(other.n_rows, 1.0)[:, None]
    return np.asarray((own.lost >= few) | (own.lost <= expected - CLEARLY_FEWER * np.sqrt(expected)))


def _shifts(crossed: CrossedSums, matrix: Matrix, wider: Stack, few: Matrix, least: Matrix) -> _Shifts:
    """Shifts out of sums of products; none where fewer cells than ``few`` are missing, unknown of fewer than ``least``.

    ``wider`` is that of `CrossedShape`.
    """
    size, owner = crossed.n_columns + len(crossed.numbers), crossed_owner(crossed)
    counts = matrix[size:, size:][owner]
    all_rows = np.diagonal(matrix[size:, size:])[owner]
    with_both = np.maximum(counts, 1.0)
    mean = matrix[np.arange(size), size + owner] / np.maximum(all_rows, 1.0)
    shift = matrix[:size, size:] / with_both - mean[:, None]
    factor = np.where(counts >= least, 1.0 / with_both - 1.0 / np.maximum(all_rows, 1.0)[:, None], np.inf)
    lost = all_rows[:, None] - counts
    # A handful of missing cells selects nothing, and of rare values nothing is known by few more.
    factor = np.where(lost < few, 0.0, factor)
    variance = np.diagonal(matrix)[:size] / np.maximum(all_rows, 1.0) - mean**2
    # With a share q of observed cells, what varies by r times as much where they are missing, and s times as much where
    # they are observed, varies it by (1 - q) s + q r.
    rate = lost / np.maximum(all_rows, 1.0)[:, None]
    where_observed, where_missing = wider
    factor *= rate * where_observed + (1.0 - rate) * where_missing
    return _Shifts(np.where(lost < few, 0.0, shift), factor, lost, variance, all_rows)


def _by_number(before: _Shifts, after: _Shifts, few: Matrix) -> Matrix:
    """What the number of missing cells adds to ``factor``: where they select values, it varies the shift as well.

    How far the values lie apart at which cells are missing is taken from both sides together: it is the same on both
    where nothing changed. Taken from each by itself, a shift would excuse itself.
    """
    sides = before, after
    rates = [side.lost / np.maximum(side.n_rows, 1.0)[:, None] for side in sides]
    weights = [np.where(side.lost < few, 0.0, side.lost) for side in sides]
    away = [side.shift / np.maximum(rate, 1e-9) for side, rate in zip(sides, rates, strict=True)]
    common = (away[0] * weights[0] + away[1] * weights[1]) / np.maximum(weights[0] + weights[1], 1.0)
    more = [
        np.where(weight > 0.0, rate * (1.0 - rate), 0.0) / np.maximum(side.n_rows * side.variance, 1e-9)[:, None]
        for side, rate, weight in zip(sides, rates, weights, strict=True)
    ]
    return np.asarray(common**2 * (more[0] + more[1]))


class _ByTwo(NamedTuple):
    """Whether columns are missing at the same values of two others together: (input columns,) arrays.

    Parameters
    ----------
    p_values
        1 where nothing is tested.
    away
        Largest standardised difference.
    passed_on
        The same over the standard deviation of one row, the largest.
    """

    p_values: Vector
    away: Vector
    passed_on: Vector


def _by_two(crossed: CrossedSums, shape: CrossedShape, reference: Sums, window: Sums) -> _ByTwo:
    first, second = crossed.joint
    if not len(first):
        nothing = np.zeros(crossed.n_inputs)
        return _ByTwo(np.ones(crossed.n_inputs), nothing, nothing)
    size = crossed.n_columns + len(crossed.numbers)
    place_of = np.zeros((size, size), dtype=np.intp)
    entries = product_entries(crossed)
    place_of[entries] = np.arange(len(entries[0]))
    own = place_of[first, second]
    variance, kurtosis = shape.variance[own], shape.kurtosis[own]
    few = np.maximum(MIN_MISSING, kurtosis * ROWS_PER_HEAVINESS)[:, None]
    before, after = (_shifts_of_two(crossed, side, (variance, shape.wider), few) for side in (reference, window))
    factor = before.factor + after.factor + _by_number(before, after, few)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = (after.shift - before.shift) / np.sqrt(variance[:, None] * factor)
    columns = np.arange(crossed.n_inputs)
    usable = np.isfinite(score) & np.isfinite(factor) & (variance > SMALLEST_VARIANCE)[:, None]
    usable &= (crossed.owner[first][:, None] != columns) & (crossed.owner[second][:, None] != columns)
    usable &= _tells(before, after, few) & _tells(after, before, few)
    away = np.abs(np.where(usable, score, 0.0))
    numbers = usable.sum(axis=0)
    smallest = 2.0 * ndtr(-away.max(axis=0))
    p_values = np.where(numbers > 0, sidak_all(smallest, np.maximum(numbers, 1)), 1.0)
    passed_on = (away * np.sqrt(np.where(usable, factor, 0.0))).max(axis=0)
    return _ByTwo(p_values, away.max(axis=0), passed_on)


def _shifts_of_two(crossed: CrossedSums, sums: Sums, shape: tuple[Vector, Stack], few: Matrix) -> _Shifts:
    """As `_shifts`, of products of two u, with their variance in one row and ``wider``."""
    size = crossed.n_columns + len(crossed.numbers)
    matrix, (joint, counts) = sums["crossed"], sums["joint"]
    first, second = crossed.joint
    all_rows = matrix[size + crossed.owner[first], size + crossed.owner[second]]
    with_all = np.maximum(counts, 1.0)
    shift = joint / with_all - (matrix[first, second] / np.maximum(all_rows, 1.0))[:, None]
    known = 1.0 / with_all - 1.0 / np.maximum(all_rows, 1.0)[:, None]
    factor = np.where(counts >= MIN_COMMON_ROWS, known, np.inf)
    lost = all_rows[:, None] - counts
    factor = np.where(lost < few, 0.0, factor)
    rate = lost / np.maximum(all_rows, 1.0)[:, None]
    variance, wider = shape
    where_observed, where_missing = wider[:, first] * wider[:, second]
    factor *= rate * where_observed + (1.0 - rate) * where_missing
    return _Shifts(np.where(lost < few, 0.0, shift), factor, lost, variance, all_rows)


def explained_by(mechanism: Mechanism) -> Vector:
    """Standard deviations that changed conditions of missing values may explain: (input columns,).

    What selects the observed cells of a column moves their statistics by no more standard deviations than it moves
    itself, where dependence is perfect. Conditions that differ by chance explain nothing; of many columns some do.
    Where many columns are missing at other values of the same one than before, none of them need show it by itself:
    then each is taken to be moved by as much as they are on average.
    """
    p_values = mechanism.p_values
    own = np.where(_is_changed(p_values), -ndtri(np.maximum(p_values, 1e-300) / 2.0), 0.0)
    return np.maximum(own, mechanism.in_common)
