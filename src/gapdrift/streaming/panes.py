"""Panes: the pieces that windows are added up from.

A pane is as long as the greatest common divisor of the window's length and its step, and has one evidence. Its rows are
counted in blocks of a fixed number of rows, in the order of their arrival, so that the evidence is the same to the bit
however the rows were divided into updates.
"""

import io
import json
import math
import operator
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any
from zipfile import BadZipFile
from zoneinfo import ZoneInfo

import numpy as np

from gapdrift.counting.evidence import Evidence
from gapdrift.errors import GapdriftError, HistoryError, ParameterError
from gapdrift.execution import Count
from gapdrift.persistence.codec import pack_plain, unpack_plain
from gapdrift.streaming.rows import Rows
from gapdrift.tables.spans import Calendar, Span

__all__ = ["Pane", "WindowGrid", "add_up", "pack_rows", "unpack_rows"]

BLOCK_ROWS = 1_024
"""Number of rows that are counted at once."""

MAX_PANES = 400
"""Largest number of panes in a window."""


@dataclass(frozen=True)
class WindowGrid:
    """Lengths of panes, windows and steps.

    Parameters
    ----------
    pane : int
        Length of a pane, in rows, microseconds or months.
    window, step : int
        Length of a window, and from the start of one window to the start of the next, in panes.
    calendar : Calendar or None
        What divides time into panes; None for panes of rows.

    Examples
    --------
    >>> WindowGrid.of(500, 200)
    WindowGrid(pane=100, window=5, step=2, calendar=None)
    """

    pane: int
    window: int
    step: int
    calendar: Calendar | None = None

    @classmethod
    def of_times(cls, window: Span, step: Span, zone: ZoneInfo | None) -> "WindowGrid":
        """Grid for a window and a step of time, both in months or both in microseconds."""
        if window.months:
            grid = cls.of(window.months, step.months)
            return replace(grid, calendar=Calendar(Span(months=grid.pane), zone))
        grid = cls.of(window.micros, step.micros)
        return replace(grid, calendar=Calendar(Span(micros=grid.pane), zone))

    def length(self, n_panes: int) -> int | str:
        """Length of some panes: a number of rows, or a span of time as text."""
        if self.calendar is None:
            return n_panes * self.pane
        span = self.calendar.span
        return str(Span(span.months * n_panes, span.micros * n_panes))

    @classmethod
    def of(cls, window: int, step: int) -> "WindowGrid":
        """Grid for a window and a step that are given in rows, microseconds or months."""
        pane = math.gcd(window, step)
        if window // pane > MAX_PANES:
            raise ParameterError(
                f"window and step have the greatest common divisor {pane}, so that a window has {window // pane} "
                f"panes, expected at most {MAX_PANES}. Choose a step that divides the window, or shares a larger "
                "divisor with it."
            )
        return cls(pane, window // pane, step // pane)

    def empty_windows(self, start: int, first: int | None, closed: int) -> int:
        """Number of windows from ``start`` on that end by ``closed`` and by ``first``, the next pane with rows."""
        end = closed if first is None else min(first, closed)
        return max((end - self.window - start) // self.step + 1, 0)


@dataclass
class Pane:
    """One pane: the evidence of its full blocks, and the rows of the block that is not full yet.

    Parameters
    ----------
    number : int
        Position among the panes of the stream; for panes of time, that of the calendar.
    n_rows : int
    first_row, last_row : int
        Positions in the stream of the earliest and the latest arrival; -1 where there is none.
    counted : Evidence or None
        Evidence of full blocks; of all rows once the pane is closed.
    waiting : list of Rows
        Rows that are not counted yet: fewer than a block.
    kept : list of Rows
        All rows, if they are kept for a new reference.
    notes : set of str
        Sentences for the user about the tables that the rows came in.
    closed : bool
        Whether no more rows can come.
    """

    number: int
    n_rows: int = 0
    first_row: int = -1
    last_row: int = -1
    counted: Evidence | None = None
    waiting: list[Rows] = field(default_factory=list)
    kept: list[Rows] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)
    closed: bool = False

    def add(self, rows: Rows, count: Count[Evidence]) -> None:
        """Add rows, and count the blocks that they fill."""
        self.n_rows += len(rows)
        self.waiting.append(rows)
        if sum(map(len, self.waiting)) >= BLOCK_ROWS:
            together = Rows.join(self.waiting)
            full = len(together) - len(together) % BLOCK_ROWS
            for start in range(0, full, BLOCK_ROWS):
                self._count(together.take(slice(start, start + BLOCK_ROWS)), count)
            self.waiting = [together.take(slice(full, None))]

    def add_counted(self, evidence: Evidence) -> None:
        """Add rows that were counted elsewhere."""
        self.n_rows += evidence.n_rows
        self.counted = evidence if self.counted is None else self.counted + evidence

    def note_positions(self, first: int, last: int) -> None:
        """Remember the positions in the stream of the first and the last of some rows."""
        self.first_row = first if self.first_row < 0 else min(self.first_row, first)
        self.last_row = max(self.last_row, last)

    def close(self, count: Count[Evidence]) -> Evidence:
        """Evidence of all rows; no more can be added."""
        if not self.closed:
            if self.waiting and (any(map(len, self.waiting)) or self.counted is None):
                self._count(Rows.join(self.waiting), count)
            self.waiting, self.closed = [], True
            if self.notes and self.counted is not None:
                self.counted = replace(self.counted, notes=self.counted.notes | self.notes)
        assert self.counted is not None  # counted above
        return self.counted

    def recount(self, count: Count[Evidence]) -> None:
        """Count the kept rows again, for another reference."""
        self.n_rows, self.counted, self.waiting, self.closed = 0, None, [], False
        for rows in self.kept:
            self.add(rows, count)

    def _count(self, rows: Rows, count: Count[Evidence]) -> None:
        evidence = count(rows.table())
        self.counted = evidence if self.counted is None else self.counted + evidence

    def pack(self) -> bytes:
        """Pane as bytes that `unpack` reads."""
        facts = [self.number, self.n_rows, self.first_row, self.last_row, self.closed, sorted(self.notes)]
        arrays: dict[str, Any] = {"facts": np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)}
        if self.counted is not None:
            arrays["counted"] = np.frombuffer(pack_plain(self.counted), dtype=np.uint8)
        for name, pieces in (("waiting", self.waiting), ("kept", self.kept)):
            if pieces:
                arrays |= Rows.join(pieces).packed(name)
        return _to_bytes(arrays)

    @classmethod
    def unpack(cls, packed: bytes) -> "Pane":
        """Pane from the bytes of `pack`."""
        with _reading(packed, "A pane") as arrays:
            number, n_rows, first, last, closed, notes = json.loads(arrays["facts"].tobytes())
            counted = unpack_plain(arrays["counted"].tobytes(), Evidence) if "counted" in arrays else None
            waiting, kept = _unpack_list(arrays, "waiting"), _unpack_list(arrays, "kept")
        if not isinstance(counted, Evidence | None):
            raise HistoryError(f"A pane holds a {type(counted).__name__}, expected evidence.")
        return cls(number, n_rows, first, last, counted, waiting, kept, set(notes), closed)


def pack_rows(rows: Rows) -> bytes:
    """Rows as bytes that `unpack_rows` reads."""
    return _to_bytes(rows.packed("rows"))


def unpack_rows(packed: bytes) -> Rows:
    """Rows from the bytes of `pack_rows`."""
    with _reading(packed, "The new reference") as arrays:
        return Rows.unpacked(arrays, "rows")


def _unpack_list(arrays: Mapping[str, Any], prefix: str) -> list[Rows]:
    return [Rows.unpacked(arrays, prefix)] if f"{prefix}head" in arrays else []


def add_up(parts: list[Evidence]) -> Evidence:
    """Evidence of several panes, added from the first to the last."""
    return reduce(operator.add, parts)


def _to_bytes(arrays: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@contextmanager
def _reading(packed: bytes, what: str) -> Iterator[Any]:
    """Open packed arrays; if they cannot be read, raise an error that names ``what`` they hold."""
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
            yield arrays
    except (ValueError, TypeError, KeyError, OSError, EOFError, BadZipFile, GapdriftError) as error:
        raise HistoryError(f"{what} of the stored state cannot be read: the history is damaged.") from error
