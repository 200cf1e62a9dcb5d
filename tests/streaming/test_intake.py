import numpy as np

from gapdrift.streaming.intake import BEFORE_ALL, Batch, KeyMemory, read_batch, steps_by_rows, steps_by_time
from gapdrift.tables.frame import Table
from gapdrift.tables.spans import Calendar, Span


def batch(n, times=None, keys=None):
    table = Table.read({"x": np.zeros(n)})
    if times is None:
        return Batch(table, None, None, keys)
    gone = np.array([time is None for time in times])
    return Batch(table, np.array([0 if time is None else time for time in times]), gone, keys)


def test_steps_by_rows_end_at_the_ends_of_panes():
    steps = list(steps_by_rows(batch(11), 3, 1, 4, KeyMemory()))
    taken = [(number, places.tolist()) for step in steps for number, places in step.panes.items()]
    assert taken == [(3, [0, 1, 2]), (4, [3, 4, 5, 6]), (5, [7, 8, 9, 10])]
    assert [(step.stop, step.closed) for step in steps] == [(3, 4), (7, 5), (11, 6)]


def test_steps_by_rows_leave_out_known_keys():
    keys = [b"a", b"b", b"a", b"a", None, None, b"b"]
    steps = list(steps_by_rows(batch(7, keys=keys), 0, 0, 3, KeyMemory()))
    assert [[places.tolist() for places in step.panes.values()] for step in steps] == [[[0, 1, 4]], [[5]]]
    assert [(step.stop, step.duplicate, step.closed) for step in steps] == [(5, 2, 1), (7, 1, 1)]


def test_steps_by_time_against_a_loop_over_rows():
    rng = np.random.default_rng(0)
    times = [None if rng.random() < 0.1 else int(place + rng.integers(-30, 30)) for place in range(300)]
    length, lateness, monday = 7, 10, 4 * 86_400_000_000
    high, closed, panes, late = BEFORE_ALL, BEFORE_ALL, {}, 0
    for place, time in enumerate(times):
        if time is None:
            continue
        # Panes are counted from the first Monday of 1970 on.
        pane = (time - monday) // length
        if pane < closed:
            late += 1
        else:
            panes.setdefault(pane, []).append(place)
        high = max(high, time)
        closed = max(closed, (high - lateness - monday) // length)
    calendar = Calendar(Span(micros=length))
    steps = list(steps_by_time(batch(300, times), BEFORE_ALL, BEFORE_ALL, calendar, lateness, KeyMemory()))
    found = {}
    for step in steps:
        for number, places in step.panes.items():
            found.setdefault(number, []).extend(places.tolist())
    assert found == panes
    assert sum(step.late for step in steps) == late > 0
    assert sum(step.untimed for step in steps) == times.count(None) > 0
    assert (steps[-1].closed, steps[-1].high, steps[-1].stop) == (closed, high, 300)


def test_rows_and_tables_are_told_apart():
    for rows in ({"x": 1.0, "c": "red"}, [{"x": 1.0, "c": "red"}], {"x": [1.0], "c": ["red"]}):
        read = read_batch(rows, ("x", "c"), True, None, None)
        assert len(read) == 1
        assert read.table.column("c").values.tolist() == ["red"]
