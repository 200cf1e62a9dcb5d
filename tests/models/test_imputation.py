import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import KNNImputer

from gapdrift._random import draw_seed
from gapdrift.errors import ParameterError
from gapdrift.models.imputation import IMPUTERS, ChainedRegressions, ConstantFill, fit_imputers, impute

TABLE = np.array([[1.0, 10.0], [1.0, np.nan], [4.0, 40.0], [np.nan, 10.0]])


def test_the_pool_is_that_of_the_paper():
    assert tuple(IMPUTERS) == ("zero", "mean", "median", "most_frequent", "iterative")


@pytest.mark.parametrize(
    ("name", "filled"), [("zero", (0, 0)), ("mean", (2, 20)), ("median", (1, 10)), ("most_frequent", (1, 10))]
)
def test_simple_methods(name, filled, rng):
    (imputer,) = fit_imputers([name], TABLE, rng)
    result = impute(imputer, TABLE)
    assert (result[3, 0], result[1, 1]) == filled


def test_iterative_uses_the_other_columns(rng):
    first = rng.normal(size=(300, 1))
    values = np.hstack([first, 2 * first])
    (imputer,) = fit_imputers(["iterative"], values, rng)
    assert impute(imputer, np.array([[1.0, np.nan]]))[0, 1] == pytest.approx(2.0, abs=1e-3)


def test_a_row_does_not_depend_on_its_neighbours(rng):
    values = rng.normal(size=(200, 4))
    values[rng.random(values.shape) < 0.3] = np.nan
    for imputer in fit_imputers(None, values, rng):
        alone = np.vstack([impute(imputer, values[[row]]) for row in range(20)])
        np.testing.assert_allclose(impute(imputer, values)[:20], alone, atol=1e-12)


def test_other_imputers_are_cloned(rng):
    original = KNNImputer()
    (fitted,) = fit_imputers([original], TABLE, rng)
    assert fitted is not original
    assert not hasattr(original, "n_features_in_")


def test_wide_tables_use_few_neighbours(rng):
    (imputer,) = fit_imputers(["iterative"], rng.normal(size=(40, 31)), rng)
    assert imputer.neighbours.shape[1] == 30


def test_no_rows(rng):
    (imputer,) = fit_imputers(["mean"], TABLE, rng)
    assert impute(imputer, np.empty((0, 2))).shape == (0, 2)


class Lazy:
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize("imputers", [[], ["best"], [3]])
def test_bad_pools(imputers, rng):
    with pytest.raises(ParameterError, match="imputers"):
        fit_imputers(imputers, TABLE, rng)


def test_an_imputer_that_leaves_gaps_is_refused(rng):
    (imputer,) = fit_imputers([Lazy()], TABLE, rng)
    with pytest.raises(ParameterError, match="Lazy"):
        impute(imputer, TABLE)


@pytest.mark.parametrize("shape", [(200, 1), (300, 2), (200, 6), (80, 45)])
@pytest.mark.parametrize("name", list(IMPUTERS))
def test_plain_records_fill_like_scikit_learn(name, shape, rng):
    values = rng.normal(size=shape) @ rng.normal(size=(shape[1], shape[1]))
    values[rng.random(shape) < 0.3] = np.nan
    (ours,) = fit_imputers([name], values, np.random.default_rng(1))
    theirs = IMPUTERS[name](shape[1], draw_seed(np.random.default_rng(1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(values)
    fresh = rng.normal(size=(100, shape[1]))
    fresh[rng.random(fresh.shape) < 0.4] = np.nan
    fresh[0] = np.nan
    # scikit-learn takes a shortcut where every cell is missing: a row with values goes along.
    expected = theirs.transform(np.vstack([fresh, np.zeros(shape[1])]))[:-1]
    np.testing.assert_allclose(impute(ours, fresh), expected, rtol=1e-9, atol=1e-9)
    assert isinstance(ours, ChainedRegressions if name == "iterative" else ConstantFill)


def test_a_column_without_values_is_filled_with_zeros(rng):
    values = rng.normal(size=(50, 3))
    values[:, 1] = np.nan
    for imputer in fit_imputers(None, values, rng):
        assert np.array_equal(impute(imputer, values)[:, 1], np.zeros(50))
