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
from gapdrift.detectors.mdlfwf.regressors import Forest, LinearModel, Recipe, as_record, make_regressor, recipe_of
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
    return features @ rng.random(features.shape[1]) + rng.exponential(0.1, len(features))


STORED = [
    LinearRegression(),
    Ridge(0.3, fit_intercept=False),
    GradientBoostingRegressor(n_estimators=20, random_state=0),
    GradientBoostingRegressor(n_estimators=5, init="zero", subsample=0.5, random_state=0),
    published_regressor().set_params(n_estimators=10),
    GradientBoostingRegressor(n_estimators=50, n_iter_no_change=2, tol=0.05, ccp_alpha=1e-3, random_state=0),
    RandomForestRegressor(6, random_state=0),
    RandomForestRegressor(6, max_leaf_nodes=5, bootstrap=False, random_state=0),
    ExtraTreesRegressor(6, max_depth=1, random_state=0),
    default_regressor(np.random.default_rng(0)),
    HistGradientBoostingRegressor(max_iter=5, random_state=3),
    HistGradientBoostingRegressor(max_iter=5, loss="gamma", max_leaf_nodes=None, random_state=3),
    HistGradientBoostingRegressor(max_iter=50, early_stopping=True, n_iter_no_change=1, tol=0.1, random_state=3),
]


@pytest.mark.parametrize("regressor", STORED, ids=lambda regressor: type(regressor).__name__)
def test_records_predict_the_same_to_the_bit(regressor, features, distances, rng):
    record = as_record(regressor.fit(features, distances), features)
    assert isinstance(record, Forest | LinearModel)
    assert record.n_features == features.shape[1]
    record.check_stored()
    fresh = draw_features(rng, 2_000)
    for rows in (fresh, fresh * 1e30, fresh[:1], np.asfortranarray(fresh), features):
        assert np.array_equal(record.predict(rows), regressor.predict(rows))
    assert record.predict(fresh[:0]).shape == (0,)


@pytest.mark.parametrize(
    "regressor", [published_regressor().set_params(n_estimators=5), default_regressor(np.random.default_rng(0))]
)
def test_pairs_at_a_threshold_go_the_same_way(regressor, features, distances, rng):
    """At a threshold, and one digit of either precision beside it."""
    record = as_record(regressor.fit(features, distances), features)
    for feature, threshold in zip(record.feature, record.threshold, strict=True):
        single = np.float32(threshold)
        rows = draw_features(rng, 7)
        beside = [np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf)]
        rows[:, feature] = [threshold, np.nextafter(threshold, -1), np.nextafter(threshold, 1e9), single, *beside, 0.0]
        assert np.array_equal(record.predict(rows), regressor.predict(rows))


def test_a_tree_by_hand():
    two_leaves = {"roots": [0], "feature": [1, 0, 0], "children": [[1, 2], [1, 1], [2, 2]]}
    forest = make_forest(**two_leaves, threshold=[0.5, 0, 0], value=[9, 1, 2], start=10.0)
    assert forest.predict(np.array([[7.0, 0.5], [7.0, 0.6]])).tolist() == [11.0, 12.0]


def make_forest(*, output="sum", start=0.0, n_features=2, **arrays):
    whole = {name: np.array(arrays[name], dtype=np.intp) for name in ("roots", "feature", "children")}
    real = {name: np.array(arrays[name], dtype=float) for name in ("threshold", "value")}
    return Forest(n_features, False, start, output, **whole, **real)


@pytest.mark.parametrize(
    "change",
    [
        lambda regressor: vars(regressor).pop("_predictors"),
        lambda regressor: setattr(regressor, "_baseline_prediction", np.zeros(3)),
        lambda regressor: setattr(regressor, "_predictors", [[tree, tree] for (tree,) in regressor._predictors]),
        lambda regressor: setattr(regressor._predictors[0][0], "nodes", regressor._predictors[0][0].nodes[["value"]]),
        lambda regressor: setattr(regressor, "loss", "gamma"),
    ],
)
def test_trees_kept_in_another_way_are_not_read(change, features, distances, monkeypatch):
    """What a later scikit-learn might do: it goes on predicting itself."""
    regressor = HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(features, distances)
    answer = regressor.predict(features)
    change(regressor)
    monkeypatch.setattr(HistGradientBoostingRegressor, "predict", lambda _, X: answer[: len(X)])
    assert as_record(regressor, features) is regressor


@pytest.mark.parametrize(
    "regressor",
    [
        ElasticNet(),
        GradientBoostingRegressor(n_estimators=2, init=LinearRegression()),
        HistGradientBoostingRegressor(max_iter=3, categorical_features=list(range(N_GAPS))),
    ],
)
def test_regressors_that_have_no_record(regressor, features, distances):
    assert as_record(regressor.fit(features, distances), features) is regressor


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
    [ElasticNet(), Ridge2(), Ridge, None, Ridge(np.ones(2)), Ridge(float("nan"))],
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
        Recipe("Ridge", {"alpha": 10**400}),
        Recipe("Ridge", {"alpha": float("nan")}),
    ],
)
def test_recipes_that_were_made_up(recipe):
    with pytest.raises(StorageError):
        make_regressor(recipe)
