"""Sentences about a result, without jargon: what changed, how sure, what next."""

from gapdrift.results.report.ranking import Record, alarms, compares_gaps, moved_gaps, moved_values, state
from gapdrift.results.report.words import Phrase, chance, listed

__all__ = ["BADGES", "certainty", "headline", "nature", "next_step", "other_side"]

BADGES = {"drift": "Drift", "small": "Small difference", "none": "No drift", "undetermined": "Undetermined"}
"""Verdict in a word or two."""

NATURE = {
    "location": "typical values",
    "dependence": "spread and how columns go together",
    "bins": "the mix of rows",
}
"""What each test of the values looks at, in plain words."""


def headline(record: Record) -> Phrase:
    """Verdict as one sentence."""
    found = state(record)
    if found == "undetermined":
        return ("Nothing can be said yet: there is too little data.",)
    if found == "none":
        return (f"No change found: the {_compared(record)} of the window look like those of the reference.",)
    if found == "small":
        sides = " and ".join(alarms(record))
        return (f"Hardly any change: the {sides} differ, but by less than the limit set for an alarm.",)
    parts = {"values": _values_clause, "gaps": _gaps_clause}
    clauses = [parts[side](record) for side in alarms(record)]
    start = "The data have changed: " if "values" in alarms(record) else "What is missing has changed: "
    more = (", and ", *clauses[1]) if len(clauses) > 1 else ()
    return (start, *clauses[0], *more, ".")


def certainty(record: Record) -> Phrase:
    """How sure the verdict is."""
    if record["drift"] is None:
        return (record["values"]["reason"],)
    often = chance(record["p_value"])
    if record["p_value"] < record["alpha"]:
        return (f"If nothing had changed, a difference this clear would turn up in {often} comparisons.",)
    return (f"Differences of this size turn up by chance in {often} comparisons when nothing has changed.",)


def nature(record: Record) -> Phrase:
    """In what the values differ; empty where that was not tested apart, or where they do not."""
    parts = [part for part in record["values"]["parts"] if part["name"] in NATURE]
    if state(record) != "drift" or "values" not in alarms(record):
        return ()
    moved = [NATURE[part["name"]] for part in parts if part["p_value"] < record["alpha"]]
    still = [NATURE[part["name"]] for part in parts if part["p_value"] >= record["alpha"]]
    if not moved:
        return ()
    rest = f" No clear change in {' or in '.join(still)}." if still else ""
    return (f"Changed: {', '.join(moved)}.{rest}",)


def other_side(record: Record) -> Phrase:
    """What did not change, where one of values and gaps did."""
    if state(record) != "drift":
        return ()
    found = alarms(record)
    if "values" not in found:
        reason = record["values"]["reason"]
        return (reason,) if reason else ("The values themselves look as before.",)
    if "gaps" in found:
        return ()
    seen = any(feature["missing_reference"] or feature["missing_window"] for feature in record["features"])
    if not seen:
        return ()
    return (
        "What is missing looks as before." if compares_gaps(record) else "Whether the gaps changed was not tested.",
    )


def next_step(record: Record) -> Phrase:
    """What to do, in a line."""
    found = state(record)
    if found == "undetermined":
        return ("Collect more rows, then compare again.",)
    if found == "none":
        return ("Nothing to do.",)
    if found == "small":
        return ("Nothing to do, unless a difference of this size matters to you: then lower min_effect.",)
    if "values" not in alarms(record):
        return _trace_gaps(record)
    moved = listed(feature["name"] for feature in moved_values(record)) or ("these data",)
    start = ("Check the source of ", *moved, "; if the change is real, retrain what depends on it.")
    return (*start, " ", *_trace_gaps(record)) if "gaps" in alarms(record) else start


def _trace_gaps(record: Record) -> Phrase:
    moved = moved_gaps(record)
    names = listed(feature["name"] for feature in moved) or ("cells",)
    lost = [feature for feature in moved if feature["missing_window"] > feature["missing_reference"]]
    how = "more often" if moved and len(lost) == len(moved) else "less often" if moved and not lost else "differently"
    verb = "goes" if len(moved) == 1 else "go"
    return ("Find out why ", *names, f" {verb} missing {how} (a sensor, a form, a join).")


def _compared(record: Record) -> str:
    return "values" if record["missingness"] is None else "values and the gaps"


def _values_clause(record: Record) -> Phrase:
    moved = moved_values(record)
    if moved:
        return ("the values of ", *listed(feature["name"] for feature in moved), " differ from the reference")
    if all(feature["p_value"] is None for feature in record["features"]):
        return ("the values of the window differ from the reference",)
    return ("the values differ from the reference as a whole, though no single column stands out",)


def _gaps_clause(record: Record) -> Phrase:
    moved = moved_gaps(record)
    if not moved:
        return ("cells are missing in other places or combinations than in the reference",)
    rises = [feature["missing_window"] > feature["missing_reference"] for feature in moved]
    how = "more" if all(rises) else "more or fewer" if any(rises) else "fewer"
    names = listed(feature["name"] for feature in moved)
    return (*names, f" {'has' if len(moved) == 1 else 'have'} {how} gaps than before")
