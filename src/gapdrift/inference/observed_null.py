"""The null distribution of the tests of observed cells: how small their p-values get by chance, as the reference shows.

Rows of the reference are weighed by random numbers (a multiplier bootstrap): weighted sums vary as differences between
two samples do. The same weights give the draws of `Null`, so that all tests of the values are simulated together.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.observed import TRIPLE_REACH, CrossedSums
from gapdrift.inference.columns import MIN_CELL, MIN_VALUES, merge_cells, wave_features
from gapdrift.inference.combination import (
    Adjustment,
    Component,
    combine,
    effective_number,
    gamma_tail,
    sidak,
    sidak_all,
)
from gapdrift.inference.contrast import SMALLEST_VARIANCE
from gapdrift.inference.null import N_DRAWS, Null, share_of_chance
from gapdrift.inference.observed import (
    MIN_COMMON_ROWS,
    CrossedShape,
    product_entries,
    ring_products,
)
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.persistence.records import expect, expect_shape, stored
from gapdrift.tables.histograms import HistogramAxis

__all__ = ["ObservedNull", "describe_observed"]

Single = NDArray[np.float32]

MAX_WEIGHED = 256
"""Rows that are weighed, at most."""

MAX_SIMULATED = 300
"""Columns whose distributions are simulated, at most; more are taken to depend on each other as these do."""

NO_LENGTH = 1e-5
"""Length of a direction, over the longest, up to which it is made of rounding."""

MAX_PRODUCTS = 500
"""Products that are simulated, at most; likewise."""

FISHER_VARIANCE = 4.0
"""Variance of minus twice the logarithm of one p-value."""

SMALLEST_SHARE = 0.6
"""Weight of the smallest p-value of columns; the rest is that of all together."""

NO_WEIGHT = 0.01
"""Share of chance below which correlations are taken as they are."""


@stored
@dataclass(frozen=True, eq=False)
class ObservedNull:
    """Null distribution of the tests of observed cells.

    Parameters
    ----------
    is_known : (input columns,) array of bool
        Whether it is known how their distributions depend on each other: not where too little of a column is observed.
    distributions : (draws,) array
        Smallest p-value of columns.
    together : (draws,) array
        -2 log p, summed over columns (Fisher).
    n_columns : int
        Columns that these are of.
    interactions : (draws,) array
        Smallest p-value of products.
    n_products : int
        Products that it is the smallest of.
    """

    is_known: Mask
    distributions: Vector
    together: Vector
    n_columns: int
    interactions: Vector
    n_products: int

    def check_stored(self) -> None:
        """Check what was read from a file: draws of p-values."""
        expect_shape(self.is_known, (-1,), "columns that are known")
        for draws in (self.distributions, self.interactions):
            expect_shape(draws, (N_DRAWS,), f"{N_DRAWS} draws")
            expect(bool(np.all((draws >= 0.0) & (draws <= 1.0))), "p-values from 0 to 1")
        expect_shape(self.together, (N_DRAWS,), f"{N_DRAWS} draws")
        expect(bool(np.all(self.together >= 0.0)), "sums of logarithms from 0")
        expect(min(self.n_columns, self.n_products) >= 0, "numbers of columns and products")

    def distributions_test(
        self, p_values: Vector, of_cells: Vector, places: Indices, closer: float = 1.0
    ) -> Component | None:
        """Test of all columns by the p-values of some: the smallest, and all together; None where there is none.

        Parameters
        ----------
        p_values, of_cells : (n,) arrays
            Of the columns, and of their cells alone, which count in a sum over them; NaN where there are none.
        places : (n,) array of int
            Columns that they are of.
        closer : float, default 1.0
            How much more columns correlate on the sides that are compared than in draws of the reference.
        """
        number, known = len(p_values), of_cells[self.is_known[places] & ~np.isnan(of_cells)]
        if not number:
            return None
        smallest = _smallest("distributions", float(p_values.min()), number, self.distributions, self.n_columns)
        if min(len(known), self.n_columns) < 2:
            return smallest
        both: list[tuple[Component | None, float]] = [
            (smallest, SMALLEST_SHARE),
            (self._all_columns(known, closer), 1.0 - SMALLEST_SHARE),
        ]
        found = combine("distributions", both)
        return None if found is None else replace(found, degrees_of_freedom=number)

    def _all_columns(self, p_values: Vector, closer: float) -> Component:
        """Fisher's test; its sum has a gamma distribution with the mean, variance and skewness of the draws.

        Columns that go together make small p-values together: the tail is longer than that of a chi-square with the
        same mean and variance, which is the least that is taken. What their variance has beyond that of independent
        columns is made of squared correlations.
        """
        centre, spread = float(self.together.mean()), max(float(self.together.std()), 1e-6)
        skewness = float((((self.together - centre) / spread) ** 3).mean())
        alone = FISHER_VARIANCE * self.n_columns
        wider = spread**2 + (closer**2 - 1.0) * max(spread**2 - alone, 0.0)
        deviation = float(np.sqrt(min(wider, max(alone * self.n_columns, spread**2))))
        simulated = gamma_tail((self.together - centre) / spread, max(skewness, 2.0 * spread / max(centre, 1e-6)))
        skewness = max(skewness, 2.0 * deviation / max(centre, 1e-6))
        ratio = len(p_values) / self.n_columns
        found = -2.0 * np.log(np.maximum(p_values, SMALLEST_P)).sum()
        standard = (found - ratio * centre) / (np.sqrt(ratio) * deviation)
        p_value = float(gamma_tail(standard, skewness / np.sqrt(ratio)))
        return Component("distributions", p_value, simulated)

    def interactions_test(self, smallest: float, number: int) -> Component:
        """Test of all products by the smallest p-value of so many."""
        return _smallest("interactions", smallest, number, self.interactions, self.n_products)


def _smallest(name: str, smallest: float, number: int, simulated: Vector, n_simulated: int) -> Component:
    if not n_simulated:
        # None of them was usable in the reference: whatever they are, they are taken as independent.
        return Component(name, sidak(smallest, number), simulated, degrees_of_freedom=number)
    adjust = Adjustment(simulated)
    ratio = max(number / n_simulated, 1.0 / adjust.number)
    return Component(name, sidak(adjust(smallest), ratio), adjust.all(simulated), degrees_of_freedom=number)


def describe_observed(
    null: Null,
    statistics: Matrix,
    axes: tuple[HistogramAxis, ...],
    cells: Indices,
    crossed: tuple[CrossedSums, CrossedShape, Single],
) -> ObservedNull:
    """Null distribution of the tests of observed cells.

    Parameters
    ----------
    null : Null
        Of the other tests of the values.
    statistics : (rows, n) array
        Statistics of rows of the reference whose correlation ``null`` has.
    axes : tuple of HistogramAxis
    cells : (rows, input columns) array of int
        Cell of the histogram of each value, -1 where it is missing.
    crossed : tuple of CrossedSums, CrossedShape and array
        What is summed up of products, how they are distributed, and `CrossedSums.rows` of the rows.
    """
    chosen = np.linspace(0, len(cells) - 1, min(len(cells), MAX_WEIGHED)).astype(np.intp)
    weights = _weights(statistics[chosen], null)
    columns = _simulated_columns(axes, cells[chosen], weights)
    products, n_products = _product_p_values(*crossed, chosen, weights)
    return ObservedNull(*columns, products, n_products)


@dataclass(frozen=True, eq=False)
class _Column:
    """Cells of one column, merged as the tests merge them.

    Parameters
    ----------
    is_number : bool
    shares : list of array
        Shares of the merged cells, for each way of merging.
    marked : (rows, merged cells of all ways) array
        Which cell each row is in, less the shares, over the root of the rows; 0 where the value is missing.
    """

    is_number: bool
    shares: list[Vector]
    marked: Single


def _simulated_columns(
    axes: tuple[HistogramAxis, ...], cells: Indices, weights: Single
) -> tuple[Mask, Vector, Vector, int]:
    """Which columns are known, smallest p-values, Fisher's sums, and the number of columns that these are of."""
    places = np.unique(np.linspace(0, len(axes) - 1, MAX_SIMULATED).astype(np.intp)).tolist() if axes else []
    merged = {place: _merged_column(axes[place], cells[:, place]) for place in places}
    columns = {place: column for place, column in merged.items() if column is not None}
    is_known = np.ones(len(axes), dtype=bool)
    is_known[[place for place in places if place not in columns]] = False
    if not columns:
        return is_known, _uniform(2), np.zeros(N_DRAWS), 0
    found = _adjusted_p_values(list(columns.values()), weights)
    return is_known, found.min(axis=0), _without_chance(list(columns.values()), weights, found), len(columns)


