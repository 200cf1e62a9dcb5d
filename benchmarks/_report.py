"""Bars, the table of them, and the exit code."""

import operator
import sys
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Bar", "finish", "finish_rows", "left_out", "say"]

_COMPARE = {">=": operator.ge, "<=": operator.le, "<": operator.lt}


@dataclass(frozen=True)
class Bar:
    """A figure and what it must reach."""

    name: str
    figure: float
    sign: str
    bound: float
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the figure is on the right side of the bound."""
        return bool(_COMPARE[self.sign](self.figure, self.bound))


def say(text: str) -> None:
    """Progress: on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text} ...", end="", file=sys.stderr, flush=True)


def left_out(what: str, reason: str) -> None:
    """Print that bars are left out, and why."""
    _clear()
    print(f"Left out: {what}. {reason}")


def finish(bars: Sequence[Bar]) -> None:
    """Print the table of bars; exit with 1 where one is missed."""
    _clear()
    width = max((len(bar.name) for bar in bars), default=0)
    for bar in bars:
        verdict = "ok    " if bar.reached else "MISSED"
        print(f"{verdict} {bar.name:<{width}}  {bar.figure:>9.3g} {bar.sign} {bar.bound:g}  {bar.note}")
    missed = sum(not bar.reached for bar in bars)
    print(f"{len(bars) - missed} of {len(bars)} bars reached")
    sys.exit(1 if missed else 0)


def finish_rows(header: Sequence[str], rows: Sequence[Sequence[str]], missed: int) -> None:
    """Print a table; exit with 1 where bars are missed."""
    widths = [max(len(str(row[index])) for row in (header, *rows)) for index in range(len(header))]
    for row in (header, *rows):
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"{missed} bar(s) missed")
    sys.exit(1 if missed else 0)


def _clear() -> None:
    """Remove the line of progress."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
