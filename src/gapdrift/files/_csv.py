"""CSV files as tables of text: separator, decimal mark and encoding are found by looking."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gapdrift.errors import InputError

__all__ = ["MISSING_WORDS", "CsvFormat", "read_csv"]

MISSING_WORDS = (
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "NaT"),
)
"""Words that stand for a missing cell in CSV files: those that pandas takes, and NaT."""

SEPARATORS = ",;\t|"

LOOKED_AT = 256 * 1024
"""Bytes of a file looked at to find how it is written."""

BLOCK = 4 * 1024 * 1024
"""Bytes parsed at once."""

COMMA_NUMBER = re.compile(r"[+-]?\d{1,3}(\.\d{3})*,\d+|[+-]?\d+,\d+")


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written; None is found by looking at it.

    Parameters
    ----------
    separator : str, optional
        One character between cells.
    decimal : {".", ","}, optional
    encoding : str, optional
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None


def read_csv(path: Path, known: CsvFormat) -> Iterator[tuple[Any, int]]:
    """Tables of text of a CSV file, compressed or not, each with the number of bytes it took.

    Missing words are null. Numbers with a decimal comma are given a point.
    """
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv as arrow_csv  # noqa: PLC0415

    found, names = _look(path, known)
    read = arrow_csv.ReadOptions(block_size=BLOCK, encoding=found.encoding or "utf8", use_threads=True)
    parse = arrow_csv.ParseOptions(delimiter=found.separator or ",", newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=list(MISSING_WORDS),
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    with pa.OSFile(str(path)) as raw:
        opened = pa.input_stream(raw, compression=None) if _plain(path) else pa.CompressedInputStream(raw, _codec(path))
        with arrow_csv.open_csv(opened, read, parse, convert) as reader:
            before = 0
            empty = True
            for batch in reader:
                empty = False
                here = raw.tell()
                yield _with_points(pa.Table.from_batches([batch]), found), here - before
                before = here
            if empty:
                yield reader.schema.empty_table(), path.stat().st_size


def _plain(path: Path) -> bool:
    return path.suffix.lower() not in {".gz", ".bz2", ".zst", ".lz4"}


def _codec(path: Path) -> str:
    return {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}[path.suffix.lower()]


def _look(path: Path, known: CsvFormat) -> tuple[CsvFormat, list[str]]:
    """Format of a file and the names in its first line."""
    data = _head(path)
    if not data.strip():
        raise InputError(f"{path} is empty, expected a first line with the names of the columns.")
    encoding = known.encoding or _encoding(data, path)
    text = data.decode(encoding, errors="ignore").lstrip("\ufeff")
    separator = known.separator or _separator(text)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    names = rows[0]
    unnamed = [index for index, name in enumerate(names) if not name.strip()]
    if len(unnamed) > 1:
        raise InputError(
            f"{path} has {len(unnamed)} columns without a name in its first line, expected a name for each. Add a "
            "first line with names."
        )
    decimal = known.decimal or ("," if separator != "," and _commas(rows[1:-1] or rows[1:]) else ".")
    return replace(known, separator=separator, decimal=decimal, encoding=encoding), names


def _head(path: Path) -> bytes:
    import pyarrow as pa  # noqa: PLC0415

    with pa.input_stream(str(path), compression="detect" if not _plain(path) else None) as stream:
        data: bytes = stream.read(LOOKED_AT)
    return data


def _encoding(data: bytes, path: Path) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\x00" in data:
        raise InputError(f"{path} holds zero bytes, expected text. Is it a CSV file? Name its format with --format.")
    try:
        data[: data.rfind(b"\n") + 1 or None].decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
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
    """Whether numbers are written with a decimal comma: some cells are, and none has a decimal point."""
    cells = [cell.strip() for row in rows for cell in row]
    with_comma = any(COMMA_NUMBER.fullmatch(cell) for cell in cells)
    return with_comma and not any(re.fullmatch(r"[+-]?\d*\.\d+", cell) for cell in cells)


def _with_points(table: Any, found: CsvFormat) -> Any:
    """Cells that are numbers with a decimal comma, with a point instead."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    if found.decimal != ",":
        return table
    columns = []
    for column in table.columns:
        number = pc.match_substring_regex(column, r"^\s*[+-]?[\d.]*,\d+\s*$")
        pointed = pc.replace_substring(pc.replace_substring(column, ".", ""), ",", ".")
        columns.append(pc.if_else(number, pointed, column))
    return pa.table(dict(zip(table.column_names, columns, strict=True)))
