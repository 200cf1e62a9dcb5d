"""Section with large charts of the columns that changed most."""

from gapdrift.results.report.charts import draw_distribution
from gapdrift.results.report.histogram import describe_change, list_categories, name_intervals
from gapdrift.results.report.markup import Cell, Head, escape_text, render_name, render_phrase, render_table
from gapdrift.results.report.ranking import rank_features
from gapdrift.results.report.sections._section import LEGEND, Report, Section
from gapdrift.results.report.words import ARROW, format_percent
from gapdrift.results.result import DriftResult, FeatureFinding, Histogram

__all__ = ["MAX_CHARTS", "make_distributions"]

MAX_CHARTS = 8
"""Largest number of large charts."""


def make_distributions(report: Report) -> Section | None:
    """Large charts of the columns that changed most; None if no tested column has a distribution."""
    cards = [
        _make_card(feature, feature.histogram, report.result)
        for feature in rank_features(report.result)
        if feature.histogram is not None and feature.tested
    ][:MAX_CHARTS]
    if not cards:
        return None
    note = (
        "Share of the observed cells in each interval or category, over the values of both sides; the outermost "
        "intervals include what lies beyond them. The exact shares follow each chart."
    )
    body = "\n".join(cards)
    return Section("distributions", "Distributions", f'<p>{note}</p>{LEGEND}<div class="cards">{body}</div>')


def _make_card(feature: FeatureFinding, histogram: Histogram, result: DriftResult) -> str:
    return (
        f'<figure class="card"><h3>{render_name(feature.name)}</h3>'
        f"<p>{render_phrase(describe_change(feature, histogram, result))}{_render_counts(histogram)}</p>"
        f"{draw_distribution(feature.name, histogram)}{_render_shares(histogram)}</figure>"
    )


def _render_counts(histogram: Histogram) -> str:
    if not (histogram.n_reference or histogram.n_window):
        return ""
    return f" <small>{histogram.n_reference:,} {ARROW} {histogram.n_window:,} observed cells.</small>"


def _render_shares(histogram: Histogram) -> str:
    if histogram.labels:
        kind = "Category"
        rows = [(render_name(category), before, after) for category, before, after in list_categories(histogram)]
    else:
        kind = "Interval"
        intervals = [escape_text(interval) for interval in name_intervals(histogram)]
        rows = list(zip(intervals, histogram.reference, histogram.window, strict=True))
    heads = (Head(kind), Head("Reference", "", "number"), Head("Window", "", "number"))
    cells = [
        [Cell(words), *(Cell(escape_text(format_percent(share)), None, "number") for share in shares)]
        for words, *shares in rows
    ]
    table = render_table("Shares of observed cells", heads, cells, kind="small")
    return f"<details><summary>Numbers</summary>{table}</details>"
