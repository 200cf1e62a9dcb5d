"""Any table to a float matrix, by a schema learned once on the reference.

Numbers keep their value. A category becomes one column per level with entries 0 and 1/sqrt(2), so that
two different levels are at distance 1. Missing (NaN, None, NA, null, masked) stays missing: NaN.
`docs/rules.md` states every rule of this module for users.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.errors import InputError, ParameterError, SchemaError
from gapdrift.tables import RawColumn, Table, quote

__all__ = ["Column", "Encoded", "Schema", "encode", "learn_schema"]

LEVEL = 1.0 / math.sqrt(2.0)
"""Entry of a one-hot column: two different levels are then at distance 1."""

MAX_LEVELS = 64
"""Levels kept of one category; rarer ones are pooled with the unseen."""

KEY_COLLISIONS = 14.0
"""Repeats expected of random draws above which all-different integers are a key: exp(-14) < 1e-6."""

MIN_TEXT_LEVELS = 20
"""Below this many different strings a column is a category, however few repeat."""

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Column:
    """One input column as the reference showed it.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "empty"}
        "empty" had no value in the reference: only its gaps are looked at.
    levels : tuple of str
        Levels of a category, most frequent first; all others share one more level.

    Examples
    --------
    >>> Column("colour", "category", ("red", "blue")).width
    3
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Number of matrix columns: levels and one for all others."""
        return {"number": 1, "category": len(self.levels) + 1, "empty": 0}[self.kind]


@dataclass(frozen=True)
class Schema:
    """The columns of a reference, and what was decided about them.

    Parameters
    ----------
    columns : tuple of Column
    ignored : tuple of str
        Names of reference columns that take no part.
    named : bool
        Whether columns are matched by name; those of an array are matched by position.
    notes : tuple of str
        Sentences for the user about columns ignored, pooled or empty.
    """

    columns: tuple[Column, ...]
    ignored: tuple[str, ...] = ()
    named: bool = True
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that take part."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """Index of the input column behind each matrix column: (matrix columns,)."""
        return np.repeat(np.arange(len(self.columns)), [column.width for column in self.columns])


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


def learn_schema(
    table: Any,
    *,
    target: str | int | None = None,
    categories: Sequence[str | int] = (),
    ignore: Sequence[str | int] = (),
) -> Schema:
    """Schema of a reference table.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, mapping of columns, or numpy array
    target : str or int, optional
        Column that always takes part; integers and booleans in it are labels, so categories.
    categories : sequence of str or int
        Columns to take as categories whatever their type.
    ignore : sequence of str or int
        Columns to leave out.

    Returns
    -------
    schema : Schema

    Examples
    --------
    >>> import pandas as pd
    >>> schema = learn_schema(pd.DataFrame({"size": [1.5, None], "colour": ["red", "blue"]}))
    >>> [(column.name, column.kind) for column in schema.columns]
    [('size', 'number'), ('colour', 'category')]
    """
    source = Table.read(table)
    wanted = {
        "target": () if target is None else (target,),
        "categories": categories,
        "ignore": ignore,
    }
    _check_wanted(source, wanted)
    forced = {source.name_of(name) for name in categories}
    ignored = [source.name_of(name) for name in ignore]
    target_name = None if target is None else source.name_of(target)
    columns: list[Column] = []
    notes: list[str] = []
    for name in [name for name in source.names if name not in ignored]:
        found = _learn_column(source.column(name), source.named, name == target_name, name in forced)
        notes += found.notes
        if found.column is None:
            ignored.append(name)
        else:
            columns.append(found.column)
    _check_some_value(columns, notes, source)
    return Schema(tuple(columns), tuple(ignored), source.named, tuple(notes))


def encode(table: Any, schema: Schema) -> Encoded:
    """Matrix of a table, by the schema of the reference.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, mapping of columns, or numpy array
        Has every column of the schema; named columns may come in any order. Other columns are ignored.
    schema : Schema

    Returns
    -------
    encoded : Encoded

    Examples
    --------
    >>> import pandas as pd
    >>> schema = learn_schema(pd.DataFrame({"size": [1.5, None], "colour": ["red", "blue"]}))
    >>> encode(pd.DataFrame({"colour": ["blue", "green", None], "size": [2, 3, 4]}), schema).values
    array([[2.        , 0.70710678, 0.        , 0.        ],
           [3.        , 0.        , 0.        , 0.70710678],
           [4.        ,        nan,        nan,        nan]])
    """
    source = Table.read(table)
    notes = set(_match_columns(source, schema))
    values = np.empty((source.n_rows, len(schema.owner)))
    missing = np.empty((source.n_rows, len(schema.columns)), dtype=bool)
    start = 0
    for index, column in enumerate(schema.columns):
        data = source.column(column.name)
        stop = start + column.width
        missing[:, index] = data.missing
        values[:, start:stop] = _ENCODERS[column.kind](data, column, notes)
        start = stop
    return Encoded(values, missing, frozenset(notes))


@dataclass(frozen=True)
class _Learned:
    column: Column | None
    notes: tuple[str, ...] = ()


def _check_wanted(source: Table, wanted: Mapping[str, Sequence[str | int]]) -> None:
    if source.n_rows == 0 or not source.names:
        raise InputError(
            f"The reference is empty: got {source.n_rows} row(s) and {len(source.names)} column(s), "
            "expected at least one of each."
        )
    for setting, names in wanted.items():
        absent = [str(name) for name in names if source.name_of(name) not in source.names]
        if absent:
            raise ParameterError(
                f"{setting} names the column(s) {quote(absent)}, which the reference does not have. "
                f"It has: {quote(source.names)}."
            )


def _check_some_value(columns: list[Column], notes: list[str], source: Table) -> None:
    if all(column.kind == "empty" for column in columns):
        reasons = " ".join(notes) or "Every column was left out by `ignore`."
        raise InputError(
            f"No column of the reference ({len(source.names)} in all) has values to compare. {reasons}"
        )


def _match_columns(source: Table, schema: Schema) -> list[str]:
    """Sentences about columns that are not used; an error where one is lacking."""
    if source.named != schema.named:
        got, expected = ("names", "none") if source.named else ("no names", "names")
        raise SchemaError(
            f"This table's columns have {got}, those of the reference have {expected}: "
            "columns are matched by name, or by position in arrays. Use the same kind of table."
        )
    absent = [name for name in schema.names if name not in source.names]
    if absent:
        raise SchemaError(
            f"The table lacks the column(s) {quote(absent)} of the reference; it has "
            f"{quote(source.names)}. Add them (all missing, if they were not recorded), or fit without them."
        )
    extra = [name for name in source.names if name not in {*schema.names, *schema.ignored}]
    if extra and not schema.named:
        raise SchemaError(
            f"The array has {len(source.names)} columns, expected {len(schema.names) + len(schema.ignored)} "
            "as in the reference."
        )
    return [f"Column {name!r} is not in the reference and was ignored." for name in extra]


def _learn_column(data: RawColumn, named: bool, is_target: bool, forced: bool) -> _Learned:
    name = data.name
    if data.missing.all():
        note = f"Column {name!r} has no value in the reference: only its gaps are compared."
        return _Learned(Column(name, "empty"), (note,))
    if data.kind == "date":
        return _Learned(None, (f"Column {name!r} holds dates or times and was ignored.",))
    if data.kind == "text":
        return _learn_text(data, keep=is_target or forced)
    if forced or (is_target and (data.kind == "integer" or data.label)):
        return _learn_category(data)
    if named and not is_target and _is_key(data):
        return _Learned(None, (f"Column {name!r} looks like a row number or key and was ignored.",))
    return _Learned(Column(name, "number"))


def _learn_text(data: RawColumn, *, keep: bool) -> _Learned:
    present = data.values[~data.missing]
    different = set(present)
    if not keep and _are_dates(different):
        return _Learned(None, (f"Column {data.name!r} holds dates written as text and was ignored.",))
    if not keep and len(different) > max(MIN_TEXT_LEVELS, len(present) / 2):
        note = f"Column {data.name!r} looks like an identifier or free text and was ignored."
        return _Learned(None, (note,))
    return _learn_category(data)


def _learn_category(data: RawColumn) -> _Learned:
    levels, counts = np.unique(_labels(data)[~data.missing].astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    kept = tuple(str(level) for level in levels[order[:MAX_LEVELS]])
    notes: tuple[str, ...] = ()
    if len(levels) > MAX_LEVELS:
        notes = (
            f"Column {data.name!r} has {len(levels)} levels: the {MAX_LEVELS} most frequent are kept, "
            "the rest are one level.",
        )
    return _Learned(Column(data.name, "category", kept), notes)


def _labels(data: RawColumn) -> NDArray[Any]:
    """Cells as text; whole numbers without a decimal point, so that 1, 1.0 and True agree."""
    if data.kind == "text":
        return data.values
    return np.array([f"{value:.17g}" for value in data.values], dtype=object)


def _is_key(data: RawColumn) -> bool:
    """Whether a whole-number column numbers the rows rather than measuring anything.

    All values differ, and either they rise or fall from row to row, or so many random draws from their
    range would almost surely have repeated one (birthday problem: n^2 / 2 range repeats expected).
    """
    present = data.values[~data.missing]
    if data.kind != "integer" or len(present) < MIN_TEXT_LEVELS:
        return False
    steps = np.diff(present)
    if np.all(steps > 0) or np.all(steps < 0):
        return True
    if len(np.unique(present)) < len(present):
        return False
    return bool(len(present) ** 2 / (2.0 * (np.ptp(present) + 1.0)) > KEY_COLLISIONS)


def _are_dates(texts: set[str], most: int = 200) -> bool:
    return all(_is_date(text) for text in sorted(texts)[:most])


def _is_date(text: str) -> bool:
    if len(text) < 8 or not any(mark in text for mark in "-:/."):
        return False
    try:
        datetime.fromisoformat(text.strip().replace("/", "-"))
    except ValueError:
        return False
    return True


def _encode_number(data: RawColumn, column: Column, notes: set[str]) -> Matrix:  # noqa: ARG001
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


def _encode_category(data: RawColumn, column: Column, notes: set[str]) -> Matrix:
    if data.kind == "date":
        raise SchemaError(
            f"Column {data.name!r} holds dates, expected categories as in the reference. Convert it to text."
        )
    position = {level: index for index, level in enumerate(column.levels)}
    other = len(column.levels)
    levels = np.array([position.get(str(label), other) for label in _labels(data)], dtype=np.intp)
    matrix = np.zeros((len(levels), other + 1))
    matrix[np.arange(len(levels)), levels] = LEVEL
    matrix[data.missing] = np.nan
    if np.any(levels[~data.missing] == other) and len(column.levels) < MAX_LEVELS:
        notes.add(f"Column {data.name!r} has values that the reference does not have.")
    return matrix


def _encode_empty(data: RawColumn, column: Column, notes: set[str]) -> Matrix:  # noqa: ARG001
    if not data.missing.all():
        notes.add(f"Column {data.name!r} has values here but none in the reference: they are not compared.")
    return np.empty((len(data.missing), 0))


def _example(data: RawColumn) -> str:
    return f" (such as {data.values[~data.missing][0]!r})" if data.kind == "text" else ""


_ENCODERS = {"number": _encode_number, "category": _encode_category, "empty": _encode_empty}
