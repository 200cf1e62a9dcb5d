"""Uploaded rows and evidence: read without trust, and refused where they would take too much memory."""

import hashlib
import json
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gapdrift._writing import write_file
from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.reference import ReferenceDetector
from gapdrift.errors import InputError
from gapdrift.files import open_files
from gapdrift.service.errors import TooLargeError
from gapdrift.storage import loads

__all__ = ["CONTENT_TYPES", "digest_of", "read_upload"]

MAX_ROWS = 1_000_000
MAX_CELLS = 10_000_000
MAX_JSON = 8 * 2**20
MAX_PARQUET = 128 * 2**20
"""Largest number of bytes of a Parquet file once it is decompressed."""

MAX_STATISTIC = 1e12
"""What one row adds to a sum, at most: powers of normal scores are far below it."""

CONTENT_TYPES = {
    "application/vnd.gapdrift.evidence": "evidence",
    "application/json": "json",
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.apache.arrow.stream": "arrow",
}
"""What a push may hold, by the media type of its body."""

DICTIONARY, RECORD_BATCH = 2, 3
"""Kinds of Arrow messages that hold cells."""

HEADER_TYPE, HEADER, DICTIONARY_DATA, COMPRESSION = 1, 2, 1, 3
"""Places of fields in the metadata of an Arrow message."""


def digest_of(data: bytes, more: str = "") -> str:
    """Digest by which a push is recognised that is sent again."""
    return hashlib.sha256(more.encode() + b"\0" + data).hexdigest()


def read_upload(data: bytes, content_type: str, detector: Callable[[], ReferenceDetector]) -> Evidence | Any:
    """Evidence, or a table of rows, out of an uploaded body.

    Parameters
    ----------
    data : bytes
    content_type : str
        One of `CONTENT_TYPES`, perhaps with parameters.
    detector : callable
        Returns the detector that rows are meant for, as which text is read.
    """
    kind = CONTENT_TYPES.get(content_type.partition(";")[0].strip().lower())
    if kind is None:
        raise InputError(f"The content type is {content_type[:80]!r}, expected one of {', '.join(CONTENT_TYPES)}.")
    if kind == "evidence":
        return _read_evidence(data)
    if not data:
        raise InputError("The body is empty, expected rows.")
    reader = {"json": _read_json, "csv": _read_csv, "parquet": _read_parquet, "arrow": _read_arrow}[kind]
    return reader(data, detector())


def _read_evidence(data: bytes) -> Evidence:
    thing = loads(data)
    if not isinstance(thing, Evidence):
        raise InputError(f"The body holds a {type(thing).__name__}, expected evidence: the bytes of detector.count.")
    most = MAX_STATISTIC * thing.n_rows
    for name, array in thing.sums.items():
        if array.size and max(array.max(), -array.min()) > most:
            raise InputError(f"The sum {name[:80]!r} is larger than {thing.n_rows} rows can make it. Count them again.")
    return thing


def _read_json(data: bytes, _: ReferenceDetector) -> Any:
    """Rows as a list of objects, or as one object of columns."""
    if len(data) > MAX_JSON:
        raise TooLargeError(
            f"The JSON has {len(data):,} bytes, expected at most {MAX_JSON:,}. Send Parquet, or evidence."
        )
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError("The body is no JSON. Send a list of objects, or an object of columns.") from error
    if isinstance(found, dict):
        columns = found
        lengths = {len(column) if isinstance(column, list) else -1 for column in columns.values()}
        if len(lengths) != 1 or -1 in lengths:
            raise InputError("The JSON is an object, expected one of columns: each a list, all of the same length.")
    elif isinstance(found, list) and all(isinstance(row, dict) for row in found):
        names = dict.fromkeys(name for row in found for name in row)
        columns = {name: [row.get(name) for row in found] for name in names}
    else:
        raise InputError("The JSON is neither a list of objects nor an object of columns.")
    _check_cells(columns)
    _check_size(len(next(iter(columns.values()), [])), len(columns))
    return columns


def _check_cells(columns: dict[str, list[Any]]) -> None:
    for name, column in columns.items():
        nested = next((cell for cell in column if isinstance(cell, list | dict)), None)
        if nested is not None:
            kind = "list" if isinstance(nested, list) else "object"
            raise InputError(f"Column {name[:80]!r} has a cell that is a {kind}, expected text, numbers and null.")


