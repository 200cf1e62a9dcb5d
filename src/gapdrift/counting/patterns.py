"""Patterns of missing cells with the matrices that fill them, computed once and kept."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.models.gaussian import DensePrecision, find_patterns
from gapdrift.models.gaussian.dense import conditional_covariance
from gapdrift.models.gaussian.patterns import multiply_in_order

__all__ = [
    "MAX_CODED",
    "MIX",
    "N_PROBES",
    "SLOT_BITS",
    "KnownPatterns",
    "PatternBlock",
    "PatternCache",
    "describe_patterns",
    "pattern_codes",
    "unknown_parts",
]

Codes = NDArray[np.uint64]

MAX_CODED = 64
"""Input columns whose pattern fits into one code."""

MAX_MISSING = 48
"""Missing matrix columns of a pattern that is kept, at most."""

MAX_PATTERNS = 8_192
"""Patterns kept, at most."""

MAX_PATTERN_CELLS = 2_000_000
"""Cells of the covariances of the patterns that are kept, or handled at once, at most."""

SLOT_BITS = 16
"""Bits of the place of a pattern in the table by which it is found."""

N_PROBES = 4
"""Places at which a pattern is looked for."""

MIX = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: a product with it has high bits that all bits of the other factor decide."""


@dataclass(frozen=True, eq=False)
class PatternBlock:
    """Rows with equally many missing cells.

    Parameters
    ----------
    rows : (n,) array of int
    columns : (n, size) array of int
        Missing columns of each row.
    covariance : (n, size, size) array
        Conditional covariance of these cells.
    """

    rows: Indices
    columns: Indices
    covariance: Matrix

    def solve(self, vectors: Matrix) -> Matrix:
        """(P_mm)^-1 v_m of each row, as `DensePrecision.solve` does it: (n, size) of (all rows, columns)."""
        return multiply_in_order(self.covariance, vectors[self.rows[:, None], self.columns])


