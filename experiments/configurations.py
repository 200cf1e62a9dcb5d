"""The configurations of MDL-FWF on one reference, which share bins and distances."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

import gapdrift as gd
from experiments.chained import fit_chained
from experiments.learning import learn_scripted
from experiments.protocols import Protocol
from experiments.samples import Sample, fill
from gapdrift._typing import Matrix
from gapdrift.detectors.mdlfwf.distance import LearnedDistance
from gapdrift.detectors.mdlfwf.membership import fuzzy_weights
from gapdrift.inference.pearson import pearson
from gapdrift.models.imputation import IMPUTERS, FittedImputer, fit_imputers, impute
from gapdrift.models.partition import Partition, fit_partition

__all__ = ["CONFIGURATIONS", "LIBRARY", "Configurations", "count_nearest", "fit_configurations", "unclipped_weights"]

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

LIBRARY = "MDLFWF"
"""The library's own MDL-FWF with the settings of configuration 5.2, its triangles clipped."""


@dataclass(frozen=True)
class Configurations:
    """All configurations, fitted on one reference.

    Parameters
    ----------
    complete, imputed, complete_case : Partition
        Bins learned on the complete reference, on the imputed one, and on the complete rows of the one with missing
        values.
    distance : LearnedDistance
    weights : mapping of str to callable
        Functions that turn distances of incomplete rows into weights, for the configurations 3 to 5.
    counts : mapping of str to (bins,) array
        Counts of the reference, by configuration.
    imputers : tuple of FittedImputer
        The paper's pool, fitted on the reference.
    protocol : Protocol
    detector : MDLFWF or None
        The library's own detector, if configuration 5.2 differs from it.
    """

    complete: Partition
    imputed: Partition
    complete_case: Partition
    distance: LearnedDistance
    weights: Mapping[str, Weights]
    counts: Mapping[str, NDArray[np.float64]]
    imputers: tuple[FittedImputer, ...]
    protocol: Protocol
    detector: gd.MDLFWF | None

    def alarms(self, window: Sample, rng: np.random.Generator, alpha: float) -> dict[str, bool]:
        """Whether each configuration finds drift in a window."""
        counts = _count(self, window, rng)
        found = {name: pearson(self.counts[name], counts[name]).p_value < alpha for name in CONFIGURATIONS}
        if self.detector is not None:
            found[LIBRARY] = bool(self.detector.test(window.with_missing, alpha=alpha).drift)
        return found


def fit_configurations(
    reference: Sample,
    protocol: Protocol,
    rng: np.random.Generator,
    *,
    n_bins: int,
    top_q: int,
    learn: Callable[..., LearnedDistance] = learn_scripted,
    **settings: Any,
) -> Configurations:
    """All configurations, fitted on one reference.

    Parameters
    ----------
    reference : Sample
    protocol : Protocol
    rng : numpy.random.Generator
    n_bins, top_q : int
        K and Q of the paper.
    learn : callable
        Function that learns distances if the protocol has ordered pairs.
    **settings
        Settings of `gapdrift.MDLFWF` (regressor, folds, pairs); without any, the library's defaults.
    """
    complete_case, distance, detector = _learn(reference.with_missing, protocol, rng, n_bins, top_q, learn, settings)
    triangular = unclipped_weights if protocol.unclipped else partial(fuzzy_weights, membership="triangular")
    gaussian = partial(fuzzy_weights, membership="gaussian")
    weights: dict[str, Weights] = {
        "3": partial(fuzzy_weights, membership="crisp"),
        "4.1": gaussian,
        "4.2": triangular,
        "5.1": partial(gaussian, top_q=top_q),
        "5.2": partial(triangular, top_q=top_q),
    }
    imputers = fit_imputers(None, reference.with_missing, rng)
    uncounted = Configurations(
        _partition(reference.complete, n_bins, protocol, rng),
        _partition(impute(_iterative(imputers), reference.with_missing), n_bins, protocol, rng),
        complete_case,
        distance,
        weights,
        {},
        imputers,
        protocol,
        detector,
    )
    return replace(uncounted, counts=_count(uncounted, reference, rng))


