"""Sums of the statistics of many rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gapdrift.bulk._book import MAX_GAPS
from gapdrift.bulk._gaps import Filled, GapFiller
from gapdrift.bulk._lookup import N_CELLS, make_lookup
from gapdrift.encoding import Encoded
from gapdrift.gaussian import Patterns, find_patterns
from gapdrift.gaussian._patterns import row_keys
from gapdrift.histograms import Grid, count_levels
from gapdrift.profile import Profile, bin_probabilities, gap_statistics
from gapdrift.residuals import EmpiricalResiduals
from gapdrift.schema import Schema

__all__ = ["Bulk", "BulkCounter", "fit_bulk"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]

CHUNK = 8_192
"""Rows counted at once: their scores stay in the cache."""

N_AVERAGED = 128
"""Residuals over which a row is spread that has too little to choose one by."""

ENOUGH_BITS = 10.0
"""Bits of observed values from which a row chooses a residual by them."""

PATTERNS_AT_ONCE = 1_024
"""Patterns whose hidden products are computed at once."""

EXACT_BITS = 24
"""Bits of a whole number that single precision holds."""


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
        Rows that the profile was learned from.
    """

    covariance: Matrix
    bits: Vector
    radius: float
    n_learned: int


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
        # Whether each input column is one matrix column.
        self._plain = np.array_equal(schema.owner, np.arange(len(schema.columns)))
        self.lookup = make_lookup(profile.scores, profile.model.mean, schema.owner, grids)
        self.filler = GapFiller(profile.residuals)
        pulled = profile.residuals.pulled
        self._averaged = EmpiricalResiduals(
            profile.residuals.precision, profile.residuals.moments, pulled[:: max(1, len(pulled) // N_AVERAGED)]
        )
        # Whether a pattern in the book can leave too little.
        self._may_lack = bool(np.sort(bits)[:-MAX_GAPS].sum() < ENOUGH_BITS)
        # Positions and centres are whole numbers so small that their products, summed up, are exact.
        n_directions = profile.directions.shape[1]
        reach = 2 ** ((EXACT_BITS - 2 - int(np.ceil(np.log2(n_directions + 1)))) // 2)
        self._reach, self._per_radius = float(reach), reach / radius
        centres = np.clip(np.rint(profile.centres * self._per_radius), -reach, reach)
        self._centres, self._squares = (-2.0 * centres).astype(np.float32), (centres**2).sum(axis=1).astype(np.float32)

    def sums(self, rows: Encoded) -> dict[str, Vector]:
        """Sums of the statistics of rows, of the products of their expected scores, and histograms."""
        profile, layout = self.profile, self.profile.layout
        statistics, scatter = np.zeros(layout.patterns.stop), np.zeros((len(profile.owner),) * 2)
        known = np.zeros(0)
        cells = np.zeros(sum(map(len, self.grids)))
        for start in range(0, len(rows), CHUNK):
            part = _part(rows, start)
            keys, gaps, filled = self._fill(part)
            known = _add(known, np.bincount(np.maximum(filled.pattern, 0)))
            statistics[layout.location] += filled.expected.sum(axis=1)
            scatter += filled.expected @ filled.expected.T
            if profile.direct:
                statistics[layout.dependence] += self._lost_by_others(filled, gaps)
            else:
                along = self._along(filled)
                statistics[layout.dependence] += (along @ along.T)[tuple(profile.products)]
            statistics[layout.bins] += self._count_bins(filled, gaps)
            if not self._plain:
                statistics[layout.rates.start :] += _count_gaps(part.missing, profile.gap_pairs)
            elif (filled.pattern < 0).any():
                statistics[layout.rates.start :] += _count_gaps(part.missing[filled.pattern < 0], profile.gap_pairs)
            cells += self._count_cells(part, keys, gaps)
        if profile.direct:
            statistics[layout.dependence] += scatter[tuple(profile.products)] + self._lost_by_known(known)
        if self._plain:
            missing = self.filler.book.missing[: len(known)]
            statistics[layout.rates.start :] += known @ gap_statistics(missing, profile.gap_pairs)
        return {"statistics": statistics, "scatter": scatter, "cells": cells}

    def statistics(self, rows: Encoded) -> Matrix:
        """Statistics of each row, (rows, statistics): what `sums` adds up."""
        profile = self.profile
        first, second = profile.products
        parts = []
        for start in range(0, len(rows), CHUNK):
            part = _part(rows, start)
            _, gaps, filled = self._fill(part)
            if profile.direct:
                patterns = find_patterns(np.ascontiguousarray(gaps.T))
                lost = profile.residuals.lost_products(patterns, profile.directions)[:, first, second]
                dependence = (filled.expected[first] * filled.expected[second]).T + lost[patterns.index]
            else:
                along = self._along(filled)
                dependence = (along[first] * along[second]).T
            bins = np.eye(len(profile.centres))[self._distances(filled).argmin(axis=0)]
            soft = self._soft_rows(filled, gaps)
            if len(soft):
                shares, _, index = self._spread(filled, gaps, soft)
                bins[soft] = shares[index]
            gap_part = gap_statistics(part.missing, profile.gap_pairs)
            parts.append(np.column_stack([filled.expected.T, dependence, bins, gap_part]))
        return np.concatenate(parts)

    def _fill(self, rows: Encoded) -> tuple[NDArray[np.uint16], Mask, Filled]:
        gaps = np.ascontiguousarray(rows.missing.T)
        if not self._plain:
            gaps = gaps[self.schema.owner]
        keys = self.lookup.keys(rows.values, gaps)
        return keys, gaps, self.filler.fill(self.lookup.centred(keys, gaps), gaps)

    def _lost_by_known(self, counts: Vector) -> Vector:
        """Products that expected values lack, summed over rows whose patterns the book has."""
        patterns = find_patterns(self.filler.book.missing[: len(counts)][counts > 0])
        return self._lost(patterns, counts[counts > 0])

    def _lost_by_others(self, filled: Filled, gaps: Mask) -> Vector | float:
        rest = np.flatnonzero(filled.pattern < 0)
        if not len(rest):
            return 0.0
        return self._lost(find_patterns(np.ascontiguousarray(gaps[:, rest].T)), np.ones(len(rest)))

    def _lost(self, patterns: Patterns, weights: Vector) -> Vector:
        """Weighted sum over rows of the products that their gaps hide."""
        total = np.zeros(self.profile.products.shape[1])
        counts = np.bincount(patterns.index, weights, len(patterns.missing))
        complete, none = patterns.missing[:1], np.zeros(0, dtype=np.intp)
        for start in range(1, len(counts), PATTERNS_AT_ONCE):
            part = slice(start, start + PATTERNS_AT_ONCE)
            chosen = Patterns(np.concatenate([complete, patterns.missing[part]]), none)
            lost = self.profile.residuals.lost_products(chosen, self.profile.directions)[1:]
            total += np.tensordot(counts[part], lost, axes=1)[tuple(self.profile.products)]
        return total

    def _along(self, filled: Filled) -> Matrix:
        """Completed rows along the directions."""
        return np.asarray(self.profile.directions.T @ filled.completed.astype(np.float64))

    def _distances(self, filled: Filled) -> NDArray[np.float32]:
        """Squared distances to the centres but for each row's own square: (bins, rows), exact whole numbers."""
        along = filled.completed if self.profile.direct else self._along(filled)
        place = np.multiply(along, self._per_radius, dtype=np.float32, casting="same_kind")
        np.rint(place, out=place)
        np.clip(place, -self._reach, self._reach, out=place)
        distances: NDArray[np.float32] = self._centres @ place
        distances += self._squares[:, None]
        return distances

    def _count_bins(self, filled: Filled, gaps: Mask) -> Vector:
        distances = self._distances(filled)
        nearest = distances.min(axis=0)
        counts = np.array([np.count_nonzero(row == nearest) for row in distances], dtype=float)
        if counts.sum() != distances.shape[1]:
            counts = np.bincount(distances.argmin(axis=0), minlength=len(distances)).astype(float)
        soft = self._soft_rows(filled, gaps)
        if len(soft):
            counts -= np.bincount(distances[:, soft].argmin(axis=0), minlength=len(distances))
            shares, weights, _ = self._spread(filled, gaps, soft)
            counts += weights @ shares
        return counts

    def _soft_rows(self, filled: Filled, gaps: Mask) -> Indices:
        """Incomplete rows with too little observed to choose a residual by."""
        incomplete = np.flatnonzero(filled.pattern != 0 if self._may_lack else filled.pattern < 0)
        if not len(incomplete):
            return incomplete
        bits = self.bits @ ~gaps[:, incomplete]
        return incomplete[bits < ENOUGH_BITS]

    def _spread(self, filled: Filled, gaps: Mask, rows: Indices) -> tuple[Matrix, Vector, Indices]:
        """Probabilities of the bins for the different ones of some rows, how many are like each, and which one each is.

        Rows with equal values and gaps are one: such rows have few different values.
        """
        codes = row_keys(np.ascontiguousarray(gaps[:, rows].T))
        both = np.empty(len(rows), dtype=[("values", np.int64), ("gaps", codes.dtype)])
        both["values"], both["gaps"] = filled.identity[rows], codes
        _, first, index, counts = np.unique(both, return_index=True, return_inverse=True, return_counts=True)
        chosen = rows[first]
        profile = self.profile
        patterns = find_patterns(np.ascontiguousarray(gaps[:, chosen].T))
        along = filled.expected[:, chosen].T @ profile.directions
        scatter = self._averaged.scatter(patterns, profile.directions, profile.centres)
        return bin_probabilities(along, profile.centres, scatter, patterns.index), counts.astype(float), index

    def _count_cells(self, rows: Encoded, keys: NDArray[np.uint16], gaps: Mask) -> Vector:
        parts = []
        for index, grid in enumerate(self.grids):
            columns = np.flatnonzero(self.schema.owner == index)
            if grid.edges:
                column = int(columns[0])
                parts.append(self.lookup.count(column, keys, int(np.count_nonzero(gaps[column]))))
            else:
                parts.append(count_levels(rows.values[:, columns], grid))
        return np.concatenate(parts) if parts else np.zeros(0)


def fit_bulk(profile: Profile, schema: Schema, grids: tuple[Grid, ...], rows: Encoded) -> tuple[Bulk, Matrix]:
    """What bulk counting needs, learned on the rows that the profile was learned from.

    Parameters
    ----------
    profile : Profile
    schema : Schema
    grids : tuple of Grid
    rows : Encoded

    Returns
    -------
    bulk : Bulk
    powers : (4, statistics) array
        Sums of the first four powers of the statistics of these rows.
    """
    lookup = make_lookup(profile.scores, profile.model.mean, schema.owner, grids)
    gaps = rows.missing[:, schema.owner].T
    keys = lookup.keys(rows.values, gaps)
    bits = np.array([_bits(cells[~hidden]) for cells, hidden in zip(keys, gaps, strict=True)])
    reach = max(float(np.abs(profile.centres).max(initial=0.0)), 1.0)
    radius = 2.0 ** np.ceil(np.log2(2.0 * reach))
    statistics = BulkCounter(profile, schema, grids, bits, radius).statistics(rows)
    powers = np.stack([(statistics**power).sum(axis=0) for power in (1, 2, 3, 4)])
    covariance = np.cov(statistics, rowvar=False)
    return Bulk(covariance, bits, radius, len(rows)), powers


def _bits(keys: NDArray[np.uint16]) -> float:
    """-log2 of the chance that two observed cells of a column are the same."""
    counts, n_rows = np.bincount(keys), len(keys)
    same = (counts * (counts - 1.0)).sum() / max(n_rows * (n_rows - 1.0), 1.0)
    return float(-np.log2(np.clip(same, 1.0 / N_CELLS, 1.0)))


def _count_gaps(missing: Mask, pairs: Indices) -> Vector:
    """Sum of `gapdrift.profile.gap_statistics` over rows."""
    gaps = missing.T.astype(np.float32)
    number = gaps.sum(axis=0).astype(float)
    chosen, places = np.unique(pairs, return_inverse=True)
    together = gaps[chosen] @ gaps[chosen].T
    first, second = places.reshape(2, -1)
    return np.concatenate([gaps.sum(axis=1), together[first, second], [(number**2).sum()]])


def _part(rows: Encoded, start: int) -> Encoded:
    part = slice(start, start + CHUNK)
    return Encoded(rows.values[part], rows.missing[part])


def _add(one: Vector, two: NDArray[np.intp]) -> Vector:
    """Sum of counts, the second of which may have grown."""
    total = np.zeros(max(len(one), len(two)))
    total[: len(one)] += one
    total[: len(two)] += two
    return total
