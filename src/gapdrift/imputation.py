"""The pool of imputation methods, fitted once on the reference."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer

from gapdrift._random import draw_seed
from gapdrift.errors import ParameterError

__all__ = ["IMPUTERS", "Imputer", "fit_imputers", "impute"]

Matrix = NDArray[np.float64]

MAX_NEIGHBOURS = 30
"""Columns that iterative imputation regresses each column on, at most: its cost grows with their square."""


@runtime_checkable
class Imputer(Protocol):
    """What an imputation method must offer: scikit-learn's ``fit`` and ``transform``.

    ``fit`` learns from a matrix with NaN for missing; ``transform`` returns a matrix of the same shape
    without NaN, in which each row depends on that row and on what was learned.

    Examples
    --------
    >>> from sklearn.impute import KNNImputer
    >>> isinstance(KNNImputer(), Imputer)
    True
    """

    def fit(self, X: Matrix, y: None = None) -> Any:
        """Learn from the rows of the reference."""
        ...

    def transform(self, X: Matrix) -> Matrix:
        """Fill the gaps of other rows."""
        ...


def _iterative(n_columns: int, seed: int) -> Any:
    neighbours = None if n_columns <= MAX_NEIGHBOURS else MAX_NEIGHBOURS
    return IterativeImputer(max_iter=10, n_nearest_features=neighbours, random_state=seed)


IMPUTERS: Mapping[str, Callable[[int, int], Imputer]] = MappingProxyType(
    {
        "zero": lambda *_: SimpleImputer(strategy="constant", fill_value=0.0),
        "mean": lambda *_: SimpleImputer(strategy="mean"),
        "median": lambda *_: SimpleImputer(strategy="median"),
        "most_frequent": lambda *_: SimpleImputer(strategy="most_frequent"),
        "iterative": _iterative,
    }
)
"""The paper's pool, in its order (Alg. 1, input 4): makers that take the number of columns and a seed."""


def fit_imputers(
    imputers: Sequence[str | Imputer] | None, values: Matrix, rng: np.random.Generator
) -> tuple[Imputer, ...]:
    """Imputers fitted on the rows of a reference.

    Parameters
    ----------
    imputers : sequence of names or of objects with ``fit`` and ``transform``, or None
        None is the paper's pool: zero, mean, median, most frequent, iterative. Objects are cloned.
    values : (rows, columns) array, NaN where missing
    rng : numpy.random.Generator

    Returns
    -------
    fitted : tuple of Imputer

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[1.0, 2.0], [3.0, np.nan]])
    >>> [impute(method, values)[1, 1] for method in fit_imputers(["zero", "mean"], values, None)]
    [np.float64(0.0), np.float64(2.0)]
    """
    pool = tuple(IMPUTERS) if imputers is None else tuple(imputers)
    if not pool:
        raise ParameterError("imputers is empty, expected at least one name or imputer.")
    return tuple(_fit(_make(method, values.shape[1], rng), values) for method in pool)


def impute(imputer: Imputer, values: Matrix) -> Matrix:
    """Rows with their gaps filled.

    Parameters
    ----------
    imputer : Imputer
        Fitted.
    values : (rows, columns) array, NaN where missing

    Returns
    -------
    filled : (rows, columns) array
    """
    if not len(values):
        return values.copy()
    # Some imputers take a shortcut where every cell is missing, and would fill a row otherwise when it comes
    # alone than in a crowd: a row with values goes along.
    company = np.vstack([values, np.zeros((1, values.shape[1]))])
    filled = _as_matrix(imputer, imputer.transform(company))[:-1]
    if filled.shape != values.shape or not np.isfinite(filled).all():
        raise ParameterError(
            f"The imputer {type(imputer).__name__} returned the shape {filled.shape} "
            f"{'with' if not np.isfinite(filled).all() else 'without'} missing or infinite values, expected "
            f"{values.shape} and finite numbers. Use another imputer."
        )
    return filled


def _as_matrix(imputer: Imputer, filled: Any) -> Matrix:
    try:
        return np.array(filled, dtype=float, ndmin=2)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"The imputer {type(imputer).__name__} returned a {type(filled).__name__} that is no matrix of numbers."
        ) from error


def _make(method: str | Imputer, n_columns: int, rng: np.random.Generator) -> Imputer:
    if isinstance(method, str):
        if method not in IMPUTERS:
            raise ParameterError(
                f"imputers names {method!r}, expected one of {', '.join(IMPUTERS)}, or an object with fit "
                "and transform."
            )
        return IMPUTERS[method](n_columns, draw_seed(rng) if method == "iterative" else 0)
    if isinstance(method, type) or not isinstance(method, Imputer):
        raise ParameterError(
            f"imputers holds a {type(method).__name__}, expected a name or an object with fit and transform."
        )
    copy: Imputer = clone(method, safe=False)
    return copy


def _fit(imputer: Imputer, values: Matrix) -> Imputer:
    # Ten rounds are what the paper's scripts run; that they end unconverged is not news to a user.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        imputer.fit(values.copy())
    return imputer
