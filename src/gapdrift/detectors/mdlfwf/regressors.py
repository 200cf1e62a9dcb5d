"""Regressors that distances are learned with, and how they are stored: without pickle or scikit-learn's private parts.

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
from typing import Any, Protocol, runtime_checkable

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
from gapdrift.errors import StorageError
from gapdrift.persistence.records import expect, expect_range, expect_shape, stored
from gapdrift.tables.schema import MAX_COLUMNS

__all__ = [
    "LinearPredictor",
    "Recipe",
    "Refit",
    "Regressor",
    "StoredRegressor",
    "TrainingPairs",
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


@stored
@dataclass(frozen=True, eq=False)
class TrainingPairs:
    """The pairs that a regressor was fitted on, so that it can be fitted again: no row is among them.

    Parameters
    ----------
    packed_missing : (pairs, bytes) array of uint8
        Missing cells of the first row, then of the second, eight to a byte.
    n_indicators : int
        Twice the number of columns.
    imputed : (pairs, imputers) array
        Distances after each imputation, in the regressor's unit.
    distances : (pairs,) array
        What the regressor learned, in its unit.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = TrainingPairs.of(np.array([[1.0, 0.0, 2.5]]), np.array([3.0]), 1)
    >>> pairs.features()
    array([[1. , 0. , 2.5]])
    """

    packed_missing: NDArray[np.uint8]
    n_indicators: int
    imputed: Matrix
    distances: Vector

    @classmethod
    def of(cls, features: Matrix, distances: Vector, n_imputers: int) -> "TrainingPairs":
        """Pairs from the features and distances that were fitted."""
        packed = np.packbits(features[:, :-n_imputers] > 0, axis=1)
        return cls(packed, features.shape[1] - n_imputers, features[:, -n_imputers:].copy(), distances)

    def features(self) -> Matrix:
        """Features that were fitted: (pairs, features)."""
        features = np.empty((len(self.distances), self.n_indicators + self.imputed.shape[1]))
        features[:, : self.n_indicators] = np.unpackbits(self.packed_missing, axis=1, count=self.n_indicators)
        features[:, self.n_indicators :] = self.imputed
        return features

    def check_stored(self) -> None:
        """Check what was read from a file: as many of each."""
        n_pairs = len(np.atleast_1d(self.distances))
        expect_shape(self.distances, (n_pairs,), "distances of pairs")
        expect_shape(self.imputed, (n_pairs, -1), "imputed distances of pairs")
        expect(0 <= self.n_indicators <= 2 * MAX_COLUMNS, "marks of missing cells of pairs")
        expect_shape(self.packed_missing, (n_pairs, -(-self.n_indicators // 8)), "marks of missing cells of pairs")


@stored
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

    def check_stored(self) -> None:
        """Raise a StorageError where the class or a setting is not known, or would make results depend on threads."""
        if self.name not in REGRESSORS:
            raise StorageError(f"The regressor {self.name[:MAX_TEXT]!r} is not one of {', '.join(REGRESSORS)}.")
        known = REGRESSORS[self.name]().get_params(deep=False)
        for key, value in self.settings.items():
            # NaN is not at most anything; a whole number may have thousands of digits.
            number = isinstance(value, int | float) and not abs(value) <= 2**53
            text = isinstance(value, str) and len(value) > MAX_TEXT
            if key not in known or number or text:
                raise StorageError(f"The regressor {self.name} has the setting {key[:MAX_TEXT]!r} in a way not known.")
        if self.settings.get("n_jobs") not in {None, 1}:
            raise StorageError(
                f"The regressor {self.name} has n_jobs={self.settings['n_jobs']}, expected None or 1: threads add up "
                "in any order, and what is loaded could not be the same to the bit."
            )


@stored
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

    def check_stored(self) -> None:
        """Check what was read from a file: one coefficient for each feature."""
        expect_shape(self.coefficients, (-1,), "coefficients")


@stored
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

    def check_stored(self) -> None:
        """Check what was read from a file: every path through the trees ends."""
        n_nodes = len(np.atleast_1d(self.feature))
        expect_shape(self.feature, (n_nodes,), "features of nodes")
        expect_shape(self.threshold, (n_nodes,), "thresholds of nodes")
        expect_shape(self.children, (n_nodes, 2), "children of nodes")
        expect_shape(self.value, (n_nodes,), "values of nodes")
        expect_shape(self.bounds, (-1,), "bounds of trees")
        expect(len(self.bounds) >= 2 and self.bounds[0] == 0 and self.bounds[-1] == n_nodes, "trees of all nodes")
        expect(np.all(np.diff(self.bounds) > 0), "trees with nodes")
        expect(self.n_features > 0 and self.divisor != 0, "trees that ask for features")
        expect_range(self.feature, 0, self.n_features, "features")
        sizes = np.diff(self.bounds)
        place = (np.arange(n_nodes) - np.repeat(self.bounds[:-1], sizes))[:, None]
        leaf = (self.children == place).all(axis=1)
        # A child that comes after its parent cannot lead back to it.
        onward = ((self.children > place) & (self.children < np.repeat(sizes, sizes)[:, None])).all(axis=1)
        expect(np.all(leaf | onward), "trees without circles")


@stored
@dataclass(frozen=True)
class Refit:
    """A regressor that is fitted again from its training pairs, and how to tell that it has become the same.

    Parameters
    ----------
    recipe : Recipe
    digest : str
        SHA-256 of its predictions for the training pairs.
    library : str
        Version of scikit-learn that it was first fitted with.
    """

    recipe: Recipe
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
    recipe.check_stored()
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
    recipe.check_stored()
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
    written : LinearPredictor, TreeEnsemble or Refit
    """
    if isinstance(regressor, LinearPredictor | TreeEnsemble):
        return regressor
    recipe = recipe_of(regressor)
    if recipe.name in _WRITERS:
        with limit_threads(None):
            return _agreeing(_WRITERS[recipe.name](regressor), regressor, n_features)
    if pairs is None:
        raise StorageError(
            f"The regressor {recipe.name} was fitted on so many pairs that they were not kept, and it cannot be stored "
            "without them. Use a smaller max_pairs, such as 10000."
        )
    _check_effort(recipe, pairs)
    with limit_threads(None):
        return Refit(recipe, _digest(regressor, pairs), sklearn.__version__)


