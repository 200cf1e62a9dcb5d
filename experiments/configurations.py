"""The configurations of MDL-FWF on one reference, which share bins and distances."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from typing import Protocol as Interface

import numpy as np

import gapdrift as gd
from experiments.as_published import WEIGHTS, fit_scripted_distances
from experiments.clustering import fit_scripted_partition
from experiments.protocols import Protocol
from experiments.samples import Sample, fill, fit_iterative
from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.detectors.mdlfwf.distance import LearnedDistance
from gapdrift.detectors.mdlfwf.membership import fuzzy_weights
from gapdrift.inference.mean_weights import compare_mean_weights
from gapdrift.inference.pearson import pearson
from gapdrift.models.imputation import FittedImputer, impute
from gapdrift.models.partition import Partition, bins_of_others, fit_partition

__all__ = [
    "CONFIGURATIONS",
    "GROUPS",
    "WALD",
    "Bins",
    "CompleteWald",
    "Distances",
    "Frequencies",
    "fit_bins",
    "fit_complete_wald",
    "fit_distances",
]

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

WALD = "MDL-FWF-Wald"
"""The bins and memberships of configuration 5.2, tested by Wald's test; not in the paper."""

COMPLETE_WALD = f"{WALD} complete"
"""The same test of the bins of configuration 1."""

GROUPS = ("bins", "complete-wald", "distances")
"""Configurations 1 and 2, which need bins only; Wald's test of complete data; those that learn distances."""


class Frequencies(NamedTuple):
    """Sums of the weights of rows and of their products."""

    n_rows: int
    weights: Vector
    products: Matrix


class Measured(Interface):
    """Distances of incomplete rows to the centres of bins."""

    @property
    def error(self) -> float:
        """Standard deviation of the distances."""
        ...

    def to_centres(self, rows: Matrix) -> Matrix:
        """Distances of incomplete rows: (rows, bins)."""
        ...


@dataclass(frozen=True, eq=False)
class _LibraryDistances:
    """Distances of the library, whose imputers are those of the reference."""

    model: LearnedDistance
    centres: Matrix

    @property
    def error(self) -> float:
        return self.model.error

    def to_centres(self, rows: Matrix) -> Matrix:
        return self.model.to_centres(rows, np.isnan(rows), self.centres)


@dataclass(frozen=True, eq=False)
class Bins:
    """Configurations 1 and 2: k-means of the complete and of the imputed reference.

    Parameters
    ----------
    complete, imputed : Partition
    reference : mapping of str to Frequencies
    imputer : FittedImputer
        Fitted on the reference.
    protocol : Protocol
    """

    complete: Partition
    imputed: Partition
    reference: Mapping[str, Frequencies]
    imputer: FittedImputer
    protocol: Protocol

    def alarms(self, window: Sample, rng: np.random.Generator, alpha: float) -> dict[str, bool]:  # noqa: ARG002
        """Whether each configuration finds drift in a window."""
        filled = fill(window.with_missing, self.imputer, self.protocol)
        complete = _frequencies(_nearest(self.complete.distances(window.complete)))
        imputed = _frequencies(_nearest(self.imputed.distances(filled)))
        return {
            "1": _pearson(self.reference["1"], complete) < alpha,
            "2": _pearson(self.reference["2"], imputed) < alpha,
        }


@dataclass(frozen=True, eq=False)
class CompleteWald:
    """Wald's test of the bins of configuration 1.

    Parameters
    ----------
    partition : Partition
    reference : Frequencies
    """

    partition: Partition
    reference: Frequencies

    def alarms(self, window: Sample, rng: np.random.Generator, alpha: float) -> dict[str, bool]:  # noqa: ARG002
        """Whether the test finds drift in a window."""
        found = _frequencies(_nearest(self.partition.distances(window.complete)))
        return {COMPLETE_WALD: _wald(self.reference, found) < alpha}


@dataclass(frozen=True, eq=False)
class Distances:
    """Configurations 3 to 5, and Wald's test: distances learned from a reference with missing values.

    Parameters
    ----------
    partition : Partition
        Bins of the complete rows.
    measured : Measured
    weights : mapping of str to callable
        Functions that turn distances of incomplete rows into weights.
    reference : mapping of str to Frequencies
    """

    partition: Partition
    measured: Measured
    weights: Mapping[str, Weights]
    reference: Mapping[str, Frequencies]

    def alarms(self, window: Sample, rng: np.random.Generator, alpha: float) -> dict[str, bool]:  # noqa: ARG002
        """Whether each configuration finds drift in a window."""
        found = count_rows(self.partition, self.measured, self.weights, window.with_missing)
        alarms = {name: _pearson(self.reference[name], found[name]) < alpha for name in self.weights}
        return {**alarms, WALD: _wald(self.reference[WALD], found["5.2"]) < alpha}


