"""Conditional distributions of rows against the textbook's formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.posterior import posterior
from gapdrift.models.gaussian import DenseGaussian, fit_gaussian
from gapdrift.models.gaussian import dense as dense_module
from gapdrift.models.gaussian import factor as factor_module
from tests.models.test_gaussian import HARD, MODELS, factor_model, hide, naive_conditional


@pytest.fixture(params=MODELS)
def model(request, rng):
    return MODELS[request.param](rng)


@pytest.fixture
def gaps(rng):
    values = hide(rng.normal(size=(300, 7)), 0.35, rng)
    values[:3] = rng.normal(size=(3, 7))
    values[3] = np.nan
    return values


@pytest.mark.parametrize("n_directions", [None, 1, 3, 9])
def test_posterior_is_the_textbook_one(model, gaps, n_directions, rng):
    directions = None if n_directions is None else rng.normal(size=(7, n_directions))
    projection = np.eye(7) if directions is None else directions
    result = posterior(model, gaps, directions)
    for row, mean, covariance in zip(gaps, result.mean, result.covariance[result.pattern], strict=True):
        expected, uncertainty = naive_conditional(model.mean, model.covariance, row)
        np.testing.assert_allclose(mean, projection.T @ expected, atol=1e-10)
        np.testing.assert_allclose(covariance, projection.T @ uncertainty @ projection, atol=1e-10)


def test_small_blocks_change_nothing(model, gaps, monkeypatch):
    whole = posterior(model, gaps)
    monkeypatch.setattr(dense_module, "BLOCK_CELLS", 30)
    monkeypatch.setattr(factor_module, "BLOCK_CELLS", 30)
    parts = posterior(model, gaps)
    np.testing.assert_allclose(parts.mean, whole.mean, atol=1e-12)
    np.testing.assert_allclose(parts.covariance, whole.covariance, atol=1e-12)


def test_a_row_gets_the_same_alone_and_among_others(model, gaps, rng):
    directions = rng.normal(size=(7, 2))
    together = posterior(model, gaps, directions)
    for i, row in enumerate(gaps):
        alone = posterior(model, row[None], directions)
        np.testing.assert_allclose(alone.mean[0], together.mean[i], atol=1e-10)
        np.testing.assert_allclose(
            alone.covariance[alone.pattern[0]],
            together.covariance[together.pattern[i]],
            atol=1e-10,
        )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(sorted(MODELS)), cut=st.integers(0, 40))
def test_rows_in_two_parts_give_what_they_give_in_one(seed, kind, cut):
    rng = np.random.default_rng(seed)
    model = MODELS[kind](rng)
    values = hide(rng.normal(size=(40, 7)), rng.random(), rng)
    parts = [posterior(model, part) for part in (values[:cut], values[cut:])]
    whole = posterior(model, values)
    np.testing.assert_allclose(np.concatenate([p.mean for p in parts]), whole.mean, atol=1e-10)
    covariance = np.concatenate([p.covariance[p.pattern] for p in parts])
    np.testing.assert_allclose(covariance, whole.covariance[whole.pattern], atol=1e-10)


def test_no_rows_give_no_rows(model):
    assert posterior(model, np.empty((0, 7))).mean.shape == (0, 7)


@pytest.mark.parametrize("name", ["constant column", "duplicate columns", "one-hot block"])
def test_nearly_singular_fits_keep_ten_digits(name, rng):
    values = HARD[name](rng)
    values = values[~np.isnan(values).all(axis=1)]
    model = fit_gaussian(values)
    result = posterior(model, values)
    for row, covariance in zip(values, result.covariance[result.pattern], strict=True):
        uncertainty = naive_conditional(model.mean, model.covariance, row)[1]
        np.testing.assert_allclose(covariance, uncertainty, atol=1e-10)
    assert np.linalg.eigvalsh(result.covariance).min() > -1e-8


def test_complete_rows_have_no_uncertainty(model, rng):
    values, directions = rng.normal(size=(50, 7)), rng.normal(size=(7, 3))
    result = posterior(model, values, directions)
    np.testing.assert_array_equal(result.mean, values @ directions)
    assert result.covariance.shape == (1, 3, 3)
    assert not result.covariance.any()
    assert not result.pattern.any()


def test_factor_form_and_dense_form_of_one_covariance_agree(gaps, rng):
    factor = factor_model(7, 3, rng)
    dense = DenseGaussian(factor.mean, factor.covariance)
    directions = rng.normal(size=(7, 2))
    one, other = posterior(factor, gaps, directions), posterior(dense, gaps, directions)
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-10)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-10)
