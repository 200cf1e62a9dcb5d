"""Projects, monitors and references: made, listed and changed. Every function takes the project it works in."""

import json
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.reference import ReferenceDetector
from gapdrift.errors import InputError, ParameterError
from gapdrift.service.audit import note
from gapdrift.service.database import now
from gapdrift.service.errors import ConflictError, NotFoundError
from gapdrift.service.running import Detectors, Running, RunningMonitors, load_reference
from gapdrift.service.schema import monitors, projects, pushes, references, windows
from gapdrift.service.spans import Span, read_span
from gapdrift.service.windows import store_windows
from gapdrift.storage import dumps
from gapdrift.streaming.monitor import Monitor
from gapdrift.tables.times import MICROSECOND, as_datetime, as_micros

__all__ = [
    "Push",
    "add_reference",
    "create_monitor",
    "create_project",
    "find_monitor",
    "find_span",
    "flush",
    "normal_from_span",
    "parse_moment",
    "take_push",
    "with_evidence",
]

# Made once, since every push asks them.
PUSH = sa.select(pushes).where((pushes.c.monitor_id == sa.bindparam("own")) & (pushes.c.key == sa.bindparam("given")))
MONITOR = sa.select(monitors).where(
    (monitors.c.project_id == sa.bindparam("project")) & (monitors.c.name == sa.bindparam("name"))
)

Moment = int | datetime
"""Number of a window, or a time."""


@dataclass(frozen=True)
class Push:
    """Rows, or evidence of rows, that a client has sent.

    Parameters
    ----------
    key : str
        By which a push that is sent again is recognised.
    digest : str
        Of its content.
    table : table or None
        Rows; None if evidence was sent.
    evidence : Evidence or None
    times : (datetime, datetime) or None
        Of the earliest and the latest row of the evidence.
    """

    key: str
    digest: str
    table: Any = None
    evidence: Evidence | None = None
    times: tuple[datetime, datetime] | None = None


def create_project(connection: Connection, slug: str, title: str, who: str) -> int:
    """Id of a new project."""
    if connection.scalar(sa.select(projects.c.id).where(projects.c.slug == slug)) is not None:
        raise ConflictError(f"There is a project {slug!r} already. Choose another name.")
    row = {"slug": slug, "title": title, "created": now()}
    project_id = connection.execute(projects.insert().returning(projects.c.id), row).scalar_one()
    note(connection, project_id, who, "project created", slug)
    return int(project_id)


def find_monitor(connection: Connection, project_id: int, name: str) -> Mapping[str, Any]:
    """Row of a monitor of a project."""
    row = connection.execute(MONITOR, {"project": project_id, "name": name}).mappings().first()
    if row is None:
        raise NotFoundError(f"The project has no monitor {name!r}.")
    return dict(row)


def create_monitor(
    connection: Connection, project_id: int, name: str, data: bytes, settings: Mapping[str, Any], who: str
) -> int:
    """Id of a new monitor, with the first version of its reference."""
    detector = load_reference(data)
    monitor = Monitor(detector, **settings)
    kept = dict(settings) | {
        "false_alarm_every": monitor.settings["false_alarm_every"],
        "warning_every": monitor.settings["warning_every"],
    }
    taken = sa.select(monitors.c.id).where((monitors.c.project_id == project_id) & (monitors.c.name == name))
    if connection.scalar(taken) is not None:
        raise ConflictError(f"The project has a monitor {name!r} already. Choose another name.")
    row = {
        "project_id": project_id,
        "name": name,
        "settings": json.dumps(kept),
        "reference_id": None,
        "version": 0,
        "position": 0,
        "room": monitor.room,
        "pane": json.dumps(monitor.pane_length),
        "n_windows": 0,
        "zone": "undetermined",
        "p_value": None,
        "decided": None,
        "created": now(),
    }
    monitor_id = int(connection.execute(monitors.insert().returning(monitors.c.id), row).scalar_one())
    reference_id = _insert_reference(connection, monitor_id, detector, data, "first reference", who)
    connection.execute(monitors.update().where(monitors.c.id == monitor_id).values(reference_id=reference_id))
    note(connection, project_id, who, "monitor created", name, json.dumps(kept))
    return monitor_id


