"""Monitors of detectors that were fitted with batches."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import gapdrift as gd
from tests.stream_rows import told

ROWS = 60


def leveled(n_batches, seed, shift=0.0):
    """Batches with a level of their own."""
    rng = np.random.default_rng(seed)
    levels = rng.normal(shift, 1.0, size=(n_batches, 2)).repeat(ROWS, axis=0)
    return levels + rng.normal(size=levels.shape)


@pytest.fixture(scope="module")
def detector():
    return gd.DriftDetector(random_state=0).fit(leveled(30, 0), batches=ROWS)


def test_windows_are_compared_with_the_usual_variation(detector):
    plain = gd.DriftDetector(random_state=0).fit(leveled(30, 0))
    stream = leveled(12, 1)
    often = gd.Monitor(plain, ROWS, false_alarm_every=100)
    assert sum(bool(window.drift) for window in often.advance(stream)) > 6
    monitor = gd.Monitor(detector, ROWS)
    assert not any(window.drift for window in monitor.advance(stream))
    # Users said that batches differ from each other: they need not be told.
    assert monitor.warnings == ()
    assert [window.zone for window in monitor.advance(leveled(2, 2, shift=20.0))] == ["drift", "drift"]


@pytest.mark.parametrize("options", [{"extend": 1}, {"sequential": True, "false_alarm_every": 50}])
def test_calm_windows_join_the_batches_and_interrupted_runs_go_on_alike(detector, options):
    stream = leveled(6, 1)
    whole = gd.Monitor(detector, ROWS, **options).advance(stream)
    assert [window.result.usual.n_batches for window in whole][-1] > 30
    monitor, found = gd.Monitor(detector, ROWS, **options), []
    for piece in (stream[:200], stream[200:]):
        found += monitor.advance(piece)
        state, monitor = monitor.state(), gd.Monitor(detector, ROWS, **options)
        monitor.restore(state)
    assert told(found) == told(whole)


def test_slow_changes_of_the_level_add_up(detector):
    stream = np.vstack([leveled(5, 4), leveled(8, 5, shift=2.0)])
    (alarm, *_) = (
        w for w in gd.Monitor(detector, ROWS, false_alarm_every=100, sequential=True).advance(stream) if w.drift
    )
    assert abs(alarm.change_window - 5) <= 2
    assert alarm.since_change.usual is not None


def test_a_new_reference_needs_batches(detector):
    with pytest.raises(gd.errors.ParameterError, match="adapt is 2, but the detector compares"):
        gd.Monitor(detector, ROWS, adapt=2)


def seasonal(days, first_day, seed):
    """A row every half-hour, with a season of a day."""
    rng = np.random.default_rng(seed)
    start = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=first_day)
    times = [start + place * timedelta(minutes=15) for place in range(days * 96)]
    angle = np.array([2 * np.pi * (time.hour + time.minute / 60) / 24 for time in times])
    return {
        "when": np.array([t.replace(tzinfo=None) for t in times], dtype="M8[ns]"),
        "x": 2 * np.sin(angle) + rng.normal(size=len(times)),
    }


def test_seasons_are_usual_by_the_times_of_rows():
    history, stream = seasonal(20, 0, 0), seasonal(4, 20, 1)
    detector = gd.DriftDetector(random_state=0).fit(history, batches="6h", time="when", season="day")
    by_time = gd.Monitor(detector, "6h", time_column="when")
    windows = by_time.advance(stream)
    assert len(windows) == 15
    assert not any(window.drift for window in windows)
    by_rows = gd.Monitor(detector, 24)
    again = by_rows.advance(stream)
    assert [window.p_value for window in again[:15]] == [window.p_value for window in windows]
    records = [dict(zip(stream, cells, strict=True)) for cells in zip(*stream.values(), strict=True)]
    single = gd.Monitor(detector, 24)
    assert [w.p_value for row in records[:48] for w in single.advance(row)] == [w.p_value for w in again[:2]]
    # The same values half a day later are not what is usual then.
    moved = stream | {"when": stream["when"] + np.timedelta64(12, "h")}
    assert all(window.drift for window in gd.Monitor(detector, 24, false_alarm_every=100).advance(moved)[:4])
    with pytest.raises(gd.errors.SchemaError, match="lack the column"):
        gd.Monitor(detector, 24).advance({"x": stream["x"]})


def test_a_detector_with_seasons_is_extended():
    detector = gd.DriftDetector(random_state=0).fit(seasonal(20, 0, 0), batches="6h", time="when", season="day")
    window = {name: cells[:24] for name, cells in seasonal(1, 20, 1).items()}
    more = detector.extended(detector.count(window))
    assert more.evidence_.n_rows == detector.evidence_.n_rows + 24
    assert more.test(window).n_reference == more.evidence_.n_rows


def test_rows_without_a_time_are_left_out_where_windows_are_of_time():
    detector = gd.DriftDetector(random_state=0).fit(seasonal(20, 0, 0), batches="6h", time="when", season="day")
    stream = seasonal(1, 20, 1)
    stream["when"][5] = np.datetime64("NaT")
    monitor = gd.Monitor(detector, "6h", time_column="when")
    assert next(iter(monitor.advance(stream))).n_rows == 23
    assert monitor.untimed_rows == 1
    with pytest.raises(gd.errors.InputError, match="no time"):
        gd.Monitor(detector, 24).advance(stream)
