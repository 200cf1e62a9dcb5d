"""Dask, on a cluster of two processes."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import gapdrift as gd
from gapdrift import execution

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("dask.distributed")


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        yield client


def die_once(part, marker):
    """A partition whose worker is killed the first time."""
    if len(part) and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return part


def test_series_and_arrays_are_no_tables(window, detector):
    table = dd.from_pandas(window, npartitions=2)
    for other in (table[table.columns[0]], table[[table.columns[0]]].to_dask_array(lengths=True)):
        for use in (detector.test, detector.count, gd.DriftDetector().fit):
            with pytest.raises(gd.errors.InputError, match="expected a Dask DataFrame"):
                use(other)


@pytest.mark.usefixtures("client")
def test_the_answer_is_the_local_one(window, detector):
    expected = detector.test(window)
    for n_partitions in (1, 3, 20):
        result = detector.test(dd.from_pandas(window, npartitions=n_partitions))
        assert result.n_window == len(window)
        assert result.p_value == pytest.approx(expected.p_value, rel=1e-9)


@pytest.mark.usefixtures("client")
def test_a_killed_worker_changes_nothing(window, detector, tmp_path):
    marker = tmp_path / "killed"
    frame = dd.from_pandas(window, npartitions=6)
    evidence = detector.count(frame.map_partitions(die_once, str(marker), meta=frame._meta))
    assert marker.exists()
    expected = detector.count(window)
    assert evidence.n_rows == expected.n_rows
    for name, array in expected.sums.items():
        assert evidence.sums[name] == pytest.approx(array, rel=1e-10, abs=1e-8)


def test_without_a_cluster(window, detector):
    frame = dd.from_pandas(window, npartitions=3)
    assert detector.count(frame).n_rows == len(window)


def test_fit(window, monkeypatch):
    frame = dd.from_pandas(window, npartitions=4)
    whole = gd.DriftDetector(random_state=0).fit(frame)
    assert whole.evidence_.origin == gd.DriftDetector(random_state=0).fit(window).evidence_.origin
    monkeypatch.setattr(execution, "MAX_LEARNED", 600)
    part = gd.DriftDetector(random_state=0).fit(frame)
    assert part.evidence_.n_rows == 5_000
    assert any("5,000 rows: 600 of them" in note for note in part.warnings_)


def test_empty_partitions(window, detector):
    frame = dd.from_pandas(window, npartitions=4)
    some = frame[frame[window.columns[0]] > np.inf]
    assert detector.count(some).n_rows == 0


def batches_of(window, n_partitions):
    days = window.assign(day=np.random.default_rng(0).integers(20, size=len(window)))
    fitted = gd.DriftDetector(random_state=0).fit(dd.from_pandas(days, npartitions=n_partitions), batches="day")
    return fitted.usual_.table


@pytest.mark.usefixtures("client")
def test_batches_are_counted_where_they_are(window):
    on_the_cluster = batches_of(window, 3)
    assert on_the_cluster.n_rows.sum() == len(window)
    with dask.config.set(scheduler="threads"):
        by_threads = batches_of(window, 24)
    np.testing.assert_array_equal(by_threads.n_rows, on_the_cluster.n_rows)
