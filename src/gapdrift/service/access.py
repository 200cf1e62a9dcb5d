"""Who may do what: passwords, sessions, tokens, roles, one-time links."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy.engine import Connection

from gapdrift.errors import ParameterError
from gapdrift.service.audit import note
from gapdrift.service.database import now
from gapdrift.service.errors import ConflictError, ForbiddenError, NotFoundError
from gapdrift.service.schema import links, members, projects, sessions, tokens, users

__all__ = [
    "ROLES",
    "Identity",
    "add_user",
    "begin_session",
    "check_password",
    "create_token",
    "end_session",
    "find_project",
    "identify_session",
    "identify_token",
    "make_link",
    "redeem_link",
    "set_member",
    "set_password",
]

ROLES = {"viewer": 1, "editor": 2, "admin": 3}
"""Roles in a project, each with all that the ones before it may do."""

DAY = 86_400 * 1_000_000
SESSION_LENGTH = 7 * DAY
LINK_LENGTH = 1 * DAY
MIN_PASSWORD, MAX_PASSWORD = 10, 200
TOKEN_PREFIX = "gapdrift_"

# Made once, since every request asks them.
TOKEN = sa.select(tokens.c.name, tokens.c.project_id, tokens.c.role).where(tokens.c.digest == sa.bindparam("digest"))
PROJECT = sa.select(projects).where(projects.c.slug == sa.bindparam("slug"))


@dataclass(frozen=True)
class Identity:
    """Whoever makes a request.

    Parameters
    ----------
    name : str
    kind : {"user", "token", "open"}
        Open means that nobody needs to sign in.
    csrf : str
        Token that a form of this session must carry; empty for tokens.
    operator : bool
        Whether this identity is admin of every project, and may make projects and users.
    roles : mapping of int to str
        Role in each project, by its id.
    """

    name: str
    kind: str
    csrf: str = ""
    operator: bool = False
    roles: Mapping[int, str] = field(default_factory=dict)
    user_id: int | None = None

    def role_in(self, project_id: int) -> str | None:
        """Role in a project; None for a foreign one."""
        return "admin" if self.operator else self.roles.get(project_id)

    def may(self, project_id: int, role: str) -> bool:
        """Whether this identity has at least this role in a project."""
        return ROLES.get(self.role_in(project_id) or "", 0) >= ROLES[role]


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


@cache
def _decoy() -> str:
    """Hash against which the password of an unknown user is checked, so that the time does not tell who exists."""
    return _hasher().hash(secrets.token_hex(16))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _check_new_password(password: str) -> str:
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise ParameterError(f"The password has {len(password)} characters, expected {MIN_PASSWORD} to {MAX_PASSWORD}.")
    return _hasher().hash(password)


def add_user(connection: Connection, name: str, *, operator: bool = False, who: str = "") -> int:
    """Id of a new user, who has no password yet and signs in by a one-time link."""
    if connection.scalar(sa.select(users.c.id).where(users.c.name == name)) is not None:
        raise ConflictError(f"There is a user {name!r} already.")
    row = {"name": name, "password": "", "operator": operator, "disabled": False, "created": now()}
    user_id = int(connection.execute(users.insert().returning(users.c.id), row).scalar_one())
    note(connection, None, who or name, "user created", name)
    return user_id


def set_password(connection: Connection, user_id: int, password: str) -> None:
    """Give a user a new password, and end all sessions of this user."""
    hashed = _check_new_password(password)
    connection.execute(users.update().where(users.c.id == user_id).values(password=hashed))
    connection.execute(sessions.delete().where(sessions.c.user_id == user_id))


def check_password(connection: Connection, name: str, password: str) -> int | None:
    """Id of the user with this name and password; None if there is none."""
    query = sa.select(users.c.id, users.c.password).where((users.c.name == name) & ~users.c.disabled)
    found = connection.execute(query).first()
    hashed = found.password if found is not None and found.password else _decoy()
    try:
        _hasher().verify(hashed, password[: MAX_PASSWORD + 1])
    except (Argon2Error, InvalidHashError):
        return None
    return None if found is None or not found.password else int(found.id)


def begin_session(connection: Connection, user_id: int) -> str:
    """Secret of a new session, for the cookie; the database has only its digest."""
    secret, moment = secrets.token_urlsafe(32), now()
    connection.execute(sessions.delete().where(sessions.c.expires < moment))
    row = {"digest": _digest(secret), "user_id": user_id, "csrf": secrets.token_urlsafe(32)}
    connection.execute(sessions.insert(), {**row, "created": moment, "expires": moment + SESSION_LENGTH})
    return secret


def end_session(connection: Connection, secret: str) -> None:
    """Forget a session."""
    connection.execute(sessions.delete().where(sessions.c.digest == _digest(secret)))


def identify_session(connection: Connection, secret: str) -> Identity | None:
    """Whoever has this session; None if it is over."""
    query = (
        sa.select(users.c.id, users.c.name, users.c.operator, sessions.c.csrf)
        .join_from(sessions, users)
        .where((sessions.c.digest == _digest(secret)) & (sessions.c.expires > now()) & ~users.c.disabled)
    )
    found = connection.execute(query).first()
    if found is None:
        return None
    own = sa.select(members.c.project_id, members.c.role).where(members.c.user_id == found.id)
    roles = {row.project_id: row.role for row in connection.execute(own)}
    return Identity(found.name, "user", found.csrf, found.operator, roles, found.id)


def identify_token(connection: Connection, secret: str) -> Identity | None:
    """Whoever has this API token; None if there is none such."""
    found = connection.execute(TOKEN, {"digest": _digest(secret)}).first()
    return None if found is None else Identity(f"token {found.name}", "token", roles={found.project_id: found.role})


def create_token(connection: Connection, project_id: int, name: str, role: str, who: str) -> tuple[int, str]:
    """Id and secret of a new API token of a project; the secret is shown once, and only its digest is stored."""
    if role not in {"viewer", "editor"}:
        raise ParameterError(f"role is {role!r}, expected 'viewer' (reads) or 'editor' (also pushes).")
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    row = {"project_id": project_id, "name": name, "role": role, "digest": _digest(secret), "created_by": who}
    made = connection.execute(tokens.insert().returning(tokens.c.id), {**row, "created": now()})
    note(connection, project_id, who, "token created", name, role)
    return int(made.scalar_one()), secret


def make_link(connection: Connection, user_id: int) -> str:
    """Secret of a link by which a user sets a password, once, within a day."""
    secret = secrets.token_urlsafe(32)
    connection.execute(links.delete().where((links.c.user_id == user_id) | (links.c.expires < now())))
    connection.execute(links.insert(), {"digest": _digest(secret), "user_id": user_id, "expires": now() + LINK_LENGTH})
    return secret


def redeem_link(connection: Connection, secret: str, password: str) -> int:
    """Id of the user who sets a password by a link, which then is used up."""
    chosen = (links.c.digest == _digest(secret)) & (links.c.expires > now())
    user_id = connection.scalar(sa.select(links.c.user_id).where(chosen))
    if user_id is None:
        raise ForbiddenError("This link was used, or is older than a day. Ask an admin for another.")
    set_password(connection, user_id, password)
    connection.execute(links.delete().where(links.c.digest == _digest(secret)))
    name = connection.scalar(sa.select(users.c.name).where(users.c.id == user_id))
    note(connection, None, str(name), "password set", str(name))
    return int(user_id)


def set_member(connection: Connection, project_id: int, name: str, role: str | None, who: str) -> None:
    """Give a user a role in a project, or none."""
    if role is not None and role not in ROLES:
        raise ParameterError(f"role is {role!r}, expected one of {', '.join(ROLES)}.")
    user_id = connection.scalar(sa.select(users.c.id).where(users.c.name == name))
    if user_id is None:
        raise NotFoundError(f"There is no user {name!r}.")
    chosen = (members.c.project_id == project_id) & (members.c.user_id == user_id)
    connection.execute(members.delete().where(chosen))
    if role is not None:
        connection.execute(members.insert(), {"project_id": project_id, "user_id": user_id, "role": role})
    note(connection, project_id, who, "member changed", name, role or "removed")


def find_project(connection: Connection, identity: Identity, slug: str, role: str) -> Mapping[str, Any]:
    """Row of a project in which an identity has at least a role; a foreign project is as if it did not exist."""
    row = connection.execute(PROJECT, {"slug": slug}).mappings().first()
    if row is None or identity.role_in(row["id"]) is None:
        raise NotFoundError("There is no such project.")
    if not identity.may(row["id"], role):
        raise ForbiddenError(f"This needs the role {role!r} in the project. Ask an admin of the project.")
    return dict(row)


def same_secret(one: str, two: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell how much of them is."""
    return hmac.compare_digest(one.encode(errors="surrogatepass"), two.encode(errors="surrogatepass"))
