"""Rates of missing cells, and masks that hide cells at given rates."""

import numpy as np
from numpy.typing import ArrayLike

from gapdrift._typing import Mask, Vector
from gapdrift.errors import ParameterError

__all__ = ["check_rates", "draw_mask", "missing_rates"]


def missing_rates(missing: Mask) -> Vector:
    """Share of missing cells in each column, (columns,); zeros if there are no rows.

    Notes
    -----
    Paper: the missing rate vector V_r of Alg. 1, line 1.
    """
    rates: Vector = missing.sum(axis=0) / max(len(missing), 1)
    return rates


def check_rates(rates: ArrayLike, n_columns: int) -> Vector:
    """Rates, one for each column: (columns,); anything but numbers from 0 to 1 raises a ParameterError."""
    try:
        array = np.asarray(rates, dtype=float)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"rates is {rates!r}, expected numbers from 0 to 1.") from error
    if array.ndim > 1 or (array.ndim == 1 and len(array) != n_columns):
        raise ParameterError(
            f"rates has the shape {array.shape}, expected one number or {n_columns} numbers, one for each column."
        )
    if not np.all((array >= 0) & (array <= 1)):
        raise ParameterError(f"rates is {rates!r}, expected numbers from 0 to 1.")
    return np.broadcast_to(array, (n_columns,)).copy()


def draw_mask(n_rows: int, rates: ArrayLike, rng: np.random.Generator) -> Mask:
    """Mask of cells to hide, (rows, columns), each drawn independently with the rate of its column.

    Notes
    -----
    Paper: Eq. (1), the masking variable of Alg. 1, lines 4 to 8.

    Examples
    --------
    >>> draw_mask(2, [0.0, 1.0], np.random.default_rng(0)).tolist()
    [[False, True], [False, True]]
    """
    thresholds = np.atleast_1d(np.asarray(rates, dtype=float))
    return rng.random((n_rows, len(thresholds))) < thresholds
