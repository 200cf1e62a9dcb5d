"""Short HTML for notebooks, whose style applies to nothing else on the page."""

from gapdrift.results.report.assets import read_asset
from gapdrift.results.report.charts import draw_spark
from gapdrift.results.report.markup import escape_text, render_name, render_phrase
from gapdrift.results.report.ranking import rank_features, state
from gapdrift.results.report.sentences import BADGES, say_headline, say_how_sure, say_next_step, say_what_stayed
from gapdrift.results.report.words import effect_word, format_count, format_missing_change, format_p_number
from gapdrift.results.result import DriftResult, FeatureFinding

__all__ = ["render_fragment"]

NOTEBOOK_COLUMNS = 8
"""Largest number of columns in the table."""


def render_fragment(result: DriftResult) -> str:
    """Verdict, key facts and the columns that changed most, as HTML.

    Returns
    -------
    html : str
        An element of class ``gapdrift-result``, with a style for this class only. Text and lines have the colours of
        the notebook, light or dark.
    """
    sentences = [say_how_sure(result), say_what_stayed(result), say_next_step(result)]
    rows = f"{format_count(result.n_reference, 'row')} in the reference, {format_count(result.n_window)} in the window"
    n_notes = len(result.warnings)
    notes = f"; {format_count(n_notes, 'note')} in <code>result.warnings</code>" if n_notes else ""
    return (
        f'<div class="gapdrift-result"><style>{read_asset("notebook.css")}</style>'
        f'<p class="gd-badge gd-{state(result)}">{BADGES[state(result)]}</p>'
        f'<p class="gd-headline">{render_phrase(say_headline(result))}</p>'
        f"<p>{' '.join(render_phrase(sentence) for sentence in sentences if sentence)}</p>"
        f"{_render_columns(result)}"
        f'<p class="gd-fine">{rows}; alpha {result.alpha:g}{notes}. '
        "<code>result.to_html(path)</code> writes the whole report.</p></div>"
    )


def _render_columns(result: DriftResult) -> str:
    ranked = [feature for feature in rank_features(result) if feature.tested]
    if not ranked:
        return ""
    heads = "".join(
        f'<th scope="col">{words}</th>' for words in ("Column", "Distribution", "Adjusted p", "Effect size", "Missing")
    )
    rest = len(ranked) - NOTEBOOK_COLUMNS
    more = f'<p class="gd-fine">and {format_count(rest, "more column")}</p>' if rest > 0 else ""
    body = "".join(_render_row(feature) for feature in ranked[:NOTEBOOK_COLUMNS])
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}"


def _render_row(feature: FeatureFinding) -> str:
    spark = "" if feature.histogram is None else draw_spark(feature.histogram)
    p_value = escape_text(format_p_number(feature.adjusted_p_value))
    size = f"{feature.effect_size:.2f} {effect_word(feature.effect_size)}"
    missing = escape_text(format_missing_change(feature.missing_reference, feature.missing_window))
    return (
        f'<tr><th scope="row">{render_name(feature.name)}</th><td>{spark}</td><td>{p_value}</td>'
        f"<td>{size}</td><td>{missing}</td></tr>"
    )
