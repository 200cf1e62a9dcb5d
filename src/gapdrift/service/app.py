"""The application: interface and pages together, with errors as sentences, metrics and signs of life."""

import json
import logging
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Thread
from typing import Any

import sqlalchemy as sa
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gapdrift._version import __version__
from gapdrift.errors import GapdriftError
from gapdrift.service import api, pages
from gapdrift.service.guards import Signed, service_of
from gapdrift.service.limits import BodyLimit
from gapdrift.service.metrics import Counters, render_metrics
from gapdrift.service.state import Options, Service
from gapdrift.service.web import SecurityHeaders, add_static, render

__all__ = ["JsonFormatter", "make_app"]

METHODS = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}

logger = logging.getLogger("gapdrift.service")


class JsonFormatter(logging.Formatter):
    """Log lines as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {"time": f"{moment}.{record.msecs:03.0f}Z", "level": record.levelname, "message": record.getMessage()}
        line |= getattr(record, "facts", {})
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def make_app(options: Options) -> FastAPI:
    """Application of a service.

    Parameters
    ----------
    options : Options
    """
    service = Service(options)

    @asynccontextmanager
    async def live(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        after_start = getattr(app.state, "after_start", None)
        if after_start is not None:
            Thread(target=after_start, args=(service,), name="gapdrift-demo", daemon=True).start()
        yield
        service.stop()

    app = FastAPI(
        title="gapdrift",
        version=__version__,
        description="Monitors of drift in tables with missing values.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=live,
    )
    app.state.service = service
    _add_signs_of_life(app)
    app.include_router(api.router)
    app.include_router(pages.router)
    add_static(app)
    _add_errors(app)
    app.add_middleware(BodyLimit)
    app.add_middleware(CountRequests, counters=service.counters)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(options.hosts))
    app.add_middleware(SecurityHeaders)
    return app


class CountRequests:
    """Application that counts and logs the requests of another one."""

    def __init__(self, app: ASGIApp, counters: Counters) -> None:
        self.app, self._counters = app, counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def send_counted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, send_counted)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "other")
            # Anybody can make up methods, each of which would be kept.
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._counters.count_request(route, method, status, seconds)
            facts = {"method": method, "route": route, "status": status, "ms": round(1e3 * seconds, 1)}
            logger.info("request", extra={"facts": facts})


def _add_signs_of_life(app: FastAPI) -> None:
    @app.get("/healthz", include_in_schema=False)
    def healthz() -> Response:
        return PlainTextResponse("ok\n")

    @app.get("/readyz", include_in_schema=False)
    def readyz(request: Request) -> Response:
        service = service_of(request)
        try:
            service.read(lambda connection: connection.execute(sa.text("SELECT 1")))
        except SQLAlchemyError:
            return PlainTextResponse("The database does not answer.\n", 503)
        return PlainTextResponse("ok\n") if service.writer.alive else PlainTextResponse("The writer stopped.\n", 503)

    @app.get("/metrics", include_in_schema=False)
    def metrics(request: Request, identity: Signed) -> Response:
        service = service_of(request)
        ids = None if identity.operator else list(identity.roles)
        counters = service.counters if identity.operator else None
        text = service.read(lambda c: render_metrics(c, counters, ids, service.writer.waiting))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_errors(app: FastAPI) -> None:
    """Answer every error with a sentence: JSON below ``/api``, a page elsewhere."""

    @app.exception_handler(GapdriftError)
    def refuse(request: Request, error: Exception) -> Response:
        return _answer(request, getattr(error, "code", 422), str(error))

    @app.exception_handler(HTTPException)
    def missing(request: Request, error: Exception) -> Response:
        code, words = getattr(error, "status_code", 500), str(getattr(error, "detail", ""))
        headers = getattr(error, "headers", None)
        if code == 401 and not _is_api(request) and request.method == "GET":
            return RedirectResponse("/login", 303)
        return _answer(request, code, words if code != 404 else "There is nothing at this address.", headers)

    @app.exception_handler(RequestValidationError)
    def misread(request: Request, error: Exception) -> Response:
        found = error.errors()[:5] if isinstance(error, RequestValidationError) else []
        words = "; ".join(f"{'.'.join(map(str, one['loc']))[:80]}: {one['msg'][:200]}" for one in found)
        return _answer(request, 422, f"The request cannot be used: {words}.")

    @app.exception_handler(ClientDisconnect)
    def gone(request: Request, _: Exception) -> Response:
        return _answer(request, 400, "The request ended before all of it had come.")

    @app.exception_handler(Exception)
    def fail(request: Request, error: Exception) -> Response:
        number = secrets.token_hex(4)
        logger.error("unexpected error %s", number, exc_info=error)
        return _answer(request, 500, f"Something went wrong in the service; the log has it under {number}.")


def _is_api(request: Request) -> bool:
    return request.url.path.startswith(("/api/", "/metrics"))


def _answer(request: Request, code: int, words: str, headers: Any = None) -> Response:
    if _is_api(request):
        return JSONResponse({"detail": words}, code, headers)
    titles = {401: "Not signed in", 403: "Not allowed", 404: "Not found", 413: "Too large", 429: "Too many requests"}
    return render("message.html", code, headers, title=titles.get(code, "Not possible"), sentence=words)
