"""The conditional distribution of rows, given their observed cells, under a Gaussian model."""

from dataclasses import dataclass

import numpy as np

from gapdrift.models.gaussian import (
    DenseGaussian,
    FactorGaussian,
    GaussianModel,
    Patterns,
    expected_values,
    find_patterns,
)
from gapdrift.models.gaussian.dense import conditional_covariance, dense_blocks
from gapdrift.models.gaussian.factor import conditional_factors, factor_blocks
from gapdrift.models.gaussian.patterns import Floats, Integers, inverse

__all__ = ["Posterior", "posterior"]


@dataclass(frozen=True)
class Posterior:
    """Conditional distribution of linear functions of each row, given its observed cells.

    Parameters
    ----------
    mean : array of shape (rows, directions)
    pattern : array of int, shape (rows,)
        Which entry of `covariance` belongs to each row.
    covariance : array of shape (patterns, directions, directions)
        Entry 0 belongs to complete rows and is zero.
    """

    mean: Floats
    pattern: Integers
    covariance: Floats


def posterior(model: GaussianModel, values: Floats, directions: Floats | None = None) -> Posterior:
    """The distribution of directions' x given the observed cells, for each row.

    Parameters
    ----------
    model : DenseGaussian or FactorGaussian
    values : array of shape (rows, columns)
        NaN is missing.
    directions : array of shape (columns, directions), optional
        By default the columns themselves.

    Returns
    -------
    Posterior

    Notes
    -----
    Cov[x_m | x_o] = S_mm - S_mo S_oo^-1 S_om, observed columns have none. Memory grows with
    patterns x directions^2, so large tables should come in chunks; what a row gets does not depend
    on the other rows.

    Examples
    --------
    >>> model = DenseGaussian(np.zeros(2), np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> result = posterior(model, np.array([[2.0, np.nan], [1.0, 1.0]]), np.ones((2, 1)))
    >>> result.mean.ravel(), result.covariance[result.pattern].ravel()
    (array([3., 2.]), array([0.75, 0.  ]))
    """
    patterns = find_patterns(np.isnan(values))
    expected = expected_values(model, values)
    if directions is None:
        mean, directions = expected, np.eye(values.shape[1])
    else:
        mean = expected @ directions
    if isinstance(model, DenseGaussian):
        covariance = _project_dense(model, patterns, directions)
    else:
        covariance = _project_factor(model, patterns, directions)
    return Posterior(mean, patterns.index, covariance)


def _project_dense(model: DenseGaussian, patterns: Patterns, directions: Floats) -> Floats:
    """The covariance of directions' x: (patterns, directions, directions)."""
    precision = inverse(model.covariance)
    n_directions = directions.shape[1]
    projected = np.zeros((len(patterns.missing), n_directions, n_directions))
    for block, columns in dense_blocks(patterns):
        local = directions[columns]
        product = conditional_covariance(precision, columns) @ local
        projected[block.patterns] = local.transpose(0, 2, 1) @ product
    return projected


def _project_factor(model: FactorGaussian, patterns: Patterns, directions: Floats) -> Floats:
    """The covariance of directions' x: (patterns, directions, directions).

    Notes
    -----
    D_m' (L_m Cov[z | x_o] L_m' + diag(noise_m)) D_m, where D_m' L_m and D_m' diag(noise_m) D_m are
    sums over the missing columns.
    """
    n_columns, size = directions.shape
    rank = model.loadings.shape[1]
    loaded = (directions[:, :, None] * model.loadings[:, None, :]).reshape(n_columns, -1)
    noisy = directions[:, :, None] * (directions * model.noise[:, None])[:, None, :]
    projected = np.zeros((len(patterns.missing), size, size))
    for block in factor_blocks(patterns, max(rank, size) ** 2):
        missing = patterns.missing[block.patterns]
        weight = missing.astype(np.float64)
        factors = (weight @ loaded).reshape(-1, size, rank)
        spread = factors @ conditional_factors(model, missing) @ factors.transpose(0, 2, 1)
        noise = weight @ noisy.reshape(n_columns, -1)
        projected[block.patterns] = spread + noise.reshape(-1, size, size)
    return projected
