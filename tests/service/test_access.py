"""Who may do what: every route for every role, in the own project and in a foreign one."""

import re

import pytest

pytest.importorskip("fastapi")

from fastapi.routing import APIRoute

from gapdrift.errors import ParameterError
from gapdrift.service.access import (
    add_user,
    check_password,
    identify_session,
    make_link,
    redeem_link,
    set_password,
)
from gapdrift.service.errors import ForbiddenError, TooManyError
from gapdrift.service.limits import RateLimit
from tests.service.conftest import reopen

PROJECT, MONITOR = "/projects/{project}", "/projects/{project}/monitors/{monitor}"
API_PROJECT, API_MONITOR = f"/api/v1{PROJECT}", f"/api/v1{MONITOR}"

VIEWER = {
    *(f"GET {API_PROJECT}/{name}" for name in ("monitors", "alarms", "alarms/{alarm}/comments")),
    f"GET {API_MONITOR}",
    *(
        f"GET {API_MONITOR}/{name}"
        for name in (
            "references",
            "references/{version}",
            "windows",
            "windows/{number}",
            "windows/{number}/report",
            "span",
            "compare",
            "mutes",
        )
    ),
    f"GET {PROJECT}",
    f"GET {PROJECT}/alarms",
    f"GET {MONITOR}",
    *(f"GET {MONITOR}/{name}" for name in ("windows/{number}", "column", "compare", "references")),
}
EDITOR = {
    f"POST {API_PROJECT}/monitors",
    f"POST {API_PROJECT}/alarms/{{alarm}}/acknowledge",
    f"POST {API_PROJECT}/alarms/{{alarm}}/comments",
    *(f"POST {API_MONITOR}/{name}" for name in ("references", "normal", "push", "flush", "mutes")),
    f"DELETE {API_MONITOR}/mutes/{{mute}}",
    f"GET {PROJECT}/new",
    f"POST {PROJECT}/monitors",
    *(f"POST {PROJECT}/alarms/{{alarm}}/{name}" for name in ("acknowledge", "comments")),
    *(f"POST {MONITOR}/{name}" for name in ("references", "normal", "mute", "mutes/{mute}/delete")),
}
ADMIN = {
    f"DELETE {API_MONITOR}",
    *(f"{method} {API_PROJECT}/{name}" for name in ("tokens", "sinks") for method in ("GET", "POST")),
    f"DELETE {API_PROJECT}/tokens/{{token}}",
    f"DELETE {API_PROJECT}/sinks/{{sink}}",
    f"GET {API_PROJECT}/members",
    f"PUT {API_PROJECT}/members",
    f"DELETE {API_PROJECT}/members/{{name}}",
    f"GET {API_PROJECT}/audit",
    f"GET {PROJECT}/audit",
    f"GET {PROJECT}/settings",
    *(
        f"POST {PROJECT}/{name}"
        for name in ("tokens", "tokens/{token}/delete", "sinks", "sinks/{sink}/delete", "members")
    ),
    f"POST {MONITOR}/delete",
}
OPERATOR = {"POST /api/v1/projects", "GET /admin", "POST /projects", "POST /users"}
ANYONE_SIGNED = {"GET /api/v1/projects", "GET /", "POST /logout", "GET /metrics"}
PUBLIC = {
    *(f"{method} /{name}" for name in ("login", "welcome") for method in ("GET", "POST")),
    *(f"GET /{name}" for name in ("healthz", "readyz", "favicon.ico", "static/{digest}/{name}")),
}
NEEDED = {"viewer": VIEWER, "editor": EDITOR, "admin": ADMIN}
RANKS = ("viewer", "editor", "admin")


def routes(app):
    found = set()
    waiting = list(app.routes)
    while waiting:
        route = waiting.pop()
        waiting += (
            getattr(getattr(route, "original_router", None), "routes", None) or getattr(route, "routes", None) or []
        )
        if isinstance(route, APIRoute):
            found |= {f"{method} {route.path}" for method in route.methods}
    return found


def test_every_route_is_in_the_matrix(house):
    known = VIEWER | EDITOR | ADMIN | OPERATOR | ANYONE_SIGNED | PUBLIC
    assert routes(house.client.app) == known


def address(route, project):
    method, path = route.split(" ")
    path = path.replace("{project}", project).replace("{monitor}", "absent")
    return method, re.sub(r"\{\w+\}", "9", path)


