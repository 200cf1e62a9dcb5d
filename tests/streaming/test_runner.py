import json
import logging

import pytest

import gapdrift as gd
from gapdrift.history import History
from gapdrift.sinks import JsonLines
from gapdrift.streaming import run_monitor
from tests.stream_rows import cut, detector, join, rows, timed, told

STREAM = join(rows(120, 1), rows(80, 2, shift=2.0))
PIECES = cut(STREAM, [35, 90, 91, 160])


class Flaky:
    """A sink that fails while it is told to."""

    name = "flaky"

    def __init__(self, *, broken=True):
        self.broken, self.got, self.closed = broken, [], False

    def emit(self, record):
        if self.broken:
            raise RuntimeError("out of order")
        self.got.append(record["id"])

    def close(self):
        self.closed = True


def monitor():
    return gd.Monitor(detector(), 40)


def test_windows_zones_and_progress():
    seen, positions = [], []
    summary = run_monitor(monitor(), PIECES, on_window=seen.append, progress=positions.append)
    assert told(seen) == told(monitor().advance(STREAM))
    assert positions == [35, 90, 91, 160, 200]
    assert (summary.first_row, summary.position, summary.drift) == (0, 200, True)
    assert summary.zones == {"calm": 3, "warning": 0, "drift": 2, "undetermined": 0}


def test_a_run_goes_on_at_the_next_unseen_row(tmp_path):
    asked = []

    def source(position):
        asked.append(position)
        return cut(STREAM, [position])[1:]

    with History(tmp_path / "history.db") as history:
        run_monitor(monitor(), PIECES[:2], history=history)
        assert run_monitor(monitor(), source, history=history).first_row == 90
        assert asked == [90]
        windows = list(history.windows())
    assert [record["zone"] for record in windows] == ["calm"] * 3 + ["drift"] * 2


def test_rows_before_the_position_are_skipped_in_tables(tmp_path):
    with History(tmp_path / "history.db") as history:
        run_monitor(monitor(), [PIECES[0], *cut(PIECES[1], [7])[:1]], history=history)
        summary = run_monitor(monitor(), PIECES, history=history)
        assert (summary.first_row, summary.position) == (42, 200)
        assert len(list(history.windows())) == 5
        again = run_monitor(monitor(), PIECES, history=history)
        assert (again.first_row, again.position, again.drift) == (200, 200, False)


def test_a_failing_sink_stops_nothing_and_loses_nothing(tmp_path, caplog):
    lines = tmp_path / "windows.jsonl"
    with caplog.at_level(logging.WARNING, logger="gapdrift"), History(tmp_path / "history.db") as history:
        broken = Flaky()
        summary = run_monitor(monitor(), PIECES[:3], history=history, sinks=[broken, JsonLines(lines)])
        assert summary.undelivered == {"flaky": "Sink 'flaky' failed at window 0: out of order"}
        assert "out of order" in caplog.text
        assert broken.closed
        mended = Flaky(broken=False)
        summary = run_monitor(monitor(), PIECES, history=history, sinks=[mended, JsonLines(lines)])
    assert summary.undelivered == {}
    assert mended.got == [f"default/{index}" for index in range(5)]
    assert [json.loads(line)["id"] for line in lines.read_text().splitlines()] == mended.got


def test_without_history_windows_wait_in_memory():
    class Late(Flaky):
        def emit(self, record):
            self.broken = record["index"] == 0 and not self.closed and self.broken
            if self.broken:
                self.broken = False
                raise RuntimeError("not yet")
            self.got.append(record["id"])

    sink = Late()
    assert run_monitor(monitor(), PIECES, sinks=[sink]).undelivered == {}
    assert sink.got == [f"default/{index}" for index in range(5)]


def test_a_new_sink_gets_windows_from_now_on(tmp_path):
    with History(tmp_path / "history.db") as history:
        run_monitor(monitor(), PIECES[:2], history=history)
        sink = Flaky(broken=False)
        run_monitor(monitor(), PIECES, history=history, sinks=[sink])
    assert sink.got == ["default/2", "default/3", "default/4"]


def test_flush_at_the_end():
    def timely():
        return gd.Monitor(detector(), "1min", time_column="time")

    assert run_monitor(timely(), [timed(90, 1)]).zones["calm"] == 1
    assert run_monitor(timely(), [timed(90, 1)], flush=True).zones["calm"] == 2


def test_sinks_of_one_name_are_refused():
    with pytest.raises(gd.errors.ParameterError, match="expected different names"):
        run_monitor(monitor(), [], sinks=[JsonLines("a.jsonl"), JsonLines("b.jsonl")])


def test_a_bad_table_keeps_what_was_written(tmp_path):
    with History(tmp_path / "history.db") as history:
        with pytest.raises(gd.errors.InputError):
            run_monitor(monitor(), [PIECES[0], PIECES[1], {"x": ["text"]}], history=history)
        assert len(list(history.windows())) == 2
        assert run_monitor(monitor(), PIECES, history=history).first_row == 90
