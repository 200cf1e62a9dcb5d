"""The report in GitHub's Markdown."""

import re

from gapdrift.results.checks import Check
from gapdrift.results.report.ranking import changed_missingness, failed_checks, other_warnings, rank_features, state
from gapdrift.results.report.sentences import (
    BADGES,
    say_headline,
    say_how_sure,
    say_next_step,
    say_usual,
    say_what_differs,
    say_what_stayed,
)
from gapdrift.results.report.words import (
    Name,
    Phrase,
    cut_text,
    effect_word,
    format_count,
    format_missing_change,
    format_p_value,
    replace_invisible,
    shorten,
)
from gapdrift.results.result import DriftResult, FeatureFinding

__all__ = ["render_markdown"]

MARKDOWN_COLUMNS, MARKDOWN_NOTES, MARKDOWN_CHECKS = 10, 8, 8
"""Largest numbers of columns, of notes and of failed checks."""


def render_markdown(result: DriftResult) -> str:
    """Verdict, the columns that changed most, changes of missing values, failed checks, and notes, as Markdown."""
    sentences = [say_how_sure(result), say_usual(result), say_what_stayed(result), say_what_differs(result)]
    blocks = [
        f"### {BADGES[state(result)]}: {_render_phrase(say_headline(result))}",
        " ".join(_render_phrase(sentence) for sentence in sentences if sentence),
        f"**What to do next:** {_render_phrase(say_next_step(result))}",
        _render_columns(result),
        _render_missing(result),
        _render_checks(failed_checks(result)),
        _render_notes(result),
        _render_origin(result),
    ]
    return "\n\n".join(block for block in blocks if block)


def escape(words: str) -> str:
    r"""Text that cannot be taken for Markdown, HTML, a mention or a reference.

    Examples
    --------
    >>> escape("a|b *c*")
    'a\\|b \\*c\\*'
    """
    quiet = re.sub(r"([\\`*_{}\[\]<>|~$&!])", r"\\\1", replace_invisible(words))
    # A backslash does not keep GitHub from linking @someone, #12 or an address; an invisible character does.
    return re.sub(r"(?<=@|#)|(?=://|(?<=www)\.)", "\N{WORD JOINER}", quiet)


def code(name: str, *, in_table: bool = False) -> str:
    r"""Name as code, which Markdown leaves alone, between more backticks than it has in a row.

    Examples
    --------
    >>> code("price"), code("a`b"), code("a|b", in_table=True)
    ('`price`', '``a`b``', '`a\\|b`')
    """
    words = shorten(name)
    fence = "`" * (max((len(run) for run in re.findall("`+", words)), default=0) + 1)
    pad = " " if words.startswith("`") or words.endswith("`") else ""
    quoted = f"{fence}{pad}{words}{pad}{fence}"
    return quoted.replace("|", "\\|") if in_table else quoted


def _render_phrase(phrase: Phrase) -> str:
    return "".join(code(piece.text) if isinstance(piece, Name) else escape(piece) for piece in phrase)


def _render_columns(result: DriftResult) -> str:
    ranked = [feature for feature in rank_features(result) if feature.tested]
    if not ranked:
        return ""
    rows = [_render_row(feature) for feature in ranked[:MARKDOWN_COLUMNS]]
    rest = len(ranked) - MARKDOWN_COLUMNS
    more = f"\n\nand {format_count(rest, 'more column')}." if rest > 0 else ""
    return "\n".join(["| column | values | effect size | missing |", "|---|---|---|---|", *rows]) + more


def _render_row(feature: FeatureFinding) -> str:
    cells = [
        code(feature.name, in_table=True),
        escape(format_p_value(feature.adjusted_p_value)),
        f"{feature.effect_size:.2f} ({effect_word(feature.effect_size)})",
        _render_change(feature),
    ]
    return f"| {' | '.join(cells)} |"


def _render_missing(result: DriftResult) -> str:
    changed = changed_missingness(result) if result.drift else []
    if not changed:
        return ""
    words = [f"{code(feature.name)} {_render_change(feature)}" for feature in changed[:MARKDOWN_COLUMNS]]
    more = f" and {format_count(len(changed) - MARKDOWN_COLUMNS)} more" if len(changed) > MARKDOWN_COLUMNS else ""
    return f"**Missing values changed:** {', '.join(words)}{more}."


def _render_change(feature: FeatureFinding) -> str:
    return escape(format_missing_change(feature.missing_reference, feature.missing_window))


def _render_checks(failed: list[Check]) -> str:
    lines = [
        (f"{code(check.column)}: " if check.column else "") + escape(cut_text(check.message))
        for check in failed[:MARKDOWN_CHECKS]
    ]
    return _render_list("Checks that failed", lines, len(failed))


def _render_notes(result: DriftResult) -> str:
    warnings = other_warnings(result, {check.message for check in failed_checks(result)[:MARKDOWN_CHECKS]})
    lines = [escape(cut_text(warning)) for warning in warnings[:MARKDOWN_NOTES]]
    return _render_list("Notes", lines, len(warnings))


def _render_list(title: str, lines: list[str], n_all: int) -> str:
    """The first of some sentences as a list, and how many there are beyond them; empty if there are none."""
    if not lines:
        return ""
    rest = n_all - len(lines)
    items = [*lines, f"and {format_count(rest)} more"] if rest > 0 else lines
    return "\n".join([f"**{title}**", "", *(f"- {item}" for item in items)])


def _render_origin(result: DriftResult) -> str:
    settings = result.settings
    rows = f"{format_count(result.n_reference, 'row')} in the reference, {format_count(result.n_window)} in the window"
    by = f"; {settings['detector']} of gapdrift {settings['version']}" if "detector" in settings else ""
    return f"{rows}; alpha {result.alpha:g}{by}."
