"""Rows of this machine that come in chunks."""

import pickle
import subprocess
import sys
import tempfile
import threading
from itertools import pairwise

import duckdb
import ibis
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
from gapdrift.errors import InputError, SchemaError, StorageError
from gapdrift.execution import local
from gapdrift.tables.frame import Table


def sources(table, folder):
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    table.to_csv(folder / "rows.csv", index=False)
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
        "record batch": arrow.combine_chunks().to_batches()[0],
        "lazy frame": pl.from_arrow(arrow).lazy(),
        "csv path": folder / "rows.csv",
        "csv files": gd.files.open_files(folder / "rows.csv"),
        "duckdb relation": duckdb.from_arrow(arrow),
        "ibis table": ibis.polars.connect({"rows": pl.from_arrow(arrow)}).table("rows"),
        "arrow stream": ArrowStream(arrow),
    }


class ArrowStream:
    """Object that offers its rows by the Arrow stream interface alone, as readers of ADBC do."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.to_reader(max_chunksize=250).__arrow_c_stream__(requested_schema)


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


def test_lazy_tables_and_streams_are_read_in_chunks(window, monkeypatch):
    monkeypatch.setattr(local, "CHUNK_ROWS", 1_000)
    arrow = pa.Table.from_pandas(window, preserve_index=False)
    for source in (pl.from_arrow(arrow).lazy(), ibis.polars.connect({"rows": pl.from_arrow(arrow)}).table("rows")):
        lengths = [len(chunk) for chunk in local._chunks(source, ())]
        assert sum(lengths) == 5_000
        assert max(lengths) <= 1_000
    assert [len(chunk) for chunk in local._chunks(ArrowStream(arrow), ())] == [250] * 20
    # DuckDB hands out 2,048 rows times a number of its own at once.
    long = duckdb.sql("select range as a from range(500000)")
    assert len(list(local._chunks(long, ()))) > 2


def test_a_csv_window_is_read_as_the_reference_was_and_says_what_it_took_for_missing(window, detector, tmp_path):
    table = window.astype({"wind": object})
    table.loc[:9, "wind"] = "broken"
    table.to_csv(tmp_path / "rows.csv", index=False)
    result = detector.test(tmp_path / "rows.csv")
    note = "Column 'wind' has 10 cell(s) that are not numbers, such as 'broken': they count as missing."
    assert note in result.warnings
    fitted = gd.DriftDetector(random_state=0).fit(tmp_path / "rows.csv")
    assert f"Reference: {note}" in fitted.warnings_
    assert f"Reference: {note}" in fitted.test(window).warnings
    all_words = window.assign(wind="broken")
    all_words.to_csv(tmp_path / "words.csv", index=False)
    features = {feature.name: feature for feature in detector.test(tmp_path / "words.csv").features}
    assert features["wind"].missing_window == 1.0


def test_of_a_long_csv_reference_all_rows_are_counted(window, monkeypatch, tmp_path):
    monkeypatch.setattr(execution, "MAX_LEARNED", 500)
    window.to_csv(tmp_path / "rows.csv", index=False)
    fitted = gd.DriftDetector(random_state=0).fit(str(tmp_path / "rows.csv"))
    assert fitted.evidence_.n_rows == 5_000
    again = fitted.count(tmp_path / "rows.csv")
    assert again.sums["cells"].sum() == fitted.evidence_.sums["cells"].sum()


def test_a_query_that_fails_says_so(detector):
    lazy = pl.LazyFrame({"a": [1]}).select("b")
    with pytest.raises(InputError, match=r"The rows of the LazyFrame could not be read.*'?b"):
        detector.test(lazy)


def assert_same_evidence(evidence, expected):
    """Evidence of detectors that learned the same to the bit, and counted the same rows in other chunks."""
    assert evidence.origin == expected.origin
    assert evidence.n_rows == expected.n_rows
    for name, array in expected.sums.items():
        assert evidence.sums[name] == pytest.approx(array, rel=1e-9, abs=1e-7), name


def every_kind(n_rows):
    """Columns of every kind that a table can have, with missing cells."""
    rng = np.random.default_rng(7)
    table = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "integer": pd.array(rng.integers(0, 50, n_rows), dtype="Int64"),
            "truth": pd.array(rng.random(n_rows) < 0.4, dtype="boolean"),
            "text": rng.choice(["a", "b", "c"], n_rows),
            "category": pd.Categorical(rng.choice(["u", "v"], n_rows)),
            "date": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n_rows), unit="s"),
            "duration": pd.to_timedelta(rng.exponential(1e4, n_rows), unit="s"),
        }
    )
    return table.mask(rng.random(table.shape) < 0.1)


def test_all_rows_of_a_long_iterator_are_counted(tmp_path):
    table = pa.table(gd.datasets.stations(150_000, rng=5))
    pq.write_table(table, tmp_path / "rows.parquet")
    from_file = gd.DriftDetector(random_state=0).fit(tmp_path / "rows.parquet")
    from_iterator = gd.DriftDetector(random_state=0).fit(iter(table.to_batches(max_chunksize=40_000)))
    assert from_iterator.evidence_.n_rows == 150_000
    assert_same_evidence(from_iterator.evidence_, from_file.evidence_)
    assert from_iterator.warnings_ == from_file.warnings_


@pytest.mark.parametrize("max_in_memory", [1, 10**9], ids=["on disk", "in memory"])
@pytest.mark.parametrize("make", [gd.DriftDetector, gd.MDLFWF])
def test_rows_that_can_be_read_once_are_learned_and_counted_as_a_file_is(make, max_in_memory, monkeypatch, tmp_path):
    monkeypatch.setattr(execution, "MAX_LEARNED", 400)
    monkeypatch.setattr(local, "MAX_IN_MEMORY", max_in_memory)
    table = every_kind(2_000)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    pq.write_table(arrow, tmp_path / "rows.parquet")
    bounds = list(pairwise([0, 0, 700, 701, 1_500, 2_000]))
    sources = {
        "one pandas table": iter([table]),
        "pandas": (table.iloc[start:stop] for start, stop in bounds),
        "arrow types in pandas": (arrow[start:stop].to_pandas(types_mapper=pd.ArrowDtype) for start, stop in bounds),
        "polars": (pl.from_arrow(arrow[start:stop]) for start, stop in bounds),
        "batches": iter(arrow.to_batches(max_chunksize=77)),
        "reader": arrow.to_reader(max_chunksize=77),
        "scanner": ds.dataset(tmp_path / "rows.parquet").scanner(),
        "dataset": ds.dataset(tmp_path / "rows.parquet"),
        "all libraries": iter([arrow[:300], table.iloc[300:900], arrow[900:]]),
    }
    expected = make(random_state=0).fit(tmp_path / "rows.parquet").evidence_
    for source in sources.values():
        assert_same_evidence(make(random_state=0).fit(source).evidence_, expected)


def test_an_iterator_may_use_its_arrays_again(monkeypatch):
    monkeypatch.setattr(execution, "MAX_LEARNED", 250)
    rng = np.random.default_rng(3)
    rows = np.where(rng.random((600, 3)) < 0.2, np.nan, rng.normal(size=(600, 3)))
    buffer = np.empty((100, 3))
    kinds = {
        "array": lambda array: array,
        "masked array": np.ma.masked_invalid,
        "mapping": lambda array: dict(zip("abc", array.T, strict=True)),
        "pandas": lambda array: pd.DataFrame(array, columns=list("abc"), copy=False),
    }

    def reused(make):
        for start in range(0, 600, 100):
            buffer[:] = rows[start : start + 100]
            yield make(buffer)
        buffer[:] = 0.0

    for make in kinds.values():
        expected = gd.DriftDetector(random_state=0).fit(iter([make(rows)])).evidence_
        assert_same_evidence(gd.DriftDetector(random_state=0).fit(reused(make)).evidence_, expected)


def test_of_a_slice_no_more_than_its_rows_is_kept():
    table = pa.table({"a": np.arange(10_000.0), "b": ["text"] * 10_000})
    spool = local._Spool()
    kept = list(spool.keep(Table.read(table[start : start + 500]) for start in range(0, 10_000, 500)))
    assert sum(map(len, kept)) == sum(map(len, spool)) == 10_000
    assert spool._file.tell() < 2 * table.nbytes


def test_what_cannot_be_kept(window, monkeypatch):
    with pytest.raises(StorageError, match=r"cannot pickle .* cells of numbers, text or dates"):
        gd.DriftDetector(ignore=["lock"]).fit(iter([window.assign(lock=threading.Lock())]))
    monkeypatch.setattr(local, "MAX_IN_MEMORY", 1)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: open("/dev/full", "w+b"))  # noqa: PTH123, SIM115
    with pytest.raises(StorageError, match=r"read only once, .* No space left on device\. Expected room .* TMPDIR"):
        gd.DriftDetector().fit(iter([window]))


def test_tables_of_an_iterator_need_no_pyarrow():
    code = """
