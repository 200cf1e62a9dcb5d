"""What ``gapdrift serve`` starts."""

import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

from gapdrift._text import install_hint
from gapdrift.cli._print import say
from gapdrift.errors import GapdriftError, ParameterError

__all__ = ["serve_history", "serve_monitors"]

DATA = "gapdrift-service.db"

LOCAL = ("localhost", "127.0.0.1", "[::1]")


def serve_history(database: str, options: dict[str, Any]) -> None:
    """Show a history in the browser until the command is stopped."""
    run = _import_service()
    from gapdrift.service.viewer import make_viewer  # noqa: PLC0415

    run.check_loopback(options["host"], "a history is shown to everyone who can reach it")
    app = make_viewer(database)
    run.serve(app, options["host"], options["port"], lambda address: say(f"{database} at {address} (Ctrl+C stops)"))


def serve_monitors(options: dict[str, Any]) -> None:
    """Run the service until the command is stopped."""
    if options["demo"] and options["data"] is None:
        with tempfile.TemporaryDirectory() as folder:
            _serve_monitors({**options, "data": str(Path(folder) / "demo.db")})
    else:
        _serve_monitors({**options, "data": options["data"] or DATA})


def _serve_monitors(options: dict[str, Any]) -> None:
    run = _import_service()
    from gapdrift.service.app import JsonFormatter, make_app  # noqa: PLC0415
    from gapdrift.service.state import Options  # noqa: PLC0415

    is_open = options["no_auth"] or options["demo"]
    if is_open:
        run.check_loopback(options["host"], "nobody has to sign in")
    if options["demo"] and Path(options["data"]).exists():
        raise ParameterError(f"--demo fills a new database, but {options['data']} exists. Name another with --data.")
    hosts = (*LOCAL, *options["allow_host"]) if is_open or options["allow_host"] else ("*",)
    app = make_app(
        Options(options["data"], auth=not is_open, hosts=hosts, private_sinks=options["private_sinks"] or is_open)
    )
    if options["log"] == "json":
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(JsonFormatter())
        logger = logging.getLogger("gapdrift.service")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    if options["demo"]:
        from gapdrift.service.demo import fill  # noqa: PLC0415

        app.state.after_start = fill
    secret = None if is_open else app.state.service.welcome()

    def announce(address: str) -> None:
        say(f"gapdrift at {address} (Ctrl+C stops)")
        if secret is not None:
            say(f"Nobody has a password yet. Set that of the first admin, once, at {address}welcome?link={secret}")

    proxy = {"proxy_headers": True, "forwarded_allow_ips": "127.0.0.1,::1"} if options["behind_proxy"] else {}
    run.serve(app, options["host"], options["port"], announce, **proxy)


def _import_service() -> Any:
    try:
        from gapdrift.service import app, run  # noqa: F401, PLC0415
    except ImportError as error:
        raise GapdriftError(
            f"'gapdrift serve' needs {error.name}, which is not installed: {install_hint('serve')}."
        ) from error
    return run
