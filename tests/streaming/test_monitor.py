from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gapdrift as gd
from tests.stream_rows import START, as_records, detector, join, part, rows, timed, told


def by_time(window="1min", **options):
    return gd.Monitor(detector(), window, time_column="time", **options)


def test_alarms_are_the_windows_in_the_warning_and_drift_zones():
    stream = join(rows(200, 1), rows(100, 2, shift=2.0))
    monitor = gd.Monitor(detector(), window=100)
    assert [alarm.index for alarm in monitor.update(stream)] == [2]
    assert monitor.drift_detected
    assert not monitor.warning_detected
    assert monitor.update(part(stream, 0, 99)) == ()
    assert not monitor.drift_detected


def test_zones_follow_the_levels_asked_for():
    window = rows(100, 6, shift=0.45)
    p_value = detector().test(window).p_value
    assert 1e-6 < p_value < 0.05
    zones = {
        every: gd.Monitor(detector(), 100, false_alarm_every=every, warning_every=warning).advance(window)[0].zone
        for every, warning in (
            (0.5 / p_value, None),
            (2 / p_value, None),
            (20 / p_value, None),
            (4 / p_value, 2 / p_value),
        )
    }
    assert list(zones.values()) == ["drift", "warning", "calm", "calm"]


def test_a_small_effect_is_neither_drift_nor_warning():
    window = rows(100, 6, shift=0.6)
    (loud,) = gd.Monitor(detector(), 100).advance(window)
    (quiet,) = gd.Monitor(detector(min_effect=5.0), 100).advance(window)
    assert (loud.zone, quiet.zone) == ("drift", "calm")
    assert quiet.p_value == loud.p_value


def test_every_kind_of_table_gives_the_same_windows():
    stream = rows(150, 1)
    frame = pd.DataFrame(stream)
    tables = [stream, frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), as_records(stream)]
    first, *others = [told(gd.Monitor(detector(), 50, 25).advance(table)) for table in tables]
    assert len(first) == 5
    assert all(other == first for other in others)


def test_arrays_and_rows_of_a_detector_without_names(gaussian_drift):
    reference = gaussian_drift.sample(300, severity=0, missing=0.2, rng=0)
    stream = gaussian_drift.sample(120, severity=0, missing=0.2, rng=1)
    plain = gd.DriftDetector(random_state=0, ignore=[1]).fit(reference)
    whole = gd.Monitor(plain, 60).advance(stream)
    for name in ("x{}", "{}"):
        single = gd.Monitor(plain, 60)
        dicts = [{name.format(i): cell for i, cell in enumerate(row)} for row in stream]
        assert told(w for row in dicts for w in single.advance(row)) == told(whole)
    with pytest.raises(gd.errors.InputError, match="'salary', but the reference has no names"):
        gd.Monitor(plain, 60).advance({"salary": 1.0})


def test_a_cell_that_a_row_lacks_is_missing():
    complete = [{"x": 0.1 * place, "y": None, "c": "red"} for place in range(20)]
    lacking = [{"x": row["x"], "c": "red"} for row in complete]
    assert told(gd.Monitor(detector(), 20).advance(lacking)) == told(gd.Monitor(detector(), 20).advance(complete))


def test_rows_that_cannot_be_used_change_nothing():
    monitor = gd.Monitor(detector(), 50)
    monitor.advance(rows(30, 1))
    before = monitor.state()
    for wrong in ({"x": ["text"] * 60, "y": [1.0] * 60, "c": ["red"] * 60}, {"x": [1.0]}, 3, None):
        with pytest.raises(gd.errors.InputError):
            monitor.advance(wrong)
    assert monitor.state() == before


def test_no_rows_change_nothing():
    monitor = gd.Monitor(detector(), 50)
    assert monitor.advance(rows(0, 1)) == ()
    assert monitor.advance([]) == ()
    assert monitor.position == 0


def test_notes_belong_to_the_window_of_their_rows():
    stream = rows(100, 1)
    stream["c"][70] = "violet"
    first, second = gd.Monitor(detector(), 50).advance(stream)
    note = "Column 'c' has 1 value(s) that the reference does not have, in 1 cell(s): 'violet' (1)."
    assert note not in first.result.warnings
    assert note in second.result.warnings


# Times


def test_windows_of_time_lie_on_multiples_since_1970():
    stream = timed(200, 1, first=30)
    windows = by_time("1min").advance(stream)
    assert [window.start for window in windows] == [START + timedelta(minutes=m) for m in range(3)]
    assert [window.n_rows for window in windows] == [30, 60, 60]
    assert windows[0].end == windows[1].start
    assert [window.decided_at for window in windows] == [31, 91, 151]


def test_rows_inside_the_lateness_find_their_window():
    stream = timed(180, 1)
    order = [*range(50), *range(60, 65), *range(50, 60), *range(65, 180)]
    shuffled = {name: [column[place] for place in order] for name, column in stream.items()}
    sorted_windows = by_time(lateness="10s").advance(stream)
    windows = by_time(lateness="10s").advance(shuffled)
    assert [w.n_rows for w in windows] == [w.n_rows for w in sorted_windows] == [60, 60]
    assert windows[0].p_value == pytest.approx(sorted_windows[0].p_value, rel=1e-6)
    assert windows[0].late_rows == 0


