"""What is read is what was meant: options kept with the reference, pipes, spellings, and a file against itself."""

import gzip
import os
import threading

import numpy as np
import pandas as pd
import pytest

import gapdrift as gd
from gapdrift import execution
from gapdrift.errors import InputError, ParameterError, StorageError
from gapdrift.files import Reading, open_files


def write(path, text):
    path.write_text(text)
    return path


def test_reading_options_are_kept_with_the_reference(tmp_path):
    rows = "".join(f"{row % 7},5;{'-200' if row % 3 else row % 5};x\n" for row in range(200))
    path = write(tmp_path / "t.csv", "a;b;c\n" + rows)
    options = {"separator": ";", "decimal": ",", "encoding": "latin-1", "missing": ["-200"], "numbers": ["c"]}
    files = open_files(path, **options)
    gd.DriftDetector(random_state=0).fit(files).save(tmp_path / "d.gapdrift")
    loaded = gd.load(tmp_path / "d.gapdrift")
    assert loaded.reading_ == files.reading
    assert gd.storage.describe(tmp_path / "d.gapdrift")["reading"] == options
    assert loaded.test(path).drift is False
    assert open_files(path, like=loaded, missing=["?"]).reading.missing == ("-200", "?")
    assert loaded.fit(np.zeros((100, 1))).reading_ == Reading()


def test_numbers_that_the_files_do_not_have_and_lists_that_are_texts(tmp_path):
    path = write(tmp_path / "t.csv", "a\n1\n")
    with pytest.raises(InputError, match="'b' were named as numbers"):
        open_files(path, numbers=["b"]).sample(5, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="missing is the text '-200'"):
        open_files(path, missing="-200")


def test_a_stored_format_that_makes_no_sense():
    with pytest.raises(StorageError):
        Reading(file_format="../x").check_stored()


@pytest.mark.parametrize("place", ["", " ", None, 3, "a\0b", b""])
def test_places_that_are_none(place):
    with pytest.raises(InputError, match="expected a file, a folder or a glob"):
        open_files(place)


def test_the_text_none_is_missing_and_counted(tmp_path):
    path = write(tmp_path / "t.csv", "a,b\n" + "None,1\nSome, None \n" * 50)
    files = open_files(path)
    cells = [cell for table in files.tables() for cell in table.column("a").to_pylist()]
    assert cells == [None, "Some"] * 50
    assert files.notes == (
        "Column 'a' has 50 cell(s) with the text None: they count as missing.",
        "Column 'b' has 50 cell(s) with the text None: they count as missing.",
    )


@pytest.mark.parametrize(("window", "drift"), [("v1.0", True), ("V1", True), ("v1", False)])
def test_a_version_with_a_point_is_another_one(tmp_path, window, drift):
    reference = write(tmp_path / "a.csv", "v\n" + "v1\nv2\n" * 100)
    detector = gd.DriftDetector(random_state=0).fit(reference)
    changed = write(tmp_path / "b.csv", "v\n" + f"{window}\nv2\n" * 100)
    assert detector.test(changed).drift is drift
    assert detector.test(pd.read_csv(changed)).drift is drift


@pytest.mark.parametrize("spelling", ["2.0", " 2", "+2", "2e0"])
def test_a_number_among_categories_may_be_spelled_otherwise(tmp_path, spelling):
    reference = write(tmp_path / "a.csv", "v\n" + "1a\n2\n" * 100)
    detector = gd.DriftDetector(random_state=0).fit(reference)
    assert detector.test(write(tmp_path / "b.csv", "v\n" + f"1a\n{spelling}\n" * 100)).drift is False


def feed(path, data):
    """Write into a pipe from beside, as another program does."""

    def write_all():
        with open(path, "wb") as pipe:  # noqa: PTH123
            pipe.write(data)

    threading.Thread(target=write_all, daemon=True).start()


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_pipes_are_recognised_by_their_first_bytes(tmp_path, kind):
    table = pd.DataFrame({"a": np.arange(50.0), "b": ["x", "y"] * 25})
    data = {
        "csv": table.to_csv(index=False).encode(),
        "csv.gz": gzip.compress(table.to_csv(index=False).encode()),
        "parquet": table.to_parquet(),
    }[kind]
    os.mkfifo(tmp_path / "pipe")
    feed(tmp_path / "pipe", data)
    files = open_files(tmp_path / "pipe")
    (copy,) = files.paths
    assert sum(len(chunk) for chunk in files.tables()) == 50
    assert sum(len(chunk) for chunk in files.tables()) == 50
    del files
    assert not copy.exists()


def test_devices_and_links_that_lead_nowhere(tmp_path):
    with pytest.raises(InputError, match="/dev/zero is a device"):
        open_files("/dev/zero")
    (tmp_path / "link.csv").symlink_to(tmp_path / "gone.csv")
    for place in (tmp_path / "link.csv", tmp_path, tmp_path / "*.csv"):
        with pytest.raises(InputError, match=r"link to .*gone\.csv, which does not exist"):
            open_files(place)
    (tmp_path / "circle.csv").symlink_to(tmp_path / "circle.csv")
    with pytest.raises(InputError, match="circle"):
        open_files(tmp_path / "circle.csv")


def test_chunks_of_an_iterator_are_matched_by_name():
    table = pd.DataFrame(gd.datasets.stations(400, rng=0))
    detector = gd.DriftDetector(random_state=0).fit(table)
    turned = table[table.columns[::-1]]
    assert detector.test(iter([table[:200], turned[200:]])).p_value == detector.test(table).p_value
    for other in (table.assign(new=1), table.drop(columns="wind"), table.to_numpy()):
        with pytest.raises(InputError, match="other columns than the tables before it"):
            detector.test(iter([table[:200], other[200:]]))
        with pytest.raises(InputError, match="other columns than the tables before it"):
            gd.DriftDetector(random_state=0).fit(iter([table[:200], other[200:]]))


@pytest.mark.parametrize("n_learned", [50, 20_000])
@pytest.mark.parametrize(
    "column",
    [
        lambda rng, row: ["1", "1.0", "01", " 1", "true", "True", "TRUE", "x"][rng.integers(8)],
        lambda rng, row: (f"{row % 300}.0" if row % 2 else str(row % 300)) if row % 10 else f"w{row % 300}",
        lambda rng, row: "a" if row >= 11 else f"z{row}",
        lambda rng, row: "x" if rng.random() < 0.02 else "",
        lambda rng, row: ["None", "x", "NA", "null", " NA "][rng.integers(5)],
    ],
)
def test_a_file_compared_with_itself_does_not_drift(tmp_path, monkeypatch, column, n_learned):
    monkeypatch.setattr(execution, "MAX_LEARNED", n_learned)
    rng = np.random.default_rng(0)
    rows = [f"{column(rng, row)},{rng.integers(5)}\n" for row in range(600)]
    path = write(tmp_path / "t.csv", "c,n\n" + "".join(rows))
    detector = gd.DriftDetector(random_state=0).fit(path)
    assert detector.test(path).p_value > 0.5
