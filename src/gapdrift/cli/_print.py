"""How the commands print: without anything that a terminal would obey, and with colour only where it is welcome."""

import logging
import os
from typing import Any

import click

from gapdrift._text import printable
from gapdrift.cli._progress import without_bar

__all__ = ["NoteHandler", "say", "styled"]


def say(text: str = "", *, file: Any = None, err: bool = False, **style: Any) -> None:
    """Print text, cleaned, in a style of `click.style`."""
    with without_bar():
        click.echo(styled(text, **style), file=file, err=err, color=None if has_colour() else False)


def styled(text: str, **style: Any) -> str:
    """Text, cleaned, in a style of `click.style` where colour is welcome."""
    clean = printable(text)
    return click.style(clean, **style) if style and has_colour() else clean


def has_colour() -> bool:
    """Whether colour is welcome: NO_COLOR is not set, and the terminal is not a plain one."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class NoteHandler(logging.Handler):
    """Handler that prints what is logged as a note on the error stream."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        say(f"Note: {record.getMessage()}", err=True)
