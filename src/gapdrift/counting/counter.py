"""The counter: rows to the sums of their functions."""

from collections.abc import Iterable, Iterator, Set
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Matrix
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.fact_finder import FactFinder, OutOfRangeError
from gapdrift.counting.functions import Functions
from gapdrift.counting.regions import Regions, nearest
from gapdrift.tables.encoding import Encoded, encode, numeric_chunks
from gapdrift.tables.frame import Table
from gapdrift.tables.schema import Schema

__all__ = ["Counter", "count", "count_cells", "count_table", "machine_code", "zeros"]

Sums = dict[str, NDArray[np.float64]]
Single = NDArray[np.float32]

CHUNK = 8_192
"""Rows whose codes are made at once, at most."""

CHUNK_CELLS = 1_048_576
"""Functions of rows made at once, about."""

EXACT_ROWS = 2_048
"""Rows whose products are added up in single precision: 2,048 products of at most 6,400 fit into its 24 bits."""

ENCODED_ROWS = 65_536
"""Rows of a table encoded at once."""

COMPILED_ROWS = 50_000
"""Rows from which machine code is loaded: it takes seconds to make, though only once."""


def zeros(functions: Functions, regions: Regions | None = None) -> Sums:
    """Sums over no rows."""
    n_pairs, n_columns, n_inputs = len(functions.pairs[0]), len(functions.columns), len(functions.inputs)
    found = {
        "cells": np.zeros(functions.starts[-1]),
        "products": np.zeros((functions.size, functions.size)),
        "triples": np.zeros((n_pairs, n_columns + 2 * n_inputs if n_pairs else 0)),
    }
    return found if regions is None else found | {"regions": np.zeros(len(regions) + 1)}


def count(
    functions: Functions,
    rows: Encoded | Matrix | Iterable[Encoded | Matrix],
    regions: Regions | None = None,
    n_rows: int = 0,
) -> Sums:
    """Sums over rows of the functions of each.

    Parameters
    ----------
    functions : Functions
    rows : Encoded, (rows, matrix columns) array, or several of them
        NaN marks a missing cell.
    regions : Regions, optional
    n_rows : int, default 0
        Rows of all, if known: machine code is loaded for many.

    Returns
    -------
    sums : dict of str to array
        *cells*: how often each code occurs, of all columns one after the other. *products*: [u | w | o]'[u | w | o].
        *triples*, where columns are few: of the products of two u, with each u and each o; and of their o, with each
        o. *regions*: rows in each region; last, those without any observed cell.
    """
    counter = Counter(functions, regions, machine_code(n_rows))
    for chunk in [rows] if isinstance(rows, Encoded | np.ndarray) else rows:
        counter.add(chunk)
    return counter.sums


def count_cells(functions: Functions, rows: Encoded) -> NDArray[np.float64]:
    """How often each code occurs, of all columns one after the other: the sums *cells* alone."""
    each = zip(functions.codes(rows), functions.axes, strict=True)
    return np.concatenate([np.bincount(codes, minlength=axis.n_codes + 1) for codes, axis in each]).astype(float)


def count_table(
    table: Any,
    schema: Schema,
    functions: Functions,
    regions: Regions | None = None,
    origin: str = "",
    *,
    pool_singletons: bool = False,
) -> Evidence:
    """Evidence of the rows of a table, which is read a part at a time.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, mapping of columns, numpy array, or Encoded
    schema : Schema
    functions : Functions
    regions : Regions, optional
    origin : str
        Fingerprint of the fitted reference.
    pool_singletons : bool, default False
        As of `gapdrift.tables.encoding.encode`.
    """

    def evidence(n_rows: int, chunks: Iterable[Encoded | Matrix], notes: Set[str]) -> Evidence:
        code = machine_code(n_rows)
        counter = Counter(functions, regions, code)
        finder = FactFinder(functions.owner, functions.is_number, code)
        for chunk in chunks:
            for part in _parts(chunk, CHUNK):
                finder.add(part)
                n_new = counter.sums["cells"][functions.new].sum()
                counter.add(part)
                if counter.sums["cells"][functions.new].sum() > n_new:
                    finder.add_new(part.values if isinstance(part, Encoded) else part, functions.axes)
        return Evidence(n_rows, counter.sums, origin, frozenset(notes), finder.facts)

    if isinstance(table, Encoded):
        return evidence(len(table), [encode(table, schema)], table.notes)
    source, notes = Table.read(table), set[str]()
    read = partial(_read, source, schema, notes, pool_singletons=pool_singletons)
    try:
        return evidence(source.n_rows, read(plain=True), notes)
    except OutOfRangeError:
        # Encoding says which number it is.
        return evidence(source.n_rows, read(plain=False), notes)