def _read_csv(data: bytes, detector: ReferenceDetector) -> Any:
    if data[:2] == b"\x1f\x8b" or data[:4] == b"\x28\xb5\x2f\xfd":
        raise InputError("The CSV is compressed, expected plain text. Decompress it, or send Parquet.")
    return _read_file(data, "csv", detector)


def _read_parquet(data: bytes, detector: ReferenceDetector) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        facts = pq.ParquetFile(pa.BufferReader(data)).metadata
        size = sum(facts.row_group(place).total_byte_size for place in range(facts.num_row_groups))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError("The body is no Parquet file, or is damaged.") from error
    _check_size(facts.num_rows, facts.num_columns)
    if size > MAX_PARQUET:
        raise TooLargeError(f"The Parquet file has {size:,} bytes of cells, expected at most {MAX_PARQUET:,}.")
    return _read_file(data, "parquet", detector)


def _read_file(data: bytes, kind: str, detector: ReferenceDetector) -> Any:
    """Table of a file, read by the rules of the command line."""
    import pyarrow as pa  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="gapdrift-") as folder:
        path = Path(folder) / f"upload.{kind}"
        write_file(path, data)
        try:
            tables = list(open_files(path, file_format=kind, like=detector).tables(like=detector))
        except InputError as error:
            raise InputError(str(error).replace(str(path), "The body")) from error
    if not tables:
        raise InputError("The body has no rows.")
    whole = pa.concat_tables(tables)
    _check_size(whole.num_rows, whole.num_columns)
    return whole


def _read_arrow(data: bytes, _: ReferenceDetector) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    batches, n_rows = [], 0
    try:
        for message in pa.ipc.MessageReader.open_stream(pa.BufferReader(data)):
            if _is_compressed(bytes(message.metadata)):
                raise InputError("The Arrow stream is compressed, expected it plain. Send Parquet for compressed rows.")
        with pa.ipc.open_stream(pa.BufferReader(data)) as stream:
            for batch in stream:
                n_rows += batch.num_rows
                _check_size(n_rows, batch.num_columns)
                batch.validate(full=True)
                batches.append(batch)
            return pa.Table.from_batches(batches, schema=stream.schema)
    except (pa.ArrowException, OSError, ValueError, EOFError, struct.error, IndexError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("The body is no Arrow stream, or is damaged.") from error


def _is_compressed(metadata: bytes) -> bool:
    """Whether an Arrow message has compressed buffers: they could become a thousand times as large."""
    root = struct.unpack_from("<I", metadata, 0)[0]
    kind, batch = _field(metadata, root, HEADER_TYPE), _follow(metadata, root, HEADER)
    if kind is None or batch is None or metadata[kind] not in {DICTIONARY, RECORD_BATCH}:
        return False
    if metadata[kind] == DICTIONARY:
        batch = _follow(metadata, batch, DICTIONARY_DATA)
    return batch is not None and _field(metadata, batch, COMPRESSION) is not None


def _follow(metadata: bytes, table: int, place: int) -> int | None:
    """Position of a table that another one points to."""
    found = _field(metadata, table, place)
    return None if found is None else found + int(struct.unpack_from("<I", metadata, found)[0])


def _field(metadata: bytes, table: int, place: int) -> int | None:
    """Position of a field of a FlatBuffers table; None if the table does not have it."""
    offsets = table - struct.unpack_from("<i", metadata, table)[0]
    length = struct.unpack_from("<H", metadata, offsets)[0]
    if 4 + 2 * place >= length:
        return None
    offset = struct.unpack_from("<H", metadata, offsets + 4 + 2 * place)[0]
    return table + offset if offset else None


def _check_size(n_rows: int, n_columns: int) -> None:
    if n_rows > MAX_ROWS or n_rows * max(n_columns, 1) > MAX_CELLS:
        raise TooLargeError(
            f"The body has {n_rows:,} rows of {n_columns:,} columns, expected at most {MAX_ROWS:,} rows and "
            f"{MAX_CELLS:,} cells. Send them in parts, or count them and send the evidence."
        )
