"""Tables from files, in chunks: CSV, Parquet, Feather, folders and globs of them.

Needs the extra ``cli`` (pyarrow). A file is never in memory as a whole.
"""

from gapdrift.files._clean import Cleaner, as_in_reference, infer_kinds
from gapdrift.files._sample import sample_rows
from gapdrift.files._source import CHUNK_ROWS, CsvFormat, Source, open_source

__all__ = [
    "CHUNK_ROWS",
    "Cleaner",
    "CsvFormat",
    "Source",
    "as_in_reference",
    "infer_kinds",
    "open_source",
    "sample_rows",
]
