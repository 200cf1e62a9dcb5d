"""CSV files as tables of text. Separator, decimal mark and encoding are detected from the first lines."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gapdrift._validation import shown
from gapdrift.errors import InputError

__all__ = ["COMPRESSIONS", "FIRST_BYTES", "MISSING_WORDS", "CsvDialect", "has_all_cells", "read_csv"]

MISSING_WORDS = (
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "NaT"),
)
"""Words that stand for a missing value in CSV files: those that pandas recognises, and NaT. None is counted beside."""

SEPARATORS = ",;\t|"

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
"""Endings of compressed CSV files, and what pyarrow calls each compression."""

FIRST_BYTES = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst", b"\x04\x22\x4d\x18": ".lz4"}
"""What compressed files begin with, and the ending that says so."""

EXAMINED_BYTES = 256 * 1024
"""Bytes from which the dialect of a file is detected."""

BLOCK_BYTES = 4 * 1024 * 1024
"""Bytes that are parsed at once."""

NOT_FOR_FILES = frozenset({"punycode", "idna", "unicode-escape", "unicode_escape", "raw-unicode-escape"})
"""Encodings of names and of source code, which cannot be read in blocks."""

COMMA_NUMBER = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+([eE][+-]?\d+)?")
THOUSANDS_BY_COMMA = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
THOUSANDS_BY_POINT = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class CsvDialect:
    """Dialect of a CSV file; what is None is detected from the first lines.

    Parameters
    ----------
    separator : str, optional
        One ASCII character between cells.
    decimal : {".", ","}, optional
    encoding : str, optional
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        """Check separator, decimal mark and encoding."""
        if self.decimal not in (None, ".", ","):
            raise InputError(f"The decimal mark is {shown(self.decimal)}, expected one of '.' and ','.")
        separator = self.separator
        if separator is not None and (not isinstance(separator, str) or len(separator) != 1 or not separator.isascii()):
            raise InputError(f"The separator is {shown(separator)}, expected one ASCII character, such as ';'.")
        if self.encoding is not None and not _can_decode(self.encoding):
            raise InputError(f"The encoding is {shown(self.encoding)}, expected one such as utf-8, latin-1 or utf-16.")


def _can_decode(encoding: Any) -> bool:
    """Whether text of several lines can be written and read in an encoding."""
    text = "a,b\n1,2\n"
    try:
        return codecs.lookup(encoding).name not in NOT_FOR_FILES and text.encode(encoding).decode(encoding) == text
    except (LookupError, TypeError, ValueError):
        return False


