"""Numbers to normal scores of the reference: a robust scale that no heavy tail can stretch."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gapdrift.persistence.records import INFINITE, expect, expect_shape, stored

__all__ = ["Scores", "fit_scores"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

MAX_KNOTS = 2_000
"""Different values kept of one column; more are thinned to evenly spaced ranks."""


@stored
@dataclass(frozen=True)
class Scores:
    """Monotone map of each column, learned on a reference.

    Parameters
    ----------
    knots : tuple of (values, scores) pairs of (knots,) arrays, or None
        One for each matrix column; None leaves a column as it is. Between knots the map is linear, beyond
        them constant.

    Examples
    --------
    >>> import numpy as np
    >>> scores = fit_scores(np.array([[1.0], [2.0], [1000.0]]), np.array([True]))
    >>> scores.transform(np.array([[1.0], [2.0], [1e9], [np.nan]])).round(2).ravel()
    array([-1.22,  0.  ,  1.22,   nan])
    """

    knots: tuple[tuple[Annotated[Vector, INFINITE], Vector] | None, ...]

    def transform(self, values: Matrix) -> Matrix:
        """Scores of values, (rows, columns); NaN stays NaN."""
        result = values.copy()
        for column, pair in enumerate(self.knots):
            if pair is not None:
                result[:, column] = np.interp(values[:, column], *pair)
        result[np.isnan(values)] = np.nan
        return result

    def check_stored(self) -> None:
        """Check what was read from a file: the knots of a map that rises."""
        for pair in self.knots:
            if pair is not None:
                values, places = pair
                expect_shape(values, (-1,), "knots")
                expect(len(values) >= 2 and np.all(values[1:] > values[:-1]), "values of knots that rise")
                expect_shape(places, values.shape, "scores of knots")


def fit_scores(values: Matrix, is_number: NDArray[np.bool_]) -> Scores:
    """Normal scores of the columns that hold numbers.

    Parameters
    ----------
    values : (rows, columns) array, NaN where missing
    is_number : (columns,) array of bool
        The others, levels of categories, stay as they are.

    Returns
    -------
    scores : Scores

    Notes
    -----
    A value at mid-rank r of n observed ones (ties share theirs) has the score Phi^-1((r - 1/2) / n), then
    standardised to mean 0 and variance 1. A constant column has the score 0, and any other value 1.
    """
    pairs = zip(values.T, is_number, strict=True)
    return Scores(tuple(_knots(column[~np.isnan(column)]) if number else None for column, number in pairs))


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
