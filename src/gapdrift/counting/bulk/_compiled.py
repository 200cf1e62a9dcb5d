"""The same as `_lookup` and `_gaps` do, row by row in machine code: used where numba is installed."""

from typing import Any

import numba
import numpy as np

from gapdrift.counting.bulk._book import SLOT_BITS

__all__ = ["fill_rows", "find_nearest", "place_rows"]

MAX_KEYED = 64
"""Bins whose numbers fit into a whole number of 31 bits together with a distance of 24; a power of two."""


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def fill_rows(  # noqa: PLR0912, PLR0915 - one loop over rows, so that each is in the registers once
    values: Any,
    missing: Any,
    owner: Any,
    low: Any,
    per_step: Any,
    ranks: Any,
    knots: Any,
    packed: Any,
    precision: Any,
    donors: Any,
    mixer: Any,
    unit: float,
    largest: float,
    slots: Any,
    known: Any,
    mix: Any,
    expected: Any,
    completed: Any,
    identity: Any,
    codes: Any,
    pattern: Any,
    bars: Any,
) -> int:
    """Fill the gaps of rows, and count their numbers.

    Parameters
    ----------
    values : (rows, columns) array
    missing : (rows, input columns) array of bool, or (0, 0) where NaN alone says what is missing
    owner : (columns,) array of int
    low, per_step : (columns,) arrays
    ranks : (columns + 1,) array of int
        Where the knots of each ranked column start; a column without knots has an even grid.
    knots : (all knots,) array
    packed : (columns, cells) array of int
        Score in units, times 256, plus the histogram interval.
    precision : (columns, columns) array
    donors : (donors, columns) array
    mixer : (columns,) array of uint64
    unit : float
    largest : float
        Largest number that is allowed.
    slots, known : arrays
        Of the book: a pattern's number by its slot, and a pattern's code by its number.
    mix : int
        What codes are multiplied with to find their slots.
    expected, completed : (rows, columns) arrays
        Filled here.
    identity, codes, pattern : (rows,) arrays
        Filled here; a pattern is -1 where the book does not have it.
    bars : (columns, intervals) array of int
        Added to.

    Returns
    -------
    row : int
        First row with a number that is too large, or -1.
    """
    n_rows, n_columns = values.shape
    top, per_unit = packed.shape[1] - 1.0, 1.0 / unit
    told = missing.shape[0] > 0
    shift = np.uint64(64 - SLOT_BITS)
    gone = np.zeros(n_columns + 1, np.intp)
    root = np.empty((n_columns, n_columns))
    mean, move = np.empty(n_columns), np.empty(n_columns)
    cells = np.empty(n_columns, np.intp)
    for row in range(n_rows):
        beyond = 0
        for column in range(n_columns):
            number = values[row, column]
            beyond += np.abs(number) > largest
            # Of a comparison with NaN both sides are 0 here.
            place = (number - low[column]) * per_step[column]
            place = place if place > 0.0 else 0.0
            cells[column] = int(place if place < top else top)
        if beyond:
            return row
        for column in range(n_columns if ranks[n_columns] > 0 else 0):
            if ranks[column] < ranks[column + 1]:
                own = knots[ranks[column] : ranks[column + 1]]
                number = values[row, column]
                cells[column] = 0
                if number == number:
                    cells[column] = np.searchsorted(own, number) + np.searchsorted(own, number, side="right")
        mixed = np.uint64(0)
        for column in range(n_columns):
            mixed += mixer[column] * np.uint64(cells[column])
        n_gone = 0
        for column in range(n_columns):
            gap = missing[row, owner[column]] if told else values[row, column] != values[row, column]
            entry = packed[column, cells[column]]
            score = 0.0 if gap else (entry >> 8) * unit
            expected[row, column] = score
            completed[row, column] = score
            gone[n_gone] = column
            n_gone += gap
            bars[column, entry & 255] += 1 - gap
        code = np.uint64(0)
        for one in range(n_gone):
            code |= np.uint64(1) << np.uint64(gone[one] & 63)
        codes[row] = code
        found = slots[np.intp((code * mix) >> shift)]
        pattern[row] = found if known[found] == code else -1
        identity[row] = np.int64(mixed)
        if n_gone == 0:
            continue
        hashed = (np.uint64(identity[row]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
        donor = np.intp((hashed * np.uint64(donors.shape[0])) >> np.uint64(32))
        for one in range(n_gone):
            pull = 0.0
            for column in range(n_columns):
                pull += precision[gone[one], column] * expected[row, column]
            mean[one] = -pull
            move[one] = donors[donor, gone[one]]
        if n_gone == 1:
            share = 1.0 / precision[gone[0], gone[0]]
            mean[0] *= share
            move[0] *= share
        elif n_gone == 2:
            _solve_two(precision, gone, mean, move)
        else:
            _solve(precision, gone, n_gone, root, mean, move)
        for one in range(n_gone):
            whole = np.rint(mean[one] * per_unit) * unit
            expected[row, gone[one]] = whole
            completed[row, gone[one]] = whole + move[one]
    return -1


@numba.njit(cache=True, nogil=True, inline="always")
def _solve_two(matrix: Any, chosen: Any, first: Any, second: Any) -> None:
    """Solve for two right-hand sides with two rows and columns of a matrix."""
    one, two, both = matrix[chosen[0], chosen[0]], matrix[chosen[1], chosen[1]], matrix[chosen[0], chosen[1]]
    share = 1.0 / (one * two - both * both)
    one, two, both = one * share, two * share, both * share
    first[0], first[1] = two * first[0] - both * first[1], one * first[1] - both * first[0]
    second[0], second[1] = two * second[0] - both * second[1], one * second[1] - both * second[0]


@numba.njit(cache=True, nogil=True, inline="always")
def _solve(matrix: Any, chosen: Any, size: int, root: Any, first: Any, second: Any) -> None:
    """Solve for two right-hand sides with some rows and columns of a matrix.

    By L D L', L with ones on its diagonal, where 1 / D is kept: one division for each gap, and no root.
    """
    for one in range(size):
        for two in range(one):
            total = matrix[chosen[one], chosen[two]]
            for k in range(two):
                total -= root[one, k] * root[two, k] * root[k, k]
            root[one, two] = total
        pivot = matrix[chosen[one], chosen[one]]
        for two in range(one):
            # Off the diagonal is L D so far.
            scaled = root[one, two] * root[two, two]
            pivot -= scaled * root[one, two]
            first[one] -= scaled * first[two]
            second[one] -= scaled * second[two]
        root[one, one] = 1.0 / pivot
    for one in range(size - 1, -1, -1):
        for k in range(one + 1, size):
            first[one] -= root[k, one] * first[k]
            second[one] -= root[k, one] * second[k]
        first[one] *= root[one, one]
        second[one] *= root[one, one]


@numba.njit(cache=True, nogil=True)
def place_rows(rows: Any, per_place: Any, reach: Any) -> None:
    """Turn completed rows into whole places, as `gapdrift.counting.bulk._counter.to_places` does.

    Parameters
    ----------
    rows : (rows, columns) array of single precision
        Changed.
    per_place, reach : single precision
        Places per unit, a power of two, and the largest place.
    """
    cells = rows.ravel()
    half = reach + np.float32(0.5)
    for one in range(len(cells)):
        place = cells[one] * per_place
        place = place if place > -reach else -reach
        place = place if place < reach else reach
        cells[one] = np.float32(np.int32(place + half)) - reach


@numba.njit(cache=True, nogil=True)
def find_nearest(distances: Any, squares: Any, nearest: Any) -> None:
    """Find the nearest bin of each row, the first of equally near ones.

    Parameters
    ----------
    distances : (rows, bins) array
        Squared distances but for the squares of the row and of the centre: whole numbers of at most 24 bits.
    squares : (bins,) array
        Of the centres.
    nearest : (rows,) array of int
        Filled here.
    """
    n_rows, n_bins = distances.shape
    if n_bins > MAX_KEYED:
        for row in range(n_rows):
            nearest[row] = np.argmin(distances[row] + squares)
        return
    for row in range(n_rows):
        # Distance and number of a bin in one whole number: the smallest is found without branches.
        least = np.int32(2**31 - 1)
        for one in range(n_bins):
            key = np.int32(distances[row, one] + squares[one]) * np.int32(MAX_KEYED) + np.int32(one)
            least = key if key < least else least
        nearest[row] = least & (MAX_KEYED - 1)