def add_reference(
    connection: Connection, running: RunningMonitors, monitor_id: int, data: bytes, words: str, who: str
) -> tuple[int, int]:
    """Version of a new reference, with which later windows are compared, and the number of rows in no window."""
    own = running.get(connection, monitor_id)
    detector = load_reference(data)
    Monitor(detector, **own.settings)
    dropped = own.monitor.replace_detector(detector)
    reference_id = _insert_reference(connection, monitor_id, detector, data, words, who)
    connection.execute(monitors.update().where(monitors.c.id == monitor_id).values(reference_id=reference_id))
    own.reference_id, own.changed = reference_id, True
    query = sa.select(references.c.version).where(references.c.id == reference_id)
    version = int(connection.scalar(query) or 0)
    detail = f"version {version}: {words}" + (f"; {dropped} rows of open windows are in no window" if dropped else "")
    note(connection, own.project_id, who, "reference replaced", own.name, detail)
    return version, dropped


def _insert_reference(
    connection: Connection, monitor_id: int, detector: ReferenceDetector, data: bytes, words: str, who: str
) -> int:
    last = connection.scalar(sa.select(sa.func.max(references.c.version)).where(references.c.monitor_id == monitor_id))
    row = {
        "monitor_id": monitor_id,
        "version": (last or 0) + 1,
        "origin": detector.evidence_.origin,
        "note": words[:400],
        "columns": json.dumps([column.name for column in detector.schema_.columns]),
        "n_rows": detector.evidence_.n_rows,
        "created_by": who,
        "created": now(),
        "data": data,
    }
    return int(connection.execute(references.insert().returning(references.c.id), row).scalar_one())


def take_push(connection: Connection, own: Running, push: Push) -> dict[str, Any]:
    """What a push led to; one that was taken before leads to the same answer, and is not taken again."""
    found: Any = own.pushes.get(push.key)
    if found is None:
        found = connection.execute(PUSH, {"own": own.id, "given": push.key}).mappings().first()
    if found is not None:
        if found["digest"] != push.digest:
            raise ConflictError("The key of this push was used for other content. Give every push a key of its own.")
        return {**found, "repeated": True, "room": own.monitor.room}
    if push.evidence is not None and own.monitor.room is not None and push.evidence.n_rows > own.monitor.room:
        raise ConflictError(
            f"The evidence has {push.evidence.n_rows} rows, but the open pane takes {own.monitor.room} more, and "
            "evidence cannot be divided. Count as many rows first."
        )
    before, first = _counts(own.monitor), own.monitor.index
    store_windows(connection, own, _advance(own, push))
    after = _counts(own.monitor)
    row = {
        "monitor_id": own.id,
        "key": push.key,
        "digest": push.digest,
        "n_rows": after["position"] - before["position"],
        **{name: after[name] - before[name] for name in ("late_rows", "duplicate_rows", "untimed_rows")},
        "position": after["position"],
        "first_window": first,
        "next_window": own.monitor.index,
        "received": now(),
    }
    own.pushes[push.key] = row
    return {**row, "repeated": False, "room": own.monitor.room}


def _advance(own: Running, push: Push) -> Any:
    if push.evidence is not None:
        evidence, times = push.evidence, push.times
        return own.advance(lambda monitor: monitor.advance_evidence(evidence, times=times))
    return own.advance(lambda monitor: monitor.advance(push.table))


def _counts(monitor: Monitor) -> dict[str, int]:
    return {name: getattr(monitor, name) for name in ("position", "late_rows", "duplicate_rows", "untimed_rows")}


def flush(connection: Connection, running: RunningMonitors, monitor_id: int, who: str) -> int:
    """Number of windows of time that had begun and are decided now."""
    own = running.get(connection, monitor_id)
    decided = own.advance(lambda monitor: monitor.flush())
    store_windows(connection, own, decided)
    note(connection, own.project_id, who, "open windows decided", own.name, f"{len(decided)} windows")
    return len(decided)


