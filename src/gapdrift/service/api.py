"""The HTTP interface: typed, described by OpenAPI, with pages by keyset. Everything below ``/api/v1``."""

import json
import secrets
from collections.abc import Mapping
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Body, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse
from sqlalchemy.engine import Connection

from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.reference import ReferenceDetector
from gapdrift.errors import InputError
from gapdrift.results.report.html import content_hash
from gapdrift.service import alarms as inbox
from gapdrift.service import models
from gapdrift.service.access import create_token, set_member
from gapdrift.service.audit import note as write_note
from gapdrift.service.audit import read_audit
from gapdrift.service.errors import NotFoundError
from gapdrift.service.guards import Admin, Editor, Grant, Operator, Signed, Viewer, service_of
from gapdrift.service.monitors import (
    Push,
    add_reference,
    create_monitor,
    create_project,
    find_monitor,
    find_span,
    flush,
    normal_from_span,
    parse_moment,
    take_push,
    with_evidence,
)
from gapdrift.service.running import RunningMonitors
from gapdrift.service.schema import alarms, members, monitors, projects, references, users
from gapdrift.service.state import Service
from gapdrift.service.uploads import digest_of, read_upload
from gapdrift.service.windows import list_windows, read_result
from gapdrift.tables.times import as_datetime

__all__ = ["delete_monitor", "describe_monitor", "list_projects", "push_body", "router"]

ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": models.Problem} for code in (400, 401, 403, 404, 409, 413, 422, 429, 503)
}
router = APIRouter(prefix="/api/v1", responses=ERRORS)

PROJECT = "/projects/{project}"
MONITOR = "/projects/{project}/monitors/{monitor}"
MonitorName = Annotated[str, Path(pattern=models.NAME)]
Whole = Annotated[int, Path(ge=0, lt=2**62)]
Before = Annotated[int | None, Query(ge=0, lt=2**62, description="What `next` of the page before was.")]
Limit = Annotated[int, Query(ge=1, le=500)]
When = Annotated[str | None, Query(max_length=40, description="Number of a window, or a time in ISO 8601.")]
Binary = Annotated[
    bytes, Body(media_type="application/octet-stream", description="A .gapdrift file of a fitted detector.")
]
Optional = Annotated[str | None, Query(max_length=200)]


# Routes are tried in this order: the one that is asked for most often comes first.


@router.post(
    MONITOR + "/push",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                kind: {"schema": {"type": "string", "format": "binary"}}
                for kind in (
                    "application/vnd.gapdrift.evidence",
                    "text/csv",
                    "application/vnd.apache.parquet",
                    "application/vnd.apache.arrow.stream",
                )
            }
            | {"application/json": {"schema": {"type": "array", "items": {"type": "object"}}}},
        }
    },
)
async def post_push(
    request: Request,
    grant: Editor,
    monitor: MonitorName,
    start: When = None,
    end: When = None,
    idempotency_key: Annotated[str | None, Header(pattern=r"^[!-~]{1,100}$")] = None,
) -> models.PushAnswer:
    """Push rows, or better the evidence of rows that you counted, so that no row leaves your machine.

    The same ``Idempotency-Key`` is taken once, however often it is sent. Evidence for windows of time needs ``start``
    and ``end``: the times of its earliest and its latest row.
    """
    data = await request.body()
    content_type = request.headers.get("content-type", "")
    return await push_body(service_of(request), grant, monitor, data, content_type, (start, end), idempotency_key)


@router.get("/projects")
def get_projects(request: Request, identity: Signed) -> list[models.Project]:
    """Projects in which you have a role."""
    return [models.Project(**row) for row in service_of(request).read(lambda c: list_projects(c, identity))]


@router.post("/projects", status_code=201)
def post_project(request: Request, identity: Operator, new: models.NewProject) -> models.Project:
    """Make a project."""
    service_of(request).write(lambda c: create_project(c, new.name, new.title, identity.name))
    return models.Project(name=new.name, title=new.title, role="admin", n_monitors=0, open_alarms=0)


