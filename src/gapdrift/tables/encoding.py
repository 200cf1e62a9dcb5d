"""A table as a float matrix, encoded by the schema of the reference.

A column of numbers becomes one matrix column with the same values. A column of categories becomes one matrix column
for each category (one-hot), with entries 0 and 1/sqrt(2), so that two different categories are at distance 1. A
missing cell (NaN, None, NA, null, masked) is NaN in all matrix columns of its column.
"""

import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.errors import SchemaError
from gapdrift.results.mismatches import say_absent, say_new, say_new_type, say_other_type, say_unexpected
from gapdrift.tables.facts import Codes, hash_text, mixers
from gapdrift.tables.frame import ForeignTypeError, RawColumn, Table, quote
from gapdrift.tables.schema import Column, Schema, as_categories

__all__ = ["ONE_HOT", "Encoded", "conform", "encode", "new_values_note", "numeric_chunks", "probe_rows"]

WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+(\.0)?")
"""Texts that stand for a whole number, and so may be written with or without .0."""

PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
"""Texts that are numbers."""

ONE_HOT = 1.0 / math.sqrt(2.0)
"""Entry of a one-hot column where the row has its category; two different categories are then at distance 1."""


@dataclass(frozen=True)
class Encoded:
    """A table as a matrix.

    Parameters
    ----------
    values : (rows, matrix columns) array, NaN where missing
    missing : (rows, input columns) array of bool
    notes : frozenset of str
        Sentences for the user about this table.
    tallies : tuple of mappings of str to int
        For each input column, how often which category occurs that has no matrix column of its own. Empty if that is
        not known.
    codes : (rows,) array of uint64
        What the categories of each row add to its hash.
    """

    values: Matrix
    missing: Mask
    notes: frozenset[str] = frozenset()
    tallies: tuple[Mapping[str, int], ...] = ()
    codes: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))

    def __post_init__(self) -> None:
        """Rows without categories add nothing to their hashes."""
        if not len(self.codes):
            object.__setattr__(self, "codes", np.zeros(len(self.missing), dtype=np.uint64))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.missing)

    def take(self, chosen: Indices) -> "Encoded":
        """Some of the rows, in their order, without notes and tallies."""
        places = np.sort(chosen)
        return Encoded(self.values[places], self.missing[places], codes=self.codes[places])


def new_values_note(name: str) -> str:
    """Sentence about a column with categories that the reference does not have."""
    return f"Column {name!r} has values that the reference does not have."


def probe_rows(schema: Schema) -> Encoded:
    """Three rows to try out a detector that was read from a file: with half of the columns missing, none, and all."""
    missing = np.zeros((3, len(schema.columns)), dtype=bool)
    missing[0, ::2] = True
    missing[2] = True
    return Encoded(np.where(missing[:, schema.owner], np.nan, 0.0), missing)


def encode(table: Any, schema: Schema, *, pool_singletons: bool = False) -> Encoded:
    """Table as a matrix, encoded by the schema of the reference.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, mapping of columns, numpy array, or Encoded
        Must have every column of the schema; named columns may come in any order. Other columns are ignored. Rows
        that were already encoded by this schema are returned unchanged.
    schema : Schema
    pool_singletons : bool, default False
        Whether categories that occur once in the reference are encoded like unseen ones. For the reference itself:
        otherwise its single row of such a category would be compared with itself.

    Examples
    --------
    >>> import pandas as pd
    >>> from gapdrift.tables.schema import learn_schema
    >>> schema = learn_schema(pd.DataFrame({"size": [1.5, None], "colour": ["red", "blue"]}))
    >>> encode(pd.DataFrame({"colour": ["blue", "green", None], "size": [2, 3, 4]}), schema).values
    array([[2.        , 0.70710678, 0.        , 0.        ],
           [3.        , 0.        , 0.        , 0.70710678],
           [4.        ,        nan,        nan,        nan]])
    """
    if isinstance(table, Encoded):
        return _check_encoded(table, schema)
    source = Table.read(table)
    notes = set(_match_columns(source, schema))
    # Stored column by column, as they are written here and read later.
    values = np.empty((source.n_rows, len(schema.owner)), order="F")
    missing = np.empty((source.n_rows, len(schema.columns)), dtype=bool, order="F")
    tallies: list[Mapping[str, int]] = [{} for _ in schema.columns]
    codes, mixed = np.zeros(source.n_rows, dtype=np.uint64), mixers(len(schema.columns))
    start = 0
    for index, column in enumerate(schema.columns):
        data = source.column(column.name)
        stop = start + column.width
        missing[:, index] = data.missing
        if column.kind == "category" and not data.missing.all():
            found = _encode_category(data, column, notes, pool_singletons)
            values[:, start:stop], tallies[index] = found.matrix, found.tally
            codes += found.codes * mixed[index]
        else:
            values[:, start:stop] = _ENCODERS[column.kind](data, column, notes)
        start = stop
    return Encoded(values, missing, frozenset(notes), tuple(tallies), codes)