def find_span(
    connection: Connection, detectors: Detectors, row: Mapping[str, Any], start: Moment | None, end: Moment | None
) -> tuple[ReferenceDetector, Span]:
    """Detector of a monitor's current reference, and the evidence that it counted in a span.

    Parameters
    ----------
    connection : Connection
    detectors : Detectors
    row : mapping
        Of the monitor.
    start, end : int, datetime or None
        The first window or moment, and the one after the last; None means the first or last there is.
    """
    detector = detectors.get(connection, row["reference_id"])
    monitor = Monitor(detector, **json.loads(row["settings"]))
    first, stop = _pane_range(connection, row["id"], monitor, start, end)
    span = read_span(connection, row["id"], detector.evidence_, first, stop)
    if span.first_pane is None:
        raise NotFoundError(
            "There is no evidence in this span that the current reference has counted. Choose a span with windows that "
            "were compared with it."
        )
    return detector, span


def _pane_range(
    connection: Connection, monitor_id: int, monitor: Monitor, start: Moment | None, end: Moment | None
) -> tuple[int, int]:
    """The first pane of a span, and the one after its last."""
    timed = monitor.room is None
    low = monitor.pane_at(start) if timed and isinstance(start, datetime) else None
    high = monitor.pane_at(end - MICROSECOND) + 1 if timed and isinstance(end, datetime) else None
    # Windows, their panes and the times at which they were decided have the same order.
    own = (windows.c.monitor_id == monitor_id) & windows.c.first_pane.is_not(None)
    if low is None:
        order: tuple[Any, ...] = () if isinstance(start, int | None) else (windows.c.decided,)
        chosen = own if start is None else own & (_place_of(start) >= _value_of(start))
        query = sa.select(windows.c.first_pane).where(chosen).order_by(*order, windows.c.number)
        low = connection.scalar(query.limit(1))
    if high is None:
        order = () if isinstance(end, int | None) else (windows.c.decided.desc(),)
        chosen = own if end is None else own & (_place_of(end) < _value_of(end))
        query = sa.select(windows.c.last_pane + 1).where(chosen).order_by(*order, windows.c.number.desc())
        high = connection.scalar(query.limit(1))
    return (0, 0) if low is None or high is None else (low, max(low, high))


def _place_of(moment: Moment) -> Any:
    """Column of windows that a moment is compared with: when they were decided, or their numbers."""
    return windows.c.decided if isinstance(moment, datetime) else windows.c.number


def _value_of(moment: Moment) -> int:
    return as_micros(moment) if isinstance(moment, datetime) else moment


def normal_from_span(detector: ReferenceDetector, span: Span, words: str) -> bytes:
    """File of a reference that takes the rows of a span for normal.

    What was learned from the first reference, such as codes of cells and how sums vary by chance, stays; the sums that
    windows are compared with are those of the span.
    """
    if span.evidence.n_rows < 2:
        raise InputError("The span has fewer than two rows, which are too few for a reference.")
    return dumps(with_evidence(detector, span.evidence, words))


def with_evidence(detector: ReferenceDetector, evidence: Evidence, words: str) -> ReferenceDetector:
    """Detector with the same model that compares windows with other rows."""
    if detector.usual_ is not None:
        raise InputError(
            "The reference is made of batches, whose usual variation no span can replace. Fit a new reference, and "
            "upload it."
        )
    reference: Any = detector.reference_
    notes = (*reference.notes, *sorted(evidence.notes), words)
    made: ReferenceDetector = copy(detector)._adopt(
        replace(reference, evidence=replace(evidence, notes=frozenset()), notes=notes)
    )
    return made


def parse_moment(text: str | None) -> Moment | None:
    """Number of a window, or a time, out of text.

    Examples
    --------
    >>> parse_moment("17"), parse_moment("2026-03-01"), parse_moment("")
    (17, datetime.datetime(2026, 3, 1, 0, 0, tzinfo=datetime.timezone.utc), None)
    """
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text)
    try:
        return as_datetime(as_micros(datetime.fromisoformat(text)))
    except (ValueError, OverflowError) as error:
        raise ParameterError(
            f"{text[:40]!r} is no number of a window and no time, expected 17, or 2026-03-01T12:00:00+00:00."
        ) from error
