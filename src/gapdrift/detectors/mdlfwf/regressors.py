"""Regressors that can be stored, without pickle and without the use of scikit-learn's private attributes.

Linear models, forests and boosted trees are stored as the numbers that they consist of, and are restored as predictors
of our own. Histogram gradient boosting has no public numbers: its training pairs are stored, it is fitted to them
again, and a checksum of its predictions shows whether the two fits are the same.
"""

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, Ridge

from gapdrift._threads import limit_threads
from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.detectors.mdlfwf.distance import Regressor, TrainingPairs
from gapdrift.errors import StorageError

__all__ = [
    "LinearPredictor",
    "Recipe",
    "Refit",
    "StoredRegressor",
    "TreeEnsemble",
    "make_regressor",
    "recipe_of",
    "restore",
    "store",
]

REGRESSORS: Mapping[str, Any] = MappingProxyType(
    {
        cls.__name__: cls
        for cls in (
            ExtraTreesRegressor,
            GradientBoostingRegressor,
            HistGradientBoostingRegressor,
            LinearRegression,
            RandomForestRegressor,
            Ridge,
        )
    }
)
"""Regressors that can be stored. A name in a file must be one of these; nothing else is looked up by it."""

MAX_TEXT = 100
"""Largest number of characters of a setting."""

MAX_WORK = 1_000_000_000
"""Largest trees x pairs x features of a regressor that is fitted again: about a minute."""

MAX_FEATURE_CELLS = 8_000_000
"""Largest pairs x features of a regressor that is fitted again: 64 MB."""

MAX_HISTOGRAM_BYTES = 64 * 2**20
"""Largest memory of the histograms that such a fit needs."""

BYTES_PER_HISTOGRAM = 256 * 24
"""Memory of the histogram of one feature in one leaf."""

N_PROBES = 500
"""Artificial pairs for which a stored predictor must give the same distances as the regressor that it stands for."""

CHUNK_PAIRS = 10_000
"""Pairs predicted at once."""

Setting = str | int | float | bool | None


@dataclass(frozen=True)
class Recipe:
    """An unfitted regressor: its class and the settings that differ from the defaults.

    Parameters
    ----------
    name : str
    settings : mapping of str to str, int, float, bool or None
    """

    name: str
    settings: Mapping[str, Setting]


