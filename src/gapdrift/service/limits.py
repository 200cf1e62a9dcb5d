"""Limits of what one client may send: size of requests, and how many in a time."""

import json
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gapdrift.service.errors import TooManyError

__all__ = ["LIMITS", "BodyLimit", "RateLimit"]

LIMITS = (("/references", 128 * 2**20), ("/monitors", 128 * 2**20), ("/push", 32 * 2**20), ("", 256 * 2**10))
"""Largest number of bytes of a request whose path ends so; the first that fits counts."""


class BodyLimit:
    """Application that refuses requests that are too large, before they are read."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = next(size for ending, size in LIMITS if scope["path"].endswith(ending))
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit() or len(declared) > 15 or int(declared) > limit:
            await _refuse(send, limit)
            return
        taken = 0

        async def receive_some() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:
                raise HTTPException(413, _words(limit))
            return message

        await self.app(scope, receive_some, send)


def _words(limit: int) -> str:
    return f"The request is too large, expected at most {limit:,} bytes. Send it in parts."


async def _refuse(send: Send, limit: int) -> None:
    words = json.dumps({"detail": _words(limit)})
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": words.encode()})


class RateLimit:
    """Bucket for each client that fills at a steady rate and is emptied by requests.

    Parameters
    ----------
    per_second : float
    burst : float
        Number of requests that may come at once.
    clock : callable

    Examples
    --------
    >>> limit = RateLimit(1.0, 2.0, clock=lambda: 0.0)
    >>> [limit.wait("a") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = per_second, burst, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def wait(self, client: str) -> float:
        """Seconds that a client has to wait; 0 if the request may be answered."""
        with self._lock:
            moment = self._clock()
            left, before = self._left.pop(client, (self._burst, moment))
            left = min(self._burst, left + (moment - before) * self._rate)
            missing = max(0.0, 1.0 - left)
            self._left[client] = (left if missing else left - 1.0, moment)
            while len(self._left) > 10_000:
                self._left.popitem(last=False)
        return missing / self._rate

    def check(self, client: str) -> None:
        """Raise a `TooManyError` where a client has to wait."""
        seconds = self.wait(client)
        if seconds:
            raise TooManyError(f"Too many requests. Try again in {max(1, round(seconds))} s.")
