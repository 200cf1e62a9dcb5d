"""Windows of streams in a database, with the position of each stream (extra ``history``).

One transaction writes the decided windows, the state of the monitor and its position. Whenever a run is stopped, the
next one continues with the first row that is not in the database.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gapdrift._locking import exclusive_file
from gapdrift._text import install_hint
from gapdrift.errors import GapdriftError, HistoryError, ParameterError
from gapdrift.files import FileChanges, KnownFile
from gapdrift.sinks import make_record
from gapdrift.streaming.monitor import Monitor
from gapdrift.streaming.windows import WindowResult

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["History", "StreamLog"]

TABLES_VERSION = 2
"""Version of the database tables."""

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9_+.-]*://")
"""How the address of a database begins; anything else is a path."""

LOCK_SECONDS = 60
"""How long SQLite waits for another process that writes."""

MAX_RECORDS = 200
"""Largest number of records that are read at once."""


class History:
    """Histories of streams in SQLite, PostgreSQL, or any other database that SQLAlchemy supports.

    Parameters
    ----------
    url : str or path
        Path of an SQLite file, or an address such as ``postgresql+psycopg://user@host/name``.
    create : bool, default True
        Whether a history that does not exist is made; False raises a `HistoryError` instead.

    Notes
    -----
    SQLite runs with a write-ahead log and ``synchronous=FULL``: a window that was written survives a power
    failure. The file must not be on a network file system. Of two runs on one stream at a time, one waits.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import gapdrift as gd
    >>> from gapdrift.history import History
    >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(1_000, rng=0))
    >>> history = History(pathlib.Path(tempfile.mkdtemp()) / "history.db")
    >>> monitor = gd.Monitor(detector, window=500)
    >>> log = history.begin(monitor, "sales")
    >>> log.write(monitor.advance(gd.datasets.stations(700, rng=1)))
    >>> again = gd.Monitor(detector, window=500)
    >>> history.begin(again, "sales").position
    700
    >>> [record["zone"] for record in history.windows("sales")]
    ['calm']
    >>> history.close()
    """

    def __init__(self, url: str | os.PathLike[str], *, create: bool = True) -> None:
        if not create:
            _check_exists(url)
        self._engine = _make_engine(url)
        self._tables = _define_tables()
        with self._translate_errors("opened"):
            if create:
                with self._alone("tables"), self._engine.begin() as connection:
                    self._tables["streams"].metadata.create_all(connection)
            else:
                self._check_tables()

    def begin(self, monitor: Monitor, stream: str = "default", sinks: Sequence[str] = ()) -> "StreamLog":
        """Log of a new stream, or of one that is continued: then the monitor is set to the position of the stream.

        Parameters
        ----------
        monitor : Monitor
            One that has taken no rows yet, with the detector and the settings that the stream was begun with.
        stream : str, default "default"
        sinks : sequence of str
            Names of sinks. A sink that is new to the stream receives the windows from now on.
        """
        if not isinstance(stream, str) or not 0 < len(stream) <= 200:
            raise ParameterError(f"stream is {stream!r}, expected a name of 1 to 200 characters.")
        if monitor.position:
            raise ParameterError(f"The monitor has taken {monitor.position} rows already, expected a fresh one.")
        log = StreamLog(self, monitor, stream)
        log._begin(sinks)
        return log

    @contextmanager
    def run(self, stream: str, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
        """Keep other runs from a stream while the block runs; if one is at work already, wait until it has ended.

        Parameters
        ----------
        stream : str
        on_wait : callable, optional
            Called once if another run is at work.

        Notes
        -----
        In databases other than SQLite and PostgreSQL, and in SQLite on Windows, nothing waits: the second run to write
        a stream fails.
        """
        with self._translate_errors("locked"), self._alone(f"stream {stream}", on_wait):
            yield

    @contextmanager
    def _alone(self, what: str, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
        url, dialect = self._engine.url, self._engine.dialect.name
        key = _digest(what.encode())
        if dialect == "postgresql":
            with _advisory_lock(self._engine, int(key[:15], 16), on_wait):
                yield
        elif dialect == "sqlite" and url.database and url.database != ":memory:":
            with exclusive_file(Path(f"{url.database}.{key[:8]}.lock"), on_wait):
                yield
        else:
            yield

    def streams(self) -> list[str]:
        """Names of the streams, sorted."""
        import sqlalchemy as sa  # noqa: PLC0415

        with self._translate_errors("read"), self._engine.connect() as connection:
            return sorted(connection.scalars(sa.select(self._tables["streams"].c.name)))

    def windows(self, stream: str = "default") -> Iterator[dict[str, Any]]:
        """Records of all windows of a stream, from the first to the last."""
        start = 0
        while True:
            found = self._records(stream, start, MAX_RECORDS)
            for index, record in found:
                yield _read_json(record)
                start = index + 1
            if len(found) < MAX_RECORDS:
                return

    def latest(self, stream: str = "default", limit: int = MAX_RECORDS) -> list[dict[str, Any]]:
        """Records of the last windows of a stream, at most ``limit`` of them, in their order."""
        import sqlalchemy as sa  # noqa: PLC0415

        table = self._tables["windows"]
        chosen = sa.select(table.c.record).where(table.c.stream == stream)
        query = chosen.order_by(table.c.window_index.desc()).limit(limit)
        with self._translate_errors("read"), self._engine.connect() as connection:
            records = [_read_json(record) for record in connection.scalars(query)]
        return records[::-1]

    def window(self, stream: str, index: int) -> dict[str, Any]:
        """Record of one window."""
        found: list[dict[str, Any]]
        found = [_read_json(record) for number, record in self._records(stream, index, 1) if number == index]
        if not found:
            raise HistoryError(
                f"The stream {stream!r} has no window {index}: it has {self.n_windows(stream):,} windows, from 0. "
                "Windows without rows share the record of the first of them."
            )
        return found[0]

    def n_windows(self, stream: str = "default") -> int:
        """Number of windows of a stream that were decided."""
        import sqlalchemy as sa  # noqa: PLC0415

        table = self._tables["windows"]
        query = sa.select(sa.func.max(table.c.window_index + table.c.n_windows)).where(table.c.stream == stream)
        with self._translate_errors("read"), self._engine.connect() as connection:
            return int(connection.scalar(query) or 0)

    def settings(self, stream: str = "default") -> dict[str, Any]:
        """Settings of the monitor that a stream was begun with."""
        import sqlalchemy as sa  # noqa: PLC0415

        table = self._tables["streams"]
        with self._translate_errors("read"), self._engine.connect() as connection:
            found = connection.scalar(sa.select(table.c.settings).where(table.c.name == stream))
        if found is None:
            raise HistoryError(f"The history has no stream {stream!r}; it has {', '.join(self.streams()) or 'none'}.")
        settings: dict[str, Any] = _read_json(found)
        return settings

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        """Return the history itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def _check_tables(self) -> None:
        """Raise a `HistoryError` where the database is not that of a history."""
        import sqlalchemy as sa  # noqa: PLC0415

        found = set(sa.inspect(self._engine).get_table_names())
        if not {table.name for table in self._tables.values()} <= found:
            where = self._engine.url.render_as_string(hide_password=True)
            raise HistoryError(f"{where} holds no history. Make one with 'gapdrift monitor --history'.")

    def _records(self, stream: str, start: int, limit: int) -> list[tuple[int, str]]:
        import sqlalchemy as sa  # noqa: PLC0415

        table = self._tables["windows"]
        index, chosen = table.c.window_index, (table.c.stream == stream) & (table.c.window_index >= start)
        query = sa.select(index, table.c.record).where(chosen).order_by(index).limit(limit)
        with self._translate_errors("read"), self._engine.connect() as connection:
            return [(index, record) for index, record in connection.execute(query)]

    @contextmanager
    def _translate_errors(self, verb: str) -> Iterator[None]:
        """Turn errors of the database into a `HistoryError`, which does not show the password."""
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            url = self._engine.url
            where = url.database if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)
            own = getattr(error, "strerror", None) or getattr(error, "orig", None) or type(error).__name__
            reason = str(own).strip().splitlines()[0]
            raise HistoryError(f"The history {where} cannot be {verb}: {reason}.") from error


