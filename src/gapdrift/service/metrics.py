"""Metrics of the service in Prometheus' text format."""

from collections import Counter
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from gapdrift._version import __version__
from gapdrift.service.schema import alarms, deliveries, monitors, projects, sinks
from gapdrift.streaming.windows import ZONES

__all__ = ["Counters", "render_metrics"]

Sample = tuple[dict[str, str], float]


class Counters:
    """Numbers of requests and pushes since the service was started."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._rows: Counter[str] = Counter()

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._requests[route, method, str(status)] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]

    def count_rows(self, kind: str, n_rows: int) -> None:
        """Count rows that were pushed."""
        with self._lock:
            self._rows[kind] += n_rows

    def samples(self) -> dict[str, tuple[str, str, list[Sample]]]:
        """Kind, description and samples of each metric."""
        with self._lock:
            requests = [({"route": r, "method": m, "status": s}, float(n)) for (r, m, s), n in self._requests.items()]
            seconds = [({"route": route}, float(total)) for route, total in self._seconds.items()]
            rows = [({"kind": kind}, float(n)) for kind, n in self._rows.items()]
        return {
            "requests_total": ("counter", "Requests answered.", requests),
            "request_seconds_total": ("counter", "Time taken to answer requests.", seconds),
            "pushed_rows_total": ("counter", "Rows pushed, as rows or as evidence.", rows),
        }


def render_metrics(
    connection: Connection, counters: Counters | None, project_ids: Iterable[int] | None, waiting: int
) -> str:
    """Metrics of some projects, or of all and of the service itself.

    Parameters
    ----------
    connection : Connection
    counters : Counters or None
        None leaves those of the service out.
    project_ids : iterable of int or None
        None means all.
    waiting : int
        Number of jobs that wait to be written.
    """
    metrics = _monitor_metrics(connection, None if project_ids is None else list(project_ids))
    if counters is not None:
        metrics |= counters.samples()
        metrics["waiting_jobs"] = ("gauge", "Jobs that wait to be written.", [({}, float(waiting))])
        metrics["info"] = ("gauge", "Version of the service.", [({"version": __version__}, 1.0)])
    lines = [line for name, (kind, words, samples) in metrics.items() for line in _lines(name, kind, words, samples)]
    return "\n".join(lines) + "\n"


def _monitor_metrics(connection: Connection, ids: list[int] | None) -> dict[str, tuple[str, str, list[Sample]]]:
    query = sa.select(projects.c.slug, monitors).join_from(monitors, projects)
    open_alarms = (
        sa.select(projects.c.slug, sa.func.count()).join_from(alarms, projects).where(alarms.c.state == "open")
    )
    waiting = (
        sa.select(projects.c.slug, deliveries.c.state, sa.func.count())
        .join_from(deliveries, sinks)
        .join(projects, projects.c.id == sinks.c.project_id)
        .where(deliveries.c.state != "sent")
    )
    slugs = sa.select(projects.c.slug)
    if ids is not None:
        slugs = slugs.where(projects.c.id.in_(ids))
        query, open_alarms, waiting = (q.where(projects.c.id.in_(ids)) for q in (query, open_alarms, waiting))
    own = sorted(connection.scalars(slugs))
    opened = {row[0]: row[1] for row in connection.execute(open_alarms.group_by(projects.c.slug))}
    counted = connection.execute(waiting.group_by(projects.c.slug, deliveries.c.state))
    undelivered = {(slug, state): n for slug, state, n in counted}
    rows = list(connection.execute(query).mappings())
    labels = [{"project": row["slug"], "monitor": row["name"]} for row in rows]
    pairs = list(zip(labels, rows, strict=True))
    gauge = "gauge"
    return {
        "p_value": (
            gauge,
            "p-value of the latest window.",
            [(at, row["p_value"]) for at, row in pairs if row["p_value"]],
        ),
        "zone": (
            gauge,
            "1 for the zone of the latest window, 0 for the others.",
            [({**at, "zone": zone}, float(row["zone"] == zone)) for at, row in pairs for zone in ZONES],
        ),
        "windows_total": ("counter", "Windows decided.", [(at, float(row["n_windows"])) for at, row in pairs]),
        "rows_total": ("counter", "Rows taken.", [(at, float(row["position"])) for at, row in pairs]),
        "last_window_timestamp_seconds": (
            gauge,
            "When the latest window was decided.",
            [(at, row["decided"] / 1e6) for at, row in pairs if row["decided"]],
        ),
        "open_alarms": (
            gauge,
            "Alarms that nobody has handled.",
            [({"project": slug}, float(opened.get(slug, 0))) for slug in own],
        ),
        "undelivered": (
            gauge,
            "Messages about alarms that were not delivered yet, or failed.",
            [
                ({"project": slug, "state": state}, float(undelivered.get((slug, state), 0)))
                for slug in own
                for state in ("pending", "failed")
            ],
        ),
    }


def _lines(name: str, kind: str, words: str, samples: list[Sample]) -> list[str]:
    full = f"gapdrift_service_{name}"
    head = [f"# HELP {full} {words}", f"# TYPE {full} {kind}"]
    return head + [f"{full}{_labels(labels)} {value:.17g}" for labels, value in samples]


def _labels(labels: Mapping[str, Any]) -> str:
    def escape(text: Any) -> str:
        return str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{name}="{escape(value)}"' for name, value in labels.items()) + "}" if labels else ""
