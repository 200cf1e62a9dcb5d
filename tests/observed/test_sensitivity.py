"""Windows without rows are like real ones, and changes of the size that is told are found as often as is told."""

import numpy as np
import pytest

from gapdrift.inference.batches import BatchTable
from gapdrift.observed.detector import ObservedDetector
from gapdrift.observed.sensitivity import CHANGES, Wanted, Windows, column_sensitivity
from gapdrift.observed.sums import Side


def draw(rng, n_rows, shift=0.0):
    x, noise = rng.normal(size=(2, n_rows))
    y = np.where(rng.random(n_rows) < 0.2, np.nan, np.exp(0.8 * x + 0.6 * noise))
    stars = np.clip(np.rint(3.0 + x), 1.0, 5.0)
    kind = np.where(x + rng.normal(size=n_rows) > 0.5, "a", np.where(rng.random(n_rows) < 0.5, "b", "c"))
    return {"x": 50.0 + 10.0 * x + shift, "y": y, "stars": stars, "kind": kind.astype(object)}


def nothing(*_):
    """Leave a window as it is."""


@pytest.fixture(scope="module")
def detector():
    return ObservedDetector(random_state=0).fit(draw(np.random.default_rng(0), 600))


@pytest.fixture(scope="module")
def windows(detector):
    return Windows(detector.reference_.functions, detector.reference_.evidence, 200)


@pytest.fixture(scope="module")
def planned(detector, windows):
    names = detector.reference_.schema.names
    wanted = Wanted(0.8, 0.05, CHANGES, None, 1)
    return {
        name: column_sensitivity(windows, lambda window: detector.test(window).p_value, names, place, wanted)
        for place, name in enumerate(names)
    }


def test_windows_have_the_shares_rates_and_correlations_of_the_reference(detector, windows):
    functions, rng = detector.reference_.functions, np.random.default_rng(2)
    drawn = sum([windows.draw(nothing, rng) for _ in range(200)])
    one, two = Side(functions, detector.reference_.evidence), Side(functions, drawn)
    assert two.missing / two.n_rows == pytest.approx(one.missing / one.n_rows, abs=0.01)
    for place in range(4):
        before, after = one.cells(place), two.cells(place)
        if not functions.is_number[place]:
            assert after / after.sum() == pytest.approx(before / before.sum(), abs=0.01)
        assert not after[before == 0].any()
    spreads = [np.sqrt(np.maximum(np.diag(side.covariance), 1.0)) for side in (one, two)]
    before, after = (
        side.covariance / np.outer(spread, spread) for side, spread in zip((one, two), spreads, strict=True)
    )
    n_columns = len(functions.columns)
    assert np.abs(before - after)[:n_columns, :n_columns].max() < 0.1


def test_windows_without_a_change_alarm_as_others_do(detector, windows):
    rng = np.random.default_rng(3)
    p_values = np.array([detector.test(windows.draw(nothing, rng)).p_value for _ in range(60)])
    assert (p_values < 0.05).mean() < 0.15
    assert (p_values < 0.5).mean() > 0.3


def test_changes_in_the_columns_own_units(planned):
    x, y = planned["x"], planned["y"]
    assert x.shift == pytest.approx(10.0 * x.shift_in_deviations, rel=0.1)
    assert 0.1 < x.shift_in_deviations < 0.5
    assert x.missing_before == 0.0
    assert x.missing < 0.1
    assert y.partner == "x"
    assert y.correlation_before == pytest.approx(0.8, abs=0.05)
    assert y.correlation_before - 0.4 < y.correlation < y.correlation_before - 0.05
    assert y.missing - y.missing_before == pytest.approx(0.12, abs=0.05)
    assert planned["kind"].shift_in_deviations is planned["kind"].partner is None
    assert 0.05 < planned["kind"].shift < 0.4
    assert 0.1 < planned["stars"].shift_in_deviations < 0.5


def test_a_change_of_that_size_is_found_about_that_often(planned):
    found = []
    for seed in range(8):
        rng = np.random.default_rng([seed, 4])
        own = ObservedDetector(random_state=0).fit(draw(rng, 600))
        found += [own.test(draw(rng, 200, planned["x"].shift)).p_value < 0.05 for _ in range(10)]
    assert 0.65 < np.mean(found) < 0.92


def test_a_shift_moves_means_and_leaves_rounded_numbers_rounded(detector, windows):
    rng, functions = np.random.default_rng(5), detector.reference_.functions
    for place, amount in ((0, 3.0), (2, 0.4)):
        column = windows.columns[place]
        means = []
        for change in (nothing, windows.shifted(place, amount)):
            drawn = Side(functions, sum([windows.draw(change, rng) for _ in range(100)])).cells(place)
            middles = column.middles
            if place == 2:
                # Beyond the last number a rounded one is the next.
                middles = np.rint(
                    np.where(np.arange(len(drawn)) > column.axis.codes_of(np.array([5.0]))[0], 6.0, middles)
                )
            means.append(float(drawn @ middles / drawn.sum()))
        assert means[1] - means[0] == pytest.approx(amount, rel=0.15)


def test_windows_of_batches_have_the_means_and_rates_of_one_of_them(detector):
    functions, rng = detector.reference_.functions, np.random.default_rng(6)
    location = np.zeros((20, len(functions.columns)))
    location[:, 0] = 0.5 * rng.normal(size=20)
    location[3] = np.inf
    missing = np.tile([0.1, 0.2, 0.0, 0.0], (20, 1))
    batches = BatchTable(np.full(20, 400.0), np.zeros((20, 0)), {"location": location, "missing": missing}, ("",) * 20)
    windows = Windows(functions, detector.reference_.evidence, 400, batches=batches)
    sides = [Side(functions, windows.draw(nothing, rng)) for _ in range(60)]
    assert np.std([side.means[0] / 32.0 for side in sides]) == pytest.approx(0.5, abs=0.15)
    assert np.mean([side.missing[0] for side in sides]) == pytest.approx(40.0, abs=3.0)


@pytest.mark.parametrize("table", [{"k": np.array(["a", "b", "c"] * 30)}, {"x": np.array([1.5, np.nan] * 40)}])
def test_tables_of_one_column(table):
    detector = ObservedDetector(random_state=0).fit(table)
    own = detector.reference_
    windows = Windows(own.functions, own.evidence, 50)
    wanted = Wanted(0.8, 0.05, CHANGES, None, 1)
    found = column_sensitivity(windows, lambda window: detector.test(window).p_value, own.schema.names, 0, wanted)
    assert found.partner is None
    assert (found.shift is None) == ("x" in table)