def _adjusted_p_values(columns: list[_Column], weights: Single) -> Matrix:
    """p-value of each column for each draw: the smallest of its tests, for their number. (columns, draws)."""
    ends = np.cumsum([column.marked.shape[1] for column in columns])[:-1]
    sums = np.split(weights @ np.hstack([column.marked for column in columns]), ends, axis=1)
    smallest = (_column_p_values(column, part).min(axis=0) for column, part in zip(columns, sums, strict=True))
    return np.stack([sidak_all(least, effective_number(least)) for least in smallest])


def _without_chance(columns: list[_Column], weights: Single, p_values: Matrix) -> Vector:
    """Fisher's sums over columns, with the variance that they have without what chance explains.

    Rows that are weighed are few, and cells of many columns are more: by chance all sums of weights are somewhat alike,
    and sums over 20 independent columns would vary four times as much as they do. By how much more is seen where the
    rows of each column are shifted against those of the others, so that nothing goes together but by chance.
    """
    terms = -2.0 * np.log(np.maximum(p_values, SMALLEST_P))
    together: Vector = terms.sum(axis=0)
    own = float(terms.var(axis=1).sum())
    if len(columns) < 2:
        return together
    n_rows = len(columns[0].marked)
    shifts = np.linspace(0, n_rows, len(columns), endpoint=False).astype(np.intp)
    shifted = [
        replace(column, marked=np.roll(column.marked, shift, axis=0))
        for column, shift in zip(columns, shifts.tolist(), strict=True)
    ]
    by_chance = -2.0 * np.log(np.maximum(_adjusted_p_values(shifted, weights), SMALLEST_P))
    chance = float(by_chance.sum(axis=0).var() - by_chance.var(axis=1).sum())
    centre, variance = together.mean(), float(together.var())
    wanted = max(variance - max(chance, 0.0), own)
    return np.asarray(np.maximum(centre + (together - centre) * np.sqrt(wanted / max(variance, 1e-9)), 0.0))