def test_late_rows_are_counted_as_late_and_nowhere_else():
    monitor = by_time()
    monitor.advance(timed(90, 1))
    monitor.advance(timed(5, 2, first=10))
    (window,) = monitor.advance(timed(60, 3, first=90))
    assert (window.n_rows, window.late_rows) == (60, 5)
    assert window.warnings == ("5 row(s) came later than the lateness of 0s allows and were not counted.",)
    assert monitor.late_rows == 5


def test_rows_without_a_time_are_told():
    stream = timed(100, 1)
    stream["time"][3] = stream["time"][20] = None
    monitor = by_time()
    (window,) = monitor.advance(stream)
    assert (window.n_rows, window.untimed_rows, monitor.untimed_rows) == (58, 2, 2)
    assert window.warnings == ("2 row(s) had no time and were not counted.",)


def test_a_gap_of_a_million_windows_is_one_record():
    monitor = by_time("1s")
    far = timed(2, 2, first=1_000_000)
    first, gap = monitor.advance(join(timed(1, 1), far))[:2]
    assert (first.zone, first.n_rows) == ("undetermined", 1)
    assert (gap.zone, gap.result, gap.n_rows, gap.n_windows, gap.index) == ("undetermined", None, 0, 999_999, 1)
    assert gap.end == START + timedelta(seconds=1_000_000)
    assert monitor.index == 1_000_001


