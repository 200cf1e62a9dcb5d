"""Compact piece of HTML for notebooks: its style stays inside its own class."""

from gapdrift.results.report.assets import read_asset
from gapdrift.results.report.charts import draw_spark
from gapdrift.results.report.markup import name, phrase, text
from gapdrift.results.report.ranking import Record, rank_features, state
from gapdrift.results.report.sentences import BADGES, certainty, headline, next_step, other_side
from gapdrift.results.report.words import count, effect_word, format_p_value, missing_change

__all__ = ["render_fragment"]

MAX_ROWS = 8
"""Columns in the table."""


def render_fragment(record: Record) -> str:
    """Verdict, key facts and leading columns.

    Parameters
    ----------
    record : mapping
        As `DriftResult.to_dict` returns it.

    Returns
    -------
    html : str
        An element of class ``gapdrift-result`` with a style that reaches nothing else. Text and lines take the
        colours of the notebook, light or dark.
    """
    sentences = [certainty(record), other_side(record)]
    rows = f"{count(record['n_reference'])} rows in the reference, {count(record['n_window'])} in the window"
    return (
        f'<div class="gapdrift-result"><style>{read_asset("notebook.css")}</style>'
        f'<p class="gd-badge gd-{state(record)}">{BADGES[state(record)]}</p>'
        f'<p class="gd-headline">{phrase(headline(record))}</p>'
        f"<p>{' '.join(phrase(sentence) for sentence in sentences if sentence)} {phrase(next_step(record))}</p>"
        f"{_table(record)}"
        f'<p class="gd-fine">{rows}; alpha {record["alpha"]:g}{_notes(record)}. '
        "<code>result.to_html(path)</code> writes the whole report.</p></div>"
    )


def _table(record: Record) -> str:
    ranked = [feature for feature in rank_features(record) if feature["p_value"] is not None]
    if not ranked:
        return ""
    heads = "".join(
        f'<th scope="col">{words}</th>' for words in ("Column", "Distribution", "Adjusted p", "Effect size", "Missing")
    )
    rest = len(ranked) - MAX_ROWS
    more = f'<p class="gd-fine">and {count(rest)} more column{"s" if rest > 1 else ""}</p>' if rest > 0 else ""
    body = "".join(_row(feature) for feature in ranked[:MAX_ROWS])
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}"


def _row(feature: Record) -> str:
    spark = "" if feature["histogram"] is None else draw_spark(feature["histogram"])
    effect = feature["effect_size"]
    p_value = format_p_value(feature["adjusted_p_value"]).removeprefix("p ").removeprefix("= ")
    return (
        f'<tr><th scope="row">{name(feature["name"])}</th><td>{spark}</td><td>{text(p_value)}</td>'
        f"<td>{effect:.2f} {effect_word(effect)}</td>"
        f"<td>{text(missing_change(feature['missing_reference'], feature['missing_window']))}</td></tr>"
    )


def _notes(record: Record) -> str:
    n_notes = len(record["warnings"])
    return f"; {n_notes} note{'s' if n_notes > 1 else ''} in <code>result.warnings</code>" if n_notes else ""
