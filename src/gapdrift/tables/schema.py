"""The schema of a reference: which columns are compared, and whether as numbers or as categories.

`docs/reference/rules.md` states every rule of this module for users.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices
from gapdrift.errors import InputError, ParameterError
from gapdrift.persistence.records import expect, stored
from gapdrift.tables.dates import are_dates
from gapdrift.tables.frame import RawColumn, Table, quote

__all__ = [
    "DEFAULT_CATEGORY_RULE",
    "MAX_COLUMNS",
    "CategoryRule",
    "Column",
    "Schema",
    "as_categories",
    "learn_schema",
    "number_as_category",
]

MIN_EXPECTED_REPEATS = 14.0
"""Integers without repeats are a key if random draws would repeat this often: the chance of no repeat is exp(-14)."""

MIN_DISTINCT = 20
"""Fewer different values than this are never taken for identifiers, free text or a key."""


_Learned = tuple["Column | None", tuple[str, ...]]

MAX_COLUMNS = 20_000
"""Largest number of matrix columns in a schema that is read from a file."""

MAX_COLUMN_CATEGORIES = 10_000
"""Largest number of categories, and of groups, in one column of such a schema."""


@dataclass(frozen=True)
class CategoryRule:
    """Which categories of a column get a matrix column of their own; the others share some.

    Parameters
    ----------
    max_categories : int
        Up to this many categories, each has its own.
    min_share : float or None
        With more categories, only those with surely this share of the values have their own. The others are divided
        into groups by a hash of their names, so that no category is singled out because it happened to be frequent in
        the reference. With None, the ``max_categories`` most frequent have their own and the others form one group.
    """

    max_categories: int
    min_share: float | None = None


DEFAULT_CATEGORY_RULE = CategoryRule(64)
"""The 64 most frequent categories have their own matrix column, and all others share one."""


@stored
@dataclass(frozen=True)
class Column:
    """One input column as it is in the reference.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "empty"}
        What its cells hold. "empty" means that the reference has no value in it: only which cells are missing is
        compared.
    categories : tuple of str
        Categories with a matrix column of their own, most frequent first.
    n_groups : int
        Number of matrix columns that all other categories share.
    singletons : tuple of str
        Categories that occur once in the reference (see `gapdrift.tables.encoding.encode`).
    pooled : bool
        Whether the reference itself has categories without a matrix column of their own.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    n_groups: int = 1
    singletons: tuple[str, ...] = ()
    pooled: bool = False

    @property
    def width(self) -> int:
        """Number of matrix columns."""
        return {"number": 1, "category": len(self.categories) + self.n_groups, "empty": 0}[self.kind]

    def category_at(self, position: int) -> str:
        """Category behind one of the column's matrix columns; "(other)" for a group."""
        return self.categories[position] if position < len(self.categories) else "(other)"

    def check_stored(self) -> None:
        """Check what was read from a file: kind, categories and groups."""
        expect(self.kind in {"number", "category", "empty"}, "a column of numbers, categories or without values")
        expect(self.kind == "category" or not (self.categories or self.singletons), "values of categories only")
        few = 0 < self.n_groups <= MAX_COLUMN_CATEGORIES and len(self.categories) <= MAX_COLUMN_CATEGORIES
        expect(few, f"up to {MAX_COLUMN_CATEGORIES} categories")
        expect(len(set(self.categories)) == len(self.categories), "different categories")


