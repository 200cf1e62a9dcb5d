"""What is learned of a table's columns: which take part, as numbers or as categories.

`docs/rules.md` states every rule of this module for users.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.errors import InputError, ParameterError
from gapdrift.persistence.records import expect, stored
from gapdrift.tables.frame import RawColumn, Table, quote

__all__ = ["ALL_LEVELS", "MAX_COLUMNS", "Column", "LevelRule", "Schema", "labels_of", "learn_schema", "number_label"]

KEY_COLLISIONS = 14.0
"""Repeats expected of random draws above which all-different integers are a key: exp(-14) < 1e-6."""

MIN_TEXT_LEVELS = 20
"""Below this many different strings a column is a category, however few repeat."""

MAX_COLUMNS = 20_000
"""Matrix columns of a schema that is read from a file."""

MAX_LEVELS = 10_000
"""Levels and groups of one of its columns."""


@dataclass(frozen=True)
class LevelRule:
    """Which levels of a category get a matrix column of their own.

    Parameters
    ----------
    max_levels : int
        All of them up to this number.
    min_share : float or None
        Beyond, those with at least this share of the rows; the others are spread over groups by their name,
        whatever their frequency, so that no level is singled out because it happened to be frequent in the
        reference. None keeps the most frequent ``max_levels`` and makes one group of the others.
    """

    max_levels: int
    min_share: float | None = None


ALL_LEVELS = LevelRule(64)
"""The rule of the published method: 64 levels, then one group."""


@stored
@dataclass(frozen=True)
class Column:
    """One input column as the reference showed it.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "empty"}
        "empty" had no value in the reference: only its gaps are looked at.
    levels : tuple of str
        Levels of a category with a matrix column of their own, most frequent first.
    groups : int
        Matrix columns that all other levels share.
    pooled : bool
        Whether the reference itself has levels without a column of their own.
    singles : tuple of str
        Levels that the reference has once. To judge a level by its only row would be to judge the row by
        itself, so a reference can be encoded as if they had not been seen.

    Examples
    --------
    >>> Column("colour", "category", ("red", "blue")).width
    3
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    groups: int = 1
    singles: tuple[str, ...] = ()
    pooled: bool = False

    @property
    def width(self) -> int:
        """Number of matrix columns: levels and groups of all others."""
        return {"number": 1, "category": len(self.levels) + self.groups, "empty": 0}[self.kind]

    def level_at(self, place: int) -> str:
        """Name of the level behind one of its matrix columns."""
        return self.levels[place] if place < len(self.levels) else "(other)"

    def check_stored(self) -> None:
        """Check what was read from a file: kind, levels and groups."""
        expect(self.kind in {"number", "category", "empty"}, "a column of numbers, categories or without values")
        expect(self.kind == "category" or not (self.levels or self.singles), "levels of categories only")
        expect(0 < self.groups <= MAX_LEVELS and len(self.levels) <= MAX_LEVELS, f"up to {MAX_LEVELS} levels")
        expect(len(set(self.levels)) == len(self.levels), "different levels")


@stored
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

    def check_stored(self) -> None:
        """Check what was read from a file: some column has values, and names differ."""
        expect(len(set(self.names)) == len(self.names), "different names of columns")
        expect(sum(column.width for column in self.columns) <= MAX_COLUMNS, f"up to {MAX_COLUMNS} columns and levels")
        expect(any(column.width for column in self.columns), "a column with values")


