import hashlib
import io
import json
import pickle
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from gapdrift.errors import StorageError
from gapdrift.persistence import archive
from gapdrift.persistence.archive import MANIFEST, npy_header, pack, reading, seal

ARRAYS = {
    "a.floats.npy": np.array([[1.5, -0.0], [np.inf, 5e-324]]),
    "a.whole.npy": np.arange(5),
    "a.marks.npy": np.array([True, False]),
    "a.bytes.npy": np.arange(3, dtype=np.uint8),
    "a.none.npy": np.empty((0, 3)),
}


@pytest.fixture(scope="module")
def data():
    return pack("example", {"answer": [42, "ä\ud800", 0.1, None, True]}, ARRAYS)


def open_bytes(data):
    with reading(io.BytesIO(data)) as package:
        return package.manifest, {name: package.array(name) for name in package.manifest.arrays}


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def resealed(data, **changes):
    """The file with entries of its manifest changed and the right checksum."""
    members = members_of(data)
    record = json.loads(members[MANIFEST]) | changes
    return seal(members | {MANIFEST: json.dumps(record).encode()})


def sign(body):
    return body + hashlib.sha256(body).hexdigest().encode()


def test_what_is_packed_comes_back_to_the_bit(data):
    manifest, arrays = open_bytes(data)
    assert manifest.kind == "example"
    assert manifest.content == {"answer": [42, "ä\ud800", 0.1, None, True]}
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


def test_the_same_content_gives_the_same_bytes(data):
    assert pack("example", {"answer": [42, "ä\ud800", 0.1, None, True]}, ARRAYS) == data


def test_arrays_come_back_in_rows_however_they_lay_in_memory():
    turned = np.arange(6.0).reshape(2, 3).T
    _, arrays = open_bytes(pack("example", None, {"a.npy": turned, "b.npy": turned[:, 0], "c.npy": np.array(2.0)}))
    assert np.array_equal(arrays["a.npy"], turned)
    assert arrays["c.npy"].shape == ()


def test_anybody_can_read_it(data, tmp_path):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None
        assert json.loads(file.read(MANIFEST))["format"] == "gapdrift"
        for name, array in ARRAYS.items():
            found = np.load(io.BytesIO(file.read(name)), allow_pickle=False)
            assert found.tobytes() == array.tobytes()


def test_headers_are_those_of_numpy():
    for shape in [(), (0,), (3,), (2, 3), (1, 2, 3)]:
        buffer = io.BytesIO()
        np.save(buffer, np.zeros(shape))
        assert npy_header("<f8", shape) + bytes(8 * int(np.prod(shape))) == buffer.getvalue()


@pytest.mark.parametrize("place", [0, 3, 30, 200, 500, -1, -40, -90, -100])
def test_any_changed_byte_is_found(data, place):
    changed = bytearray(data)
    changed[place] ^= 1
    with pytest.raises(StorageError, match=r"damaged|not saved by gapdrift"):
        open_bytes(bytes(changed))


@pytest.mark.parametrize(
    "wrong", [lambda d: d[:-1], lambda d: d + b"x", lambda d: b"x" + d, lambda d: d[:50], lambda d: d + d]
)
def test_lengths_are_found(data, wrong):
    with pytest.raises(StorageError):
        open_bytes(wrong(data))


@pytest.mark.parametrize(
    "foreign",
    [
        b"",
        b"a,b\n1,2\n",
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        pickle.dumps({"a": 1}),
        seal({"something.txt": b"else"}),
        seal({MANIFEST: b"{}"}),
        seal({MANIFEST: b'{"format": "other"}'}),
    ],
)
def test_foreign_files_are_named(foreign):
    with pytest.raises(StorageError, match=r"gapdrift"):
        open_bytes(foreign)


def test_files_of_the_past_say_what_to_do(data):
    with pytest.raises(StorageError, match=r"version 1 .*gapdrift 0\.0\.9;.*reads version 9\. Fit or count again"):
        open_bytes(resealed(data, format_version=1, gapdrift_version="0.0.9", surprise=True))


