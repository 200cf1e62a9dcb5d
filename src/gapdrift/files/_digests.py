"""Digests of rows: 64 bits by which a row is recognised when its file has been written anew."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Digests", "row_digests"]

Digests = NDArray[np.uint64]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
MISSING = np.uint64(0x1F83D9ABFB41BD6B)
"""What a missing cell counts as."""


def row_digests(table: Any) -> Digests:
    """Digest of each row of a pyarrow table, from all its cells and the names of their columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"size": ["1.5", "2", "1.5"], "colour": ["red", None, "red"]})
    >>> first, second, third = row_digests(rows)
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    total = np.zeros(len(table), np.uint64)
    for name, column in sorted(zip(table.column_names, table.columns, strict=True), key=lambda pair: str(pair[0])):
        start = np.frombuffer(name.encode("utf-8", "replace"), np.uint8).astype(np.uint64)
        salt = _mixed(np.array([_polynomial(start, np.array([0, len(start)]))[0]], np.uint64))
        total = _mixed(total * MULTIPLIER + salt + _cell_digests(column.combine_chunks()))
    return total


def _cell_digests(cells: Any) -> Digests:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    kind = cells.type
    missing = np.asarray(pc.is_null(cells))
    if pa.types.is_dictionary(kind):
        cells = cells.cast(kind.value_type)
    if pa.types.is_floating(kind):
        digests = np.asarray(cells.cast(pa.float64()).fill_null(0.0)).view(np.uint64)
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        digests = np.asarray(cells.cast(pa.int64(), safe=False).fill_null(0)).view(np.uint64)
    else:
        digests = _text_digests(_as_text(cells))
    return np.where(missing, MISSING, _mixed(digests))


def _as_text(cells: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    try:
        return cells.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return pa.array([None if cell is None else str(cell) for cell in cells.to_pylist()], pa.large_string())


def _text_digests(cells: Any) -> Digests:
    _, offsets, data = cells.buffers()
    bounds = np.frombuffer(offsets, np.int64)[cells.offset : cells.offset + len(cells) + 1]
    first, last = (int(bounds[0]), int(bounds[-1])) if len(cells) else (0, 0)
    letters = np.frombuffer(data, np.uint8)[first:last] if last > first else np.empty(0, np.uint8)
    return _polynomial(letters.astype(np.uint64), bounds - first)


def _polynomial(letters: NDArray[np.uint64], bounds: NDArray[np.int64]) -> Digests:
    """Digest of each text: its letters weighed by powers of a number, modulo 2^64, and its length."""
    lengths = np.diff(bounds)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, MULTIPLIER, np.uint64), dtype=np.uint64)
    places = np.arange(len(letters)) - np.repeat(bounds[:-1], lengths)
    sums = np.concatenate(
        [np.zeros(1, np.uint64), np.cumsum((letters + np.uint64(1)) * powers[places], dtype=np.uint64)]
    )
    digests: Digests = sums[bounds[1:]] - sums[bounds[:-1]] + lengths.astype(np.uint64)
    return digests


def _mixed(values: Digests) -> Digests:
    """Values whose bits have been mixed, so that sums of small ones do not coincide (splitmix64)."""
    mixed = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
