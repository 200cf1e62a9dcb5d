"""Any table to a float matrix, by the schema of the reference.

Numbers keep their value. A category becomes one column per level with entries 0 and 1/sqrt(2), so that
two different levels are at distance 1. Missing (NaN, None, NA, null, masked) stays missing: NaN.
"""

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.errors import SchemaError
from gapdrift.tables.frame import RawColumn, Table, quote
from gapdrift.tables.schema import Column, Schema, labels_of

__all__ = ["LEVEL", "Encoded", "encode", "plain_parts", "probe_rows"]

LEVEL = 1.0 / math.sqrt(2.0)
"""Entry of a one-hot column: two different levels are then at distance 1."""

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Encoded:
    """A table as a matrix.

    Parameters
    ----------
    values : (rows, matrix columns) array, NaN where missing
    missing : (rows, input columns) array of bool
    notes : frozenset of str
        Sentences for the user about this table.
    """

    values: Matrix
    missing: Mask
    notes: frozenset[str] = frozenset()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.missing)


def probe_rows(schema: Schema) -> Encoded:
    """Three rows to try out what was read from a file: half of the columns missing, none, all.

    Examples
    --------
    >>> probe_rows(Schema((Column("x", "number"), Column("y", "number")))).values
    array([[nan,  0.],
           [ 0.,  0.],
           [nan, nan]])
    """
    missing = np.zeros((3, len(schema.columns)), dtype=bool)
    missing[0, ::2] = True
    missing[2] = True
    return Encoded(np.where(missing[:, schema.owner], np.nan, 0.0), missing)


def encode(table: Any, schema: Schema, *, unsee_singles: bool = False) -> Encoded:
    """Matrix of a table, by the schema of the reference.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, mapping of columns, numpy array, or Encoded
        Has every column of the schema; named columns may come in any order. Other columns are ignored. What was
        encoded by this schema before is returned as it is.
    schema : Schema
    unsee_singles : bool, default False
        Take levels that the reference has once as unseen: for the reference itself.

    Returns
    -------
    encoded : Encoded

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
    # Column after column, as they are written here and read later.
    values = np.empty((source.n_rows, len(schema.owner)), order="F")
    missing = np.empty((source.n_rows, len(schema.columns)), dtype=bool, order="F")
    start = 0
    for index, column in enumerate(schema.columns):
        data = source.column(column.name)
        stop = start + column.width
        missing[:, index] = data.missing
        values[:, start:stop] = _ENCODERS[column.kind](data, column, notes, unsee_singles)
        start = stop
    return Encoded(values, missing, frozenset(notes))


def plain_parts(table: Table, schema: Schema, notes: set[str], n_rows: int) -> Iterator[Matrix] | None:
    """Rows of a table of which nothing needs to be encoded, some at a time, NaN where they are missing.

    Parameters
    ----------
    table : Table
    schema : Schema
    notes : set of str
        Sentences about the table: added to.
    n_rows : int
        Rows of one part, at most.

    Returns
    -------
    parts : iterator of (rows, columns) arrays, or None
        None if a column is not stored as floats, or is a category in the reference. Numbers may be out of range.
    """
    if any(column.kind != "number" for column in schema.columns):
        return None
    notes.update(_match_columns(table, schema))
    whole = table.frame
    if isinstance(whole, np.ndarray) and whole.dtype == np.float64 and not isinstance(whole, np.ma.MaskedArray):
        names = [column.name for column in schema.columns]
        return iter([whole]) if names == list(table.names) else None
    columns = table.floats([column.name for column in schema.columns])
    return None if columns is None else _row_after_row(columns, table.n_rows, n_rows)


def _row_after_row(columns: list[NDArray[np.float64]], n_rows: int, size: int) -> Iterator[Matrix]:
    for start in range(0, n_rows, size):
        part = np.empty((min(size, n_rows - start), len(columns)))
        for place, column in enumerate(columns):
            part[:, place] = column[start : start + size]
        yield part


def _check_encoded(rows: Encoded, schema: Schema) -> Encoded:
    got, expected = (rows.values.shape[1], rows.missing.shape[1]), (len(schema.owner), len(schema.columns))
    if got != expected:
        raise SchemaError(
            f"The encoded rows have {got[0]} matrix columns of {got[1]} columns, expected {expected[0]} of "
            f"{expected[1]}. Encode them with the same fitted detector."
        )
    return rows


def _match_columns(source: Table, schema: Schema) -> list[str]:
    """Sentences about columns that are not used; an error where one is lacking."""
    if source.named != schema.named:
        got, expected = ("names", "none") if source.named else ("no names", "names")
        raise SchemaError(
            f"This table's columns have {got}, those of the reference have {expected}: "
            "columns are matched by name, or by position in arrays. Use the same kind of table."
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
    return [f"Column {name!r} is not in the reference and was ignored." for name in extra]


def _encode_number(data: RawColumn, _column: Column, _notes: set[str], _unsee: bool) -> Matrix:
    if data.missing.all():
        return np.full((len(data.missing), 1), np.nan)
    if data.kind not in {"number", "integer"}:
        raise SchemaError(
            f"Column {data.name!r} holds {'dates' if data.kind == 'date' else 'text'}"
            f"{_example(data)}, expected numbers as in the reference. Convert it, or use NaN where "
            "nothing was recorded."
        )
    values: Matrix = data.values.reshape(-1, 1)
    return values


def _encode_category(data: RawColumn, column: Column, notes: set[str], unsee_singles: bool) -> Matrix:
    if data.missing.all():
        return np.full((len(data.missing), column.width), np.nan)
    if data.kind == "date":
        raise SchemaError(
            f"Column {data.name!r} holds dates, expected categories as in the reference. Convert it to text."
        )
    position = _positions(column.levels)
    if unsee_singles:
        position = {level: index for level, index in position.items() if column.levels[index] not in column.singles}
    places = np.array([_place(str(label), position, column) for label in labels_of(data)], dtype=np.intp)
    matrix = np.zeros((len(places), column.width))
    matrix[np.arange(len(places)), places] = LEVEL
    matrix[data.missing] = np.nan
    unseen = places[~data.missing] >= len(column.levels)
    if unseen.any() and not column.pooled and not unsee_singles:
        notes.add(f"Column {data.name!r} has values that the reference does not have.")
    return matrix


def _positions(levels: tuple[str, ...]) -> dict[str, int]:
    """Matrix column of each level, also by the other ways in which files write it: 1, 1.0 and True."""
    position = {level: index for index, level in enumerate(levels)}
    for level, index in list(position.items()):
        plain = level.removesuffix(".0")
        for other in (plain, {"True": "1", "False": "0"}.get(plain), {"1": "True", "0": "False"}.get(plain)):
            if other is not None:
                position.setdefault(other, index)
                position.setdefault(f"{other}.0", index)
    return position


def _place(label: str, position: dict[str, int], column: Column) -> int:
    """Matrix column of a level; one without its own goes to a group by its name."""
    place = position.get(label)
    return (
        len(column.levels) + zlib.crc32(label.encode(errors="surrogatepass")) % column.groups
        if place is None
        else place
    )


def _encode_empty(data: RawColumn, _column: Column, notes: set[str], _unsee: bool) -> Matrix:
    if not data.missing.all():
        notes.add(f"Column {data.name!r} has values here but none in the reference: they are not compared.")
    return np.empty((len(data.missing), 0))


def _example(data: RawColumn) -> str:
    return f" (such as {data.values[~data.missing][0]!r})" if data.kind == "text" else ""


_ENCODERS = {"number": _encode_number, "category": _encode_category, "empty": _encode_empty}