def test_files_of_the_future_say_which_version_is_needed(data):
    future = resealed(data, format_version=10, gapdrift_version="3.2.1", surprise=True)
    with pytest.raises(StorageError, match=r"version 10.*Install gapdrift 3\.2\.1 or later"):
        open_bytes(future)


@pytest.mark.parametrize(
    "changes",
    [
        {"format_version": 0},
        {"format_version": -1},
        {"format_version": "1"},
        {"format_version": True},
        {"format_version": 10**400},
        {"gapdrift_version": 3},
        {"gapdrift_version": "x" * 1000},
        {"kind": 1},
        {"more": 1},
        {"arrays": []},
        {"arrays": {}},
        {"arrays": {f"a{index}.npy": {} for index in range(20)}},
    ],
)
def test_manifests_that_are_wrong(data, changes):
    with pytest.raises(StorageError):
        open_bytes(resealed(data, **changes))


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("a.floats.npy", {"dtype": "<f8", "shape": [2, 3]}),
        ("a.floats.npy", {"dtype": "|O", "shape": [2, 2]}),
        ("a.floats.npy", {"dtype": "<f8", "shape": [2, -2]}),
        ("a.floats.npy", {"dtype": "<f8", "shape": [2.0, 2]}),
        ("a.floats.npy", {"dtype": "<f8", "shape": [10**30]}),
        ("a.floats.npy", {"dtype": "<f8", "shape": [0, 10**12]}),
        ("a.floats.npy", {"dtype": "<f8", "shape": [20_000, 20_000]}),
        ("a.floats.npy", {"dtype": "<i8", "shape": [2, 2]}),
        ("a.floats.npy", {"dtype": "<f8", "shape": [4]}),
        ("a.floats.npy", {"dtype": "<f8", "shape": [1] * 9}),
        ("a.floats.npy", {"dtype": ["<f8"], "shape": [2, 2]}),
        ("../evil.npy", {"dtype": "<f8", "shape": [2, 2]}),
        ("a.floats.npz", {"dtype": "<f8", "shape": [2, 2]}),
    ],
)
def test_descriptions_of_arrays_that_are_wrong(data, name, entry):
    record = json.loads(members_of(data)[MANIFEST])
    old = record["arrays"].pop("a.floats.npy")
    arrays = record["arrays"] | {name: {"sha256": old["sha256"]} | entry}
    with pytest.raises(StorageError):
        open_bytes(resealed(data, arrays=arrays))


def test_an_array_with_another_checksum(data):
    record = json.loads(members_of(data)[MANIFEST])
    record["arrays"]["a.whole.npy"]["sha256"] = "0" * 64
    with pytest.raises(StorageError, match="checksum"):
        open_bytes(resealed(data, arrays=record["arrays"]))


def test_booleans_are_zero_or_one(data):
    members = members_of(data)
    members["a.marks.npy"] = members["a.marks.npy"][:-2] + b"\x02\x00"
    record = json.loads(members[MANIFEST])
    record["arrays"]["a.marks.npy"]["sha256"] = hashlib.sha256(b"\x02\x00").hexdigest()
    with pytest.raises(StorageError, match="booleans"):
        open_bytes(seal(members | {MANIFEST: json.dumps(record).encode()}))


@pytest.mark.parametrize(
    "text",
    [
        b"not json",
        b"\xff\xfe",
        b'{"format": "gapdrift", "format": "gapdrift"}',
        b'{"format": NaN}',
        b'{"format": 1e999}',
        b'{"format": -Infinity}',
        b"[" * 5_000 + b"]" * 5_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"a": ' + b"1" * 10_000 + b"}",
        b"[" + b"[]," * 600_000 + b"[]]",
        b'"' + b"x" * archive.MAX_MANIFEST + b'"',
        b"",
    ],
)
def test_json_that_is_wrong(text):
    with pytest.raises(StorageError):
        open_bytes(seal({MANIFEST: text}))


