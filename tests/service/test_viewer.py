"""A history in the browser."""

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

import gapdrift as gd
from gapdrift.errors import HistoryError, ParameterError
from gapdrift.history import History
from gapdrift.service.run import check_loopback
from gapdrift.service.viewer import make_viewer
from tests.overview.conftest import history_file  # noqa: F401
from tests.stream_rows import detector, rows


@pytest.fixture
def client(history_file):  # noqa: F811
    with TestClient(make_viewer(str(history_file)), base_url="http://localhost") as client:
        yield client


def test_streams_lead_to_windows(client):
    start = client.get("/")
    assert "sales &lt;b&gt;" in start.text
    assert "/stream?name=sales+%3Cb%3E" in start.text
    stream = client.get("/stream", params={"name": "sales <b>"})
    assert "Drift in the last 2 windows, since window 7." in stream.text
    assert "/window?stream=sales+%3Cb%3E&amp;index=8" in stream.text
    report = client.get("/window", params={"stream": "sales <b>", "index": 8})
    assert "The data have changed" in report.text
    for page in (start, stream, report):
        assert page.status_code == 200
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert page.headers["x-content-type-options"] == "nosniff"


def test_new_windows_appear(tmp_path):
    with History(tmp_path / "a.db") as history:
        monitor = gd.Monitor(detector(), window=50)
        log = history.begin(monitor, "a")
        with TestClient(make_viewer(str(tmp_path / "a.db")), base_url="http://localhost") as client:
            assert "No window has been decided yet." in client.get("/stream?name=a").text
            log.write(monitor.advance(rows(50, 1)))
            page = client.get("/stream?name=a")
            assert "Calm for the last 1 window." in page.text
            assert 'data-state="1"' in page.text


@pytest.mark.parametrize(
    ("address", "code", "words"),
    [
        ("/stream?name=none", 404, "no stream &#39;none&#39;"),
        ("/window?stream=by+time&index=1", 404, "has no rows"),
        ("/window?stream=by+time&index=2", 404, "has no window 2"),
        ("/window?stream=by+time&index=x", 400, "not valid"),
        ("/window?stream=by+time&index=99999999999999999999999", 400, "not valid"),
        ("/nothing", 404, "nothing at this address"),
    ],
)
def test_what_cannot_be_shown_gets_a_sentence(client, address, code, words):
    answer = client.get(address)
    assert answer.status_code == code
    assert words in answer.text


def test_only_this_machine_s_names_are_answered(client):
    assert client.get("/", headers={"host": "elsewhere.example"}).status_code == 400
    check_loopback("127.0.0.1", "")
    with pytest.raises(ParameterError, match="only this machine"):
        check_loopback("0.0.0.0", "a history is shown to everyone")


def test_style_and_script_are_kept_by_browsers(client):
    page = client.get("/").text
    for name in ("style.css", "script.js", "early.js"):
        address = next(part for part in page.split('"') if part.endswith(name))
        answer = client.get(address)
        assert "immutable" in answer.headers["cache-control"]
        assert len(answer.text) > 500
    assert client.get("/static/x/none.css").status_code == 404
    assert client.get("/favicon.ico").headers["content-type"].startswith("image/svg")
    assert client.get("/healthz").text == "ok\n"


def test_a_foreign_file_is_not_touched(tmp_path):
    with pytest.raises(HistoryError, match="no history"):
        make_viewer(str(tmp_path / "none.db"))
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "foreign.db").write_bytes(b"")
    with pytest.raises(HistoryError, match="holds no history"):
        make_viewer(str(tmp_path / "foreign.db"))
