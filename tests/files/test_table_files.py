import gc
import gzip
import os
import shutil
import threading

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import gapdrift as gd
from gapdrift.errors import InputError, StorageError
from gapdrift.files import _arrow as arrow_module
from gapdrift.files import _csv as csv_module
from gapdrift.files import _formats as formats_module
from gapdrift.files import _table_files as table_files_module
from gapdrift.files import open_files


def rows(files, **options):
    return pa.concat_tables(files.chunks(**options), promote_options="permissive").to_pydict()


@pytest.fixture
def table():
    return pa.table({"a": list(range(10)), "b": [None if i % 3 else f"kind {i}" for i in range(10)]})


def test_parquet_in_chunks(tmp_path, table, monkeypatch):
    monkeypatch.setattr(arrow_module, "CHUNK_ROWS", 3)
    pq.write_table(table, tmp_path / "t.parquet")
    files = open_files(str(tmp_path / "t.parquet"))
    assert [len(chunk) for chunk in files.chunks()] == [3, 3, 3, 1]
    assert [row for chunk in files.chunks() for row in chunk.to_pydict()["a"]] == list(range(10))


def test_feather_in_chunks(tmp_path, table, monkeypatch):
    monkeypatch.setattr(arrow_module, "CHUNK_ROWS", 4)
    pa.feather.write_feather(table, tmp_path / "t.feather")
    files = open_files(str(tmp_path / "t.feather"))
    assert rows(files) == table.to_pydict()
    assert max(len(chunk) for chunk in files.chunks()) <= 4


@pytest.mark.parametrize("format_", ["parquet", "feather", "csv"])
def test_no_rows_keep_their_columns(tmp_path, table, format_):
    empty = table.slice(0, 0)
    path = tmp_path / f"t.{format_}"
    if format_ == "csv":
        path.write_text("a,b\n")
    else:
        (pq.write_table if format_ == "parquet" else pa.feather.write_feather)(empty, path)
    (chunk,) = open_files(path).chunks()
    assert chunk.column_names == ["a", "b"]
    assert len(chunk) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,x\n,y\n", {"a": ["1", None], "b": ["x", "y"]}),
        ("a;b\n1,5;x\nNA;y\n", {"a": ["1.5", None], "b": ["x", "y"]}),
        ("a;b\n1.234,5;x\n2,5;y, z\n", {"a": ["1234.5", "2.5"], "b": ["x", "y, z"]}),
        ("a\tb\n1\tx\nnull\ty\n", {"a": ["1", None], "b": ["x", "y"]}),
        ("a|b\r\n1|x\r\n<NA>|y\r\n", {"a": ["1", None], "b": ["x", "y"]}),
        ('a,b\n"1","line one\nline two"\n"","y"\n', {"a": ["1", None], "b": ["line one\nline two", "y"]}),
        ("a\n1\n2\n", {"a": ["1", "2"]}),
        ("\ufeffa,b\n1,x\n", {"a": ["1"], "b": ["x"]}),
    ],
)
def test_csv_is_found_out(tmp_path, text, expected):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    assert rows(open_files(path)) == expected


def test_decimal_points_beside_semicolons_stay(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1.5;x,5\n2.5;1,5\n")
    assert rows(open_files(path)) == {"a": ["1.5", "2.5"], "b": ["x,5", "1,5"]}


def test_encodings(tmp_path):
    path = tmp_path / "t.csv"
    for encoding in ("utf-8", "latin-1", "utf-16"):
        path.write_bytes("name,städte\nMünchen,ü\n".encode(encoding))
        assert rows(open_files(path)) == {"name": ["München"], "städte": ["ü"]}


def test_what_is_given_is_not_looked_for(tmp_path):
    path = tmp_path / "t.data"
    path.write_text("a,b;c\n1,2;3\n")
    files = open_files(str(path), file_format="csv", separator=";", decimal=".")
    assert rows(files) == {"a,b": ["1,2"], "c": ["3"]}


def test_compressed_csv_tells_its_progress(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 1 << 20)
    path = tmp_path / "t.csv.gz"
    rng = np.random.default_rng(0)
    lines = "\n".join(f"{x:.6f},{y:.6f}" for x, y in rng.normal(size=(200_000, 2)))
    with gzip.open(path, "wt") as file:
        file.write("a,b\n" + lines + "\n")
    steps = []
    assert sum(len(chunk) for chunk in open_files(path).chunks(progress=steps.append)) == 200_000
    assert len(steps) > 1
    assert 0.9 * path.stat().st_size <= sum(steps) <= path.stat().st_size


def test_folders_and_globs_are_read_in_order(tmp_path, table):
    for name in ("b", "a", "c/d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(table.set_column(0, "a", pa.array([name] * 10)), tmp_path / f"{name}.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.parquet").touch()
    (tmp_path / "notes.md").touch()
    whole = rows(open_files(tmp_path))["a"]
    assert whole == ["a"] * 10 + ["b"] * 10 + ["c/d"] * 10
    assert rows(open_files(str(tmp_path / "[ab].parquet")))["a"] == ["a"] * 10 + ["b"] * 10
    assert open_files(tmp_path).size == sum(path.stat().st_size for path in tmp_path.rglob("[a-d].parquet"))


def test_columns_may_come_in_another_order(tmp_path, table):
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.select(["b", "a"]), tmp_path / "b.parquet")
    assert rows(open_files(tmp_path))["a"] == [*range(10), *range(10)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "no file with one of the endings"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_bytes(b"a,b\n1,2,3\n"), "cannot be read as csv"),
        (lambda path: path.write_bytes(b"a,a\n1,2\n"), "more than once"),
        (lambda path: path.write_bytes(b",\n1,2\n"), "without a name"),
        (lambda path: path.write_bytes(b"\x89PNG\x00\x00"), "zero bytes"),
        (lambda path: path.write_bytes(gzip.compress(b"a,b\n1,2\n")), "is compressed"),
        (lambda path: path.write_bytes(b'a,b\n1,2\n3,"x\n5,6\n7,8\n'), "never closed"),
        (lambda path: path.write_bytes(b"a,b\n" + b"1,2\n" * 100_000 + b"\xff,3\n"), "encoding"),
    ],
)
def test_what_cannot_be_read(tmp_path, make, message):
    path = tmp_path / "t.csv"
    make(path)
    with pytest.raises(InputError, match=message):
        list(open_files(path).chunks())


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv.gz"])
def test_files_of_another_kind(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"not what the name says")
    with pytest.raises(InputError, match="cannot be read"):
        list(open_files(path).chunks())


