"""Sentences about a result, without jargon: what changed, how certain that is, and what to do next."""

from collections.abc import Sequence

from gapdrift.results.report.ranking import (
    Side,
    State,
    alarming_sides,
    changed_missingness,
    changed_values,
    compares_missingness,
    state,
)
from gapdrift.results.report.words import Phrase, describe_chance, format_p_value, join_names
from gapdrift.results.result import DriftResult, FeatureFinding

__all__ = [
    "BADGES",
    "CONCEPT_CLAUSE",
    "SIDES",
    "say_headline",
    "say_how_sure",
    "say_next_step",
    "say_usual",
    "say_what_differs",
    "say_what_stayed",
]

BADGES: dict[State, str] = {
    "drift": "Drift",
    "small": "Small difference",
    "none": "No drift",
    "undetermined": "Undetermined",
}
"""Verdict in a word or two."""

SIDES: dict[Side, str] = {
    "values": "values",
    "missingness": "missing values",
    "concept": "dependence of the label on other columns",
}
"""What each side is called in sentences."""

ASPECTS = {
    "location": "where values lie",
    "dependence": "how two columns go together",
    "interactions": "bent relations and those of three columns",
    "distributions": "distributions of single columns",
    "scales": "spread",
    "outside": "values beyond all that batches have had",
    "associations": "how closely columns follow each other",
    "correlations": "how two columns go together",
    "products": "spread and how two columns go together",
    "bins": "the mix of rows",
}
"""What each test of the values compares, in plain words."""

CONCEPT_ASPECTS = {
    "level": "its level",
    "slopes": "how it rises or falls with them",
    "curves": "relations that are not straight lines",
    "spread": "how much it scatters",
}
"""What each test of the label, given the other columns, compares, in plain words."""

CONCEPT_CLAUSE = "the label depends on the other columns in another way than in the reference"


def say_headline(result: DriftResult) -> Phrase:
    """Verdict as one sentence."""
    found = state(result)
    if found == "undetermined":
        return ("Nothing can be said yet: there is too little data.",)
    if found == "none":
        compared = "values" if result.missingness is None else "values and the missing values"
        if result.usual is not None:
            return (f"Nothing unusual: the {compared} of the window differ no more than batches usually do.",)
        tested = result.concept is not None and result.concept.determined
        more = ", and the label depends on the other columns as before" if tested else ""
        return (f"No change found: the {compared} of the window look like those of the reference{more}.",)
    sides = alarming_sides(result)
    if found == "small":
        names = " and ".join(SIDES[side] for side in sides)
        return (f"Hardly any change: the {names} differ, but by less than the limit set for an alarm.",)
    if sides == ["missingness"]:
        return ("The missing values have changed: ", *_missingness_clause(result), ".")
    clauses: dict[Side, Phrase] = {"concept": (CONCEPT_CLAUSE,)}
    if "values" in sides:
        clauses["values"] = _values_clause(result)
    if "missingness" in sides:
        clauses["missingness"] = _missingness_clause(result)
    first, *others = (clauses[side] for side in sides)
    return ("The data have changed: ", *first, *(part for clause in others for part in (", and ", *clause)), ".")


def say_how_sure(result: DriftResult) -> Phrase:
    """How often chance alone makes such a difference or, if the verdict is undetermined, the reason for that."""
    if result.drift is None:
        return (result.values.reason,)
    often = describe_chance(result.p_value)
    if result.p_value < result.alpha:
        return (f"If nothing had changed, a difference this clear would turn up in {often} comparisons.",)
    return (f"Differences of this size turn up by chance in {often} comparisons when nothing has changed.",)


def say_usual(result: DriftResult) -> Phrase:
    """The window beside the rows of the reference and among its batches; empty for a reference without batches."""
    usual = result.usual
    if usual is None:
        return ()
    rows = "different from" if usual.rows_p_value < result.alpha else "like"
    more = "more" if usual.p_value < result.alpha else "no more"
    but = "but" if rows == "like" and more == "more" else "and"
    return (
        f"The window is {rows} the rows of the reference ({format_p_value(usual.rows_p_value)}), {but} {more} unusual "
        f"than its {usual.n_batches} batches ({usual.unit}) are among each other ({format_p_value(usual.p_value)}).",
    )


