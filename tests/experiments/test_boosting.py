import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

from experiments.boosting import fit_huber_boosting


def like_scikit_learn(rows, target, n_trees):
    model = GradientBoostingRegressor(
        loss="huber", n_estimators=n_trees, learning_rate=0.05, max_depth=4, random_state=0
    )
    return model.fit(rows, target)


def test_is_scikit_learns_model():
    """Of many rows and few outliers no two splits are equally good."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3_000, 5))
    rows[:, 3] = rows[:, 3] > 0
    rows[:, 4] = 7.0
    target = np.abs(rows[:, 0] - rows[:, 1]) + rows[:, 3] * rng.uniform(size=3_000)
    found, expected = fit_huber_boosting(rows, target, 20), like_scikit_learn(rows, target, 20)
    fresh = rng.normal(size=(500, 5))
    np.testing.assert_allclose(found.predict(fresh), expected.predict(fresh), rtol=1e-10)
    np.testing.assert_allclose(found.feature_importances_, expected.feature_importances_, atol=1e-10)


def test_ties_change_the_model_little():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 4, size=(300, 3)).astype(float)
    target = rows @ [1.0, 2.0, 0.0] + rng.standard_t(2, size=300)
    found, expected = fit_huber_boosting(rows, target, 60), like_scikit_learn(rows, target, 60)
    losses = [np.abs(target - model.predict(rows)).mean() for model in (found, expected)]
    np.testing.assert_allclose(*losses, rtol=0.01)


def test_rows_that_do_not_differ_are_not_divided():
    model = fit_huber_boosting(np.ones((30, 2)), np.arange(30.0), 3)
    assert len(np.unique(model.predict(np.array([[1.0, 1.0], [5.0, -5.0]])))) == 1
    np.testing.assert_array_equal(model.feature_importances_, 0.0)
    constant = fit_huber_boosting(np.arange(30.0)[:, None], np.full(30, 2.5), 3)
    np.testing.assert_array_equal(constant.predict(np.array([[0.0], [99.0]])), 2.5)
