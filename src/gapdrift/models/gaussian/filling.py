"""The one way in which missing cells are filled: with the values that a Gaussian model expects.

With P the inverse of the model's covariance, x a centred row with zeros in its missing cells m, and S = (P_mm)^-1 the
conditional covariance of these cells, the expected values are -S (P x)_m. The residual that another, complete row d
would leave in the same cells is S (P d)_m. Both are one function of a vector, `DensePrecision.solve` or
`FactorPrecision.solve`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from gapdrift.models.gaussian.dense import DenseGaussian, conditional_covariance, dense_blocks
from gapdrift.models.gaussian.factor import MAX_RANK, FactorGaussian, conditional_factors, factor_blocks
from gapdrift.models.gaussian.patterns import Floats, Patterns, apply, inverse
from gapdrift.persistence.records import expect, expect_shape, expecting, stored

__all__ = ["MAX_ENTRY", "DensePrecision", "FactorPrecision", "Precision", "exact_precision", "fill", "precision_of"]

SIGNIFICAND = 53
"""Bits of a double."""

MAX_STORED = 1_000
"""Columns of a full matrix that is read from a file: its inverse is held in memory."""

MAX_ENTRY = 1e12
"""Largest number in what is read from a file: products of a few of them are still finite."""


@stored
@dataclass(frozen=True, eq=False)
class DensePrecision:
    """Inverse of a full covariance matrix.

    Parameters
    ----------
    matrix : array of shape (columns, columns)
    """

    matrix: Floats

    def check_stored(self) -> None:
        """Check what was read from a file: a square matrix that has a root."""
        size = len(np.atleast_1d(self.matrix))
        expect(size <= MAX_STORED, f"up to {MAX_STORED} columns of a full matrix")
        expect_shape(self.matrix, (size, size), "a precision")
        with expecting("a precision that is positive definite"):
            np.linalg.cholesky(self.matrix)
        for matrix in (self.matrix, inverse(self.matrix)):
            expect(np.abs(matrix).max() <= MAX_ENTRY, f"entries of a precision and its inverse up to {MAX_ENTRY:g}")

    def multiply(self, rows: Floats) -> Floats:
        """P x of each row."""
        return rows @ self.matrix

    def draw(self, n_rows: int, rng: np.random.Generator) -> Floats:
        """Gaussian rows of mean 0 with this covariance: (rows, columns)."""
        # P = R' R, and R^-1 e has the covariance (R' R)^-1.
        root = np.linalg.cholesky(self.matrix).T
        noise = rng.standard_normal((n_rows, len(root)))
        drawn: Floats = solve_triangular(root, noise.T).T
        return drawn

    def solve(self, patterns: Patterns, vectors: Floats) -> Floats:
        """(P_mm)^-1 v_m in the missing cells of each row, 0 in the others: (rows, columns)."""
        return next(self.solve_each(patterns, [vectors]))

    def solve_each(self, patterns: Patterns, vectors: Iterable[Floats]) -> Iterator[Floats]:
        """`solve` for one set of vectors after the other, which may depend on what was solved before."""
        blocks = [
            (block, columns, conditional_covariance(self.matrix, columns)) for block, columns in dense_blocks(patterns)
        ]
        for each in vectors:
            solved = np.zeros(each.shape)
            for block, columns, covariance in blocks:
                cells = block.rows[:, None], columns[block.local]
                solved[cells] = apply(covariance, block.local, each[cells])
            yield solved


@stored
@dataclass(frozen=True, eq=False)
class FactorPrecision:
    """Inverse of the covariance L L' + diag(noise) of a few factors, which is never built.

    Parameters
    ----------
    loadings : array of shape (columns, rank)
    noise : array of shape (columns,)
    """

    loadings: Floats
    noise: Floats

    def check_stored(self) -> None:
        """Check what was read from a file: positive noise, and few factors."""
        expect_shape(self.noise, (-1,), "noise")
        expect_shape(self.loadings, (len(self.noise), -1), "loadings")
        expect(self.loadings.shape[1] <= MAX_RANK, f"up to {MAX_RANK} factors")
        expect(np.all((self.noise > 1.0 / MAX_ENTRY) & (self.noise < MAX_ENTRY)), "positive noise")
        expect(np.abs(self.loadings).max(initial=0.0) <= MAX_ENTRY, f"loadings up to {MAX_ENTRY:g}")

    @cached_property
    def model(self) -> FactorGaussian:
        """The centred model of which this is the inverse."""
        return FactorGaussian(np.zeros(len(self.noise)), self.loadings, self.noise)

    def multiply(self, rows: Floats) -> Floats:
        """P x of each row: diag(noise)^-1 (x - L E[z | x])."""
        complete = np.zeros((1, len(self.noise)), dtype=np.bool_)
        weights = self.loadings / self.noise[:, None]
        factors = rows @ weights @ conditional_factors(self.model, complete)[0]
        multiplied: Floats = (rows - factors @ self.loadings.T) / self.noise
        return multiplied

    def draw(self, n_rows: int, rng: np.random.Generator) -> Floats:
        """Gaussian rows of mean 0 with this covariance: (rows, columns)."""
        factors = rng.standard_normal((n_rows, self.loadings.shape[1]))
        noise = rng.standard_normal((n_rows, len(self.noise)))
        drawn: Floats = factors @ self.loadings.T + noise * np.sqrt(self.noise)
        return drawn

    def solve_each(self, patterns: Patterns, vectors: Iterable[Floats]) -> Iterator[Floats]:
        """`solve` for one set of vectors after the other, which may depend on what was solved before."""
        return (self.solve(patterns, each) for each in vectors)

    def solve(self, patterns: Patterns, vectors: Floats) -> Floats:
        """(P_mm)^-1 v_m in the missing cells of each row, 0 in the others: (rows, columns).

        Notes
        -----
        (P_mm)^-1 = Cov[x_m | x_o] = diag(noise_m) + L_m Cov[z | x_o] L_m'.
        """
        solved = np.zeros(vectors.shape)
        for block in factor_blocks(patterns, self.loadings.shape[1] ** 2):
            missing = patterns.missing[block.patterns]
            inside = np.where(missing[block.local], vectors[block.rows], 0.0)
            factors = apply(conditional_factors(self.model, missing), block.local, inside @ self.loadings)
            filled = inside * self.noise + factors @ self.loadings.T
            solved[block.rows] = np.where(missing[block.local], filled, 0.0)
        return solved


Precision = DensePrecision | FactorPrecision


def precision_of(model: DenseGaussian | FactorGaussian) -> Precision:
    """The inverse of a model's covariance."""
    if isinstance(model, DenseGaussian):
        return DensePrecision(inverse(model.covariance))
    return FactorPrecision(model.loadings, model.noise)


