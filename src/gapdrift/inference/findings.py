"""Findings of a comparison: values, missingness, what is blamed, and the verdict they add up to."""

import zlib
from typing import NamedTuple

import numpy as np

from gapdrift._typing import Indices, Mask, Vector
from gapdrift.inference.blocks import largest
from gapdrift.inference.combination import N_DRAWS, Component, combine, sidak, sidak_all
from gapdrift.inference.comparison import Comparison
from gapdrift.inference.missingness import patterns, rate_of_all, rate_p_values, rates_together, smallest_rate
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.inference.products import correlations, fisher
from gapdrift.results import Finding

__all__ = ["FeatureTests", "combine_verdict", "feature_tests", "holm", "missingness_finding", "values_finding"]

VALUES_SHARE = 0.9
"""Share of the false alarms that the verdict spends on values; the rest is for missingness."""

WEIGHTS = {"location": 0.3, "dependence": 1.0, "interactions": 0.4, "distributions": 1.0}
"""Weights of the tests of values. `benchmarks.weights` compares them with others on drifts drawn at random."""

MISSING_WEIGHTS = {"rates": 1.0, "patterns": 0.5, "conditions": 0.5}
"""Weights of the tests of missingness."""

MOVED = 0.05
"""p-value of a column's own values up to which products with it, but for plain ones, blame no other column."""

N_BLAMED = 3.0
"""Tests that blame a column: its own, and those of two kinds of products."""

Tests = list[tuple[str, float | None]]


class FeatureTests(NamedTuple):
    """p-values and effect sizes of the input columns, and whether they are those of a product: (columns,) arrays."""

    p_values: Vector
    effects: Vector
    by_product: Mask


def values_finding(comparison: Comparison) -> Finding:
    """Finding of the values: location, dependence, interactions and distributions."""
    shares, where = comparison.null.shares, comparison.location
    location: Tests = []
    if where is not None:
        location = [
            ("largest", largest(where.entries, shares[0], where.explained)),
            ("together", where.together.p_value),
        ]
    pairs, others, triples = (
        largest(each.entries, share, each.explained)
        for each, share in zip(comparison.products, shares[1:4], strict=True)
    )
    together = None if comparison.together is None else comparison.together.p_value
    effects = {
        "location": 0.0 if where is None else _surest(where.entries.p_values(where.explained), where.difference),
        "dependence": _surest(comparison.pairs.p_values, comparison.pairs.difference),
        "interactions": _surest(comparison.others.p_values, comparison.others.difference),
        "distributions": _column_effect(comparison),
    }
    tests: dict[str, Tests] = {
        "location": location,
        "dependence": [("largest", pairs), ("together", together)],
        "interactions": [("pairs", others), ("triples", triples)],
        "distributions": [("largest", _smallest_column(comparison))],
    }
    return _combined("values", tests, WEIGHTS, effects)


def missingness_finding(comparison: Comparison) -> Finding | None:
    """Finding of what is missing: rates, patterns and conditions; None where nothing is missing on either side."""
    sides, changed = comparison.sides, comparison.conditions
    smallest = smallest_rate(rate_p_values(sides), sides)
    if smallest is None:
        return None
    together = rates_together(sides)
    rates = [side.missing / side.n_rows for side in sides]
    tests: dict[str, Tests] = {
        "rates": [
            ("largest", smallest),
            ("together", None if together is None else together.p_value),
            ("all", rate_of_all(sides)),
        ],
        "patterns": [("largest", patterns(sides))],
        "conditions": [("largest", changed.single), ("together", changed.together)],
    }
    # Pairs of columns that are missing together are shares too, but a change of a rate is what users think of.
    effects = {"rates": float(np.abs(rates[1] - rates[0]).max(initial=0.0))}
    return _combined("missingness", tests, MISSING_WEIGHTS, effects)


def feature_tests(comparison: Comparison) -> FeatureTests:
    """p-value and effect size of each input column: its own observed values, and how they go with those of others.

    Notes
    -----
    A product of two columns or three is laid to one of them only where it is surer to have moved than each of the
    others by itself. Where two columns follow each other closely, a plain shift of one shows in their products more
    surely than in itself: so plain products count by their correlation as well, which no shift of a single column
    moves, and others only where none of the other columns seems to have moved at all.

    The effect size is that of the surest: of the column's own values (`ColumnTest`), or of a product, in products of
    standard deviations, which for two columns is about the change of their correlation.
    """
    own = np.array([1.0 if test is None else test.p_value for test in comparison.columns])
    effects = np.array([0.0 if test is None else test.effect_size for test in comparison.columns])
    found, by_product = own.copy(), np.zeros(len(own), dtype=bool)
    functions = comparison.sides[0].functions
    column = functions.inputs[functions.function_owner]
    for products in comparison.products:
        if not len(products.functions[0]):
            continue
        involved = np.column_stack([column[each] for each in products.functions])
        is_plain = products is comparison.pairs
        p_values = products.p_values
        if is_plain:
            p_values = np.maximum(
                p_values, fisher(*(correlations(side, *products.functions) for side in comparison.sides))
            )
        surest, place = _blame(involved, p_values, own, is_plain=is_plain)
        is_surer = surest < found
        found, by_product = np.where(is_surer, surest, found), by_product | is_surer
        effects = np.where(is_surer, np.abs(products.difference[place]), effects)
    return FeatureTests(np.maximum(sidak_all(found, N_BLAMED), SMALLEST_P), effects, by_product)


