"""MDL-FWF as the authors' scripts run it, where they differ from the library's reading of the paper.

Imputers are fitted again on the incomplete rows of each sample, so that what a row adds depends on the rows beside it:
counts do not add up, which is why this is not a setting of `gapdrift.MDLFWF`. Pairs are ordered, with folds of pairs;
triangles that do not meet have a negative overlap, whose square counts; the centre is the first of a pair.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from experiments.chained import fit_chained
from experiments.clustering import fit_scripted_partition
from experiments.learning import learn_scripted
from gapdrift._typing import Matrix, Vector
from gapdrift.detectors.mdlfwf.distance import LearnedDistance
from gapdrift.detectors.mdlfwf.membership import fuzzy_weights
from gapdrift.inference.pearson import pearson
from gapdrift.models.imputation import ConstantFill, FittedImputer, impute
from gapdrift.models.partition import Partition

__all__ = ["PublishedDetector", "ScriptedDistances", "fit_scripted_distances", "unclipped_weights"]


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


WEIGHTS: Mapping[str, Callable[..., Matrix]] = {
    "triangular": unclipped_weights,
    "gaussian": partial(fuzzy_weights, membership="gaussian"),
    "crisp": partial(fuzzy_weights, membership="crisp"),
}
"""Weights of bins from distances and their error, by the name of the membership."""


@dataclass(frozen=True, eq=False)
class ScriptedDistances:
    """Bins and distances learned from the complete rows of a reference.

    Parameters
    ----------
    partition : Partition
    model : LearnedDistance
        Its imputers are those that it was trained with; none of them is used again.
    """

    partition: Partition
    model: LearnedDistance

    @property
    def error(self) -> float:
        """Standard deviation of the residuals of both folds."""
        return self.model.error

    def to_centres(self, rows: Matrix) -> Matrix:
        """Distances of the incomplete rows of a sample to the centres: (rows, bins)."""
        centres, n_columns = self.partition.centres, rows.shape[1]
        imputers = [*_fit_constants(rows), fit_chained(rows)]
        filled = [impute(imputer, rows) for imputer in imputers]
        features = np.zeros((len(rows), len(centres), 2 * n_columns + len(filled)))
        features[:, :, n_columns : 2 * n_columns] = np.isnan(rows)[:, None, :]
        for number, table in enumerate(filled):
            features[:, :, 2 * n_columns + number] = cdist(table, centres)
        predicted = self.model.regressor.predict(features.reshape(len(rows) * len(centres), -1))
        return np.asarray(predicted).reshape(len(rows), len(centres))


def _fit_constants(rows: Matrix) -> list[FittedImputer]:
    """Imputation by zero, mean, median and most frequent value, as `fit_imputers` fits it, of incomplete columns only.

    Constants of complete columns fill nothing, and are 0.
    """
    constants = np.zeros((4, rows.shape[1]))
    for column in np.flatnonzero(np.isnan(rows).any(axis=0)):
        known = rows[~np.isnan(rows[:, column]), column]
        values, counts = np.unique(known, return_counts=True)
        constants[1:, column] = known.mean(), np.median(known), values[counts.argmax()]
    return [ConstantFill(row) for row in constants]


def fit_scripted_distances(
    reference: Matrix,
    n_bins: int,
    rng: np.random.Generator,
    *,
    learn: Callable[..., LearnedDistance] = learn_scripted,
    **settings: Any,
) -> ScriptedDistances:
    """Bins and distances of a reference with missing values.

    Parameters
    ----------
    reference : (rows, columns) array, NaN where missing
    n_bins : int
    rng : numpy.random.Generator
    learn : callable
        Function that learns distances.
    **settings
        Settings of `experiments.learning.learn_scripted`.
    """
    complete = reference[~np.isnan(reference).any(axis=1)]
    return ScriptedDistances(fit_scripted_partition(complete, n_bins), learn(reference, rng=rng, **settings))


class PublishedDetector:
    """The authors' detector: fitted on a reference with missing values, it tests windows.

    Parameters
    ----------
    membership : {"triangular", "gaussian", "crisp"}, default "triangular"
    top_q : int or None, default 3
    alpha : float, default 0.05
    settings
        Settings of `experiments.learning.learn_scripted`, such as ``max_pairs``.

    Examples
    --------
    >>> from experiments.distributions import DRIFTS
    >>> drift = DRIFTS["gaussian-mean"]
    >>> detector = PublishedDetector(max_pairs=300).fit(drift.sample(200, severity=0, missing=0.2, rng=0))
    >>> detector.finds_drift(drift.sample(200, severity=10, missing=0.2, rng=1))
    False
    """

    def __init__(
        self, membership: str = "triangular", top_q: int | None = 3, alpha: float = 0.05, **settings: Any
    ) -> None:
        self.membership = membership
        self.top_q = top_q
        self.alpha = alpha
        self.settings = settings

    def fit(self, reference: Matrix) -> "PublishedDetector":
        """The detector itself, fitted on a reference."""
        n_bins = len(reference) // 50
        self.distances_ = fit_scripted_distances(reference, n_bins, np.random.default_rng(0), **self.settings)
        self.counts_ = self._count(reference)
        return self

    def finds_drift(self, window: Matrix) -> bool:
        """Whether the frequencies of a window differ from those of the reference."""
        return pearson(self.counts_, self._count(window)).p_value < self.alpha

    def _count(self, rows: Matrix) -> Vector:
        incomplete = np.isnan(rows).any(axis=1)
        exact = self.distances_.partition.distances(rows[~incomplete])
        learned = self.distances_.to_centres(rows[incomplete])
        divided = WEIGHTS[self.membership](learned, self.distances_.error, top_q=self.top_q)
        return np.asarray(divided.sum(axis=0) + fuzzy_weights(exact, 0.0, membership="crisp").sum(axis=0))
