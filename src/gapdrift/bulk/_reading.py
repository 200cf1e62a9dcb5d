"""From rows to scores without gaps: by numpy, or by machine code where numba is installed."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.bulk._book import Gaps
from gapdrift.bulk._gaps import Filled, GapFiller
from gapdrift.bulk._lookup import UNIT, Lookup
from gapdrift.errors import InputError
from gapdrift.histograms import N_INTERVALS
from gapdrift.tables import MAX_MAGNITUDE

__all__ = ["OutOfRangeError", "Reader", "Tally", "machine_code"]

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]

COMPILED_ROWS = 50_000
"""Rows from which machine code is used: it takes seconds to make, though only once."""


class OutOfRangeError(InputError):
    """A number is infinite or too large; which one is said elsewhere."""


@dataclass(frozen=True)
class Tally:
    """Counts that reading adds to.

    Parameters
    ----------
    bars : (columns, intervals) array of int
        Observed numbers in the intervals of the columns' histograms.
    together : (input columns + 1, input columns + 1) array of int
        Common gaps of two columns, in and above the diagonal; the last cell is the sum of squared numbers of gaps.
    """

    bars: NDArray[np.int64]
    together: NDArray[np.int64]

    @classmethod
    def zero(cls, n_columns: int, n_inputs: int) -> "Tally":
        """Counts of no rows."""
        shape = (n_inputs + 1, n_inputs + 1)
        return cls(np.zeros((n_columns, N_INTERVALS), dtype=np.int64), np.zeros(shape, dtype=np.int64))


class Reader:
    """Reads rows: scores by table, gaps filled, numbers and gaps counted.

    Parameters
    ----------
    lookup : Lookup
    filler : GapFiller
    owner : (columns,) array of int
        Input column behind each matrix column.
    n_inputs : int
    """

    def __init__(self, lookup: Lookup, filler: GapFiller, owner: Indices, n_inputs: int) -> None:
        self.lookup, self.filler, self.owner, self.n_inputs = lookup, filler, owner, n_inputs
        # Whether each input column is one matrix column.
        self.plain = np.array_equal(owner, np.arange(n_inputs))

    def read(self, values: Matrix, missing: Mask | None, tally: Tally, n_rows: int) -> tuple[Filled, Gaps]:
        """Rows without gaps, and where the gaps were.

        Parameters
        ----------
        values : (rows, columns) array
        missing : (rows, input columns) array of bool, or None
            None is where NaN alone says what is missing.
        tally : Tally
            Added to.
        n_rows : int
            Rows that are going to be read in all.
        """
        code = machine_code(n_rows)
        if code is not None:
            return self._read_compiled(code.fill_rows, values, missing, tally)
        turned = np.array(values.T, order="C")
        gaps = np.isnan(turned) if missing is None else np.ascontiguousarray(missing.T)
        if missing is None and (np.abs(turned) > MAX_MAGNITUDE).any():
            raise OutOfRangeError("A number is out of range.")
        inputs = gaps
        if missing is not None and not self.plain:
            gaps = gaps[self.owner]
        keys = self.lookup.keys(turned, gaps)
        tally.bars[:] += self.lookup.count(keys, gaps)
        _add_gaps(tally.together, inputs)
        return self.filler.fill(self.lookup.centred(keys, gaps), gaps), lambda rows: gaps[:, rows]

    def _read_compiled(self, fill_rows: Any, values: Matrix, missing: Mask | None, tally: Tally) -> tuple[Filled, Gaps]:
        n_rows, n_columns = values.shape
        expected, completed = np.empty((n_rows, n_columns)), np.empty((n_rows, n_columns), dtype=np.float32)
        identity, codes = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.uint64)
        told = np.zeros((0, 0), dtype=bool) if missing is None else missing
        wrong = fill_rows(
            values, told, self.owner, *self._tables, UNIT, MAX_MAGNITUDE, expected, completed, identity, codes,
            tally.bars, tally.together,
        )  # fmt: skip
        if wrong >= 0:
            raise OutOfRangeError("A number is out of range.")

        def gaps(rows: Indices) -> Mask:
            return np.asarray(np.isnan(values[rows]).T if missing is None else missing[rows].T[self.owner])

        return Filled(expected.T, completed.T, self.filler.find(codes, gaps), identity), gaps

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


def _add_gaps(together: NDArray[np.int64], gaps: Mask) -> None:
    """Add the common gaps of pairs of columns, (input columns, rows)."""
    numbers = gaps.astype(np.float32)
    together[:-1, :-1] += np.triu(numbers @ numbers.T).astype(np.int64)
    together[-1, -1] += int((gaps.sum(axis=0) ** 2).sum())


def machine_code(n_rows: int) -> Any:
    """Functions in machine code; None for few rows, or where numba is not installed."""
    return _compiled() if n_rows >= COMPILED_ROWS else None


@cache
def _compiled() -> Any:
    try:
        from gapdrift.bulk import _compiled as code  # noqa: PLC0415
    except ImportError:
        return None
    return code