class StreamLog:
    """One stream of a history, to which the windows of a monitor are written. Made by `History.begin`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import gapdrift as gd
    >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(300, rng=0))
    >>> monitor = gd.Monitor(detector, window=100)
    >>> with History(pathlib.Path(tempfile.mkdtemp()) / "alarms.db") as history:
    ...     log = history.begin(monitor, "sensors")
    ...     log.write(monitor.advance(gd.datasets.stations(250, rng=1)))
    ...     log.position, len(list(history.windows("sensors")))
    (250, 2)
    """

    def __init__(self, history: History, monitor: Monitor, stream: str) -> None:
        self._history, self._monitor, self._stream = history, monitor, stream
        self._version = 0
        self._written: dict[str, str] = {}

    @property
    def position(self) -> int:
        """Position of the first row that is not in the stream's history."""
        return self._monitor.position

    def write(self, windows: Sequence[WindowResult], files: FileChanges | None = None) -> None:
        """Write windows, state, position and what is known of files: all of them or nothing."""
        with self._history._translate_errors("written"), self._history._engine.begin() as connection:
            self._claim_version(connection)
            table = self._history._tables["windows"]
            rows = [_window_row(window, self._stream) for window in windows]
            if rows:
                connection.execute(table.insert(), rows)
            written = self._write_parts(connection, self._monitor.state())
            if files:
                self._write_files(connection, files)
        self._version += 1
        self._written = written

    def known_files(self) -> list[KnownFile]:
        """Files whose rows were counted, by number."""
        import sqlalchemy as sa  # noqa: PLC0415

        table = self._history._tables["files"]
        query = sa.select(table).where(table.c.stream == self._stream).order_by(table.c.number)
        with self._history._translate_errors("read"), self._history._engine.connect() as connection:
            rows = [dict(row) for row in connection.execute(query).mappings()]
        return [_known_file(row) for row in rows]

    def digests_of(self, number: int) -> NDArray[np.uint64]:
        """Digests of the rows of a known file, in their order."""
        import sqlalchemy as sa  # noqa: PLC0415

        table = self._history._tables["file_rows"]
        chosen = (table.c.stream == self._stream) & (table.c.number == number)
        query = sa.select(table.c.digests).where(chosen).order_by(table.c.first_row)
        with self._history._translate_errors("read"), self._history._engine.connect() as connection:
            stored = [bytes(data) for data in connection.scalars(query)]
        if any(len(data) % 8 for data in stored):
            raise HistoryError(f"The digests of file {number} cannot be read: the history is damaged.")
        parts = [np.frombuffer(data, "<u8") for data in stored]
        return np.concatenate(parts) if parts else np.empty(0, np.uint64)

    def pending(self, sink: str) -> list[tuple[int, dict[str, Any]]]:
        """Index and record of the windows that a sink has not received, a few hundred at most."""
        import sqlalchemy as sa  # noqa: PLC0415

        table = self._history._tables["sinks"]
        query = sa.select(table.c.next_index).where((table.c.stream == self._stream) & (table.c.sink == sink))
        with self._history._translate_errors("read"), self._history._engine.connect() as connection:
            start = connection.scalar(query)
        records = self._history._records(self._stream, start or 0, MAX_RECORDS)
        return [(index, _read_json(record)) for index, record in records]

    def delivered(self, sink: str, index: int) -> None:
        """Remember that a sink has received all windows up to this one."""
        table = self._history._tables["sinks"]
        chosen = (table.c.stream == self._stream) & (table.c.sink == sink)
        with self._history._translate_errors("written"), self._history._engine.begin() as connection:
            connection.execute(table.update().where(chosen).values(next_index=index + 1))

    def park(self, sink: str, index: int, reason: str) -> None:
        """Remember that a sink refused a window for good, and that all windows before it are settled."""
        tables = self._history._tables
        chosen = (tables["sinks"].c.stream == self._stream) & (tables["sinks"].c.sink == sink)
        row = {"stream": self._stream, "sink": sink, "window_index": index, "reason": reason}
        with self._history._translate_errors("written"), self._history._engine.begin() as connection:
            connection.execute(tables["parked"].insert(), row)
            connection.execute(tables["sinks"].update().where(chosen).values(next_index=index + 1))

    def _begin(self, sinks: Sequence[str]) -> None:
        import sqlalchemy as sa  # noqa: PLC0415

        tables, monitor = self._history._tables, self._monitor
        with self._history._translate_errors("written"), self._history._engine.begin() as connection:
            streams = tables["streams"]
            found = connection.execute(sa.select(streams).where(streams.c.name == self._stream)).mappings().first()
            if found is None:
                facts = {"version": 0, "position": 0, "format": TABLES_VERSION, "fingerprint": monitor.fingerprint}
                connection.execute(streams.insert(), {"name": self._stream, "settings": _settings(monitor), **facts})
            else:
                self._check(dict(found))
                self._version = found["version"]
                self._restore(connection)
            known = set(
                connection.scalars(sa.select(tables["sinks"].c.sink).where(tables["sinks"].c.stream == self._stream))
            )
            fresh = [
                {"stream": self._stream, "sink": name, "next_index": monitor.index}
                for name in sinks
                if name not in known
            ]
            if fresh:
                connection.execute(tables["sinks"].insert(), fresh)

    def _check(self, found: Mapping[str, Any]) -> None:
        """Raise an error if the stream was begun with another detector, other settings or another version."""
        if found["format"] != TABLES_VERSION:
            raise HistoryError(
                f"The stream {self._stream!r} was written in the format {found['format']}, expected {TABLES_VERSION}: "
                "another version of gapdrift wrote it. Use that version, or begin another stream."
            )
        if found["fingerprint"] != self._monitor.fingerprint:
            raise HistoryError(
                f"The stream {self._stream!r} was begun with the detector {found['fingerprint']}, got "
                f"{self._monitor.fingerprint}. Use the same saved detector, or begin another stream."
            )
        before, now = _read_json(found["settings"]), json.loads(_settings(self._monitor))
        changed = [
            f"{name} {before.get(name)!r}, now {now.get(name)!r}"
            for name in sorted({*before, *now})
            if before.get(name) != now.get(name)
        ]
        if changed:
            raise HistoryError(
                f"The stream {self._stream!r} was begun with other settings: {'; '.join(changed)}. Use the same, or "
                "begin another stream."
            )

    def _restore(self, connection: "Connection") -> None:
        import sqlalchemy as sa  # noqa: PLC0415

        table = self._history._tables["parts"]
        rows = connection.execute(sa.select(table.c.name, table.c.data).where(table.c.stream == self._stream))
        parts = {name: bytes(data) for name, data in rows}
        if parts:
            self._monitor.restore(parts)
        self._written = {name: _digest(data) for name, data in parts.items()}

    def _claim_version(self, connection: "Connection") -> None:
        """Claim the next version of the stream; raise an error if another run has claimed it."""
        table = self._history._tables["streams"]
        chosen = (table.c.name == self._stream) & (table.c.version == self._version)
        values = {"version": self._version + 1, "position": self._monitor.position}
        if connection.execute(table.update().where(chosen).values(**values)).rowcount != 1:
            raise HistoryError(
                f"Another run has written the stream {self._stream!r} meanwhile; nothing was written. Let one run at a "
                "time write a stream, and start this one again to continue."
            )

    def _write_files(self, connection: "Connection", changes: FileChanges) -> None:
        files, rows = self._history._tables["files"], self._history._tables["file_rows"]
        for table, numbers in ((files, {*changes.files, *changes.dropped}), (rows, changes.without_rows)):
            if numbers:
                chosen = (table.c.stream == self._stream) & table.c.number.in_(sorted(numbers))
                connection.execute(table.delete().where(chosen))
        if changes.files:
            fresh = [asdict(known) | {"stream": self._stream} for known in changes.files.values()]
            connection.execute(files.insert(), fresh)
        for number, first_row, digests in changes.digests:
            data = digests.astype("<u8").tobytes()
            values = {"stream": self._stream, "number": number, "first_row": first_row, "digests": data}
            connection.execute(rows.insert(), values)

    def _write_parts(self, connection: "Connection", parts: Mapping[str, bytes]) -> dict[str, str]:
        """Update the stored parts of the state; return their digests."""
        table = self._history._tables["parts"]
        unchanging = {name: self._written[name] for name in parts if name in self._written and name.endswith("closed")}
        digests = {name: unchanging.get(name) or _digest(data) for name, data in parts.items()}
        stale = [name for name, digest in self._written.items() if digests.get(name) != digest]
        if stale:
            connection.execute(table.delete().where((table.c.stream == self._stream) & table.c.name.in_(stale)))
        fresh = [name for name, digest in digests.items() if self._written.get(name) != digest]
        if fresh:
            connection.execute(
                table.insert(), [{"stream": self._stream, "name": name, "data": parts[name]} for name in fresh]
            )
        return digests


