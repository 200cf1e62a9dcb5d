import io
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import gapdrift as gd
from gapdrift.sinks import JsonLines, PrometheusTextfile, Sink, Webhook, make_record, prometheus_text
from tests.stream_rows import detector, rows

CALM = make_record(gd.WindowResult(0, "calm", None, 10), "sales")
DRIFT = make_record(gd.WindowResult(1, "drift", None, 10), "sales")


class Server(ThreadingHTTPServer):
    """A server that gives the answers asked for, in turn, and keeps what it got."""

    daemon_threads = True

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.got = list(answers), []
        self.url = f"http://127.0.0.1:{self.server_port}/hook/secret"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers), json.loads(body)))
        answer = self.server.answers.pop(0) if self.server.answers else 200
        if answer == "hang":
            time.sleep(1.5)
        if answer == "cut":
            self.connection.close()
            return
        self.send_response(200 if answer == "hang" else answer)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def serve():
    servers = []

    def start(*answers):
        server = Server(answers)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        servers.append((server, thread))
        return server

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def hook(server, waits, **options):
    return Webhook(server.url, backoff=0.5, sleep=waits.append, **{"timeout": 5.0} | options)


def test_all_sinks_keep_the_protocol(tmp_path):
    for sink in (JsonLines(io.StringIO()), PrometheusTextfile(tmp_path / "x"), Webhook("http://a.invalid")):
        assert isinstance(sink, Sink)
        sink.close()


def test_webhook_sends_alarms_with_their_id(serve):
    server = serve()
    sink = Webhook(server.url, headers={"Authorization": "Bearer sesame"})
    sink.emit(CALM)
    sink.emit(DRIFT)
    ((headers, body),) = server.got
    assert body == json.loads(json.dumps(DRIFT))
    assert headers["Idempotency-Key"] == "sales/1"
    assert headers["Authorization"] == "Bearer sesame"
    assert headers["Content-Type"] == "application/json"


def test_webhook_tries_again_with_growing_pauses(serve):
    server, waits = serve(500, 429, "cut", 503), []
    hook(server, waits, retries=4).emit(DRIFT)
    assert len(server.got) == 5
    assert waits == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("code", [400, 401, 404, 301, 302])
def test_webhook_does_not_insist_where_that_is_no_use(serve, code):
    server, waits = serve(code), []
    with pytest.raises(gd.errors.SinkError, match=rf"webhook: 127\.0\.0\.1 answered {code} \(1 attempt\)\."):
        hook(server, waits).emit(DRIFT)
    assert len(server.got) == 1
    assert waits == []


def test_webhook_gives_up_and_keeps_its_secrets(serve):
    server, waits = serve(*[500] * 9), []
    with pytest.raises(gd.errors.SinkError, match=r"answered 500 \(3 attempts\)") as caught:
        hook(server, waits, retries=2, headers={"Authorization": "sesame"}).emit(DRIFT)
    assert "secret" not in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_webhook_has_a_time_out(serve):
    server, waits = serve("hang", "hang"), []
    start = time.monotonic()
    with pytest.raises(gd.errors.SinkError, match=r"gave no answer in 0\.2 s \(2 attempts\)"):
        hook(server, waits, timeout=0.2, retries=1).emit(DRIFT)
    assert time.monotonic() - start < 1.4


def test_webhook_that_nobody_hears(serve):
    server = serve()
    port = server.server_port
    server.shutdown()
    server.server_close()
    waits = []
    with pytest.raises(gd.errors.SinkError, match=r"could not be reached \(Connection refused\) \(2 attempts\)"):
        Webhook(f"http://127.0.0.1:{port}/secret", retries=1, sleep=waits.append).emit(DRIFT)
    assert waits == [0.5]


