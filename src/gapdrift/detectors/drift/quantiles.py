"""Numbers drawn as a column of the reference has them, out of its histogram and its knots."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from gapdrift._typing import Vector
from gapdrift.tables.histograms import HistogramAxis

__all__ = ["NumberColumn", "fit_number_column"]

N_LEVELS = 1_000
"""Evenly spaced ranks whose numbers tell the standard deviation of a column."""

GRAINS = (1.0, 0.1, 0.01, 0.001)
"""Numbers of a column that are all multiples of one of these are taken to be rounded to it."""

N_POINTS = 161
"""Points at which the smooth distribution of a column is known."""

BANDWIDTH = 0.15
"""Standard deviation of the weights by which it is smoothed, in normal scores: wider ones would blur sharp ends."""


class NumberColumn(NamedTuple):
    """Numbers of a column by their rank.

    Parameters
    ----------
    levels, values : (points,) arrays
        Ranks from 0 to 1 in ascending order, and numbers there. Between them they are linear; a number that many rows
        have stands at two levels.
    smooth_levels, smooth_values : (points,) arrays
        The same of a smooth distribution.
    grain : float or None
        All numbers are multiples of it.
    knots : (knots,) array
        Numbers that are drawn where they have a grain.
    """

    levels: Vector
    values: Vector
    smooth_levels: Vector
    smooth_values: Vector
    grain: float | None
    knots: Vector

    def values_at(self, ranks: Vector) -> Vector:
        """Numbers at some ranks."""
        found: Vector = np.interp(ranks, self.levels, self.values)
        if self.grain is None:
            return found
        nearest: Vector = self.knots[np.searchsorted(0.5 * (self.knots[1:] + self.knots[:-1]), found)]
        return nearest

    def shifted_ranks(self, ranks: Vector, amount: float) -> tuple[Vector, Vector]:
        """Ranks of numbers that are moved by an amount, and by how much they go beyond the last ones.

        Notes
        -----
        The ranks are those of a smooth distribution: where the reference has more numbers by chance, those of a window
        do not have more as well, and move with it.
        """
        smooth = np.interp(ranks, self.smooth_levels, self.smooth_values) + amount
        beyond = smooth - np.clip(smooth, self.smooth_values[0], self.smooth_values[-1])
        if self.grain is not None:
            # As those of a sensor that is off before it rounds.
            beyond = np.rint(beyond / self.grain) * self.grain
        return np.interp(smooth, self.smooth_values, self.smooth_levels), beyond

    @property
    def deviation(self) -> float:
        """Standard deviation of the numbers."""
        return max(float(np.std(self.values_at((np.arange(N_LEVELS) + 0.5) / N_LEVELS))), 1e-12)


def fit_number_column(axis: HistogramAxis, counts: Vector, knots: Vector) -> NumberColumn:
    """Numbers of a column by their rank.

    Parameters
    ----------
    axis : HistogramAxis
    counts : (cells,) array
        Numbers of the reference in each cell of the histogram.
    knots : (knots,) array
        Different numbers of the reference, or some of them, in ascending order.

    Examples
    --------
    >>> axis = HistogramAxis(tuple(np.linspace(0, 1, 21)), (0.5,), ())
    >>> column = fit_number_column(axis, np.array([3.0, 1.0]), np.array([0.0, 1.0]))
    >>> column.values_at(np.array([0.1, 0.7, 0.8])), column.grain
    (array([0., 0., 1.]), 1.0)
    """
    limits = np.concatenate([[knots[0]], np.clip(axis.limits, knots[0], knots[-1]), [knots[-1]]])
    cells = np.searchsorted(axis.limits, knots, side="right")
    total, before = max(float(counts.sum()), 1.0), 0.0
    levels, values, middles = [np.zeros(1)], [knots[:1]], [np.zeros(0)]
    occupied = np.zeros(len(knots), dtype=bool)
    for cell in np.flatnonzero(counts).tolist():
        own, share = knots[cells == cell], float(counts[cell]) / total
        middle = before + share * (np.arange(len(own)) + 0.5) / max(len(own), 1)
        # One number alone has all of the share.
        ends = own.repeat(2) if len(own) == 1 else limits[cell : cell + 2]
        levels.append(np.array([before, *middle, before + share]))
        values.append(np.array([ends[0], *own, ends[1]]))
        middles.append(middle)
        occupied |= cells == cell
        before += share
    smooth = _smooth(np.concatenate(middles), knots[occupied], total)
    return NumberColumn(np.concatenate(levels), np.concatenate(values), *smooth, _grain(knots), knots)


def _smooth(levels: Vector, values: Vector, n_values: float) -> tuple[Vector, Vector]:
    """Levels and values of a smooth distribution: the slope of values over normal scores is a weighted mean."""
    if not len(levels):
        return np.array([0.0, 1.0]), np.array([0.0, 1e-12])
    last = float(ndtri(1.0 - 0.5 / max(n_values, 2.0)))
    scores = np.linspace(-last, last, N_POINTS)
    rough = np.interp(ndtr(scores), levels, values)
    between = 0.5 * (scores[1:] + scores[:-1])
    weights = np.exp(-0.5 * ((between[:, None] - between) / BANDWIDTH) ** 2)
    steps = weights @ np.diff(rough) / weights.sum(axis=1)
    smooth = np.concatenate([[0.0], np.cumsum(np.maximum(steps, 1e-12))])
    middle = N_POINTS // 2
    return ndtr(scores), smooth - smooth[middle] + float(np.mean(rough)) - float(np.mean(smooth - smooth[middle]))


def _grain(knots: Vector) -> float | None:
    """Largest of `GRAINS` that all knots are multiples of; None where there is none."""
    for grain in GRAINS:
        multiples = knots / grain
        if np.abs(multiples).max() < 1e9 and np.allclose(multiples, np.rint(multiples), rtol=0.0, atol=1e-6):
            return grain
    return None
