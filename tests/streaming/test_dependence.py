import numpy as np
import pytest

import gapdrift as gd
from gapdrift.streaming.dependence import NeighbourCheck


def rows(n, rng, phi=0.0):
    """Two columns in which each row is alike to the one before."""
    noise = rng.normal(size=(n, 2)) * np.sqrt(1 - phi**2)
    for place in range(1, n):
        noise[place] += phi * noise[place - 1]
    return noise


def watch(phi, n_windows=12, step=None):
    rng = np.random.default_rng(0)
    detector = gd.DriftDetector(random_state=0).fit(rows(400, rng, phi))
    monitor = gd.Monitor(detector, 60, step)
    return monitor, monitor.advance(rows(60 * n_windows, rng, phi))


@pytest.mark.parametrize("step", [None, 20])
def test_dependent_rows_are_told_with_every_alarm(step):
    monitor, windows = watch(0.95, step=step)
    (warning,) = monitor.warnings
    assert "windows differ from the window just before them" in warning and "batches=" in warning
    told = [window.index for window in windows if any("just before" in note for note in window.warnings)]
    assert told and told == [window.index for window in windows if window.alarm and window.index >= told[0]]
    assert told[0] <= 7 * (3 if step else 1)


def test_independent_rows_and_a_single_change_are_not_dependent():
    monitor, _ = watch(0.0)
    assert monitor.warnings == ()
    rng = np.random.default_rng(1)
    detector = gd.DriftDetector(random_state=0).fit(rows(400, rng))
    monitor = gd.Monitor(detector, 60)
    windows = monitor.advance(np.vstack([rows(360, rng), 3 + rows(360, rng)]))
    assert sum(window.drift for window in windows) == 6
    assert monitor.warnings == ()


def test_a_restored_monitor_knows_its_neighbours():
    rng = np.random.default_rng(2)
    detector = gd.DriftDetector(random_state=0).fit(rows(400, rng, 0.95))
    stream = rows(600, rng, 0.95)
    whole, first, second = (gd.Monitor(detector, 60) for _ in range(3))
    whole.advance(stream)
    first.advance(stream[:250])
    second.restore(first.state())
    second.advance(stream[250:])
    assert second.warnings == whole.warnings != ()
    second.replace_detector(detector)
    assert second.warnings == ()


def test_damaged_neighbours_are_told():
    for parts in ({}, {"neighbours/facts": b"[1, 2, 3]"}, {"neighbours/facts": b"[1, 1]", "neighbours/before": b"?"}):
        with pytest.raises(gd.errors.HistoryError, match="damaged"):
            NeighbourCheck(1).restore(parts)
