"""Histograms of the observed cells of each column, to show the distributions of reference and window side by side."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.persistence.records import expect, stored
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.schema import Column, Schema

__all__ = ["N_INTERVALS", "HistogramAxis", "count_categories", "fit_axes", "interval_of"]

N_INTERVALS = 20
"""Number of intervals in the histogram of a column of numbers."""


@stored
@dataclass(frozen=True)
class HistogramAxis:
    """Intervals or categories by which the cells of one column are counted.

    Parameters
    ----------
    edges : tuple of float
        Limits of the intervals; the first and last interval also count what lies beyond. Empty for categories.
    labels : tuple of str
        Categories, and "(other)" for those without a matrix column of their own. Empty for numbers.
    """

    edges: tuple[float, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of counts: intervals or categories."""
        return len(self.labels) or max(len(self.edges) - 1, 0)

    def check_stored(self) -> None:
        """Check what was read from a file: edges that rise, or labels."""
        expect(not (self.edges and self.labels), "edges or labels, not both")
        expect(len(self.edges) in {0, N_INTERVALS + 1}, f"{N_INTERVALS} intervals")
        rising = all(low <= high for low, high in pairwise(self.edges))
        expect(not self.edges or (rising and self.edges[0] < self.edges[-1]), "edges that rise")

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


def count_categories(values: Matrix, axis: HistogramAxis) -> Vector:
    """Number of rows with each category, from the one-hot columns of one input column; "(other)" comes last."""
    counts = np.count_nonzero(values > 0, axis=0).astype(float)
    n_own = max(len(axis.labels) - 1, 0)
    return np.append(counts[:n_own], counts[n_own:].sum()) if axis.labels else np.zeros(0)


def _fit_axis(rows: Encoded, schema: Schema, index: int, column: Column) -> HistogramAxis:
    if column.kind == "empty":
        return HistogramAxis((), ())
    if column.kind == "category":
        return HistogramAxis((), (*column.categories, "(other)"))
    values = rows.values[:, schema.owner == index].ravel()
    present = values[~np.isnan(values)]
    low, high = np.quantile(present, [0.005, 0.995])
    if low == high:
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    return HistogramAxis(tuple(np.linspace(low, high, N_INTERVALS + 1).tolist()), ())


def interval_of(values: Vector, axis: HistogramAxis) -> Indices:
    """Interval of each number in the histogram of its column."""
    low, high = axis.edges[0], axis.edges[-1]
    share = (np.clip(values, low, high) - low) / (high - low)
    return np.clip(share * N_INTERVALS, 0, N_INTERVALS - 1).astype(np.intp)
