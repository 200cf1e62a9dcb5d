import numpy as np
import pytest

import gapdrift as gd
from tests.stream_rows import START, cut, detector, join, rows, timed, told

CALM, MOVED = rows(1_000, 1), rows(700, 2, shift=0.35)


def slow_drift(**options):
    return gd.Monitor(detector(), 50, sequential=True, **options)


def test_drift_that_no_single_window_shows_is_found():
    stream = join(CALM, MOVED)
    alone = gd.Monitor(detector(), 50).advance(stream)
    assert not any(window.zone == "drift" for window in alone[len(CALM["x"]) // 50 :])
    windows = slow_drift().advance(stream)
    (alarm, *_) = (window for window in windows if window.zone == "drift")
    assert 20 < alarm.index < 34
    assert abs(alarm.change_window - 20) <= 4
    assert alarm.change_row == 50 * alarm.change_window
    assert alarm.evidence >= 1_000
    assert alarm.since_change.n_window == 50 * (alarm.index + 1 - alarm.change_window)
    assert alarm.since_change.drift
    assert {f.name for f in alarm.since_change.features if f.adjusted_p_value < 0.05} == {"x", "y"}
    assert f"change at about window {alarm.change_window} (row {alarm.change_row})" in alarm.summary()
    before = windows[: alarm.index]
    assert all(w.evidence < 1_000 and (w.change_window is None) == (w.zone == "calm") for w in before)


def test_large_changes_are_found_at_once_and_stay_out_of_the_baseline():
    windows = slow_drift().advance(join(rows(300, 1), rows(300, 2, shift=3.0)))
    assert [window.zone for window in windows] == ["calm"] * 6 + ["drift"] * 6
    assert windows[6].change_window == 6
    assert windows[6].p_value < 1e-9 and windows[11].p_value < 1e-9


def test_windows_do_not_depend_on_how_rows_are_divided_or_runs_interrupted():
    stream = join(CALM, MOVED)
    whole = told(slow_drift().advance(stream))
    monitor, found = slow_drift(), []
    for piece in cut(stream, (70, 734, 1_050)):
        found += monitor.advance(piece)
        state, monitor = monitor.state(), slow_drift()
        monitor.restore(state)
    assert told(found) == whole


def test_the_time_of_the_change_is_told_for_windows_of_time():
    monitor = gd.Monitor(detector(), "1min", time_column="time", sequential=True)
    windows = monitor.advance(join(timed(600, 1), timed(301, 2, shift=3.0, first=600)))
    alarm = next(window for window in windows if window.zone == "drift")
    assert (alarm.change_time - START).total_seconds() == 600
    assert alarm.to_dict()["change_time"] == "2024-01-01T00:10:00+00:00"


def test_a_small_effect_is_no_alarm():
    windows = gd.Monitor(detector(min_effect=5.0), 50, sequential=True).advance(join(CALM, MOVED))
    assert {window.zone for window in windows} == {"calm"}
    assert any("below min_effect 5" in note for window in windows for note in window.warnings)


def test_a_new_reference_is_fitted_on_the_windows_from_the_alarm_on():
    windows = slow_drift(adapt=3).advance(join(rows(500, 1), rows(400, 2, shift=3.0)))
    assert [window.index for window in windows if window.adapted] == [12]
    assert windows[12].warnings[-1] == "A new reference was fitted on 150 rows."
    assert {window.zone for window in windows[13:]} == {"calm"}


def test_windows_without_enough_rows_add_nothing():
    monitor = gd.Monitor(detector(), "1min", time_column="time", sequential=True)
    windows = monitor.advance(join(timed(60, 1), timed(5, 2, shift=9.0, first=60), timed(61, 3, first=120)))
    assert [window.zone for window in windows] == ["calm", "undetermined", "calm"]


@pytest.mark.parametrize("every", ["yes", 1, None])
def test_sequential_is_true_or_false(every):
    with pytest.raises(gd.errors.ParameterError, match=r"sequential is .*, expected True or False"):
        gd.Monitor(detector(), 50, sequential=every)


def test_overlapping_windows_are_refused():
    with pytest.raises(gd.errors.ParameterError, match="step is 25 and window 50, but a sequential monitor"):
        gd.Monitor(detector(), 50, 25, sequential=True)


def test_a_detector_of_ones_own_is_extended_too():
    fitted = detector()
    more = fitted.extended(fitted.count(rows(100, 9)))
    assert (more.evidence_.n_rows, fitted.evidence_.n_rows) == (500, 400)
    assert more.test(rows(50, 8)).n_reference == 500


def test_confirmed_calm_windows_join_the_reference():
    stream = join(rows(250, 1), rows(50, 2, shift=3.0), rows(150, 3))
    monitor = gd.Monitor(detector(), 50, extend=2)
    windows = monitor.advance(stream)
    assert [window.zone for window in windows] == ["calm"] * 5 + ["drift"] + ["calm"] * 3
    # The first window joins once two after it were calm; the two before the alarm and those after it are not confirmed.
    assert [window.result.n_reference for window in windows] == [400, 400, 400, 450, 500, 550, 550, 550, 550]
    joined = detector().extended(detector().count({name: column[:150] for name, column in stream.items()}))
    assert windows[-1].p_value == pytest.approx(joined.test(cut(rows(150, 3), (100,))[1]).p_value)


def test_windows_that_join_do_not_depend_on_how_rows_are_divided_or_runs_interrupted():
    stream = join(rows(400, 1), rows(50, 2, shift=3.0), rows(100, 3))
    whole = told(gd.Monitor(detector(), 50, extend=1).advance(stream))
    monitor, found = gd.Monitor(detector(), 50, extend=1), []
    for piece in cut(stream, (70, 120, 320)):
        found += monitor.advance(piece)
        state, monitor = monitor.state(), gd.Monitor(detector(), 50, extend=1)
        monitor.restore(state)
    assert told(found) == whole
    for name in ("joined/000000001/closed", "waiting/000000000"):
        with pytest.raises(gd.errors.HistoryError, match="damaged"):
            gd.Monitor(detector(), 50, extend=1).restore(state | {name: b"nonsense"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"extend": -1}, "extend is -1"),
        ({"extend": 1, "step": 25}, "must not share rows"),
        ({"extend": 1, "sequential": True}, "compares with all windows before anyway"),
    ],
)
def test_what_cannot_be_extended_is_told(options, message):
    with pytest.raises(gd.errors.ParameterError, match=message):
        gd.Monitor(detector(), 50, **options)


def test_every_detector_accumulates_evidence(gaussian_drift):
    reference = gaussian_drift.sample(500, severity=0, missing=0.2, rng=0)
    fitted = gd.MDLFWF(random_state=0).fit(reference)
    calm = gaussian_drift.sample(300, severity=0, missing=0.2, rng=1)
    windows = gd.Monitor(fitted, 100, sequential=True).advance(np.vstack([calm, calm + 3.0]))
    assert [window.zone for window in windows] == ["calm"] * 3 + ["drift"] * 3
    assert windows[1].result.n_reference == 600
