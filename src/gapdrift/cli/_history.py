"""What ``gapdrift history`` prints and writes."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from gapdrift._writing import write_file
from gapdrift.cli._print import say
from gapdrift.errors import InputError
from gapdrift.history import History
from gapdrift.overview.page import render_history
from gapdrift.overview.points import Timeline
from gapdrift.overview.reading import choose_reports, read_records, read_result
from gapdrift.overview.words import describe_state, list_windows, summarise
from gapdrift.results.result import DriftResult

__all__ = ["show_history"]

STATE_COLOURS = {"calm": "green", "warning": "yellow", "drift": "red", "undetermined": "yellow"}

PRINTED = 30
"""Number of windows that are printed of each stream."""


def show_history(url: str, options: dict[str, Any]) -> None:
    """Print a history as a table or as JSON, and write the page asked for."""
    with History(url, create=False) as history:
        streams = [options["stream_name"]] if options["stream_name"] else history.streams()
        if not streams:
            say("The history has no stream yet.")
            return
        for stream in streams:
            history.settings(stream)  # an unknown name is refused before anything is printed
        if options["window"] is not None:
            _show_window(history, streams, options)
        elif options["as_json"]:
            for stream in streams:
                for record in history.windows(stream):
                    click.echo(json.dumps(record, allow_nan=False))
        else:
            _show_streams(history, url, streams, options)


def _show_window(history: History, streams: list[str], options: dict[str, Any]) -> None:
    """Print one window, and write its report."""
    if len(streams) > 1:
        raise InputError(f"The history has the streams {', '.join(streams)}. Choose one with --stream-name.")
    result = read_result(history, streams[0], options["window"])
    if options["as_json"]:
        click.echo(result.to_json(indent=2))
    else:
        say(result.summary())
    if options["html"]:
        sources = {"stream": streams[0], "window": str(options["window"])}
        result.to_html(options["html"], title=f"{streams[0]}, window {options['window']}", sources=sources)
        say(f"Written: {options['html']}", err=options["as_json"])


def _show_streams(history: History, url: str, streams: list[str], options: dict[str, Any]) -> None:
    timelines: list[Timeline] = []
    reports: dict[tuple[str, int], DriftResult] = {}
    for stream in streams:
        timeline, records = read_records(history, stream, options["last"])
        timelines.append(timeline)
        if options["html"]:
            reports |= choose_reports(records)
        _print_stream(timeline)
    if options["html"]:
        made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        name = url if "://" not in url else "database"
        shown = os.fsencode(Path(name).name).decode(errors="replace")
        write_file(options["html"], render_history(timelines, reports, f"{shown}, {made}"))
        say(f"Written: {options['html']}")


def _print_stream(timeline: Timeline) -> None:
    zone, sentence = describe_state(timeline)
    say(summarise(timeline), bold=True)
    say(sentence, fg=STATE_COLOURS[zone])
    head, *rows = list_windows(timeline)
    if not rows:
        return
    shown = rows[-PRINTED:]
    widths = [max(len(row[place]) for row in [head, *shown]) for place in range(len(head))]
    if len(rows) > PRINTED:
        say(f"The last {PRINTED} of them:")
    for place, row in enumerate([head, *shown]):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        colour = STATE_COLOURS[row[2]] if place and row[2] in {"warning", "drift"} else None
        say(line, fg=colour, dim=place == 0)
