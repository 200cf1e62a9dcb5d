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

__all__ = [
    "ROWS_PER_BIN",
    "Partition",
    "bins_of_others",
    "default_n_bins",
    "fit_partition",
    "observe_bins",
]

ROWS_PER_BIN = 50
"""Reference rows for each bin (paper: K = m / 50, after Box et al.)."""

MAX_PARTITION_BINS = 200
"""Largest number of bins by default: the paper's largest K is 20, and a K that grows with m makes k-means quadratic."""

MAX_ROWS_RESTARTED = 20_000
"""With more rows than this, k-means is run once only: the runs differ little and cost much."""


MIN_OBSERVED_CELLS = 5.0
"""Observed cells of a column among the rows of a bin from which something is said of it: a mean of fewer tells rows."""


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


def observe_bins(totals: Matrix, counts: Matrix) -> Matrix:
    """Mean of the observed cells of each column in each bin, NaN where these are too few: (bins, columns).

    Parameters
    ----------
    totals, counts : (bins, columns) arrays
        Sums and numbers of the observed cells of each column, each row weighted by how far it belongs to the bin.

    Examples
    --------
    >>> observe_bins(np.array([[30.0, 4.0], [10.0, 60.0]]), np.array([[10.0, 1.0], [10.0, 10.0]])).tolist()
    [[3.0, nan], [1.0, 6.0]]
    """
    return np.where(counts >= MIN_OBSERVED_CELLS, totals / np.maximum(counts, MIN_OBSERVED_CELLS), np.nan)


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
    scale = _power_of_two(values)
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


def bins_of_others(values: Matrix, partition: Partition, rng: np.random.Generator) -> Indices:
    """Bin of each row that a partition was learned from, as if it had been learned without that row: (rows,).

    Parameters
    ----------
    values : (rows, columns) array without NaN
    partition : Partition
        Learned from these rows.
    rng : numpy.random.Generator

    Notes
    -----
    Rows fit bins that were made for them better than fresh rows do. Here the rows are divided into halves at random;
    k-means goes on from the centres with one half, and the other half is assigned to the bins so found. Many small
    parts would not do: what is left when a few rows are taken away still has the bins that were made for them. Above
    20,000 rows one row moves no bin, and all are assigned to the bins as they are, as they are where a half has fewer
    rows than there are bins.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> partition = fit_partition(rows, 4, np.random.default_rng(1))
    >>> same = bins_of_others(rows, partition, np.random.default_rng(2)) == partition.distances(rows).argmin(axis=1)
    >>> bool(0.8 < same.mean() < 1)
    True
    """
    bins: Indices = partition.distances(values).argmin(axis=1)
    if len(values) > MAX_ROWS_RESTARTED or len(values) // 2 < len(partition):
        return bins
    scale = _power_of_two(values)
    order = rng.permutation(len(values))
    for learned, assigned in (np.array_split(order, 2), np.array_split(order, 2)[::-1]):
        kmeans = KMeans(len(partition), init=partition.centres / scale, n_init=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            kmeans.fit(values[learned] / scale)
        bins[assigned] = cdist(values[assigned] / scale, kmeans.cluster_centers_).argmin(axis=1)
    return bins


def _power_of_two(values: Matrix) -> float:
    """Power of two by which values are divided: exactly, and so that the squares of any numbers stay in range."""
    return float(2.0 ** np.floor(np.log2(max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny))))
