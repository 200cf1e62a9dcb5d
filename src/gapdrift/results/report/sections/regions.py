"""The bins that gained and lost rows, in words."""

from gapdrift.results.report.charts import draw_shares
from gapdrift.results.report.markup import Cell, Head, breakable, table, text
from gapdrift.results.report.ranking import Record, alarms
from gapdrift.results.report.sections._section import LEGEND, Section
from gapdrift.results.report.words import clean, number, percent, shown

__all__ = ["regions"]

MOST = 5
"""Bins told on each side."""

SMALLEST = 0.002
"""Change of the share of rows below which a bin is not worth a line."""

WORDS = 180
"""Letters of a description."""

HEADS = (
    Head("Where rows lie", "", "words"),
    Head("Reference", "", "number"),
    Head("Window", "", "number"),
    Head("Share", "", "picture"),
)


def regions(record: Record) -> Section | None:
    """Tables of the bins that gained and that lost most."""
    bins = record["bins"]
    if not bins:
        return None
    told = sorted(bins, key=lambda entry: -entry["contribution"])
    gained = [entry for entry in told if _change(entry) >= SMALLEST][:MOST]
    lost = [entry for entry in told if _change(entry) <= -SMALLEST][:MOST]
    moved = bool(record["drift"]) and "values" in alarms(record)
    start = f"The rows of the reference fall into {len(bins)} regions of similar rows. "
    if not gained and not lost:
        return Section("regions", "Where rows lie", f"<p>{start}Each holds the same share of the window.</p>")
    lead = start + (
        "These gained or lost the most, the clearest first."
        if moved
        else "These differ the most; differences of this size also turn up by chance."
    )
    largest = max(max(entry["share_reference"], entry["share_window"]) for entry in (*gained, *lost))
    sides = [("Regions that gained rows", gained), ("Regions that lost rows", lost)]
    tables = "".join(
        table(title, HEADS, [_row(entry, largest) for entry in entries], kind="regions")
        for title, entries in sides
        if entries
    )
    return Section("regions", "Where rows lie", f"<p>{lead}</p>{LEGEND}{tables}")


def describe(entry: Record) -> str:
    """A bin in words: what sets it apart, or the centre itself."""
    if entry["description"]:
        return _cut(entry["description"])
    parts = [
        f"{shown(name, 32)} {shown(value, 32) if isinstance(value, str) else number(value)}"
        for name, value in entry["centre"].items()
    ]
    return _cut("around " + ", ".join(parts[:5]) + (f" and {len(parts) - 5:,} more" if len(parts) > 5 else ""))


def _cut(words: str) -> str:
    words = clean(words)
    return words if len(words) <= WORDS else f"{words[:WORDS]}\N{HORIZONTAL ELLIPSIS}"


def _change(entry: Record) -> float:
    return float(entry["share_window"] - entry["share_reference"])


def _row(entry: Record, largest: float) -> list[Cell]:
    before, after = entry["share_reference"], entry["share_window"]
    return [
        Cell(f"<bdi>{breakable(text(describe(entry)))}</bdi>", None, "words"),
        Cell(text(percent(before)), None, "number"),
        Cell(text(percent(after)), None, "number"),
        Cell(draw_shares(before, after, largest), None, "picture"),
    ]
