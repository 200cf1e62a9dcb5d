"""Cells of files converted to numbers or text: by what they look like, or as in the reference."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gapdrift.results.mismatches import say_not_numbers
from gapdrift.tables.schema import Schema, number_as_category

__all__ = ["NONE", "CellConverter", "converter_like", "infer_kinds"]

NUMBER = r"^\s*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))\s*$"
MIN_NUMBER_SHARE = 0.95
"""Smallest share of cells that look like numbers in a column of numbers; its other cells count as missing."""

LEADING_ZERO = r"^\s*[+-]?0\d"
NONE = "None"
"""Text that Python writes for a missing value, and that may also be a value of its own: it is counted."""

BOOLEAN = r"(?i)^\s*(true|false)\s*$"


@dataclass
class CellConverter:
    """Converter of the columns of chunks to numbers or text; it counts cells that should be numbers but are not.

    Parameters
    ----------
    kinds : dict of str to {"number", "text"}
        Other columns stay as they are.
    missing : sequence of str
        Further words or numbers that stand for a missing value.
    categories : dict of str to frozenset of str
        Categories of each column in the reference. A text that is not among them is replaced by the one that stands
        for the same number or boolean, if there is one.
    is_text : bool, default False
        Whether all cells were text (CSV): the text None then stands for a missing value, and is counted.

    Examples
    --------
    >>> import pyarrow as pa
    >>> converter = CellConverter({"size": "number"}, missing=["-200"])
    >>> converter(pa.table({"size": ["1.5", "-200", "broken"]})).to_pydict()
    {'size': [1.5, None, None]}
    >>> converter.notes()
    ["Column 'size' has 1 cell(s) that are not numbers, such as 'broken': they count as missing."]
    """

    kinds: dict[str, str] = field(default_factory=dict)
    missing: Sequence[str] = ()
    categories: dict[str, frozenset[str]] = field(default_factory=dict)
    is_text: bool = False
    not_numbers: dict[str, tuple[int, str]] = field(default_factory=dict)
    none_cells: dict[str, int] = field(default_factory=dict)

    def __call__(self, chunk: Any) -> Any:
        """The chunk with its columns converted."""
        for index, name in enumerate(chunk.column_names):
            column = self._without_missing_words(self._without_none(name, _plain(chunk.column(index))))
            if self.kinds.get(name) == "number" and _is_text(column):
                column = self._to_number(name, column)
            elif name in self.categories and _is_text(column):
                column = _to_categories(column, self.categories[name])
            chunk = chunk.set_column(index, name, column)
        return chunk

    def notes(self) -> list[str]:
        """Sentences about cells that count as missing because they are not numbers, or the text None."""
        found = [say_not_numbers(name, count, example) for name, (count, example) in self.not_numbers.items()]
        return found + [
            f"Column {name!r} has {count:,} cell(s) with the text None: they count as missing."
            for name, count in self.none_cells.items()
        ]

    def _without_none(self, name: str, column: Any) -> Any:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        if not self.is_text or not _is_text(column):
            return column
        is_none = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), NONE), False)
        count = pc.sum(pc.cast(is_none, pa.int64())).as_py() or 0
        if not count:
            return column
        self.none_cells[name] = self.none_cells.get(name, 0) + count
        return pc.if_else(is_none, pa.scalar(None, column.type), column)

    def _without_missing_words(self, column: Any) -> Any:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        words = list(self.missing)
        numbers = pa.array([float(word) for word in words if _is_number(word)], pa.float64())
        if not words:
            return column
        if _is_text(column):
            text = pc.utf8_trim_whitespace(column)
            same_number = pc.is_in(_as_numbers(text), numbers)
            missing = pc.or_(pc.is_in(text, pa.array(words, column.type)), same_number)
        elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
            missing = pc.is_in(pc.cast(column, pa.float64(), safe=False), numbers)
        else:
            return column
        return pc.if_else(missing, pa.scalar(None, column.type), column)

    def _to_number(self, name: str, column: Any) -> Any:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        text = pc.utf8_trim_whitespace(column)
        boolean = pc.match_substring_regex(text, BOOLEAN)
        number = pc.match_substring_regex(text, NUMBER)
        bad = pc.and_not(pc.and_not(pc.is_valid(text), pc.fill_null(number, False)), pc.fill_null(boolean, False))
        count = pc.sum(pc.cast(bad, pa.int64())).as_py() or 0
        if count:
            before, example = self.not_numbers.get(name, (0, pc.filter(column, bad)[0].as_py()))
            self.not_numbers[name] = before + count, example
        return _as_numbers(pc.if_else(pc.equal(pc.utf8_lower(text), "true"), "1", pc.if_else(boolean, "0", text)))


def infer_kinds(table: Any, numbers: Sequence[str] = ()) -> dict[str, str]:
    """Kind of each text column of a table: numbers if nearly all its cells are.

    Parameters
    ----------
    table : pyarrow.Table
    numbers : sequence of str
        Columns that hold numbers, whatever their cells look like.

    Returns
    -------
    kinds : dict of str to {"number", "text"}
        "number" if at least 95 % of the cells are numbers; the others then count as missing. Digits with leading zeros,
        such as post codes, are text.

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
            kinds[name] = "number" if _are_numbers(column) else "text"
    return kinds


