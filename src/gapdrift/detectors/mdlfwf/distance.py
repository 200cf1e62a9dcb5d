"""Masked distance learning: distances of incomplete rows, learned on complete rows with cells hidden.

Paper: Alg. 1. A regressor predicts the distance of two rows from two things: which of their cells are missing, and the
distance after each method of imputation. The standard deviation of its residuals on rows that it was not trained on is
the error that makes the distances fuzzy.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor

from gapdrift._random import draw_seed
from gapdrift._threads import limit_threads
from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.detectors.mdlfwf.regressors import Forest, LinearModel, Regressor, as_record
from gapdrift.errors import ParameterError
from gapdrift.models.imputation import AnyImputer, ChainedRegressions, ConstantFill, FittedImputer, impute
from gapdrift.persistence.records import StoredAs, expect, expect_shape, stored
from gapdrift.tables.missingness import draw_mask

__all__ = [
    "ImputedDistance",
    "LearnedDistance",
    "default_regressor",
    "learn_distance",
    "published_regressor",
    "training_rates",
]

MAX_TRAINING_ROWS = 3_000
"""Largest number of complete rows that training pairs are drawn from, as in the authors' scripts."""

MIN_MASKED_SHARE = 0.2
"""Smallest share of training rows in which a cell is hidden."""

CHUNK_PAIRS = 10_000
"""Pairs whose features are held in memory at once."""

MAX_SCALED_DISTANCE = 1e30
"""Larger distances, in the regressor's unit, are replaced by this one: single precision ends at 3e38."""

MAX_IMPORTANCE_PAIRS = 500
"""Largest number of pairs on which permutation importances are measured."""

MAX_SHUFFLED_CELLS = 4_000_000
"""Largest number of cells of shuffled copies in memory at once."""

MAX_CENTRE_CELLS = 2_000_000
"""Largest number of bins x features of a distance that is read from a file: they are held in memory for each row."""


