"""Statistics of observed cells alone: nothing of them depends on how missing cells are filled.

With z the centred normal scores of a row, o its observed cells, and everything 0 where a cell is missing:

- u, the score in 32nds, cut off at two and a half standard deviations;
- w, its absolute value, of numbers alone: that of a category says nothing new. Squares would say the same, but products
  of two squares have tails so heavy that hundreds of rows do not tell their variance;
- o itself, for each input column.

The sums over rows of all products of two of these give, over the rows that have both cells, the means of u_i and w_i, and
how u_i, w_i and o_i depend on u_j, w_j and o_j: skewness, spread of one number along another, tails that go together, and
whether values are missing at random. Where columns are few, products of three different u are added up as well.

All are whole numbers so small that sums of them are exact.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Mask, Matrix

__all__ = ["MAX_CROSSED", "MAX_TRIPLED", "STEPS", "TRIPLE_REACH", "CrossedSums", "add_crossed", "add_triples"]

MAX_CROSSED = 60
"""Matrix columns whose products are looked at, at most: none of a wider table."""

MAX_TRIPLED = 10
"""Matrix columns of which products of three are looked at, at most."""

STEPS = 32.0
"""Whole steps per unit of a score."""

REACH = 80.0
"""Steps of the largest score."""

TRIPLE_REACH = 48.0
"""Steps of the largest score in a product of three."""

BLOCK = 256
"""Rows added up at once: sums of their products fit into the 24 bits of single precision."""


class CrossedSums:
    """Adds up the products of observed cells.

    Parameters
    ----------
    owner : (columns,) array of int
        Input column behind each matrix column.
    is_category : (columns,) array of bool
    n_inputs : int
    """

    def __init__(self, owner: Indices, is_category: Mask, n_inputs: int) -> None:
        few = len(owner) <= MAX_CROSSED
        self.owner, self.n_inputs = owner, n_inputs if few else 0
        self.numbers = np.flatnonzero(~is_category) if few else np.zeros(0, dtype=np.intp)
        self.n_columns = len(owner) if few else 0

    @property
    def size(self) -> int:
        """Number of u, w and o."""
        return self.n_columns + len(self.numbers) + self.n_inputs

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

    def zeros(self) -> dict[str, NDArray[np.float64]]:
        """Sums over no rows."""
        return {"crossed": np.zeros((self.size, self.size)), "triples": np.zeros((2, len(self.triples[0])))}

    def add(self, sums: Mapping[str, NDArray[np.float64]], steps: Matrix, observed: Matrix, code: Any = None) -> None:
        """Add rows to sums.

        Parameters
        ----------
        sums : mapping
            Added to.
        steps : (rows, columns) array of single precision
            u.
        observed : (rows, input columns) array of single precision
            o.
        code : module, optional
            Has the functions of this module in machine code.
        """
        if not self.size:
            return
        cross, triple = (add_crossed, add_triples) if code is None else (code.add_crossed, code.add_triples)
        cross(steps, observed, self.numbers, sums["crossed"])
        if len(self.triples[0]):
            triple(steps, observed, self.owner, *self.triples, sums["triples"])


def steps_of(scores: Matrix) -> NDArray[np.float32]:
    """Scores in whole steps, cut off."""
    return np.clip(np.rint(scores * STEPS), -REACH, REACH).astype(np.float32)


def add_crossed(steps: Any, observed: Any, numbers: Any, crossed: Any) -> None:
    """Add the products of u, w and o, in this order.

    Parameters
    ----------
    steps, observed : arrays
        As in `CrossedSums.add`.
    numbers : (numbers,) array of int
        Matrix columns that have a w.
    crossed : (size, size) array
        Added to.
    """
    n_columns, n_numbers = steps.shape[1], len(numbers)
    block = np.zeros((BLOCK, len(crossed)), np.float32)
    for start in range(0, len(steps), BLOCK):
        stop = min(start + BLOCK, len(steps))
        if stop - start < BLOCK:
            block[:] = 0.0
        own = steps[start:stop]
        block[: stop - start, :n_columns] = own
        for place in range(n_numbers):
            block[: stop - start, n_columns + place] = np.abs(own[:, numbers[place]])
        block[: stop - start, n_columns + n_numbers :] = observed[start:stop]
        crossed += np.dot(block.T, block)


def add_triples(steps: Any, observed: Any, owner: Any, first: Any, second: Any, third: Any, triples: Any) -> None:
    """Add the products of three u, and the rows that have all three.

    Parameters
    ----------
    steps, observed : arrays
        As in `CrossedSums.add`.
    owner : (columns,) array of int
    first, second, third : (triples,) arrays of int
    triples : (2, triples) array
        Added to.
    """
    bounded = np.clip(steps, -TRIPLE_REACH, TRIPLE_REACH).astype(np.float64)
    for place in range(len(first)):
        one, two, three = first[place], second[place], third[place]
        product = bounded[:, one] * bounded[:, two] * bounded[:, three]
        triples[0, place] += product.sum()
        common = observed[:, owner[one]] * observed[:, owner[two]] * observed[:, owner[three]]
        triples[1, place] += common.sum()
