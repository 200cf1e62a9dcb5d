"""What gaps hide: conditional covariances, summed over many rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Hidden", "hide"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Hidden:
    """Conditional covariances S of patterns, and S K S, entry after entry.

    Parameters
    ----------
    pattern : (entries,) array of int
    cells : (entries,) array of int
        Place of each entry in a (columns, columns) array.
    covariance, squared : (entries,) arrays
    size : int
        Columns.
    """

    pattern: Indices
    cells: Indices
    covariance: Vector
    squared: Vector
    size: int

    def sums(self, counts: Vector) -> Matrix:
        """Both, summed over so many rows of each pattern: (2, columns, columns), 0 where a row is observed."""
        weights, n_cells = counts[self.pattern], self.size * self.size
        sums = [np.bincount(self.cells, part * weights, n_cells) for part in (self.covariance, self.squared)]
        return np.asarray(sums, dtype=np.float64).reshape(2, self.size, self.size)


def hide(numbers: Indices, columns: Indices, covariance: Matrix, inner: Matrix) -> Hidden:
    """What patterns with equally many gaps hide.

    Parameters
    ----------
    numbers : (patterns,) array of int
    columns : (patterns, gaps) array of int
    covariance : (patterns, gaps, gaps) array
    inner : (columns, columns) array
        K = P G P, see `gapdrift.models.hot_deck.EmpiricalResiduals`.
    """
    cells = columns[:, :, None] * len(inner) + columns[:, None, :]
    squared = covariance @ inner.ravel()[cells] @ covariance
    pattern = np.repeat(numbers, columns.shape[1] ** 2)
    return Hidden(pattern, cells.ravel(), covariance.ravel(), squared.ravel(), len(inner))
