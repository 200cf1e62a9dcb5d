"""Engine for rows that this machine reads in chunks: files, Arrow datasets and streams, iterators of tables."""

from collections.abc import Iterator
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np

from gapdrift.counting.evidence import Evidence
from gapdrift.errors import InputError
from gapdrift.execution import Count
from gapdrift.files import CHUNK_ROWS, FORMATS, open_files, sample_rows

__all__ = ["LocalEngine"]


class LocalEngine:
    """Engine that counts one chunk after the other."""

    def count(self, count: Count, rows: Any, ignored: tuple[str, ...]) -> list[Evidence]:
        """Evidence of all chunks, added up; an empty list if there are no chunks."""
        total: list[Evidence] = []
        for chunk in _chunks(rows, ignored):
            evidence = count(chunk)
            total = [total[0] + evidence] if total else [evidence]
        return total

    def sample(self, rows: Any, max_rows: int, rng: np.random.Generator) -> tuple[Any, int]:
        """At most ``max_rows`` rows, drawn uniformly in one pass, and the number of all rows."""
        chunks = (_as_arrow(chunk) for chunk in _chunks(rows, ()))
        first = next(chunks, None)
        if first is None:
            raise InputError("The source gave no rows at all, expected tables to fit on. Was it read before?")
        return sample_rows(chain([first], chunks), max_rows, rng)


def _chunks(rows: Any, ignored: tuple[str, ...]) -> Iterator[Any]:
    """Tables of the rows, one after the other."""
    kind = type(rows).__name__
    if isinstance(rows, str | PathLike):
        yield from _read_files(rows)
    elif kind.endswith("Dataset"):
        names = [name for name in rows.schema.names if name not in ignored]
        yield from _batches_as_tables(rows.to_batches(columns=names, batch_size=CHUNK_ROWS, batch_readahead=2))
    elif kind.endswith("Scanner"):
        yield from _batches_as_tables(rows.to_batches())
    else:
        yield from _batches_as_tables(rows)


def _batches_as_tables(chunks: Iterator[Any]) -> Iterator[Any]:
    """Chunks, with record batches turned into tables."""
    for chunk in chunks:
        if type(chunk).__module__.startswith("pyarrow") and type(chunk).__name__ == "RecordBatch":
            import pyarrow as pa  # noqa: PLC0415

            yield pa.Table.from_batches([chunk])
        else:
            yield chunk


def _read_files(place: str | PathLike[str]) -> Iterator[Any]:
    files = open_files(place)
    if FORMATS[files.file_format].is_text:
        raise InputError(
            f"{place} is a CSV file, which does not say what its columns hold. Read it with "
            "gapdrift.files.open_files, or use the command line (gapdrift compare): both infer that."
        )
    return files.tables()


def _as_arrow(chunk: Any) -> Any:
    """Chunk as a pyarrow table, from which a sample can be drawn."""
    import narwhals as nw  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    if isinstance(chunk, pa.Table):
        return chunk
    try:
        return nw.from_native(chunk, eager_only=True).to_arrow()
    except Exception as error:
        raise InputError(
            f"The iterator gave a {type(chunk).__name__}, expected pandas, polars or pyarrow tables to fit on."
        ) from error
