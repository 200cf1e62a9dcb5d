"""Histograms of the observed cells of each column: to test its distribution, and to show it on both sides."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.persistence.records import expect, stored
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.facts import Facts, Tally, add_tallies, count_copies, cut_tally, hash_numbers, mixers, outer_cells
from gapdrift.tables.schema import Column, Schema, number_as_category

__all__ = ["MAX_HISTOGRAM_CELLS", "HistogramAxis", "cells_of_rows", "count_categories", "find_facts", "fit_axes"]

N_INTERVALS = 20
"""Intervals of the histogram of a column of numbers that is shown."""

N_QUANTILES = 24
"""Cells with about equally many values of the reference."""

ROWS_PER_CELL = 20
"""Values of the reference in such a cell, at least."""

MAX_REPEATED, MIN_REPEATED = 24, 0.01
"""Numbers that the reference repeats so often have a cell each: how many, and their share of all values."""

MAX_VALUES = 64
"""Different numbers of a column that have a cell each."""

MAX_SINGLE_VALUES = 12
"""Different numbers of a column up to which each is drawn by itself."""

MAX_OUTER_CELL = 2**20
"""More than there are cells outside of a histogram."""

FACT_CELLS = 131_072
"""Cells whose facts are found at once, at most."""

MAX_HISTOGRAM_CELLS = 96
"""Cells of one column, at most."""


@stored
@dataclass(frozen=True)
class HistogramAxis:
    """Intervals or categories by which the cells of one column are counted.

    Parameters
    ----------
    edges : tuple of float
        Limits of the intervals that are shown; the first and last one also count what lies beyond. Empty for
        categories.
    limits : tuple of float
        Where one cell ends and the next begins: more of them, which include all inner edges.
    labels : tuple of str
        Categories, and "(other)" for those without a matrix column of their own. Empty for numbers.
    values : tuple of float
        All numbers that the reference has, in rising order, if they are few: they are drawn one by one.
    """

    edges: tuple[float, ...]
    limits: tuple[float, ...]
    labels: tuple[str, ...]
    values: tuple[float, ...] = ()

    def __len__(self) -> int:
        """Return the number of counts: cells of numbers, or categories."""
        return len(self.labels) or (len(self.limits) + 1 if self.edges else 0)

    @property
    def width(self) -> float:
        """Width of the intervals that are shown."""
        return self.edges[1] - self.edges[0]

    def tally(self, numbers: Vector) -> dict[str, int]:
        """Count of each number, of which the reference has only a few different ones; NaN marks a missing one."""
        tally, other = {}, ~np.isnan(numbers)
        for value in self.values:
            same = numbers == value
            other &= ~same
            if n_same := int(np.count_nonzero(same)):
                tally[number_as_category(value)] = n_same
        found, counts = np.unique(numbers[other], return_counts=True)
        return tally | dict(zip(map(number_as_category, found.tolist()), counts.tolist(), strict=True))

    def cells_of(self, values: Vector) -> Indices:
        """Cell of each number."""
        return np.searchsorted(self.limits, values, side="right")

    def shown(self, counts: Vector) -> Vector:
        """Counts of the intervals that are shown, or of categories, out of those of all cells."""
        if not self.edges:
            return counts
        intervals = np.searchsorted(self.edges[1:-1], (-np.inf, *self.limits), side="right")
        return np.bincount(intervals, counts, N_INTERVALS).astype(float)

    def check_stored(self) -> None:
        """Check what was read from a file: edges that rise, or labels."""
        expect(not (self.edges and self.labels), "edges or labels, not both")
        expect(len(self.edges) in {0, N_INTERVALS + 1}, f"{N_INTERVALS} intervals")
        rising = all(low <= high for low, high in pairwise(self.edges))
        expect(not self.edges or (rising and self.edges[0] < self.edges[-1]), "edges that rise")
        expect(all(low < high for low, high in pairwise(self.limits)), "limits of cells that rise")
        expect(len(self.limits) < MAX_HISTOGRAM_CELLS, f"up to {MAX_HISTOGRAM_CELLS} cells")
        expect(set(self.edges[1:-1]) <= set(self.limits) or not self.edges, "limits of cells that include the edges")
        expect(bool(self.edges) or not (self.limits or self.values), "limits of cells of numbers only")
        expect(len(self.values) <= MAX_SINGLE_VALUES, f"up to {MAX_SINGLE_VALUES} single values")
        expect(all(low < high for low, high in pairwise(self.values)), "values that rise")

    def check_fits(self, column: Column) -> None:
        """Check that an axis read from a file belongs to this column."""
        if column.kind == "category":
            fits = self.labels == (*column.categories, "(other)")
        else:
            fits = bool(self.edges) == (column.kind == "number") and not self.labels
        expect(fits, "histogram axes of the columns")


def fit_axes(rows: Encoded, schema: Schema) -> tuple[HistogramAxis, ...]:
    """Histogram axis of each input column.

    Numbers are counted in intervals of equal width from the 0.5 % to the 99.5 % quantile of the reference.
    """
    return tuple(_fit_axis(rows, schema, index, column) for index, column in enumerate(schema.columns))


def find_facts(rows: Encoded | Matrix, axes: tuple[HistogramAxis, ...], owner: Indices) -> Facts:
    """Facts about rows.

    Parameters
    ----------
    rows : Encoded or (rows, columns) array
        An array has numbers only, NaN where missing.
    axes : tuple of HistogramAxis
        Of each input column.
    owner : (matrix columns,) array of int
        Input column of each matrix column.
    """
    tallies: list[Tally] = [{} for _ in axes]
    if isinstance(rows, Encoded):
        values, codes, tallies = rows.values, rows.codes.copy(), list(rows.tallies) or tallies
    else:
        values, codes = rows, np.zeros(len(rows), dtype=np.uint64)
    smallest, largest = np.full(len(axes), np.inf), np.full(len(axes), -np.inf)
    n_missing = rows.missing.sum(axis=1) if isinstance(rows, Encoded) else np.zeros(len(rows), dtype=np.intp)
    numbers = _Numbers(axes, owner)
    for start in range(0, len(values) if len(numbers.places) else 0, numbers.n_rows):
        # One column after the other, all in the cache.
        block = np.array(values[start : start + numbers.n_rows].T[numbers.places], order="C")
        codes[start : start + numbers.n_rows] += hash_numbers(block, numbers.mixed)
        smallest[numbers.columns] = np.fmin(smallest[numbers.columns], np.fmin.reduce(block, axis=1))
        largest[numbers.columns] = np.fmax(largest[numbers.columns], np.fmax.reduce(block, axis=1))
        if not isinstance(rows, Encoded):
            n_missing[start : start + numbers.n_rows] = np.isnan(block).sum(axis=0)
        numbers.add(block, tallies)
    numbers.finish(tallies)
    # Rows of which next to nothing is known are alike without being copies.
    known = codes[2 * n_missing < len(axes)]
    return Facts(smallest, largest, tuple(map(cut_tally, tallies)), *count_copies(known))


class _Numbers:
    """Tallies of all columns of numbers, found together: one by one they would take as long as counting."""

    def __init__(self, axes: tuple[HistogramAxis, ...], owner: Indices) -> None:
        self.places = np.flatnonzero([bool(axes[column].edges) for column in owner.tolist()])
        self.columns, self.axes = owner[self.places], [axes[column] for column in owner[self.places].tolist()]
        self.mixed = mixers(len(axes))[self.columns]
        self.low, self.high = (np.array([axis.edges[end] for axis in self.axes]) for end in (0, -1))
        self.width = np.array([axis.width for axis in self.axes])
        self.single = np.array([bool(axis.values) for axis in self.axes], dtype=bool)
        self.n_rows = max(FACT_CELLS // max(len(self.places), 1), 16)
        self.outside: list[tuple[Indices, Vector]] = []

    def add(self, block: Matrix, tallies: list[Tally]) -> None:
        """Add the cells of some rows, (columns, rows)."""
        for place in np.flatnonzero(self.single).tolist():
            self._add(place, tallies, self.axes[place].tally(block[place]))
        outside = (block < self.low[:, None]) | (block >= self.high[:, None])
        outside[self.single] = False
        flat = np.flatnonzero(outside)
        self.outside.append((flat // block.shape[1], block.ravel()[flat]))
        if sum(len(values) for _, values in self.outside) > FACT_CELLS:
            self.finish(tallies)

    def finish(self, tallies: list[Tally]) -> None:
        """Add cells that lie outside of the histograms."""
        if not self.outside:
            return
        places, values = (np.concatenate(parts) for parts in zip(*self.outside, strict=True))
        cells = outer_cells(values, self.low[places], self.high[places], self.width[places])
        found, counts = np.unique(places * MAX_OUTER_CELL + cells + MAX_OUTER_CELL // 2, return_counts=True)
        own, cells = np.divmod(found, MAX_OUTER_CELL)
        by_column: dict[int, dict[str, int]] = {}
        for place, cell, count in zip(own.tolist(), cells.tolist(), counts.tolist(), strict=True):
            by_column.setdefault(place, {})[str(cell - MAX_OUTER_CELL // 2)] = count
        for place, tally in by_column.items():
            self._add(place, tallies, tally)
        self.outside.clear()

    def _add(self, place: int, tallies: list[Tally], tally: Tally) -> None:
        column = int(self.columns[place])
        tallies[column] = add_tallies(tallies[column], tally)


def count_categories(values: Matrix, axis: HistogramAxis) -> Vector:
    """Number of rows with each category, from the one-hot columns of one input column; "(other)" comes last."""
    counts = np.count_nonzero(values > 0, axis=0).astype(float)
    n_own = max(len(axis.labels) - 1, 0)
    return np.append(counts[:n_own], counts[n_own:].sum()) if axis.labels else np.zeros(0)


def cells_of_rows(rows: Encoded, owner: Indices, axes: tuple[HistogramAxis, ...]) -> Indices:
    """Cell of each value, -1 where it is missing: (rows, input columns)."""
    found = np.full((len(rows), len(axes)), -1, dtype=np.intp)
    for place, axis in enumerate(axes):
        values, present = rows.values[:, owner == place], ~rows.missing[:, place]
        if axis.edges:
            found[present, place] = axis.cells_of(values[present, 0])
        elif axis.labels:
            found[present, place] = np.minimum(values[present].argmax(axis=1), len(axis) - 1)
    return found


def _fit_axis(rows: Encoded, schema: Schema, index: int, column: Column) -> HistogramAxis:
    if column.kind == "empty":
        return HistogramAxis((), (), ())
    if column.kind == "category":
        return HistogramAxis((), (), (*column.categories, "(other)"))
    values = rows.values[:, schema.owner == index].ravel()
    present = values[~np.isnan(values)]
    low, high = np.quantile(present, [0.005, 0.995])
    if low == high:
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    edges = np.linspace(low, high, N_INTERVALS + 1)
    limits = np.unique(np.concatenate([edges[1:-1], _cell_limits(present)]))
    values = np.unique(present)
    few = tuple(values.tolist()) if len(values) <= MAX_SINGLE_VALUES else ()
    return HistogramAxis(tuple(edges.tolist()), tuple(limits.tolist()), (), few)


def _cell_limits(present: Vector) -> Vector:
    """Limits of cells of equally many values, and around numbers that are repeated, halfway to the next ones."""
    values, counts = np.unique(present, return_counts=True)
    between = values[:-1] + 0.5 * np.diff(values)
    if len(values) <= MAX_VALUES:
        return between
    n_cells = int(np.clip(len(present) // ROWS_PER_CELL, 2, N_QUANTILES))
    wanted = np.arange(1, n_cells) / n_cells * len(present)
    at_quantiles = np.minimum(np.searchsorted(np.cumsum(counts), wanted), len(between) - 1)
    often = np.argsort(-counts, kind="stable")[:MAX_REPEATED]
    often = often[counts[often] >= max(MIN_REPEATED * len(present), 5)]
    around = np.concatenate([often - 1, often])
    chosen = np.concatenate([at_quantiles, around[(around >= 0) & (around < len(between))]])
    limits: Vector = between[np.unique(chosen)]
    return limits
