"""Imputation methods, fitted once on the reference."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer

from gapdrift._random import draw_seed
from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.errors import ParameterError
from gapdrift.persistence.records import StoredAs, expect_range, expect_shape, stored

__all__ = [
    "IMPUTERS",
    "AnyImputer",
    "ChainedRegressions",
    "ConstantFill",
    "FittedImputer",
    "Imputer",
    "fit_imputers",
    "impute",
]

MAX_NEIGHBOURS = 30
"""Largest number of columns from which iterative imputation predicts a column: its cost grows with their square."""


@runtime_checkable
class Imputer(Protocol):
    """What an imputation method must offer: scikit-learn's ``fit`` and ``transform``.

    ``fit`` learns from a matrix with NaN where missing. ``transform`` returns a matrix of the same shape without NaN,
    in which each row depends only on that row and on what was learned.
    """

    def fit(self, X: Matrix, y: None = None) -> Any:
        """Learn from the rows of the reference."""
        ...

    def transform(self, X: Matrix) -> Matrix:
        """Rows with their missing values filled: (rows, columns)."""
        ...


class FittedImputer(Protocol):
    """A fitted imputation method, of which only ``transform`` is needed."""

    def transform(self, X: Matrix) -> Matrix:
        """Rows with their missing values filled: (rows, columns)."""
        ...


@stored
@dataclass(frozen=True, eq=False)
class ConstantFill:
    """Imputation by one number for each column: the fitted form of zero, mean, median and most frequent.

    Parameters
    ----------
    constants : (columns,) array
        Number that replaces the missing values of each column.
    """

    constants: Vector

    def transform(self, X: Matrix) -> Matrix:
        """Rows with their missing values filled: (rows, columns)."""
        return np.where(np.isnan(X), self.constants, X)

    def check_stored(self) -> None:
        """Check what was read from a file: one constant for each column."""
        expect_shape(self.constants, (-1,), "constants of an imputer")


@stored
@dataclass(frozen=True, eq=False)
class ChainedRegressions:
    """Imputation by linear regressions on the other columns, one after the other: the fitted form of iterative.

    Parameters
    ----------
    constants : (columns,) array
        Number that replaces the missing values of each column before the first step.
    columns : (steps,) array
        Column that each step fills; a column is filled several times.
    neighbours : (steps, k) array
        Columns from which it is predicted.
    coefficients : (steps, k) array
    intercepts : (steps,) array

    Notes
    -----
    This is a plain record instead of scikit-learn's estimator, so that it can be stored and gives bit for bit the same
    values when it is loaded.
    """

    constants: Vector
    columns: Indices
    neighbours: Indices
    coefficients: Matrix
    intercepts: Vector

    def transform(self, X: Matrix) -> Matrix:
        """Rows with their missing values filled: (rows, columns)."""
        missing = np.isnan(X)
        filled = np.where(missing, self.constants, X)
        rows_missing = {int(column): np.flatnonzero(missing[:, column]) for column in np.unique(self.columns)}
        steps = zip(self.columns.tolist(), self.neighbours, self.coefficients, self.intercepts, strict=True)
        for column, neighbours, coefficients, intercept in steps:
            rows = rows_missing[column]
            if len(rows):
                filled[rows, column] = filled[np.ix_(rows, neighbours)] @ coefficients + intercept
        return filled

    def check_stored(self) -> None:
        """Check what was read from a file: columns that exist, and as many numbers as they need."""
        expect_shape(self.constants, (-1,), "constants of an imputer")
        n_columns, n_steps = len(self.constants), len(np.atleast_1d(self.columns))
        expect_shape(self.columns, (n_steps,), "steps of an imputer")
        expect_shape(self.neighbours, (n_steps, -1), "neighbours of an imputer")
        expect_shape(self.coefficients, self.neighbours.shape, "coefficients of an imputer")
        expect_shape(self.intercepts, (n_steps,), "intercepts of an imputer")
        expect_range(self.columns, 0, n_columns, "columns")
        expect_range(self.neighbours, 0, n_columns, "columns")


AnyImputer = Annotated[FittedImputer, StoredAs(ConstantFill | ChainedRegressions)]
"""A fitted imputer as a field: those of the pool can be stored."""


def _iterative(n_columns: int, seed: int) -> Any:
    neighbours = None if n_columns <= MAX_NEIGHBOURS else MAX_NEIGHBOURS
    return IterativeImputer(max_iter=10, n_nearest_features=neighbours, random_state=seed, keep_empty_features=True)


IMPUTERS: Mapping[str, Callable[[int, int], Imputer]] = MappingProxyType(
    {
        "zero": lambda *_: SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
        "mean": lambda *_: SimpleImputer(strategy="mean", keep_empty_features=True),
        "median": lambda *_: SimpleImputer(strategy="median", keep_empty_features=True),
        "most_frequent": lambda *_: SimpleImputer(strategy="most_frequent", keep_empty_features=True),
        "iterative": _iterative,
    }
)
"""The paper's pool of methods, in its order (Alg. 1, input 4).

