"""Parquet and Feather files, read in chunks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["CHUNK_ROWS", "read_feather", "read_parquet"]

CHUNK_ROWS = 65_536
"""Largest number of rows in a chunk."""

BUFFER_BYTES = 1 << 20
"""Bytes that are read at once from each column of a Parquet file."""


def read_parquet(path: Path) -> Iterator[tuple[Any, int]]:
    """Tables of a Parquet file, each with the number of bytes that were read for it."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    size = path.stat().st_size
    # Without a buffer, a whole column of a row group is read at once; mapped memory is not freed until the end.
    with pq.ParquetFile(path, memory_map=False, buffer_size=BUFFER_BYTES, pre_buffer=False) as file:
        n_rows = max(file.metadata.num_rows, 1)
        if not file.metadata.num_rows:
            yield file.schema_arrow.empty_table(), size
        for batch in file.iter_batches(batch_size=CHUNK_ROWS):
            yield pa.Table.from_batches([batch]), size * len(batch) // n_rows


def read_feather(path: Path) -> Iterator[tuple[Any, int]]:
    """Tables of a Feather (Arrow) file, each with the number of bytes that were read for it."""
    import pyarrow as pa  # noqa: PLC0415

    size = path.stat().st_size
    with pa.OSFile(str(path)) as raw, pa.ipc.open_file(raw) as file:
        if not file.num_record_batches:
            yield file.schema.empty_table(), size
        for index in range(file.num_record_batches):
            batch = file.get_batch(index)
            for start in range(0, max(len(batch), 1), CHUNK_ROWS):
                part = batch.slice(start, CHUNK_ROWS)
                share = size * len(part) // max(len(batch), 1) // file.num_record_batches
                yield pa.Table.from_batches([part]), share
