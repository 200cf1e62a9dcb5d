"""The difference of two mean vectors of statistics, with the covariance that it has where nothing changed."""

from dataclasses import dataclass, fields, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, ndtr, stdtr

from gapdrift.persistence.records import INFINITE, expect, expect_shape, stored

__all__ = ["Contrast", "Shape", "central_moments", "compare", "entry_p_values", "power_sums", "standardised"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]

SMALLEST_VARIANCE = 1e-10
"""Variance of one row below which an entry is constant."""

MAX_SKEWNESS, MAX_KURTOSIS = 0.7, 0.5
"""Skewness and excess kurtosis of a mean difference above which quadratic forms of it are doubtful."""


@stored
@dataclass(frozen=True)
class Shape:
    """How the statistics of one row are distributed in the reference, beyond mean and covariance.

    Parameters
    ----------
    skewness, kurtosis : (statistics,) arrays
        The kurtosis is the excess over the Gaussian.
    indicator : (statistics,) array of bool
        Entries that are 0 or ``unit``, less ``offset``: their shape follows from their frequency.
    unit, offset : (statistics,) arrays
    degenerate : (statistics,) array of bool
        Entries that say nothing of their own: squares of columns with two values, products within a category.
    """

    skewness: Vector
    kurtosis: Annotated[Vector, INFINITE]
    indicator: Mask
    unit: Vector
    offset: Vector
    degenerate: Mask

    def check_stored(self) -> None:
        """Check what was read from a file: as many of each, and units that can be divided by."""
        size = len(np.atleast_1d(self.skewness))
        for field in fields(self):
            expect_shape(getattr(self, field.name), (size,), field.name)
        expect(np.all(self.unit > 0), "positive units")


