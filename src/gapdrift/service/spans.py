"""Evidence of any span of a stream, from sums over 1, 10, 100, ... panes.

A pane's evidence is stored once. Whenever ten blocks of a level are over, their sum is stored as a block of the next
level. A span is then a few dozen blocks, however long it is, and old blocks of the lower levels can be forgotten.
"""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gapdrift.counting.evidence import Evidence
from gapdrift.persistence.codec import pack_plain, unpack_plain
from gapdrift.service.schema import evidence as table

__all__ = ["KEPT_BLOCKS", "Span", "add_pane", "read_span"]

BASE = 10
LEVELS = 6
"""Blocks of up to 100,000 panes."""

KEPT_BLOCKS = 1_000
"""Number of blocks that are kept on each level below the highest."""


@dataclass(frozen=True)
class Span:
    """Evidence of a span, and which panes it covers.

    Parameters
    ----------
    evidence : Evidence
    first_pane, end_pane : int
        The first pane that is covered, and the one after the last; None if no pane is.
    """

    evidence: Evidence
    first_pane: int | None
    end_pane: int | None


def add_pane(connection: Connection, monitor_id: int, number: int, evidence: Evidence) -> None:
    """Store the evidence of a pane; a pane that is stored already stays as it is."""
    origin = evidence.origin
    own = (table.c.monitor_id == monitor_id) & (table.c.origin == origin) & (table.c.level == 0)
    last = connection.scalar(sa.select(sa.func.max(table.c.block)).where(own))
    if last is not None and number <= last:
        return
    if last is not None:
        _close_blocks(connection, monitor_id, last, number, evidence)
    _insert(connection, monitor_id, 0, number, evidence)


def _close_blocks(connection: Connection, monitor_id: int, last: int, number: int, like: Evidence) -> None:
    """Add up the blocks that are over now that a pane beyond them has come."""
    for level in range(1, LEVELS):
        size = BASE**level
        block = last // size
        if block == number // size:
            return
        below = range(block * BASE, (block + 1) * BASE)
        found = _read(connection, monitor_id, like, level - 1, below.start, below.stop)
        if found:
            _insert(connection, monitor_id, level, block, sum(found.values(), like.zero()))
        old = (table.c.level == level - 1) & (table.c.block < below.start - KEPT_BLOCKS)
        own = (table.c.monitor_id == monitor_id) & (table.c.origin == like.origin)
        connection.execute(table.delete().where(own & old))


def read_span(connection: Connection, monitor_id: int, like: Evidence, first: int, end: int) -> Span:
    """Evidence of the panes from ``first`` to before ``end``.

    Where single panes are forgotten, the ends are moved inwards to blocks that are kept.

    Parameters
    ----------
    connection : Connection
    monitor_id : int
    like : Evidence
        Evidence of the reference that counted.
    first, end : int
    """
    total, low, high = like.zero(), None, None
    gaps = [(first, end)]
    for level in reversed(range(LEVELS)):
        size, rest = BASE**level, []
        for start, stop in gaps:
            inner = range(-(-start // size), max(stop // size, -(-start // size)))
            found = _read(connection, monitor_id, like, level, inner.start, inner.stop) if inner else {}
            for block, part in found.items():
                total = total + part
                low = block * size if low is None else min(low, block * size)
                high = (block + 1) * size if high is None else max(high, (block + 1) * size)
            rest += _uncovered(start, stop, [(block * size, (block + 1) * size) for block in sorted(found)])
        gaps = rest
    return Span(total, low, high)


def _uncovered(start: int, stop: int, covered: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Parts of a range that are not covered.

    Examples
    --------
    >>> _uncovered(0, 40, [(10, 20), (20, 30)])
    [(0, 10), (30, 40)]
    """
    parts = []
    for low, high in covered:
        if low > start:
            parts.append((start, low))
        start = high
    return [*parts, (start, stop)] if start < stop else parts


def _insert(connection: Connection, monitor_id: int, level: int, block: int, evidence: Evidence) -> None:
    row = {"monitor_id": monitor_id, "origin": evidence.origin, "level": level, "block": block}
    connection.execute(table.insert(), {**row, "n_rows": evidence.n_rows, "data": pack_plain(evidence)})


def _read(
    connection: Connection, monitor_id: int, like: Evidence, level: int, start: int, stop: int
) -> dict[int, Evidence]:
    chosen = (table.c.monitor_id == monitor_id) & (table.c.origin == like.origin) & (table.c.level == level)
    query = sa.select(table.c.block, table.c.data).where(chosen & (table.c.block >= start) & (table.c.block < stop))
    return {row.block: unpack_plain(row.data, Evidence) for row in connection.execute(query)}
