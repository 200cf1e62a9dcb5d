"""Regressors that distances are learned with, as plain records: without pickle, and without scikit-learn to predict.

A fitted regressor is taken over as the numbers that it consists of: the coefficients of a linear model, the nodes of
trees. The record predicts from then on and is what is stored, so that saving and loading cannot change a prediction.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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

from gapdrift._typing import Matrix, Vector
from gapdrift.errors import StorageError
from gapdrift.models.forest import Forest, from_histogram_boosting, join_trees
from gapdrift.persistence.records import expect_shape, stored

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
    return join_trees(nodes, regressor.n_features_in_, single_precision=True, output="mean")


def _from_boosting(regressor: Any) -> Forest:
    nodes = [_nodes_of(tree.tree_, regressor.learning_rate) for tree in regressor.estimators_[:, 0]]
    start = 0.0 if regressor.init == "zero" else np.asarray(regressor.init_.constant_).item()
    return join_trees(nodes, regressor.n_features_in_, single_precision=True, start=start)


def _nodes_of(tree: Any, scale: float = 1.0) -> tuple[Any, ...]:
    return tree.feature, tree.threshold, tree.children_left, tree.children_right, scale * tree.value[:, 0, 0]


_CONVERTERS: Mapping[type, Callable[[Any], LinearModel | Forest]] = MappingProxyType(
    {
        ExtraTreesRegressor: _from_forest,
        GradientBoostingRegressor: _from_boosting,
        HistGradientBoostingRegressor: from_histogram_boosting,
        RandomForestRegressor: _from_forest,
        LinearRegression: _from_linear,
        Ridge: _from_linear,
    }
)

REGRESSORS: Mapping[str, Any] = MappingProxyType({cls.__name__: cls for cls in _CONVERTERS})
"""Regressors that can be stored. A name in a file must be one of these; nothing else is looked up by it."""