@stored
@dataclass(frozen=True)
class Schema:
    """The columns of a reference, and how each is compared.

    Parameters
    ----------
    columns : tuple of Column
    ignored : tuple of str
        Names of reference columns that are not compared.
    named : bool
        Whether columns are matched by name; the columns of an array are matched by position.
    notes : tuple of str
        Sentences for the user about columns that are ignored, pooled or empty.
    """

    columns: tuple[Column, ...]
    ignored: tuple[str, ...] = ()
    named: bool = True
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are compared."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def owner(self) -> Indices:
        """Index of the input column that each matrix column belongs to: (matrix columns,)."""
        return np.repeat(np.arange(len(self.columns)), [column.width for column in self.columns])

    def check_stored(self) -> None:
        """Check what was read from a file: some column has values, and names differ."""
        expect(len(set(self.names)) == len(self.names), "different names of columns")
        expect(
            sum(column.width for column in self.columns) <= MAX_COLUMNS, f"up to {MAX_COLUMNS} columns and categories"
        )
        expect(any(column.width for column in self.columns), "a column with values")


def learn_schema(
    table: Any,
    *,
    target: str | int | None = None,
    categories: Sequence[str | int] = (),
    ignore: Sequence[str | int] = (),
    category_rule: CategoryRule = DEFAULT_CATEGORY_RULE,
) -> Schema:
    """Schema of a reference table.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, mapping of columns, or numpy array
    target : str or int, optional
        Column that is always compared. Booleans in it, and integers with few different values, are class labels and
        so categories.
    categories : sequence of str or int
        Columns to treat as categorical whatever their type.
    ignore : sequence of str or int
        Columns to leave out.
    category_rule : CategoryRule
    """
    source = Table.read(table)
    _check_not_empty(source)
    _check_known(source, {"target": () if target is None else (target,), "categories": categories, "ignore": ignore})
    forced = {source.name_of(name) for name in categories}
    ignored = [source.name_of(name) for name in ignore]
    target_name = None if target is None else source.name_of(target)
    _check_disjoint({*forced, *([] if target_name is None else [target_name])}, ignored)
    columns: list[Column] = []
    notes: list[str] = []
    for name in [name for name in source.names if name not in ignored]:
        column, column_notes = _learn_column(
            source.column(name), category_rule, source.named, name == target_name, name in forced
        )
        notes += column_notes
        if column is None:
            ignored.append(name)
        else:
            columns.append(column)
    _check_some_value(columns, notes, source)
    return Schema(tuple(columns), tuple(ignored), source.named, tuple(notes))


def _check_not_empty(source: Table) -> None:
    if source.n_rows == 0 or not source.names:
        raise InputError(
            f"The reference is empty: got {source.n_rows} row(s) and {len(source.names)} column(s), "
            "expected at least one of each."
        )


def _check_known(source: Table, named_by: Mapping[str, Sequence[str | int]]) -> None:
    for setting, names in named_by.items():
        absent = [str(name) for name in names if source.name_of(name) not in source.names]
        if absent:
            raise ParameterError(
                f"{setting} names the column(s) {quote(absent)}, which the reference does not have. "
                f"It has: {quote(source.names)}."
            )


def _check_disjoint(used: set[str], ignored: Sequence[str]) -> None:
    both = sorted(used & set(ignored))
    if both:
        raise ParameterError(
            f"ignore names the column(s) {quote(both)}, which target or categories name too. Name each only once."
        )


def _check_some_value(columns: list[Column], notes: list[str], source: Table) -> None:
    if all(column.kind == "empty" for column in columns):
        reasons = " ".join(notes) or "Every column was left out by `ignore`."
        raise InputError(f"No column of the reference ({len(source.names)} in all) has values to compare. {reasons}")


def _learn_column(data: RawColumn, rule: CategoryRule, named: bool, is_target: bool, forced: bool) -> _Learned:
    """Column of the schema, and notes about it; None for a column to ignore."""
    name = data.name
    if data.missing.all():
        note = f"Column {name!r} has no value in the reference: only its missing cells are compared."
        return Column(name, "empty"), (note,)
    if data.kind == "date" and (is_target or forced):
        raise ParameterError(
            f"Column {name!r} holds dates or times, which can be neither categories nor the target. Convert it to "
            "text or to a number, or leave it out."
        )
    if data.kind == "date":
        return None, (f"Column {name!r} holds dates or times and was ignored.",)
    if data.kind == "text":
        return _learn_text(data, rule, keep=is_target or forced)
    if forced or (is_target and (data.is_boolean or _are_labels(data))):
        return _learn_category(data, rule)
    if named and not is_target and _is_key(data):
        return None, (f"Column {name!r} looks like a row number or key and was ignored.",)
    return Column(name, "number"), ()


