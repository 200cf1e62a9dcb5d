"""Which cells are missing: a mechanism and a rate for each column; what hides a cell is in its own row."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

__all__ = ["AT_RANDOM", "BY_ANOTHER", "BY_ANOTHER_SIZE", "BY_ITSELF", "MECHANISMS", "TOGETHER", "Missing", "at_random"]

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
SLOPE = 2.0
BLOCK = 4

AT_RANDOM = "MCAR"
TOGETHER = "blocks"
BY_ANOTHER = "MAR"
BY_ANOTHER_SIZE = "MAR by size"
BY_ITSELF = "MNAR"


@dataclass(frozen=True)
class Missing:
    """Mechanism and rates of missing cells.

    Parameters
    ----------
    mechanism
        ``MCAR``; ``blocks``: four neighbouring columns at once; ``MAR``: more where the first column is large, which is
        always observed; ``MAR by size``: more where its absolute value is; ``MNAR``: more where the cell itself is.
    rates
        Of each column.
    """

    mechanism: str
    rates: tuple[float, ...]

    def mask(self, latents: Matrix, rng: np.random.Generator) -> Mask:
        """Which cells are missing."""
        return MECHANISMS[self.mechanism](latents, np.asarray(self.rates), rng)

    def __str__(self) -> str:
        positive = [rate for rate in self.rates if rate]
        if not positive:
            return "nothing missing"
        low, high = f"{min(positive):.0%}", f"{max(positive):.0%}"
        some = f" in {len(positive)} of {len(self.rates)} columns" if len(positive) < len(self.rates) else ""
        return f"{self.mechanism} {low}{'' if low == high else f' to {high}'}{some}"


def at_random(n_columns: int, rate: float) -> Missing:
    """The same rate in every column, whatever the values."""
    return Missing(AT_RANDOM, (rate,) * n_columns)


def _at_random(latents: Matrix, rates: Matrix, rng: np.random.Generator) -> Mask:
    return np.asarray(rng.random(latents.shape) < rates)


def _together(latents: Matrix, rates: Matrix, rng: np.random.Generator) -> Mask:
    n_rows, n_columns = latents.shape
    chances = rng.random((n_rows, -(-n_columns // BLOCK)))
    return np.asarray(np.repeat(chances, BLOCK, axis=1)[:, :n_columns] < rates)


def _by_another(latents: Matrix, rates: Matrix, rng: np.random.Generator) -> Mask:
    return _logistic(latents[:, :1], rates, rng, latents.shape, sized=False)


def _by_another_size(latents: Matrix, rates: Matrix, rng: np.random.Generator) -> Mask:
    return _logistic(np.abs(latents[:, :1]), rates, rng, latents.shape, sized=True)


def _by_itself(latents: Matrix, rates: Matrix, rng: np.random.Generator) -> Mask:
    return _logistic(latents, rates, rng, latents.shape, sized=False)


def _logistic(driver: Matrix, rates: Matrix, rng: np.random.Generator, shape: tuple[int, ...], *, sized: bool) -> Mask:
    starts = np.array([_intercept(float(rate), sized=sized) for rate in rates])
    return np.asarray(rng.random(shape) < expit(starts + SLOPE * driver))


@cache
def _intercept(rate: float, *, sized: bool) -> float:
    """Start of the logistic curve with which this share of cells is missing, where the driver is standard normal."""
    if rate == 0:
        return -np.inf
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    driver, weights = np.abs(nodes) if sized else nodes, weights / weights.sum()
    return float(brentq(lambda start: weights @ expit(start + SLOPE * driver) - rate, -30.0, 30.0))


MECHANISMS: dict[str, Callable[[Matrix, Matrix, np.random.Generator], Mask]] = {
    AT_RANDOM: _at_random,
    TOGETHER: _together,
    BY_ANOTHER: _by_another,
    BY_ANOTHER_SIZE: _by_another_size,
    BY_ITSELF: _by_itself,
}
