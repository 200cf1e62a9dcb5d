"""The conditional Gaussian model against slow, obvious versions of its formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapdrift.models.gaussian import (
    DenseGaussian,
    FactorGaussian,
    expected_values,
    find_patterns,
    fit_gaussian,
)
from gapdrift.models.gaussian import dense as dense_module
from gapdrift.models.gaussian import factor as factor_module
from gapdrift.models.gaussian.patterns import Patterns


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


def naive_log_likelihood(mean, covariance, values):
    """Sum over rows of the log density of the observed cells."""
    total = 0.0
    for row in values:
        seen = ~np.isnan(row)
        part = covariance[np.ix_(seen, seen)]
        gap = row[seen] - mean[seen]
        total -= 0.5 * (seen.sum() * np.log(2 * np.pi) + np.linalg.slogdet(part)[1] + gap @ np.linalg.solve(part, gap))
    return total


def naive_em_step(mean, covariance, values):
    """One EM step without any penalty, row by row."""
    conditionals = [naive_conditional(mean, covariance, row) for row in values]
    new_mean = np.mean([expected for expected, _ in conditionals], axis=0)
    scatter = [
        np.outer(expected - new_mean, expected - new_mean) + uncertainty for expected, uncertainty in conditionals
    ]
    return new_mean, np.mean(scatter, axis=0)


def hide(values, share, rng):
    hidden = values.copy()
    hidden[rng.random(values.shape) < share] = np.nan
    return hidden


def correlated(n_rows, n_columns, rng, n_factors=2):
    loadings = rng.normal(size=(n_columns, n_factors)) * 0.7
    covariance = loadings @ loadings.T + np.diag(rng.uniform(0.3, 0.8, n_columns))
    scale = np.sqrt(covariance.diagonal())
    covariance /= np.outer(scale, scale)
    mean = rng.normal(size=n_columns) * 0.3
    return rng.multivariate_normal(mean, covariance, size=n_rows), mean, covariance


def dense_model(n_columns, rng):
    root = rng.normal(size=(n_columns, 2 * n_columns)) / np.sqrt(2 * n_columns)
    return DenseGaussian(rng.normal(size=n_columns), root @ root.T + 0.01 * np.eye(n_columns))


def factor_model(n_columns, rank, rng):
    return FactorGaussian(
        rng.normal(size=n_columns),
        rng.normal(size=(n_columns, rank)) * 0.6,
        rng.uniform(0.05, 1.0, n_columns),
    )


MODELS = {
    "dense": lambda rng: dense_model(7, rng),
    "factor": lambda rng: factor_model(7, 2, rng),
}


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)


@pytest.fixture(params=MODELS)
def model(request, rng):
    return MODELS[request.param](rng)


@pytest.fixture
def gaps(rng):
    values = hide(rng.normal(size=(300, 7)), 0.35, rng)
    values[:3] = rng.normal(size=(3, 7))
    values[3] = np.nan
    return values


@pytest.mark.parametrize("n_columns", [1, 3, 64, 65, 200])
def test_patterns_are_distinct_and_give_every_row_its_own(n_columns, rng):
    missing = rng.random((200, n_columns)) < 0.02
    patterns = find_patterns(missing)
    assert not patterns.missing[0].any()
    assert len(np.unique(patterns.missing, axis=0)) == len(patterns.missing)
    assert np.all(np.diff(patterns.missing.sum(axis=1)) >= 0)
    np.testing.assert_array_equal(patterns.missing[patterns.index], missing)


def test_expected_values_are_the_textbook_ones(model, gaps):
    naive = [naive_conditional(model.mean, model.covariance, row)[0] for row in gaps]
    result = expected_values(model, gaps)
    np.testing.assert_allclose(result, naive, atol=1e-10)
    seen = ~np.isnan(gaps)
    np.testing.assert_array_equal(result[seen], gaps[seen])


def test_many_rows_of_few_patterns_take_the_other_path_to_the_same_end(model, rng):
    values = rng.normal(size=(400, 7))
    values[::2, 1:3] = np.nan
    values[1::4, 5] = np.nan
    naive = [naive_conditional(model.mean, model.covariance, row)[0] for row in values]
    np.testing.assert_allclose(expected_values(model, values), naive, atol=1e-10)


def test_small_blocks_change_nothing(model, gaps, monkeypatch):
    whole = expected_values(model, gaps)
    monkeypatch.setattr(dense_module, "BLOCK_CELLS", 30)
    monkeypatch.setattr(factor_module, "BLOCK_CELLS", 30)
    np.testing.assert_allclose(expected_values(model, gaps), whole, atol=1e-12)


def test_a_row_gets_the_same_alone_and_among_others(model, gaps):
    together = expected_values(model, gaps)
    for row, expected in zip(gaps, together, strict=True):
        np.testing.assert_allclose(expected_values(model, row[None])[0], expected, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(sorted(MODELS)), cut=st.integers(0, 40))
def test_rows_in_two_parts_give_what_they_give_in_one(seed, kind, cut):
    rng = np.random.default_rng(seed)
    model = MODELS[kind](rng)
    values = hide(rng.normal(size=(40, 7)), rng.random(), rng)
    parts = [expected_values(model, part) for part in (values[:cut], values[cut:])]
    np.testing.assert_allclose(np.concatenate(parts), expected_values(model, values), atol=1e-10)


def test_no_rows_give_no_rows(model):
    assert expected_values(model, np.empty((0, 7))).shape == (0, 7)


def dense_step(model, values, **penalty):
    patterns = find_patterns(np.isnan(values))
    blocks = list(dense_module.dense_blocks(patterns))
    n_rows = np.bincount(patterns.index, minlength=len(patterns.missing))
    return dense_module._dense_step(model, values, blocks, n_rows, **penalty)


def test_dense_step_is_the_textbook_one(gaps, rng):
    model = dense_model(7, rng)
    step = dense_step(model, gaps, prior=0.0, ridge=0.0)
    mean, covariance = naive_em_step(model.mean, model.covariance, gaps)
    np.testing.assert_allclose(step.mean, mean, atol=1e-10)
    np.testing.assert_allclose(step.covariance, covariance, atol=1e-10)


def test_dense_step_shrinks_toward_no_dependence(gaps, rng):
    model = dense_model(7, rng)
    _, plain = naive_em_step(model.mean, model.covariance, gaps)
    step = dense_step(model, gaps, prior=100.0, ridge=0.01)
    shrunk = (300 * plain + 100 * np.eye(7)) / 400 + 0.01 * np.eye(7)
    np.testing.assert_allclose(step.covariance, shrunk, atol=1e-10)


def test_dense_em_increases_the_likelihood_of_what_is_observed(rng):
    values = hide(correlated(200, 5, rng)[0], 0.4, rng)
    model = DenseGaussian(np.zeros(5), np.eye(5))
    likelihoods = []
    for _ in range(15):
        likelihoods.append(naive_log_likelihood(model.mean, model.covariance, values))
        model = dense_step(model, values, prior=0.0, ridge=0.0)
    assert np.all(np.diff(likelihoods) > 0)


def penalised(model, values, ridge):
    """Log likelihood minus the penalties under which a factor step is the maximum."""
    n_observed = (~np.isnan(values)).sum(axis=0)
    weights = np.square(model.loadings).sum(axis=1) + np.square(model.mean)
    penalty = (weights + 1.0 + ridge * (n_observed + 1.0)) / model.noise + np.log(model.noise)
    return naive_log_likelihood(model.mean, model.covariance, values) - 0.5 * penalty.sum()


def test_factor_em_increases_the_penalised_likelihood(rng):
    values = hide(correlated(150, 8, rng)[0], 0.3, rng)
    patterns = find_patterns(np.isnan(values))
    order = np.argsort(patterns.index, kind="stable")
    values = values[order]
    patterns = Patterns(patterns.missing, patterns.index[order])
    observed = (~np.isnan(values)).astype(float)
    model = factor_model(8, 2, rng)
    likelihoods = []
    for _ in range(20):
        likelihoods.append(penalised(model, values, 1e-3))
        model = factor_module._factor_step(model, np.nan_to_num(values), observed, patterns, 1e-3)
    assert np.all(np.diff(likelihoods) > 0)


@pytest.mark.parametrize("rank", [None, 2])
def test_fit_recovers_mean_and_covariance(rank, rng):
    full, mean, covariance = correlated(20_000, 8, rng)
    model = fit_gaussian(hide(full, 0.3, rng), rank=rank, tol=1e-4, max_iter=500)
    np.testing.assert_allclose(model.mean, mean, atol=0.03)
    np.testing.assert_allclose(model.covariance, covariance, atol=0.04)


def test_fit_uses_what_depends_on_other_columns(rng):
    """Gaps where the other column is large: means of the observed cells are wrong, EM is not."""
    full, mean, _ = correlated(20_000, 2, rng, n_factors=1)
    full[:, 1] = 0.9 * full[:, 0] + 0.4 * rng.normal(size=20_000)
    values = full.copy()
    values[full[:, 0] > mean[0], 1] = np.nan
    model = fit_gaussian(values)
    assert abs(np.nanmean(values[:, 1]) - full[:, 1].mean()) > 0.5
    assert abs(model.mean[1] - full[:, 1].mean()) < 0.03


def test_enough_factors_fit_what_a_dense_covariance_fits(rng):
    values = hide(correlated(20_000, 10, rng)[0], 0.2, rng)
    dense = fit_gaussian(values, rank=10)
    factor = fit_gaussian(values, rank=2, tol=1e-4, max_iter=500)
    assert isinstance(dense, DenseGaussian)
    assert isinstance(factor, FactorGaussian)
    np.testing.assert_allclose(factor.mean, dense.mean, atol=0.01)
    np.testing.assert_allclose(factor.covariance, dense.covariance, atol=0.03)
    few = values[:500]
    difference = expected_values(factor, few) - expected_values(dense, few)
    assert np.sqrt(np.mean(np.square(difference))) < 0.02


def test_rank_is_the_number_of_factors_that_stand_out(rng):
    values = hide(correlated(2_000, 320, rng, n_factors=5)[0], 0.2, rng)
    assert fit_gaussian(values).loadings.shape == (320, 5)
    noise = rng.normal(size=(400, 320))
    assert fit_gaussian(noise).loadings.shape == (320, 1)


def test_columns_hardly_ever_observed_do_not_hide_the_factors(rng):
    full, _, covariance = correlated(2_000, 400, rng, n_factors=3)
    values = hide(full, 0.1, rng)
    values[rng.integers(2, 6) :, :60] = np.nan
    model = fit_gaussian(values)
    assert model.loadings.shape[1] >= 3
    difference = (model.covariance - covariance)[60:, 60:]
    assert np.sqrt(np.mean(np.square(difference))) < 0.04


def test_shrinkage_is_strong_without_dependence_and_vanishes_with_rows(rng):
    few, many = (np.abs(fit_gaussian(rng.normal(size=(n, 20))).covariance - np.eye(20)).max() for n in (30, 20_000))
    assert few < 0.6
    assert many < 0.05
    full, _, covariance = correlated(20_000, 20, rng)
    assert np.abs(fit_gaussian(full).covariance - covariance).max() < 0.04


def one_hot(n_rows, rng):
    levels = rng.integers(0, 4, n_rows)
    block = np.eye(4)[levels] * np.sqrt(0.5)
    block[rng.random(n_rows) < 0.2] = np.nan
    return np.column_stack([block, hide(levels[:, None] - 1.5 + rng.normal(size=(n_rows, 1)), 0.2, rng)])


def no_complete_row(rng):
    values = correlated(200, 5, rng)[0]
    values[np.arange(200), rng.integers(0, 5, 200)] = np.nan
    return values


def constant_column(rng):
    values = hide(rng.normal(size=(100, 4)), 0.2, rng)
    values[:, 2] = np.where(np.isnan(values[:, 2]), np.nan, 0.3)
    return values


def duplicate_columns(rng):
    values = rng.normal(size=(100, 3))
    return hide(np.column_stack([values, values, values]), 0.3, rng)


def with_column(fill, rng):
    values = hide(rng.normal(size=(80, 5)), 0.2, rng)
    values[:, 3] = np.nan
    values[0, 3] = fill
    return values


def test_what_observed_cells_leave_is_the_same_by_covariance_and_by_precision(rng):
    mixing = rng.normal(size=(7, 7))
    covariance = mixing @ mixing.T + np.eye(7)
    for size in (1, 4, 6, 7):
        columns = np.sort(np.argsort(rng.random((20, 7)), axis=1)[:, :size], axis=1)
        expected = dense_module.conditional_covariance(np.linalg.inv(covariance), columns)
        np.testing.assert_allclose(dense_module._covariance_given(covariance, columns), expected, rtol=1e-9, atol=1e-9)


HARD = {
    "no complete row": no_complete_row,
    "half missing": lambda rng: hide(correlated(200, 6, rng)[0], 0.5, rng),
    "constant column": constant_column,
    "duplicate columns": duplicate_columns,
    "one-hot block": lambda rng: one_hot(300, rng),
    "more columns than rows": lambda rng: hide(rng.normal(size=(12, 40)), 0.2, rng),
    "far more columns than rows": lambda rng: hide(rng.normal(size=(20, 400)), 0.2, rng),
    "mostly missing": lambda rng: hide(correlated(300, 80, rng)[0], 0.9, rng),
    "a thousand columns": lambda rng: hide(correlated(200, 1_000, rng)[0], 0.1, rng),
    "one observed value": lambda rng: with_column(0.7, rng),
    "wholly missing column": lambda rng: with_column(np.nan, rng),
    "one row": lambda _: np.array([[1.0, np.nan, 0.5]]),
    "one column": lambda rng: hide(rng.normal(size=(50, 1)), 0.3, rng),
    "no rows": lambda _: np.empty((0, 3)),
    "nothing observed": lambda _: np.full((5, 3), np.nan),
    "nothing observed, many columns": lambda _: np.full((5, 400), np.nan),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", HARD)
def test_hard_inputs_give_a_sound_model(name, rng):
    values = HARD[name](rng)
    model = fit_gaussian(values)
    assert np.isfinite(model.mean).all()
    eigenvalues = np.linalg.eigvalsh(model.covariance)
    assert eigenvalues.min() > 0
    assert model.covariance.diagonal().max() < 5
    assert np.isfinite(expected_values(model, values)).all()


@pytest.mark.parametrize("name", ["constant column", "duplicate columns", "one-hot block"])
def test_nearly_singular_fits_keep_ten_digits(name, rng):
    values = HARD[name](rng)
    values = values[~np.isnan(values).all(axis=1)]
    model = fit_gaussian(values)
    for row, found in zip(values, expected_values(model, values), strict=True):
        np.testing.assert_allclose(found, naive_conditional(model.mean, model.covariance, row)[0], atol=1e-10)
        np.testing.assert_allclose(expected_values(model, row[None])[0], found, atol=1e-10)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("name", ["constant column", "duplicate columns", "one-hot block"])
def test_hard_inputs_give_sound_factors(name, rank, rng):
    model = fit_gaussian(HARD[name](rng), rank=rank)
    assert isinstance(model, FactorGaussian)
    assert model.noise.min() > 0


def test_wholly_missing_rows_add_nothing(rng):
    values = hide(correlated(200, 4, rng)[0], 0.2, rng)
    values = values[~np.isnan(values).all(axis=1)]
    padded = np.insert(values, [0, 50, 120], np.nan, axis=0)
    with_rows, without = fit_gaussian(padded), fit_gaussian(values)
    np.testing.assert_array_equal(with_rows.mean, without.mean)
    np.testing.assert_array_equal(with_rows.covariance, without.covariance)


def test_a_duplicate_tells_what_its_twin_is(rng):
    values = np.tile(rng.normal(size=(300, 1)), 2)
    model = fit_gaussian(hide(values, 0.2, rng))
    assert expected_values(model, np.array([[1.5, np.nan]]))[0, 1] == pytest.approx(1.5, abs=0.05)


def test_a_constant_column_is_expected_to_stay(rng):
    model = fit_gaussian(constant_column(rng))
    row = np.array([[1.0, -1.0, np.nan, 2.0]])
    assert expected_values(model, row)[0, 2] == pytest.approx(0.3, abs=0.01)
    assert model.covariance[2, 2] < 0.01


def test_unseen_columns_are_standard_and_independent(rng):
    model = fit_gaussian(with_column(np.nan, rng))
    assert model.mean[3] == pytest.approx(0.0)
    assert model.covariance[3, 3] == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(np.delete(model.covariance[3], 3), 0.0, atol=1e-12)


def test_a_fit_of_many_rows_uses_some_drawn_by_the_generator(rng):
    values = hide(correlated(30_000, 3, rng)[0], 0.2, rng)
    seeds = [np.random.default_rng(seed) for seed in (1, 1, 2)]
    first, same, other = (fit_gaussian(values, max_rows=500, rng=seed).mean for seed in seeds)
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_input_is_left_alone(model, gaps):
    before = gaps.copy()
    expected_values(model, gaps)
    fit_gaussian(gaps)
    np.testing.assert_array_equal(gaps, before)