@stored
@dataclass(frozen=True, eq=False)
class LearnedDistance:
    """Distances predicted by a regressor (the paper's L_mask and sigma_mask).

    Parameters
    ----------
    regressor : Forest, LinearModel or Regressor
        Learned from all training pairs; one that is neither of the first two cannot be stored.
    imputers : tuple of FittedImputer
        Fitted on the reference.
    error : float
        Standard deviation of the residuals on pairs of rows that were not trained on.
    importances : (features,) array
        Importance of each feature of a pair; they sum to 1. Missing cells of both rows, then imputed distances.
    scale : float
        The regressor's unit of distance: boosted trees compute in single precision, so distances are scaled.
    """

    regressor: Annotated[Forest | LinearModel | Regressor, StoredAs(Forest | LinearModel)]
    imputers: tuple[AnyImputer, ...]
    error: float
    importances: Vector
    scale: float = 1.0

    def to_centres(self, values: Matrix, missing: Mask, centres: Matrix) -> Matrix:
        """Distances of incomplete rows to complete centres: (rows, bins)."""
        filled = [impute(imputer, values) for imputer in self.imputers]
        step = max(CHUNK_PAIRS // len(centres), 1)
        result = np.empty((len(values), len(centres)))
        for start in range(0, len(values), step):
            part = slice(start, start + step)
            features = _centre_features(missing[part], [rows[part] for rows in filled], centres)
            result[part] = self.predict(features).reshape(-1, len(centres))
        return result

    def predict(self, features: Matrix) -> Vector:
        """Distances of pairs from their features, which are converted to the regressor's unit in place: (pairs,).

        A negative prediction counts as 0.

        Parameters
        ----------
        features : (pairs, 2 columns + imputers) array
            Which cells are missing in the first row, which in the second, and the distance after each imputation. The
            paper's Alg. 1, lines 9 to 13, numbers these distances from 2n + 1 on and does not say what the first 2n
            features are; in the authors' scripts they are these indicators. Of a row and a centre, the row is the
            first here, and the centre in the scripts.
        """
        features[:, -len(self.imputers) :] /= self.scale
        np.clip(features, None, MAX_SCALED_DISTANCE, out=features)
        return np.clip(_predict(self.regressor, features), 0.0, None) * self.scale

    def check_stored(self) -> None:
        """Check what was read from a file: the error is not negative, the scale positive."""
        expect(self.error >= 0 and self.scale > 0, "an error from 0 and a positive scale")
        expect(self.imputers, "an imputer")
        expect_shape(self.importances, (-1,), "importances")

    def check_fits(self, n_columns: int, size: int, n_bins: int) -> None:
        """Check that what was read from a file fits rows of ``n_columns`` input columns and ``size`` matrix columns."""
        n_features = 2 * n_columns + len(self.imputers)
        _check_imputers(self.imputers, size, n_bins * n_features)
        expect_shape(self.importances, (n_features,), "importances")
        found = self.regressor.n_features if isinstance(self.regressor, Forest | LinearModel) else None
        expect(found == n_features, f"a regressor of {n_features} features, not {found}")


@stored
@dataclass(frozen=True, eq=False)
class ImputedDistance:
    """Distances after imputation by one method, for comparison (configuration 2 of the paper).

    Parameters
    ----------
    imputer : FittedImputer
        Fitted on the reference.
    error : float
        0: imputation has no estimate of its error.
    importances : (0,) array
    """

    imputer: AnyImputer
    error: float = 0.0
    importances: Vector = field(default_factory=lambda: np.empty(0))

    def to_centres(self, values: Matrix, missing: Mask, centres: Matrix) -> Matrix:  # noqa: ARG002
        """Distances of incomplete rows to complete centres: (rows, bins)."""
        result: Matrix = cdist(impute(self.imputer, values), centres)
        return result

    def check_stored(self) -> None:
        """Check what was read from a file."""
        expect(self.error >= 0, "an error from 0")
        expect_shape(self.importances, (-1,), "importances")

    def check_fits(self, n_columns: int, size: int, n_bins: int) -> None:
        """Check that what was read from a file fits rows of ``n_columns`` input columns and ``size`` matrix columns."""
        _check_imputers((self.imputer,), size, n_bins * (2 * n_columns + 1))


def _check_imputers(imputers: tuple[FittedImputer, ...], size: int, n_cells: int) -> None:
    for imputer in imputers:
        constants = imputer.constants if isinstance(imputer, ConstantFill | ChainedRegressions) else np.empty(0)
        expect_shape(constants, (size,), "constants of an imputer")
    expect(n_cells <= MAX_CENTRE_CELLS, "fewer bins and columns")


def default_regressor(rng: np.random.Generator) -> Any:
    """Histogram gradient boosting with few small trees.

    The features include distances already, so little is left to learn: on the paper's five distributions 25 trees of 8
    leaves have a smaller error than 60 trees of 16 leaves, and six fits take a fraction of a second.
    """
    return HistGradientBoostingRegressor(
        max_iter=25, learning_rate=0.3, max_leaf_nodes=8, early_stopping=False, random_state=draw_seed(rng)
    )


def training_rates(rates: Vector) -> Vector:
    """Rates at which cells of complete rows are hidden for training.

    Parameters
    ----------
    rates : (columns,) array
        Missing rates of the reference.

    Returns
    -------
    rates : (columns,) array
        The same if they hide a cell in at least a fifth of the rows. Otherwise they are multiplied until they do, since
        too few hidden cells teach nothing. If nothing is missing in the reference, all columns get the same rate, so
        that windows with missing values can still be counted.

    Examples
    --------
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
    owner: Indices,
    imputers: tuple[FittedImputer, ...],
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
        Input column of each matrix column: all matrix columns of an input column are hidden together.
    imputers : tuple of FittedImputer
        Fitted on the reference.
    regressor : Regressor or None
        None means `default_regressor`. It is cloned before it is fitted.
    n_splits : int
        Number of folds of rows.
    max_pairs : int or None
        Above this number pairs are sampled; None takes all.
    centres : (bins, matrix columns) array or None
        With centres, a pair is a row and a centre; without, two different rows, as published.
    rng : numpy.random.Generator

    Notes
    -----
    Paper: Alg. 1, Eq. (1) and (2). Pairs are unordered. A pair without any missing cell is left out: its distance is
    known, and its residual would make the error too small. Folds share no row: a pair is used for validation if both
    its rows are in the fold, and for training if neither is.
    """
    rows = _sample_rows(values, rng)
    hidden = _draw_hidden(len(rows), rates, rng)
    first, second = _draw_pairs(hidden, centres, max_pairs, rng)
    features = _training_features(rows, hidden, owner, imputers, first, second, centres)
    others = rows if centres is None else centres
    distances = _pair_distances(rows, others, first, second)
    scale = float(np.median(distances)) or float(distances.max(initial=0.0)) or 1.0
    distances /= scale
    features[:, -len(imputers) :] /= scale
    fold = rng.permutation(np.arange(len(rows)) % n_splits)
    folds = (fold[first], fold[second] if centres is None else fold[first])
    template = default_regressor(rng) if regressor is None else _seeded(regressor, rng)
    error = _validation_error(template, features, distances, folds, n_splits) * scale
    fitted = _fit(template, features, distances)
    importances = _importances(fitted, features, distances, rng)
    return LearnedDistance(as_record(fitted, features), imputers, error, importances, scale)


def published_regressor() -> Any:
    """The authors' regressor: gradient boosting with Huber loss, 500 trees of depth 4, learning rate 0.05."""
    return GradientBoostingRegressor(loss="huber", n_estimators=500, learning_rate=0.05, max_depth=4, random_state=0)


def _seeded(regressor: Regressor, rng: np.random.Generator) -> Any:
    """Copy of a regressor; if it has no seed, one is drawn, so that the same ``random_state`` gives the same result."""
    copy: Any = clone(regressor, safe=False)
    settings = copy.get_params() if hasattr(copy, "get_params") else {}
    if "random_state" in settings and settings["random_state"] is None:
        copy.set_params(random_state=draw_seed(rng))
    return copy


def _fit(template: Regressor, features: Matrix, distances: Vector) -> Any:
    fitted: Any = clone(template, safe=False)
    # Threads add numbers in varying order: the same seed would give other digits on another machine.
    with limit_threads(None):
        fitted.fit(features, distances)
    return fitted


def _predict(regressor: Any, features: Matrix) -> Vector:
    """Predictions as a vector of finite numbers; anything else raises a ParameterError that names the regressor."""
    try:
        predicted = np.asarray(regressor.predict(features), dtype=float).reshape(-1)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"The regressor {type(regressor).__name__} could not predict: {error}") from error
    if len(predicted) != len(features) or not np.isfinite(predicted).all():
        raise ParameterError(
            f"The regressor {type(regressor).__name__} returned {len(predicted)} predictions, not all of them finite, "
            f"for {len(features)} pairs; expected one finite number for each. Use another regressor."
        )
    return predicted


