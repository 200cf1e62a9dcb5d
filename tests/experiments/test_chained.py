import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.linear_model import BayesianRidge

import gapdrift as gd
from experiments.chained import _bayesian_ridge, fit_chained
from experiments.distributions import DRIFTS
from experiments.protocols import PROTOCOLS
from experiments.scripted import draw_scripted


@pytest.mark.parametrize("kind", DRIFTS)
@pytest.mark.parametrize("severity", [0, 10])
@pytest.mark.parametrize("incomplete_only", [False, True])
def test_rows_are_filled_as_by_scikit_learn(kind, severity, incomplete_only):
    gaps = draw_scripted(kind, severity, 3, 500, PROTOCOLS["published"]).with_missing
    if incomplete_only:
        gaps = gaps[np.isnan(gaps).any(axis=1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = IterativeImputer(max_iter=10, random_state=0).fit_transform(gaps)
    np.testing.assert_allclose(fit_chained(gaps).transform(gaps), theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.1, 10.0])
def test_bayesian_ridge(noise):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 5)) * [1, 1, 10, 1, 0.1] + 3.0
    target = rows @ [1.0, 0.0, -2.0, 0.5, 0.0] + noise * rng.normal(size=200)
    theirs = BayesianRidge().fit(rows, target)
    coefficients, intercept = _bayesian_ridge(rows, target)
    np.testing.assert_allclose(coefficients, theirs.coef_, rtol=1e-6, atol=1e-8)
    assert intercept == pytest.approx(theirs.intercept_, rel=1e-6, abs=1e-6)


def test_many_columns_of_real_sizes():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(1_000, 30)) @ rng.normal(size=(30, 30))
    gaps = gd.datasets.hide_mcar(rows, [0.2] * 6 + [0.0] * 24, rng, exact=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = IterativeImputer(max_iter=10, random_state=0).fit_transform(gaps)
    np.testing.assert_allclose(fit_chained(gaps).transform(gaps), theirs, rtol=1e-5, atol=1e-6)


def test_rows_without_gaps_stay():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_array_equal(fit_chained(rows).transform(rows), rows)
