"""Regressors that distances are learned with, as plain records: without pickle, and without scikit-learn to predict.

A fitted regressor is taken over as the numbers that it consists of: the coefficients of a linear model, the nodes of
trees. The record predicts from then on and is what is stored, so that saving and loading cannot change a prediction.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, Ridge

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.errors import StorageError
from gapdrift.persistence.records import expect, expect_range, expect_shape, stored

__all__ = [
    "REGRESSORS",
    "Forest",
    "LinearModel",
    "Recipe",
    "Regressor",
    "as_record",
    "make_regressor",
    "recipe_of",
]

MAX_TEXT = 100
"""Largest number of characters of a setting."""

MAX_TREE_NODES = 2_500_000
"""Largest number of nodes of all trees that are stored: 100 MB, three quarters of what a file may hold."""

MAX_STEPS = 100_000
"""Largest trees x levels that are stored: the prediction for a pair takes as many steps, about a millisecond."""

NODES_AT_ONCE = 30_000
"""Trees x pairs that go down one level at once."""

OUTPUTS = ("sum", "mean", "exp")
"""What a forest predicts: the sum of its trees, their mean, or the exponential of the sum."""

Setting = str | int | float | bool | None


@runtime_checkable
class Regressor(Protocol):
    """What a regressor must offer: scikit-learn's ``fit`` and ``predict``."""

    def fit(self, X: Matrix, y: Vector) -> Any:
        """Learn distances from the features of pairs."""
        ...

    def predict(self, X: Matrix) -> Vector:
        """Distances of other pairs."""
        ...


@stored
@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear regression, with one coefficient for each feature."""

    coefficients: Vector
    intercept: float

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.coefficients)

    def predict(self, X: Matrix) -> Vector:
        """Distances of pairs: (pairs,)."""
        result: Vector = X @ self.coefficients + self.intercept
        return result

    def check_stored(self) -> None:
        """Check what was read from a file."""
        expect_shape(self.coefficients, (-1,), "coefficients")


@stored
@dataclass(frozen=True, eq=False)
class Forest:
    """Regression trees whose predictions are added up.

    Parameters
    ----------
    n_features : int
    single_precision : bool
        Whether features are rounded to single precision before they are compared.
    start : float
        Added to the sum of the trees.
    output : str
        One of `OUTPUTS`.
    roots : (trees,) array
        First node of each tree.
    feature : (nodes,) array
        Feature that a node compares; 0 in a leaf.
    threshold : (nodes,) array
        A pair goes to the first child of a node if its feature is at most this, otherwise to the second.
    children : (nodes, 2) array
        They come after their parent; those of a leaf are the leaf itself.
    value : (nodes,) array
        What a leaf predicts.

    Notes
    -----
    Trees are added in their order, as scikit-learn does. Predictions are those of scikit-learn to the bit, except that
    the last digits of a `GradientBoostingRegressor` may differ on processors that multiply and add in one step (ARM).
    """

    n_features: int
    single_precision: bool
    start: float
    output: str
    roots: Indices
    feature: Indices
    threshold: Vector
    children: Indices
    value: Vector

    def predict(self, X: Matrix) -> Vector:
        """Distances of pairs: (pairs,)."""
        cells = np.asarray(X, dtype=np.float32 if self.single_precision else float).ravel()
        first_cell = np.arange(len(X)) * self.n_features
        total = np.full(len(X), self.start)
        at_once = NODES_AT_ONCE // max(len(X), 1) + 1
        for start in range(0, len(self.roots), at_once):
            leaves = self._leaves(cells, first_cell, self.roots[start : start + at_once])
            # One tree after the other: the order decides the last digits.
            for values in self.value.take(leaves):
                total += values
        if self.output == "mean":
            total /= len(self.roots)
        return np.exp(total) if self.output == "exp" else total

    def _leaves(self, cells: Any, first_cell: Indices, roots: Indices) -> Indices:
        """Leaf that each pair ends in: (trees, pairs)."""
        nodes, children = np.repeat(roots[:, None], len(first_cell), axis=1), self.children.ravel()
        while self._is_inner.take(nodes).any():
            is_greater = cells.take(first_cell + self.feature.take(nodes)) > self.threshold.take(nodes)
            nodes = children.take(2 * nodes + is_greater)
        return nodes

    @cached_property
    def _is_inner(self) -> Mask:
        """Whether a node has children: (nodes,)."""
        is_inner: Mask = np.any(self.children != np.arange(len(self.children))[:, None], axis=1)
        return is_inner

    def to_stored(self) -> dict[str, Any]:
        """Fields as they are written, once they are known to be few enough to be read."""
        self._check_size()
        return vars(self)

    def check_stored(self) -> None:
        """Check what was read from a file: every way through a tree ends in a leaf, after not too many steps."""
        n_nodes = len(np.atleast_1d(self.feature))
        for array in (self.feature, self.threshold, self.value):
            expect_shape(array, (n_nodes,), "features, thresholds and values of nodes")
        expect_shape(self.children, (n_nodes, 2), "children of nodes")
        expect_shape(self.roots, (-1,), "roots of trees")
        expect(self.output in OUTPUTS, f"an output out of {', '.join(OUTPUTS)}")
        expect(len(self.roots) > 0, "trees")
        expect_range(self.feature, 0, self.n_features, "features")
        parents, children = np.flatnonzero(self._is_inner), self.children[self._is_inner]
        expect((children > parents[:, None]).all(), "children after their parents")
        reached = np.sort(np.concatenate([self.roots, children.ravel()]))
        expect(np.array_equal(reached, np.arange(n_nodes)), "trees in which one way leads to each node")
        self._check_size()

    def _check_size(self) -> None:
        """Raise a StorageError where there are too many nodes, or too many steps to the leaves."""
        n_levels, nodes = 0, self.roots
        while len(nodes) and n_levels * len(self.roots) <= MAX_STEPS:
            n_levels += 1
            nodes = self.children[nodes[self._is_inner[nodes]]].ravel()
        if n_levels * len(self.roots) > MAX_STEPS or len(self.feature) > MAX_TREE_NODES:
            raise StorageError(
                f"The regressor has {len(self.roots):,} trees with {len(self.feature):,} nodes on {n_levels:,} or more "
                f"levels, expected at most {MAX_TREE_NODES:,} nodes and {MAX_STEPS:,} trees x levels. Use fewer or "
                "smaller trees (max_depth, max_leaf_nodes), or a smaller max_pairs."
            )


@stored
@dataclass(frozen=True)
class Recipe:
    """An unfitted regressor: its class and the settings that differ from the defaults."""

    name: str
    settings: Mapping[str, Setting]

    def check_stored(self) -> None:
        """Raise a StorageError where the class or a setting is not known."""
        if self.name not in REGRESSORS:
            raise StorageError(f"The regressor {self.name[:MAX_TEXT]!r} is not one of {', '.join(REGRESSORS)}.")
        known = REGRESSORS[self.name]().get_params(deep=False)
        for key, value in self.settings.items():
            # NaN is not at most anything; a whole number may have thousands of digits.
            number = isinstance(value, int | float) and not abs(value) <= 2**53
            text = isinstance(value, str) and len(value) > MAX_TEXT
            if key not in known or number or text:
                raise StorageError(f"The regressor {self.name} has the setting {key[:MAX_TEXT]!r} in a way not known.")


def recipe_of(regressor: Any) -> Recipe:
    """Recipe of a regressor: its class and the settings that differ from the defaults.

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
    """Unfitted regressor of a recipe."""
    recipe.check_stored()
    return REGRESSORS[recipe.name](**recipe.settings)


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