@contextmanager
def _advisory_lock(engine: "Engine", key: int, on_wait: Callable[[], None] | None) -> Iterator[None]:
    """Hold a lock of PostgreSQL, which ends with its connection."""
    import sqlalchemy as sa  # noqa: PLC0415

    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not connection.scalar(sa.select(sa.func.pg_try_advisory_lock(key))):
            if on_wait is not None:
                on_wait()
            connection.execute(sa.select(sa.func.pg_advisory_lock(key)))
        try:
            yield
        finally:
            connection.execute(sa.select(sa.func.pg_advisory_unlock(key)))


def _check_exists(url: Any) -> None:
    """Raise a `HistoryError` where an SQLite file does not exist: to open it would make an empty one."""
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else ""
    if text and not ADDRESS.match(text) and not Path(text).is_file():
        raise HistoryError(f"There is no history {text!r}. Make one with 'gapdrift monitor --history'.")


def _make_engine(url: Any) -> "Engine":
    try:
        import sqlalchemy as sa  # noqa: PLC0415
    except ImportError as error:
        raise GapdriftError(f"A history needs SQLAlchemy: {install_hint('history')}.") from error
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else ""
    if not text:
        raise ParameterError(f"url is {url!r}, expected the path of an SQLite file or the address of a database.")
    is_address = isinstance(url, str) and ADDRESS.match(text)
    try:
        # A path goes in as it is: as part of an address, a question mark or a percent sign in it would mean something.
        path = os.path.abspath(text)  # noqa: PTH100
        address = sa.make_url(text) if is_address else sa.URL.create("sqlite", database=path)
        waiting = {"timeout": LOCK_SECONDS} if address.get_backend_name() == "sqlite" else {}
        engine = sa.create_engine(address, connect_args=waiting)
    except ImportError as error:
        raise HistoryError(f"The driver for this database is not installed: {error}. Install it with pip.") from error
    except sa.exc.ArgumentError as error:
        raise ParameterError(
            "url is neither a path nor an address such as postgresql+psycopg://user@host/name."
        ) from error
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _make_durable)
    return engine


