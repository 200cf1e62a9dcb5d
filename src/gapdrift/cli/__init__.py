"""The command line: arguments, progress, exit codes. Needs the extra ``cli``.

Exit codes: 0 done, 1 error, 3 drift (with ``--fail-on-drift``), 4 undetermined (with ``--fail-on-undetermined``, and
always if there were no rows to compare).
"""

import errno
import os
import sys
from enum import IntEnum
from typing import Any

from gapdrift._text import install_hint, printable
from gapdrift.errors import GapdriftError

__all__ = ["ExitCode", "main"]


class ExitCode(IntEnum):
    """Exit codes of the commands."""

    DONE = 0
    ERROR = 1
    DRIFT = 3
    """Only with ``--fail-on-drift``."""
    UNDETERMINED = 4
    """With ``--fail-on-undetermined``, and always if there were no rows to compare."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    try:
        from gapdrift.cli._app import app  # noqa: PLC0415
    except ImportError as error:
        if error.name not in {"click", "rich"}:
            raise
        sys.exit(_print_error(f"The command line needs {error.name}: {install_hint('cli')}."))
    except KeyboardInterrupt:
        sys.exit(_stop())
    sys.exit(_run(app, arguments))


def _run(app: Any, arguments: list[str] | None) -> int:
    """Exit code of the command; errors are printed as one sentence, without a traceback."""
    import click  # noqa: PLC0415

    try:
        return int(app.main(arguments, prog_name="gapdrift", standalone_mode=False) or ExitCode.DONE)
    except BrokenPipeError:
        # Nobody reads the output any more, as after `| head`: write nothing more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.ERROR
    except (click.Abort, KeyboardInterrupt):
        return _stop()
    except click.ClickException as error:
        return _print_error(_describe_misuse(error))
    except Exception as error:
        if os.environ.get("GAPDRIFT_DEBUG"):
            raise
        return _print_error(_describe_failure(error))


def _stop() -> int:
    # An interrupt that passed through the exec of a text, by which modules are imported that define dataclasses, makes
    # Python end by a bare signal, caught or not. It forgets that with the next text.
    exec("")
    return _print_error("Stopped.")


def _describe_misuse(error: Any) -> str:
    import click  # noqa: PLC0415

    hint = f"\nTry '{error.ctx.command_path} --help'." if isinstance(error, click.UsageError) and error.ctx else ""
    return str(error.format_message()) + hint


def _describe_failure(error: Exception) -> str:
    if isinstance(error, GapdriftError):
        return str(error)
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EIO, errno.EBADF}:
        return f"The output cannot be written: {error.strerror}."
    if isinstance(error, MemoryError):
        return "Out of memory. Use fewer columns (--ignore) or fewer reference rows (--reference-rows)."
    return (
        f"Unexpected {type(error).__name__}: {error}\nThis is a bug in gapdrift. Set GAPDRIFT_DEBUG=1 to see where "
        "it happened, and report it."
    )


def _print_error(message: str) -> int:
    sys.stderr.write(f"gapdrift: error: {printable(message)}\n")
    return ExitCode.ERROR
