"""The functions of a row, defined once: the code of each cell, and u, w and o of each column.

- The *code* of a cell is its place in a histogram of a few hundred intervals, or its category; missing cells have a
  code of their own, the last one of their column.
- *u* is the normal score of a number in the reference, in 32nds and cut off at two and a half standard deviations; of a
  category, one for each matrix column, 64ths of whether the cell has it less how often the reference does.
- *w* = 1 - cos(1.5 u) of a number, in 32nds: it shows spread, and dependence that no correlation shows.
- *o* says whether the cell of an input column is observed.

All are whole numbers, 0 where the cell is missing, so that sums of them are exact in any order.
"""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.persistence.records import INFINITE, expect, expect_range, expect_shape, stored
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.schema import Schema, number_as_category

__all__ = ["Axis", "Functions", "fit_functions", "wave"]

Codes = NDArray[np.uint16]
Single = NDArray[np.float32]

STEPS = 32.0
"""Whole steps per standard deviation of a score."""

LARGEST_STEP = 80
"""Steps of the largest score: two and a half standard deviations."""

CATEGORY_STEPS = 64.0
"""Whole steps of a category that a cell has."""

FREQUENCY = 1.5
"""Of w: a whole wave is a little narrower than the scores that are not cut off."""

N_QUANTILES = 256
"""Intervals of a column of numbers with about equally many values of the reference."""

N_SHOWN = 20
"""Intervals of equal width that are shown: all their limits are limits of codes."""

MAX_SINGLE = 12
"""Different values of a column of numbers up to which each has a code of its own, and is shown by itself."""

OUTER_STEPS = 2.0 ** (np.arange(1, 61) / 2.0)
"""Limits beyond the reference's values, in 64ths of the range of their middle nine tenths."""

MAX_PRODUCTS = 300
"""Matrix columns whose products are added up, at most: evenly chosen among more."""

TRIPLE_REACH = 48.0
"""Steps of the largest score in a product of three."""

MAX_TRIPLES = 10
"""Matrix columns up to which products of three are added up."""

HALF_GRID = 2_048
"""Cells on each side of the grid by which codes are looked up: few have more than one edge."""


class Grid(NamedTuple):
    """A grid over all numbers by which codes are found without a search, with small cells in the middle.

    Parameters
    ----------
    centre, per_unit : float
        With y = (x - centre) per_unit a number x is at y / (1 + |y|), between -1 and 1, on an even grid.
    codes : (cells,) array of int32
        Edges below those of each cell, -1 in cells with several edges. The first cell is that of missing cells.
    """

    centre: float
    per_unit: float
    codes: NDArray[np.int32]

    def cells_of(self, numbers: Vector) -> Indices:
        """Cell of each number, the first one for NaN. Where a number rises it never falls, in floating point either."""
        # NaN as a whole number is below all cells or is 0, whatever the platform.
        with np.errstate(over="ignore", invalid="ignore"):
            centred = (numbers - self.centre) * self.per_unit
            found = 1.0 - 1.0 / (np.abs(centred) + 1.0)
            np.copysign(found, centred, out=found)
            found *= HALF_GRID
            found += HALF_GRID + 1.0
            return found.astype(np.intp)


