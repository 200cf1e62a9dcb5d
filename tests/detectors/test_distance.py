import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from experiments.distributions import DISTRIBUTIONS
from experiments.learning import distances_between
from gapdrift.datasets import hide_mcar
from gapdrift.detectors.mdlfwf.distance import (
    ImputedDistance,
    _draw_pairs,
    _training_features,
    _validation_error,
    learn_distance,
    training_rates,
)
from gapdrift.errors import ParameterError
from gapdrift.models.imputation import fit_imputers, impute
from gapdrift.tables.encoding import encode
from gapdrift.tables.schema import learn_schema
from tests import naive


def learn(values, rates, imputers, **settings):
    defaults = {"regressor": None, "n_splits": 5, "max_pairs": 3_000, "centres": None}
    owner = np.arange(values.shape[1])
    rng = np.random.default_rng(1)
    return learn_distance(values, rates, owner, imputers, **(defaults | settings), rng=rng)


@pytest.fixture
def rows(rng):
    return rng.normal(size=(120, 3))


@pytest.fixture
def imputers(rows, rng):
    return fit_imputers(None, hide_mcar(rows, 0.2, rng), rng)


def test_training_features_equal_the_algorithm(rows, imputers, rng):
    hidden = rng.random(rows.shape) < 0.4
    filled = [impute(imputer, np.where(hidden, np.nan, rows)) for imputer in imputers]
    first, second = np.arange(0, 60), np.arange(60, 120)
    fast = _training_features(rows, hidden, np.arange(3), imputers, first, second, None)
    slow = [
        naive.pair_features(hidden[i], hidden[j], [table[i] for table in filled], [table[j] for table in filled])
        for i, j in zip(first, second, strict=True)
    ]
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


def test_all_pairs_with_a_gap_are_taken():
    hidden = np.zeros((5, 2), dtype=bool)
    hidden[0, 0] = True
    first, second = _draw_pairs(hidden, None, None, np.random.default_rng(0))
    assert sorted(zip(first, second, strict=True)) == [(0, 1), (0, 2), (0, 3), (0, 4)]


def test_pairs_are_sampled_above_the_cap():
    hidden = np.ones((100, 2), dtype=bool)
    first, second = _draw_pairs(hidden, None, 50, np.random.default_rng(0))
    assert len(first) == len(set(zip(first, second, strict=True))) == 50
    assert (first < second).all()


def test_validation_error_shares_no_row():
    """A regressor that remembers every row it saw would be perfect on pairs that share one."""
    seen = []

    class Memory:
        def fit(self, features, distances):
            self.known = set(features.ravel().tolist())
            return self

        def predict(self, features):
            assert not self.known & set(features.ravel().tolist())
            seen.append(len(features))
            return np.zeros(len(features))

        def get_params(self, deep=False):
            return {}

    first, second = np.triu_indices(20, k=1)
    features = np.column_stack([first, second]).astype(float)
    fold = np.arange(20) % 4
    distances = np.ones(len(first))
    error = _validation_error(Memory(), features, distances, (fold[first], fold[second]), 4)
    assert len(seen) == 4
    assert error == pytest.approx(naive.residual_error([1.0] * sum(seen), [0.0] * sum(seen)))


def test_too_few_pairs_to_validate(rows, imputers):
    with pytest.raises(ParameterError, match="validation pairs"):
        learn(rows[:6], np.full(3, 0.3), imputers, n_splits=6)


@pytest.mark.parametrize("centres", [None, np.zeros((4, 3)) + np.arange(4)[:, None]])
def test_learned_on_rows_or_centres(centres, rows, imputers):
    model = learn(rows, np.full(3, 0.3), imputers, centres=centres)
    gaps = hide_mcar(rows, 0.3, 5)
    distances = model.to_centres(gaps, np.isnan(gaps), rows[:7])
    truth = np.linalg.norm(rows[:, None] - rows[None, :7], axis=2)
    assert distances.shape == truth.shape
    assert np.sqrt(np.mean((distances - truth) ** 2)) < 0.75 * truth.std()
    assert 0.0 < model.error < truth.std()


