"""Engine for rows that this machine reads in chunks: files, Arrow streams, lazy tables, iterators of tables."""

import pickle
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from gapdrift._text import install_hint
from gapdrift._writing import cannot_be_kept
from gapdrift.errors import InputError
from gapdrift.execution import Count, Counted, Fitted
from gapdrift.files import CHUNK_ROWS, FORMATS, TableFiles, open_files, sample_rows
from gapdrift.tables.frame import Table, join_tables, quote

__all__ = ["LocalEngine"]

MAX_IN_MEMORY = 32 * 1024 * 1024
"""Bytes up to which a temporary file of rows stays in memory."""


class LocalEngine:
    """Engine that counts one chunk after the other."""

    def count(self, count: Count[Counted], rows: Any, like: Fitted) -> Iterator[Counted]:
        """Evidence of chunk after chunk; of files, what was noted about their cells as well."""
        if not isinstance(rows, str | PathLike | TableFiles):
            # As they came: a detector of one's own need not know our tables.
            yield from (count(chunk) for chunk, _ in _alike(_chunks(rows, like.ignored_columns_)))
            return
        files = _open(rows, like)
        found: Any = None
        for table in files.tables(like=_typed_by(files, like)):
            found = count(table)
            yield found
        if found is not None and files.notes:
            yield replace(found.zero(), notes=frozenset(files.notes))

    def sample(self, rows: Any, max_rows: int, rng: np.random.Generator) -> tuple[Any, int, Any]:
        """At most ``max_rows`` rows, drawn uniformly in one pass, the number of all rows, and all rows once more."""
        if isinstance(rows, str | PathLike | TableFiles):
            files = _open(rows)
            return *files.sample(max_rows, rng), files
        is_dataset = type(rows).__name__.endswith("Dataset")
        tables, spool = (table for _, table in _alike(_chunks(rows, ()))), _Spool()
        drawn = sample_rows(tables if is_dataset else spool.keep(tables), max_rows, rng, join_tables)
        return *drawn, rows if is_dataset else spool


def _open(rows: str | PathLike[str] | TableFiles, like: Fitted | None = None) -> TableFiles:
    return rows if isinstance(rows, TableFiles) else open_files(rows, like=like)


def _alike(chunks: Iterable[Any]) -> Iterator[tuple[Any, Table]]:
    """Chunks with their tables, which are matched by the names of columns: all must have those of the first."""
    names: frozenset[str] | None = None
    for chunk in chunks:
        table = Table.read(chunk)
        if names is None:
            names = frozenset(table.names)
        elif names != frozenset(table.names):
            lacking, new = sorted(names - set(table.names)), sorted(set(table.names) - names)
            raise InputError(
                f"A table has other columns than the tables before it (lacking: {quote(lacking)}; new: "
                f"{quote(new)}), expected the same in all. Give all tables the same columns, and do not mix "
                "tables with arrays."
            )
        yield chunk, table


def _typed_by(files: TableFiles, like: Fitted) -> Any:
    """Detector that says what the columns of text files hold; None for files that say so themselves."""
    return like if FORMATS[files.file_format].is_text and hasattr(like, "schema_") else None


def _chunks(rows: Any, ignored: tuple[str, ...]) -> Iterator[Any]:
    """Tables of the rows, one after the other."""
    for chunk in _stream(rows, ignored):
        if type(chunk).__module__.startswith("pyarrow") and type(chunk).__name__ == "RecordBatch":
            import pyarrow as pa  # noqa: PLC0415

            yield pa.Table.from_batches([chunk])
        else:
            yield chunk


def _stream(rows: Any, ignored: tuple[str, ...]) -> Iterable[Any]:
    """Tables or record batches of the rows, by whatever way their library has to hand them out in chunks."""
    kind = type(rows).__name__
    if isinstance(rows, Iterator | _Spool):
        return rows
    if kind == "RecordBatch":
        return [rows]
    if not kind.endswith(("Dataset", "Scanner")):
        return _run_query(rows)
    given = {}
    if kind.endswith("Dataset"):
        names = [name for name in rows.schema.names if name not in ignored]
        given = {"columns": names, "batch_size": CHUNK_ROWS, "batch_readahead": 2}
    chunks: Iterable[Any] = rows.to_batches(**given)
    return chunks


def _run_query(rows: Any) -> Iterator[Any]:
    """Tables or record batches of a lazy table or of an object with the Arrow stream interface."""
    try:
        if type(rows).__name__ == "LazyFrame":
            # Before polars 1.34 there is no way to collect a part of a query.
            collected = hasattr(rows, "collect_batches")
            yield from rows.collect_batches(chunk_size=CHUNK_ROWS) if collected else [rows.collect()]
        elif hasattr(rows, "to_pyarrow_batches"):
            # Ibis hands out its stream only once the whole table is in memory.
            yield from rows.to_pyarrow_batches(chunk_size=CHUNK_ROWS)
        else:
            import pyarrow as pa  # noqa: PLC0415

            yield from pa.RecordBatchReader.from_stream(rows)
    except ImportError as error:
        raise InputError(f"Reading a {type(rows).__name__} needs pyarrow: {install_hint('cli')}.") from error
    except Exception as error:
        # Whatever the library that runs the query raises: its own message says what is wrong with the query.
        raise InputError(
            f"The rows of the {type(rows).__name__} could not be read ({type(error).__name__}: {error}). Check that it "
            "can be collected by its own library, and that it was not read before."
        ) from error


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
