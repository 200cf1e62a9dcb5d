"""How columns depend on each other, as standard normal numbers or numbers close to it: rows are independent."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

__all__ = ["COMPONENTS", "COPIES", "DEPENDENCES", "FOLDED", "Dependence"]

Matrix = NDArray[np.float64]
Rng = np.random.Generator


@dataclass(frozen=True)
class Dependence:
    """How the columns of a table depend on each other.

    Parameters
    ----------
    kind
        One of `DEPENDENCES`.
    strength
        Between 0 and 1; what it means, the kind says.
    seed
        Of loadings and centres, which are the same in every trial.
    """

    kind: str
    strength: float = 0.0
    seed: int = 0

    def latents(self, n_rows: int, n_columns: int, rng: Rng) -> Matrix:
        """Rows of standard normal numbers, or of numbers close to it, that depend on each other; fresh ones."""
        noise = rng.normal(size=(n_rows, n_columns))
        return DEPENDENCES[self.kind](noise, self, rng)

    def __str__(self) -> str:
        return f"{self.kind} {self.strength:.2f}" if self.strength else self.kind


def _equicorrelated(noise: Matrix, dependence: Dependence, rng: Rng) -> Matrix:
    shared = rng.normal(size=(len(noise), 1))
    return np.asarray(np.sqrt(dependence.strength) * shared + np.sqrt(1 - dependence.strength) * noise)


def _autoregressive(noise: Matrix, dependence: Dependence, _rng: Rng) -> Matrix:
    rows, fresh = noise.copy(), np.sqrt(1 - dependence.strength**2)
    for place in range(1, noise.shape[1]):
        rows[:, place] = dependence.strength * rows[:, place - 1] + fresh * noise[:, place]
    return rows


def _factors(noise: Matrix, dependence: Dependence, rng: Rng) -> Matrix:
    """Three factors, the strength being the share of the variance that they explain."""
    loadings = np.random.default_rng(dependence.seed).normal(size=(3, noise.shape[1]))
    loadings *= np.sqrt(dependence.strength) / np.linalg.norm(loadings, axis=0)
    return np.asarray(rng.normal(size=(len(noise), 3)) @ loadings + np.sqrt(1 - dependence.strength) * noise)


def _heavy_copula(noise: Matrix, dependence: Dependence, rng: Rng) -> Matrix:
    """The copula of a t distribution with one degree of freedom: extremes come together."""
    rows = _equicorrelated(noise, dependence, rng)
    heavy = rows / np.abs(rng.normal(size=(len(noise), 1)))
    return np.asarray(ndtri(np.clip(0.5 + np.arctan(heavy) / np.pi, 1e-12, 1 - 1e-12)))


def _bent(noise: Matrix, dependence: Dependence, _rng: Rng) -> Matrix:
    """Every second column is the square of the one before, and noise; the strength is the share of the square."""
    rows = noise.copy()
    square = (noise[:, :-1:2] ** 2 - 1) / np.sqrt(2)
    rows[:, 1::2] = np.sqrt(dependence.strength) * square + np.sqrt(1 - dependence.strength) * noise[:, 1::2]
    return rows


def _heteroscedastic(noise: Matrix, dependence: Dependence, _rng: Rng) -> Matrix:
    """Every second column varies more where the one before is large."""
    rows = noise.copy()
    rows[:, 1::2] *= np.exp(dependence.strength * (noise[:, :-1:2] - dependence.strength))
    return rows


def _folded(noise: Matrix, dependence: Dependence, rng: Rng) -> Matrix:
    """Every second column follows the absolute value of the one before, in a share of the rows."""
    rows = noise.copy()
    folded = ndtri(np.clip(2 * ndtr(np.abs(noise[:, :-1:2])) - 1, 1e-12, 1 - 1e-12))
    follows = rng.random(folded.shape) < dependence.strength
    rows[:, 1::2] = np.where(follows, folded, noise[:, 1::2])
    return rows


def _clusters(noise: Matrix, dependence: Dependence, rng: Rng) -> Matrix:
    """Two to six clusters; the strength is the share of the variance between them."""
    parameters = np.random.default_rng(dependence.seed)
    n_clusters = int(parameters.integers(2, 7))
    centres = parameters.normal(size=(n_clusters, noise.shape[1])) * np.sqrt(dependence.strength)
    weights = parameters.dirichlet(np.full(n_clusters, 2.0))
    chosen = rng.choice(n_clusters, len(noise), p=weights)
    return np.asarray(centres[chosen] + np.sqrt(1 - dependence.strength) * noise)


def _components(noise: Matrix, _dependence: Dependence, rng: Rng) -> Matrix:
    """Rows of the principal components of a real set, drawn with replacement: independent rows of one law."""
    components = _breast_cancer_components()
    return components[rng.integers(len(components), size=len(noise)), : noise.shape[1]]


@cache
def _breast_cancer_components() -> Matrix:
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415

    rows = load_breast_cancer().data
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    return np.asarray(np.linalg.svd(rows, full_matrices=False)[0] * np.sqrt(len(rows)))


def _as_drawn(noise: Matrix, _dependence: Dependence, _rng: Rng) -> Matrix:
    return noise


COPIES = "copies and sums"
"""The second half of the columns repeats the first one or adds two columns of it; done on values, by the table."""
FOLDED = "category by number"
COMPONENTS = "principal components"

DEPENDENCES: dict[str, Callable[[Matrix, Dependence, Rng], Matrix]] = {
    "independent": _as_drawn,
    "equicorrelated": _equicorrelated,
    "autoregressive": _autoregressive,
    "three factors": _factors,
    "t(1) copula": _heavy_copula,
    "bent": _bent,
    "heteroscedastic": _heteroscedastic,
    FOLDED: _folded,
    "clusters": _clusters,
    COPIES: _as_drawn,
    COMPONENTS: _components,
}
