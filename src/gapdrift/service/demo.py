"""A project to try the service with: a stream of weather stations that drifts, and goes on as long as one looks."""

import contextlib
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from gapdrift.datasets import stations
from gapdrift.detectors.drift.detector import DriftDetector
from gapdrift.service.errors import UnavailableError
from gapdrift.service.monitors import Push, create_monitor, create_project, take_push
from gapdrift.service.state import Service
from gapdrift.storage import dumps

__all__ = ["fill"]

ROWS, WINDOWS = 300, 72
PAUSE = 3.0
"""Seconds from one window to the next, once the past is filled."""


def fill(service: Service, windows: int = WINDOWS, more: int | None = None) -> None:
    """Fill a project with a past in which sensors fail twice, then go on.

    Parameters
    ----------
    service : Service
    windows : int
        Number of windows of the past.
    more : int or None
        Number of windows after that, one every few seconds; None means as long as the service runs.
    """
    with contextlib.suppress(UnavailableError):  # the service is being stopped
        _fill(service, windows, more)


def _fill(service: Service, windows: int, more: int | None) -> None:
    detector = DriftDetector(random_state=0).fit(stations(2_000, rng=0))
    data = dumps(detector)
    project = service.write(lambda c: create_project(c, "demo", "Demonstration", "demo"))
    by_rows = service.change(lambda c, _: create_monitor(c, project, "stations", data, _settings(ROWS), "demo"))
    timed = {**_settings("1h"), "time_column": "when", "lateness": "10min"}
    by_time = service.change(lambda c, _: create_monitor(c, project, "stations-hourly", data, timed, "demo"))
    first = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=windows)
    number = 0
    while service.writer.alive and (number < windows or more is None or number < windows + more):
        table = stations(ROWS, rng=1_000 + number, **_change(number, windows))
        _push(service, by_rows, Push(f"demo-{number}", "", evidence=detector.count(table)))
        span = first + timedelta(hours=number), first + timedelta(hours=number, minutes=59)
        hour = detector.count({name: column[:150] for name, column in table.items()})
        _push(service, by_time, Push(f"demo-{number}", "", evidence=hour, times=span))
        number += 1
        if number >= windows and (more is None or number < windows + more):
            time.sleep(PAUSE)


def _settings(window: int | str) -> dict[str, Any]:
    return {"window": window, "false_alarm_every": 1_000.0}


def _change(number: int, windows: int) -> dict[str, Any]:
    """How a window differs: more missing for a while, and later a humidity sensor that fails now and then."""
    if int(0.3 * windows) <= number < int(0.4 * windows):
        return {"missing": 0.35}
    is_broken = number >= int(0.8 * windows) and np.sin(number / 9.0) > -0.6
    return {"drift": True} if is_broken else {}


def _push(service: Service, monitor_id: int, push: Push) -> None:
    service.change(lambda c, running: take_push(c, running.get(c, monitor_id), push))
