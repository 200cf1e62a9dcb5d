"""The configurations of MDL-FWF on one reference, which share bins and distances."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gapdrift as gd
from experiments.protocols import Protocol
from experiments.samples import Sample
from gapdrift.distance import LearnedDistance
from gapdrift.hypothesis import pearson
from gapdrift.imputation import IMPUTERS, FittedImputer, fit_imputers, impute
from gapdrift.membership import fuzzy_weights
from gapdrift.partition import Partition, fit_partition

__all__ = ["CONFIGURATIONS", "Configurations", "count_nearest", "fit_configurations", "unclipped_weights"]

Matrix = NDArray[np.float64]
Weights = Callable[[Matrix, float], Matrix]

CONFIGURATIONS = {
    "1": "Complete",
    "2": "MV Impute",
    "3": "MDL",
    "4.1": "MDL-FWF-Gau",
    "4.2": "MDL-FWF-Tri",
    "5.1": "MDL-FWF-Gau-TopQ",
    "5.2": "MDL-FWF-Tri-TopQ",
}
"""Rows of the paper's Table 3."""


@dataclass(frozen=True)
class Configurations:
    """All configurations, fitted on one reference.

    Parameters
    ----------
    complete, filled, gappy : Partition
        Bins learned on the complete reference, on the filled one, and on the complete rows of the one with gaps.
    distance : LearnedDistance
    weights : mapping of str to callable
        How distances of incomplete rows become weights, for the configurations 3 to 5.
    counts : mapping of str to (bins,) array
        Of the reference, by configuration.
    imputers : tuple of FittedImputer
        The paper's pool, fitted on the reference.
    protocol : Protocol
    """

    complete: Partition
    filled: Partition
    gappy: Partition
    distance: LearnedDistance
    weights: Mapping[str, Weights]
    counts: Mapping[str, NDArray[np.float64]]
    imputers: tuple[FittedImputer, ...]
    protocol: Protocol

    def alarms(self, window: Sample, rng: np.random.Generator, alpha: float) -> dict[str, bool]:
        """Whether a window is drift, by each configuration."""
        counts = _count(self, window, rng)
        return {name: pearson(self.counts[name], counts[name]).p_value < alpha for name in CONFIGURATIONS}


def fit_configurations(
    reference: Sample, protocol: Protocol, rng: np.random.Generator, *, n_bins: int, top_q: int, **settings: Any
) -> Configurations:
    """All configurations on one reference.

    Parameters
    ----------
    reference : Sample
    protocol : Protocol
    rng : numpy.random.Generator
    n_bins, top_q : int
        K and Q of the paper.
    **settings
        Of `gapdrift.MDLFWF` (regressor, folds, pairs); nothing is the library's own.
    """
    learned = gd.MDLFWF(n_bins=n_bins, random_state=rng, **settings).fit(reference.gaps).reference_
    distance = learned.distance
    assert isinstance(distance, LearnedDistance)
    triangular = unclipped_weights if protocol.unclipped else partial(fuzzy_weights, membership="triangular")
    gaussian = partial(fuzzy_weights, membership="gaussian")
    weights: dict[str, Weights] = {
        "3": partial(fuzzy_weights, membership="crisp"),
        "4.1": gaussian,
        "4.2": triangular,
        "5.1": partial(gaussian, top_q=top_q),
        "5.2": partial(triangular, top_q=top_q),
    }
    imputers = fit_imputers(None, reference.gaps, rng)
    blank = Configurations(
        fit_partition(reference.complete, n_bins, rng),
        fit_partition(_fill(imputers, reference.gaps), n_bins, rng),
        learned.partition,
        distance,
        weights,
        {},
        imputers,
        protocol,
    )
    return replace(blank, counts=_count(blank, reference, rng))


def unclipped_weights(distances: Matrix, error: float, top_q: int | None = None) -> Matrix:
    """Weights by the paper's Eq. (4) as printed, ranked after the square.

    Examples
    --------
    >>> unclipped_weights(np.array([[1.0, 1.2, 4.0, 9.0]]), 0.5).round(2)
    array([[0.02, 0.01, 0.07, 0.9 ]])
    """
    degrees = (1.0 + (distances.min(axis=1, keepdims=True) - distances) / (2.0 * error)) ** 2
    if top_q is not None and top_q < distances.shape[1]:
        low = np.argsort(-degrees, axis=1, kind="stable")[:, top_q:]
        np.put_along_axis(degrees, low, 0.0, axis=1)
    return np.asarray(degrees / degrees.sum(axis=1, keepdims=True))


def _count(fitted: Configurations, sample: Sample, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Counts of a sample's rows in the bins of each configuration."""
    protocol, model, imputers = fitted.protocol, fitted.distance, fitted.imputers
    fresh = fit_imputers(None, sample.gaps, rng) if protocol.impute_apart or protocol.refit_imputers else imputers
    filled = _fill(fresh if protocol.impute_apart else imputers, sample.gaps)
    if protocol.refit_imputers:
        model = replace(model, imputers=fresh)
    counts = {"1": count_nearest(fitted.complete, sample.complete), "2": count_nearest(fitted.filled, filled)}
    incomplete = np.isnan(sample.gaps).any(axis=1)
    solid = count_nearest(fitted.gappy, sample.gaps[~incomplete])
    gaps = sample.gaps[incomplete]
    distances = model.to_centres(gaps, np.isnan(gaps), fitted.gappy.centres)
    for name, weigh in fitted.weights.items():
        counts[name] = solid + weigh(distances, fitted.distance.error).sum(axis=0)
    return counts


def _fill(imputers: tuple[FittedImputer, ...], gaps: Matrix) -> Matrix:
    """Rows filled by the iterative one of the pool."""
    return impute(imputers[list(IMPUTERS).index("iterative")], gaps)


def count_nearest(partition: Partition, rows: Matrix) -> NDArray[np.float64]:
    """Rows whose nearest centre is that of each bin."""
    weights = fuzzy_weights(partition.distances(rows), 0.0, membership="crisp")
    return np.asarray(weights.sum(axis=0))