import sys

class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
import pandas as pd
import gapdrift as gd

table = pd.DataFrame(gd.datasets.stations(300, rng=1))
print(gd.DriftDetector(random_state=0).fit(iter([table[:100], table[100:]])).evidence_.n_rows)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "300\n"


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


class Shelf:
    """Rows that only their own engine can reach."""

    def __init__(self, *tables):
        self.tables = tables


class ShelfEngine:
    """Engine whose workers get a copy of the function that counts, as processes do."""

    def count(self, count, rows, like):
        return [pickle.loads(pickle.dumps(count))(table) for table in rows.tables]

    def sample(self, rows, most, rng):
        return pd.concat(rows.tables), sum(map(len, rows.tables)), rows


@pytest.fixture
def shelf(window, monkeypatch):
    entry = (lambda rows: isinstance(rows, Shelf), __name__, "ShelfEngine")
    monkeypatch.setattr(execution, "ENGINES", (entry, *execution.ENGINES))
    return Shelf(window.iloc[:1_000], window.iloc[1_000:])


def test_another_engine_is_one_more_entry(shelf, window, detector):
    assert detector.test(shelf).p_value == pytest.approx(detector.test(window).p_value, rel=1e-9)
    assert gd.DriftDetector(random_state=0).fit(shelf).evidence_.n_rows == len(window)