def test_a_truncated_parquet_file(tmp_path, table):
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        list(open_files(path).chunks())


def test_files_that_do_not_belong_together(tmp_path, table):
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.drop_columns(["b"]), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet has other columns .*lacking: b"):
        list(open_files(tmp_path).chunks())
    (tmp_path / "c.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="formats csv, parquet"):
        open_files(tmp_path)


def test_endings_nobody_knows(tmp_path):
    path = tmp_path / "t.xlsx"
    path.touch()
    with pytest.raises(InputError, match="none of the endings"):
        open_files(path)
    with pytest.raises(InputError, match="matches no file"):
        open_files(str(tmp_path / "*.parquet"))


def test_an_open_quote_in_a_large_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\n' + "1,2\n" * 100_000)
    with pytest.raises(InputError, match="never closed"):
        list(open_files(path).chunks())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tb\n1,275\tx\n935\ty\n", {"a": ["1,275", "935"], "b": ["x", "y"]}),
        ("a;b\n2.364,94;x\n1.275;y\n0,5;z\n", {"a": ["2364.94", "1275", "0.5"], "b": ["x", "y", "z"]}),
        ("a;b\n1,257e-07;x\n2,5;y\n", {"a": ["1.257e-07", "2.5"], "b": ["x", "y"]}),
        ("a,b\n 1, NA\n ,y\n", {"a": [" 1", None], "b": [None, "y"]}),
        ("a,b", {"a": [], "b": []}),
        (",a\n0,x\n1,y\n", {"a": ["x", "y"]}),
        ("a,b,\n1,x,\n2,y,\n", {"a": ["1", "2"], "b": ["x", "y"]}),
    ],
)
def test_csv_as_people_write_it(tmp_path, text, expected):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert rows(open_files(path)) == expected


def test_what_was_assumed_is_noted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("name\nprice €\n".encode("cp1252"))
    files = open_files(path)
    assert rows(files) == {"name": ["price €"]}
    assert any("read as cp1252" in note for note in files.notes)


def test_upper_case_endings_and_long_headers(tmp_path):
    names = [f"{'column' * 20}{number}" for number in range(2_500)]
    text = ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n"
    with gzip.open(tmp_path / "T.CSV.GZ", "wt") as file:
        file.write(text)
    (chunk,) = open_files(str(tmp_path / "T.CSV.GZ")).chunks()
    assert chunk.column_names == names


def test_globs_of_folders_and_row_numbers_of_pandas(tmp_path, table):
    (tmp_path / "one.parquet").mkdir()
    frame = table.to_pandas().set_index(np.arange(10)[::-1] % 5)
    frame.to_parquet(tmp_path / "one.parquet" / "part-0.parquet")
    pq.write_table(table, tmp_path / "two.parquet")
    files = open_files(str(tmp_path / "*.parquet"))
    assert rows(files)["a"] == [*range(10), *range(10)]
    assert any("__index_level_0__" in note for note in files.notes)


def test_types_that_few_functions_take(tmp_path):
    views = pa.table({"a": pa.array(["x", None], pa.string_view()), "b": pa.array([b"x", b"y"], pa.binary_view())})
    pa.feather.write_feather(views, tmp_path / "t.feather", compression="uncompressed")
    (chunk,) = open_files(str(tmp_path / "t.feather")).chunks()
    assert chunk.schema.types == [pa.string(), pa.binary()]