def list_projects(connection: Connection, identity: Any) -> list[dict[str, Any]]:
    """Projects in which an identity has a role, with their monitors and open alarms counted."""
    counted = sa.select(sa.func.count()).where(monitors.c.project_id == projects.c.id).scalar_subquery()
    is_open = (alarms.c.project_id == projects.c.id) & (alarms.c.state == "open")
    waiting = sa.select(sa.func.count()).select_from(alarms).where(is_open).scalar_subquery()
    query = sa.select(projects, counted.label("n_monitors"), waiting.label("open_alarms")).order_by(projects.c.slug)
    if not identity.operator:
        query = query.where(projects.c.id.in_(list(identity.roles)))
    return [
        {
            "name": row["slug"],
            "title": row["title"],
            "role": identity.role_in(row["id"]),
            "n_monitors": row["n_monitors"],
            "open_alarms": row["open_alarms"],
        }
        for row in connection.execute(query).mappings()
    ]


@router.get(PROJECT + "/monitors")
def get_monitors(request: Request, grant: Viewer) -> list[models.Monitor]:
    """Monitors of a project."""
    service = service_of(request)
    with service.database.read() as connection:
        query = sa.select(monitors).where(monitors.c.project_id == grant.project_id).order_by(monitors.c.name)
        rows = [dict(row) for row in connection.execute(query).mappings()]
        return [describe_monitor(connection, row) for row in rows]


@router.post(PROJECT + "/monitors", status_code=201)
def post_monitor(
    request: Request,
    grant: Editor,
    name: Annotated[str, Query(pattern=models.NAME)],
    data: Binary,
    window: Annotated[str, Query(max_length=40, description="Rows of a window, or a time such as 1h.")] = "500",
    step: Optional = None,
    false_alarm_every: float = 1_000.0,
    warning_every: float | None = None,
    time_column: Optional = None,
    key_column: Optional = None,
    lateness: Optional = None,
) -> models.Monitor:
    """Register a fitted reference, and make a monitor that compares windows with it."""
    settings = {
        "window": parse_length(window),
        "step": None if step is None else parse_length(step),
        "false_alarm_every": false_alarm_every,
        "warning_every": warning_every,
        "time_column": time_column,
        "key_column": key_column,
        "lateness": lateness,
    }
    service = service_of(request)
    service.change(lambda c, _: create_monitor(c, grant.project_id, name, data, settings, grant.who))
    return _monitor(service, grant, name)


def parse_length(text: str) -> int | str:
    """Number of rows, or a time as text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


@router.get(MONITOR)
def get_monitor(request: Request, grant: Viewer, monitor: MonitorName) -> models.Monitor:
    """One monitor."""
    return _monitor(service_of(request), grant, monitor)


@router.delete(MONITOR, status_code=204)
def remove_monitor(request: Request, grant: Admin, monitor: MonitorName) -> None:
    """Remove a monitor with all its windows."""
    delete_monitor(service_of(request), grant, monitor)


def delete_monitor(service: Service, grant: Grant, name: str) -> None:
    """Remove a monitor with all that belongs to it."""
    row = service.read(lambda c: find_monitor(c, grant.project_id, name))

    def job(connection: Connection, running: Any) -> None:
        running.forget(row["id"])
        connection.execute(monitors.delete().where(monitors.c.id == row["id"]))
        write_note(connection, grant.project_id, grant.who, "monitor removed", name)

    service.change(job)


def _monitor(service: Service, grant: Grant, name: str) -> models.Monitor:
    with service.database.read() as connection:
        return describe_monitor(connection, find_monitor(connection, grant.project_id, name))


def describe_monitor(connection: Connection, row: Mapping[str, Any]) -> models.Monitor:
    """Monitor with its state, from its row."""
    settings = json.loads(row["settings"])
    version = connection.scalar(sa.select(references.c.version).where(references.c.id == row["reference_id"]))
    return models.Monitor(
        name=row["name"],
        settings=settings,
        reference_version=version or 0,
        position=row["position"],
        room=row["room"],
        pane=json.loads(row["pane"]),
        n_windows=row["n_windows"],
        zone=row["zone"],
        p_value=row["p_value"],
        decided=models.moment(row["decided"]),
    )


@router.get(MONITOR + "/references")
def get_references(request: Request, grant: Viewer, monitor: MonitorName) -> list[models.Reference]:
    """Versions of the reference, the latest first."""
    with service_of(request).database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        return list_references(connection, row)


def list_references(connection: Connection, row: Mapping[str, Any]) -> list[models.Reference]:
    """Versions of a monitor's reference, the latest first."""
    wanted = [column for column in references.c if column.name != "data"]
    query = sa.select(*wanted).where(references.c.monitor_id == row["id"]).order_by(references.c.version.desc())
    return [
        models.Reference(
            version=found["version"],
            origin=found["origin"],
            note=found["note"],
            n_rows=found["n_rows"],
            columns=json.loads(found["columns"]),
            created=as_datetime(found["created"]),
            created_by=found["created_by"],
            current=found["id"] == row["reference_id"],
        )
        for found in connection.execute(query.limit(500)).mappings()
    ]