@dataclass(frozen=True, eq=False)
class LinearPredictor:
    """A linear regression.

    Parameters
    ----------
    coefficients : (features,) array
    intercept : float

    Examples
    --------
    >>> import numpy as np
    >>> LinearPredictor(np.array([2.0]), 1.0).predict(np.array([[3.0]]))
    array([7.])
    """

    coefficients: Vector
    intercept: float

    def fit(self, X: Matrix, y: Vector) -> Any:
        """Refuse to fit: a stored regressor only predicts."""
        raise NotImplementedError

    def predict(self, X: Matrix) -> Vector:
        """Distances of pairs: (pairs,)."""
        result: Vector = X @ self.coefficients + self.intercept
        return result


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Sum or mean of regression trees: ``(start + sum of scale x leaf) / divisor``.

    Parameters
    ----------
    start, scale, divisor : float
    n_features : int
    bounds : (trees + 1,) array
        Position of the first node of each tree, and at the end the number of all nodes.
    feature : (nodes,) array
        Feature by which a node splits; 0 in a leaf.
    threshold : (nodes,) array
        A pair goes to the first child if its feature is at most this.
    children : (nodes, 2) array
        Positions within the tree. A leaf is its own child; any other node comes before its children.
    value : (nodes,) array
        Prediction of a leaf.

    Notes
    -----
    Features are compared in single precision and trees are added in their order, as in scikit-learn, so that the
    predictions agree bit for bit.
    """

    start: float
    scale: float
    divisor: float
    n_features: int
    bounds: Indices
    feature: Indices
    threshold: Vector
    children: Indices
    value: Vector

    def fit(self, X: Matrix, y: Vector) -> Any:
        """Refuse to fit: a stored regressor only predicts."""
        raise NotImplementedError

    def predict(self, X: Matrix) -> Vector:
        """Distances of pairs: (pairs,)."""
        parts = [self._predict(X[start : start + CHUNK_PAIRS]) for start in range(0, len(X), CHUNK_PAIRS)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _predict(self, X: Matrix) -> Vector:
        rows = X.astype(np.float32)
        total = np.full(len(rows), self.start)
        for first, last in pairwise(self.bounds.tolist()):
            tree = slice(first, last)
            leaves = _leaves(rows, self.feature[tree], self.threshold[tree], self.children[tree])
            total += self.scale * self.value[tree][leaves]
        total /= self.divisor
        return total


@dataclass(frozen=True, eq=False)
class Refit:
    """A regressor that is fitted again: what the fit needs, and a checksum of what it must predict.

    Parameters
    ----------
    recipe : Recipe
    pairs : TrainingPairs
    digest : str
        SHA-256 of its predictions for the training pairs.
    library : str
        Version of scikit-learn that it was first fitted with.
    """

    recipe: Recipe
    pairs: TrainingPairs
    digest: str
    library: str


StoredRegressor = LinearPredictor | TreeEnsemble | Refit


def recipe_of(regressor: Any) -> Recipe:
    """Recipe of a regressor: its class and the settings that differ from the defaults.

    Parameters
    ----------
    regressor : scikit-learn regressor

    Returns
    -------
    recipe : Recipe

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> recipe_of(Ridge(alpha=2.0))
    Recipe(name='Ridge', settings={'alpha': 2.0})
    """
    name = type(regressor).__name__
    if REGRESSORS.get(name) is not type(regressor):
        raise StorageError(
            f"The regressor {name} cannot be stored, expected None or one of {', '.join(REGRESSORS)} of scikit-learn."
        )
    defaults = REGRESSORS[name]().get_params(deep=False)
    settings = {
        key: _json_value(value)
        for key, value in regressor.get_params(deep=False).items()
        if type(value) is not type(defaults[key]) or value != defaults[key]
    }
    recipe = Recipe(name, settings)
    _check_recipe(recipe)
    return recipe


def make_regressor(recipe: Recipe) -> Any:
    """Unfitted regressor of a recipe.

    Parameters
    ----------
    recipe : Recipe

    Returns
    -------
    regressor : scikit-learn regressor
    """
    _check_recipe(recipe)
    return REGRESSORS[recipe.name](**recipe.settings)


def store(regressor: Any, pairs: TrainingPairs | None, n_features: int) -> StoredRegressor:
    """Form in which a fitted regressor is stored.

    Parameters
    ----------
    regressor : scikit-learn regressor, LinearPredictor or TreeEnsemble
        Fitted.
    pairs : TrainingPairs or None
    n_features : int

    Returns
    -------
    stored : LinearPredictor, TreeEnsemble or Refit
    """
    if isinstance(regressor, LinearPredictor | TreeEnsemble):
        return regressor
    recipe = recipe_of(regressor)
    if recipe.name in _WRITERS:
        return _checked(_WRITERS[recipe.name](regressor), regressor, n_features)
    if pairs is None:
        raise StorageError(
            f"The regressor {recipe.name} was fitted on so many pairs that they were not kept, and it cannot be stored "
            "without them. Use a smaller max_pairs, such as 10000."
        )
    stored = Refit(recipe, pairs, _digest(regressor, pairs), sklearn.__version__)
    check_refit(stored)
    return stored


def restore(stored: StoredRegressor) -> tuple[Regressor, TrainingPairs | None]:
    """Regressor as it was when it was stored, and its training pairs if they were stored.

    Parameters
    ----------
    stored : LinearPredictor, TreeEnsemble or Refit
        Already checked for soundness.

    Returns
    -------
    regressor : Regressor
    pairs : TrainingPairs or None
    """
    if not isinstance(stored, Refit):
        return stored, None
    check_refit(stored)
    regressor = make_regressor(stored.recipe)
    try:
        # The user was warned when it was fitted for the first time.
        with warnings.catch_warnings(), limit_threads(None):
            warnings.simplefilter("ignore")
            regressor.fit(stored.pairs.features(), stored.pairs.distances)
            digest = _digest(regressor, stored.pairs)
    # Settings and numbers come from a file, so any error of scikit-learn means that the file cannot be used.
    except Exception as error:
        raise StorageError(f"The regressor {stored.recipe.name} cannot be fitted again: {error}") from error
    if digest != stored.digest:
        raise StorageError(
            f"The regressor {stored.recipe.name} was saved with scikit-learn {stored.library[:MAX_TEXT]}; fitted again "
            f"with scikit-learn {sklearn.__version__} it predicts other distances. Load it with the former version, on "
            "a machine of the same kind, or fit the detector again."
        )
    return regressor, stored.pairs


def check_refit(stored: Refit) -> None:
    """Raise a StorageError if fitting again would take too much time or memory."""
    settings = stored.recipe.settings
    n_pairs, n_features = len(stored.pairs.distances), stored.pairs.n_indicators + stored.pairs.imputed.shape[1]
    n_trees = settings.get("max_iter", 100)
    n_leaves = settings.get("max_leaf_nodes", 31)
    max_leaves = n_pairs if n_leaves is None else n_leaves
    plausible = all(type(number) is int and 0 < number <= 10**9 for number in (n_trees, max_leaves))
    if not plausible or stored.recipe.name != "HistGradientBoostingRegressor":
        raise StorageError(f"The regressor {stored.recipe.name[:MAX_TEXT]} has settings that cannot be fitted again.")
    histograms = min(int(max_leaves or 1), n_pairs) * n_features * BYTES_PER_HISTOGRAM
    work = int(n_trees or 1) * n_pairs * n_features
    if work > MAX_WORK or n_pairs * n_features > MAX_FEATURE_CELLS or histograms > MAX_HISTOGRAM_BYTES:
        raise StorageError(
            f"The regressor with {n_trees} trees of up to {max_leaves} leaves, learned from {n_pairs:,} pairs with "
            f"{n_features:,} features, is too large to be stored: it has to be fitted again when it is loaded. Use "
            "fewer or smaller trees, a smaller max_pairs, or fewer columns."
        )


def _check_recipe(recipe: Recipe) -> None:
    if recipe.name not in REGRESSORS:
        raise StorageError(f"The regressor {recipe.name[:MAX_TEXT]!r} is not one of {', '.join(REGRESSORS)}.")
    known = REGRESSORS[recipe.name]().get_params(deep=False)
    for key, value in recipe.settings.items():
        # The comparison is negated because NaN, which must be refused too, is neither above nor below anything.
        too_large = isinstance(value, int | float) and not abs(value) <= 2**53
        too_long = isinstance(value, str) and len(value) > MAX_TEXT
        if key not in known or too_large or too_long:
            raise StorageError(
                f"The regressor {recipe.name} has an unknown setting {key[:MAX_TEXT]!r}, or a value of it that cannot "
                "be stored."
            )
    if recipe.settings.get("n_jobs") not in {None, 1}:
        raise StorageError(
            f"The regressor {recipe.name} has n_jobs={recipe.settings['n_jobs']}, expected None or 1: several "
            "threads add numbers in varying order, so the loaded regressor could differ from the saved one."
        )


def _json_value(value: Any) -> Setting:
    """Setting as a value of JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise StorageError(
        f"A regressor with a {type(value).__name__} among its settings cannot be stored, expected numbers, words, "
        "True, False or None."
    )


