import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

import gapdrift as gd
from gapdrift.files import open_files
from gapdrift.history import History
from gapdrift.sinks import make_record
from gapdrift.streaming import run_monitor
from tests import kill_worker
from tests.forks import SERVER
from tests.postgres import server
from tests.stream_rows import cut, detector, rows

KILLS = 50


@pytest.fixture(scope="module")
def postgres():
    """Address of a PostgreSQL server of this test's own; skipped where there are no binaries."""
    with server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "history.db")
    return request.getfixturevalue("postgres")


def monitor(window=50, **options):
    return gd.Monitor(detector(), window, **options)


def test_windows_come_back_as_they_were_decided(url, request):
    stream = rows(230, 1)
    undisturbed = [make_record(window, request.node.name) for window in monitor().advance(stream)]
    for piece in cut(stream, [60, 61, 199]):
        with History(url) as history:
            fresh = monitor()
            log = history.begin(fresh, request.node.name)
            log.write(fresh.advance(piece))
    with History(url) as history:
        assert list(history.windows(request.node.name)) == json.loads(json.dumps(undisturbed))
        assert request.node.name in history.streams()


def test_another_detector_or_other_settings_are_refused(url, request):
    other = gd.DriftDetector(random_state=0).fit(rows(300, 7))
    with History(url) as history:
        history.begin(monitor(), request.node.name)
        with pytest.raises(gd.errors.HistoryError, match=r"was begun with the detector .* Use the same saved detector"):
            history.begin(gd.Monitor(other, 50), request.node.name)
        with pytest.raises(gd.errors.HistoryError, match=r"other settings: window 50, now 60\."):
            history.begin(monitor(60, step=50), request.node.name)
        assert history.begin(gd.Monitor(other, 50), request.node.name + " 2").position == 0


def test_two_runs_on_one_stream_do_not_spoil_it(url, request):
    stream = rows(100, 1)
    with History(url) as history:
        one, two = monitor(), monitor()
        first, second = (history.begin(each, request.node.name) for each in (one, two))
        first.write(one.advance(stream))
        with pytest.raises(gd.errors.HistoryError, match="Another run has written"):
            second.write(two.advance(stream))
        assert [record["index"] for record in history.windows(request.node.name)] == [0, 1]


def test_many_windows_are_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("gapdrift.history.MAX_RECORDS", 20)
    with History(tmp_path / "history.db") as history:
        fresh = monitor(10)
        log = history.begin(fresh)
        log.write(fresh.advance(rows(450, 1)))
        assert [record["index"] for record in history.windows()] == list(range(45))


def test_closed_panes_are_written_once(tmp_path):
    with History(tmp_path / "history.db") as history:
        fresh = monitor(100, step=10)
        log = history.begin(fresh)
        for piece in cut(rows(200, 1), range(5, 200, 5)):
            log.write(fresh.advance(piece))
        parts = fresh.state()
        with sqlite3.connect(tmp_path / "history.db") as connection:
            stored = dict(connection.execute("select name, data from gapdrift_parts"))
        connection.close()
        assert stored == parts
        assert sum(name.endswith("closed") for name in parts) == 9


@pytest.mark.parametrize("wrong", ["", None, 3, "nosuch://thing"])
def test_wrong_addresses(wrong):
    with pytest.raises(gd.errors.ParameterError, match="url is"):
        History(wrong)


def test_a_database_that_is_not_there_and_its_password(tmp_path):
    with pytest.raises(gd.errors.HistoryError, match=r"history\.db cannot be opened: No such file"):
        History(tmp_path / "nowhere" / "history.db")
    pytest.importorskip("psycopg")
    with pytest.raises(gd.errors.HistoryError) as caught:
        History("postgresql+psycopg://me:sesame@127.0.0.1:1/none")
    assert "sesame" not in str(caught.value)


def test_a_file_that_is_no_database(tmp_path):
    path = tmp_path / "history.db"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(gd.errors.HistoryError, match="file is not a database"):
        History(path)


def test_damaged_and_future_histories(tmp_path):
    path = tmp_path / "history.db"
    with History(path) as history:
        fresh = monitor()
        history.begin(fresh).write(fresh.advance(rows(70, 1)))
    damages = {
        "update gapdrift_parts set data = x'00ff' where name like 'pane%'": "A pane of the stored state",
        "update gapdrift_parts set data = x'00ff' where name = 'facts'": "The stored state of the monitor",
        "update gapdrift_streams set format = 99": "another version of gapdrift",
    }
    for number, (damage, message) in enumerate(damages.items()):
        copy = shutil.copy(path, tmp_path / f"{number}.db")
        with sqlite3.connect(copy) as connection:
            connection.execute(damage)
        connection.close()
        with History(copy) as history, pytest.raises(gd.errors.HistoryError, match=message):
            history.begin(monitor())