def _draw_hidden(n_rows: int, rates: Vector, rng: np.random.Generator) -> Mask:
    """Mask of cells to hide, in at least a fifth of the rows: by chance alone, a small table might get none."""
    hidden = draw_mask(n_rows, rates, rng)
    untouched = rng.permutation(np.flatnonzero(~np.any(hidden, axis=1)))
    n_lacking = int(np.ceil(MIN_MASKED_SHARE * n_rows)) - (n_rows - len(untouched))
    if n_lacking > 0:
        columns = rng.choice(len(rates), size=n_lacking, p=rates / rates.sum())
        hidden[untouched[:n_lacking], columns] = True
    return hidden


def _sample_rows(values: Matrix, rng: np.random.Generator) -> Matrix:
    if len(values) <= MAX_TRAINING_ROWS:
        return values
    return values[np.sort(rng.choice(len(values), MAX_TRAINING_ROWS, replace=False))]


def _draw_pairs(
    hidden: Mask, centres: Matrix | None, max_pairs: int | None, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Positions of the first and the second member of each pair; at least one has a hidden cell."""
    incomplete: Mask = np.any(hidden, axis=1)
    if centres is None:
        first, second = np.triu_indices(len(hidden), k=1)
        useful = incomplete[first] | incomplete[second]
        first, second = first[useful], second[useful]
    else:
        first = np.repeat(np.flatnonzero(incomplete), len(centres))
        second = np.tile(np.arange(len(centres)), int(incomplete.sum()))
    if max_pairs is not None and len(first) > max_pairs:
        chosen = np.sort(rng.choice(len(first), max_pairs, replace=False))
        first, second = first[chosen], second[chosen]
    return first, second


def _training_features(
    rows: Matrix,
    hidden: Mask,
    owner: Indices,
    imputers: tuple[FittedImputer, ...],
    first: Indices,
    second: Indices,
    centres: Matrix | None,
) -> Matrix:
    masked = np.where(hidden[:, owner], np.nan, rows)
    n_columns = hidden.shape[1]
    features = np.zeros((len(first), 2 * n_columns + len(imputers)))
    features[:, :n_columns] = hidden[first]
    if centres is None:
        features[:, n_columns : 2 * n_columns] = hidden[second]
    for index, imputer in enumerate(imputers):
        filled = impute(imputer, masked)
        features[:, 2 * n_columns + index] = _pair_distances(
            filled, filled if centres is None else centres, first, second
        )
    return features


def _pair_distances(one: Matrix, other: Matrix, first: Indices, second: Indices) -> Vector:
    """Euclidean distances between rows ``first`` of one matrix and rows ``second`` of another: (pairs,)."""
    result = np.empty(len(first))
    for start in range(0, len(first), CHUNK_PAIRS):
        part = slice(start, start + CHUNK_PAIRS)
        result[part] = np.linalg.norm(one[first[part]] - other[second[part]], axis=1)
    return result


def _centre_features(missing: Mask, filled: list[Matrix], centres: Matrix) -> Matrix:
    """Features of all pairs of a row and a centre, row by row: (rows x bins, features)."""
    n_rows, n_columns = missing.shape
    n_bins = len(centres)
    features = np.zeros((n_rows, n_bins, 2 * n_columns + len(filled)))
    features[:, :, :n_columns] = missing[:, None, :]
    for index, rows in enumerate(filled):
        features[:, :, 2 * n_columns + index] = cdist(rows, centres)
    return features.reshape(n_rows * n_bins, -1)


def _validation_error(
    template: Regressor, features: Matrix, distances: Vector, folds: tuple[Indices, Indices], n_splits: int
) -> float:
    """Residual standard error on pairs of rows that were not trained on. Paper: Eq. (2)."""
    sum_of_squares, n_residuals = 0.0, 0
    for fold in range(n_splits):
        inside = (folds[0] == fold) & (folds[1] == fold)
        outside = (folds[0] != fold) & (folds[1] != fold)
        if inside.any() and outside.any():
            fitted = _fit(template, features[outside], distances[outside])
            residuals = distances[inside] - _predict(fitted, features[inside])
            sum_of_squares += float(residuals @ residuals)
            n_residuals += len(residuals)
    if n_residuals <= 2:
        raise ParameterError(
            f"The distance error could not be estimated from {n_residuals} validation pairs, expected more than 2. "
            "Use fewer n_splits, a larger max_pairs or more rows."
        )
    return float(np.sqrt(sum_of_squares / (n_residuals - 2)))


def _importances(fitted: Any, features: Matrix, distances: Vector, rng: np.random.Generator) -> Vector:
    """Importances of the features, which sum to 1: the regressor's own if it has them, otherwise by permutation."""
    raw = getattr(fitted, "feature_importances_", None)
    if raw is None:
        raw = _permutation_importances(fitted, features, distances, rng)
    shares = np.asarray(raw, dtype=float)
    return shares / shares.sum() if shares.sum() > 0 else shares


def _permutation_importances(
    fitted: Regressor, features: Matrix, distances: Vector, rng: np.random.Generator
) -> Vector:
    """Increase of the mean squared error when a feature is shuffled: (features,).

    Many features share one call of ``predict``; one call for each feature, as in scikit-learn's own function, takes ten
    times as long on so few pairs.
    """
    chosen = rng.permutation(len(features))[:MAX_IMPORTANCE_PAIRS]
    pairs, truth = features[chosen], distances[chosen]
    unshuffled = float(((_predict(fitted, pairs) - truth) ** 2).mean())
    increases = []
    for block in np.array_split(np.arange(pairs.shape[1]), -(-pairs.shape[1] * pairs.size // MAX_SHUFFLED_CELLS)):
        stacked = np.repeat(pairs[None], len(block), axis=0)
        for position, feature in enumerate(block):
            stacked[position, :, feature] = rng.permutation(pairs[:, feature])
        predicted = _predict(fitted, stacked.reshape(-1, pairs.shape[1])).reshape(len(block), -1)
        increases.append(((predicted - truth) ** 2).mean(axis=1) - unshuffled)
    importances: Vector = np.clip(np.concatenate(increases), 0.0, None)
    return importances
