"""Statistics of observed cells alone: nothing of them depends on how missing cells are filled.

With z the centred normal scores of a row, o its observed cells, and everything 0 where a cell is missing:

- u, the score in 32nds, cut off at two and a half standard deviations;
- w = 1 - cos(1.5 u), in 32nds, of numbers alone: that of a category is redundant. Products of such Fourier features
  show dependence that no correlation shows. Squares show less of it, and products of two squares have tails so heavy
  that hundreds of rows do not estimate their variance;
- o itself, for each input column;
- c and s, cosine and sine of 1.5 u^2, in 32nds, of numbers where matrix columns are few. A wave of the squared distance
  of two columns from the middle, of whatever phase, is made of products of them: it finds rows that come to lie on a
  circle, or in a ring, which no function of each column alone times one of the other finds as clearly.

The sums over rows of all products of two of these give, over the rows that have both cells, the means of u_i and w_i
and how u_i, w_i and o_i depend on u_j, w_j and o_j: skewness, spread of one number along another, tails that go
together, and whether values are missing at random. Where columns are few, products of two c and s, of three u, and of
two u and the o of a third column are added up as well: cells may be missing by what two columns are together.

All are whole numbers so small that sums of them are exact.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Mask, Matrix

__all__ = [
    "FOLDED",
    "FREQUENCY",
    "MAX_CROSSED",
    "MAX_MULTIPLIED",
    "MAX_RINGS",
    "MAX_TRIPLED",
    "STEPS",
    "TRIPLE_REACH",
    "CrossedSums",
    "add_crossed",
    "add_triples",
    "fill_waves",
]

Single = NDArray[np.float32]

MAX_CROSSED = 300
"""Input columns whose missing cells are looked at beside the values of others, at most: none of a wider table.

