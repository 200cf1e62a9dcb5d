"""The database of the service: connections, migrations, and the time as it is stored."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gapdrift.errors import HistoryError, ParameterError

__all__ = ["Database", "now"]

NEWEST = "0001"
"""Version of the tables that this version of gapdrift works with."""


def now() -> int:
    """Time in microseconds since 1970."""
    return time.time_ns() // 1_000


class Database:
    """Database of a service, in SQLite or PostgreSQL.

    Parameters
    ----------
    url : str
        Path of an SQLite file, or an address such as ``postgresql+psycopg://user@host/name``.
    """

    def __init__(self, url: str) -> None:
        text = os.fspath(url)
        if not text:
            raise ParameterError(
                "The database is '', expected the path of an SQLite file or the address of a database."
            )
        address = text if "://" in text else f"sqlite:///{Path(text)}"
        try:
            self.engine = sa.create_engine(address, pool_size=20, max_overflow=40)
        except ImportError as error:
            raise HistoryError(f"The driver for this database is not installed: {error}. Install it.") from error
        except (sa.exc.ArgumentError, TypeError) as error:
            raise ParameterError(
                "The database is neither a path nor an address such as postgresql+psycopg://user@host/name."
            ) from error
        if self.engine.dialect.name == "sqlite":
            sa.event.listen(self.engine, "connect", _prepare_sqlite)

    @property
    def place(self) -> str:
        """Address of the database, without a password."""
        return self.engine.url.render_as_string(hide_password=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Connection to read from."""
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Connection of one transaction: all that is written, or nothing."""
        with self.engine.begin() as connection:
            yield connection

    def migrate(self) -> None:
        """Bring the tables to the newest schema; they are made if there are none."""
        from alembic import command  # noqa: PLC0415
        from alembic.config import Config  # noqa: PLC0415
        from alembic.util.exc import CommandError  # noqa: PLC0415

        if self._version() == NEWEST:
            return
        config = Config()
        config.set_main_option("script_location", "gapdrift.service:migrations")
        try:
            with self.engine.begin() as connection:
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        except sa.exc.SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or type(error).__name__).strip().splitlines()[0]
            raise HistoryError(f"The database {self.place} cannot be opened: {reason}.") from error
        except CommandError as error:
            raise HistoryError(
                f"The database {self.place} has the schema {self._version()!r}, which this version of gapdrift does "
                f"not know; it knows those up to {NEWEST!r}. Use the newer version that wrote it, or restore a backup."
            ) from error

    def _version(self) -> str | None:
        """Version of the tables; None if there are none."""
        try:
            with self.engine.connect() as connection:
                found = connection.scalar(sa.text("SELECT version_num FROM service_alembic_version"))
        except sa.exc.SQLAlchemyError:
            return None
        return None if found is None else str(found)

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # With a write-ahead log readers and the writer do not wait for each other; a commit survives a power failure.
    for setting in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {setting}")
