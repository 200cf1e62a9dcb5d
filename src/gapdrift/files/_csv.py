"""CSV files as tables of text. Separator, decimal mark and encoding are found out from the first lines."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gapdrift.errors import InputError

__all__ = ["COMPRESSIONS", "MISSING_WORDS", "CsvDialect", "read_csv"]

MISSING_WORDS = (
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "NaT"),
)
"""Words that stand for a missing cell in CSV files: those that pandas takes, and NaT."""

SEPARATORS = ",;\t|"

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
"""Endings of compressed CSV files, and what pyarrow calls each compression."""

MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}

LOOKED_AT = 256 * 1024
"""Bytes of a file looked at to find how it is written."""

BLOCK = 4 * 1024 * 1024
"""Bytes parsed at once."""

COMMA_NUMBER = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+([eE][+-]?\d+)?")
THOUSANDS_BY_COMMA = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
THOUSANDS_BY_POINT = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class CsvDialect:
    """How a CSV file is written; None means that it is found out from the first lines.

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
        """Check what is given."""
        if self.separator is not None and (len(self.separator) != 1 or not self.separator.isascii()):
            raise InputError(f"The separator is {self.separator!r}, expected one ASCII character, such as ';'.")
        try:
            known = self.encoding is None or bool("a".encode(self.encoding).decode(self.encoding))
        except (LookupError, TypeError, ValueError):
            known = False
        if not known:
            raise InputError(f"The encoding is {self.encoding!r}, expected one such as utf-8, latin-1 or utf-16.")


def read_csv(path: Path, known: CsvDialect, notes: set[str]) -> Iterator[tuple[Any, int]]:
    """Tables of text of a CSV file, compressed or not, each with the number of bytes it took.

    Missing words are null. Numbers with a decimal comma are given a point. What was assumed is noted.
    """
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv as arrow_csv  # noqa: PLC0415

    found, names, only_line = _look(path, known, notes)
    if only_line:
        yield pa.table({name: pa.array([], pa.string()) for name in names}), path.stat().st_size
        return
    read = arrow_csv.ReadOptions(block_size=BLOCK, encoding=found.encoding or "utf8", use_threads=True)
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
        with arrow_csv.open_csv(opened, read, parse, convert) as reader:
            before, last = 0, None
            for batch in reader:
                last = batch if len(batch) else last
                here = raw.tell()
                yield _cleaned(pa.Table.from_batches([batch]), found), here - before
                before = here
            _check_end(last, path)
            if last is None:
                yield reader.schema.empty_table(), path.stat().st_size


def _look(path: Path, known: CsvDialect, notes: set[str]) -> tuple[CsvDialect, list[str], bool]:
    """Format of a file, the names in its first line, and whether there is no other line."""
    data = _head(path)
    if not data.strip():
        raise InputError(f"{path} is empty, expected a first line with the names of the columns.")
    encoding = known.encoding or _encoding(data, path, notes)
    text = data.decode(encoding, errors="ignore").lstrip("\ufeff")
    before = csv.field_size_limit(len(text) + 1)
    try:
        separator = known.separator or _separator(text)
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as csv: {error}.") from error
    finally:
        csv.field_size_limit(before)
    names = rows[0]
    unnamed = [index for index, name in enumerate(names) if not name.strip()]
    if len(unnamed) > 1:
        raise InputError(
            f"{path} has {len(unnamed)} columns without a name in its first line, expected a name for each. Add a "
            "first line with names."
        )
    decimal = known.decimal or ("," if separator != "," and _commas(rows[1:-1] or rows[1:]) else ".")
    only_line = len(rows) == 1 and len(data) < LOOKED_AT
    return replace(known, separator=separator, decimal=decimal, encoding=encoding), names, only_line


def _head(path: Path) -> bytes:
    """The first bytes of a file, and all of its first line."""
    import pyarrow as pa  # noqa: PLC0415

    with pa.input_stream(str(path), compression=COMPRESSIONS.get(path.suffix.lower())) as stream:
        data: bytes = stream.read(LOOKED_AT)
        while b"\n" not in data and (more := stream.read(LOOKED_AT)):
            data += more
    return data


def _encoding(data: bytes, path: Path, notes: set[str]) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    for magic, name in MAGIC.items():
        if data.startswith(magic):
            raise InputError(
                f"{path} is compressed ({name}), and its name does not say so. Rename it to end in .csv.gz."
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


def _separator(text: str) -> str:
    """The separator that cuts the first lines into the same number of cells, and into most."""
    lines = text.splitlines()[:50]
    best, most = ",", 1
    for candidate in SEPARATORS:
        rows = [row for row in csv.reader(lines, delimiter=candidate) if row]
        widths = [len(row) for row in rows[: max(len(rows) - 1, 1)]]
        if widths and min(widths) == max(widths) > most:
            best, most = candidate, widths[0]
    return best


def _commas(rows: list[list[str]]) -> bool:
    """Whether numbers are written with a decimal comma.

    Some cells have one that cannot part thousands, and no cell has a decimal point.
    """
    cells = [cell.strip() for row in rows for cell in row]
    sure = any(COMMA_NUMBER.fullmatch(cell) and not THOUSANDS_BY_COMMA.fullmatch(cell) for cell in cells)
    points = any(POINT_NUMBER.fullmatch(cell) and not THOUSANDS_BY_POINT.fullmatch(cell) for cell in cells)
    return sure and not points


def _check_end(last: Any, path: Path) -> None:
    """Raise an error where a cell runs over the end of a file: a quote was opened and never closed."""
    cells = [] if last is None else [last.column(index)[-1].as_py() or "" for index in range(last.num_columns)]
    endless = next((cell for cell in cells if cell.endswith(("\n", "\r"))), None)
    if endless is not None:
        raise InputError(
            f"{path} has a quote that is opened before {endless.splitlines()[0][:40]!r} and never closed: the rest of "
            "the file would be one cell. Close it."
        )


def _cleaned(table: Any, found: CsvDialect) -> Any:
    """Cells without blanks around missing words, and with decimal points."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    words = pa.array(MISSING_WORDS, pa.string())
    columns = []
    for column in table.columns:
        gone = pc.is_in(pc.utf8_trim_whitespace(column), words)
        cells = pc.if_else(gone, pa.scalar(None, pa.string()), column)
        columns.append(_with_points(cells) if found.decimal == "," else cells)
    return pa.Table.from_arrays(columns, names=table.column_names)


def _with_points(column: Any) -> Any:
    """Cells that are numbers with a decimal comma, or with points between thousands, with a decimal point instead."""
    import pyarrow.compute as pc  # noqa: PLC0415

    pattern = rf"^\s*({COMMA_NUMBER.pattern}|{THOUSANDS_BY_POINT.pattern})\s*$"
    pointed = pc.replace_substring(pc.replace_substring(column, ".", ""), ",", ".")
    return pc.if_else(pc.match_substring_regex(column, pattern), pointed, column)