@router.post(MONITOR + "/references", status_code=201)
def post_reference(
    request: Request,
    grant: Editor,
    monitor: MonitorName,
    data: Binary,
    note: Annotated[str, Query(max_length=200, pattern=r"^[^\x00-\x1f]*$")] = "uploaded",
) -> models.ReferenceAnswer:
    """Compare later windows with another reference."""
    service = service_of(request)
    row = service.read(lambda c: find_monitor(c, grant.project_id, monitor))
    version, dropped = service.change(lambda c, running: add_reference(c, running, row["id"], data, note, grant.who))
    return models.ReferenceAnswer(version=version, rows_in_no_window=dropped)


@router.post(MONITOR + "/normal", status_code=201)
def post_normal(
    request: Request, grant: Editor, monitor: MonitorName, span: models.NormalSpan
) -> models.ReferenceAnswer:
    """Take the rows of a span for normal from now on: a new reference from stored evidence."""
    version, dropped = make_normal(service_of(request), grant, monitor, span)
    return models.ReferenceAnswer(version=version, rows_in_no_window=dropped)


def make_normal(service: Service, grant: Grant, monitor: str, span: models.NormalSpan) -> tuple[int, int]:
    """Version of a reference made from stored evidence, and the number of rows in no window."""
    with service.database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        start, end = parse_moment(span.start), parse_moment(span.end)
        detector, found = find_span(connection, service.detectors, row, start, end)
    words = f"{span.note} ({found.evidence.n_rows} rows, from {span.start} to {span.end})"
    data = normal_from_span(detector, found, words)
    answer: tuple[int, int] = service.change(
        lambda c, running: add_reference(c, running, row["id"], data, words, grant.who)
    )
    return answer


@router.get(MONITOR + "/references/{version}", response_class=Response)
def get_reference(request: Request, grant: Viewer, monitor: MonitorName, version: Whole) -> Response:
    """The file of one version, with which clients count rows."""
    with service_of(request).database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        chosen = (references.c.monitor_id == row["id"]) & (references.c.version == version)
        data = connection.scalar(sa.select(references.c.data).where(chosen))
    if data is None:
        raise NotFoundError(f"The monitor has no reference {version}.")
    name = f'attachment; filename="{monitor}-{version}.gapdrift"'
    return Response(bytes(data), media_type="application/octet-stream", headers={"content-disposition": name})


async def push_body(
    service: Service,
    grant: Grant,
    monitor: str,
    data: bytes,
    content_type: str,
    span: tuple[str | None, str | None],
    key: str | None,
) -> models.PushAnswer:
    """Take a body of rows or evidence, and answer when it is on the disk."""

    def detector() -> ReferenceDetector:
        with service.database.read() as connection:
            return service.detectors.get(
                connection, find_monitor(connection, grant.project_id, monitor)["reference_id"]
            )

    def read() -> Push:
        found = read_upload(data, content_type, detector)
        digest = digest_of(data, f"{content_type}|{span}")
        own = key or f"once-{secrets.token_hex(16)}"
        if isinstance(found, Evidence):
            return Push(own, digest, evidence=found, times=_times(span))
        if span != (None, None):
            raise InputError("Rows have their own times; start and end are for evidence. Leave them out.")
        return Push(own, digest, table=found)

    def take(connection: Connection, running: RunningMonitors) -> dict[str, Any]:
        return take_push(connection, running.find(connection, grant.project_id, monitor), push)

    push = await run_in_threadpool(read)
    taken = await service.change_async(take)
    service.counters.count_rows(
        "rows" if push.evidence is None else "evidence", 0 if taken["repeated"] else taken["n_rows"]
    )
    if taken["first_window"] == taken["next_window"]:
        return _push_answer(taken, [])
    return _push_answer(taken, await run_in_threadpool(_decided_windows, service, taken))


def _times(span: tuple[str | None, str | None]) -> Any:
    if span == (None, None):
        return None
    moments = tuple(parse_moment(text) for text in span)
    if any(moment is None or isinstance(moment, int) for moment in moments):
        raise InputError("Evidence for windows of time needs start and end, both times in ISO 8601.")
    return moments


