"""Delivery of windows to sinks, beside the stream: a slow sink costs the stream nothing."""

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol

from gapdrift.errors import RefusedError, SinkError
from gapdrift.sinks import Sink, make_record
from gapdrift.streaming.windows import WindowResult

__all__ = ["Delivery", "MemoryOutbox", "Outbox"]

REMEMBER_SECONDS = 1.0
"""How often it is remembered, at most, which windows a sink has received: a run that is killed sends the last again."""

logger = logging.getLogger("gapdrift")


class Outbox(Protocol):
    """Windows that wait to be sent to the sinks, kept by a history or in memory."""

    def pending(self, sink: str) -> list[tuple[int, dict[str, Any]]]:
        """Index and record of the windows that a sink has not received."""
        ...

    def delivered(self, sink: str, index: int) -> None:
        """Remember that a sink has received all windows up to this one."""
        ...

    def park(self, sink: str, index: int, reason: str, /) -> None:
        """Remember that a sink refused a window for good, and that all windows before it are settled."""
        ...


class MemoryOutbox:
    """Outbox of a run without a history."""

    def __init__(self, stream: str, sinks: Sequence[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._waiting: dict[str, list[tuple[int, dict[str, Any]]]] = {name: [] for name in sinks}

    def write(self, windows: Sequence[WindowResult], _files: object = None) -> None:
        """Keep windows until all sinks have received them."""
        records = [(window.index, make_record(window, self._stream)) for window in windows]
        with self._lock:
            for waiting in self._waiting.values():
                waiting.extend(records)

    def pending(self, sink: str) -> list[tuple[int, dict[str, Any]]]:
        """Index and record of the windows that a sink has not received."""
        with self._lock:
            return list(self._waiting[sink])

    def delivered(self, sink: str, index: int) -> None:
        """Forget the windows that a sink has received."""
        with self._lock:
            self._waiting[sink] = [(place, record) for place, record in self._waiting[sink] if place > index]

    def park(self, sink: str, index: int, _reason: str) -> None:
        """Forget a window that a sink refused, and those before it."""
        self.delivered(sink, index)


class Delivery:
    """Threads that send windows to sinks, one for each sink, in the order of the windows.

    Parameters
    ----------
    sinks : sequence of Sink
        Each is used, and in the end closed, by its own thread only.
    outbox : Outbox

    Attributes
    ----------
    undelivered : dict of str to str
        Sinks that did not get all windows, with the last reason.
    parked : dict of str to list of str
        Sinks that refused windows for good, with the reasons.
    """

    def __init__(self, sinks: Sequence[Sink], outbox: Outbox) -> None:
        self._outbox = outbox
        self._news = threading.Condition()
        self._n_news, self._ended = 1, False
        self.undelivered: dict[str, str] = {}
        self.parked: dict[str, list[str]] = {}
        self._threads = [
            threading.Thread(target=self._serve, args=(sink,), name=f"gapdrift-{sink.name}", daemon=True)
            for sink in sinks
        ]
        for thread in self._threads:
            thread.start()

    def announce(self) -> None:
        """Say that windows have been added to the outbox."""
        with self._news:
            self._n_news += 1
            self._news.notify_all()

    def finish(self) -> None:
        """Wait until each sink has received its windows or, trying once more since the last of them, has failed."""
        with self._news:
            self._ended = True
            self._news.notify_all()
        for thread in self._threads:
            thread.join()

    def _serve(self, sink: Sink) -> None:
        n_heard = 0
        try:
            while (n_announced := self._wait_for_news(n_heard)) is not None:
                n_heard = n_announced
                self._send_pending(sink)
        finally:
            sink.close()

    def _wait_for_news(self, n_heard: int) -> int | None:
        """How often windows were announced, once it is more often than was heard; None at the end."""
        with self._news:
            self._news.wait_for(lambda: self._n_news > n_heard or self._ended)
            return self._n_news if self._n_news > n_heard else None

    def _send_pending(self, sink: Sink) -> None:
        """Send a sink all windows that it has not received, in order, up to the first one that fails."""
        try:
            while waiting := self._outbox.pending(sink.name):
                self._send(sink, waiting)
        # A sink may be the user's own, and whatever goes wrong in it must not cost a window.
        except Exception as error:
            logger.warning("%s Its windows wait for the next try.", error)
            self.undelivered[sink.name] = str(error)
        else:
            self.undelivered.pop(sink.name, None)

    def _send(self, sink: Sink, waiting: list[tuple[int, dict[str, Any]]]) -> None:
        last, remembered = None, time.monotonic()
        try:
            for index, record in waiting:
                try:
                    sink.emit(record)
                except RefusedError as error:
                    self._park(sink.name, index, error)
                except Exception as error:
                    raise SinkError(f"Sink {sink.name!r} failed at window {index}: {error}") from error
                last = index
                if time.monotonic() - remembered > REMEMBER_SECONDS:
                    self._outbox.delivered(sink.name, last)
                    remembered = time.monotonic()
        finally:
            if last is not None:
                self._outbox.delivered(sink.name, last)

    def _park(self, sink: str, index: int, error: RefusedError) -> None:
        reason = f"Sink {sink!r} refused window {index}: {error}"
        logger.warning("%s It is parked.", reason)
        self._outbox.park(sink, index, str(error))
        self.parked.setdefault(sink, []).append(reason)
