"""Bodies that are damaged, foreign, too large or bombs are refused, and nothing is taken of them."""

import io
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("fastapi")

import pyarrow as pa
import pyarrow.parquet as pq

import gapdrift as gd
from gapdrift.errors import InputError, StorageError
from gapdrift.persistence.codec import pack_plain, unpack_plain
from gapdrift.service import uploads
from gapdrift.service.errors import TooLargeError
from gapdrift.service.limits import LIMITS
from gapdrift.service.packing import unpack_record
from gapdrift.service.uploads import read_upload
from gapdrift.storage import dumps
from tests.stream_rows import detector, rows

PUSH = "/api/v1/projects/own/monitors/orders/push"


def arrow(table, **options):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet(table, **options):
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


TABLE = pa.table({"x": [1.0, 2.0], "y": [1.0, None], "c": ["red", None]})
MANY = pa.table({"x": pa.array(np.zeros(1_500_000))})

BODIES = {
    "json: no JSON": ("application/json", b"{", "no JSON"),
    "json: deep": ("application/json", b"[" * 200_000, "no JSON"),
    "json: a number": ("application/json", b"3", "neither a list of objects"),
    "json: columns of different lengths": ("application/json", b'{"x": [1], "y": [1, 2]}', "same length"),
    "json: nested": ("application/json", b'[{"x": [1]}]', "a cell that is a list"),
    "json: not UTF-8": ("application/json", b'[{"x": "\xff"}]', "no JSON"),
    "csv: compressed": ("text/csv", b"\x1f\x8b" + b"0" * 50, "compressed"),
    "csv: ragged": ("text/csv", b"x,y,c\n1,2\n1,2,3,4\n", r"\S"),
    "parquet: no Parquet": ("application/vnd.apache.parquet", b"PAR1" * 20, "no Parquet"),
    "parquet: cut": ("application/vnd.apache.parquet", parquet(TABLE)[:-9], "no Parquet"),
    "arrow: cut": ("application/vnd.apache.arrow.stream", arrow(TABLE)[:100], "no Arrow stream"),
    "arrow: noise": ("application/vnd.apache.arrow.stream", bytes(range(256)) * 4, "no Arrow stream"),
    "arrow: compressed": ("application/vnd.apache.arrow.stream", arrow(TABLE, compression="zstd"), "is compressed"),
    "arrow: compressed dictionary": (
        "application/vnd.apache.arrow.stream",
        arrow(pa.table({"c": pa.array(["a", "b"]).dictionary_encode()}), compression="lz4"),
        "is compressed",
    ),
    "evidence: noise": ("application/vnd.gapdrift.evidence", b"PK\x03\x04" + b"0" * 99, r"\S"),
    "evidence: a detector": ("application/vnd.gapdrift.evidence", dumps(detector()), "expected evidence"),
    "evidence: cut": ("application/vnd.gapdrift.evidence", dumps(detector().count(rows(5, 1)))[:-30], r"\S"),
    "empty": ("application/json", b"", "empty"),
    "no type": ("text/html", b"<p>", "expected one of"),
}


@pytest.mark.parametrize("name", BODIES)
def test_what_cannot_be_used_is_refused(name):
    kind, body, words = BODIES[name]
    with pytest.raises((InputError, StorageError), match=words):
        read_upload(body, kind, detector)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/vnd.apache.parquet", parquet(MANY, compression="zstd")),
        ("application/vnd.apache.arrow.stream", arrow(MANY)),
        ("application/json", b" " * (uploads.MAX_JSON + 1)),
        (
            "application/json",
            json.dumps({f"c{n}": [0] * 1_100 for n in range(1_000)})[:-1].encode()
            + b', "z": '
            + json.dumps([0] * 1_100).encode()
            + b"}",
        ),
    ],
)
def test_too_many_rows_are_refused_before_they_are_read(kind, body, monkeypatch):
    monkeypatch.setattr(uploads, "MAX_CELLS", 1_000_000)
    with pytest.raises(TooLargeError):
        read_upload(body, kind, detector)


def test_a_parquet_bomb_is_refused(monkeypatch):
    monkeypatch.setattr(uploads, "MAX_PARQUET", 1_000)
    with pytest.raises(TooLargeError, match="bytes of cells"):
        read_upload(parquet(pa.table({"x": np.arange(5_000.0)})), "application/vnd.apache.parquet", detector)


@pytest.mark.parametrize("declared", [True, False])
def test_large_requests_are_refused_while_they_are_read(full_house, declared):
    limit = dict(LIMITS)[""]
    body = b"0" * (limit + 1)
    content = body if declared else iter([body[:1_000], body[1_000:]])
    answer = full_house.call("operator", "POST", "/api/v1/projects", content=content)
    assert answer.status_code == 413
    assert "too large" in answer.json()["detail"]
    assert full_house.call("viewer", "GET", "/api/v1/projects", headers={"content-length": "x"}).status_code == 413


def test_refused_pushes_change_nothing(full_house):
    for kind, body, _ in BODIES.values():
        answer = full_house.call("token", "POST", PUSH, content=body, headers={"content-type": kind})
        assert answer.status_code in {413, 422}, answer.text
        assert "Traceback" not in answer.text
        assert "/tmp" not in answer.text
    assert full_house.call("viewer", "GET", PUSH.removesuffix("/push")).json()["position"] == 400


def test_packed_evidence_comes_back():
    evidence = detector().count(rows(50, 1) | {"more": np.zeros(50)})
    again = unpack_plain(pack_plain(evidence), gd.Evidence)
    assert dumps(again) == dumps(evidence)
    assert all(np.array_equal(again.sums[name], evidence.sums[name]) for name in evidence.sums)
    for damaged in (b"nonsense", zlib.compress(b"{}\n12345678"), pack_plain(evidence)[:-9]):
        with pytest.raises(StorageError, match="damaged"):
            unpack_plain(damaged, gd.Evidence)
    with pytest.raises(StorageError, match="damaged"):
        unpack_record(b"nonsense")


def test_sums_that_no_rows_make(full_house):
    counted = detector().count(rows(20, 3))
    for factor in (1e300, -1e300):
        forged = replace(counted, sums={name: factor + 0.0 * array for name, array in counted.sums.items()})
        answer = full_house.push(forged)
        assert answer.status_code == 422
        assert "than 20 rows can make it" in answer.json()["detail"]
    empty = replace(counted, n_rows=0)
    assert full_house.push(empty).status_code == 422


def test_a_window_that_cannot_be_decided_breaks_nothing(full_house, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("float division by zero")

    assert full_house.push(detector().count(rows(20, 3))).status_code == 200
    with monkeypatch.context() as broken:
        broken.setattr("gapdrift.streaming.decisions.WindowByWindow.decide", fail)
        for _ in range(2):
            answer = full_house.push(detector().count(rows(30, 4)))
            assert answer.status_code == 422
            assert "upload the reference again" in answer.json()["detail"]
    (window,) = full_house.push(detector().count(rows(30, 4))).json()["windows"]
    assert (window["number"], window["n_rows"]) == (8, 50)
