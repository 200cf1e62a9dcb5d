"""The command line as a user runs it: processes, real files, exit codes."""

import gzip
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gapdrift as gd
from tests.forks import run_command as run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of a reference, of a window like it, and of a window that drifted."""
    folder = tmp_path_factory.mktemp("files")
    for name, seed, drift in (("reference", 0, False), ("same", 1, False), ("moved", 2, True)):
        frame = pd.DataFrame(gd.datasets.stations(1_000, rng=seed, drift=drift))
        frame.to_parquet(folder / f"{name}.parquet")
        frame.to_csv(folder / f"{name}.csv", index=False)
        frame.to_csv(folder / f"{name}.csv.gz", index=False, sep=";", decimal=",")
        frame.to_feather(folder / f"{name}.feather")
    for number, part in enumerate(np.array_split(np.arange(1_000), 3)):
        (folder / "parts").mkdir(exist_ok=True)
        frame.iloc[part].to_parquet(folder / "parts" / f"{number}.parquet")
    return folder


@pytest.fixture(scope="module")
def saved(folder):
    path = folder / "reference.gapdrift"
    done = run("fit", folder / "reference.parquet", "-o", path)
    assert done.returncode == 0
    assert "1,000 rows, 5 columns" in done.stdout
    return path


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "feather"])
def test_every_format_gives_the_same_answer(folder, ending):
    done = run("compare", folder / f"reference.{ending}", folder / "moved.parquet", "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    found = json.loads(done.stdout)
    direct = gd.DriftDetector(random_state=0).fit(pd.read_parquet(folder / "reference.parquet"))
    expected = direct.test(pd.read_parquet(folder / "moved.parquet"))
    assert found["drift"] is True
    assert found["p_value"] == pytest.approx(expected.p_value, rel=1e-6)
    assert found["sources"] == {
        "reference": str(folder / f"reference.{ending}"),
        "window": str(folder / "moved.parquet"),
    }


def test_exit_codes(folder, saved):
    moved, same = folder / "moved.parquet", folder / "same.parquet"
    assert run("test", saved, moved).returncode == 0
    assert run("test", saved, moved, "--fail-on-drift").returncode == 3
    assert run("test", saved, same, "--fail-on-drift").returncode == 0
    assert run("compare", folder / "reference.csv", moved, "--fail-on-drift").returncode == 3
    assert run("compare", folder / "nothing.csv", moved).returncode == 1
    assert run("compare").returncode == 1
    assert run("nonsense").returncode == 1
    assert run("test", saved, same, "--alpha", "7").returncode == 1


def test_folders_and_globs(folder, saved):
    whole = json.loads(run("test", saved, folder / "moved.parquet", "--json").stdout)
    for place in (folder / "parts", folder / "parts" / "*.parquet"):
        parts = json.loads(run("test", saved, place, "--json").stdout)
        assert parts["n_window"] == 1_000
        assert parts["p_value"] == pytest.approx(whole["p_value"], rel=1e-6)


def test_people_get_sentences_without_colour_in_a_pipe(folder, saved):
    done = run("test", saved, folder / "moved.parquet")
    assert done.stdout.startswith("DRIFT: ")
    assert "humidity" in done.stdout
    assert "\x1b[" not in done.stdout + done.stderr


def test_a_terminal_gets_colour_and_progress(folder, saved):
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gapdrift", "test", str(saved), str(folder / "moved.csv")],
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm-256color", "OMP_NUM_THREADS": "1"},
    )
    os.close(follower)
    output = b""
    while True:
        try:
            piece = os.read(leader, 65_536)
        except OSError:
            break
        if not piece:
            break
        output += piece
    os.close(leader)
    assert process.wait() == 0
    assert b"Reading the window" in output
    assert b"\x1b[31m" in output


def test_reports_are_written(folder, saved, tmp_path):
    page, text, result = tmp_path / "r.html", tmp_path / "r.md", tmp_path / "r.gapdrift"
    done = run("test", saved, folder / "moved.csv", "--html", page, "--markdown", text, "--save", result)
    assert done.returncode == 0
    assert f"Written: {page}" in done.stdout
    assert "<html" in page.read_text()
    assert str(folder / "moved.csv") in page.read_text()
    assert "humidity" in text.read_text()
    assert gd.load(result).drift is True
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.gapdrift", "r.html", "r.md"]


def test_a_report_that_cannot_be_written(folder, saved, tmp_path):
    done = run("test", saved, folder / "moved.csv", "--html", tmp_path / "no" / "r.html")
    assert done.returncode == 1
    assert "Cannot write" in done.stderr


def test_stored_evidence_is_a_window_too(folder, saved, tmp_path):
    detector = gd.load(saved)
    gd.save(detector.count(pd.read_parquet(folder / "moved.parquet")), tmp_path / "e.gapdrift")
    found = json.loads(run("test", saved, tmp_path / "e.gapdrift", "--json").stdout)
    assert found["drift"] is True
    wrong = run("test", saved, saved)
    assert wrong.returncode == 1
    assert "expected evidence or a table" in wrong.stderr


def test_inspect(saved):
    text = run("inspect", saved).stdout
    assert "DriftDetector" in text
    assert "humidity" in text
    assert "sky: category with 3 categories" in text
    assert isinstance(json.loads(run("inspect", saved, "--json").stdout), dict)
    done = run("inspect", __file__)
    assert done.returncode == 1
    assert "gapdrift" in done.stderr


def test_overrides(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": rng.permutation(400),
            "shop": rng.integers(1, 5, 400),
            "size": np.where(rng.random(400) < 0.3, -200.0, rng.normal(size=400)),
            "spoilt": np.where(rng.random(400) < 0.05, "broken", "1.5"),
            "sold": rng.integers(0, 2, 400),
        }
    )
    frame.iloc[:200].to_csv(tmp_path / "a.csv", index=False)
    frame.iloc[200:].to_csv(tmp_path / "b.csv", index=False)
    options = ["--missing", -200, "--ignore", "id", "--category", "shop", "--number", "spoilt", "--target", "sold"]
    done = run("compare", tmp_path / "a.csv", tmp_path / "b.csv", *options, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    features = {feature["name"]: feature for feature in found["features"]}
    assert set(features) == {"shop", "size", "spoilt", "sold"}
    assert sorted(features["shop"]["histogram"]["labels"]) == ["1", "2", "3", "4"]
    assert features["size"]["missing_reference"] == pytest.approx((frame["size"][:200] == -200).mean())
    assert any("not numbers, such as 'broken'" in note for note in found["warnings"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ignore", "nope"], "ignore names the column"),
        (["--number", "nope"], "were named as numbers, which the files do not have"),
        (["--separator", "ab"], "expected one ASCII character"),
        (["--format", "parquet"], "cannot be read as parquet"),
        (["--detector", "mdlfwf", "--min-effect", "0.1"], "--min-effect"),
    ],
)
def test_errors_say_what_to_do(folder, arguments, message):
    done = run("compare", folder / "reference.csv", folder / "same.csv", *arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert message in done.stderr


def test_a_column_that_came_in_empty(folder, saved, tmp_path):
    frame = pd.read_parquet(folder / "same.parquet").assign(wind=None)
    for name in ("w.csv", "w.parquet"):
        (frame.to_csv if name.endswith("csv") else frame.to_parquet)(tmp_path / name, index=False)
        found = json.loads(run("test", saved, tmp_path / name, "--json").stdout)
        assert found["drift"] is True
        assert found["values"]["p_value"] > 0.001
        wind = next(feature for feature in found["features"] if feature["name"] == "wind")
        assert wind["missing_window"] == 1.0


def test_a_window_without_rows_or_without_a_column(folder, saved, tmp_path):
    (tmp_path / "empty.csv").write_text("temperature,humidity,pressure,wind,sky\n")
    done = run("test", saved, tmp_path / "empty.csv", "--fail-on-drift")
    assert done.returncode == 4
    assert done.stdout.startswith("UNDETERMINED")
    (tmp_path / "few.csv").write_text("temperature,humidity,pressure,wind,sky\n" + "1,2,3,4,x\n" * 5)
    assert run("test", saved, tmp_path / "few.csv").returncode == 0
    assert run("test", saved, tmp_path / "few.csv", "--fail-on-undetermined").returncode == 4
    (tmp_path / "less.csv").write_text("temperature,humidity\n1,2\n")
    done = run("test", saved, tmp_path / "less.csv")
    assert done.returncode == 1
    assert "lacks the column" in done.stderr


def test_a_large_reference_is_drawn_from(folder):
    done = run("compare", folder / "reference.csv", folder / "same.csv", "--reference-rows", "300")
    assert (
        "The reference has 1,000 rows: 300 of them, drawn at random, were learned from, all are compared."
        in done.stdout
    )


def test_all_rows_of_a_pipe_are_compared(folder, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    writer = subprocess.Popen(["sh", "-c", 'cat "$0" > "$1"', folder / "reference.csv", tmp_path / "pipe.csv"])
    options = (folder / "same.csv", "--reference-rows", "300", "--json")
    found, expected = (
        json.loads(run("compare", place, *options).stdout)
        for place in (tmp_path / "pipe.csv", folder / "reference.csv")
    )
    assert writer.wait() == 0
    assert found["n_reference"] == 1_000
    assert found["p_value"] == expected["p_value"]


def test_help_has_examples_and_loads_nothing_large():
    done = run("--help")
    assert "gapdrift compare january.parquet february.parquet" in done.stdout
    for command in ("compare", "fit", "test", "monitor", "inspect", "demo", "completion"):
        assert command in done.stdout
        assert "Examples:" in run(command, "--help").stdout
    code = (
        "import sys\nfrom gapdrift.cli import _app\n"
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'pandas', 'pyarrow', 'rich') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_version_and_completion():
    done = subprocess.run([sys.executable, "-m", "gapdrift", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == run("--version").stdout == f"gapdrift {gd.__version__}\n"
    for shell in ("bash", "zsh", "fish"):
        assert "_GAPDRIFT_COMPLETE" in run("completion", shell).stdout


def test_a_reader_that_leaves(folder, saved):
    command = f"{sys.executable} -m gapdrift test {saved} {folder / 'moved.csv'} --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "{\n"
    assert done.stderr == ""


def test_demo(tmp_path):
    done = run("demo", "--windows", "4", cwd=tmp_path)
    assert done.returncode == 0
    assert "gapdrift: values" in done.stdout
    assert "DRIFT" in done.stdout
    assert (tmp_path / "gapdrift-demo.html").stat().st_size < 1_000_000


def test_completions_of_the_shell():
    done = run("", _GAPDRIFT_COMPLETE="bash_complete", COMP_WORDS="gapdrift com", COMP_CWORD="1")
    assert "compare" in done.stdout


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["air_quality_uci", "weather_aus", "titanic"])
def test_real_tables_need_no_option(real_data, name, tmp_path):
    frame = pd.read_parquet(real_data / name / f"{name}.parquet")
    frame = frame.iloc[:: max(len(frame) // 5_000, 1)]
    half = len(frame) // 2
    frame.iloc[:half].to_parquet(tmp_path / "a.parquet")
    frame.iloc[half:].to_parquet(tmp_path / "b.parquet")
    done = run("compare", tmp_path / "a.parquet", tmp_path / "b.parquet", "--html", tmp_path / "r.html")
    assert done.returncode == 0
    assert done.stdout.startswith("DRIFT")
    assert Path(tmp_path / "r.html").stat().st_size < 1_000_000


def test_gzip_of_something_else(tmp_path, saved):
    with gzip.open(tmp_path / "x.csv.gz", "wb") as file:
        file.write(b"\x00\x01\x02")
    done = run("test", saved, tmp_path / "x.csv.gz")
    assert done.returncode == 1
    assert "zero bytes" in done.stderr


def test_without_the_extra_it_says_what_to_install():
    code = "import sys; sys.modules['click'] = None; from gapdrift.cli import main; main(['--help'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    words = "The command line needs click: pip install '.[cli]' in gapdrift's source folder."
    assert done.stderr == f"gapdrift: error: {words}\n"


def test_outputs_that_are_no_files_are_written_into(folder, saved, tmp_path):
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    assert run("test", saved, folder / "moved.csv", "--html", tmp_path / "link.html").returncode == 0
    assert (tmp_path / "link.html").is_symlink()
    assert "<html" in (tmp_path / "real.html").read_text()
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE, text=True)
    assert run("test", saved, folder / "moved.csv", "--markdown", tmp_path / "pipe").returncode == 0
    assert "humidity" in reader.communicate(timeout=20)[0]
    assert (tmp_path / "pipe").is_fifo()
