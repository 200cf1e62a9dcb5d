"""Tables of the service. Times are whole microseconds since 1970, in UTC."""

from typing import Any

import sqlalchemy as sa

__all__ = ["TABLES", "metadata"]

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

SHORT, LONG, DIGEST = sa.String(100), sa.String(400), sa.String(64)

# SQLite numbers rows by itself only in a column of the type INTEGER.
COUNTER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

NUMBERED: dict[str, Any] = {"sqlite_autoincrement": True}
"""The id of a row that was removed is not given to another: what is kept in memory by its id stays right."""


def _key() -> sa.Column[int]:
    return sa.Column("id", COUNTER, primary_key=True)


def _to(name: str, target: str, *, key: bool = False, optional: bool = False) -> sa.Column[int]:
    link = sa.ForeignKey(f"service_{target}.id", ondelete="CASCADE")
    return sa.Column(name, COUNTER, link, primary_key=key, nullable=optional, autoincrement=False)


def _whole(name: str, *, optional: bool = False, key: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, primary_key=key, nullable=optional, autoincrement=False)


def _text(name: str, kind: "sa.types.TypeEngine[str]" = SHORT, *, key: bool = False) -> sa.Column[str]:
    return sa.Column(name, kind, primary_key=key, nullable=False)


def _number(name: str, *, optional: bool = True) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=optional)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False)


projects = sa.Table(
    "service_projects", metadata, _key(), _text("slug"), _text("title", LONG), _whole("created"), **NUMBERED
)
sa.Index(None, projects.c.slug, unique=True)

users = sa.Table(
    "service_users",
    metadata,
    _key(),
    _text("name"),
    _text("password", LONG),
    _flag("operator"),
    _flag("disabled"),
    _whole("created"),
    **NUMBERED,
)
sa.Index(None, users.c.name, unique=True)

members = sa.Table(
    "service_members",
    metadata,
    _to("project_id", "projects", key=True),
    _to("user_id", "users", key=True),
    _text("role"),
)

sessions = sa.Table(
    "service_sessions",
    metadata,
    _text("digest", DIGEST, key=True),
    _to("user_id", "users"),
    _text("csrf"),
    _whole("created"),
    _whole("expires"),
)

links = sa.Table(
    "service_links", metadata, _text("digest", DIGEST, key=True), _to("user_id", "users"), _whole("expires")
)

tokens = sa.Table(
    "service_tokens",
    metadata,
    _key(),
    _to("project_id", "projects"),
    _text("name"),
    _text("role"),
    _text("digest", DIGEST),
    _text("created_by"),
    _whole("created"),
    **NUMBERED,
)
sa.Index(None, tokens.c.digest, unique=True)

monitors = sa.Table(
    "service_monitors",
    metadata,
    _key(),
    _to("project_id", "projects"),
    _text("name"),
    _text("settings", sa.Text()),
    _whole("reference_id", optional=True),
    _whole("version"),
    _whole("position"),
    _whole("room", optional=True),
    _text("pane"),
    _whole("n_windows"),
    _text("zone"),
    _number("p_value"),
    _whole("decided", optional=True),
    _whole("created"),
    **NUMBERED,
)
sa.Index(None, monitors.c.project_id, monitors.c.name, unique=True)

references = sa.Table(
    "service_references",
    metadata,
    _key(),
    _to("monitor_id", "monitors"),
    _whole("version"),
    _text("origin"),
    _text("note", LONG),
    _text("columns", sa.Text()),
    _whole("n_rows"),
    _text("created_by"),
    _whole("created"),
    sa.Column("data", sa.LargeBinary, nullable=False),
    **NUMBERED,
)
sa.Index(None, references.c.monitor_id, references.c.version, unique=True)

