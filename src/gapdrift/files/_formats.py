"""The file formats: how their names end, and what reads them. A new format is one more entry here."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gapdrift.files._arrow import read_feather, read_parquet
from gapdrift.files._csv import COMPRESSIONS, CsvDialect, read_csv

__all__ = ["FORMATS", "FileFormat", "all_endings", "format_of"]

Read = Callable[[Path, CsvDialect, set[str]], Iterator[tuple[Any, int]]]
"""Reads a file: yields pyarrow tables, each with the number of bytes it took, and adds notes about the file."""


@dataclass(frozen=True)
class FileFormat:
    """One file format.

    Parameters
    ----------
    endings : tuple of str
        How the names of its files end.
    read : callable
        Yields the tables of a file, each with the number of bytes it took.
    is_text : bool, default False
        Whether cells are written text, so that what a column holds has to be found out.
    compressions : tuple of str
        Further endings, of compressed files.
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
    """Name of the format that the ending of a file tells; None where it tells none.

    Examples
    --------
    >>> format_of(Path("Monday.CSV.gz")), format_of(Path("notes.md"))
    ('csv', None)
    """
    name = path.name.lower()
    for key, known in FORMATS.items():
        bare = next((name.removesuffix(ending) for ending in known.compressions if name.endswith(ending)), name)
        if bare.endswith(known.endings):
            return key
    return None


def all_endings() -> str:
    """Endings of all formats, for a message."""
    return ", ".join(ending for known in FORMATS.values() for ending in known.endings)
