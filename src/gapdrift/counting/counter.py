"""The counter: rows to the sums of their statistics, many at once."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.averaged import AveragedBins
from gapdrift.counting.bins import choose_donors, make_bin_table, memberships, nearest
from gapdrift.counting.filling import EXTRA_STEPS, DenseFiller, FilledRows, make_filler
from gapdrift.counting.observed import CrossedSums
from gapdrift.counting.patterns import MAX_CODED, MIX, KnownPatterns, pattern_codes
from gapdrift.counting.profile import Profile
from gapdrift.counting.statistics import ScoreSums
from gapdrift.errors import InputError
from gapdrift.models.normal_scores import N_CELLS, UNIT
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.facts import mixers
from gapdrift.tables.frame import MAX_MAGNITUDE
from gapdrift.tables.histograms import MAX_HISTOGRAM_CELLS, HistogramAxis, count_categories

__all__ = ["CHUNK", "Counter", "OutOfRangeError", "RowStatistics", "machine_code"]


Codes = NDArray[np.uint64]

CHUNK = 4_096
"""Rows counted at once, at most: their scores stay in the cache."""

CHUNK_CELLS = 262_144
"""Cells counted at once, at most."""

COMPILED_ROWS = 50_000
"""Rows from which machine code is loaded: it takes seconds to make, though only once."""

ENOUGH_BITS = 10.0
"""Collision entropy of observed values from which a row chooses donors by them."""


class OutOfRangeError(InputError):
    """A number is infinite or too large; which one is said elsewhere."""


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """Statistics of some rows, one by one.

    Parameters
    ----------
    location : (rows, columns) array
    hidden : (rows, n_paired, n_paired) array
        Hidden part of the products.
    bins : (rows, bins) array
    observed : (rows, size) array
        Of `CrossedSums.rows`.
    sums : dict
        What `Counter.count` gives for the same rows.
    """

    location: Matrix
    hidden: Matrix
    bins: Matrix
    observed: NDArray[np.float32]
    sums: dict[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class _Scored:
    """Rows as centred scores, 0 where missing, and what their missing and observed values are known by."""

    scores: Matrix
    identity: NDArray[np.uint64]
    codes: NDArray[np.uint64]
    missing: Callable[[Indices | slice], Mask]


class Counter:
    """Counts rows by a profile.

    Parameters
    ----------
    profile : Profile
    histogram_axes : tuple of HistogramAxis
        Histogram of each input column.
    """

    def __init__(self, profile: Profile, histogram_axes: tuple[HistogramAxis, ...]) -> None:
        self.profile, self.histogram_axes = profile, histogram_axes
        self.filler = make_filler(profile)
        self.bin_table = make_bin_table(profile)
        self._table = profile.score_table
        self._mixer = mixers(len(profile.owner), seed=20_001)
        self.averaged = AveragedBins(self.bin_table, profile.donors, coded=len(histogram_axes) <= MAX_CODED)
        self._enough_of: tuple[KnownPatterns | None, Mask] = None, np.zeros(0, dtype=bool)
        largest = np.abs(self._table.scores).max(axis=1, initial=0.0)
        self._score_sums = ScoreSums(len(profile.owner), profile.paired, largest)
        self.crossed = CrossedSums(profile.owner, profile.is_category, len(histogram_axes))
        self._chunk = min(CHUNK, max(CHUNK_CELLS // max(len(profile.owner), 1), 16))
        # The first matrix column of each input column, and whether each has one.
        self._first_of = np.searchsorted(profile.owner, np.arange(len(histogram_axes)))
        self._intervals = _cell_intervals(profile, histogram_axes)

    def count(self, chunks: Iterable[Encoded | Matrix], n_rows: int) -> dict[str, NDArray[np.float64]]:
        """Sums over rows, as `gapdrift.counting.statistics` describes them, and histograms.

        Parameters
        ----------
        chunks : iterable of Encoded or (rows, columns) array
            In an array, NaN marks a missing value.
        n_rows : int
            Of all chunks.
        """
        sums = self._zeros()
        bars = np.zeros((len(self.profile.owner), MAX_HISTOGRAM_CELLS), dtype=np.int64)
        code = machine_code(n_rows) if self._can_compile else None
        totals = self._totals()
        for values, missing in _parts(chunks, self._chunk):
            sums["cells"] += self._count_categories(values)
            if code is None:
                self._count_chunk(values, missing, sums, totals, bars)
                continue
            rest = self._count_compiled(code, values, missing, sums, totals, bars)
            if len(rest):
                # Their numbers are in the histograms already.
                others = None if missing is None else missing[rest]
                self._count_chunk(values[rest], others, sums, totals, np.zeros_like(bars))
        self._finish(sums, totals, bars)
        return sums

    def _finish(self, sums: dict[str, Any], totals: Any, bars: NDArray[np.int64]) -> None:
        """Add what patterns hide, and the histograms of numbers."""
        sums |= totals.sums()
        sums["squares"] += sums.pop("extra_squares")
        sums["cells"] += self._bars(bars)

    def _count_chunk(
        self, values: Matrix, missing: Mask | None, sums: dict[str, Any], totals: Any, bars: NDArray[np.int64]
    ) -> None:
        """Add the statistics of some rows."""
        scored = self._score(values, missing, bars)
        self.crossed.add(sums, self.crossed.rows(scored.scores, scored.missing(slice(None))))
        for filled in self.filler.fill(scored.scores, scored.codes, scored.missing, totals):
            self._score_sums.add(sums, filled.expected)
            self._add_bins(sums, scored.identity[filled.rows], scored.codes[filled.rows], filled)

    def _count_compiled(
        self,
        code: Any,
        values: Matrix,
        missing: Mask | None,
        sums: dict[str, Any],
        totals: Any,
        bars: NDArray[np.int64],
    ) -> Indices:
        """Add the statistics of rows whose patterns are known by machine code; the places of the others."""
        assert isinstance(self.filler, DenseFiller)
        table, n_spread, known = self.bin_table, self.profile.n_spread, self.filler.kept_patterns()
        counts = np.zeros(table.n_bins, dtype=np.int64)
        together = np.zeros((table.n_bins, table.n_bins), dtype=np.int64)
        pattern_counts, rest = np.zeros(len(known)), np.empty(len(values), dtype=np.intp)
        expected = np.empty((len(values), len(self.profile.owner)))
        observed = np.empty((len(values), self.crossed.size), dtype=np.float32)
        given = np.zeros((0, 0), dtype=bool) if missing is None else missing
        apart = np.arange(n_spread) * len(self._donors) // n_spread
        n_rest = code.count_rows(
            values,
            given,
            self._packed,
            (known.slots, known.codes, MIX, self._enough(known)),
            known.arrays,
            (self.filler.precision.matrix, UNIT, EXTRA_STEPS, totals.extra),
            (self._donors, apart, table.arrays, counts, together),
            self.crossed.numbers,
            expected,
            observed,
            pattern_counts,
            bars,
            rest,
        )
        if n_rest < 0:
            raise OutOfRangeError("A number is out of range.")
        totals.add_counts(pattern_counts)
        self.crossed.add(sums, observed, code)
        sums["bins"] += counts / n_spread
        sums["bin_products"] += (together + together.T - np.diag(np.diag(together))) / n_spread**2
        self._score_sums.add(sums, np.delete(expected, rest[:n_rest], axis=0) if n_rest else expected, code)
        return rest[:n_rest]

    def _enough(self, known: KnownPatterns) -> Mask:
        """Whether rows of each pattern have enough observed to choose donors by, as a complete row always has."""
        last, enough = self._enough_of
        if last is not known:
            enough = (~known.missing) @ self.profile.entropy >= ENOUGH_BITS
            enough[0] = True
            self._enough_of = known, enough
        return enough

    def rows(self, rows: Encoded, *, hidden: bool = True) -> RowStatistics:
        """Statistics of each row, and their sums.

        Parameters
        ----------
        rows : Encoded
        hidden : bool, default True
            Whether hidden parts are wanted: they are as large as all pairs.
        """
        profile = self.profile
        n_rows, n_paired = len(rows), len(profile.paired) if hidden else 0
        found = RowStatistics(
            np.empty((n_rows, len(profile.owner))),
            np.empty((n_rows, n_paired, n_paired)),
            np.empty((n_rows, len(profile.centres))),
            np.empty((n_rows, self.crossed.size), dtype=np.float32),
            self._zeros(),
        )
        bars = np.zeros((len(profile.owner), MAX_HISTOGRAM_CELLS), dtype=np.int64)
        start, totals = 0, self._totals()
        for values, missing in _parts([rows], self._chunk):
            found.sums["cells"] += self._count_categories(values)
            scored = self._score(values, missing, bars)
            observed = self.crossed.rows(scored.scores, scored.missing(slice(None)))
            found.observed[start : start + len(values)] = observed
            self.crossed.add(found.sums, observed)
            for filled in self.filler.fill(scored.scores, scored.codes, scored.missing, totals):
                places = start + np.arange(len(values))[filled.rows]
                self._score_sums.add(found.sums, filled.expected)
                found.location[places] = filled.expected
                if hidden:
                    found.hidden[places] = filled.hidden()
                identity, codes = scored.identity[filled.rows], scored.codes[filled.rows]
                found.bins[places] = self._memberships(filled, identity)
                lacking = self._lacking(filled)
                if len(lacking):
                    shares, place = self.averaged.find(filled.take(lacking), identity[lacking], codes[lacking])
                    found.bins[places[lacking]] = shares[place]
            _add_shares(found.sums, found.bins[start : start + len(values)])
            start += len(values)
        self._finish(found.sums, totals, bars)
        return found

    def expected(self, rows: Encoded) -> Matrix:
        """Centred expected scores of each row: (rows, columns)."""
        found = np.empty((len(rows), len(self.profile.owner)))
        bars = np.zeros((len(self.profile.owner), MAX_HISTOGRAM_CELLS), dtype=np.int64)
        start = 0
        for values, missing in _parts([rows], self._chunk):
            scored = self._score(values, missing, bars)
            for filled in self.filler.fill(scored.scores, scored.codes, scored.missing, self._totals()):
                found[start + np.arange(len(values))[filled.rows]] = filled.expected
            start += len(values)
        return found

    def _totals(self) -> Any:
        return self.filler.totals()

    def _zeros(self) -> dict[str, NDArray[np.float64]]:
        n_bins = len(self.profile.centres)
        return (
            self._score_sums.zeros()
            | self.crossed.zeros()
            | {
                "bins": np.zeros(n_bins),
                "bin_products": np.zeros((n_bins, n_bins)),
                "cells": np.zeros(sum(map(len, self.histogram_axes))),
            }
        )

    def _add_bins(self, sums: dict[str, Any], identity: Codes, codes: Codes, filled: FilledRows) -> None:
        lacking = self._lacking(filled)
        if not len(lacking):
            self._add_all(sums, identity, filled)
            return
        others = np.delete(np.arange(len(identity)), lacking)
        self._add_all(sums, identity[others], filled.take(others))
        shares, place = self.averaged.find(filled.take(lacking), identity[lacking], codes[lacking])
        _add_shares(sums, shares, np.bincount(place))

    def _add_all(self, sums: dict[str, Any], identity: NDArray[np.uint64], filled: FilledRows) -> None:
        """Add the bins of rows that choose donors by their observed values."""
        table = self.bin_table
        if self.profile.n_spread > 1:
            _add_shares(sums, self._memberships(filled, identity))
            return
        # One completion: a row is in one bin.
        steps = table.steps(filled.expected)
        steps += filled.residual_steps(table, self.profile.donors, choose_donors(identity, len(self.profile.donors), 1))
        counts = np.bincount(nearest(table.distances(steps)), minlength=table.n_bins)
        sums["bins"] += counts
        sums["bin_products"] += np.diag(counts)

    def _memberships(self, filled: FilledRows, identity: NDArray[np.uint64]) -> Matrix:
        """Shares of the completions of each row in each bin: (rows, bins)."""
        table, n_spread = self.bin_table, self.profile.n_spread
        steps = table.steps(filled.expected)
        shares = np.zeros((len(steps), table.n_bins))
        incomplete = filled.incomplete()
        if len(incomplete) < len(steps):
            complete = np.delete(np.arange(len(steps)), incomplete)
            shares[complete, nearest(table.distances(steps[complete]))] = 1.0
        if len(incomplete):
            donors = choose_donors(identity[incomplete], len(self.profile.donors), n_spread)
            residuals = filled.take(incomplete).residual_steps(table, self.profile.donors, donors)
            shares[incomplete] = memberships(table, table.distances(steps[incomplete]), residuals, n_spread)
        return shares

    def _lacking(self, filled: FilledRows) -> Indices:
        """Incomplete rows with too little observed to choose donors by."""
        incomplete = filled.incomplete()
        if not len(incomplete):
            return incomplete
        return incomplete[filled.observed_entropy()[incomplete] < ENOUGH_BITS]

    def _score(self, values: Matrix, missing: Mask | None, bars: NDArray[np.int64]) -> _Scored:
        turned = np.array(values.T, order="C")
        inputs = np.isnan(values) if missing is None else missing
        hidden = np.ascontiguousarray(inputs.T[self.profile.owner])
        if missing is None and (np.abs(turned) > MAX_MAGNITUDE).any():
            raise OutOfRangeError("A number is out of range.")
        keys = self._table.keys(turned, hidden)
        scores = np.ascontiguousarray(self._table.scores_of(keys, hidden).T)
        for column, (cells, gone) in enumerate(zip(keys, hidden, strict=True)):
            intervals = self._intervals[column]
            bars[column] += np.bincount(intervals.take(cells), minlength=MAX_HISTOGRAM_CELLS)
            # Missing values are in cell 0 as well.
            bars[column, intervals[0]] -= np.count_nonzero(gone)
        keys >>= self._table.merged[:, None].astype(keys.dtype)
        identity = (keys * self._mixer[:, None]).sum(axis=0, dtype=np.uint64)
        return _Scored(scores, identity, pattern_codes(inputs), lambda rows: inputs[rows])

    @cached_property
    def _packed(self) -> tuple[Any, ...]:
        """Arrays that machine code takes: even grids, knots, and scores with intervals."""
        table = self._table
        ranked = np.array(sorted(table.ranked), dtype=np.intp)
        knots = [table.ranked[column] for column in ranked.tolist()]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in knots])]).astype(np.intp)
        first = np.zeros((len(ranked), N_CELLS + 1), dtype=np.uint16)
        for row, column in enumerate(ranked.tolist()):
            first[row] = table.first_knots(column)
        units = np.rint(table.scores / UNIT).astype(np.int64)
        packed = (units * 256 + self._intervals).astype(np.int32)
        exact = ranked, starts, np.concatenate([*knots, np.zeros(0)]), first
        grids = table.low, table.per_step, *exact, packed, table.merged
        return self.profile.owner, *grids, self._mixer, UNIT, MAX_MAGNITUDE

    @cached_property
    def _donors(self) -> NDArray[np.float32]:
        return self.profile.donors.astype(np.float32)

    @property
    def _can_compile(self) -> bool:
        """Whether machine code can count rows: not where columns are so many that patterns are not kept."""
        return isinstance(self.filler, DenseFiller) and len(self.histogram_axes) <= MAX_CODED

    def _count_categories(self, values: Matrix) -> Vector | float:
        """Rows of each category; 0 in the places of numbers."""
        if not any(axis.labels for axis in self.histogram_axes):
            return 0.0
        parts = [
            count_categories(values[:, self.profile.owner == index], axis) if axis.labels else np.zeros(len(axis))
            for index, axis in enumerate(self.histogram_axes)
        ]
        return np.concatenate(parts)

    def _bars(self, bars: NDArray[np.int64]) -> Vector:
        """Counts of numbers, all columns one after the other; 0 in the places of categories."""
        parts = [
            bars[place, : len(axis)].astype(float) if axis.edges else np.zeros(len(axis))
            for place, axis in zip(self._first_of, self.histogram_axes, strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


def _add_shares(sums: dict[str, Any], shares: Matrix, counts: NDArray[Any] | None = None) -> None:
    """Add the shares of rows in bins; ``counts`` says how many rows are like each."""
    weighted = shares if counts is None else shares * counts[:, None]
    sums["bins"] += weighted.sum(axis=0)
    sums["bin_products"] += weighted.T @ shares


def _cell_intervals(profile: Profile, histogram_axes: tuple[HistogramAxis, ...]) -> NDArray[np.uint8]:
    """Histogram interval of each cell of each column of numbers: (columns, cells)."""
    places = profile.score_table.places
    found = np.zeros(places.shape, dtype=np.uint8)
    for column, owner in enumerate(profile.owner.tolist()):
        if histogram_axes[owner].edges:
            found[column] = histogram_axes[owner].cells_of(places[column])
    return found


def _parts(chunks: Iterable[Encoded | Matrix], size: int) -> Iterator[tuple[Matrix, Mask | None]]:
    """Runs of rows that fit into the cache."""
    for chunk in chunks:
        for start in range(0, len(chunk), size):
            part = slice(start, start + size)
            if isinstance(chunk, Encoded):
                yield chunk.values[part], chunk.missing[part]
            else:
                yield chunk[part], None


def machine_code(n_rows: int) -> Any:
    """Functions in machine code; None where numba is not installed, and for few rows unless it is loaded anyway."""
    loaded = _compiled.cache_info().currsize > 0
    return _compiled() if loaded or n_rows >= COMPILED_ROWS else None


@cache
def _compiled() -> Any:
    try:
        return import_module("gapdrift.counting.compiled")
    except (ImportError, RuntimeError):
        # No numba, or one without a folder that it may keep machine code in: numpy gives the same sums.
        return None