def numeric_chunks(table: Table, schema: Schema, notes: set[str], n_rows: int) -> Iterator[Matrix] | None:
    """Rows of an all-numeric table in chunks, NaN where missing, without a copy of the whole table.

    None if the reference has a column that is not numeric, or if the table has one that is not stored as floats: such a
    table needs `encode`. It is not checked whether numbers are finite and not too large.

    Parameters
    ----------
    table : Table
    schema : Schema
    notes : set of str
        Sentences for the user; those about this table are added.
    n_rows : int
        Largest number of rows in a chunk.
    """
    if any(column.kind != "number" for column in schema.columns):
        return None
    notes.update(_match_columns(table, schema))
    frame = table.frame
    if isinstance(frame, np.ndarray) and frame.dtype == np.float64 and not isinstance(frame, np.ma.MaskedArray):
        names = [column.name for column in schema.columns]
        return iter([frame]) if names == list(table.names) else None
    columns = table.floats([column.name for column in schema.columns])
    return None if columns is None else _stack_in_chunks(columns, table.n_rows, n_rows)


def _stack_in_chunks(columns: list[Vector], n_rows: int, chunk_rows: int) -> Iterator[Matrix]:
    for start in range(0, n_rows, chunk_rows):
        chunk = np.empty((min(chunk_rows, n_rows - start), len(columns)))
        for index, column in enumerate(columns):
            chunk[:, index] = column[start : start + chunk_rows]
        yield chunk


def _check_encoded(rows: Encoded, schema: Schema) -> Encoded:
    got, expected = (rows.values.shape[1], rows.missing.shape[1]), (len(schema.owner), len(schema.columns))
    if got != expected:
        raise SchemaError(
            f"The encoded rows have {got[0]} matrix columns of {got[1]} columns, expected {expected[0]} of "
            f"{expected[1]}. Encode them with the same fitted detector."
        )
    return rows


def _match_columns(source: Table, schema: Schema) -> list[str]:
    """Sentences about columns that are ignored; a column that the table lacks raises a SchemaError."""
    if source.named != schema.named:
        got, expected = ("names", "none") if source.named else ("no names", "names")
        raise SchemaError(
            f"This table's columns have {got}, those of the reference have {expected}: columns are matched by "
            "name in tables and by position in arrays. Use the same kind of table for both."
        )
    present = set(source.names)
    absent = [name for name in schema.names if name not in present]
    if absent:
        raise SchemaError(
            f"The table lacks the column(s) {quote(absent)} of the reference; it has "
            f"{quote(source.names)}. Add them (all missing, if they were not recorded), or fit without them."
        )
    known = {*schema.names, *schema.ignored}
    extra = [name for name in source.names if name not in known]
    if extra and not schema.named:
        raise SchemaError(
            f"The array has {len(source.names)} columns, expected {len(schema.names) + len(schema.ignored)} "
            "as in the reference."
        )
    return [say_new(name) for name in extra]


def conform(table: Any, schema: Schema) -> tuple[Table, frozenset[str]]:
    """Table that has every column of the schema, and sentences about those that it lacked or that hold another type.

    The cells of such columns are missing. A table without names has no columns to find: it is returned as it is.
    """
    source = Table.read(table)
    if not (source.named and schema.named):
        return source, frozenset()
    notes, columns = set(), {name: source.stored(name) for name in source.names}
    for column in schema.columns:
        note = say_absent(column.name) if column.name not in columns else _other_type(source, column)
        if note:
            notes.add(note)
            columns[column.name] = np.full(source.n_rows, np.nan)
    return Table(tuple(columns), source.n_rows, True, columns), frozenset(notes)


def _other_type(source: Table, column: Column) -> str:
    """Sentence about a column whose cells cannot be compared with those of the reference; empty if they can."""
    expected = "numbers" if column.kind == "number" else "categories"
    try:
        data = source.column(column.name)
    except ForeignTypeError:
        return say_other_type(column.name, "other types", expected)
    is_number = data.kind in {"number", "integer"}
    if data.missing.all() or column.kind == "empty" or (is_number if column.kind == "number" else data.kind != "date"):
        return ""
    return say_other_type(column.name, "dates" if data.kind == "date" else "text", expected)


