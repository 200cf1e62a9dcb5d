"""What every page of the service shares: templates, style, script, and headers that keep browsers safe."""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gapdrift._version import __version__
from gapdrift.overview.assets import page_style
from gapdrift.results.report.assets import read_asset
from gapdrift.results.report.charts import HATCH

__all__ = ["HEADERS", "SecurityHeaders", "add_static", "render"]

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src "
    "'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-frame-options": "DENY",
}
"""Headers of every answer: no page can load or send anything elsewhere, or be shown inside another."""


class SecurityHeaders:
    """Application that adds `HEADERS` to every answer of another one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *((n, v) for n, v in more if n not in given)]
                if b"cache-control" not in given:
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        await self.app(scope, receive, send_with_headers)


@cache
def _assets() -> dict[str, tuple[str, str]]:
    """Style and script: their media types and contents, by name."""
    own = resources.files("gapdrift.service.assets")
    style = page_style() + own.joinpath("service.css").read_text(encoding="utf-8")
    script = read_asset("script.js")
    early = own.joinpath("early.js").read_text(encoding="utf-8")
    return {
        "style.css": ("text/css; charset=utf-8", style),
        "script.js": ("text/javascript; charset=utf-8", script),
        "early.js": ("text/javascript; charset=utf-8", early),
    }


@cache
def _version_of(name: str) -> str:
    return hashlib.sha256(_assets()[name][1].encode()).hexdigest()[:16]


def _address(name: str) -> str:
    """Address of a style or script, which changes with its content so that browsers may keep it."""
    return f"/static/{_version_of(name)}/{name}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("gapdrift.service", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(static=_address, hatch=Markup(HATCH), version=__version__)
    return environment


def render(
    template: str, status_code: int = 200, headers: Mapping[str, str] | None = None, **facts: Any
) -> HTMLResponse:
    """Page of a template; text among the facts is escaped, `Markup` is not."""
    page = _environment().get_template(template).render(**facts)
    content = page.encode("utf-8", "xmlcharrefreplace")
    return HTMLResponse(content, status_code=status_code, headers=dict(headers or {}))


def add_static(app: FastAPI) -> None:
    """Serve style, script and icon."""
    router = APIRouter(include_in_schema=False)

    @router.get("/static/{digest}/{name}")
    def static(digest: str, name: str) -> Response:
        if name not in _assets():
            return Response(status_code=404)
        kind, content = _assets()[name]
        kept = "public, max-age=31536000, immutable" if digest == _version_of(name) else "no-store"
        return Response(content, media_type=kind, headers={"cache-control": kept})

    @router.get("/favicon.ico")
    def icon(_: Request) -> Response:
        drawing = (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M1 11h4l2-7 3 9 2-5h3" fill="none" '
            'stroke="#2470b3" stroke-width="2" stroke-linejoin="round"/></svg>'
        )
        return Response(drawing, media_type="image/svg+xml", headers={"cache-control": "public, max-age=86400"})

    app.include_router(router)
