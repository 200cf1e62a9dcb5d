"""Names for the kinds of arrays that functions take and return."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Indices", "Mask", "Matrix", "Vector"]

Matrix = NDArray[np.float64]
"""Numbers with two dimensions, rows first."""

Vector = NDArray[np.float64]
"""Numbers with one dimension."""

Mask = NDArray[np.bool_]
"""Truth values, such as which cells are missing."""

Indices = NDArray[np.intp]
"""Positions of rows, columns or bins."""
