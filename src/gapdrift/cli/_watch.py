"""A monitor over files, whose windows are printed, kept in a history and sent to sinks."""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import gapdrift as gd
from gapdrift.cli import ExitCode
from gapdrift.cli._print import NoteHandler, say
from gapdrift.cli._progress import progress
from gapdrift.cli._work import load_detector
from gapdrift.files import open_files
from gapdrift.history import History
from gapdrift.sinks import JsonLines, PrometheusTextfile, Sink, Webhook, make_record
from gapdrift.streaming.runner import RunSummary, run_monitor
from gapdrift.streaming.windows import WindowResult

__all__ = ["watch"]

ZONE_COLOURS = {"drift": "red", "warning": "yellow", "undetermined": "yellow", "calm": "green"}


def watch(reference: str, place: str, reading: Mapping[str, Any], options: dict[str, Any]) -> int:
    """Run a monitor over files and return the exit code."""
    detector = load_detector(reference)
    monitor = gd.Monitor(
        detector,
        _parse_length(options["window"]),
        None if options["step"] is None else _parse_length(options["step"]),
        options["false_alarm_every"],
        time_column=options["time_column"],
        time_zone=options["time_zone"],
        key_column=options["key_column"],
        lateness=options["lateness"],
        warning_every=options["warning_every"],
        adapt=options["adapt"],
        sequential=options["sequential"],
        extend=options["extend"],
    )
    files = open_files(place, **reading, like=detector)

    def show(window: WindowResult) -> None:
        if options["as_json"]:
            say(json.dumps(make_record(window, options["stream_name"]), allow_nan=False))
        elif options["everything"] or window.zone != "calm":
            say(_window_line(window), fg=ZONE_COLOURS[window.zone])

    with ExitStack() as stack:
        stack.enter_context(_logged_notes())
        history = stack.enter_context(History(options["history"])) if options["history"] else None
        advance = stack.enter_context(progress("Watching", files.size))
        summary = run_monitor(
            monitor,
            files,
            history=history,
            stream=options["stream_name"],
            sinks=_make_sinks(options),
            flush=options["flush"],
            on_window=show,
            on_bytes=advance,
        )
    _print_summary(summary, [*summary.notes, *monitor.warnings], options["as_json"])
    return _exit_code(summary, options)


@contextmanager
def _logged_notes() -> Iterator[None]:
    """Print what the run logs: that it waits for another run, or that a sink fails."""
    logger, handler = logging.getLogger("gapdrift"), NoteHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _exit_code(summary: RunSummary, options: dict[str, Any]) -> int:
    if summary.drift and options["fail_on_drift"]:
        return ExitCode.DRIFT
    is_undetermined = options["fail_on_undetermined"] and summary.zones["undetermined"]
    return ExitCode.UNDETERMINED if is_undetermined or summary.empty_files or not summary.position else ExitCode.DONE


def _parse_length(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text


def _make_sinks(options: dict[str, Any]) -> list[Sink]:
    sinks: list[Sink] = []
    if options["jsonl"]:
        sinks.append(JsonLines(options["jsonl"]))
    if options["prometheus"]:
        sinks.append(PrometheusTextfile(options["prometheus"]))
    if options["webhook"]:
        patience = {"timeout": options["webhook_timeout"], "retries": options["webhook_retries"]}
        sinks.append(Webhook(options["webhook"], **patience))
    return sinks


def _window_line(window: WindowResult) -> str:
    """One line about a window, with the names of the columns that changed."""
    result = window.since_change or window.result
    if result is None or not window.alarm:
        return window.summary()
    changed = {
        "values": [f.name for f in result.features if f.adjusted_p_value < result.alpha],
        "missing values": [f.name for f in result.features if f.adjusted_missing_p_value < result.alpha],
    }
    parts = [f"{side} of {', '.join(names[:5])}" for side, names in changed.items() if names]
    return window.summary() + (f": {'; '.join(parts)}" if parts else "")


def _print_summary(summary: RunSummary, notes: list[str], as_json: bool) -> None:
    """Print what was done; with JSON output, to the error stream."""
    decided = ", ".join(f"{count:,} {zone}" for zone, count in summary.zones.items() if count) or "none"
    stream = sys.stderr if as_json else None
    first, n_rows = summary.first_row, summary.position - summary.first_row
    none = "No new rows" if summary.position else "No rows"
    rows = f"Rows {first:,} to {summary.position - 1:,} ({n_rows:,})" if n_rows else none
    say(f"{rows}. Windows: {decided}.", file=stream)
    skipped = {"late": summary.late_rows, "duplicate": summary.duplicate_rows, "without a time": summary.untimed_rows}
    for kind, count in skipped.items():
        if count:
            say(f"Note: {count:,} row(s) {kind} not counted since the start of the stream.", file=stream)
    for note in notes:
        say(f"Note: {note}", file=stream)
    for name, reason in summary.undelivered.items():
        say(f"Note: the sink {name!r} did not get all windows: {reason}", file=stream)
    for reasons in summary.parked.values():
        for reason in reasons:
            say(f"Note: {reason} It is parked in the history and not sent again.", file=stream)