@stored
@dataclass(frozen=True, eq=False)
class Axis:
    """How the cells of one input column become codes, and codes become u.

    Parameters
    ----------
    edges : (codes - 1,) array
        Of numbers: a number has as many edges at or below it as its code says. Empty for categories.
    steps : (codes, matrix columns) array of int
        u of each code of observed cells.
    shown : (N_SHOWN + 1,) array
        Those of the edges that limit the intervals that are shown; empty where values are shown one by one.
    single : (values,) array
        Numbers that have a code of their own where they are few.
    """

    edges: Annotated[Vector, INFINITE]
    steps: Indices
    shown: Vector = field(default_factory=lambda: np.zeros(0))
    single: Vector = field(default_factory=lambda: np.zeros(0))

    def __getstate__(self) -> dict[str, Any]:
        """Fields alone: what is derived from them is several times as large."""
        return {"edges": self.edges, "steps": self.steps, "shown": self.shown, "single": self.single}

    @property
    def is_indicator(self) -> bool:
        """Whether values are one of two: no function of them shows more than another."""
        return not len(self.edges) or len(self.single) == 2

    @property
    def n_codes(self) -> int:
        """Codes of observed cells."""
        return len(self.steps)

    @cached_property
    def limits(self) -> Vector:
        """Edge above each code; NaN, which no number is above, for the last number's and that of missing cells."""
        return np.append(self.edges, [np.nan, np.nan])

    @cached_property
    def grid(self) -> Grid:
        """Grid by which numbers are coded."""
        return _make_grid(self.edges)

    def codes_of(self, numbers: Vector) -> Indices:
        """Code of each number: of how many edges it is not below; one more than all edges where it is missing (NaN)."""
        codes = self.grid.codes.take(self.grid.cells_of(numbers), mode="clip").astype(np.intp)
        unknown = np.flatnonzero(codes < 0)
        codes += numbers >= self.limits.take(codes, mode="clip")
        codes[unknown] = self.edges.searchsorted(numbers[unknown], side="right")
        return codes

    @cached_property
    def is_new(self) -> Mask:
        """Whether a code, that of missing cells last, is that of numbers beside the few ones of the reference."""
        found = np.full(self.n_codes + 1, len(self.single) > 0)
        found[[*self.codes_of(self.single), -1]] = False
        return found

    def tally_new(self, numbers: Vector) -> dict[str, int]:
        """Count of each number that is none of the few ones of the reference."""
        found, counts = np.unique(numbers[self.is_new[self.codes_of(numbers)]], return_counts=True)
        return dict(zip(map(number_as_category, found.tolist()), counts.tolist(), strict=True))

    def check_stored(self) -> None:
        """Check what was read from a file: edges that rise, and scores within reach."""
        expect_shape(self.edges, (-1,), "edges")
        expect_shape(self.steps, (-1, -1), "scores of codes")
        expect(bool(np.all(np.diff(self.edges) > 0)), "edges that rise")
        expect(len(self.steps) < 2**16, "fewer codes")
        expect(len(self.shown) in {0, N_SHOWN + 1}, f"{N_SHOWN} intervals")
        expect(len(self.single) <= MAX_SINGLE and bool(np.isfinite(self.single).all()), f"up to {MAX_SINGLE} values")
        expect(bool(np.isin(self.shown, self.edges).all()), "intervals between edges")
        expect(not len(self.edges) or self.steps.shape == (len(self.edges) + 1, 1), "one score of each code")
        expect_range(self.steps, -LARGEST_STEP, LARGEST_STEP + 1, "scores")


