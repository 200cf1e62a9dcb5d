import numpy as np

import gapdrift as gd
from tests.stream_rows import detector, join, part, rows, timed, told


def test_a_confirmed_drift_brings_a_new_reference():
    stream = join(rows(100, 1), rows(300, 2, shift=3.0))
    monitor = gd.Monitor(detector(), 50, adapt=2)
    windows = monitor.advance(stream)
    assert [window.zone for window in windows] == ["calm"] * 2 + ["drift"] * 2 + ["calm"] * 4
    assert [window.adapted for window in windows] == [False] * 3 + [True] + [False] * 4
    assert windows[3].warnings == ("A new reference was fitted on 100 rows.",)
    assert windows[3].reference != windows[4].reference
    fresh = gd.DriftDetector(random_state=0).fit(part(stream, 100, 200))
    assert windows[4].result == fresh.test(part(stream, 200, 250), alpha=1e-3)
    assert monitor.detector.evidence_.n_rows == 100
    assert detector().evidence_.n_rows == 400


def test_windows_after_a_new_reference_share_no_row_with_it():
    stream = join(rows(100, 1), rows(400, 2, shift=3.0))
    windows = gd.Monitor(detector(), 60, 20, adapt=2).advance(stream)
    adapted = next(place for place, window in enumerate(windows) if window.adapted)
    assert windows[adapted + 1].first_row == windows[adapted].last_row + 1
    by_time = gd.Monitor(detector(), "1min", "20s", time_column="time", lateness="30s", adapt=2)
    timely = by_time.advance(join(timed(100, 1), timed(400, 2, shift=3.0, first=100)))
    adapted = next(place for place, window in enumerate(timely) if window.adapted)
    assert timely[adapted + 1].start >= timely[adapted].end
    assert timely[adapted + 1].first_row > timely[adapted].last_row


def test_single_drift_windows_confirm_nothing():
    stream = join(rows(50, 1), rows(50, 2, shift=3.0), rows(50, 3), rows(50, 4, shift=3.0))
    windows = gd.Monitor(detector(), 50, adapt=2).advance(stream)
    assert [window.zone for window in windows] == ["calm", "drift", "calm", "drift"]
    assert not any(window.adapted for window in windows)


def test_too_few_rows_for_a_reference_are_told():
    windows = gd.Monitor(detector(), 10, adapt=1).advance(rows(20, 2, shift=6.0))
    assert not windows[0].adapted
    assert (
        windows[0].warnings[0].startswith("No new reference could be fitted on the drift windows: The reference has 10")
    )


def test_ignored_columns_keys_and_labels():
    """Columns left out at first stay out, and a setting that names them does no harm."""
    rng = np.random.default_rng(0)

    def table(n, shift):
        more = {"key": np.arange(n), "noise": rng.normal(size=n) * n, "flag": rng.random(n) < 0.5}
        return rows(n, n + int(shift), shift) | more

    first = gd.DriftDetector(random_state=0, ignore=["noise", "key"], categories=["flag"]).fit(table(400, 0))
    monitor = gd.Monitor(first, 50, key_column="key", adapt=1)
    windows = monitor.advance(table(150, 3.0))
    assert windows[0].adapted
    assert tuple(monitor.detector.feature_names_in_) == ("x", "y", "c", "flag")
    assert windows[1].zone == "calm"


def test_arrays_keep_their_places(gaussian_drift):
    reference = gaussian_drift.sample(300, severity=0, missing=0.2, rng=0)
    first = gd.DriftDetector(random_state=0, ignore=[0]).fit(reference)
    stream = gaussian_drift.sample(400, severity=0, missing=0.2, rng=1) + 2.0
    monitor = gd.Monitor(first, 100, adapt=1)
    windows = monitor.advance(stream)
    assert [window.zone for window in windows[:2]] == ["drift", "calm"]
    assert monitor.detector.n_features_in_ == 4
    assert windows[1].result == gd.DriftDetector(random_state=0, ignore=[0]).fit(stream[:100]).test(
        stream[100:200], alpha=1e-3
    )


def test_raw_rows_are_kept_only_where_they_are_needed():
    for adapt, expected in ((None, 0), (2, 50)):
        monitor = gd.Monitor(detector(), 60, 20, adapt=adapt)
        monitor.advance(rows(250, 1))
        kept = sum(len(rows) for pane in monitor._panes.values() for rows in pane.kept)
        assert kept == expected
        assert told(monitor.advance(rows(50, 2)))