def _make_durable(connection: Any, _record: Any) -> None:
    # With a write-ahead log a commit waits for the disk once; with a rollback journal it waits four times.
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _define_tables() -> dict[str, Any]:
    import sqlalchemy as sa  # noqa: PLC0415

    metadata = sa.MetaData()
    row, name = sa.BigInteger, sa.String(200)
    return {
        "streams": sa.Table(
            "gapdrift_streams",
            metadata,
            sa.Column("name", name, primary_key=True),
            sa.Column("format", sa.Integer, nullable=False),
            sa.Column("version", row, nullable=False),
            sa.Column("position", row, nullable=False),
            sa.Column("fingerprint", name, nullable=False),
            sa.Column("settings", sa.Text, nullable=False),
        ),
        "windows": sa.Table(
            "gapdrift_windows",
            metadata,
            sa.Column("stream", name, primary_key=True),
            sa.Column("window_index", row, primary_key=True, autoincrement=False),
            sa.Column("n_windows", row, nullable=False),
            sa.Column("zone", sa.String(20), nullable=False),
            sa.Column("p_value", sa.Double, nullable=False),
            sa.Column("drift", sa.Boolean),
            sa.Column("n_rows", row, nullable=False),
            sa.Column("first_row", row),
            sa.Column("last_row", row),
            sa.Column("window_start", sa.String(40)),
            sa.Column("window_end", sa.String(40)),
            sa.Column("decided_at", row, nullable=False),
            sa.Column("late_rows", row, nullable=False),
            sa.Column("duplicate_rows", row, nullable=False),
            sa.Column("untimed_rows", row, nullable=False),
            sa.Column("adapted", sa.Boolean, nullable=False),
            sa.Column("record", sa.Text, nullable=False),
        ),
        "parts": sa.Table(
            "gapdrift_parts",
            metadata,
            sa.Column("stream", name, primary_key=True),
            sa.Column("name", name, primary_key=True),
            sa.Column("data", sa.LargeBinary, nullable=False),
        ),
        "files": sa.Table(
            "gapdrift_files",
            metadata,
            sa.Column("stream", name, primary_key=True),
            sa.Column("number", row, primary_key=True, autoincrement=False),
            sa.Column("path", sa.Text, nullable=False),
            sa.Column("size", row, nullable=False),
            sa.Column("modified", row, nullable=False),
            sa.Column("inode", row, nullable=False),
            sa.Column("fingerprint", sa.String(64), nullable=False),
            sa.Column("n_bytes", row, nullable=False),
            sa.Column("content", sa.String(64), nullable=False),
            sa.Column("n_rows", row, nullable=False),
            sa.Column("is_complete", sa.Boolean, nullable=False),
            sa.Column("is_present", sa.Boolean, nullable=False),
            sa.Column("replaces", row),
        ),
        "file_rows": sa.Table(
            "gapdrift_file_rows",
            metadata,
            sa.Column("stream", name, primary_key=True),
            sa.Column("number", row, primary_key=True, autoincrement=False),
            sa.Column("first_row", row, primary_key=True, autoincrement=False),
            sa.Column("digests", sa.LargeBinary, nullable=False),
        ),
        "sinks": sa.Table(
            "gapdrift_sinks",
            metadata,
            sa.Column("stream", name, primary_key=True),
            sa.Column("sink", name, primary_key=True),
            sa.Column("next_index", row, nullable=False),
        ),
        "parked": sa.Table(
            "gapdrift_parked",
            metadata,
            sa.Column("stream", name, primary_key=True),
            sa.Column("sink", name, primary_key=True),
            sa.Column("window_index", row, primary_key=True, autoincrement=False),
            sa.Column("reason", sa.Text, nullable=False),
        ),
    }