@stored
@dataclass(frozen=True, eq=False)
class Functions:
    """What decides how a row counts.

    Parameters
    ----------
    axes : tuple of Axis
        Of each input column.
    is_number : (input columns,) array of bool
    """

    axes: tuple[Axis, ...]
    is_number: Mask

    def check_stored(self) -> None:
        """Check what was read from a file: an axis for each column."""
        expect_shape(self.is_number, (len(self.axes),), "kinds of columns")
        for axis, is_number in zip(self.axes, self.is_number.tolist(), strict=True):
            expect(not is_number or axis.steps.shape == (len(axis.edges) + 1, 1), "edges of columns of numbers")

    def check_fits(self, schema: Schema) -> None:
        """Check that what was read from a file belongs to these columns."""
        expect(np.array_equal(self.owner, schema.owner), "functions of the schema's matrix columns")
        is_number = [column.kind == "number" for column in schema.columns]
        expect(self.is_number.tolist() == is_number, "functions of the columns")

    @cached_property
    def owner(self) -> Indices:
        """Input column behind each matrix column."""
        return np.repeat(np.arange(len(self.axes)), [axis.steps.shape[1] for axis in self.axes])

    @cached_property
    def starts(self) -> Indices:
        """Where the codes of each column begin among those of all, with the code of missing cells; and the end."""
        return np.cumsum([0, *(axis.n_codes + 1 for axis in self.axes)])

    @cached_property
    def new(self) -> Indices:
        """Places of codes of numbers beside the few ones of the reference, among those of all."""
        return np.flatnonzero(np.concatenate([axis.is_new for axis in self.axes]))

    @cached_property
    def columns(self) -> Indices:
        """Matrix columns whose products are added up: all, or as many as are affordable."""
        return np.unique(
            np.linspace(0, len(self.owner) - 1, min(len(self.owner), MAX_PRODUCTS)).round().astype(np.intp)
        )

    @cached_property
    def inputs(self) -> Indices:
        """Input columns whose o are added up: those of `columns`, and those without any value, up to as many."""
        own = np.unique(self.owner[self.columns])
        empty = np.setdiff1d(np.arange(len(self.axes)), self.owner)
        return np.sort(np.concatenate([own, empty[: MAX_PRODUCTS - len(own)]])).astype(np.intp)

    @cached_property
    def numbers(self) -> Indices:
        """Those of `columns`, by place among them, that are numbers with more than two values: w is of these."""
        several = np.array([not axis.is_indicator for axis in self.axes], dtype=bool)
        return np.flatnonzero(several[self.owner[self.columns]])

    @cached_property
    def indicators(self) -> Matrix:
        """Lower value of u, and how far the upper one is above it, of functions with two values: (2, functions).

        NaN of all others.
        """
        found = np.full((2, len(self.owner)), np.nan)
        for place, axis in enumerate(self.axes):
            if axis.is_indicator and axis.steps.size:
                values = axis.steps[axis.codes_of(axis.single)] if len(axis.edges) else axis.steps
                low, high = values.min(axis=0), values.max(axis=0)
                found[:, self.owner == place] = low, np.maximum(high - low, 1)
        return np.hstack([found[:, self.columns], np.full((2, len(self.numbers)), np.nan)])

    @cached_property
    def function_owner(self) -> Indices:
        """Place among `inputs` of the column that each u and w is of."""
        own = np.searchsorted(self.inputs, self.owner[self.columns])
        return np.concatenate([own, own[self.numbers]])

    @cached_property
    def pairs(self) -> tuple[Indices, Indices]:
        """First and second of each two of `columns` of which products with a third are added up; none where many."""
        few = len(self.columns) <= MAX_TRIPLES
        first, second = np.triu_indices(len(self.columns) if few else 0, 1)
        own = self.function_owner
        kept = own[first] != own[second]
        return first[kept], second[kept]

    @cached_property
    def tables(self) -> list[Single]:
        """Functions u and w of each code of each input column, 0 for the missing one: (functions, codes + 1) arrays."""
        return [self._table(place) for place in range(len(self.axes))]

    def _table(self, place: int) -> Single:
        axis = self.axes[place]
        chosen = np.isin(np.flatnonzero(self.owner == place), self.columns)
        values = axis.steps[:, chosen].astype(np.float32)
        if not axis.is_indicator:
            values = np.hstack([values, wave(values)])
        return np.ascontiguousarray(np.vstack([values, np.zeros((1, values.shape[1]), dtype=np.float32)]).T)

    @cached_property
    def lines(self) -> list[tuple[int, Indices]]:
        """Line of o, -1 where there is none, and lines of u and w of each input column in a block of [u | w | o]'."""
        own = {place: number for number, place in enumerate(self.inputs.tolist())}
        size, found = len(self.function_owner), []
        for place in range(len(self.axes)):
            number = own.get(place, -1)
            found.append((size + number if place in own else -1, np.flatnonzero(self.function_owner == number)))
        return found

    @cached_property
    def packed(self) -> tuple[Any, ...]:
        """Columns of numbers for machine code: columns, grids, axes and lines of `compiled.fill_numbers`."""
        numbers = np.flatnonzero(self.is_number)
        ends = np.stack([self.starts[numbers], self.starts[numbers + 1] - 1], axis=1)
        limits, tables = np.full(self.starts[-1], np.nan), np.zeros((2, self.starts[-1]), dtype=np.float32)
        lines = np.full((len(numbers), 3), -1)
        for number, (place, (first, last)) in enumerate(zip(numbers.tolist(), ends.tolist(), strict=True)):
            limits[first : last + 1] = self.axes[place].limits
            observed, own = self.lines[place]
            if observed >= 0:
                # A column without w has u written twice.
                lines[number] = observed, own[0], own[-1]
                tables[:, first : last + 1] = self.tables[place][[0, -1]]
        grids = tuple(map(np.array, zip(*(self.axes[place].grid for place in numbers.tolist()), strict=True)))
        return np.searchsorted(self.owner, numbers), grids, (ends, limits, *tables), lines

    def __getstate__(self) -> dict[str, Any]:
        """Fields alone: what is derived from them is several times as large."""
        return {"axes": self.axes, "is_number": self.is_number}

    @property
    def size(self) -> int:
        """Number of functions: u, w and o together."""
        return len(self.function_owner) + len(self.inputs)

    def codes(self, rows: Encoded) -> Codes:
        """Code of each cell: (input columns, rows)."""
        found = np.empty((len(self.axes), len(rows)), dtype=np.uint16)
        for place in range(len(self.axes)):
            found[place] = self.codes_of(place, rows)
        return found

    def codes_of(self, place: int, rows: Encoded | Matrix) -> Indices:
        """Code of each cell of one input column: (rows,)."""
        values = rows.values if isinstance(rows, Encoded) else rows
        first, last = np.searchsorted(self.owner, [place, place + 1])
        if first == last and isinstance(rows, Encoded):
            # Of a column without a value in the reference it is only known which cells are missing.
            return rows.missing[:, place].astype(np.intp)
        own = values[:, first:last]
        if self.is_number[place]:
            return self.axes[place].codes_of(np.ascontiguousarray(own[:, 0]))
        codes = np.zeros(len(values), dtype=np.intp)
        for category in range(1, last - first):
            np.maximum(codes, category * (own[:, category] > 0), out=codes)
        codes[np.isnan(own[:, :1]).any(axis=1)] = self.axes[place].n_codes
        return codes

    def fill(self, place: int, codes: NDArray[np.integer], block: Single) -> None:
        """Write the functions of one input column into a block of [u | w | o]': (functions, rows)."""
        observed, lines = self.lines[place]
        for line, table in zip(lines.tolist(), self.tables[place], strict=True):
            np.take(table, codes, out=block[line], mode="clip")
        if observed >= 0:
            np.not_equal(codes, self.axes[place].n_codes, out=block[observed], casting="unsafe")

    def values(self, codes: Codes) -> tuple[Single, Single]:
        """Functions u and w of some rows, (rows, functions), and o, (rows, inputs)."""
        block = np.empty((self.size, codes.shape[1]), dtype=np.float32)
        for place in self.inputs.tolist():
            self.fill(place, codes[place], block)
        n_functions = len(self.function_owner)
        return block[:n_functions].T, block[n_functions:].T

    def bounded(self, values: Single) -> Single:
        """Scores u of some rows as products of three have it: no heavier than one and a half standard deviations."""
        found: Single = np.clip(values[:, : len(self.columns)], -TRIPLE_REACH, TRIPLE_REACH)
        return found

    def fingerprint(self) -> bytes:
        """Digest of every number that decides what a row contributes."""
        digest = hashlib.sha256(self.is_number.tobytes())
        for axis in self.axes:
            digest.update(repr(axis.steps.shape).encode() + axis.edges.tobytes() + axis.steps.tobytes())
        return digest.digest()