def _push_answer(taken: Mapping[str, Any], decided: list[models.WindowSummary]) -> models.PushAnswer:
    same = ("repeated", "n_rows", "late_rows", "duplicate_rows", "untimed_rows", "position", "room")
    return models.PushAnswer(**{name: taken[name] for name in same}, windows=decided)


def _decided_windows(service: Service, taken: Mapping[str, Any]) -> list[models.WindowSummary]:
    """Windows that a push decided, 500 at most: the latest of them."""
    first, end = taken["first_window"], taken["next_window"]
    with service.database.read() as connection:
        found = list_windows(connection, taken["monitor_id"], before=end, limit=min(end - first, 500))
        return _summaries(connection, [one for one in reversed(found) if one["number"] >= first])


@router.post(MONITOR + "/flush")
def post_flush(request: Request, grant: Editor, monitor: MonitorName) -> dict[str, int]:
    """Decide the windows of time that have begun, as if no more of their rows were to come."""
    service = service_of(request)
    row = service.read(lambda c: find_monitor(c, grant.project_id, monitor))
    return {"windows": service.change(lambda c, running: flush(c, running, row["id"], grant.who))}


@router.get(MONITOR + "/windows")
def get_windows(
    request: Request,
    grant: Viewer,
    monitor: MonitorName,
    before: Before = None,
    zone: models.Zone | None = None,
    limit: Limit = 100,
) -> models.WindowPage:
    """Windows of a monitor, the latest first."""
    with service_of(request).database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        found = list_windows(connection, row["id"], before=before, zone=zone, limit=limit)
        return models.WindowPage(items=_summaries(connection, found), next=_next(found, limit, "number"))


def _next(found: list[Any], limit: int, name: str) -> int | None:
    return int(found[-1][name]) if len(found) == limit else None


def _summaries(connection: Connection, rows: list[Mapping[str, Any]]) -> list[models.WindowSummary]:
    ids = {row["reference_id"] for row in rows}
    query = sa.select(references.c.id, references.c.version).where(references.c.id.in_(ids))
    versions = {found.id: found.version for found in connection.execute(query)}
    times = ("starts", "ends", "decided")
    same = [name for name in models.WindowSummary.model_fields if name not in {*times, "reference_version"}]
    return [
        models.WindowSummary.model_validate(
            {name: row[name] for name in same}
            | {name: models.moment(row[name]) for name in times}
            | {"reference_version": versions[row["reference_id"]]}
        )
        for row in rows
    ]


@router.get(MONITOR + "/windows/{number}")
def get_window(request: Request, grant: Viewer, monitor: MonitorName, number: Whole) -> dict[str, Any]:
    """Full result of a window; null where it has no rows, or where it is old and calm."""
    with service_of(request).database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        result = read_result(connection, row["id"], number)
    return {"number": number, "result": None if result is None else result.to_dict()}


@router.get(MONITOR + "/windows/{number}/report", response_class=HTMLResponse)
def get_report(request: Request, grant: Viewer, monitor: MonitorName, number: Whole) -> Response:
    """Full report of a window, as one page."""
    with service_of(request).database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        result = read_result(connection, row["id"], number)
    if result is None:
        raise NotFoundError(f"Window {number} has no report: it has no rows, or it is old and calm.")
    page = result.to_html(title=f"{grant.project['title']}, {monitor}, window {number}")
    return HTMLResponse(page.encode("utf-8", "xmlcharrefreplace"), headers={"content-security-policy": _policy(page)})


