"""Monitors that run in the service: restored from the database when they are needed, and written after each change."""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.reference import ReferenceDetector
from gapdrift.errors import GapdriftError, InputError
from gapdrift.service.errors import NotFoundError, UnavailableError
from gapdrift.service.schema import monitors, parts, pushes, references
from gapdrift.storage import loads
from gapdrift.streaming.monitor import Monitor
from gapdrift.streaming.windows import WindowResult

__all__ = ["Detectors", "Running", "RunningMonitors", "SpoiledError", "load_reference"]


class SpoiledError(Exception):
    """A monitor in memory that is not as the database has it: rows were taken whose window could not be decided."""


KEPT_DETECTORS = 32
KEPT_MONITORS = 256

# Made once, since every push needs them.
MONITOR_ID = sa.select(monitors.c.id).where(
    (monitors.c.project_id == sa.bindparam("project")) & (monitors.c.name == sa.bindparam("name"))
)
CHANGE_MONITOR = monitors.update().where(
    (monitors.c.id == sa.bindparam("own")) & (monitors.c.version == sa.bindparam("known"))
)
_PART = (parts.c.monitor_id == sa.bindparam("own")) & (parts.c.name == sa.bindparam("part"))
REMOVE_PART, CHANGE_PART = parts.delete().where(_PART), parts.update().where(_PART)


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
    written : dict of str to bytes
        Parts of its state that the database has.

    Attributes
    ----------
    changed : bool
        Whether its state is not written yet.
    facts : dict
        Facts about its latest window, to be written with its state.
    pushes : dict of str to dict
        Pushes that were taken, by their keys, to be written with its state.
    """

    def __init__(self, row: Mapping[str, Any], monitor: Monitor, written: dict[str, bytes]) -> None:
        self.id, self.project_id, self.name = row["id"], row["project_id"], row["name"]
        self.reference_id, self.version = row["reference_id"], row["version"]
        self.settings: dict[str, Any] = json.loads(row["settings"])
        self.monitor = monitor
        self.changed = False
        self.facts: dict[str, Any] = {}
        self.pushes: dict[str, dict[str, Any]] = {}
        self._written = written
        self._panes: list[Mapping[int, Evidence]] = []
        monitor.on_panes = self._panes.append

    def advance(
        self, take: Callable[[Monitor], tuple[WindowResult, ...]]
    ) -> list[tuple[WindowResult, Mapping[int, Evidence]]]:
        """Windows that were decided, each with the evidence of its panes."""
        self._panes.clear()
        before = self.monitor.position
        try:
            windows = take(self.monitor)
        except Exception as error:
            if isinstance(error, GapdriftError) and self.monitor.position == before:
                raise
            raise SpoiledError(str(error)) from error
        self.changed = True
        tested = iter(self._panes)
        return [(window, next(tested) if window.result is not None else {}) for window in windows]

    def write(self, connection: Connection) -> None:
        """Write the state, if no other process has written it meanwhile."""
        values = {"version": self.version + 1, "position": self.monitor.position, "n_windows": self.monitor.index}
        values |= {"reference_id": self.reference_id, "room": self.monitor.room, **self.facts}
        if connection.execute(CHANGE_MONITOR, {"own": self.id, "known": self.version, **values}).rowcount != 1:
            raise UnavailableError("Another process has written this monitor meanwhile. Send the request again.")
        if self.pushes:
            connection.execute(pushes.insert(), list(self.pushes.values()))
        self._write_parts(connection)
        self.version += 1
        self.changed = False
        self.pushes = {}

    def _write_parts(self, connection: Connection) -> None:
        """Write the parts of the state that are not in the database as they are."""
        state, before = self.monitor.state(), self._written
        gone = [{"own": self.id, "part": name} for name in before if name not in state]
        other = [name for name, data in state.items() if name in before and before[name] != data]
        new = [{"monitor_id": self.id, "name": name, "data": state[name]} for name in state if name not in before]
        if gone:
            connection.execute(REMOVE_PART, gone)
        if other:
            connection.execute(CHANGE_PART, [{"own": self.id, "part": name, "data": state[name]} for name in other])
        if new:
            connection.execute(parts.insert(), new)
        self._written = state


class RunningMonitors:
    """Monitors in memory; only the one thread that writes may use them."""

    def __init__(self, detectors: Detectors) -> None:
        self._detectors = detectors
        self._kept: OrderedDict[int, Running] = OrderedDict()
        self._found: dict[tuple[int, str], Running] = {}

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

    def find(self, connection: Connection, project_id: int, name: str) -> Running:
        """Monitor of a project, looked up once in a transaction."""
        if (project_id, name) not in self._found:
            monitor_id = connection.scalar(MONITOR_ID, {"project": project_id, "name": name})
            if monitor_id is None:
                raise NotFoundError(f"The project has no monitor {name!r}.")
            self._found[project_id, name] = self.get(connection, monitor_id)
        return self._found[project_id, name]

    def begin(self) -> None:
        """Look up monitors anew: a transaction begins, and another process may have written them."""
        self._found.clear()

    def changed(self) -> list[Running]:
        """Monitors whose state is not written yet."""
        return [running for running in self._kept.values() if running.changed]

    def forget(self, monitor_id: int | None = None) -> None:
        """Forget a monitor, or all of them: they are restored from the database when they are needed."""
        self._found.clear()
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
        return Running(row, monitor, stored)
