"""Rows are counted here and only evidence is sent, to a service that really listens."""

import json
import os
import subprocess
import sys
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

import gapdrift as gd
from gapdrift.errors import GapdriftError, InputError, ParameterError, ServiceError
from gapdrift.storage import dumps
from tests.stream_rows import START, detector, part, rows, timed


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Address of a service without sign-in, with its token for forms, in a process of its own."""
    pytest.importorskip("fastapi")
    folder = tmp_path_factory.mktemp("served")
    code = (
        "import sys\n"
        "from gapdrift.service.app import make_app\n"
        "from gapdrift.service.access import create_token\n"
        "from gapdrift.service.monitors import create_project\n"
        "from gapdrift.service.run import serve\n"
        "from gapdrift.service.state import Options\n"
        "app = make_app(Options(sys.argv[1]))\n"
        "def job(c): return create_token(c, create_project(c, 'own', 'Own', 'test'), 'a', 'editor', 'test')[1]\n"
        "token = app.state.service.write(job)\n"
        "serve(app, '127.0.0.1', 0, lambda address: print(address, token, flush=True))\n"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", code, str(folder / "service.db")],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    url, token = server.stdout.readline().split()
    yield url, token
    server.terminate()
    assert server.wait(timeout=60) in {0, -15}
    server.stdout.close()


@pytest.fixture
def client(served):
    return gd.client.Client(served[0], "own", served[1], backoff=0.01)


def test_rows_become_the_windows_of_a_local_monitor(client):
    client.create_monitor("rows", detector(), window=50)
    table = rows(130, 1)
    local = gd.Monitor(detector(), 50).advance(table)
    found = client.push("rows", part(table, 0, 20)) + client.push("rows", part(table, 20, 130), detector=detector())
    assert [(w["number"], w["zone"], w["n_rows"]) for w in found] == [(w.index, w.zone, w.n_rows) for w in local]
    assert all(abs(a["p_value"] - b.p_value) <= 1e-12 for a, b in zip(found, local, strict=True))
    assert client.monitor("rows")["room"] == 20


def test_clients_side_by_side_share_the_windows(client):
    client.create_monitor("shared", detector(), window=30)
    threads = [threading.Thread(target=client.push, args=("shared", rows(70, seed))) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    facts = client.monitor("shared")
    assert (facts["position"], facts["n_windows"], facts["room"]) == (210, 7, 30)


def test_windows_of_time(client):
    client.create_monitor("times", detector(), window="1min", time_column="time", lateness="5s")
    found = client.push("times", timed(200, 3))
    assert [w["n_rows"] for w in found] == [60, 60, 60]
    late = client.push("times", detector().count(rows(5, 1)), times=(START, START + timedelta(seconds=1)))
    assert late == []
    with pytest.raises(InputError, match="have no time"):
        client.push("times", {**timed(3, 1), "time": [None, START, START]})


def test_one_call(served, tmp_path):
    url, token = served
    client = gd.client.Client(url, "own", token)
    client.create_monitor("once", detector(), window=50)
    (window,) = gd.client.push(rows(50, 2), url, "own", "once", token=token)
    assert window["zone"] == "calm"
    again = client.push_file("once", json.dumps([{"x": 1.0, "y": None, "c": "red"}]).encode(), "application/json")
    assert again == []


def test_the_command(served, tmp_path):
    from click.testing import CliRunner

    from gapdrift.cli._app import app

    pd = pytest.importorskip("pandas")
    url, token = served
    gd.client.Client(url, "own", token).create_monitor("files", detector(), window=50)
    pd.DataFrame(rows(60, 5)).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame(rows(40, 6, shift=3.0)).to_csv(tmp_path / "b.csv", index=False)
    gd.save(detector().count(rows(50, 7, shift=3.0)), tmp_path / "c.gapdrift")

    def run(*more):
        return CliRunner().invoke(app, ["push", url, "own", "files", *map(str, more)], env={"GAPDRIFT_TOKEN": token})

    first = run(tmp_path / "a.parquet")
    assert first.output == "window 0: calm, p = " + first.output[len("window 0: calm, p = ") :]
    assert "1 window(s) decided." in first.output
    assert run(tmp_path / "b.csv", "--rows", "--fail-on-drift").exit_code == 3
    assert run(tmp_path / "c.gapdrift", "--fail-on-drift").exit_code == 3
    assert isinstance(run(tmp_path / "d.txt", "--rows").exception, GapdriftError)


@pytest.mark.parametrize(
    ("project", "monitor", "token", "words"),
    [
        ("own", "absent", None, "answered 404: The project has no monitor 'absent'."),
        ("none", "rows", None, "answered 404: There is no such project."),
        ("own", "rows", "wrong", "answered 401: Sign in"),
        ("own", "rows", "wro\nng", "not valid"),
    ],
)
def test_refusals_are_told(served, project, monitor, token, words):
    client = gd.client.Client(served[0], project, token or served[1])
    with pytest.raises(ServiceError, match=words):
        client.push(monitor, rows(5, 1))


def test_monitors_with_keys_need_rows(client):
    client.create_monitor("keys", detector(), window=50, key_column="id")
    with pytest.raises(InputError, match="has a key column"):
        client.push("keys", {**rows(5, 1), "id": np.arange(5)})


def test_nobody_there():
    client = gd.client.Client("http://127.0.0.1:9", "own", retries=1, backoff=0.0)
    with pytest.raises(ServiceError, match="could not be reached") as caught:
        client.monitor("a")
    assert caught.value.code is None
    for url in ("drift.example.org", "ftp://x", 3):
        with pytest.raises(ParameterError, match="http"):
            gd.client.Client(url, "own")


def test_a_busy_or_foreign_server():
    answers = [
        (503, b"no"),
        (200, b"<html>"),
        (200, b'{"reference_version": 1}'),
        (200, dumps(detector().count(rows(5, 1)))),
    ]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            code, body = answers.pop(0)
            self.send_response(code)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        client = gd.client.Client(f"http://127.0.0.1:{server.server_port}", "own", backoff=0.0)
        with pytest.raises(ServiceError, match="sent no JSON"):
            client.monitor("a")
        with pytest.raises(ServiceError, match="expected a fitted detector"):
            client.reference("a")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert answers == []
