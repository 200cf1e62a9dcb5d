"""Finds the facts about rows that are no sums: extremes, categories without a place of their own, duplicate rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.functions import Axis, Functions
from gapdrift.errors import InputError
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.facts import Codes, Facts, Tally, add_tallies, empty_facts, hash_numbers, mixers
from gapdrift.tables.frame import MAX_MAGNITUDE

__all__ = ["FactFinder", "OutOfRangeError", "find_facts", "scan_numbers"]


class OutOfRangeError(InputError):
    """A number is infinite or too large; which one is said elsewhere."""


class FactFinder:
    """Finds facts about rows.

    Parameters
    ----------
    owner : (matrix columns,) array of int
        Input column of each matrix column.
    is_number : (input columns,) array of bool
    code : module, optional
        `gapdrift.counting.compiled`.
    """

    def __init__(self, owner: Indices, is_number: Mask, code: Any = None) -> None:
        self._is_number, self._places = is_number, np.flatnonzero(is_number[owner])
        self._mixed = mixers(len(is_number))[is_number]
        self._scan = scan_numbers if code is None else code.scan_numbers
        self._owner = owner
        self.facts: Facts = empty_facts(len(is_number))

    def add(self, rows: Encoded | Matrix) -> None:
        """Add rows, best a few thousand at a time; an array has numbers only, NaN where missing.

        Raises
        ------
        OutOfRangeError
            Where a number is infinite or too large.
        """
        if not isinstance(rows, Encoded):
            self._add_numbers(rows, np.zeros(len(rows), dtype=np.uint64), np.zeros(len(rows), dtype=np.intp))
            return
        if rows.tallies:
            self._add_tallies(rows.tallies)
        self._add_numbers(rows.values, rows.codes.copy(), rows.missing[:, ~self._is_number].sum(axis=1))

    def add_new(self, values: Matrix, axes: Sequence[Axis]) -> None:
        """Add numbers of some rows that are none of the few ones of the reference."""
        first = np.searchsorted(self._owner, np.arange(len(axes)))
        few = {place: axis for place, axis in enumerate(axes) if len(axis.single)}
        new = {place: axis.tally_new(values[:, first[place]]) for place, axis in few.items()}
        self._add_tallies([new.get(place, {}) for place in range(len(axes))])

    def _add_tallies(self, tallies: Sequence[Tally]) -> None:
        self.facts = replace(self.facts, tallies=tuple(map(add_tallies, self.facts.tallies, tallies)))

    def _add_numbers(self, values: Matrix, codes: Codes, n_missing: Indices) -> None:
        """Add rows of which it is known what categories add to their hashes, and how many of these are missing."""
        smallest, largest = self.facts.smallest.copy(), self.facts.largest.copy()
        ends = smallest[self._is_number], largest[self._is_number]
        self._scan(values, self._places, self._mixed, *ends, codes, n_missing)
        if ends[0].min(initial=0.0) < -MAX_MAGNITUDE or ends[1].max(initial=0.0) > MAX_MAGNITUDE:
            raise OutOfRangeError("A number is out of range.")
        smallest[self._is_number], largest[self._is_number] = ends
        # Rows of which next to nothing is known are alike without being copies.
        is_known = 2 * n_missing < len(self._is_number)
        self.facts = replace(self.facts, smallest=smallest, largest=largest).with_rows(codes[is_known])


def find_facts(functions: Functions, rows: Encoded) -> Facts:
    """Facts about rows."""
    finder = FactFinder(functions.owner, functions.is_number)
    finder.add(rows)
    finder.add_new(rows.values, functions.axes)
    return finder.facts


def scan_numbers(
    values: Matrix, columns: Indices, mixed: Codes, smallest: Vector, largest: Vector, codes: Codes, n_missing: Indices
) -> None:
    """Look through the numbers of some rows once.

    Parameters
    ----------
    values : (rows, matrix columns) array
    columns : (numbers,) array of int
        Matrix columns of numbers.
    mixed : (numbers,) array of uint64
        Number that belongs to each column (`mixers`).
    smallest, largest : (numbers,) arrays
        Brought up to date.
    codes : (rows,) array of uint64
        Hashes of rows: added to.
    n_missing : (rows,) array of int
        Numbers that are missing: added to.
    """
    for place, column in enumerate(columns.tolist()):
        numbers = np.ascontiguousarray(values[:, column])
        smallest[place] = np.fmin.reduce(numbers, initial=smallest[place])
        largest[place] = np.fmax.reduce(numbers, initial=largest[place])
        codes += hash_numbers(numbers[None], mixed[place : place + 1])
        n_missing += np.isnan(numbers)
