"""The top of the page: the verdict in a sentence, how certain it is, what to do next, and the key facts."""

from string import Template

from gapdrift.results.report.assets import read_asset
from gapdrift.results.report.markup import escape_text, render_phrase
from gapdrift.results.report.ranking import State, mean_missing, state
from gapdrift.results.report.sentences import (
    BADGES,
    say_headline,
    say_how_sure,
    say_next_step,
    say_usual,
    say_what_differs,
    say_what_stayed,
)
from gapdrift.results.report.words import EFFECT_RULE, effect_word, format_count, format_p_value, format_percent
from gapdrift.results.result import DriftResult, Finding

__all__ = ["render_facts", "render_help", "render_verdict"]

ARROW_HTML = ' <span class="arrow" aria-hidden="true">\N{RIGHTWARDS ARROW}</span><span class="quiet"> then </span> '

ICONS: dict[State, str] = {
    "drift": "M8 1.5 15 14H1Z M8 6v4 M8 12v.2",
    "small": "M2 9q3-5 6 0t6 0",
    "none": "M2.5 8.5 6.5 12.5 13.5 4",
    "undetermined": "M5 6a3 3 0 1 1 3 3v1.5 M8 13v.2",
}
"""Path of the icon beside the badge: verdicts differ in shape, not only in colour."""


def render_verdict(result: DriftResult) -> str:
    """Badge, headline, and the sentences below it."""
    found = state(result)
    icon = (
        f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><title>sign</title><path d="{ICONS[found]}"/></svg>'
    )
    sentences = [say_how_sure(result), say_usual(result), say_what_stayed(result), say_what_differs(result)]
    body = " ".join(render_phrase(sentence) for sentence in sentences if sentence)
    return (
        f'<div class="verdict {found}"><p class="badge">{icon}{BADGES[found]}</p>\n'
        f"<h1>{render_phrase(say_headline(result))}</h1>\n<p>{body}</p>\n"
        f'<p class="next"><strong>What to do next</strong> {render_phrase(say_next_step(result))}</p></div>'
    )


def render_facts(result: DriftResult) -> str:
    """Numbers of rows, missing cells and p-values at a glance."""
    rows = ARROW_HTML.join(format_count(n_rows) for n_rows in (result.n_reference, result.n_window))
    items = [("Rows compared", rows, "reference, then window")]
    missing = mean_missing(result)
    if missing is not None:
        shares = ARROW_HTML.join(escape_text(format_percent(share)) for share in missing)
        items.append(("Columns compared", format_count(len(result.features)), ""))
        items.append(("Cells missing", shares, "reference, then window"))
    items.append(("Values", *_describe_finding(result.values, result.alpha)))
    if result.concept is not None:
        items.append(("Label given the rest", *_describe_finding(result.concept, result.alpha)))
    if result.missingness is not None:
        items.append(("Missing values", *_describe_finding(result.missingness, result.alpha)))
    items.append(("False alarms allowed", f"{100.0 * result.alpha:g}%", "of comparisons without change (alpha)"))
    return '<dl class="facts">' + "".join(_render_fact(*item) for item in items) + "</dl>"


def render_help(result: DriftResult) -> str:
    """Short explanation of the report, which the reader can unfold."""
    return Template(read_asset("help.html")).substitute(alpha=f"{100.0 * result.alpha:g}%", rule=EFFECT_RULE)


def _describe_finding(finding: Finding, alpha: float) -> tuple[str, str]:
    """p-value of a finding, and a note about it."""
    if not finding.determined:
        return "not tested", ""
    differs = "differ" if finding.p_value < alpha else "no clear difference"
    effect = finding.effect_size
    size = "" if effect is None else f"; effect {effect:.2f}, {effect_word(effect)}"
    return escape_text(format_p_value(finding.p_value)), differs + size


def _render_fact(term: str, value: str, note: str) -> str:
    more = f'<dd class="note">{note}</dd>' if note else ""
    return f"<div><dt>{term}</dt><dd>{value}</dd>{more}</div>\n"
