from datetime import timedelta

import numpy as np
import pytest

import gapdrift as gd
from tests.stream_rows import detector, rows

WRONG = [
    ({"window": 9}, "window is 9, expected a whole number from 10"),
    ({"window": 50.5}, "window is 50.5"),
    ({"window": True}, "window is True"),
    ({"window": 50, "step": 60}, "step is 60 and window 50"),
    ({"window": 50, "step": 0}, "step is 0"),
    ({"window": 5_000, "step": 7}, "has 5000 panes, expected at most 400"),
    ({"window": "1h"}, "no time_column says"),
    ({"window": "1 fortnight", "time_column": "time"}, "window is '1 fortnight', expected a timedelta"),
    ({"window": "0s", "time_column": "time"}, "expected more than 0"),
    ({"window": "99999d", "time_column": "time"}, "a hundred years"),
    ({"window": "1h", "step": "2h", "time_column": "time"}, "step is '2h' and window '1h'"),
    ({"window": "1h", "step": 10, "time_column": "time"}, "step is 10, expected a timedelta"),
    ({"window": 50, "time_column": "time"}, "but window is 50 rows"),
    ({"window": "1h", "time_column": "x"}, r"which the detector compares. Fit it with ignore=\['x'\]"),
    ({"key_column": "c"}, "which the detector compares"),
    ({"key_column": 3}, "key_column is 3, expected the name"),
    ({"window": "1h", "time_column": "time", "key_column": "time"}, "are both 'time'"),
    ({"lateness": "1h"}, "windows of rows have no times"),
    ({"window": "1h", "time_column": "time", "lateness": timedelta(seconds=-1)}, "from 0 to a hundred years"),
    ({"false_alarm_every": 1}, "false_alarm_every is 1"),
    ({"false_alarm_every": "often"}, "false_alarm_every is 'often'"),
    ({"false_alarm_every": 100, "warning_every": 200}, "warnings at least as often"),
    ({"adapt": 0}, "adapt is 0"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=[str(options) for options, _ in WRONG])
def test_settings_out_of_their_range(options, message):
    with pytest.raises(gd.errors.ParameterError, match=message):
        gd.Monitor(detector(), **options)


def test_detectors_that_cannot_be_used():
    with pytest.raises(gd.errors.ParameterError, match="detector is a str"):
        gd.Monitor("detector")
    with pytest.raises(gd.errors.NotFittedError):
        gd.Monitor(gd.DriftDetector())
    unseeded = gd.DriftDetector().fit(rows(100, 0))
    with pytest.raises(gd.errors.ParameterError, match="whole number as random_state"):
        gd.Monitor(unseeded, adapt=2)
    plain = gd.DriftDetector(random_state=0).fit(np.random.default_rng(0).normal(size=(100, 2)))
    with pytest.raises(gd.errors.ParameterError, match="fitted on an array, without names"):
        gd.Monitor(plain, key_column="key")


def test_rows_without_the_columns_of_times_and_keys():
    with pytest.raises(gd.errors.InputError, match=r"lack the column\(s\) 'time'"):
        gd.Monitor(detector(), "1h", time_column="time").advance(rows(5, 1))
    with pytest.raises(gd.errors.InputError, match=r"lack the column\(s\) 'key'"):
        gd.Monitor(detector(), key_column="key").advance(rows(5, 1))


def test_settings_in_plain_form():
    options = {"time_column": "time", "lateness": "90s", "key_column": "key", "adapt": 3}
    plain = gd.Monitor(detector(), timedelta(hours=1), "15min", 500, **options).settings
    assert plain == {
        "window": "1h",
        "step": "15min",
        "false_alarm_every": 500.0,
        "warning_every": 50.0,
        "time_column": "time",
        "time_zone": None,
        "key_column": "key",
        "lateness": "90s",
        "adapt": 3,
        "sequential": False,
        "extend": None,
    }
    assert gd.Monitor(detector(), 50).settings["step"] == 50
    assert gd.Monitor(detector(), 50, false_alarm_every=10).settings["warning_every"] == 10


def test_fingerprints_tell_detectors():
    monitors = [gd.Monitor(one, 50) for one in (detector(), detector(0.5), gd.MDLFWF(random_state=0).fit(rows(400, 0)))]
    assert len({monitor.fingerprint for monitor in monitors}) == 3
    assert gd.Monitor(detector(), 60).fingerprint == monitors[0].fingerprint
