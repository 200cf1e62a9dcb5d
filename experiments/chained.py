"""Iterative imputation of a sample by itself, with the results of scikit-learn in less time.

The published protocol fits `IterativeImputer` two times on each of 27,500 windows, which is most of its time. Here
columns without missing values are not regressed, which changes nothing for the rows that were fitted on, and each
Bayesian ridge works on a matrix of products instead of the rows. `tests/experiments/test_chained.py` compares both.
"""

import numpy as np

from gapdrift._typing import Matrix, Vector
from gapdrift.models.imputation import ChainedRegressions

__all__ = ["fit_chained"]


ROUNDS = 10
TOLERANCE = 1e-3
STEPS = 300
PRIOR = 1e-6
"""Settings of scikit-learn's IterativeImputer and BayesianRidge: the first three, and all four parameters of gamma."""


def fit_chained(values: Matrix) -> ChainedRegressions:
    """Imputer fitted on rows, to fill these rows.

    Parameters
    ----------
    values : (rows, columns) array, NaN where missing
        Each column has a value, and each regression more rows than columns.

    Examples
    --------
    >>> x = np.arange(20.0)
    >>> rows = np.column_stack([x, 2.0 * x + 1.0])
    >>> rows[3, 1] = np.nan
    >>> fit_chained(rows).transform(rows)[3].round(2)
    array([3., 7.])
    """
    missing = np.isnan(values)
    constants = np.nanmean(values, axis=0)
    filled = np.where(missing, constants, values)
    incomplete = np.flatnonzero(missing.any(axis=0))
    order = incomplete[np.argsort(missing.mean(axis=0)[incomplete], kind="stable")]
    tolerance = TOLERANCE * np.abs(values[~missing]).max()
    columns, neighbours, coefficients, intercepts = [], [], [], []
    for _ in range(ROUNDS):
        before = filled.copy()
        for column in order.tolist():
            others = np.delete(np.arange(values.shape[1]), column)
            to_fill = missing[:, column]
            weights, intercept = _bayesian_ridge(filled[~to_fill][:, others], filled[~to_fill, column])
            filled[to_fill, column] = filled[to_fill][:, others] @ weights + intercept
            columns.append(column)
            neighbours.append(others)
            coefficients.append(weights)
            intercepts.append(intercept)
        # scikit-learn stops by this norm of the change: the largest sum over a row.
        if np.abs(filled - before).sum(axis=1).max(initial=0.0) < tolerance:
            break
    width = values.shape[1] - 1
    return ChainedRegressions(
        constants,
        np.array(columns, dtype=np.intp),
        np.array(neighbours, dtype=np.intp).reshape(-1, width),
        np.array(coefficients, dtype=float).reshape(-1, width),
        np.array(intercepts, dtype=float),
    )


def _bayesian_ridge(rows: Matrix, target: Vector) -> tuple[Vector, float]:
    """Coefficients and intercept of a Bayesian ridge regression.

    Notes
    -----
    MacKay (1992): with e the eigenvalues of X'X, the coefficients along its eigenvectors are b / (e + lambda / alpha),
    where alpha is the precision of the noise and lambda that of the coefficients. They are updated in turn:
    g = sum alpha e / (lambda + alpha e), lambda = g / |w|^2 and alpha = (n - g) / |y - X w|^2.
    """
    centre, target_mean = rows.mean(axis=0), target.mean()
    centred, wanted = rows - centre, target - target_mean
    eigenvalues, vectors = np.linalg.eigh(centred.T @ centred)
    eigenvalues = np.clip(eigenvalues, 0.0, None)
    along, square = vectors.T @ (centred.T @ wanted), wanted @ wanted
    noise_precision, weight_precision = 1.0 / (square / len(target) + np.finfo(float).eps), 1.0
    old = None
    for _ in range(STEPS):
        turned = along / (eigenvalues + weight_precision / noise_precision)
        found = vectors @ turned
        error = max(square - 2.0 * along @ turned + eigenvalues @ turned**2, 0.0)
        explained = (noise_precision * eigenvalues / (weight_precision + noise_precision * eigenvalues)).sum()
        weight_precision = (explained + 2.0 * PRIOR) / (turned @ turned + 2.0 * PRIOR)
        noise_precision = (len(target) - explained + 2.0 * PRIOR) / (error + 2.0 * PRIOR)
        if old is not None and np.abs(old - found).sum() < TOLERANCE:
            break
        old = found
    coefficients = vectors @ (along / (eigenvalues + weight_precision / noise_precision))
    return coefficients, float(target_mean - centre @ coefficients)
