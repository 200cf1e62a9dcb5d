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
    LinearPredictor,
    Recipe,
    Refit,
    TrainingPairs,
    TreeEnsemble,
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


WRITTEN = [
    LinearRegression(),
    Ridge(0.3, fit_intercept=False),
    GradientBoostingRegressor(n_estimators=20, random_state=0),
    GradientBoostingRegressor(n_estimators=5, init="zero", subsample=0.5, random_state=0),
    published_regressor().set_params(n_estimators=10),
    RandomForestRegressor(6, random_state=0),
    RandomForestRegressor(6, max_leaf_nodes=5, bootstrap=False, random_state=0),
    ExtraTreesRegressor(6, max_depth=1, random_state=0),
]


@pytest.mark.parametrize("regressor", WRITTEN, ids=lambda regressor: type(regressor).__name__)
def test_what_is_written_predicts_the_same_to_the_bit(regressor, features, distances, rng):
    regressor.fit(features, distances)
    stored = store(regressor, None, features.shape[1])
    assert isinstance(stored, LinearPredictor | TreeEnsemble)
    assert restore(stored, None) is stored
    assert store(stored, None, features.shape[1]) is stored
    fresh = draw_features(rng, 12_000)
    assert np.array_equal(stored.predict(fresh), regressor.predict(fresh))
    assert stored.predict(fresh[:0]).shape == (0,)
    with pytest.raises(NotImplementedError):
        stored.fit(features, distances)


def test_a_constant_makes_trees_of_one_leaf(features):
    regressor = RandomForestRegressor(3, random_state=0).fit(features, np.full(len(features), 2.5))
    assert store(regressor, None, features.shape[1]).predict(features[:2]).tolist() == [2.5, 2.5]


def test_what_predicts_otherwise_is_not_written(features, distances, monkeypatch):
    regressor = LinearRegression().fit(features, distances)
    monkeypatch.setattr(LinearPredictor, "predict", lambda self, X: X @ self.coefficients + np.nextafter(0.5, 1))
    with pytest.raises(StorageError, match="slightly different distances"):
        store(regressor, None, features.shape[1])


@pytest.mark.parametrize(
    "make", [default_regressor, lambda _: HistGradientBoostingRegressor(max_iter=5, random_state=3)]
)
def test_boosting_is_fitted_again(make, features, distances, rng):
    pairs = TrainingPairs.of(features, distances, N_IMPUTERS)
    regressor = make(rng).fit(features, distances)
    stored = store(regressor, pairs, features.shape[1])
    assert isinstance(stored, Refit)
    again = restore(stored, pairs)
    fresh = draw_features(rng, 2_000)
    assert np.array_equal(again.predict(fresh), regressor.predict(fresh))


def test_training_pairs_keep_the_features(features, distances):
    pairs = TrainingPairs.of(features, distances, N_IMPUTERS)
    assert np.array_equal(pairs.features(), features)
    assert pairs.packed_missing.shape == (len(features), 2)


def refit_of(settings):
    return Refit(Recipe("HistGradientBoostingRegressor", settings), "0" * 64, "1.0")


def test_pairs_and_regressor_belong_together(features, distances):
    pairs = TrainingPairs.of(features, distances, N_IMPUTERS)
    with pytest.raises(StorageError, match="training pairs"):
        restore(refit_of({}), None)
    with pytest.raises(StorageError, match="training pairs"):
        restore(LinearPredictor(np.ones(2), 0.0), pairs)


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
        restore(refit_of(settings), pairs)


def test_other_predictions_name_the_version(features, distances):
    with pytest.raises(StorageError, match=r"saved with scikit-learn 1\.0;"):
        restore(refit_of({"max_iter": 2}), TrainingPairs.of(features, distances, N_IMPUTERS))


def test_only_boosting_is_fitted_again(features, distances):
    pairs = TrainingPairs.of(features, distances, N_IMPUTERS)
    with pytest.raises(StorageError):
        restore(Refit(Recipe("RandomForestRegressor", {}), "", ""), pairs)


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
