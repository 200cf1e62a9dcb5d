"""Rows of a stream as plain arrays of numbers or texts, whatever kind of table they came in.

Rows are kept and stored in this form until they are counted.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.detectors.base import Detector
from gapdrift.errors import ParameterError
from gapdrift.tables.frame import Table, is_missing
from gapdrift.tables.schema import number_as_category

__all__ = ["Columns", "Rows", "columns_of"]


@dataclass(frozen=True)
class Columns:
    """Columns that a detector compares.

    Parameters
    ----------
    names : tuple of str
        The columns of an array are called x0, x1, ...
    named : bool
        Whether the names are the user's own.
    ignored : tuple of str
        Columns that a table may have, but that are not compared.
    time : str or None
        The one among the names that holds the times of rows, which seasons are told by.
    """

    names: tuple[str, ...]
    named: bool
    ignored: tuple[str, ...]
    time: str | None = None


def columns_of(detector: Detector) -> Columns:
    """Columns that a fitted detector compares."""
    names = getattr(detector, "feature_names_in_", None)
    if names is not None:
        # With seasons, what is usual depends on the time of a row.
        time = getattr(detector, "time_column_", None)
        return Columns((*map(str, names), *([time] if time else [])), True, detector.ignored_columns_, time)
    width = getattr(detector, "n_features_in_", None)
    if width is None:
        raise ParameterError(
            f"This {type(detector).__name__} has neither feature_names_in_ nor n_features_in_, expected one of them: "
            "its fit has to set the names, or the number, of the columns that it compares."
        )
    return Columns(tuple(f"x{place}" for place in range(width)), False, ())


@dataclass(frozen=True)
class Rows:
    """Some rows: each column is an array of numbers (NaN if missing) or of texts and booleans (None if missing).

    Parameters
    ----------
    cells : dict of str to (rows,) array
    named : bool
        Whether the names are the user's own.
    """

    cells: dict[str, NDArray[Any]]
    named: bool

    @classmethod
    def read(cls, table: Table, names: Sequence[str]) -> "Rows":
        """Rows of a table, with only the columns of these names; an array keeps all its columns."""
        kept = [name for name in names if name in table.names] if table.named else table.names
        return cls({name: _plain_column(table, name) for name in kept}, table.named)

    @classmethod
    def join(cls, pieces: Sequence["Rows"]) -> "Rows":
        """All rows of several pieces, in their order."""
        if len(pieces) == 1:
            return pieces[0]
        first = pieces[0]
        return cls({name: _concatenate([rows.cells[name] for rows in pieces]) for name in first.cells}, first.named)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.cells.values()))) if self.cells else 0

    def take(self, places: Any) -> "Rows":
        """Rows at the given positions, or of a slice."""
        return Rows({name: column[places] for name, column in self.cells.items()}, self.named)

    def table(self) -> Any:
        """Rows as a table for a detector: a dict of arrays, or a 2-d array if the columns have no names."""
        return self.cells if self.named else np.column_stack(list(self.cells.values()))

    def packed(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Arrays that can be stored without pickle, and from which `unpacked` restores the rows."""
        numbers = [name for name, column in self.cells.items() if column.dtype != object]
        texts = {name: column.tolist() for name, column in self.cells.items() if column.dtype == object}
        head = json.dumps([self.named, list(self.cells), numbers, texts]).encode()
        arrays = {f"{prefix}{place}": self.cells[name] for place, name in enumerate(numbers)}
        return {f"{prefix}head": np.frombuffer(head, dtype=np.uint8), **arrays}

    @classmethod
    def unpacked(cls, arrays: Mapping[str, NDArray[Any]], prefix: str) -> "Rows":
        """Rows from the arrays of `packed`."""
        named, names, numbers, texts = json.loads(arrays[f"{prefix}head"].tobytes())
        columns = {name: arrays[f"{prefix}{place}"] for place, name in enumerate(numbers)}
        columns |= {name: _object_array(cells) for name, cells in texts.items()}
        return cls({name: columns[name] for name in names}, named)


def _plain_column(table: Table, name: str) -> NDArray[Any]:
    column = table.column(name)
    if column.kind == "date":
        source = table.stored(name)
        cells = np.ma.asarray(source).tolist() if isinstance(source, np.ndarray) else source.to_list()
        return _object_array([None if is_missing(cell) else str(cell) for cell in cells])
    if column.kind in {"number", "integer"} and not column.is_boolean:
        return column.values
    present = [bool(cell) if column.is_boolean else cell for cell in column.values.tolist()]
    cells = zip(present, column.missing.tolist(), strict=True)
    return _object_array([None if is_absent else cell for cell, is_absent in cells])


def _concatenate(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Arrays joined to one; if some hold texts, the numbers of the others become texts too."""
    if not any(array.dtype == object for array in arrays):
        return np.concatenate(arrays)
    cells = [cell for array in arrays for cell in array.tolist()]
    if any(isinstance(cell, str) for cell in cells):
        cells = [_as_text(cell) for cell in cells]
    return _object_array(cells)


def _as_text(cell: Any) -> str | None:
    if cell is None or cell != cell:
        return None
    return number_as_category(cell) if isinstance(cell, float) else str(cell)


def _object_array(cells: list[Any]) -> NDArray[Any]:
    return np.array([*cells, None], dtype=object)[:-1]