def as_record(regressor: Any, features: Matrix) -> Any:
    """Record that predicts what a fitted regressor predicts, or else the regressor itself, which cannot be stored.

    Both must predict the same for ``features``, a (pairs, features) array. Histogram boosting has no public
    attribute with its trees: they are read from private ones, which are the same in scikit-learn 1.5 and 1.9. If they
    change, the regressor itself predicts, as one of another class does.
    """
    if type(regressor) not in _CONVERTERS:
        return regressor
    try:
        record = _CONVERTERS[type(regressor)](regressor)
        same = np.allclose(record.predict(features), regressor.predict(features), rtol=1e-9)
    except (AttributeError, LookupError, TypeError, ValueError):
        same = False
    return record if same else regressor


def _from_linear(regressor: Any) -> LinearModel:
    return LinearModel(np.array(regressor.coef_, dtype=float), float(regressor.intercept_))


def _from_forest(regressor: Any) -> Forest:
    nodes = [_nodes_of(tree.tree_) for tree in regressor.estimators_]
    return _join(nodes, regressor.n_features_in_, single_precision=True, output="mean")


def _from_boosting(regressor: Any) -> Forest:
    nodes = [_nodes_of(tree.tree_, regressor.learning_rate) for tree in regressor.estimators_[:, 0]]
    start = 0.0 if regressor.init == "zero" else np.asarray(regressor.init_.constant_).item()
    return _join(nodes, regressor.n_features_in_, single_precision=True, start=start)


def _from_histogram_boosting(regressor: Any) -> Forest:
    trees = [tree.nodes for (tree,) in regressor._predictors]
    if any(tree["is_categorical"].any() for tree in trees):
        raise ValueError("Splits by category have no threshold.")
    names = ("feature_idx", "num_threshold", "left", "right", "value")
    nodes = [tuple(tree[name] for name in names) for tree in trees]
    start = regressor._baseline_prediction.item()
    output = "exp" if regressor.loss in {"gamma", "poisson"} else "sum"
    return _join(nodes, regressor.n_features_in_, single_precision=False, start=start, output=output)


def _nodes_of(tree: Any, scale: float = 1.0) -> tuple[Any, ...]:
    return tree.feature, tree.threshold, tree.children_left, tree.children_right, scale * tree.value[:, 0, 0]


def _join(
    trees: list[Any], n_features: int, *, single_precision: bool, start: float = 0.0, output: str = "sum"
) -> Forest:
    """Forest of trees, each given by features, thresholds, left and right children (0 or less in a leaf) and values."""
    feature, threshold, left, right, value = (np.concatenate(arrays) for arrays in zip(*trees, strict=True))
    sizes = [len(tree[0]) for tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    is_leaf = left <= 0
    children = np.column_stack([left, right]) + np.repeat(roots, sizes)[:, None]
    children[is_leaf] = np.flatnonzero(is_leaf)[:, None]
    feature, threshold = np.where(is_leaf, 0, feature), np.where(is_leaf, 0.0, threshold)
    return Forest(n_features, single_precision, start, output, roots, feature, threshold, children, value)


_CONVERTERS: Mapping[type, Callable[[Any], LinearModel | Forest]] = MappingProxyType(
    {
        ExtraTreesRegressor: _from_forest,
        GradientBoostingRegressor: _from_boosting,
        HistGradientBoostingRegressor: _from_histogram_boosting,
        RandomForestRegressor: _from_forest,
        LinearRegression: _from_linear,
        Ridge: _from_linear,
    }
)

REGRESSORS: Mapping[str, Any] = MappingProxyType({cls.__name__: cls for cls in _CONVERTERS})
"""Regressors that can be stored. A name in a file must be one of these; nothing else is looked up by it."""
