"""The inner loops of counting in machine code: used where numba is installed, equal to numpy's results to the bit."""

from typing import Any

import numba
import numpy as np

from gapdrift.counting import observed as observed_cells
from gapdrift.counting import statistics
from gapdrift.counting.observed import FOLDED, MAX_STEPS_OBSERVED, STEPS
from gapdrift.counting.patterns import N_PROBES, SLOT_BITS

__all__ = [
    "add_crossed",
    "add_products",
    "add_triples",
    "count_rows",
    "fill_rows",
    "fill_waves",
    "read_rows",
    "scan_numbers",
]

add_products = numba.njit(cache=True, nogil=True)(statistics.add_products)
"""The products of expected scores. Not called by `count_rows`, whose stored code would not notice changes."""


add_crossed = numba.njit(cache=True, nogil=True)(observed_cells.add_crossed)
"""The products of observed cells, likewise."""

add_triples = numba.njit(cache=True, nogil=True)(observed_cells.add_triples)
"""The products of three observed cells, likewise."""


@numba.njit(cache=True, nogil=True)
def fill_waves(rows: Any, numbers: Any, present: Any, cosines: Any, sines: Any, found: Any) -> None:
    """As `gapdrift.counting.observed.fill_waves`, cell by cell."""
    size = len(numbers)
    for row in range(rows.shape[0]):
        for place in range(size):
            there, step = rows[row, present[place]], int(abs(rows[row, numbers[place]]))
            found[row, place] = cosines[step] * there
            found[row, size + place] = sines[step] * there
            found[row, 2 * size + place] = there


KERNEL_ROWS = 512
"""Rows that are handled at once."""


