"""Histograms of a result: the cells of one column, counted in the reference and in the window."""

from gapdrift._typing import Vector
from gapdrift.results import Histogram
from gapdrift.tables.histograms import HistogramAxis

__all__ = ["make_histogram"]


def make_histogram(axis: HistogramAxis, reference: Vector, window: Vector) -> Histogram | None:
    """Histogram of one column on both sides, as shares of the observed cells; None without values in the reference.

    Parameters
    ----------
    axis : HistogramAxis
    reference, window : (counts,) arrays
        Number of cells in each interval or category.

    Examples
    --------
    >>> import numpy as np
    >>> make_histogram(HistogramAxis((), ("red", "(other)")), np.array([3.0, 1.0]), np.array([0.0, 5.0])).reference
    (0.75, 0.25)
    """
    if not len(axis):
        return None
    before, after = (counts / max(counts.sum(), 1.0) for counts in (reference, window))
    return Histogram(axis.labels, axis.edges, tuple(before.tolist()), tuple(after.tolist()))
