"""Tables of any library through one interface: names, number of rows, each column as numbers, text or dates."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Mask, Vector
from gapdrift.errors import InputError

__all__ = ["MAX_MAGNITUDE", "ForeignTypeError", "RawColumn", "Table", "is_missing", "join_tables", "quote"]

MAX_MAGNITUDE = 1e100
"""Largest number accepted: sums of the squares of larger ones overflow."""

MIN_MAGNITUDE = 1e-290
"""Smaller numbers are treated as 0."""

PROBED_CELLS = 64
"""Number of cells that are examined first: if one of them settles the question, the others need not be read."""


class ForeignTypeError(InputError):
    """A column whose cells are neither numbers only, nor text only, nor dates."""


@dataclass(frozen=True)
class RawColumn:
    """One column of a table, as one of four kinds.

    Parameters
    ----------
    name : str
    kind : {"number", "integer", "text", "date"}
        "integer" if all numbers that are present are whole, however they are stored.
    values : (rows,) array
        For "number" and "integer", floats with NaN where missing; for "text", str objects; for "date", without
        meaning.
    missing : (rows,) array of bool
    is_boolean : bool
        Whether the numbers are booleans.
    numbered : pair of (rows,) array of int and tuple of str, or None
        Number of the text of each row, and the different texts, where the table's library has found them: looking
        texts up row by row takes ten times as long. Rows with missing text have any number.
    """

    name: str
    kind: str
    values: NDArray[Any]
    missing: Mask
    is_boolean: bool = False
    numbered: tuple[Indices, tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Table:
    """A table of any library: names, number of rows, and each column by its name.

    Parameters
    ----------
    names : tuple of str
        The columns of an array are called x0, x1, ...
    n_rows : int
    named : bool
        Whether the names are the user's own.
    frame : object
        A narwhals frame, a dict of 1-d arrays, or a 2-d array.
    """

    names: tuple[str, ...]
    n_rows: int
    named: bool
    frame: Any

    @classmethod
    def read(cls, table: Any) -> "Table":
        """Table from a pandas, polars or pyarrow table, a mapping of columns, or a 2-d numpy array."""
        if isinstance(table, Table):
            return table
        if isinstance(table, np.ndarray):
            return cls._read_array(table if isinstance(table, np.ma.MaskedArray) else np.asarray(table))
        if isinstance(table, Mapping):
            return cls._read_mapping(table)
        frame = _as_frame(table)
        names = tuple(str(name) for name in frame.columns)
        _check_names(names)
        return cls(names, len(frame), True, frame)

    @classmethod
    def _read_mapping(cls, columns: Mapping[Any, Any]) -> "Table":
        names = tuple(str(name) for name in columns)
        _check_names(names)
        arrays = {name: _as_vector(name, column) for name, column in zip(names, columns.values(), strict=True)}
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) > 1:
            raise InputError(
                f"The columns of the mapping have {', '.join(map(str, sorted(lengths)))} rows, expected the "
                "same number in each."
            )
        return cls(names, lengths.pop() if lengths else 0, True, arrays)

    @classmethod
    def _read_array(cls, array: NDArray[Any]) -> "Table":
        if array.dtype.names is not None or array.ndim != 2:
            shape = "a structured array" if array.dtype.names else f"{array.ndim} dimension(s)"
            raise InputError(
                f"The array has {shape}, expected 2 dimensions (rows, columns). Use reshape(-1, 1) for a single column."
            )
        names = tuple(f"x{index}" for index in range(array.shape[1]))
        return cls(names, len(array), False, array)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.n_rows

    def name_of(self, column: str | int) -> str:
        """Name of a column that the user gave by name or, in an array, by position."""
        return f"x{column}" if isinstance(column, int) and not self.named else str(column)

    def column(self, name: str) -> RawColumn:
        """One column, as numbers, text or dates."""
        stored = self.stored(name)
        return _from_array(name, stored) if isinstance(stored, np.ndarray) else _from_series(name, stored)

    def floats(self, names: Sequence[str]) -> list[Vector] | None:
        """Columns that are stored as floats, NaN where missing; None if one of them is stored otherwise."""
        found = []
        for name in names:
            stored = self.stored(name)
            if not isinstance(stored, np.ndarray):
                if stored.dtype not in (nw.Float64, nw.Float32):
                    return None
                stored = stored.to_numpy()
            if isinstance(stored, np.ma.MaskedArray) or stored.dtype not in (np.float64, np.float32):
                return None
            found.append(stored.astype(np.float64, copy=False))
        return found

    def stored(self, name: str) -> Any:
        """One column as it is stored: an array, or a narwhals series."""
        if isinstance(self.frame, dict):
            return self.frame[name]
        if self.named:
            return self.frame.get_column(self._own_names[name])
        return self.frame[:, self.names.index(name)]

    @cached_property
    def _own_names(self) -> dict[str, Any]:
        """The frame's own name of each column, which need not be text."""
        return dict(zip(self.names, self.frame.columns, strict=True))

    def take(self, rows: Indices) -> "Table":
        """Table of some rows, given by their positions, in that order."""
        return self._select(rows, len(rows))

    def slice(self, start: int, stop: int) -> "Table":
        """Table of the rows from ``start`` up to, but not including, ``stop``; nothing is copied."""
        return self._select(slice(start, stop), max(0, min(stop, self.n_rows) - start))

    def _select(self, rows: Any, n_rows: int) -> "Table":
        is_mapping = isinstance(self.frame, dict)
        frame = {name: column[rows] for name, column in self.frame.items()} if is_mapping else self.frame[rows]
        return Table(self.names, n_rows, self.named, frame)

    def without(self, names: Sequence[str]) -> "Table":
        """Table without some of its columns; for tables with named columns."""
        kept = tuple(name for name in self.names if name not in names)
        if len(kept) == len(self.names):
            return self
        if isinstance(self.frame, dict):
            return Table(kept, self.n_rows, True, {name: self.frame[name] for name in kept})
        return Table(kept, self.n_rows, True, self.frame.select([self._own_names[name] for name in kept]))


