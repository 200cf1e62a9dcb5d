"""Which sides and columns of a result changed, and the order in which they are listed."""

import re
from collections.abc import Collection
from typing import Literal

from gapdrift.results.checks import Check
from gapdrift.results.report.words import shorten
from gapdrift.results.result import DriftResult, FeatureFinding

__all__ = [
    "Side",
    "State",
    "alarming_sides",
    "changed_missingness",
    "changed_values",
    "compares_missingness",
    "failed_checks",
    "has_changed_missingness",
    "has_changed_values",
    "mean_missing",
    "other_warnings",
    "rank_by_missingness",
    "rank_features",
    "state",
]

Side = Literal["values", "missingness", "concept"]
"""What a detector compares; the concept is how the label depends on the other columns."""

ABOUT_A_COLUMN = re.compile(
    r"""(?P<source>Reference:\ )?Column\ (?P<name>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\ (?P<what>.+)""",
    re.DOTALL | re.VERBOSE,
)
"""Sentence about one column, whose name is written as Python writes it."""

MAX_NAMED, MAX_NAME = 4, 40
"""Columns that are named in a sentence about several, and letters of each name."""

State = Literal["drift", "small", "none", "undetermined"]
"""Verdict in one word; "small" means that a difference was found, but below ``min_effect``."""


def state(result: DriftResult) -> State:
    """Verdict in one word."""
    if result.drift is None:
        return "undetermined"
    if result.drift:
        return "drift"
    return "small" if result.p_value < result.alpha else "none"


def alarming_sides(result: DriftResult) -> list[Side]:
    """Sides with a p-value below alpha or, if there are none, the side with the smallest p-value."""
    p_values: dict[Side, float] = {}
    if result.values.determined:
        p_values["values"] = result.values.p_value
    if result.missingness is not None:
        p_values["missingness"] = result.missingness.p_value
    if result.concept is not None and result.concept.determined:
        p_values["concept"] = result.concept.p_value
    alarming = [side for side, p_value in p_values.items() if p_value < result.alpha]
    return alarming or sorted(p_values, key=lambda side: p_values[side])[:1]


def has_changed_values(feature: FeatureFinding, alpha: float) -> bool:
    """Whether the adjusted p-value of a column's values is below alpha."""
    return feature.adjusted_p_value < alpha


def has_changed_missingness(feature: FeatureFinding, alpha: float) -> bool:
    """Whether the adjusted p-value of a column's share of missing cells is below alpha."""
    return feature.adjusted_missing_p_value < alpha


def changed_values(result: DriftResult) -> list[FeatureFinding]:
    """Columns whose values changed, the largest effect first."""
    changed = [feature for feature in result.features if has_changed_values(feature, result.alpha)]
    return sorted(changed, key=lambda feature: -feature.effect_size)


def changed_missingness(result: DriftResult) -> list[FeatureFinding]:
    """Columns whose share of missing cells changed, the largest change first."""
    changed = [feature for feature in result.features if has_changed_missingness(feature, result.alpha)]
    return sorted(changed, key=lambda feature: -_missing_change(feature))


def rank_features(result: DriftResult) -> list[FeatureFinding]:
    """All columns: changed values by effect size, changed missingness by its change, then the others by p-value."""

    def rank(feature: FeatureFinding) -> tuple[int, float]:
        if has_changed_values(feature, result.alpha):
            return 0, -feature.effect_size
        if has_changed_missingness(feature, result.alpha):
            return 1, -_missing_change(feature)
        return 2, feature.p_value if feature.tested else 2.0

    return sorted(result.features, key=rank)


def rank_by_missingness(result: DriftResult) -> list[FeatureFinding]:
    """All columns: changed missingness first, then by the change of the share of missing cells, then by that share."""

    def rank(feature: FeatureFinding) -> tuple[bool, float, float]:
        share = max(feature.missing_reference, feature.missing_window)
        return not has_changed_missingness(feature, result.alpha), -_missing_change(feature), -share

    return sorted(result.features, key=rank)


def compares_missingness(result: DriftResult) -> bool:
    """Whether the detector tests what is missing, even if nothing is."""
    return result.missingness is not None or any(feature.missing_tested for feature in result.features)


def mean_missing(result: DriftResult) -> tuple[float, float] | None:
    """Share of missing cells in the reference and in the window; None if the result lists no columns."""
    n_features = len(result.features)
    if not n_features:
        return None
    before = sum(feature.missing_reference for feature in result.features)
    after = sum(feature.missing_window for feature in result.features)
    return before / n_features, after / n_features


def other_warnings(result: DriftResult, told: Collection[str] = ()) -> list[str]:
    """Warnings that are not told elsewhere, those about the table first, then what several columns have in common.

    Parameters
    ----------
    result : DriftResult
    told : collection of str
        Sentences that are told elsewhere, beside the reason for an undetermined verdict.
    """
    told = {*told, result.values.reason if result.drift is None else ""}
    table: list[str] = []
    columns: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for warning in result.warnings:
        if warning in told:
            continue
        match = ABOUT_A_COLUMN.fullmatch(warning)
        if match is None:
            table.append(warning)
        else:
            columns.setdefault((match["source"] or "", match["what"]), []).append((match["name"], warning))
    # Sentences that hold for many columns come first.
    groups = sorted(columns.items(), key=lambda group: -len(group[1]))
    return [*table, *(_join_warnings(source, what, found) for (source, what), found in groups)]


def _join_warnings(source: str, what: str, found: list[tuple[str, str]]) -> str:
    """One sentence for all columns of which it holds; a few of them are named."""
    if len(found) == 1:
        return found[0][1]
    names = [shorten(name, MAX_NAME) for name, _ in found]
    if len(names) > MAX_NAMED:
        return f"{source}Each of the columns {', '.join(names[:MAX_NAMED])} and {len(names) - MAX_NAMED:,} more {what}"
    return f"{source}Each of the columns {', '.join(names[:-1])} and {names[-1]} {what}"


def failed_checks(result: DriftResult) -> list[Check]:
    """Checks beside drift that failed, with the default limits."""
    return [check for check in result.checks if not check.passed]


def _missing_change(feature: FeatureFinding) -> float:
    return abs(feature.missing_window - feature.missing_reference)
