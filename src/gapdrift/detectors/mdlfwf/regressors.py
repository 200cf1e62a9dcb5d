"""Regressors that distances are learned with, and how they are stored: without pickle or scikit-learn's private parts.

A regressor is stored by its settings and its training pairs. Loading fits it to the same pairs again, and a checksum of
its predictions shows whether the two fits are the same.
"""

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
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
from gapdrift._typing import Matrix, Vector
from gapdrift.errors import StorageError
from gapdrift.persistence.records import expect, expect_shape, stored
from gapdrift.tables.schema import MAX_COLUMNS

__all__ = [
    "REGRESSORS",
    "Recipe",
    "Regressor",
    "StoredRegressor",
    "TrainingPairs",
    "make_regressor",
    "recipe_of",
    "restore",
    "store",
]

_TREES = (ExtraTreesRegressor, GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor)

REGRESSORS: Mapping[str, Any] = MappingProxyType({cls.__name__: cls for cls in (*_TREES, LinearRegression, Ridge)})
"""Regressors that can be stored. A name in a file must be one of these; nothing else is looked up by it."""

MAX_TEXT = 100
"""Largest number of characters of a setting."""

MAX_WORK = 1_000_000_000
"""Largest trees x levels x pairs x features of a regressor: fitting it again takes about a minute."""

MAX_FEATURE_CELLS = 8_000_000
"""Largest pairs x features of a regressor: 64 MB."""

MAX_TREE_BYTES = 64 * 2**20
"""Largest memory of the trees that a fit makes, or of the histograms that it makes them with."""

BYTES_PER_HISTOGRAM = 256 * 24
"""Memory of the histogram of one feature in one leaf."""

BYTES_PER_LEAF = 150
"""Memory of a leaf of a tree, with its share of the nodes above."""

MAX_STEPS = 15_000
"""Steps after which scikit-learn's iterative solvers stop where no ``max_iter`` is given."""

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
    """An unfitted regressor: its class and the settings that differ from the defaults."""

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
@dataclass(frozen=True)
class StoredRegressor:
    """How to fit a regressor again, and how to tell that it has become the same.

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


def store(regressor: Any, pairs: TrainingPairs | None) -> StoredRegressor:
    """Form in which a fitted regressor is stored.

    Parameters
    ----------
    regressor : scikit-learn regressor
        Fitted on the pairs.
    pairs : TrainingPairs or None
        None means that they were too many to be kept, which is an error.
    """
    recipe = recipe_of(regressor)
    if pairs is None:
        raise StorageError(
            f"The regressor {recipe.name} was fitted on so many pairs that they were not kept, and it cannot be stored "
            "without them. Use a smaller max_pairs, such as 10000."
        )
    _check_effort(recipe, pairs)
    with limit_threads(None):
        return StoredRegressor(recipe, _digest(regressor, pairs), sklearn.__version__)


def restore(written: StoredRegressor, pairs: TrainingPairs | None) -> Regressor:
    """Regressor as it was when it was stored, fitted again.

    Parameters
    ----------
    written : StoredRegressor
        Checked for soundness, like the pairs.
    pairs : TrainingPairs or None
        None, in a file, is an error.
    """
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
    n_pairs, n_features = len(pairs.distances), pairs.n_indicators + pairs.imputed.shape[1]
    steps, n_bytes = _effort(recipe, n_pairs, n_features)
    cells = n_pairs * n_features
    if cells > MAX_FEATURE_CELLS or steps * cells > MAX_WORK or n_bytes > MAX_TREE_BYTES:
        raise StorageError(
            f"The regressor {recipe.name}, learned from {n_pairs:,} pairs with {n_features:,} features, is too large "
            "to be stored: it has to be fitted again when it is loaded. Use fewer trees, a smaller max_depth or "
            "max_leaf_nodes, a smaller max_pairs, or fewer columns."
        )


def _effort(recipe: Recipe, n_pairs: int, n_features: int) -> tuple[int, int]:
    """How often a fit goes over all its cells at worst, and the bytes of its trees."""
    if recipe.name in {"LinearRegression", "Ridge"}:
        direct = recipe.settings.get("solver", "auto") in {"auto", "cholesky", "svd"}
        iterative = not direct or recipe.settings.get("positive", False)
        return (_whole(recipe, "max_iter", MAX_STEPS) if iterative else n_features), 0
    if recipe.name == "HistGradientBoostingRegressor":
        n_leaves = min(_whole(recipe, "max_leaf_nodes", n_pairs), n_pairs)
        return _whole(recipe, "max_iter", MAX_STEPS), n_leaves * n_features * BYTES_PER_HISTOGRAM
    if recipe.settings.get("criterion") == "absolute_error":
        raise StorageError(f"The regressor {recipe.name} has criterion='absolute_error', too slow to be fitted again.")
    # A tree without limits may split off one pair at each level.
    n_levels = min(_whole(recipe, "max_depth", n_pairs), _whole(recipe, "max_leaf_nodes", n_pairs), n_pairs)
    n_leaves = min(_whole(recipe, "max_leaf_nodes", n_pairs), n_pairs, 2 ** min(n_levels, 30))
    n_trees = _whole(recipe, "n_estimators", MAX_STEPS)
    return n_trees * n_levels, n_trees * n_leaves * BYTES_PER_LEAF


def _whole(recipe: Recipe, name: str, unlimited: int) -> int:
    """Setting that is a positive whole number, or ``unlimited`` where it is None."""
    value = (REGRESSORS[recipe.name]().get_params(deep=False) | recipe.settings)[name]
    if value is None:
        return unlimited
    if type(value) is not int or not 0 < value <= 10**9:
        raise StorageError(f"The regressor {recipe.name} has the setting {name!r} in a way not known.")
    return value


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
