"""Scores and histogram intervals by table: the cell of a grid that a number falls into says both."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gapdrift.models.normal_scores import Scores
from gapdrift.tables.encoding import ONE_HOT
from gapdrift.tables.histograms import N_INTERVALS, HistogramAxis

__all__ = ["N_CELLS", "UNIT", "Lookup", "look_up_scores", "make_lookup"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Keys = NDArray[np.uint16]

N_CELLS = 4_096
"""Cells of the grid of one column."""

UNIT = 2.0**-14
"""Scores are whole multiples of this: sums and products of them are exact, in whatever order they are added up."""

COARSE = 0.02
"""Difference of a number's score and that of its cell above which another grid is tried."""

TAIL = 500
"""One knot in so many, on either side, may lie beyond the grid."""


@dataclass(frozen=True, eq=False)
class Lookup:
    """Grids of all columns, with the score and the histogram interval of each cell.

    Parameters
    ----------
    low, per_step : (columns,) arrays
        A number x falls into the cell (x - low) per_step; the outer cells also take what lies beyond.
    ranked : mapping of int to (knots,) array
        Columns for which no even grid is fine enough: cell 2 i + 1 is knot i itself, cell 2 i what lies below it.
    scores : (columns, N_CELLS) array
        Less the model's mean.
    intervals : (columns, N_CELLS) array of int
        Histogram interval of each cell, for columns of numbers.
    """

    low: Vector
    per_step: Vector
    ranked: dict[int, Vector]
    scores: NDArray[np.float32]
    intervals: NDArray[np.uint8]

    def keys(self, values: Matrix, gaps: Mask) -> Keys:
        """Cell of each number: (columns, rows); 0 in gaps.

        Parameters
        ----------
        values : (columns, rows) array
            Changed.
        gaps : (columns, rows) array of bool
        """
        exact = {column: _ranks(knots, values[column]) for column, knots in self.ranked.items()}
        values -= self.low[:, None]
        values *= self.per_step[:, None]
        np.clip(values, 0.0, N_CELLS - 1.0, out=values)
        np.copyto(values, 0.0, where=gaps)
        keys = values.astype(np.uint16)
        for column, cells in exact.items():
            keys[column] = np.where(gaps[column], 0, cells)
        return keys

    def centred(self, keys: Keys, gaps: Mask) -> NDArray[np.float32]:
        """Scores less their means: (columns, rows); 0 in gaps."""
        found = np.empty(keys.shape, dtype=np.float32)
        for table, cells, row in zip(self.scores, keys, found, strict=True):
            np.take(table, cells, out=row, mode="wrap")
        np.copyto(found, 0.0, where=gaps)
        return found

    def count(self, keys: Keys, gaps: Mask) -> NDArray[np.intp]:
        """Observed numbers in each interval of each column's histogram: (columns, intervals)."""
        counts = np.empty((len(keys), N_INTERVALS), dtype=np.intp)
        for table, cells, hidden, row in zip(self.intervals, keys, gaps, counts, strict=True):
            row[:] = np.bincount(np.take(table, cells, mode="wrap"), minlength=N_INTERVALS)
            row[table[0]] -= np.count_nonzero(hidden)
        return counts


def make_lookup(
    scores: Scores,
    mean: Vector | None = None,
    owner: NDArray[np.intp] | None = None,
    histogram_axes: tuple[HistogramAxis, ...] | None = None,
) -> Lookup:
    """Grids of the columns of a profile.

    Parameters
    ----------
    scores : Scores
    mean : (columns,) array, optional
        Of the model of the scores; by default zero.
    owner : (columns,) array of int, optional
        Input column behind each matrix column.
    histogram_axes : tuple of HistogramAxis, optional
        Histogram of each input column.
    """
    n_columns = len(scores.knots)
    low, per_step = np.zeros(n_columns), np.ones(n_columns)
    table = np.zeros((n_columns, N_CELLS))
    ranked: dict[int, Vector] = {}
    intervals = np.zeros((n_columns, N_CELLS), dtype=np.uint8)
    for column, pair in enumerate(scores.knots):
        if pair is None:
            # A level has the entries 0 and 0.7.
            per_step[column] = 2.0
            table[column, 1:] = ONE_HOT
            continue
        even = _even_grid(*pair)
        if even is None:
            ranked[column] = pair[0]
            places, table[column] = _rank_grid(*pair)
        else:
            low[column], per_step[column], places, table[column] = even
        if histogram_axes is not None and owner is not None:
            intervals[column] = _intervals(places, histogram_axes[owner[column]])
    shift = 0.0 if mean is None else mean[:, None]
    centred = np.rint((table - shift) / UNIT) * UNIT
    return Lookup(low, per_step, ranked, centred.astype(np.float32), intervals)


def look_up_scores(scores: Scores, values: Matrix) -> Matrix:
    """Scores of numbers as the table gives them, (rows, columns); NaN stays NaN."""
    lookup = make_lookup(scores)
    turned = np.array(values.T, order="C")
    gaps = np.isnan(turned)
    found: Matrix = lookup.centred(lookup.keys(turned, gaps), gaps).T.astype(np.float64)
    found[gaps.T] = np.nan
    return found


def _ranks(knots: Vector, values: Vector) -> NDArray[np.intp]:
    return np.searchsorted(knots, values) + np.searchsorted(knots, values, side="right")


def _even_grid(knots: Vector, scores: Vector) -> tuple[float, float, Vector, Vector] | None:
    """Start, cells per unit, middles and scores of an even grid; None where it would be too coarse."""
    tail = len(knots) // TAIL
    for low, high in ((knots[0], knots[-1]), (knots[tail], knots[-1 - tail])):
        with np.errstate(all="ignore"):
            per_step = (N_CELLS - 1.0) / (high - low)
            middles = low + (np.arange(N_CELLS) + 0.5) / per_step
        if not np.isfinite(per_step) or not np.all(np.diff(middles) > 0):
            continue
        cells = np.clip((knots - low) * per_step, 0, N_CELLS - 1).astype(np.intp)
        table = np.interp(middles, knots, scores)
        table[cells] = scores
        missed = np.abs(table[cells] - scores)
        if missed[tail : len(knots) - tail].max() <= COARSE:
            return float(low), float(per_step), middles, table
    return None


def _rank_grid(knots: Vector, scores: Vector) -> tuple[Vector, Vector]:
    """Places and scores of the cells by rank."""
    cells = np.arange(2 * len(knots) + 1) / 2.0 - 0.5
    found = []
    for values in (knots, scores):
        along = np.interp(cells, np.arange(len(knots)), values)
        found.append(np.append(along, np.full(N_CELLS - len(along), along[-1])))
    return found[0], found[1]


def _intervals(places: Vector, axis: HistogramAxis) -> NDArray[np.uint8]:
    low, high = axis.edges[0], axis.edges[-1]
    share = (np.clip(places, low, high) - low) / (high - low)
    return np.clip(share * N_INTERVALS, 0, N_INTERVALS - 1).astype(np.uint8)
