"""Evidence that was counted elsewhere gives the windows that its rows give."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import gapdrift as gd
from gapdrift.errors import EvidenceError, InputError, SchemaError
from tests.stream_rows import START, cut, detector, part, rows, timed


def facts(windows):
    return [(w.index, w.zone, w.n_rows, w.first_row, w.last_row, w.start, w.decided_at, w.late_rows) for w in windows]


def same(one, two):
    assert facts(one) == facts(two)
    for a, b in zip(one, two, strict=True):
        assert a.p_value == pytest.approx(b.p_value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("step", [None, 25])
def test_windows_of_rows(step):
    table = rows(230, 1)
    whole = gd.Monitor(detector(), 50, step).advance(table)
    monitor = gd.Monitor(detector(), 50, step)
    found = []
    for piece in cut(table, range(25, 230, 25)):
        found += monitor.advance_evidence(detector().count(piece))
    assert monitor.position == 230
    same(found, whole)


def test_rows_and_evidence_may_take_turns_and_survive_a_restart():
    table = rows(300, 2)
    whole = gd.Monitor(detector(), 100).advance(table)
    monitor, found = gd.Monitor(detector(), 100), []
    for place, piece in enumerate(cut(table, [40, 70, 100, 130, 200, 270])):
        again = gd.Monitor(detector(), 100)
        again.restore(monitor.state())
        monitor = again
        found += monitor.advance(piece) if place % 2 else monitor.advance_evidence(detector().count(piece))
    same(found, whole)


def test_windows_of_time_and_late_evidence():
    table = timed(200, 3)
    whole = gd.Monitor(detector(), "1min", time_column="time", lateness="10s").advance(table)
    monitor, found = gd.Monitor(detector(), "1min", time_column="time", lateness="10s"), []
    for start in range(0, 200, 60):
        piece = part(table, start, start + 60)
        times = (piece["time"][0], piece["time"][-1])
        counted = detector().count({name: piece[name] for name in ("x", "y", "c")})
        found += monitor.advance_evidence(counted, times=times)
    assert [w.start for w in found] == [w.start for w in whole]
    assert [w.p_value for w in found] == pytest.approx([w.p_value for w in whole], rel=1e-9)
    late = detector().count(rows(7, 4))
    assert monitor.advance_evidence(late, times=(START, START + timedelta(seconds=5))) == ()
    assert (monitor.late_rows, monitor.position) == (7, 207)


@pytest.mark.parametrize(
    ("options", "n_rows", "times", "words"),
    [
        ({"window": 50}, 51, None, "has 51 rows, but the open pane takes 50 more"),
        ({"window": 50}, 5, (START, START), "Leave the times out"),
        ({"window": "1min", "time_column": "time"}, 5, None, "need the times"),
        ({"window": "1min", "time_column": "time"}, 5, (START, START + timedelta(hours=1)), "one pane of 1min"),
        ({"window": "1min", "time_column": "time"}, 5, (START + timedelta(seconds=5), START), "one pane"),
        ({"window": "1min", "time_column": "time"}, 5, (datetime.max.replace(tzinfo=UTC),) * 2, "years 1 to 9999"),
        ({"window": "1min", "time_column": "time"}, 5, ("now", "now"), "expected a date and time"),
        ({"window": 50, "key_column": "id"}, 5, None, "key_column needs rows"),
        ({"window": 50, "adapt": 2}, 5, None, "adapt needs rows"),
    ],
)
def test_what_cannot_be_used_changes_nothing(options, n_rows, times, words):
    monitor = gd.Monitor(detector(), **options)
    before = monitor.state()
    with pytest.raises(InputError, match=words):
        monitor.advance_evidence(detector().count(rows(n_rows, 1)), times=times)
    assert monitor.state() == before


def test_evidence_of_another_reference_is_refused():
    other = gd.DriftDetector(random_state=0).fit(rows(300, 9))
    with pytest.raises(EvidenceError):
        gd.Monitor(detector(), 50).advance_evidence(other.count(rows(5, 1)))


def test_no_rows_change_nothing():
    monitor = gd.Monitor(detector(), 50)
    assert monitor.advance_evidence(detector().count(rows(0, 1))) == ()
    assert (monitor.position, monitor.room, monitor.pane_length) == (0, 50, 50)


def test_panes_are_handed_over():
    monitor, seen = gd.Monitor(detector(), 50, 25), {}
    monitor.on_panes = seen.update
    table = rows(120, 5)
    monitor.advance(table)
    assert list(seen) == [0, 1, 2, 3]
    assert sum(evidence.n_rows for evidence in seen.values()) == 100
    total = detector().count(part(table, 0, 100))
    added = sum(seen.values())
    assert all(np.allclose(added.sums[name], total.sums[name]) for name in total.sums)


@pytest.mark.parametrize("options", [{"window": 50}, {"window": "50s", "time_column": "time"}])
def test_another_reference_from_the_next_window_on(options):
    other = gd.DriftDetector(random_state=0).fit(rows(400, 9, shift=2.0))
    monitor = gd.Monitor(detector(), **options)
    table = timed(260, 1, shift=2.0)
    names = ["x", "y", "c", *(["time"] if "time_column" in options else [])]
    table = {name: table[name] for name in names}
    first = monitor.advance(part(table, 0, 130))
    assert monitor.replace_detector(other) == 30
    later = monitor.advance(part(table, 130, 260))
    assert {w.zone for w in first} == {"drift"}
    assert {w.zone for w in later} == {"calm"}
    assert [w.index for w in (*first, *later)] == list(range(len(first) + len(later)))
    assert {w.reference for w in later} == {other.evidence_.origin}


def test_a_reference_with_other_columns_is_refused():
    table = rows(300, 1)
    other = gd.DriftDetector(random_state=0).fit({"x": table["x"], "z": table["y"]})
    with pytest.raises(SchemaError, match="expected those of the old one"):
        gd.Monitor(detector(), 50).replace_detector(other)
