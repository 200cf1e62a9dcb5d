"""Expected distances in closed form, under one Gaussian model and without any regression."""

from dataclasses import dataclass

import numpy as np

from experiments.gaussian import Gaussian, Posterior, fit_gaussian, posterior
from gapdrift._typing import Indices, Matrix, Vector

__all__ = ["ClosedFormDistance", "fit_closed_form"]


MAX_CELLS = 2_000_000
"""Largest number of cells of covariance matrices in memory at once."""


@dataclass(frozen=True, eq=False)
class ClosedFormDistance:
    """Distances of incomplete rows expected under a Gaussian model.

    Parameters
    ----------
    model : Gaussian

    Notes
    -----
    With x^ = E[x | observed], y^ likewise and C the sum of both conditional covariances, the squared distance has
    the mean M = |x^ - y^|^2 + tr C and the variance V = 4 (x^ - y^)' C (x^ - y^) + 2 tr C^2. The distance itself is
    smaller than the root of M by about V / (8 M^1.5).

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = fit_closed_form(rows)
    >>> rows[0, 1] = np.nan
    >>> model.between(rows, np.array([0, 1]), np.array([1, 2])).shape
    (2,)
    """

    model: Gaussian

    def between(self, values: Matrix, first: Indices, second: Indices) -> Vector:
        """Distances of pairs of rows, given by their positions: (pairs,). Exact for two complete rows."""
        found = posterior(self.model, values)
        result = np.empty(len(first))
        step = max(MAX_CELLS // values.shape[1] ** 2, 1)
        for start in range(0, len(first), step):
            part = slice(start, start + step)
            one, two = first[part], second[part]
            difference = found.mean[one] - found.mean[two]
            result[part] = _expected_norms(difference, found, found.pattern[one], found.pattern[two])
        return result


def fit_closed_form(values: Matrix) -> ClosedFormDistance:
    """Distance model of the rows of a reference, complete or not.

    Parameters
    ----------
    values : (rows, columns) array, NaN where missing
    """
    return ClosedFormDistance(fit_gaussian(values))


def _expected_norms(difference: Matrix, found: Posterior, one: Indices, two: Indices) -> Vector:
    """Expected lengths of vectors with these means, whose covariances are the sums of those of two patterns."""
    covariance = found.covariance[one] + found.covariance[two]
    quadratic = np.einsum("ni,ni->n", np.matmul(difference[:, None, :], covariance)[:, 0], difference)
    squares = np.einsum("nij,nij->n", covariance, covariance)
    mean = np.einsum("ni,ni->n", difference, difference) + np.trace(covariance, axis1=1, axis2=2)
    variance = 4.0 * quadratic + 2.0 * squares
    root = np.sqrt(mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.where(mean > 0, variance / (8.0 * mean * root), 0.0)
    # The second-order correction holds for small variances; it is limited to half of the distance.
    result: Vector = np.maximum(root - shrink, root / 2.0)
    return result