@dataclass(frozen=True)
class Contrast:
    """Difference of the means of a window and of a reference.

    Parameters
    ----------
    difference : (statistics,) array
        Window less reference.
    covariance : (statistics, statistics) array
        Of one row, about the common mean.
    skewness, kurtosis : (statistics,) arrays
        Of the difference.
    usable : (statistics,) array of bool
        Entries that can be tested one by one.
    smooth : (statistics,) array of bool
        Entries that a quadratic form bears.
    n_reference, n_window : int
    n_known : int, optional
        Rows that the covariance is known from, where it is not those of both sides.
    """

    difference: Vector
    covariance: Matrix
    skewness: Vector
    kurtosis: Vector
    usable: Mask
    smooth: Mask
    n_reference: int
    n_window: int
    n_known: int | None = None

    @property
    def scale(self) -> float:
        """1/m + 1/n: variance of the difference for unit variance of a row."""
        return 1.0 / self.n_reference + 1.0 / self.n_window

    @property
    def n_rows(self) -> int:
        """Rows on both sides."""
        return self.n_reference + self.n_window

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the covariance."""
        both = self.n_rows - 2
        return both if self.n_known is None else min(self.n_known - 1, both)

    def less(self, factors: Vector) -> "Contrast":
        """Contrast with each difference divided by a factor."""
        return replace(self, difference=self.difference / factors)

    def part(self, block: slice) -> "Contrast":
        """Contrast of a run of statistics."""
        return replace(
            self,
            difference=self.difference[block],
            covariance=self.covariance[block, block],
            skewness=self.skewness[block],
            kurtosis=self.kurtosis[block],
            usable=self.usable[block],
            smooth=self.smooth[block],
        )

    def mapped(self, matrix: Matrix) -> "Contrast":
        """Contrast of linear functions of the statistics, ``matrix`` (functions, statistics)."""
        n_functions = len(matrix)
        return replace(
            self,
            difference=matrix @ self.difference,
            covariance=matrix @ self.covariance @ matrix.T,
            skewness=np.zeros(n_functions),
            kurtosis=np.zeros(n_functions),
            usable=np.ones(n_functions, dtype=bool),
            smooth=np.ones(n_functions, dtype=bool),
        )


def power_sums(statistics: Matrix) -> Matrix:
    """Sums of the first four powers of statistics of rows: (4, statistics).

    Examples
    --------
    >>> import numpy as np
    >>> power_sums(np.array([[1.0], [2.0]])).ravel().tolist()
    [3.0, 5.0, 9.0, 17.0]
    """
    squares = statistics * statistics
    higher = [np.einsum("ij,ij->j", squares, part) for part in (statistics, squares)]
    return np.stack([statistics.sum(axis=0), squares.sum(axis=0), *higher])


def central_moments(powers: Matrix, n_rows: int) -> tuple[Vector, Vector, Vector]:
    """Variance, skewness and excess kurtosis of statistics from their sums of powers, (4, statistics).

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [0.0], [1.0]])
    >>> [float(part[0].round(3)) for part in central_moments(power_sums(rows), 3)]
    [0.222, 0.707, -1.5]
    """
    first, second, third, fourth = powers / n_rows
    variance = np.clip(second - first**2, 0.0, None)
    present = variance > SMALLEST_VARIANCE
    safe = np.where(present, variance, 1.0)
    cubes = third - 3.0 * first * second + 2.0 * first**3
    fourths = fourth - 4.0 * first * third + 6.0 * first**2 * second - 3.0 * first**4
    skewness = np.where(present, cubes / safe**1.5, 0.0)
    kurtosis = np.where(present, fourths / safe**2 - 3.0, np.inf)
    return variance, skewness, kurtosis


def compare(
    sizes: tuple[int, int],
    sums: tuple[Vector, Vector],
    products: tuple[Matrix, Matrix],
    shape: Shape,
) -> Contrast:
    """Contrast of two sets of sums; each pair is that of the reference, then that of the window.

    Parameters
    ----------
    sizes : pair of int
    sums : pair of (statistics,) arrays
    products : pair of (statistics, statistics) arrays
    shape : Shape

    Returns
    -------
    contrast : Contrast

    Notes
    -----
    The covariance is taken about the common mean, so that it does not vanish where each side is constant but
    the two differ. An entry is left out of quadratic forms where the skewness or the kurtosis of the mean
    difference is too large for them, and not used at all where it is, besides, no indicator.
    """
    m, n = sizes
    total, scale = m + n, 1.0 / m + 1.0 / n
    mean = (sums[0] + sums[1]) / total
    covariance = (products[0] + products[1] - total * np.outer(mean, mean)) / (total - 1)
    skewness, kurtosis = _row_shape_now(shape, mean, total)
    skewness = skewness * (1.0 / n**2 - 1.0 / m**2) / scale**1.5
    spread = kurtosis * (1.0 / n**3 + 1.0 / m**3) / scale**2
    rough = (np.abs(skewness) > MAX_SKEWNESS) | (spread > MAX_KURTOSIS)
    unreliable = rough | shape.degenerate | (shape.kurtosis > m / 10.0)
    present = np.diag(covariance) > SMALLEST_VARIANCE
    usable = present & (shape.indicator | ~unreliable)
    difference = sums[1] / n - sums[0] / m
    return Contrast(difference, covariance, skewness, spread, usable, usable & ~rough, m, n)


def _row_shape_now(shape: Shape, mean: Vector, total: int) -> tuple[Vector, Vector]:
    """Skewness and kurtosis of one row: those of the reference, for indicators those of their frequency."""
    least = 0.2 / total
    share = np.clip(np.abs(mean + shape.offset) / shape.unit, least, 1.0 - least)
    variance = share * (1.0 - share)
    skewness = np.where(shape.indicator, (1.0 - 2.0 * share) / np.sqrt(variance), shape.skewness)
    kurtosis = np.where(shape.indicator, 1.0 / variance - 6.0, shape.kurtosis)
    return skewness, kurtosis


def standardised(contrast: Contrast) -> Vector:
    """Differences over their standard deviations within the sides: (statistics,); 0 where not usable.

    Notes
    -----
    With the variance about the common mean, t^2 = d^2 / (v h) is at most N - 1; the usual square of the
    standardised difference is t^2 (N - 2) / (N - 1 - t^2).
    """
    variance = np.where(contrast.usable, np.diag(contrast.covariance), 1.0)
    bounded = contrast.difference / np.sqrt(variance * contrast.scale)
    n_rows = contrast.n_rows
    room = np.maximum(n_rows - 1.0 - bounded**2, 1e-9)
    result: Vector = np.where(contrast.usable, bounded * np.sqrt(max(n_rows - 2.0, 1.0) / room), 0.0)
    return result


def entry_p_values(contrast: Contrast) -> Vector:
    """Two-sided p-value of each entry: (statistics,); 1 where not usable.

    Notes
    -----
    A skew mean difference has the tails of a gamma distribution of the same skewness (Pearson III); one with
    heavier tails than that has those of Student's t of the same kurtosis.
    """
    score = standardised(contrast)
    p_values = 2.0 * ndtr(-np.abs(score))
    skew = np.abs(contrast.skewness) > 0.02
    p_values[skew] = _gamma_p_values(score[skew], contrast.skewness[skew])
    excess = contrast.kurtosis - 1.5 * contrast.skewness**2
    heavy = excess > 0.02
    with np.errstate(invalid="ignore"):
        freedom = 4.0 + 6.0 / excess[heavy]
    student = 2.0 * stdtr(freedom, -np.abs(score[heavy]) * np.sqrt(freedom / (freedom - 2.0)))
    p_values[heavy] = np.maximum(p_values[heavy], student)
    return np.where(contrast.usable, np.minimum(p_values, 1.0), 1.0)


def _gamma_p_values(score: Vector, skewness: Vector) -> Vector:
    steep = np.abs(skewness)
    shape = 4.0 / steep**2
    place = np.maximum(shape + score * np.sign(skewness) * 2.0 / steep, 0.0)
    tails: Vector = 2.0 * np.minimum(gammaincc(shape, place), gammainc(shape, place))
    return tails
