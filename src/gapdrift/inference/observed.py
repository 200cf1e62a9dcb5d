"""Tests of how observed cells of different columns go together.

They hold, whatever the data are like, as long as cells are missing completely at random on both sides, at whatever
rates, or under the same conditions on both. Where the conditions changed, as `gapdrift.inference.mechanism` tests, what
that may explain is taken off (`less_surely`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Mask, Matrix, Stack, Vector
from gapdrift.counting.observed import STEPS, TRIPLE_REACH, CrossedSums
from gapdrift.inference.columns import less_surely
from gapdrift.inference.contrast import MAX_KURTOSIS, MAX_SKEWNESS, tail_p_values
from gapdrift.inference.correlations import fisher, observed_correlations
from gapdrift.inference.null import shape_of
from gapdrift.persistence.records import INFINITE, expect, expect_shape, stored

__all__ = [
    "MIN_COMMON_ROWS",
    "ROWS_PER_HEAVINESS",
    "CrossedShape",
    "CrossedTest",
    "crossed_owner",
    "crossed_test",
    "describe_crossed",
    "product_entries",
    "ring_products",
]

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

Sums = Mapping[str, NDArray[np.float64]]


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
