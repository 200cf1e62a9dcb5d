"""Histograms of the observed cells of each column: to test its distribution, and to show it on both sides."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.persistence.records import expect, stored
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.facts import (
    Codes,
    Facts,
    Tally,
    add_tallies,
    empty_facts,
    hash_numbers,
    mixers,
    outer_cells,
)
from gapdrift.tables.schema import Column, Schema, number_as_category

__all__ = [
    "MAX_HISTOGRAM_CELLS",
    "FactFinder",
    "HistogramAxis",
    "cells_of_rows",
    "count_categories",
    "count_cells",
    "find_facts",
    "fit_axes",
    "scan_numbers",
]

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


def find_facts(rows: Encoded, axes: tuple[HistogramAxis, ...], owner: Indices) -> Facts:
    """Facts about rows; parameters as of `FactFinder`."""
    finder = FactFinder(axes, owner)
    finder.add(rows)
    return finder.facts()


class FactFinder:
    """Finds facts about rows, all columns of numbers together: one by one they would take as long as counting.

    Parameters
    ----------
    axes : tuple of HistogramAxis
        Of each input column.
    owner : (matrix columns,) array of int
        Input column of each matrix column.
    code : module, optional
        Functions in machine code (`gapdrift.counting.counter.machine_code`).
    """

    def __init__(self, axes: tuple[HistogramAxis, ...], owner: Indices, code: Any = None) -> None:
        self._places = np.flatnonzero([bool(axes[column].edges) for column in owner.tolist()])
        self._columns, self._axes = owner[self._places], [axes[column] for column in owner[self._places].tolist()]
        self._mixed = mixers(len(axes))[self._columns]
        low, high = (np.array([axis.edges[end] for axis in self._axes]) for end in (0, -1))
        self._limits = low, high, np.full(len(self._axes), np.inf), np.full(len(self._axes), -np.inf)
        self._width = np.array([axis.width for axis in self._axes])
        self._single = np.array([bool(axis.values) for axis in self._axes], dtype=bool)
        self._scan = scan_numbers if code is None else code.scan_numbers
        self._outside: list[tuple[Indices, Vector]] = []
        self._found = empty_facts(len(axes))

    def add(self, rows: Encoded | Matrix) -> None:
        """Add rows; an array has numbers only, NaN where missing."""
        n_inputs = len(self._found.tallies)
        values = rows.values if isinstance(rows, Encoded) else rows
        codes = rows.codes.copy() if isinstance(rows, Encoded) else np.zeros(len(values), dtype=np.uint64)
        n_missing = np.zeros(len(values), dtype=np.intp)
        step = max(FACT_CELLS // max(len(self._places), 1), 16)
        for start in range(0, len(values) if len(self._places) else 0, step):
            part = slice(start, start + step)
            self._look_through(values[part], codes[part], n_missing[part])
        if isinstance(rows, Encoded):
            n_missing = rows.missing.sum(axis=1)
            for column, tally in enumerate(rows.tallies):
                self._add_tally(column, tally)
        # Rows of which next to nothing is known are alike without being copies.
        self._found = self._found.with_rows(codes[2 * n_missing < n_inputs])

    def facts(self) -> Facts:
        """Facts about all rows that were added."""
        self._count_outside()
        smallest, largest = self._found.smallest.copy(), self._found.largest.copy()
        smallest[self._columns], largest[self._columns] = self._limits[2:]
        return replace(self._found, smallest=smallest, largest=largest)

    def _look_through(self, values: Matrix, codes: Codes, n_missing: Indices) -> None:
        """Add numbers to hashes of their rows, to how many of them are missing, and to what is known of columns."""
        found = np.empty((values.shape[0] * len(self._places), 2), dtype=np.intp)
        n_found = self._scan(values, self._places, self._mixed, self._limits, codes, n_missing, found)
        rows, places = found[:n_found].T
        outside = ~self._single[places]
        rows, places = rows[outside], places[outside]
        self._outside.append((places, values[rows, self._places[places]]))
        for place in np.flatnonzero(self._single).tolist():
            tally = self._axes[place].tally(values[:, self._places[place]])
            self._add_tally(int(self._columns[place]), tally)
        if sum(len(numbers) for _, numbers in self._outside) > FACT_CELLS:
            self._count_outside()

    def _count_outside(self) -> None:
        """Add the cells of numbers that lie outside of the histograms."""
        if not self._outside:
            return
        places, values = (np.concatenate(parts) for parts in zip(*self._outside, strict=True))
        low, high = self._limits[:2]
        cells = outer_cells(values, low[places], high[places], self._width[places])
        found, counts = np.unique(places * MAX_OUTER_CELL + cells + MAX_OUTER_CELL // 2, return_counts=True)
        own, cells = np.divmod(found, MAX_OUTER_CELL)
        by_column: dict[int, dict[str, int]] = {}
        for place, cell, count in zip(own.tolist(), cells.tolist(), counts.tolist(), strict=True):
            by_column.setdefault(int(self._columns[place]), {})[str(cell - MAX_OUTER_CELL // 2)] = count
        for column, tally in by_column.items():
            self._add_tally(column, tally)
        self._outside.clear()

    def _add_tally(self, column: int, tally: Tally) -> None:
        tallies = list(self._found.tallies)
        tallies[column] = add_tallies(tallies[column], tally)
        self._found = replace(self._found, tallies=tuple(tallies))


def scan_numbers(
    values: Matrix,
    places: Indices,
    mixed: Codes,
    limits: tuple[Vector, Vector, Vector, Vector],
    codes: Codes,
    n_missing: Indices,
    found: Indices,
) -> int:
    """Look through the numbers of some rows once.

    Parameters
    ----------
    values : (rows, matrix columns) array
    places : (columns,) array of int
        Matrix columns of numbers.
    mixed : (columns,) array of uint64
        Number that belongs to each column (`mixers`).
    limits : tuple of (columns,) arrays
        Limits of the histograms, low and high; smallest and largest number so far, which are brought up to date.
    codes : (rows,) array of uint64
        Hashes of rows: added to.
    n_missing : (rows,) array of int
        Numbers that are missing: added to.
    found : (cells, 2) array of int
        Filled with rows and columns of numbers outside of the histograms.

    Returns
    -------
    n_found : int
        Number of these.
    """
    low, high, smallest, largest = limits
    # One column after the other, all in the cache.
    block = np.array(values.T[places], order="C")
    codes += hash_numbers(block, mixed)
    np.fmin(smallest, np.fmin.reduce(block, axis=1), out=smallest)
    np.fmax(largest, np.fmax.reduce(block, axis=1), out=largest)
    n_missing += np.isnan(block).sum(axis=0)
    columns, rows = np.nonzero((block < low[:, None]) | (block >= high[:, None]))
    found[: len(rows), 0], found[: len(rows), 1] = rows, columns
    return len(rows)


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


def count_cells(rows: Encoded, owner: Indices, axes: tuple[HistogramAxis, ...]) -> Vector:
    """Number of values in each cell of each column, one column after the other."""
    cells = cells_of_rows(rows, owner, axes)
    counts = [np.bincount(own[own >= 0], minlength=len(axis)) for own, axis in zip(cells.T, axes, strict=True)]
    return np.concatenate([np.zeros(0), *counts])


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
