"""The service under load: large histories, many pushes, kills, random requests, bombs, installed size.

- `pages`: a monitor with 100,000 windows of 30 columns; median time of every page and call on SQLite and, where its
  binaries are found, PostgreSQL; growth of memory over 10,000 requests.
- `pushes`: evidence of 500 rows of 5 columns from 16 clients to four monitors, as fast as they can.
- `kill`: SIGKILL of the server 50 times while four clients push; every acknowledged push is there once, and the windows
  are those of an undisturbed run.
- `fuzz`: 5,000 requests drawn from the description of the interface.
- `bombs`: bodies that would become large; peak memory of the server.
- `size`: installed size of `gapdrift[serve]` above `gapdrift[cli]`.

Run `python -m benchmarks.service`, or `--only kill`. Times are those of the machine it runs on: on a busy one compare
`CPU` figures only.
"""

import argparse
import importlib.metadata
import io
import multiprocessing
import os
import random
import re
import resource
import signal
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

import gapdrift as gd
from benchmarks._report import Bar, finish, left_out, say
from benchmarks._requests import draw_requests
from gapdrift.counting.evidence import Evidence
from gapdrift.persistence.codec import pack_plain
from gapdrift.service.access import add_user, begin_session, create_token
from gapdrift.service.app import make_app
from gapdrift.service.database import Database, now
from gapdrift.service.guards import COOKIE
from gapdrift.service.monitors import create_monitor, create_project
from gapdrift.service.packing import pack_columns, pack_record
from gapdrift.service.schema import alarms, evidence, monitors, pushes, windows
from gapdrift.service.state import Options
from gapdrift.service.windows import TESTS
from gapdrift.sinks import make_record
from gapdrift.storage import dumps

COLUMNS, ROWS = 30, 500
CLIENTS = 16
DATABASES = ("SQLite", "PostgreSQL")
EVIDENCE = "application/vnd.gapdrift.evidence"
API = "api/v1/projects/own/monitors"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--windows", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--on", choices=DATABASES, help="pages on one database")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chosen = [options.only] if options.only else list(PARTS)
    finish([bar for name in chosen for bar in PARTS[name](options)])


def fitted(columns: int, seed: int = 0) -> gd.DriftDetector:
    """Detector of correlated columns, a tenth of their cells missing."""
    return gd.DriftDetector(random_state=0).fit(table(2_000, columns, seed))


def table(rows: int, columns: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    values = 0.5 * rng.normal(size=(rows, 1)) + rng.normal(size=(rows, columns))
    values[rng.random(values.shape) < 0.1] = np.nan
    return {f"c{place}": values[:, place] for place in range(columns)}


@contextmanager
def server(url: str, listener: socket.socket | None = None) -> Iterator[tuple[str, int]]:
    """Address and process of a server in a process of its own."""
    own = listener or listen()
    process = start(url, own)
    try:
        yield f"http://127.0.0.1:{own.getsockname()[1]}/", process.pid or 0
    finally:
        process.terminate()
        process.join()
        own.close()


def listen() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(512)
    return listener


def start(url: str, listener: socket.socket) -> Any:
    process = multiprocessing.get_context("fork").Process(target=run, args=(url, listener))
    process.start()
    return process


def run(url: str, listener: socket.socket) -> None:
    """Serve until a signal comes."""
    app = make_app(Options(url, requests_per_second=1e9))
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])


def prepare(url: str, detector: gd.DriftDetector, settings: list[dict[str, Any]]) -> tuple[str, list[int]]:
    """Token of a project with monitors m0, m1, ..., and their ids."""
    database = Database(url)
    database.migrate()
    data = dumps(detector)
    with database.write() as connection:
        project = create_project(connection, "own", "Own", "benchmark")
        token = create_token(connection, project, "benchmark", "editor", "benchmark")[1]
        ids = [create_monitor(connection, project, f"m{n}", data, own, "benchmark") for n, own in enumerate(settings)]
    database.close()
    return token, ids


