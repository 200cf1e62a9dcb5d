"""Section with the regions that gained or lost rows, described in words: they explain, and test nothing."""

import math

from gapdrift.results.report.charts import draw_shares
from gapdrift.results.report.markup import Cell, Head, allow_breaks, escape_text, render_table
from gapdrift.results.report.ranking import alarming_sides
from gapdrift.results.report.sections._section import LEGEND, Report, Section
from gapdrift.results.report.words import cut_text, format_count, format_number, format_percent, shorten
from gapdrift.results.result import BinFinding, DriftResult

__all__ = ["make_regions"]

KEY, TITLE = "regions", "Where rows lie"

MAX_SHOWN = 5
"""Largest number of regions that gained rows, and of those that lost rows."""

MIN_CHANGE = 0.002
"""Change of the share of rows below which a region is not shown."""

MAX_DESCRIPTION = 180
"""Letters of a region's description."""

REGION_HEADS = (
    Head("Where rows lie", "", "words"),
    Head("Reference", "", "number"),
    Head("Window", "", "number"),
    Head("Share", "", "picture"),
)


def make_regions(report: Report) -> Section | None:
    """Tables of the regions that gained and lost most rows; None if the result has none."""
    result = report.result
    if not result.bins:
        return None
    ranked = [entry for entry in sorted(result.bins, key=_rank) if _has_changed(entry, result)]
    gained = [entry for entry in ranked if _change(entry) >= MIN_CHANGE][:MAX_SHOWN]
    lost = [entry for entry in ranked if _change(entry) <= -MIN_CHANGE][:MAX_SHOWN]
    start = f"The rows of the reference fall into {len(result.bins)} regions of similar rows. "
    if not gained and not lost:
        return Section(KEY, TITLE, f"<p>{start}None of them gained or lost rows by more than chance allows.</p>")
    rows = f"{format_count(result.n_reference, 'row')} and {format_count(result.n_window, 'row')}"
    observed = "A row lies in the region that is nearest by its observed cells."
    lead = f"{start}These gained or lost more than chance allows, the clearest first: shares of {rows}. {observed}"
    largest = max(max(entry.share_reference, entry.share_window) for entry in (*gained, *lost))
    sides = [("Regions that gained rows", gained), ("Regions that lost rows", lost)]
    tables = "".join(
        render_table(title, REGION_HEADS, [_make_row(entry, largest) for entry in entries], kind="regions")
        for title, entries in sides
        if entries
    )
    return Section(KEY, TITLE, f"<p>{lead}</p>{LEGEND}{tables}")


def bin_in_words(entry: BinFinding) -> str:
    """Description of a region: what sets it apart or, if that is not known, its centre."""
    if entry.description or not entry.centre:
        return cut_text(entry.description or "hardly any cell observed", MAX_DESCRIPTION)
    parts = [
        f"{shorten(name, 32)} {shorten(value, 32) if isinstance(value, str) else format_number(value)}"
        for name, value in entry.centre.items()
    ]
    more = f" and {len(parts) - 5:,} more" if len(parts) > 5 else ""
    return cut_text("around " + ", ".join(parts[:5]) + more, MAX_DESCRIPTION)


def _has_changed(entry: BinFinding, result: DriftResult) -> bool:
    """Whether a region's share changed by more than chance allows among so many, where values changed at all.

    Its contribution is the square of a standardised difference. Without one all count.
    """
    if not result.drift or "values" not in alarming_sides(result):
        return False
    if entry.contribution is None:
        return True
    return math.erfc(math.sqrt(max(entry.contribution, 0.0) / 2.0)) * len(result.bins) < result.alpha


def _rank(entry: BinFinding) -> tuple[float, float]:
    """Sort key: the largest contribution first or, if there was no test, the largest change of the share."""
    return -(entry.contribution or 0.0), -abs(_change(entry))


def _change(entry: BinFinding) -> float:
    return entry.share_window - entry.share_reference


def _make_row(entry: BinFinding, largest: float) -> list[Cell]:
    before, after = entry.share_reference, entry.share_window
    return [
        Cell(f"<bdi>{allow_breaks(escape_text(bin_in_words(entry)))}</bdi>", None, "words"),
        Cell(escape_text(format_percent(before)), None, "number"),
        Cell(escape_text(format_percent(after)), None, "number"),
        Cell(draw_shares(before, after, largest), None, "picture"),
    ]
