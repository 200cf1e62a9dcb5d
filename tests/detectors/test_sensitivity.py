import numpy as np
import pytest

import gapdrift as gd
from gapdrift.cli import main
from gapdrift.detectors.drift.sensitivity import WindowSimulator


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


def test_categories_that_depend_on_numbers_and_on_each_other():
    reference = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(800, rng=0)).reference_
    simulator, rng = WindowSimulator(reference, None, 400), np.random.default_rng(4)
    p_values = [reference.test(reference.count(simulator.draw(lambda *_: None, rng)), 0.05).p_value for _ in range(30)]
    # Categories drawn on their own alarmed in nine of ten windows.
    assert np.mean(np.array(p_values) < 0.05) < 0.25


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


def test_windows_without_a_change_differ_from_the_reference_as_other_samples_do():
    rng = np.random.default_rng(5)
    rows = np.column_stack([rng.poisson(9, 400), rng.random(400), np.round(rng.normal(size=400), 1)]).astype(float)
    reference = gd.DriftDetector(random_state=0).fit(rows).reference_
    simulator = WindowSimulator(reference, None, 300)
    drawn = [simulator.draw(lambda *_: None, rng) for _ in range(40)]
    p_values = np.array([reference.test(reference.count(window), 0.05).p_value for window in drawn])
    # Counts between which numbers were drawn alarmed in all windows; windows drawn from the reference itself in none.
    assert (p_values < 0.05).mean() < 0.25
    assert (p_values < 0.5).mean() > 0.2
    assert all(np.array_equal(window.values[:, 0], np.rint(window.values[:, 0])) for window in drawn)


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
