"""The map of missing cells: columns by reference and window."""

import math

from gapdrift.results.report.markup import Cell, Head, name, table, text
from gapdrift.results.report.palette import HEAT_STEPS
from gapdrift.results.report.ranking import Record, compares_gaps, has_moved_gaps, rank_gaps
from gapdrift.results.report.sections._section import Section
from gapdrift.results.report.words import count, format_p_value, percent

__all__ = ["MAX_ROWS", "gaps"]

MAX_ROWS = 100
"""Columns on the map, those whose gaps changed most."""


def gaps(record: Record) -> Section | None:
    """Table of the columns with gaps, coloured by the share of missing cells."""
    if not record["features"]:
        return None
    present = [f for f in rank_gaps(record) if f["missing_reference"] or f["missing_window"]]
    full = len(record["features"]) - len(present)
    if not present:
        return Section(
            "gaps", "Missing cells", "<p>Nothing is missing, neither in the reference nor in the window.</p>"
        )
    tested = any(feature["adjusted_missing_p_value"] is not None for feature in present)
    heads = [
        Head("Column", "text"),
        Head("Reference", "falling", "heat"),
        Head("Window", "falling", "heat"),
        Head("Change", "falling", "number"),
        *([Head("Adjusted p", "rising", "number")] if tested else []),
    ]
    rows = [_row(feature, record, tested) for feature in present[:MAX_ROWS]]
    caption = "Share of missing cells, the largest changes first; the stronger the colour, the more"
    body = table(caption, heads, rows, kind="map long" if len(rows) > 25 else "map")
    return Section("gaps", "Missing cells", f"<p>{_lead(record, present)}</p>{body}{_rest(len(present), full)}")


def _lead(record: Record, present: list[Record]) -> str:
    if not compares_gaps(record):
        return "This detector does not test whether the gaps changed; the shares are told as they are."
    moved = sum(has_moved_gaps(feature, record) for feature in present)
    if moved and record["drift"]:
        return (
            f"In {count(moved)} of {count(len(present))} columns with gaps the share moved by more than chance allows."
        )
    return "No column's share of missing cells moved by more than chance allows."


def _rest(n_present: int, n_full: int) -> str:
    notes = []
    if n_present > MAX_ROWS:
        notes.append(f"Shown: the {MAX_ROWS} largest changes of {count(n_present)} columns with gaps.")
    if n_full:
        notes.append(f"{count(n_full)} column{'s' if n_full > 1 else ''} without gaps left out.")
    return f"<p class='fine'>{' '.join(notes)}</p>" if notes else ""


def _row(feature: Record, record: Record, tested: bool) -> list[Cell]:
    before, after = feature["missing_reference"], feature["missing_window"]
    moved = bool(record["drift"]) and has_moved_gaps(feature, record)
    mark = "<mark class='gaps'>gaps moved</mark>" if moved else ""
    p_value = feature["adjusted_missing_p_value"]
    p_words = "" if p_value is None else text(format_p_value(p_value).removeprefix("p ").removeprefix("= "))
    return [
        Cell(name(feature["name"], full=False) + mark),
        *(Cell(text(percent(share)), share, f"heat h{math.ceil(share * HEAT_STEPS)}") for share in (before, after)),
        Cell(_points(after - before), after - before, "number"),
        *([Cell(p_words, p_value, "number")] if tested else []),
    ]


def _points(difference: float) -> str:
    """Change in percentage points with its sign."""
    sign = "+" if difference > 0 else "\N{MINUS SIGN}" if difference < 0 else ""
    points = 100.0 * abs(difference)
    return f"{sign}&lt;0.1 pt" if 0.0 < points < 0.05 else f"{sign}{points:.1f} pt"
