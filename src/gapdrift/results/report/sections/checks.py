"""Section with the checks beside drift that failed."""

from gapdrift.results.checks import Check
from gapdrift.results.report.markup import Cell, Head, escape_text, render_name, render_table
from gapdrift.results.report.ranking import failed_checks
from gapdrift.results.report.sections._section import Report, Section
from gapdrift.results.report.words import cut_text, format_count

__all__ = ["make_checks"]

KEY, TITLE = "checks", "Checks"

MAX_SHOWN = 40
"""Largest number of failed checks that are listed."""

TITLES = {
    "columns": "columns",
    "types": "type of the cells",
    "duplicates": "duplicate rows",
    "missing": "missing cells",
    "categories": "new values",
    "range": "range",
    "constant": "constant column",
    "effect": "effect size",
}


def make_checks(report: Report) -> Section | None:
    """Table of the checks that failed, and how many passed; None if nothing failed and no columns were compared."""
    checks, failed = report.result.checks, failed_checks(report.result)
    if not report.result.features and not failed:
        return None
    n_passed = format_count(len(checks) - len(failed))
    start = f"{n_passed} of {format_count(len(checks), 'check')} passed with the default limits"
    if not failed:
        return Section(
            KEY,
            TITLE,
            f"<p>{start}: columns, types, missing cells, new values, ranges, constants and duplicate rows.</p>",
        )
    heads = (Head("Column"), Head("Check", "", "check"), Head("Found", "", "words"))
    table = render_table("Checks that failed", heads, [_make_row(check) for check in failed[:MAX_SHOWN]], kind="checks")
    rest = len(failed) - MAX_SHOWN
    more = f"<p class='fine'>And {format_count(rest)} more.</p>" if rest > 0 else ""
    return Section(KEY, TITLE, f"<p>{start}. They are no tests: a limit is kept or not.</p>{table}{more}")


def _make_row(check: Check) -> list[Cell]:
    name = render_name(check.column, full=False) if check.column else "table"
    message = escape_text(cut_text(check.message))
    return [Cell(name), Cell(TITLES[check.name], None, "check"), Cell(message, None, "words")]