def _blame(involved: Indices, p_values: Vector, own: Vector, *, is_plain: bool) -> tuple[Vector, Indices]:
    """p-value of the surest product that is laid to each column, for their number; and which one it is."""
    size = len(own)
    surest, place = np.ones(size), np.zeros(size, dtype=np.intp)
    number = np.bincount(involved.ravel(), minlength=size).astype(float)
    for position in range(involved.shape[1]):
        column, rest = involved[:, position], np.delete(involved, position, axis=1)
        others = np.where(rest == column[:, None], 1.0, own[rest]).min(axis=1)
        laid = np.flatnonzero((p_values < others) & (is_plain | (others > MOVED)))
        # The surest comes last, and stays.
        laid = laid[np.argsort(-p_values[laid], kind="stable")]
        best, where = np.ones(size), np.zeros(size, dtype=np.intp)
        best[column[laid]], where[column[laid]] = p_values[laid], laid
        place = np.where(best < surest, where, place)
        surest = np.minimum(surest, best)
    return np.where(surest < 1.0, sidak_all(surest, np.maximum(number, 1.0)), 1.0), place


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


def _combined(name: str, tests: dict[str, Tests], weights: dict[str, float], effects: dict[str, float]) -> Finding:
    """Finding of several parts, each of which may be several tests of equal weight."""
    found = {part: _part(part, each) for part, each in tests.items()}
    whole = combine(name, [(component, weights[part]) for part, component in found.items()])
    if whole is None:
        return Finding(name, None, None, 1.0, None, reason="No statistic varies enough to be tested.")
    parts = tuple(
        Finding(part, None, None, max(each.p_value, SMALLEST_P), effects.get(part, 0.0))
        for part, each in found.items()
        if each is not None
    )
    effect = max(effects.get(part.name, 0.0) for part in parts)
    return Finding(name, None, None, max(whole.p_value, SMALLEST_P), effect, parts=parts)


def _part(name: str, tests: Tests) -> Component | None:
    components = [
        None if p_value is None else Component(name, p_value, _uniform(f"{name} {test}")) for test, p_value in tests
    ]
    return combine(name, [(component, 1.0) for component in components])


def _uniform(name: str) -> Vector:
    """Draws of p-values where nothing changed: tests are taken as independent of each other."""
    return np.random.default_rng(zlib.crc32(name.encode())).random(N_DRAWS)


def _smallest_column(comparison: Comparison) -> float | None:
    """p-value of the column whose distribution changed most surely, for their number; None where none is tested."""
    tested = [test.p_value for test in comparison.columns if test is not None and test.can_alarm]
    if not tested:
        return None
    return sidak(min(tested), max(_independent_columns(comparison) * len(tested), 1.0))


def _independent_columns(comparison: Comparison) -> float:
    """Independent columns that one is worth: their tests go together as squares of their correlations (Galwey)."""
    functions = comparison.sides[0].functions
    n_columns, n_inputs = len(functions.columns), len(functions.inputs)
    owner = functions.function_owner[:n_columns]
    strongest = np.eye(n_inputs)
    np.maximum.at(strongest, (owner[:, None], owner), np.abs(comparison.correlation[:n_columns, :n_columns]))
    values = np.maximum(np.linalg.eigvalsh(strongest**2), 0.0)
    return min(float(np.sqrt(values).sum() ** 2 / max(values.sum(), 1e-9)) / max(n_inputs, 1), 1.0)


def _surest(p_values: Vector, differences: Vector) -> float:
    """Size of the difference that is surest."""
    return float(np.abs(differences[p_values.argmin()])) if len(p_values) else 0.0


def _column_effect(comparison: Comparison) -> float:
    tested = [test for test in comparison.columns if test is not None and test.can_alarm]
    return min(tested, key=lambda test: test.p_value).effect_size if tested else 0.0
