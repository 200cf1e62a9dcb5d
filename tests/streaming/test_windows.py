import json
from datetime import UTC, datetime

import gapdrift as gd
from tests.stream_rows import detector, rows


def test_records_are_plain():
    (window,) = gd.Monitor(detector(), 50).advance(rows(50, 1))
    record = window.to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["result"] == window.result.to_dict()
    assert (record["drift"], record["p_value"]) == (False, window.result.p_value)


def test_zones_and_what_follows_from_them():
    found = {zone: gd.WindowResult(0, zone, None, 0) for zone in ("calm", "warning", "drift", "undetermined")}
    assert {zone: window.drift for zone, window in found.items()} == {
        "calm": False,
        "warning": False,
        "drift": True,
        "undetermined": None,
    }
    assert [zone for zone, window in found.items() if window.alarm] == ["warning", "drift"]
    assert all(window.p_value == 1.0 for window in found.values())


def test_summaries():
    start, end = datetime(2024, 1, 1, 5, tzinfo=UTC), datetime(2024, 1, 1, 6, tzinfo=UTC)
    window = gd.WindowResult(4, "drift", None, 9, first_row=3, last_row=20, start=start, end=end, adapted=True)
    assert window.summary() == "window 4 (2024-01-01 05:00:00 UTC): drift, no rows, rows 3 to 20, new reference"
    (window,) = gd.Monitor(detector(), 50).advance(rows(50, 1))
    assert window.summary().startswith("window 0: calm, p = 0.")