def test_webhook_with_a_header_that_cannot_be_sent(serve):
    with pytest.raises(gd.errors.SinkError, match="the url or a header is not valid") as caught:
        hook(serve(), [], headers={"Authorization": "sesame\nopen"}).emit(DRIFT)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "ftp://a.invalid"}, "expected an address"),
        ({"url": "http://"}, "expected an address"),
        ({"url": None}, "expected an address"),
        ({"timeout": 0}, "timeout is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"backoff": -1.0}, "backoff is -1.0"),
        ({"zones": ["red"]}, "zones names 'red'"),
    ],
)
def test_webhook_settings(options, message):
    with pytest.raises(gd.errors.ParameterError, match=message):
        Webhook(**{"url": "https://a.invalid"} | options)


def test_json_lines_are_appended_and_torn_ones_ended(tmp_path):
    path = tmp_path / "windows.jsonl"
    path.write_text('{"id": "sales/0"}\n{"id": "sal')
    sink = JsonLines(path)
    sink.emit(DRIFT)
    sink.close()
    JsonLines(path).close()
    sink.emit(DRIFT)
    sink.close()
    lines = path.read_text().splitlines()
    assert [json.loads(line)["id"] for line in (lines[0], *lines[2:])] == ["sales/0", "sales/1", "sales/1"]


def test_json_lines_that_cannot_be_written(tmp_path):
    with pytest.raises(gd.errors.SinkError, match="could not be written"):
        JsonLines(tmp_path / "nowhere" / "x.jsonl").emit(DRIFT)
    closed = io.StringIO()
    closed.close()
    with pytest.raises(gd.errors.SinkError, match="could not be written"):
        JsonLines(closed).emit(DRIFT)


def test_json_lines_leave_a_stream_of_others_open():
    stream = io.StringIO()
    sink = JsonLines(stream)
    sink.emit(CALM)
    sink.close()
    assert json.loads(stream.getvalue()) == json.loads(json.dumps(CALM))


def test_prometheus_text_is_well_formed():
    (window,) = gd.Monitor(detector(), 50).advance(rows(50, 1))
    name = 'a "quoted"\\ name\nof two lines'
    text = prometheus_text([make_record(window, name)], {(name, "calm"): 3})
    assert text.endswith("\n")
    for line in text.splitlines():
        assert line.startswith("# ") or line.startswith("gapdrift_")
        if not line.startswith("#"):
            assert r'stream="a \"quoted\"\\ name\nof two lines"' in line
            float(line.rsplit(" ", 1)[1])
    types = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(types) == len(set(types)) == 7
    assert text.count("gapdrift_missing_ratio{") == 3
    assert 'gapdrift_zone{stream="a \\"quoted\\"\\\\ name\\nof two lines",zone="calm"} 1' in text


def test_prometheus_tells_the_evidence_of_sequential_monitors_only():
    record = make_record(gd.WindowResult(0, "calm", None, 10, evidence=42.5), "sales")
    assert 'gapdrift_evidence{stream="sales"} 42.5' in prometheus_text([record]).splitlines()
    assert "gapdrift_evidence" not in prometheus_text([CALM])


def test_prometheus_file_is_replaced_at_once(tmp_path):
    path = tmp_path / "gapdrift.prom"
    sink = PrometheusTextfile(path)
    sink.emit(DRIFT)
    sink.emit(make_record(gd.WindowResult(2, "undetermined", None, 0, n_windows=5), "sales"))
    sink.emit(make_record(gd.WindowResult(0, "calm", None, 10), "returns"))
    text = path.read_text()
    assert 'gapdrift_windows_total{stream="sales",zone="drift"} 1\n' in text
    assert 'gapdrift_windows_total{stream="sales",zone="undetermined"} 5\n' in text
    assert 'gapdrift_window_index{stream="sales"} 2\n' in text
    assert 'gapdrift_window_index{stream="returns"} 0\n' in text
    assert [file.name for file in tmp_path.iterdir()] == ["gapdrift.prom"]


def test_prometheus_file_that_cannot_be_written(tmp_path):
    with pytest.raises(gd.errors.SinkError, match=r"prometheus: Cannot write"):
        PrometheusTextfile(tmp_path / "nowhere" / "x.prom").emit(DRIFT)