def _encode_number(data: RawColumn, _column: Column, _notes: set[str]) -> Matrix:
    if data.missing.all():
        return np.full((len(data.missing), 1), np.nan)
    if data.kind not in {"number", "integer"}:
        found = "dates" if data.kind == "date" else f"text (such as {data.values[~data.missing][0]!r})"
        raise SchemaError(
            f"Column {data.name!r} holds {found}, expected numbers as in the reference. Convert it, or use NaN where "
            "nothing was recorded."
        )
    values: Matrix = data.values.reshape(-1, 1)
    return values


class _Categories(NamedTuple):
    """A column of categories, encoded: its matrix columns, its tally, and a hash of each cell."""

    matrix: Matrix
    tally: Mapping[str, int]
    codes: Codes


def _encode_category(data: RawColumn, column: Column, notes: set[str], pool_singletons: bool) -> _Categories:
    if data.kind == "date":
        raise SchemaError(
            f"Column {data.name!r} holds dates, expected categories as in the reference. Convert it to text."
        )
    own = _own_positions(column.categories)
    if pool_singletons:
        own = {name: index for name, index in own.items() if column.categories[index] not in column.singletons}
    numbers, texts = _numbered(data)
    place_of = np.array([_position(text, own, column) for text in texts], dtype=np.intp)
    positions = place_of[numbers]
    matrix = np.zeros((len(positions), column.width))
    matrix[np.arange(len(positions)), positions] = ONE_HOT
    matrix[data.missing] = np.nan
    counts = np.bincount(numbers[~data.missing], minlength=len(texts))
    pooled = np.flatnonzero((place_of >= len(column.categories)) & (counts > 0)).tolist()
    if pooled and not column.pooled and not pool_singletons:
        notes.add(new_values_note(data.name))
    if pooled and not column.pooled and _have_turned_into_numbers([texts[index] for index in pooled], column):
        notes.add(say_new_type(data.name, "numbers", "words"))
    codes = np.array([hash_text(text) for text in texts], dtype=np.uint64)[numbers]
    codes[data.missing] = 0
    return _Categories(matrix, {texts[index]: int(counts[index]) for index in pooled}, codes)


def _have_turned_into_numbers(new: list[str], column: Column) -> bool:
    """Whether new categories are numbers while those of the reference are words."""
    return all(map(PLAIN_NUMBER.fullmatch, new)) and not any(map(PLAIN_NUMBER.fullmatch, column.categories))


def _encode_nothing(data: RawColumn, column: Column, _notes: set[str]) -> Matrix:
    return np.full((len(data.missing), column.width), np.nan)


def _own_positions(categories: tuple[str, ...]) -> dict[str, int]:
    """Matrix column of each category, under every spelling that files have for it: 1, 1.0 and True are one category."""
    positions = {category: index for index, category in enumerate(categories)}
    for category, index in list(positions.items()):
        short = category.removesuffix(".0") if WHOLE_NUMBER.fullmatch(category) else category
        if short not in {"True", "False"} and not WHOLE_NUMBER.fullmatch(short):
            continue
        for spelling in (short, {"True": "1", "False": "0"}.get(short), {"1": "True", "0": "False"}.get(short)):
            if spelling is not None:
                positions.setdefault(spelling, index)
                positions.setdefault(f"{spelling}.0", index)
    return positions


def _numbered(data: RawColumn) -> tuple[Indices, tuple[str, ...]]:
    """Number of the category of each cell, and the different categories; missing cells have any number."""
    if data.numbered is not None:
        return data.numbered
    if data.kind == "text":
        cells = np.where(data.missing, "", data.values).tolist()
        number_of = {name: number for number, name in enumerate(dict.fromkeys(cells))}
        numbers = np.fromiter(map(number_of.__getitem__, cells), dtype=np.intp, count=len(cells))
        return numbers, tuple(map(str, number_of))
    values, first, inverse = np.unique(data.values, return_index=True, return_inverse=True)
    distinct = replace(data, values=values, missing=data.missing[first])
    return inverse.reshape(-1), tuple(map(str, as_categories(distinct)))


def _position(category: str, own: dict[str, int], column: Column) -> int:
    """Matrix column of a category; one without its own goes into a group chosen by a hash of its name."""
    if category in own:
        return own[category]
    return len(column.categories) + zlib.crc32(category.encode(errors="surrogatepass")) % column.n_groups


def _encode_empty(data: RawColumn, _column: Column, notes: set[str]) -> Matrix:
    if not data.missing.all():
        notes.add(say_unexpected(data.name))
    return np.empty((len(data.missing), 0))


_ENCODERS = {"number": _encode_number, "category": _encode_nothing, "empty": _encode_empty}
