"""Rows of this machine that come in chunks."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import gapdrift as gd
from gapdrift import execution
from gapdrift.errors import InputError, SchemaError


def sources(table, folder):
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    pq.write_table(arrow, folder / "rows.parquet", row_group_size=300)
    pyarrow.feather.write_feather(arrow, folder / "rows.feather", chunksize=300)
    parts = folder / "parts"
    parts.mkdir()
    for start in range(0, len(arrow), 700):
        pq.write_table(arrow.slice(start, 700), parts / f"{start:05}.parquet")
    return {
        "parquet path": str(folder / "rows.parquet"),
        "pathlib path": folder / "rows.parquet",
        "feather path": folder / "rows.feather",
        "folder": parts,
        "glob": str(parts / "*.parquet"),
        "dataset": ds.dataset(parts),
        "scanner": ds.dataset(parts).scanner(batch_size=100),
        "record batch reader": arrow.to_reader(max_chunksize=250),
        "pandas iterator": (table.iloc[start : start + 333] for start in range(0, len(table), 333)),
        "polars iterator": (pl.from_pandas(table.iloc[start : start + 333]) for start in range(0, len(table), 333)),
        "batch iterator": iter(arrow.to_batches(max_chunksize=250)),
    }


def test_every_source_gives_the_same_answer(window, detector, tmp_path):
    expected = detector.test(window)
    for kind, source in sources(window, tmp_path).items():
        result = detector.test(source)
        assert result.n_window == expected.n_window, kind
        assert result.p_value == pytest.approx(expected.p_value, rel=1e-9), kind
        assert [f.p_value for f in result.features] == pytest.approx([f.p_value for f in expected.features], rel=1e-9)


def test_every_source_can_be_fitted_on(window, tmp_path):
    expected = gd.DriftDetector(random_state=0).fit(pa.Table.from_pandas(window, preserve_index=False)).evidence_
    for kind, source in sources(window, tmp_path).items():
        fitted = gd.DriftDetector(random_state=0).fit(source)
        assert fitted.evidence_.n_rows == len(window), kind
        assert fitted.evidence_.origin, kind
        assert fitted.evidence_.sums["cells"].sum() == expected.sums["cells"].sum(), kind
        assert not any("stand for all" in note for note in fitted.warnings_)


@pytest.mark.parametrize("make", [gd.DriftDetector, gd.MDLFWF])
def test_of_a_large_reference_a_sample_is_learned_from_and_all_rows_are_counted(make, window, monkeypatch, tmp_path):
    monkeypatch.setattr(execution, "MAX_LEARNED", 500)
    fitted = make(random_state=0).fit(sources(window, tmp_path)["folder"])
    assert fitted.evidence_.n_rows == 5_000
    note = "The reference has 5,000 rows: 500 of them, drawn at random, were learned from, all are compared."
    assert note in fitted.warnings_
    close = fitted.count(window)
    for name, array in fitted.evidence_.sums.items():
        assert array == pytest.approx(close.sums[name], rel=1e-9, abs=1e-7), name


def test_of_rows_that_can_be_read_once_a_sample_stands_for_all(window, monkeypatch):
    monkeypatch.setattr(execution, "MAX_ONCE", 500)
    chunks = (window.iloc[start : start + 333] for start in range(0, len(window), 333))
    fitted = gd.DriftDetector(random_state=0).fit(chunks)
    assert fitted.evidence_.n_rows == 500
    assert any("500 of them, drawn at random, stand for all" in note for note in fitted.warnings_)


def test_the_same_seed_gives_the_same_reference(window, monkeypatch, tmp_path):
    monkeypatch.setattr(execution, "MAX_LEARNED", 500)
    path = sources(window, tmp_path)["folder"]
    fitted = gd.DriftDetector(random_state=0).fit(path)
    again = gd.DriftDetector(random_state=0).fit(path)
    assert again.evidence_.origin == fitted.evidence_.origin
    assert gd.DriftDetector(random_state=1).fit(path).evidence_.origin != fitted.evidence_.origin


def test_mdlfwf_takes_chunks_too(window):
    detector = gd.MDLFWF(random_state=0).fit(window)
    chunks = (window.iloc[start : start + 333] for start in range(0, len(window), 333))
    assert detector.test(chunks).p_value == pytest.approx(detector.test(window).p_value, rel=1e-9)


def test_nothing_is_evidence_of_no_rows(detector):
    evidence = detector.count(iter(()))
    assert evidence.n_rows == 0
    assert detector.test(evidence).drift is None


def test_ignored_columns_are_not_read(window, tmp_path):
    odd = pa.Table.from_pandas(window.assign(when=pd.Timestamp("2026-01-01")), preserve_index=False)
    pq.write_table(odd, tmp_path / "rows.parquet")
    detector = gd.DriftDetector(random_state=0, ignore=["when"]).fit(odd)
    assert detector.count(ds.dataset(tmp_path / "rows.parquet")).n_rows == len(window)


def test_another_engine_is_one_more_entry(window, detector, monkeypatch):
    class Shelf:
        """Rows that only their own engine can reach."""

        def __init__(self, *tables):
            self.tables = tables

    class ShelfEngine:
        def count(self, count, rows, ignored):
            return [count(table) for table in rows.tables]

        def sample(self, rows, most, rng):
            return pd.concat(rows.tables), sum(map(len, rows.tables))

    monkeypatch.setattr(sys.modules[__name__], "ShelfEngine", ShelfEngine, raising=False)
    entry = (lambda rows: isinstance(rows, Shelf), __name__, "ShelfEngine")
    monkeypatch.setattr(execution, "ENGINES", (entry, *execution.ENGINES))
    shelf = Shelf(window.iloc[:1_000], window.iloc[1_000:])
    assert detector.test(shelf).p_value == pytest.approx(detector.test(window).p_value, rel=1e-9)
    assert gd.DriftDetector(random_state=0).fit(shelf).evidence_.n_rows == len(window)


def test_arrays_in_chunks():
    rows = np.random.default_rng(0).normal(size=(600, 3))
    detector = gd.DriftDetector(random_state=0).fit(rows)
    whole, parts = detector.count(rows), detector.count(iter([rows[:100], rows[100:]]))
    assert parts.sums["scatter"] == pytest.approx(whole.sums["scatter"], rel=1e-12, abs=1e-9)


def test_errors_say_what_to_do(window, detector, tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        detector.count(tmp_path / "nothing.parquet")
    window.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(InputError, match=r"is a CSV file.*gapdrift\.files\.open_files"):
        detector.test(tmp_path / "rows.csv")
    with pytest.raises(SchemaError, match="lacks the column"):
        detector.count(iter([window.drop(columns=window.columns[0])]))
    with pytest.raises(InputError, match="The iterator gave a str"):
        gd.DriftDetector().fit(iter(["rows"]))
    with pytest.raises(InputError, match="gave no rows at all"):
        gd.DriftDetector().fit(iter(()))