def test_a_gap_between_sliding_windows():
    windows = by_time("4min", step="1min").advance(join(timed(60, 1), timed(360, 2, first=1200)))
    starts = [(window.start - START) // timedelta(minutes=1) for window in windows]
    assert starts == [0, 1, 17, 18, 19, 20, 21]
    assert [window.n_windows for window in windows] == [1, 16, 1, 1, 1, 1, 1]
    assert [window.n_rows for window in windows] == [60, 0, 60, 120, 180, 240, 240]
    assert [window.index for window in windows] == [0, 1, 17, 18, 19, 20, 21]


def test_the_first_window_starts_with_the_earliest_row_before_it_is_decided():
    stream = join(timed(30, 1, first=70), timed(30, 2, first=10), timed(90, 3, first=100))
    windows = by_time(lateness="1h").advance(stream)
    assert windows == ()
    monitor = by_time(lateness="90s")
    windows = monitor.advance(stream)
    assert windows[0].start == START
    assert windows[0].n_rows == 30


@pytest.mark.parametrize("kind", ["aware", "naive", "text", "numpy", "pandas", "polars", "pyarrow", "summer time"])
def test_times_of_every_kind_are_utc(kind):
    stream = timed(130, 1)
    expected = told(by_time().advance(stream))
    moments = stream["time"]
    naive = [moment.replace(tzinfo=None) for moment in moments]
    frame = pd.DataFrame(stream | {"time": naive})
    given = {
        "aware": lambda: stream | {"time": [m.astimezone(timezone(timedelta(hours=5, minutes=30))) for m in moments]},
        "naive": lambda: stream | {"time": naive},
        "text": lambda: stream | {"time": [moment.isoformat() for moment in moments]},
        "numpy": lambda: stream | {"time": np.array(naive, dtype="M8[ms]")},
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "pyarrow": lambda: pa.Table.from_pandas(frame),
        "summer time": lambda: frame.assign(time=frame["time"].dt.tz_localize("UTC").dt.tz_convert("Europe/Vienna")),
    }[kind]()
    assert told(by_time().advance(given)) == expected


def test_a_change_of_the_clock_is_no_gap():
    """The hour that is there twice on 27 October in Vienna is two hours of UTC."""
    utc = pd.date_range("2024-10-26 23:00", periods=240, freq="1min", tz="UTC")
    frame = pd.DataFrame(rows(240, 1)).assign(time=utc.tz_convert("Europe/Vienna"))
    windows = by_time("1h").advance(frame)
    assert [window.n_rows for window in windows] == [60, 60, 60]


@pytest.mark.parametrize("wrong", ["soon", 1_700_000_000, 12.5])
def test_what_is_no_time_is_an_error(wrong):
    with pytest.raises(gd.errors.InputError, match="Column 'time' has the time"):
        by_time().advance(timed(1, 1) | {"time": [wrong]})


def test_flush_decides_what_has_begun():
    monitor = by_time(lateness="1h")
    assert monitor.advance(timed(90, 1)) == ()
    assert [window.n_rows for window in monitor.flush()] == [60, 30]
    assert monitor.flush() == ()
    (window,) = monitor.advance(timed(70, 2, first=100)) + monitor.flush()
    assert (window.n_rows, window.late_rows) == (50, 20)
    assert gd.Monitor(detector(), 50).flush() == ()


# Keys


def test_a_key_counts_once_within_two_windows():
    stream = rows(240, 1)
    keys = np.arange(240)
    keys[50:60] = keys[0:10]
    keys[230:240] = keys[0:10]
    monitor = gd.Monitor(detector(), 50, key_column="key")
    windows = monitor.advance(stream | {"key": keys})
    assert [window.duplicate_rows for window in windows] == [0, 10, 0, 0]
    assert windows[1].warnings == ("10 row(s) had the key of an earlier row and were not counted.",)
    assert [(window.first_row, window.last_row) for window in windows[:2]] == [(0, 49), (60, 109)]
    assert monitor.duplicate_rows == 10
    assert monitor.position == 240


def test_large_whole_numbers_and_texts_are_keys():
    base = 2**60
    for keys in ([base, base + 1, base, None, None], ["a", "b", "a", None, None], [1, 2, 1.0, float("nan"), None]):
        monitor = gd.Monitor(detector(), 10, key_column="key")
        monitor.advance(rows(5, 1) | {"key": keys})
        assert monitor.duplicate_rows == 1


def test_memory_of_keys_is_bounded():
    monitor = gd.Monitor(detector(), 20, key_column="key")
    monitor.advance(rows(500, 1) | {"key": np.arange(500)})
    remembered = sum(len(data) for name, data in monitor.state().items() if name.startswith("keys/"))
    assert remembered <= 3 * 20 * 16


def test_keys_with_times():
    stream = timed(120, 1) | {"key": [str(place % 40) if place < 60 else str(place) for place in range(120)]}
    windows = by_time(key_column="key").advance(join(stream, timed(1, 2, first=119) | {"key": ["119"]}))
    assert (windows[0].n_rows, windows[0].duplicate_rows) == (40, 20)


# Memory


def test_only_sums_and_less_than_a_block_of_rows_are_kept():
    monitor = gd.Monitor(detector(), 20_000)
    monitor.advance(rows(15_000, 1))
    assert sum(map(len, monitor.state().values())) < 100_000


# river


def test_stands_in_a_river_loop():
    pytest.importorskip("river")
    from river import datasets as river_datasets
    from river import preprocessing

    scaler = preprocessing.StandardScaler()
    stream = [x for x, _ in river_datasets.synth.Friedman(seed=1).take(1_000)]
    for x in stream[:300]:
        scaler.learn_one(x)
    scaled = [scaler.transform_one(x) for x in stream[:300]]
    reference = {name: [x[name] for x in scaled] for name in scaled[0]}
    monitor = gd.Monitor(gd.DriftDetector(random_state=0).fit(reference), window=100)
    alarms = []
    for place, x in enumerate(stream[300:]):
        monitor.update({name: cell + (3.0 if place >= 300 else 0.0) for name, cell in scaler.transform_one(x).items()})
        if monitor.drift_detected:
            alarms.append(place)
    assert alarms
    assert min(alarms) == 399
    assert all((place + 1) % 100 == 0 for place in alarms)


def test_detects_like_rivers_detectors():
    """The interface of river's drift detectors, one row at a time."""
    pytest.importorskip("river")
    from river.base import DriftDetector as RiverDetector

    monitor = gd.Monitor(detector(), window=50)
    assert {"drift_detected", "update"} <= set(dir(RiverDetector))
    flags = []
    for row in as_records(join(rows(50, 1), rows(50, 2, shift=3.0))):
        monitor.update(row)
        flags.append(monitor.drift_detected)
    assert flags == [False] * 99 + [True]


# Real data


@pytest.mark.real_data
def test_car_loans(real_data):
    """Row 50,000 brings a new level of size_of_downpayment, row 75,000 the change."""
    frame = pd.read_parquet(real_data / "nannyml_car_loan_dq" / "nannyml_car_loan_dq.parquet")
    reference, stream = frame[:25_000].drop(columns="part"), frame[40_000:77_500].drop(columns="part")
    monitor = gd.Monitor(gd.DriftDetector(random_state=0).fit(reference), window=2_500, false_alarm_every=1000)
    windows = monitor.advance(stream)
    assert {window.zone for window in windows[:4]} == {"calm"}
    last = windows[-1].result
    moved = {feature.name for feature in last.features if feature.adjusted_p_value < last.alpha}
    gaps = {feature.name for feature in last.features if feature.adjusted_missing_p_value < last.alpha}
    assert windows[-1].zone == "drift"
    assert moved >= {"car_value", "loan_length"}
    assert gaps == {"salary_range", "driver_tenure"}
    between = {feature.name for w in windows[4:-1] for feature in w.result.features if feature.adjusted_p_value < 1e-3}
    assert between == {"size_of_downpayment"}


def test_times_are_utc_datetimes():
    (window,) = by_time().advance(timed(70, 1))
    assert window.start.tzinfo is UTC
    assert window.to_dict()["start"] == "2024-01-01T00:00:00+00:00"
    assert datetime.fromisoformat(window.to_dict()["end"]) == window.end
