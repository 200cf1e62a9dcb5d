"""The inbox of alarms, comments on them, muted columns, and where alarms are sent."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gapdrift.errors import ParameterError
from gapdrift.service.audit import note
from gapdrift.service.database import now
from gapdrift.service.delivery import describe_sink, make_sink
from gapdrift.service.errors import ConflictError, NotFoundError
from gapdrift.service.schema import alarms, comments, deliveries, monitors, mutes, sinks, tokens
from gapdrift.tables.times import as_micros

__all__ = [
    "acknowledge",
    "add_comment",
    "add_mute",
    "add_sink",
    "comments_of",
    "delete_mute",
    "delete_sink",
    "delete_token",
    "find_alarm",
    "list_alarms",
    "list_comments",
    "list_mutes",
    "list_sinks",
    "list_tokens",
]

Rows = list[dict[str, Any]]


def list_alarms(
    connection: Connection,
    project_id: int,
    *,
    state: str | None = None,
    monitor_id: int | None = None,
    before: int | None = None,
    limit: int = 100,
) -> Rows:
    """Alarms of a project, the latest first."""
    chosen = alarms.c.project_id == project_id
    if state is not None:
        chosen &= alarms.c.state == state
    if monitor_id is not None:
        chosen &= alarms.c.monitor_id == monitor_id
    if before is not None:
        chosen &= alarms.c.id < before
    query = sa.select(alarms, monitors.c.name.label("monitor")).join_from(alarms, monitors).where(chosen)
    return [_alarm(row) for row in connection.execute(query.order_by(alarms.c.id.desc()).limit(limit)).mappings()]


def find_alarm(connection: Connection, project_id: int, alarm_id: int) -> dict[str, Any]:
    """One alarm of a project."""
    query = sa.select(alarms, monitors.c.name.label("monitor")).join_from(alarms, monitors)
    found = connection.execute(query.where((alarms.c.project_id == project_id) & (alarms.c.id == alarm_id)))
    row = found.mappings().first()
    if row is None:
        raise NotFoundError(f"The project has no alarm {alarm_id}.")
    return _alarm(row)


def acknowledge(connection: Connection, project_id: int, alarm_id: int, who: str) -> dict[str, Any]:
    """The alarm, of which somebody has taken notice."""
    alarm = find_alarm(connection, project_id, alarm_id)
    if alarm["state"] != "acknowledged":
        values = {"state": "acknowledged", "handled_by": who, "handled": now()}
        connection.execute(alarms.update().where(alarms.c.id == alarm_id).values(**values))
        note(connection, project_id, who, "alarm acknowledged", f"{alarm['monitor']}, window {alarm['number']}")
    return find_alarm(connection, project_id, alarm_id)


def add_comment(connection: Connection, project_id: int, alarm_id: int, words: str, who: str) -> None:
    """Write a comment on an alarm."""
    alarm = find_alarm(connection, project_id, alarm_id)
    row = {"alarm_id": alarm_id, "author": who, "written": now(), "words": words}
    connection.execute(comments.insert(), row)
    note(connection, project_id, who, "comment written", f"{alarm['monitor']}, window {alarm['number']}")


def list_comments(connection: Connection, project_id: int, alarm_id: int) -> Rows:
    """Comments on an alarm, the first one first."""
    find_alarm(connection, project_id, alarm_id)
    query = sa.select(comments).where(comments.c.alarm_id == alarm_id).order_by(comments.c.id).limit(1_000)
    return [dict(row) for row in connection.execute(query).mappings()]


def comments_of(connection: Connection, found: Rows) -> dict[int, Rows]:
    """Comments on each of some alarms of a project, the first one first."""
    query = sa.select(comments).where(comments.c.alarm_id.in_([alarm["id"] for alarm in found]))
    said: dict[int, Rows] = {alarm["id"]: [] for alarm in found}
    for row in connection.execute(query.order_by(comments.c.id).limit(5_000)).mappings():
        said[row["alarm_id"]].append(dict(row))
    return said


def add_mute(connection: Connection, monitor: Mapping[str, Any], column: str, until: datetime, who: str) -> int:
    """Id of a mute: alarms about this column alone are not sent until a time."""
    moment = as_micros(until)
    if moment <= now():
        raise ParameterError(f"until is {until.isoformat()}, expected a time to come.")
    row = {"monitor_id": monitor["id"], "column": json.dumps(column), "until": moment, "created_by": who}
    made = connection.execute(mutes.insert().returning(mutes.c.id), {**row, "created": now()}).scalar_one()
    note(connection, monitor["project_id"], who, "column muted", monitor["name"], json.dumps(column))
    return int(made)


def list_mutes(connection: Connection, monitor_id: int) -> Rows:
    """Mutes of a monitor that are not over."""
    chosen = (mutes.c.monitor_id == monitor_id) & (mutes.c.until > now())
    rows = connection.execute(sa.select(mutes).where(chosen).order_by(mutes.c.until).limit(1_000)).mappings()
    return [{**row, "column": json.loads(row["column"])} for row in rows]


def delete_mute(connection: Connection, monitor: Mapping[str, Any], mute_id: int, who: str) -> None:
    """End a mute."""
    chosen = (mutes.c.monitor_id == monitor["id"]) & (mutes.c.id == mute_id)
    if connection.execute(mutes.delete().where(chosen)).rowcount != 1:
        raise NotFoundError(f"The monitor has no mute {mute_id}.")
    note(connection, monitor["project_id"], who, "mute ended", monitor["name"])


def add_sink(
    connection: Connection, project_id: int, name: str, kind: str, settings: Mapping[str, Any], who: str
) -> int:
    """Id of a sink, which gets the alarms from now on."""
    make_sink(kind, settings)
    taken = sa.select(sinks.c.id).where((sinks.c.project_id == project_id) & (sinks.c.name == name))
    if connection.scalar(taken) is not None:
        raise ConflictError(f"The project has a sink {name!r} already.")
    row = {"project_id": project_id, "name": name, "kind": kind, "settings": json.dumps(dict(settings))}
    made = connection.execute(sinks.insert().returning(sinks.c.id), {**row, "created": now()}).scalar_one()
    note(connection, project_id, who, "sink added", name, f"{kind} to {describe_sink(kind, settings)}")
    return int(made)


def list_sinks(connection: Connection, project_id: int) -> Rows:
    """Sinks of a project, with how many messages wait and how many were given up."""
    rows = connection.execute(sa.select(sinks).where(sinks.c.project_id == project_id).order_by(sinks.c.id)).mappings()
    return [
        {
            "id": row["id"],
            "name": row["name"],
            "kind": row["kind"],
            "target": describe_sink(row["kind"], json.loads(row["settings"])),
            **_undelivered(connection, row["id"]),
        }
        for row in rows
    ]


def _undelivered(connection: Connection, sink_id: int) -> dict[str, Any]:
    chosen = (deliveries.c.sink_id == sink_id) & deliveries.c.state.in_(["pending", "failed"])
    query = sa.select(deliveries.c.state, sa.func.count()).where(chosen).group_by(deliveries.c.state)
    counts = {state: int(number) for state, number in connection.execute(query)}
    latest = sa.select(deliveries.c.reason).where(chosen & (deliveries.c.reason != "")).order_by(deliveries.c.id.desc())
    reason = connection.scalar(latest.limit(1))
    return {"pending": counts.get("pending", 0), "failed": counts.get("failed", 0), "reason": reason or ""}


def delete_sink(connection: Connection, project_id: int, sink_id: int, who: str) -> None:
    """Send no more alarms to a sink."""
    chosen = (sinks.c.project_id == project_id) & (sinks.c.id == sink_id)
    if connection.execute(sinks.delete().where(chosen)).rowcount != 1:
        raise NotFoundError(f"The project has no sink {sink_id}.")
    note(connection, project_id, who, "sink removed", str(sink_id))


def list_tokens(connection: Connection, project_id: int) -> Rows:
    """API tokens of a project, without their secrets."""
    wanted = (tokens.c.id, tokens.c.name, tokens.c.role, tokens.c.created, tokens.c.created_by)
    query = sa.select(*wanted).where(tokens.c.project_id == project_id).order_by(tokens.c.id)
    return [dict(row) for row in connection.execute(query).mappings()]


def delete_token(connection: Connection, project_id: int, token_id: int, who: str) -> None:
    """Make a token worthless."""
    chosen = (tokens.c.project_id == project_id) & (tokens.c.id == token_id)
    if connection.execute(tokens.delete().where(chosen)).rowcount != 1:
        raise NotFoundError(f"The project has no token {token_id}.")
    note(connection, project_id, who, "token removed", str(token_id))


def _alarm(row: Any) -> dict[str, Any]:
    return {**row, "columns": json.loads(row["columns"])}
