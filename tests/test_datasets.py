import numpy as np
import pytest

from gapdrift.datasets import hide_mar, hide_mcar, hide_mnar, stations
from gapdrift.errors import ParameterError


def test_mcar_is_independent_of_the_values(rng):
    values = rng.normal(size=(20_000, 2))
    missing = np.isnan(hide_mcar(values, [0.3, 0.0], rng))
    np.testing.assert_allclose(missing.mean(axis=0), [0.3, 0.0], atol=0.01)
    assert abs(np.corrcoef(missing[:, 0], values[:, 0])[0, 1]) < 0.03


def test_mar_depends_on_the_driver_only(rng):
    values = rng.normal(size=(20_000, 3))
    missing = np.isnan(hide_mar(values, 0.3, rng, driver=1))
    np.testing.assert_allclose(missing.mean(axis=0), [0.3, 0.0, 0.3], atol=0.01)
    assert np.corrcoef(missing[:, 0], values[:, 1])[0, 1] > 0.3
    assert abs(np.corrcoef(missing[:, 0], values[:, 0])[0, 1]) < 0.03


def test_mnar_depends_on_the_value_itself(rng):
    values = rng.normal(size=(20_000, 2))
    missing = np.isnan(hide_mnar(values, [0.3, 1.0], rng))
    np.testing.assert_allclose(missing.mean(axis=0), [0.3, 1.0], atol=0.01)
    assert np.corrcoef(missing[:, 0], values[:, 0])[0, 1] > 0.3


def test_makers_of_gaps_leave_their_input(rng):
    values = rng.normal(size=(50, 2))
    copy = values.copy()
    for hide in (hide_mcar, hide_mar, hide_mnar):
        hide(values, 0.5, rng)
    hide_mcar(values, 0.5, rng, exact=True)
    np.testing.assert_array_equal(values, copy)


def test_constant_columns_can_be_hidden(rng):
    assert np.isnan(hide_mnar(np.ones((1000, 1)), 0.3, rng)).mean() == pytest.approx(0.3, abs=0.06)


def test_bad_input(rng):
    with pytest.raises(ParameterError, match="dimension"):
        hide_mcar(np.zeros(3), 0.1, rng)
    with pytest.raises(ParameterError, match="driver"):
        hide_mar(np.zeros((3, 2)), 0.1, rng, driver=2)
    with pytest.raises(ParameterError, match="random_state"):
        hide_mcar(np.zeros((3, 2)), 0.1, "seed")


def test_stations_drift_in_the_dependence_only():
    calm = stations(40_000, 0, missing=0.0)
    aged = stations(40_000, 1, missing=0.0, drift=True)
    for name in ("temperature", "humidity", "pressure", "wind"):
        assert aged[name].mean() == pytest.approx(calm[name].mean(), rel=0.02)
        assert aged[name].std() == pytest.approx(calm[name].std(), rel=0.03)
    assert np.corrcoef(calm["temperature"], calm["humidity"])[0, 1] == pytest.approx(-0.8, abs=0.02)
    assert np.corrcoef(aged["temperature"], aged["humidity"])[0, 1] == pytest.approx(0.0, abs=0.02)
    assert set(calm["sky"]) == {"clear", "cloudy", "rain"}


def test_stations_have_gaps_everywhere():
    table = stations(5_000, 0)
    for column in table.values():
        assert np.mean([cell is None or cell != cell for cell in column]) == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: hide_mcar([["a"]], 0.1, 0), "values"),
        (lambda: hide_mnar(np.zeros((3, 1)), 0.1, 0, strength=float("nan")), "strength"),
        (lambda: hide_mar(np.zeros((3, 2)), 0.1, 0, driver="a"), "driver"),
        (lambda: stations(5, 0, missing=2), "rates"),
        (lambda: stations(-1, 0), "n_rows"),
    ],
)
def test_bad_settings_are_named(call, word):
    with pytest.raises(ParameterError, match=word):
        call()


def test_gaps_of_tables_with_gaps_and_of_no_rows(rng):
    values = np.ma.array(rng.normal(size=(4_000, 2)), mask=rng.random((4_000, 2)) < 0.1)
    for hide in (hide_mcar, hide_mar, hide_mnar):
        missing = np.isnan(hide(values, 0.5, rng))
        assert missing[:, 1].mean() == pytest.approx(0.55, abs=0.04)
        assert hide(np.empty((0, 2)), 0.5, rng).shape == (0, 2)


def test_strong_dependence_keeps_the_rate(rng):
    for rate in (0.05, 0.95):
        missing = np.isnan(hide_mnar(rng.normal(size=(4_000, 1)), rate, rng, strength=100.0))
        assert missing.mean() == pytest.approx(rate, abs=0.02)
