"""Masked distance learning: distances of incomplete rows, learned on complete rows with cells hidden.

Paper: Alg. 1. A regressor predicts the distance of two rows from which of their cells are missing and from
the distances that each imputation method would give; its residuals on rows it has not seen are the error
that makes the distance fuzzy.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor

from gapdrift._random import draw_seed
from gapdrift._threads import limit_threads
from gapdrift.detectors.mdlfwf.regressors import (
    LinearPredictor,
    Regressor,
    StoredRegressor,
    TrainingPairs,
    TreeEnsemble,
    restore,
    store,
)
from gapdrift.errors import ParameterError
from gapdrift.models.imputation import AnyImputer, ChainedRegressions, ConstantFill, FittedImputer, impute
from gapdrift.persistence.records import StoredAs, expect, expect_shape, stored
from gapdrift.tables.missingness import draw_mask

__all__ = [
    "ImputedDistance",
    "LearnedDistance",
    "default_regressor",
    "learn_distance",
    "pair_features",
    "published_regressor",
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

FARTHEST = 1e30
"""Distance, in the regressor's unit, beyond which all are alike: single precision ends at 3e38."""

IMPORTANCE_PAIRS = 500
"""Pairs on which permutation importances are measured, at most."""

KEPT_BYTES = 32 * 2**20
"""Memory that the training pairs kept with a model take, at most: half a million pairs."""

STACKED_CELLS = 4_000_000
"""Cells of shuffled copies held in memory at once."""

MAX_WORK = 2_000_000
"""Bins x features of a distance that is read from a file: cells held in memory."""


