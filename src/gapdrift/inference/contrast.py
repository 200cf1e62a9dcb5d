"""The difference of two mean vectors of statistics, with the variance that it has where nothing changed."""

from dataclasses import dataclass, fields, replace
from typing import Annotated

import numpy as np
from scipy.special import gammainc, gammaincc, ndtr, stdtr

from gapdrift._typing import Mask, Matrix, Vector
from gapdrift.persistence.records import INFINITE, expect, expect_shape, stored

__all__ = [
    "MAX_KURTOSIS",
    "MAX_SKEWNESS",
    "SMALLEST_VARIANCE",
    "Contrast",
    "Sample",
    "Shape",
    "compare",
    "covariance_of",
    "entry_p_values",
    "standardised",
    "tail_p_values",
]

SMALLEST_VARIANCE = 1e-10
"""Variance of one row below which an entry is constant."""

MAX_SKEWNESS, MAX_KURTOSIS = 0.7, 0.5
"""Skewness and excess kurtosis of a mean difference above which quadratic forms of it are doubtful."""

ROWS_PER_KURTOSIS = 10.0
"""Reference rows for each unit of an entry's excess kurtosis below which its variance is not known."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Sums over the rows of one side.

    Parameters
    ----------
    n_rows : int
    sums : (statistics,) array
    modelled, squares : (statistics,) arrays
        Sums of statistics whose squares are known, and of these squares: of products with what the model says of their
        hidden part. A mean without it, or of what the reference says of it, would be that of other numbers: squares of
        a column that is missing in half of the rows seemed to vary by twice as much as they do, or not at all.
    observed : (statistics,) array
        Rows in which what an indicator is of was observed; all others add nothing to the sum of its differences from
        the mean of the reference. Of other statistics it does not matter.
    """

    n_rows: int
    sums: Vector
    modelled: Vector
    squares: Vector
    observed: Vector

    @property
    def means(self) -> Vector:
        """Means of the statistics."""
        return self.sums / self.n_rows


