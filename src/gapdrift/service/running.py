"""Monitors that run in the service: restored from the database when they are needed, and written after each change."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.reference import ReferenceDetector
from gapdrift.errors import InputError
from gapdrift.service.errors import NotFoundError, UnavailableError
from gapdrift.service.schema import monitors, parts, references
from gapdrift.storage import loads
from gapdrift.streaming.monitor import Monitor
from gapdrift.streaming.windows import WindowResult

__all__ = ["Detectors", "Running", "RunningMonitors", "load_reference"]

KEPT_DETECTORS = 32
KEPT_MONITORS = 256


def load_reference(data: bytes) -> ReferenceDetector:
    """Detector out of the bytes of an uploaded file, read by the reader that trusts nothing in it."""
    thing = loads(data)
    if not isinstance(thing, ReferenceDetector):
        raise InputError(
            f"The file holds a {type(thing).__name__}, expected a fitted detector. Make one with 'gapdrift fit'."
        )
    return thing


class Detectors:
    """Detectors of references, kept while they are in use."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, ReferenceDetector] = OrderedDict()
        self._lock = Lock()

    def get(self, connection: Connection, reference_id: int) -> ReferenceDetector:
        """Detector of a reference."""
        with self._lock:
            if reference_id in self._kept:
                self._kept.move_to_end(reference_id)
                return self._kept[reference_id]
        data = connection.scalar(sa.select(references.c.data).where(references.c.id == reference_id))
        if data is None:
            raise NotFoundError("The monitor has no reference any more.")
        detector = load_reference(bytes(data))
        with self._lock:
            self._kept[reference_id] = detector
            while len(self._kept) > KEPT_DETECTORS:
                self._kept.popitem(last=False)
        return detector


class Running:
    """One monitor in memory, as the database has it.

    Parameters
    ----------
    row : mapping
        Of the table of monitors.
    monitor : Monitor
    written : dict of str to str
        Digests of the parts of its state that the database has.

    Attributes
    ----------
    changed : bool
        Whether its state is not written yet.
    facts : dict
        Facts about its latest window, to be written with its state.
    """

    def __init__(self, row: Mapping[str, Any], monitor: Monitor, written: dict[str, str]) -> None:
        self.id, self.project_id, self.name = row["id"], row["project_id"], row["name"]
        self.reference_id, self.version = row["reference_id"], row["version"]
        self.settings: dict[str, Any] = json.loads(row["settings"])
        self.monitor = monitor
        self.changed = False
        self.facts: dict[str, Any] = {}
        self._written = written
        self._panes: list[Mapping[int, Evidence]] = []
        monitor.on_panes = self._panes.append

    def advance(
        self, take: Callable[[Monitor], tuple[WindowResult, ...]]
    ) -> list[tuple[WindowResult, Mapping[int, Evidence]]]:
        """Windows that were decided, each with the evidence of its panes."""
        self._panes.clear()
        windows = take(self.monitor)
        self.changed = True
        tested = iter(self._panes)
        return [(window, next(tested) if window.result is not None else {}) for window in windows]

    def write(self, connection: Connection) -> None:
        """Write the state, if no other process has written it meanwhile."""
        chosen = (monitors.c.id == self.id) & (monitors.c.version == self.version)
        values = {"version": self.version + 1, "position": self.monitor.position, "n_windows": self.monitor.index}
        values |= {"reference_id": self.reference_id, "room": self.monitor.room, **self.facts}
        if connection.execute(monitors.update().where(chosen).values(**values)).rowcount != 1:
            raise UnavailableError("Another process has written this monitor meanwhile. Send the request again.")
        state = self.monitor.state()
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in state.items()}
        stale = [name for name, digest in self._written.items() if digests.get(name) != digest]
        if stale:
            connection.execute(parts.delete().where((parts.c.monitor_id == self.id) & parts.c.name.in_(stale)))
        fresh = [name for name, digest in digests.items() if self._written.get(name) != digest]
        if fresh:
            rows = [{"monitor_id": self.id, "name": name, "data": state[name]} for name in fresh]
            connection.execute(parts.insert(), rows)
        self.version += 1
        self._written, self.changed = digests, False


class RunningMonitors:
    """Monitors in memory; only the one thread that writes may use them."""

    def __init__(self, detectors: Detectors) -> None:
        self._detectors = detectors
        self._kept: OrderedDict[int, Running] = OrderedDict()

    def get(self, connection: Connection, monitor_id: int) -> Running:
        """Monitor as the database has it now."""
        row = connection.execute(sa.select(monitors).where(monitors.c.id == monitor_id)).mappings().first()
        if row is None:
            raise NotFoundError("There is no such monitor any more.")
        kept = self._kept.get(monitor_id)
        if kept is None or kept.version != row["version"]:
            kept = self._restore(connection, dict(row))
            self._kept[monitor_id] = kept
        self._kept.move_to_end(monitor_id)
        return kept

    def changed(self) -> list[Running]:
        """Monitors whose state is not written yet."""
        return [running for running in self._kept.values() if running.changed]

    def forget(self, monitor_id: int | None = None) -> None:
        """Forget a monitor, or all of them: they are restored from the database when they are needed."""
        if monitor_id is None:
            self._kept.clear()
        else:
            self._kept.pop(monitor_id, None)

    def trim(self) -> None:
        """Forget the monitors that were not used for the longest time, if there are many."""
        while len(self._kept) > KEPT_MONITORS:
            self._kept.popitem(last=False)

    def _restore(self, connection: Connection, row: Mapping[str, Any]) -> Running:
        detector = self._detectors.get(connection, row["reference_id"])
        monitor = Monitor(detector, **json.loads(row["settings"]))
        query = sa.select(parts.c.name, parts.c.data).where(parts.c.monitor_id == row["id"])
        stored = {name: bytes(data) for name, data in connection.execute(query)}
        if stored:
            monitor.restore(stored)
        return Running(row, monitor, {name: hashlib.sha256(data).hexdigest() for name, data in stored.items()})
