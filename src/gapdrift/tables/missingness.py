"""Rates and patterns of missing cells, and hiding cells at given rates."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gapdrift.errors import ParameterError

__all__ = ["check_rates", "draw_mask", "missing_patterns", "missing_rates"]

Mask = NDArray[np.bool_]


def missing_rates(missing: Mask) -> NDArray[np.float64]:
    """Share of missing cells in each column.

    Parameters
    ----------
    missing : (rows, columns) array of bool

    Returns
    -------
    rates : (columns,) array, zeros where there is no row

    Notes
    -----
    Paper: the missing rate vector V_r of Alg. 1, line 1.

    Examples
    --------
    >>> import numpy as np
    >>> missing_rates(np.array([[True, False], [False, False]]))
    array([0.5, 0. ])
    """
    rates: NDArray[np.float64] = missing.sum(axis=0) / max(len(missing), 1)
    return rates


def missing_patterns(missing: Mask) -> tuple[Mask, NDArray[np.intp], NDArray[np.intp]]:
    """Distinct patterns of gaps, the pattern of each row, and how often each occurs.

    Parameters
    ----------
    missing : (rows, columns) array of bool

    Returns
    -------
    patterns : (patterns, columns) array of bool, sorted
    index : (rows,) array, ``patterns[index]`` is ``missing``
    counts : (patterns,) array

    Examples
    --------
    >>> import numpy as np
    >>> patterns, index, counts = missing_patterns(np.array([[True], [False], [True]]))
    >>> patterns.tolist(), index.tolist(), counts.tolist()
    ([[False], [True]], [1, 0, 1], [1, 2])
    """
    packed = np.packbits(missing, axis=1) if missing.shape[1] else np.zeros((len(missing), 1), "u1")
    _, first, index, counts = np.unique(packed, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return missing[first], index.reshape(-1), counts


def check_rates(rates: ArrayLike, n_columns: int) -> NDArray[np.float64]:
    """Rates as one number per column.

    Parameters
    ----------
    rates : float or (columns,) array, each from 0 to 1
    n_columns : int

    Returns
    -------
    rates : (columns,) array

    Examples
    --------
    >>> check_rates(0.2, 3)
    array([0.2, 0.2, 0.2])
    """
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
    """Cells to hide, each on its own with the rate of its column.

    Parameters
    ----------
    n_rows : int
    rates : (columns,) array
    rng : numpy.random.Generator

    Returns
    -------
    hidden : (rows, columns) array of bool

    Notes
    -----
    Paper: Eq. (1), the masking variable of Alg. 1, lines 4 to 8.

    Examples
    --------
    >>> import numpy as np
    >>> draw_mask(2, [0.0, 1.0], np.random.default_rng(0)).tolist()
    [[False, True], [False, True]]
    """
    columns = np.atleast_1d(np.asarray(rates, dtype=float))
    return rng.random((n_rows, len(columns))) < columns
