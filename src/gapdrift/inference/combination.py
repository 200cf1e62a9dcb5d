"""Tests of many statistics at once, and their combination, calibrated by the covariance of the evidence itself.

Where nothing changed, the standardised differences are jointly Gaussian with the correlation that the evidence
shows. Draws from that distribution, always the same, tell how small the smallest of several p-values gets by
chance; from them follows an effective number of independent tests.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, ndtr

from gapdrift.inference.contrast import SMALLEST_VARIANCE, Contrast, entry_p_values

__all__ = ["Component", "Null", "combine", "largest", "make_null", "wald", "worth"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

N_DRAWS = 2_000
"""Draws of the null distribution."""

LEVELS = np.array([0.03, 0.05, 0.08])
"""Levels at which the effective number of tests is read off."""

CERTAIN = 1.0 - 1e-12

NO_EIGENVALUE = 1e-10
"""Eigenvalues up to this are rounding, whose root would be a thousand times larger than they are."""

SMALLEST_EIGENVALUE = 0.02
"""Least eigenvalue of the correlation that a Wald test looks at.

Below it lies what strongly dependent columns leave over: the difference there is as small as the error of the
fitted model, and false alarms rise (0.11 instead of 0.05 on hourly air quality).
"""


@dataclass(frozen=True)
class Component:
    """A test and what it would say of draws where nothing changed.

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


@dataclass(frozen=True)
class Null:
    """Draws of the standardised differences where nothing changed.

    Parameters
    ----------
    draws : (draws, statistics) array
        With the correlation of the contrast.
    deviation : (statistics,) array
        Standard deviation of one row.
    """

    draws: Matrix
    deviation: Vector


def make_null(contrast: Contrast) -> Null:
    """Draws for a contrast; the same contrast always gives the same."""
    variance = np.clip(np.diag(contrast.covariance), 0.0, None)
    present = np.flatnonzero(variance > SMALLEST_VARIANCE)
    deviation = np.sqrt(variance)
    scaled = contrast.covariance[np.ix_(present, present)] / np.outer(deviation[present], deviation[present])
    draws = np.zeros((N_DRAWS, len(variance)))
    draws[:, present] = np.random.default_rng(0).standard_normal((N_DRAWS, len(present))) @ _root(scaled)
    return Null(draws, deviation)


def _root(correlation: Matrix) -> Matrix:
    """The symmetric root: unlike others it changes little where the matrix does, whatever the signs of eigenvectors.

    Sums that were added up in another order differ in their last digits, and must not give other draws.
    """
    values, vectors = np.linalg.eigh(correlation)
    root: Matrix = (vectors * np.sqrt(np.where(values > NO_EIGENVALUE, values, 0.0))) @ vectors.T
    return root


def largest(name: str, contrast: Contrast, draws: Matrix) -> Component | None:
    """Test by the smallest p-value of the entries; None where no entry is usable.

    Parameters
    ----------
    name : str
    contrast : Contrast
    draws : (draws, statistics) array
    """
    if not contrast.usable.any():
        return None
    p_values = entry_p_values(contrast)
    simulated = 2.0 * ndtr(-np.abs(draws[:, contrast.usable]).max(axis=1))
    number = effective_number(simulated)
    smallest = float(p_values.min())
    return Component(name, adjust(smallest, number), _adjust_all(simulated, number))


def wald(name: str, contrast: Contrast, null: Null, max_rank: int) -> Component | None:
    """Wald's test of all smooth entries together; None where there is none.

    Parameters
    ----------
    name : str
    contrast : Contrast
    null : Null
    max_rank : int
        Leading principal directions of the correlation that are looked at, at most.

    Notes
    -----
    T = d' S^-1 d / h on the non-null space of the correlation, of rank r. With S about the common mean T is at
    most N - 1; with f degrees of freedom of S within the sides, N - 2 where all rows tell it,
    (N - 2) / f x (f + 1 - r) / r x T / (N - 1 - T) is distributed as F(r, f + 1 - r) (Hotelling).
    """
    chosen = np.flatnonzero(contrast.smooth & (null.deviation > np.sqrt(SMALLEST_VARIANCE)))
    if not len(chosen):
        return None
    deviation = null.deviation[chosen]
    correlation = contrast.covariance[np.ix_(chosen, chosen)] / np.outer(deviation, deviation)
    values, vectors = np.linalg.eigh(correlation)
    leading = np.flatnonzero(values > SMALLEST_EIGENVALUE)[::-1][:max_rank]
    whitening = vectors[:, leading] / np.sqrt(values[leading])
    rank, n_rows = len(leading), contrast.n_rows
    statistic = float((((contrast.difference[chosen] / deviation) @ whitening) ** 2).sum() / contrast.scale)
    ratio = statistic / max(n_rows - 1.0 - statistic, 1e-9)
    freedom = contrast.freedom
    within = ratio * ((n_rows - 2) / freedom)
    p_value = float(fdtrc(rank, freedom + 1 - rank, within * (freedom + 1 - rank) / rank))
    simulated = chdtrc(rank, ((null.draws[:, chosen] @ whitening) ** 2).sum(axis=1))
    return Component(name, p_value, simulated, statistic, rank)


def worth(rows: Matrix) -> int:
    """Gaussian rows whose covariance is as good as that of these, for quadratic forms with its inverse.

    Notes
    -----
    With the covariance of L rows v instead of the true one, d' S^-1 d is too large by the share c / L on average,
    c = E |v|^4 / r - 1 for white rows of r columns (Mardia's kurtosis), which is r + 1 for Gaussian ones. Few rows with
    large products, as rare levels make them, tell less than many.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> 9_000 < worth(rng.normal(size=(10_000, 5))) <= 10_000
    True
    >>> worth(rng.standard_t(5, size=(10_000, 5))) < 9_000
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
    excess = float((squares**2).mean()) / rank - 1.0
    return int(max(min(len(rows), len(rows) * (rank + 1) / excess), 2))


def combine(name: str, components: list[Component], weights: list[float]) -> Component:
    """One test out of several: the smallest weighted p-value, calibrated by its simulated null.

    Parameters
    ----------
    name : str
    components : list of Component
        At least one.
    weights : list of float
        A component with a larger weight alarms sooner.
    """
    if len(components) == 1:
        only = components[0]
        return Component(name, only.p_value, only.simulated, only.statistic, only.degrees_of_freedom)
    share = np.array(weights) / max(weights)
    observed = min(float(np.min([c.p_value for c in components] / share)), CERTAIN)
    simulated = np.minimum(np.min([c.simulated / w for c, w in zip(components, share, strict=True)], axis=0), CERTAIN)
    number = effective_number(simulated)
    return Component(name, adjust(observed, number), _adjust_all(simulated, number))


def effective_number(smallest: Vector) -> float:
    """Number of independent tests whose smallest p-value would be distributed as these draws.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).random((100_000, 7)).min(axis=1)
    >>> round(effective_number(draws))
    7
    """
    quantiles = np.minimum(np.quantile(smallest, LEVELS), 0.999)
    return max(1.0, float(np.mean(np.log1p(-LEVELS) / np.log1p(-quantiles))))


def adjust(p_value: float, number: float) -> float:
    """Probability that the smallest of ``number`` independent p-values is at most this: 1 - (1 - p)^number.

    Examples
    --------
    >>> round(adjust(0.01, 5), 4)
    0.049
    """
    return float(-np.expm1(number * np.log1p(-min(p_value, CERTAIN))))


def _adjust_all(p_values: Vector, number: float) -> Vector:
    result: Vector = -np.expm1(number * np.log1p(-np.minimum(p_values, CERTAIN)))
    return result
