import pytest

import gapdrift as gd


def windows(zones, size=100):
    return [
        gd.WindowResult(
            i, zone, None, size, first_row=size * i, last_row=size * i + size - 1, decided_at=size * (i + 1)
        )
        for i, zone in enumerate(zones)
    ]


def test_delays_repeats_misses_and_false_alarms():
    zones = ["calm", "drift", "calm", "warning", "drift", "drift", "calm", "calm", "calm", "drift"]
    evaluation = gd.evaluate_stream(windows(zones), [300, 650, 800])
    assert evaluation.changes == (
        gd.streaming.ChangeFound(300, 4, 200, 2, 2),
        gd.streaming.ChangeFound(650, None, None, None, 0),
        gd.streaming.ChangeFound(800, 9, 200, 2, 1),
    )
    assert (evaluation.false_alarms, evaluation.calm_windows, evaluation.missed) == (1, 3, 1)
    assert evaluation.false_alarm_rate == pytest.approx(1 / 3)
    assert evaluation.mean_delay_rows == 200


def test_nothing_to_evaluate():
    empty = gd.evaluate_stream([], [])
    assert (empty.false_alarm_rate, empty.mean_delay_rows, empty.missed) == (0.0, None, 0)
    unseen = gd.evaluate_stream([gd.WindowResult(0, "undetermined", None, 0, n_windows=9)], [5])
    assert unseen.calm_windows == 0
    assert unseen.changes[0].missed


def test_a_change_inside_a_window_belongs_to_it():
    (change,) = gd.evaluate_stream(windows(["calm", "drift"]), [199]).changes
    assert (change.delay_rows, change.delay_windows) == (1, 1)


@pytest.mark.parametrize("points", [[5, 5], [7, 3], [-1], [1.5]])
def test_wrong_change_points(points):
    with pytest.raises(gd.errors.ParameterError, match="change_points is"):
        gd.evaluate_stream([], points)