def _digest(regressor: Any, pairs: TrainingPairs) -> str:
    predicted = np.asarray(regressor.predict(pairs.features()), dtype="<f8")
    return hashlib.sha256(predicted.tobytes()).hexdigest()


def _checked(stored: LinearPredictor | TreeEnsemble, regressor: Any, n_features: int) -> StoredRegressor:
    """The stored form, after a check that it predicts the same as the regressor; otherwise a StorageError."""
    rng = np.random.default_rng(0)
    probes = np.where(rng.random((N_PROBES, n_features)) < 0.5, rng.integers(2, size=n_features), 0.0)
    probes += rng.exponential(size=probes.shape) * (rng.random(n_features) < 0.5)
    if not np.array_equal(stored.predict(probes), regressor.predict(probes)):
        raise StorageError(
            f"The regressor {type(regressor).__name__} cannot be stored on this machine: its stored form would predict "
            "slightly different distances. Use regressor=None."
        )
    return stored


def _write_linear(regressor: Any) -> LinearPredictor:
    return LinearPredictor(np.array(regressor.coef_, dtype=float), float(regressor.intercept_))


def _write_boosting(regressor: Any) -> TreeEnsemble:
    if regressor.init is not None and regressor.init != "zero":
        raise StorageError("A GradientBoostingRegressor with a regressor of its own as init cannot be stored.")
    start = 0.0 if regressor.init == "zero" else float(np.ravel(regressor.init_.constant_)[0])
    trees = [tree.tree_ for tree in regressor.estimators_[:, 0]]
    return _write_trees(trees, start, float(regressor.learning_rate), 1.0)


def _write_forest(regressor: Any) -> TreeEnsemble:
    trees = [tree.tree_ for tree in regressor.estimators_]
    return _write_trees(trees, 0.0, 1.0, float(len(trees)))


def _write_trees(trees: Sequence[Any], start: float, scale: float, divisor: float) -> TreeEnsemble:
    children = [np.column_stack([tree.children_left, tree.children_right]) for tree in trees]
    own = [np.arange(tree.node_count)[:, None] for tree in trees]
    return TreeEnsemble(
        start,
        scale,
        divisor,
        int(trees[0].n_features),
        np.cumsum([0, *(tree.node_count for tree in trees)]),
        np.concatenate([np.maximum(tree.feature, 0) for tree in trees]),
        np.concatenate([tree.threshold for tree in trees]),
        np.concatenate([np.where(pair < 0, self, pair) for pair, self in zip(children, own, strict=True)]),
        np.concatenate([tree.value[:, 0, 0] for tree in trees]),
    )


def _leaves(rows: NDArray[np.float32], feature: Indices, threshold: Vector, children: Indices) -> Indices:
    """Position of the leaf that each row ends in."""
    node = np.zeros(len(rows), dtype=np.intp)
    unfinished = np.arange(len(rows))
    is_split = children[:, 0] != np.arange(len(children))
    while len(unfinished := unfinished[is_split[node[unfinished]]]):
        here = node[unfinished]
        right = rows[unfinished, feature[here]] > threshold[here]
        node[unfinished] = children[here, right.astype(np.intp)]
    return node


_WRITERS: Mapping[str, Callable[[Any], LinearPredictor | TreeEnsemble]] = MappingProxyType(
    {
        "ExtraTreesRegressor": _write_forest,
        "GradientBoostingRegressor": _write_boosting,
        "LinearRegression": _write_linear,
        "RandomForestRegressor": _write_forest,
        "Ridge": _write_linear,
    }
)
