import numpy as np
import pytest

from gapdrift.models.gaussian import FactorGaussian, expected_values, find_patterns, fit_gaussian
from gapdrift.models.hot_deck import EmpiricalResiduals, GaussianResiduals, complete_rows, fit_residuals


@pytest.fixture
def bent(rng):
    """Rows that no Gaussian describes, with a fifth of the cells missing."""
    values = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 5))
    values[:, 1] **= 2
    values /= values.std(axis=0)
    return np.where(rng.random(values.shape) < 0.2, np.nan, values)


def test_lost_products_are_those_of_the_completed_rows(bent, rng):
    model = fit_gaussian(bent)
    completed = complete_rows(model, bent, rng)
    directions = rng.normal(size=(5, 3))
    residuals = fit_residuals(model, completed, directions, rng)
    patterns = find_patterns(np.isnan(bent))
    lost = residuals.lost_products(patterns, directions)
    for missing, found in zip(patterns.missing, lost, strict=True):
        hidden = np.where(missing, np.nan, completed + model.mean)
        kept = expected_values(model, hidden) - model.mean
        expected = directions.T @ (completed.T @ completed - kept.T @ kept) @ directions / len(bent)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_scatter_is_what_the_model_misses_of_the_donors(bent, rng):
    model = fit_gaussian(bent)
    completed = complete_rows(model, bent, rng)
    residuals = fit_residuals(model, completed, np.eye(5), rng)
    donors = residuals.pulled @ np.linalg.inv(residuals.precision)
    patterns = find_patterns(np.isnan(bent))
    found = residuals.scatter(patterns, np.eye(5), np.eye(5))
    for missing, scatter in zip(patterns.missing, found, strict=True):
        hidden = np.where(missing, np.nan, donors + model.mean)
        np.testing.assert_allclose(scatter, donors + model.mean - expected_values(model, hidden), atol=1e-8)


def test_no_donor_is_a_row_or_shares_cells_with_one(bent, rng):
    model = fit_gaussian(bent)
    completed = complete_rows(model, bent, rng)
    residuals = fit_residuals(model, completed, np.eye(5), rng)
    donors = residuals.pulled @ np.linalg.inv(residuals.precision)
    shared = np.isclose(donors[:, None], completed[None], atol=1e-9)
    assert not shared.any()


def test_donors_have_the_covariance_of_the_completed_rows(bent, rng):
    """On average over 20 sets of 128 donors; all columns have a variance of about 1."""
    model = fit_gaussian(bent)
    completed = complete_rows(model, bent, rng)
    covariances = []
    for _ in range(20):
        residuals = fit_residuals(model, completed, np.eye(5), rng)
        covariances.append(np.cov((residuals.pulled @ np.linalg.inv(residuals.precision)).T))
    np.testing.assert_allclose(np.mean(covariances, axis=0), np.cov(completed.T), atol=0.15)


def test_levels_of_one_category_are_blended_together(rng):
    levels = np.eye(3)[rng.integers(3, size=300)]
    values = np.column_stack([levels, rng.normal(size=(300, 2))])
    model = fit_gaussian(values)
    completed = complete_rows(model, values, rng)
    residuals = fit_residuals(model, completed, np.eye(5), rng, np.array([0, 0, 0, 1, 2]))
    donors = residuals.pulled @ np.linalg.inv(residuals.precision) + model.mean
    np.testing.assert_allclose(donors[:, :3].sum(axis=1), 1.0, atol=1e-6)


def test_completion_keeps_observed_cells_and_spread(bent, rng):
    model = fit_gaussian(bent)
    completed = complete_rows(model, bent, rng) + model.mean
    seen = ~np.isnan(bent)
    np.testing.assert_allclose(completed[seen], bent[seen], atol=1e-12)
    # Conditional means alone have 0.68 of the deviation of the observed cells, and 0.23 of it in column 1.
    ratios = [completed[~known, j].std() / bent[known, j].std() for j, known in enumerate(seen.T)]
    np.testing.assert_allclose(ratios, 1.0, atol=0.15)


def test_nothing_missing_is_nothing_lost(rng):
    values = rng.normal(size=(100, 3))
    model = fit_gaussian(values)
    completed = complete_rows(model, values, rng)
    np.testing.assert_allclose(completed + model.mean, values)
    residuals = fit_residuals(model, completed, np.eye(3), rng)
    patterns = find_patterns(np.zeros((4, 3), dtype=bool))
    assert not residuals.lost_products(patterns, np.eye(3)).any()
    assert not residuals.scatter(patterns, np.eye(3), np.eye(3)).any()


def test_many_columns_use_the_model(rng):
    loadings = rng.normal(size=(40, 2))
    model = FactorGaussian(np.zeros(40), loadings, np.ones(40))
    values = rng.normal(size=(60, 2)) @ loadings.T + rng.normal(size=(60, 40))
    values[rng.random(values.shape) < 0.2] = np.nan
    completed = complete_rows(model, values, rng)
    assert np.isfinite(completed).all()
    directions = np.linalg.qr(rng.normal(size=(40, 4)))[0]
    residuals = fit_residuals(model, completed, directions, rng)
    assert isinstance(residuals, GaussianResiduals)
    patterns = find_patterns(np.isnan(values))
    lost = residuals.lost_products(patterns, directions)
    scatter = residuals.scatter(patterns, directions, np.eye(4))
    assert residuals.scatter(patterns, directions, rng.normal(size=(9, 4))).shape[2] == 9
    drawn = np.einsum("pni,pnj->pij", scatter, scatter) / scatter.shape[1]
    assert np.abs(drawn.mean(axis=0) - lost.mean(axis=0)).max() < 0.3 * np.abs(lost.mean(axis=0)).max()
    assert isinstance(fit_residuals(fit_gaussian(values[:, :3]), completed[:, :3], np.eye(3), rng), EmpiricalResiduals)
