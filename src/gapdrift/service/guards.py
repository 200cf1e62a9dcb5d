"""What stands before every handler: who asks, whether they may, and whether the request is their own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Path, Request
from sqlalchemy.engine import Connection

from gapdrift.service.access import Identity, find_project, identify_session, identify_token, same_secret
from gapdrift.service.errors import ForbiddenError
from gapdrift.service.models import NAME
from gapdrift.service.state import Service

__all__ = [
    "COOKIE",
    "Admin",
    "Editor",
    "Grant",
    "Operator",
    "Signed",
    "Viewer",
    "check_own",
    "check_rate",
    "find_identity",
    "service_of",
]

COOKIE = "gapdrift_session"
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True)
class Grant:
    """Leave to work in a project.

    Parameters
    ----------
    identity : Identity
    project : mapping
        Row of the project.
    """

    identity: Identity
    project: Mapping[str, Any]

    @property
    def project_id(self) -> int:
        """Id of the project, which every query carries."""
        return int(self.project["id"])

    @property
    def who(self) -> str:
        """Name for the audit log."""
        return self.identity.name


def service_of(request: Request) -> Service:
    """The service that a request was sent to."""
    service: Service = request.app.state.service
    return service


def find_identity(request: Request, connection: Connection) -> Identity | None:
    """Whoever makes a request; None if nobody is signed in."""
    service = service_of(request)
    if not service.options.auth:
        return Identity("anyone", "open", service.open_csrf, operator=True)
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and secret:
        return identify_token(connection, secret)
    cookie = request.cookies.get(COOKIE, "")
    return identify_session(connection, cookie) if cookie else None


def check_rate(request: Request) -> None:
    """Raise an error where a client makes too many requests."""
    service_of(request).request_limit.check(request.client.host if request.client else "")


def check_own(request: Request, identity: Identity, csrf: str) -> None:
    """Raise a `ForbiddenError` where a page of another site may have made a request in somebody's name."""
    if request.method in SAFE_METHODS or identity.kind == "token":
        return
    origin = request.headers.get("origin", "")
    if origin and urlsplit(origin).netloc != request.headers.get("host", ""):
        raise ForbiddenError("The request comes from another site.")
    if not same_secret(csrf, identity.csrf):
        raise ForbiddenError("The request lacks the token of your session. Load the page again.")


def signed(request: Request) -> Identity:
    """Whoever makes a request; nobody is refused."""
    check_rate(request)
    return service_of(request).read(lambda connection: _need_identity(request, connection))


def _need_identity(request: Request, connection: Connection) -> Identity:
    identity = find_identity(request, connection)
    if identity is None:
        raise HTTPException(401, "Sign in, or send a token: Authorization: Bearer ...", {"www-authenticate": "Bearer"})
    if request.url.path.startswith("/api/") and not _is_program(request, identity):
        # The forms of the pages carry the token as a field, which `pages.posted` checks.
        check_own(request, identity, request.headers.get("x-csrf-token", ""))
    return identity


def _is_program(request: Request, identity: Identity) -> bool:
    """Whether a request where nobody signs in comes from a program: browsers tell which page made them make it."""
    return identity.kind == "open" and not {"origin", "referer", "sec-fetch-site"} & set(request.headers)


def operator(identity: Annotated[Identity, Depends(signed)]) -> Identity:
    """Whoever may make projects and users."""
    if not identity.operator:
        raise ForbiddenError("This needs an admin of the whole service.")
    return identity


def need(role: str) -> Callable[..., Grant]:
    """Dependency that gives leave to those who have at least this role in the project of the path."""

    # Both questions on one connection in one thread: a push asks them as well, 200 times a second.
    def grant(request: Request, project: Annotated[str, Path(pattern=NAME)]) -> Grant:
        check_rate(request)
        with service_of(request).database.read() as connection:
            identity = _need_identity(request, connection)
            return Grant(identity, find_project(connection, identity, project, role))

    grant.needed_role = role  # type: ignore[attr-defined]
    return grant


Signed = Annotated[Identity, Depends(signed)]
Operator = Annotated[Identity, Depends(operator)]
Viewer = Annotated[Grant, Depends(need("viewer"))]
Editor = Annotated[Grant, Depends(need("editor"))]
Admin = Annotated[Grant, Depends(need("admin"))]