def restore(written: StoredRegressor, pairs: TrainingPairs | None) -> Regressor:
    """Regressor as it was when it was stored.

    Parameters
    ----------
    written : LinearPredictor, TreeEnsemble or Refit
        Checked for soundness, like the pairs.
    pairs : TrainingPairs or None
        What a `Refit` is fitted on.

    Returns
    -------
    regressor : Regressor
    """
    if not isinstance(written, Refit):
        expect(pairs is None, "training pairs of regressors that are fitted again only")
        return written
    if pairs is None:
        raise StorageError("The content of the file is not sound: expected the training pairs of its regressor.")
    _check_effort(written.recipe, pairs)
    regressor = make_regressor(written.recipe)
    try:
        # The user was warned when it was fitted for the first time.
        with warnings.catch_warnings(), limit_threads(None):
            warnings.simplefilter("ignore")
            regressor.fit(pairs.features(), pairs.distances)
            digest = _digest(regressor, pairs)
    # Settings and numbers come from a file: whatever scikit-learn has to say to them is not for the user to sort out.
    except Exception as error:
        raise StorageError(f"The regressor {written.recipe.name} cannot be fitted again: {error}") from error
    if digest != written.digest:
        raise StorageError(
            f"The regressor {written.recipe.name} was saved with scikit-learn {written.library[:MAX_TEXT]}; fitted "
            f"again with scikit-learn {sklearn.__version__} it predicts other distances. Load it with the former, on a "
            "machine of the same kind, or fit the detector again."
        )
    result: Regressor = regressor
    return result


def _check_effort(recipe: Recipe, pairs: TrainingPairs) -> None:
    """Raise a StorageError where fitting again would take too long or too much memory."""
    settings = recipe.settings
    n_pairs, n_features = len(pairs.distances), pairs.n_indicators + pairs.imputed.shape[1]
    n_trees = settings.get("max_iter", 100)
    n_leaves = settings.get("max_leaf_nodes", 31)
    most = n_pairs if n_leaves is None else n_leaves
    whole = all(type(number) is int and 0 < number <= 10**9 for number in (n_trees, most))
    if not whole or recipe.name != "HistGradientBoostingRegressor":
        raise StorageError(f"The regressor {recipe.name[:MAX_TEXT]} has settings that cannot be fitted again.")
    histograms = min(int(most or 1), n_pairs) * n_features * BYTES_PER_HISTOGRAM
    work = int(n_trees or 1) * n_pairs * n_features
    if work > MAX_WORK or n_pairs * n_features > MAX_FEATURE_CELLS or histograms > MAX_HISTOGRAM_BYTES:
        raise StorageError(
            f"The regressor with {n_trees} trees of up to {most} leaves, learned from {n_pairs:,} pairs with "
            f"{n_features:,} features, is too large to be stored: it has to be fitted again when it is loaded. Use "
            "fewer or smaller trees, a smaller max_pairs, or fewer columns."
        )


def _json_value(value: Any) -> Setting:
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


def _agreeing(written: LinearPredictor | TreeEnsemble, regressor: Any, n_features: int) -> StoredRegressor:
    """The predictor, once it has predicted the same as the regressor that it stands for."""
    rng = np.random.default_rng(0)
    probes = np.where(rng.random((N_PROBES, n_features)) < 0.5, rng.integers(2, size=n_features), 0.0)
    probes += rng.exponential(size=probes.shape) * (rng.random(n_features) < 0.5)
    if not np.array_equal(written.predict(probes), regressor.predict(probes)):
        raise StorageError(
            f"The regressor {type(regressor).__name__} cannot be stored on this machine: its stored form would predict "
            "slightly different distances. Use regressor=None."
        )
    return written


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
