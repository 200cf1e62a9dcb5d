"""What gaps hide: the spread of a row around its expected values, as the reference shows it.

The Gaussian model gives the expected values of a row. How the true values scatter around them is taken from
reference rows wherever that can be afforded: hide the same cells of a reference row, and see by how much the
model misses them. Where the model does not fit (ties, skewness, bent dependence) the scatter is right all the
same, so a change of the missing rate alone moves no statistic.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gapdrift.models.gaussian import (
    DenseGaussian,
    FactorGaussian,
    GaussianModel,
    expected_values,
    find_patterns,
    posterior,
    sample,
)
from gapdrift.models.gaussian._dense import dense_blocks, gap_covariance
from gapdrift.models.gaussian._patterns import Patterns, apply
from gapdrift.persistence.records import expect_shape, expecting, stored

__all__ = ["N_DONORS", "EmpiricalResiduals", "GaussianResiduals", "Residuals", "complete_rows", "fit_residuals"]

Matrix = NDArray[np.float64]

N_DONORS = 128
"""Rows whose residuals stand for the hidden part of a row."""

NO_MOMENT = 1e-9
"""Share of the largest second moment up to which another is none."""

N_PASSES = 4
"""Passes in which gaps are filled by residuals of rows filled before: 99.8 % of them are then observed ones."""


@stored
@dataclass(frozen=True)
class EmpiricalResiduals:
    """Residuals of reference rows under any pattern of gaps, for a dense model.

    Parameters
    ----------
    precision : (columns, columns) array
        Inverse P of the model's covariance.
    moments : (columns, columns) array
        Mean G of x x' over the completed, centred reference.
    pulled : (donors, columns) array
        x' P of the donors: centred rows like those of the reference, none of them one.

    Notes
    -----
    With m the missing columns, the residual of a centred row x under a pattern is
    x_m - E[x_m | x_o] = (P_mm)^-1 (P x)_m: linear in x, so means over the reference follow from G.
    """

    precision: Matrix
    moments: Matrix
    pulled: Matrix

    def check_stored(self) -> None:
        """Check what was read from a file: as many columns everywhere."""
        expect_shape(self.precision, (-1, -1), "a precision")
        size = len(self.precision)
        expect_shape(self.precision, (size, size), "a precision")
        expect_shape(self.moments, (size, size), "moments")
        expect_shape(self.pulled, (-1, size), "donors")
        with expecting("a precision that is positive definite"):
            np.linalg.cholesky(self.precision)

    def lost_products(self, patterns: Patterns, directions: Matrix) -> Matrix:
        """Part of E[y y'], y = directions' x, that the expected values lack: (patterns, d, d)."""
        crossed = directions.T @ self.moments @ self.precision
        squared = self.precision @ self.moments @ self.precision
        size = directions.shape[1]
        lost = np.zeros((len(patterns.missing), size, size))
        for block, columns in dense_blocks(patterns):
            weights = gap_covariance(self.precision, columns) @ directions[columns]
            cross = crossed.T[columns].transpose(0, 2, 1) @ weights
            inner = squared[columns[:, :, None], columns[:, None, :]]
            square = weights.transpose(0, 2, 1) @ inner @ weights
            lost[block.patterns] = cross + cross.transpose(0, 2, 1) - square
        return lost

    def scatter(self, patterns: Patterns, directions: Matrix, places: Matrix) -> Matrix:
        """Products of the donors' residuals along directions with places (n, d): (patterns, donors, n)."""
        result = np.zeros((len(patterns.missing), len(self.pulled), len(places)))
        turned = directions @ places.T
        for block, columns in dense_blocks(patterns):
            weights = gap_covariance(self.precision, columns) @ turned[columns]
            result[block.patterns] = self.pulled[:, columns].transpose(1, 0, 2) @ weights
        return result


@stored
@dataclass(frozen=True)
class GaussianResiduals:
    """Residuals as the model itself expects them: where columns are many and each row has its own pattern.

    A statistic is then a sum over many hidden cells, and close to Gaussian whatever the cells are.

    Parameters
    ----------
    model : GaussianModel
    draws : (draws, directions) array
        Standard normal numbers, the same for every row.
    stretch : (d,) array
        Deviation of the reference along each direction over that of the model: a model of many columns fits the
        rows it was learned from too well.
    """

    model: GaussianModel
    draws: Matrix
    stretch: NDArray[np.float64]

    def check_stored(self) -> None:
        """Check what was read from a file: as many directions everywhere."""
        expect_shape(self.stretch, (-1,), "stretches")
        expect_shape(self.draws, (-1, len(self.stretch)), "draws")

    def lost_products(self, patterns: Patterns, directions: Matrix) -> Matrix:
        """Part of E[y y'], y = directions' x, that the expected values lack: (patterns, d, d)."""
        hollow = np.where(patterns.missing, np.nan, 0.0)
        found = posterior(self.model, hollow, directions)
        result: Matrix = found.covariance[found.pattern] * np.outer(self.stretch, self.stretch)
        return result

    def scatter(self, patterns: Patterns, directions: Matrix, places: Matrix) -> Matrix:
        """Products of draws of the hidden part along directions with places (n, d): (patterns, draws, n)."""
        values, vectors = np.linalg.eigh(self.lost_products(patterns, directions))
        roots = vectors * np.sqrt(np.clip(values, 0.0, None))[:, None, :]
        result: Matrix = self.draws[None] @ (roots.transpose(0, 2, 1) @ places.T)
        return result


Residuals = EmpiricalResiduals | GaussianResiduals


def complete_rows(model: GaussianModel, values: Matrix, rng: np.random.Generator) -> Matrix:
    """One random completion of each row, centred.

    Parameters
    ----------
    model : GaussianModel
    values : (rows, columns) array, NaN where missing
    rng : numpy.random.Generator

    Returns
    -------
    completed : (rows, columns) array, less the model's mean

    Notes
    -----
    A gap gets its expected value and the residual of a random other row under the same pattern; repeated, so
    that the residuals come to be those of observed cells. With a factor model the residual is Gaussian.
    """
    if isinstance(model, FactorGaussian):
        return sample(model, values, rng) - model.mean
    patterns = find_patterns(np.isnan(values))
    expected = expected_values(model, values) - model.mean
    precision: Matrix = np.linalg.inv(model.covariance).astype(np.float64, copy=False)
    completed = expected
    for _ in range(N_PASSES if np.isnan(values).any() else 0):
        pulled = completed[rng.integers(len(values), size=len(values))] @ precision
        completed = expected.copy()
        for block, columns in dense_blocks(patterns):
            gaps = columns[block.local]
            pull = np.take_along_axis(pulled[block.rows], gaps, axis=1)
            residual = apply(gap_covariance(precision, columns), block.local, pull)
            completed[block.rows[:, None], gaps] += residual
    return completed


def fit_residuals(
    model: GaussianModel,
    completed: Matrix,
    directions: Matrix,
    rng: np.random.Generator,
    owner: NDArray[np.intp] | None = None,
    n_donors: int = N_DONORS,
) -> Residuals:
    """Residuals of a reference.

    Parameters
    ----------
    model : GaussianModel
    completed : (rows, columns) array
        From `complete_rows`.
    directions : (columns, d) array
    rng : numpy.random.Generator
    owner : (columns,) array of int, optional
        Input column behind each column; levels of one category have one. None is each its own.
    n_donors : int, default 128
        Rows whose residuals stand for hidden parts, at most.

    Returns
    -------
    residuals : EmpiricalResiduals or GaussianResiduals
        Empirical with a dense model. Donors are spread evenly over the rows by their largest component.
    """
    if not isinstance(model, DenseGaussian):
        half = rng.standard_normal((N_DONORS // 2, directions.shape[1]))
        return GaussianResiduals(model, np.vstack([half, -half]), _stretch(model, completed, directions))
    precision: Matrix = np.linalg.inv(model.covariance).astype(np.float64, copy=False)
    moments = completed.T @ completed / len(completed)
    order = np.argsort(completed[:, np.argmax(np.diag(moments))], kind="stable")
    n_donors = min(n_donors, len(order))
    places = ((np.arange(n_donors) + 0.5) * len(order) / n_donors).astype(int)
    owners = np.arange(completed.shape[1]) if owner is None else owner
    donors = _blend(completed[order[places]], completed, precision, owners, rng)
    if n_donors > N_DONORS:
        donors = _match(donors, moments)
    return EmpiricalResiduals(precision, moments, donors @ precision)


def _blend(
    donors: Matrix, completed: Matrix, precision: Matrix, owner: NDArray[np.intp], rng: np.random.Generator
) -> Matrix:
    """Donors every cell of which was drawn anew, so that none is a row of the reference.

    A random half of the input columns gets its expected values given the other half, and the residual of a random row
    there; then the other half likewise. The joint distribution stays that of the rows as far as the model goes, and
    the residuals, which alone matter, are observed ones. (A table of a single column has
    nothing to blend: its donors are cells of other rows.)
    """
    n_inputs = int(owner.max()) + 1
    ranks = rng.random((len(donors), n_inputs)).argsort(axis=1)
    half = ranks[:, owner] < n_inputs // 2
    for hidden in (half, ~half):
        patterns = find_patterns(hidden)
        others = completed[rng.integers(len(completed), size=len(donors))]
        pulled = (others - donors) @ precision
        blended = donors.copy()
        for block, columns in dense_blocks(patterns):
            gaps = columns[block.local]
            pull = np.take_along_axis(pulled[block.rows], gaps, axis=1)
            blended[block.rows[:, None], gaps] += apply(gap_covariance(precision, columns), block.local, pull)
        donors = blended
    return donors


def _match(donors: Matrix, moments: Matrix) -> Matrix:
    """Donors with mean 0 and the second moments of the rows: residuals, linear in them, then have the right ones too.

    Thousands of donors are near that already; what is left would be a shift that millions of rows bring to light.
    """
    centred = donors - donors.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    present = values > NO_MOMENT * values[-1]
    whitening = vectors[:, present] / np.sqrt(values[present])
    wanted, axes = np.linalg.eigh(whitening.T @ moments @ whitening)
    turn = (axes * np.sqrt(np.clip(wanted, 0.0, None))) @ axes.T
    matched: Matrix = centred @ whitening @ turn @ (vectors[:, present] * np.sqrt(values[present])).T
    return matched


def _stretch(model: GaussianModel, completed: Matrix, directions: Matrix) -> NDArray[np.float64]:
    expected = np.einsum("id,ij,jd->d", directions, model.covariance, directions, optimize=True)
    found = ((completed @ directions) ** 2).mean(axis=0)
    stretch: NDArray[np.float64] = np.sqrt(found / np.maximum(expected, 1e-12))
    return stretch