def _learn(
    rows: Matrix,
    protocol: Protocol,
    rng: np.random.Generator,
    n_bins: int,
    top_q: int,
    learn: Callable[..., LearnedDistance],
    settings: Mapping[str, Any],
) -> tuple[Partition, LearnedDistance, gd.MDLFWF | None]:
    """Bins and distances of a reference with missing values, and the library's own detector if it has others."""
    detector = gd.MDLFWF(n_bins=n_bins, top_q=top_q, random_state=rng, **settings).fit(rows)
    learned = detector.reference_
    distance = learned.distance
    assert isinstance(distance, LearnedDistance)
    if not protocol.ordered_pairs:
        return learned.partition, distance, None
    bins = _partition(rows[~np.isnan(rows).any(axis=1)], n_bins, protocol, rng)
    return bins, learn(rows, max_pairs=settings.get("max_pairs"), rng=rng), detector


def _partition(rows: Matrix, n_bins: int, protocol: Protocol, rng: np.random.Generator) -> Partition:
    """Bins by k-means; the scripts use seed 0 and ten starts, which was scikit-learn's default then."""
    if not protocol.seeded_draws:
        return fit_partition(rows, n_bins, rng)
    return Partition(KMeans(n_bins, n_init=10, random_state=0).fit(rows).cluster_centers_)


def unclipped_weights(distances: Matrix, error: float, top_q: int | None = None) -> Matrix:
    """Weights by the paper's Eq. (4) as printed: bins beyond twice the error gain weight with their distance.

    Examples
    --------
    >>> unclipped_weights(np.array([[1.0, 1.2, 4.0, 9.0]]), 0.5).round(2)
    array([[0.02, 0.01, 0.07, 0.9 ]])
    >>> unclipped_weights(np.array([[1.0, 1.2, 4.0, 9.0]]), 0.5, top_q=3).round(2)  # of the nearest three
    array([[0.18, 0.11, 0.71, 0.  ]])
    """
    degrees = (1.0 + (distances.min(axis=1, keepdims=True) - distances) / (2.0 * error)) ** 2
    if top_q is not None and top_q < distances.shape[1]:
        far = np.argsort(distances, axis=1, kind="stable")[:, top_q:]
        np.put_along_axis(degrees, far, 0.0, axis=1)
    return np.asarray(degrees / degrees.sum(axis=1, keepdims=True))


def _count(fitted: Configurations, sample: Sample, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Counts of a sample's rows in the bins of each configuration."""
    protocol, model, imputers = fitted.protocol, fitted.distance, fitted.imputers
    imputed = fill(sample.with_missing, _iterative(imputers), protocol)
    counts = {"1": count_nearest(fitted.complete, sample.complete), "2": count_nearest(fitted.imputed, imputed)}
    incomplete = np.isnan(sample.with_missing).any(axis=1)
    complete_counts = count_nearest(fitted.complete_case, sample.with_missing[~incomplete])
    rows = sample.with_missing[incomplete]
    if protocol.refit_imputers:
        *others, _ = IMPUTERS
        model = replace(model, imputers=(*fit_imputers(others, rows, rng), fit_chained(rows)))
    distances = model.to_centres(rows, np.isnan(rows), fitted.complete_case.centres)
    for name, weigh in fitted.weights.items():
        counts[name] = complete_counts + weigh(distances, fitted.distance.error).sum(axis=0)
    return counts


def _iterative(imputers: tuple[FittedImputer, ...]) -> FittedImputer:
    """The iterative imputer, which configuration 2 uses."""
    return imputers[list(IMPUTERS).index("iterative")]


def count_nearest(partition: Partition, rows: Matrix) -> NDArray[np.float64]:
    """Number of rows that are nearest to the centre of each bin: (bins,)."""
    weights = fuzzy_weights(partition.distances(rows), 0.0, membership="crisp")
    return np.asarray(weights.sum(axis=0))
