"""The audit log: who changed what, and when."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gapdrift.service.database import now
from gapdrift.service.schema import audit

__all__ = ["note", "read_audit"]


def note(
    connection: Connection, project_id: int | None, who: str, action: str, subject: str = "", detail: str = ""
) -> None:
    """Write one line of the audit log."""
    row = {"project_id": project_id, "at": now(), "who": who[:100], "action": action, "subject": subject[:400]}
    connection.execute(audit.insert(), {**row, "detail": detail[:4_000]})


def read_audit(
    connection: Connection, project_id: int, *, before: int | None = None, limit: int = 100
) -> list[Mapping[str, Any]]:
    """Lines of a project's audit log, the latest first."""
    chosen = audit.c.project_id == project_id
    if before is not None:
        chosen &= audit.c.id < before
    query = sa.select(audit).where(chosen).order_by(audit.c.id.desc()).limit(limit)
    return [dict(row) for row in connection.execute(query).mappings()]
