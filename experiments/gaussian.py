"""A normal distribution fitted to rows with gaps, and what it says of the missing cells of each row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import multigammaln

from gapdrift._typing import Indices, Matrix, Vector

__all__ = ["Gaussian", "Posterior", "fit_gaussian", "posterior"]

PRIOR_GRID = np.array([0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0])
"""Strengths of the prior in rows per column, to choose from.

Missing cells spread the eigenvalues and make the choice too weak; 0.2 is the weakest that was never far from the best
out of sample.
"""

SMALLEST_START = 0.02
"""Least eigenvalue at the start: an EM that starts near a singular covariance hardly moves."""

RIDGE = 1e-4
"""Share of its variance that every column keeps, whatever the others explain."""

MAX_STEPS = 50
"""Steps of EM, at most."""

TOLERANCE = 1e-3
"""EM ends when no parameter moves by more, in standard deviations of its column."""


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Normal distribution of rows.

    Parameters
    ----------
    mean : (columns,) array
    covariance : (columns, columns) array
    """

    mean: Vector
    covariance: Matrix


@dataclass(frozen=True, eq=False)
class Posterior:
    """Conditional distribution of each row, given its observed cells.

    Parameters
    ----------
    mean : (rows, columns) array
        Observed cells are as they were.
    pattern : (rows,) array of int
        Which entry of `covariance` belongs to each row.
    covariance : (patterns, columns, columns) array
        Entry 0 belongs to complete rows, whether or not there are any, and is zero.
    """

    mean: Matrix
    pattern: Indices
    covariance: NDArray[np.float64]


def posterior(model: Gaussian, values: Matrix) -> Posterior:
    """What the observed cells of rows say about their missing ones.

    Parameters
    ----------
    model : Gaussian
    values : (rows, columns) array, NaN where missing

    Notes
    -----
    With P the inverse of the covariance, m the missing and o the observed columns, the conditional covariance
    S_mm - S_mo S_oo^-1 S_om is P_mm^-1; it depends on which cells are missing only.

    Examples
    --------
    >>> model = Gaussian(np.zeros(2), np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> found = posterior(model, np.array([[2.0, np.nan], [1.0, 1.0]]))
    >>> found.mean.round(6).tolist(), found.covariance[found.pattern][:, 1, 1].round(6).tolist()
    ([[2.0, 1.0], [1.0, 1.0]], [0.75, 0.0])
    """
    missing, size = np.isnan(values), len(model.mean)
    patterns, index = np.unique(np.vstack([np.zeros((1, size), dtype=bool), missing]), axis=0, return_inverse=True)
    pattern = index.reshape(-1)[1:]
    both, precision = patterns[:, :, None] & patterns[:, None, :], np.linalg.inv(model.covariance)
    covariance = np.where(both, np.linalg.inv(np.where(both, precision, np.eye(size))), 0.0)
    pulls = np.where(missing, 0.0, values - model.mean) @ precision
    expected = model.mean - np.matmul(covariance[pattern], pulls[:, :, None])[:, :, 0]
    return Posterior(np.where(missing, expected, values), pattern, covariance)


def fit_gaussian(values: Matrix) -> Gaussian:
    """Normal distribution fitted by EM to all rows, complete or not.

    Parameters
    ----------
    values : (rows, columns) array, NaN where missing
        Wholly missing rows add nothing.

    Notes
    -----
    In standard deviations of the columns, each step has the covariance (n S + prior I) / (n + prior) + ridge I. The
    first part is the posterior mean under an inverse Wishart prior centred on no dependence and worth `prior` rows, so
    that shrinkage vanishes as rows grow. The second keeps duplicates and one-hot blocks invertible. Both are fixed, and
    every step increases the penalised likelihood.
    """
    rows = values[~np.isnan(values).all(axis=1)]
    observed = ~np.isnan(rows)
    n_observed = np.maximum(observed.sum(axis=0), 1)
    centre = np.where(observed, rows, 0.0).sum(axis=0) / n_observed
    deviation = np.sqrt((np.where(observed, rows - centre, 0.0) ** 2).sum(axis=0) / n_observed)
    scale = np.where(deviation > 0, deviation, 1.0)
    standard = (rows - centre) / scale
    model, prior = _start(standard)
    for _ in range(MAX_STEPS):
        previous, model = model, _step(model, standard, prior, RIDGE)
        moved = np.abs(model.covariance - previous.covariance).max()
        if max(moved, np.abs(model.mean - previous.mean).max()) < TOLERANCE:
            break
    return Gaussian(centre + scale * model.mean, model.covariance * np.outer(scale, scale))


def _start(standard: Matrix) -> tuple[Gaussian, float]:
    """Start values, and how many rows the prior is worth.

    Each covariance is taken over the rows where both columns are observed; the matrix of them need not be positive
    definite, so its eigenvalues are lifted.
    """
    observed = (~np.isnan(standard)).astype(float)
    zeroed = np.where(np.isnan(standard), 0.0, standard)
    n_pairs = observed.T @ observed
    correlation = (zeroed.T @ zeroed) / np.maximum(n_pairs, 1.0)
    np.fill_diagonal(correlation, 1.0)
    eigenvalues, eigenvectors = np.linalg.eigh(correlation)
    n_rows = float(n_pairs.mean())
    prior = _prior_rows(eigenvalues, n_rows)
    weight = n_rows / (n_rows + prior)
    lifted = np.maximum(weight * eigenvalues + 1.0 - weight, SMALLEST_START)
    return Gaussian(np.zeros(len(lifted)), (eigenvectors * lifted) @ eigenvectors.T), prior


def _prior_rows(eigenvalues: Vector, n_rows: float) -> float:
    """How many rows the prior is worth, by marginal likelihood (empirical Bayes).

    Notes
    -----
    With S ~ inverse Wishart(v, k I), v = k + p + 1, so that E[S] = I, and n rows of covariance with eigenvalues l: log
    L(k) = log G_p((v + n) / 2) - log G_p(v / 2) + v p log(k) / 2
    - (v + n) / 2 sum log(k + n l). Columns without dependence choose a strong prior, which they do
    not feel but for less noise; a few strong factors choose a weak one.
    """
    n_columns = len(eigenvalues)
    strength = PRIOR_GRID * n_columns
    freedom = strength + n_columns + 1.0
    spectrum = strength[:, None] + n_rows * np.maximum(eigenvalues, 0.0)
    evidence = (
        multigammaln((freedom + n_rows) / 2.0, n_columns)
        - multigammaln(freedom / 2.0, n_columns)
        + freedom * n_columns * np.log(strength) / 2.0
        - (freedom + n_rows) / 2.0 * np.log(spectrum).sum(axis=1)
    )
    return float(strength[np.argmax(evidence)])


def _step(model: Gaussian, standard: Matrix, prior: float, ridge: float) -> Gaussian:
    """The model after one step of EM."""
    found, n_rows = posterior(model, standard), max(len(standard), 1)
    uncertainty = np.tensordot(np.bincount(found.pattern, minlength=len(found.covariance)), found.covariance, axes=1)
    mean = found.mean.sum(axis=0) / n_rows
    centred = found.mean - mean
    scatter = centred.T @ centred + uncertainty
    unit = np.eye(len(mean))
    return Gaussian(mean, (scatter + prior * unit) / (n_rows + prior) + ridge * unit)
