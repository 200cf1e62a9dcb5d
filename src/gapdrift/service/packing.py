"""Evidence, records and facts about columns as bytes for the database, which only the service writes."""

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gapdrift.counting.evidence import Evidence
from gapdrift.errors import GapdriftError, StorageError
from gapdrift.overview.points import ColumnPoint, WindowPoint
from gapdrift.persistence.codec import Reader, Writer

__all__ = ["pack_columns", "pack_evidence", "pack_record", "unpack_columns", "unpack_evidence", "unpack_record"]

FACTS = ("effect_size", "p_value", "missing", "missing_reference", "missing_p_value")
"""Facts about a column that are kept of every window, in this order."""


def pack_evidence(evidence: Evidence) -> bytes:
    """Evidence as bytes: a line of JSON, then all its arrays; faster than a file that trusts nothing."""
    writer = Writer()
    content = writer.write(evidence, "evidence")
    arrays = {name: np.ascontiguousarray(array) for name, array in writer.arrays.items()}
    head = {"content": content, "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()]}
    return zlib.compress(b"\n".join([json.dumps(head).encode(), b"".join(a.tobytes() for a in arrays.values())]), 1)


def unpack_evidence(data: bytes) -> Evidence:
    """Evidence from the bytes of `pack_evidence`."""
    try:
        head, _, body = zlib.decompress(data).partition(b"\n")
        facts = json.loads(head)
        arrays, start = {}, 0
        for name, kind, shape in facts["arrays"]:
            size = math.prod(shape)
            arrays[name] = np.frombuffer(body, kind, size, start).reshape(shape)
            start += arrays[name].nbytes
        if start != len(body):
            raise ValueError("more bytes than arrays")
        kept: Any = _Arrays(arrays)
        evidence: Evidence = Reader(kept).read(Evidence, facts["content"], "evidence")
    except (ValueError, KeyError, TypeError, zlib.error, GapdriftError) as error:
        raise StorageError("Stored evidence cannot be read: the database is damaged.") from error
    return evidence


@dataclass(frozen=True)
class _Arrays:
    """Arrays by their names, as a `Reader` asks an opened file for them."""

    arrays: Mapping[str, NDArray[Any]]

    @property
    def manifest(self) -> Self:
        return self

    def array(self, name: str) -> NDArray[Any]:
        return self.arrays[name]


def pack_columns(point: WindowPoint) -> bytes:
    """Facts about the columns of a window as bytes, without their names."""
    facts = [[_number(getattr(column, name)) for name in FACTS] for column in point.columns]
    return np.array(facts, dtype=np.float32).reshape(len(facts), len(FACTS)).tobytes()


def unpack_columns(data: bytes, names: list[str]) -> tuple[ColumnPoint, ...]:
    """Facts about columns from the bytes of `pack_columns`; none for a window without rows."""
    facts = np.frombuffer(data, dtype=np.float32).reshape(-1, len(FACTS)).astype(float).tolist()
    return tuple(
        ColumnPoint(name, _known(row[0]), _known(row[1]), row[2], row[3], _known(row[4]))
        for name, row in zip(names, facts, strict=False)
    )


def pack_record(record: Mapping[str, Any]) -> bytes:
    """Record of a window as bytes."""
    return zlib.compress(json.dumps(dict(record), allow_nan=False).encode(), 6)


def unpack_record(data: bytes) -> dict[str, Any]:
    """Record from the bytes of `pack_record`."""
    try:
        record: dict[str, Any] = json.loads(zlib.decompress(data))
    except (ValueError, zlib.error) as error:
        raise StorageError("A stored window cannot be read: the database is damaged.") from error
    return record


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
