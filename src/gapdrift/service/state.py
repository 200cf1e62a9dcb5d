"""The service itself: its database, its monitors, its threads, and how it was asked to run."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gapdrift.service.access import add_user, make_link
from gapdrift.service.database import Database
from gapdrift.service.delivery import Courier
from gapdrift.service.limits import RateLimit
from gapdrift.service.metrics import Counters
from gapdrift.service.running import Detectors, RunningMonitors
from gapdrift.service.schema import users
from gapdrift.service.writer import Job, Writer

__all__ = ["Options", "Service"]

Result = TypeVar("Result")


@dataclass(frozen=True)
class Options:
    """How a service was asked to run.

    Parameters
    ----------
    database : str
        Path or address.
    auth : bool
        Whether one has to sign in.
    hosts : tuple of str
        Names under which it is reached; ``("*",)`` means any.
    requests_per_second : float
        Largest rate of requests of one client.
    logins_per_minute : float
        Largest rate of attempts to sign in from one address.
    private_sinks : bool
        Whether alarms may be sent to addresses of this machine and of private networks.
    """

    database: str
    auth: bool = True
    hosts: tuple[str, ...] = ("*",)
    requests_per_second: float = 500.0
    logins_per_minute: float = 10.0
    private_sinks: bool = False


@dataclass
class Service:
    """A service that runs.

    Parameters
    ----------
    options : Options
    """

    options: Options
    database: Database = field(init=False)
    detectors: Detectors = field(init=False)
    writer: Writer = field(init=False)
    courier: Courier = field(init=False)
    counters: Counters = field(default_factory=Counters)
    open_csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def __post_init__(self) -> None:
        """Open the database."""
        self.database = Database(self.options.database)
        self.database.migrate()
        self.detectors = Detectors()
        self.writer = Writer(self.database, RunningMonitors(self.detectors))
        self.courier = Courier(self.database, private=self.options.private_sinks)
        rate = self.options.requests_per_second
        self.request_limit = RateLimit(rate, 2.0 * rate)
        self.login_limit = RateLimit(self.options.logins_per_minute / 60.0, self.options.logins_per_minute)

    def start(self) -> None:
        """Start the threads."""
        self.writer.start()
        self.courier.start()

    def stop(self) -> None:
        """Finish what was begun, and close the database."""
        self.writer.stop()
        self.courier.stop()
        self.database.close()

    def welcome(self) -> str | None:
        """Secret of the one-time link for the first admin; None if somebody has a password already."""
        with self.database.write() as connection:
            if connection.scalar(sa.select(users.c.id).where(users.c.password != "").limit(1)) is not None:
                return None
            first = connection.scalar(sa.select(users.c.id).where(users.c.operator).limit(1))
            return make_link(connection, first if first is not None else add_user(connection, "admin", operator=True))

    def read(self, function: Callable[[Connection], Result]) -> Result:
        """Result of a function that reads."""
        with self.database.read() as connection:
            return function(connection)

    def write(self, function: Callable[[Connection], Result]) -> Result:
        """Result of a function that writes anything but monitors."""
        with self.database.write() as connection:
            return function(connection)

    def change(self, job: Job) -> Any:
        """Result of a job that changes monitors, once it is on the disk."""
        return self.writer.submit(job).result()

    async def change_async(self, job: Job) -> Any:
        """Like `change`, for handlers that do not block."""
        return await asyncio.wrap_future(self.writer.submit(job))
