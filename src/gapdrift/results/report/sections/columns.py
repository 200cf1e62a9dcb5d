"""Section with a table of all columns, those that changed most first."""

from gapdrift.results.report.charts import draw_spark
from gapdrift.results.report.markup import Cell, Head, escape_text, render_effect, render_name, render_table
from gapdrift.results.report.ranking import has_changed_missingness, has_changed_values, rank_features
from gapdrift.results.report.sections._section import LEGEND, Report, Section
from gapdrift.results.report.sections.distributions import MAX_CHARTS
from gapdrift.results.report.words import ARROW, EFFECT_RULE, format_count, format_missing_change, format_p_number
from gapdrift.results.result import DriftResult, FeatureFinding

__all__ = ["make_columns"]

MAX_LISTED = 1_000
"""Largest number of columns in the table."""

MAX_SPARKS = 40
"""Largest number of columns with a small chart."""

MAX_LONG_NAMES = 200
"""Largest number of columns with a long name: a thousand long names would take a megabyte."""

COLUMN_HEADS = (
    Head("Column", "text"),
    Head("Distribution", "", "picture"),
    Head("Effect size", "falling", "number"),
    Head("Adjusted p", "rising", "number"),
    Head("Missing", "falling", "number"),
)
OBSERVED_HEAD = Head("Observed cells", "falling", "number")

MAX_UNFILTERED = 12
"""Columns from which the reader can search and filter the table."""

FINDER = (
    '<div class="finder" data-for="columns" hidden>'
    '<label>Find a column <input type="search" autocomplete="off"></label>'
    '<label>Show <select><option value="">all columns</option><option value="values">changed values</option>'
    '<option value="missing">changed missing values</option></select></label>'
    '<span class="fine" role="status"></span></div>'
)
"""Search and filter, which the page's script makes work; without scripts it stays hidden."""


def make_columns(report: Report) -> Section | None:
    """Table of all columns; None if the result lists none."""
    result = report.result
    ranked = rank_features(result)
    if not ranked:
        return None
    if not any(feature.tested for feature in ranked):
        why = "This detector tests the rows as a whole and names no columns. The sections below show where rows lie."
        return Section("columns", "Columns", f"<p>{why}</p>")
    rows = [_make_row(feature, result, place) for place, feature in enumerate(ranked[:MAX_LISTED])]
    notes = [f"Effect size: {EFFECT_RULE}.", *_describe_cuts(len(ranked))]
    caption = "Columns, those that changed most first; missing: share of cells, reference to window"
    kind = "columns long" if len(rows) > 25 else "columns"
    observed = any(feature.observed_reference or feature.observed_window for feature in ranked)
    heads = [*COLUMN_HEADS, *([OBSERVED_HEAD] if observed else [])]
    rows = rows if observed else [row[: len(COLUMN_HEADS)] for row in rows]
    table = render_table(caption, heads, rows, kind=kind)
    finder = FINDER if len(rows) > MAX_UNFILTERED else ""
    body = f"{LEGEND}{finder}{table}<p class='fine'>{' '.join(notes)}</p>"
    return Section("columns", "Columns", body)


def _describe_cuts(n_columns: int) -> list[str]:
    notes = []
    if n_columns > MAX_SPARKS:
        notes.append(f"Small charts: the first {MAX_SPARKS} columns. Large charts: the first {MAX_CHARTS}.")
    if n_columns > MAX_LISTED:
        listed = f"the first {format_count(MAX_LISTED)} of {format_count(n_columns)} columns"
        notes.append(f"Listed: {listed}; the JSON has them all.")
    return notes


def _make_row(feature: FeatureFinding, result: DriftResult, place: int) -> list[Cell]:
    histogram = feature.histogram
    spark = draw_spark(histogram) if place < MAX_SPARKS and histogram is not None else ""
    may_be_long = place < MAX_LONG_NAMES
    name = render_name(feature.name) if may_be_long else render_name(feature.name, 32, full=False)
    p_value, effect = (feature.adjusted_p_value, feature.effect_size) if feature.tested else (None, None)
    before, after = feature.missing_reference, feature.missing_window
    missing = escape_text(format_missing_change(before, after))
    return [
        Cell(name + _render_marks(feature, result)),
        Cell(spark, None, "picture"),
        Cell(render_effect(effect), effect, "number"),
        Cell("" if p_value is None else escape_text(format_p_number(p_value)), p_value, "number"),
        Cell(missing if before or after else f"<small>{missing}</small>", after - before, "number"),
        Cell(f"{feature.observed_reference:,} {ARROW} {feature.observed_window:,}", feature.observed_window, "number"),
    ]


def _render_marks(feature: FeatureFinding, result: DriftResult) -> str:
    if not result.drift:
        return ""
    marks = "<mark>values changed</mark>" if has_changed_values(feature, result.alpha) else ""
    return marks + (
        "<mark class='missing'>missing values changed</mark>" if has_changed_missingness(feature, result.alpha) else ""
    )
