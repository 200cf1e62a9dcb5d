"""Applications served by uvicorn on one process."""

import contextlib
import ipaddress
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from gapdrift.errors import ParameterError

__all__ = ["check_loopback", "is_loopback", "serve"]


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_loopback(host: str, why: str) -> None:
    """Raise a `ParameterError` where an address can be reached from other machines."""
    if not is_loopback(host):
        raise ParameterError(
            f"--host is {host!r}, but {why}, so that only this machine may reach it: expected 127.0.0.1, ::1 or "
            "localhost."
        )


def serve(app: Any, host: str, port: int, on_start: Callable[[str], None] = lambda _: None, **options: Any) -> None:
    """Serve an application until a signal asks to stop; requests that have begun are answered first.

    Parameters
    ----------
    app : ASGI application
    host : str
    port : int
        0 means any free one.
    on_start : callable
        Called with the address of the application before the first request.
    **options
        Settings of `uvicorn.Config`.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1_024)
    except OSError as error:
        listener.close()
        raise ParameterError(
            f"The address {host}:{port} cannot be used: {error.strerror or error}. Choose another --port or --host."
        ) from error
    shown = f"[{host}]" if ":" in host else host
    on_start(f"http://{shown}:{listener.getsockname()[1]}/")
    usual = {"log_level": "warning", "timeout_graceful_shutdown": 20, "server_header": False, "proxy_headers": False}
    settings: dict[str, Any] = usual | options
    with contextlib.suppress(KeyboardInterrupt):  # raised again by uvicorn once it has shut down: Ctrl+C is no error
        uvicorn.Server(uvicorn.Config(app, **settings)).run(sockets=[listener])
