"""The normal distribution of the experiments against slow, obvious versions of its formulas."""

import numpy as np
import pytest

from experiments import gaussian
from experiments.gaussian import Gaussian, fit_gaussian, posterior


def naive_conditional(mean, covariance, row):
    """Textbook: mean and covariance of one row given its observed cells, as large as the row."""
    missing, observed = np.flatnonzero(np.isnan(row)), np.flatnonzero(~np.isnan(row))
    weights = covariance[np.ix_(missing, observed)] @ np.linalg.inv(covariance[np.ix_(observed, observed)])
    expected = row.copy()
    expected[missing] = mean[missing] + weights @ (row[observed] - mean[observed])
    uncertainty = np.zeros_like(covariance)
    uncertainty[np.ix_(missing, missing)] = (
        covariance[np.ix_(missing, missing)] - weights @ covariance[np.ix_(observed, missing)]
    )
    return expected, uncertainty


def naive_em_step(mean, covariance, values):
    """One EM step without any penalty, row by row."""
    conditionals = [naive_conditional(mean, covariance, row) for row in values]
    new_mean = np.mean([expected for expected, _ in conditionals], axis=0)
    scatter = [
        np.outer(expected - new_mean, expected - new_mean) + uncertainty for expected, uncertainty in conditionals
    ]
    return new_mean, np.mean(scatter, axis=0)


def hide(values, share, rng):
    return np.where(rng.random(values.shape) < share, np.nan, values)


@pytest.fixture
def model(rng):
    root = rng.normal(size=(7, 14)) / np.sqrt(14)
    return Gaussian(rng.normal(size=7), root @ root.T + 0.01 * np.eye(7))


@pytest.fixture
def gaps(rng):
    values = hide(rng.normal(size=(300, 7)), 0.35, rng)
    values[:3] = rng.normal(size=(3, 7))
    values[3] = np.nan
    return values


def test_posterior_is_the_textbook_one(model, gaps):
    found = posterior(model, gaps)
    for row, mean, covariance in zip(gaps, found.mean, found.covariance[found.pattern], strict=True):
        expected, uncertainty = naive_conditional(model.mean, model.covariance, row)
        np.testing.assert_allclose(mean, expected, atol=1e-10)
        np.testing.assert_allclose(covariance, uncertainty, atol=1e-10)


def test_complete_rows_have_no_uncertainty(model, rng):
    values = rng.normal(size=(50, 7))
    found = posterior(model, values)
    np.testing.assert_array_equal(found.mean, values)
    assert found.covariance.shape == (1, 7, 7)
    assert not found.covariance.any()


def test_step_is_the_textbook_one_and_shrinks_toward_no_dependence(model, gaps):
    mean, covariance = naive_em_step(model.mean, model.covariance, gaps)
    plain = gaussian._step(model, gaps, 0.0, 0.0)
    np.testing.assert_allclose(plain.mean, mean, atol=1e-10)
    np.testing.assert_allclose(plain.covariance, covariance, atol=1e-10)
    shrunk = gaussian._step(model, gaps, 100.0, 0.01).covariance
    np.testing.assert_allclose(shrunk, (300 * covariance + 100 * np.eye(7)) / 400 + 0.01 * np.eye(7), atol=1e-10)


def test_fit_uses_what_depends_on_other_columns(rng):
    """Gaps where the other column is large: means of the observed cells are wrong, EM is not."""
    first = rng.normal(size=20_000)
    second = 30.0 * (0.9 * first + 0.4 * rng.normal(size=20_000)) + 5.0
    values = np.column_stack([first, np.where(first > 0.0, np.nan, second)])
    found = fit_gaussian(values)
    assert abs(np.nanmean(values[:, 1]) - second.mean()) > 15.0
    assert found.mean[1] == pytest.approx(second.mean(), abs=1.0)
    assert np.sqrt(found.covariance[1, 1]) == pytest.approx(second.std(), rel=0.05)


def one_hot(rng):
    levels = rng.integers(0, 4, 300)
    block = np.eye(4)[levels] * np.sqrt(0.5)
    block[rng.random(300) < 0.2] = np.nan
    return np.column_stack([block, hide(levels[:, None] + rng.normal(size=(300, 1)), 0.2, rng)])


HARD = {
    "one-hot block": one_hot,
    "duplicate columns": lambda rng: hide(np.tile(rng.normal(size=(100, 3)), 3), 0.3, rng),
    "constant column": lambda rng: hide(np.column_stack([rng.normal(size=100), np.ones(100)]), 0.2, rng),
    "more columns than rows": lambda rng: hide(rng.normal(size=(12, 40)), 0.2, rng),
    "wholly missing column": lambda rng: np.column_stack([rng.normal(size=50), np.full(50, np.nan)]),
    "wholly missing rows": lambda rng: np.vstack([rng.normal(size=(50, 3)), np.full((5, 3), np.nan)]),
    "one row": lambda _: np.array([[1.0, np.nan, 0.5]]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", HARD)
def test_hard_inputs_give_a_sound_model(name, rng):
    values = HARD[name](rng)
    found = fit_gaussian(values)
    assert np.isfinite(found.mean).all()
    assert np.linalg.eigvalsh(found.covariance).min() > 0
    assert np.isfinite(posterior(found, values).mean).all()
