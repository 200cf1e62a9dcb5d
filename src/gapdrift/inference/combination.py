"""Tests of many statistics at once, and their combination, calibrated by draws of the null distribution."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, fdtrc, gammaincc, ndtr, stdtr

from gapdrift._typing import Matrix, Vector
from gapdrift.inference.contrast import Contrast, entry_p_values
from gapdrift.inference.null import N_DRAWS, SMALLEST_EIGENVALUE

__all__ = [
    "Adjustment",
    "Component",
    "combine",
    "effective_number",
    "gamma_tail",
    "matched_filter",
    "min_p",
    "sidak",
    "sidak_all",
    "sum_of_squares",
    "wald",
]


READ_AT = np.array([0.03, 0.05, 0.08])
"""Probabilities at which the effective number of tests is read off."""

KNOTS = np.arange(0.1, 0.95, 0.1)
"""Probabilities between which the distribution of the draws is interpolated."""

CERTAIN = 1.0 - 1e-12
"""Largest p-value that is adjusted."""

NEXT_TO_NONE = 1e-300
"""Smallest p-value that is divided by."""


@dataclass(frozen=True, eq=False)
class Component:
    """A test, and its p-values for draws of the null distribution.

    Parameters
    ----------
    name : str
    p_value : float
    simulated : (draws,) array
        p-values of the draws.
    statistic : float or None
    degrees_of_freedom : int or None
    """

    name: str
    p_value: float
    simulated: Vector
    statistic: float | None = None
    degrees_of_freedom: int | None = None


def min_p(name: str, contrast: Contrast, draws: Matrix | None, seed: int = 1) -> Component | None:
    """Test by the smallest p-value of the entries; None where no entry is usable.

    Parameters
    ----------
    name : str
    contrast : Contrast
    draws : (draws, statistics) array or None
        Standardised differences where nothing changed. None takes all entries as independent, which is cautious where
        they are not (Šidák; Cai, Liu and Xia for entries of covariance matrices).
    seed : int, default 1
        Of the draws of independent entries.
    """
    n_usable = int(contrast.usable.sum())
    if not n_usable:
        return None
    smallest = float(entry_p_values(contrast).min())
    if draws is None:
        simulated = np.random.default_rng(seed).random(N_DRAWS)
        return Component(name, sidak(smallest, n_usable), simulated, degrees_of_freedom=n_usable)
    least = 2.0 * ndtr(-np.abs(draws[:, contrast.usable]).max(axis=1))
    adjust = Adjustment(least)
    return Component(name, adjust(smallest), adjust.all(least), degrees_of_freedom=n_usable)


def wald(
    name: str,
    difference: Vector,
    covariance: Matrix,
    draws: Matrix,
    *,
    n_rows: int,
    scale: float,
    freedom: int,
    max_rank: int,
    about_common_mean: bool = True,
) -> Component | None:
    """Wald's test of some entries together; None where none of them varies.

    Parameters
    ----------
    name : str
    difference : (entries,) array
    covariance : (entries, entries) array
        Of one row, about the common mean.
    draws : (draws, entries) array
        Differences of the null, of any scale.
    n_rows : int
        Of both sides.
    scale : float
        1/m + 1/n.
    freedom : int
        Degrees of freedom of the covariance.
    max_rank : int
        Leading principal directions of the correlation that are looked at, at most; no more than degrees of freedom.
    about_common_mean : bool, default True
        Whether the covariance is about the common mean of both sides, or within the sides.

    Notes
    -----
    T = d' S^-1 d / h on the non-null space of the correlation, of rank r. With S about the common mean T is at
    most N - 1; with f degrees of freedom of S within the sides, N - 2 where all rows estimate it,
    (N - 2) / f x (f + 1 - r) / r x T / (N - 1 - T) is distributed as F(r, f + 1 - r) (Hotelling). With S within the
    sides (f + 1 - r) / (f r) x T is.
    """
    deviation = np.sqrt(np.clip(np.diag(covariance), 0.0, None))
    chosen = np.flatnonzero(deviation > 1e-5)
    if not len(chosen):
        return None
    spread, max_rank = deviation[chosen], min(max_rank, freedom)
    whitening = _whitening(covariance[np.ix_(chosen, chosen)] / np.outer(spread, spread), max_rank)
    rank = whitening.shape[1]
    statistic = float((((difference[chosen] / spread) @ whitening) ** 2).sum() / scale)
    ratio = (n_rows - 2) / max(n_rows - 1.0 - statistic, 1e-9) if about_common_mean else 1.0
    within = statistic * ratio / freedom
    p_value = float(fdtrc(rank, freedom + 1 - rank, within * (freedom + 1 - rank) / rank))
    return Component(name, p_value, _simulated_wald(draws[:, chosen], max_rank), statistic, rank)


def matched_filter(name: str, score: Vector, correlation: Matrix, draws: Matrix, freedom: int) -> Component | None:
    """Test by the largest entry of R^-1 z, each over its standard deviation; None where R is of rank one.

    An entry that moves alone moves its neighbours in z, but in R^-1 z itself only (Hall and Jin; Cai, Liu and Xia).

    Parameters
    ----------
    name : str
    score : (entries,) array
        Standardised differences z.
    correlation : (entries, entries) array
        R.
    draws : (draws, entries) array
        Standardised differences where nothing changed.
    freedom : int
        Degrees of freedom of the correlation.

    Notes
    -----
    An entry of R^-1 z is what is left of an entry of z when all others are regressed on. With R known from f rows and r
    entries, its variance is f / (f + 1 - r) x (1 + (r - 1) / (f - r)): residuals look smaller where they were fitted,
    and the coefficients have an error.
    """
    values, vectors = np.linalg.eigh(correlation)
    kept = values > SMALLEST_EIGENVALUE
    rank = int(kept.sum())
    if rank < 2:
        return None
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    inverse /= np.sqrt(np.maximum(np.diag(inverse), 1e-12))
    spread = freedom / (freedom + 1 - rank) * (1.0 + (rank - 1) / max(freedom - rank, 1))
    largest = float(np.abs(score @ inverse).max() / np.sqrt(spread))
    least = 2.0 * ndtr(-np.abs(draws @ inverse).max(axis=1))
    adjust = Adjustment(least)
    smallest = 2.0 * float(stdtr(freedom + 1 - rank, -largest))
    return Component(name, adjust(smallest), adjust.all(least), degrees_of_freedom=rank)


def sum_of_squares(
    name: str, score: Vector, correlation: Matrix, draws: Matrix, *, n_rows: int, kurtosis: Vector
) -> Component | None:
    """Test by the sum of squared standardised differences; None of fewer than two.

    Wald's test looks alike at all directions. This one looks along those that the entries share, where a change that
    comes to all of them lies.

    Parameters
    ----------
    name : str
    score : (entries,) array
        Standardised differences z.
    correlation : (entries, entries) array
        Of z, as these rows show it.
    draws : (draws, entries) array
        Standardised differences where nothing changed.
    n_rows : int
        Of both sides.
    kurtosis : (entries,) array
        Excess kurtosis of z.

    Notes
    -----
    With R the correlation of k entries, the sum has the mean k, the variance 2 tr R^2 and the third central moment
    8 tr R^3; it is taken to have a gamma distribution with these (Hall; Buckley and Eagleson). Squared correlations of
    N rows are 1 / (N - 1) too large on average, which is taken off. A heavy entry adds its excess kurtosis to the
    variance. Of N rows a squared difference is (N - 2) / (N - 4) on average, as that of Student's t.
    """
    size = len(score)
    if size < 2:
        return None
    others = correlation - np.diag(np.diag(correlation))
    found = float((others**2).sum())
    by_chance = size * (size - 1.0) / max(n_rows - 1.0, 1.0)
    others *= np.sqrt(max(1.0 - by_chance / found, 0.0)) if found > 0.0 else 0.0
    squared = others @ others
    # tr (I + B)^2 and tr (I + B)^3 of a B without a diagonal.
    variance = 2.0 * (size + np.trace(squared)) + np.maximum(kurtosis, 0.0).sum()
    third = 8.0 * max(size + 3.0 * np.trace(squared) + (squared * others).sum(), 1.0)
    total = float((score**2).sum()) * max(n_rows - 4.0, 1.0) / max(n_rows - 2.0, 1.0)
    p_value = float(gamma_tail((total - size) / np.sqrt(variance), third / variance**1.5))
    sums = (draws**2).sum(axis=1)
    standard = (sums - sums.mean()) / max(float(sums.std()), 1e-9)
    simulated = gamma_tail(standard, max(float((standard**3).mean()), 1e-3))
    return Component(name, p_value, simulated, total, size)


def gamma_tail(standard: Vector | float, skewness: Vector | float) -> Vector:
    """Probability that a gamma distribution of mean 0, variance 1 and this skewness exceeds some numbers.

    Examples
    --------
    >>> round(float(gamma_tail(2.0, 2.0)), 4), round(float(np.exp(-3.0)), 4)
    (0.0498, 0.0498)
    """
    shape = 4.0 / np.asarray(skewness, dtype=float) ** 2
    found: Vector = gammaincc(shape, np.maximum(shape + np.sqrt(shape) * np.asarray(standard), 0.0))
    return found


def _whitening(correlation: Matrix, max_rank: int) -> Matrix:
    """Leading principal directions over the roots of their eigenvalues."""
    values, vectors = np.linalg.eigh(correlation)
    leading = np.flatnonzero(values > SMALLEST_EIGENVALUE)[::-1][:max_rank]
    whitening: Matrix = vectors[:, leading] / np.sqrt(values[leading])
    return whitening


def _simulated_wald(draws: Matrix, max_rank: int) -> Vector:
    """p-values of Wald's test of the draws, by their own correlation."""
    deviation = np.sqrt((draws**2).mean(axis=0))
    scaled = draws / np.where(deviation > 0, deviation, 1.0)
    whitening = _whitening(scaled.T @ scaled / len(scaled), max_rank)
    simulated: Vector = chdtrc(whitening.shape[1], ((scaled @ whitening) ** 2).sum(axis=1))
    return simulated


