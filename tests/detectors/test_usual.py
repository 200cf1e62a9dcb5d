from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import gapdrift as gd

N_DAYS, N_ROWS = 30, 60


def history(seed=0, n_days=N_DAYS, missing=0.1, shift=1.0):
    """Days that differ from each other, with missing cells."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(n_days), N_ROWS)
    x = shift * rng.normal(size=n_days)[day] + rng.normal(size=len(day))
    y = x + 0.5 * rng.normal(size=len(day))
    x[rng.random(len(day)) < missing] = np.nan
    times = [datetime(2024, 1, 1) + timedelta(days=int(number)) for number in day]
    return pd.DataFrame({"when": times, "day": [f"d{number:02d}" for number in day], "x": x, "y": y})


def window(seed=100, shift=0.0, missing=0.1):
    table = history(seed, 1, missing)
    return table.assign(x=table.x + shift, y=table.y + shift)


@pytest.fixture(scope="module")
def detector():
    return gd.DriftDetector(random_state=0).fit(history(), batches="day")


def test_both_p_values(detector):
    result = detector.test(window(shift=2.5))
    assert result.drift is False
    assert result.usual.rows_p_value < 1e-6
    assert result.p_value == result.usual.p_value
    assert (result.usual.n_batches, result.usual.unit, result.usual.n_needed) == (30, "day", 19)
    assert detector.test(window(shift=30.0)).drift is True


def test_columns_are_named_against_the_usual_variation(detector):
    table = window()
    result = detector.test(table.assign(y=table.y + 6.0))
    assert result.drift is True
    assert [each.name for each in result.features if each.adjusted_p_value < 0.05] == ["y"]
    gone = table.assign(x=np.where(np.arange(len(table)) % 10 < 9, np.nan, table.x))
    result = detector.test(gone)
    assert result.features[0].adjusted_missing_p_value < 0.01
    assert result.missingness.p_value < 0.05


def test_a_column_decoupled_from_the_other_is_found(detector):
    table = window()
    result = detector.test(table.assign(y=np.random.default_rng(0).permutation(table.y)))
    assert result.drift is True
    assert result.values.p_value < 0.05 < result.missingness.p_value


@pytest.mark.parametrize("batches", ["1d", 60, [f"{number}" for number in range(30) for _ in range(60)]])
def test_other_ways_to_say_the_same(detector, batches):
    table = history().drop(columns="day")
    other = gd.DriftDetector(random_state=0).fit(table, batches=batches)
    assert other.test(window()).usual.n_batches == 30
    assert other.test(window()).p_value == pytest.approx(detector.test(window()).p_value)


def test_a_list_of_tables_or_of_evidence(detector):
    table = history().drop(columns=["day", "when"])
    parts = [table.iloc[start : start + N_ROWS] for start in range(0, len(table), N_ROWS)]
    by_tables = gd.DriftDetector(random_state=0).fit(table, batches=parts)
    alone = gd.DriftDetector(random_state=0).fit(None, batches=parts)
    plain = gd.DriftDetector(random_state=0).fit(table)
    by_evidence = gd.DriftDetector(random_state=0).fit(table, batches=[plain.count(part) for part in parts])
    expected = detector.test(window()).p_value
    for other in (by_tables, alone, by_evidence):
        assert other.test(window()).p_value == pytest.approx(expected)
    foreign = gd.DriftDetector(random_state=1).fit(table.iloc[:500])
    with pytest.raises(gd.errors.EvidenceError):
        detector.with_batches([foreign.count(parts[0])])


def test_batches_add_up_and_can_be_added(detector):
    more = history(5, 3)
    counted = [detector.count(part) for _, part in more.groupby("day")]
    wider = detector.with_batches(counted)
    assert wider.test(window()).usual.n_batches == 33
    assert detector.test(window()).usual.n_batches == 30
    table = window()
    halves = detector.count(table.iloc[:20]) + detector.count(table.iloc[20:])
    assert detector.test(halves) == detector.test(table)
    with pytest.raises(gd.errors.InputError, match="without batches"):
        gd.DriftDetector(random_state=0).fit(history()).with_batches(counted)


def test_files_and_iterators_give_the_same(detector, tmp_path):
    path = tmp_path / "history.parquet"
    history().to_parquet(path)
    from_file = gd.DriftDetector(random_state=0).fit(str(path), batches="day")
    chunks = (history().iloc[start : start + 250] for start in range(0, 1800, 250))
    in_chunks = gd.DriftDetector(random_state=0).fit(chunks, batches="1d", time="when")
    expected = detector.test(window())
    assert from_file.test(window()).p_value == pytest.approx(expected.p_value, rel=0.01)
    assert in_chunks.test(window()).usual.n_batches == 30
    with pytest.raises(gd.errors.InputError, match="not in memory"):
        gd.DriftDetector(random_state=0).fit(str(path), batches=60)


def test_it_is_saved_without_rows(detector, tmp_path):
    path = tmp_path / "usual.gapdrift"
    detector.save(path, keep_rows=False)
    assert gd.load(path).test(window()) == detector.test(window())
    result = detector.test(window(shift=3.0))
    gd.save(result, path)
    assert gd.load(path) == result


def test_seasons(tmp_path):
    rng = np.random.default_rng(0)
    hours = np.arange(24 * 60)
    times = [datetime(2024, 1, 1) + timedelta(hours=int(hour)) for hour in hours]
    wave = 3.0 * np.sin(2 * np.pi * hours / 24)
    table = pd.DataFrame({"when": times, "x": wave + rng.normal(size=len(hours)), "y": rng.normal(size=len(hours))})
    table = table.loc[table.index.repeat(5)].assign(x=lambda each: each.x + 0.3 * rng.normal(size=len(each)))
    plain = gd.DriftDetector(random_state=0).fit(table, batches="6h")
    seasonal = gd.DriftDetector(random_state=0).fit(table, batches="6h", season="day")
    assert (plain.time_column_, seasonal.time_column_) == (None, "when")
    night_in_day = table.iloc[90:120].assign(when=table.when.iloc[:30].to_numpy())
    assert seasonal.test(table.iloc[:30]).drift is False
    assert seasonal.test(night_in_day).p_value < plain.test(night_in_day).p_value
    with pytest.raises(gd.errors.InputError, match="no column 'when'"):
        seasonal.test(table.drop(columns="when").iloc[:30])
    halves = seasonal.count(table.iloc[:10]) + seasonal.count(table.iloc[10:30])
    assert seasonal.test(halves) == seasonal.test(table.iloc[:30])
    seasonal.save(tmp_path / "s.gapdrift", keep_rows=False)
    assert gd.load(tmp_path / "s.gapdrift").test(table.iloc[:30]) == seasonal.test(table.iloc[:30])
    for settings in ({"window": 30}, {"window": "6h", "time_column": "when"}):
        windows = gd.Monitor(seasonal, **settings).advance(table.iloc[:150])
        assert len(windows) >= 4
        assert all(each.result.usual.n_batches == 240 for each in windows)
    with pytest.raises(gd.errors.InputError, match="too few for the season"):
        gd.DriftDetector(random_state=0).fit(table.iloc[:1_000], batches="1d", season=("week", "year"))


def test_too_few_batches():
    with pytest.raises(gd.errors.InputError, match=r"4 batch\(es\), expected at least 5"):
        gd.DriftDetector(random_state=0).fit(history(n_days=4), batches="day")
    with pytest.raises(gd.errors.InputError, match="fewer than 10 rows left out"):
        gd.DriftDetector(random_state=0).fit(history(), batches=5)
    result = gd.DriftDetector(random_state=0).fit(history(n_days=8), batches="day").test(window())
    assert any("For alpha 0.05, 19 batches are needed" in each for each in result.warnings)


def chain(rng, n_rows, phi=0.8):
    noise = np.zeros((n_rows, 2))
    for row in range(n_rows):
        noise[row] = (phi * noise[row - 1] if row else 0.0) + rng.normal(size=2)
    return pd.DataFrame({"order": np.arange(n_rows), "x": noise[:, 0], "y": noise[:, 1]})


def test_dependent_rows():
    rng = np.random.default_rng(0)
    stream = chain(rng, 3_000)
    told = gd.DriftDetector(random_state=0).fit(stream.drop(columns="order"))
    assert any("Consecutive rows are alike" in each for each in told.warnings_)
    ordered = gd.DriftDetector(random_state=0).fit(stream, time="order")
    assert not any("Consecutive rows are alike" in each for each in ordered.warnings_)
    windows = [chain(rng, 250).iloc[50:] for _ in range(20)]
    naive = sum(told.test(each).drift for each in windows)
    assert sum(ordered.test(each).drift for each in windows) <= 5 < naive
    assert ordered.test(windows[0].assign(x=windows[0].x + 4.0)).drift is True
    shuffled = gd.DriftDetector(random_state=0).fit(stream.sample(frac=1.0, random_state=0), time="order")
    assert len(shuffled.usual_.table) == len(ordered.usual_.table)
    with pytest.raises(gd.errors.InputError, match="too few to tell how rows depend"):
        gd.DriftDetector(random_state=0).fit(stream.iloc[:100], time="order")


def test_mdlfwf_compares_its_bins():
    table = history().drop(columns="when")
    detector = gd.MDLFWF(random_state=0).fit(table, batches="day")
    result = detector.test(window(shift=2.5))
    assert result.usual.rows_p_value < 0.01 < result.p_value
    assert result.missingness is None
    assert [strip.kind for strip in result.usual.strips] == ["whole", "missing"]


def test_windows_too_short_are_undetermined(detector):
    result = detector.test(window().iloc[:5])
    assert result.drift is None
    assert result.usual is None
