"""The pages: server-rendered, usable without script, each for those who may see it."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup
from pydantic import TypeAdapter, ValidationError
from sqlalchemy.engine import Connection
from starlette.datastructures import UploadFile

from gapdrift.errors import GapdriftError, ParameterError
from gapdrift.overview.charts import draw_column, draw_ridges, draw_sparkline
from gapdrift.overview.page import render_charts, render_report, render_state, render_windows
from gapdrift.overview.points import WindowPoint
from gapdrift.overview.words import describe_state, summarise
from gapdrift.service import alarms as inbox
from gapdrift.service import models
from gapdrift.service.access import (
    ROLES,
    Identity,
    add_user,
    begin_session,
    check_password,
    create_token,
    end_session,
    make_link,
    redeem_link,
    set_member,
)
from gapdrift.service.api import (
    compare_spans,
    delete_monitor,
    list_projects,
    list_references,
    make_normal,
    parse_length,
)
from gapdrift.service.audit import read_audit
from gapdrift.service.errors import ForbiddenError, NotFoundError
from gapdrift.service.guards import (
    COOKIE,
    Admin,
    Editor,
    Grant,
    Operator,
    Signed,
    Viewer,
    check_own,
    check_rate,
    find_identity,
    service_of,
    signed,
)
from gapdrift.service.monitors import add_reference, create_monitor, create_project, find_monitor
from gapdrift.service.schema import alarms, members, monitors, projects, users, windows
from gapdrift.service.web import render
from gapdrift.service.windows import read_histogram, read_point, read_result, read_timeline
from gapdrift.tables.times import as_datetime

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

SHOWN = 240
RIDGES = 12
PER_PAGE = 50
PROJECT = "/projects/{project}"
MONITOR = "/projects/{project}/monitors/{monitor}"
Before = Annotated[int | None, Query(ge=0, lt=2**62)]
NAMES = TypeAdapter(models.Name)
LINES = TypeAdapter(models.Line)
WORDS = TypeAdapter(models.Words)

Form = Mapping[str, Any]


async def posted(request: Request, identity: Annotated[Identity, Depends(signed)]) -> Form:
    """Fields of a form that was sent from a page of this session; files as bytes."""
    fields = await request.form(max_files=1, max_fields=50)
    try:
        own = {name: await value.read() if isinstance(value, UploadFile) else value for name, value in fields.items()}
    finally:
        await fields.close()
    check_own(request, identity, str(own.get("csrf", "")))
    return own


Posted = Annotated[Form, Depends(posted)]


def _field(form: Form, name: str, kind: TypeAdapter[str], words: str) -> str:
    """Field of a form, if it is as expected."""
    try:
        return kind.validate_python(str(form.get(name, "")).strip())
    except ValidationError as error:
        raise ParameterError(f"{name}: {words}.") from error


def _name(form: Form, name: str = "name") -> str:
    return _field(form, name, NAMES, "expected 1 to 60 letters a to z, digits, dots, dashes or underscores")


def _show(
    template: str, identity: Identity, here: str, grant: Grant | None = None, code: int = 200, **facts: Any
) -> Response:
    """Page with the menu of whoever asks."""
    project = None if grant is None else grant.project["slug"]
    role = None if grant is None else grant.identity.role_in(grant.project_id)
    shown: dict[str, Any] = {"identity": identity, "csrf": identity.csrf, "here": here, "project": project}
    rank = ROLES.get(role or "", 0)
    return render(template, code, **shown, title=grant.project["title"] if grant else "", rank=rank, **facts)


def _back(address: str) -> Response:
    return RedirectResponse(address, 303)


def _when(micros: int | None) -> str:
    return "" if micros is None else f"{as_datetime(micros):%Y-%m-%d %H:%M}"


def _monitor_address(project: str, monitor: str) -> str:
    return f"/projects/{quote(project)}/monitors/{quote(monitor)}"


# Signing in.


@router.get("/login")
def login_page(request: Request) -> Response:
    """Form to sign in."""
    check_rate(request)
    known = service_of(request).read(lambda c: find_identity(request, c)) is not None
    return _back("/") if known else render("login.html", words="", name="")


@router.post("/login")
async def login(request: Request) -> Response:
    """Sign in."""
    service = service_of(request)
    form = await request.form(max_files=0, max_fields=5)
    name, password = str(form.get("name", ""))[:100], str(form.get("password", ""))
    service.login_limit.check(f"{request.client.host if request.client else ''}")
    _check_origin(request)
    user_id = await run_in_threadpool(service.read, lambda c: check_password(c, name, password))
    if user_id is None:
        return render("login.html", 403, words="Name or password is wrong.", name="")
    return await run_in_threadpool(_signed_in, request, user_id)


def _signed_in(request: Request, user_id: int) -> Response:
    secret = service_of(request).write(lambda c: begin_session(c, user_id))
    answer = _back("/")
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, secret, max_age=7 * 86_400, httponly=True, samesite="lax", secure=secure, path="/")
    return answer


def _check_origin(request: Request) -> None:
    check_own(request, Identity("", "nobody", csrf="none"), "none")


@router.post("/logout")
def logout(request: Request, _: Posted) -> Response:
    """Sign out."""
    service_of(request).write(lambda c: end_session(c, request.cookies.get(COOKIE, "")))
    answer = _back("/login")
    answer.delete_cookie(COOKIE, path="/")
    return answer


@router.get("/welcome")
def welcome_page(link: Annotated[str, Query(max_length=100)] = "") -> Response:
    """Form to set a password by a one-time link."""
    return render("welcome.html", link=link, words="")


@router.post("/welcome")
async def welcome(request: Request) -> Response:
    """Set a password by a one-time link, and sign in."""
    form = await request.form(max_files=0, max_fields=5)
    link, password = str(form.get("link", ""))[:100], str(form.get("password", ""))
    service = service_of(request)
    service.login_limit.check(f"{request.client.host if request.client else ''}")
    _check_origin(request)
    try:
        user_id = await run_in_threadpool(service.write, lambda c: redeem_link(c, link, password))
    except GapdriftError as error:
        return render("welcome.html", 403, link=link, words=str(error))
    return await run_in_threadpool(_signed_in, request, user_id)


# Fleet and project.


@router.get("/")
def fleet(request: Request, identity: Signed) -> Response:
    """All monitors of all projects, with their state."""
    with service_of(request).database.read() as connection:
        found = list_projects(connection, identity)
        rows = [(project, _monitor_rows(connection, project["name"])) for project in found]
    state = json.dumps([[project["open_alarms"], [row["n_windows"] for row in own]] for project, own in rows])
    return _show("fleet.html", identity, "fleet", projects=rows, state=state)


@router.get(PROJECT)
def project_page(request: Request, grant: Viewer) -> Response:
    """Monitors of one project."""
    with service_of(request).database.read() as connection:
        rows = _monitor_rows(connection, grant.project["slug"])
    state = json.dumps([row["n_windows"] for row in rows])
    return _show("project.html", grant.identity, "project", grant, rows=rows, state=state)


def _monitor_rows(connection: Connection, slug: str) -> list[dict[str, Any]]:
    query = sa.select(monitors.c.id, monitors.c.name).join_from(monitors, projects).where(projects.c.slug == slug)
    rows = []
    for found in connection.execute(query.order_by(monitors.c.name).limit(500)):
        timeline = read_timeline(connection, found.id, limit=60, columns=False)
        zone, sentence = describe_state(timeline)
        waiting = (alarms.c.monitor_id == found.id) & (alarms.c.state == "open")
        rows.append(
            {
                "name": found.name,
                "address": _monitor_address(slug, found.name),
                "zone": zone,
                "sentence": sentence,
                "spark": Markup(draw_sparkline(timeline.points, timeline.alarm_at)),
                "n_windows": timeline.n_windows,
                "open_alarms": connection.scalar(sa.select(sa.func.count()).select_from(alarms).where(waiting)),
            }
        )
    return rows


# A monitor.


@router.get(MONITOR)
def monitor_page(request: Request, grant: Viewer, monitor: str, before: Before = None) -> Response:
    """Timeline, heat maps and windows of a monitor."""
    with service_of(request).database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        timeline = read_timeline(connection, row["id"], before=before, limit=SHOWN)
        muted = inbox.list_mutes(connection, row["id"])
    address = _monitor_address(grant.project["slug"], monitor)

    def link(window: WindowPoint) -> str:
        return f"{address}/windows/{window.index}" if window.n_rows else ""

    def link_column(name: str) -> str:
        return f"{address}/column?{urlencode({'name': name}, errors='surrogatepass')}"

    body = render_state(timeline) + render_charts(timeline, link, link_column) + render_windows(timeline, link)
    first = timeline.points[0].index if timeline.points else 0
    return _show(
        "monitor.html",
        grant.identity,
        "monitor",
        grant,
        monitor=monitor,
        address=address,
        body=Markup(body),
        summary=summarise(timeline),
        older=f"{address}?before={first}" if first > 0 else "",
        newest=address if before is not None else "",
        state=f"{row['n_windows']}/{before}",
        mutes=[{**one, "until": _when(one["until"])} for one in muted],
        settings={name: _setting(value) for name, value in json.loads(row["settings"]).items() if value is not None},
    )


def _setting(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, float) and value.is_integer() else str(value)


@router.get(MONITOR + "/windows/{number}")
def window_page(request: Request, grant: Viewer, monitor: str, number: int) -> Response:
    """Full report of a window, with its alarm."""
    if not 0 <= number < 2**62:
        raise NotFoundError(f"The monitor has no window {number}.")
    with service_of(request).database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        point = read_point(connection, row["id"], number)
        result = read_result(connection, row["id"], number)
        chosen = (alarms.c.monitor_id == row["id"]) & (alarms.c.number == number)
        alarm_id = connection.scalar(sa.select(alarms.c.id).where(chosen))
        found = [] if alarm_id is None else [inbox.find_alarm(connection, grant.project_id, alarm_id)]
        alarm = next(iter(_alarm_facts(connection, found)), None)
        before, after = _neighbours(connection, row["id"], number)
    address = _monitor_address(grant.project["slug"], monitor)
    return _show(
        "window.html",
        grant.identity,
        "monitor",
        grant,
        monitor=monitor,
        address=address,
        number=number,
        point=point,
        alarm=alarm,
        before=f"{address}/windows/{before}" if before is not None else "",
        after=f"{address}/windows/{after}" if after is not None else "",
        body=Markup(render_report(result)) if result is not None else None,
    )


def _neighbours(connection: Connection, monitor_id: int, number: int) -> tuple[int | None, int | None]:
    """Numbers of the windows before and after one."""
    own = windows.c.monitor_id == monitor_id
    before = connection.scalar(sa.select(sa.func.max(windows.c.number)).where(own & (windows.c.number < number)))
    after = connection.scalar(sa.select(sa.func.min(windows.c.number)).where(own & (windows.c.number > number)))
    return before, after


def _alarm_facts(connection: Connection, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Alarms with their comments, as they are shown."""
    said = inbox.comments_of(connection, found)
    return [
        {
            **alarm,
            "raised": _when(alarm["raised"]),
            "handled": _when(alarm["handled"]),
            "comments": [{**one, "written": _when(one["written"])} for one in said[alarm["id"]]],
        }
        for alarm in found
    ]