@pytest.mark.parametrize("regressor", [None, GradientBoostingRegressor(n_estimators=5), LinearRegression()])
def test_importances_are_shares(regressor, rows, imputers):
    model = learn(rows, np.full(3, 0.3), imputers, regressor=regressor)
    assert model.importances.shape == (2 * 3 + 5,)
    assert model.importances.sum() == pytest.approx(1.0)
    assert model.importances[6:].sum() > 0.5


def test_levels_of_a_category_are_hidden_together(rng, monkeypatch):
    import pandas as pd

    table = pd.DataFrame({"colour": rng.choice(list("abc"), 200), "size": rng.normal(size=200)})
    schema = learn_schema(table)
    values = encode(table, schema).values
    imputers = fit_imputers(None, values, rng)
    seen = []

    def spy(imputer, rows):
        seen.append(np.isnan(rows))
        return impute(imputer, rows)

    monkeypatch.setattr("gapdrift.detectors.mdlfwf.distance.impute", spy)
    model = learn_distance(
        values,
        np.array([0.5, 0.0]),
        schema.owner,
        imputers,
        regressor=None,
        n_splits=5,
        max_pairs=2_000,
        centres=None,
        rng=rng,
    )
    assert model.importances.shape == (2 * 2 + 5,)
    levels = seen[0][:, schema.owner == 0]
    np.testing.assert_array_equal(levels.all(axis=1), levels.any(axis=1))
    assert 0.3 < levels.any(axis=1).mean() < 0.7


def test_predictions_do_not_depend_on_the_chunk(rows, imputers, monkeypatch):
    model = learn(rows, np.full(3, 0.3), imputers)
    gaps = hide_mcar(rows, 0.3, 5)
    whole = model.to_centres(gaps, np.isnan(gaps), rows[:7])
    monkeypatch.setattr("gapdrift.detectors.mdlfwf.distance.CHUNK_PAIRS", 20)
    np.testing.assert_array_equal(model.to_centres(gaps, np.isnan(gaps), rows[:7]), whole)


def test_imputed_distance_is_plain(rows, imputers):
    model = ImputedDistance(imputers[1])
    gaps = hide_mcar(rows, 0.3, 5)
    expected = np.linalg.norm(impute(imputers[1], gaps)[:, None] - rows[None, :4], axis=2)
    np.testing.assert_allclose(model.to_centres(gaps, np.isnan(gaps), rows[:4]), expected)
    assert model.error == 0.0


@pytest.mark.parametrize("rates", [[0.0, 0.0, 0.0], [0.001, 0.0, 0.002], [0.0, 0.0, 1e-9]])
def test_low_rates_are_raised_in_proportion(rates):
    rates = np.array(rates)
    raised = training_rates(rates)
    assert 1 - np.prod(1 - raised) == pytest.approx(0.2)
    if rates.any():
        np.testing.assert_allclose(raised / raised.max(), rates / rates.max())


@pytest.mark.parametrize("name", ["uniform", "gaussian", "poisson", "categorical"])
def test_beats_each_imputer(name):
    """Experiment 1, 20 % missing: RMSE over all pairs, mean of two sets the defaults were not chosen on."""
    errors = np.mean([experiment_1(name, seed) for seed in (500, 501)], axis=0)
    assert (errors[0] < errors[1:]).all(), errors


def experiment_1(name, seed):
    """RMSE of MDL, then of its five imputers."""
    rng = np.random.default_rng(seed)
    distribution = DISTRIBUTIONS[name]
    values = distribution.draw(500, rng)
    rates = np.zeros(values.shape[1])
    rates[list(distribution.missing_columns)] = 0.2
    gaps = hide_mcar(values, rates, rng, exact=True)
    missing = np.isnan(gaps)
    imputers = fit_imputers(None, gaps, rng)
    model = learn(gaps[~missing.any(axis=1)], rates, imputers, max_pairs=10_000)
    first, second = np.triu_indices(500, k=1)
    truth = np.linalg.norm(values[first] - values[second], axis=1)
    filled = [impute(imputer, gaps) for imputer in imputers]
    guesses = [np.linalg.norm(table[first] - table[second], axis=1) for table in filled]
    guesses.insert(0, distances_between(model, gaps, missing, first, second))
    return [np.sqrt(np.mean((guess - truth) ** 2)) for guess in guesses]
