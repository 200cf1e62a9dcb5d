"""What ``gapdrift push`` does: rows are counted here, and their evidence is sent."""

import os
from pathlib import Path
from typing import Any

import gapdrift as gd
from gapdrift.cli._print import say
from gapdrift.cli._progress import progress
from gapdrift.client import Client
from gapdrift.errors import InputError
from gapdrift.files import open_files
from gapdrift.results.report.words import format_p_value

__all__ = ["push_files"]

TYPES = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet", ".json": "application/json"}
"""Media types of files whose rows are sent."""


def push_files(place: str, reading: dict[str, Any], options: dict[str, Any]) -> int:
    """Push rows or evidence, print the windows that they complete, and return how many of them drift."""
    client = Client(options["url"], options["project"], os.environ.get("GAPDRIFT_TOKEN", ""))
    if options["rows"]:
        windows = _push_as_they_are(client, place, options["monitor"])
    elif place.endswith(".gapdrift"):
        windows = client.push(options["monitor"], _evidence(place))
    else:
        windows = _push_counted(client, place, reading, options["monitor"])
    for window in windows:
        colour = {"warning": "yellow", "drift": "red"}.get(window["zone"])
        test = format_p_value(window["p_value"])
        say(f"window {window['number']}: {window['zone']}, {test}, {window['n_rows']} rows", fg=colour)
    say(f"{len(windows)} window(s) decided.")
    return sum(window["zone"] == "drift" for window in windows)


def _push_counted(client: Client, place: str, reading: dict[str, Any], monitor: str) -> list[dict[str, Any]]:
    detector = client.reference(monitor)
    files = open_files(place, **reading)
    windows: list[dict[str, Any]] = []
    with progress("Pushing", files.size) as advance:
        for table in files.tables(like=detector, progress=advance):
            windows += client.push(monitor, table, detector=detector)
    return windows


def _push_as_they_are(client: Client, place: str, monitor: str) -> list[dict[str, Any]]:
    path = Path(place)
    kind = TYPES.get(path.suffix.lower())
    if kind is None or not path.is_file():
        raise InputError(f"--rows sends one file as it is: {place!r} is not one of {', '.join(TYPES)}.")
    return client.push_file(monitor, path.read_bytes(), kind)


def _evidence(place: str) -> gd.Evidence:
    thing = gd.load(place)
    if not isinstance(thing, gd.Evidence):
        raise InputError(f"{place} holds a {type(thing).__name__}, expected evidence or a table.")
    return thing
