"""The file formats: the endings of their files and the functions that read them. To add a format, add an entry here."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gapdrift.files._arrow import read_feather, read_parquet
from gapdrift.files._csv import COMPRESSIONS, CsvDialect, read_csv

__all__ = ["FORMATS", "ROTATED", "FileFormat", "all_endings", "format_of"]

Read = Callable[[Path, CsvDialect, set[str], int | None], Iterator[tuple[Any, int]]]
"""Function that yields the pyarrow tables of a file, each with the number of bytes read for it, and adds notes.

Its last argument is the number of bytes to read of a text file that is still being written.
"""

ROTATED = re.compile(r"(?:\.(\d{1,4})|-(\d{8,10}))$")
"""What programs that rotate logs add to a name: sales.csv.1, sales.csv-20260131."""


@dataclass(frozen=True)
class FileFormat:
    """One file format.

    Parameters
    ----------
    endings : tuple of str
        Endings of its files.
    read : callable
        Yields the tables of a file, each with the number of bytes that were read for it.
    is_text : bool, default False
        Whether all cells are text, so that what a column holds has to be detected.
    compressions : tuple of str
        Endings that compressed files have in addition.
    """

    endings: tuple[str, ...]
    read: Read
    is_text: bool = False
    compressions: tuple[str, ...] = ()


FORMATS: Mapping[str, FileFormat] = MappingProxyType(
    {
        "csv": FileFormat((".csv", ".tsv", ".txt"), read_csv, is_text=True, compressions=tuple(COMPRESSIONS)),
        "parquet": FileFormat((".parquet", ".pq", ".parq"), lambda path, *_: read_parquet(path)),
        "feather": FileFormat((".feather", ".arrow", ".ipc"), lambda path, *_: read_feather(path)),
    }
)
"""The formats by their names."""


def format_of(path: Path) -> str | None:
    """Name of the format that belongs to the ending of a file; None if none does.

    Examples
    --------
    >>> format_of(Path("Monday.CSV.gz")), format_of(Path("sales.csv.2")), format_of(Path("notes.md"))
    ('csv', 'csv', None)
    """
    name = path.name.lower()
    for key, known in FORMATS.items():
        bare = next((name.removesuffix(ending) for ending in known.compressions if name.endswith(ending)), name)
        if ROTATED.sub("", bare).endswith(known.endings):
            return key
    return None


def all_endings() -> str:
    """Endings of all formats, for a message."""
    return ", ".join(ending for known in FORMATS.values() for ending in known.endings)
