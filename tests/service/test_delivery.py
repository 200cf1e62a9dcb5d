"""Alarms sent elsewhere: once each, again after a failure, never to private addresses unless asked."""

import json
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

pytest.importorskip("fastapi")

from gapdrift.errors import ParameterError, SinkError
from gapdrift.service import delivery
from gapdrift.service.delivery import Courier, check_public, describe_sink, make_sink
from tests.stream_rows import detector, rows

SINKS = "/api/v1/projects/own/sinks"


@contextmanager
def receiver(codes):
    """Server that answers with these codes, then 200; yields its address and what it got."""
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(codes.pop(0) if codes else 200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/secret", got
    server.shutdown()
    thread.join()
    server.server_close()


def deliver(house, *, private=True):
    Courier(house.service.database, private=private).deliver_some()


@pytest.fixture
def still(full_house):
    """A house whose own courier rests, so that deliveries are made when the test says so."""
    full_house.service.courier.stop()
    return full_house


def test_alarms_reach_webhooks_and_slack_after_failures(still):
    with receiver([500, 200]) as (url, got):
        for kind in ("webhook", "slack"):
            new = {"name": kind, "kind": kind, "settings": {"url": url}}
            assert still.call("admin", "POST", SINKS, json=new).status_code == 201
        still.push(detector().count(rows(50, 60, shift=2.0)))
        deliver(still)
        waiting = still.call("admin", "GET", SINKS).json()
        assert [one["pending"] for one in waiting] == [1, 0]
        assert "answered 500" in waiting[0]["reason"]
        assert "secret" not in json.dumps(waiting)
        with still.service.database.write() as connection:
            connection.exec_driver_sql("UPDATE service_deliveries SET next_try = 0")
        deliver(still)
        deliver(still)
    assert [one["pending"] for one in still.call("admin", "GET", SINKS).json()] == [0, 0]
    first, slack, again = got
    assert first == again
    assert (first["id"], first["zone"]) == ("own/orders/8", "drift")
    assert "result" not in first
    assert slack["text"].startswith("Drift in own/orders, window 8: p < 1e-9.")


def test_a_delivery_is_given_up_and_shown(still, monkeypatch):
    monkeypatch.setattr(delivery, "MAX_ATTEMPTS", 1)
    new = {"name": "gone", "kind": "webhook", "settings": {"url": "http://127.0.0.1:9/x"}}
    still.call("admin", "POST", SINKS, json=new)
    still.push(detector().count(rows(50, 60, shift=2.0)))
    deliver(still)
    (sink,) = still.call("admin", "GET", SINKS).json()
    assert (sink["pending"], sink["failed"]) == (0, 1)
    assert 'gapdrift_service_undelivered{project="own",state="failed"} 1' in still.call("token", "GET", "/metrics").text
    assert still.call("admin", "DELETE", f"{SINKS}/{sink['id']}").status_code == 204


def test_private_addresses_are_refused(still):
    new = {"name": "inside", "kind": "webhook", "settings": {"url": "http://127.0.0.1:9/x"}}
    still.call("admin", "POST", SINKS, json=new)
    still.push(detector().count(rows(50, 60, shift=2.0)))
    deliver(still, private=False)
    assert "private network" in still.call("admin", "GET", SINKS).json()[0]["reason"]
    for host in ("127.0.0.1", "localhost", "10.1.2.3", "169.254.169.254", "::1", "[::1]", "no-such-host.invalid"):
        with pytest.raises(SinkError):
            check_public(host)
    check_public("1.1.1.1")


def test_e_mail():
    got = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            self.wfile.write(b"220 here\r\n")
            reading = False
            for line in self.rfile:
                if reading:
                    got.append(line.decode())
                    reading = line != b".\r\n"
                    answer = b"" if reading else b"250 taken\r\n"
                elif line.lower().startswith(b"data"):
                    reading, answer = True, b"354 go on\r\n"
                else:
                    answer = b"221 bye\r\n" if line.lower().startswith(b"quit") else b"250 fine\r\n"
                self.wfile.write(answer)

    server = socketserver.TCPServer(("127.0.0.1", 0), Handler)
    server.timeout = 30
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    settings = {"host": "127.0.0.1", "port": server.server_address[1], "sender": "a@x.org", "recipient": "b@x.org"}
    sink = make_sink("email", settings)
    record = {"id": "own/orders/8", "project": "own", "stream": "orders", "zone": "drift", "index": 8}
    sink.emit({**record, "p_value": 1e-12, "changed": ["x\r\nBcc: c@x.org"]})
    sink.close()
    thread.join()
    server.server_close()
    text = "".join(got)
    assert "Subject: gapdrift: drift in orders" in text
    assert "\nBcc:" not in text
    assert describe_sink("email", settings).startswith("b@x.org by 127.0.0.1")
    with pytest.raises(SinkError, match="did not take"):
        sink.emit({**record, "p_value": 0.5, "changed": []})


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("webhook", {}),
        ("webhook", {"url": "file:///etc/passwd"}),
        ("slack", {"url": "x"}),
        ("pigeon", {}),
        ("email", {"host": "h"}),
        ("email", {"host": "h", "sender": "a", "recipient": "b@x", "port": "25"}),
        ("email", {"host": "h", "sender": "a@x\nBcc: c@x", "recipient": "b@x", "port": "25"}),
        ("email", {"host": "h", "sender": "a@x", "recipient": "b@x", "port": "99999"}),
    ],
)
def test_sinks_that_cannot_work(kind, settings):
    with pytest.raises(ParameterError):
        make_sink(kind, settings)
