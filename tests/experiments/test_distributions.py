import numpy as np
import pytest

from experiments.distributions import DISTRIBUTIONS, DRIFTS
from gapdrift.errors import ParameterError


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_have_exact_gaps(name):
    distribution = DISTRIBUTIONS[name]
    missing = np.isnan(distribution.sample(500, missing=0.2, rng=0)).sum(axis=0)
    expected = np.zeros(len(missing))
    expected[list(distribution.missing_columns)] = 100
    np.testing.assert_array_equal(missing, expected)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_same_seed_gives_the_same_rows(name):
    draw = DISTRIBUTIONS[name].sample
    np.testing.assert_array_equal(draw(50, missing=0.2, rng=3), draw(50, missing=0.2, rng=3))


def test_laws_of_the_distributions():
    assert DISTRIBUTIONS["uniform"].draw(100, np.random.default_rng(0)).max() <= 1
    gaussian = DISTRIBUTIONS["gaussian"].draw(20_000, np.random.default_rng(0))
    np.testing.assert_allclose(gaussian.std(axis=0), 1.0, atol=0.03)
    assert ((gaussian.mean(axis=0) > -0.1) & (gaussian.mean(axis=0) < 10.1)).all()
    poisson = DISTRIBUTIONS["poisson"].draw(20_000, np.random.default_rng(0))
    np.testing.assert_allclose(poisson.var(axis=0) / poisson.mean(axis=0), 1.0, atol=0.05)
    exponential = DISTRIBUTIONS["exponential"].draw(500, np.random.default_rng(0))
    np.testing.assert_allclose(exponential.std(axis=0), 1.0)


@pytest.mark.parametrize("name", DRIFTS)
def test_severity_zero_is_no_drift(name):
    drift = DRIFTS[name]
    rows = drift.sample(40_000, severity=0, missing=0, rng=1)
    moments = np.corrcoef(rows.T) - np.eye(rows.shape[1])
    assert np.abs(moments).max() < 0.03


def test_means_move_in_the_first_two_columns():
    for name, shift in {"uniform-mean": 0.15, "gaussian-mean": 0.35, "poisson-mean": 2.5}.items():
        drift = DRIFTS[name]
        before = drift.sample(50_000, severity=0, missing=0, rng=2)
        after = drift.sample(50_000, severity=10, missing=0, rng=2)
        expected = np.zeros(before.shape[1])
        expected[:2] = shift
        np.testing.assert_allclose((after - before).mean(axis=0), expected, atol=1e-9)


def test_dependence_drifts_leave_the_margins():
    covariance = DRIFTS["gaussian-covariance"].sample(50_000, severity=10, missing=0, rng=3)
    assert np.corrcoef(covariance.T)[0, 1] == pytest.approx(0.8, abs=0.01)
    np.testing.assert_allclose(covariance.std(axis=0), 1.0, atol=0.02)
    rho = DRIFTS["poisson-rho"].sample(50_000, severity=10, missing=0, rng=3)
    assert np.corrcoef(rho.T)[0, 1] == pytest.approx(0.65, abs=0.01)
    np.testing.assert_allclose(rho[:, :2].mean(axis=0), 49, atol=0.2)
    np.testing.assert_allclose(rho[:, :2].var(axis=0), 49, rtol=0.03)


def test_drift_gaps_are_independent_cells():
    rows = DRIFTS["poisson-mean"].sample(20_000, severity=3, missing=0.2, rng=0)
    np.testing.assert_allclose(np.isnan(rows).mean(axis=0), [0.2] * 5 + [0] * 3, atol=0.01)


@pytest.mark.parametrize("severity", [-1, 11, float("nan"), "high"])
def test_bad_severity(severity):
    with pytest.raises(ParameterError, match="severity"):
        DRIFTS["gaussian-mean"].sample(5, severity=severity, missing=0, rng=0)


def test_bad_number_of_rows():
    with pytest.raises(ParameterError, match="n_rows"):
        DISTRIBUTIONS["uniform"].sample(2.5, missing=0.1, rng=0)
