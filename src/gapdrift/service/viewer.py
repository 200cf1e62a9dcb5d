"""A history in the browser: read-only pages that follow it as windows are decided."""

from collections import OrderedDict
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from gapdrift.errors import GapdriftError
from gapdrift.history import History
from gapdrift.overview.charts import draw_sparkline
from gapdrift.overview.page import render_charts, render_report, render_state, render_windows
from gapdrift.overview.points import Timeline, WindowPoint
from gapdrift.overview.reading import read_records, read_result
from gapdrift.overview.words import describe_state, summarise
from gapdrift.service.web import SecurityHeaders, add_static, render

__all__ = ["make_viewer"]

SHOWN = 200
"""Number of windows that the page of a stream shows, unless more are asked for."""

MOST_SHOWN = 2_000
KEPT_TIMELINES = 8


class TimelineCache:
    """Timelines that were read already, until another window is decided."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._kept: OrderedDict[tuple[str, int, int], Timeline] = OrderedDict()

    def read(self, stream: str, last: int) -> Timeline:
        """Timeline of the last windows of a stream."""
        key = (stream, last, self._history.n_windows(stream))
        if key not in self._kept:
            self._kept[key], _ = read_records(self._history, stream, last)
            while len(self._kept) > KEPT_TIMELINES:
                self._kept.popitem(last=False)
        return self._kept[key]


def make_viewer(url: str) -> FastAPI:
    """Application that shows a history.

    Parameters
    ----------
    url : str
        Path or address of a history that exists.
    """
    history = History(url, create=False)
    timelines = TimelineCache(history)
    name = Path(url).name if "://" not in url else "History"
    app = FastAPI(title="gapdrift history", docs_url=None, redoc_url=None, openapi_url=None)
    # Another site's page must not reach this one under a name of its own that leads to this machine.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "[::1]"])
    app.add_middleware(SecurityHeaders)
    add_static(app)
    _add_errors(app)

    @app.get("/")
    def streams() -> Response:
        rows = [_stream_row(timelines.read(stream, 60)) for stream in history.streams()]
        state = "/".join(f"{row['name']}:{row['n_windows']}" for row in rows)
        return render("view_list.html", name=name, rows=rows, state=state)

    @app.get("/stream")
    def stream(name: str, last: Annotated[int, Query(ge=1, le=MOST_SHOWN)] = SHOWN) -> Response:
        timeline = timelines.read(name, last)

        def link(window: WindowPoint) -> str:
            return _address("/window", stream=name, index=window.index) if window.n_rows else ""

        body = render_state(timeline) + render_charts(timeline, link) + render_windows(timeline, link)
        more = _address("/stream", name=name, last=min(MOST_SHOWN, 5 * last))
        return render(
            "view_stream.html",
            name=name,
            body=Markup(body),
            summary=summarise(timeline),
            more=more if last < min(timeline.n_windows, MOST_SHOWN) else "",
            state=str(timeline.n_windows),
        )

    @app.get("/window")
    def window(stream: str, index: Annotated[int, Query(ge=0, lt=2**62)]) -> Response:
        body = render_report(read_result(history, stream, index))
        back = _address("/stream", name=stream)
        return render("view_window.html", name=stream, index=index, body=Markup(body), back=back)

    @app.get("/healthz")
    def healthz() -> Response:
        return PlainTextResponse("ok\n")

    return app


def _stream_row(timeline: Timeline) -> dict[str, Any]:
    zone, sentence = describe_state(timeline)
    return {
        "name": timeline.name,
        "address": _address("/stream", name=timeline.name),
        "zone": zone,
        "sentence": sentence,
        "spark": Markup(draw_sparkline(timeline.points, timeline.alarm_at)),
        "n_windows": timeline.n_windows,
    }


def _address(path: str, **query: Any) -> str:
    return f"{path}?{urlencode(query, errors='surrogatepass')}"


def _add_errors(app: FastAPI) -> None:
    """Answer what cannot be shown with a sentence."""

    @app.exception_handler(GapdriftError)
    def refuse(_: Request, error: Exception) -> Response:
        return render("message.html", 404, title="Not found", sentence=str(error))

    @app.exception_handler(RequestValidationError)
    def misread(_: Request, __: Exception) -> Response:
        sentence = "The address of this page is not valid. Follow a link from the start."
        return render("message.html", 400, title="No such page", sentence=sentence)

    @app.exception_handler(HTTPException)
    def missing(_: Request, error: Exception) -> Response:
        code = getattr(error, "status_code", 404)
        return render("message.html", code, title="No such page", sentence="There is nothing at this address.")
