"""Sums of the statistics of many rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.counting.bulk._book import MAX_GAPS, Gaps
from gapdrift.counting.bulk._gaps import Filled, GapFiller
from gapdrift.counting.bulk._hidden import Hidden, hide
from gapdrift.counting.bulk._lookup import N_CELLS, make_lookup
from gapdrift.counting.bulk._reading import Reader, machine_code
from gapdrift.counting.profile import Profile, bin_probabilities, gap_statistics
from gapdrift.inference.combination import worth
from gapdrift.inference.contrast import central_moments, power_sums
from gapdrift.models.gaussian import Patterns, find_patterns
from gapdrift.models.gaussian._dense import dense_blocks, gap_covariance
from gapdrift.models.gaussian._patterns import row_keys
from gapdrift.models.hot_deck import EmpiricalResiduals
from gapdrift.persistence.records import expect, expect_shape, stored
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.histograms import N_INTERVALS, Grid, count_levels
from gapdrift.tables.schema import Schema

__all__ = ["Bulk", "BulkCounter", "fit_bulk"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]

CHUNK = 4_096
"""Rows counted at once: their scores stay in the cache."""

N_AVERAGED = 128
"""Residuals over which a row is spread that has too little to choose one by."""

ENOUGH_BITS = 10.0
"""Bits of observed values from which a row chooses a residual by them."""

PATTERNS_AT_ONCE = 1_024
"""Patterns whose hidden products are computed at once."""

EXACT_BITS = 24
"""Bits of a whole number that single precision holds."""


@stored
@dataclass(frozen=True, eq=False)
class Bulk:
    """What counting by the million needs to know of a reference beside its profile.

    Parameters
    ----------
    covariance : (statistics, statistics) array
        Of the statistics of one row.
    bits : (columns,) array
        How much one observed value of a column tells two rows apart: -log2 of the chance that they have the same.
    radius : float
        Bins are told apart by positions within this distance of the centre, along each direction.
    n_learned : int
        Rows that the model was learned from.
    n_worth : int
        Gaussian rows that would know the covariance of the products of columns as well as these do.
    """

    covariance: Matrix
    bits: Vector
    radius: float
    n_learned: int
    n_worth: int

    def check_stored(self) -> None:
        """Check what was read from a file: lengths, and numbers that can be divided by."""
        expect_shape(self.bits, (-1,), "bits of columns")
        size = len(np.atleast_1d(self.covariance))
        expect_shape(self.covariance, (size, size), "a covariance")
        expect(self.radius > 0 and self.n_learned > 0, "a radius and rows that were learned from")
        expect(self.n_worth > 1, "rows that know a covariance")


class BulkCounter:
    """Counts rows by a profile, many at once.

    Parameters
    ----------
    profile : Profile
        With empirical residuals and distances in closed form.
    schema : Schema
    grids : tuple of Grid
    bits : (columns,) array
    radius : float
    """

    def __init__(self, profile: Profile, schema: Schema, grids: tuple[Grid, ...], bits: Vector, radius: float) -> None:
        assert isinstance(profile.residuals, EmpiricalResiduals)
        self.profile, self.schema, self.grids, self.bits = profile, schema, grids, bits
        residuals = profile.residuals
        self.filler = GapFiller(residuals)
        lookup = make_lookup(profile.scores, profile.model.mean, schema.owner, grids)
        self.reader = Reader(lookup, self.filler, schema.owner)
        # One matrix column of each input column; a column without values has none.
        inputs = np.arange(len(schema.columns))
        self._one_of = np.searchsorted(schema.owner, inputs)
        self._all_coded = bool(np.isin(inputs, schema.owner).all())
        few = residuals.pulled[:: max(1, len(residuals.pulled) // N_AVERAGED)]
        self._averaged = EmpiricalResiduals(residuals.precision, residuals.moments, few)
        self._inner = residuals.precision @ residuals.moments @ residuals.precision
        self._kept: tuple[int, Hidden] | None = None
        # Whether a pattern in the book can leave too little to choose a residual by.
        self._may_lack = bool(np.sort(bits)[:-MAX_GAPS].sum() < ENOUGH_BITS)
        # Positions and centres are whole numbers so small that their products, summed up, are exact.
        n_directions = profile.directions.shape[1]
        reach = 2 ** ((EXACT_BITS - 2 - int(np.ceil(np.log2(n_directions + 1)))) // 2)
        self._reach, self._per_radius = float(reach), reach / radius
        centres = np.clip(np.rint(profile.centres * self._per_radius), -reach, reach)
        self._centres = np.ascontiguousarray((-2.0 * centres.T).astype(np.float32))
        self._squares = (centres**2).sum(axis=1).astype(np.float32)

    def sums(self, chunks: Iterable[Encoded | Matrix], n_rows: int) -> dict[str, Vector]:
        """Sums over rows: statistics, products of expected scores, what gaps hide, and histograms.

        Parameters
        ----------
        chunks : iterable of Encoded or (rows, columns) array
            Of an array NaN is what is missing.
        n_rows : int
            Of all chunks.
        """
        profile, layout = self.profile, self.profile.layout
        size = len(profile.owner)
        statistics, scatter = np.zeros(layout.patterns.stop), np.zeros((size, size))
        hidden = np.zeros((2, size, size))
        bars = np.zeros((size, N_INTERVALS), dtype=np.int64)
        together = np.zeros((len(self._one_of) + 1, len(self._one_of) + 1))
        known = np.zeros(len(self.filler.book.codes))
        levels = np.zeros(sum(map(len, self.grids)))
        for values, missing in _parts(chunks):
            filled, gaps = self.reader.read(values, missing, bars, n_rows)
            statistics[layout.location] += filled.expected @ np.ones(len(values))
            scatter += filled.expected @ filled.expected.T
            statistics[layout.bins] += self._count_bins(filled, gaps, n_rows)
            known = _add(known, np.bincount(np.maximum(filled.pattern, 0)))
            rest = np.flatnonzero(filled.pattern < 0)
            if len(rest):
                others = gaps(rest)
                together += _common_gaps(others[self._one_of]) if self._all_coded else 0.0
                hidden += self._hidden_by_others(others) if profile.direct else 0.0
            if not self._all_coded:
                assert missing is not None
                together += _common_gaps(missing.T)
            if not profile.direct:
                statistics[layout.dependence] += self._sum_products(filled, gaps)
            levels += self._count_levels(values)
        if profile.direct:
            hidden += self._hidden_by_known(known)
            whole = scatter + self._lost_products(*hidden)
            statistics[layout.dependence] += whole[tuple(profile.products)]
        if self._all_coded:
            together += _common_gaps(self.filler.book.missing.T[self._one_of, : len(known)], known)
        statistics[layout.rates.start :] = _gap_sums(together, profile.gap_pairs)
        sums = {"statistics": statistics, "scatter": scatter, "cells": levels + self._bars(bars)}
        return sums | ({"hidden": hidden[0]} if profile.direct else {})

    def statistics(self, rows: Encoded) -> Matrix:
        """Statistics of each row, (rows, statistics): what `sums` adds up."""
        profile = self.profile
        first, second = profile.products
        bars = np.zeros((len(profile.owner), N_INTERVALS), dtype=np.int64)
        parts = []
        for values, missing in _parts([rows]):
            filled, gaps = self.reader.read(values, missing, bars, 0)
            if profile.direct:
                patterns = find_patterns(np.ascontiguousarray(gaps(np.arange(len(values))).T))
                lost = profile.residuals.lost_products(patterns, profile.directions)[:, first, second]
                dependence = (filled.expected[first] * filled.expected[second]).T + lost[patterns.index]
            else:
                along = self._along(filled)
                dependence = (along[first] * along[second]).T
            bins = np.eye(len(profile.centres))[self._nearest(filled, 0)]
            soft = self._soft_rows(filled, gaps)
            if len(soft):
                shares, _, index = self._spread(filled, gaps, soft)
                bins[soft] = shares[index]
                if not profile.direct:
                    expected = profile.directions.T @ filled.expected[:, soft]
                    patterns = find_patterns(np.ascontiguousarray(gaps(soft).T))
                    lost = profile.residuals.lost_products(patterns, profile.directions)[:, first, second]
                    dependence[soft] = (expected[first] * expected[second]).T + lost[patterns.index]
            assert missing is not None
            gap_part = gap_statistics(missing, profile.gap_pairs)
            parts.append(np.column_stack([filled.expected.T, dependence, bins, gap_part]))
        return np.concatenate(parts)

    def _hidden_by_known(self, known: Vector) -> Matrix:
        """`Hidden` sums of so many rows of each pattern in the book."""
        kept, n_known = self._kept, len(self.filler.book.codes)
        if kept is None or kept[0] < len(known):
            kept = self._kept = n_known, self._hide_known(n_known)
        return kept[1].sums(np.append(known, np.zeros(kept[0] - len(known))))

    def _hide_known(self, n_known: int) -> Hidden:
        """What the first patterns of the book hide, in the same order whenever they were met."""
        book, parts = self.filler.book, []
        for n_gaps in sorted(book.pages):
            numbers = np.flatnonzero(book.n_gaps[:n_known] == n_gaps)
            numbers = numbers[np.argsort(book.codes[numbers])]
            page, pages = book.place[numbers], book.pages[n_gaps]
            covariance = pages.covariance[:, :, page].transpose(2, 0, 1)
            parts.append(hide(numbers, pages.columns[:, page].T, covariance, self._inner))
        nothing = np.zeros(0)
        return Hidden(
            np.concatenate([nothing.astype(np.intp), *(part.pattern for part in parts)]),
            np.concatenate([nothing.astype(np.intp), *(part.cells for part in parts)]),
            np.concatenate([nothing, *(part.covariance for part in parts)]),
            np.concatenate([nothing, *(part.squared for part in parts)]),
            len(self._inner),
        )

    def _hidden_by_others(self, gaps: Mask) -> Matrix:
        """`Hidden` sums of rows with any gaps."""
        patterns = find_patterns(np.ascontiguousarray(gaps.T))
        counts = np.bincount(patterns.index).astype(float)
        total = np.zeros((2, *self.filler.precision.shape))
        for block, columns in dense_blocks(patterns):
            covariance = gap_covariance(self.filler.precision, columns)
            numbers = np.arange(len(columns))
            total += hide(numbers, columns, covariance, self._inner).sums(counts[block.patterns])
        return total

    def _lost_products(self, hidden: Matrix, squared: Matrix) -> Matrix:
        """Products that expected values lack, out of the sums of `Hidden`: G P S + S P G - S K S."""
        residuals = self.profile.residuals
        assert isinstance(residuals, EmpiricalResiduals)
        crossed = residuals.moments @ residuals.precision @ hidden
        return np.asarray(crossed + crossed.T - squared)

    def _lost(self, patterns: Patterns, counts: Vector) -> Vector:
        """Products along the directions that expected values lack, summed over so many rows of each pattern."""
        profile = self.profile
        size = profile.directions.shape[1]
        total = np.zeros((size, size))
        for part, weights in _some_patterns(patterns, counts):
            lost = profile.residuals.lost_products(part, profile.directions)
            total += np.tensordot(weights, lost, axes=1)
        return np.asarray(total[tuple(profile.products)])

    def _sum_products(self, filled: Filled, gaps: Gaps) -> Vector:
        """Sum of products along the directions: of completed rows, or of expected ones and what these lack.

        A row with too little observed chooses its residual badly: rows like it choose the same.
        """
        pick = tuple(self.profile.products)
        along = self._along(filled)
        total = along @ along.T
        soft = self._soft_rows(filled, gaps)
        if not len(soft):
            return np.asarray(total[pick])
        expected = self.profile.directions.T @ filled.expected[:, soft]
        total += expected @ expected.T - along[:, soft] @ along[:, soft].T
        patterns = find_patterns(np.ascontiguousarray(gaps(soft).T))
        return np.asarray(total[pick] + self._lost(patterns, np.bincount(patterns.index).astype(float)))

    def _along(self, filled: Filled) -> Matrix:
        """Completed rows along the directions."""
        return np.asarray(self.profile.directions.T @ filled.completed.astype(np.float64))

    def _places(self, filled: Filled, code: Any) -> NDArray[np.float32]:
        """Positions along the directions in whole steps, (rows, directions); completed rows are used up."""
        rows = filled.completed.T if self.profile.direct else self._along(filled).T.astype(np.float32)
        if code is not None and rows.flags.c_contiguous:
            code.place_rows(rows, np.float32(self._per_radius), np.float32(self._reach))
            return rows
        return to_places(rows, self._per_radius, self._reach)

    def _count_bins(self, filled: Filled, gaps: Gaps, n_rows: int) -> Vector:
        """Rows of each bin; ``n_rows`` are going to be counted in all."""
        nearest = self._nearest(filled, n_rows)
        soft = self._soft_rows(filled, gaps)
        if not len(soft):
            return np.bincount(nearest, minlength=len(self._squares)).astype(float)
        counts = np.bincount(np.delete(nearest, soft), minlength=len(self._squares)).astype(float)
        shares, weights, _ = self._spread(filled, gaps, soft)
        return np.asarray(counts + weights @ shares)

    def _nearest(self, filled: Filled, n_rows: int) -> Indices:
        """Nearest bin of each row, by squared distances but for each row's own square: exact whole numbers."""
        code = machine_code(n_rows)
        distances: NDArray[np.float32] = self._places(filled, code) @ self._centres
        if code is None:
            distances += self._squares
            return np.asarray(distances.argmin(axis=1))
        nearest = np.empty(len(distances), dtype=np.intp)
        code.find_nearest(distances, self._squares, nearest)
        return nearest

    def _soft_rows(self, filled: Filled, gaps: Gaps) -> Indices:
        """Incomplete rows with too little observed to choose a residual by."""
        incomplete = np.flatnonzero(filled.pattern != 0 if self._may_lack else filled.pattern < 0)
        if not len(incomplete):
            return incomplete
        return incomplete[self.bits @ ~gaps(incomplete) < ENOUGH_BITS]

    def _spread(self, filled: Filled, gaps: Gaps, rows: Indices) -> tuple[Matrix, Vector, Indices]:
        """Probabilities of the bins for the different ones of some rows, how many are like each, and which one each is.

        Rows with equal values and gaps are one: such rows have few different values.
        """
        codes = row_keys(np.ascontiguousarray(gaps(rows).T))
        both = np.empty(len(rows), dtype=[("values", np.int64), ("gaps", codes.dtype)])
        both["values"], both["gaps"] = filled.identity[rows], codes
        _, first, index, counts = np.unique(both, return_index=True, return_inverse=True, return_counts=True)
        chosen = rows[first]
        profile = self.profile
        patterns = find_patterns(np.ascontiguousarray(gaps(chosen).T))
        along = filled.expected[:, chosen].T @ profile.directions
        scatter = self._averaged.scatter(patterns, profile.directions, profile.centres)
        return bin_probabilities(along, profile.centres, scatter, patterns.index), counts.astype(float), index

    def _count_levels(self, values: Matrix) -> Vector | float:
        """Rows of each level; 0 in the places of numbers."""
        if not any(grid.labels for grid in self.grids):
            return 0.0
        parts = [
            count_levels(values[:, self.schema.owner == index], grid) if grid.labels else np.zeros(len(grid))
            for index, grid in enumerate(self.grids)
        ]
        return np.concatenate(parts)

    def _bars(self, bars: NDArray[np.int64]) -> Vector:
        """Counts of numbers, all columns one after the other; 0 in the places of levels."""
        parts = [
            bars[place] if grid.edges else np.zeros(len(grid))
            for place, grid in zip(self._one_of, self.grids, strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


def fit_bulk(
    profile: Profile, schema: Schema, grids: tuple[Grid, ...], rows: Encoded, n_learned: int
) -> tuple[Bulk, Matrix, BulkCounter]:
    """What bulk counting needs, learned on the rows that the profile was learned from.

    Parameters
    ----------
    profile : Profile
    schema : Schema
    grids : tuple of Grid
    rows : Encoded
    n_learned : int
        Rows that the model was fitted to.

    Returns
    -------
    bulk : Bulk
    powers : (4, statistics) array
        Sums of the first four powers of the statistics of these rows.
    counter : BulkCounter
    """
    lookup = make_lookup(profile.scores)
    gaps = np.ascontiguousarray(rows.missing[:, schema.owner].T)
    keys = lookup.keys(np.array(rows.values.T, order="C"), gaps)
    bits = np.array([_bits(cells[~hidden]) for cells, hidden in zip(keys, gaps, strict=True)])
    reach = max(float(np.abs(profile.centres).max(initial=0.0)), 1.0)
    radius = float(2.0 ** np.ceil(np.log2(2.0 * reach)))
    counter = BulkCounter(profile, schema, grids, bits, radius)
    statistics = counter.statistics(rows)
    powers = power_sums(statistics)
    _, _, kurtosis = central_moments(powers, len(rows))
    products = statistics[:, profile.layout.dependence]
    n_worth = worth(products[:, kurtosis[profile.layout.dependence] < len(rows) / 10.0])
    return Bulk(np.cov(statistics, rowvar=False), bits, radius, n_learned, n_worth), powers, counter


def to_places(rows: NDArray[np.float32], per_place: float, reach: float) -> NDArray[np.float32]:
    """Whole places of positions, in single precision, up to ``reach`` on either side of 0."""
    place = np.multiply(rows, per_place, dtype=np.float32)
    np.clip(place, -reach, reach, out=place)
    place += np.float32(reach + 0.5)
    np.trunc(place, out=place)
    place -= np.float32(reach)
    return place


def _parts(chunks: Iterable[Encoded | Matrix]) -> Iterator[tuple[Matrix, Mask | None]]:
    """Runs of rows that fit into the cache."""
    for chunk in chunks:
        for start in range(0, len(chunk), CHUNK):
            part = slice(start, start + CHUNK)
            if isinstance(chunk, Encoded):
                yield chunk.values[part], chunk.missing[part]
            else:
                yield chunk[part], None


def _some_patterns(patterns: Patterns, counts: Vector) -> Iterator[tuple[Patterns, Vector]]:
    """Runs of patterns, each after the complete row, and their counts."""
    for start in range(1, len(counts), PATTERNS_AT_ONCE):
        part = slice(start, start + PATTERNS_AT_ONCE)
        missing = np.concatenate([patterns.missing[:1], patterns.missing[part]])
        yield Patterns(missing, np.zeros(0, dtype=np.intp)), np.concatenate([[0.0], counts[part]])


def _bits(keys: NDArray[np.uint16]) -> float:
    """-log2 of the chance that two observed cells of a column are the same."""
    counts, n_rows = np.bincount(keys), len(keys)
    same = (counts * (counts - 1.0)).sum() / max(n_rows * (n_rows - 1.0), 1.0)
    return float(-np.log2(np.clip(same, 1.0 / N_CELLS, 1.0)))


def _common_gaps(gaps: Mask, counts: Vector | None = None) -> Matrix:
    """Common gaps of two input columns, and in the last cell the sum of squared numbers of gaps.

    Parameters
    ----------
    gaps : (input columns, rows) array of bool
    counts : (rows,) array or None
        How many rows are like each; None is one.
    """
    with_number = np.vstack([gaps, gaps.sum(axis=0)]).astype(float)
    return np.asarray((with_number if counts is None else with_number * counts) @ with_number.T)


def _gap_sums(together: Matrix, pairs: Indices) -> Vector:
    """Sum of `gapdrift.counting.profile.gap_statistics` over rows."""
    inner = together[:-1, :-1]
    return np.concatenate([np.diag(inner), inner[pairs[0], pairs[1]], together[-1:, -1]])


def _add(one: Vector, two: NDArray[np.intp]) -> Vector:
    """Sum of counts, the second of which may have grown."""
    total = np.zeros(max(len(one), len(two)))
    total[: len(one)] += one
    total[: len(two)] += two
    return total