def ask(house, role, route, project):
    """Answer to a request that changes nothing even where it is allowed: its monitor does not exist."""
    method, path = address(route, project)
    options = {}
    if method in {"POST", "PUT"} and path.startswith("/api/"):
        options["json"] = {"nonsense": True}
    elif method == "POST":
        options["data"] = {"csrf": house.csrf.get(role, ""), "name": "?"}
    return house.call(role, method, path, **options)


@pytest.mark.parametrize("needed", RANKS)
@pytest.mark.parametrize("role", [*RANKS, "stranger", None])
def test_roles_in_the_own_and_in_a_foreign_project(full_house, needed, role):
    for route in sorted(NEEDED[needed]):
        own, foreign = (ask(full_house, role, route, project) for project in ("own", "foreign"))
        if role is None:
            expected = {401} if "/api/" in route or not route.startswith("GET") else {303}
            assert {own.status_code, foreign.status_code} == expected, route
            continue
        words = "There is no such project."
        assert (foreign.status_code, words in foreign.text) == (404, True), route
        if role == "stranger":
            assert (own.status_code, words in own.text) == (404, True), route
        elif RANKS.index(role) < RANKS.index(needed):
            assert own.status_code == 403, route
            assert "needs the role" in own.text
        else:
            assert own.status_code not in {401, 403, 500}, (route, own.text)
            assert words not in own.text, route


@pytest.mark.parametrize("role", [*RANKS, "stranger", "token"])
def test_only_operators_make_projects_and_users(full_house, role):
    for route in sorted(OPERATOR):
        assert ask(full_house, role, route, "own").status_code == 403, route


def test_a_token_is_an_editor_of_its_project_and_no_more(full_house):
    assert (
        ask(full_house, "token", f"GET {API_MONITOR}", "own").json()["detail"] == "The project has no monitor 'absent'."
    )
    assert ask(full_house, "token", f"GET {API_PROJECT}/tokens", "own").status_code == 403
    assert ask(full_house, "token", f"GET {API_PROJECT}/monitors", "foreign").status_code == 404
    wrong = {"authorization": "Bearer gapdrift_wrong"}
    assert full_house.client.get("/api/v1/projects", headers=wrong).status_code == 401


def test_unsafe_requests_need_the_token_of_the_session(full_house):
    for route in sorted(VIEWER | EDITOR | ADMIN | OPERATOR | {"POST /logout"}):
        method, path = address(route, "own")
        if method == "GET":
            continue
        options = {} if path.startswith("/api/") else {"data": {"csrf": "wrong"}}
        answer = full_house.call("operator", method, path, csrf=False, **options)
        assert answer.status_code == 403, route
        assert "token of your session" in answer.text


def test_requests_of_another_site_are_refused(full_house):
    headers = {"origin": "https://elsewhere.example"}
    new = {"name": "a", "title": "A"}
    answer = full_house.call("operator", "POST", "/api/v1/projects", json=new, headers=headers)
    assert answer.status_code == 403
    assert "another site" in answer.text
    login = full_house.client.post("/login", data={"name": "a", "password": "b"}, headers=headers)
    assert login.status_code == 403


def test_signing_in_and_out(house):
    with house.service.database.write() as connection:
        user = add_user(connection, "maria")
        set_password(connection, user, "a long password")
    wrong = house.client.post("/login", data={"name": "maria", "password": "wrong"})
    assert wrong.status_code == 403
    assert "wrong" in wrong.text
    done = house.client.post("/login", data={"name": "maria", "password": "a long password"}, follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, "/")
    cookie = done.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    secret = re.search("gapdrift_session=([^;]+)", cookie)[1]
    with house.service.database.read() as connection:
        csrf = identify_session(connection, secret).csrf
    assert house.client.get("/login", follow_redirects=False).status_code == 303
    out = house.client.post("/logout", data={"csrf": csrf}, follow_redirects=False)
    assert out.headers["location"] == "/login"
    with house.service.database.read() as connection:
        assert identify_session(connection, secret) is None


def test_passwords_are_stored_as_argon2_and_secrets_as_digests(house):
    with house.service.database.write() as connection:
        user = add_user(connection, "maria")
        set_password(connection, user, "a long password")
        assert check_password(connection, "maria", "a long password") == user
        assert check_password(connection, "maria", "another password") is None
        assert check_password(connection, "nobody", "a long password") is None
        assert check_password(connection, "viewer", "") is None
        stored = connection.exec_driver_sql("SELECT password FROM service_users WHERE name = 'maria'").scalar()
    assert stored.startswith("$argon2id$")
    dump = house.url.read_bytes()
    for secret in (house.token, *house.cookies.values()):
        assert secret.encode() not in dump


