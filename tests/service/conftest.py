import shutil

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from gapdrift.service.access import add_user, begin_session, create_token, set_member
from gapdrift.service.app import make_app
from gapdrift.service.monitors import create_project
from gapdrift.service.state import Options
from gapdrift.storage import dumps
from tests.overview.conftest import history_file  # noqa: F401
from tests.stream_rows import detector, rows

EVIDENCE = "application/vnd.gapdrift.evidence"
WINDOW = 50


class House:
    """A service with two projects, a user for each role in the first one, and a client for each of them."""

    def __init__(self, client, url):
        self.client, self.url = client, url
        self.service = client.app.state.service
        self.cookies, self.csrf = {}, {}
        with self.service.database.write() as connection:
            self.projects = {
                name: create_project(connection, name, f"Title of {name}", "test") for name in ("own", "foreign")
            }
            for name in ("viewer", "editor", "admin"):
                user = add_user(connection, name)
                set_member(connection, self.projects["own"], name, name, "test")
                self._remember(connection, name, user)
            self._remember(connection, "operator", add_user(connection, "root", operator=True))
            self._remember(connection, "stranger", add_user(connection, "stranger"))
            self.token = create_token(connection, self.projects["own"], "pusher", "editor", "test")[1]

    def _remember(self, connection, name, user_id):
        from gapdrift.service.access import identify_session

        self.cookies[name] = begin_session(connection, user_id)
        self.csrf[name] = identify_session(connection, self.cookies[name]).csrf

    def call(self, role, method, path, *, headers=None, csrf=True, **options):
        """Answer to a request of somebody in a role; None is nobody."""
        given = dict(headers or {})
        if role == "token":
            given["authorization"] = f"Bearer {self.token}"
        elif role is not None:
            given["cookie"] = f"gapdrift_session={self.cookies[role]}"
            if csrf and path.startswith("/api/"):
                given["x-csrf-token"] = self.csrf[role]
        return self.client.request(method, path, headers=given, follow_redirects=False, **options)

    def make_monitor(self, name="orders", project="own", role="operator", fitted=None, **settings):
        query = {"name": name, "window": WINDOW, **settings}
        return self.call(
            role, "POST", f"/api/v1/projects/{project}/monitors", params=query, content=dumps(fitted or detector())
        )

    def push(self, evidence, name="orders", key=None, role="token", **query):
        headers = {"content-type": EVIDENCE, **({"idempotency-key": key} if key else {})}
        path = f"/api/v1/projects/own/monitors/{name}/push"
        return self.call(role, "POST", path, params=query, content=dumps(evidence), headers=headers)


def start(url, **options):
    return make_app(Options(str(url), requests_per_second=1e6, logins_per_minute=1e6, **options))


def reopen(facts, url):
    """House with the people of another one, whose database was copied."""
    client = TestClient(start(url), base_url="http://localhost", raise_server_exceptions=False)
    again = House.__new__(House)
    again.__dict__.update(facts, client=client, service=client.app.state.service, url=url)
    return again


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Files and people of a service without monitors, and of one with eight windows, of which the last two drift."""
    folder = tmp_path_factory.mktemp("house")
    url = folder / "empty.db"
    with TestClient(start(url), base_url="http://localhost") as client:
        facts = House(client, url).__dict__
    shutil.copy(url, folder / "full.db")
    house = reopen(facts, folder / "full.db")
    with house.client:
        assert house.make_monitor().status_code == 201
        for place in range(8):
            answer = house.push(detector().count(rows(WINDOW, 10 + place, shift=2.0 * (place >= 6))), key=f"k{place}")
            assert answer.status_code == 200, answer.text
    return folder, facts


@pytest.fixture
def house(built, tmp_path):
    folder, facts = built
    shutil.copy(folder / "empty.db", tmp_path / "service.db")
    house = reopen(facts, tmp_path / "service.db")
    with house.client:
        yield house


@pytest.fixture
def full_house(built, tmp_path):
    folder, facts = built
    shutil.copy(folder / "full.db", tmp_path / "service.db")
    house = reopen(facts, tmp_path / "service.db")
    with house.client:
        yield house