@stored
@dataclass(frozen=True, eq=False)
class Shape:
    """How the statistics of one row are distributed in the reference, beyond mean and variance.

    Parameters
    ----------
    skewness, kurtosis : (statistics,) arrays
        The kurtosis is the excess over the Gaussian.
    indicator : (statistics,) array of bool
        Entries that are 0 or ``unit``, less ``offset``: their shape follows from their frequency.
    unit, offset : (statistics,) arrays
    degenerate : (statistics,) array of bool
        Redundant entries: squares of columns with two values, products within a category.
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


@dataclass(frozen=True, eq=False)
class Contrast:
    """Difference of the means of a window and of a reference.

    Parameters
    ----------
    difference : (statistics,) array
        Window less reference.
    variance : (statistics,) array
        Of one row, about the common mean.
    skewness, kurtosis : (statistics,) arrays
        Of the difference.
    usable : (statistics,) array of bool
        Entries that can be tested one by one.
    smooth : (statistics,) array of bool
        Entries that a quadratic form bears.
    n_reference, n_window : int
    """

    difference: Vector
    variance: Vector
    skewness: Vector
    kurtosis: Vector
    usable: Mask
    smooth: Mask
    n_reference: int
    n_window: int

    @property
    def scale(self) -> float:
        """1/m + 1/n: variance of the difference for unit variance of a row."""
        return 1.0 / self.n_reference + 1.0 / self.n_window

    @property
    def n_rows(self) -> int:
        """Rows on both sides."""
        return self.n_reference + self.n_window

    def scaled(self, factors: Vector) -> "Contrast":
        """Contrast with each difference multiplied by a factor."""
        return replace(self, difference=self.difference * factors)

    def part(self, block: slice) -> "Contrast":
        """Contrast of a run of statistics."""
        return replace(
            self,
            difference=self.difference[block],
            variance=self.variance[block],
            skewness=self.skewness[block],
            kurtosis=self.kurtosis[block],
            usable=self.usable[block],
            smooth=self.smooth[block],
        )


def compare(reference: Sample, window: Sample, shape: Shape) -> Contrast:
    """Contrast of two samples.

    Parameters
    ----------
    reference, window : Sample
    shape : Shape

    Notes
    -----
    The variance is taken about the common mean, so that it does not vanish where each side is constant but the two
    differ. An entry is left out of quadratic forms where the skewness or the kurtosis of the mean difference is too
    large for them, and not used at all where it is, besides, no indicator.
    """
    m, n = reference.n_rows, window.n_rows
    total, scale = m + n, 1.0 / m + 1.0 / n
    mean = (reference.sums + window.sums) / total
    modelled = (reference.modelled + window.modelled) / total
    variance = np.clip((reference.squares + window.squares - total * modelled**2) / (total - 1), 0.0, None)
    skewness, kurtosis = _row_shape_now(shape, mean, (reference.observed + window.observed) / total, total)
    skewness = skewness * (1.0 / n**2 - 1.0 / m**2) / scale**1.5
    excess = kurtosis * (1.0 / n**3 + 1.0 / m**3) / scale**2
    rough = (np.abs(skewness) > MAX_SKEWNESS) | (excess > MAX_KURTOSIS)
    unreliable = rough | shape.degenerate | (shape.kurtosis > m / ROWS_PER_KURTOSIS)
    present = variance > SMALLEST_VARIANCE
    usable = present & (shape.indicator | ~unreliable)
    return Contrast(window.means - reference.means, variance, skewness, excess, usable, usable & ~rough, m, n)


def covariance_of(n_rows: tuple[int, int], sums: tuple[Vector, Vector], products: tuple[Matrix, Matrix]) -> Matrix:
    """Covariance of one row about the common mean, out of sums and sums of products of two sides."""
    total = sum(n_rows)
    mean = (sums[0] + sums[1]) / total
    covariance: Matrix = (products[0] + products[1] - total * np.outer(mean, mean)) / (total - 1)
    return covariance


def _row_shape_now(shape: Shape, mean: Vector, observed: Vector, total: int) -> tuple[Vector, Vector]:
    """Skewness and kurtosis of one row: those of the reference, for indicators those of their frequency.

    The frequency is that among the observed cells of both sides. Missing ones count as the reference has it: with them
    the columns would seem frequent enough to be tested in which the reference happens to have a value often.
    """
    observed = np.clip(observed, 1.0 / total, 1.0)
    least = 0.2 / (total * observed)
    share = np.clip(np.abs(mean / observed + shape.offset) / shape.unit, least, 1.0 - least)
    variance = share * (1.0 - share)
    skewness = np.where(shape.indicator, (1.0 - 2.0 * share) / np.sqrt(variance * observed), shape.skewness)
    kurtosis = np.where(shape.indicator, (1.0 / variance - 3.0) / observed - 3.0, shape.kurtosis)
    return skewness, kurtosis


def standardised(contrast: Contrast) -> Vector:
    """Differences over their standard deviations within the sides: (statistics,); 0 where not usable.

    Notes
    -----
    With the variance about the common mean, t^2 = d^2 / (v h) is at most N - 1; the usual square of the
    standardised difference is t^2 (N - 2) / (N - 1 - t^2).
    """
    variance = np.where(contrast.usable, contrast.variance, 1.0)
    bounded = contrast.difference / np.sqrt(variance * contrast.scale)
    n_rows = contrast.n_rows
    room = np.maximum(n_rows - 1.0 - bounded**2, 1e-9)
    result: Vector = np.where(contrast.usable, bounded * np.sqrt(max(n_rows - 2.0, 1.0) / room), 0.0)
    return result


def entry_p_values(contrast: Contrast) -> Vector:
    """Two-sided p-value of each entry: (statistics,); 1 where not usable."""
    # The variance is known from the rows of both sides only: Student's t has this kurtosis.
    kurtosis = contrast.kurtosis + 6.0 / max(contrast.n_rows - 6.0, 1.0)
    found = tail_p_values(standardised(contrast), contrast.skewness, kurtosis)
    return np.where(contrast.usable, found, 1.0)


def tail_p_values(score: Vector, skewness: Vector, kurtosis: Vector) -> Vector:
    """Two-sided p-values of standardised differences of some skewness and excess kurtosis.

    Notes
    -----
    A skew mean difference has the tails of a gamma distribution of the same skewness (Pearson III); one with
    heavier tails than that has those of Student's t of the same kurtosis.
    """
    p_values = 2.0 * ndtr(-np.abs(score))
    skew = np.abs(skewness) > 0.02
    p_values[skew] = _gamma_p_values(score[skew], skewness[skew])
    excess = kurtosis - 1.5 * skewness**2
    heavy = excess > 0.02
    with np.errstate(invalid="ignore"):
        freedom = 4.0 + 6.0 / excess[heavy]
    student = 2.0 * stdtr(freedom, -np.abs(score[heavy]) * np.sqrt(freedom / (freedom - 2.0)))
    p_values[heavy] = np.maximum(p_values[heavy], student)
    return np.minimum(p_values, 1.0)


def _gamma_p_values(score: Vector, skewness: Vector) -> Vector:
    steep = np.abs(skewness)
    shape = 4.0 / steep**2
    place = np.maximum(shape + score * np.sign(skewness) * 2.0 / steep, 0.0)
    tails: Vector = 2.0 * np.minimum(gammaincc(shape, place), gammainc(shape, place))
    return tails