def join_tables(tables: Sequence[Table]) -> Table:
    """Rows of tables of any libraries, one table below the other."""
    names, named = tables[0].names, tables[0].named
    for table in tables:
        if table.named != named or not set(names) <= set(table.names):
            raise InputError(
                f"A table has the columns {quote(table.names)}, expected those of the first: {quote(names)}. Give all "
                "tables the same columns, and do not mix tables with arrays."
            )
    columns = {name: np.concatenate([_as_array(table.stored(name)) for table in tables]) for name in names}
    return Table(names, sum(map(len, tables)), named, columns if named else np.column_stack(list(columns.values())))


def _as_array(stored: Any) -> NDArray[Any]:
    """Column as an array of numbers or of objects, which can be joined with other such arrays."""
    if isinstance(stored, np.ndarray):
        plain = stored.dtype.kind in "biuf" and not isinstance(stored, np.ma.MaskedArray)
        return stored if plain else np.fromiter(stored, object, len(stored))
    if stored.dtype.is_numeric() and stored.dtype not in (nw.Decimal, nw.Int128, nw.UInt128):
        return np.asarray(stored.to_numpy())
    if stored.dtype == nw.Duration:
        return np.asarray(stored.to_numpy(), dtype="m8[ns]") / np.timedelta64(1, "s")
    cells = stored.cast(nw.String) if stored.dtype in (nw.Categorical, nw.Enum) else stored
    return np.fromiter(cells.to_list(), object, len(cells))


def is_missing(cell: Any) -> bool:
    """Whether a Python object stands for a missing value: None, NaN, NA or NaT.

    Examples
    --------
    >>> [is_missing(cell) for cell in (None, float("nan"), 0, "")]
    [True, True, False, False]
    """
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"} or cell is np.ma.masked:
        return True
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return isinstance(cell, Real | np.datetime64 | np.timedelta64) and bool(cell != cell)


def _as_vector(name: str, column: Any) -> NDArray[Any]:
    if isinstance(column, str | bytes) or not isinstance(column, Sequence | np.ndarray):
        raise InputError(
            f"Column {name!r} of the mapping is a {type(column).__name__}, expected a list or a 1-d array."
        )
    vector = column if isinstance(column, np.ndarray) else np.array([*column, None], dtype=object)[:-1]
    if vector.ndim != 1:
        raise InputError(f"Column {name!r} of the mapping has {vector.ndim} dimensions, expected 1.")
    return vector


