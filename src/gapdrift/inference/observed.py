"""Tests of observed cells alone: the distribution of each column, and how columns go together.

They hold, whatever the data are like, as long as cells are missing completely at random on both sides, at whatever
rates, or under the same conditions on both. Where the conditions changed, as `gapdrift.inference.mechanism` tests, what
that may explain is taken off (`less_surely`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, chdtrc, ndtr, ndtri

from gapdrift._typing import Indices, Mask, Matrix, Stack, Vector
from gapdrift.counting.observed import STEPS, TRIPLE_REACH, CrossedSums
from gapdrift.inference.combination import sidak
from gapdrift.inference.contrast import MAX_KURTOSIS, MAX_SKEWNESS, tail_p_values
from gapdrift.inference.correlations import fisher, observed_correlations
from gapdrift.inference.null import SMALLEST_EIGENVALUE, shape_of
from gapdrift.persistence.records import INFINITE, expect, expect_shape, stored
from gapdrift.tables.histograms import HistogramAxis

__all__ = [
    "MIN_CELL",
    "MIN_COMMON_ROWS",
    "MIN_VALUES",
    "ROWS_PER_HEAVINESS",
    "ColumnTest",
    "CrossedShape",
    "CrossedTest",
    "column_tests",
    "crossed_owner",
    "crossed_test",
    "describe_crossed",
    "less_surely",
    "merge_cells",
    "product_entries",
    "ring_products",
    "wave_features",
]

WAVES = np.arange(1.0, 7.0)
"""Half waves of the cosines that a column's distribution is compared by (Neyman's smooth test)."""

MIN_CELL = 5.0
"""Expected values of a cell on the smaller side, at least."""

MIN_VALUES = 5
"""Observed values of a column on either side below which it is not tested."""

MIN_COMMON_ROWS = 20
"""Rows with both cells of a product on either side below which it is not tested."""

ROWS_PER_HEAVINESS = 25.0
"""Rows for each unit of the excess kurtosis of a product, or of a cell, below which its variance is not known."""

ROWS_KNOWN = 10.0
"""Rows like all others, added to those that have a column, or miss it, to estimate the variance of others there."""

FLAT = 0.05
"""Variance of a product over that of one of independent factors below which it is not tested.

Such as that of two copies of a column with two values: it hardly varies, so that noise of second order would rule it.
"""

CELLS = np.log([2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0])
"""Logarithms of numbers of cells for which it is known how many independent tests those of a column are worth."""

TESTS_OF_NUMBERS = np.array([1.0, 1.58, 1.91, 2.17, 2.33, 2.63, 2.97, 3.12, 3.28, 3.36, 3.45, 3.52, 3.57])
"""Independent tests that the four tests of a number are worth.

