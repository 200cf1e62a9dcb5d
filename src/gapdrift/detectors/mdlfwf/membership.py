"""Fuzzy weights of bins, computed from distances and their error (paper: Alg. 2).

A membership is a function that takes distances (rows, bins) and their error, and returns degrees of membership of the
same shape, in which the nearest bin has 1. `fuzzy_weights` keeps the degrees of the nearest Q bins and divides those of
each row by their sum. To add a membership, write such a function here and name it in `MEMBERSHIPS`; everything else
takes the names from there.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfc

from gapdrift._typing import Matrix

__all__ = ["MEMBERSHIPS", "crisp", "fuzzy_weights", "gaussian", "triangular"]


def _relative_excess(distances: Matrix, error: ArrayLike) -> Matrix:
    """How much farther each bin is than the nearest, in units of twice the error: (d_z - d_1) / (2 sigma).

    It is 0 for the nearest bin. With an error of zero it is infinite for every bin that is farther.
    """
    nearest = distances.min(axis=1, keepdims=True)
    sigma = np.asarray(error, dtype=float).reshape(-1, 1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess: Matrix = (distances - nearest) / (2.0 * sigma)
    return np.where(distances == nearest, 0.0, excess)


def triangular(distances: Matrix, error: ArrayLike) -> Matrix:
    """Degrees of membership of triangular fuzzy distances.

    Notes
    -----
    Paper: Eq. (4), mu_z = ((2 sigma + d_1 - d_z) / (2 sigma))^2, the area that the triangle of bin z shares with that
    of the nearest bin. Triangles that do not overlap share no area: the overlap is clipped at zero *before* it is
    squared, as in the paper's Fig. 6, where bin 4 has no weight. (The formula as printed gives the farthest bins the
    largest weights.)

    Examples
    --------
    >>> triangular(np.array([[1.0, 1.2, 4.0, 9.0]]), 0.5)
    array([[1.  , 0.64, 0.  , 0.  ]])
    """
    return np.clip(1.0 - _relative_excess(distances, error), 0.0, None) ** 2


def gaussian(distances: Matrix, error: ArrayLike) -> Matrix:
    """Degrees of membership of Gaussian fuzzy distances.

    Notes
    -----
    Paper: Eq. (6), mu_z = 1 + erf((d_1 - d_z) / (2 sqrt(2) sigma)). Computed as erfc((d_z - d_1) / (2 sqrt(2) sigma)),
    which is the same number and keeps small degrees accurate.

    Examples
    --------
    >>> gaussian(np.array([[1.0, 1.2, 4.0, 9.0]]), 0.5).round(4)
    array([[1.    , 0.8415, 0.0027, 0.    ]])
    """
    degrees: Matrix = erfc(_relative_excess(distances, error) / np.sqrt(2.0))
    return degrees


def crisp(distances: Matrix, error: ArrayLike) -> Matrix:  # noqa: ARG001
    """Degrees of membership that put each row into its nearest bin only, or into the first of equally near ones.

    Examples
    --------
    >>> crisp(np.array([[2.0, 1.0, 1.0]]), 0.5)
    array([[0., 1., 0.]])
    """
    degrees = np.zeros_like(distances)
    degrees[np.arange(len(distances)), distances.argmin(axis=1)] = 1.0
    return degrees


MEMBERSHIPS: Mapping[str, Callable[[Matrix, ArrayLike], Matrix]] = MappingProxyType(
    {"crisp": crisp, "gaussian": gaussian, "triangular": triangular}
)
"""Membership functions by the name that users give."""


def fuzzy_weights(
    distances: Matrix, error: ArrayLike, *, membership: str = "triangular", top_q: int | None = None
) -> Matrix:
    """Weight of each bin for each row, (rows, bins); the weights of a row sum to 1.

    Parameters
    ----------
    distances : (rows, bins) array
    error : float or (rows,) array, at least 0
        Standard deviation of the distances.
    membership : str
        A name in `MEMBERSHIPS`.
    top_q : int or None
        Only the nearest ``top_q`` bins get weight. None, or a number larger than that of the bins, means all of them.
        Equally near bins keep their order.

    Notes
    -----
    Paper: Eq. (3) and, with ``top_q``, Eq. (8). With the two fuzzy memberships inserted they become Eq. (5) and (7).

    Examples
    --------
    >>> fuzzy_weights(np.array([[1.0, 1.2, 1.4]]), 0.5, top_q=2).round(3)
    array([[0.61, 0.39, 0.  ]])
    """
    degrees = MEMBERSHIPS[membership](distances, error)
    if top_q is not None and top_q < distances.shape[1]:
        far = np.argsort(distances, axis=1, kind="stable")[:, top_q:]
        np.put_along_axis(degrees, far, 0.0, axis=1)
    weights: Matrix = degrees / degrees.sum(axis=1, keepdims=True)
    return weights