@cache
def _noise(n_rows: int) -> Single:
    return np.random.default_rng(5).standard_normal((N_DRAWS, n_rows), dtype=np.float32)


def _uniform(seed: int) -> Vector:
    return np.random.default_rng(seed).random(N_DRAWS)


def _weights(statistics: Matrix, null: Null) -> Single:
    """Random weights of rows, independent and Gaussian, whose sums of statistics are the draws of ``null``.

    Parameters
    ----------
    statistics : (rows, n) array
    null : Null

    Returns
    -------
    weights : (draws, rows) array
        The more closely the rows have the correlation of ``null``, the more closely the sums are its draws.
    """
    centred = statistics - statistics.mean(axis=0)
    deviation = np.sqrt((centred**2).mean(axis=0))
    scaled = centred / np.where(deviation**2 > SMALLEST_VARIANCE, deviation, np.inf)
    # Largest eigenvalues first: there may be more of them than rows.
    along = np.linalg.qr((scaled @ null.directions)[:, ::-1])
    length = np.diag(along.R)
    # Where nothing is left of a direction, what is found is rounding, which every machine does in its own way.
    determined = np.flatnonzero(np.abs(length) > NO_LENGTH * np.abs(length).max(initial=0.0))
    basis = (along.Q * np.where(length < 0.0, -1.0, 1.0))[:, determined].astype(np.float32)
    wanted = null.coordinates[:, ::-1][:, determined].astype(np.float32)
    noise = _noise(len(statistics))
    return np.asarray(noise + (wanted - noise @ basis) @ basis.T, dtype=np.float32)


def _merged_column(axis: HistogramAxis, cells: Indices) -> _Column | None:
    """The column that is simulated; None where too little is observed."""
    present = cells >= 0
    n_present = int(present.sum())
    counts = np.bincount(cells[present], minlength=max(len(axis), 1)).astype(float)
    if n_present < MIN_VALUES or np.count_nonzero(counts) < 2:
        return None
    shares, marked = [], []
    for least in (MIN_CELL,) if axis.edges else (MIN_CELL, MIN_CELL / 2.0):
        groups = merge_cells(counts, least, ordered=bool(axis.edges))
        groups = np.unique(np.where(counts > 0, groups, groups[counts > 0][0]), return_inverse=True)[1]
        shares.append(np.bincount(groups, counts) / n_present)
        marked.append((groups[cells][:, None] == np.arange(len(shares[-1]))) - shares[-1])
    if len(shares[0]) < 2:
        return None
    scaled = np.hstack(marked) * (present / np.sqrt(n_present))[:, None]
    return _Column(bool(axis.edges), shares, scaled.astype(np.float32))


