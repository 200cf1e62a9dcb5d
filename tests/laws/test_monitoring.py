"""The laws of monitors: windows depend neither on how rows are cut into updates nor on where a run was stopped."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gapdrift as gd
from tests.stream_rows import as_records, cut, detector, join, part, rows, timed, told

N = 270
STREAM = rows(N, 1)
STREAM["c"][200] = "violet"
STREAM["key"] = np.array([place if place % 9 else place // 2 for place in range(N)])
TIMED = timed(N, 1, seconds=20)
ORDER = np.argsort(np.arange(N) + np.random.default_rng(3).integers(0, 40, N), kind="stable")
TIMED = {name: [column[place] for place in ORDER] for name, column in TIMED.items()}
TIMED["time"][7] = None
SHIFTED = join(rows(100, 1), rows(N - 100, 2, shift=2.0))
MONITORS = {
    "tumbling": (STREAM, {"window": 60}),
    "sliding": (STREAM, {"window": 60, "step": 40}),
    "keys": (STREAM, {"window": 50, "key_column": "key"}),
    "time": (TIMED, {"window": "20min", "time_column": "time", "lateness": "5min"}),
    "sliding time": (TIMED, {"window": "20min", "step": "5min", "time_column": "time", "lateness": "2min"}),
    "adapting": (SHIFTED, {"window": 40, "step": 20, "adapt": 2}),
    "adapting in time": (
        timed(N, 4, 1.5, 20),
        {"window": "20min", "time_column": "time", "lateness": "9min", "adapt": 1},
    ),
}
cuts = st.lists(st.integers(0, N), max_size=12)


def make(name):
    stream, options = MONITORS[name]
    return stream, gd.Monitor(detector(), false_alarm_every=100, **options)


@pytest.fixture(scope="module", params=MONITORS)
def undisturbed(request):
    stream, monitor = make(request.param)
    windows = monitor.advance(stream)
    assert len(windows) >= 3
    return request.param, told(windows), monitor.state()


@settings(max_examples=4, deadline=None)
@given(places=cuts)
def test_cuts_do_not_matter_to_the_bit(undisturbed, places):
    name, windows, state = undisturbed
    stream, monitor = make(name)
    found = [window for piece in cut(stream, places) for window in monitor.advance(piece)]
    assert told(found) == windows
    assert facts_of(monitor.state()) == facts_of(state)


@settings(max_examples=3, deadline=None)
@given(places=cuts)
def test_stops_do_not_matter_to_the_bit(undisturbed, places):
    """After each piece the monitor is made anew from the state of the one before."""
    name, windows, _ = undisturbed
    found, state = [], None
    for piece in cut(MONITORS[name][0], places):
        _, monitor = make(name)
        if state is not None:
            monitor.restore(state)
        found += monitor.advance(piece)
        state = monitor.state()
    assert told(found) == windows


def facts_of(state):
    return state["facts"], sorted(state)


@pytest.mark.parametrize("name", ["tumbling", "keys", "time"])
def test_single_rows_are_batches(name):
    stream, monitor = make(name)
    whole = monitor.advance(part(stream, 0, 130))
    _, single = make(name)
    assert told(w for row in as_records(part(stream, 0, 130)) for w in single.advance(row)) == told(whole)
    _, listed = make(name)
    assert told(listed.advance(as_records(part(stream, 0, 130)))) == told(whole)


@pytest.mark.parametrize(("window", "step"), [(60, 40), (58, 29), (40, 40), (33, 11)])
def test_a_sliding_window_is_the_sum_of_its_panes(window, step):
    stream = {name: STREAM[name] for name in ("x", "y", "c")}
    found = gd.Monitor(detector(), window=window, step=step).advance(part(stream, 0, 200))
    assert len(found) == (200 - window) // step + 1
    pane = math.gcd(window, step)
    for index, result in enumerate(found):
        start, stop = index * step, index * step + window
        panes = sum(detector().count(part(stream, first, first + pane)) for first in range(start, stop, pane))
        assert result.result == detector().test(panes, alpha=1e-3)
        assert (result.first_row, result.last_row, result.n_rows) == (start, stop - 1, window)
        recount = detector().count(part(stream, start, stop))
        for name, sums in recount.sums.items():
            np.testing.assert_allclose(panes.sums[name], sums, rtol=0, atol=1e-9)
