"""The pages: what they show, what their forms do, and that nothing in them is run or reflected."""

import re

import numpy as np
import pytest

pytest.importorskip("fastapi")

import gapdrift as gd
from gapdrift.service.demo import fill
from gapdrift.service.errors import UnavailableError
from gapdrift.service.windows import KEPT_REPORTS
from gapdrift.storage import dumps
from tests.service.conftest import WINDOW
from tests.stream_rows import detector, rows

ORDERS = "/projects/own/monitors/orders"

PAGES = {
    "/": "Title of own",
    "/projects/own": "orders",
    ORDERS: "Drift in the last 2 windows, since window 6.",
    f"{ORDERS}?before=5": "Latest windows",
    f"{ORDERS}/windows/7": "The data have changed",
    f"{ORDERS}/column?name=x": "over time",
    f"{ORDERS}/column?name=c": "Distributions",
    f"{ORDERS}/compare": "Compare two spans",
    f"{ORDERS}/compare?before_from=0&before_to=6&after_from=6&after_to=8": "The data have changed",
    f"{ORDERS}/compare?before_from=0&before_to=6&after_from=90&after_to=99": "no evidence in this span",
    f"{ORDERS}/references": "first reference",
    "/projects/own/alarms": "window 7",
    "/projects/own/alarms?state=all": "window 6",
    "/projects/own/settings": "API tokens",
    "/projects/own/audit": "monitor created",
    "/projects/own/new": "New monitor",
    "/admin": "admin of the service",
}


@pytest.mark.parametrize("address", PAGES)
def test_pages(full_house, address):
    answer = full_house.call("operator", "GET", address)
    assert answer.status_code == 200
    assert PAGES[address] in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert not re.search(r"<[^>]+\s(style|on\w+)=", answer.text)
    assert "http://" not in answer.text.replace("http://localhost", "").replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("address", "code"),
    [
        (f"{ORDERS}/windows/99", 404),
        (f"{ORDERS}/windows/-1", 404),
        (f"{ORDERS}/windows/x", 422),
        (f"{ORDERS}/column?name=none", 404),
        (f"{ORDERS}/column", 422),
        ("/projects/own/alarms?state=nonsense", 422),
        ("/nothing", 404),
        ("/projects/own/monitors/none", 404),
    ],
)
def test_what_is_not_there(full_house, address, code):
    answer = full_house.call("operator", "GET", address)
    assert answer.status_code == code
    assert "<h1" in answer.text


def post(house, who, path, files=None, **fields):
    return house.call(who, "POST", path, data={"csrf": house.csrf[who], **fields}, files=files)


def test_alarms_are_handled(full_house):
    page = full_house.call("editor", "GET", "/projects/own/alarms").text
    alarm = re.search(r"/alarms/(\d+)/acknowledge", page)[1]
    base = f"/projects/own/alarms/{alarm}"
    back = f"{ORDERS}/windows/7"
    assert post(full_house, "editor", f"{base}/acknowledge", back=back).headers["location"] == back
    assert post(full_house, "editor", f"{base}/comments", words="Looked at.").status_code == 303
    assert post(full_house, "editor", f"{base}/comments", words="").status_code == 422
    away = post(full_house, "editor", f"{base}/acknowledge", back="//elsewhere.example")
    assert away.headers["location"] == "/projects/own/alarms"
    assert "Looked at." in full_house.call("viewer", "GET", back).text
    assert f"/alarms/{alarm}/acknowledge" not in full_house.call("viewer", "GET", back).text
    assert post(full_house, "editor", f"{ORDERS}/mute", column="x", until="2999-01-01").status_code == 303
    assert post(full_house, "editor", f"{ORDERS}/mute", column="x", until="soon").status_code == 422
    assert "Muted columns" in full_house.call("viewer", "GET", ORDERS).text
    assert post(full_house, "editor", f"{ORDERS}/mutes/{10**30}/delete").status_code == 404
    assert post(full_house, "editor", f"{ORDERS}/mutes/1/delete").status_code == 303
    assert "Muted columns" not in full_house.call("viewer", "GET", ORDERS).text


def test_references_and_monitors_by_forms(full_house):
    file = {"file": ("a.gapdrift", dumps(detector()))}
    new = {"name": "second", "window": "60", "false_alarm_every": "100"}
    made = post(full_house, "editor", "/projects/own/monitors", file, **new)
    assert made.headers["location"] == "/projects/own/monitors/second"
    wrong = post(full_house, "editor", "/projects/own/monitors", file, **{**new, "name": "Third"})
    assert wrong.status_code == 422
    assert "expected 1 to 60 letters" in wrong.text
    assert post(full_house, "editor", f"{ORDERS}/references", file, note="again").status_code == 303
    assert post(full_house, "editor", f"{ORDERS}/references", note="nothing").status_code == 422
    assert post(full_house, "editor", f"{ORDERS}/normal", start="6", end="8", note="ok").status_code == 303
    shown = full_house.call("viewer", "GET", f"{ORDERS}/references").text
    assert "ok (100 rows, from 6 to 8)" in shown
    assert post(full_house, "admin", f"{ORDERS}/delete").headers["location"] == "/projects/own"
    assert full_house.call("viewer", "GET", ORDERS).status_code == 404