def read_csv(path: Path, known: CsvDialect, notes: set[str], limit: int | None = None) -> Iterator[tuple[Any, int]]:
    """Tables of text from a CSV file, compressed or not, each with the number of bytes that were read for it.

    Words for missing values become null, and decimal commas become points. What was assumed is added to the notes.

    Parameters
    ----------
    path : Path
    known : CsvDialect
    notes : set of str
    limit : int, optional
        Number of bytes of (uncompressed) text to read, of a file that is still being written: a last row whose quote is
        not closed yet is left out. Without a limit such a quote is an error.
    """
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv as arrow_csv  # noqa: PLC0415

    found, names, is_header_only = _detect_dialect(path, known, notes, limit)
    if is_header_only:
        yield pa.table({name: pa.array([], pa.string()) for name in names}), path.stat().st_size
        return
    read = arrow_csv.ReadOptions(block_size=BLOCK_BYTES, encoding=found.encoding or "utf8", use_threads=True)
    parse = arrow_csv.ParseOptions(delimiter=found.separator or ",", newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=list(MISSING_WORDS),
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    with pa.OSFile(str(path)) as raw:
        codec = COMPRESSIONS.get(path.suffix.lower())
        opened = pa.CompressedInputStream(raw, codec) if codec else pa.input_stream(raw, compression=None)
        with arrow_csv.open_csv(opened if limit is None else _Start(opened, limit), read, parse, convert) as reader:
            before, last = 0, None
            for batch in reader:
                if last is not None:
                    here = raw.tell()
                    yield _clean(pa.Table.from_batches([last]), found), here - before
                    before = here
                last = batch if len(batch) else last
            if last is None:
                yield reader.schema.empty_table(), path.stat().st_size
                return
            unclosed = _unclosed_cell(last)
            if unclosed is not None and limit is None:
                raise InputError(
                    f"{path} has a quote that is opened before {unclosed.splitlines()[0][:40]!r} and never closed: the "
                    "rest of the file would be one cell. Close it."
                )
            whole = last if unclosed is None else last.slice(0, len(last) - 1)
            yield _clean(pa.Table.from_batches([whole]), found), raw.tell() - before


def has_all_cells(path: Path, known: CsvDialect, line: bytes) -> bool:
    """Whether a line has as many cells as the first line of its file."""
    found, names, _ = _detect_dialect(path, known, set(), None)
    # Only the first line has the mark that says how UTF-16 is written.
    encoding = {"utf-16": "utf-16-be" if line[:1] == b"\x00" else "utf-16-le"}.get(found.encoding or "", found.encoding)
    cells = next(csv.reader([line.decode(encoding or "utf-8", "replace")], delimiter=found.separator or ","), [])
    return len(cells) == len(names)


class _Start(io.RawIOBase):
    """The first bytes of a stream, as a stream."""

    def __init__(self, stream: Any, n_bytes: int) -> None:
        self._stream, self._left = stream, n_bytes

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = bytes(self._stream.read(self._left if size < 0 else min(size, self._left)))
        self._left -= len(data)
        return data


def _detect_dialect(
    path: Path, known: CsvDialect, notes: set[str], limit: int | None
) -> tuple[CsvDialect, list[str], bool]:
    """Dialect of a file, the names in its first line, and whether that is its only line."""
    data = _read_start(path)[:limit]
    if not data.strip():
        raise InputError(f"{path} is empty, expected a first line with the names of the columns.")
    encoding = known.encoding or _detect_encoding(data, path, notes)
    text = data.decode(encoding, errors="ignore").lstrip("\ufeff")
    before = csv.field_size_limit(len(text) + 1)
    try:
        separator = known.separator or _detect_separator(text)
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as csv: {error}.") from error
    finally:
        csv.field_size_limit(before)
    if not rows:
        raise InputError(f"{path} has no first line with the names of the columns. Is its encoding {encoding}?")
    names = rows[0]
    unnamed = [index for index, name in enumerate(names) if not name.strip()]
    if len(unnamed) > 1:
        raise InputError(
            f"{path} has {len(unnamed)} columns without a name in its first line, expected a name for each. Add a "
            "first line with names."
        )
    decimal = known.decimal or ("," if separator != "," and _has_decimal_commas(rows[1:-1] or rows[1:]) else ".")
    is_header_only = len(rows) == 1 and len(data) < EXAMINED_BYTES
    return replace(known, separator=separator, decimal=decimal, encoding=encoding), names, is_header_only


def _read_start(path: Path) -> bytes:
    """The first bytes of a file, which include at least its first line."""
    import pyarrow as pa  # noqa: PLC0415

    with pa.input_stream(str(path), compression=COMPRESSIONS.get(path.suffix.lower())) as stream:
        # A damaged compressed stream gives a buffer instead of bytes.
        data = bytes(stream.read(EXAMINED_BYTES))
        while b"\n" not in data and (more := bytes(stream.read(EXAMINED_BYTES))):
            data += more
    return data


def _detect_encoding(data: bytes, path: Path, notes: set[str]) -> str:
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for first_bytes, ending in FIRST_BYTES.items():
        if data.startswith(first_bytes):
            raise InputError(
                f"{path} is compressed ({COMPRESSIONS[ending]}), but its name does not say so. Rename it to end in "
                f".csv{ending}."
            )
    if b"\x00" in data:
        raise InputError(f"{path} holds zero bytes, expected text. Is it a CSV file? Name its format.")
    try:
        data[: data.rfind(b"\n") + 1 or None].decode("utf-8")
    except UnicodeDecodeError:
        encoding = "cp1252" if re.search(rb"[\x80-\x9f]", data) else "latin-1"
        notes.add(f"{path} is not UTF-8 and was read as {encoding}. Name its encoding if that is wrong.")
        return encoding
    return "utf-8"


def _detect_separator(text: str) -> str:
    """The separator that divides each of the first lines into the same number of cells, as many as possible."""
    lines = text.splitlines()[:50]
    best, most = ",", 1
    for candidate in SEPARATORS:
        rows = [row for row in csv.reader(lines, delimiter=candidate) if row]
        widths = [len(row) for row in rows[: max(len(rows) - 1, 1)]]
        if widths and min(widths) == max(widths) > most:
            best, most = candidate, widths[0]
    return best


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    """Whether numbers are written with a decimal comma.

    Some cells have a comma that cannot separate thousands, and no cell has a decimal point.
    """
    cells = [cell.strip() for row in rows for cell in row]
    has_commas = any(COMMA_NUMBER.fullmatch(cell) and not THOUSANDS_BY_COMMA.fullmatch(cell) for cell in cells)
    has_points = any(POINT_NUMBER.fullmatch(cell) and not THOUSANDS_BY_POINT.fullmatch(cell) for cell in cells)
    return has_commas and not has_points


def _unclosed_cell(last: Any) -> str | None:
    """The last cell of a file that ends with a line break: its quote was opened and never closed. None without one."""
    cells = [last.column(index)[-1].as_py() or "" for index in range(last.num_columns)]
    return next((cell for cell in cells if cell.endswith(("\n", "\r"))), None)


def _clean(table: Any, found: CsvDialect) -> Any:
    """Table in which words for missing values are null even between blanks, and numbers have decimal points."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    words = pa.array(MISSING_WORDS, pa.string())
    columns = []
    for column in table.columns:
        missing = pc.is_in(pc.utf8_trim_whitespace(column), words)
        cells = pc.if_else(missing, pa.scalar(None, pa.string()), column)
        columns.append(_with_points(cells) if found.decimal == "," else cells)
    return pa.Table.from_arrays(columns, names=table.column_names)


def _with_points(column: Any) -> Any:
    """Column in which numbers with a decimal comma, or points between thousands, are written with a decimal point."""
    import pyarrow.compute as pc  # noqa: PLC0415

    pattern = rf"^\s*({COMMA_NUMBER.pattern}|{THOUSANDS_BY_POINT.pattern})\s*$"
    pointed = pc.replace_substring(pc.replace_substring(column, ".", ""), ",", ".")
    return pc.if_else(pc.match_substring_regex(column, pattern), pointed, column)
