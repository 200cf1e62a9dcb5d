"""The top of the page: the verdict in a sentence, how sure, what next, and the key facts."""

from string import Template

from gapdrift.results.report.assets import read_asset
from gapdrift.results.report.markup import phrase, text
from gapdrift.results.report.ranking import Record, missing_cells, state
from gapdrift.results.report.sentences import BADGES, certainty, headline, nature, next_step, other_side
from gapdrift.results.report.words import EFFECT_RULE, count, effect_word, format_p_value, percent

__all__ = ["facts", "how_to_read", "verdict"]

ARROW = ' <span class="arrow" aria-hidden="true">\N{RIGHTWARDS ARROW}</span><span class="quiet"> then </span> '

ICONS = {
    "drift": "M8 1.5 15 14H1Z M8 6v4 M8 12v.2",
    "small": "M2 9q3-5 6 0t6 0",
    "none": "M2.5 8.5 6.5 12.5 13.5 4",
    "undetermined": "M5 6a3 3 0 1 1 3 3v1.5 M8 13v.2",
}
"""Path of the sign beside the badge: a shape for each verdict, not only a colour."""


def verdict(record: Record) -> str:
    """Badge, headline, and the sentences below it."""
    found = state(record)
    icon = (
        f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><title>sign</title><path d="{ICONS[found]}"/></svg>'
    )
    lines = [certainty(record), other_side(record), nature(record)]
    body = " ".join(phrase(line) for line in lines if line)
    return (
        f'<div class="verdict {found}"><p class="badge">{icon}{BADGES[found]}</p>\n'
        f"<h1>{phrase(headline(record))}</h1>\n<p>{body}</p>\n"
        f'<p class="next"><strong>What to do next</strong> {phrase(next_step(record))}</p></div>'
    )


def facts(record: Record) -> str:
    """Sizes, gaps and p-values at a glance."""
    missing = missing_cells(record)
    items = [("Rows", f"{count(record['n_reference'])}{ARROW}{count(record['n_window'])}", "reference, then window")]
    if missing is not None:
        items.append(("Columns compared", count(len(record["features"])), ""))
        items.append(("Cells missing", ARROW.join(text(percent(share)) for share in missing), "reference, then window"))
    items.append(("Values", *_finding(record["values"], record)))
    if record["missingness"] is not None:
        items.append(("Gaps", *_finding(record["missingness"], record)))
    items.append(("False alarms allowed", f"{100.0 * record['alpha']:g}%", "of comparisons without change (alpha)"))
    return '<dl class="facts">' + "".join(_fact(*item) for item in items) + "</dl>"


def how_to_read(record: Record) -> str:
    """Short explanation, folded away."""
    return Template(read_asset("help.html")).substitute(alpha=f"{100.0 * record['alpha']:g}%", rule=EFFECT_RULE)


def _finding(finding: Record, record: Record) -> tuple[str, str]:
    if finding["reason"]:
        return "not tested", ""
    differs = "differ" if finding["p_value"] < record["alpha"] else "no clear difference"
    effect = finding["effect_size"]
    return text(format_p_value(finding["p_value"])), f"{differs}; effect {effect:.2f}, {effect_word(effect)}"


def _fact(term: str, value: str, note: str) -> str:
    more = f'<dd class="note">{note}</dd>' if note else ""
    return f"<div><dt>{term}</dt><dd>{value}</dd>{more}</div>\n"
