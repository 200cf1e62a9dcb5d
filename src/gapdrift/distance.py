"""Masked distance learning: distances of incomplete rows, learned on complete rows with cells hidden.

Paper: Alg. 1. A regressor predicts the distance of two rows from which of their cells are missing and from
the distances that each imputation method would give; its residuals on rows it has not seen are the error
that makes the distance fuzzy.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from gapdrift._random import draw_seed
from gapdrift.errors import ParameterError
from gapdrift.imputation import Imputer, impute
from gapdrift.missingness import draw_mask

__all__ = [
    "ImputedDistance",
    "LearnedDistance",
    "Regressor",
    "default_regressor",
    "learn_distance",
    "pair_features",
    "training_rates",
]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

TRAINING_ROWS = 3_000
"""Complete rows that pairs are drawn from, at most (as in the authors' scripts)."""

MIN_MASKED_SHARE = 0.2
"""Share of training rows that get a gap, at least."""

PREDICTED_PAIRS = 100_000
"""Pairs whose features are held in memory at once."""

IMPORTANCE_PAIRS = 500
"""Pairs on which permutation importances are measured, at most."""


@runtime_checkable
class Regressor(Protocol):
    """What a regressor must offer: scikit-learn's ``fit`` and ``predict``.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> isinstance(LinearRegression(), Regressor)
    True
    """

    def fit(self, X: Matrix, y: Vector) -> Any:
        """Learn distances from the features of pairs."""
        ...

    def predict(self, X: Matrix) -> Vector:
        """Distances of other pairs."""
        ...


@dataclass(frozen=True)
class LearnedDistance:
    """Distances predicted by a regressor (the paper's L_mask and sigma_mask).

    Parameters
    ----------
    regressor : Regressor
        Fitted on all pairs.
    imputers : tuple of Imputer
        Fitted on the reference.
    error : float
        Standard deviation of the residuals on pairs of unseen rows.
    importances : (features,) array
        Share of each pair feature: missing cells of the first row, of the second row, imputed distances.
    """

    regressor: Regressor
    imputers: tuple[Imputer, ...]
    error: float
    importances: Vector

    def between(
        self, values: Matrix, missing: Mask, first: NDArray[np.intp], second: NDArray[np.intp]
    ) -> Vector:
        """Distances of pairs of rows, given by their positions: (pairs,).

        A pair of two complete rows has its exact distance.
        """
        filled = [impute(imputer, values) for imputer in self.imputers]
        result = np.empty(len(first))
        for start in range(0, len(first), PREDICTED_PAIRS):
            one, two = first[start : start + PREDICTED_PAIRS], second[start : start + PREDICTED_PAIRS]
            features = pair_features(
                missing[one], missing[two], [rows[one] for rows in filled], [rows[two] for rows in filled]
            )
            known = ~(missing[one] | missing[two]).any(axis=1)
            predicted = np.clip(self.regressor.predict(features), 0.0, None)
            result[start : start + len(one)] = np.where(known, features[:, -1], predicted)
        return result

    def to_centres(self, values: Matrix, missing: Mask, centres: Matrix) -> Matrix:
        """Distances of incomplete rows to complete centres: (rows, bins)."""
        filled = [impute(imputer, values) for imputer in self.imputers]
        step = max(PREDICTED_PAIRS // len(centres), 1)
        result = np.empty((len(values), len(centres)))
        for start in range(0, len(values), step):
            part = slice(start, start + step)
            features = _centre_features(missing[part], [rows[part] for rows in filled], centres)
            result[part] = self.regressor.predict(features).reshape(-1, len(centres))
        return np.clip(result, 0.0, None)


@dataclass(frozen=True)
class ImputedDistance:
    """Distances after one imputation: the plain way, kept for comparison (configuration 2).

    Parameters
    ----------
    imputer : Imputer
        Fitted on the reference.
    error : float
        Zero: imputation does not know its error.
    """

    imputer: Imputer
    error: float = 0.0
    importances: Vector = field(default_factory=lambda: np.empty(0))

    def to_centres(self, values: Matrix, missing: Mask, centres: Matrix) -> Matrix:  # noqa: ARG002
        """Distances of incomplete rows to complete centres: (rows, bins)."""
        result: Matrix = cdist(impute(self.imputer, values), centres)
        return result


def default_regressor(rng: np.random.Generator) -> Any:
    """Histogram gradient boosting with few small trees.

    The features already are distances, so little is left to learn: on the paper's five distributions 25 trees
    of 8 leaves have a smaller error than 60 of 16, and six fits take a fraction of a second.

    Examples
    --------
    >>> import numpy as np
    >>> default_regressor(np.random.default_rng(0)).max_iter
    25
    """
    return HistGradientBoostingRegressor(
        max_iter=25, learning_rate=0.3, max_leaf_nodes=8, early_stopping=False, random_state=draw_seed(rng)
    )


def training_rates(rates: Vector) -> Vector:
    """Rates at which complete rows are masked for training.

    Parameters
    ----------
    rates : (columns,) array
        Missing rates of the reference.

    Returns
    -------
    rates : (columns,) array
        The same where at least a fifth of the rows gets a gap by them. Lower ones are raised in
        proportion until it does, since too few gaps teach nothing; where nothing is missing, every
        column gets the same rate, so that a window with gaps can be counted all the same.

    Examples
    --------
    >>> import numpy as np
    >>> training_rates(np.array([0.2, 0.2]))
    array([0.2, 0.2])
    >>> training_rates(np.array([0.0, 0.0])).round(3)
    array([0.106, 0.106])
    """
    if 1.0 - np.prod(1.0 - rates) >= MIN_MASKED_SHARE:
        return rates
    proportions = rates / rates.max() if rates.max() > 0 else np.ones_like(rates)
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2.0
        enough = 1.0 - np.prod(1.0 - middle * proportions) >= MIN_MASKED_SHARE
        low, high = (low, middle) if enough else (middle, high)
    result: Vector = high * proportions
    return result


def learn_distance(
    values: Matrix,
    rates: Vector,
    owner: NDArray[np.intp],
    imputers: tuple[Imputer, ...],
    *,
    regressor: Regressor | None,
    n_splits: int,
    max_pairs: int | None,
    centres: Matrix | None,
    rng: np.random.Generator,
) -> LearnedDistance:
    """Distance model learned on complete rows.

    Parameters
    ----------
    values : (rows, matrix columns) array without NaN
    rates : (input columns,) array
        Rates at which cells are hidden.
    owner : (matrix columns,) array
        Input column of each matrix column: the levels of one category are hidden together.
    imputers : tuple of Imputer
        Fitted on the reference.
    regressor : Regressor or None
        None is `default_regressor`. Cloned, never fitted itself.
    n_splits : int
        Folds of rows.
    max_pairs : int or None
        Pairs are sampled above this number; None takes all.
    centres : (bins, matrix columns) array or None
        With centres, pairs are of a row and a centre; without, of two different rows, as published.
    rng : numpy.random.Generator

    Returns
    -------
    model : LearnedDistance

    Notes
    -----
    Paper: Alg. 1, Eq. (1) and (2). Pairs are unordered. A pair without any gap is left out: its distance is
    known, and its residual would make the error too small. Folds share no row: a pair is for validation
    where both its rows are in the fold, for training where neither is.
    """
    rows = _sample_rows(values, rng)
    hidden = draw_mask(len(rows), rates, rng)
    first, second = _draw_pairs(hidden, centres, max_pairs, rng)
    features = _training_features(rows, hidden, owner, imputers, first, second, centres)
    others = rows if centres is None else centres
    distances = np.linalg.norm(rows[first] - others[second], axis=1)
    fold = rng.permutation(np.arange(len(rows)) % n_splits)
    folds = (fold[first], fold[second] if centres is None else fold[first])
    template = default_regressor(rng) if regressor is None else regressor
    error = _validation_error(template, features, distances, folds, n_splits)
    fitted = clone(template).fit(features, distances)
    importances = _importances(fitted, features, distances, rng)
    return LearnedDistance(fitted, imputers, error, importances)


def pair_features(
    missing_first: Mask, missing_second: Mask, filled_first: list[Matrix], filled_second: list[Matrix]
) -> Matrix:
    """Features of pairs of rows.

    Parameters
    ----------
    missing_first, missing_second : (pairs, columns) arrays of bool
    filled_first, filled_second : lists of (pairs, matrix columns) arrays
        The rows as each imputer fills them.

    Returns
    -------
    features : (pairs, 2 columns + imputers) array

    Notes
    -----
    Paper: Alg. 1, lines 9 to 13: features 1 to 2n tell which cells are missing, feature 2n + i is the
    distance after the i-th imputation.

    Examples
    --------
    >>> import numpy as np
    >>> one, two = np.array([[0.0, 3.0]]), np.array([[4.0, 0.0]])
    >>> pair_features(np.array([[True, False]]), np.array([[False, False]]), [one], [two])
    array([[1., 0., 0., 0., 5.]])
    """
    distances = [
        np.linalg.norm(one - two, axis=1) for one, two in zip(filled_first, filled_second, strict=True)
    ]
    return np.column_stack([missing_first.astype(float), missing_second.astype(float), *distances])


def _sample_rows(values: Matrix, rng: np.random.Generator) -> Matrix:
    if len(values) <= TRAINING_ROWS:
        return values
    return values[np.sort(rng.choice(len(values), TRAINING_ROWS, replace=False))]


def _draw_pairs(
    hidden: Mask, centres: Matrix | None, max_pairs: int | None, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First and second member of each pair; at least one has a gap."""
    gap: Mask = np.any(hidden, axis=1)
    if centres is None:
        first, second = np.triu_indices(len(hidden), k=1)
        useful = gap[first] | gap[second]
        first, second = first[useful], second[useful]
    else:
        first = np.repeat(np.flatnonzero(gap), len(centres))
        second = np.tile(np.arange(len(centres)), int(gap.sum()))
    if max_pairs is not None and len(first) > max_pairs:
        chosen = np.sort(rng.choice(len(first), max_pairs, replace=False))
        first, second = first[chosen], second[chosen]
    return first, second


def _training_features(
    rows: Matrix,
    hidden: Mask,
    owner: NDArray[np.intp],
    imputers: tuple[Imputer, ...],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    centres: Matrix | None,
) -> Matrix:
    masked = np.where(hidden[:, owner], np.nan, rows)
    filled = [impute(imputer, masked) for imputer in imputers]
    one = [matrix[first] for matrix in filled]
    if centres is None:
        return pair_features(hidden[first], hidden[second], one, [matrix[second] for matrix in filled])
    nothing = np.zeros((len(first), hidden.shape[1]), dtype=bool)
    return pair_features(hidden[first], nothing, one, [centres[second]] * len(filled))


def _centre_features(missing: Mask, filled: list[Matrix], centres: Matrix) -> Matrix:
    """Features of all pairs of a row and a centre, rows first: (rows x bins, features)."""
    n_rows, n_columns = missing.shape
    n_bins = len(centres)
    features = np.zeros((n_rows, n_bins, 2 * n_columns + len(filled)))
    features[:, :, :n_columns] = missing[:, None, :]
    for index, rows in enumerate(filled):
        features[:, :, 2 * n_columns + index] = cdist(rows, centres)
    return features.reshape(n_rows * n_bins, -1)


def _validation_error(
    template: Regressor,
    features: Matrix,
    distances: Vector,
    folds: tuple[NDArray[np.intp], NDArray[np.intp]],
    n_splits: int,
) -> float:
    """Residual standard error on pairs of rows not trained on. Paper: Eq. (2)."""
    squares, count = 0.0, 0
    for fold in range(n_splits):
        inside = (folds[0] == fold) & (folds[1] == fold)
        outside = (folds[0] != fold) & (folds[1] != fold)
        if inside.any() and outside.any():
            fitted = clone(template).fit(features[outside], distances[outside])
            residuals = distances[inside] - np.asarray(fitted.predict(features[inside]))
            squares += float(residuals @ residuals)
            count += len(residuals)
    if count <= 2 or not np.isfinite(squares):
        raise ParameterError(
            f"The distance error could not be estimated from {count} validation pairs, expected more than 2. "
            "Use fewer n_splits, a larger max_pairs or another regressor."
        )
    return float(np.sqrt(squares / (count - 2)))


def _importances(fitted: Any, features: Matrix, distances: Vector, rng: np.random.Generator) -> Vector:
    """Shares of the features: by total gain where the regressor tells it, else by permutation."""
    raw = getattr(fitted, "feature_importances_", None)
    if raw is None:
        raw = _permutation_importances(fitted, features, distances, rng)
    shares = np.asarray(raw, dtype=float)
    return shares / shares.sum() if shares.sum() > 0 else shares


def _permutation_importances(
    fitted: Regressor, features: Matrix, distances: Vector, rng: np.random.Generator
) -> Vector:
    """Rise of the squared error when a feature is shuffled, all features in one prediction.

    One call instead of one for each feature (as scikit-learn's own function makes them) is ten times faster
    on so few pairs.
    """
    chosen = rng.permutation(len(features))[:IMPORTANCE_PAIRS]
    pairs, truth = features[chosen], distances[chosen]
    n_features = pairs.shape[1]
    stacked = np.repeat(pairs[None], n_features + 1, axis=0)
    for feature in range(n_features):
        stacked[feature, :, feature] = rng.permutation(pairs[:, feature])
    predicted = fitted.predict(stacked.reshape(-1, n_features)).reshape(n_features + 1, -1)
    errors = ((predicted - truth) ** 2).mean(axis=1)
    rises: Vector = np.clip(errors[:-1] - errors[-1], 0.0, None)
    return rises