def test_settings_by_forms(full_house):
    page = post(full_house, "admin", "/projects/own/tokens", name="reader", role="viewer").text
    secret = re.search(r"gapdrift_[\w-]{20,}", page)[0]
    header = {"authorization": f"Bearer {secret}"}
    assert full_house.client.get("/api/v1/projects", headers=header).status_code == 200
    assert secret not in full_house.call("admin", "GET", "/projects/own/settings").text
    hook = {"name": "hook", "kind": "webhook", "url": "https://alarms.example/secret"}
    assert post(full_house, "admin", "/projects/own/sinks", **hook).status_code == 303
    mail = {"kind": "email", "host": "h", "port": "25", "sender": "a@x.org", "recipient": "b@x.org"}
    assert post(full_house, "admin", "/projects/own/sinks", name="mail", **mail).status_code == 303
    shown = full_house.call("admin", "GET", "/projects/own/settings").text
    assert "alarms.example" in shown
    assert "secret" not in shown
    assert post(full_house, "admin", "/projects/own/members", name="stranger", role="editor").status_code == 303
    assert full_house.call("stranger", "GET", "/projects/own").status_code == 200
    for kind, number in re.findall(r"/projects/own/(tokens|sinks)/(\d+)/delete", shown):
        assert post(full_house, "admin", f"/projects/own/{kind}/{number}/delete").status_code == 303


HOSTILE = '"><script>alert(1)</script>\x00\u202e{{7*7}}'


def test_hostile_names_are_only_shown(house):
    rng = np.random.default_rng(0)

    def table(n, shift):
        colours = rng.choice(np.array([HOSTILE, "'; DROP TABLE service_users; --"], dtype=object), n)
        return {HOSTILE: rng.normal(size=n) + shift, "=cmd()": colours}

    fitted = gd.DriftDetector(random_state=0).fit(table(300, 0.0))
    house.make_monitor(fitted=fitted)
    house.push(fitted.count(table(WINDOW, 3.0)))
    alarm = house.call("viewer", "GET", "/api/v1/projects/own/alarms").json()["items"][0]
    assert HOSTILE in alarm["columns"]
    post(house, "editor", f"/projects/own/alarms/{alarm['id']}/comments", words=HOSTILE.replace("\x00", ""))
    pages = [ORDERS, f"{ORDERS}/windows/0", f"{ORDERS}/references", "/projects/own/alarms", "/projects/own/audit", "/"]
    answers = [house.call("admin", "GET", page) for page in pages]
    answers.append(house.call("admin", "GET", f"{ORDERS}/column", params={"name": HOSTILE}))
    answers.append(house.call("admin", "GET", f"{ORDERS}/column", params={"name": "<script>alert(2)</script>"}))
    answers.append(house.call("admin", "GET", f"/api/v1{ORDERS}/windows/0/report"))
    for answer in answers:
        assert answer.status_code in {200, 404}
        assert "<script>alert" not in answer.text
        assert ">49<" not in answer.text
        assert "DROP TABLE" not in answer.text or "&#39;; DROP" in answer.text or "&#x27;; DROP" in answer.text
    report = answers[-1]
    assert "sha256-" in report.headers["content-security-policy"]
    assert (
        house.call("admin", "GET", "/", headers={"x-forwarded-host": HOSTILE[:20], "referer": "x"}).status_code == 200
    )


def test_old_and_calm_windows_have_no_report(full_house):
    with full_house.service.database.write() as connection:
        connection.exec_driver_sql("UPDATE service_windows SET record = NULL WHERE number = 2")
    page = full_house.call("viewer", "GET", f"{ORDERS}/windows/2").text
    assert "not kept any more" in page
    assert full_house.call("viewer", "GET", f"/api/v1{ORDERS}/windows/2").json()["result"] is None
    assert full_house.call("viewer", "GET", f"/api/v1{ORDERS}/windows/2/report").status_code == 404
    assert KEPT_REPORTS >= 1_000


def test_reports_of_old_calm_windows_are_dropped(house, monkeypatch):
    from gapdrift.service import windows

    monkeypatch.setattr(windows, "KEPT_REPORTS", 4)
    monkeypatch.setattr(windows, "SWEEP", 3)
    house.make_monitor(window=10)
    for place in range(12):
        house.push(detector().count(rows(10, place, shift=9.0 * (place == 1))))
    with house.service.database.read() as connection:
        found = connection.exec_driver_sql("SELECT number FROM service_windows WHERE record IS NULL ORDER BY number")
        assert list(found.scalars()) == [0, 2, 3, 4, 5, 6, 7]


def test_the_demonstration_fills_a_project(house):
    fill(house.service, windows=10, more=0)
    page = house.call("operator", "GET", "/projects/demo").text
    assert "stations-hourly" in page
    assert "Drift in" in page


def test_the_demonstration_ends_with_the_service(house, monkeypatch):
    def refuse(job):
        raise UnavailableError("The service is being stopped.")

    monkeypatch.setattr(house.service, "change", refuse)
    fill(house.service)
    assert "stations" not in house.call("operator", "GET", "/projects/demo").text