The mean over shares of the cells, all equal or one of them 0.34, 0.66 and 0.9: these are within a tenth of it.
"""

TESTS_OF_CATEGORIES = np.array([1.0, 1.04, 1.24, 1.33, 1.42, 1.5, 1.61, 1.66, 1.73, 1.76, 1.83, 1.85, 1.87])
"""Independent tests that the two tests of a category are worth, likewise."""

Sums = Mapping[str, NDArray[np.float64]]


class ColumnTest(NamedTuple):
    """Test of the observed values of one column.

    Parameters
    ----------
    p_value : float
    effect_size : float
        Numbers: difference of the means of normal scores of the reference, or of their standard deviations, whichever
        is larger. Categories: the share of values that would have to change.
    of_cells : float or None
        p-value of the cells alone, which counts in a sum over columns: the share of the outermost values, which hardly
        ever show anything, would be missing in the sum over many columns. None where all values fall into one merged
        cell.
    can_alarm : bool, default True
        Whether anything is compared. Otherwise the p-value is 1, and the column takes no part in tests of all columns:
        counted as a test, it would take false alarms from the others that it cannot spend.
    """

    p_value: float
    effect_size: float
    of_cells: float | None
    can_alarm: bool = True


@stored
@dataclass(frozen=True, eq=False)
class CrossedShape:
    """How products of observed cells are distributed in the reference.

    Parameters
    ----------
    variance, skewness, kurtosis : (entries,) arrays
        In the order of `product_entries`, then those of triples, then those of rings: cosines, then sines. The kurtosis
        is infinite where too few rows estimate the variance.
    n_rows : (entries,) array
        Rows of the reference that they are estimated from: no more than were looked at one by one.
    own_kurtosis : (columns and numbers,) array
        Of each u and w.
    wider : (2, columns and numbers, input columns) array
        How much more each u and w varies in rows that have an input column, and in rows that miss it, than in all rows;
        at least 1. Where columns are missing at large values of themselves, others that depend on them vary more there.
    """

    variance: Vector
    skewness: Vector
    kurtosis: Annotated[Vector, INFINITE]
    n_rows: Vector
    own_kurtosis: Annotated[Vector, INFINITE]
    wider: Stack

    def check_stored(self) -> None:
        """Check what was read from a file: as many of each."""
        size = len(np.atleast_1d(self.variance))
        for name in ("variance", "skewness", "kurtosis", "n_rows"):
            expect_shape(getattr(self, name), (size,), name)
        expect(bool(np.all(self.variance >= 0.0)), "variances from 0")
        expect(bool(np.all(self.n_rows >= 1.0)), "numbers of rows from 1")
        expect_shape(self.own_kurtosis, (-1,), "own kurtosis")
        expect_shape(self.wider, (2, len(self.own_kurtosis), -1), "variances beside missing cells")
        expect(bool(np.all(self.wider >= 1.0)), "variances beside missing cells from 1")

    def check_fits(self, crossed: CrossedSums) -> None:
        """Check that what was read from a file is about these products."""
        n_entries = len(product_entries(crossed)[0]) + len(crossed.triples[0]) + 2 * len(crossed.rings[0])
        expect_shape(self.variance, (n_entries,), "the variance of the products")
        expect_shape(self.own_kurtosis, (len(crossed_owner(crossed)),), "own kurtosis")
        expect_shape(self.wider, (2, len(self.own_kurtosis), crossed.n_inputs), "variances beside missing cells")


class CrossedTest(NamedTuple):
    """Test of the products of observed cells.

    Parameters
    ----------
    p_values : (entries,) array
    usable : (entries,) array of bool
    effects : (entries,) array
        In products of standard deviations.
    columns : (entries, 3) array of int
        Input columns of each entry, one of them twice where there are two.
    is_plain : (entries,) array of bool
        Plain products of two scores, of which dependence is made up as well.
    relation : (entries,) array
        p-values of the relation of the columns: of plain products the larger one of that of the product and that of
        their correlation, which no mean or spread of a single column moves. Of the others as they are.
    """

    p_values: Vector
    usable: Mask
    effects: Vector
    columns: Indices
    is_plain: Mask
    relation: Vector


def column_tests(
    axes: tuple[HistogramAxis, ...], counts: Sequence[tuple[Vector, Vector]], explained: Vector
) -> list[ColumnTest | None]:
    """Test of each input column by the counts of its cells; None where too little is observed.

    Parameters
    ----------
    axes : tuple of HistogramAxis
    counts : sequence of (array, array)
        Of the cells of each column in the reference and in the window.
    explained : (input columns,) array
        Standard deviations that are explained otherwise: `Mechanism.of_own`.
    """
    found = []
    for axis, (before, after), away in zip(axes, counts, explained, strict=True):
        enough = min(before.sum(), after.sum()) >= MIN_VALUES and np.count_nonzero(before + after) > 1
        found.append(_column_test(axis, before, after, away) if enough else None)
    return found


def _column_test(axis: HistogramAxis, before: Vector, after: Vector, explained: float) -> ColumnTest:
    m, n = before.sum(), after.sum()
    is_number = bool(axis.edges)
    often, least = MIN_CELL * (m + n) / min(m, n), MIN_CELL
    merged = merge_cells(before + after, often, ordered=is_number)
    cells = [np.bincount(merged, counts).astype(float) for counts in (before, after)]
    p_values = [*(_smooth(*cells) if is_number else ()), _pearson(*cells)]
    if not is_number:
        merged = merge_cells(before + after, least, ordered=False)
        cells = [np.bincount(merged, counts).astype(float) for counts in (before, after)]
    n_cells, effect = int(np.count_nonzero(cells[0] + cells[1])), _column_effect(axis, before / m, after / n)
    if n_cells < 2:
        return ColumnTest(1.0, effect, None, can_alarm=False)
    p_values.append(_largest_cell(*cells))
    smallest = float(less_surely(np.array([min(p_values)]), explained)[0])
    p_value = sidak(smallest, _effective_tests(n_cells, is_number=is_number))
    return ColumnTest(p_value, effect, p_value)


def _effective_tests(n_cells: int, *, is_number: bool) -> float:
    """Independent tests that those of a column with so many cells are worth.

    The fewer the cells, the more its tests are alike; with two they are the same.
    """
    return float(np.interp(np.log(n_cells), CELLS, TESTS_OF_NUMBERS if is_number else TESTS_OF_CATEGORIES))


def merge_cells(counts: Vector, least: float, *, ordered: bool) -> Indices:
    """Group of each cell, so that each group has enough; cells that have an order are merged from the left.

    Others are merged with all that have too little, and with the next larger one where these have too little together.

    Examples
    --------
    >>> merge_cells(np.array([9.0, 1.0, 1.0, 9.0, 1.0]), 5.0, ordered=True)
    array([0, 1, 1, 1, 1])
    """
    if not ordered:
        rare = counts < least
        if 0.0 < counts[rare].sum() < least and not rare.all():
            rare[np.where(rare, np.inf, counts).argmin()] = True
        groups = np.where(rare, 0, np.cumsum(~rare))
        return np.unique(groups, return_inverse=True)[1].astype(np.intp)
    groups, current, total = np.empty(len(counts), dtype=np.intp), 0, 0.0
    for place, count in enumerate(counts.tolist()):
        if total >= least and (count >= least or counts[place:].sum() >= least):
            current, total = current + 1, 0.0
        groups[place] = current
        total += count
    return groups


def _largest_cell(before: Vector, after: Vector) -> float:
    """p-value of the cell whose share changed most: hypergeometric (Fisher's exact test), for the number of cells.

    Half of the probability of the counts themselves is left out (mid-p): with counts as small as these, the whole would
    have half its nominal level.
    """
    m, n, n_cells = before.sum(), after.sum(), int(np.count_nonzero(before + after))
    # Of a cell with more than half of the values the others are looked at: its share changed as theirs did.
    common = before + after > 0.5 * (m + n)
    before, after = np.where(common, m - before, before), np.where(common, n - after, after)
    # Both tails, with the counts themselves and without them.
    tails = [
        0.5 * (_at_least(count, count + other, size, m + n) + _at_least(count + 1.0, count + other, size, m + n))
        for count, other, size in ((after, before, n), (before, after, m))
    ]
    p_values = np.minimum(2.0 * np.minimum(*tails), 1.0)
    return sidak(float(p_values.min()), n_cells)


def _at_least(count: Vector, total: Vector, size: float, n_all: float) -> Vector:
    """Probability that at least ``count`` of the ``total`` values of a cell are among ``size`` out of ``n_all`` values.

    By Wise's approximation of the hypergeometric distribution by a binomial one, which errs on the safe side.
    """
    trials, others = np.minimum(total, size), np.maximum(total, size)
    share = np.clip((others - 0.5 * (count - 1.0)) / (n_all - 0.5 * (trials - 1.0)), 0.0, 1.0)
    tail = betainc(np.maximum(count, 1.0), np.maximum(trials - count, 0.0) + 1.0, share)
    return np.where(count > trials, 0.0, np.where(count > 0.0, tail, 1.0))


def _pearson(before: Vector, after: Vector) -> float:
    total = before + after
    # The group of rare values of a category is empty where all are frequent.
    n_cells = int(np.count_nonzero(total))
    if n_cells < 2:
        return 1.0
    m, n = before.sum(), after.sum()
    share = np.where(total > 0, total, 1.0) / (m + n)
    statistic = ((after / n - before / m) ** 2 / share).sum() / (1.0 / m + 1.0 / n)
    return float(chdtrc(n_cells - 1, statistic))


def _smooth(before: Vector, after: Vector) -> list[float]:
    """p-values of the mean of normal scores of the common ranks, and of several cosines of them together (Neyman)."""
    if len(before) < 2:
        return [1.0, 1.0]
    m, n, total = before.sum(), after.sum(), before + after
    features, whitening = wave_features(total / (m + n))
    difference = features @ (after / n - before / m)
    statistic = ((difference[1:] @ whitening) ** 2).sum()
    scale = 1.0 / m + 1.0 / n
    return [float(chdtrc(1, difference[0] ** 2 / scale)), float(chdtrc(whitening.shape[1], statistic / scale))]


def wave_features(share: Vector) -> tuple[Matrix, Matrix]:
    """Features of cells with these shares: normal score, then cosines of the rank; and what whitens the cosines.

    Returns
    -------
    features : (1 + waves, cells) array
        Of mean 0 and variance 1.
    whitening : (waves, directions) array
    """
    rank = np.cumsum(share) - share / 2.0
    features = np.vstack([ndtri(np.clip(rank, 1e-9, 1.0 - 1e-9)), np.cos(np.pi * WAVES[:, None] * rank)])
    features -= (features @ share)[:, None]
    features /= np.sqrt(np.maximum((features**2) @ share, 1e-12))[:, None]
    values, vectors = np.linalg.eigh((features[1:] * share) @ features[1:].T)
    kept = values > SMALLEST_EIGENVALUE
    return features, vectors[:, kept] / np.sqrt(values[kept])


def _column_effect(axis: HistogramAxis, before: Vector, after: Vector) -> float:
    if not axis.edges:
        return float(0.5 * np.abs(after - before).sum())
    scores = ndtri(np.clip(np.cumsum(before) - before / 2.0, 1e-4, 1.0 - 1e-4))
    (mean, spread), (moved, wider) = (_mean_and_spread(side, scores) for side in (before, after))
    return max(abs(moved - mean), abs(wider - spread)) / max(spread, 1e-3)


def _mean_and_spread(shares: Vector, scores: Vector) -> tuple[float, float]:
    mean = float(shares @ scores)
    return mean, float(np.sqrt(max(float(shares @ scores**2) - mean**2, 0.0)))


def product_entries(crossed: CrossedSums) -> tuple[Indices, Indices]:
    """Two of u and w whose product is tested: different u, a u and a w, different w; not within one category.

    None of a wide table.
    """
    if not crossed.has_products:
        none = np.zeros(0, dtype=np.intp)
        return none, none
    size = crossed.n_columns + len(crossed.numbers)
    first, second = np.triu_indices(size)
    owner = crossed_owner(crossed)
    is_folded = np.arange(size) >= crossed.n_columns
    kept = (owner[first] != owner[second]) | (~is_folded[first] & is_folded[second])
    return first[kept], second[kept]


def crossed_owner(crossed: CrossedSums) -> Indices:
    """Input column behind each u and w."""
    return np.concatenate([crossed.owner, crossed.owner[crossed.numbers]]) if crossed.size else crossed.owner[:0]


def describe_crossed(crossed: CrossedSums, rows: NDArray[np.float32]) -> CrossedShape:
    """Distribution of the products in rows of the reference, given by `CrossedSums.rows`."""
    if not crossed.size:
        nothing = np.zeros(0)
        return CrossedShape(nothing, nothing, nothing, nothing, nothing, np.ones((2, 0, crossed.n_inputs)))
    owner = crossed_owner(crossed)
    values, present = rows[:, : len(owner)].astype(float), rows[:, len(owner) :].astype(float)
    wide = present[:, owner]
    counts = np.maximum(wide.sum(axis=0), 1.0)
    centred = (values - values.sum(axis=0) / counts) * wide
    first, second = product_entries(crossed)
    common = np.maximum((present.T @ present)[owner[first], owner[second]], 1.0)
    powers = np.stack([((centred**power).T @ centred**power)[first, second] / common for power in (1, 2, 3, 4)])
    bounded = np.clip(values, -TRIPLE_REACH, TRIPLE_REACH)
    products = [bounded[:, part] for part in crossed.triples]
    three = products[0] * products[1] * products[2]
    everywhere = [present[:, crossed.owner[part]] for part in crossed.triples]
    everywhere_rows = np.maximum((everywhere[0] * everywhere[1] * everywhere[2]).sum(axis=0), 1.0)
    of_three = np.stack([(three**power).sum(axis=0) / everywhere_rows for power in (1, 2, 3, 4)])
    rings = _describe_rings(crossed, rows)
    variance, skewness, kurtosis = shape_of(np.hstack([powers, of_three, rings.powers]))
    spread = (centred**2).sum(axis=0) / counts
    of_triples = np.prod([spread[part] for part in crossed.triples], axis=0)
    usual = np.concatenate([spread[first] * spread[second], of_triples, rings.usual])
    n_common = np.concatenate([common, everywhere_rows, rings.n_rows])
    flat = variance < FLAT * usual
    n_folded = (first >= crossed.n_columns).astype(int) + (second >= crossed.n_columns)
    of_two = np.where(owner[first] == owner[second], 4, n_folded)
    kinds = np.concatenate([of_two, np.full(len(everywhere_rows), 3), np.repeat([5, 6], len(crossed.rings[0]))])
    for kind in range(7):
        own = np.flatnonzero((kinds == kind) & (variance > 0) & (usual > 0) & np.isfinite(kurtosis))
        if len(own) > 1:
            kurtosis[own] = np.maximum(kurtosis[own], kurtosis[own].mean())
            noise = (kurtosis[own] + 2.0) / n_common[own]
            variance[own] = usual[own] * np.exp(_shrink(np.log(variance[own] / usual[own]), noise))
    own_kurtosis = shape_of(np.stack([(centred**power).sum(axis=0) / counts for power in (1, 2, 3, 4)]))[2]
    # Two rare values that never met would seem to vary little: their product is at least as heavy as they are.
    of_bounded = shape_of(np.stack([(bounded**power).sum(axis=0) / counts for power in (1, 2, 3, 4)]))[2]
    heavy, light = (np.minimum(excess, 1e9) + 3.0 for excess in (own_kurtosis, of_bounded))
    apart = np.where(owner[first] == owner[second], 1.0, heavy[first] * heavy[second])
    least = np.concatenate([apart, np.prod([light[part] for part in crossed.triples], axis=0), rings.heaviness]) - 3.0
    kurtosis = np.maximum(kurtosis, least)
    kurtosis[flat | (kurtosis * ROWS_PER_HEAVINESS > n_common)] = np.inf
    return CrossedShape(variance, skewness, kurtosis, n_common, own_kurtosis, _wider(centred, wide, present))


def _wider(centred: Matrix, wide: Matrix, present: Matrix) -> Stack:
    """How much more each u and w varies in rows that have, and that miss, an input column: as `CrossedShape.wider`."""
    n_rows = wide.sum(axis=0)[:, None]
    everywhere = (centred**2).sum(axis=0)[:, None]
    usual = np.maximum(everywhere / np.maximum(n_rows, 1.0), 1e-9)
    counts, means, squares = (part.T @ present for part in (wide, centred, centred**2))
    found = []
    for number, mean, square in ((counts, means, squares), (n_rows - counts, -means, everywhere - squares)):
        # Shrunk by some rows like all others: a handful estimates no variance.
        total = number + ROWS_KNOWN
        found.append(((square + ROWS_KNOWN * usual) / total - (mean / total) ** 2) / usual)
    wider: Stack = np.maximum(np.stack(found), 1.0)
    return wider


class _Rings(NamedTuple):
    """How rings are distributed in the reference.

    Parameters
    ----------
    powers : (4, entries) array
        Means of the first four powers.
    usual : (entries,) array
        Variance where columns are independent.
    n_rows : (entries,) array
        Rows with both cells.
    heaviness : (entries,) array
        Kurtosis at least: two rare values that never met would seem to vary little.
    """

    powers: Matrix
    usual: Vector
    n_rows: Vector
    heaviness: Vector


def _describe_rings(crossed: CrossedSums, rows: NDArray[np.float32]) -> _Rings:
    first, second = crossed.rings
    values, common = ring_products(crossed, rows)
    n_rows = np.maximum(common.sum(axis=0), 1.0)
    powers = np.stack([(values**power).sum(axis=0) / n_rows for power in (1, 2, 3, 4)])
    waves, present = _centred_waves(crossed, rows)
    counts = np.maximum(present.sum(axis=0), 1.0)
    square = np.abs(waves) ** 2
    spread = square.sum(axis=0) / counts
    heavy = (square**2).sum(axis=0) / counts / np.maximum(spread, 1e-9) ** 2
    # The real and the imaginary part of a product have half of its variance each.
    usual, heaviness = 0.5 * spread[first] * spread[second], heavy[first] * heavy[second]
    return _Rings(powers, np.tile(usual, 2), n_rows, np.tile(heaviness, 2))


def ring_products(crossed: CrossedSums, rows: NDArray[np.float32]) -> tuple[Matrix, Matrix]:
    """Products of centred waves of two numbers, real parts and then imaginary ones, and rows with both: (rows, n)."""
    first, second = crossed.rings
    waves, present = _centred_waves(crossed, rows)
    products = waves[:, first] * waves[:, second]
    common = present[:, first] * present[:, second]
    return np.hstack([products.real, products.imag]), np.hstack([common, common])


def _centred_waves(crossed: CrossedSums, rows: NDArray[np.float32]) -> tuple[NDArray[np.complex128], Matrix]:
    """Waves c + i s of each number less their mean, 0 where it is missing; and whether it is there."""
    if not len(crossed.rings[0]):
        none = np.zeros((len(rows), 0))
        return none.astype(np.complex128), none
    cosines, sines, present = np.split(crossed.waves(rows).astype(float), 3, axis=1)
    waves = cosines + 1j * sines
    return (waves - waves.sum(axis=0) / np.maximum(present.sum(axis=0), 1.0)) * present, present


def _shrink(logarithms: Vector, noise: Vector) -> Vector:
    """Values drawn towards their mean as far as their scatter is noise (James and Stein).

    Many variances are estimated from few rows: the smallest would otherwise make the most alarms.
    """
    mean = logarithms.mean()
    between = max(float(logarithms.var() - noise.mean()), 0.0)
    return np.asarray(mean + (logarithms - mean) * between / np.maximum(between + noise, 1e-12))


def crossed_test(
    crossed: CrossedSums, shape: CrossedShape, reference: Sums, window: Sums, explained: Vector
) -> CrossedTest:
    """Test of the products of observed cells, entry by entry.

    Parameters
    ----------
    crossed : CrossedSums
    shape : CrossedShape
    reference, window : dict
        Sums of `CrossedSums`.
    explained : (input columns,) array
        From `explained_by`.
    """
    first, second = product_entries(crossed)
    owner = crossed_owner(crossed)
    one, two, three = (crossed.owner[part] for part in crossed.triples)
    pairs = np.column_stack([owner[first], owner[second], owner[second]])
    of_rings = np.column_stack([crossed.owner[crossed.numbers[part]] for part in (*crossed.rings, crossed.rings[1])])
    columns = np.concatenate([pairs, np.column_stack([one, two, three]), of_rings, of_rings])
    (before, m), (after, n) = (_means(crossed, side, first, second) for side in (reference, window))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1.0 / m + 1.0 / n
        score = (after - before) / np.sqrt(shape.variance * scale)
        skewness = shape.skewness * (1.0 / n**2 - 1.0 / m**2) / scale**1.5
        kurtosis = shape.kurtosis * (1.0 / n**3 + 1.0 / m**3) / scale**2
        # The variance is known from the rows of the reference that were looked at one by one.
        kurtosis = kurtosis + 3.0 * (shape.kurtosis + 2.0) / np.minimum(m, shape.n_rows)
        usable = (np.minimum(m, n) >= MIN_COMMON_ROWS) & (shape.variance > 1e-6) & np.isfinite(score)
        usable &= (np.abs(skewness) <= MAX_SKEWNESS) & (kurtosis <= MAX_KURTOSIS)
    p_values = np.ones(len(score))
    p_values[usable] = tail_p_values(score[usable], skewness[usable], kurtosis[usable])
    p_values = less_surely(p_values, explained[columns].max(axis=1))
    is_triple = np.arange(len(score)) - len(first)
    scales = np.where((is_triple >= 0) & (is_triple < len(one)), STEPS**3, STEPS**2)
    is_plain = np.zeros(len(score), dtype=bool)
    is_plain[: len(first)] = second < crossed.n_columns
    plain = np.flatnonzero(is_plain)
    entries = np.column_stack([first[plain], second[plain]])
    sides = (observed_correlations(side["crossed"], owner, entries) for side in (reference, window))
    relation = p_values.copy()
    relation[plain] = np.maximum(p_values[plain], fisher(*sides))
    return CrossedTest(p_values, usable, np.abs(after - before) / scales, columns, is_plain, relation)


def _means(crossed: CrossedSums, sums: Sums, first: Indices, second: Indices) -> tuple[Vector, Vector]:
    """Covariances over the rows with both cells, means of triples, covariances of rings; and the rows of each."""
    size, owner = crossed.n_columns + len(crossed.numbers), crossed_owner(crossed)
    matrix = sums["crossed"]
    counts = matrix[size + owner[first], size + owner[second]]
    safe = np.maximum(counts, 1.0)
    means = matrix[first, size + owner[second]] / safe, matrix[second, size + owner[first]] / safe
    covariance = matrix[first, second] / safe - means[0] * means[1]
    three, common = sums["triples"]
    rings, n_rings = _ring_means(crossed, sums["rings"])
    means_of = np.concatenate([covariance, three / np.maximum(common, 1.0), rings])
    return means_of, np.concatenate([counts, common, n_rings])


def _ring_means(crossed: CrossedSums, matrix: Matrix) -> tuple[Vector, Vector]:
    """Covariances of waves over the rows with both numbers, real parts and then imaginary ones; and these rows."""
    first, second = crossed.rings
    if not len(first):
        return np.zeros(0), np.zeros(0)
    size = len(crossed.numbers)
    n_rows = matrix[2 * size + first, 2 * size + second]
    safe = np.maximum(n_rows, 1.0)
    cosine, sine, there = (slice(part * size, (part + 1) * size) for part in range(3))
    waves = matrix[cosine, there] + 1j * matrix[sine, there]
    products = matrix[cosine, cosine] - matrix[sine, sine] + 1j * (matrix[sine, cosine] + matrix[cosine, sine])
    covariance = products[first, second] / safe - (waves[first, second] / safe) * (waves[second, first] / safe)
    return np.concatenate([covariance.real, covariance.imag]), np.concatenate([n_rows, n_rows])


def less_surely(p_values: Vector, explained: Vector | float) -> Vector:
    """p-values of differences of which so many standard deviations are explained otherwise."""
    away = -ndtri(np.maximum(p_values, 1e-300) / 2.0)
    left = 2.0 * ndtr(-np.maximum(away - explained, 0.0))
    return np.where(np.asarray(explained) > 0.0, left, p_values)
