"""Numbers to normal scores of the reference: a robust scale that no heavy tail can stretch.

A score is looked up in a table: the cell of a grid that a number falls into says it. That makes the score a function of
few different values, at the speed of one multiplication and one memory access.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gapdrift._typing import Mask, Matrix, Vector
from gapdrift.persistence.records import INFINITE, expect, expect_shape, stored

__all__ = ["N_CELLS", "UNIT", "NormalScores", "ScoreTable", "fit_normal_scores"]

Keys = NDArray[np.uint16]

MAX_KNOTS = 2_000
"""Different values kept of one column; more are thinned to evenly spaced ranks."""

N_CELLS = 4_096
"""Cells of the grid of one column."""

UNIT = 2.0**-14
"""Scores are whole multiples of this, so that sums and products of them are exact in any order."""

MAX_COARSENESS = 0.02
"""Difference between the score of a number and that of its cell above which another grid is tried, at least."""

TAIL = 500
"""One knot in so many, on either side, may lie beyond the grid."""

MAX_SCORE = 250.0
"""Largest score: the square root of the rows that are learned from is beyond none."""

ONE_HOT_STEPS = 2.0
"""Cells per unit of a one-hot column: its entries 0 and 1/sqrt(2) fall into the cells 0 and 1."""


@stored
@dataclass(frozen=True, eq=False)
class NormalScores:
    """Monotone map of each column, learned on a reference.

    Parameters
    ----------
    knots : tuple of (values, scores) pairs of (knots,) arrays, or None
        One for each matrix column; None marks a one-hot column, which keeps its entries. Between knots the map is
        linear, beyond them constant, and rounded to the cells of a grid.

    Examples
    --------
    >>> import numpy as np
    >>> scores = fit_normal_scores(np.array([[1.0], [2.0], [1000.0]]), np.array([True]))
    >>> scores.transform(np.array([[1.0], [2.0], [1e9], [np.nan]])).round(2).ravel()
    array([-1.22,  0.  ,  1.22,   nan])
    """

    knots: tuple[tuple[Annotated[Vector, INFINITE], Vector] | None, ...]

    def check_stored(self) -> None:
        """Check what was read from a file: the knots of maps that rise, and scores within reach."""
        for pair in self.knots:
            if pair is not None:
                values, scores = pair
                expect_shape(values, (-1,), "knots")
                expect(len(values) >= 2 and np.all(values[1:] > values[:-1]), "values of knots that rise")
                expect(len(values) <= MAX_KNOTS, f"up to {MAX_KNOTS} knots")
                expect_shape(scores, values.shape, "scores of knots")
                expect(np.abs(scores).max() <= MAX_SCORE, f"scores up to {MAX_SCORE}")

    def transform(self, values: Matrix) -> Matrix:
        """Scores of numbers, (rows, columns); NaN stays NaN."""
        turned = np.array(values.T, order="C")
        missing = np.isnan(turned)
        found = self.table.scores_of(self.table.keys(turned, missing), missing).T.copy()
        found[missing.T] = np.nan
        return found

    @cached_property
    def table(self) -> "ScoreTable":
        """The axes of all columns, with the score of each cell."""
        return _make_table(self.knots)


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Grids of all columns, with the score of each cell.

    Parameters
    ----------
    low, per_step : (columns,) arrays
        A number x falls into the cell (x - low) per_step; the outer cells also take what lies beyond.
    ranked : mapping of int to (knots,) array
        Columns for which no even grid is fine enough: cell 2 i + 1 is knot i itself, cell 2 i what lies below it. Their
        even grid tells only where to look for the knots next to a number.
    places : (columns, N_CELLS) array
        A number that falls into each cell.
    scores : (columns, N_CELLS) array
    """

    low: Vector
    per_step: Vector
    ranked: dict[int, Vector]
    places: Matrix
    scores: Matrix

    def keys(self, values: Matrix, missing: Mask) -> Keys:
        """Cell of each number: (columns, rows); 0 where missing.

        Parameters
        ----------
        values : (columns, rows) array
            Overwritten.
        missing : (columns, rows) array of bool
        """
        exact = {column: _ranks(knots, values[column]) for column, knots in self.ranked.items()}
        values -= self.low[:, None]
        values *= self.per_step[:, None]
        np.clip(values, 0.0, N_CELLS - 1.0, out=values)
        np.copyto(values, 0.0, where=missing)
        keys = values.astype(np.uint16)
        for column, cells in exact.items():
            keys[column] = np.where(missing[column], 0, cells)
        return keys

    @cached_property
    def merged(self) -> NDArray[np.uint32]:
        """Bits that the cells of each column lose where rows are told apart by them: (columns,).

        The knots of a ranked column are values of the reference: windows of continuous numbers hardly ever have one of
        them. A knot goes with what lies below it, so that rows of both sides choose donors in the same way. (Otherwise
        4 donors of 700 knots and those of the 700 cells between them were compared: bins of 0.88 missing cells alarmed
        in 55 of 100 windows.)
        """
        bits = np.zeros(len(self.low), dtype=np.uint32)
        bits[list(self.ranked)] = 1
        return bits

    def first_knots(self, column: int) -> NDArray[np.uint16]:
        """Number of knots of a ranked column that lie in lower cells of its even grid, for each cell and beyond."""
        places = (self.ranked[column] - self.low[column]) * self.per_step[column]
        cells = np.clip(np.nan_to_num(places), 0.0, N_CELLS - 1.0).astype(np.intp)
        return np.searchsorted(cells, np.arange(N_CELLS + 1)).astype(np.uint16)

    def scores_of(self, keys: Keys, missing: Mask) -> Matrix:
        """Scores of cells: (columns, rows); 0 where missing."""
        found = np.empty(keys.shape)
        for scores, cells, row in zip(self.scores, keys, found, strict=True):
            np.take(scores, cells, out=row, mode="wrap")
        np.copyto(found, 0.0, where=missing)
        return found

    def centred(self, mean: Vector) -> "ScoreTable":
        """The same axes with scores less a mean, rounded to whole multiples of `UNIT`."""
        scores = np.rint((self.scores - mean[:, None]) / UNIT) * UNIT
        return ScoreTable(self.low, self.per_step, self.ranked, self.places, scores)


