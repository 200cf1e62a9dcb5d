"""What the commands print and write."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

import gapdrift as gd
from gapdrift._writing import write_file
from gapdrift.cli import ExitCode
from gapdrift.cli._print import say, styled
from gapdrift.cli._progress import progress

__all__ = ["show_demo", "show_file", "show_result"]

VERDICT_COLOURS = {True: "red", False: "green", None: "yellow"}


def show_result(result: gd.DriftResult, sources: tuple[str, str], options: dict[str, Any]) -> int:
    """Print a result and write the reports asked for; return the exit code."""
    # A file name that is not UTF-8 cannot be printed as it is.
    shown = [os.fsencode(name).decode(errors="replace") for name in sources]
    named = {"reference": shown[0], "window": shown[1]}
    made = datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
    written = []
    if options["html"]:
        result.to_html(options["html"], sources=named, made=made)
        written.append(options["html"])
    if options["markdown"]:
        write_file(options["markdown"], result.to_markdown())
        written.append(options["markdown"])
    if options["save"]:
        gd.save(result, options["save"])
        written.append(options["save"])
    if options["as_json"]:
        click.echo(json.dumps({**result.to_dict(), "sources": named}, indent=2, allow_nan=False))
    else:
        first, *rest = result.summary().splitlines()
        say(first, bold=True, fg=VERDICT_COLOURS[result.drift])
        say("\n".join([*rest, *(f"Written: {path}" for path in written)]))
    if result.drift and options["fail_on_drift"]:
        return ExitCode.DRIFT
    is_undetermined = result.drift is None and (options["fail_on_undetermined"] or not result.n_window)
    return ExitCode.UNDETERMINED if is_undetermined else ExitCode.DONE


def show_file(found: dict[str, Any]) -> str:
    """Description of a gapdrift file as text."""
    lines: list[str] = []
    for name, value in found.items():
        lines += _entry_lines(name.replace("_", " "), value, "")
    return "\n".join(lines)


def show_demo(windows: int, seed: int, html: str) -> None:
    """Print the table that compares ways to treat missing values, then one result, and write its report."""
    from gapdrift.cli.demo import SCENARIOS, run_demo  # noqa: PLC0415

    say(
        f"Weather readings, a fifth of the cells missing, 500 rows on each side. Alarms in {windows} windows, each "
        "against\na reference of its own, at a rate of false alarms of 5 %:\n"
    )
    widths = [max(len(name), 12) for name in SCENARIOS]
    say(" " * 33 + "  ".join(f"{name:>{width}}" for name, width in zip(SCENARIOS, widths, strict=True)))
    with progress("Testing", 7, steps=True) as advance:
        for line in run_demo(windows, seed):
            cells = [
                styled(f"{alarms:>{width - 6}}{'' if right else ' wrong':<6}", fg=None if right else "red")
                for alarms, right, width in zip(line.alarms, line.right, widths, strict=True)
            ]
            advance(1)
            click.echo(f"{line.method:33}" + "  ".join(cells))
    say("\nOne window in which humidity is off temperature, of 1,000 rows, in full:\n")
    detector = gd.DriftDetector(random_state=seed).fit(gd.datasets.stations(1_000, rng=seed))
    result = detector.test(gd.datasets.stations(1_000, rng=seed + 2, drift=True))
    first, *rest = result.summary().splitlines()
    say(first, bold=True, fg=VERDICT_COLOURS[result.drift])
    say("\n".join(rest))
    result.to_html(html, sources={"reference": "1,000 readings", "window": "1,000 readings, a sensor failed"})
    say(f"\nReport to open: {Path(html).resolve()}")


def _entry_lines(name: str, value: Any, indent: str) -> list[str]:
    """Lines of one entry: a single value beside its name, several values below it."""
    if isinstance(value, dict):
        inner = [line for key, each in value.items() for line in _entry_lines(str(key), each, indent + "  ")]
        return [f"{indent}{name}:", *inner]
    if name == "columns":
        return [f"{indent}{name}:", *(f"{indent}  {_column_text(each)}" for each in value)]
    if name == "warnings" and value:
        return [f"{indent}{name}:", *(f"{indent}  {each}" for each in value)]
    if isinstance(value, list | tuple):
        return [f"{indent}{name}: {', '.join(map(str, value)) or 'none'}"]
    return [f"{indent}{name}: {'none' if value is None else value}"]


def _column_text(record: dict[str, Any]) -> str:
    categories = f" with {record['categories']} categories" if record.get("categories") else ""
    missing = f", {record['missing']:.1%} missing" if record.get("missing") else ""
    return f"{record['name']}: {record['kind']}{categories}{missing}"