def combine(name: str, parts: list[tuple[Component | None, float]]) -> Component | None:
    """One test out of several: the weighted harmonic mean of their p-values, calibrated by its simulated null.

    Parameters
    ----------
    name : str
    parts : list of (component, weight)
        A component with a larger weight alarms sooner; those that are None are left out.

    Notes
    -----
    1 / sum of w_i / p_i, with weights that add up to 1, is ruled by the smallest p-value where one is far smaller than
    the others, and is smaller than that says where several are small. As good a combination as the smallest weighted
    p-value where a change moves one of the tests, it finds more of what moves several.
    """
    present = [(component, weight) for component, weight in parts if component is not None]
    if not present:
        return None
    if len(present) == 1:
        only = present[0][0]
        return Component(name, only.p_value, only.simulated, only.statistic, only.degrees_of_freedom)
    weights = np.array([weight for _, weight in present])
    weights /= weights.sum()
    observed = _harmonic_mean(np.array([component.p_value for component, _ in present]), weights)
    simulated = _harmonic_mean(np.column_stack([component.simulated for component, _ in present]), weights)
    adjust = Adjustment(simulated)
    return Component(name, adjust(float(observed)), adjust.all(simulated))


def _harmonic_mean(p_values: Matrix, weights: Vector) -> Vector:
    found: Vector = 1.0 / ((1.0 / np.maximum(p_values, NEXT_TO_NONE)) @ weights)
    return found


