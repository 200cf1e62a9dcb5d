"""The file formats: the endings of their files and the functions that read them.

To add a format, write the function that reads it and add an entry here; everything else takes what it needs from there.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gapdrift.files._arrow import read_feather, read_parquet
from gapdrift.files._csv import COMPRESSIONS, FIRST_BYTES, CsvDialect, read_csv

__all__ = ["FORMATS", "ROTATED", "FileFormat", "all_endings", "ending_of", "format_of"]

Read = Callable[[Path, CsvDialect, set[str], int | None], Iterator[tuple[Any, int]]]
"""Function that yields the pyarrow tables of a file, each with the number of bytes read for it, and adds notes.

Its last argument is the number of bytes to read of a text file that is still being written. Errors of pyarrow and of
the file system become an `InputError`; of any other library, the function has to raise one itself.
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
    first_bytes : tuple of bytes
        What its files begin with: what comes out of a pipe is recognised by it, and is CSV where no format has it.
    advice : mapping of str to str
        What to do about an error of pyarrow, by words in its message.
    """

    endings: tuple[str, ...]
    read: Read
    is_text: bool = False
    compressions: tuple[str, ...] = ()
    first_bytes: tuple[bytes, ...] = ()
    advice: Mapping[str, str] = field(default_factory=dict)


FORMATS: Mapping[str, FileFormat] = MappingProxyType(
    {
        "csv": FileFormat(
            (".csv", ".tsv", ".txt"),
            read_csv,
            is_text=True,
            compressions=tuple(COMPRESSIONS),
            advice={
                "invalid UTF8": "Name the encoding, such as latin-1.",
                "Expected": "Does every line have as many cells as the first? Name the separator.",
            },
        ),
        "parquet": FileFormat(
            (".parquet", ".pq", ".parq"), lambda path, *_: read_parquet(path), first_bytes=(b"PAR1",)
        ),
        "feather": FileFormat(
            (".feather", ".arrow", ".ipc"),
            lambda path, *_: read_feather(path),
            first_bytes=(b"ARROW1",),
            advice={"Not an Arrow file": "Files of the Arrow stream format and of Feather 1 have to be rewritten."},
        ),
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


def ending_of(first: bytes) -> str:
    """Ending of the name of a file that begins with these bytes.

    Examples
    --------
    >>> ending_of(b"PAR1 and so on"), ending_of(b"size,colour"), ending_of(bytes([0x1F, 0x8B]))
    ('.parquet', '.csv', '.csv.gz')
    """
    for known in FORMATS.values():
        if first.startswith(known.first_bytes):
            return known.endings[0]
    return ".csv" + next((ending for begin, ending in FIRST_BYTES.items() if first.startswith(begin)), "")


def all_endings() -> str:
    """Endings of all formats, for a message.

    Examples
    --------
    >>> all_endings()
    '.csv, .tsv, .txt (and these with .gz, .bz2, .zst, .lz4), .parquet, .pq, .parq, .feather, .arrow, .ipc'
    """
    return ", ".join(
        ", ".join(known.endings) + (f" (and these with {', '.join(known.compressions)})" if known.compressions else "")
        for known in FORMATS.values()
    )
