"""Rows that come one by one, kept as they are until there are enough of them to be read together.

Reading a table costs the same for one row as for a thousand. What can be told of a row by looking at the types of its
cells needs no more than that; any other row is read as a table.
"""

from typing import Any

import numpy as np

from gapdrift.detectors.base import Detector
from gapdrift.tables.frame import MAX_MAGNITUDE
from gapdrift.tables.schema import Schema

__all__ = ["RowBuffer"]

NUMBERS = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.int32, type(None)})
TEXTS = frozenset({str, type(None)})
NOTHING = frozenset({type(None)})

TYPES = {"number": NUMBERS, "category": TEXTS, "empty": NOTHING}
"""Types of the cells of a column of each kind that need no further look; numbers must be in range besides."""


class RowBuffer:
    """Plain rows that wait to be read.

    Parameters
    ----------
    detector : Detector
        Its schema says which cells are plain; a detector without one takes no rows.
    """

    def __init__(self, detector: Detector) -> None:
        schema: Schema | None = getattr(detector, "schema_", None)
        self._names: tuple[str, ...] = () if schema is None else schema.names
        self._allowed = frozenset(() if schema is None else (*schema.names, *schema.ignored))
        self._types = [TYPES[column.kind] for column in schema.columns] if schema is not None else []
        self._numbers = [place for place, types in enumerate(self._types) if types is NUMBERS]
        # The ignored columns of an array have their places in it.
        self._usable = schema is not None and (schema.named or not schema.ignored)
        # A detector with seasons needs the times of rows, which are no plain cells.
        self._usable = self._usable and getattr(detector, "time_column_", None) is None
        self._named = schema is not None and schema.named
        self._rows: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        """Return the number of rows that wait."""
        return len(self._rows)

    def add(self, row: Any) -> bool:
        """Whether this is one row with plain cells; if so, it is kept."""
        if not (self._usable and type(row) is dict and row and row.keys() <= self._allowed):
            return False
        cells = list(map(row.get, self._names))
        for place, types in enumerate(self._types):
            cell = cells[place]
            if type(cell) not in types:
                # pandas writes NaN where a text is missing.
                if type(cell) is not float or cell == cell:
                    return False
                cells[place] = None
        for place in self._numbers:
            number = cells[place]
            if number is not None and not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE and number == number:
                return False
        self._rows.append(tuple(cells))
        return True

    def drain(self) -> Any:
        """All rows as a table, a dict of columns or, if these have no names, an array; the buffer is then empty."""
        rows, self._rows = self._rows, []
        if self._named:
            return dict(zip(self._names, map(list, zip(*rows, strict=True)), strict=True))
        table = np.empty((len(rows), len(self._names)), dtype=object)
        table[:] = rows
        return table