def _read(
    table: Table, schema: Schema, notes: set[str], *, plain: bool, pool_singletons: bool
) -> Iterator[Encoded | Matrix]:
    """Rows of a table a part at a time; where `plain`, those of numbers alone as they are. Adds notes about them."""
    for start in range(0, max(table.n_rows, 1), ENCODED_ROWS):
        part = table.slice(start, start + ENCODED_ROWS) if table.n_rows > ENCODED_ROWS else table
        numbers = numeric_chunks(part, schema, notes, CHUNK) if plain else None
        if numbers is not None:
            yield from numbers
            continue
        rows = encode(part, schema, pool_singletons=pool_singletons)
        notes.update(rows.notes)
        yield rows


class Counter:
    """Adds up the functions of rows.

    Parameters
    ----------
    functions : Functions
    regions : Regions, optional
    code : module, optional
        Of `machine_code`.
    """

    def __init__(self, functions: Functions, regions: Regions | None = None, code: Any = None) -> None:
        self.sums = zeros(functions, regions)
        self._functions, self._weights = functions, None if regions is None else regions.weights(functions)
        self._chunk = min(max(CHUNK_CELLS // max(functions.size, 1), EXACT_ROWS), CHUNK)
        self._block = np.empty((functions.size, self._chunk), dtype=np.float32)
        self._code = code if functions.is_number.any() else None
        by_numpy = ~functions.is_number if self._code is not None else np.ones(len(functions.axes), dtype=bool)
        self._others = np.flatnonzero(by_numpy).tolist()

    def add(self, rows: Encoded | Matrix) -> None:
        """Add rows; an array has numbers only, NaN where missing."""
        for part in _parts(rows, self._chunk):
            block = self._block[:, : len(part)]
            self._fill(part, block)
            for start in range(0, len(part), EXACT_ROWS):
                self._add_block(block[:, start : start + EXACT_ROWS])

    def add_codes(self, codes: NDArray[np.uint16]) -> None:
        """Add rows that are given by their codes: (input columns, rows)."""
        for start in range(0, codes.shape[1], EXACT_ROWS):
            part = codes[:, start : start + EXACT_ROWS]
            block = self._block[:, : part.shape[1]]
            for place, own in enumerate(part):
                self._write(place, own, block)
            self._add_block(block)

    def _write(self, place: int, codes: NDArray[np.integer], block: Single) -> None:
        first, last = self._functions.starts[place : place + 2]
        self.sums["cells"][first:last] += np.bincount(codes, minlength=last - first)
        self._functions.fill(place, codes, block)

    def _fill(self, rows: Encoded | Matrix, block: Single) -> None:
        """Count the codes of some rows, and write their functions into a block of [u | w | o]'."""
        functions, cells = self._functions, self.sums["cells"]
        if self._code is not None:
            counts = np.zeros(len(cells), dtype=np.int64)
            values = rows.values if isinstance(rows, Encoded) else rows
            self._code.fill_numbers(values, *functions.packed, counts, block)
            cells += counts
        for place in self._others:
            self._write(place, functions.codes_of(place, rows), block)

    def _add_block(self, block: Single) -> None:
        functions, sums = self._functions, self.sums
        values, observed = block[: len(functions.function_owner)], block[len(functions.function_owner) :]
        sums["products"] += block @ block.T
        if len(functions.pairs[0]):
            sums["triples"] += triples(functions, values, observed)
        if self._weights is not None:
            places = nearest(self._weights, values[: len(functions.columns)], observed)
            sums["regions"] += np.bincount(places, minlength=len(sums["regions"]))


def triples(functions: Functions, values: Single, observed: Single) -> NDArray[np.float64]:
    """Sums of the products of two u with each u and o, and of their o with each o: (pairs, columns + 2 inputs).

    Those of two are exact in single precision over `EXACT_ROWS`, those of three u are not.
    """
    first, second = functions.pairs
    own, scores = functions.function_owner, functions.bounded(values.T).T
    of_two, with_two = scores[first] * scores[second], observed[own[first]] * observed[own[second]]
    of_three = of_two.astype(float) @ scores.T.astype(float)
    return np.hstack([of_three, of_two @ observed.T, with_two @ observed.T])


def machine_code(n_rows: int) -> Any:
    """Functions in machine code; None where numba is not installed, and for few rows unless it is loaded anyway."""
    loaded = _compiled.cache_info().currsize > 0
    return _compiled() if loaded or n_rows >= COMPILED_ROWS else None


@cache
def _compiled() -> Any:
    try:
        return import_module("gapdrift.counting.compiled")
    except (ImportError, RuntimeError):
        # No numba, or one without a folder that it may keep machine code in: numpy gives the same sums.
        return None


def _parts(rows: Encoded | Matrix, size: int) -> Iterator[Encoded | Matrix]:
    """Runs of rows that stay in the cache."""
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        if isinstance(rows, Encoded):
            tallies = rows.tallies if start == 0 else ()
            yield Encoded(rows.values[part], rows.missing[part], tallies=tallies, codes=rows.codes[part])
        else:
            yield rows[part]