def say_what_differs(result: DriftResult) -> Phrase:
    """Which aspects of the values and of the label changed, and which did not; empty if none changed."""
    if state(result) != "drift":
        return ()
    sides = alarming_sides(result)
    values = _say_aspects(result) if "values" in sides else ()
    concept = _say_concept(result) if "concept" in sides else ()
    return (*values, " ", *concept) if values and concept else (*values, *concept)


def _say_concept(result: DriftResult) -> Phrase:
    """How the dependence of the label changed."""
    parts = result.concept.parts if result.concept is not None else ()
    changed = [CONCEPT_ASPECTS[part.name] for part in parts if part.p_value < result.alpha]
    return (f"Of the label, given the other columns, changed: {', '.join(changed)}.",) if changed else ()


def _say_aspects(result: DriftResult) -> Phrase:
    nested = [part for finding in result.values.parts for part in (finding, *finding.parts)]
    parts = [part for part in nested if part.name in ASPECTS]
    changed = [ASPECTS[part.name] for part in parts if part.p_value < result.alpha]
    stayed = [ASPECTS[part.name] for part in parts if part.p_value >= result.alpha]
    if not changed:
        return ()
    rest = f" No clear change in {' or in '.join(stayed)}." if stayed else ""
    return (f"Changed: {', '.join(changed)}.{rest}",)


def say_what_stayed(result: DriftResult) -> Phrase:
    """Which of values, missing values and the dependence of the label did not change, if another did."""
    if state(result) != "drift":
        return ()
    sides = alarming_sides(result)
    stayed = _say_which_stayed(result, sides)
    if result.concept is None or "concept" in sides:
        return stayed
    concept = (
        "The label depends on the other columns as before." if result.concept.determined else result.concept.reason
    )
    return (*stayed, " ", concept) if stayed else (concept,)


def _say_which_stayed(result: DriftResult, sides: list[Side]) -> Phrase:
    if "values" not in sides:
        return ("The values themselves look as before." if result.values.determined else result.values.reason,)
    is_missing = any(feature.missing_reference or feature.missing_window for feature in result.features)
    if "missingness" in sides or not is_missing:
        return ()
    if compares_missingness(result):
        return ("The missing values look as before.",)
    return ("Whether the missing values changed was not tested.",)


def say_next_step(result: DriftResult) -> Phrase:
    """What to do next, in one sentence."""
    found = state(result)
    if found == "undetermined":
        return ("Collect more rows, then compare again.",)
    if found == "none":
        return ("Nothing to do.",)
    if found == "small":
        return ("Nothing to do, unless a difference of this size matters to you: then lower min_effect.",)
    sides = alarming_sides(result)
    steps: list[Phrase] = []
    if "values" in sides:
        columns = _names(changed_values(result)) or ("these data",)
        steps.append(("Check the source of ", *columns, "; if the change is real, retrain what depends on it."))
    if "concept" in sides:
        steps.append(("Retrain what predicts the label: what was learned of it before no longer holds.",))
    if "missingness" in sides:
        steps.append(_explain_missingness(result))
    first, *others = steps
    return (*first, *(part for step in others for part in (" ", *step)))


def _explain_missingness(result: DriftResult) -> Phrase:
    changed = changed_missingness(result)
    rises = [feature.missing_window > feature.missing_reference for feature in changed]
    how = "more often" if all(rises) else "more or less often" if any(rises) else "less often"
    verb = "is" if len(changed) == 1 else "are"
    why = (*_names(changed), f" {verb} missing {how}") if changed else ("cells are missing in other places",)
    return ("Find out why ", *why, " (a sensor, a form, a join).")


def _values_clause(result: DriftResult) -> Phrase:
    changed = changed_values(result)
    if changed:
        return ("the values of ", *_names(changed), " differ from the reference")
    if not any(feature.tested for feature in result.features):
        return ("the values of the window differ from the reference",)
    return ("the values differ from the reference as a whole, though no single column stands out",)


def _missingness_clause(result: DriftResult) -> Phrase:
    changed = changed_missingness(result)
    if not changed:
        return ("cells are missing in other places or combinations than in the reference",)
    rises = [feature.missing_window > feature.missing_reference for feature in changed]
    how = "more" if all(rises) else "more or fewer" if any(rises) else "fewer"
    return (*_names(changed), f" {'has' if len(changed) == 1 else 'have'} {how} missing values than before")


def _names(features: Sequence[FeatureFinding]) -> Phrase:
    return join_names(feature.name for feature in features)
