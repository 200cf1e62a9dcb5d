"""Findings of a comparison: values, missingness, features, and the verdict they add up to."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from gapdrift._typing import Mask, Vector
from gapdrift.counting.profile import Profile
from gapdrift.inference.combination import Component, combine, sidak
from gapdrift.inference.comparison import Comparison
from gapdrift.inference.contrast import entry_p_values
from gapdrift.inference.observed import CrossedTest
from gapdrift.inference.parts import (
    bins_part,
    conditions_part,
    dependence_part,
    distributions_part,
    interactions_part,
    location_part,
    patterns_part,
    rates_part,
)
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.results import Finding

__all__ = [
    "FeatureTests",
    "combine_verdict",
    "feature_tests",
    "holm",
    "missingness_finding",
    "value_parts",
    "values_finding",
]

VALUES_SHARE = 0.9
"""Share of the false alarms that the verdict spends on values; the rest is for missingness."""

BINS_WEIGHT, INTERACTIONS_WEIGHT = 0.5, 0.4
"""Weights of these tests, where that of location, of dependence and of distributions is 1."""

MOVED = 0.05
"""p-value of a column's own values up to which products with it, but for plain ones, are laid to no other column."""

USUAL_BOUND = 1.96
"""Standard deviations beyond which an entry alarms at 0.05."""

LEAST_LEFT = 0.1
"""Share of its weight that a test keeps at least, however much is taken off its entries."""


@dataclass(frozen=True, eq=False)
class FeatureTests:
    """p-values and effect sizes of the input columns, and whether they are those of a product: (columns,) arrays."""

    p_values: Vector
    effects: Vector
    by_product: Mask


def values_finding(comparison: Comparison) -> Finding:
    """Finding of the values, with its parts."""
    return _finding("values", value_parts(comparison))


def value_parts(comparison: Comparison) -> list[tuple[Component | None, float, float]]:
    """Location, dependence, bins, distributions and interactions: each test, its weight and its effect size.

    Notes
    -----
    `benchmarks.weights` compares the weights with others on drifts drawn at random. Where changed conditions of missing
    cells explain something, a test has as much less weight as it alarms less often for what is taken off: the others
    would otherwise leave its share of the false alarms unused.
    """
    layout, observed = comparison.profile.layout, comparison.observed
    distributions, largest = distributions_part(comparison)
    interactions, strongest = interactions_part(comparison)
    first, second = (comparison.profile.owner[comparison.profile.paired[places]] for places in layout.pairs)
    of_pairs = np.maximum(observed.explained[first], observed.explained[second])
    of_columns = observed.mechanism.of_own[list(observed.tested)]
    of_products = observed.explained[observed.crossed.columns].max(axis=1, initial=0.0)
    return [
        (location_part(comparison), 1.0, _surest(comparison, layout.location)),
        (dependence_part(comparison), _left(of_pairs), _surest(comparison, layout.dependence)),
        (bins_part(comparison), BINS_WEIGHT, total_variation(comparison)),
        (distributions, _left(of_columns), largest),
        (interactions, INTERACTIONS_WEIGHT * _left(of_products), strongest),
    ]


def _left(explained: Vector) -> float:
    """Share of its false alarms at 0.05 that a test has left of whose entries so many standard deviations are taken."""
    if not explained.any():
        return 1.0
    level = 2.0 * ndtr(-USUAL_BOUND)
    return max(float(np.mean(2.0 * ndtr(-(USUAL_BOUND + explained)) / level)), LEAST_LEFT)


def missingness_finding(comparison: Comparison) -> Finding | None:
    """Finding of what is missing: rates, patterns and conditions; None where nothing is missing on either side."""
    layout, contrast = comparison.profile.layout, comparison.contrast
    if not contrast.usable[layout.missingness].any():
        return None
    rates, patterns = contrast.difference[layout.rates], contrast.difference[layout.patterns]
    parts = [
        (rates_part(comparison), 1.0, float(np.abs(rates).max(initial=0.0))),
        (patterns_part(comparison), 0.5, float(np.abs(patterns[:-1]).max(initial=0.0))),
        (conditions_part(comparison), 0.5, 0.0),
    ]
    found = _finding("missingness", parts)
    # Pairs of columns that are missing together are shares too, but a change of a rate is what users think of.
    return replace(found, effect_size=parts[0][2])


