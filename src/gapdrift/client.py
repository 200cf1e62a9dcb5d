"""Rows counted here, and their evidence pushed to a service: no row leaves this machine.

Needs nothing but the library itself.
"""

import json
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPException
from typing import Any

import numpy as np

from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.reference import ReferenceDetector
from gapdrift.errors import InputError, ParameterError, ServiceError
from gapdrift.storage import dumps, loads
from gapdrift.streaming.monitor import Monitor
from gapdrift.tables.frame import Table
from gapdrift.tables.times import as_datetime, times_of

__all__ = ["Client", "push"]

EVIDENCE = "application/vnd.gapdrift.evidence"
AGAIN = {429, 500, 502, 503, 504}
"""Answers after which a request is sent again."""

Part = tuple[Evidence, tuple[datetime, datetime] | None]


@dataclass
class Client:
    """A project of a service, to which rows or evidence are pushed.

    Parameters
    ----------
    url : str
        Address of the service, such as ``https://drift.example.org``.
    project : str
    token : str, optional
        API token of the project.
    timeout : float, default 30
        Seconds to wait for an answer.
    retries : int, default 5
        Number of further attempts where the service cannot be reached or is busy. A push that is sent again is taken
        once.
    backoff : float, default 0.2
        Seconds before the second attempt; doubled for each further one.

    Examples
    --------
    >>> client = Client("https://drift.example.org", "sales", token="gapdrift_...")
    >>> client.project
    'sales'
    """

    url: str
    project: str
    token: str = ""
    timeout: float = 30.0
    retries: int = 5
    backoff: float = 0.2

    def __post_init__(self) -> None:
        """Check the address."""
        parts = urllib.parse.urlsplit(self.url) if isinstance(self.url, str) else None
        if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ParameterError("url: expected an address that starts with http:// or https:// and names a host.")

    def monitor(self, name: str) -> dict[str, Any]:
        """Facts about a monitor: its settings, its position, the ``room`` that evidence may fill, its zone."""
        facts: dict[str, Any] = self._call("GET", f"/monitors/{name}")
        return facts

    def create_monitor(self, name: str, detector: ReferenceDetector, **settings: Any) -> dict[str, Any]:
        """Make a monitor from a fitted detector; the settings are those of `gapdrift.Monitor`, without ``adapt``."""
        query = {"name": name, **{key: value for key, value in settings.items() if value is not None}}
        path = f"/monitors?{urllib.parse.urlencode(query)}"
        facts: dict[str, Any] = self._call("POST", path, dumps(detector), "application/octet-stream")
        return facts

    def reference(self, name: str) -> ReferenceDetector:
        """Detector of a monitor's current reference, with which rows are counted."""
        version = self.monitor(name)["reference_version"]
        thing = loads(self._send("GET", f"/monitors/{name}/references/{version}", b"", "", {}))
        if not isinstance(thing, ReferenceDetector):
            raise ServiceError(f"{self.url} sent a {type(thing).__name__}, expected a fitted detector.")
        return thing

    def push(
        self,
        monitor: str,
        rows: Any,
        *,
        detector: ReferenceDetector | None = None,
        times: tuple[datetime, datetime] | None = None,
    ) -> list[dict[str, Any]]:
        """Windows that rows, or evidence of rows, complete in a monitor of the service.

        Parameters
        ----------
        monitor : str
        rows : table or Evidence
            Rows are counted here, in parts that fit into the monitor's windows; only evidence is sent.
        detector : ReferenceDetector, optional
            The monitor's current reference; without it, it is fetched.
        times : (datetime, datetime), optional
            For evidence, and windows of time: the times of its earliest and its latest row.
        """
        if isinstance(rows, Evidence):
            return self._push_part(monitor, rows, times)["windows"]  # type: ignore[no-any-return]
        counted_by = detector if detector is not None else self.reference(monitor)
        facts = self.monitor(monitor)
        if facts["settings"].get("key_column"):
            raise InputError(f"The monitor {monitor!r} has a key column and needs rows. Send a file with push_file.")
        table = Table.read(rows)
        if facts["settings"].get("time_column"):
            parts = _parts_by_time(table, counted_by, facts["settings"])
            return [window for part in parts for window in self._push_part(monitor, *part)["windows"]]
        return self._push_rows(monitor, table, counted_by, facts["room"])

    def push_file(self, monitor: str, data: bytes, content_type: str) -> list[dict[str, Any]]:
        """Windows that the rows of a CSV, Parquet, Arrow or JSON body complete; here the rows themselves are sent."""
        answer = self._call("POST", f"/monitors/{monitor}/push", data, content_type, {"Idempotency-Key": _new_key()})
        return answer["windows"]  # type: ignore[no-any-return]

    def _push_rows(self, monitor: str, table: Table, detector: ReferenceDetector, room: int) -> list[dict[str, Any]]:
        """Push rows in parts that fill the open pane; if another client was faster, the parts are cut anew."""
        found: list[dict[str, Any]] = []
        start = 0
        while start < table.n_rows:
            stop = min(start + room, table.n_rows)
            try:
                answer = self._push_part(monitor, detector.count(table.take(np.arange(start, stop))), None)
            except ServiceError as error:
                if error.code != 409:
                    raise
                room = self.monitor(monitor)["room"]
                continue
            found += answer["windows"]
            room, start = answer["room"], stop
        return found

    def _push_part(self, monitor: str, evidence: Evidence, times: tuple[datetime, datetime] | None) -> dict[str, Any]:
        query = (
            ""
            if times is None
            else "?" + urllib.parse.urlencode({"start": times[0].isoformat(), "end": times[1].isoformat()})
        )
        key = {"Idempotency-Key": _new_key()}
        answer: dict[str, Any] = self._call("POST", f"/monitors/{monitor}/push{query}", dumps(evidence), EVIDENCE, key)
        return answer

    def _call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        content_type: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        answer = self._send(method, path, body, content_type, headers or {})
        try:
            return json.loads(answer)
        except ValueError as error:
            raise ServiceError(f"{self.url} sent no JSON: is it a gapdrift service?") from error

    def _send(self, method: str, path: str, body: bytes, content_type: str, headers: Mapping[str, str]) -> bytes:
        """Answer of the service; it is asked again where that may help."""
        address = f"{self.url.rstrip('/')}/api/v1/projects/{urllib.parse.quote(self.project)}{path}"
        given = {**headers, **({"Content-Type": content_type} if content_type else {})}
        if self.token:
            given["Authorization"] = f"Bearer {self.token}"
        for attempt in range(self.retries + 1):
            request = urllib.request.Request(address, body or None, given, method=method)
            answer = self._try(request)
            if isinstance(answer, bytes):
                return answer
            if attempt == self.retries or (answer.code is not None and answer.code not in AGAIN):
                raise answer
            time.sleep(self.backoff * 2.0**attempt)
        raise AssertionError  # the last attempt returned or raised

    def _try(self, request: urllib.request.Request) -> bytes | ServiceError:
        host = urllib.parse.urlsplit(self.url).netloc
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            return ServiceError(f"{host} answered {error.code}: {_detail(error)}", error.code)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            return ServiceError(f"{host} could not be reached ({reason}).", None)
        except ValueError:
            return ServiceError("The address, the token or a header is not valid.", 400)


