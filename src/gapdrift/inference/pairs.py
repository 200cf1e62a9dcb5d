"""Pairs of columns whose relation changed: which, how clearly, and how strongly related they were and are."""

from typing import NamedTuple

import numpy as np

from gapdrift._typing import Indices, Mask, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.observed import STEPS, CrossedSums
from gapdrift.counting.statistics import sums_of
from gapdrift.inference.combination import sidak_all
from gapdrift.inference.comparison import Comparison
from gapdrift.inference.contrast import entry_p_values
from gapdrift.inference.correlations import Correlations, fisher, observed_correlations
from gapdrift.inference.findings import holm
from gapdrift.inference.observed import crossed_owner, product_entries
from gapdrift.inference.parts import sound_products
from gapdrift.inference.pearson import SMALLEST_P

__all__ = ["PairSide", "PairTest", "pair_tests"]

CLEAR = 0.001
"""p-value below which a correlation changed, although something else of the pair changed more surely."""

MAX_PAIRS = 20
"""Pairs that are returned, at most: the surest."""


class PairSide(NamedTuple):
    """Two matrix columns on one side, as normal scores of the reference.

    Parameters
    ----------
    n_rows : int or None
        Rows that have both cells; None where they were not counted.
    correlation : float
        Over these rows.
    means, spreads : pair of float
        Of each of the two, in standard deviations of the reference.
    """

    n_rows: int | None
    correlation: float
    means: tuple[float, float]
    spreads: tuple[float, float]


class Products(NamedTuple):
    """Tests of products of two.

    Parameters
    ----------
    entries : (products, 2) array of int
        What is multiplied: scores, or what is made of them (u and w).
    places : (products, 2) array of int
        Matrix columns of the two.
    p_values : (products,) array
    is_straight : (products,) array of bool
        Whether both are scores.
    """

    entries: Indices
    places: Indices
    p_values: Vector
    is_straight: Mask


class PairTest(NamedTuple):
    """Test of the relation of two input columns.

    Parameters
    ----------
    columns : pair of int
        Input columns.
    places : pair of int
        Matrix columns whose product changed most surely.
    p_value, adjusted_p_value : float
        Alone, and adjusted for the number of pairs (Holm).
    is_straight : bool
        Whether the correlation changed, and not only how far values lie from the middle.
    reference, window : PairSide
    """

    columns: tuple[int, int]
    places: tuple[int, int]
    p_value: float
    adjusted_p_value: float
    is_straight: bool
    reference: PairSide
    window: PairSide


def pair_tests(comparison: Comparison) -> list[PairTest]:
    """Tests of the pairs of input columns, the surest first.

    Notes
    -----
    A product changes as well where its columns are shifted or spread wider, each by itself, and that is no change of
    their relation. So a pair counts only where its correlation, which does not depend on means and spreads, has changed
    too (Fisher's z; the p-value is the larger of both), and where it is surer to have changed than each of its columns.
    With few columns these are products of observed cells; with many, products of expected scores.
    """
    crossed = CrossedSums(comparison.profile.owner, comparison.profile.is_category, len(comparison.profile.entropy))
    tested = _observed_products(comparison, crossed) if crossed.has_products else _expected_products(comparison)
    if not len(tested.p_values):
        return []
    correlate = _observed_correlations if crossed.is_whole else _expected_correlations
    before, after = (correlate(comparison, crossed, evidence, tested.entries) for evidence in _sides(comparison))
    p_values = np.maximum(tested.p_values, fisher(before, after))
    places = tested.places
    owner = comparison.profile.owner[places]
    low, high = owner.min(axis=1), owner.max(axis=1)
    keys = low * len(comparison.profile.entropy) + high
    pair, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.lexsort((p_values, group))
    surest = order[np.searchsorted(group[order], np.arange(len(pair)))]
    found = np.maximum(sidak_all(p_values[surest], sizes.astype(float)), SMALLEST_P)
    alone = np.array([1.0 if test is None else test.p_value for test in comparison.observed.columns])
    found = np.where(found < np.minimum(alone[low[surest]], alone[high[surest]]), found, 1.0)
    adjusted = holm(found)
    # Of pairs that are equally sure, those that changed more come first.
    change = np.abs(after.values - before.values)[surest]
    chosen = np.lexsort((-change, found))[:MAX_PAIRS].tolist()
    straight = (correlate(comparison, crossed, evidence, places[surest]) for evidence in _sides(comparison))
    is_straight = tested.is_straight[surest] | (fisher(*straight) < CLEAR)
    side_of = _observed_side if crossed.is_whole else _expected_side
    return [
        PairTest(
            (int(owner[surest[index], 0]), int(owner[surest[index], 1])),
            (int(places[surest[index], 0]), int(places[surest[index], 1])),
            float(found[index]),
            float(adjusted[index]),
            bool(is_straight[index]),
            *(side_of(comparison, crossed, evidence, places[surest[index]]) for evidence in _sides(comparison)),
        )
        for index in chosen
        if found[index] < 1.0
    ]


