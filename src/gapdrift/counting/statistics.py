"""The statistics of a row, defined once.

With z the centred normal scores of a row, o its observed and m its missing cells, and S the conditional covariance of
the missing cells under the Gaussian model:

- *location*: the expected scores e, which are z in o and E[z_m | z_o] in m;
- *dependence*: for every pair i <= j the expected product e_i e_j + h_ij, where h, the hidden part, is what products of
  expected scores lack on average over the reference seen through this row's missing cells;
- *bins*: the shares of the row's completions that are nearest to each centre. A complete row is its own completion; an
  incomplete one has several, e plus the residuals of donors that the row's observed values choose;
- *rates*: 1 for each missing input column, 0 for each observed one;
- *patterns*: 1 for each pair of input columns that are missing together, and the squared number of missing columns.

`tests/naive.py` has the same in loops. Evidence holds the sums over rows of these statistics and of their squares, and
the sums of products that joint tests need. `ScoreSums` adds up those that follow from expected scores alone, of numpy's
rows and of machine code's alike; `sums_of` and `squares_of` put all in the order of `Layout`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Mask, Matrix, Vector

__all__ = [
    "Layout",
    "ScoreSums",
    "add_products",
    "missing_statistics",
    "power_means",
    "squares_of",
    "sums_of",
    "value_statistics",
]

Sums = Mapping[str, NDArray[np.float64]]

SQUARE_BITS = 14
"""Bits of a squared score: sums of products of squares are then exact, in whatever order they are added up."""


PRODUCT_ROWS = 1_024
"""Rows whose products are added up at once."""


@dataclass(frozen=True)
class Layout:
    """Where each kind of statistic stands in a vector of all of them.

    Parameters
    ----------
    location, dependence, bins, rates, patterns : slice
    n_paired, n_missing_paired : int
        Matrix columns whose pairs are compared, and input columns compared for being missing together.

    Examples
    --------
    >>> layout = Layout.of(n_columns=3, n_paired=3, n_bins=4, n_inputs=2, n_missing_paired=2)
    >>> layout.dependence, layout.patterns
    (slice(3, 9, None), slice(15, 17, None))
    """

    location: slice
    dependence: slice
    bins: slice
    rates: slice
    patterns: slice
    n_paired: int
    n_missing_paired: int

    @classmethod
    def of(cls, n_columns: int, n_paired: int, n_bins: int, n_inputs: int, n_missing_paired: int) -> "Layout":
        """Layout of the given numbers of columns and bins."""
        n_pairs = n_paired * (n_paired + 1) // 2
        n_patterns = n_missing_paired * (n_missing_paired - 1) // 2 + 1
        ends = np.cumsum([0, n_columns, n_pairs, n_bins, n_inputs, n_patterns]).tolist()
        location, dependence, bins, rates, patterns = (slice(start, stop) for start, stop in pairwise(ends))
        return cls(location, dependence, bins, rates, patterns, n_paired, n_missing_paired)

    @property
    def size(self) -> int:
        """Number of statistics."""
        return int(self.patterns.stop)

    @property
    def values(self) -> slice:
        """Statistics of the values: location, dependence and bins."""
        return slice(0, self.bins.stop)

    @property
    def missingness(self) -> slice:
        """Statistics of what is missing: rates and patterns."""
        return slice(self.rates.start, self.patterns.stop)

    @property
    def pairs(self) -> tuple[Indices, Indices]:
        """First and second of each pair, as places among the paired columns; a column with itself included."""
        first, second = np.triu_indices(self.n_paired)
        return first, second

    @property
    def missing_pairs(self) -> tuple[Indices, Indices]:
        """First and second of each pair, as places among the input columns compared for being missing together."""
        first, second = np.triu_indices(self.n_missing_paired, k=1)
        return first, second


class ScoreSums:
    """Adds up the statistics that follow from the expected scores of rows.

    Parameters
    ----------
    n_columns : int
    paired : (n_paired,) array of int
        Matrix columns whose pairs are compared.
    largest : (columns,) array
        Largest score of each matrix column.
    """

    def __init__(self, n_columns: int, paired: Indices, largest: Vector) -> None:
        self.n_columns, self.paired = n_columns, paired
        # Products of squares, summed up over millions of rows, fit into the 53 bits of a double: a square plus this
        # number, less this number, has lost its last digits. Each column has its own: rare values have scores so large
        # that a unit for all would leave nothing of the squares of a category.
        units = 2.0 ** (np.ceil(2.0 * np.log2(np.maximum(largest[paired], 1.0))) - SQUARE_BITS)
        self._rounding = 1.5 * 2.0**52 * units

    def zeros(self) -> dict[str, NDArray[np.float64]]:
        """Sums over no rows."""
        n_paired = len(self.paired)
        return {
            "location": np.zeros(self.n_columns),
            "location_squares": np.zeros(self.n_columns),
            "scatter": np.zeros((n_paired, n_paired)),
            "squares": np.zeros((n_paired, n_paired)),
        }

    def add(self, sums: Sums, expected: Matrix, code: Any = None) -> None:
        """Add rows of expected scores to sums, all of which are exact.

        Parameters
        ----------
        sums : mapping
            Added to.
        expected : (rows, columns) array
        code : module, optional
            Has the functions of this module in machine code.
        """
        paired = expected if len(self.paired) == expected.shape[1] else expected[:, self.paired]
        sums["location"][:] += np.ones(len(expected)) @ expected
        add = add_products if code is None else code.add_products
        add(paired, self._rounding, sums["scatter"], sums["squares"])
        if paired is expected:
            sums["location_squares"][:] = np.diag(sums["scatter"])
        else:
            sums["location_squares"][:] += (expected * expected).sum(axis=0)


def add_products(scores: Matrix, rounding: Vector, products: Matrix, squares: Matrix) -> None:
    """Add the products of scores, and those of their squares, so many rows at once that they stay in the cache.

    Parameters
    ----------
    scores : (rows, columns) array
    rounding : (columns,) array
        Added to squares and taken away again.
    products, squares : (columns, columns) arrays
        Added to.
    """
    for start in range(0, len(scores), PRODUCT_ROWS):
        block = scores[start : start + PRODUCT_ROWS]
        squared = (block * block + rounding) - rounding
        products += np.dot(block.T, block)
        squares += np.dot(squared.T, squared)


def sums_of(layout: Layout, sums: Sums, *, hidden: str = "hidden") -> Vector:
    """Sums of all statistics, in the order of the layout, out of the sums of evidence.

    With ``"conditional"`` for the hidden part of products they are those whose squares are known (`squares_of`).
    """
    products = sums["scatter"] + sums[hidden]
    return np.concatenate(
        [
            sums["location"],
            products[layout.pairs],
            sums["bins"],
            sums["missing"],
            sums["missing_pairs"][layout.missing_pairs],
            sums["n_missing"][:1],
        ]
    )


def squares_of(layout: Layout, sums: Sums) -> Vector:
    """Sums of the squares of all statistics, out of the sums of evidence.

    Products are squared with the conditional covariance for their hidden part: it has entries where both cells are
    missing only, so that their squares take no more time than they do.
    """
    return np.concatenate(
        [
            sums["location_squares"],
            sums["squares"][layout.pairs],
            np.diag(sums["bin_products"]),
            sums["missing"],
            sums["missing_pairs"][layout.missing_pairs],
            sums["n_missing"][1:],
        ]
    )


def value_statistics(layout: Layout, expected: Matrix, hidden: Matrix, bins: Matrix) -> Matrix:
    """Location, dependence and bins of each row, where all columns are paired: (rows, statistics).

    Parameters
    ----------
    layout : Layout
    expected : (rows, columns) array
    hidden : (rows, columns, columns) array
        Hidden part of the products.
    bins : (rows, bins) array
    """
    first, second = layout.pairs
    return np.column_stack([expected, expected[:, first] * expected[:, second] + hidden[:, first, second], bins])


def missing_statistics(layout: Layout, missing: Mask, paired: Indices) -> Matrix:
    """Rates and patterns of each row: (rows, statistics).

    Parameters
    ----------
    layout : Layout
    missing : (rows, input columns) array of bool
    paired : (n_missing_paired,) array of int
        Input columns compared for being missing together.
    """
    plain = missing.astype(float)
    first, second = (paired[places] for places in layout.missing_pairs)
    return np.column_stack([plain, plain[:, first] * plain[:, second], plain.sum(axis=1) ** 2])


def power_means(layout: Layout, expected: Matrix, paired: Indices, bins: Matrix, missing: Matrix) -> Matrix:
    """Means of the first four powers of all statistics over some rows: (4, statistics).

    The powers of a product are products of powers, so that those of all pairs are four matrix products; what is hidden
    is left out of them.

    Parameters
    ----------
    layout : Layout
    expected : (rows, columns) array
    paired : (n_paired,) array of int
    bins : (rows, bins) array
    missing : (rows, statistics of missingness) array
    """
    found = []
    parts = [expected, bins, missing]
    raised = [np.ones_like(part) for part in parts]
    for _ in range(4):
        raised = [power * part for power, part in zip(raised, parts, strict=True)]
        few = raised[0][:, paired]
        products = (few.T @ few)[layout.pairs] / len(expected)
        means = [power.mean(axis=0) for power in raised]
        found.append(np.concatenate([means[0], products, *means[1:]]))
    return np.stack(found)
