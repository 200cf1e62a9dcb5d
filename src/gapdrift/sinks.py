"""Where the windows of a monitor are sent: JSON lines, Prometheus, a webhook.

A sink accepts one record at a time, or raises an error: a `SinkError` if it may accept the record later, a
`RefusedError` if it never will. Each record is sent at least once, and in order; a record that is sent again has the
same ``id``.
"""

import json
import os
import queue
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, Protocol, runtime_checkable

from gapdrift._validation import check_count, check_nonnegative
from gapdrift._writing import write_file
from gapdrift.errors import ParameterError, RefusedError, SinkError, StorageError
from gapdrift.streaming.windows import ZONES, WindowResult

__all__ = ["JsonLines", "PrometheusTextfile", "Sink", "Webhook", "make_record", "prometheus_text", "shorten_record"]

Record = Mapping[str, Any]
"""A window as plain values (`WindowResult.to_dict`), with its ``stream`` and an ``id``."""

ALARM_ZONES = ("warning", "drift")

GAUGES = {
    "p_value": ("p_value", "p-value of the verdict on the latest window."),
    "window_index": ("index", "Number of the latest window."),
    "window_rows": ("n_rows", "Rows of the latest window."),
    "rows_taken": ("decided_at", "Rows taken when the latest window was decided."),
}
"""Metrics for Prometheus: the entry of a record that each shows, and its description."""


REFUSALS = frozenset({400, 406, 409, 410, 413, 414, 415, 422, 431})
"""Answers that refuse the record itself: to send it again, now or later, would change nothing."""

HEAD = (
    *("id", "stream", "index", "zone", "drift", "p_value", "n_rows", "n_windows", "first_row", "last_row"),
    *("start", "end", "decided_at", "reference", "evidence"),
)
"""Entries that a record keeps, however short it has to be."""

MIN_RECORD_BYTES = 4096


@runtime_checkable
class Sink(Protocol):
    """Protocol of a receiver of records.

    Examples
    --------
    >>> class Screen:
    ...     name = "screen"
    ...
    ...     def emit(self, record):
    ...         print(record["id"], record["zone"])
    ...
    ...     def close(self):
    ...         pass
    >>> isinstance(Screen(), Sink)
    True
    """

    name: str
    """Must differ between the sinks of a run: a history remembers by name what was delivered."""

    def emit(self, record: Record) -> None:
        """Accept one record, or raise a `SinkError`; a `RefusedError` if it would be no use to try again.

        It is called from a thread of the sink's own.
        """
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


def make_record(window: WindowResult, stream: str) -> dict[str, Any]:
    """Record of a window: its `to_dict`, the name of its stream, and a unique id.

    Examples
    --------
    >>> make_record(WindowResult(7, "undetermined", None, 0), "sales")["id"]
    'sales/7'
    """
    return {"id": f"{stream}/{window.index}", "stream": stream, **window.to_dict()}


class JsonLines:
    r"""One line of JSON for each window, appended to a file or written to an open stream.

    Parameters
    ----------
    target : path or text stream
    name : str, default "jsonl"

    Examples
    --------
    >>> import io
    >>> stream = io.StringIO()
    >>> JsonLines(stream).emit({"id": "sales/7", "zone": "calm"})
    >>> stream.getvalue()
    '{"id": "sales/7", "zone": "calm"}\n'
    """

    def __init__(self, target: str | os.PathLike[str] | IO[str], *, name: str = "jsonl") -> None:
        self.name = name
        self._path = Path(target) if isinstance(target, str | os.PathLike) else None
        self._file: IO[str] | None = None if isinstance(target, str | os.PathLike) else target

    def emit(self, record: Record) -> None:
        """Write the record as one line."""
        line = json.dumps(dict(record), allow_nan=False) + "\n"
        try:
            file = self._open()
            file.write(line)
            file.flush()
        except (OSError, ValueError) as error:
            raise SinkError(f"{self.name}: the line could not be written ({error}).") from error

    def close(self) -> None:
        """Close the file if this sink opened it."""
        if self._path is not None and self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> IO[str]:
        if self._file is None:
            assert self._path is not None  # a stream came instead
            is_cut_off = _is_cut_off(self._path)
            self._file = self._path.open("a", encoding="utf-8")
            if is_cut_off:
                # A run that was killed may have left half a line, which the next line must not continue.
                self._file.write("\n")
        return self._file