def test_a_monitor_that_has_rows_and_streams_without_name(tmp_path):
    used = monitor()
    used.advance(rows(5, 1))
    with History(tmp_path / "history.db") as history:
        with pytest.raises(gd.errors.ParameterError, match="has taken 5 rows already"):
            history.begin(used)
        for name in ("", None, "x" * 201):
            with pytest.raises(gd.errors.ParameterError, match="stream is"):
                history.begin(monitor(), name)


def test_without_sqlalchemy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(gd.GapdriftError, match=r"\.\[history\]"):
        History("history.db")


@pytest.fixture
def quick_folder(tmp_path):
    """A folder in memory, where there is one: what is killed here is a process, not the machine."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def test_killed_fifty_times_the_history_is_the_undisturbed_one(quick_folder):
    """A run is killed at random moments and begun again, 50 times; a last one ends the stream."""
    calm, killed = (quick_folder / name for name in ("calm.db", "killed.db"))
    kill_worker.main(str(calm), str(calm.with_suffix(".jsonl")))
    reached = kill_repeatedly(killed, random.Random(1))
    kill_worker.main(str(killed), str(killed.with_suffix(".jsonl")))
    with History(calm) as one, History(killed) as two:
        undisturbed = list(one.windows())
        assert list(two.windows()) == undisturbed
    assert len(undisturbed) > 90
    # The kills came while the stream was being read, not before its start or after its end.
    assert max(reached) < kill_worker.N_ROWS
    assert len(set(reached) - {0}) > KILLS // 2
    lines = killed.with_suffix(".jsonl").read_text().splitlines()
    seen = [record["id"] for record in map(read_whole, lines) if record]
    assert list(dict.fromkeys(seen)) == [record["id"] for record in undisturbed]


def read_whole(line):
    """Record of a line; None if the run that wrote it was killed before its end, which may look like an end."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


def kill_repeatedly(url, chance):
    """Positions at which the runs were killed.

    The runs are forks of one process that has imported everything. Each has leave to read a few tables and no more, so
    that a fast machine does not reach the end of the stream; it is killed while it starts, or while it works on the
    last of them, at a moment drawn from the time that this has taken so far.
    """
    reached, starts, works = [], [0.02], [0.005]
    for number in range(KILLS):
        ours, theirs = SERVER.Pipe()
        run = SERVER.Process(target=kill_worker.main, args=(str(url), str(url.with_suffix(".jsonl")), theirs))
        begun = time.monotonic()
        run.start()
        theirs.close()
        leave = chance.randint(2, 6) if number % 10 else 0
        for _ in range(leave):
            ours.send(None)
        for place in range(leave - 1):
            # However long it takes on a busy machine: the first fork waits for all imports and for a detector.
            while not ours.poll(1.0):
                assert run.is_alive()
            ours.recv()
            (works if place else starts).append(time.monotonic() - begun)
            begun = time.monotonic()
        time.sleep(chance.uniform(0.0, 1.2 * statistics.median(works if leave else starts)))
        assert run.is_alive()
        os.kill(run.pid, signal.SIGKILL)
        run.join()
        ours.close()
        with History(url) as history:
            reached.append(history.begin(kill_worker.make()).position)
    return reached


@pytest.mark.parametrize(
    "damage",
    [
        "update gapdrift_windows set record = '{'",
        "update gapdrift_windows set record = '[]'",
        "update gapdrift_windows set record = x'ff00'",
        "update gapdrift_streams set settings = 'x'",
        "update gapdrift_parts set data = x'00'",
        "update gapdrift_files set path = 3, size = 'x'",
        "update gapdrift_file_rows set digests = x'00ff'",
    ],
)
def test_damaged_rows_are_errors_of_ours(tmp_path, damage):
    path, table = tmp_path / "history.db", tmp_path / "day.csv"
    stream = pd.DataFrame(rows(120, 1))
    stream.to_csv(table, index=False)

    def go():
        with History(path) as history:
            run_monitor(monitor(), open_files(table), history=history, sinks=[])
            return list(history.windows())

    go()
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    # Written anew, so that the digests of its rows are asked for.
    stream[::-1].to_csv(table, index=False)
    with pytest.raises(gd.errors.HistoryError, match="damaged"):
        go()


def test_one_run_waits_for_the_other(url, request):
    """On one stream; another stream goes on beside it."""
    stream, order, waits = request.node.name, [], threading.Event()

    def second():
        with History(url) as history, history.run(stream, waits.set):
            order.append("second")

    with History(url) as history:
        with history.run(stream):
            beside = threading.Thread(target=second)
            beside.start()
            assert waits.wait(300)
            with history.run(f"another than {stream}"):
                order.append("first")
        beside.join(300)
    assert order == ["first", "second"]