def test_more_or_fewer_members_than_listed(data):
    members = members_of(data)
    with pytest.raises(StorageError, match="more"):
        open_bytes(seal(members | {"more.npy": b""}))
    members.pop("a.whole.npy")
    with pytest.raises(StorageError, match="whole"):
        open_bytes(seal(members))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice(data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, member in [*members_of(data).items(), ("a.whole.npy", b"")]:
            file.writestr(name, member)
        file.comment = archive.SEAL + b"0" * 64
    with pytest.raises(StorageError, match="twice"):
        open_bytes(sign(buffer.getvalue()[:-64]))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(data, method):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, member in members_of(data).items():
            file.writestr(name, member)
        file.comment = archive.SEAL + b"0" * 64
    with pytest.raises(StorageError):
        open_bytes(sign(buffer.getvalue()[:-64]))


def end_record(data):
    return len(data) - 64 - len(archive.SEAL) - archive.END.size


@pytest.mark.parametrize(
    ("offset", "form", "number"),
    [(8, "<H", 60_000), (10, "<H", 60_000), (12, "<L", 2**31), (16, "<L", 0), (20, "<H", 3), (4, "<H", 1)],
)
def test_end_records_that_are_wrong(data, offset, form, number):
    body = bytearray(data[:-64])
    struct.pack_into(form, body, end_record(data) + offset, number)
    with pytest.raises(StorageError):
        open_bytes(sign(bytes(body)))


def test_records_of_large_zip_files_are_refused(data):
    place = end_record(data)
    body = data[: place - 20] + b"PK\x06\x07" + data[place - 16 : -64]
    with pytest.raises(StorageError, match="end"):
        open_bytes(sign(body))


def test_damage_inside_a_zip_with_the_right_checksum(data):
    """Every byte before the end record, changed and signed again: our error, or nothing that matters."""
    body = bytearray(data[:-64])
    for place in range(end_record(data)):
        body[place] ^= 0x41
        with suppress(StorageError):
            open_bytes(sign(bytes(body)))
        body[place] ^= 0x41


@pytest.mark.parametrize(
    "array", [np.array(["text"]), np.array([None]), np.array([1j]), np.zeros(2, dtype=[("a", float)])]
)
def test_arrays_that_have_no_form(array):
    with pytest.raises(StorageError, match="type"):
        pack("example", None, {"a.npy": array})


@pytest.mark.parametrize("content", [float("nan"), {1: {2}}, object()])
def test_content_that_has_no_form(content):
    with pytest.raises(StorageError, match="JSON"):
        pack("example", content, {})


def test_what_could_not_be_read_is_not_written(monkeypatch):
    monkeypatch.setattr(archive, "MAX_ARRAY", 100)
    with pytest.raises(StorageError, match="memory"):
        pack("example", None, {"a.npy": np.zeros(100)})
    monkeypatch.setattr(archive, "MAX_MANIFEST", 100)
    with pytest.raises(StorageError, match="manifest"):
        pack("example", "x" * 200, {})
    monkeypatch.undo()
    monkeypatch.setattr(archive, "MAX_FILE", 100)
    with pytest.raises(StorageError, match="bytes"):
        pack("example", None, {})


def test_a_file_too_large_is_not_read(data, monkeypatch):
    monkeypatch.setattr(archive, "MAX_FILE", 100)
    with pytest.raises(StorageError, match="at most"):
        open_bytes(data)


@pytest.mark.parametrize("path", ["absent", ".", "zero\0byte", "/dev/zero", 3, None, "x" * 5_000])
def test_paths_that_cannot_be_read(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError), reading(path):
        pass


def test_a_file_without_permission(data, tmp_path, monkeypatch):
    path = tmp_path / "a.gapdrift"
    path.write_bytes(data)

    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(StorageError, match="Permission denied"), reading(path):
        pass
