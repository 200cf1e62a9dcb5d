"""Tests of a block of entries: by the largest of their standardised differences, and by the whitened sum of all.

Means of functions, products of two and of three, rates and patterns of missing cells are tested in this one form.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from gapdrift._typing import Mask, Matrix, Vector
from gapdrift.inference.combination import gamma_tail, sidak
from gapdrift.persistence.records import INFINITE, expect, expect_shape, stored

__all__ = [
    "LEAST_IN_SUM",
    "MIN_ROWS",
    "Entries",
    "EntryShape",
    "Moments",
    "attenuation",
    "entries_of",
    "inverse_of",
    "largest",
    "ridge",
    "shape_of",
    "shrunk",
    "tail_p_values",
    "taper",
    "whitened_sum",
]

ROWS_PER_KURTOSIS = 8.0
"""Rows for each unit of excess kurtosis from which an entry takes part with all its weight."""

SMALLEST_RIDGE, RIDGE_PER_COLUMN = 0.05, 2.5
"""Added to the eigenvalues of a correlation that is inverted, and for each column over the rows that know it."""

LEAST_IN_SUM = 0.05
"""Weight in a sum of many entries below which one takes no part."""

MIN_ROWS = 8.0
"""Rows with both cells, on either side, below which a product takes no part."""


@stored
@dataclass(frozen=True, eq=False)
class EntryShape:
    """How one entry of each row is distributed: variance, skewness and excess kurtosis.

    Parameters
    ----------
    variance, skewness, kurtosis : arrays
        The kurtosis is infinite where an entry says nothing.
    n_rows : array
        Rows that they were learned from.
    """

    variance: NDArray[np.float64]
    skewness: NDArray[np.float64]
    kurtosis: Annotated[NDArray[np.float64], INFINITE]
    n_rows: NDArray[np.float64]

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Check what was read from a file: one of each for each entry."""
        for part in (self.variance, self.skewness, self.kurtosis, self.n_rows):
            expect_shape(part, shape, "the shape of entries")
        expect(bool(np.all(self.variance >= 0.0)), "variances from 0")

    def heavier(self, factor: NDArray[np.float64]) -> "EntryShape":
        """With so many times the kurtosis."""
        return replace(self, skewness=self.skewness * np.sqrt(factor), kurtosis=(self.kurtosis + 3.0) * factor - 3.0)

    def at(self, places: Any) -> "EntryShape":
        """Of some entries."""
        return EntryShape(*(part[places] for part in (self.variance, self.skewness, self.kurtosis, self.n_rows)))


def shape_of(powers: NDArray[np.float64], n_rows: NDArray[np.float64], least: float) -> EntryShape:
    """EntryShape of entries from the means of their first four powers."""
    first, second, third, fourth = powers
    variance = np.maximum(second - first**2, 0.0)
    present = variance > least
    safe = np.where(present, variance, 1.0)
    cubes = third - 3.0 * first * second + 2.0 * first**3
    fourths = fourth - 4.0 * first * third + 6.0 * first**2 * second - 3.0 * first**4
    skewness = np.where(present, cubes / safe**1.5, 0.0)
    kurtosis = np.where(present, np.maximum(fourths / safe**2 - 3.0, -2.0), np.inf)
    return EntryShape(variance, skewness, kurtosis, n_rows)


@dataclass(frozen=True, eq=False)
class Entries:
    """Standardised differences, and how they are distributed where nothing changed.

    Parameters
    ----------
    scores : (entries,) array
    skewness, kurtosis : (entries,) arrays
        Of the differences.
    weights : (entries,) array
        From 0 to 1: how well each is known.
    """

    scores: Vector
    skewness: Vector
    kurtosis: Vector
    weights: Vector

    @property
    def used(self) -> Mask:
        """Entries that take part."""
        return self.weights > 0.0

    def p_values(self, explained: Vector | float = 0.0) -> Vector:
        """Two-sided p-value of each entry, of which so many standard deviations are explained; 1 where not used."""
        used = self.used
        found = np.ones(len(self.scores))
        scores = shrunk(self.scores, explained)
        found[used] = tail_p_values(scores[used], self.skewness[used], self.kurtosis[used])
        return found


class Moments(NamedTuple):
    """A sum, and its mean, variance and third central moment where nothing changed."""

    value: float
    mean: float
    variance: float
    third: float

    @property
    def p_value(self) -> float:
        """Probability of a gamma distribution with these moments to exceed the sum."""
        spread = np.sqrt(self.variance)
        skewness = max(self.third / self.variance**1.5, 2.0 * spread / max(self.mean, 1e-9) * 0.5, 1e-3)
        return float(gamma_tail((self.value - self.mean) / spread, skewness))


def taper(rows: Vector, kurtosis: Vector) -> Vector:
    """Weight of entries with so many rows and such excess kurtosis: from 0, up to a quarter of what is needed, to 1."""
    enough = np.maximum(rows, 0.0) / (ROWS_PER_KURTOSIS * np.maximum(kurtosis, 1.0))
    found: Vector = np.clip((enough - 0.25) / 0.75, 0.0, 1.0) ** 2
    return found


