"""Alarms sent elsewhere: webhooks, Slack-compatible webhooks and e-mail, each again until it is delivered."""

import ipaddress
import json
import logging
import smtplib
import socket
import ssl
import urllib.parse
from collections.abc import Mapping
from email.message import EmailMessage
from threading import Event, Thread
from typing import Any

import sqlalchemy as sa

from gapdrift.errors import GapdriftError, ParameterError, RefusedError, SinkError
from gapdrift.results.report.words import format_p_value, shorten
from gapdrift.service.database import Database, now
from gapdrift.service.packing import unpack_record
from gapdrift.service.schema import alarms, deliveries, monitors, projects, sinks, windows
from gapdrift.sinks import Sink, Webhook

__all__ = ["KINDS", "Courier", "describe_sink", "make_sink"]

KINDS = ("webhook", "slack", "email")
MAX_ATTEMPTS = 12
SECOND = 1_000_000
LONGEST_WAIT = 3_600
TIMEOUT = 10.0

logger = logging.getLogger("gapdrift.service")


class SlackWebhook(Webhook):
    """Webhook that takes one line of text, as Slack and those like it do."""

    def emit(self, record: Mapping[str, Any]) -> None:
        """Send a sentence about the window."""
        answer = self._post_in_time(json.dumps({"text": _sentence(record)}).encode(), str(record["id"]))
        if answer.problem:
            error = RefusedError if answer.is_refusal else SinkError
            raise error(f"{self.name}: {self._host} {answer.problem}.")


class Email:
    """E-mail for each alarm, by SMTP.

    Parameters
    ----------
    settings : mapping
        ``host``, ``port``, ``sender``, ``recipient``, and where the server asks for them ``user`` and ``password``.
    """

    name = "email"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings

    def emit(self, record: Mapping[str, Any]) -> None:
        """Send a message about the window."""
        own, message = self._settings, EmailMessage()
        message["Subject"] = f"gapdrift: {record['zone']} in {shorten(str(record['stream']), 60)}"
        message["From"], message["To"] = own["sender"], own["recipient"]
        message["Message-ID"] = f"<{urllib.parse.quote(str(record['id']), safe='')}@gapdrift>"
        message.set_content(_sentence(record) + "\n")
        try:
            with smtplib.SMTP(own["host"], int(own["port"]), timeout=TIMEOUT) as server:
                server.ehlo()
                if server.has_extn("starttls"):
                    server.starttls(context=ssl.create_default_context())
                    server.ehlo()
                if own.get("user"):
                    server.login(own["user"], own["password"])
                server.send_message(message)
        except (OSError, smtplib.SMTPException) as error:
            raise SinkError(f"email: {own['host']} did not take the message ({type(error).__name__}).") from error

    def close(self) -> None:
        """Do nothing: each message is sent over its own connection."""


def make_sink(kind: str, settings: Mapping[str, Any]) -> Sink:
    """Sink of a kind; settings that cannot be used raise a `ParameterError`."""
    if kind == "webhook":
        return Webhook(settings.get("url", ""), timeout=TIMEOUT, retries=0)
    if kind == "slack":
        return SlackWebhook(settings.get("url", ""), timeout=TIMEOUT, retries=0, name="slack")
    if kind != "email":
        raise ParameterError(f"kind is {kind!r}, expected one of {', '.join(KINDS)}.")
    for name in ("host", "sender", "recipient"):
        value = settings.get(name)
        if not isinstance(value, str) or not value or not value.isprintable():
            raise ParameterError(f"An e-mail needs {name}, a line of text.")
    for name in ("sender", "recipient"):
        if "@" not in settings[name]:
            raise ParameterError(f"{name} is {settings[name]!r}, expected an address with an @.")
    if not str(settings.get("port", "")).isdigit() or not 0 < int(settings["port"]) < 65_536:
        raise ParameterError("An e-mail needs port, a number from 1 to 65535; usually 587 or 25.")
    return Email(settings)


def describe_sink(kind: str, settings: Mapping[str, Any]) -> str:
    """Where a sink sends to, without its secrets."""
    if kind == "email":
        return f"{settings['recipient']} by {settings['host']}:{settings['port']}"
    return str(urllib.parse.urlsplit(settings["url"]).hostname)


def _host_of(kind: str, settings: Mapping[str, Any]) -> str:
    return str(settings["host"] if kind == "email" else urllib.parse.urlsplit(settings["url"]).hostname)


