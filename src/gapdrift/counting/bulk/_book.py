"""Patterns of gaps that were met before, with the matrices that fill them."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gapdrift.models.gaussian._dense import gap_covariance

__all__ = ["MAX_GAPS", "MIX", "SLOT_BITS", "Book", "Gaps", "Pages"]

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
Codes = NDArray[np.uint64]

Gaps = Callable[[Indices], Mask]
"""Where some rows, given by their numbers, have gaps: (columns, rows)."""

MAX_GAPS = 8
"""Gaps of a pattern that is kept, at most."""

MAX_PATTERNS = 8_192
"""Patterns kept, at most."""

SLOT_BITS = 16

MIX = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: a product with it has high bits that all bits of the other factor decide."""

_WRITING = threading.Lock()
"""Threads that count at the same time write one after the other."""


@dataclass(frozen=True)
class Pages:
    """Patterns with equally many gaps.

    Parameters
    ----------
    columns : (gaps, patterns) array of int
    covariance : (gaps, gaps, patterns) array
        Of the gaps given the rest.
    """

    columns: Indices
    covariance: Matrix


@dataclass(eq=False)
class Book:
    """Patterns of gaps by their codes; one that is new is written down, unless it has many gaps or the book is full.

    What is looked up here could be computed anew for each row: the book saves time and changes nothing.

    Parameters
    ----------
    precision : (columns, columns) array
    """

    precision: Matrix
    codes: Codes = field(default_factory=lambda: np.zeros(1, dtype=np.uint64))
    missing: Mask = field(init=False)
    n_gaps: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(1, dtype=np.uint8))
    place: Indices = field(default_factory=lambda: np.zeros(1, dtype=np.intp))
    pages: dict[int, Pages] = field(default_factory=dict)
    slots: Indices = field(init=False)

    def __post_init__(self) -> None:
        """Write down the complete row, pattern 0."""
        self.missing = np.zeros((1, len(self.precision)), dtype=bool)
        self.slots = np.zeros(1 << SLOT_BITS, dtype=np.intp)

    def find(self, codes: Codes, gaps: Gaps, found: Indices | None = None) -> Indices:
        """Pattern of each row, -1 where it is not in the book.

        Parameters
        ----------
        codes : (rows,) array of uint64
            Equal for equal patterns, 0 for complete rows.
        gaps : callable
        found : (rows,) array of int, optional
            What was found already; by default it is looked up.
        """
        found = self._look_up(codes) if found is None else found
        new = np.flatnonzero(found < 0)
        if len(new) and len(self.codes) < MAX_PATTERNS:
            _, first = np.unique(codes[new], return_index=True)
            rows = new[first]
            missing = gaps(rows)
            few = missing.sum(axis=0) <= MAX_GAPS
            with _WRITING:
                self._write(codes[rows[few]], np.ascontiguousarray(missing[:, few].T))
            found = self._look_up(codes)
        return found

    def _look_up(self, codes: Codes) -> Indices:
        place = self.slots[_slots(codes)]
        return np.where(self.codes[place] == codes, place, -1)

    def _write(self, codes: Codes, missing: Mask) -> None:
        """Write down new patterns; of two for one slot, and of one for a slot that is taken, nothing is kept."""
        wanted = _slots(codes)
        _, first = np.unique(wanted, return_index=True)
        free = first[(self.slots[wanted[first]] == 0) & (wanted[first] != 0)]
        free = free[: MAX_PATTERNS - len(self.codes)]
        codes, missing, wanted = codes[free], missing[free], wanted[free]
        n_gaps = missing.sum(axis=1).astype(np.uint8)
        place = np.zeros(len(codes), dtype=np.intp)
        for size in np.unique(n_gaps).tolist():
            chosen = n_gaps == size
            columns = np.nonzero(missing[chosen])[1].reshape(-1, size)
            covariance = gap_covariance(self.precision, columns)
            page = Pages(np.ascontiguousarray(columns.T), np.ascontiguousarray(covariance.transpose(1, 2, 0)))
            old = self.pages.get(size)
            place[chosen] = np.arange(len(columns)) + (0 if old is None else old.columns.shape[1])
            self.pages[size] = page if old is None else _joined(old, page)
        numbers = np.arange(len(codes)) + len(self.codes)
        self.missing = np.concatenate([self.missing, missing])
        self.n_gaps = np.concatenate([self.n_gaps, n_gaps])
        self.place = np.concatenate([self.place, place])
        # Last, and in this order: whoever finds a pattern by its slot finds the rest of it as well.
        self.codes = np.concatenate([self.codes, codes])
        self.slots[wanted] = numbers


def _slots(codes: Codes) -> Indices:
    mixed: Codes = (codes * MIX) >> np.uint64(64 - SLOT_BITS)
    return mixed.astype(np.intp)


def _joined(one: Pages, two: Pages) -> Pages:
    return Pages(
        np.concatenate([one.columns, two.columns], axis=1), np.concatenate([one.covariance, two.covariance], axis=2)
    )