def exact_precision(precision: DensePrecision, largest: float, unit: float) -> DensePrecision:
    """A precision rounded so that products with rows are exact.

    Parameters
    ----------
    precision : DensePrecision
    largest, unit : float
        Rows hold whole multiples of ``unit``, a power of two, up to ``largest``.

    Notes
    -----
    If all terms of a sum are whole multiples of one number, and so few that 53 bits hold the sum, it does not depend on
    the order in which they are added up: matrix products of any library, and machine code, then give the same.
    """
    matrix = (precision.matrix + precision.matrix.T) / 2.0
    top = float(np.abs(matrix).max(initial=1e-300)) * largest * len(matrix) / unit
    spare = SIGNIFICAND - 1 - int(np.ceil(np.log2(top)))
    return DensePrecision(np.rint(np.ldexp(matrix, spare)) * 2.0**-spare)


def fill(precision: Precision, patterns: Patterns, centred: Floats) -> Floats:
    """Rows with expected values in their missing cells: (rows, columns).

    Parameters
    ----------
    precision : DensePrecision or FactorPrecision
    patterns : Patterns
        Of the rows' missing cells.
    centred : array of shape (rows, columns)
        Less the model's mean, 0 in missing cells.

    Examples
    --------
    >>> from gapdrift.models.gaussian.patterns import find_patterns
    >>> precision = DensePrecision(np.linalg.inv(np.array([[1.0, 0.5], [0.5, 1.0]])))
    >>> fill(precision, find_patterns(np.array([[False, True]])), np.array([[2.0, 0.0]])).round(6)
    array([[2., 1.]])
    """
    return centred - precision.solve(patterns, precision.multiply(centred))
