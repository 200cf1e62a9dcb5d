"""The sums of one side as arrays with names: all that tests read of evidence."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.functions import Functions

__all__ = ["Side"]


@dataclass(frozen=True, eq=False)
class Side:
    """Sums over the rows of a reference or of a window.

    Parameters
    ----------
    functions : Functions
    evidence : Evidence
    """

    functions: Functions
    evidence: Evidence

    @property
    def n_rows(self) -> int:
        """Rows of this side."""
        return self.evidence.n_rows

    def cells(self, place: int) -> Vector:
        """How often each code of an input column occurs, that of missing cells left out."""
        starts = self.functions.starts
        return self.evidence.sums["cells"][starts[place] : starts[place + 1] - 1]

    @cached_property
    def missing(self) -> Vector:
        """Missing cells of each input column."""
        return self.evidence.sums["cells"][self.functions.starts[1:] - 1]

    @cached_property
    def together(self) -> Matrix:
        """Rows with both cells of two of `Functions.inputs`."""
        return self._products[self._size :, self._size :]

    @cached_property
    def rows(self) -> Matrix:
        """The same, of the columns that two functions are of: (functions, functions)."""
        owner = self.functions.function_owner
        return self.together[np.ix_(owner, owner)]

    @cached_property
    def n_own(self) -> Vector:
        """Rows that have each function: (functions,)."""
        return np.diag(self.together)[self.functions.function_owner]

    @cached_property
    def means_with(self) -> Matrix:
        """Mean of each function over the rows that have an input column as well: (functions, inputs)."""
        owner = self.functions.function_owner
        return self._products[: self._size, self._size :] / np.maximum(self.together[owner], 1.0)

    @cached_property
    def means(self) -> Vector:
        """Mean of each function over the rows that have it: (functions,)."""
        return self.means_with[np.arange(self._size), self.functions.function_owner]

    @cached_property
    def covariance(self) -> Matrix:
        """Covariance of two functions over the rows that have both: (functions, functions)."""
        beside = self.means_with[:, self.functions.function_owner]
        return self._products[: self._size, : self._size] / np.maximum(self.rows, 1.0) - beside * beside.T

    @property
    def triples(self) -> Matrix:
        """Sums of products of three: `gapdrift.counting.counter.triples`."""
        return self.evidence.sums["triples"]

    def of_three(self, pair: Indices, third: Indices) -> tuple[Vector, Vector]:
        """Means of products of three u, given by places among `Functions.pairs` and `columns`; and the rows of each."""
        functions = self.functions
        owner = functions.function_owner[third] + len(functions.columns) + len(functions.inputs)
        rows = self.triples[pair, owner]
        return self.triples[pair, third] / np.maximum(rows, 1.0), rows

    @property
    def _products(self) -> Matrix:
        return self.evidence.sums["products"]

    @property
    def _size(self) -> int:
        return len(self.functions.function_owner)