def _column_p_values(column: _Column, sums: Single) -> Matrix:
    """p-values of the tests of one column for each draw of the sums of its merged cells: (tests, draws)."""
    share, last = column.shares[0], column.shares[-1]
    first = sums[:, : len(share)]
    found = [chdtrc(len(share) - 1, (first**2 / share).sum(axis=1))]
    if column.is_number:
        features, whitening = wave_features(share)
        waves = ((first @ features[1:].T) @ whitening) ** 2
        found += [2.0 * ndtr(-np.abs(first @ features[0])), chdtrc(whitening.shape[1], waves.sum(axis=1))]
    largest = np.abs(sums[:, -len(last) :] / np.sqrt(last * (1.0 - last))).max(axis=1)
    found.append(sidak_all(2.0 * ndtr(-largest), len(last)))
    return np.asarray(np.maximum(np.stack(found), SMALLEST_P), dtype=np.float64)


def _product_p_values(
    crossed: CrossedSums, shape: CrossedShape, rows: Single, chosen: Indices, weights: Single
) -> tuple[Vector, int]:
    """Smallest p-value of products other than plain ones for each draw, and the number of these products."""
    n_others = len(crossed.triples[0]) + 2 * len(crossed.rings[0])
    tested = np.concatenate([product_entries(crossed)[1] >= crossed.n_columns, np.ones(n_others, dtype=bool)])
    light = np.isfinite(shape.kurtosis) & (shape.variance > 1e-6)
    places = np.flatnonzero(tested & light)
    places = places[np.unique(np.linspace(0, len(places) - 1, MAX_PRODUCTS).astype(np.intp))] if len(places) else places
    products = _products(crossed, places, rows[chosen])
    products = products[:, products.any(axis=0)]
    if not products.shape[1]:
        return _uniform(3), 0
    products /= np.linalg.norm(products, axis=0)
    sums = weights @ products
    others = float(((products @ products.T) ** 2).sum()) - sums.shape[1]
    n_products = sums.shape[1]
    weight = share_of_chance(others, n_products * (n_products - 1.0), len(products))
    if weight > NO_WEIGHT:
        other = np.random.default_rng(6).standard_normal(sums.shape, dtype=np.float32)
        sums = np.sqrt(1.0 - weight) * sums + np.sqrt(weight) * other
    smallest: Vector = 2.0 * ndtr(-np.abs(sums).max(axis=1).astype(float))
    return smallest, n_products


def _products(crossed: CrossedSums, places: Indices, rows: Single) -> Single:
    """Centred products of pairs, of three, then rings, of each row; 0 where a cell is missing or rows are too few."""
    first, second = product_entries(crossed)
    kind = np.searchsorted([len(first), len(first) + len(crossed.triples[0])], places, side="right")
    of_two, of_three = places[kind == 0], places[kind == 1] - len(first)
    of_rings = places[kind == 2] - len(first) - len(crossed.triples[0])
    first, second = first[of_two], second[of_two]
    one, two, three = (part[of_three] for part in crossed.triples)
    owner = np.concatenate([crossed.owner[: crossed.n_columns], crossed.owner[crossed.numbers]])
    values, present = rows[:, : len(owner)], rows[:, len(owner) :]
    wide = present[:, owner]
    centred = (values - values.sum(axis=0) / np.maximum(wide.sum(axis=0), 1.0)) * wide
    bounded = np.clip(values, -TRIPLE_REACH, TRIPLE_REACH)
    factors = [(centred[:, first] * centred[:, second], wide[:, first] * wide[:, second])]
    if len(one):
        factors.append(
            (bounded[:, one] * bounded[:, two] * bounded[:, three], wide[:, one] * wide[:, two] * wide[:, three])
        )
    if len(of_rings):
        rings, with_both = ring_products(crossed, rows)
        factors.append((rings[:, of_rings], with_both[:, of_rings]))
    products, together = (np.hstack(part) for part in zip(*factors, strict=True))
    counts = together.sum(axis=0)
    found = (products - products.sum(axis=0) / np.maximum(counts, 1.0)) * together
    found[:, counts < min(MIN_COMMON_ROWS, len(rows) / 2)] = 0.0
    return np.asarray(found, dtype=np.float32)
