"""Short report in GitHub's Markdown."""

import re

from gapdrift.results.report.ranking import Record, moved_gaps, rank_features, state
from gapdrift.results.report.sentences import BADGES, certainty, headline, nature, next_step, other_side
from gapdrift.results.report.words import (
    Name,
    Phrase,
    clean,
    count,
    effect_word,
    format_p_value,
    missing_change,
    shown,
    visible,
)

__all__ = ["render_markdown"]

MAX_ROWS = 10
"""Columns in the table."""

MAX_NOTES = 8
MAX_LETTERS = 300


def render_markdown(record: Record) -> str:
    """Verdict, leading columns, moved gaps and notes.

    Parameters
    ----------
    record : mapping
        As `DriftResult.to_dict` returns it.

    Returns
    -------
    text : str
    """
    sentences = [certainty(record), other_side(record), nature(record)]
    blocks = [
        f"### {BADGES[state(record)]}: {_phrase(headline(record))}",
        " ".join(_phrase(sentence) for sentence in sentences if sentence),
        f"**What to do next:** {_phrase(next_step(record))}",
        _columns(record),
        _gaps(record),
        _notes(record),
        _origin(record),
    ]
    return "\n\n".join(block for block in blocks if block)


def escape(words: str) -> str:
    r"""Text in which nothing is Markdown, HTML, a mention or a reference.

    Examples
    --------
    >>> escape("a|b *c*")
    'a\\|b \\*c\\*'
    """
    quiet = re.sub(r"([\\`*_{}\[\]<>|~$&!])", r"\\\1", visible(words))
    # No backslash stops GitHub from linking @someone, #12 or an address: an invisible joint does.
    return re.sub(r"(?<=@|#)|(?=://|(?<=www)\.)", "\N{WORD JOINER}", quiet)


def code(name: str, *, in_table: bool = False) -> str:
    r"""Name as code, which Markdown leaves alone, with a fence longer than any inside.

    Examples
    --------
    >>> code("price"), code("a`b"), code("a|b", in_table=True)
    ('`price`', '``a`b``', '`a\\|b`')
    """
    words = shown(name)
    fence = "`" * (max((len(run) for run in re.findall("`+", words)), default=0) + 1)
    pad = " " if words.startswith("`") or words.endswith("`") else ""
    quoted = f"{fence}{pad}{words}{pad}{fence}"
    return quoted.replace("|", "\\|") if in_table else quoted


def _phrase(phrase: Phrase) -> str:
    return "".join(code(piece.text) if isinstance(piece, Name) else escape(piece) for piece in phrase)


def _columns(record: Record) -> str:
    ranked = [feature for feature in rank_features(record) if feature["p_value"] is not None]
    if not ranked:
        return ""
    rows = [
        f"| {code(feature['name'], in_table=True)} | {escape(format_p_value(feature['adjusted_p_value']))} "
        f"| {feature['effect_size']:.2f} ({effect_word(feature['effect_size'])}) "
        f"| {_change(feature)} |"
        for feature in ranked[:MAX_ROWS]
    ]
    rest = len(ranked) - MAX_ROWS
    more = f"\n\nand {count(rest)} more column{'s' if rest > 1 else ''}." if rest > 0 else ""
    return "\n".join(["| column | values | effect size | missing |", "|---|---|---|---|", *rows]) + more


def _gaps(record: Record) -> str:
    moved = moved_gaps(record) if record["drift"] else []
    if not moved:
        return ""
    words = [f"{code(feature['name'])} {_change(feature)}" for feature in moved[:MAX_ROWS]]
    more = f" and {count(len(moved) - MAX_ROWS)} more" if len(moved) > MAX_ROWS else ""
    return f"**Missing cells moved:** {', '.join(words)}{more}."


def _change(feature: Record) -> str:
    return escape(missing_change(feature["missing_reference"], feature["missing_window"]))


def _notes(record: Record) -> str:
    said = record["values"]["reason"] if record["drift"] is None else None
    told = [words for words in record["warnings"] if words != said]
    if not told:
        return ""
    lines = [f"- {escape(clean(words[:MAX_LETTERS]))}" for words in told[:MAX_NOTES]]
    more = [f"- and {count(len(told) - MAX_NOTES)} more"] if len(told) > MAX_NOTES else []
    return "\n".join(["**Notes**", "", *lines, *more])


def _origin(record: Record) -> str:
    settings = record.get("settings", {})
    rows = f"{count(record['n_reference'])} rows in the reference, {count(record['n_window'])} in the window"
    by = f"; {settings['detector']} of gapdrift {settings['version']}" if "detector" in settings else ""
    return f"{rows}; alpha {record['alpha']:g}{by}."
