"""The inner loops of counting in machine code: used where numba is installed, equal to numpy's results to the bit."""

from typing import Any

import numba
import numpy as np

__all__ = ["count_bins", "fill_rows", "read_rows", "to_steps"]


@numba.njit(cache=True, nogil=True)
def read_rows(  # one loop over rows, so that each is in the cache once
    values: Any,
    missing: Any,
    owner: Any,
    low: Any,
    per_step: Any,
    ranks: Any,
    knots: Any,
    packed: Any,
    mixer: Any,
    unit: float,
    largest: float,
    scores: Any,
    identity: Any,
    codes: Any,
    bars: Any,
) -> int:
    """Scores of rows, what tells rows apart, their patterns, and histograms.

    Parameters
    ----------
    values : (rows, columns) array
    missing : (rows, input columns) array of bool, or (0, 0) where NaN alone marks a missing value
    owner : (columns,) array of int
    low, per_step : (columns,) arrays
    ranks : (columns + 1,) array of int
        Where the knots of each ranked column start; a column without knots has an even grid.
    knots : (all knots,) array
    packed : (columns, cells) array of int
        Score in units, times 256, plus the histogram interval.
    mixer : (columns,) array of uint64
    unit : float
    largest : float
        Largest number that is allowed.
    scores : (rows, columns) array
        Filled here, 0 where missing.
    identity, codes : (rows,) arrays of uint64
        Filled here.
    bars : (columns, intervals) array of int
        Added to.

    Returns
    -------
    row : int
        First row with a number that is too large, or -1.
    """
    n_rows, n_columns = values.shape
    top = packed.shape[1] - 1.0
    given = missing.shape[0] > 0
    cells = np.empty(n_columns, np.intp)
    for row in range(n_rows):
        beyond = 0
        for column in range(n_columns):
            number = values[row, column]
            beyond += np.abs(number) > largest
            # A comparison with NaN is false, so that the cell is 0.
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
        mixed, code = np.uint64(0), np.uint64(0)
        for column in range(n_columns):
            gone = missing[row, owner[column]] if given else values[row, column] != values[row, column]
            here = np.int64(not gone)
            entry = np.int64(packed[column, cells[column]])
            mixed += mixer[column] * np.uint64(cells[column] * here)
            scores[row, column] = (entry >> 8) * here * unit
            code |= np.uint64(1 - here) << np.uint64(owner[column] & 63)
            bars[column, entry & 255] += here
        # An input column without any value in the reference has no matrix column.
        for place in range(missing.shape[1]):
            code |= np.uint64(missing[row, place]) << np.uint64(place & 63)
        identity[row], codes[row] = mixed, code
    return -1


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(one: Any, two: Any) -> float:
    """Sum of products; all terms are multiples of one number, so that any order gives the same."""
    total = 0.0
    for place in range(len(one)):
        total += one[place] * two[place]
    return total


@numba.njit(cache=True, nogil=True)
def fill_rows(
    rows: Any,
    index: Any,
    column_start: Any,
    columns: Any,
    covariance_start: Any,
    covariance: Any,
    precision: Any,
    unit: float,
    extra: Any,
) -> None:
    """Fill the missing cells of rows with expected values, as `Filler.fill` does in numpy.

    Parameters
    ----------
    rows : (rows, columns) array
        Centred scores, 0 where missing; expected scores afterwards.
    index : (rows,) array of int
        Pattern of each row.
    column_start, columns, covariance_start, covariance : arrays
        Of `KnownPatterns`.
    precision : (columns, columns) array
    unit : float
        Expected scores are rounded to whole multiples of it.
    extra : (columns, columns) array
        (e_i e_j + S_ij)^2 - (e_i e_j)^2 of missing cells: added to.
    """
    n_columns = rows.shape[1]
    product = np.empty(n_columns)
    per_unit = 1.0 / unit
    for row in range(len(rows)):
        pattern = index[row]
        start = column_start[pattern]
        size = column_start[pattern + 1] - start
        if size == 0:
            continue
        cells = covariance_start[pattern]
        for one in range(size):
            product[one] = _dot(precision[columns[start + one]], rows[row])
        for one in range(size):
            total = 0.0
            for two in range(size):
                total += covariance[cells + one * size + two] * product[two]
            rows[row, columns[start + one]] = np.rint(-total * per_unit) * unit
        for one in range(size):
            first = columns[start + one]
            for two in range(size):
                second = columns[start + two]
                plain = rows[row, first] * rows[row, second]
                hidden = covariance[cells + one * size + two]
                extra[first, second] += hidden * (2.0 * plain + hidden)


