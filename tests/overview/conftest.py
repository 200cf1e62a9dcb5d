import pytest

import gapdrift as gd
from gapdrift.history import History
from tests.stream_rows import detector, rows, timed


@pytest.fixture(scope="session")
def history_file(tmp_path_factory):
    """A history with windows by rows, of which the last ones drift, and windows by time, one of them empty."""
    path = tmp_path_factory.mktemp("history") / "alarms.db"
    with History(path) as history:
        monitor = gd.Monitor(detector(), window=60)
        log = history.begin(monitor, "sales <b>")
        for place in range(9):
            log.write(monitor.advance(rows(60, 10 + place, shift=2.0 * (place >= 7))))
        monitor = gd.Monitor(detector(), window="1min", time_column="time")
        log = history.begin(monitor, "by time")
        log.write(monitor.advance(timed(60, 1)))
        log.write(monitor.advance(timed(61, 2, first=180)))
    return path
