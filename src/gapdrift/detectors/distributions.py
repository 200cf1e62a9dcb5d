"""The two distributions of a column as they are drawn: over the values of both sides, with the categories of both."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from gapdrift._typing import Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.results import Histogram
from gapdrift.tables.facts import NOTHING, ColumnFacts, Tally, empty_facts, outer_bounds
from gapdrift.tables.histograms import HistogramAxis

__all__ = ["Side", "column_facts", "make_histogram", "new_categories", "share_of_copies", "sides_of"]

N_INTERVALS = 24
"""Intervals that are drawn, about."""

MAX_LABELS = 30
"""Categories that are named, at most: the most frequent ones of either side."""

MAX_NEW = 50
"""New categories of a column that a result holds, at most: the most frequent ones."""

MAX_SINGLE = 30
"""Different numbers up to which each is drawn by itself, where the reference has few."""

TAIL = 0.005
"""Share of the values of a side that the axis may leave out at either end; the outermost intervals hold them."""

MAX_EVEN_CELLS = 240
"""Cells of equal width that intervals are put together of; over a wider range cells are divided in proportion."""


@dataclass(frozen=True)
class Side:
    """Counts of one column on one side.

    Parameters
    ----------
    cells : (cells,) array
        Of its `HistogramAxis`.
    tally : mapping of str to int
        Of its `Facts`.
    smallest, largest : float
        Infinite where there are no numbers.
    """

    cells: Vector
    tally: Tally
    smallest: float
    largest: float

    @property
    def n_observed(self) -> int:
        """Number of observed cells."""
        return round(float(self.cells.sum()))


def sides_of(axes: tuple[HistogramAxis, ...], evidence: Evidence) -> list[Side]:
    """Counts of each column: cells that were counted by its axis, and what the facts say of it."""
    facts = evidence.facts or empty_facts(len(axes))
    ends = np.cumsum([0, *(len(axis) for axis in axes)]).tolist()
    counts = [evidence.sums["cells"][start:stop] for start, stop in pairwise(ends)]
    return [
        Side(cells, facts.tallies[index], float(facts.smallest[index]), float(facts.largest[index]))
        for index, cells in enumerate(counts)
    ]


def column_facts(
    axis: HistogramAxis, reference: Side, window: Side, not_compared: ColumnFacts = NOTHING
) -> dict[str, Any]:
    """Distributions, ranges and new categories of one column, by their names in `gapdrift.results.FeatureFinding`.

    Parameters
    ----------
    axis : HistogramAxis
    reference, window : Side
    not_compared : ColumnFacts, optional
        Of further rows of the reference, whose values are none that it does not have.
    """
    smallest, largest = min(reference.smallest, not_compared.smallest), max(reference.largest, not_compared.largest)
    everything = replace(reference, smallest=smallest, largest=largest)
    new = new_categories(axis, {**reference.tally, **not_compared.tally}, window.tally)
    return {
        "histogram": make_histogram(axis, reference, window),
        "range_reference": _value_range(everything),
        "range_window": _value_range(window),
        "n_new_categories": len(new),
        "n_new_cells": sum(new.values()),
        "new_categories": dict(list(new.items())[:MAX_NEW]),
    }


def share_of_copies(reference: Evidence, window: Evidence) -> tuple[float, float] | None:
    """Share of the rows that are copies of another one, on both sides; None if they were not counted."""
    if reference.facts is None or window.facts is None:
        return None
    return reference.facts.duplicate_share, window.facts.duplicate_share


def _value_range(side: Side) -> tuple[float, float] | None:
    """Smallest and largest number of a column; None where it has none."""
    return (side.smallest, side.largest) if side.smallest <= side.largest else None


def make_histogram(axis: HistogramAxis, reference: Side, window: Side) -> Histogram | None:
    """Histogram of one column on both sides, as shares of the observed cells; None where there is nothing to show."""
    # A window may be compared with the one before it, and both may lack all values of a column.
    if not len(axis) or not (reference.n_observed or window.n_observed):
        return None
    if axis.labels:
        before, after = (_category_counts(axis, side) for side in (reference, window))
        return _labelled(before, after, reference, window)
    if axis.values:
        if len({**reference.tally, **window.tally}) <= MAX_SINGLE:
            before, after = _sorted_numbers(reference.tally, window.tally)
            return _labelled(before, after, reference, window)
        return _intervals([_points(side) for side in (reference, window)], (reference, window))
    return _intervals([_pieces(axis, side) for side in (reference, window)], (reference, window), axis)


def new_categories(axis: HistogramAxis, reference: Tally, window: Tally) -> dict[str, int]:
    """Categories, or single numbers, of the window that the reference does not have, the most frequent first."""
    known = {*reference, *axis.labels[:-1]}
    is_named = axis.labels or axis.values
    new = {name: count for name, count in window.items() if name not in known} if is_named else {}
    return dict(sorted(new.items(), key=lambda item: (-item[1], item[0])))


def _category_counts(axis: HistogramAxis, side: Side) -> dict[str, float]:
    """Count of each category; those that the reference has once have a cell, but are in the tally of the reference."""
    own = dict(zip(axis.labels[:-1], side.cells[:-1].tolist(), strict=True))
    for name, count in side.tally.items():
        own[name] = own.get(name, 0.0) + count
    return own


def _sorted_numbers(one: Tally, two: Tally) -> Iterator[dict[str, float]]:
    names = sorted({**one, **two}, key=float)
    return ({name: counts.get(name, 0.0) for name in names} for counts in (one, two))


def _labelled(before: dict[str, float], after: dict[str, float], reference: Side, window: Side) -> Histogram:
    m, n = max(reference.n_observed, 1), max(window.n_observed, 1)
    names = [name for name in {**before, **after} if before.get(name) or after.get(name)]
    largest = {name: max(before.get(name, 0.0) / m, after.get(name, 0.0) / n) for name in names}
    kept = names
    if len(names) > MAX_LABELS:
        chosen = set(sorted(names, key=lambda name: (-largest[name], name))[: MAX_LABELS - 1])
        kept = sorted(chosen, key=lambda name: (-before.get(name, 0.0), -after.get(name, 0.0), name))
    shares = [[counts.get(name, 0.0) / total for name in kept] for counts, total in ((before, m), (after, n))]
    rest = [max(min(side.n_observed, 1) - sum(own), 0.0) for side, own in zip((reference, window), shares, strict=True)]
    labels = tuple(kept)
    if len(names) > len(kept) or max(rest) > 1e-9:
        labels = (*labels, f"({len(names) - len(kept):,} others)" if len(names) > len(kept) else "(others)")
        shares = [[*own, left] for own, left in zip(shares, rest, strict=True)]
    new = tuple(name for name in kept if not before.get(name))
    return Histogram(labels, (), tuple(shares[0]), tuple(shares[1]), reference.n_observed, window.n_observed, new)


Piece = tuple[float, float, float]
"""Interval and the count of the values in it, which lie in it evenly as far as is known."""


def _points(side: Side) -> list[Piece]:
    return [(float(value), float(value), float(count)) for value, count in side.tally.items()]


def _pieces(axis: HistogramAxis, side: Side) -> list[Piece]:
    """Counts of the intervals of the histogram, and of the cells outside of it."""
    low, high = axis.edges[0], axis.edges[-1]
    inner = axis.shown(side.cells)
    outside = [(*outer_bounds(int(cell), low, high, axis.width), float(n)) for cell, n in side.tally.items()]
    inner[0] = max(inner[0] - sum(count for _, top, count in outside if top <= low), 0.0)
    inner[-1] = max(inner[-1] - sum(count for bottom, _, count in outside if bottom >= high), 0.0)
    pieces = [(*bounds, count) for bounds, count in zip(pairwise(axis.edges), inner.tolist(), strict=True)]
    return [piece for piece in [*outside, *pieces] if piece[2]]


def _intervals(pieces: list[list[Piece]], sides: tuple[Side, Side], axis: HistogramAxis | None = None) -> Histogram:
    edges = _edges(pieces, sides, axis)
    before, after = (_shares(own, edges, side) for own, side in zip(pieces, sides, strict=True))
    reference, window = sides
    return Histogram((), tuple(edges.tolist()), before, after, reference.n_observed, window.n_observed)


def _edges(pieces: list[list[Piece]], sides: tuple[Side, Side], axis: HistogramAxis | None) -> Vector:
    """Limits of the intervals: over nearly all values of both sides, made of whole intervals of the axis."""
    ends = [_ends(own, side) for own, side in zip(pieces, sides, strict=True) if own]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    if axis is not None and high - low <= MAX_EVEN_CELLS * axis.width:
        below = max(round((axis.edges[0] - low) / axis.width + 0.499), 0)
        above = max(round((high - axis.edges[-1]) / axis.width + 0.499), 0)
        n_cells = len(axis.edges) - 1 + below + above
        step = -(-n_cells // N_INTERVALS)
        start = axis.edges[0] - below * axis.width
        return np.asarray(start + step * axis.width * np.arange(-(-n_cells // step) + 1))
    if not high > low:
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    return np.linspace(low, high, N_INTERVALS + 1)


def _ends(pieces: list[Piece], side: Side) -> tuple[float, float]:
    """Limits between which all but the tails of a side lie."""
    ordered = sorted(pieces)
    total, below = sum(count for *_, count in ordered), 0.0
    low, high = ordered[0][0], ordered[-1][1]
    for bottom, top, count in ordered:
        if below + count > TAIL * total and below <= TAIL * total:
            low = bottom
        if below < (1.0 - TAIL) * total <= below + count:
            high = top
        below += count
    return max(low, side.smallest), min(high, side.largest)


def _shares(pieces: list[Piece], edges: Vector, side: Side) -> tuple[float, ...]:
    """Share of the values in each interval; the outermost hold what lies beyond them."""
    if not pieces or not side.n_observed:
        return (0.0,) * (len(edges) - 1)
    bottom, top, count = np.array(pieces).T
    limits = np.concatenate([[min(edges[0], bottom.min())], edges[1:-1], [max(edges[-1], top.max())]])
    overlap = np.minimum(top[:, None], limits[1:]) - np.maximum(bottom[:, None], limits[:-1])
    width = top - bottom
    wide = width > 0.0
    counts = count[wide] / width[wide] @ np.maximum(overlap[wide], 0.0)
    # Single numbers have no width.
    own = np.clip(np.searchsorted(edges, bottom[~wide], side="right") - 1, 0, len(counts) - 1)
    counts += np.bincount(own, count[~wide], len(counts))
    return tuple((counts / max(counts.sum(), 1.0)).tolist())
