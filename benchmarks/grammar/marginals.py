"""The law of a single column: standard normal numbers in, values out, by a function that never looks at other rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit
from scipy.stats import poisson

__all__ = ["CONTINUOUS", "KINDS", "NOT_NUMBERS", "SUM", "Marginal", "draw_marginal"]

Matrix = NDArray[np.float64]
Rng = np.random.Generator
TINY = 1e-12
FEWEST_VARYING = 20


@dataclass(frozen=True)
class Marginal:
    """The law of one column.

    Parameters
    ----------
    kind
        One of `KINDS`, or `SUM`.
    size
        What the kind has to be told: a scale, degrees of freedom, a share, a mean, or a number of categories.
    """

    kind: str
    size: float

    def values(self, latent: Matrix) -> Matrix:
        """Values at standard normal numbers; for categories their codes, for dates the number of the day."""
        return np.asarray(KINDS[self.kind].values(latent, self.size), dtype=np.float64)

    def varies(self, n_cells: float) -> bool:
        """Whether so many cells vary enough for a test to reach its level, whatever the test."""
        if self.kind in {"category", "Zipf category"}:
            # Of rare categories most differ, and the column is taken for an identifier.
            return n_cells >= (5 if self.kind == "category" else 2) * self.size
        shares = {
            "rare flag": self.size,
            "bool": self.size,
            "nearly constant": 1 - self.size,
            "zero-inflated": 1 - self.size,
            "count": min(self.size, 1.0),
            "date": 0.0,
        }
        return self.kind not in shares or n_cells * shares[self.kind] >= FEWEST_VARYING

    def __str__(self) -> str:
        return f"{self.kind} {self.size:.3g}" if KINDS[self.kind].sizes[0] != KINDS[self.kind].sizes[-1] else self.kind


@dataclass(frozen=True)
class _Kind:
    """How values are computed, and the sizes that are drawn: from the first to the last, on a logarithmic scale."""

    values: Callable[[Matrix, float], Matrix]
    sizes: tuple[float, float]
    whole: bool = False


def _student(latent: Matrix, degrees: float) -> Matrix:
    return np.asarray(stdtrit(degrees, np.clip(ndtr(latent), TINY, 1 - TINY)))


def _zero_inflated(latent: Matrix, share: float) -> Matrix:
    rest = np.clip((ndtr(latent) - share) / (1 - share), 0.0, 1 - TINY)
    return -np.log1p(-rest)


def _nearly_constant(latent: Matrix, share: float) -> Matrix:
    return np.where(ndtr(latent) < share, 7.0, latent)


def _heaped(latent: Matrix, share: float) -> Matrix:
    """Whole numbers, of which a share is a multiple of ten; which ones, depends on digits that nobody sees."""
    number = 50 + 20 * latent
    return np.where(np.mod(latent * 99_991.0, 1.0) < share, 10 * np.rint(number / 10), np.rint(number))


def _count(latent: Matrix, mean: float) -> Matrix:
    return np.searchsorted(_poisson_steps(mean), ndtr(latent), side="right").astype(np.float64)


@cache
def _poisson_steps(mean: float) -> Matrix:
    return np.asarray(poisson.cdf(np.arange(int(mean + 12 * np.sqrt(mean) + 12)), mean))


def _equal(latent: Matrix, n_categories: float) -> Matrix:
    return _codes(latent, np.full(int(n_categories), 1.0))


def _zipf(latent: Matrix, n_categories: float) -> Matrix:
    return _codes(latent, 1.0 / np.arange(1, int(n_categories) + 1))


def _codes(latent: Matrix, weights: Matrix) -> Matrix:
    """Codes of categories with these weights, in an order that is not that of the latent numbers."""
    order = np.random.default_rng(len(weights)).permutation(len(weights))
    steps = np.cumsum(weights[order] / weights.sum())[:-1]
    return order[np.searchsorted(steps, ndtr(latent), side="right")].astype(np.float64)


SUM = "sum"
"""Kind of a column that is the sum of two others."""

KINDS = {
    "gaussian": _Kind(lambda latent, _: latent, (1, 1)),
    "log-normal": _Kind(lambda latent, scale: np.exp(scale * latent), (0.5, 2.0)),
    "student": _Kind(_student, (1, 3), whole=True),
    "uniform": _Kind(lambda latent, _: ndtr(latent), (1, 1)),
    "two peaks": _Kind(lambda latent, distance: latent + distance * np.sign(latent), (1.0, 5.0)),
    "ordinal": _Kind(lambda latent, n: np.minimum(np.floor(ndtr(latent) * n), n - 1), (3, 10), whole=True),
    "zero-inflated": _Kind(_zero_inflated, (0.3, 0.95)),
    "nearly constant": _Kind(_nearly_constant, (0.98, 0.999)),
    "rounded": _Kind(lambda latent, step: np.rint(latent / step) * step, (0.05, 1.0)),
    "heaped": _Kind(_heaped, (0.3, 0.9)),
    "count": _Kind(_count, (0.1, 30.0)),
    "rare flag": _Kind(lambda latent, share: (ndtr(latent) > 1 - share).astype(np.float64), (0.001, 0.02)),
    "integer": _Kind(lambda latent, _: np.rint(1_000 * latent), (1, 1)),
    "bool": _Kind(lambda latent, share: (ndtr(latent) < share).astype(np.float64), (0.05, 0.5)),
    "category": _Kind(_equal, (2, 200), whole=True),
    "Zipf category": _Kind(_zipf, (2, 200), whole=True),
    "date": _Kind(lambda latent, days: np.floor(ndtr(latent) * days), (365, 365)),
    SUM: _Kind(lambda latent, _: latent, (1, 1)),
}

CONTINUOUS = ("gaussian", "log-normal", "student", "uniform", "two peaks")
"""Kinds whose values tell the latent number: gaps that depend on it depend on what can be observed."""

NOT_NUMBERS = ("bool", "category", "Zipf category", "date")
"""Kinds that an array of numbers cannot hold as what they are."""


def draw_marginal(kind: str, rng: Rng, most_categories: int = 200) -> Marginal:
    """A marginal of this kind, its size drawn at random."""
    low, high = KINDS[kind].sizes
    if kind.lower().endswith("category"):
        high = max(low, min(high, most_categories))
    size = float(np.exp(rng.uniform(np.log(low), np.log(high))))
    return Marginal(kind, float(np.rint(size)) if KINDS[kind].whole else float(f"{size:.3g}"))