def fit_bins(reference: Sample, protocol: Protocol, rng: np.random.Generator, *, n_bins: int) -> Bins:
    """Configurations 1 and 2, fitted on one reference.

    Parameters
    ----------
    reference : Sample
    protocol : Protocol
    rng : numpy.random.Generator
    n_bins : int
        K of the paper.
    """
    imputer = fit_iterative(reference.with_missing, rng)
    filled = impute(imputer, reference.with_missing)
    complete, imputed = (_partition(rows, n_bins, protocol, rng) for rows in (reference.complete, filled))
    exact = complete.distances(reference.complete)
    counted = {
        "1": _frequencies(_nearest(exact)),
        "2": _frequencies(_nearest(imputed.distances(filled))),
    }
    return Bins(complete, imputed, counted, imputer, protocol)


def fit_complete_wald(reference: Sample, protocol: Protocol, rng: np.random.Generator, *, n_bins: int) -> CompleteWald:
    """Wald's test of complete data, fitted on one reference; the parameters are those of `fit_bins`."""
    partition = _partition(reference.complete, n_bins, protocol, rng)
    bins = bins_of_others(reference.complete, partition, rng)
    return CompleteWald(partition, _frequencies(np.eye(len(partition))[bins]))


def fit_distances(
    reference: Sample, protocol: Protocol, rng: np.random.Generator, *, n_bins: int, top_q: int, **settings: Any
) -> Distances:
    """Configurations 3 to 5 and Wald's test, fitted on one reference.

    Parameters
    ----------
    reference : Sample
    protocol : Protocol
    rng : numpy.random.Generator
    n_bins, top_q : int
        K and Q of the paper.
    **settings
        If the protocol has ordered pairs, settings of `experiments.learning.learn_scripted` and ``learn``; otherwise
        those of `gapdrift.MDLFWF`.
    """
    rows = reference.with_missing
    measured: Measured
    if protocol.ordered_pairs:
        scripted = fit_scripted_distances(rows, n_bins, rng, **settings)
        partition, measured = scripted.partition, scripted
    else:
        fitted = gd.MDLFWF(n_bins=n_bins, top_q=top_q, random_state=rng, **settings).fit(rows).reference_
        assert isinstance(fitted.distance, LearnedDistance)
        partition, measured = fitted.partition, _LibraryDistances(fitted.distance, fitted.partition.centres)
    shapes = WEIGHTS if protocol.unclipped else {name: partial(fuzzy_weights, membership=name) for name in WEIGHTS}
    weights: dict[str, Weights] = {
        "3": shapes["crisp"],
        "4.1": shapes["gaussian"],
        "4.2": shapes["triangular"],
        "5.1": partial(shapes["gaussian"], top_q=top_q),
        "5.2": partial(shapes["triangular"], top_q=top_q),
    }
    counted = count_rows(partition, measured, weights, rows)
    bins = bins_of_others(rows[~np.isnan(rows).any(axis=1)], partition, rng)
    counted |= count_rows(partition, measured, {WALD: weights["5.2"]}, rows, bins)
    return Distances(partition, measured, weights, counted)


def count_rows(
    partition: Partition,
    measured: Measured,
    weights: Mapping[str, Weights],
    rows: Matrix,
    bins: Indices | None = None,
) -> dict[str, Frequencies]:
    """Frequencies of rows with missing values, by configuration.

    Parameters
    ----------
    partition : Partition
    measured : Measured
    weights : mapping of str to callable
    rows : (rows, columns) array, NaN where missing
    bins : array or None
        Bins of the complete rows; None takes the nearest.
    """
    incomplete = np.isnan(rows).any(axis=1)
    nearest = _nearest(partition.distances(rows[~incomplete])) if bins is None else np.eye(len(partition))[bins]
    distances = measured.to_centres(rows[incomplete])
    return {
        name: _frequencies(np.vstack([nearest, weigh(distances, measured.error)])) for name, weigh in weights.items()
    }


def _partition(rows: Matrix, n_bins: int, protocol: Protocol, rng: np.random.Generator) -> Partition:
    return fit_scripted_partition(rows, n_bins) if protocol.scripted_bins else fit_partition(rows, n_bins, rng)


def _nearest(distances: Matrix) -> Matrix:
    """Weights of complete rows: 1 for the nearest bin."""
    return fuzzy_weights(distances, 0.0, membership="crisp")


def _frequencies(weights: Matrix) -> Frequencies:
    return Frequencies(len(weights), weights.sum(axis=0), weights.T @ weights)


def _pearson(reference: Frequencies, window: Frequencies) -> float:
    return pearson(reference.weights, window.weights).p_value


def _wald(reference: Frequencies, window: Frequencies) -> float:
    return compare_mean_weights(reference[1:], window[1:], reference.n_rows, window.n_rows).p_value