def _are_labels(data: RawColumn) -> bool:
    """Whether the numbers of a target are class labels: integers with few different values."""
    return data.kind == "integer" and len(np.unique(data.values[~data.missing])) <= DEFAULT_CATEGORY_RULE.max_categories


def _learn_text(data: RawColumn, rule: CategoryRule, *, keep: bool) -> _Learned:
    present = data.values[~data.missing]
    distinct = set(present)
    if not keep and are_dates(Counter(present.tolist())):
        return None, (f"Column {data.name!r} holds dates written as text and was ignored.",)
    if not keep and len(distinct) > max(MIN_DISTINCT, len(present) / 2):
        return None, (f"Column {data.name!r} looks like an identifier or free text and was ignored.",)
    return _learn_category(data, rule)


def _learn_category(data: RawColumn, rule: CategoryRule) -> _Learned:
    frequency = Counter(as_categories(data)[~data.missing].tolist())
    categories = sorted(frequency, key=lambda category: (-frequency[category], category))
    n_kept, n_groups = _apply_rule(rule, np.array([frequency[category] for category in categories]))
    kept = tuple(categories[:n_kept])
    if n_kept == len(categories):
        singletons = tuple(category for category in categories if frequency[category] == 1)
        return Column(data.name, "category", kept, n_groups, singletons), ()
    rest = "the rest are compared as one" if n_groups == 1 else f"the rest are compared in {n_groups} groups"
    note = f"Column {data.name!r} has {len(categories)} categories: {n_kept} are kept, {rest}."
    return Column(data.name, "category", kept, n_groups, pooled=True), (note,)


def _apply_rule(rule: CategoryRule, counts: Indices) -> tuple[int, int]:
    """Number of categories that are kept and of groups for the others, given the counts of all, in falling order."""
    if len(counts) <= rule.max_categories:
        return len(counts), 1
    if rule.min_share is None:
        return rule.max_categories, 1
    # Surely: of few values, those that happened to be frequent would be rarer in every window.
    kept = int(np.sum(counts - 2.0 * np.sqrt(counts) >= rule.min_share * counts.sum()))
    return kept, max(rule.max_categories - kept, 2)


def as_categories(data: RawColumn) -> NDArray[Any]:
    """Category of each cell, as text; the text of a missing cell has no meaning."""
    if data.kind == "text":
        return data.values
    if data.is_boolean:
        return np.array([str(value == 1.0) for value in data.values], dtype=object)
    return np.array([number_as_category(value) for value in data.values], dtype=object)


def number_as_category(value: float) -> str:
    """Name of the category that a number stands for: the shortest exact form, without a final ``.0``, -0 as 0.

    Examples
    --------
    >>> number_as_category(7.0), number_as_category(0.1), number_as_category(-0.0)
    ('7', '0.1', '0')
    """
    return repr(float(value) + 0.0).removesuffix(".0")


def _is_key(data: RawColumn) -> bool:
    """Whether a column of integers numbers the rows rather than measuring something.

    All values differ, and either they rise or fall from row to row, or random draws from their range would almost
    surely have repeated a value (birthday problem: n^2 / (2 range) expected repeats).
    """
    present = data.values[~data.missing]
    if data.kind != "integer" or len(present) < MIN_DISTINCT:
        return False
    steps = np.diff(present)
    if np.all(steps > 0) or np.all(steps < 0):
        return True
    if len(np.unique(present)) < len(present):
        return False
    return bool(len(present) ** 2 / (2.0 * (np.ptp(present) + 1.0)) > MIN_EXPECTED_REPEATS)