def _sides(comparison: Comparison) -> tuple[Evidence, Evidence]:
    return comparison.reference, comparison.window


def _observed_products(comparison: Comparison, crossed: CrossedSums) -> Products:
    first, second = product_entries(crossed)
    tests, owner = comparison.observed.crossed, crossed_owner(crossed)
    # What is made of a score belongs to the same matrix column.
    matrix = np.concatenate([np.arange(crossed.n_columns), crossed.numbers])
    n_pairs = len(first)
    kept = np.flatnonzero(tests.usable[:n_pairs] & (owner[first] != owner[second]))
    entries = np.column_stack([first[kept], second[kept]])
    return Products(entries, matrix[entries], tests.p_values[kept], tests.is_plain[kept])


def _observed_correlations(
    _comparison: Comparison, crossed: CrossedSums, evidence: Evidence, entries: Indices
) -> Correlations:
    return observed_correlations(evidence.sums["crossed"], crossed_owner(crossed), entries)


def _observed_side(_comparison: Comparison, crossed: CrossedSums, evidence: Evidence, places: Indices) -> PairSide:
    size, matrix = crossed.n_columns + len(crossed.numbers), evidence.sums["crossed"]
    one, two = places.tolist()
    of_one, of_two = size + crossed.owner[one], size + crossed.owner[two]
    n_rows = matrix[of_one, of_two]
    safe = max(n_rows, 1.0)
    means = matrix[one, of_two] / safe, matrix[two, of_one] / safe
    covariance = matrix[one, two] / safe - means[0] * means[1]
    spreads = [_spread(matrix, place, own) for place, own in ((one, of_one), (two, of_two))]
    correlation = covariance / max(spreads[0] * spreads[1], 1e-9)
    return PairSide(
        int(n_rows),
        float(np.clip(correlation, -1.0, 1.0)),
        (float(means[0] / STEPS), float(means[1] / STEPS)),
        (float(spreads[0] / STEPS), float(spreads[1] / STEPS)),
    )


def _spread(matrix: Vector, place: int, own: int) -> float:
    n_rows = max(matrix[own, own], 1.0)
    return float(np.sqrt(max(matrix[place, place] / n_rows - (matrix[place, own] / n_rows) ** 2, 0.0)))


def _expected_products(comparison: Comparison) -> Products:
    profile = comparison.profile
    products = sound_products(comparison)
    first, second = (profile.paired[places] for places in profile.layout.pairs)
    kept = np.flatnonzero(products.usable & (profile.owner[first] != profile.owner[second]))
    places = np.column_stack([first[kept], second[kept]])
    return Products(places, places, entry_p_values(products)[kept], np.ones(len(kept), dtype=bool))


def _expected_correlations(
    comparison: Comparison, _crossed: CrossedSums, evidence: Evidence, entries: Indices
) -> Correlations:
    profile, layout = comparison.profile, comparison.profile.layout
    n_rows = max(evidence.n_rows, 1)
    sums = sums_of(layout, evidence.sums) / n_rows
    size, (first, second) = len(profile.paired), layout.pairs
    products = np.zeros((size, size))
    products[first, second] = products[second, first] = sums[layout.dependence]
    means = sums[layout.location][profile.paired]
    covariance = products - np.outer(means, means)
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-9))
    one, two = np.searchsorted(profile.paired, entries.T)
    # Rows that would have both cells if cells were missing independently: what was filled in is no evidence.
    is_there = 1.0 - evidence.sums["missing"][profile.owner[entries.T]] / n_rows
    return Correlations(covariance[one, two] / (spread[one] * spread[two]), n_rows * is_there.prod(axis=0))


def _expected_side(comparison: Comparison, _crossed: CrossedSums, evidence: Evidence, places: Indices) -> PairSide:
    profile, layout = comparison.profile, comparison.profile.layout
    position = np.searchsorted(profile.paired, np.sort(places))
    first, second = layout.pairs
    sums = sums_of(layout, evidence.sums) / max(evidence.n_rows, 1)
    products = sums[layout.dependence]

    def product(one: int, two: int) -> float:
        return float(products[np.flatnonzero((first == one) & (second == two))[0]])

    low, high = position.tolist()
    means = sums[layout.location][np.sort(places)]
    spreads = [np.sqrt(max(product(own, own) - mean**2, 1e-9)) for own, mean in zip((low, high), means, strict=True)]
    correlation = (product(low, high) - means[0] * means[1]) / (spreads[0] * spreads[1])
    pairs = list(zip(means.tolist(), map(float, spreads), strict=True))
    one, two = pairs if places[0] <= places[1] else pairs[::-1]
    return PairSide(None, float(np.clip(correlation, -1.0, 1.0)), (one[0], two[0]), (one[1], two[1]))
