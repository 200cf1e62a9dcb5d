import numpy as np
import pytest

from gapdrift.models.gaussian import DensePrecision, FactorGaussian, fit_gaussian, precision_of
from gapdrift.models.hot_deck import complete_rows, make_donors


@pytest.fixture
def bent(rng):
    """Rows that no Gaussian describes, with a fifth of the cells missing."""
    values = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 5))
    values[:, 1] **= 2
    values /= values.std(axis=0)
    return np.where(rng.random(values.shape) < 0.2, np.nan, values)


def completed_of(values, rng):
    model = fit_gaussian(values)
    precision = precision_of(model)
    return precision, complete_rows(precision, values - model.mean, rng)


def test_no_donor_is_a_row_or_shares_cells_with_one(bent, rng):
    precision, completed = completed_of(bent, rng)
    donors = make_donors(precision, completed, np.arange(5), 128, rng)
    shared = np.isclose(donors[:, None], completed[None], atol=1e-9)
    assert not shared.any()


@pytest.mark.parametrize("n_donors", [200, 2_000])
def test_donors_have_the_moments_of_the_rows(n_donors, rng):
    values = rng.normal(size=(4_000, 4)) @ rng.normal(size=(4, 4))
    values[:, 1] **= 2
    values[rng.random(values.shape) < 0.2] = np.nan
    precision, completed = completed_of(values, rng)
    donors = make_donors(precision, completed, np.arange(4), n_donors, rng)
    moments, found = completed.T @ completed / 4_000, donors.T @ donors / n_donors
    scale = np.sqrt(np.outer(np.diag(moments), np.diag(moments)))
    # Many are matched exactly; of few, an entry errs by the fourth root of a heavy-tailed chance, here at most a third.
    assert np.abs((found - moments) / scale).max() < (1e-9 if n_donors >= 1_024 else 0.35)


def test_there_are_as_many_donors_as_asked_for_but_no_more_than_rows(rng):
    values = rng.normal(size=(3_000, 3)) * [3.0, 1.0, 1.0]
    precision, completed = completed_of(values, rng)
    donors = make_donors(precision, completed, np.arange(3), 1_000, rng)
    assert len(donors) == 1_000
    assert len(make_donors(precision, completed[:50], np.arange(3), 1_000, rng)) == 50


def test_columns_of_one_category_are_blended_together(rng):
    categories = np.eye(3)[rng.integers(3, size=300)]
    values = np.column_stack([categories, rng.normal(size=(300, 2))])
    model = fit_gaussian(values)
    precision = precision_of(model)
    completed = complete_rows(precision, values - model.mean, rng)
    donors = make_donors(precision, completed, np.array([0, 0, 0, 1, 2]), 128, rng) + model.mean
    np.testing.assert_allclose(donors[:, :3].sum(axis=1), 1.0, atol=1e-6)


def test_completion_keeps_observed_cells_and_spread(bent, rng):
    model = fit_gaussian(bent)
    completed = complete_rows(precision_of(model), bent - model.mean, rng) + model.mean
    seen = ~np.isnan(bent)
    np.testing.assert_allclose(completed[seen], bent[seen], atol=1e-12)
    hidden = completed[:, 2][~seen[:, 2]]
    assert hidden.std() == pytest.approx(bent[seen[:, 2], 2].std(), rel=0.25)


@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_completed_rows_vary_as_much_as_observed_ones_whatever_is_missing(rate, rng):
    """20,000 rows; five standard deviations of a variance of 2,000 are 0.16. Nine tenths missing once gave 0.4."""
    values = rng.normal(size=(20_000, 3))
    values[:, 1] = np.abs(values[:, 0]) + 0.5 * values[:, 1]
    values /= values.std(axis=0)
    _, completed = completed_of(np.where(rng.random(values.shape) < rate, np.nan, values), rng)
    assert completed.var(axis=0) == pytest.approx(np.ones(3), abs=0.16)


@pytest.mark.parametrize("kind", ["dense", "factors"])
def test_drawn_rows_have_the_covariance_of_the_model(kind, rng):
    loadings = rng.normal(size=(4, 2))
    model = FactorGaussian(np.zeros(4), loadings, np.ones(4))
    precision = precision_of(model) if kind == "factors" else DensePrecision(np.linalg.inv(model.covariance))
    drawn = precision.draw(40_000, rng)
    variances = np.diag(model.covariance)
    error = (np.cov(drawn.T) - model.covariance) / np.sqrt(np.outer(variances, variances))
    assert np.abs(error).max() < 5 * np.sqrt(2 / 40_000)


def test_nothing_missing_is_nothing_changed(rng):
    values = rng.normal(size=(100, 3))
    np.testing.assert_array_equal(complete_rows(precision_of(fit_gaussian(values)), values, rng), values)


def test_factors_complete_rows_as_a_full_covariance_does(rng):
    loadings = rng.normal(size=(12, 2))
    factor = FactorGaussian(np.zeros(12), loadings, np.ones(12))
    values = rng.normal(size=(3_000, 2)) @ loadings.T + rng.normal(size=(3_000, 12))
    hidden = np.where(rng.random(values.shape) < 0.3, np.nan, values)
    completed = complete_rows(precision_of(factor), hidden, rng)
    moments = completed.T @ completed / 3_000
    # A covariance of 3,000 rows errs by sqrt(2 / 3,000) of the variances, five times that at most.
    variances = np.diag(factor.covariance)
    assert np.abs((moments - factor.covariance) / np.sqrt(np.outer(variances, variances))).max() < 0.13
