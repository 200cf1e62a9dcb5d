"""The command line called from Python: the same exit codes and words, without a process of its own."""

import json
import subprocess
import sys

import numpy as np
import pytest

from gapdrift.cli import main
from gapdrift.datasets import stations


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return left.value.code


@pytest.fixture
def files(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    for name, seed, drift in (("reference", 0, False), ("calm", 1, False), ("drifted", 2, True)):
        table = stations(400, seed, drift=drift)
        columns = {
            key: pa.array(
                [None if value is None or value != value else value for value in np.asarray(column, dtype=object)]
            )
            for key, column in table.items()
        }
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    return tmp_path


def test_compare_tells_drift_and_leaves_with_3_where_asked(files, capsys):
    paths = files / "reference.parquet", files / "drifted.parquet"
    assert run("compare", *paths, "--seed", 0) == 0
    assert "drift" in capsys.readouterr().out.lower()
    assert run("compare", *paths, "--seed", 0, "--fail-on-drift") == 3
    assert run("compare", files / "reference.parquet", files / "calm.parquet", "--fail-on-drift") == 0


def test_fit_inspect_and_test(files, capsys):
    model = files / "model.gapdrift"
    assert run("fit", files / "reference.parquet", "--output", model) == 0
    assert run("inspect", model) == 0
    capsys.readouterr()
    assert run("test", model, files / "drifted.parquet", "--json") == 0
    assert json.loads(capsys.readouterr().out)["drift"] is True


def test_errors_are_one_sentence(files, capsys):
    assert run("compare", files / "absent.parquet", files / "calm.parquet") == 1
    assert capsys.readouterr().err.startswith("gapdrift: error: ")
    assert run("compare", "--no-such-option") == 1
    assert "Try 'gapdrift compare --help'." in capsys.readouterr().err


def test_stopped_while_it_starts_it_says_so(monkeypatch, capsys):
    class Impatient:
        def find_spec(self, name, *_):
            if name == "gapdrift.cli._app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "gapdrift.cli._app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Impatient(), *sys.meta_path])
    assert run("--help") == 1
    assert capsys.readouterr().err == "gapdrift: error: Stopped.\n"


def test_an_interrupt_of_an_import_ends_the_command_with_its_message_and_code(tmp_path):
    """Dataclasses are made by the exec of a text; an interrupt inside one makes Python end by a bare signal."""
    (tmp_path / "start.py").write_text(
        "import sys\n"
        "class Impatient:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'gapdrift.cli._options':\n"
        "            exec('raise KeyboardInterrupt')\n"
        "sys.meta_path.insert(0, Impatient())\n"
        "from gapdrift.cli import main\n"
        "main(['--help'])\n"
    )
    command = [sys.executable, "-m", "start"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "gapdrift: error: Stopped.\n")
