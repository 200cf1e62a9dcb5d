"""Counts of the observed cells of each column, to show the two distributions side by side."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gapdrift.persistence.records import expect, stored
from gapdrift.results.result import Histogram
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.schema import Column, Schema

__all__ = ["N_INTERVALS", "Grid", "count_cells", "count_levels", "fit_grids", "make_histogram"]

N_INTERVALS = 20
"""Intervals of a column of numbers."""


@stored
@dataclass(frozen=True)
class Grid:
    """Intervals of one column of numbers, or the levels of a category.

    Parameters
    ----------
    edges : tuple of float
        Limits of the intervals; the outer ones also take what lies beyond. Empty for a category.
    labels : tuple of str
        Levels, and "(other)" for those without a matrix column of their own. Empty for numbers.
    """

    edges: tuple[float, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of counts."""
        return len(self.labels) or max(len(self.edges) - 1, 0)

    def check_stored(self) -> None:
        """Check what was read from a file: edges that rise, or labels."""
        expect(not (self.edges and self.labels), "edges or labels, not both")
        expect(len(self.edges) in {0, N_INTERVALS + 1}, f"{N_INTERVALS} intervals")
        rising = all(low <= high for low, high in pairwise(self.edges))
        expect(not self.edges or (rising and self.edges[0] < self.edges[-1]), "edges that rise")

    def check_fits(self, column: Column) -> None:
        """Check that a grid read from a file is one of this column."""
        if column.kind == "category":
            fits = self.labels == (*column.levels, "(other)")
        else:
            fits = bool(self.edges) == (column.kind == "number") and not self.labels
        expect(fits, "grids of the columns")


def fit_grids(rows: Encoded, schema: Schema) -> tuple[Grid, ...]:
    """Grid of each input column: between the 0.5 % and 99.5 % quantiles of the reference, or its levels."""
    return tuple(_grid(rows, schema, index, column) for index, column in enumerate(schema.columns))


def count_cells(rows: Encoded, schema: Schema, grids: tuple[Grid, ...]) -> NDArray[np.float64]:
    """Observed cells in each interval or level, all columns one after the other: (counts,)."""
    parts = [_count(rows.values[:, schema.owner == index], grid) for index, grid in enumerate(grids)]
    return np.concatenate(parts) if parts else np.zeros(0)


def make_histogram(grid: Grid, reference: NDArray[np.float64], window: NDArray[np.float64]) -> Histogram | None:
    """Shares of the cells of one column on both sides; None for a column without values."""
    if not len(grid):
        return None
    sides = [counts / max(counts.sum(), 1.0) for counts in (reference, window)]
    return Histogram(grid.labels, grid.edges, tuple(sides[0].tolist()), tuple(sides[1].tolist()))


def _grid(rows: Encoded, schema: Schema, index: int, column: Column) -> Grid:
    if column.kind == "empty":
        return Grid((), ())
    if column.kind == "category":
        return Grid((), (*column.levels, "(other)"))
    values = rows.values[:, schema.owner == index].ravel()
    present = values[~np.isnan(values)]
    low, high = np.quantile(present, [0.005, 0.995])
    if low == high:
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    return Grid(tuple(np.linspace(low, high, N_INTERVALS + 1).tolist()), ())


def count_levels(values: NDArray[np.float64], grid: Grid) -> NDArray[np.float64]:
    """Rows of each level of a category, out of its matrix columns; those without their own come last."""
    counts = np.count_nonzero(values > 0, axis=0).astype(float)
    own = max(len(grid.labels) - 1, 0)
    return np.append(counts[:own], counts[own:].sum()) if grid.labels else np.zeros(0)


def _count(values: NDArray[np.float64], grid: Grid) -> NDArray[np.float64]:
    if not len(grid):
        return np.zeros(0)
    if grid.labels:
        return count_levels(values, grid)
    present = values[~np.isnan(values)]
    low, high = grid.edges[0], grid.edges[-1]
    place = np.clip((np.clip(present, low, high) - low) / (high - low) * N_INTERVALS, 0, N_INTERVALS - 1).astype(
        np.intp
    )
    return np.bincount(place, minlength=N_INTERVALS).astype(float)