def _window_row(window: WindowResult, stream: str) -> dict[str, Any]:
    record = make_record(window, stream)
    same = ("n_windows", "zone", "p_value", "drift", "n_rows", "first_row", "last_row", "decided_at", "adapted")
    skipped = ("late_rows", "duplicate_rows", "untimed_rows")
    return {name: record[name] for name in (*same, *skipped)} | {
        "stream": stream,
        "window_index": window.index,
        "window_start": record["start"],
        "window_end": record["end"],
        "record": json.dumps(record, allow_nan=False),
    }


def _read_json(text: Any) -> dict[str, Any]:
    """Record or settings of a history; what is none raises a `HistoryError`."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError) as error:
        raise HistoryError(f"A record cannot be read ({error}): the history is damaged.") from error
    if not isinstance(found, dict):
        raise HistoryError(f"A record is a {type(found).__name__}, expected an object: the history is damaged.")
    return found


def _known_file(row: Mapping[str, Any]) -> KnownFile:
    texts, numbers = ("path", "fingerprint", "content"), ("number", "size", "modified", "inode", "n_bytes", "n_rows")
    if not all(isinstance(row[name], str) for name in texts) or not all(isinstance(row[name], int) for name in numbers):
        raise HistoryError(f"File {row['number']!r} cannot be read: the history is damaged.")
    return KnownFile(**{name: value for name, value in row.items() if name != "stream"})


def _settings(monitor: Monitor) -> str:
    return json.dumps(monitor.settings, sort_keys=True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