def _is_cut_off(path: Path) -> bool:
    """Whether the last line of a file does not end with a line break."""
    if not path.is_file() or not path.stat().st_size:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


class PrometheusTextfile:
    """Metrics in Prometheus' text format, in a file for node_exporter's textfile collector.

    Parameters
    ----------
    path : path
        The file, which by convention ends in ``.prom``; it is replaced as a whole.
    name : str, default "prometheus"

    Notes
    -----
    Counters start from 0 with every new sink, which Prometheus recognises as a reset.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "gapdrift.prom"
    >>> PrometheusTextfile(path).emit(make_record(WindowResult(7, "drift", None, 500), "sales"))
    >>> 'gapdrift_windows_total{stream="sales",zone="drift"} 1' in path.read_text()
    True
    """

    def __init__(self, path: str | os.PathLike[str], *, name: str = "prometheus") -> None:
        self.name = name
        self._path = Path(path)
        self._latest: dict[str, Record] = {}
        self._totals: dict[tuple[str, str], int] = {}

    def emit(self, record: Record) -> None:
        """Count the record, and replace the file."""
        stream = str(record["stream"])
        latest, totals = self._latest | {stream: record}, dict(self._totals)
        for zone in ZONES:
            totals[stream, zone] = totals.get((stream, zone), 0) + (record["zone"] == zone) * int(record["n_windows"])
        try:
            write_file(self._path, prometheus_text(latest.values(), totals))
        except StorageError as error:
            raise SinkError(f"{self.name}: {error}") from error
        self._latest, self._totals = latest, totals

    def close(self) -> None:
        """Do nothing: the file stays."""


def prometheus_text(latest: Iterable[Record], totals: Mapping[tuple[str, str], int] | None = None) -> str:
    """Metrics of the latest window of each stream, in Prometheus' text format.

    Parameters
    ----------
    latest : iterable of record
    totals : mapping of (stream, zone) to int, optional
        Number of windows in each zone of each stream.

    Examples
    --------
    >>> print(prometheus_text([make_record(WindowResult(7, "calm", None, 500), "sales")]).splitlines()[2])
    gapdrift_p_value{stream="sales"} 1.0
    """
    records = list(latest)
    lines: list[str] = []
    for name, (key, help_text) in GAUGES.items():
        lines += _metric(name, "gauge", help_text, [(r["stream"], {}, r[key]) for r in records])
    zones = [(r["stream"], {"zone": zone}, int(r["zone"] == zone)) for r in records for zone in ZONES]
    lines += _metric("zone", "gauge", "1 for the zone of the latest window, 0 for the others.", zones)
    evidence: list[tuple[str, dict[str, str], Any]] = [
        (r["stream"], {}, r["evidence"]) for r in records if r.get("evidence") is not None
    ]
    lines += _metric("evidence", "gauge", "Accumulated evidence, in windows without drift until as much.", evidence)
    columns = [(r["stream"], column) for r in records for column in (r.get("result") or {}).get("features", ())]
    missing = [(stream, {"column": column["name"]}, column["missing_window"]) for stream, column in columns]
    lines += _metric("missing_ratio", "gauge", "Share of missing cells of a column in the latest window.", missing)
    decided = [(stream, {"zone": zone}, count) for (stream, zone), count in (totals or {}).items()]
    lines += _metric("windows_total", "counter", "Windows decided.", decided)
    return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, help_text: str, samples: list[tuple[str, dict[str, str], Any]]) -> list[str]:
    """Lines of one metric: its description, then a value for each stream and label; no lines without values."""
    head = [f"# HELP gapdrift_{name} {help_text}", f"# TYPE gapdrift_{name} {kind}"] if samples else []
    return head + [f"gapdrift_{name}{_labels({'stream': stream, **more})} {value}" for stream, more, value in samples]


