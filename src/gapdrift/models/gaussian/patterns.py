"""Patterns of missing cells, and matrices applied to rows by pattern."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["Block", "Patterns", "apply", "cut", "find_patterns", "inverse", "multiply_in_order", "products", "row_keys"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]
Booleans = npt.NDArray[np.bool_]

BLOCK_CELLS = 500_000
"""Cells of the matrices handled at once: 4 MB, so that they stay in the cache."""


@dataclass(frozen=True)
class Patterns:
    """The distinct patterns of missing cells in a matrix, and which one each row has.

    Parameters
    ----------
    missing : array of bool, shape (patterns, columns)
        By rising number of missing cells. Pattern 0 is the complete row, whether or not it occurs.
    index : array of int, shape (rows,)
        The pattern of each row.
    """

    missing: Booleans
    index: Integers

    def take(self, rows: Integers) -> "Patterns":
        """Those of some rows; what none of them has is left out."""
        index = self.index[rows]
        occurs = np.zeros(len(self.missing), dtype=np.bool_)
        occurs[0] = occurs[index] = True
        return Patterns(self.missing[occurs], (np.cumsum(occurs) - 1)[index])


@dataclass(frozen=True)
class Block:
    """A run of patterns and the rows that have them.

    Parameters
    ----------
    patterns : slice
        The run within `Patterns.missing`.
    rows : array of int, shape (rows_here,)
        By rising pattern.
    local : array of int, shape (rows_here,)
        The pattern of each of these rows, counted from the start of the run.
    """

    patterns: slice
    rows: Integers
    local: Integers


def find_patterns(missing: Booleans) -> Patterns:
    """The distinct patterns of missing cells, the complete row first.

    Parameters
    ----------
    missing : array of bool, shape (rows, columns)
    """
    incomplete = np.flatnonzero(missing.any(axis=1))
    keys = row_keys(missing[incomplete])
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    distinct = missing[incomplete[first]]
    order = np.argsort(distinct.sum(axis=1), kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(1, len(order) + 1)
    index = np.zeros(len(missing), dtype=np.intp)
    index[incomplete] = position[inverse]
    complete = np.zeros((1, missing.shape[1]), dtype=np.bool_)
    return Patterns(np.concatenate([complete, distinct[order]]), index)


def row_keys(missing: Booleans) -> npt.NDArray[np.generic]:
    """One sortable key per row, equal for equal rows; an integer where 64 bits suffice."""
    packed = np.packbits(missing, axis=1)
    n_bytes = 8 * max(1, -(-packed.shape[1] // 8))
    padded = np.zeros((len(missing), n_bytes), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    key_type = np.dtype(np.uint64) if n_bytes == 8 else np.dtype((np.void, n_bytes))
    return padded.view(key_type)[:, 0]


def cut(patterns: Patterns, bounds: Integers) -> Iterator[Block]:
    """Yield the runs of patterns between consecutive bounds."""
    order = np.argsort(patterns.index, kind="stable")
    n_rows = np.bincount(patterns.index, minlength=len(patterns.missing))
    row_bounds = np.concatenate([[0], np.cumsum(n_rows)])
    for start, stop in pairwise(bounds.tolist()):
        rows = order[row_bounds[start] : row_bounds[stop]]
        yield Block(slice(start, stop), rows, patterns.index[rows] - start)


def apply(matrices: Floats, local: Integers, vectors: Floats) -> Floats:
    """Matrices[local] @ vectors, row by row.

    Parameters
    ----------
    matrices : array of shape (patterns, size, size)
    local : array of int, shape (rows,)
    vectors : array of shape (rows, size)
    """
    result = np.empty(vectors.shape)
    step = max(1, BLOCK_CELLS // max(vectors.shape[1], 1) ** 2)
    for start in range(0, len(local), step):
        part = slice(start, start + step)
        result[part] = multiply_in_order(matrices[local[part]], vectors[part])
    return result


def multiply_in_order(matrices: Floats, vectors: Floats) -> Floats:
    """One matrix times one vector, n times: (n, size, size), (n, size) -> (n, size).

    Notes
    -----
    Terms are added up in the order of the columns, one after the other, whatever rows come together: a row's result is
    the same to the bit alone, among others and in machine code (`gapdrift.counting.compiled`).
    """
    total = np.zeros(vectors.shape)
    for term in range(vectors.shape[1]):
        total += matrices[:, :, term] * vectors[:, term, None]
    return total


def products(matrices: Floats, vectors: Floats) -> Floats:
    """One matrix times one vector, n times: (n, size, size), (n, size) -> (n, size)."""
    result: Floats = np.matmul(matrices, vectors[:, :, None])[:, :, 0]
    return result


def inverse(matrices: Floats) -> Floats:
    """The inverse of each matrix, in double precision."""
    return np.linalg.inv(matrices).astype(np.float64, copy=False)
