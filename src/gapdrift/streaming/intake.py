"""Incoming rows: which pane each belongs to, which come too late, and which were counted before.

Everything is decided row by row, in the order of arrival, so that nothing depends on how the rows were divided into
updates.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.errors import InputError
from gapdrift.tables.frame import Table, is_missing, quote
from gapdrift.tables.spans import Calendar
from gapdrift.tables.times import EARLIEST, as_micros, times_of

__all__ = ["Batch", "KeyMemory", "Step", "read_batch", "steps_by_rows", "steps_by_time"]

Places = NDArray[np.intp]

DIGEST_BYTES = 16
"""Length of the digest by which a key is remembered."""

BEFORE_ALL = -(2**62)
"""Earlier than any time."""

FIRST_TIME = as_micros(EARLIEST)
"""The earliest time that a row can have."""


@dataclass(frozen=True)
class Batch:
    """Rows of one update.

    Parameters
    ----------
    table : Table
        The rows without their times and keys.
    times : (rows,) array of microseconds, or None
    untimed : (rows,) array of bool, or None
        Which rows have no time.
    keys : list of bytes or None, or None
        Digest of each row's key, None for a row without one; None if rows have no key column.
    """

    table: Table
    times: NDArray[np.int64] | None
    untimed: NDArray[np.bool_] | None
    keys: list[bytes | None] | None

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.table.n_rows


@dataclass(frozen=True)
class Step:
    """The next rows of a batch, up to and including the first that closes a pane.

    Parameters
    ----------
    panes : dict of int to (rows,) array
        Positions in the batch of the rows of each pane.
    stop : int
        Position in the batch after the last of these rows.
    late, duplicate, untimed : int
        Numbers of rows that are not counted, by reason.
    closed : int
        Panes below this number are closed after this step.
    high : int
        Latest time so far.
    """

    panes: dict[int, Places]
    stop: int
    late: int = 0
    duplicate: int = 0
    untimed: int = 0
    closed: int = 0
    high: int = BEFORE_ALL


class KeyMemory:
    """Keys of the rows that were counted, by pane, until they are forgotten.

    Examples
    --------
    >>> memory = KeyMemory()
    >>> memory.is_new(b"a", 0), memory.is_new(b"a", 1), memory.is_new(None, 1)
    (True, False, True)
    >>> memory.forget_below(1)
    >>> memory.is_new(b"a", 1)
    True
    """

    def __init__(self, packed: Mapping[int, bytes] | None = None) -> None:
        self._of_pane = {
            pane: [data[start : start + DIGEST_BYTES] for start in range(0, len(data), DIGEST_BYTES)]
            for pane, data in (packed or {}).items()
        }
        self._known = {key for keys in self._of_pane.values() for key in keys}

    def knows(self, key: bytes | None) -> bool:
        """Whether a row with this key was counted."""
        return key is not None and key in self._known

    def is_new(self, key: bytes | None, pane: int) -> bool:
        """Whether a key is new; if so, it is remembered with its pane."""
        if self.knows(key):
            return False
        if key is not None:
            self._known.add(key)
            self._of_pane.setdefault(pane, []).append(key)
        return True

    def forget_below(self, pane: int) -> None:
        """Forget the keys of earlier panes."""
        for old in [number for number in self._of_pane if number < pane]:
            self._known.difference_update(self._of_pane.pop(old))

    def packed(self) -> dict[int, bytes]:
        """Keys of each pane joined to one bytes object; the constructor takes them back."""
        return {pane: b"".join(keys) for pane, keys in self._of_pane.items()}


def read_batch(rows: Any, names: Sequence[str], named: bool, time_column: str | None, key_column: str | None) -> Batch:
    """Batch made from a table, from one row as a dict, or from a list of such rows.

    Parameters
    ----------
    rows : table, mapping of names to cells, or sequence of such mappings
        A name that a mapping lacks is a missing cell.
    names : sequence of str
        Columns of the reference.
    named : bool
        Whether the columns of the reference have names.
    time_column, key_column : str or None
    """
    mappings = _as_mappings(rows)
    if mappings is not None:
        rows = _as_table(mappings, (*names, *filter(None, (time_column, key_column))), named)
    table = Table.read(rows)
    special = [name for name in (time_column, key_column) if name is not None]
    absent = [name for name in special if not table.named or name not in table.names]
    if absent:
        raise InputError(
            f"The rows lack the column(s) {quote(absent)} that the monitor needs for times or keys; they have "
            f"{quote(table.names)}. Give a table with these names."
        )
    times, untimed = (None, None) if time_column is None else times_of(table, time_column)
    keys = None if key_column is None else _digests(table.stored(key_column))
    return Batch(table.without([name for name in special if name not in names]), times, untimed, keys)


def _as_mappings(rows: Any) -> list[Mapping[Any, Any]] | None:
    """Rows given as mappings of names to single cells; None if a table was given."""
    if isinstance(rows, Mapping):
        is_table = any(isinstance(cell, list | tuple | np.ndarray) for cell in rows.values())
        return None if is_table or not rows else [rows]
    if isinstance(rows, list | tuple) and all(isinstance(row, Mapping) for row in rows):
        return list(rows)
    return None


def _as_table(rows: list[Mapping[Any, Any]], names: Sequence[str], named: bool) -> Any:
    records = [{str(name): cell for name, cell in row.items()} for row in rows]
    if not named:
        return _as_array(records, names)
    extra = dict.fromkeys(name for record in records for name in record if name not in names)
    return {name: [record.get(name) for record in records] for name in (*names, *extra)}


def _as_array(records: list[dict[str, Any]], names: Sequence[str]) -> Any:
    """Array of the rows, for a reference without names: cells are called x0, x1, ... or 0, 1, ..."""
    cells = np.full((len(records), len(names)), None, dtype=object)
    for place, record in enumerate(records):
        plain = {name.removeprefix("x"): cell for name, cell in record.items()}
        unknown = [name for name in plain if f"x{name}" not in names]
        if unknown:
            raise InputError(
                f"The row has the name(s) {quote(unknown)}, but the reference has no names. Call its cells x0 to "
                f"x{len(names) - 1}, or fit the detector on a table with names."
            )
        for column, name in enumerate(names):
            cells[place, column] = plain.get(name.removeprefix("x"))
    return cells


def _digests(column: Any) -> list[bytes | None]:
    """Digest of each key. Keys are compared as text, whatever their type; 7 and 7.0 are the same key."""
    cells = np.ma.asarray(column).tolist() if isinstance(column, np.ndarray) else column.to_list()
    return [None if is_missing(cell) else blake2b(_key_text(cell), digest_size=DIGEST_BYTES).digest() for cell in cells]


def _key_text(cell: Any) -> bytes:
    whole = int(cell) if isinstance(cell, float) and cell.is_integer() else cell
    return str(whole).encode(errors="surrogatepass")


def steps_by_rows(batch: Batch, pane: int, filled: int, length: int, keys: KeyMemory) -> Iterator[Step]:
    """Steps for panes that hold a fixed number of rows.

    Parameters
    ----------
    batch : Batch
    pane : int
        Number of the pane that is being filled.
    filled : int
        Rows that it holds already.
    length : int
        Rows of a full pane.
    keys : KeyMemory
        The keys of the rows that are taken are added to it.
    """
    start = 0
    while start < len(batch):
        places, stop = _next_rows(batch, start, length - filled, pane, keys)
        full = filled + len(places) == length
        taken = {pane: places} if len(places) else {}
        yield Step(taken, stop, duplicate=stop - start - len(places), closed=pane + full)
        pane, filled, start = (pane + 1, 0, stop) if full else (pane, filled + len(places), stop)


def _next_rows(batch: Batch, start: int, room: int, pane: int, keys: KeyMemory) -> tuple[Places, int]:
    """Positions of the next rows that fit into a pane, and the position after the last row that was looked at."""
    if batch.keys is None:
        stop = min(start + room, len(batch))
        return np.arange(start, stop), stop
    places: list[int] = []
    for place in range(start, len(batch)):
        if keys.is_new(batch.keys[place], pane):
            places.append(place)
        if len(places) == room:
            break
    return np.array(places, dtype=np.intp), place + 1


def steps_by_time(
    batch: Batch, closed: int, high: int, calendar: Calendar, lateness: int, keys: KeyMemory
) -> Iterator[Step]:
    """Steps for panes of time.

    Parameters
    ----------
    batch : Batch
    closed : int
        Panes below this number are closed.
    high : int
        Latest time before this batch.
    calendar : Calendar
        What divides time into panes.
    lateness : int
        Microseconds.
    keys : KeyMemory
        The keys of the rows that are taken are added to it.
    """
    assert batch.times is not None and batch.untimed is not None
    highs = np.maximum.accumulate(np.r_[high, np.where(batch.untimed, BEFORE_ALL, batch.times)])[1:]
    passed = np.maximum(calendar.numbers_of(np.maximum(highs - lateness, FIRST_TIME)), closed)
    passed[highs == BEFORE_ALL] = closed
    ends = np.flatnonzero(np.diff(passed, prepend=closed) > 0) + 1
    start = 0
    for stop in [*ends.tolist(), len(batch)]:
        if stop > start:
            yield _timed_step(
                batch, slice(start, stop), closed, calendar, keys, (int(passed[stop - 1]), int(highs[stop - 1]))
            )
            closed, start = int(passed[stop - 1]), stop


def _timed_step(
    batch: Batch, part: slice, closed: int, calendar: Calendar, keys: KeyMemory, after: tuple[int, int]
) -> Step:
    assert batch.times is not None and batch.untimed is not None
    places = np.arange(part.start, part.stop)[~batch.untimed[part]]
    numbers = calendar.numbers_of(batch.times[places])
    fresh = np.ones(len(places), dtype=bool)
    if batch.keys is not None:
        for index, (place, number) in enumerate(zip(places.tolist(), numbers.tolist(), strict=True)):
            key = batch.keys[place]
            # The key of a row that comes too late is not remembered: the row is not counted.
            fresh[index] = not keys.knows(key) if number < closed else keys.is_new(key, number)
    in_time = numbers >= closed
    taken = fresh & in_time
    panes = {int(number): places[taken & (numbers == number)] for number in np.unique(numbers[taken])}
    late, untimed = int((fresh & ~in_time).sum()), part.stop - part.start - len(places)
    return Step(panes, part.stop, late, int((~fresh).sum()), untimed, *after)