@numba.njit(cache=True, nogil=True)
def count_bins(
    base: Any,
    squares: Any,
    index: Any,
    column_start: Any,
    columns: Any,
    covariance_start: Any,
    covariance: Any,
    donors: Any,
    choice: Any,
    n_spread: int,
    products: Any,
    per_step: float,
    reach: float,
    counts: Any,
    together: Any,
) -> None:
    """Completions in each bin, and in each pair of bins, as `memberships` finds them in numpy.

    Parameters
    ----------
    base : (rows, bins) array of single precision
        Distances of the expected rows less the centres' squares: whole numbers.
    squares : (bins,) array of single precision
    index : (rows,) array of int
        Pattern of each row; -1 leaves a row out.
    column_start, columns, covariance_start, covariance : arrays
        Of `KnownPatterns`.
    donors : (donors, columns) array
    choice : (rows,) array of int
        First donor of each row.
    n_spread : int
    products : (columns, bins) array of single precision
    per_step, reach : float
        Of `BinTable`.
    counts : (bins,) array of int
        Completions in each bin: added to.
    together : (bins, bins) array of int
        Pairs of completions of a row in each pair of bins: added to.
    """
    n_rows, n_bins = base.shape
    n_donors = len(donors)
    moved, keys = np.empty(n_bins, np.float32), np.empty(n_bins, np.int32)
    steps = np.zeros(len(donors[0]) + 2, np.float32)
    # Completions of the row in each bin, and the bins that have some.
    hits, found = np.zeros(n_bins, np.int64), np.empty(n_spread, np.intp)
    apart = np.empty(n_spread, np.intp)
    for number in range(n_spread):
        apart[number] = number * n_donors // n_spread
    for row in range(n_rows):
        pattern = index[row]
        if pattern < 0:
            continue
        start = column_start[pattern]
        size = column_start[pattern + 1] - start
        if size == 0:
            for place in range(n_bins):
                moved[place] = base[row, place] + squares[place]
            best = _nearest(moved, keys)
            counts[best] += n_spread
            together[best, best] += n_spread * n_spread
            continue
        cells = covariance_start[pattern]
        n_found = 0
        for number in range(n_spread):
            donor = choice[row] + apart[number]
            donor = donor if donor < n_donors else donor - n_donors
            for one in range(size):
                total = 0.0
                for two in range(size):
                    total += covariance[cells + one * size + two] * donors[donor, columns[start + two]]
                whole = np.floor(total * per_step + 0.5)
                whole = whole if whole > -reach else -reach
                steps[one] = np.float32(whole if whole < reach else reach)
            # Two columns at a time; the last of an odd number comes with a step of 0.
            steps[size] = np.float32(0.0)
            first, second = columns[start], columns[start + min(1, size - 1)]
            for place in range(n_bins):
                near = base[row, place] + squares[place]
                moved[place] = near + steps[0] * products[first, place] + steps[1] * products[second, place]
            for one in range(2, size, 2):
                first, second = columns[start + one], columns[start + min(one + 1, size - 1)]
                for place in range(n_bins):
                    moved[place] += steps[one] * products[first, place] + steps[one + 1] * products[second, place]
            best = _nearest(moved, keys)
            found[n_found] = best
            n_found += hits[best] == 0
            hits[best] += 1
        for one in range(n_found):
            counts[found[one]] += hits[found[one]]
            for two in range(n_found):
                together[found[one], found[two]] += hits[found[one]] * hits[found[two]]
        for one in range(n_found):
            hits[found[one]] = 0


@numba.njit(cache=True, nogil=True)
def _nearest(distances: Any, keys: Any) -> int:
    """Place of the smallest of up to 256 whole numbers of 22 bits, the first of equals; ``keys`` is overwritten."""
    for place in range(len(distances)):
        keys[place] = np.int32(distances[place]) * 256 + place
    best = keys[0]
    for place in range(1, len(keys)):
        best = min(best, keys[place])
    return best & 255  # type: ignore[no-any-return]


@numba.njit(cache=True, nogil=True)
def to_steps(positions: Any, per_step: float, reach: float, steps: Any) -> None:
    """Positions in whole steps, as `BinTable.steps` finds them in numpy.

    Parameters
    ----------
    positions : (rows, columns) array
    per_step, reach : float
    steps : (rows, columns) array of single precision
        Filled here.
    """
    cells, found = positions.ravel(), steps.ravel()
    for place in range(len(cells)):
        whole = np.floor(cells[place] * per_step + 0.5)
        whole = whole if whole > -reach else -reach
        found[place] = np.float32(whole if whole < reach else reach)