def push(
    rows: Any,
    url: str,
    project: str,
    monitor: str,
    *,
    token: str = "",
    detector: ReferenceDetector | None = None,
    times: tuple[datetime, datetime] | None = None,
) -> list[dict[str, Any]]:
    """Windows that rows, or evidence of rows, complete in a monitor of a service.

    Rows are counted here and never sent. See `Client` for several pushes.

    Parameters
    ----------
    rows : table or Evidence
    url, project, monitor : str
    token : str, optional
        API token of the project.
    detector : ReferenceDetector, optional
        The monitor's current reference; without it, it is fetched.
    times : (datetime, datetime), optional
        For evidence, and windows of time: the times of its earliest and its latest row.

    Examples
    --------
    >>> import gapdrift as gd
    >>> gd.client.push({}, "drift.example.org", "sales", "orders")
    Traceback (most recent call last):
        ...
    gapdrift.errors.ParameterError: url: expected an address that starts with http:// or https:// and names a host.
    """
    return Client(url, project, token).push(monitor, rows, detector=detector, times=times)


def _parts_by_time(table: Table, detector: ReferenceDetector, settings: Mapping[str, Any]) -> Iterator[Part]:
    """Evidence of the rows of each pane, with the times of its earliest and its latest row."""
    monitor = Monitor(detector, **settings)
    micros, untimed = times_of(table, settings["time_column"])
    if untimed.any():
        raise InputError(
            f"{int(untimed.sum())} row(s) have no time in {settings['time_column']!r}, expected one for each."
        )
    numbers = np.array([monitor.pane_at(as_datetime(int(moment))) for moment in micros], dtype=np.int64)
    rows = table.without([settings["time_column"]])
    for number in np.unique(numbers):
        places = np.flatnonzero(numbers == number)
        span = as_datetime(int(micros[places].min())), as_datetime(int(micros[places].max()))
        yield detector.count(rows.take(places)), span


def _new_key() -> str:
    return secrets.token_hex(16)


def _detail(error: urllib.error.HTTPError) -> str:
    """Sentence of the service about what was wrong."""
    try:
        return str(json.loads(error.read(100_000))["detail"])
    except (ValueError, KeyError, TypeError, OSError, HTTPException):
        return "no reason was given."
    finally:
        error.close()
