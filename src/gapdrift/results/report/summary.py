"""The report as a few lines of plain text, for a terminal or a log."""

from gapdrift.results.checks import Check
from gapdrift.results.report.ranking import (
    alarming_sides,
    changed_missingness,
    changed_values,
    failed_checks,
    other_warnings,
    rank_by_missingness,
    state,
)
from gapdrift.results.report.sentences import CONCEPT_CLAUSE, SIDES, say_usual
from gapdrift.results.report.words import format_count, format_p_value, put_on_one_line
from gapdrift.results.result import DriftResult, Finding
from gapdrift.results.usual import BatchStrip

__all__ = ["render_summary"]

MAX_NAMES = 8
"""Largest number of columns named in a line."""

MAX_CHECKS = 5
"""Largest number of failed checks that are told; the others are counted."""

MAX_STRIPS = 4
"""Largest number of strips of batches."""

STRIP_WIDTH = 40
"""Characters of a strip."""

STRIP_KINDS = {"whole": "all columns, more unusual to the right", "values": "values", "missing": "missing cells"}
"""What a strip shows."""

MAX_NOTES = 12
"""Largest number of notes: the verdict stays on the screen."""


def render_summary(result: DriftResult) -> str:
    """Verdict, data, tests, missing values, failed checks and warnings, each on its own line."""
    failed = failed_checks(result)
    warnings = other_warnings(result, {check.message for check in failed[:MAX_CHECKS]})
    return "\n".join([_verdict_line(result), *_detail_lines(result), *_check_lines(failed), *_note_lines(warnings)])


def _note_lines(warnings: list[str]) -> list[str]:
    lines = [f"Note: {warning}" for warning in warnings[:MAX_NOTES]]
    rest = len(warnings) - MAX_NOTES
    return [*lines, f"Notes: {format_count(rest)} more; the JSON has them all."] if rest > 0 else lines


def _check_lines(failed: list[Check]) -> list[str]:
    lines = [f"Check failed: {_say_check(check)}" for check in failed[:MAX_CHECKS]]
    rest = len(failed) - MAX_CHECKS
    return [*lines, f"Checks failed: {format_count(rest)} more."] if rest > 0 else lines


def _say_check(check: Check) -> str:
    """What was found, and of which column, unless the sentence names it."""
    is_named = not check.column or check.message.startswith("Column ")
    return check.message if is_named else f"{put_on_one_line(check.column)}: {check.message}"


def _verdict_line(result: DriftResult) -> str:
    found = state(result)
    if found == "undetermined":
        return f"UNDETERMINED: {result.values.reason}"
    tail = f"({format_p_value(result.p_value)}, alpha {result.alpha:g})"
    alarming = alarming_sides(result)
    sides = " and ".join(SIDES[side] for side in alarming if side != "concept" or found == "small")
    if found == "drift":
        than = "from the reference" if result.usual is None else "more than batches of the reference usually do"
        clauses = [f"the {sides} of the window differ {than}"] if sides else []
        clauses += [CONCEPT_CLAUSE] if "concept" in alarming else []
        return f"DRIFT: {', and '.join(clauses)} {tail}."
    if found == "small":
        return f"No drift worth an alarm: the {sides} of the window differ, but too little {tail}."
    compared = "values" if result.missingness is None else "values and missing values"
    if result.usual is not None:
        return f"No drift: the {compared} of the window differ no more than batches usually do {tail}."
    tested = result.concept is not None and result.concept.determined
    more = ", nor in what the label depends on" if tested else ""
    return f"No drift found in the {compared} of the window{more} {tail}."


def _detail_lines(result: DriftResult) -> list[str]:
    lines = [f"Rows: {result.n_reference} in the reference, {result.n_window} in the window."]
    lines += ["".join(map(str, sentence)) for sentence in [say_usual(result)] if sentence]
    if result.usual is not None:
        lines += [_strip_line(strip) for strip in result.usual.strips[:MAX_STRIPS] if strip.batches]
    findings = (result.values, result.concept, result.missingness)
    lines += [_finding_line(finding) for finding in findings if finding is not None and finding.determined]
    for side, changed in (("values", changed_values(result)), ("missing values", changed_missingness(result))):
        lines += [f"Columns whose {side} changed: {_join([f.name for f in changed])}."] if changed else []
    lines += [f"Missing values: {_join(_missing_shares(result)) or 'none'}."] if result.features else []
    return lines


def _strip_line(strip: BatchStrip) -> str:
    """Batches as bars and the window as an X, from the smallest number to the largest."""
    shown = [*strip.batches, *([] if strip.window is None else [strip.window])]
    low, high = min(shown), max(shown)
    drawn = ["."] * STRIP_WIDTH
    for mark, numbers in (("|", strip.batches), ("X", shown[len(strip.batches) :])):
        for number in numbers:
            share = (number - low) / (high - low) if high > low else 0.5
            drawn[round(share * (STRIP_WIDTH - 1))] = mark
    label = ": ".join(filter(None, [put_on_one_line(strip.name), STRIP_KINDS[strip.kind]]))
    return f"Batches | and window X: {''.join(drawn)} {label}"


def _missing_shares(result: DriftResult) -> list[str]:
    features = rank_by_missingness(result) if len(result.features) > MAX_NAMES else result.features
    return [
        f"{feature.name} {feature.missing_reference:.0%} -> {feature.missing_window:.0%}"
        for feature in features
        if feature.missing_reference or feature.missing_window
    ]


def _finding_line(finding: Finding) -> str:
    effect = "" if finding.effect_size is None else f", effect size {finding.effect_size:.2f}"
    if not finding.parts:
        return f"Test: {finding.name}{_statistic(finding)}{effect}."
    parts = ", ".join(f"{part.name} {format_p_value(part.p_value)}" for part in finding.parts)
    return f"{finding.name.capitalize()}: {format_p_value(finding.p_value)}{effect} ({parts})."


def _statistic(finding: Finding) -> str:
    if finding.statistic is None:
        return f", {format_p_value(finding.p_value)}"
    degrees = finding.degrees_of_freedom
    with_degrees = "" if degrees is None else f" with {degrees} degree{'' if degrees == 1 else 's'} of freedom"
    return f", statistic {finding.statistic:.1f}{with_degrees}"


def _join(names: list[str]) -> str:
    """Names on one line; those beyond the first few are only counted."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return put_on_one_line(", ".join(names[:MAX_NAMES]) + more)