Each is a function of the number of columns and a seed, which returns an unfitted imputer.
"""


def fit_imputers(
    imputers: Sequence[str | Imputer] | None, values: Matrix, rng: np.random.Generator
) -> tuple[FittedImputer, ...]:
    """Imputation methods, fitted on the rows of a reference.

    Parameters
    ----------
    imputers : sequence of names or of objects with ``fit`` and ``transform``, or None
        None means the paper's pool: zero, mean, median, most frequent, iterative. Objects are cloned.
    values : (rows, columns) array, NaN where missing
    rng : numpy.random.Generator

    Returns
    -------
    fitted : tuple of FittedImputer
        Methods given by name as `ConstantFill` and `ChainedRegressions`, others as they are.
    """
    methods = tuple(IMPUTERS) if imputers is None else tuple(imputers)
    if not methods:
        raise ParameterError("imputers is empty, expected at least one name or imputer.")
    fitted = (_fit(_make(method, values.shape[1], rng), values) for method in methods)
    return tuple(
        _as_record(imputer) if isinstance(method, str) else imputer
        for method, imputer in zip(methods, fitted, strict=True)
    )


def impute(imputer: FittedImputer, values: Matrix) -> Matrix:
    """Rows with their missing values filled: (rows, columns)."""
    if isinstance(imputer, ConstantFill | ChainedRegressions) or not len(values):
        filled = imputer.transform(values) if len(values) else values.copy()
        return _check_filled(imputer, filled, values)
    # Some imputers take a shortcut if every cell of the matrix is missing, and then fill a row with other values than
    # they would among other rows: an added row with values prevents that.
    extended = np.vstack([values, np.zeros((1, values.shape[1]))])
    return _check_filled(imputer, _as_matrix(imputer, imputer.transform(extended))[:-1], values)


def _check_filled(imputer: FittedImputer, filled: Matrix, values: Matrix) -> Matrix:
    if filled.shape != values.shape or not np.isfinite(filled).all():
        raise ParameterError(
            f"The imputer {type(imputer).__name__} returned the shape {filled.shape} "
            f"{'with' if not np.isfinite(filled).all() else 'without'} missing or infinite values, expected "
            f"{values.shape} and finite numbers. Use another imputer."
        )
    return filled


def _as_record(imputer: Any) -> FittedImputer:
    """Record of a fitted scikit-learn imputer, made from its public attributes."""
    if isinstance(imputer, SimpleImputer):
        return ConstantFill(np.asarray(imputer.statistics_, dtype=float))
    constants = np.asarray(imputer.initial_imputer_.statistics_, dtype=float)
    # With a single column, or with no value at all, scikit-learn fits no regression.
    steps = imputer.imputation_sequence_ if imputer.n_iter_ else []
    width = len(steps[0].neighbor_feat_idx) if steps else 0
    return ChainedRegressions(
        constants,
        np.array([step.feat_idx for step in steps], dtype=np.intp),
        np.array([step.neighbor_feat_idx for step in steps], dtype=np.intp).reshape(len(steps), width),
        np.array([step.estimator.coef_ for step in steps], dtype=float).reshape(len(steps), width),
        np.array([step.estimator.intercept_ for step in steps], dtype=float),
    )


def _as_matrix(imputer: FittedImputer, filled: Any) -> Matrix:
    try:
        return np.array(filled, dtype=float, ndmin=2)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"The imputer {type(imputer).__name__} returned a {type(filled).__name__}, expected a "
            "matrix of numbers. Use another imputer."
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
    # The authors' scripts run ten rounds, which rarely converge: a warning would tell the user nothing of use.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        imputer.fit(values.copy())
    return imputer
