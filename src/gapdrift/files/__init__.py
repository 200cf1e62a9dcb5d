"""Tables read from files in chunks: files of the formats in `FORMATS` (CSV, Parquet, ...), folders and globs of them.

Needs pyarrow (extra ``cli``). No file is ever in memory as a whole.
"""

from typing import TYPE_CHECKING

from gapdrift._lazy import attach

if TYPE_CHECKING:
    from gapdrift.files._arrow import CHUNK_ROWS
    from gapdrift.files._find import list_files
    from gapdrift.files._formats import FORMATS
    from gapdrift.files._reading import Reading
    from gapdrift.files._sample import sample_rows
    from gapdrift.files._table_files import TableFiles, open_files
    from gapdrift.files._tracking import FileChanges, FileTracker, KnownFile

__all__ = [
    "CHUNK_ROWS",
    "FORMATS",
    "FileChanges",
    "FileTracker",
    "KnownFile",
    "Reading",
    "TableFiles",
    "list_files",
    "open_files",
    "sample_rows",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "CHUNK_ROWS": "gapdrift.files._arrow",
        "FORMATS": "gapdrift.files._formats",
        "FileChanges": "gapdrift.files._tracking",
        "FileTracker": "gapdrift.files._tracking",
        "KnownFile": "gapdrift.files._tracking",
        "Reading": "gapdrift.files._reading",
        "TableFiles": "gapdrift.files._table_files",
        "list_files": "gapdrift.files._find",
        "open_files": "gapdrift.files._table_files",
        "sample_rows": "gapdrift.files._sample",
    },
)
