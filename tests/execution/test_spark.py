"""Spark, on two local workers."""

import os
import signal
import sys
from pathlib import Path

import pandas as pd
import pytest

import gapdrift as gd
from gapdrift import execution

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture(scope="module")
def session():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The second number is how often a task may fail: a lost worker is one failure.
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", False)
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame(session, window):
    return session.createDataFrame(window).repartition(5)


def test_the_answer_is_the_local_one(frame, window, detector):
    expected = detector.test(window)
    result = detector.test(frame)
    assert result.n_window == len(window)
    assert result.p_value == pytest.approx(expected.p_value, rel=1e-9)
    assert [f.p_value for f in result.features] == pytest.approx([f.p_value for f in expected.features], rel=1e-9)


def test_a_killed_worker_changes_nothing(frame, window, detector, tmp_path):
    marker = str(tmp_path / "killed")

    def die_once(batches):
        for batch in batches:
            if not Path(marker).exists():
                Path(marker).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    evidence = detector.count(frame.mapInArrow(die_once, frame.schema))
    assert Path(marker).exists()
    expected = detector.count(window)
    assert evidence.n_rows == expected.n_rows
    for name, array in expected.sums.items():
        assert evidence.sums[name] == pytest.approx(array, rel=1e-10, abs=1e-8)


def test_fit(frame, monkeypatch):
    whole = gd.DriftDetector(random_state=0).fit(frame)
    assert whole.evidence_.n_rows == 5_000
    monkeypatch.setattr(execution, "MAX_LEARNED", 600)
    part = gd.DriftDetector(random_state=0).fit(frame)
    assert part.evidence_.n_rows == 5_000
    assert any("5,000 rows: 600 of them" in note for note in part.warnings_)


def test_no_rows(frame, detector):
    assert detector.count(frame.limit(0)).n_rows == 0


def test_names_with_dots_and_ignored_columns(session, window):
    odd = window.rename(columns={window.columns[0]: "a.b`c"}).assign(when=pd.Timestamp("2026-01-01"))
    detector = gd.DriftDetector(random_state=0, ignore=["when"]).fit(odd)
    assert detector.count(session.createDataFrame(odd)).n_rows == len(window)


def test_batches_are_counted_where_they_are(session, window):
    days = window.assign(day=[str(row % 20) for row in range(len(window))])
    fitted = gd.DriftDetector(random_state=0).fit(session.createDataFrame(days).repartition(5), batches="day")
    assert len(fitted.usual_.table) == 20
    assert fitted.usual_.table.n_rows.sum() == len(window)