def learn_schema(
    table: Any,
    *,
    target: str | int | None = None,
    categories: Sequence[str | int] = (),
    ignore: Sequence[str | int] = (),
    levels: LevelRule = ALL_LEVELS,
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
    levels : LevelRule

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
    _check_disjoint({*forced, *([] if target_name is None else [target_name])}, ignored)
    columns: list[Column] = []
    notes: list[str] = []
    for name in [name for name in source.names if name not in ignored]:
        found = _learn_column(source.column(name), levels, source.named, name == target_name, name in forced)
        notes += found.notes
        if found.column is None:
            ignored.append(name)
        else:
            columns.append(found.column)
    _check_some_value(columns, notes, source)
    return Schema(tuple(columns), tuple(ignored), source.named, tuple(notes))


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


def _check_disjoint(wanted: set[str], ignored: Sequence[str]) -> None:
    both = sorted(wanted & set(ignored))
    if both:
        raise ParameterError(f"ignore names the column(s) {quote(both)}, which target or categories name too.")


def _check_some_value(columns: list[Column], notes: list[str], source: Table) -> None:
    if all(column.kind == "empty" for column in columns):
        reasons = " ".join(notes) or "Every column was left out by `ignore`."
        raise InputError(f"No column of the reference ({len(source.names)} in all) has values to compare. {reasons}")


def _learn_column(data: RawColumn, rule: LevelRule, named: bool, is_target: bool, forced: bool) -> _Learned:
    name = data.name
    if data.missing.all():
        note = f"Column {name!r} has no value in the reference: only its gaps are compared."
        return _Learned(Column(name, "empty"), (note,))
    if data.kind == "date" and (is_target or forced):
        raise ParameterError(
            f"Column {name!r} holds dates or times, which are no categories and no target. Convert it to text or "
            "to a number, or leave it out."
        )
    if data.kind == "date":
        return _Learned(None, (f"Column {name!r} holds dates or times and was ignored.",))
    if data.kind == "text":
        return _learn_text(data, rule, keep=is_target or forced)
    if forced or (is_target and (data.label or _are_labels(data))):
        return _learn_category(data, rule)
    if named and not is_target and _is_key(data):
        return _Learned(None, (f"Column {name!r} looks like a row number or key and was ignored.",))
    return _Learned(Column(name, "number"))


def _are_labels(data: RawColumn) -> bool:
    """Whether the numbers of a target are labels: whole, and not too many different ones."""
    return data.kind == "integer" and len(np.unique(data.values[~data.missing])) <= ALL_LEVELS.max_levels


def _learn_text(data: RawColumn, rule: LevelRule, *, keep: bool) -> _Learned:
    present = data.values[~data.missing]
    different = set(present)
    if not keep and _are_dates(different):
        return _Learned(None, (f"Column {data.name!r} holds dates written as text and was ignored.",))
    if not keep and len(different) > max(MIN_TEXT_LEVELS, len(present) / 2):
        note = f"Column {data.name!r} looks like an identifier or free text and was ignored."
        return _Learned(None, (note,))
    return _learn_category(data, rule)


def _learn_category(data: RawColumn, rule: LevelRule) -> _Learned:
    frequency = Counter(labels_of(data)[~data.missing].tolist())
    levels = sorted(frequency, key=lambda level: (-frequency[level], level))
    kept, groups = _choose_levels(np.array([frequency[level] for level in levels]), rule)
    singles = [level for level in levels if frequency[level] == 1] if kept == len(levels) else []
    notes: list[str] = []
    pooled = kept < len(levels)
    if pooled:
        rest = "the rest are one level" if groups == 1 else f"the rest are compared in {groups} groups"
        notes = [f"Column {data.name!r} has {len(levels)} levels: {kept} are kept, {rest}."]
    column = Column(data.name, "category", tuple(levels[:kept]), groups, tuple(singles), pooled)
    return _Learned(column, tuple(notes))


def _choose_levels(counts: NDArray[np.intp], rule: LevelRule) -> tuple[int, int]:
    """Number of levels kept, most frequent first, and of groups for the others."""
    if len(counts) <= rule.max_levels:
        return len(counts), 1
    if rule.min_share is None:
        return rule.max_levels, 1
    kept = int(np.sum(counts >= rule.min_share * counts.sum()))
    return kept, max(rule.max_levels - kept, 2)


def labels_of(data: RawColumn) -> NDArray[Any]:
    """Cells as text: True and False, whole numbers without a decimal point, -0 as 0."""
    if data.kind == "text":
        return data.values
    if data.label:
        return np.array([str(value == 1.0) for value in data.values], dtype=object)
    return np.array([number_label(value) for value in data.values], dtype=object)


def number_label(value: float) -> str:
    """A number as a level: as short as it can be told, whole ones without a decimal point, -0 as 0.

    Examples
    --------
    >>> number_label(7.0), number_label(0.1), number_label(-0.0)
    ('7', '0.1', '0')
    """
    return repr(float(value) + 0.0).removesuffix(".0")


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


def _are_dates(texts: set[str]) -> bool:
    return all(_is_date(text) for text in texts)


def _is_date(text: str) -> bool:
    """Whether a text is a date, a time, or both, in ISO form with separators."""
    plain = text.strip().replace("/", "-")
    if len(plain) < 5 or not any(mark in plain[1:] for mark in "-:"):
        return False
    for kind in (datetime, time):
        try:
            kind.fromisoformat(plain)
        except ValueError:
            continue
        return True
    return False