@router.get(MONITOR + "/column")
def column_page(
    request: Request, grant: Viewer, monitor: str, name: Annotated[str, Query(max_length=4_000)]
) -> Response:
    """One column over time: distributions, size of the change, missing cells."""
    with service_of(request).database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        timeline = read_timeline(connection, row["id"], limit=SHOWN)
        if name not in timeline.columns:
            raise NotFoundError("The monitor has no such column.")
        ridges = _ridges(connection, row["id"], timeline.points, name)
    address = _monitor_address(grant.project["slug"], monitor)
    return _show(
        "column.html",
        grant.identity,
        "monitor",
        grant,
        monitor=monitor,
        address=address,
        name=name,
        chart=Markup(draw_column(timeline, name)),
        ridges=Markup(draw_ridges(ridges, name)) if ridges else "",
        until=f"{datetime.now(UTC) + timedelta(days=7):%Y-%m-%d}",
    )


def _ridges(connection: Connection, monitor_id: int, points: tuple[WindowPoint, ...], name: str) -> list[Any]:
    """Histograms of a column in a few of the windows, evenly spaced, the latest ones always among them."""
    tested = [point for point in points if point.columns]
    every = max(1, len(tested) // RIDGES)
    found = []
    for point in tested[::-1][::every][:RIDGES][::-1]:
        histogram = read_histogram(connection, monitor_id, point.index, name)
        if histogram is not None:
            found.append((point.start[5:16].replace("T", " ") if point.start else f"window {point.index}", histogram))
    return found


@router.get(MONITOR + "/compare")
def compare_page(
    request: Request,
    grant: Viewer,
    monitor: str,
    before_from: Annotated[str, Query(max_length=40)] = "",
    before_to: Annotated[str, Query(max_length=40)] = "",
    after_from: Annotated[str, Query(max_length=40)] = "",
    after_to: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """Two spans compared, from stored evidence."""
    given = {"before_from": before_from, "before_to": before_to, "after_from": after_from, "after_to": after_to}
    service = service_of(request)
    row = service.read(lambda c: find_monitor(c, grant.project_id, monitor))
    body, words = None, ""
    if any(given.values()):
        try:
            spans = (before_from, before_to), (after_from, after_to)
            result, _, _ = compare_spans(service, grant, monitor, *spans, 0.05)
            body = Markup(render_report(result))
        except GapdriftError as error:
            words = str(error)
    address = _monitor_address(grant.project["slug"], monitor)
    facts: dict[str, Any] = {"monitor": monitor, "address": address, "given": given, "body": body, "words": words}
    return _show("compare.html", grant.identity, "compare", grant, n_windows=row["n_windows"], **facts)


# References.


@router.get(MONITOR + "/references")
def references_page(request: Request, grant: Viewer, monitor: str) -> Response:
    """Versions of the reference."""
    with service_of(request).database.read() as connection:
        row = find_monitor(connection, grant.project_id, monitor)
        found = list_references(connection, row)
    address = _monitor_address(grant.project["slug"], monitor)
    facts = {"monitor": monitor, "address": address, "versions": found, "n_windows": row["n_windows"]}
    return _show("references.html", grant.identity, "references", grant, **facts)


@router.post(MONITOR + "/references")
def upload_reference(request: Request, grant: Editor, monitor: str, form: Posted) -> Response:
    """Upload another reference."""
    service, data = service_of(request), form.get("file", b"")
    words = _field(form, "note", LINES, "expected a line of up to 200 characters")
    if not isinstance(data, bytes) or not data:
        raise ParameterError("No file was chosen, expected a .gapdrift file.")
    row = service.read(lambda c: find_monitor(c, grant.project_id, monitor))
    service.change(lambda c, running: add_reference(c, running, row["id"], data, words, grant.who))
    return _back(f"{_monitor_address(grant.project['slug'], monitor)}/references")


@router.post(MONITOR + "/normal")
def declare_normal(request: Request, grant: Editor, monitor: str, form: Posted) -> Response:
    """Take the rows of some windows for normal from now on."""
    start, end = (str(form.get(name, ""))[:40] for name in ("start", "end"))
    words = _field(form, "note", LINES, "expected a line of up to 200 characters")
    make_normal(service_of(request), grant, monitor, models.NormalSpan(start=start, end=end, note=words))
    return _back(f"{_monitor_address(grant.project['slug'], monitor)}/references")


@router.post(MONITOR + "/delete")
def remove_monitor(request: Request, grant: Admin, monitor: str, _: Posted) -> Response:
    """Remove a monitor."""
    delete_monitor(service_of(request), grant, monitor)
    return _back(f"/projects/{grant.project['slug']}")


# Alarms.


@router.get(PROJECT + "/alarms")
def alarms_page(
    request: Request,
    grant: Viewer,
    state: Annotated[str, Query(pattern="^(open|acknowledged|muted|all)$")] = "open",
    before: Before = None,
) -> Response:
    """The inbox of alarms."""
    wanted = None if state == "all" else state
    with service_of(request).database.read() as connection:
        found = inbox.list_alarms(connection, grant.project_id, state=wanted, before=before, limit=PER_PAGE)
        shown = _alarm_facts(connection, found)
    for one in shown:
        one["address"] = f"{_monitor_address(grant.project['slug'], one['monitor'])}/windows/{one['number']}"
    more = f"?state={state}&before={found[-1]['id']}" if len(found) == PER_PAGE else ""
    until = f"{datetime.now(UTC) + timedelta(days=7):%Y-%m-%d}"
    latest = str(found[0]["id"]) if found else ""
    facts: dict[str, Any] = {"state": state, "alarms": shown, "more": more, "until": until, "latest": latest}
    return _show("alarms.html", grant.identity, "alarms", grant, **facts)


def _return_to(form: Form, grant: Grant) -> Response:
    """Back to the page that a form was sent from, if it is one of this project."""
    address = str(form.get("back", ""))
    own = f"/projects/{grant.project['slug']}/"
    is_own = address.startswith(own) and address.isprintable() and "\\" not in address
    return _back(address if is_own else f"{own}alarms")


@router.post(PROJECT + "/alarms/{alarm}/acknowledge")
def acknowledge(request: Request, grant: Editor, alarm: int, form: Posted) -> Response:
    """Take notice of an alarm."""
    service_of(request).write(lambda c: inbox.acknowledge(c, grant.project_id, _checked(alarm), grant.who))
    return _return_to(form, grant)


@router.post(PROJECT + "/alarms/{alarm}/comments")
def comment(request: Request, grant: Editor, alarm: int, form: Posted) -> Response:
    """Comment on an alarm."""
    words = _field(form, "words", WORDS, "expected a text of up to 4,000 characters")
    service_of(request).write(lambda c: inbox.add_comment(c, grant.project_id, _checked(alarm), words, grant.who))
    return _return_to(form, grant)


@router.post(MONITOR + "/mute")
def mute(request: Request, grant: Editor, monitor: str, form: Posted) -> Response:
    """Mute a column until a date."""
    try:
        until = datetime.fromisoformat(str(form.get("until", ""))).replace(tzinfo=UTC)
    except ValueError as error:
        raise ParameterError("until: expected a date such as 2026-12-31.") from error
    name = str(form.get("column", ""))[:4_000]

    def job(connection: Connection) -> None:
        row = find_monitor(connection, grant.project_id, monitor)
        inbox.add_mute(connection, row, name, until, grant.who)

    service_of(request).write(job)
    return _return_to(form, grant)


def _checked(number: int) -> int:
    if not 0 <= number < 2**62:
        raise NotFoundError(f"There is nothing with the number {number}.")
    return number


# Settings and audit.


@router.post(MONITOR + "/mutes/{mute}/delete")
def end_mute(request: Request, grant: Editor, _: Posted, monitor: str, mute: int) -> Response:
    """Send alarms about a column again."""

    def job(connection: Connection) -> None:
        inbox.delete_mute(connection, find_monitor(connection, grant.project_id, monitor), _checked(mute), grant.who)

    service_of(request).write(job)
    return _back(_monitor_address(grant.project["slug"], monitor))


@router.get(PROJECT + "/audit")
def audit_page(request: Request, grant: Admin, before: Before = None) -> Response:
    """Who changed what."""
    rows = service_of(request).read(lambda c: read_audit(c, grant.project_id, before=before, limit=PER_PAGE))
    more = f"?before={rows[-1]['id']}" if len(rows) == PER_PAGE else ""
    lines = [{**row, "at": _when(row["at"])} for row in rows]
    return _show("audit.html", grant.identity, "audit", grant, lines=lines, more=more)


@router.get(PROJECT + "/settings")
def settings_page(request: Request, grant: Admin) -> Response:
    """Tokens, sinks and members of a project."""
    return _settings(request, grant)


def _settings(request: Request, grant: Grant, **facts: Any) -> Response:
    query = sa.select(users.c.name, members.c.role).join_from(members, users)
    own = query.where(members.c.project_id == grant.project_id).order_by(users.c.name)
    with service_of(request).database.read() as connection:
        shown = {
            "tokens": [{**t, "created": _when(t["created"])} for t in inbox.list_tokens(connection, grant.project_id)],
            "sinks": inbox.list_sinks(connection, grant.project_id),
            "members": [dict(row) for row in connection.execute(own).mappings()],
        }
    return _show("settings.html", grant.identity, "settings", grant, **{"secret": "", **shown, **facts})


@router.post(PROJECT + "/tokens")
def make_token(request: Request, grant: Admin, form: Posted) -> Response:
    """Make an API token, and show it once."""
    name, role = _name(form), str(form.get("role", ""))
    _, secret = service_of(request).write(lambda c: create_token(c, grant.project_id, name, role, grant.who))
    return _settings(request, grant, secret=secret)


@router.post(PROJECT + "/tokens/{token}/delete")
def remove_token(request: Request, grant: Admin, token: int, _: Posted) -> Response:
    """Make a token worthless."""
    service_of(request).write(lambda c: inbox.delete_token(c, grant.project_id, _checked(token), grant.who))
    return _back(f"/projects/{grant.project['slug']}/settings")


@router.post(PROJECT + "/sinks")
def make_sink(request: Request, grant: Admin, form: Posted) -> Response:
    """Send alarms somewhere."""
    name, kind = _name(form), str(form.get("kind", ""))
    wanted = ("host", "port", "sender", "recipient", "user", "password") if kind == "email" else ("url",)
    settings = {key: str(form[key])[:2_000].strip() for key in wanted if form.get(key)}
    service_of(request).write(lambda c: inbox.add_sink(c, grant.project_id, name, kind, settings, grant.who))
    return _back(f"/projects/{grant.project['slug']}/settings")


@router.post(PROJECT + "/sinks/{sink}/delete")
def remove_sink(request: Request, grant: Admin, sink: int, _: Posted) -> Response:
    """Send no more alarms there."""
    service_of(request).write(lambda c: inbox.delete_sink(c, grant.project_id, _checked(sink), grant.who))
    return _back(f"/projects/{grant.project['slug']}/settings")


@router.post(PROJECT + "/members")
def change_member(request: Request, grant: Admin, form: Posted) -> Response:
    """Give a user a role in the project, or none."""
    name, role = _name(form), str(form.get("role", ""))
    service_of(request).write(
        lambda c: set_member(c, grant.project_id, name, None if role == "none" else role, grant.who)
    )
    return _back(f"/projects/{grant.project['slug']}/settings")


@router.get(PROJECT + "/new")
def new_monitor_page(grant: Editor) -> Response:
    """Form to make a monitor."""
    return _show("new_monitor.html", grant.identity, "project", grant, words="")


@router.post(PROJECT + "/monitors")
def make_monitor(request: Request, grant: Editor, form: Posted) -> Response:
    """Make a monitor from an uploaded reference."""
    data = form.get("file", b"")
    try:
        name = _name(form)
        if not isinstance(data, bytes) or not data:
            raise ParameterError("No file was chosen, expected a .gapdrift file. Make one with 'gapdrift fit'.")
        text = {key: str(form.get(key, "")).strip()[:200] or None for key in ("time_column", "key_column", "lateness")}
        every = _number(form, "false_alarm_every")
        settings = {"window": parse_length(str(form.get("window", ""))[:40]), "false_alarm_every": every, **text}
        service = service_of(request)
        service.change(lambda c, _: create_monitor(c, grant.project_id, name, data, settings, grant.who))
    except ForbiddenError:
        raise
    except GapdriftError as error:
        return _show("new_monitor.html", grant.identity, "project", grant, 422, words=str(error))
    return _back(_monitor_address(grant.project["slug"], name))


def _number(form: Form, name: str) -> float:
    try:
        return float(str(form.get(name, "")))
    except ValueError as error:
        raise ParameterError(f"{name}: expected a number.") from error


# The whole service.


@router.get("/admin")
def admin_page(request: Request, identity: Operator) -> Response:
    """Projects and users."""
    return _admin(request, identity)


def _admin(request: Request, identity: Identity, **facts: Any) -> Response:
    query = sa.select(users.c.name, users.c.operator, users.c.created, users.c.password).order_by(users.c.name)
    with service_of(request).database.read() as connection:
        people = [
            {"name": row.name, "operator": row.operator, "since": _when(row.created), "waits": not row.password}
            for row in connection.execute(query)
        ]
        found = list_projects(connection, identity)
    return _show(
        "admin.html", identity, "admin", **{"link": "", "invited": "", "people": people, "projects": found, **facts}
    )


@router.post("/projects")
def make_project(request: Request, identity: Operator, form: Posted) -> Response:
    """Make a project."""
    name, title = _name(form), _field(form, "title", LINES, "expected a line of up to 200 characters")
    service_of(request).write(lambda c: create_project(c, name, title, identity.name))
    return _back(f"/projects/{name}")


@router.post("/users")
def make_user(request: Request, identity: Operator, form: Posted) -> Response:
    """Make a user, or give one another link, and show the link once."""
    name, is_operator = _name(form), form.get("operator") == "yes"

    def job(connection: Connection) -> str:
        known = connection.scalar(sa.select(users.c.id).where(users.c.name == name))
        user_id = known if known is not None else add_user(connection, name, operator=is_operator, who=identity.name)
        return make_link(connection, user_id)

    secret = service_of(request).write(job)
    return _admin(request, identity, link=f"{request.base_url}welcome?link={secret}", invited=name)
