"""Every alarm is delivered once or reported as parked, whatever the server does, and the stream never waits for it."""

import json
import socket
import sqlite3
import threading
import time
from collections import Counter
from contextlib import suppress

import pytest

import gapdrift as gd
from gapdrift.errors import RefusedError, SinkError
from gapdrift.history import History
from gapdrift.sinks import Webhook, shorten_record
from gapdrift.streaming import run_monitor
from tests.stream_rows import cut, detector, rows

REFUSALS = (400, 413, 422)
WAYS = (*REFUSALS, 429, 500, 503, 301, 401, 404, "hang", "drip", "cut", "garbage")
"""Ways in which a server fails. The first three refuse a record for good."""


class BadServer:
    """A server that fails twice at each record, in a way of its own, and then accepts it unless it refuses for good."""

    def __init__(self):
        self.accepted, self.asked = Counter(), Counter()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/hook"
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self):
        self._socket.close()

    def way_of(self, key):
        return WAYS[int(key.rsplit("/")[-1]) % len(WAYS)]

    def _listen(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection):
        # A client that has given up leaves a broken connection behind.
        with connection, suppress(OSError, ValueError):
            file = connection.makefile("rb")
            length = 0
            while line := file.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            key = json.loads(file.read(length))["id"]
            way = self.way_of(key)
            self.asked[key] += 1
            if way not in REFUSALS and self.asked[key] > 2:
                self.accepted[key] += 1
                way = 200
            self._fail(connection, way)

    @staticmethod
    def _fail(connection, way):
        if way == "hang":
            time.sleep(1.0)
        elif way == "drip":
            for letter in b"HTTP/1.1 200":
                connection.sendall(bytes([letter]))
                time.sleep(0.1)
        elif way == "garbage":
            connection.sendall(b"\x00\xff what?\r\n\r\n")
        elif way != "cut":
            connection.sendall(f"HTTP/1.1 {way} X\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n".encode())


@pytest.fixture
def server():
    server = BadServer()
    yield server
    server.close()


def test_every_alarm_is_delivered_once_or_parked(server, tmp_path):
    n_windows = len(WAYS)
    stream = rows(40 * n_windows, 1, shift=3.0)
    parked = []
    for run in range(30):
        # The windows come with the first run; the later ones send what still waits.
        pieces = cut(stream, range(40, 40 * n_windows, 40)) if run == 0 else []
        sink = Webhook(server.url, timeout=0.3, retries=1, backoff=0.0)
        monitor = gd.Monitor(detector(), 40)
        with History(tmp_path / "history.db") as history:
            summary = run_monitor(monitor, lambda _, pieces=pieces: pieces, history=history, sinks=[sink])
        parked += summary.parked.get("webhook", ())
        if not summary.undelivered:
            break
    assert not summary.undelivered
    ids = [f"default/{index}" for index in range(n_windows)]
    refused = [key for key in ids if server.way_of(key) in REFUSALS]
    assert server.accepted == Counter(key for key in ids if key not in refused)
    assert [note.split(":")[0] for note in parked] == [
        f"Sink 'webhook' refused window {key.rsplit('/')[-1]}" for key in refused
    ]
    with sqlite3.connect(tmp_path / "history.db") as connection:
        found = connection.execute("select window_index, reason from gapdrift_parked order by window_index").fetchall()
    connection.close()
    assert [f"default/{index}" for index, _ in found] == refused
    assert "answered 400" in found[0][1]


def test_a_sink_that_hangs_costs_the_stream_nothing():
    all_decided, seen = threading.Event(), []

    class Slow:
        name = "slow"
        got = ()

        def emit(self, record):
            # It lets go only when all windows were decided, which never happens if the stream waits for it.
            assert all_decided.wait(30)
            self.got = (*self.got, record["index"])

        def close(self):
            self.closed_in = threading.current_thread().name

    def note(window):
        seen.append(window.index)
        if len(seen) == 5:
            all_decided.set()

    sink = Slow()
    pieces = cut(rows(200, 1), [40, 80, 120, 160])
    summary = run_monitor(gd.Monitor(detector(), 40), pieces, sinks=[sink], on_window=note)
    assert seen == [0, 1, 2, 3, 4]
    assert sink.got == (0, 1, 2, 3, 4)
    assert sink.closed_in == "gapdrift-slow"
    assert summary.undelivered == {}


def test_windows_decided_before_an_error_are_delivered():
    class Fine:
        name = "fine"
        got = 0

        def emit(self, record):
            self.got += 1

        def close(self):
            pass

    def broken():
        yield rows(90, 1)
        raise OSError("gone")

    sink = Fine()
    with pytest.raises(OSError, match="gone"):
        run_monitor(gd.Monitor(detector(), 40), broken(), sinks=[sink])
    assert sink.got == 2


def test_the_time_out_is_that_of_the_whole_request(server):
    sink = Webhook(server.url, timeout=0.3, retries=0)
    drip = WAYS.index("drip")
    with pytest.raises(SinkError, match=r"gave no answer in 0\.3 s"):
        sink.emit({"id": f"x/{drip}", "zone": "drift"})


@pytest.mark.parametrize("way", WAYS)
def test_only_answers_about_the_record_refuse_it(server, way):
    sink = Webhook(server.url, timeout=0.3, retries=0)
    with pytest.raises(SinkError) as caught:
        sink.emit({"id": f"x/{WAYS.index(way)}", "zone": "drift"})
    assert isinstance(caught.value, RefusedError) == (way in REFUSALS)


@pytest.mark.parametrize("n_columns", [5, 300, 3000])
def test_records_stay_below_64_kilobytes(n_columns):
    columns = [
        {"name": f"column {n}", "adjusted_p_value": 1 - n / n_columns, "histogram": {"counts": [0] * 50}}
        for n in range(n_columns)
    ]
    result = {"features": columns, "bins": [{}] * 30, "p_value": 0.01, "warnings": ["x" * 20]}
    record = {"id": "sales/7", "zone": "drift", "result": result}
    short = shorten_record(record, 65_536)
    assert len(json.dumps(short)) <= 65_536
    assert short["id"] == "sales/7"
    assert ("shortened" in short) == (n_columns > 5)
    if "shortened" in short:
        assert short["result"]["features"][0]["name"] == f"column {n_columns - 1}"
        assert short["result"]["n_columns"] == n_columns


def test_a_record_whose_notes_are_too_long_keeps_its_head():
    record = {"id": "sales/7", "zone": "drift", "p_value": 0.5, "result": {"warnings": ["x" * 10_000], "features": []}}
    short = shorten_record(record, 4_096)
    assert (short["id"], short["zone"], short["p_value"], short["result"]) == ("sales/7", "drift", 0.5, None)
