import ast
import os
import stat
from pathlib import Path

import pytest

import gapdrift as gd
from gapdrift._writing import write_file
from gapdrift.errors import StorageError

SOURCES = Path(gd.__file__).parent


@pytest.fixture
def data():
    return bytes(range(256)) * 20


def test_writing_a_file(data, tmp_path):
    path = tmp_path / "a.gapdrift"
    for content in (data, b"", data * 2):
        write_file(str(path), content)
        assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["a.gapdrift"]


def test_text_is_written_as_utf_8_whatever_it_holds(tmp_path):
    write_file(tmp_path / "a.html", "größe\ud800\n")
    assert (tmp_path / "a.html").read_bytes() == "größe&#55296;\n".encode()


def test_permissions_are_those_of_any_new_file_or_of_the_old_one(data, tmp_path):
    path = tmp_path / "a.gapdrift"
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    write_file(path, data)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    write_file(path, data)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(data, tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_file(tmp_path / "link", data)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == data


@pytest.mark.parametrize("broken", ["replace", "fsync"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file_alone(data, tmp_path, monkeypatch, broken, error):
    path = tmp_path / "a.gapdrift"
    path.write_bytes(b"old")

    def fail(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(StorageError if isinstance(error, OSError) else KeyboardInterrupt):
        write_file(path, data)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.gapdrift"]


def test_a_full_disk(data):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with pytest.raises(StorageError, match="Cannot write"):
        write_file("/dev/full/a.gapdrift", data)


@pytest.mark.parametrize("path", ["absent/a.gapdrift", "zero\0byte", 3, None, "x" * 5_000])
def test_paths_that_cannot_be_written(data, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError):
        write_file(path, data)


def test_a_folder_is_not_replaced(data, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match="directory"):
        write_file(tmp_path / "folder", data)
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_a_draft_is_never_more_open_than_the_file(data, tmp_path, monkeypatch):
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o600)
    modes = []
    monkeypatch.setattr(os, "fsync", lambda _: modes.extend(each.stat().st_mode & 0o777 for each in tmp_path.iterdir()))
    write_file(path, data)
    assert set(modes) == {0o600}


def test_a_draft_takes_no_name_that_is_there(data, tmp_path, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda _: "0")
    (tmp_path / ".a.0.part").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="File exists"):
        write_file(tmp_path / "a", data)
    assert [file.name for file in tmp_path.iterdir()] == [".a.0.part"]


def test_a_device_is_written_into(data):
    write_file(os.devnull, data)
    assert not Path(os.devnull).is_file()


def test_nothing_else_writes_whole_files():
    for source in SOURCES.rglob("*.py"):
        if source.name == "_writing.py":
            continue
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                assert called not in {"write_text", "write_bytes", "mkstemp", "NamedTemporaryFile"}, source
                owner = getattr(getattr(node.func, "value", None), "id", "")
                assert (owner, called) not in {("os", "replace"), ("os", "rename")}, source


@pytest.mark.parametrize("use", [gd.load, lambda path: write_file(path, b"")])
def test_an_empty_path_is_not_the_current_folder(use):
    with pytest.raises(StorageError, match="The path is '', expected the name of a file"):
        use("")