def tail_p_values(scores: Vector, skewness: Vector, kurtosis: Vector) -> Vector:
    """Two-sided p-values of standardised differences of some skewness and excess kurtosis.

    Notes
    -----
    In its long tail a skew difference is distributed as a gamma variable of the same skewness; in its short tail it is
    taken as normal, which is cautious. One with heavier tails is distributed as Student's t of the same kurtosis.
    """
    away, steep = np.abs(scores), np.maximum(np.abs(skewness), 0.02)
    found = 2.0 * np.where(scores * skewness > 0.0, gamma_tail(away, steep), ndtr(-away))
    freedom = 4.0 + 6.0 / np.maximum(kurtosis, 1e-9)
    student = 2.0 * stdtr(freedom, -away * np.sqrt(freedom / (freedom - 2.0)))
    return np.minimum(np.maximum(found, student), 1.0)


def shrunk(scores: Vector, explained: Vector | float) -> Vector:
    """Scores drawn towards 0 by as much as is explained."""
    found: Vector = np.sign(scores) * np.maximum(np.abs(scores) - explained, 0.0)
    return found


def largest(entries: Entries, share: float, explained: Vector | float = 0.0) -> float | None:
    """p-value of the entry that differs most, for its weight and for the number of all; None where none takes part.

    Parameters
    ----------
    entries : Entries
    share : float
        Independent entries that one of these is worth (`gapdrift.inference.null.independent_share`).
    explained : (entries,) array or float
        Standard deviations that are explained otherwise.

    Notes
    -----
    Of independent entries p_i is uniform, and p_i / w_i is at most t with probability w_i t: the number of tests is the
    sum of the weights.
    """
    if not entries.used.any():
        return None
    weighted = entries.p_values(explained)[entries.used] / entries.weights[entries.used]
    smallest = float(weighted.min())
    return sidak(min(smallest, 1.0), max(share * float(entries.weights[entries.used].sum()), 1.0))


def ridge(n_columns: int, n_known: float) -> float:
    """What is added to the eigenvalues of a correlation that so many rows know."""
    return SMALLEST_RIDGE + RIDGE_PER_COLUMN * n_columns / max(n_known, 1.0)


def inverse_of(correlation: Matrix, added: float) -> Matrix:
    """Inverse of a correlation with a ridge; what pairs of rows make negative of it counts as 0."""
    values, vectors = np.linalg.eigh(correlation)
    found: Matrix = (vectors / (np.maximum(values, 0.0) + added)) @ vectors.T
    return found


def whitened_sum(scores: Vector, weights: Vector, correlation: Matrix, n_known: float, excess: float) -> Moments:
    """Whitened sum of squared scores, with its moments where nothing changed.

    Parameters
    ----------
    scores, weights : (entries,) arrays
    correlation : (entries, entries) array
        Of the scores.
    n_known : float
        Rows that know it.
    excess : float
        What heavy rows add to the variance.

    Notes
    -----
    Q = z'(R + l)^-1 z of scores z with the correlation R. With P = (R + l)^-1 R it has the mean tr P, the variance
    2 tr P^2 and the third central moment 8 tr P^3. R is known from N rows only: of k entries, with f = tr P / k,
    g = k / N and c = 1 - f g, the mean is tr P / c and the variance 2 k (f / c^3 - (f - tr P^2 / k) / c^4) (Chen, Paul,
    Prentice and Wang, 2011).
    """
    used = np.flatnonzero(weights > 0.0)
    size = len(used)
    z, own = scores[used] * weights[used], correlation[np.ix_(used, used)]
    inverse = inverse_of(own, ridge(size, n_known))
    plain = inverse @ own
    weighted = inverse @ (own * np.outer(weights[used], weights[used]))
    share, square = float(np.trace(plain)) / size, float((plain * plain.T).sum()) / size
    left = max(1.0 - share * size / max(n_known, 1.0), 0.2)
    wider = (share / left**3 - (share - square) / left**4) / max(square, 1e-12)
    variance = 2.0 * float((weighted * weighted.T).sum()) * max(wider, 1.0)
    third = 8.0 * float(((weighted @ weighted) * weighted.T).sum()) * max(wider, 1.0) ** 1.5
    return Moments(float(z @ inverse @ z), float(np.trace(weighted)) / left, variance + excess, third)


def entries_of(difference: Vector, shape: EntryShape, m: Vector, n: Vector, *, second_order: bool = False) -> Entries:
    """Entries of differences of means over so many rows of the reference and of the window.

    Means of products of standardised functions about their own means vary by (1/m^2 + 1/n^2) more: it rules products
    that hardly vary, such as that of a column with two values and its copy.
    """
    one, two = 1.0 / np.maximum(m, 1.0), 1.0 / np.maximum(n, 1.0)
    scale = one + two
    kurtosis = np.where(np.isfinite(shape.kurtosis), shape.kurtosis, 0.0)
    known = np.minimum(m, shape.n_rows)
    excess = kurtosis * (two**3 + one**3) / scale**2 + 3.0 * (kurtosis + 2.0) / np.maximum(known, 1.0)
    fewest = np.minimum(np.minimum(m, n), shape.n_rows)
    weights = np.where(np.isfinite(shape.kurtosis) & (fewest >= MIN_ROWS), taper(fewest, kurtosis), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = shape.variance * scale + (one**2 + two**2 if second_order else 0.0)
        scores = np.where(weights > 0.0, difference / np.sqrt(variance), 0.0)
    return Entries(scores, shape.skewness * (two**2 - one**2) / scale**1.5, excess, weights)


def attenuation(rows: Matrix) -> Matrix:
    """Rows with both cells over the root of those with each: by so much means of two columns go together less."""
    own = np.sqrt(np.maximum(np.diag(rows), 1.0))
    found: Matrix = rows / np.outer(own, own)
    return found
