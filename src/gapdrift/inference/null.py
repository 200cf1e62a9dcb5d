"""The null distribution: how statistics vary together where nothing changed, as the reference shows it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.inference.contrast import SMALLEST_VARIANCE
from gapdrift.persistence.records import expect, expect_shape, stored

__all__ = ["Null", "correlation_of", "effective_sample_size", "largest_products", "shape_of", "share_of_chance"]

N_DRAWS = 2_000
"""Draws of the null distribution."""

PRODUCT_DRAWS = 500
"""The same of all products of many columns, each draw of which multiplies matrices as large as their covariance."""

MAX_STORED_STATISTICS = 1_000
"""Statistics of a correlation that is read from a file."""

NO_EIGENVALUE = 1e-10
"""Eigenvalues up to this are rounding, whose root would be a thousand times larger than they are."""

SMALLEST_EIGENVALUE = 0.02
"""Least eigenvalue of a correlation that quadratic forms look at.

Below it lies what strongly dependent columns leave over: the difference there is as small as the error of the
fitted model, and false alarms rise (0.11 instead of 0.05 on hourly air quality).
"""


@stored
@dataclass(frozen=True, eq=False)
class Null:
    """Correlation of the statistics of one row, and draws of standardised differences that have it.

    Where nothing changed, standardised differences are jointly Gaussian with the correlation of the statistics of one
    row. The draws, always the same for one correlation, tell how small the smallest of several p-values gets by
    chance.

    Parameters
    ----------
    entries : (n,) array of int
        Statistics whose correlation is known; the others are taken as independent of all.
    correlation : (n, n) array
    n_effective : int
        Gaussian rows that would know this correlation as well as those of the reference do.
    """

    entries: Indices
    correlation: Matrix
    n_effective: int

    def check_stored(self) -> None:
        """Check what was read from a file: a correlation of statistics in their order."""
        expect_shape(self.entries, (-1,), "statistics")
        expect(
            len(self.entries) <= MAX_STORED_STATISTICS and np.all(np.diff(self.entries) > 0),
            "different statistics, in order",
        )
        expect_shape(self.correlation, (len(self.entries), len(self.entries)), "a correlation")
        expect(np.array_equal(self.correlation, self.correlation.T), "a correlation that is symmetric")
        expect(np.abs(self.correlation).max(initial=0.0) <= 1.001, "correlations from -1 to 1")
        expect(self.n_effective >= 1, "rows that know the correlation")

    @cached_property
    def draws(self) -> Matrix:
        """Standardised differences where nothing changed: (draws, n)."""
        # The symmetric root: unlike others it changes little where the matrix does, whatever the signs of eigenvectors.
        # Sums that were added up in another order differ in their last digits, and must not give other draws.
        values, vectors = self._eigen
        root = np.sqrt(np.where(values > NO_EIGENVALUE, values, 0.0))
        found: Matrix = (self.coordinates * root) @ vectors.T
        return found

    @cached_property
    def coordinates(self) -> Matrix:
        """Independent normal numbers that the draws are made of, along the principal directions: (draws, n)."""
        noise = np.random.default_rng(0).standard_normal((N_DRAWS, len(self.entries)))
        found: Matrix = noise @ self.directions
        return found

    @property
    def directions(self) -> Matrix:
        """Principal directions of the correlation, smallest eigenvalues first: (n, n)."""
        return self._eigen[1]

    @cached_property
    def _eigen(self) -> tuple[Vector, Matrix]:
        values, vectors = np.linalg.eigh(self.correlation)
        return values, vectors

    def draws_of(self, entries: Indices) -> Matrix:
        """Draws of some statistics, those whose correlation is not known independent of all: (draws, n)."""
        found = np.minimum(np.searchsorted(self.entries, entries), max(len(self.entries) - 1, 0))
        known = self.entries[found] == entries if len(self.entries) else np.zeros(len(entries), dtype=bool)
        if known.all():
            return self.draws[:, found]
        draws = np.random.default_rng(1).standard_normal((N_DRAWS, len(entries)))
        draws[:, known] = self.draws[:, found[known]]
        return draws

    def correlation_between(self, entries: Indices) -> Matrix:
        """Correlation of some statistics, all of them known: (n, n)."""
        places = np.searchsorted(self.entries, entries)
        return self.correlation[np.ix_(places, places)]


def correlation_of(rows: Matrix) -> Matrix:
    """Correlation of the columns of some rows, shrunk towards independence as far as chance explains it.

    A column that is constant correlates with no other.

    Notes
    -----
    By chance alone a squared correlation of n rows is 1 / (n - 1) on average. Their share of all squared correlations
    is the weight of the identity (Schäfer and Strimmer): fewer rows than columns would otherwise make many tests look
    like few.
    """
    centred = rows - rows.mean(axis=0)
    deviation = np.sqrt((centred**2).mean(axis=0))
    present = deviation > np.sqrt(SMALLEST_VARIANCE)
    scaled = np.where(present, centred / np.where(present, deviation, 1.0), 0.0)
    correlation = scaled.T @ scaled / len(rows)
    np.fill_diagonal(correlation, 1.0)
    others = (correlation**2).sum() - len(correlation)
    n_present = int(present.sum())
    weight = share_of_chance(others, n_present * (n_present - 1.0), len(rows))
    shrunk: Matrix = correlation * (1.0 - weight)
    np.fill_diagonal(shrunk, 1.0)
    return shrunk


def share_of_chance(squares: float, n_pairs: float, n_rows: int) -> float:
    """Share of the sum of squared correlations of so many ordered pairs that chance explains, from 0 to 1."""
    by_chance = n_pairs / max(n_rows - 1.0, 1.0)
    return 1.0 if squares <= 0.0 else min(by_chance / squares, 1.0)


def largest_products(covariance: Matrix, pairs: tuple[Indices, Indices], n_rows: int) -> Vector:
    """Largest standardised differences of products of two columns where nothing changed, one of each draw.

    Parameters
    ----------
    covariance : (columns, columns) array
        Of the columns, as so many rows show it.
    pairs : pair of arrays of int
        Columns of each product.
    n_rows : int

    Notes
    -----
    Of Gaussian columns with the correlation R the products i j and k l have the covariance R_ik R_jl + R_il R_jk. So
    have the entries of A Z A' where A A' = R and Z is symmetric, of independent normal numbers with the variance 1, on
    the diagonal 2: no correlation of all products with each other is needed, whose size is the fourth power of the
    number of columns. R is shrunk as in `correlation_of`.

    Examples
    --------
    Pairs of columns that go together vary together too, and the largest is smaller:

    >>> pairs = np.triu_indices(40)
    >>> alone, alike = (np.full((40, 40), rho) + (1.0 - rho) * np.eye(40) for rho in (0.0, 0.8))
    >>> [round(float(np.median(largest_products(shape, pairs, 10_000))), 1) for shape in (alone, alike)]
    [3.3, 2.0]
    """
    deviation = np.sqrt(np.maximum(np.diag(covariance), SMALLEST_VARIANCE))
    correlation = covariance / np.outer(deviation, deviation)
    size = len(correlation)
    others = float((correlation**2).sum() - (np.diag(correlation) ** 2).sum())
    correlation = correlation * (1.0 - share_of_chance(others, size * (size - 1.0), n_rows))
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    # The symmetric root, as of `Null.draws`.
    root = ((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T).astype(np.float32)
    spread = np.sqrt(1.0 + correlation[pairs] ** 2).astype(np.float32)
    rng = np.random.default_rng(2)
    found = np.empty(PRODUCT_DRAWS)
    for draw in range(PRODUCT_DRAWS):
        noise = rng.standard_normal((size, size), dtype=np.float32)
        product = root @ ((noise + noise.T) * np.float32(np.sqrt(0.5))) @ root
        found[draw] = np.abs(product[pairs] / spread).max()
    return found


def effective_sample_size(rows: Matrix) -> int:
    """Gaussian rows whose covariance is as good as that of these, for quadratic forms with its inverse.

    Notes
    -----
    With the covariance of L rows v instead of the true one, d' S^-1 d is too large by the share c / L on average,
    c = E |v|^4 / r - 1 for white rows of r columns (Mardia's kurtosis), which is r + 1 for Gaussian ones. Few rows with
    large products, as rare categories make them, estimate it less well than many.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> 9_000 < effective_sample_size(rng.normal(size=(10_000, 5))) <= 10_000
    True
    >>> effective_sample_size(rng.standard_t(5, size=(10_000, 5))) < 9_000
    True
    """
    deviation = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0))[:, deviation > 0] / deviation[deviation > 0]
    if not scaled.shape[1]:
        return len(rows)
    values, vectors = np.linalg.eigh(scaled.T @ scaled / len(rows))
    leading = values > SMALLEST_EIGENVALUE
    squares = ((scaled @ (vectors[:, leading] / np.sqrt(values[leading]))) ** 2).sum(axis=1)
    rank = int(leading.sum())
    # 0 of a single column that is one of two values in exactly half of the rows.
    excess = max(float((squares**2).mean()) / rank - 1.0, 1e-9)
    return int(max(min(len(rows), len(rows) * (rank + 1) / excess), 2))


def shape_of(powers: Matrix) -> tuple[Vector, Vector, Vector]:
    """Variance, skewness and excess kurtosis of statistics from the means of their first four powers, (4, statistics).

    Examples
    --------
    >>> rows = np.array([[0.0], [0.0], [1.0]])
    >>> powers = np.stack([(rows**power).mean(axis=0) for power in (1, 2, 3, 4)])
    >>> [float(part[0].round(3)) for part in shape_of(powers)]
    [0.222, 0.707, -1.5]
    """
    first, second, third, fourth = powers
    variance = np.clip(second - first**2, 0.0, None)
    present = variance > SMALLEST_VARIANCE
    safe = np.where(present, variance, 1.0)
    cubes = third - 3.0 * first * second + 2.0 * first**3
    fourths = fourth - 4.0 * first * third + 6.0 * first**2 * second - 3.0 * first**4
    skewness = np.where(present, cubes / safe**1.5, 0.0)
    kurtosis = np.where(present, fourths / safe**2 - 3.0, np.inf)
    return variance, skewness, kurtosis
