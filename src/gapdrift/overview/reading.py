"""Timelines and reports out of a history."""

from collections.abc import Sequence
from typing import Any

from gapdrift.errors import HistoryError
from gapdrift.history import History
from gapdrift.overview.points import Timeline, point_of
from gapdrift.results.plain import result_from_dict
from gapdrift.results.result import DriftResult

__all__ = ["choose_reports", "read_records", "read_result", "timeline_of"]

MAX_REPORTS = 40
"""Largest number of full reports in one page: each takes about 50 kB."""


def read_records(history: History, stream: str, last: int) -> tuple[Timeline, list[dict[str, Any]]]:
    """Timeline of the last windows of a stream, and their records."""
    settings = history.settings(stream)
    records = history.latest(stream, last)
    return timeline_of(stream, records, settings, history.n_windows(stream)), records


def timeline_of(stream: str, records: Sequence[dict[str, Any]], settings: dict[str, Any], n_windows: int) -> Timeline:
    """Timeline of records, with the zones of the settings of their monitor."""
    try:
        points = tuple(map(point_of, records))
    except (KeyError, TypeError, AttributeError) as error:
        raise HistoryError(
            f"A window of the stream {stream!r} cannot be read ({error!r}): it is damaged, or another version of "
            "gapdrift wrote it."
        ) from error
    return Timeline(stream, points, 1.0 / settings["false_alarm_every"], 1.0 / settings["warning_every"], n_windows)


def choose_reports(records: Sequence[dict[str, Any]], most: int = MAX_REPORTS) -> dict[tuple[str, int], DriftResult]:
    """Results of the latest alarms and, as far as there is room, of the latest other windows."""
    tested = [record for record in reversed(records) if record["result"] is not None]
    alarms = [record for record in tested if record["zone"] in {"warning", "drift"}]
    others = [record for record in tested if record["zone"] not in {"warning", "drift"}]
    chosen = [*alarms, *others][:most]
    return {(record["stream"], record["index"]): result_from_dict(record["result"]) for record in chosen}


def read_result(history: History, stream: str, index: int) -> DriftResult:
    """Result of one window of a stream."""
    record = history.window(stream, index)
    if record["result"] is None:
        raise HistoryError(f"Window {index} of the stream {stream!r} has no rows, and so no result.")
    return result_from_dict(record["result"])
