"""``gapdrift history`` and ``gapdrift serve`` as a user runs them."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest
from click.testing import CliRunner

from gapdrift.cli._app import app
from gapdrift.errors import GapdriftError
from tests.overview.conftest import history_file  # noqa: F401


def call(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)
    if isinstance(done.exception, GapdriftError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_the_table(history_file):  # noqa: F811
    shown = call("history", history_file)
    assert "sales <b>: 9 windows (6 calm, 1 warning, 2 drift)." in shown
    assert "Drift in the last 2 windows, since window 7." in shown
    assert "1 to 2  " in shown
    only = call("history", history_file, "--stream-name", "by time")
    assert "sales" not in only


def test_json_has_every_window(history_file):  # noqa: F811
    records = [json.loads(line) for line in call("history", history_file, "--json").splitlines()]
    assert [record["index"] for record in records if record["stream"] == "sales <b>"] == list(range(9))


def test_pages(history_file, tmp_path):  # noqa: F811
    assert "Written" in call("history", history_file, "--html", tmp_path / "page.html")
    assert "alarms.db, " in (tmp_path / "page.html").read_text()
    one = call("history", history_file, "--stream-name", "sales <b>", "--window", 8, "--html", tmp_path / "one.html")
    assert one.startswith("DRIFT")
    assert "sales &lt;b&gt;, window 8" in (tmp_path / "one.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--stream-name", "none"], "no stream 'none'; it has by time, sales <b>"),
        (["--window", "3"], "Choose one with --stream-name"),
        (["--stream-name", "by time", "--window", "9"], "has no window 9: it has 4 windows"),
    ],
)
def test_errors(history_file, arguments, words):  # noqa: F811
    with pytest.raises(GapdriftError, match=words):
        call("history", history_file, *arguments)


def test_no_history_is_made_by_looking(tmp_path):
    with pytest.raises(GapdriftError, match="There is no history"):
        call("history", tmp_path / "none.db")
    assert not list(tmp_path.iterdir())


def test_serve_answers_until_it_is_stopped(history_file):  # noqa: F811
    pytest.importorskip("fastapi")
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "gapdrift", "serve", str(history_file), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    try:
        address = server.stdout.readline().split(" at ")[1].split()[0]
        assert b"sales" in urllib.request.urlopen(address, timeout=30).read()
    finally:
        server.send_signal(signal.SIGINT)
        _, complaints = server.communicate(timeout=60)
    assert (server.returncode, complaints) == (0, "")
