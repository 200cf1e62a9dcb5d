"""Engine for rows that this machine reads in chunks: files, Arrow datasets and streams, iterators of tables."""

import pickle
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from os import PathLike
from typing import Any

import numpy as np

from gapdrift._writing import cannot_be_kept
from gapdrift.counting.evidence import Evidence
from gapdrift.errors import InputError
from gapdrift.execution import Count
from gapdrift.files import CHUNK_ROWS, FORMATS, TableFiles, open_files, sample_rows
from gapdrift.tables.frame import Table, join_tables

__all__ = ["LocalEngine"]

MAX_IN_MEMORY = 32 * 1024 * 1024
"""Bytes up to which a temporary file of rows stays in memory."""


class LocalEngine:
    """Engine that counts one chunk after the other."""

    def count(self, count: Count, rows: Any, ignored: tuple[str, ...]) -> Iterator[Evidence]:
        """Evidence of chunk after chunk."""
        return map(count, _chunks(rows, ignored))

    def sample(self, rows: Any, max_rows: int, rng: np.random.Generator) -> tuple[Any, int, Any]:
        """At most ``max_rows`` rows, drawn uniformly in one pass, the number of all rows, and all rows once more."""
        if isinstance(rows, str | PathLike):
            files = _open(rows)
            return *sample_rows(files.tables(), max_rows, rng), files.tables()
        is_dataset = type(rows).__name__.endswith("Dataset")
        tables, spool = map(Table.read, _chunks(rows, ())), _Spool()
        drawn = sample_rows(tables if is_dataset else spool.keep(tables), max_rows, rng, join_tables)
        return *drawn, rows if is_dataset else spool


def _chunks(rows: Any, ignored: tuple[str, ...]) -> Iterator[Any]:
    """Tables of the rows, one after the other."""
    kind = type(rows).__name__
    if isinstance(rows, str | PathLike):
        chunks: Iterable[Any] = _open(rows).tables()
    elif kind.endswith("Dataset"):
        names = [name for name in rows.schema.names if name not in ignored]
        chunks = rows.to_batches(columns=names, batch_size=CHUNK_ROWS, batch_readahead=2)
    else:
        chunks = rows.to_batches() if kind.endswith("Scanner") else rows
    for chunk in chunks:
        if type(chunk).__module__.startswith("pyarrow") and type(chunk).__name__ == "RecordBatch":
            import pyarrow as pa  # noqa: PLC0415

            yield pa.Table.from_batches([chunk])
        else:
            yield chunk


def _open(place: str | PathLike[str]) -> TableFiles:
    files = open_files(place)
    if FORMATS[files.file_format].is_text:
        raise InputError(
            f"{place} is a CSV file, which does not say what its columns hold. Read it with "
            "gapdrift.files.open_files, or use the command line (gapdrift compare): both infer that."
        )
    return files


class _Spool:
    """Tables of rows that can be read only once, kept in a temporary file to be read again.

    They are pickled, which is safe here: only this process writes the file and reads it, and the file has no name.
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(MAX_IN_MEMORY)  # noqa: SIM115

    def __del__(self) -> None:
        """Remove the file; what a full disk refused before is refused once more."""
        with suppress(OSError):
            self._file.close()

    def keep(self, tables: Iterable[Table]) -> Iterator[Table]:
        """Yield a copy of the rows once they are kept: an iterator may use its arrays again for the next table."""
        for table in tables:
            for start in range(0, max(len(table), 1), CHUNK_ROWS):
                # With a slice of an Arrow table, all of the table that it was cut from would be pickled.
                rows = table.take(np.arange(start, min(start + CHUNK_ROWS, len(table))))
                try:
                    pickled = pickle.dumps(rows, protocol=5)
                    self._file.write(pickled)
                    self._file.flush()
                except (OSError, pickle.PicklingError, TypeError, AttributeError) as error:
                    raise cannot_be_kept("The iterator or stream", error) from error
                yield pickle.loads(pickled)

    def __iter__(self) -> Iterator[Table]:
        """Yield the tables that were kept."""
        self._file.seek(0)
        with suppress(EOFError):
            while True:
                yield pickle.load(self._file)
