"""The tables are those of the migrations, on SQLite and on PostgreSQL, and the service works on both."""

import pytest

pytest.importorskip("fastapi")

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from fastapi.testclient import TestClient

from gapdrift.errors import GapdriftError
from gapdrift.service.database import Database
from gapdrift.service.schema import TABLES, metadata
from tests.postgres import server
from tests.service.conftest import WINDOW, House, start
from tests.stream_rows import detector, rows


@pytest.fixture(scope="module")
def postgres():
    with server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    return str(tmp_path / "a.db") if request.param == "sqlite" else request.getfixturevalue("postgres")


def test_migrations_and_everything_in_between(url):
    database = Database(url)
    database.migrate()
    database.migrate()
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "service_alembic_version"})
        assert compare_metadata(context, metadata) == []
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE service_alembic_version SET version_num = '9999'")
    with pytest.raises(GapdriftError, match="does not know"):
        database.migrate()
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE service_alembic_version SET version_num = '0001'")
    database.close()
    assert len(TABLES) > 10
    with TestClient(start(url), base_url="http://localhost") as client:
        house = House(client, url)
        assert house.make_monitor().status_code == 201
        for place in range(4):
            answer = house.push(detector().count(rows(WINDOW, place, shift=2.0 * (place > 2))), key=f"k{place}")
        assert answer.json()["windows"][0]["zone"] == "drift"
        for page in ("/", "/projects/own/monitors/orders", "/projects/own/alarms", "/projects/own/settings", "/admin"):
            assert house.call("operator", "GET", page).status_code == 200
        span = "/api/v1/projects/own/monitors/orders/span?from=0&to=3"
        assert house.call("viewer", "GET", span).json()["n_rows"] == 3 * WINDOW
        assert house.call("viewer", "GET", "/metrics").status_code == 200
        assert house.call("admin", "DELETE", "/api/v1/projects/own/monitors/orders").status_code == 204


def test_databases_that_cannot_be_opened(tmp_path):
    for url in (str(tmp_path), "postgresql+psycopg://me:sesame@127.0.0.1:1/none"):
        with pytest.raises(GapdriftError, match="cannot be opened") as caught:
            Database(url).migrate()
        assert "sesame" not in str(caught.value)
    for url in ("", "nonsense://x"):
        with pytest.raises(GapdriftError):
            Database(url)
