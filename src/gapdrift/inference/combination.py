"""Tests of many statistics at once, and their combination, calibrated by draws of the null distribution."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc

from gapdrift._typing import Matrix, Vector

__all__ = ["N_DRAWS", "Adjustment", "Component", "combine", "effective_number", "gamma_tail", "sidak", "sidak_all"]

N_DRAWS = 2_000
"""Draws of p-values by which a combination is calibrated."""


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
