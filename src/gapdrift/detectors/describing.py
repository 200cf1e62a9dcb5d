"""What a comparison shows a person: the distributions of columns, new values, and regions of rows in words.

All of it is sums of codes. A histogram adds up the codes between its limits; a quantile lies within one code, where
values are taken to be spread evenly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gapdrift._typing import Indices, Mask, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.functions import CATEGORY_STEPS, STEPS, Axis, Functions
from gapdrift.counting.regions import Regions
from gapdrift.counting.sums import Side
from gapdrift.inference.findings import holm
from gapdrift.results import BinFinding, Histogram
from gapdrift.results.report.words import format_number_within, shorten
from gapdrift.tables.facts import Tally, empty_facts
from gapdrift.tables.schema import Column, Schema, number_as_category

__all__ = [
    "ColumnCounts",
    "category_at",
    "counts_of",
    "describe_column",
    "describe_regions",
    "make_histogram",
    "share_of_copies",
]

MAX_INTERVALS = 24
"""Intervals that are drawn, at most."""

TAIL = 0.005
"""Share of the values of a side that may lie beyond the intervals at either end; the outermost intervals hold them."""

MAX_LABELS = 30
"""Categories that are named, at most: the most frequent ones of either side."""

MAX_NEW = 50
"""New values of a column that a result holds, at most: the most frequent ones."""

RATES_CHANGED = 0.01
"""p-value of a missing rate, adjusted for all (Holm), below which regions are not shown."""

NO_REGIONS = "Regions of rows are not shown: missing rates changed, and rows with other cells may lie in other regions."
"""Note in place of regions."""

NOTABLE = 0.5
"""Standard deviations from the mean at which a column is worth a word about a region."""

MAX_WORDS = 3
"""Columns that the words about a region name, at most."""


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """Counts of one column on one side.

    Parameters
    ----------
    axis : Axis
    cells : (codes,) array
        How often each code occurs.
    tally : mapping of str to int
        How often what occurs that has no code of its own.
    smallest, largest : float
        Infinite where there are no numbers.
    """

    axis: Axis
    cells: Vector
    tally: Tally
    smallest: float
    largest: float

    @property
    def n_observed(self) -> int:
        """Number of observed cells."""
        return round(float(self.cells.sum()))

    @property
    def range(self) -> tuple[float, float] | None:
        """Smallest and largest number; None where there are none."""
        return (self.smallest, self.largest) if self.smallest <= self.largest else None

    @cached_property
    def limits(self) -> Vector:
        """Where codes begin and end: (codes + 1,); those beyond all values have no width."""
        low, high = self.range or (self.axis.edges[0], self.axis.edges[-1])
        found: Vector = np.clip(np.concatenate([[low], self.axis.edges, [high]]), low, high)
        return found

    @cached_property
    def middles(self) -> Vector:
        """Middle of each code, or the number that it stands for: (codes,)."""
        found = 0.5 * (self.limits[:-1] + self.limits[1:])
        found[self.axis.codes_of(self.axis.single)] = self.axis.single
        return found

    @cached_property
    def reached(self) -> Vector:
        """Number of values below each of the limits."""
        return np.concatenate([[0.0], np.cumsum(self.cells)])

    def quantiles(self, shares: Sequence[float]) -> Vector:
        """Numbers below which these shares of the values lie, each exact to the width of one code."""
        found: Vector = np.interp(np.asarray(shares) * self.cells.sum(), self.reached, self.limits)
        return found

    def values_at(self, scores: Sequence[float]) -> Vector:
        """Numbers with these normal scores in the reference, whose counts these have to be."""
        codes = np.flatnonzero(self.cells)
        found: Vector = np.interp(np.asarray(scores) * STEPS, self.axis.steps[codes, 0], self.middles[codes])
        return found


def counts_of(side: Side) -> list[ColumnCounts]:
    """Counts of each input column on one side."""
    axes = side.functions.axes
    facts = side.evidence.facts or empty_facts(len(axes))
    return [ColumnCounts(axis, side.cells(place), *facts.of_column(place)) for place, axis in enumerate(axes)]


def share_of_copies(reference: Evidence, window: Evidence) -> tuple[float, float] | None:
    """Share of the rows that are copies of another one, on both sides; None if they were not counted."""
    if reference.facts is None or window.facts is None:
        return None
    return reference.facts.duplicate_share, window.facts.duplicate_share


def describe_column(column: Column, reference: ColumnCounts, window: ColumnCounts) -> dict[str, Any]:
    """Distributions, ranges and new values of one column, by their names in `gapdrift.results.FeatureFinding`."""
    known = {*_own_codes(column, reference.axis), *reference.tally}
    new = [(name, count) for name, count in window.tally.items() if name not in known]
    new.sort(key=lambda each: (-each[1], each[0]))
    return {
        "histogram": make_histogram(column, reference, window),
        "range_reference": reference.range,
        "range_window": window.range,
        "n_new_categories": len(new),
        "n_new_cells": sum(count for _, count in new),
        "new_categories": dict(new[:MAX_NEW]),
        "observed_reference": reference.n_observed,
        "observed_window": window.n_observed,
    }


def make_histogram(column: Column, reference: ColumnCounts, window: ColumnCounts) -> Histogram | None:
    """Histogram of one column on both sides, as shares of the observed cells; None where there is nothing to show."""
    sides = reference, window
    totals = reference.n_observed, window.n_observed
    if column.kind == "empty" or not any(totals):
        return None
    if not len(reference.axis.shown):
        return _labelled(column, sides, totals)
    limits = _shown_limits(sides)
    before, after = (_shares(side, limits) for side in sides)
    return Histogram((), tuple(limits.tolist()), before, after, *totals)


def _own_codes(column: Column, axis: Axis) -> dict[str, int]:
    """Code of each value that has one of its own: of categories, and of numbers where they are few."""
    if column.kind != "number":
        return {name: code for code, name in enumerate(column.categories)}
    codes = axis.codes_of(axis.single)
    return dict(zip(map(number_as_category, axis.single.tolist()), codes.tolist(), strict=True))


def _by_name(column: Column, side: ColumnCounts) -> dict[str, float]:
    """Count of each value; categories that the reference has once have a code, and are in its tally."""
    found = {name: float(side.cells[code]) for name, code in _own_codes(column, side.axis).items()}
    for name, count in side.tally.items():
        found[name] = found.get(name, 0.0) + count
    return found


def _labelled(column: Column, sides: tuple[ColumnCounts, ColumnCounts], totals: tuple[int, int]) -> Histogram:
    """Histogram of single values: the most frequent ones where they are many."""
    counts = [_by_name(column, side) for side in sides]
    names = [name for name in dict.fromkeys([*counts[0], *counts[1]]) if any(own.get(name) for own in counts)]
    if column.kind == "number":
        names.sort(key=float)
    shares = [{name: own.get(name, 0.0) / max(n, 1) for name in names} for own, n in zip(counts, totals, strict=True)]
    before, after = shares
    kept = names
    if len(names) > MAX_LABELS:
        often = sorted(names, key=lambda name: (-max(before[name], after[name]), name))[: MAX_LABELS - 1]
        kept = sorted(often, key=lambda name: (-before[name], -after[name], name))
    rest = [max(min(n, 1) - sum(own[name] for name in kept), 0.0) for own, n in zip(shares, totals, strict=True)]
    drawn = [[own[name] for name in kept] for own in shares]
    labels, n_left = tuple(kept), len(names) - len(kept)
    if n_left or max(rest) > 1e-9:
        labels = (*labels, f"({n_left:,} others)" if n_left else "(others)")
        drawn = [[*own, left] for own, left in zip(drawn, rest, strict=True)]
    new = tuple(name for name in kept if not before[name])
    return Histogram(labels, (), tuple(drawn[0]), tuple(drawn[1]), *totals, new)


def _shown_limits(sides: Sequence[ColumnCounts]) -> Vector:
    """Limits of the intervals that are drawn: whole ones of the reference, over nearly all values of both sides."""
    shown = sides[0].axis.shown
    width = shown[1] - shown[0]
    ends = np.array([side.quantiles([TAIL, 1.0 - TAIL]) for side in sides if side.n_observed])
    # A quarter of an interval is no reason for one more.
    below = max(np.floor((shown[0] - ends[:, 0].min()) / width + 0.75), 0.0)
    above = max(np.floor((ends[:, 1].max() - shown[-1]) / width + 0.75), 0.0)
    n_whole = below + len(shown) - 1 + above
    step = np.ceil(n_whole / MAX_INTERVALS)
    places = step * np.arange(np.ceil(n_whole / step) + 1) - below
    own = np.clip(places, 0, len(shown) - 1).astype(np.intp)
    found: Vector = np.where(places == own, shown[own], shown[0] + width * places)
    return found


def _shares(side: ColumnCounts, limits: Vector) -> tuple[float, ...]:
    """Share of the values in each interval; the outermost hold what lies beyond them."""
    below = np.concatenate([[0.0], np.interp(limits[1:-1], side.limits, side.reached), side.reached[-1:]])
    return tuple((np.diff(below) / max(side.n_observed, 1)).tolist())


def describe_regions(
    schema: Schema, regions: Regions, sides: tuple[Side, Side], missing_p_values: Vector
) -> tuple[tuple[BinFinding, ...], tuple[str, ...]]:
    """Shares of the rows in each region, and what its rows are like; none, and a note, where missing rates changed.

    Parameters
    ----------
    schema : Schema
    regions : Regions
    sides : pair of Side
        Of reference and window, with the sums "regions".
    missing_p_values : (input columns,) array
        Of the change of each missing rate.
    """
    if holm(missing_p_values).min(initial=1.0) < RATES_CHANGED:
        return (), (NO_REGIONS,)
    (before, after), (m, n) = zip(
        *((side.evidence.sums["regions"], max(side.n_rows, 1)) for side in sides), strict=True
    )
    pooled = (before + after) / (m + n)
    before, after = before / m, after / n
    surprise = (after - before) ** 2 / np.maximum(pooled * (1.0 - pooled) * (1.0 / m + 1.0 / n), 1e-12)
    columns, functions = counts_of(sides[0]), sides[0].functions
    found = []
    for place, (centre, known) in enumerate(zip(regions.centres, regions.known, strict=True)):
        values, words = _in_words(schema, functions, columns, centre, known)
        found.append(BinFinding(values, float(before[place]), float(after[place]), float(surprise[place]), words))
    return tuple(found), ()


def category_at(schema: Schema, functions: Functions, place: int) -> str:
    """Category that one of `Functions.columns` is about, "(other)" for a group; empty for a number."""
    matrix = functions.columns[place]
    owner = functions.owner[matrix]
    column = schema.columns[owner]
    return "" if column.kind == "number" else column.category_at(int(matrix - np.searchsorted(functions.owner, owner)))


def _in_words(
    schema: Schema, functions: Functions, columns: Sequence[ColumnCounts], centre: Indices, known: Mask
) -> tuple[dict[str, float | str], str]:
    """Values of a region by column, and the columns that set it apart, in words."""
    values: dict[str, float | str] = {}
    apart: list[tuple[float, str]] = []
    owner = functions.owner[functions.columns]
    # The reference of a monitor that adapts may have no value of a column that regions were learned from.
    for place in (each for each in np.unique(owner[known]).tolist() if columns[each].n_observed):
        mine = np.flatnonzero(owner == place)
        largest = int(mine[centre[mine].argmax()])
        away, name = float(centre[largest]), schema.names[place]
        if not functions.is_number[place]:
            category = category_at(schema, functions, largest)
            values[name] = category
            apart.append((2.0 * away / CATEGORY_STEPS, f"{shorten(name)} is {shorten(category)}"))
        else:
            own = columns[place]
            value = float(own.values_at([away / STEPS])[0])
            values[name] = value
            about = format_number_within(value, own.largest - own.smallest)
            apart.append((abs(away) / STEPS, f"{shorten(name)} {'high' if away > 0 else 'low'} (about {about})"))
    notable = sorted((each for each in apart if each[0] >= NOTABLE), key=lambda each: -each[0])[:MAX_WORDS]
    middle = "near the middle of every column" if values else ""
    return values, ", ".join(words for _, words in notable) or middle
