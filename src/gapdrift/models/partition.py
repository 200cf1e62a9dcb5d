"""Partition of the space into bins, which are the k-means clusters of complete rows."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from gapdrift._random import draw_seed
from gapdrift._typing import Indices, Matrix
from gapdrift.persistence.records import expect_shape, stored

__all__ = ["ROWS_PER_BIN", "Partition", "default_n_bins", "fit_partition"]

ROWS_PER_BIN = 50
"""Reference rows for each bin (paper: K = m / 50, after Box et al.)."""

MAX_PARTITION_BINS = 200
"""Largest number of bins by default: the paper's largest K is 20, and a K that grows with m makes k-means quadratic."""

MAX_ROWS_RESTARTED = 20_000
"""With more rows than this, k-means is run once only: the runs differ little and cost much."""


@stored
@dataclass(frozen=True, eq=False)
class Partition:
    """Bins, given by their centres: a complete row belongs to the bin with the nearest centre.

    Parameters
    ----------
    centres : (bins, columns) array
    sizes : (bins,) array or None
        Number of rows of which each centre is the mean.
    """

    centres: Matrix
    sizes: Indices | None = None

    def __len__(self) -> int:
        """Return the number of bins."""
        return len(self.centres)

    def distances(self, values: Matrix) -> Matrix:
        """Euclidean distances of complete rows to the centres: (rows, bins).

        Differences are taken before they are squared, so that columns with large values and small differences, such as
        years or nanoseconds, lose no precision. (The faster form with a matrix product does.)
        """
        result: Matrix = cdist(values, self.centres)
        return result

    def check_stored(self) -> None:
        """Check what was read from a file: as many sizes as centres."""
        expect_shape(self.centres, (-1, -1), "centres")
        if self.sizes is not None:
            expect_shape(self.sizes, (len(self.centres),), "sizes of bins")

    def holds_rows(self) -> str:
        """Why the bins hold a row of the reference, or nothing: the centre of a single row is that row."""
        if self.sizes is not None and self.sizes.min(initial=2) > 1:
            return ""
        return (
            "has a bin of a single reference row, whose centre is that row. Use fewer bins (n_bins of MDLFWF) or more "
            "rows"
        )


def default_n_bins(n_rows: int) -> int:
    """Number of bins for a reference of ``n_rows`` rows: one for every 50, from 2 to 200."""
    return min(max(n_rows // ROWS_PER_BIN, 2), MAX_PARTITION_BINS)


def fit_partition(values: Matrix, n_bins: int, rng: np.random.Generator, *, n_starts: int = 10) -> Partition:
    """Partition of complete rows by k-means.

    Parameters
    ----------
    values : (rows, columns) array without NaN
    n_bins : int
        Fewer are returned if fewer rows are different.
    rng : numpy.random.Generator
    n_starts : int, default 10
        Number of runs of k-means, of which the best is kept; ten as in the authors' scripts. Above 20,000 rows there is
        one run.

    Notes
    -----
    Paper: Alg. 2, lines 1 and 2.
    """
    # Division by a power of two is exact, and keeps the squares of very large or small numbers in range.
    scale = 2.0 ** np.floor(np.log2(max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)))
    n_init = n_starts if len(values) <= MAX_ROWS_RESTARTED else 1
    kmeans = KMeans(min(n_bins, len(values)), n_init=n_init, random_state=draw_seed(rng))
    # With fewer different rows than bins, k-means warns and returns some centres several times.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        kmeans.fit(values / scale)
    _, first, index = np.unique(kmeans.cluster_centers_, axis=0, return_index=True, return_inverse=True)
    sizes = np.bincount(index.reshape(-1)[kmeans.labels_], minlength=len(first))
    centres = kmeans.cluster_centers_[np.sort(first)] * scale
    centres.setflags(write=False)
    return Partition(centres, sizes[np.argsort(first)])
