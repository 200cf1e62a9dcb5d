"""Nothing is overwritten by accident, nothing that is printed commands a terminal, and exit codes say what happened."""

import os
import pty
import re
import subprocess
import sys

import pandas as pd
import pytest

import gapdrift as gd
from gapdrift.history import History
from tests.cli.test_in_process import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    for name, seed, drift in (("a", 0, False), ("b", 1, True)):
        pd.DataFrame(gd.datasets.stations(300, rng=seed, drift=drift)).to_csv(folder / f"{name}.csv", index=False)
    gd.DriftDetector(random_state=0).fit(folder / "a.csv").save(folder / "a.gapdrift")
    (folder / "days").mkdir()
    (folder / "days" / "1.csv").write_bytes((folder / "b.csv").read_bytes())
    (folder / "link.csv").symlink_to(folder / "a.csv")
    os.link(folder / "a.csv", folder / "hard.csv")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "a.csv", "b.csv", "--html", "a.csv"),
        ("compare", "a.csv", "b.csv", "--markdown", "link.csv"),
        ("compare", "a.csv", "b.csv", "--save", "hard.csv"),
        ("compare", "a.csv", "[b].csv", "--html", "days/../b.csv"),
        ("fit", "a.csv", "-o", "a.csv"),
        ("test", "a.gapdrift", "b.csv", "--save", "a.gapdrift"),
        ("monitor", "a.gapdrift", "days", "--window", "50", "--jsonl", "days/1.csv"),
        ("monitor", "a.gapdrift", "days", "--window", "50", "--jsonl", "days/2.csv"),
        ("monitor", "a.gapdrift", "days", "--window", "50", "--history", "a.gapdrift"),
        ("compare", "a.csv", "b.csv", "--html", "x", "--markdown", "x"),
    ],
)
def test_outputs_that_are_inputs_are_refused(folder, monkeypatch, capsys, command):
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert run(*command) == 1
    assert "--" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_history_is_a_path_whatever_it_looks_like(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("h?mode=memory", "h%20#1.db", "a:b.db", "ü .db"):
        assert run("monitor", folder / "a.gapdrift", folder / "days", "--window", 100, "--history", name) == 0
        assert (tmp_path / name).stat().st_size > 0
    capsys.readouterr()


def test_what_is_printed_commands_no_terminal(tmp_path, capsys):
    evil = "x\x1b[31mred\x07\u202e"
    table = pd.DataFrame({evil: [1.0, 2.0, 3.0] * 50, "c": [evil, "y", "z"] * 50})
    table.to_csv(tmp_path / "a.csv", index=False)
    table[evil] += 5
    table["c"] = "z"
    table.to_csv(tmp_path / "b.csv", index=False)
    assert run("fit", tmp_path / "a.csv", "-o", tmp_path / "d.gapdrift") == 0
    assert run("inspect", tmp_path / "d.gapdrift") == 0
    assert run("compare", tmp_path / "a.csv", tmp_path / "b.csv", "--markdown", tmp_path / "r.md") == 0
    window = ("--window", 50, "--history", tmp_path / "h.db")
    assert run("monitor", tmp_path / "d.gapdrift", tmp_path / "b.csv", *window) == 0
    assert run("history", tmp_path / "h.db") == 0
    assert run("test", tmp_path / "d.gapdrift", tmp_path / f"{evil}.csv") == 1
    printed = capsys.readouterr()
    assert "\\x1b[31mred" in printed.out
    result = gd.load(tmp_path / "d.gapdrift").test(tmp_path / "b.csv")
    for text in (printed.out, printed.err, result.summary(), (tmp_path / "r.md").read_text()):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


def on_terminal(*arguments, **environment):
    """Output of a command on a terminal."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "gapdrift", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=slave, stderr=slave, env={**os.environ, **environment})
    os.close(slave)
    output = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        output += data
    os.close(master)
    assert process.wait() == 0
    return output


@pytest.mark.parametrize(
    ("environment", "colour"),
    [({"TERM": "xterm", "NO_COLOR": ""}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colour_only_where_it_is_welcome(folder, environment, colour):
    output = on_terminal("test", folder / "a.gapdrift", folder / "b.csv", **environment)
    assert (b"\x1b[31m" in output) == colour
    if environment["TERM"] == "dumb":
        assert b"\x1b" not in output


def test_exit_codes(folder, tmp_path, capsys):
    reference = folder / "a.gapdrift"
    few = pd.read_csv(folder / "a.csv")[:5]
    few.to_csv(tmp_path / "few.csv", index=False)
    few[:0].to_csv(tmp_path / "empty.csv", index=False)
    (tmp_path / "nothing.csv").write_text("")
    assert run("test", reference, folder / "b.csv", "--fail-on-drift") == 3
    assert run("test", reference, tmp_path / "few.csv") == 0
    assert run("test", reference, tmp_path / "few.csv", "--fail-on-undetermined") == 4
    assert run("test", reference, tmp_path / "empty.csv") == 4
    assert run("test", reference, tmp_path / "nothing.csv") == 4
    assert run("compare", tmp_path / "nothing.csv", folder / "b.csv") == 1
    (tmp_path / "days").mkdir()
    monitor = ("monitor", reference, tmp_path / "days", "--window", 100, "--history", tmp_path / "h.db")
    (tmp_path / "days" / "1.csv").write_bytes((folder / "a.csv").read_bytes())
    assert run(*monitor) == 0
    (tmp_path / "days" / "2.csv").write_bytes((tmp_path / "empty.csv").read_bytes())
    assert run(*monitor) == 4
    assert run(*monitor) == 0
    (tmp_path / "days" / "3.csv").write_bytes((folder / "b.csv").read_bytes())
    assert run(*monitor, "--fail-on-drift") == 3
    assert "2.csv has no rows" in capsys.readouterr().out
    with History(tmp_path / "h.db") as history:
        assert sum(record["n_rows"] for record in history.windows()) == 600


def test_standard_input_serves_once(capsys):
    assert run("compare", "-", "-") == 1
    assert "standard input" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ("monitor", "a.gapdrift", "days", "--window", "50", "--history", ""),
        ("monitor", "a.gapdrift", "days", "--window", "50", "--webhook", ""),
        ("compare", "a.csv", "b.csv", "--html", ""),
        ("test", "", "b.csv"),
        ("fit", "a.csv", "-o", ""),
    ],
)
def test_an_empty_text_is_neither_a_folder_nor_left_out(folder, monkeypatch, capsys, command):
    monkeypatch.chdir(folder)
    assert run(*command) == 1
    assert "it is empty. Is a variable of your script unset?" in capsys.readouterr().err
