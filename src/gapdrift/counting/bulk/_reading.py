"""From rows to scores without gaps: by numpy, or by machine code where numba is installed."""

from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.counting.bulk._book import MIX, Gaps
from gapdrift.counting.bulk._gaps import Filled, GapFiller
from gapdrift.counting.bulk._lookup import UNIT, Lookup
from gapdrift.errors import InputError
from gapdrift.tables.frame import MAX_MAGNITUDE

__all__ = ["OutOfRangeError", "Reader", "machine_code"]

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
Counts = NDArray[np.int64]

COMPILED_ROWS = 50_000
"""Rows from which machine code is loaded: it takes seconds to make, though only once."""


class OutOfRangeError(InputError):
    """A number is infinite or too large; which one is said elsewhere."""


class Reader:
    """Reads rows: scores by table, gaps filled, numbers counted.

    Parameters
    ----------
    lookup : Lookup
    filler : GapFiller
    owner : (columns,) array of int
        Input column behind each matrix column.
    """

    def __init__(self, lookup: Lookup, filler: GapFiller, owner: Indices) -> None:
        self.lookup, self.filler, self.owner = lookup, filler, owner

    def read(self, values: Matrix, missing: Mask | None, bars: Counts, n_rows: int) -> tuple[Filled, Gaps]:
        """Rows without gaps, and where the gaps were.

        Parameters
        ----------
        values : (rows, columns) array
        missing : (rows, input columns) array of bool, or None
            None is where NaN alone says what is missing.
        bars : (columns, intervals) array of int
            Observed numbers in the intervals of the columns' histograms: added to.
        n_rows : int
            Rows that are going to be read in all.
        """
        code = machine_code(n_rows)
        if code is not None:
            return self._read_compiled(code.fill_rows, values, missing, bars)
        turned = np.array(values.T, order="C")
        gaps = np.isnan(turned) if missing is None else np.ascontiguousarray(missing.T[self.owner])
        if missing is None and (np.abs(turned) > MAX_MAGNITUDE).any():
            raise OutOfRangeError("A number is out of range.")
        keys = self.lookup.keys(turned, gaps)
        bars += self.lookup.count(keys, gaps)
        filled = self.filler.fill(self.lookup.centred(keys, gaps), gaps, self.filler.identify(keys))
        return filled, lambda rows: gaps[:, rows]

    def _read_compiled(self, fill_rows: Any, values: Matrix, missing: Mask | None, bars: Counts) -> tuple[Filled, Gaps]:
        n_rows, n_columns = values.shape
        expected, completed = np.empty((n_rows, n_columns)), np.empty((n_rows, n_columns), dtype=np.float32)
        identity, codes = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.uint64)
        pattern = np.empty(n_rows, dtype=np.intp)
        told = np.zeros((0, 0), dtype=bool) if missing is None else missing
        # Slots first: whoever finds a pattern by its slot finds its code as well.
        slots = self.filler.book.slots
        wrong = fill_rows(
            values, told, self.owner, *self._tables, UNIT, MAX_MAGNITUDE, slots,
            self.filler.book.codes, MIX, expected, completed, identity, codes, pattern, bars,
        )  # fmt: skip
        if wrong >= 0:
            raise OutOfRangeError("A number is out of range.")

        def gaps(rows: Indices) -> Mask:
            return np.asarray(np.isnan(values[rows]).T if missing is None else missing[rows].T[self.owner])

        pattern = self.filler.find(codes, gaps, pattern)
        return Filled(expected.T, completed.T, pattern, identity), gaps

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        """Arrays that machine code takes."""
        lookup, filler = self.lookup, self.filler
        knots = [lookup.ranked.get(column, np.zeros(0)) for column in range(len(lookup.low))]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in knots])])
        units = np.rint(lookup.scores.astype(np.float64) / UNIT).astype(np.int64)
        packed = (units * 256 + lookup.intervals).astype(np.int32)
        return (
            lookup.low,
            lookup.per_step,
            starts,
            np.concatenate(knots),
            packed,
            filler.precision,
            np.ascontiguousarray(filler.donors.T),
            filler.mixer,
        )


def machine_code(n_rows: int) -> Any:
    """Functions in machine code; None where numba is not installed, and for few rows unless it is loaded anyway."""
    loaded = _compiled.cache_info().currsize > 0
    return _compiled() if loaded or n_rows >= COMPILED_ROWS else None


@cache
def _compiled() -> Any:
    try:
        return import_module("gapdrift.counting.bulk._compiled")
    except (ImportError, RuntimeError):
        # No numba, or one without a folder that it may keep machine code in: numpy gives the same sums.
        return None
