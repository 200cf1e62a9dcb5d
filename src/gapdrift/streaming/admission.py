"""What a monitor takes: rows with the columns of its reference, and evidence that fits into one pane."""

import hashlib
from collections.abc import Mapping
from datetime import datetime

from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.base import Detector
from gapdrift.errors import InputError, SchemaError
from gapdrift.results.mismatches import say_new
from gapdrift.streaming.policy import Policy
from gapdrift.streaming.rows import Columns, Rows
from gapdrift.tables.frame import Table, quote
from gapdrift.tables.spans import Calendar, format_duration
from gapdrift.tables.times import check_time

__all__ = [
    "SKIPPED",
    "check_columns",
    "check_evidence",
    "check_fits",
    "fingerprint_of",
    "notes_about_columns",
    "notes_about_skipped",
    "pane_of_times",
]

SKIPPED = ("late", "duplicate", "untimed")
"""Reasons for which rows are not counted."""


def check_columns(detector: Detector, columns: Columns, table: Table, rows: Rows) -> None:
    """Raise an error if rows cannot be counted."""
    absent = [name for name in columns.names if name not in table.names]
    if absent and table.named and columns.named:
        raise SchemaError(
            f"The rows lack the column(s) {quote(absent)} of the reference; they have {quote(table.names)}. Add "
            "them (all missing, if they were not recorded), or fit without them."
        )
    detector.check_rows(rows.table())


def notes_about_columns(columns: Columns, table: Table) -> set[str]:
    """Notes about columns that the reference does not have."""
    known = {*columns.names, *columns.ignored}
    extra = [name for name in table.names if name not in known] if table.named else []
    return {say_new(name) for name in extra}


def notes_about_skipped(policy: Policy, skipped: Mapping[str, int]) -> tuple[str, ...]:
    """Notes about rows that were not counted, by their number for each reason."""
    late = format_duration(policy.lateness) if policy.timed else ""
    reasons = {
        "late": f"came later than the lateness of {late} allows and were not counted.",
        "duplicate": "had the key of an earlier row and were not counted.",
        "untimed": "had no time and were not counted.",
    }
    return tuple(f"{count} row(s) {reasons[kind]}" for kind, count in skipped.items() if count)


def check_evidence(detector: Detector, policy: Policy, evidence: Evidence) -> None:
    """Raise an error if evidence is of another reference, or the monitor needs rows."""
    detector.evidence_.check_like(evidence)
    unusable = [name for name in ("key_column", "adapt") if getattr(policy, name) is not None]
    if unusable:
        raise InputError(f"A monitor with {' and '.join(unusable)} needs rows, not evidence. Give it rows.")


def check_fits(policy: Policy, evidence: Evidence, room: int, times: tuple[datetime, datetime] | None) -> None:
    """Raise an error if evidence does not fit into the open pane of a monitor of windows of rows."""
    if times is not None:
        raise InputError("The evidence has times, but the monitor has windows of rows. Leave the times out.")
    if evidence.n_rows > room:
        raise InputError(
            f"The evidence has {evidence.n_rows} rows, but the open pane takes {room} more, and evidence cannot "
            f"be divided. Count {room} rows first, then at most {policy.grid.pane} at a time."
        )


def pane_of_times(policy: Policy, calendar: Calendar, times: tuple[datetime, datetime] | None) -> tuple[int, int]:
    """Number of the pane between two times, and the later of them; times of several panes are an error."""
    if times is None:
        raise InputError("Windows of time need the times of the earliest and the latest row of the evidence.")
    first, last = map(check_time, times)
    number = calendar.number_of(first)
    if first > last or number != calendar.number_of(last):
        raise InputError(
            f"The evidence has rows from {times[0]} to {times[1]}, expected rows of one pane of "
            f"{policy.grid.length(1)}, since evidence cannot be divided. Count the rows of each pane by themselves."
        )
    return number, last


def fingerprint_of(detector: Detector) -> str:
    """Text that differs between detectors whose results may differ."""
    evidence = detector.evidence_
    # A monitor chooses alpha itself, and another version of gapdrift need not decide otherwise.
    settings = {name: value for name, value in detector.plain_settings().items() if name not in {"alpha", "version"}}
    digest = hashlib.sha256(repr((evidence.n_rows, sorted(settings.items()))).encode())
    for name in sorted(evidence.sums):
        digest.update(evidence.sums[name].tobytes())
    return f"{evidence.origin}-{digest.hexdigest()[:16]}"
