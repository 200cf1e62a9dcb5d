import numpy as np
import pytest

import gapdrift as gd
from gapdrift.cli import main
from gapdrift.counting.sums import Side
from gapdrift.detectors.drift.sensitivity import Windows
from gapdrift.inference.batches import BatchTable


def draw(n_rows, rng, shift=0.0):
    x = rng.normal(size=n_rows)
    y = 0.8 * x + 0.6 * rng.normal(size=n_rows)
    y[rng.random(n_rows) < 0.1] = np.nan
    return {"x": 50.0 + 10.0 * x + shift, "y": y}


@pytest.fixture(scope="module")
def detector():
    return gd.DriftDetector(random_state=0).fit(draw(600, np.random.default_rng(0)))


@pytest.fixture(scope="module")
def planned(detector):
    return detector.sensitivity(150)


def test_changes_in_the_columns_own_units(planned):
    x, y = planned.columns
    assert x.shift == pytest.approx(10.0 * x.shift_in_deviations, rel=0.1)
    assert 0.1 < x.shift_in_deviations < 0.6
    assert (x.partner, y.partner) == ("y", "x")
    assert y.correlation < y.correlation_before
    assert y.missing > y.missing_before > 0.05
    assert "x: mean by" in planned.summary()
    assert planned.to_dict()["columns"][0]["name"] == "x"


def test_a_change_of_that_size_is_found_about_that_often(detector, planned):
    rng = np.random.default_rng(1)
    found = [detector.test(draw(150, rng, planned.columns[0].shift)).drift for _ in range(60)]
    # One reference, 60 windows: chance, and what is peculiar to the reference, allow this much.
    assert 0.55 < np.mean(found) < 0.97


def test_batches_that_differ_hide_changes(planned):
    rng = np.random.default_rng(2)
    day = np.repeat(np.arange(12), 40)
    history = {"x": 2.0 * rng.normal(size=12)[day] + rng.normal(size=480), "day": day, "k": rng.choice(["a", "b"], 480)}
    found = (
        gd.DriftDetector(random_state=0).fit(history, batches="day").sensitivity(40, columns=["x"], changes=["values"])
    )
    assert (found.n_batches, len(found.columns)) == (12, 1)
    assert found.columns[0].shift_in_deviations is None or found.columns[0].shift_in_deviations > 0.8
    assert "beyond the usual variation of 12 batches" in found.summary()


def test_categories_and_wrong_settings():
    rng = np.random.default_rng(3)
    detector = gd.DriftDetector(random_state=0).fit({"kind": rng.choice(["a", "b"], 300)})
    (kind,) = detector.sensitivity(100, changes="values").columns
    assert kind.shift_in_deviations is None
    assert kind.missing is None
    assert 0.05 < kind.shift < 0.6
    for wrong in (
        {"n_rows": 5},
        {"power": 1.0},
        {"columns": ["nothing"]},
        {"partner": "nothing"},
        {"changes": ["colour"]},
        {"changes": []},
    ):
        with pytest.raises(gd.errors.ParameterError, match=next(iter(wrong))):
            detector.sensitivity(**{"n_rows": 100, **wrong})


def test_the_correlation_with_a_column_asked_for(detector):
    (x,) = detector.sensitivity(150, columns=["x"], changes=["correlation"], partner="y").columns
    assert (x.partner, x.shift, x.missing) == ("y", None, None)
    assert x.correlation < x.correlation_before


def test_the_command(tmp_path, capsys):
    gd.DriftDetector(random_state=0).fit({"x": np.random.default_rng(0).normal(size=200)}).save(tmp_path / "x.gapdrift")
    with pytest.raises(SystemExit) as left:
        main(["plan", str(tmp_path / "x.gapdrift"), "--rows", "50"])
    assert left.value.code == 0
    assert "A window of 50 rows finds" in capsys.readouterr().out


def mixed(rng, n_rows):
    x, noise = rng.normal(size=(2, n_rows))
    y = np.where(rng.random(n_rows) < 0.2, np.nan, np.exp(0.8 * x + 0.6 * noise))
    stars = np.clip(np.rint(3.0 + x), 1.0, 5.0)
    kind = np.where(x + rng.normal(size=n_rows) > 0.5, "a", np.where(rng.random(n_rows) < 0.5, "b", "c"))
    return {"x": 50.0 + 10.0 * x, "y": y, "stars": stars, "kind": kind.astype(object)}


def nothing(*_):
    """Leave a window as it is."""


@pytest.fixture(scope="module")
def reference():
    return gd.DriftDetector(random_state=0).fit(mixed(np.random.default_rng(0), 600)).reference_


@pytest.fixture(scope="module")
def windows(reference):
    return Windows(reference.functions, reference.evidence, 200, reference.regions)


def test_windows_have_the_shares_rates_and_correlations_of_the_reference(reference, windows):
    functions, rng = windows.functions, np.random.default_rng(2)
    drawn = sum([windows.draw(nothing, rng) for _ in range(200)])
    one, two = Side(functions, reference.evidence), Side(functions, drawn)
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


def test_windows_without_a_change_alarm_as_others_do(reference, windows):
    rng = np.random.default_rng(3)
    p_values = np.array([reference.p_value(windows.draw(nothing, rng)) for _ in range(60)])
    assert (p_values < 0.05).mean() < 0.15
    assert (p_values < 0.5).mean() > 0.3


def test_a_shift_moves_means_and_leaves_rounded_numbers_rounded(windows):
    rng, functions = np.random.default_rng(5), windows.functions
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


def test_windows_of_batches_have_the_means_and_rates_of_one_of_them(reference):
    functions, rng = reference.functions, np.random.default_rng(6)
    location = np.zeros((20, len(functions.columns)))
    location[:, 0] = 0.5 * rng.normal(size=20)
    location[3] = np.inf
    missing = np.tile([0.1, 0.2, 0.0, 0.0], (20, 1))
    batches = BatchTable(np.full(20, 400.0), np.zeros((20, 0)), {"location": location, "missing": missing}, ("",) * 20)
    windows = Windows(functions, reference.evidence, 400, batches=batches)
    sides = [Side(functions, windows.draw(nothing, rng)) for _ in range(60)]
    assert np.std([side.means[0] / 32.0 for side in sides]) == pytest.approx(0.5, abs=0.15)
    assert np.mean([side.missing[0] for side in sides]) == pytest.approx(40.0, abs=3.0)


def test_tables_of_any_kind():
    rng = np.random.default_rng(7)
    detector = gd.DriftDetector(random_state=0).fit(
        {
            "constant": np.where(rng.random(90) < 0.3, np.nan, 1.5),
            "empty": np.full(90, np.nan),
            "kind": list("abc") * 30,
        }
    )
    constant, empty, kind = detector.sensitivity(50).columns
    assert constant.shift is constant.partner is empty.shift is None
    assert (empty.missing_before, empty.missing) == (1.0, None)
    assert constant.missing > constant.missing_before > 0.0
    assert kind.shift > 0.1
