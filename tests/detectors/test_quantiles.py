import numpy as np
import pytest

from gapdrift.detectors.drift.quantiles import fit_number_column
from gapdrift.tables.histograms import HistogramAxis

EDGES = tuple(np.linspace(0.0, 1.0, 21).tolist())


def fit(values):
    knots = np.unique(values)
    limits = 0.5 * (knots[1:] + knots[:-1]) if len(knots) < 40 else np.quantile(values, np.arange(1, 20) / 20)
    axis = HistogramAxis(EDGES, tuple(limits.tolist()), ())
    return fit_number_column(axis, np.bincount(axis.cells_of(values), minlength=len(axis)).astype(float), knots)


def ranks(n_ranks=4_000):
    return (np.arange(n_ranks) + 0.5) / n_ranks


def test_numbers_have_the_distribution_of_the_reference():
    values = np.random.default_rng(0).exponential(size=500)
    drawn = fit(values).values_at(ranks())
    assert drawn.mean() == pytest.approx(values.mean(), rel=0.02)
    assert fit(values).deviation == pytest.approx(values.std(), rel=0.05)
    assert np.quantile(drawn, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(values, [0.1, 0.5, 0.9]), rel=0.05)


def test_counts_are_drawn_as_often_as_the_reference_has_them():
    values = np.random.default_rng(1).poisson(3, 500).astype(float)
    drawn = fit(values).values_at(ranks())
    for value in np.unique(values):
        assert np.mean(drawn == value) == pytest.approx(np.mean(values == value), abs=1e-3)


@pytest.mark.parametrize(("grain", "decimals"), [(1.0, 0), (0.1, 1), (None, 12)])
def test_shifted_numbers_have_another_mean_and_stay_rounded(grain, decimals):
    values = np.round(5.0 + 3.0 * np.random.default_rng(2).normal(size=500), decimals)
    column = fit(values)
    moved, beyond = column.shifted_ranks(ranks(), 1.4)
    shifted = column.values_at(moved) + beyond
    assert column.grain == grain
    assert shifted.mean() - values.mean() == pytest.approx(1.4, abs=0.15)
    assert shifted.max() > values.max()
    if grain is not None:
        assert shifted / grain == pytest.approx(np.rint(shifted / grain))


def test_sharp_ends_stay_sharp():
    column = fit((np.arange(500) + 0.5) / 500)
    moved, beyond = column.shifted_ranks(ranks(), 0.05)
    assert np.mean(beyond > 0.0) == pytest.approx(0.05, abs=0.01)
    assert moved.min() == pytest.approx(0.05, abs=0.02)


def test_a_column_without_numbers_and_one_with_a_single_one():
    axis = HistogramAxis(EDGES, (0.5,), ())
    assert np.ptp(fit_number_column(axis, np.zeros(2), np.array([1.0, 2.0])).values_at(ranks())) == 0.0
    single = np.nextafter(3.0, [-np.inf, 3.0, np.inf])
    assert fit_number_column(axis, np.array([0.0, 9.0]), single).values_at(ranks()) == pytest.approx(3.0)