def test_a_link_works_once(house):
    with house.service.database.write() as connection:
        secret = make_link(connection, add_user(connection, "maria"))
    short = house.client.post("/welcome", data={"link": secret, "password": "short"})
    assert "expected 10 to 200" in short.text
    assert house.client.get("/welcome", params={"link": secret}).status_code == 200
    done = house.client.post("/welcome", data={"link": secret, "password": "a long password"}, follow_redirects=False)
    assert done.status_code == 303
    with house.service.database.write() as connection, pytest.raises(ForbiddenError, match="was used"):
        redeem_link(connection, secret, "another long password")


def test_the_first_start_makes_an_admin(tmp_path):
    from fastapi.testclient import TestClient

    from tests.service.conftest import start

    app = start(tmp_path / "new.db")
    secret = app.state.service.welcome()
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/", follow_redirects=False).headers["location"] == "/login"
        assert client.post("/welcome", data={"link": secret, "password": "a long password"}).status_code == 200
        assert client.get("/admin").status_code == 200
        assert app.state.service.welcome() is None


def test_without_sign_in_forms_still_need_their_token(tmp_path):
    from fastapi.testclient import TestClient

    from tests.service.conftest import start

    with TestClient(
        start(tmp_path / "open.db", auth=False, hosts=("localhost",)), base_url="http://localhost"
    ) as client:
        assert client.get("/admin").status_code == 200
        assert client.post("/projects", data={"name": "a", "title": "A"}).status_code == 403
        csrf = re.search('name="csrf" value="([^"]+)"', client.get("/admin").text)[1]
        assert client.post("/projects", data={"name": "a", "title": "A", "csrf": csrf}).status_code == 200
        assert client.get("/", headers={"host": "elsewhere.example"}).status_code == 400
        # A program may call the interface as it is; a browser tells that a page made it do so.
        new = {"name": "b", "title": "B"}
        for told in (
            {"origin": "http://elsewhere.example"},
            {"sec-fetch-site": "cross-site"},
            {"referer": "http://x/"},
        ):
            assert client.post("/api/v1/projects", json=new, headers=told).status_code == 403
        assert client.post("/api/v1/projects", json=new).status_code == 201


def test_rates_are_limited(house):
    house.service.login_limit = RateLimit(0.001, 2.0)
    codes = [house.client.post("/login", data={"name": "a", "password": "b"}).status_code for _ in range(4)]
    assert codes == [403, 403, 429, 429]
    house.service.request_limit = RateLimit(0.001, 2.0)
    codes = [house.call("viewer", "GET", "/api/v1/projects").status_code for _ in range(3)]
    assert codes == [200, 200, 429]
    with pytest.raises(TooManyError, match=r"Try again in \d+ s"):
        house.service.login_limit.check("testclient")


def test_people_who_leave_are_out_at_once(house):
    with house.service.database.write() as connection:
        connection.exec_driver_sql("UPDATE service_users SET disabled = 1 WHERE name = 'viewer'")
    assert house.call("viewer", "GET", "/api/v1/projects").status_code == 401
    assert house.call("editor", "GET", "/api/v1/projects").status_code == 200


def test_an_operator_invites(full_house):
    csrf = {"csrf": full_house.csrf["operator"]}
    page = full_house.call("operator", "POST", "/users", data={"name": "maria", "operator": "no", **csrf})
    link = re.search(r"welcome\?link=([\w-]+)", page.text)[1]
    assert full_house.client.post("/welcome", data={"link": link, "password": "a long password"}).status_code == 200
    made = full_house.call("operator", "POST", "/projects", data={"name": "third", "title": "Third", **csrf})
    assert made.headers["location"] == "/projects/third"


def test_what_stays_after_a_restart(built, tmp_path):
    import shutil

    folder, facts = built
    house = reopen(facts, shutil.copy(folder / "full.db", tmp_path / "service.db"))
    with house.client:
        assert house.call("viewer", "GET", "/").status_code == 200


def test_roles_that_do_not_exist(full_house):
    from gapdrift.service.access import create_token, set_member

    with full_house.service.database.write() as connection:
        with pytest.raises(ParameterError, match="expected one of viewer, editor, admin"):
            set_member(connection, 1, "viewer", "owner", "test")
        with pytest.raises(ParameterError, match="expected 'viewer'"):
            create_token(connection, 1, "a", "admin", "test")
