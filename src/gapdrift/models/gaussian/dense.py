"""Normal distribution with a full covariance matrix: for few columns."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import multigammaln

from gapdrift.models.gaussian.patterns import (
    BLOCK_CELLS,
    Block,
    Floats,
    Integers,
    Patterns,
    apply,
    cut,
    find_patterns,
    inverse,
)

__all__ = ["DenseGaussian", "conditional_covariance", "dense_blocks", "fit_dense"]

PRIOR_GRID = np.array([0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0])
"""Strengths of the prior in rows per column, to choose from.

Missing cells spread the eigenvalues and make the choice too weak; 0.2 is the weakest that was never far from the best
out of sample.
"""

SMALLEST_START = 0.02
"""Least eigenvalue at the start: an EM that starts near a singular covariance hardly moves."""


@dataclass(frozen=True)
class DenseGaussian:
    """Normal distribution with a covariance matrix of full rank.

    Parameters
    ----------
    mean : array of shape (columns,)
    covariance : array of shape (columns, columns)
    """

    mean: Floats
    covariance: Floats


def fit_dense(standard: Floats, ridge: float, max_iter: int, tol: float) -> DenseGaussian:
    """The penalised maximum likelihood fit to standardised values, by EM.

    Notes
    -----
    The M-step is (n S + prior I) / (n + prior) + ridge I. The first part is the posterior mean under an inverse Wishart
    prior centred on no dependence and worth `prior` rows, so shrinkage is prior / (n + prior) and vanishes as rows
    grow; the second keeps duplicates and one-hot blocks invertible. Both parts are fixed, so every step increases the
    penalised likelihood.
    """
    patterns = find_patterns(np.isnan(standard))
    blocks = list(dense_blocks(patterns))
    n_rows = np.bincount(patterns.index, minlength=len(patterns.missing))
    model, prior = _start_dense(standard)
    for _ in range(max_iter):
        previous = model
        model = _dense_step(model, standard, blocks, n_rows, prior=prior, ridge=ridge)
        moved = np.abs(model.covariance - previous.covariance).max()
        if max(moved, np.abs(model.mean - previous.mean).max()) < tol:
            break
    return model


def _start_dense(standard: Floats) -> tuple[DenseGaussian, float]:
    """Start values and the strength of the prior.

    Notes
    -----
    Each covariance is taken over the rows where both columns are observed; the matrix of them need not be positive
    definite, so its eigenvalues are lifted.
    """
    observed = (~np.isnan(standard)).astype(np.float64)
    zeroed = np.where(np.isnan(standard), 0.0, standard)
    n_pairs = observed.T @ observed
    correlation = (zeroed.T @ zeroed) / np.maximum(n_pairs, 1.0)
    np.fill_diagonal(correlation, 1.0)
    eigenvalues, eigenvectors = np.linalg.eigh(correlation)
    n_rows = float(n_pairs.mean())
    prior = _prior_rows(eigenvalues, n_rows)
    weight = n_rows / (n_rows + prior)
    lifted = np.maximum(weight * eigenvalues + 1.0 - weight, SMALLEST_START)
    covariance = (eigenvectors * lifted) @ eigenvectors.T
    return DenseGaussian(np.zeros(len(covariance)), covariance), prior


def _prior_rows(eigenvalues: Floats, n_rows: float) -> float:
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


def _dense_step(
    model: DenseGaussian,
    standard: Floats,
    blocks: list[tuple[Block, Integers]],
    n_rows: Integers,
    *,
    prior: float,
    ridge: float,
) -> DenseGaussian:
    """The model after one EM step; `n_rows` counts the rows of each pattern."""
    n_columns = len(model.mean)
    precision = inverse(model.covariance)
    filled = np.where(np.isnan(standard), 0.0, standard - model.mean)
    products = filled @ precision
    filled += model.mean
    uncertainty = np.zeros(n_columns**2)
    for block, columns in blocks:
        if 2 * columns.shape[1] > n_columns:
            covariance = _covariance_given(model.covariance, columns)
        else:
            covariance = conditional_covariance(precision, columns)
        cells = block.rows[:, None], columns[block.local]
        filled[cells] = model.mean[columns[block.local]] - apply(covariance, block.local, products[cells])
        covariance *= n_rows[block.patterns, None, None]
        places = _cells(columns, n_columns)
        uncertainty += np.bincount(places.ravel(), covariance.ravel(), n_columns**2)
    mean = filled.sum(axis=0) / max(len(filled), 1)
    filled -= mean
    scatter = filled.T @ filled + uncertainty.reshape(n_columns, n_columns)
    scatter.flat[:: n_columns + 1] += prior + ridge * (len(filled) + prior)
    return DenseGaussian(mean, scatter / (len(filled) + prior))


def dense_blocks(patterns: Patterns) -> Iterator[tuple[Block, Integers]]:
    """Yield runs of patterns with equally many missing cells, and their columns (patterns, n_missing)."""
    n_missing = patterns.missing.sum(axis=1)
    bounds = [1]
    while bounds[-1] < len(n_missing):
        size = n_missing[bounds[-1]]
        same = int(np.searchsorted(n_missing, size, side="right"))
        bounds.append(min(same, bounds[-1] + max(1, BLOCK_CELLS // int(size) ** 2)))
    for block in cut(patterns, np.array(bounds)):
        missing = patterns.missing[block.patterns]
        yield block, np.nonzero(missing)[1].reshape(len(missing), -1)


def conditional_covariance(precision: Floats, columns: Integers) -> Floats:
    """The conditional covariance of the missing columns: (patterns, n_missing, n_missing).

    Notes
    -----
    With P the inverse of the covariance, S_mm - S_mo S_oo^-1 S_om = (P_mm)^-1: what has to be inverted is as small as
    the missing cells are few.
    """
    return inverse(precision.ravel()[_cells(columns, len(precision))])


def _covariance_given(covariance: Floats, columns: Integers) -> Floats:
    """The same out of the covariance, S_mm - S_mo S_oo^-1 S_om: the faster way where fewer cells are observed."""
    n_columns = len(covariance)
    is_observed = np.ones((len(columns), n_columns), dtype=bool)
    np.put_along_axis(is_observed, columns, values=False, axis=1)
    observed = np.nonzero(is_observed)[1].reshape(len(columns), -1)
    flat = covariance.ravel()
    across = flat[observed[:, :, None] * n_columns + columns[:, None, :]]
    slopes = np.matmul(inverse(flat[_cells(observed, n_columns)]), across)
    left: Floats = flat[_cells(columns, n_columns)] - np.matmul(across.transpose(0, 2, 1), slopes)
    return left


def _cells(columns: Integers, n_columns: int) -> Integers:
    """Where the cells of sub-matrices are in a flat square matrix: (patterns, n_missing, n_missing)."""
    return columns[:, :, None] * n_columns + columns[:, None, :]
