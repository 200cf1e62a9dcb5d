"""What ``gapdrift serve`` starts."""

from typing import Any

from gapdrift._text import install_hint
from gapdrift.cli._print import say
from gapdrift.errors import GapdriftError

__all__ = ["serve_history"]


def serve_history(database: str, options: dict[str, Any]) -> None:
    """Show a history in the browser until the command is stopped."""
    run, make_viewer = _import_service()
    run.check_loopback(options["host"], "a history is shown to everyone who can reach it")
    app = make_viewer(database)
    run.serve(app, options["host"], options["port"], lambda address: say(f"{database} at {address} (Ctrl+C stops)"))


def _import_service() -> tuple[Any, Any]:
    try:
        from gapdrift.service import run  # noqa: PLC0415
        from gapdrift.service.viewer import make_viewer  # noqa: PLC0415
    except ImportError as error:
        raise GapdriftError(
            f"'gapdrift serve' needs {error.name}, which is not installed: {install_hint('serve')}."
        ) from error
    return run, make_viewer
