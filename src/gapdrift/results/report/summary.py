"""Few plain lines about a result, for a terminal or a log."""

from gapdrift.results.report.ranking import Record, alarms, moved_gaps, moved_values, rank_gaps, state
from gapdrift.results.report.words import clean, format_p_value

__all__ = ["summarise"]

MOST = 8
"""Columns named in a line."""


def summarise(record: Record) -> str:
    """Verdict, data, tests, gaps and warnings, a line each.

    Parameters
    ----------
    record : mapping
        As `DriftResult.to_dict` returns it.

    Returns
    -------
    text : str
    """
    said = record["values"]["reason"] if record["drift"] is None else None
    notes = [f"Note: {text}" for text in record["warnings"] if text != said]
    return "\n".join([_verdict(record), *_details(record), *notes])


def _verdict(record: Record) -> str:
    found = state(record)
    if found == "undetermined":
        return f"UNDETERMINED: {record['values']['reason']}"
    tail = f"({format_p_value(record['p_value'])}, alpha {record['alpha']:g})"
    sides = " and ".join(alarms(record))
    if found == "drift":
        return f"DRIFT: the {sides} of the window differ from the reference {tail}."
    if found == "small":
        return f"No drift worth an alarm: the {sides} of the window differ, but too little {tail}."
    subject = "values" if record["missingness"] is None else "values and gaps"
    return f"No drift found in the {subject} of the window {tail}."


def _details(record: Record) -> list[str]:
    features = record["features"]
    lines = [f"Rows: {record['n_reference']} in the reference, {record['n_window']} in the window."]
    lines += [_finding_line(finding) for finding in (record["values"], record["missingness"]) if finding is not None]
    for what, moved in (("values", moved_values(record)), ("gaps", moved_gaps(record))):
        lines += [f"Columns whose {what} moved: {_list([feature['name'] for feature in moved])}."] if moved else []
    gaps = [
        f"{feature['name']} {feature['missing_reference']:.0%} -> {feature['missing_window']:.0%}"
        for feature in (rank_gaps(record) if len(features) > MOST else features)
        if feature["missing_reference"] or feature["missing_window"]
    ]
    lines += [f"Gaps: {_list(gaps) or 'none'}."] if features else []
    return [line for line in lines if line]


def _finding_line(finding: Record) -> str:
    if finding["reason"]:
        return ""
    if not finding["parts"]:
        return (
            f"Test: {finding['name']}, statistic {finding['statistic']:.1f} with {finding['degrees_of_freedom']} "
            f"degrees of freedom, effect size {finding['effect_size']:.2f}."
        )
    parts = ", ".join(f"{part['name']} {format_p_value(part['p_value'])}" for part in finding["parts"])
    whole = f"{format_p_value(finding['p_value'])}, effect size {finding['effect_size']:.2f}"
    return f"{finding['name'].capitalize()}: {whole} ({parts})."


def _list(names: list[str]) -> str:
    """Names in one line, cut where they are many."""
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return clean(", ".join(names[:MOST]) + more)
