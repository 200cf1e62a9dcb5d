"""Section with the shares of missing cells of each column in reference and window."""

import math
from collections.abc import Sequence

from gapdrift.results.report.markup import Cell, Head, escape_text, render_name, render_table
from gapdrift.results.report.palette import HEAT_STEPS
from gapdrift.results.report.ranking import compares_missingness, has_changed_missingness, rank_by_missingness
from gapdrift.results.report.sections._section import Report, Section
from gapdrift.results.report.words import format_count, format_p_number, format_percent
from gapdrift.results.result import DriftResult, FeatureFinding

__all__ = ["make_missing"]

MAX_MAPPED = 100
"""Largest number of columns in the table, those whose share of missing cells changed most."""

KEY, TITLE = "missing", "Missing values"


def make_missing(report: Report) -> Section | None:
    """Table of the columns with missing cells, coloured by their share; None if the result lists no columns."""
    result = report.result
    if not result.features:
        return None
    incomplete = [f for f in rank_by_missingness(result) if f.missing_reference or f.missing_window]
    if not incomplete:
        return Section(KEY, TITLE, "<p>Nothing is missing, neither in the reference nor in the window.</p>")
    is_tested = any(feature.missing_tested for feature in incomplete)
    heads = [
        Head("Column", "text"),
        Head("Reference", "falling", "heat"),
        Head("Window", "falling", "heat"),
        Head("Change", "falling", "number"),
        *([Head("Adjusted p", "rising", "number")] if is_tested else []),
    ]
    rows = [_make_row(feature, result, is_tested) for feature in incomplete[:MAX_MAPPED]]
    rows_of = (
        f"{format_count(result.n_reference, 'row')} of the reference and {format_count(result.n_window)} of the window"
    )
    order = "the largest changes first; the stronger the colour, the larger the share"
    caption = f"Share of missing cells in {rows_of}, {order}"
    table = render_table(caption, heads, rows, kind="map long" if len(rows) > 25 else "map")
    notes = _describe_cuts(len(incomplete), len(result.features) - len(incomplete))
    return Section(KEY, TITLE, f"<p>{_describe_changes(result, incomplete)}</p>{table}{notes}")


def _describe_changes(result: DriftResult, incomplete: Sequence[FeatureFinding]) -> str:
    if not compares_missingness(result):
        return "This detector does not test whether the missing values changed; the shares are shown as they are."
    n_changed = sum(has_changed_missingness(feature, result.alpha) for feature in incomplete)
    if n_changed and result.drift:
        of = f"{format_count(n_changed)} of {format_count(len(incomplete), 'column')}"
        return f"In {of} with missing values, the share of missing cells changed by more than chance allows."
    return "No column's share of missing cells changed by more than chance allows."


def _describe_cuts(n_incomplete: int, n_complete: int) -> str:
    notes = []
    if n_incomplete > MAX_MAPPED:
        notes.append(f"Shown: the {MAX_MAPPED} largest changes of {format_count(n_incomplete)} incomplete columns.")
    if n_complete:
        notes.append(f"Left out: {format_count(n_complete, 'column')} without missing values.")
    return f"<p class='fine'>{' '.join(notes)}</p>" if notes else ""


def _make_row(feature: FeatureFinding, result: DriftResult, is_tested: bool) -> list[Cell]:
    before, after = feature.missing_reference, feature.missing_window
    is_marked = bool(result.drift) and has_changed_missingness(feature, result.alpha)
    mark = "<mark class='missing'>missing values changed</mark>" if is_marked else ""
    p_value = feature.adjusted_missing_p_value
    p_words = escape_text(format_p_number(p_value)) if feature.missing_tested else ""
    shares = (
        Cell(escape_text(format_percent(share)), share, f"heat h{math.ceil(share * HEAT_STEPS)}")
        for share in (before, after)
    )
    return [
        Cell(render_name(feature.name, full=False) + mark),
        *shares,
        Cell(_render_points(after - before), after - before, "number"),
        *([Cell(p_words, p_value if feature.missing_tested else None, "number")] if is_tested else []),
    ]


def _render_points(difference: float) -> str:
    """Change in percentage points with its sign."""
    sign = "+" if difference > 0 else "\N{MINUS SIGN}" if difference < 0 else ""
    points = 100.0 * abs(difference)
    return f"{sign}&lt;0.1 pt" if 0.0 < points < 0.05 else f"{sign}{points:.1f} pt"
