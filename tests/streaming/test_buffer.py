import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import gapdrift as gd
from gapdrift.streaming.buffer import RowBuffer
from tests.stream_rows import as_records, detector, rows, told


def plain(table):
    """Rows as dicts of Python's own numbers and texts."""
    return [
        {name: cell.item() if isinstance(cell, np.generic) else cell for name, cell in row.items()}
        for row in as_records(table)
    ]


def test_rows_one_by_one_give_the_same_windows_as_a_table():
    table = rows(260, 1)
    whole = gd.Monitor(detector(), 50)
    windows = told(whole.advance(table))
    single = gd.Monitor(detector(), 50)
    found = []
    for place, row in enumerate(plain(table), 1):
        found += single.advance(row)
        assert single.position == place
        assert single.room == 50 - place % 50
    assert told(found) == windows
    assert single.state() == whole.state()


def test_rows_wait_in_the_buffer_if_their_cells_are_plain():
    buffer = RowBuffer(detector())
    taken = [
        {"x": 1.0, "y": None, "c": "red"},
        {"x": 1, "c": "never seen"},
        {"x": float("nan"), "y": np.float64(2.0), "c": None},
        {"x": True, "c": float("nan")},
    ]
    for place, row in enumerate(taken, 1):
        assert buffer.add(row)
        assert len(buffer) == place
    left = [
        {},
        {"x": "1.0"},
        {"x": float("inf")},
        {"x": 1e101},
        {"c": 7},
        {"x": [1.0]},
        {"x": 1.0, "z": 2.0},
        {0: 1.0},
        [{"x": 1.0}],
    ]
    for row in left:
        assert not buffer.add(row)
    table = buffer.drain()
    assert table["c"] == ["red", "never seen", None, None]
    assert len(buffer) == 0


def test_plain_and_other_rows_may_alternate():
    table = rows(120, 2)
    records = plain(table)
    for place in range(0, 120, 7):
        records[place] = {name: np.array(cell)[()] for name, cell in records[place].items()} | {"extra": 1}
    single = gd.Monitor(detector(), 40)
    found = [window for row in records for window in single.advance(row)]
    assert [w.p_value for w in found] == [w.p_value for w in gd.Monitor(detector(), 40).advance(table)]
    assert all(any("'extra' is not in the reference" in note for note in w.result.warnings) for w in found)


@pytest.mark.parametrize("bad", [{"x": "text"}, {"x": float("inf")}, {"x": 1e200}])
def test_a_row_that_cannot_be_used_is_not_taken(bad):
    monitor = gd.Monitor(detector(), 50)
    for row in plain(rows(10, 3)):
        monitor.update(row)
    with pytest.raises(gd.errors.InputError):
        monitor.update(bad)
    assert monitor.position == 10


def test_a_row_may_be_changed_after_it_was_given():
    table = rows(50, 4)
    monitor, row = gd.Monitor(detector(), 50), {}
    for record in plain(table):
        row.update(record)
        found = monitor.advance(row)
    assert told(found) == told(gd.Monitor(detector(), 50).advance(table))


def test_waiting_rows_are_stored_copied_and_flushed():
    table = rows(75, 5)
    records = plain(table)
    monitor = gd.Monitor(detector(), 50)
    for row in records[:30]:
        monitor.update(row)
    others = [pickle.loads(pickle.dumps(monitor)), copy.deepcopy(monitor), gd.Monitor(detector(), 50)]
    others[2].restore(monitor.state())
    for other in others:
        found = [window for row in records[30:] for window in other.advance(row)]
        assert told(found) == told(gd.Monitor(detector(), 50).advance(table))
        assert other.flush() == ()


def test_a_detector_without_a_schema_and_one_without_names(gaussian_drift):
    class Counting(gd.detectors.Detector):
        def fit(self, reference, y=None):
            self.n_features_in_ = 1
            self.evidence_ = gd.Evidence(10, {"n": 10.0})
            return self

        def count_rows(self, table):
            return gd.Evidence(len(table), {"n": float(len(table))})

        def judge(self, evidence, alpha):
            nothing = gd.results.Finding("n", None, None, 1.0, None)
            return gd.DriftResult(False, 1.0, alpha, 10, evidence.n_rows, nothing)

    monitor = gd.Monitor(Counting().fit(None), 10)
    assert [w.n_rows for place in range(20) for w in monitor.advance({"x0": float(place)})] == [10, 10]
    sample = gaussian_drift.sample(300, severity=0, missing=0.2, rng=0)
    unnamed = gd.DriftDetector(random_state=0).fit(sample)
    single = gd.Monitor(unnamed, 60)
    named = [{f"x{place}": cell for place, cell in enumerate(row.tolist())} for row in sample[:60]]
    found = [window for row in named for window in single.advance(row)]
    assert told(found) == told(gd.Monitor(unnamed, 60).advance(sample[:60]))


def test_threads_may_share_a_monitor():
    """Every row is counted once, and windows have their numbers of rows, however the threads are mixed."""
    monitor = gd.Monitor(detector(), 50)
    records = plain(rows(600, 6))
    with ThreadPoolExecutor(4) as pool:
        found = [window for part in pool.map(monitor.advance, records) for window in part]
    assert sorted(window.index for window in found) == list(range(12))
    assert {window.n_rows for window in found} == {50}
    assert monitor.position == 600


def test_rivers_retraining_classifier_takes_a_monitor():
    river = pytest.importorskip("river")
    from river import drift, naive_bayes

    assert river
    rng = np.random.default_rng(0)
    errors = gd.DriftDetector(random_state=0).fit({"error": (rng.random(500) < 0.1).astype(float)})
    monitor = gd.Monitor(errors, 50)
    model = drift.DriftRetrainingClassifier(naive_bayes.GaussianNB(), drift_detector=monitor, train_in_background=False)
    first = model.model
    for place in range(600):
        x = {"a": rng.normal()}
        # The label turns round half-way: the model is wrong nearly always, and is replaced.
        model.learn_one(x, bool((x["a"] > 0) ^ (place >= 300)))
        if place == 299:
            assert model.model is first
    assert model.model is not first
    assert monitor.position == 599


def test_a_number_is_a_row_of_one_column_only():
    with pytest.raises(gd.errors.InputError, match="Got the number 1, expected rows with the columns 'x', 'y', 'c'"):
        gd.Monitor(detector(), 50).update(1)


def test_records_of_pandas_wait_and_give_the_same_windows_as_the_table():
    """pandas writes NaN where a text is missing."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": rng.normal(size=240), "flag": rng.random(240) < 0.3, "c": rng.choice(["red", "blue"], 240)}
    )
    table.loc[rng.random(240) < 0.3, "c"] = None
    fitted = gd.DriftDetector(random_state=0).fit(table)
    records = [
        {name: float("nan") if pd.isna(cell) else cell for name, cell in record.items()}
        for record in table.to_dict("records")
    ]
    buffer = RowBuffer(fitted)
    assert all(buffer.add(record) for record in records)
    single, whole = gd.Monitor(fitted, 60), gd.Monitor(fitted, 60)
    assert told([window for record in records for window in single.advance(record)]) == told(whole.advance(table))
    assert single.state() == whole.state()
