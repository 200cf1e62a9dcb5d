"""Records and facts about columns as bytes for the database, which only the service writes."""

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from gapdrift.errors import StorageError
from gapdrift.overview.points import ColumnPoint, WindowPoint

__all__ = ["pack_columns", "pack_record", "unpack_columns", "unpack_record"]

FACTS = ("effect_size", "p_value", "missing", "missing_reference", "missing_p_value")
"""Facts about a column that are kept of every window, in this order."""


def pack_columns(point: WindowPoint) -> bytes:
    """Facts about the columns of a window as bytes, without their names."""
    facts = [[_number(getattr(column, name)) for name in FACTS] for column in point.columns]
    return np.array(facts, dtype=np.float32).reshape(len(facts), len(FACTS)).tobytes()


def unpack_columns(data: bytes, names: list[str]) -> tuple[ColumnPoint, ...]:
    """Facts about columns from the bytes of `pack_columns`; none for a window without rows."""
    facts = np.frombuffer(data, dtype=np.float32).reshape(-1, len(FACTS))
    known = facts.astype(float).astype(object)
    known[np.isnan(facts)] = None
    return tuple(ColumnPoint(name, *row) for name, row in zip(names, known.tolist(), strict=False))


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