def test_batches_add_up_wherever_they_were_counted(shelf, window):
    days = window.assign(day=np.random.default_rng(0).integers(20, size=len(window)))
    expected = gd.DriftDetector(random_state=0).fit(days, batches="day").usual_.table
    shelf.tables = (days.iloc[:1_000], days.iloc[1_000:1_000], days.iloc[1_000:])
    found = gd.DriftDetector(random_state=0).fit(shelf, batches="day").usual_.table
    assert found.labels == tuple(sorted(expected.labels))
    places = [expected.labels.index(label) for label in found.labels]
    np.testing.assert_array_equal(found.n_rows, expected.n_rows[places])
    for name, block in expected.blocks.items():
        np.testing.assert_allclose(found.blocks[name], block[places], rtol=1e-9, atol=1e-9)


def test_what_was_noted_of_files_is_known_with_batches_too(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("day,size\n" + "".join(f"d{day},{row}.5\nd{day},spoilt\n" for day in range(6) for row in range(40)))
    path.write_text(path.read_text().replace("spoilt", "7.25", 238))
    fitted = gd.DriftDetector(random_state=0).fit(path, batches="day")
    assert any("not numbers, such as 'spoilt'" in note for note in fitted.warnings_)


def test_arrays_in_chunks():
    rows = np.random.default_rng(0).normal(size=(600, 3))
    detector = gd.DriftDetector(random_state=0).fit(rows)
    whole, parts = detector.count(rows), detector.count(iter([rows[:100], rows[100:]]))
    np.testing.assert_array_equal(parts.sums["products"], whole.sums["products"])


def test_errors_say_what_to_do(window, detector, tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        detector.count(tmp_path / "nothing.parquet")
    with pytest.raises(SchemaError, match="lacks the column"):
        detector.count(iter([window.drop(columns=window.columns[0])]))
    with pytest.raises(InputError, match="Got str, expected a pandas"):
        gd.DriftDetector().fit(iter(["rows"]))
    with pytest.raises(InputError, match="other columns than the tables before it"):
        gd.DriftDetector().fit(iter([window, window[["temperature"]]]))
    with pytest.raises(InputError, match="gave no rows at all"):
        gd.DriftDetector().fit(iter(()))
