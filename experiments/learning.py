"""Distances learned as the authors' scripts learn them, where they differ from Algorithm 1 as `gapdrift` reads it."""

from typing import cast

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from experiments.boosting import fit_huber_boosting
from experiments.scripted import hide_scripted
from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.detectors.mdlfwf.distance import LearnedDistance
from gapdrift.detectors.mdlfwf.regressors import Regressor
from gapdrift.models.imputation import fit_imputers, impute

__all__ = ["distances_between", "learn_scripted", "pair_features"]

CHUNK_PAIRS = 100_000
"""Pairs whose features are held in memory at once."""

FOLDS = 2


def distances_between(model: LearnedDistance, values: Matrix, missing: Mask, first: Indices, second: Indices) -> Vector:
    """Distances of pairs of rows, given by the positions of both, by a learned model; exact between complete rows."""
    filled = [impute(imputer, values) for imputer in model.imputers]
    result = np.empty(len(first))
    for start in range(0, len(first), CHUNK_PAIRS):
        one, two = first[start : start + CHUNK_PAIRS], second[start : start + CHUNK_PAIRS]
        features = pair_features(
            missing[one], missing[two], [rows[one] for rows in filled], [rows[two] for rows in filled]
        )
        known = ~(missing[one] | missing[two]).any(axis=1)
        exact = features[:, -1].copy()
        result[start : start + len(one)] = np.where(known, exact, model.predict(features))
    return result


def pair_features(
    missing_first: Mask, missing_second: Mask, filled_first: list[Matrix], filled_second: list[Matrix]
) -> Matrix:
    """Features of pairs of rows: (pairs, 2 columns + imputers).

    Parameters
    ----------
    missing_first, missing_second : (pairs, columns) arrays of bool
    filled_first, filled_second : lists of (pairs, matrix columns) arrays
        The rows as each imputer fills them.

    Notes
    -----
    Paper: Alg. 1, lines 9 to 13: feature 2n + i is the distance after the i-th imputation. The paper does not say what
    features 1 to 2n are. In the scripts they indicate which cells are missing, first of the first row, then of the
    second; of a centre and a row, the centre is the first (`experiments.as_published`).

    Examples
    --------
    >>> one, two = np.array([[0.0, 3.0]]), np.array([[4.0, 0.0]])
    >>> pair_features(np.array([[True, False]]), np.array([[False, False]]), [one], [two])
    array([[1., 0., 0., 0., 5.]])
    """
    distances = [np.linalg.norm(one - two, axis=1) for one, two in zip(filled_first, filled_second, strict=True)]
    return np.column_stack([missing_first.astype(float), missing_second.astype(float), *distances])


def learn_scripted(
    reference: Matrix,
    *,
    with_error: bool = True,
    max_pairs: int | None = None,
    mask_seed: int = 0,
    rng: np.random.Generator,
) -> LearnedDistance:
    """Distance model of a reference.

    Parameters
    ----------
    reference : (rows, columns) array, NaN where missing
    with_error : bool, default True
        Whether the error is estimated; Experiment 1 does not need it.
    max_pairs : int or None
        Above this number pairs are sampled; None takes all, as the scripts do.
    mask_seed : int, default 0
        Seed by which cells are hidden; 0 in the scripts.
    rng : numpy.random.Generator
        For the imputers and for sampled pairs; what the scripts draw is drawn with their seed.

    Notes
    -----
    The differences to `learn_distance` of MDL-FWF: imputers are fitted on the rows in which cells were hidden; pairs
    are ordered, and a row is also paired with itself; the two folds are the first and the second half of the pairs in
    their order, so that one order of a pair is validated by a model that was trained on the other. The error is
    therefore smaller.
    """
    missing = np.isnan(reference)
    complete = reference[~missing.any(axis=1)]
    state = np.random.RandomState(mask_seed)
    state.permutation(len(reference))  # the scripts shuffle a copy of the reference, which they then do not use
    masked = hide_scripted(complete, dict(enumerate(missing.mean(axis=0))), state)
    hidden = np.isnan(masked)
    chosen = hidden.any(axis=1)
    rows, masked, hidden = complete[chosen], masked[chosen], hidden[chosen]
    imputers = fit_imputers(None, masked, rng)
    filled = [impute(imputer, masked) for imputer in imputers]
    pairs = np.arange(len(rows) ** 2)
    if max_pairs is not None and len(pairs) > max_pairs:
        pairs = np.sort(rng.choice(pairs, max_pairs, replace=False))
    first, second = np.divmod(pairs, len(rows))
    features = pair_features(
        hidden[first], hidden[second], [table[first] for table in filled], [table[second] for table in filled]
    )
    distances = np.linalg.norm(rows[first] - rows[second], axis=1)
    error = _validate(features, distances) if with_error else np.nan
    model = fit_huber_boosting(features, distances)
    # What is learned only predicts, and is never fitted again.
    return LearnedDistance(cast("Regressor", model), imputers, error, model.feature_importances_)


def _validate(features: Matrix, distances: NDArray[np.float64]) -> float:
    """Standard deviation of the residuals of both folds."""
    residuals = np.empty(len(features))
    for training, validation in KFold(FOLDS).split(features):
        model = fit_huber_boosting(features[training], distances[training])
        residuals[validation] = distances[validation] - model.predict(features[validation])
    return float(residuals.std())
