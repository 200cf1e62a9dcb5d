import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import ElasticNet, LinearRegression, Ridge

from gapdrift.detectors.mdlfwf.distance import default_regressor, published_regressor
from gapdrift.detectors.mdlfwf.regressors import (
    Recipe,
    StoredRegressor,
    TrainingPairs,
    make_regressor,
    recipe_of,
    restore,
    store,
)
from gapdrift.errors import StorageError

N_GAPS, N_IMPUTERS = 11, 3


def draw_features(rng, n_pairs):
    gaps = rng.random((n_pairs, N_GAPS)) < 0.3
    return np.column_stack([gaps, rng.exponential(size=(n_pairs, N_IMPUTERS))]).astype(float)


@pytest.fixture
def features(rng):
    return draw_features(rng, 800)


@pytest.fixture
def distances(features, rng):
    return features @ rng.random(features.shape[1]) + rng.normal(0, 0.1, len(features))


STORED = [
    LinearRegression(),
    Ridge(0.3, fit_intercept=False),
    GradientBoostingRegressor(n_estimators=20, random_state=0),
    GradientBoostingRegressor(n_estimators=5, init="zero", subsample=0.5, random_state=0),
    published_regressor().set_params(n_estimators=10),
    RandomForestRegressor(6, random_state=0),
    RandomForestRegressor(6, max_leaf_nodes=5, bootstrap=False, random_state=0),
    ExtraTreesRegressor(6, max_depth=1, random_state=0),
    default_regressor(np.random.default_rng(0)),
    HistGradientBoostingRegressor(max_iter=5, random_state=3),
]


@pytest.mark.parametrize("regressor", STORED, ids=lambda regressor: type(regressor).__name__)
def test_what_is_fitted_again_predicts_the_same_to_the_bit(regressor, features, distances, rng):
    pairs = TrainingPairs.of(features, distances, N_IMPUTERS)
    regressor.fit(features, distances)
    again = restore(store(regressor, pairs), pairs)
    assert type(again) is type(regressor)
    assert store(again, pairs) == store(regressor, pairs)
    fresh = draw_features(rng, 2_000)
    assert np.array_equal(again.predict(fresh), regressor.predict(fresh))


def test_a_regressor_without_its_pairs_is_not_stored(features, distances):
    with pytest.raises(StorageError, match="max_pairs"):
        store(LinearRegression().fit(features, distances), None)


def test_training_pairs_keep_the_features(features, distances):
    pairs = TrainingPairs.of(features, distances, N_IMPUTERS)
    assert np.array_equal(pairs.features(), features)
    assert pairs.packed_missing.shape == (len(features), 2)


def stored_with(settings, name="HistGradientBoostingRegressor"):
    return StoredRegressor(Recipe(name, settings), "0" * 64, "1.0")


def test_pairs_and_regressor_belong_together():
    with pytest.raises(StorageError, match="training pairs"):
        restore(stored_with({}), None)


@pytest.mark.parametrize(
    "settings",
    [
        {"max_iter": 10**9},
        {"max_iter": -1},
        {"max_iter": 2.5},
        {"max_iter": True},
        {"max_leaf_nodes": 0},
        {"loss": "best"},
        {"loss": "poisson"},
        {"random_state": -1},
        {"learning_rate": -1.0},
        {"scoring": "nothing", "early_stopping": True},
        {"max_bins": 10**6},
        {"absent": 1},
        {"categorical_features": "x"},
        {"verbose": "loud"},
    ],
)
def test_settings_that_were_made_up(settings, features, distances):
    pairs = TrainingPairs.of(features, -distances, N_IMPUTERS)
    with pytest.raises(StorageError):
        restore(stored_with(settings), pairs)


def test_other_predictions_name_the_version(features, distances):
    with pytest.raises(StorageError, match=r"saved with scikit-learn 1\.0;"):
        restore(stored_with({"max_iter": 2}), TrainingPairs.of(features, distances, N_IMPUTERS))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("HistGradientBoostingRegressor", {"max_iter": 10**8}),
        ("GradientBoostingRegressor", {"n_estimators": 100_000}),
        ("GradientBoostingRegressor", {"n_estimators": 10_000, "max_depth": None}),
        ("RandomForestRegressor", {"n_estimators": 1_000}),
        ("ExtraTreesRegressor", {"n_estimators": 10_000, "max_leaf_nodes": 100}),
        ("RandomForestRegressor", {"criterion": "absolute_error"}),
        ("RandomForestRegressor", {"max_depth": 2.5}),
        ("Ridge", {"solver": "sag", "max_iter": 10**6, "tol": 0.0}),
        ("Ridge", {"positive": True, "max_iter": 10**6}),
    ],
)
def test_what_takes_too_long_is_not_fitted_again(name, settings, features, distances, monkeypatch):
    pairs = TrainingPairs.of(features, distances, N_IMPUTERS)
    monkeypatch.setattr(f"gapdrift.detectors.mdlfwf.regressors.{name}.fit", None)
    with pytest.raises(StorageError, match=r"too (large|slow)|not known"):
        restore(stored_with(settings, name), pairs)


def test_recipes_hold_what_differs_from_the_defaults():
    assert recipe_of(RandomForestRegressor()).settings == {}
    for regressor in (
        published_regressor(),
        RandomForestRegressor(np.int64(7), max_features=0.5),
        Ridge(random_state=3),
    ):
        again = make_regressor(recipe_of(regressor))
        assert type(again) is type(regressor)
        assert again.get_params() == regressor.get_params()


class Ridge2(Ridge):
    pass


Ridge2.__name__ = "Ridge"


@pytest.mark.parametrize(
    "regressor",
    [ElasticNet(), Ridge2(), Ridge, None, RandomForestRegressor(n_jobs=-1), Ridge(np.ones(2)), Ridge(float("nan"))],
)
def test_regressors_without_a_recipe(regressor):
    with pytest.raises(StorageError):
        recipe_of(regressor)


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe("eval", {}),
        Recipe("Ridge", {"x": 1}),
        Recipe("Ridge", {"alpha": float("inf")}),
        Recipe("Ridge", {"solver": "x" * 1_000}),
        Recipe("RandomForestRegressor", {"n_jobs": 4}),
        Recipe("Ridge", {"alpha": 10**400}),
        Recipe("Ridge", {"alpha": float("nan")}),
    ],
)
def test_recipes_that_were_made_up(recipe):
    with pytest.raises(StorageError):
        make_regressor(recipe)