def check_public(host: str) -> None:
    """Raise a `SinkError` where a host is this machine or in a private network."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError) as error:
        raise SinkError(f"{host} could not be found.") from error
    if any(not ipaddress.ip_address(str(address).partition("%")[0]).is_global for address in found):
        raise SinkError(
            f"{host} is this machine or in a private network, where alarms are sent only with --private-sinks."
        )


def _sentence(record: Mapping[str, Any]) -> str:
    names = ", ".join(shorten(name, 40) for name in record["changed"][:5])
    columns = f" Columns that changed: {names}." if names else ""
    where = f"{record['project']}/{record['stream']}, window {record['index']}"
    return f"{str(record['zone']).capitalize()} in {where}: {format_p_value(record['p_value'])}.{columns}"


class Courier:
    """Thread that delivers what waits in the outbox.

    Parameters
    ----------
    database : Database
    private : bool
        Whether it may send to this machine and to private networks.
    """

    def __init__(self, database: Database, *, private: bool = False) -> None:
        self._database, self._private = database, private
        self._wake = Event()
        self._stopping = False
        self._thread = Thread(target=self._run, name="gapdrift-courier", daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the delivery that is under way; what waits is delivered after the next start."""
        self._stopping = True
        self._wake.set()
        self._thread.join(timeout=2.0 * TIMEOUT)

    def _run(self) -> None:
        while not self._stopping:
            try:
                busy = self.deliver_some()
            except sa.exc.SQLAlchemyError:
                logger.exception("The outbox could not be read.")
                busy = False
            if not busy:
                self._wake.wait(1.0)
                self._wake.clear()

    def deliver_some(self) -> bool:
        """Try what is due; return whether anything was."""
        query = (
            sa.select(deliveries, alarms.c.number, alarms.c.monitor_id, alarms.c.columns)
            .add_columns(sinks.c.kind, sinks.c.settings, monitors.c.name, projects.c.slug)
            .join_from(deliveries, sinks)
            .join(alarms, alarms.c.id == deliveries.c.alarm_id)
            .join(monitors, monitors.c.id == alarms.c.monitor_id)
            .join(projects, projects.c.id == alarms.c.project_id)
            .where((deliveries.c.state == "pending") & (deliveries.c.next_try <= now()))
            .order_by(deliveries.c.next_try)
            .limit(20)
        )
        with self._database.read() as connection:
            due = [dict(row) for row in connection.execute(query).mappings()]
        for row in due:
            if self._stopping:
                break
            self._deliver(row)
        return bool(due)

    def _deliver(self, row: Mapping[str, Any]) -> None:
        settings = json.loads(row["settings"])
        try:
            if not self._private:
                check_public(_host_of(row["kind"], settings))
            make_sink(row["kind"], settings).emit(self._record(row))
            values = {"state": "sent", "reason": "", "attempts": row["attempts"] + 1}
        except GapdriftError as error:
            attempts = MAX_ATTEMPTS if isinstance(error, RefusedError) else row["attempts"] + 1
            values = _after_failure(attempts, str(error))
            logger.warning("An alarm was not delivered: %s", error)
        with self._database.write() as connection:
            connection.execute(deliveries.update().where(deliveries.c.id == row["id"]).values(**values))

    def _record(self, row: Mapping[str, Any]) -> dict[str, Any]:
        chosen = (windows.c.monitor_id == row["monitor_id"]) & (windows.c.number == row["number"])
        with self._database.read() as connection:
            data = connection.scalar(sa.select(windows.c.record).where(chosen))
        if data is None:
            raise SinkError("The window of this alarm is not in the database any more.")
        record = unpack_record(data)
        # Histograms and bins are in the report; a message has what can be read at a glance.
        record.pop("result")
        own = {"id": f"{row['slug']}/{row['name']}/{row['number']}", "project": row["slug"]}
        return {**record, **own, "changed": json.loads(row["columns"])}


def _after_failure(attempts: int, reason: str) -> dict[str, Any]:
    """What is remembered of a failed delivery: when to try again, or that it was given up."""
    wait = min(LONGEST_WAIT, 5 * 2**attempts) * SECOND
    state = "failed" if attempts >= MAX_ATTEMPTS else "pending"
    return {"state": state, "attempts": attempts, "next_try": now() + wait, "reason": reason[:400]}
