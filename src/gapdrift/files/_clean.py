"""Cells of files to numbers and text: as they look, or as the reference had them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gapdrift.schema import Schema

__all__ = ["Cleaner", "as_in_reference", "infer_kinds"]

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
LEADING_ZERO = r"^\s*[+-]?0\d"
FLAG = r"(?i)^\s*(true|false)\s*$"


@dataclass
class Cleaner:
    """Brings the columns of chunks to given kinds, and remembers what could not be brought.

    Parameters
    ----------
    kinds : dict of str to {"number", "text"}
        Columns not named stay as they are.
    missing : sequence of str
        Further words, or numbers, that stand for a missing cell.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cleaner = Cleaner({"size": "number"}, missing=["-200"])
    >>> cleaner(pa.table({"size": ["1.5", "-200", "broken"]})).to_pydict()
    {'size': [1.5, None, None]}
    >>> cleaner.notes()
    ["Column 'size' has 1 cell(s) that are no numbers, such as 'broken': they count as missing."]
    """

    kinds: dict[str, str] = field(default_factory=dict)
    missing: Sequence[str] = ()
    bad: dict[str, tuple[int, str]] = field(default_factory=dict)

    def __call__(self, chunk: Any) -> Any:
        """Chunk with clean columns."""
        for index, name in enumerate(chunk.column_names):
            column = self._without_words(_plain(chunk.column(index)))
            kind = self.kinds.get(name)
            if kind is not None and _is_text(column):
                column = self._to_number(name, column) if kind == "number" else _to_labels(column)
            chunk = chunk.set_column(index, name, column)
        return chunk

    def notes(self) -> list[str]:
        """Sentences about cells that count as missing because they are no numbers."""
        return [
            f"Column {name!r} has {count:,} cell(s) that are no numbers, such as {example!r}: they count as missing."
            for name, (count, example) in self.bad.items()
        ]

    def _without_words(self, column: Any) -> Any:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        words = list(self.missing)
        numbers = pa.array([float(word) for word in words if _is_number(word)], pa.float64())
        if not words:
            return column
        if _is_text(column):
            text = pc.utf8_trim_whitespace(column)
            alike = pc.is_in(_as_numbers(text), numbers)
            gone = pc.or_(pc.is_in(text, pa.array(words, column.type)), alike)
        elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            gone = pc.is_in(pc.cast(column, pa.float64(), safe=False), numbers)
        else:
            return column
        return pc.if_else(gone, pa.scalar(None, column.type), column)

    def _to_number(self, name: str, column: Any) -> Any:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        text = pc.utf8_trim_whitespace(column)
        flag = pc.match_substring_regex(text, FLAG)
        number = pc.match_substring_regex(text, NUMBER)
        bad = pc.and_not(pc.and_not(pc.is_valid(text), pc.fill_null(number, False)), pc.fill_null(flag, False))
        count = pc.sum(pc.cast(bad, pa.int64())).as_py() or 0
        if count:
            before, example = self.bad.get(name, (0, pc.filter(column, bad)[0].as_py()))
            self.bad[name] = before + count, example
        return _as_numbers(pc.if_else(pc.equal(pc.utf8_lower(text), "true"), "1", pc.if_else(flag, "0", text)))


def infer_kinds(table: Any, numbers: Sequence[str] = ()) -> dict[str, str]:
    """Kind of each text column of a table: numbers where every cell is one.

    Parameters
    ----------
    table : pyarrow.Table
    numbers : sequence of str
        Columns that are numbers whatever their cells are.

    Returns
    -------
    kinds : dict of str to {"number", "text"}
        Digits with leading zeros, such as post codes, are text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> infer_kinds(pa.table({"a": ["1", None], "b": ["x", "1"], "c": ["007", "010"]}))
    {'a': 'number', 'b': 'text', 'c': 'text'}
    """
    kinds = dict.fromkeys(numbers, "number")
    for name in table.column_names:
        column = _plain(table.column(name))
        if name not in kinds and _is_text(column):
            kinds[name] = "number" if _all_numbers(column) else "text"
    return kinds


def as_in_reference(schema: Schema, *, written: bool) -> dict[str, str]:
    """Kind in which to read each column of a window: that of the reference.

    Parameters
    ----------
    schema : Schema
    written : bool
        Whether the window is written text (CSV), whose labels may be numbers: then 1 and 1.0 are one label.
    """
    kinds = {column.name: "number" for column in schema.columns if column.kind == "number"}
    if written:
        kinds |= {column.name: "text" for column in schema.columns if column.kind == "category"}
    return kinds


def _plain(column: Any) -> Any:
    """Column without dictionary encoding or views, which the functions on text do not take."""
    import pyarrow as pa  # noqa: PLC0415

    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    if kind == pa.string_view():
        return column.cast(pa.string())
    return column


def _is_text(column: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _all_numbers(column: Any) -> bool:
    import pyarrow.compute as pc  # noqa: PLC0415

    present = pc.drop_null(column)
    if not len(present):
        return False
    numbers = pc.all(pc.match_substring_regex(present, NUMBER)).as_py()
    flags = pc.all(pc.match_substring_regex(present, FLAG)).as_py()
    zeros = pc.any(pc.match_substring_regex(present, LEADING_ZERO)).as_py()
    return bool(flags or (numbers and not zeros))


def _to_labels(column: Any) -> Any:
    """Text in which numbers are written in one way, so that 1, 1.0 and 01e0 are one label; 007 stays itself."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    coded = pc.dictionary_encode(column).combine_chunks()
    labels = pa.array([_label(word) for word in coded.dictionary.to_pylist()], column.type)
    return pa.chunked_array([labels.take(coded.indices)])


def _label(word: str) -> str:
    number = re.fullmatch(NUMBER, word) and not re.match(LEADING_ZERO, word)
    return f"{float(word) + 0.0:.17g}" if number else word


def _as_numbers(text: Any) -> Any:
    """Numbers that are written in a text, and null for any other text."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    written = pc.if_else(pc.match_substring_regex(text, NUMBER), text, pa.scalar(None, text.type))
    # The conversion does not take a leading plus sign.
    return pc.cast(pc.replace_substring_regex(written, r"^\+", ""), pa.float64())