def _as_frame(table: Any) -> Any:
    expected = "expected a pandas, polars or pyarrow table, a mapping of columns, or a 2-d numpy array"
    if type(table).__module__.startswith("scipy.sparse"):
        raise InputError(f"Got a sparse matrix ({type(table).__name__}), {expected}. Call toarray() on it first.")
    try:
        # Repeated names are looked for first, because every library words its own error about them differently.
        names = getattr(table, "columns" if hasattr(table, "iloc") else "column_names", ())
        _check_names(tuple(str(name) for name in names))
        frame = nw.from_native(table, eager_only=True)
    except InputError:
        raise
    except Exception as error:
        hint = " Call collect() on it first." if hasattr(table, "collect") else ""
        raise InputError(f"Got {type(table).__name__}, {expected}.{hint}") from error
    if isinstance(frame, nw.LazyFrame):
        raise InputError(f"Got a lazy frame, {expected}. Call collect() on it first.")
    if isinstance(frame, nw.Series):
        raise InputError(f"Got a single column ({type(table).__name__}), {expected}.")
    return frame


def _check_names(names: tuple[str, ...]) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError(
            f"The column name(s) {quote(repeated)} occur more than once, expected different names. "
            "Rename or drop the copies."
        )


def quote(names: Sequence[str], max_names: int = 12) -> str:
    """Names in quotation marks, for a message; only the first few if there are many.

    Examples
    --------
    >>> quote(["a", "b", "c"], max_names=2)
    "'a', 'b' and 1 more"
    >>> quote([])
    'none'
    """
    if not names:
        return "none"
    shown = ", ".join(repr(name) for name in names[:max_names])
    return shown if len(names) <= max_names else f"{shown} and {len(names) - max_names} more"


def _from_array(name: str, column: NDArray[Any]) -> RawColumn:
    masked = np.ma.getmaskarray(column)
    data = np.ma.getdata(column)
    if data.dtype.kind in "biuf":
        return _numeric(name, data, masked, is_boolean=data.dtype.kind == "b")
    if data.dtype.kind == "m":
        missing = np.isnat(data) | masked
        seconds = np.where(missing, np.nan, data / np.timedelta64(1, "s"))
        return _numeric(name, seconds, missing)
    if data.dtype.kind == "M":
        return RawColumn(name, "date", data, np.isnat(data) | masked)
    if data.dtype.kind in "OUST":
        cells = data.astype(object)
        cells[masked] = None
        return _from_objects(name, cells.tolist())
    if data.dtype.kind == "c":
        raise InputError(
            f"Complex data not supported: column {name!r} has the type {data.dtype}, expected real numbers, booleans "
            "or text. Give the real and the imaginary part a column each."
        )
    raise InputError(
        f"Column {name!r} has the type {data.dtype}, expected real numbers, booleans or text. Convert or drop it."
    )


def _from_series(name: str, series: Any) -> RawColumn:
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return _from_numeric_series(name, series)
    if dtype.is_temporal():
        return _from_temporal_series(name, series)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return _from_text_series(name, series)
    if dtype in (nw.Object, nw.Unknown, nw.Binary):
        return _from_objects(name, series.to_list())
    raise ForeignTypeError(
        f"Column {name!r} has the type {dtype}, expected numbers, booleans, categories or text. "
        "Unnest, convert or drop it."
    )


def _from_numeric_series(name: str, series: Any) -> RawColumn:
    if series.dtype.is_decimal():
        return _from_objects(name, series.to_list())
    if series.dtype in (nw.Float64, nw.Float32):
        # Nulls come out as NaN: both are missing.
        floats = np.asarray(series.to_numpy(), dtype=np.float64)
        return _numeric(name, floats, np.isnan(floats))
    missing = series.is_null().to_numpy().astype(bool)
    filled = series.fill_null(False) if series.dtype == nw.Boolean else series.fill_null(0)
    # Arrow refuses to cast integers beyond 2**53, where numpy rounds them; numpy has no integers of 128 bits.
    fits_numpy = series.dtype.is_integer() and series.dtype not in (nw.Int128, nw.UInt128)
    values = filled.to_numpy() if fits_numpy else filled.cast(nw.Float64).to_numpy()
    return _numeric(name, values, missing, is_boolean=series.dtype == nw.Boolean)


def _from_text_series(name: str, series: Any) -> RawColumn:
    missing = series.is_null().to_numpy().astype(bool)
    numbered = _number_texts(series)
    if numbered is not None and numbered[1]:
        return RawColumn(name, "text", np.array(numbered[1], dtype=object)[numbered[0]], missing, numbered=numbered)
    return RawColumn(name, "text", _as_array(series), missing)


