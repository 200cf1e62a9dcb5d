"""The loops over the cells of columns of numbers in machine code: used where numba is installed, equal to numpy's."""

from typing import Any

import numba
import numpy as np

__all__ = ["codes_of", "fill_numbers", "scan_numbers"]


@numba.njit(cache=True, nogil=True)
def fill_numbers(values: Any, columns: Any, grids: Any, axes: Any, lines: Any, counts: Any, block: Any) -> None:
    """Count the codes of columns of numbers, and write their functions into a block of [u | w | o]'.

    Parameters
    ----------
    values : (rows, matrix columns) array
    columns : (numbers,) array of int
        Matrix columns of numbers.
    grids : tuple of (numbers,), (numbers,) and (numbers, cells) arrays
        `Axis.grid` of each column.
    axes : tuple of (numbers, 2), (codes,), (codes,) and (codes,) arrays
        First and last code of each column among those of all; limits, u and w of all codes.
    lines : (numbers, 3) array of int
        Lines of o, u and w in the block, -1 where a column has none.
    counts : (codes,) array of int
        Added to.
    block : (functions, rows) array
    """
    centre, per_unit, by_cell = grids
    ends, limits, scores, waves = axes
    for number in range(len(columns)):
        first, last = ends[number]
        own = slice(first, last + 1)
        grid = centre[number], per_unit[number], by_cell[number]
        codes = codes_of(values[:, columns[number]], grid, limits[own])
        _add_counts(codes, counts[own])
        observed_line, score_line, wave_line = lines[number]
        if observed_line >= 0:
            _fill_lines(codes, scores[own], waves[own], block[score_line], block[wave_line], block[observed_line])


@numba.njit(cache=True, nogil=True)
def codes_of(numbers: Any, grid: Any, limits: Any) -> Any:
    """As `Axis.codes_of`, number by number."""
    centre, per_unit, by_cell = grid
    half = len(by_cell) // 2 - 1.0
    codes = np.empty(len(numbers), np.uint32)
    for row in range(len(numbers)):
        number = numbers[row]
        centred = (number - centre) * per_unit
        place = np.copysign(1.0 - 1.0 / (np.abs(centred) + 1.0), centred) * half + (half + 1.0)
        # A comparison with NaN is false.
        # A comparison with NaN is false.
        code = by_cell[np.uint32(place if place >= 1.0 else 0.0)]
        if code < 0:
            codes[row] = np.searchsorted(limits[:-2], number, side="right")
        else:
            codes[row] = np.uint32(code) + np.uint32(number >= limits[np.uint32(code)])
    return codes


@numba.njit(cache=True, nogil=True)
def _add_counts(codes: Any, counts: Any) -> None:
    for row in range(len(codes)):
        counts[codes[row]] += 1


@numba.njit(cache=True, nogil=True)
def _fill_lines(codes: Any, scores: Any, waves: Any, score_line: Any, wave_line: Any, observed_line: Any) -> None:
    missing = len(scores) - 1
    for row in range(len(codes)):
        score_line[row] = scores[codes[row]]
        wave_line[row] = waves[codes[row]]
        observed_line[row] = np.float32(codes[row] != missing)


@numba.njit(cache=True, nogil=True)
def scan_numbers(
    values: Any, columns: Any, mixed: Any, smallest: Any, largest: Any, codes: Any, n_missing: Any
) -> None:
    """Look through the numbers of some rows once, as `gapdrift.counting.fact_finder.scan_numbers` does in numpy."""
    n_columns = len(columns)
    numbers = np.empty(n_columns)
    bits = numbers.view(np.uint64)
    for row in range(len(values)):
        for column in range(n_columns):
            # 0 and -0 are the same number.
            numbers[column] = values[row, columns[column]] + 0.0
        for column in range(n_columns):
            number = numbers[column]
            smallest[column] = number if number < smallest[column] else smallest[column]
            largest[column] = number if number > largest[column] else largest[column]
        found, missing = np.uint64(0), 0
        for column in range(n_columns):
            missing += numbers[column] != numbers[column]
            found += (bits[column] ^ (bits[column] >> np.uint64(31))) * mixed[column]
        codes[row] += found
        n_missing[row] += missing