def converter_like(
    schema: Schema, missing: Sequence[str] = (), numbers: Sequence[str] = (), *, is_text: bool
) -> CellConverter:
    """Converter that reads the columns of a window as those of the reference were read.

    Parameters
    ----------
    schema : Schema
    missing : sequence of str
    numbers : sequence of str
        Columns that were said to hold numbers, also if the reference has none in them.
    is_text : bool
        Whether the cells of the window are text (CSV): 1.0 then stands for the category 1, and true for True.
    """
    kinds = {column.name: "number" for column in schema.columns if column.kind == "number"}
    kinds |= dict.fromkeys(numbers, "number")
    # Only where all categories of the reference are known is it certain that a text is none of them.
    known = [column for column in schema.columns if column.kind == "category" and not column.pooled] if is_text else []
    categories = {column.name: frozenset(column.categories) for column in known}
    return CellConverter(kinds, missing, categories, is_text=is_text)


def _plain(column: Any) -> Any:
    """Column without dictionary encoding or views, which pyarrow's functions for text do not accept."""
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


def _are_numbers(column: Any) -> bool:
    import pyarrow.compute as pc  # noqa: PLC0415

    present = pc.drop_null(column)
    if not len(present):
        return False
    numbers = pc.sum(pc.match_substring_regex(present, NUMBER)).as_py()
    booleans = pc.all(pc.match_substring_regex(present, BOOLEAN)).as_py()
    leading_zeros = pc.any(pc.match_substring_regex(present, LEADING_ZERO)).as_py()
    return bool(booleans or (numbers >= MIN_NUMBER_SHARE * len(present) and not leading_zeros))


def _to_categories(column: Any, categories: frozenset[str]) -> Any:
    """Column of text in which every spelling of a category is replaced by the category."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    coded = pc.dictionary_encode(column).combine_chunks()
    words = pa.array([_as_category(word, categories) for word in coded.dictionary.to_pylist()], column.type)
    return pa.chunked_array([words.take(coded.indices)])


def _as_category(word: str, categories: frozenset[str]) -> str:
    """Category of the reference that a text stands for; the text itself if there is none."""
    bare = word.strip()
    if word in categories or re.match(LEADING_ZERO, word):
        return word
    spellings = [bare]
    if re.match(BOOLEAN, bare):
        spellings.append(bare.capitalize())
    if re.match(NUMBER, bare):
        spellings.append(number_as_category(float(bare)))
    return next((spelling for spelling in spellings if spelling in categories), word)


def _as_numbers(text: Any) -> Any:
    """Numbers that texts stand for; null for any other text."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    written = pc.if_else(pc.match_substring_regex(text, NUMBER), text, pa.scalar(None, text.type))
    # pyarrow's conversion does not accept a leading plus sign.
    return pc.cast(pc.replace_substring_regex(written, r"^\+", ""), pa.float64())
