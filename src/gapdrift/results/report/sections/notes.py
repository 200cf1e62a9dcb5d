"""Section with notes about anything that was ignored, replaced or doubtful."""

from gapdrift.results.report.markup import escape_text
from gapdrift.results.report.ranking import other_warnings
from gapdrift.results.report.sections._section import Report, Section
from gapdrift.results.report.words import cut_text, format_count

__all__ = ["make_notes"]

MAX_NOTES = 40

MAX_OPEN = 5
"""Notes that are shown at once; the reader unfolds the others."""

KEY, TITLE = "notes", "What was left out or assumed"


def make_notes(report: Report) -> Section | None:
    """List of the warnings that the verdict does not show already; None if there are none."""
    warnings = other_warnings(report.result)
    if not warnings:
        return None
    items = [f"<li>{escape_text(cut_text(warning))}</li>" for warning in warnings[:MAX_NOTES]]
    rest = len(warnings) - MAX_NOTES
    more = f"<p class='fine'>And {format_count(rest)} more: the JSON has them all.</p>" if rest > 0 else ""
    first = f'<ul class="notes">{"".join(items[:MAX_OPEN])}</ul>'
    if len(items) <= MAX_OPEN:
        return Section(KEY, TITLE, first)
    folded = f'<ul class="notes">{"".join(items[MAX_OPEN:])}</ul>{more}'
    summary = f"{format_count(len(warnings) - MAX_OPEN)} more"
    return Section(KEY, TITLE, f"{first}<details class='more-notes'><summary>{summary}</summary>{folded}</details>")
