"""Windows in the database: written when they are decided, read as points of charts, as pages of a list, and whole."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gapdrift.counting.evidence import Evidence
from gapdrift.overview.points import Timeline, WindowPoint, point_of
from gapdrift.results.plain import read_plain, result_from_dict
from gapdrift.results.result import DriftResult, Histogram
from gapdrift.service.database import now
from gapdrift.service.errors import NotFoundError
from gapdrift.service.packing import pack_columns, pack_record, unpack_columns, unpack_record
from gapdrift.service.running import Running
from gapdrift.service.schema import alarms, deliveries, monitors, mutes, references, sinks, windows
from gapdrift.service.spans import add_pane
from gapdrift.sinks import make_record
from gapdrift.streaming.windows import WindowResult
from gapdrift.tables.times import as_datetime, as_micros

__all__ = [
    "KEPT_REPORTS",
    "TESTS",
    "list_windows",
    "read_histogram",
    "read_point",
    "read_result",
    "read_timeline",
    "store_windows",
]

KEPT_REPORTS = 1_000
"""Full reports of calm windows are kept for this many of the latest ones; those of alarms are kept for ever."""

SWEEP = 100
"""After this many windows the reports that are too old are dropped."""

TESTS = ("values_p", "values_effect", "missing_p", "missing_effect", "concept_p", "concept_effect")

RECORD = sa.select(windows.c.record).where(
    (windows.c.monitor_id == sa.bindparam("own")) & (windows.c.number == sa.bindparam("place"))
)

SUMMARY = [column for column in windows.c if column.name not in {"columns", "record"}]
"""All that the database has of a window, without its columns and its full record."""


def store_windows(
    connection: Connection, running: Running, decided: Sequence[tuple[WindowResult, Mapping[int, Evidence]]]
) -> None:
    """Write windows, the evidence of their panes, their alarms, and what is to be sent about them."""
    moment = now()
    for window, panes in decided:
        record = make_record(window, running.name)
        point = point_of(record)
        connection.execute(windows.insert(), _row(running, window, point, record, panes, moment))
        for number, part in panes.items():
            add_pane(connection, running.id, number, part)
        if window.alarm:
            _raise_alarm(connection, running, point, moment)
        running.facts = {"zone": window.zone, "p_value": window.p_value, "decided": moment}
    if decided and decided[0][0].index // SWEEP != (decided[-1][0].index + 1) // SWEEP:
        _drop_old_reports(connection, running)


def _row(
    running: Running,
    window: WindowResult,
    point: WindowPoint,
    record: Mapping[str, Any],
    panes: Mapping[int, Evidence],
    moment: int,
) -> dict[str, Any]:
    same = ("n_windows", "zone", "p_value", "n_rows", "first_row", "last_row", "adapted")
    return {name: getattr(point, name) for name in (*same, *TESTS)} | {
        "monitor_id": running.id,
        "number": point.index,
        "starts": _micros(window.start),
        "ends": _micros(window.end),
        "decided": moment,
        "reference_id": running.reference_id,
        "first_pane": min(panes, default=None),
        "last_pane": max(panes, default=None),
        "columns": pack_columns(point),
        "record": pack_record(record),
    }


def _raise_alarm(connection: Connection, running: Running, point: WindowPoint, moment: int) -> None:
    """Put an alarm into the inbox, and a message into the outbox of each sink unless all that changed is muted."""
    changed = point.changed(1.0 / running.settings["false_alarm_every"])
    query = sa.select(mutes.c.column).where((mutes.c.monitor_id == running.id) & (mutes.c.until > moment))
    muted = {json.loads(name) for name in connection.scalars(query)}
    is_muted = bool(changed) and set(changed) <= muted
    row = {
        "project_id": running.project_id,
        "monitor_id": running.id,
        "number": point.index,
        "zone": point.zone,
        "p_value": point.p_value,
        "columns": json.dumps(changed),
        "state": "muted" if is_muted else "open",
        "raised": moment,
        "handled_by": "",
        "handled": None,
    }
    alarm = connection.execute(alarms.insert().returning(alarms.c.id), row).scalar_one()
    targets = list(connection.scalars(sa.select(sinks.c.id).where(sinks.c.project_id == running.project_id)))
    if targets and not is_muted:
        facts = {"alarm_id": alarm, "state": "pending", "attempts": 0, "next_try": moment, "reason": ""}
        connection.execute(deliveries.insert(), [{"sink_id": target, **facts} for target in targets])


def _drop_old_reports(connection: Connection, running: Running) -> None:
    oldest = running.monitor.index - KEPT_REPORTS
    old = (windows.c.monitor_id == running.id) & (windows.c.number < oldest) & (windows.c.number >= oldest - 10 * SWEEP)
    calm = windows.c.zone.in_(["calm", "undetermined"])
    connection.execute(windows.update().where(old & calm).values(record=None))


def list_windows(
    connection: Connection,
    monitor_id: int,
    *,
    before: int | None = None,
    zone: str | None = None,
    limit: int = 100,
) -> list[Mapping[str, Any]]:
    """Summaries of windows, the latest first, beginning below the number ``before``."""
    chosen = windows.c.monitor_id == monitor_id
    if before is not None:
        chosen &= windows.c.number < before
    if zone is not None:
        chosen &= windows.c.zone == zone
    query = sa.select(*SUMMARY).where(chosen).order_by(windows.c.number.desc()).limit(limit)
    return [dict(row) for row in connection.execute(query).mappings()]


def read_timeline(
    connection: Connection, monitor_id: int, *, before: int | None = None, limit: int = 240, columns: bool = True
) -> Timeline:
    """Timeline of the latest windows of a monitor, below the number ``before``."""
    monitor = connection.execute(sa.select(monitors).where(monitors.c.id == monitor_id)).mappings().one()
    settings = json.loads(monitor["settings"])
    chosen = windows.c.monitor_id == monitor_id
    if before is not None:
        chosen &= windows.c.number < before
    wanted = [*SUMMARY, windows.c.columns] if columns else SUMMARY
    query = sa.select(*wanted).where(chosen).order_by(windows.c.number.desc()).limit(limit)
    rows = list(connection.execute(query).mappings())[::-1]
    names = _names(connection, {row["reference_id"] for row in rows}) if columns else {}
    return Timeline(
        monitor["name"],
        tuple(_point(dict(row), names) for row in rows),
        1.0 / settings["false_alarm_every"],
        1.0 / settings["warning_every"],
        monitor["n_windows"],
    )


def read_point(connection: Connection, monitor_id: int, number: int) -> WindowPoint:
    """One window as a point of a chart."""
    query = sa.select(*SUMMARY, windows.c.columns).where(
        (windows.c.monitor_id == monitor_id) & (windows.c.number == number)
    )
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"The monitor has no window {number}.")
    return _point(dict(row), _names(connection, {row["reference_id"]}))


def read_result(connection: Connection, monitor_id: int, number: int) -> DriftResult | None:
    """Full result of a window; None if it has no rows, or if its report was dropped because it is old and calm."""
    found = connection.execute(RECORD, {"own": monitor_id, "place": number}).first()
    if found is None:
        raise NotFoundError(f"The monitor has no window {number}.")
    record = unpack_record(found.record) if found.record is not None else {"result": None}
    return None if record["result"] is None else result_from_dict(record["result"])


def read_histogram(connection: Connection, monitor_id: int, number: int, column: str) -> Histogram | None:
    """Histogram of one column in a window; None if there is none, or if the report was dropped."""
    found = connection.scalar(RECORD, {"own": monitor_id, "place": number})
    result = unpack_record(found)["result"] if found is not None else None
    features = () if result is None else result["features"]
    plain = next((one["histogram"] for one in features if one["name"] == column), None)
    return None if plain is None else read_plain(Histogram, plain)


def _point(row: Mapping[str, Any], names: Mapping[int, list[str]]) -> WindowPoint:
    same = ("zone", "p_value", "n_rows", "n_windows", *TESTS)
    return WindowPoint(
        index=row["number"],
        start=_moment(row["starts"]),
        end=_moment(row["ends"]),
        columns=unpack_columns(row["columns"], names[row["reference_id"]]) if names else (),
        adapted=row["adapted"],
        first_row=row["first_row"],
        last_row=row["last_row"],
        **{name: row[name] for name in same},
    )


def _names(connection: Connection, ids: set[int]) -> dict[int, list[str]]:
    """Names of the columns of references."""
    query = sa.select(references.c.id, references.c.columns).where(references.c.id.in_(ids))
    return {row.id: json.loads(row.columns) for row in connection.execute(query)}


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else as_micros(moment)


def _moment(micros: int | None) -> str | None:
    return None if micros is None else as_datetime(micros).isoformat()
