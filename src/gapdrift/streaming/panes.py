"""Panes: the pieces that windows are sums of.

Windows of length W every S are made of panes of the greatest common divisor of both, and each pane is one piece
of evidence. Rows of a pane are counted in blocks of a fixed number of rows, in the order of their arrival, so that
a pane is the same to the bit however its rows were cut into updates.
"""

import io
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any
from zipfile import BadZipFile

import numpy as np

from gapdrift.counting.evidence import Evidence
from gapdrift.errors import GapdriftError, HistoryError, ParameterError
from gapdrift.storage import dumps, loads
from gapdrift.tables.encoding import Encoded

__all__ = ["Grid", "Pane", "add_up"]

BLOCK = 1_024
"""Rows counted at once."""

MAX_PANES = 400
"""Panes of a window, at most."""

Count = Callable[[Encoded], Evidence]
Cells = Mapping[str, list[Any]]


@dataclass(frozen=True)
class Grid:
    """Lengths of windows, in panes.

    Parameters
    ----------
    pane : int
        Rows, or microseconds, of one pane.
    window, step : int
        Panes of a window, and panes from the start of one to the start of the next.

    Examples
    --------
    >>> Grid.of(500, 200)
    Grid(pane=100, window=5, step=2)
    """

    pane: int
    window: int
    step: int

    @classmethod
    def of(cls, window: int, step: int) -> "Grid":
        """Grid of windows and steps in rows or microseconds."""
        pane = math.gcd(window, step)
        if window // pane > MAX_PANES:
            raise ParameterError(
                f"window and step have the greatest common divisor {pane}, so that a window has {window // pane} "
                f"panes, expected at most {MAX_PANES}. Choose a step that divides the window, or shares a larger "
                "divisor with it."
            )
        return cls(pane, window // pane, step // pane)

    def empty_windows(self, start: int, first: int | None, closed: int) -> int:
        """Number of windows from ``start`` on that end at ``closed`` or before and have no pane from ``first`` on.

        Examples
        --------
        >>> Grid(1, 2, 1).empty_windows(10, 1_000_000, 999_000), Grid(1, 2, 1).empty_windows(10, None, 14)
        (998989, 3)
        """
        end = closed if first is None else min(first, closed)
        return max((end - self.window - start) // self.step + 1, 0)


@dataclass
class Pane:
    """Rows of one pane: evidence of the blocks that are full, and the rows of the one that is not.

    Parameters
    ----------
    number : int
    n_rows : int
    first_row, last_row : int
        Positions in the stream of the earliest and the latest arrival; -1 where there is none.
    counted : Evidence or None
        Of full blocks; of all rows once the pane is closed.
    waiting : list of Encoded
        Fewer rows than a block.
    cells : list of mapping
        The rows as they came, where they are kept for a new reference.
    closed : bool
    """

    number: int
    n_rows: int = 0
    first_row: int = -1
    last_row: int = -1
    counted: Evidence | None = None
    waiting: list[Encoded] = field(default_factory=list)
    cells: list[Cells] = field(default_factory=list)
    closed: bool = False

    def add(self, rows: Encoded, count: Count) -> None:
        """Take rows, and count the blocks that they fill."""
        self.n_rows += len(rows)
        self.waiting.append(rows)
        if sum(map(len, self.waiting)) >= BLOCK:
            together = _join(self.waiting)
            full = len(together) - len(together) % BLOCK
            for start in range(0, full, BLOCK):
                self._count(_cut(together, start, start + BLOCK), count)
            self.waiting = [_cut(together, full, None)]

    def note_rows(self, first: int, last: int) -> None:
        """Remember where in the stream rows came from."""
        self.first_row = first if self.first_row < 0 else min(self.first_row, first)
        self.last_row = max(self.last_row, last)

    def close(self, count: Count) -> Evidence:
        """Evidence of all rows."""
        if not self.closed:
            rest = _join(self.waiting)
            if len(rest) or self.counted is None:
                self._count(rest, count)
            self.waiting, self.closed = [], True
        assert self.counted is not None  # counted above
        return self.counted

    def recount(self, pieces: list[Encoded], count: Count) -> None:
        """Forget what was counted, and count the same rows by another reference."""
        self.n_rows, self.counted, self.waiting, self.closed = 0, None, [], False
        for rows in pieces:
            self.add(rows, count)

    def _count(self, rows: Encoded, count: Count) -> None:
        evidence = count(rows)
        self.counted = evidence if self.counted is None else self.counted + evidence

    def pack(self) -> bytes:
        """Pane as bytes, which `unpack` reads."""
        facts = [self.number, self.n_rows, self.first_row, self.last_row, self.closed]
        arrays: dict[str, Any] = {"facts": _text([facts, [sorted(rows.notes) for rows in self.waiting], self.cells])}
        if self.counted is not None:
            arrays["counted"] = np.frombuffer(dumps(self.counted), dtype=np.uint8)
        for index, rows in enumerate(self.waiting):
            arrays[f"values{index}"], arrays[f"missing{index}"] = rows.values, rows.missing
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    @classmethod
    def unpack(cls, packed: bytes) -> "Pane":
        """Pane that was packed."""
        try:
            with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
                facts, notes, cells = json.loads(arrays["facts"].tobytes())
                waiting = [
                    Encoded(arrays[f"values{index}"], arrays[f"missing{index}"], frozenset(own))
                    for index, own in enumerate(notes)
                ]
                counted = loads(arrays["counted"].tobytes()) if "counted" in arrays else None
            if not isinstance(counted, Evidence | None):
                raise HistoryError(f"A pane holds a {type(counted).__name__}, expected evidence.")
        except (ValueError, KeyError, OSError, EOFError, BadZipFile, GapdriftError) as error:
            raise HistoryError("A pane of the stored state cannot be read: the history is damaged.") from error
        number, n_rows, first, last, closed = facts
        return cls(number, n_rows, first, last, counted, waiting, cells, closed)


def add_up(parts: list[Evidence]) -> Evidence:
    """Evidence of several panes, added from the first to the last."""
    return reduce(lambda one, two: one + two, parts)


def _join(pieces: list[Encoded]) -> Encoded:
    if len(pieces) == 1:
        return pieces[0]
    return Encoded(
        np.concatenate([rows.values for rows in pieces]),
        np.concatenate([rows.missing for rows in pieces]),
        frozenset().union(*(rows.notes for rows in pieces)),
    )


def _cut(rows: Encoded, start: int, stop: int | None) -> Encoded:
    return Encoded(rows.values[start:stop], rows.missing[start:stop], rows.notes)


def _text(thing: Any) -> Any:
    return np.frombuffer(json.dumps(thing).encode(), dtype=np.uint8)