@pytest.mark.parametrize(
    "given", [{"separator": "ab"}, {"separator": "§"}, {"encoding": "base64"}, {"encoding": "no"}, {"decimal": ";"}]
)
def test_settings_that_make_no_sense(tmp_path, given):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match="expected one"):
        open_files(tmp_path / "t.csv", **given)


def test_names_that_no_file_can_have(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        open_files(str(tmp_path / ("x" * 300)))


def typed(files, **options):
    return pa.concat_tables(files.tables(**options)).to_pydict()


def test_csv_cells_become_what_they_look_like(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("n,code,c\n" + "1.5,007,x\n" * 30 + "?,010,y\nbroken,,1\n")
    files = open_files(path, missing=["?"])
    found = typed(files)
    assert found["n"][-3:] == [1.5, None, None]
    assert found["code"][-2:] == ["010", None]
    assert found["c"][-2:] == ["y", "1"]
    assert files.notes == ("Column 'n' has 1 cell(s) that are not numbers, such as 'broken': they count as missing.",)
    assert typed(open_files(path, numbers=["c"]))["c"][-2:] == [None, 1.0]
    drawn, n_rows = files.sample(10, np.random.default_rng(0))
    assert (len(drawn), n_rows) == (10, 32)
    assert drawn.schema.field("n").type == pa.float64()


def test_a_window_is_read_like_the_reference(tmp_path):
    reference, window = tmp_path / "reference.csv", tmp_path / "window.csv"
    reference.write_text("n,c\n" + "1.5,1\n2.5,2\n" * 30)
    window.write_text("n,c\nx,1.0\n2,2\n")
    detector = gd.DriftDetector(random_state=0, categories=["c"]).fit(open_files(reference).tables())
    files = open_files(window)
    assert typed(files, like=detector) == {"n": [None, 2.0], "c": ["1", "2"]}
    assert "'x'" in files.notes[0]
    assert detector.count(files.tables(like=detector)).n_rows == 2


def test_what_cannot_tell_how_to_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    for like in ("reference", gd.DriftDetector()):
        with pytest.raises(gd.errors.ParameterError, match=f"like is a {type(like).__name__}, expected a fitted"):
            list(open_files(path).tables(like=like))
    with pytest.raises(gd.errors.ParameterError, match="file_format is 'xlsx', expected one of 'csv', 'parquet'"):
        open_files(path, file_format="xlsx")


@pytest.fixture
def log_format(monkeypatch):
    def read_log(path, dialect, notes, limit):
        notes.add("Lines were counted.")
        mark, *lines = path.read_text().splitlines()
        if not lines:
            raise pa.ArrowInvalid(f"No line after {mark}")
        yield pa.table({"line": lines}), path.stat().st_size

    log = formats_module.FileFormat((".log",), read_log, first_bytes=(b"LOG",), advice={"No line": "Wait for one."})
    monkeypatch.setattr(formats_module, "FORMATS", {**formats_module.FORMATS, "log": log})
    monkeypatch.setattr(table_files_module, "FORMATS", formats_module.FORMATS)


@pytest.mark.usefixtures("log_format")
def test_another_format_is_one_more_entry(tmp_path):
    (tmp_path / "t.log").write_text("LOG\none\ntwo\n")
    for place in (tmp_path, fill_pipe(tmp_path / "pipe", b"LOG\none\ntwo\n")):
        files = open_files(place)
        assert typed(files) == {"line": ["one", "two"]}
        assert files.notes == ("Lines were counted.",)
        (tmp_path / "t.log").unlink(missing_ok=True)


@pytest.mark.usefixtures("log_format")
def test_the_errors_of_another_format(tmp_path):
    (tmp_path / "t.log").write_text("LOG\n")
    with pytest.raises(InputError, match=r"cannot be read as log: No line after LOG Wait for one\."):
        list(open_files(tmp_path / "t.log").tables())
    (tmp_path / "t.odd").touch()
    with pytest.raises(InputError, match=r"\.ipc, \.log\. Name its format: one of csv, parquet, feather, log\."):
        open_files(tmp_path / "t.odd")


def fill_pipe(path, data):
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    return path


def test_a_pipe_is_copied_to_be_read_as_often_as_needed(tmp_path, table):
    pq.write_table(table, tmp_path / "t.parquet")
    files = open_files(fill_pipe(tmp_path / "pipe.parquet", (tmp_path / "t.parquet").read_bytes()))
    assert rows(files) == rows(files) == table.to_pydict()
    (copy,) = files.paths
    del files
    gc.collect()
    assert not copy.exists()


def test_a_pipe_needs_room(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", refuse)
    with pytest.raises(StorageError, match=r"pipe\.csv can be read only once, .* No space left .* TMPDIR"):
        open_files(fill_pipe(tmp_path / "pipe.csv", b"a\n1\n"))