@numba.njit(cache=True, nogil=True)
def read_rows(  # one loop over rows, so that each is in the cache once
    values: Any,
    missing: Any,
    owner: Any,
    low: Any,
    per_step: Any,
    ranked: Any,
    starts: Any,
    knots: Any,
    first: Any,
    packed: Any,
    merged: Any,
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
    ranked : (ranked columns,) array of int
    starts : (ranked columns + 1,) array of int
        Where the knots of each ranked column start.
    knots : (all knots,) array
    first : (ranked columns, cells + 1) array of int
        Of `ScoreTable.first_knots`.
    packed : (columns, cells) array of int
        Score in units, times 256, plus the histogram interval.
    merged : (columns,) array of uint32
        Of `ScoreTable.merged`.
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
    cells = np.empty(n_columns, np.int32)
    for row in range(n_rows):
        beyond = 0
        for column in range(n_columns):
            number = values[row, column]
            beyond += np.abs(number) > largest
            # A comparison with NaN is false, so that the cell is 0.
            place = (number - low[column]) * per_step[column]
            place = place if place > 0.0 else 0.0
            cells[column] = np.int32(place if place < top else top)
        if beyond:
            return row
        for number in range(len(ranked)):
            column = ranked[number]
            own = knots[starts[number] : starts[number + 1]]
            cells[column] = _rank(own, values[row, column], first[number], cells[column])
        mixed, code = np.uint64(0), np.uint64(0)
        for column in range(n_columns):
            gone = missing[row, owner[column]] if given else values[row, column] != values[row, column]
            cell = np.uint32(cells[column])
            entry = packed[column, cell]
            mixed += np.uint64(0) if gone else mixer[column] * np.uint64(cell >> merged[column])
            scores[row, column] = 0.0 if gone else (entry >> 8) * unit
            code |= np.uint64(gone) << np.uint64(owner[column] & 63)
            bars[column, entry & 255] += not gone
        # An input column without any value in the reference has no matrix column.
        for place in range(missing.shape[1]):
            code |= np.uint64(missing[row, place]) << np.uint64(place & 63)
        identity[row], codes[row] = mixed, code
    return -1


@numba.njit(cache=True, nogil=True)
def _rank(knots: Any, number: float, first: Any, cell: int) -> int:
    """Cell of a number by its rank among knots; those in the same cell of the even grid are looked through."""
    low, high = np.intp(first[cell]), np.intp(first[cell + 1])
    while low < high:
        middle = (low + high) // 2
        if knots[middle] < number:
            low = middle + 1
        else:
            high = middle
    return 2 * low + (low < len(knots) and knots[low] == number)  # type: ignore[return-value]


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _product(matrix: Any, line: int, rows: Any, row: int) -> float:
    """Product of a line of a matrix with a row; terms are multiples of one number, so that any order gives the same."""
    total = 0.0
    for column in range(matrix.shape[1]):
        total += matrix[line, column] * rows[row, column]
    return total


@numba.njit(cache=True, nogil=True)
def fill_rows(rows: Any, index: Any, patterns: Any, precision: Any, unit: float, steps: float, extra: Any) -> None:
    """Fill the missing cells of rows with expected values, as `Filler.fill` does in numpy.

    Parameters
    ----------
    rows : (rows, columns) array
        Centred scores, 0 where missing; expected scores afterwards.
    index : (rows,) array of int
        Pattern of each row; one below 0 leaves a row as it is.
    patterns : tuple
        `KnownPatterns.arrays`.
    precision : (columns, columns) array
    unit : float
        Expected scores are rounded to whole multiples of it.
    steps : float
        Steps per unit of what is added to ``extra``.
    extra : (columns, columns) array
        (e_i e_j + S_ij)^2 - (e_i e_j)^2 of missing cells i <= j: added to.
    """
    column_start, columns, covariance_start, covariance = patterns
    product = np.empty(rows.shape[1])
    per_unit = 1.0 / unit
    for row in range(len(rows)):
        pattern = max(index[row], 0)
        start = column_start[pattern]
        size = column_start[pattern + 1] - start
        if size == 0:
            continue
        cells = covariance_start[pattern]
        for one in range(size):
            product[one] = _product(precision, columns[start + one], rows, row)
        for one in range(size):
            total = 0.0
            for two in range(size):
                total += covariance[cells + one * size + two] * product[two]
            rows[row, columns[start + one]] = np.rint(-total * per_unit) * unit
        for one in range(size):
            first = columns[start + one]
            for two in range(one, size):
                second = columns[start + two]
                plain = rows[row, first] * rows[row, second]
                hidden = covariance[cells + one * size + two]
                extra[first, second] += np.rint(hidden * (2.0 * plain + hidden) * steps) * (1.0 / steps)


@numba.njit(cache=True, nogil=True, inline="always")
def _step(position: float, per_step: float, reach: float) -> Any:
    """Position in whole steps, as `BinTable.steps` finds it."""
    whole = np.floor(position * per_step + 0.5)
    whole = whole if whole > -reach else -reach
    return np.float32(whole if whole < reach else reach)


@numba.njit(cache=True, nogil=True)
def count_bins(
    distances: Any,
    index: Any,
    identity: Any,
    patterns: Any,
    donors: Any,
    apart: Any,
    table: Any,
    counts: Any,
    together: Any,
) -> None:
    """Count the completions of rows by bin, and by pairs of bins of one row.

    Parameters
    ----------
    distances : (rows, bins) array of single precision
        Of expected scores to the centres, less their squares: whole numbers.
    index : (rows,) array of int
        Pattern of each row; one below 0 leaves a row out.
    identity : (rows,) array of uint64
    patterns : tuple
        `KnownPatterns.arrays`.
    donors : (donors, columns) array
    apart : (n_spread,) array of int
        From the first donor of a row to each of its donors. The only completion of a complete row counts as so many.
    table : tuple
        `BinTable.arrays`.
    counts : (bins,) array of int
        Added to.
    together : (bins, bins) array of int
        Added to, each pair in one of its two cells.
    """
    column_start, columns, covariance_start, covariance = patterns
    products, squares, per_step, reach = table
    n_bins, n_spread, n_donors = len(squares), len(apart), len(donors)
    keys, moved = np.empty(n_bins, np.int32), np.empty(n_bins, np.float32)
    # Completions of the row in each bin, and the bins that have some.
    hits, found = np.zeros(n_bins, np.int64), np.empty(n_spread, np.intp)
    for row in range(len(index)):
        pattern = max(index[row], 0)
        start, cells = column_start[pattern], covariance_start[pattern]
        size = column_start[pattern + 1] - start
        if size == 0:
            best = nearest(distances[row], squares, keys)
            counts[best] += n_spread * (index[row] >= 0)
            together[best, best] += n_spread * n_spread * (index[row] >= 0)
            continue
        hashed = (identity[row] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
        first = np.intp((hashed * np.uint64(n_donors)) >> np.uint64(32))
        n_found = 0
        for number in range(n_spread):
            donor = first + apart[number]
            donor = donor if donor < n_donors else donor - n_donors
            moved[:] = distances[row]
            for one in range(size):
                residual = 0.0
                for two in range(size):
                    residual += covariance[cells + one * size + two] * donors[donor, columns[start + two]]
                step = _step(residual, per_step, reach)
                column = columns[start + one]
                for place in range(n_bins):
                    moved[place] += step * products[column, place]
            best = nearest(moved, squares, keys)
            found[n_found] = best
            n_found += hits[best] == 0
            hits[best] += 1
        for one in range(n_found):
            counts[found[one]] += hits[found[one]]
            for two in range(one, n_found):
                together[found[one], found[two]] += hits[found[one]] * hits[found[two]]
        for one in range(n_found):
            hits[found[one]] = 0


@numba.njit(cache=True, nogil=True)
def nearest(distances: Any, squares: Any, keys: Any) -> int:
    """Place of the smallest of up to 256 sums of whole numbers, of 22 bits, the first of equals.

    Parameters
    ----------
    distances, squares : (bins,) arrays of single precision
    keys : (bins,) array of int
        Overwritten.
    """
    for place in range(len(squares)):
        keys[place] = np.int32(distances[place] + squares[place]) * 256 + place
    best = keys[0]
    for place in range(1, len(keys)):
        best = min(best, keys[place])
    return best & 255  # type: ignore[no-any-return]


@numba.njit(cache=True, nogil=True)
def find_patterns(row_codes: Any, known: Any, index: Any, pattern_counts: Any) -> None:
    """Pattern of each row, -1 where it is not known or has too little observed.

    Parameters
    ----------
    row_codes : (rows,) array of uint64
    known : tuple
        ``slots`` and ``codes`` of `KnownPatterns`, what codes are multiplied with to find their slots, and whether rows
        of each pattern have enough observed to choose donors by.
    index : (rows,) array of int
        Filled here.
    pattern_counts : (patterns,) array
        Rows of each pattern: added to.
    """
    slots, codes, mix, enough = known
    for row in range(len(index)):
        place = np.intp((row_codes[row] * mix) >> np.uint64(64 - SLOT_BITS))
        pattern = slots[place]
        for probe in range(1, N_PROBES):
            if codes[pattern] == row_codes[row]:
                break
            pattern = slots[place + probe]
        is_known = codes[pattern] == row_codes[row] and enough[pattern]
        index[row] = pattern if is_known else -1
        pattern_counts[pattern] += is_known


@numba.njit(cache=True, nogil=True)
def mark_rows(scores: Any, index: Any, codes: Any, numbers: Any, observed: Any) -> None:
    """Observed cells, as `CrossedSums.rows` gives them in numpy.

    Parameters
    ----------
    scores : (rows, columns) array
        0 where missing.
    index : (rows,) array of int
        One below 0 leaves a row out: it gets zeros.
    codes : (rows,) array of uint64
    numbers : (numbers,) array of int
    observed : (rows, size) array of single precision
        Filled here.
    """
    n_columns, n_numbers = scores.shape[1], len(numbers)
    first = n_columns + n_numbers
    for row in range(len(scores)):
        for column in range(n_columns):
            step = np.rint(scores[row, column] * STEPS)
            step = step if step > -MAX_STEPS_OBSERVED else -MAX_STEPS_OBSERVED
            observed[row, column] = np.float32(step if step < MAX_STEPS_OBSERVED else MAX_STEPS_OBSERVED)
        for place in range(n_numbers):
            observed[row, n_columns + place] = FOLDED[np.intp(np.abs(observed[row, numbers[place]]))]
        present = ~codes[row] if index[row] >= 0 else np.uint64(0)
        for place in range(observed.shape[1] - first):
            observed[row, first + place] = np.float32((present >> np.uint64(place)) & np.uint64(1))


@numba.njit(cache=True, nogil=True)
def count_rows(
    values: Any, missing: Any, reading: Any, known: Any, patterns: Any, filling: Any, bins: Any, numbers: Any,
    scores: Any, observed: Any, pattern_counts: Any, bars: Any, rest: Any,
) -> int:  # fmt: skip
    """Count rows of known patterns, a block of them at a time, so that all of it stays in the cache.

    Parameters
    ----------
    values, missing : arrays
        As in `read_rows`.
    reading : tuple
        What `read_rows` takes after them, up to the largest number that is allowed.
    known : tuple
        As in `find_patterns`.
    patterns : tuple
        `KnownPatterns.arrays`.
    filling : tuple
        What `fill_rows` takes after the patterns.
    bins : tuple
        What `count_bins` takes after the patterns.
    numbers : (numbers,) array of int
        Matrix columns of numbers.
    scores : (rows, columns) array
        Filled with expected scores, 0 in rows that are left out.
    observed : (rows, size) array of single precision
        Filled with what `CrossedSums.rows` gives, 0 in rows that are left out. It may have no columns.
    pattern_counts : (patterns,) array
        Rows of each pattern: added to.
    bars : (columns, intervals) array of int
        Added to.
    rest : (rows,) array of int
        Filled with the rows that are left out, as `find_patterns` tells.

    Returns
    -------
    n_rest : int
        Number of rows left out, or -1 - row for the first row with a number that is too large.
    """
    n_rows, n_columns = values.shape
    products, squares, per_step, reach = bins[2]
    identity, row_codes = np.empty(KERNEL_ROWS, np.uint64), np.empty(KERNEL_ROWS, np.uint64)
    index = np.empty(KERNEL_ROWS, np.intp)
    steps = np.empty((KERNEL_ROWS, n_columns), np.float32)
    distances = np.empty((KERNEL_ROWS, len(squares)), np.float32)
    n_rest = 0
    for start in range(0, n_rows, KERNEL_ROWS):
        stop = min(start + KERNEL_ROWS, n_rows)
        here = stop - start
        given = missing[start:stop] if len(missing) else missing
        block, own = scores[start:stop], index[:here]
        wrong = read_rows(values[start:stop], given, *reading, block, identity, row_codes, bars)  # type: ignore[call-arg]
        if wrong >= 0:
            return -1 - (start + wrong)
        find_patterns(row_codes, known, own, pattern_counts)
        for row in range(here):
            if own[row] < 0:
                rest[n_rest] = start + row
                n_rest += 1
                block[row] = 0.0
        if observed.shape[1]:
            mark_rows(block, own, row_codes, numbers, observed[start:stop])
        fill_rows(block, own, patterns, *filling)
        for row in range(here):
            for column in range(n_columns):
                steps[row, column] = _step(block[row, column], per_step, reach)
        np.dot(steps[:here], products, distances[:here])
        count_bins(distances, own, identity, patterns, *bins)
    return n_rest


@numba.njit(cache=True, nogil=True)
def scan_numbers(
    values: Any, places: Any, mixed: Any, limits: Any, codes: Any, n_missing: Any, found: Any
) -> int:  # fmt: skip
    """Look through the numbers of some rows once, as `gapdrift.tables.histograms.scan_numbers` does in numpy."""
    low, high, smallest, largest = limits
    n_columns, n_found = len(places), 0
    numbers = np.empty(n_columns)
    bits = numbers.view(np.uint64)
    for row in range(len(values)):
        for column in range(n_columns):
            # 0 and -0 are the same number.
            numbers[column] = values[row, places[column]] + 0.0
        outside = 0
        for column in range(n_columns):
            number = numbers[column]
            smallest[column] = number if number < smallest[column] else smallest[column]
            largest[column] = number if number > largest[column] else largest[column]
            outside += (number < low[column]) | (number >= high[column])
        mixed_bits, missing = np.uint64(0), 0
        for column in range(n_columns):
            missing += numbers[column] != numbers[column]
            mixed_bits += (bits[column] ^ (bits[column] >> np.uint64(31))) * mixed[column]
        codes[row] += mixed_bits
        n_missing[row] += missing
        if outside:
            for column in range(n_columns):
                if numbers[column] < low[column] or numbers[column] >= high[column]:
                    found[n_found, 0], found[n_found, 1] = row, column
                    n_found += 1
    return n_found