def fit_normal_scores(values: Matrix, is_number: Mask) -> NormalScores:
    """Normal scores of the columns that hold numbers.

    Parameters
    ----------
    values : (rows, columns) array, NaN where missing
    is_number : (columns,) array of bool
        The others, one-hot columns of categories, keep their entries.

    Returns
    -------
    scores : NormalScores

    Notes
    -----
    A value at mid-rank r of n observed ones (ties share theirs) has the score Phi^-1((r - 1/2) / n), then
    standardised to mean 0 and variance 1. A constant column has the score 0, and any other value 1.
    """
    pairs = zip(values.T, is_number, strict=True)
    return NormalScores(tuple(_knots(column[~np.isnan(column)]) if number else None for column, number in pairs))


def _knots(present: Vector) -> tuple[Vector, Vector]:
    points, counts = np.unique(present, return_counts=True)
    if len(points) < 2:
        constant = points[0] if len(points) else 0.0
        around = np.array([np.nextafter(constant, -np.inf), constant, np.nextafter(constant, np.inf)])
        return around, np.array([1.0, 0.0, 1.0])
    share = (np.cumsum(counts) - counts / 2.0) / counts.sum()
    scores = ndtri(share)
    mean = np.average(scores, weights=counts)
    deviation = np.sqrt(np.average((scores - mean) ** 2, weights=counts))
    kept = _thin(len(points))
    return points[kept], ((scores - mean) / deviation)[kept]


def _thin(n_points: int) -> NDArray[np.intp]:
    if n_points <= MAX_KNOTS:
        return np.arange(n_points)
    return np.unique(np.linspace(0, n_points - 1, MAX_KNOTS).round().astype(np.intp))


def _make_table(knots: tuple[tuple[Vector, Vector] | None, ...]) -> ScoreTable:
    n_columns = len(knots)
    low, per_step = np.zeros(n_columns), np.ones(n_columns)
    places, scores = np.zeros((n_columns, N_CELLS)), np.zeros((n_columns, N_CELLS))
    ranked: dict[int, Vector] = {}
    for column, pair in enumerate(knots):
        if pair is None:
            per_step[column] = ONE_HOT_STEPS
            places[column, 1:] = scores[column, 1:] = np.sqrt(0.5)
            continue
        even = _even_grid(*pair)
        if even is None:
            ranked[column] = pair[0]
            low[column], per_step[column] = _guide(pair[0])
            places[column], scores[column] = _rank_grid(*pair)
        else:
            low[column], per_step[column], places[column], scores[column] = even
    return ScoreTable(low, per_step, ranked, places, np.rint(scores / UNIT) * UNIT)


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
        # Two neighbouring ranks may share a cell; a value that many rows have may not share one with another.
        rank_step = 1.0 / (len(knots) * np.exp(-(scores**2) / 2.0) / np.sqrt(2.0 * np.pi) + 1e-9)
        allowed = np.maximum(MAX_COARSENESS, 1.5 * rank_step)
        if np.all((missed <= allowed)[tail : len(knots) - tail]):
            return float(low), float(per_step), middles, table
    return None


def _guide(knots: Vector) -> tuple[float, float]:
    """Start and cells per unit of an even grid between the knots; one cell for all where they are too far apart."""
    tail = len(knots) // TAIL
    low, high = float(knots[tail]), float(knots[-1 - tail])
    with np.errstate(all="ignore"):
        per_step = np.float64(N_CELLS - 1.0) / (high - low)
    return (low, float(per_step)) if np.isfinite(low) and np.isfinite(per_step) else (0.0, 0.0)


def _rank_grid(knots: Vector, scores: Vector) -> tuple[Vector, Vector]:
    """Places and scores of the cells by rank."""
    cells = np.arange(2 * len(knots) + 1) / 2.0 - 0.5
    found = []
    for values in (knots, scores):
        along = np.interp(cells, np.arange(len(knots)), values)
        found.append(np.append(along, np.full(N_CELLS - len(along), along[-1])))
    places, own_scores = found
    # What lies beyond the knots is anywhere there.
    places[0], places[2 * len(knots) :] = -np.inf, np.inf
    return places, own_scores