@stored
@dataclass(frozen=True, eq=False)
class LearnedDistance:
    """Distances predicted by a regressor (the paper's L_mask and sigma_mask).

    Parameters
    ----------
    regressor : Regressor
        Fitted on all pairs.
    imputers : tuple of FittedImputer
        Fitted on the reference.
    error : float
        Standard deviation of the residuals on pairs of unseen rows.
    importances : (features,) array
        Share of each pair feature: missing cells of the first row, of the second row, imputed distances.
    scale : float
        Unit in which the regressor sees distances: boosted trees count in single precision.
    pairs : TrainingPairs or None
        Kept where the regressor can only be stored by fitting it again, and the pairs are not too many.
    """

    regressor: Annotated[Regressor, StoredAs(StoredRegressor)]
    imputers: tuple[AnyImputer, ...]
    error: float
    importances: Vector
    scale: float = 1.0
    pairs: TrainingPairs | None = None

    def between(self, values: Matrix, missing: Mask, first: NDArray[np.intp], second: NDArray[np.intp]) -> Vector:
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
            exact = features[:, -1].copy()
            result[start : start + len(one)] = np.where(known, exact, self._predict(features))
        return result

    def to_centres(self, values: Matrix, missing: Mask, centres: Matrix) -> Matrix:
        """Distances of incomplete rows to complete centres: (rows, bins)."""
        filled = [impute(imputer, values) for imputer in self.imputers]
        step = max(PREDICTED_PAIRS // len(centres), 1)
        result = np.empty((len(values), len(centres)))
        for start in range(0, len(values), step):
            part = slice(start, start + step)
            features = _centre_features(missing[part], [rows[part] for rows in filled], centres)
            result[part] = self._predict(features).reshape(-1, len(centres))
        return result

    def _predict(self, features: Matrix) -> Vector:
        """Distances of pairs; never negative, whatever the regressor says."""
        features[:, -len(self.imputers) :] /= self.scale
        np.clip(features, None, FARTHEST, out=features)
        return np.clip(_predict(self.regressor, features), 0.0, None) * self.scale

    def to_stored(self) -> dict[str, Any]:
        """Fields as they are written: the regressor by its numbers, or by how to fit it again."""
        return vars(self) | {"regressor": store(self.regressor, self.pairs, len(self.importances))}

    @classmethod
    def from_stored(cls, regressor: StoredRegressor, pairs: TrainingPairs | None, **rest: Any) -> "LearnedDistance":
        """Model of what was read from a file."""
        return cls(regressor=restore(regressor, pairs), pairs=pairs, **rest)

    def check_stored(self) -> None:
        """Check what was read from a file: errors and units that make sense."""
        expect(self.error >= 0 and self.scale > 0, "an error from 0 and a positive scale")
        expect(self.imputers, "an imputer")
        expect_shape(self.importances, (-1,), "importances")

    def check_fits(self, n_columns: int, size: int, n_bins: int) -> None:
        """Check that what was read from a file measures rows of ``n_columns`` columns, ``size`` of them in a matrix."""
        n_features = 2 * n_columns + len(self.imputers)
        _check_imputers(self.imputers, size, n_bins * n_features)
        expect_shape(self.importances, (n_features,), "importances")
        found = self._n_features()
        expect(found == n_features, f"a regressor of {n_features} features, not {found}")

    def _n_features(self) -> int:
        if isinstance(self.regressor, LinearPredictor):
            return len(self.regressor.coefficients)
        if isinstance(self.regressor, TreeEnsemble):
            return self.regressor.n_features
        return 0 if self.pairs is None else self.pairs.n_gaps + self.pairs.imputed.shape[1]


@stored
@dataclass(frozen=True, eq=False)
class ImputedDistance:
    """Distances after one imputation: the plain way, kept for comparison (configuration 2).

    Parameters
    ----------
    imputer : FittedImputer
        Fitted on the reference.
    error : float
        Zero: imputation does not know its error.
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
        """Check that what was read from a file measures rows of ``n_columns`` columns, ``size`` of them in a matrix."""
        _check_imputers((self.imputer,), size, n_bins * (2 * n_columns + 1))


def _check_imputers(imputers: tuple[FittedImputer, ...], size: int, work: int) -> None:
    for imputer in imputers:
        constants = imputer.constants if isinstance(imputer, ConstantFill | ChainedRegressions) else np.empty(0)
        expect_shape(constants, (size,), "constants of an imputer")
    expect(work <= MAX_WORK, "fewer bins and columns")


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
        Input column of each matrix column: the levels of one category are hidden together.
    imputers : tuple of FittedImputer
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
    hidden = _hide(len(rows), rates, rng)
    first, second = _draw_pairs(hidden, centres, max_pairs, rng)
    features = _training_features(rows, hidden, owner, imputers, first, second, centres)
    others = rows if centres is None else centres
    distances = _norms(rows, others, first, second)
    scale = float(np.median(distances)) or float(distances.max(initial=0.0)) or 1.0
    distances /= scale
    features[:, -len(imputers) :] /= scale
    fold = rng.permutation(np.arange(len(rows)) % n_splits)
    folds = (fold[first], fold[second] if centres is None else fold[first])
    template = default_regressor(rng) if regressor is None else _seeded(regressor, rng)
    error = _validation_error(template, features, distances, folds, n_splits) * scale
    fitted = _fit(template, features, distances)
    importances = _importances(fitted, features, distances, rng)
    pairs = _keep_pairs(fitted, features, distances, len(imputers))
    return LearnedDistance(fitted, imputers, error, importances, scale, pairs)


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
    distances = [np.linalg.norm(one - two, axis=1) for one, two in zip(filled_first, filled_second, strict=True)]
    return np.column_stack([missing_first.astype(float), missing_second.astype(float), *distances])


def published_regressor() -> Any:
    """The authors' regressor: gradient boosting with Huber loss, 500 trees of depth 4, learning rate 0.05.

    Examples
    --------
    >>> published_regressor().n_estimators
    500
    """
    return GradientBoostingRegressor(loss="huber", n_estimators=500, learning_rate=0.05, max_depth=4, random_state=0)


def _seeded(regressor: Regressor, rng: np.random.Generator) -> Any:
    """A copy whose open seed is drawn, so that the same ``random_state`` gives the same result."""
    copy: Any = clone(regressor, safe=False)
    settings = copy.get_params() if hasattr(copy, "get_params") else {}
    if "random_state" in settings and settings["random_state"] is None:
        copy.set_params(random_state=draw_seed(rng))
    return copy


def _fit(template: Regressor, features: Matrix, distances: Vector) -> Any:
    fitted: Any = clone(template, safe=False)
    # Several threads add up in another order: the same seed would give other digits on another machine.
    with limit_threads(None):
        fitted.fit(features, distances)
    return fitted


def _keep_pairs(fitted: Regressor, features: Matrix, distances: Vector, n_imputers: int) -> TrainingPairs | None:
    each = -(-features.shape[1] // 8) + 8 * (n_imputers + 1)
    affordable = len(features) * each <= KEPT_BYTES
    again = isinstance(fitted, HistGradientBoostingRegressor)
    return TrainingPairs.of(features, distances, n_imputers) if again and affordable else None


def _predict(regressor: Regressor, features: Matrix) -> Vector:
    """Predictions as a vector of finite numbers, or an error that names the regressor."""
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


def _hide(n_rows: int, rates: Vector, rng: np.random.Generator) -> Mask:
    """Cells to hide, in at least a fifth of the rows: by chance alone a small table might get none."""
    hidden = draw_mask(n_rows, rates, rng)
    whole = rng.permutation(np.flatnonzero(~np.any(hidden, axis=1)))
    short = int(np.ceil(MIN_MASKED_SHARE * n_rows)) - (n_rows - len(whole))
    if short > 0:
        columns = rng.choice(len(rates), size=short, p=rates / rates.sum())
        hidden[whole[:short], columns] = True
    return hidden


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
    imputers: tuple[FittedImputer, ...],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
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
        features[:, 2 * n_columns + index] = _norms(filled, filled if centres is None else centres, first, second)
    return features


def _norms(one: Matrix, two: Matrix, first: NDArray[np.intp], second: NDArray[np.intp]) -> Vector:
    """Distances of rows of one table to rows of another, a chunk of pairs at a time."""
    result = np.empty(len(first))
    for start in range(0, len(first), PREDICTED_PAIRS):
        part = slice(start, start + PREDICTED_PAIRS)
        result[part] = np.linalg.norm(one[first[part]] - two[second[part]], axis=1)
    return result


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
            fitted = _fit(template, features[outside], distances[outside])
            residuals = distances[inside] - _predict(fitted, features[inside])
            squares += float(residuals @ residuals)
            count += len(residuals)
    if count <= 2:
        raise ParameterError(
            f"The distance error could not be estimated from {count} validation pairs, expected more than 2. "
            "Use fewer n_splits, a larger max_pairs or more rows."
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
    base = float(((_predict(fitted, pairs) - truth) ** 2).mean())
    rises = []
    for block in np.array_split(np.arange(pairs.shape[1]), -(-pairs.shape[1] * pairs.size // STACKED_CELLS)):
        stacked = np.repeat(pairs[None], len(block), axis=0)
        for position, feature in enumerate(block):
            stacked[position, :, feature] = rng.permutation(pairs[:, feature])
        predicted = _predict(fitted, stacked.reshape(-1, pairs.shape[1])).reshape(len(block), -1)
        rises.append(((predicted - truth) ** 2).mean(axis=1) - base)
    positive: Vector = np.clip(np.concatenate(rises), 0.0, None)
    return positive