def _number_texts(series: Any) -> tuple[Indices, tuple[str, ...]] | None:
    """Number of the text of each row, and the different texts; None where the library does not number them."""
    native = series.to_native()
    if series.implementation.is_pandas():
        numbers, different = native.factorize()
        texts = nw.from_native(type(native)(different), series_only=True).cast(nw.String).to_list()
    elif series.implementation.is_pyarrow():
        whole = native.combine_chunks()
        whole = whole if hasattr(whole, "dictionary") else whole.dictionary_encode()
        numbers, texts = whole.indices.fill_null(-1).to_numpy(), whole.dictionary.cast("string").to_pylist()
    else:
        return None
    # A dictionary may itself hold a missing value.
    return None if None in texts else (np.maximum(numbers, 0).astype(np.intp), tuple(texts))


def _from_temporal_series(name: str, series: Any) -> RawColumn:
    missing = series.is_null().to_numpy().astype(bool)
    if series.dtype != nw.Duration:
        return RawColumn(name, "date", missing, missing)
    return _from_array(name, np.asarray(series.to_numpy(), dtype="m8[ns]"))


def _from_objects(name: str, cells: list[Any]) -> RawColumn:
    missing = np.array([is_missing(cell) for cell in cells], dtype=bool)
    present = [cell for cell, is_absent in zip(cells, missing, strict=True) if not is_absent]
    kinds = {_kind_of(cell) for cell in present}
    if len(kinds) > 1 or "other" in kinds:
        types = sorted({type(cell).__name__ for cell in present})
        raise ForeignTypeError(
            f"Column {name!r} holds values of the type(s) {', '.join(types)}, expected numbers only or "
            "text only. Convert it to one of them."
        )
    if kinds == {"date"}:
        return RawColumn(name, "date", missing, missing)
    if kinds == {"text"}:
        text = np.empty(len(cells), dtype=object)
        text[~missing] = [
            cell.decode(errors="backslashreplace") if isinstance(cell, bytes) else str(cell) for cell in present
        ]
        return RawColumn(name, "text", text, missing)
    numbers = np.zeros(len(cells))
    numbers[~missing] = [_as_float(cell) for cell in present]
    is_boolean = bool(present) and all(isinstance(cell, bool | np.bool_) for cell in present)
    return _numeric(name, numbers, missing, is_boolean=is_boolean)


def _as_float(cell: Any) -> float:
    """Cell as a float, durations in seconds; integers that are too large become infinite, which is refused later."""
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    if isinstance(cell, np.timedelta64):
        return float(cell / np.timedelta64(1, "s"))
    try:
        return float(cell)
    except OverflowError:
        return float("inf")


def _kind_of(cell: Any) -> str:
    if isinstance(cell, timedelta | np.timedelta64):
        return "duration"
    if isinstance(cell, Real | Decimal | np.bool_):
        return "number"
    if isinstance(cell, str | bytes):
        return "text"
    if isinstance(cell, date | datetime | time | np.datetime64):
        return "date"
    return "other"


def _numeric(name: str, data: NDArray[Any], missing: Mask, *, is_boolean: bool = False) -> RawColumn:
    with np.errstate(over="ignore"):
        values = data.astype(float)
    missing = missing | np.isnan(values)
    values[missing] = np.nan
    magnitudes = np.abs(values)
    if (magnitudes > MAX_MAGNITUDE).any():
        _refuse_range(name, values)
    # The inverse of a difference of such small numbers would overflow.
    values[magnitudes < MIN_MAGNITUDE] = 0.0
    whole = not is_boolean and _are_whole(values, missing)
    return RawColumn(name, "integer" if whole else "number", values, missing, is_boolean)


def _are_whole(values: Vector, missing: Mask) -> bool:
    """Whether there are numbers and all of them are whole; a few are examined first, which often settles it."""
    if not np.all(missing[:PROBED_CELLS] | (values[:PROBED_CELLS] == np.rint(values[:PROBED_CELLS]))):
        return False
    return not missing.all() and bool(np.all(missing | (values == np.rint(values))))


def _refuse_range(name: str, values: Vector) -> None:
    if np.isinf(values).any():
        raise InputError(
            f"Column {name!r} has {int(np.isinf(values).sum())} infinite value(s), expected finite numbers. "
            "Replace them by NaN if they mean that nothing was recorded."
        )
    large = values[np.abs(values) > MAX_MAGNITUDE][0]
    raise InputError(
        f"Column {name!r} has the value {large:g}, expected at most {MAX_MAGNITUDE:g} in "
        "magnitude. Change its unit, or use NaN if it marks a missing value."
    )