def _labels(labels: Mapping[str, Any]) -> str:
    def escape(text: Any) -> str:
        return str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{name}="{escape(value)}"' for name, value in labels.items()) + "}"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Handler that follows no redirects: a redirected POST would become a GET without its body."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Webhook:
    """Webhook that gets a POST of JSON for each alarm, repeated if the failure may be temporary.

    Parameters
    ----------
    url : str
        http or https. Messages show only its host, since its path may hold a secret.
    timeout : float, default 10
        Seconds that one attempt may take, from the look-up of the host to the end of the answer's head.
    retries : int, default 3
        Number of further attempts after a failed connection, a timeout, or the answers 429 and 5xx.
    max_bytes : int, default 65536
        Largest size of what is sent. A longer record is shortened (`shorten_record`).
    backoff : float, default 0.5
        Seconds before the second attempt; doubled for each further one.
    zones : sequence of str, default ("warning", "drift")
        Zones whose windows are sent.
    headers : mapping of str to str, optional
        Further headers, such as an authorization.
    name : str, default "webhook"
    sleep : callable, default time.sleep

    Notes
    -----
    The header ``Idempotency-Key`` holds the id of the record, by which a receiver recognises one that is sent again.
    Redirects are not followed. An answer that refuses the record itself (400, 413, 422 and the like) raises a
    `gapdrift.errors.RefusedError`; one that refuses the sender or the address (401, 404, a redirect) may be mended from
    outside and raises a plain `SinkError`, so that the record waits.

    Examples
    --------
    >>> sink = Webhook("https://alarms.invalid/secret", retries=0)
    >>> sink.emit({"id": "sales/7", "zone": "calm"})  # calm windows are not sent
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 10.0,
        retries: int = 3,
        max_bytes: int = 65_536,
        backoff: float = 0.5,
        zones: Iterable[str] = ALARM_ZONES,
        headers: Mapping[str, str] | None = None,
        name: str = "webhook",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            parts = urllib.parse.urlsplit(url) if isinstance(url, str) else None
        except ValueError:
            parts = None
        if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ParameterError(
                "url of a webhook: expected an address that starts with http:// or https:// and names a host."
            )
        if not check_nonnegative("timeout", timeout) > 0:
            raise ParameterError(f"timeout is {timeout!r}, expected a number of seconds above 0.")
        unknown = sorted(set(zones) - set(ZONES))
        if unknown:
            raise ParameterError(f"zones names {', '.join(map(repr, unknown))}, expected some of {', '.join(ZONES)}.")
        self.name = name
        self._url, self._host = url, parts.hostname
        self._timeout, self._backoff = float(timeout), check_nonnegative("backoff", backoff)
        self._retries = check_count("retries", retries, 0) or 0
        self._max_bytes = check_count("max_bytes", max_bytes, MIN_RECORD_BYTES) or 0
        self._zones, self._headers, self._sleep = frozenset(zones), dict(headers or {}), sleep
        self._opener = urllib.request.build_opener(_NoRedirect)

    def emit(self, record: Record) -> None:
        """Send the record if its zone is among those asked for."""
        if record["zone"] not in self._zones:
            return
        body = json.dumps(shorten_record(record, self._max_bytes), allow_nan=False).encode()
        for attempt in range(self._retries + 1):
            answer = self._post_in_time(body, str(record["id"]))
            if not answer.problem:
                return
            if answer.is_final or attempt == self._retries:
                attempts = "1 attempt" if attempt == 0 else f"{attempt + 1} attempts"
                error = RefusedError if answer.is_refusal else SinkError
                raise error(f"{self.name}: {self._host} {answer.problem} ({attempts}).")
            self._sleep(self._backoff * 2.0**attempt)

    def close(self) -> None:
        """Do nothing: each record is sent over its own connection."""

    def _post_in_time(self, body: bytes, key: str) -> "_Answer":
        """Answer to one attempt. A server that sends a byte now and then is given no more time than a silent one."""
        answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        threading.Thread(target=lambda: answers.put(self._post(body, key)), daemon=True).start()
        try:
            return answers.get(timeout=self._timeout)
        except queue.Empty:
            return _Answer(f"gave no answer in {self._timeout:g} s")

    def _post(self, body: bytes, key: str) -> "_Answer":
        headers = {"Content-Type": "application/json", "Idempotency-Key": urllib.parse.quote(key), **self._headers}
        try:
            request = urllib.request.Request(self._url, body, headers, method="POST")
            with self._opener.open(request, timeout=self._timeout):
                return _Answer()
        except urllib.error.HTTPError as error:
            error.close()
            is_temporary = error.code == 429 or error.code >= 500
            return _Answer(f"answered {error.code}", not is_temporary, error.code in REFUSALS)
        except TimeoutError:
            return _Answer(f"gave no answer in {self._timeout:g} s")
        except urllib.error.URLError as error:
            reason = getattr(error.reason, "strerror", None) or type(error.reason).__name__
            return _Answer(f"could not be reached ({reason})")
        except (OSError, HTTPException) as error:
            return _Answer(f"broke the connection ({type(error).__name__})")
        except ValueError:
            # urllib refuses some addresses and headers; its own message would quote them.
            return _Answer("cannot be addressed: the url or a header is not valid", is_final=True)


@dataclass(frozen=True)
class _Answer:
    """What went wrong in one attempt, if anything; whether another is pointless; whether the record is to blame."""

    problem: str = ""
    is_final: bool = False
    is_refusal: bool = False


def shorten_record(record: Record, max_bytes: int) -> dict[str, Any]:
    """Record of at most so many bytes as JSON, without what can be done without.

    Parameters
    ----------
    record : record
    max_bytes : int

    Returns
    -------
    record : dict
        The same if it is short enough. Otherwise it has ``shortened`` = True, and its result lacks histograms and bins,
        then the columns that changed least (``n_columns`` says how many there were), then all columns and notes.

    Examples
    --------
    >>> columns = [{"name": f"c{n}", "adjusted_p_value": n / 999, "histogram": {}} for n in range(999)]
    >>> short = shorten_record({"id": "sales/7", "result": {"features": columns, "p_value": 0.01}}, 4096)
    >>> short["result"]["n_columns"], len(short["result"]["features"]), short["result"]["features"][0]["name"]
    (999, 62, 'c0')
    """
    plain = dict(record)
    if _n_bytes(plain) <= max_bytes:
        return plain
    result = plain.get("result") or {}
    features = sorted(result.get("features", ()), key=_smallest_p_value)
    bare = [{name: value for name, value in column.items() if name != "histogram"} for column in features]
    n_kept = len(bare)
    while n_kept:
        kept = {**result, "features": bare[:n_kept], "bins": [], "n_columns": len(bare)}
        short = {**plain, "shortened": True, "result": kept}
        if _n_bytes(short) <= max_bytes:
            return short
        n_kept //= 2
    return {name: plain.get(name) for name in HEAD} | {"shortened": True, "result": None}


def _smallest_p_value(column: Mapping[str, Any]) -> float:
    found = (column.get(name) for name in ("adjusted_p_value", "adjusted_missing_p_value"))
    return min((p_value for p_value in found if p_value is not None), default=1.0)


def _n_bytes(record: Record) -> int:
    return len(json.dumps(dict(record), allow_nan=False))