def wave(steps: NDArray[np.float32]) -> Single:
    """Function w of u, both in steps."""
    return np.rint(STEPS * (1.0 - np.cos(FREQUENCY / STEPS * steps.astype(float)))).astype(np.float32)


def fit_functions(rows: Encoded, schema: Schema) -> Functions:
    """Functions of the rows of a reference.

    Parameters
    ----------
    rows : Encoded
    schema : Schema
    """
    kinds = [column.kind for column in schema.columns]
    axes = []
    for place, kind in enumerate(kinds):
        values = rows.values[:, schema.owner == place]
        present = values[~rows.missing[:, place]]
        axes.append(_number_axis(present[:, 0]) if kind == "number" else _category_axis(present))
    return Functions(tuple(axes), np.array([kind == "number" for kind in kinds], dtype=bool))


def _make_grid(edges: Vector) -> Grid:
    """Grid around the middle one of the inner edges, half of which are in the middle half of its cells."""
    inner = edges[len(OUTER_STEPS) : -len(OUTER_STEPS)]
    places = np.array([len(inner) // 4, len(inner) // 2, -1 - len(inner) // 4])
    low, centre, high = inner[places] if len(inner) else np.zeros(3)
    with np.errstate(all="ignore"):
        per_unit = 2.0 / (high - low)
    if not np.isfinite([centre, per_unit]).all():
        centre, per_unit = 0.0, 1.0
    counts = np.bincount(Grid(centre, per_unit, np.zeros(0, np.int32)).cells_of(edges), minlength=2 * HALF_GRID + 2)
    codes = np.where(counts > 1, -1, np.cumsum(counts) - counts)
    codes[0] = len(edges) + 1
    return Grid(centre, per_unit, codes.astype(np.int32))


def _category_axis(present: Matrix) -> Axis:
    """Axis of categories, one matrix column of 0 and a positive number each; of an empty column, a code without u."""
    width = present.shape[1]
    if not width:
        return Axis(np.zeros(0), np.zeros((1, 0), dtype=np.intp))
    share = (present > 0).mean(axis=0) if len(present) else np.zeros(width)
    steps = np.rint(CATEGORY_STEPS * (np.eye(width) - share)).astype(np.intp)
    return Axis(np.zeros(0), steps.reshape(width, width))


def _number_axis(present: Vector) -> Axis:
    values, counts = np.unique(present, return_counts=True)
    few = len(values) <= MAX_SINGLE
    shown, single = (np.zeros(0), values) if few else (shown_edges(values, counts), np.zeros(0))
    edges = _edges(values, counts, shown)
    codes = np.searchsorted(edges, values, side="right")
    own = np.bincount(codes, counts, len(edges) + 1)
    share = (np.cumsum(own) - 0.5 * own) / own.sum()
    scores = ndtri(np.clip(share, 0.5 / own.sum(), 1.0 - 0.5 / own.sum()))
    mean = np.average(scores, weights=own)
    deviation = np.sqrt(np.average((scores - mean) ** 2, weights=own))
    scores = (scores - mean) / deviation if deviation > 0 else np.sign(np.arange(len(own)) - codes[0])
    steps = np.clip(np.rint(STEPS * scores), -LARGEST_STEP, LARGEST_STEP)
    return Axis(edges, steps.astype(np.intp)[:, None], shown, single)


def _edges(values: Vector, counts: Indices, shown: Vector) -> Vector:
    """Limits between the codes of a column whose different values occur so often."""
    if len(shown):
        beyond = [values[0], np.nextafter(values[-1], np.inf)]
        inner = np.concatenate([_inner_edges(values, counts), shown, beyond])
    else:
        # What lies between few values has codes of its own.
        apart = np.diff(values).min() if len(values) > 1 else max(abs(values[0]), 1.0) / 2.0**20
        reach = apart / 32.0
        inner = np.concatenate([values - reach, values + reach])
    return np.unique(np.concatenate([inner, _outer_edges(values, counts)]))


def _inner_edges(values: Vector, counts: Indices) -> Vector:
    """Limits halfway between values: between all, or at quantiles, near the ends and around frequent ones."""
    between = values[:-1] + 0.5 * np.diff(values)
    # Halfway between neighbours in floating point is one of them.
    between = np.where(between > values[:-1], between, values[1:])
    if len(values) <= N_QUANTILES:
        return between
    reached, total = np.cumsum(counts)[:-1], counts.sum()
    few = np.array([1, 2, 3, 4, 6, 8, 12, 16])
    wanted = np.concatenate([np.arange(1, N_QUANTILES) / N_QUANTILES * total, few, total - few])
    at = np.searchsorted(reached, np.clip(wanted, 1, reached[-1]))
    often = np.flatnonzero(counts >= total / N_QUANTILES)
    found: Vector = between[np.unique(np.concatenate([at, often[often > 0] - 1, often[often < len(between)]]))]
    return found


def shown_edges(values: Vector, counts: Indices) -> Vector:
    """Limits of the intervals that are shown: of equal width, between the 0.5 % and the 99.5 % quantile."""
    low, high = _quantiles(values, counts, (0.005, 0.995))
    # Nearly all values may be one.
    return np.linspace(low, high, N_SHOWN + 1) if low < high else np.linspace(values[0], values[-1], N_SHOWN + 1)


def _outer_edges(values: Vector, counts: Indices) -> Vector:
    low, high = _quantiles(values, counts, (0.05, 0.95))
    width = high - low or values[-1] - values[0] or max(abs(values[0]), 1.0)
    with np.errstate(over="ignore"):
        away = width / 64.0 * OUTER_STEPS
        found: Vector = np.concatenate([values[0] - away, values[-1] + away])
    return found[np.isfinite(found)]


def _quantiles(values: Vector, counts: Indices, shares: tuple[float, float]) -> list[float]:
    reached = np.cumsum(counts)
    found: list[float] = values[np.searchsorted(reached, np.array(shares) * reached[-1])].tolist()
    return found