parts = sa.Table(
    "service_parts",
    metadata,
    _to("monitor_id", "monitors", key=True),
    _text("name", LONG, key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

pushes = sa.Table(
    "service_pushes",
    metadata,
    _to("monitor_id", "monitors", key=True),
    _text("key", key=True),
    _text("digest", DIGEST),
    _whole("n_rows"),
    _whole("late_rows"),
    _whole("duplicate_rows"),
    _whole("untimed_rows"),
    _whole("position"),
    _whole("first_window"),
    _whole("next_window"),
    _whole("received"),
)

windows = sa.Table(
    "service_windows",
    metadata,
    _to("monitor_id", "monitors", key=True),
    _whole("number", key=True),
    _whole("n_windows"),
    _text("zone"),
    _number("p_value", optional=False),
    _whole("n_rows"),
    _whole("first_row", optional=True),
    _whole("last_row", optional=True),
    _whole("starts", optional=True),
    _whole("ends", optional=True),
    _whole("decided"),
    _number("values_p"),
    _number("values_effect"),
    _number("missing_p"),
    _number("missing_effect"),
    _number("concept_p"),
    _number("concept_effect"),
    _flag("adapted"),
    _whole("reference_id"),
    _whole("first_pane", optional=True),
    _whole("last_pane", optional=True),
    sa.Column("columns", sa.LargeBinary, nullable=False),
    sa.Column("record", sa.LargeBinary),
)
sa.Index(None, windows.c.monitor_id, windows.c.zone, windows.c.number)
sa.Index(None, windows.c.monitor_id, windows.c.decided)

evidence = sa.Table(
    "service_evidence",
    metadata,
    _to("monitor_id", "monitors", key=True),
    _text("origin", key=True),
    _whole("level", key=True),
    _whole("block", key=True),
    _whole("n_rows"),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

alarms = sa.Table(
    "service_alarms",
    metadata,
    _key(),
    _to("project_id", "projects"),
    _to("monitor_id", "monitors"),
    _whole("number"),
    _text("zone"),
    _number("p_value", optional=False),
    _text("columns", sa.Text()),
    _text("state"),
    _whole("raised"),
    _text("handled_by"),
    _whole("handled", optional=True),
    **NUMBERED,
)
sa.Index(None, alarms.c.monitor_id, alarms.c.number, unique=True)
sa.Index(None, alarms.c.project_id, alarms.c.state, alarms.c.id)

comments = sa.Table(
    "service_comments",
    metadata,
    _key(),
    _to("alarm_id", "alarms"),
    _text("author"),
    _whole("written"),
    _text("words", sa.Text()),
    **NUMBERED,
)
sa.Index(None, comments.c.alarm_id)

mutes = sa.Table(
    "service_mutes",
    metadata,
    _key(),
    _to("monitor_id", "monitors"),
    _text("column", sa.Text()),
    _whole("until"),
    _text("created_by"),
    _whole("created"),
    **NUMBERED,
)
sa.Index(None, mutes.c.monitor_id)

sinks = sa.Table(
    "service_sinks",
    metadata,
    _key(),
    _to("project_id", "projects"),
    _text("name"),
    _text("kind"),
    _text("settings", sa.Text()),
    _whole("created"),
    **NUMBERED,
)
sa.Index(None, sinks.c.project_id)

deliveries = sa.Table(
    "service_deliveries",
    metadata,
    _key(),
    _to("sink_id", "sinks"),
    _to("alarm_id", "alarms"),
    _text("state"),
    _whole("attempts"),
    _whole("next_try"),
    _text("reason", LONG),
    **NUMBERED,
)
sa.Index(None, deliveries.c.state, deliveries.c.next_try)

audit = sa.Table(
    "service_audit",
    metadata,
    _key(),
    _to("project_id", "projects", optional=True),
    _whole("at"),
    _text("who"),
    _text("action"),
    _text("subject", LONG),
    _text("detail", sa.Text()),
    **NUMBERED,
)
sa.Index(None, audit.c.project_id, audit.c.id)

TABLES = tuple(metadata.sorted_tables)