class Adjustment:
    """Probability that the smallest or the mean of several p-values is at most a number, where nothing changed.

    Below the 0.05 quantile of the draws it is that of `effective_number` independent tests, which extends to
    probabilities far smaller than draws can; above it, the share of draws, so that p-values are uniform.

    Parameters
    ----------
    smallest : (draws,) array
        Smallest p-values of draws where nothing changed, or means of them.

    Examples
    --------
    >>> draws = np.random.default_rng(0).random((100_000, 7))
    >>> adjust = Adjustment(draws.min(axis=1))
    >>> round(adjust(1e-9) * 1e9, 1), round(adjust(0.0943), 2)
    (7.0, 0.5)
    """

    def __init__(self, smallest: Vector) -> None:
        capped = np.minimum(smallest, CERTAIN)
        self.number = effective_number(capped)
        least, *quantiles = np.quantile(capped, [READ_AT[1], *KNOTS]).tolist()
        self._from = np.array([least, *quantiles, 1.0])
        self._to = np.maximum.accumulate([sidak(least, self.number), *KNOTS, 1.0])

    def __call__(self, p_value: float) -> float:
        """Probability of one number."""
        return float(self.all(np.array([p_value]))[0])

    def all(self, p_values: Vector) -> Vector:
        """Probabilities of many numbers."""
        small = p_values < self._from[0]
        found: Vector = np.where(small, sidak_all(p_values, self.number), np.interp(p_values, self._from, self._to))
        return found


def effective_number(smallest: Vector) -> float:
    """Number of independent tests whose smallest p-value would be distributed as these draws.

    Examples
    --------
    >>> draws = np.random.default_rng(0).random((100_000, 7)).min(axis=1)
    >>> round(effective_number(draws))
    7
    """
    quantiles = np.minimum(np.quantile(smallest, READ_AT), 0.999)
    return max(1.0, float(np.mean(np.log1p(-READ_AT) / np.log1p(-quantiles))))


def sidak(p_value: float, number: float) -> float:
    """Probability that the smallest of ``number`` independent p-values is at most this: 1 - (1 - p)^number.

    Examples
    --------
    >>> round(sidak(0.01, 5), 4)
    0.049
    """
    return float(-np.expm1(number * np.log1p(-min(p_value, CERTAIN))))


def sidak_all(p_values: Vector, number: float | Vector) -> Vector:
    """As `sidak`, for many p-values."""
    result: Vector = -np.expm1(number * np.log1p(-np.minimum(p_values, CERTAIN)))
    return result