As many matrix columns are these others, at most.
"""

MAX_MULTIPLIED = 60
"""Matrix columns whose products with each other are looked at, at most."""

MAX_RINGS = 20
"""Matrix columns up to which rings of two of them are looked at."""

MAX_TRIPLED = 10
"""Matrix columns of which products of three are looked at, at most."""

STEPS = 32.0
"""Whole steps per unit of a score."""

MAX_STEPS_OBSERVED = 80.0
"""Steps of the largest score."""

FREQUENCY = 1.5
"""Of w: the whole wave is a little narrower than the scores that are not cut off."""

FOLDED = np.rint(STEPS * (1.0 - np.cos(FREQUENCY * np.arange(MAX_STEPS_OBSERVED + 1) / STEPS))).astype(np.float32)
"""w of each absolute value of u, in steps."""

_WAVE = FREQUENCY * (np.arange(MAX_STEPS_OBSERVED + 1) / STEPS) ** 2
COSINES, SINES = (np.rint(STEPS * wave(_WAVE)).astype(np.float32) for wave in (np.cos, np.sin))
"""c and s of each absolute value of u, in steps."""

TRIPLE_REACH = 48.0
"""Steps of the largest score in a product of three."""

CROSSED_ROWS = 256
"""Rows added up at once: sums of their products fit into the 24 bits of single precision."""

JOINT_ROWS = 2_048
"""The same of products of two u, which are no larger than that of a u with itself: 6,400."""


class CrossedSums:
    """Adds up the products of observed cells.

    Parameters
    ----------
    owner : (columns,) array of int
        Input column behind each matrix column.
    is_category : (columns,) array of bool
    n_inputs : int

    Attributes
    ----------
    columns : (n_columns,) array of int
        Matrix columns that u is of.
    owner : (n_columns,) array of int
        Input column behind each of these.
    numbers : (numbers,) array of int
        Those of them that w is of.
    """

    def __init__(self, owner: Indices, is_category: Mask, n_inputs: int) -> None:
        self.has_products = len(owner) <= MAX_MULTIPLIED
        self.columns = _choose(is_category) if n_inputs <= MAX_CROSSED else np.zeros(0, dtype=np.intp)
        self.n_columns, self.n_inputs = len(self.columns), n_inputs if len(self.columns) else 0
        self.is_whole = 0 < self.n_columns == len(owner)
        self.owner, self.numbers = owner[self.columns], np.flatnonzero(~is_category[self.columns])

    @property
    def size(self) -> int:
        """Number of u, w and o."""
        return self.n_columns + len(self.numbers) + self.n_inputs

    @cached_property
    def rings(self) -> tuple[Indices, Indices]:
        """First and second of each two numbers, as places among `numbers`, whose rings are looked at."""
        first, second = np.triu_indices(len(self.numbers) if self.n_columns <= MAX_RINGS else 0, 1)
        return first.astype(np.intp), second.astype(np.intp)

    @cached_property
    def triples(self) -> tuple[Indices, Indices, Indices]:
        """First, second and third of each three different matrix columns, of different input columns."""
        if not 3 <= self.n_columns <= MAX_TRIPLED:
            none = np.zeros(0, dtype=np.intp)
            return none, none, none
        places = np.arange(self.n_columns)
        first, second, third = (grid.ravel() for grid in np.meshgrid(places, places, places, indexing="ij"))
        a, b, c = (self.owner[part] for part in (first, second, third))
        kept = (first < second) & (second < third) & (a != b) & (b != c) & (a != c)
        return first[kept], second[kept], third[kept]

    @cached_property
    def joint(self) -> tuple[Indices, Indices]:
        """First and second of each two matrix columns, of different input columns, that may select cells together."""
        few = 2 <= self.n_columns <= MAX_TRIPLED and self.n_inputs > 2
        first, second = np.triu_indices(self.n_columns if few else 0, 1)
        kept = self.owner[first] != self.owner[second]
        return first[kept].astype(np.intp), second[kept].astype(np.intp)

    def zeros(self) -> dict[str, NDArray[np.float64]]:
        """Sums over no rows."""
        n_waves = 3 * len(self.numbers) if len(self.rings[0]) else 0
        return {
            "crossed": np.zeros((self.size, self.size)),
            "joint": np.zeros((2, len(self.joint[0]), self.n_inputs if len(self.joint[0]) else 0)),
            "rings": np.zeros((n_waves, n_waves)),
            "triples": np.zeros((2, len(self.triples[0]))),
        }

    def rows(self, scores: Matrix, missing: Mask) -> Single:
        """u, w and o of some rows, one after the other: (rows, size).

        Parameters
        ----------
        scores : (rows, columns) array
            Centred scores, 0 where missing.
        missing : (rows, input columns) array of bool
        """
        found = np.empty((len(scores), self.size), dtype=np.float32)
        if self.size:
            some = scores if self.is_whole else scores[:, self.columns]
            found[:, : self.n_columns] = np.clip(np.rint(some * STEPS), -MAX_STEPS_OBSERVED, MAX_STEPS_OBSERVED)
            found[:, self.n_columns : -self.n_inputs] = FOLDED[np.abs(found[:, self.numbers]).astype(np.intp)]
            found[:, -self.n_inputs :] = ~missing
        return found

    def waves(self, rows: Single, code: Any = None) -> Single:
        """c, s and o of the numbers of some rows, one after the other: (rows, 3 numbers)."""
        found = np.empty((len(rows), 3 * len(self.numbers)), dtype=np.float32)
        fill = fill_waves if code is None else code.fill_waves
        fill(rows, self.numbers, self.size - self.n_inputs + self.owner[self.numbers], COSINES, SINES, found)
        return found

    def add(self, sums: Mapping[str, NDArray[np.float64]], rows: Single, code: Any = None) -> None:
        """Add rows to sums.

        Parameters
        ----------
        sums : mapping
            Added to.
        rows : (rows, size) array
            From `rows`.
        code : module, optional
            Has the functions of this module in machine code.
        """
        cross, triple = (add_crossed, add_triples) if code is None else (code.add_crossed, code.add_triples)
        if self.size:
            cross(rows, sums["crossed"])
        if len(self.rings[0]):
            cross(self.waves(rows, code), sums["rings"])
        if len(self.joint[0]):
            self._add_joint(rows, sums["joint"])
        if len(self.triples[0]):
            triple(rows, self.size - self.n_inputs + self.owner, *self.triples, sums["triples"])

    def _add_joint(self, rows: Single, joint: NDArray[np.float64]) -> None:
        """Add the products of two u with each o, and the rows that have the two and each column."""
        for start in range(0, len(rows), JOINT_ROWS):
            block = np.ascontiguousarray(rows[start : start + JOINT_ROWS].T)
            present = block[self.size - self.n_inputs :]
            for layer, values, (first, second) in ((0, block, self.joint), (1, present, self._joint_inputs)):
                joint[layer] += np.dot(values[first] * values[second], present.T)

    @cached_property
    def _joint_inputs(self) -> tuple[Indices, Indices]:
        """Input columns of `joint`."""
        return self.owner[self.joint[0]], self.owner[self.joint[1]]


def _choose(is_category: Mask) -> Indices:
    """Matrix columns that u is of: all where they are few, else numbers first, and categories evenly spaced."""
    if len(is_category) <= MAX_CROSSED:
        return np.arange(len(is_category))
    numbers, others = np.flatnonzero(~is_category)[:MAX_CROSSED], np.flatnonzero(is_category)
    n_others = MAX_CROSSED - len(numbers)
    places = ((np.arange(n_others) + 0.5) * len(others) / max(n_others, 1)).astype(np.intp)
    return np.sort(np.concatenate([numbers, others[places]]))


def add_crossed(rows: Any, crossed: Any) -> None:
    """Add the products of u, w and o.

    Parameters
    ----------
    rows : (rows, size) array of single precision
    crossed : (size, size) array
        Added to.
    """
    for start in range(0, len(rows), CROSSED_ROWS):
        block = rows[start : start + CROSSED_ROWS]
        crossed += np.dot(block.T, block)


def fill_waves(rows: Any, numbers: Any, present: Any, cosines: Any, sines: Any, found: Any) -> None:
    """Write c, s and o of some rows.

    Parameters
    ----------
    rows : (rows, size) array of single precision
    numbers, present : (numbers,) arrays of int
        Places of the u and of the o of each number.
    cosines, sines : (steps,) arrays
        c and s of each absolute value of u.
    found : (rows, 3 numbers) array
        Written to.
    """
    size, steps, there = len(numbers), np.abs(rows[:, numbers]).astype(np.intp), rows[:, present]
    found[:, :size], found[:, size : 2 * size] = cosines[steps] * there, sines[steps] * there
    found[:, 2 * size :] = there


def add_triples(rows: Any, present: Any, first: Any, second: Any, third: Any, triples: Any) -> None:
    """Add the products of three u, and the rows that have all three.

    Parameters
    ----------
    rows : (rows, size) array of single precision
    present : (columns,) array of int
        Place of the o of each matrix column.
    first, second, third : (triples,) arrays of int
    triples : (2, triples) array
        Added to.
    """
    bounded = np.clip(rows[:, : len(present)], -TRIPLE_REACH, TRIPLE_REACH).astype(np.float64)
    for place in range(len(first)):
        one, two, three = first[place], second[place], third[place]
        triples[0, place] += (bounded[:, one] * bounded[:, two] * bounded[:, three]).sum()
        common = rows[:, present[one]] * rows[:, present[two]] * rows[:, present[three]]
        triples[1, place] += common.sum()
