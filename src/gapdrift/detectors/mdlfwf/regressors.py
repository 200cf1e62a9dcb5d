"""Regressors that can be stored, without pickle and without a look into scikit-learn's private parts.

Linear models and forests are written as the numbers that they consist of, and come back as predictors of our own.
Histogram boosting shows none of its numbers: its training pairs are written, it is fitted again from them, and a
checksum of its predictions tells whether it has become the same.
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

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

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
"""Regressors that can be stored; a file names one of them, and nothing else is looked up by a name from a file."""

MAX_TEXT = 100
"""Characters of a setting."""

MAX_WORK = 1_000_000_000
"""Trees x pairs x features of a regressor that is fitted again: about a minute."""

MAX_FEATURE_CELLS = 8_000_000
"""Pairs x features of a regressor that is fitted again: 64 MB."""

MAX_HISTOGRAMS = 64 * 2**20
"""Memory of the histograms of such a fit."""

HISTOGRAM_BYTES = 256 * 24

PROBES = 500
"""Made-up pairs on which a predictor must agree with the regressor that it stands for."""

ROWS_AT_ONCE = 10_000

Setting = str | int | float | bool | None


@dataclass(frozen=True)
class Recipe:
    """An unfitted regressor: its class and the settings that are not the defaults.

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
        """Refuse: what was stored is not learned anew."""
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
        Where the nodes of each tree begin, and where the last one ends.
    feature : (nodes,) array
        Feature that a node asks for; 0 in a leaf.
    threshold : (nodes,) array
        A row goes to the first child where its feature is at most this.
    children : (nodes, 2) array
        Counted within the tree; a leaf is its own child, any other node comes before its children.
    value : (nodes,) array
        What a leaf predicts.

    Notes
    -----
    Features are compared in single precision and trees are added in their order, as scikit-learn does, so that the
    sums agree to the bit.
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
        """Refuse: what was stored is not learned anew."""
        raise NotImplementedError

    def predict(self, X: Matrix) -> Vector:
        """Distances of pairs: (pairs,)."""
        parts = [self._predict(X[start : start + ROWS_AT_ONCE]) for start in range(0, len(X), ROWS_AT_ONCE)]
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
    """A regressor that is fitted again: what it needs, and how to tell that it has become the same.

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
    """Recipe of a regressor: its class and settings.

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
        key: _plain(value)
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
    """What is written of a fitted regressor.

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
        return _agreeing(_WRITERS[recipe.name](regressor), regressor, n_features)
    if pairs is None:
        raise StorageError(
            f"The regressor {recipe.name} was fitted on so many pairs that they were not kept, and it cannot be stored "
            "without them. Ask for fewer by max_pairs, such as 10000."
        )
    stored = Refit(recipe, pairs, _digest(regressor, pairs), sklearn.__version__)
    check_refit(stored)
    return stored


def restore(stored: StoredRegressor) -> tuple[Regressor, TrainingPairs | None]:
    """Regressor as it was when it was stored, and its training pairs.

    Parameters
    ----------
    stored : LinearPredictor, TreeEnsemble or Refit
        Checked for soundness.

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
        # What there was to warn of was said at the first fit.
        with warnings.catch_warnings(), limit_threads(None):
            warnings.simplefilter("ignore")
            regressor.fit(stored.pairs.features(), stored.pairs.distances)
            digest = _digest(regressor, stored.pairs)
    # Settings and numbers come from a file: whatever scikit-learn has to say to them is not for the user to sort out.
    except Exception as error:
        raise StorageError(f"The regressor {stored.recipe.name} cannot be fitted again: {error}") from error
    if digest != stored.digest:
        raise StorageError(
            f"The regressor {stored.recipe.name} was saved with scikit-learn {stored.library[:MAX_TEXT]}; fitted again "
            f"with scikit-learn {sklearn.__version__} it predicts other distances. Load it with the former, on a "
            "machine of the same kind, or fit the detector again."
        )
    return regressor, stored.pairs


def check_refit(stored: Refit) -> None:
    """Raise a StorageError where fitting again would take too long or too much memory."""
    settings = stored.recipe.settings
    n_pairs, n_features = len(stored.pairs.distances), stored.pairs.n_gaps + stored.pairs.imputed.shape[1]
    n_trees = settings.get("max_iter", 100)
    n_leaves = settings.get("max_leaf_nodes", 31)
    most = n_pairs if n_leaves is None else n_leaves
    whole = all(type(number) is int and 0 < number <= 10**9 for number in (n_trees, most))
    if not whole or stored.recipe.name != "HistGradientBoostingRegressor":
        raise StorageError(f"The regressor {stored.recipe.name[:MAX_TEXT]} has settings that cannot be fitted again.")
    histograms = min(int(most or 1), n_pairs) * n_features * HISTOGRAM_BYTES
    work = int(n_trees or 1) * n_pairs * n_features
    if work > MAX_WORK or n_pairs * n_features > MAX_FEATURE_CELLS or histograms > MAX_HISTOGRAMS:
        raise StorageError(
            f"The regressor with {n_trees} trees of up to {most} leaves, learned from {n_pairs:,} pairs with "
            f"{n_features:,} features, is too large to be stored: it has to be fitted again when it is loaded. Use "
            "fewer or smaller trees, a smaller max_pairs, or fewer columns."
        )


def _check_recipe(recipe: Recipe) -> None:
    if recipe.name not in REGRESSORS:
        raise StorageError(f"The regressor {recipe.name[:MAX_TEXT]!r} is not one of {', '.join(REGRESSORS)}.")
    known = REGRESSORS[recipe.name]().get_params(deep=False)
    for key, value in recipe.settings.items():
        # NaN is not at most anything; a whole number may have thousands of digits.
        number = isinstance(value, int | float) and not abs(value) <= 2**53
        text = isinstance(value, str) and len(value) > MAX_TEXT
        if key not in known or number or text:
            raise StorageError(f"The regressor {recipe.name} has the setting {key[:MAX_TEXT]!r} in a way not known.")
    if recipe.settings.get("n_jobs") not in {None, 1}:
        raise StorageError(
            f"The regressor {recipe.name} has n_jobs={recipe.settings['n_jobs']}, expected None or 1: threads add up "
            "in any order, and what is loaded could not be the same to the bit."
        )


def _plain(value: Any) -> Setting:
    """Setting as JSON knows it."""
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


def _agreeing(stored: LinearPredictor | TreeEnsemble, regressor: Any, n_features: int) -> StoredRegressor:
    """The predictor, once it has predicted the same as the regressor that it stands for."""
    rng = np.random.default_rng(0)
    probes = np.where(rng.random((PROBES, n_features)) < 0.5, rng.integers(2, size=n_features), 0.0)
    probes += rng.exponential(size=probes.shape) * (rng.random(n_features) < 0.5)
    if not np.array_equal(stored.predict(probes), regressor.predict(probes)):
        raise StorageError(
            f"The regressor {type(regressor).__name__} cannot be stored on this machine: what is written would predict "
            "distances with other digits. Use regressor=None."
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
    """Leaf that each row ends in."""
    node = np.zeros(len(rows), dtype=np.intp)
    moving = np.arange(len(rows))
    inner = children[:, 0] != np.arange(len(children))
    while len(moving := moving[inner[node[moving]]]):
        here = node[moving]
        right = rows[moving, feature[here]] > threshold[here]
        node[moving] = children[here, right.astype(np.intp)]
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