def call(address: str, token: str = "", body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    """Status and content of an answer."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    given |= {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(address, body, given)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def rss_mib(pid: int, what: str = "VmRSS") -> float:
    found = re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# Pages and calls on a large history.


def measure_pages(options: argparse.Namespace) -> list[Bar]:
    bars = []
    chosen = [options.on] if options.on else DATABASES
    if "SQLite" in chosen:
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            bars += pages_on(str(Path(folder) / "large.db"), "SQLite", options)
    if "PostgreSQL" not in chosen:
        return bars
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        try:
            with postgres(Path(folder)) as url:
                bars += pages_on(url, "PostgreSQL", options)
        except FileNotFoundError:
            left_out("PostgreSQL", "Its binaries are not on this machine.")
    return bars


def pages_on(url: str, name: str, options: argparse.Namespace) -> list[Bar]:
    say(f"{name}: filling {options.windows:,} windows")
    detector = fitted(COLUMNS)
    _, (monitor,) = prepare(url, detector, [{"window": ROWS, "false_alarm_every": 1_000.0}])
    fill(url, monitor, detector, options.windows)
    cookie = sign_in(url)
    places = every_place(options.windows)
    with server(url) as (address, pid):
        times, cpu = {}, {}
        for what, place in places.items():
            say(f"{name}: {what}")
            times[what], cpu[what] = time_of(address + place, cookie, pid)
        say(f"{name}: {options.requests:,} requests")
        # What takes longer is asked a tenth as often.
        quick = [place for what, place in places.items() if cpu[what] < 0.02]
        asked = [*quick * 10, *(place for what, place in places.items() if cpu[what] >= 0.02)]
        for place in asked[::-1] + asked:
            call(address + place, Cookie=cookie)
        before = rss_mib(pid)
        for number in range(options.requests):
            call(address + asked[number % len(asked)], Cookie=cookie)
        growth = rss_mib(pid) - before
    bars = [
        Bar(f"{name}: {what}, median ms", 1e3 * times[what], "<", 200, f"CPU {1e3 * cpu[what]:.0f} ms")
        for what in places
    ]
    note = f"{before:.0f} MiB before {options.requests:,} requests"
    return [*bars, Bar(f"{name}: growth of memory, MiB", growth, "<", 16, note)]


def sign_in(url: str) -> str:
    """Cookie of an admin of the service."""
    database = Database(url)
    with database.write() as connection:
        secret = begin_session(connection, add_user(connection, "ada", operator=True))
    database.close()
    return f"{COOKIE}={secret}"


def every_place(count: int) -> dict[str, str]:
    """Address of every page and of every call that reads, for a monitor with so many windows."""
    last, half = count - 1, count // 2
    base, own = "projects/own/monitors/m0", f"{API}/m0"
    pages = {
        "overview": "",
        "admin": "admin",
        "project": "projects/own",
        "new monitor": "projects/own/new",
        "settings": "projects/own/settings",
        "audit": "projects/own/audit",
        "alarms": "projects/own/alarms",
        "monitor": base,
        "monitor, halfway back": f"{base}?before={half}",
        "window": f"{base}/windows/{last}",
        "column": f"{base}/column?name=c3",
        "two spans": f"{base}/compare?before_from=0&before_to={half}&after_from={half}&after_to={last}",
        "references": f"{base}/references",
    }
    calls = {
        "projects": "api/v1/projects",
        "monitors": API,
        "one monitor": own,
        "references": f"{own}/references",
        "reference": f"{own}/references/1",
        "windows": f"{own}/windows?limit=100&before={half}",
        "drift windows": f"{own}/windows?limit=100&zone=drift",
        "window": f"{own}/windows/{last}",
        "report": f"{own}/windows/{last}/report",
        "span of everything": f"{own}/span",
        "span of a third": f"{own}/span?from={last // 3}&to={2 * last // 3}",
        "two spans": f"{own}/compare?before_from=0&before_to={half}&from={half}&to={last}",
        "mutes": f"{own}/mutes",
        **{name: f"api/v1/projects/own/{name}" for name in ("alarms", "audit", "members", "sinks", "tokens")},
        "comments": "api/v1/projects/own/alarms/1/comments",
        "metrics": "metrics",
    }
    return {f"page: {what}": place for what, place in pages.items()} | {
        f"call: {what}": place for what, place in calls.items()
    }


def time_of(address: str, cookie: str, pid: int, repeats: int = 15) -> tuple[float, float]:
    """Median time of an answer, and the server's mean CPU time for it."""
    times = []
    call(address, Cookie=cookie)
    cpu = cpu_seconds(pid)
    for _ in range(repeats):
        begun = time.perf_counter()
        status, content = call(address, Cookie=cookie)
        times.append(time.perf_counter() - begun)
        assert status == 200, (address, status, content[:200])
    return statistics.median(times), (cpu_seconds(pid) - cpu) / repeats


def fill(url: str, monitor: int, detector: gd.DriftDetector, count: int) -> None:
    """Windows of a monitor written straight into the tables, as the service would have left them."""
    calm = next(iter(gd.Monitor(detector, ROWS).advance(table(ROWS, COLUMNS, 1))))
    record = make_record(calm, "m0")
    from gapdrift.overview.points import point_of  # noqa: PLC0415

    point, packed = point_of(record), pack_record(record)
    columns = pack_columns(point)
    counted = detector.count(table(ROWS, COLUMNS, 1))
    database, moment = Database(url), now()
    with database.write() as connection:
        for start_ in range(0, count, 2_000):
            rows = [
                window_row(monitor, number, point, columns, packed, moment, count)
                for number in range(start_, min(start_ + 2_000, count))
            ]
            connection.execute(windows.insert(), rows)
            raised = [alarm_row(monitor, row["number"], moment) for row in rows if row["zone"] == "drift"]
            if raised:
                connection.execute(alarms.insert(), raised)
        for level in range(6):
            size = 10**level
            blob = pack_plain(scaled(counted, size))
            blocks = range(max(0, count // size - 1_010), count // size)
            facts = {
                "monitor_id": monitor,
                "origin": counted.origin,
                "level": level,
                "n_rows": ROWS * size,
                "data": blob,
            }
            if blocks:
                connection.execute(evidence.insert(), [{**facts, "block": block} for block in blocks])
        values = {"n_windows": count, "position": ROWS * count, "zone": "calm", "p_value": 0.5, "decided": moment}
        connection.execute(monitors.update().where(monitors.c.id == monitor).values(**values))
    database.close()


def window_row(
    monitor: int, number: int, point: Any, columns: bytes, record: bytes, moment: int, count: int
) -> dict[str, Any]:
    drifts = number % 50 == 49
    same = ("n_windows", "p_value", "n_rows", "adapted", *TESTS)
    return {name: getattr(point, name) for name in same} | {
        "monitor_id": monitor,
        "number": number,
        "zone": "drift" if drifts else "calm",
        "first_row": ROWS * number,
        "last_row": ROWS * (number + 1) - 1,
        "starts": None,
        "ends": None,
        "decided": moment + number,
        "reference_id": 1,
        "first_pane": number,
        "last_pane": number,
        "columns": columns,
        "record": record if drifts or number >= count - 1_000 else None,
    }


def alarm_row(monitor: int, number: int, moment: int) -> dict[str, Any]:
    facts = {
        "project_id": 1,
        "monitor_id": monitor,
        "number": number,
        "zone": "drift",
        "p_value": 1e-6,
        "columns": '["c3"]',
    }
    return {**facts, "state": "open", "raised": moment, "handled_by": "", "handled": None}


def scaled(one: Evidence, factor: int) -> Evidence:
    """Evidence of the same rows so many times."""
    return replace(one, n_rows=one.n_rows * factor, sums={name: array * factor for name, array in one.sums.items()})


# Pushes.


def measure_pushes(options: argparse.Namespace) -> list[Bar]:
    """Pushes into windows that stay open, and pushes that each decide a window, which is a test of the detector."""
    often = {"false_alarm_every": 1_000.0}
    total, errors, stored, seconds, cpu = push_into({"window": "1h", "time_column": "when", **often}, options.seconds)
    each = 1e3 * cpu / max(total, 1)
    note = f"{total:,} pushes, {each:.1f} ms CPU each: room for {1e3 / each:.0f} a second"
    say("pushes that decide a window")
    decided, failed, kept, _, spent = push_into({"window": ROWS, **often}, options.seconds)
    whole = f"{decided:,} pushes that each decide a window take {1e3 * spent / max(decided, 1):.1f} ms CPU each"
    return [
        Bar("pushes a second", total / seconds, ">=", 200, note),
        Bar("errors", errors + failed, "<=", 0, whole),
        Bar("pushes lost or twice", abs(stored - total) + abs(kept - decided), "<=", 0),
    ]


def push_into(settings: dict[str, Any], seconds: float) -> tuple[int, int, int, float, float]:
    """Numbers of pushes acknowledged, refused and stored, the time they took, and the CPU time of the server."""
    detector = fitted(5)
    span = "?start=2026-01-01T00:00:00&end=2026-01-01T00:30:00" if "time_column" in settings else ""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        url = str(Path(folder) / "pushes.db")
        token, _ = prepare(url, detector, [settings] * 4)
        bodies = [dumps(detector.count(table(ROWS, 5, seed))) for seed in range(4)]
        with server(url) as (address, pid):
            call(f"{address}{API}", token)
            cpu, begun = cpu_seconds(pid), time.perf_counter()
            with multiprocessing.get_context("fork").Pool(CLIENTS) as pool:
                work = [(address, token, n, span, bodies[n % 4], seconds) for n in range(CLIENTS)]
                done = pool.starmap(push_for, work)
            taken, cpu = time.perf_counter() - begun, cpu_seconds(pid) - cpu
        database = Database(url)
        with database.read() as connection:
            stored = count_rows(connection)
        database.close()
    return sum(good for good, _ in done), sum(bad for _, bad in done), stored, taken, cpu


def count_rows(connection: Any) -> int:
    import sqlalchemy as sa  # noqa: PLC0415

    return int(connection.scalar(sa.select(sa.func.count()).select_from(pushes)))


def push_for(address: str, token: str, client: int, span: str, body: bytes, seconds: float) -> tuple[int, int]:
    """Numbers of pushes that were acknowledged, and that were not, over one kept connection."""
    import http.client  # noqa: PLC0415

    host = address.removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    path = f"/{API}/m{client % 4}/push{span}"
    good = bad = 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": EVIDENCE,
            "Idempotency-Key": f"{client}-{good}-{bad}",
        }
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        answer.read()
        good, bad = (good + 1, bad) if answer.status == 200 else (good, bad + 1)
    connection.close()
    return good, bad


# Kills.


def measure_kills(options: argparse.Namespace) -> list[Bar]:
    detector, rng = fitted(3), random.Random(options.seed)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        url = str(Path(folder) / "kills.db")
        settings = {"window": 50, "false_alarm_every": 1_000.0}
        token, ids = prepare(url, detector, [settings] * 5)
        listener = listen()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        context = multiprocessing.get_context("fork")
        stop, taken = context.Event(), context.Value("q", 0)
        with context.Pool(4, init_worker, (stop, taken)) as pool:
            work = pool.starmap_async(push_until, [(address, token, n) for n in range(4)])
            for number in range(options.kills):
                say(f"kill {number + 1} of {options.kills}")
                process = start(url, listener)
                wanted = taken.value + rng.randint(4, 24)
                while taken.value < wanted:
                    time.sleep(0.005)
                time.sleep(rng.uniform(0.0, 0.1))
                os.kill(process.pid, signal.SIGKILL)
                process.join()
            process = start(url, listener)
            stop.set()
            acknowledged = work.get()
            process.terminate()
            process.join()
        listener.close()
        return check_kills(url, detector, ids, acknowledged, options.kills)


def init_worker(stop: Any, taken: Any) -> None:
    global STOP, TAKEN
    STOP, TAKEN = stop, taken


STOP: Any = None
TAKEN: Any = None


def push_until(address: str, token: str, client: int) -> int:
    """Number of pushes that were acknowledged until the end; each is sent, with its key, until it is."""
    detector, number = fitted(3), 0
    while not STOP.is_set():
        own = dumps(detector.count(table(50, 3, 10_000 * (client + 1) + number)))
        shared = dumps(detector.count(table(10, 3, number)))
        for monitor, body in ((f"m{client}", own), ("m4", shared)):
            push_surely(f"{address}{API}/{monitor}/push", token, body, f"{client}-{number}")
            with TAKEN.get_lock():
                TAKEN.value += 1
        number += 1
    return number


def push_surely(address: str, token: str, body: bytes, key: str) -> None:
    while True:
        try:
            status, content = call(address, token, body, Content_Type=EVIDENCE, Idempotency_Key=key)
        except (OSError, ValueError) as error:
            if not isinstance(error, OSError):
                raise
            time.sleep(0.02)
            continue
        except Exception as error:
            if type(error).__module__ != "http.client":
                raise
            time.sleep(0.02)
            continue
        if status == 200:
            return
        assert status == 503, (status, content)


def check_kills(url: str, detector: gd.DriftDetector, ids: list[int], acknowledged: list[int], kills: int) -> list[Bar]:
    """Compare what is in the database with an undisturbed run."""
    database = Database(url)
    wrong_windows = wrong_pushes = 0
    with database.read() as connection:
        for client, count in enumerate(acknowledged):
            found = connection.execute(windows.select().where(windows.c.monitor_id == ids[client])).mappings()
            rows = {row["number"]: row["p_value"] for row in found}
            monitor = gd.Monitor(detector, 50)
            for number in range(count):
                counted = detector.count(table(50, 3, 10_000 * (client + 1) + number))
                (window,) = monitor.advance_evidence(counted)
                wrong_windows += abs(rows.pop(number, -1.0) - window.p_value) > 1e-12
            wrong_windows += len(rows)
        keys = connection.execute(pushes.select().where(pushes.c.monitor_id == ids[4])).mappings()
        stored = {row["key"] for row in keys}
        expected = {f"{client}-{number}" for client, count in enumerate(acknowledged) for number in range(count)}
        wrong_pushes = len(expected ^ stored)
        position = connection.scalar(
            monitors.select().with_only_columns(monitors.c.position).where(monitors.c.id == ids[4])
        )
    database.close()
    total = sum(acknowledged)
    return [
        Bar("pushes acknowledged per kill", 2 * total / kills, ">=", 4, "fewer would show nothing"),
        Bar(
            "windows that are not those of an undisturbed run",
            wrong_windows,
            "<=",
            0,
            f"{total:,} windows, {kills} kills",
        ),
        Bar(
            "acknowledged pushes lost, or others there",
            wrong_pushes,
            "<=",
            0,
            f"{total:,} pushes of four clients to one",
        ),
        Bar("rows lost or twice", abs(int(position or 0) - 10 * total), "<=", 0, f"{10 * total:,} rows"),
    ]


# Random requests, bombs, size.


def measure_fuzz(options: argparse.Namespace) -> list[Bar]:
    from fastapi.testclient import TestClient  # noqa: PLC0415

    detector, worst, traces, count = fitted(3), 0, 0, 5_000
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        url = str(Path(folder) / "fuzz.db")
        prepare(url, detector, [{"window": 50, "false_alarm_every": 1_000.0}])
        app = make_app(Options(url, auth=False, requests_per_second=1e9))
        with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
            csrf = app.state.service.open_csrf
            schema = client.get("/api/openapi.json").json()
            for number, (_, method, path, more) in enumerate(draw_requests(schema, count, options.seed)):
                if number % 100 == 0:
                    say(f"request {number:,} of {count:,}")
                headers = {**more.pop("headers", {}), "x-csrf-token": csrf}
                place = path.replace("monitors/orders", "monitors/m0")
                answer = client.request(method, place, headers=headers, follow_redirects=False, **more)
                worst = max(worst, answer.status_code)
                traces += "Traceback" in answer.text
    return [
        Bar("largest status of an answer", worst, "<", 500, f"{count:,} requests, seed {options.seed}"),
        Bar("answers with a traceback", traces, "<=", 0),
    ]


def measure_bombs(_: argparse.Namespace) -> list[Bar]:
    detector = fitted(3)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        url = str(Path(folder) / "bombs.db")
        token, _ids = prepare(url, detector, [{"window": 50, "false_alarm_every": 1_000.0}])
        with server(url) as (address, pid):
            call(f"{address}{API}/m0", token)
            accepted = 0
            for name, kind, body in bombs():
                say(name)
                status, _content = call(f"{address}{API}/m0/push", token, body, Content_Type=kind)
                accepted += status not in {413, 422}
            peak = rss_mib(pid, "VmHWM")
    return [Bar("bombs accepted", accepted, "<=", 0), Bar("peak memory of the server, MiB", peak, "<", 512)]


def bombs() -> Iterator[tuple[str, str, bytes]]:
    """Bodies that are small and would become large."""
    import zipfile  # noqa: PLC0415

    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b" " * 2**30)
    yield "zip bomb", EVIDENCE, sink.getvalue()
    sink = io.BytesIO()
    zeros = pa.table({f"c{n}": pa.array(np.zeros(20_000_000, dtype=np.int8)) for n in range(3)})
    pq.write_table(zeros, sink, compression="zstd")
    yield "Parquet bomb", "application/vnd.apache.parquet", sink.getvalue()
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, zeros.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(zeros)
    yield "Arrow bomb", "application/vnd.apache.arrow.stream", sink.getvalue()
    nulls = pa.table({"c0": pa.nulls(2**31 - 1)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, nulls.schema) as writer:
        writer.write_table(nulls)
    yield "a column of nulls without bytes", "application/vnd.apache.arrow.stream", sink.getvalue()
    yield "deep JSON", "application/json", b"[" * 8_000_000
    yield "wide JSON", "application/json", b'[{"c0":1},' + b'{"c0":1},' * 900_000 + b"3]"
    yield "one long line", "text/csv", b"c0,c1,c2\n" + b"1" * 31_000_000


def measure_size(_: argparse.Namespace) -> list[Bar]:
    sizes = {extra: installed_mb(extra) for extra in ("cli", "serve")}
    note = f"{sizes['serve']:.0f} MB with serve, {sizes['cli']:.0f} MB with cli"
    return [Bar("gapdrift[serve] above gapdrift[cli], MB", sizes["serve"] - sizes["cli"], "<=", 60, note)]


def installed_mb(extra: str) -> float:
    """Size of all distributions that an extra of this project needs, as they are installed here."""
    import tomllib  # noqa: PLC0415

    facts = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    waiting = [*facts["dependencies"], *facts["optional-dependencies"][extra]]
    seen: dict[str, float] = {}
    while waiting:
        text = waiting.pop()
        name = re.split(r"[ ;<>=!~\[(]", text)[0].lower().replace("_", "-")
        if "extra ==" in text or name in seen or is_for_others(text):
            continue
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            seen[name] = 0.0
            continue
        places = [Path(str(found.locate_file(path))) for path in found.files or ()]
        seen[name] = sum(place.stat().st_size for place in places if place.is_file()) / 1e6
        waiting += found.requires or []
    return sum(seen.values())


def is_for_others(requirement: str) -> bool:
    """Whether a requirement is for other systems or other versions of Python."""
    from packaging.requirements import Requirement  # noqa: PLC0415

    marker = Requirement(requirement).marker
    return marker is not None and not marker.evaluate({"extra": ""})


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Address of a PostgreSQL server of this benchmark's own."""
    import shutil  # noqa: PLC0415

    found = shutil.which("initdb") or next(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None)
    if found is None or (os.geteuid() == 0 and shutil.which("setpriv") is None):
        raise FileNotFoundError("initdb")
    binaries, user = Path(found).resolve().parent, []
    if os.geteuid() == 0:
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        shutil.chown(folder, "nobody")
    data = folder / "data"

    def do(*command: Any) -> None:
        subprocess.run([*user, *map(str, command)], check=True, capture_output=True, cwd=folder)

    do(binaries / "initdb", "-D", data, "-U", "gapdrift", "--auth=trust", "--no-sync", "-E", "UTF8")
    do(
        binaries / "pg_ctl",
        "-D",
        data,
        "-o",
        f"-k {folder} -c listen_addresses=''",
        "-l",
        folder / "log",
        "-w",
        "start",
    )
    try:
        yield f"postgresql+psycopg://gapdrift@/postgres?host={folder}"
    finally:
        do(binaries / "pg_ctl", "-D", data, "-m", "immediate", "stop")


PARTS: dict[str, Callable[[argparse.Namespace], list[Bar]]] = {
    "size": measure_size,
    "fuzz": measure_fuzz,
    "bombs": measure_bombs,
    "pushes": measure_pushes,
    "kill": measure_kills,
    "pages": measure_pages,
}

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
