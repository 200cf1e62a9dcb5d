"""Gaps filled twice: with expected values, and with a residual that the row itself chooses among many."""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from gapdrift.counting.bulk._book import MIX, Book, Gaps, Pages
from gapdrift.counting.bulk._lookup import UNIT
from gapdrift.models.gaussian import find_patterns
from gapdrift.models.gaussian._dense import dense_blocks, gap_covariance
from gapdrift.models.gaussian._patterns import apply
from gapdrift.models.hot_deck import EmpiricalResiduals

__all__ = ["Filled", "GapFiller"]

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]

MAX_CODED = 64
"""Columns whose gaps fit into one code."""

MAX_UNROLLED = 4
"""Gaps up to which a product per pair of them is faster than one per row."""


@dataclass(frozen=True)
class Filled:
    """Rows without gaps.

    Parameters
    ----------
    expected : (columns, rows) array
        With the expected values.
    completed : (columns, rows) array of single precision
        With expected values and residuals.
    pattern : (rows,) array of int
        Page of the book, -1 where it has none.
    identity : (rows,) array of int
        Equal where all observed values are.
    """

    expected: Matrix
    completed: NDArray[np.float32]
    pattern: Indices
    identity: NDArray[np.int64]


class GapFiller:
    """Fills gaps of centred scores.

    Parameters
    ----------
    residuals : EmpiricalResiduals
    """

    def __init__(self, residuals: EmpiricalResiduals) -> None:
        self.precision = residuals.precision
        self.book = Book(residuals.precision)
        self.donors = np.ascontiguousarray(residuals.pulled.T)
        self.mixer = _mixers(len(residuals.precision))

    def identify(self, keys: NDArray[np.uint16]) -> NDArray[np.int64]:
        """Number of each row that is equal where all cells are, (columns, rows), 0 in gaps."""
        identity: NDArray[np.uint64] = (keys * self.mixer[:, None]).sum(axis=0, dtype=np.uint64)
        return identity.view(np.int64)

    def fill(self, scores: NDArray[np.float32], gaps: Mask, identity: NDArray[np.int64]) -> Filled:
        """Fill the gaps of some rows.

        Parameters
        ----------
        scores : (columns, rows) array, 0 in gaps
            Changed: becomes the completed rows.
        gaps : (columns, rows) array of bool
        identity : (rows,) array of int

        Notes
        -----
        With P the inverse of the covariance and m the gaps, the expected values are -(P_mm)^-1 (P x)_m, x with zeros
        in the gaps; the residual of a donor d is (P_mm)^-1 (P d)_m. The donor is chosen by a hash of the row's
        observed values: the same row always gets the same one, whatever rows come with it.
        """
        expected = scores.astype(np.float64)
        active = np.flatnonzero(gaps.any(axis=1))
        if not len(active):
            return Filled(expected, scores, np.zeros(scores.shape[1], dtype=np.intp), identity)
        hashed = (identity.view(np.uint64) * MIX) >> np.uint64(32)
        donor = ((hashed * np.uint64(self.donors.shape[1])) >> np.uint64(32)).astype(np.intp)
        pattern = self.find(_codes(gaps), lambda rows: gaps[:, rows])
        pull = np.zeros(expected.shape) if len(active) < len(gaps) else np.empty(expected.shape)
        pull[active] = self.precision[active] @ expected
        work = _Work(expected, scores, pull, donor)
        n_gaps = np.where(pattern < 0, 0, self.book.n_gaps[pattern])
        for size, pages in list(self.book.pages.items()):
            rows = np.flatnonzero(n_gaps == size)
            if len(rows):
                self._fill_known(work, pages, self.book.place[pattern[rows]], rows)
        rest = np.flatnonzero(pattern < 0)
        if len(rest):
            self._fill_others(work, gaps, rest)
        return Filled(expected, scores, pattern, identity)

    def find(self, codes: NDArray[np.uint64], gaps: Gaps, found: Indices | None = None) -> Indices:
        """Page of the book of each row, -1 where it has none.

        Parameters
        ----------
        codes : (rows,) array of uint64
            0 for complete rows; equal for equal patterns of at most 64 columns.
        gaps : callable
        found : (rows,) array of int, optional
            What was found already.
        """
        if len(self.precision) > MAX_CODED:
            return np.where(codes > 0, -1, 0)
        return self.book.find(codes, gaps, found)

    def _fill_known(self, work: "_Work", pages: Pages, page: Indices, rows: Indices) -> None:
        """Rows whose patterns the book has, all with equally many gaps."""
        size, n_rows = len(pages.columns), work.expected.shape[1]
        columns = pages.columns.take(page, axis=1)
        cells = columns * n_rows + rows
        pulls = work.pull.ravel().take(cells)
        given = self.donors.ravel().take(columns * self.donors.shape[1] + work.donor[rows])
        if size > MAX_UNROLLED:
            weights = pages.covariance.take(page, axis=2).transpose(2, 0, 1)
            both = weights @ np.stack([pulls.T, given.T], axis=2)
            means, moves = -both[:, :, 0].T, both[:, :, 1].T
        else:
            means, moves = np.zeros(cells.shape), np.zeros(cells.shape)
            for one, two in combinations_with_replacement(range(size), 2):
                weight = pages.covariance[one, two].take(page)
                for to, source in {(one, two), (two, one)}:
                    means[to] -= weight * pulls[source]
                    moves[to] += weight * given[source]
        _put(work, cells, means, moves)

    def _fill_others(self, work: "_Work", gaps: Mask, rest: Indices) -> None:
        """Rows of any pattern."""
        patterns = find_patterns(np.ascontiguousarray(gaps[:, rest].T))
        for block, columns in dense_blocks(patterns):
            covariance = gap_covariance(self.precision, columns)
            gone, rows = columns[block.local], rest[block.rows][:, None]
            means = -apply(covariance, block.local, work.pull[gone, rows])
            moves = apply(covariance, block.local, self.donors[gone, work.donor[rows]])
            _put(work, gone * work.expected.shape[1] + rows, means, moves)


@dataclass(frozen=True)
class _Work:
    """Rows that are being filled: both results, P x, and the donor of each row."""

    expected: Matrix
    completed: NDArray[np.float32]
    pull: Matrix
    donor: Indices


def _put(work: _Work, cells: Indices, means: Matrix, moves: Matrix) -> None:
    whole = means * (1.0 / UNIT)
    np.rint(whole, out=whole)
    whole *= UNIT
    work.expected.put(cells, whole)
    work.completed.put(cells, whole + moves)


def _mixers(size: int) -> NDArray[np.uint64]:
    """Odd numbers of 64 bits, always the same ones.

    A row's identity is the sum of its cells in the look-up tables times these, modulo 2^64. They are drawn at random:
    with numbers in a progression the levels of categories add up to the same in many ways.
    """
    drawn = np.random.default_rng(20_001).integers(2**63, size=size, dtype=np.uint64)
    return np.asarray(2 * drawn + 1, dtype=np.uint64)


def _codes(gaps: Mask) -> NDArray[np.uint64]:
    """One number per row, 0 for complete rows, and equal for equal patterns of gaps of at most 64 columns."""
    if len(gaps) > MAX_CODED:
        return np.asarray(gaps.any(axis=0), dtype=np.uint64)
    packed = np.packbits(np.ascontiguousarray(gaps.T), axis=1, bitorder="little")
    padded = np.zeros((len(packed), 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8")[:, 0].astype(np.uint64, copy=False)