def feature_tests(comparison: Comparison) -> FeatureTests:
    """p-value and effect size of each input column: its own observed values, and how they go with those of others.

    Notes
    -----
    Expected scores of a column move where a column moves that it depends on, so that they blame no column.

    A product of two columns or three is laid to one of them only where it is surer to have moved than each of the
    others by itself. Where two columns follow each other closely, a plain shift of one shows in their products more
    surely than in itself: so plain products count by their correlation as well, which no shift of a single column
    moves, and others only where none of the other columns seems to have moved at all.

    The effect size is that of the surest: of the column's own values (`ColumnTest`), or of a product, in products of
    standard deviations, which for two columns is about the change of their correlation.
    """
    profile, observed = comparison.profile, comparison.observed
    own = np.array([1.0 if test is None else test.p_value for test in observed.columns])
    effects = np.array([0.0 if test is None else test.effect_size for test in observed.columns])
    size = len(profile.entropy)
    found = FeatureTests(np.ones(size), np.zeros(size), np.zeros(size, dtype=bool))
    for column in range(len(own)):
        tests = [(float(own[column]), float(effects[column])), *_products_of(observed.crossed, column, own)]
        surest = min(range(len(tests)), key=lambda place: tests[place][0])
        smallest, found.effects[column] = tests[surest]
        found.by_product[column] = surest > 0
        found.p_values[column] = max(sidak(smallest, len(tests)), SMALLEST_P)
    return found


def _products_of(crossed: CrossedTest, column: int, own: Vector) -> list[tuple[float, float]]:
    """p-value and effect size of the products that are laid to an input column: of plain ones, and of others."""
    found = []
    for chosen in (crossed.is_plain, ~crossed.is_plain):
        entries = np.flatnonzero(crossed.usable & chosen & (crossed.columns == column).any(axis=1))
        if len(entries):
            columns = crossed.columns[entries]
            others = np.where(columns == column, 1.0, own[columns]).min(axis=1)
            is_laid = (crossed.relation[entries] < others) & (crossed.is_plain[entries] | (others > MOVED))
            p_values = np.where(is_laid, crossed.relation[entries], 1.0)
            surest = int(p_values.argmin())
            found.append((sidak(float(p_values[surest]), len(entries)), float(crossed.effects[entries[surest]])))
    return found


def combine_verdict(values: Finding, missingness: Finding | None) -> float:
    """p-value of the verdict: values and missingness, which are nearly independent, share the false alarms."""
    if missingness is None or not missingness.determined:
        return values.p_value
    if not values.determined:
        return missingness.p_value
    share = VALUES_SHARE
    both = min(sidak(values.p_value, 1.0 / share), sidak(missingness.p_value, 1.0 / (1.0 - share)))
    return max(both, SMALLEST_P)


def holm(p_values: Vector) -> Vector:
    """p-values adjusted for their number, so that the chance of any false name is at most alpha (Holm).

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    raised = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return adjusted


def effect_units(profile: Profile) -> Vector:
    """Factors that bring differences to standard deviations, shares, or units of correlation: (statistics,)."""
    layout = profile.layout
    units = np.ones(layout.size)
    units[layout.location] = np.where(profile.is_category, np.sqrt(2.0), 1.0)
    first, second = layout.pairs
    units[layout.dependence] = np.where(first == second, 0.5, 1.0)
    return units


def total_variation(comparison: Comparison) -> float:
    """Share of the rows that would have to move to other bins."""
    before, after = comparison.shares
    return float(0.5 * np.abs(after - before).sum())


def _surest(comparison: Comparison, block: slice) -> float:
    """Effect size of the entry of a block with the smallest p-value."""
    p_values = entry_p_values(comparison.cautious.part(block))
    effects = np.abs(comparison.contrast.difference[block]) * effect_units(comparison.profile)[block]
    return float(effects[p_values.argmin()]) if len(p_values) else 0.0


def _finding(name: str, parts: list[tuple[Component | None, float, float]]) -> Finding:
    whole = combine(name, [(component, weight) for component, weight, _ in parts])
    if whole is None:
        return Finding(name, None, None, 1.0, None, reason="No statistic varies enough to be tested.")
    findings = tuple(
        Finding(part.name, part.statistic, part.degrees_of_freedom, max(part.p_value, SMALLEST_P), effect)
        for part, _, effect in parts
        if part is not None
    )
    effect_size = max(effect for part, _, effect in parts if part is not None)
    return Finding(name, None, None, max(whole.p_value, SMALLEST_P), effect_size, parts=findings)