def _policy(page: str) -> str:
    """Content security policy that allows the style and the script of a report, and nothing else."""
    style = page.split("<style>", 1)[1].split("</style>", 1)[0]
    script = page.rsplit("<script>", 1)[1].rsplit("</script>", 1)[0]
    return (
        f"default-src 'none'; style-src '{content_hash(style)}'; script-src '{content_hash(script)}'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


@router.get(MONITOR + "/span")
def get_span(
    request: Request,
    grant: Viewer,
    monitor: MonitorName,
    start: Annotated[str | None, Query(alias="from", max_length=40)] = None,
    end: Annotated[str | None, Query(alias="to", max_length=40)] = None,
    alpha: Annotated[float, Query(gt=0, lt=1)] = 0.05,
) -> models.SpanAnswer:
    """How the rows of a span differ from the reference, from merged evidence: windows or times from ... to before."""
    service = service_of(request)
    with service.database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        detector, span = find_span(connection, service.detectors, row, parse_moment(start), parse_moment(end))
        version = connection.scalar(sa.select(references.c.version).where(references.c.id == row["reference_id"]))
    result = detector.test(span.evidence, alpha=alpha)
    return models.SpanAnswer(n_rows=span.evidence.n_rows, reference_version=version or 0, result=result.to_dict())


@router.get(MONITOR + "/compare")
def get_comparison(
    request: Request,
    grant: Viewer,
    monitor: MonitorName,
    before_from: Annotated[str, Query(max_length=40)],
    before_to: Annotated[str, Query(max_length=40)],
    start: Annotated[str, Query(alias="from", max_length=40)],
    end: Annotated[str, Query(alias="to", max_length=40)],
    alpha: Annotated[float, Query(gt=0, lt=1)] = 0.05,
) -> models.ComparisonAnswer:
    """How the rows of a span differ from those of another span."""
    service = service_of(request)
    result, n_before, n_rows = compare_spans(service, grant, monitor, (before_from, before_to), (start, end), alpha)
    return models.ComparisonAnswer(n_rows=n_rows, n_rows_before=n_before, result=result.to_dict())


def compare_spans(
    service: Service, grant: Grant, monitor: str, before: tuple[str, str], after: tuple[str, str], alpha: float
) -> tuple[Any, int, int]:
    """Result of one span against another, and the numbers of rows of both."""
    with service.database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        spans = [
            find_span(connection, service.detectors, row, parse_moment(start), parse_moment(end))
            for start, end in (before, after)
        ]
    (detector, first), (_, second) = spans
    if first.evidence.n_rows < 2:
        raise InputError("The earlier span has fewer than two rows, which are too few to compare with.")
    twin = with_evidence(detector, first.evidence, f"Compared with the rows from {before[0]} to {before[1]}.")
    return twin.test(second.evidence, alpha=alpha), first.evidence.n_rows, second.evidence.n_rows


@router.get(PROJECT + "/alarms")
def get_alarms(
    request: Request,
    grant: Viewer,
    state: Annotated[str | None, Query(pattern="^(open|acknowledged|muted)$")] = None,
    before: Before = None,
    limit: Limit = 100,
) -> models.AlarmPage:
    """Alarms of a project, the latest first."""
    found = service_of(request).read(
        lambda c: inbox.list_alarms(c, grant.project_id, state=state, before=before, limit=limit)
    )
    return models.AlarmPage(items=[_alarm(row) for row in found], next=_next(found, limit, "id"))


def _alarm(row: Mapping[str, Any]) -> models.Alarm:
    times = ("raised", "handled")
    same = {name: row[name] for name in models.Alarm.model_fields if name not in times}
    return models.Alarm.model_validate(same | {name: models.moment(row[name]) for name in times})


@router.post(PROJECT + "/alarms/{alarm}/acknowledge")
def post_acknowledgement(request: Request, grant: Editor, alarm: Whole) -> models.Alarm:
    """Take notice of an alarm."""
    return _alarm(service_of(request).write(lambda c: inbox.acknowledge(c, grant.project_id, alarm, grant.who)))


@router.get(PROJECT + "/alarms/{alarm}/comments")
def get_comments(request: Request, grant: Viewer, alarm: Whole) -> list[models.Comment]:
    """Comments on an alarm."""
    rows = service_of(request).read(lambda c: inbox.list_comments(c, grant.project_id, alarm))
    return [models.Comment(author=r["author"], written=as_datetime(r["written"]), words=r["words"]) for r in rows]


@router.post(PROJECT + "/alarms/{alarm}/comments", status_code=201)
def post_comment(request: Request, grant: Editor, alarm: Whole, new: models.NewComment) -> None:
    """Comment on an alarm."""
    service_of(request).write(lambda c: inbox.add_comment(c, grant.project_id, alarm, new.words, grant.who))


@router.get(MONITOR + "/mutes")
def get_mutes(request: Request, grant: Viewer, monitor: MonitorName) -> list[models.Mute]:
    """Columns that are muted."""
    with service_of(request).database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        return [
            models.Mute(id=m["id"], column=m["column"], until=as_datetime(m["until"]), created_by=m["created_by"])
            for m in inbox.list_mutes(connection, row["id"])
        ]


@router.post(MONITOR + "/mutes", status_code=201)
def post_mute(request: Request, grant: Editor, monitor: MonitorName, new: models.NewMute) -> dict[str, int]:
    """Mute a column until a time: alarms about it alone are not sent."""

    def job(connection: Connection) -> int:
        row = find_monitor(connection, grant.project_id, monitor)
        return inbox.add_mute(connection, row, new.column, new.until, grant.who)

    return {"id": service_of(request).write(job)}


@router.delete(MONITOR + "/mutes/{mute}", status_code=204)
def remove_mute(request: Request, grant: Editor, monitor: MonitorName, mute: Whole) -> None:
    """End a mute."""

    def job(connection: Connection) -> None:
        row = find_monitor(connection, grant.project_id, monitor)
        inbox.delete_mute(connection, row, mute, grant.who)

    service_of(request).write(job)


@router.get(PROJECT + "/tokens")
def get_tokens(request: Request, grant: Admin) -> list[models.Token]:
    """API tokens of a project, without their secrets."""
    rows = service_of(request).read(lambda c: inbox.list_tokens(c, grant.project_id))
    return [models.Token(**{**row, "created": as_datetime(row["created"])}) for row in rows]


@router.post(PROJECT + "/tokens", status_code=201)
def post_token(request: Request, grant: Admin, new: models.NewToken) -> models.NewTokenAnswer:
    """Make an API token. Its secret is in this answer only."""
    made = service_of(request).write(lambda c: create_token(c, grant.project_id, new.name, new.role, grant.who))
    return models.NewTokenAnswer(id=made[0], token=made[1])


@router.delete(PROJECT + "/tokens/{token}", status_code=204)
def remove_token(request: Request, grant: Admin, token: Whole) -> None:
    """Make a token worthless."""
    service_of(request).write(lambda c: inbox.delete_token(c, grant.project_id, token, grant.who))


@router.get(PROJECT + "/sinks")
def get_sinks(request: Request, grant: Admin) -> list[models.SinkFacts]:
    """Where alarms are sent."""
    rows = service_of(request).read(lambda c: inbox.list_sinks(c, grant.project_id))
    return [models.SinkFacts(**row) for row in rows]


@router.post(PROJECT + "/sinks", status_code=201)
def post_sink(request: Request, grant: Admin, new: models.NewSink) -> dict[str, int]:
    """Send alarms to a webhook, a Slack-compatible webhook or by e-mail."""
    service = service_of(request)
    return {
        "id": service.write(lambda c: inbox.add_sink(c, grant.project_id, new.name, new.kind, new.settings, grant.who))
    }


@router.delete(PROJECT + "/sinks/{sink}", status_code=204)
def remove_sink(request: Request, grant: Admin, sink: Whole) -> None:
    """Send no more alarms there."""
    service_of(request).write(lambda c: inbox.delete_sink(c, grant.project_id, sink, grant.who))


@router.get(PROJECT + "/members")
def get_members(request: Request, grant: Admin) -> list[models.Member]:
    """Users with a role in a project."""
    query = sa.select(users.c.name, members.c.role).join_from(members, users)
    chosen = query.where(members.c.project_id == grant.project_id).order_by(users.c.name)
    return service_of(request).read(lambda c: [models.Member(name=r.name, role=r.role) for r in c.execute(chosen)])


@router.put(PROJECT + "/members", status_code=204)
def put_member(request: Request, grant: Admin, member: models.Member) -> None:
    """Give a user a role in a project."""
    service_of(request).write(lambda c: set_member(c, grant.project_id, member.name, member.role, grant.who))


@router.delete(PROJECT + "/members/{name}", status_code=204)
def remove_member(request: Request, grant: Admin, name: Annotated[str, Path(pattern=models.NAME)]) -> None:
    """Take a user's role in a project away."""
    service_of(request).write(lambda c: set_member(c, grant.project_id, name, None, grant.who))


@router.get(PROJECT + "/audit")
def get_audit(request: Request, grant: Admin, before: Before = None, limit: Limit = 100) -> models.AuditPage:
    """Who changed what in a project, the latest first."""
    rows = service_of(request).read(lambda c: read_audit(c, grant.project_id, before=before, limit=limit))
    items = [
        models.AuditLine(**{k: v for k, v in row.items() if k != "project_id"} | {"at": as_datetime(row["at"])})
        for row in rows
    ]
    return models.AuditPage(items=items, next=_next(rows, limit, "id"))