@dataclass(frozen=True, eq=False)
class KnownPatterns:
    """Patterns of missing cells and their conditional covariances, one after the other; the first is the complete row.

    Parameters
    ----------
    codes : (patterns,) array of uint64
        One bit for each missing input column.
    slots : (2^16 + N_PROBES,) array of int
        Number of a pattern at the place that its code says or one of the next few, 0 at all others.
    missing : (patterns, input columns) array of bool
    column_start : (patterns + 1,) array of int
        Where the missing matrix columns of each pattern start in ``columns``.
    columns : (all missing columns,) array of int
    covariance_start : (patterns + 1,) array of int
        Where the conditional covariance of each pattern starts in ``covariance``.
    covariance : (all cells,) array
        S = (P_mm)^-1 of each pattern, row after row.
    """

    codes: Codes
    slots: Indices
    missing: Mask
    column_start: Indices
    columns: Indices
    covariance_start: Indices
    covariance: Vector

    def __len__(self) -> int:
        """Return the number of patterns."""
        return len(self.missing)

    @property
    def arrays(self) -> tuple[Indices, Indices, Indices, Vector]:
        """What machine code takes of the patterns."""
        return self.column_start, self.columns, self.covariance_start, self.covariance

    def find(self, codes: Codes) -> Indices:
        """Number of the pattern of each code, -1 where it is not known."""
        place = _slots(codes)
        found = self.slots[place]
        other = np.flatnonzero(self.codes[found] != codes)
        for probe in range(1, N_PROBES):
            if not len(other):
                break
            found[other] = self.slots[place[other] + probe]
            other = other[self.codes[found[other]] != codes[other]]
        found[other] = -1
        return found

    def blocks(self, index: Indices) -> list[PatternBlock]:
        """Incomplete rows, in blocks with equally many missing cells.

        Parameters
        ----------
        index : (rows,) array of int
            Pattern of each row.
        """
        found = []
        sizes = np.diff(self.column_start)[index]
        for size in np.flatnonzero(np.bincount(sizes)[1:]) + 1:
            chosen = np.flatnonzero(sizes == size)
            for rows in np.array_split(chosen, len(chosen) * size * size // MAX_PATTERN_CELLS + 1):
                pattern = index[rows]
                columns = self.columns[self.column_start[pattern][:, None] + np.arange(size)]
                cells = self.covariance[self.covariance_start[pattern][:, None] + np.arange(size * size)]
                found.append(PatternBlock(rows, columns, cells.reshape(-1, size, size)))
        return found

    def joined(self, other: "KnownPatterns") -> "KnownPatterns":
        """These patterns and those of another set, its complete row apart."""
        slots = self.slots.copy()
        places = _free_slots(slots, other.codes[1:])
        slots[places[places >= 0]] = len(self) + np.flatnonzero(places >= 0)
        return KnownPatterns(
            np.concatenate([self.codes, other.codes[1:]]),
            slots,
            np.concatenate([self.missing, other.missing[1:]]),
            np.concatenate([self.column_start, self.column_start[-1] + other.column_start[2:]]),
            np.concatenate([self.columns, other.columns]),
            np.concatenate([self.covariance_start, self.covariance_start[-1] + other.covariance_start[2:]]),
            np.concatenate([self.covariance, other.covariance]),
        )


def describe_patterns(missing: Mask, owner: Indices, precision: DensePrecision) -> KnownPatterns:
    """Patterns with their conditional covariances.

    Parameters
    ----------
    missing : (patterns, input columns) array of bool
        The first is the complete row.
    owner : (columns,) array of int
    precision : DensePrecision
    """
    wide = missing[:, owner]
    sizes = wide.sum(axis=1)
    column_start = np.concatenate([[0], np.cumsum(sizes)])
    covariance_start = np.concatenate([[0], np.cumsum(sizes**2)])
    covariance = np.empty(covariance_start[-1])
    for size in np.unique(sizes[sizes > 0]).tolist():
        chosen = np.flatnonzero(sizes == size)
        columns = np.nonzero(wide[chosen])[1].reshape(len(chosen), size)
        cells = covariance_start[chosen][:, None] + np.arange(size * size)
        covariance[cells] = conditional_covariance(precision.matrix, columns).reshape(len(chosen), -1)
    slots = np.zeros((1 << SLOT_BITS) + N_PROBES, dtype=np.intp)
    return KnownPatterns(
        pattern_codes(missing), slots, missing, column_start, np.nonzero(wide)[1], covariance_start, covariance
    )


def pattern_codes(missing: Mask) -> Codes:
    """One number per row, 0 for complete rows, equal for equal patterns of at most 64 columns: (rows,)."""
    if missing.shape[1] > MAX_CODED:
        return np.asarray(missing.any(axis=1), dtype=np.uint64)
    packed = np.packbits(missing, axis=1, bitorder="little")
    padded = np.zeros((len(packed), 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8")[:, 0].astype(np.uint64, copy=False)


class PatternCache:
    """Patterns met before; a new one is kept, unless it misses many cells or there is no more room.

    What is kept could be computed anew for each row, to the same bits: the cache saves time and changes nothing. It
    may be used by several threads.

    Parameters
    ----------
    precision : DensePrecision
    owner : (columns,) array of int
    n_inputs : int
    """

    def __init__(self, precision: DensePrecision, owner: Indices, n_inputs: int) -> None:
        self.precision, self.owner, self.n_inputs = precision, owner, n_inputs
        self.known = describe_patterns(np.zeros((1, n_inputs), dtype=bool), owner, precision)
        self._lock = threading.Lock()

    def find(self, codes: Codes) -> tuple[KnownPatterns, Indices]:
        """All that is known, and the pattern of each row in it, -1 where it is not.

        Parameters
        ----------
        codes : (rows,) array of uint64
            From `pattern_codes`, of at most 64 input columns.
        """
        known = self.known
        index = known.find(codes)
        unknown = index < 0
        if unknown.any():
            with self._lock:
                self._keep(np.unique(codes[unknown]))
            known = self.known
            index = known.find(codes)
        return known, index

    def _keep(self, codes: Codes) -> None:
        """Keep new patterns, but those whose slots are all taken."""
        known = self.known
        codes = codes[_free_slots(known.slots, codes) >= 0]
        missing = _missing_of(codes, self.n_inputs)
        sizes = missing[:, self.owner].sum(axis=1)
        room = np.cumsum(np.where(sizes <= MAX_MISSING, sizes**2, 0)) <= MAX_PATTERN_CELLS - len(known.covariance)
        kept = np.flatnonzero((sizes <= MAX_MISSING) & room)[: MAX_PATTERNS - len(known)]
        if len(kept):
            complete = np.zeros((1, self.n_inputs), dtype=bool)
            new = describe_patterns(np.concatenate([complete, missing[kept]]), self.owner, self.precision)
            self.known = known.joined(new)


def unknown_parts(
    missing: Mask, owner: Indices, precision: DensePrecision
) -> Iterator[tuple[Indices, KnownPatterns, Indices]]:
    """Rows of any patterns, so many at once that their covariances fit into memory.

    Parameters
    ----------
    missing : (rows, input columns) array of bool
    owner : (columns,) array of int
    precision : DensePrecision

    Yields
    ------
    rows : (n,) array of int
    known : KnownPatterns
    index : (n,) array of int
        Pattern of each of these rows.
    """
    patterns = find_patterns(missing)
    order = np.argsort(patterns.index, kind="stable")
    cells = np.cumsum(patterns.missing[:, owner].sum(axis=1) ** 2)
    part_of = cells // MAX_PATTERN_CELLS
    for part in np.unique(part_of[patterns.index]).tolist():
        numbers = np.flatnonzero(part_of == part)
        rows = order[np.isin(patterns.index[order], numbers)]
        chosen = np.concatenate([[0], numbers[numbers > 0]])
        place = np.zeros(len(patterns.missing), dtype=np.intp)
        place[chosen] = np.arange(len(chosen))
        yield rows, describe_patterns(patterns.missing[chosen], owner, precision), place[patterns.index[rows]]


def _missing_of(codes: Codes, n_inputs: int) -> Mask:
    """Missing input columns of codes: (codes, input columns)."""
    return (codes[:, None] >> np.arange(n_inputs, dtype=np.uint64)) & np.uint64(1) > 0


def _free_slots(slots: Indices, codes: Codes) -> Indices:
    """Free slot of each code, the first of those after the one that it says, each taken once; -1 where none is free."""
    taken = bytearray((slots != 0).tobytes())
    taken[0] = True
    places = []
    for first in _slots(codes).tolist():
        place = taken.find(0, first, first + N_PROBES)
        places.append(place)
        if place >= 0:
            taken[place] = True
    return np.array(places, dtype=np.intp)


def _slots(codes: Codes) -> Indices:
    mixed: Codes = (codes * MIX) >> np.uint64(64 - SLOT_BITS)
    return mixed.astype(np.intp)
