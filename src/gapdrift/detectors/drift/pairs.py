"""Pairs of columns whose relation changed: which, how surely, and how strongly related they were and are."""

from collections.abc import Sequence

import numpy as np

from gapdrift._typing import Indices, Vector
from gapdrift.counting.functions import CATEGORY_STEPS, STEPS, Functions
from gapdrift.counting.sums import Side
from gapdrift.detectors.describing import ColumnCounts, category_at, counts_of
from gapdrift.inference.combination import sidak_all
from gapdrift.inference.findings import holm
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.inference.products import correlations, fisher
from gapdrift.results import PairFinding, PairSide
from gapdrift.tables.schema import Schema

__all__ = ["pair_findings"]

CLEAR = 0.001
"""p-value below which a correlation changed, although something else of the pair changed more surely."""

MAX_PAIRS = 20
"""Pairs that are returned, at most: the surest."""

TICKS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Scores at which the values of a pair of columns are shown."""

Products = tuple[Indices, Indices, Vector]
"""First and second function of some products, and the p-value of each product."""


def pair_findings(
    schema: Schema, sides: tuple[Side, Side], products: Sequence[Products], alone: Vector
) -> tuple[PairFinding, ...]:
    """Findings about pairs of input columns, the surest first.

    Parameters
    ----------
    schema : Schema
    sides : pair of Side
    products : sequence of (first, second, p-values)
        Tests of products of two of `Functions.function_owner`, the first before the second.
    alone : (input columns,) array
        p-value of each column by its own cells.

    Notes
    -----
    A product changes as well where its columns are shifted or spread wider, each by itself, and that is no change of
    their relation. So a pair counts only where its correlation, which does not depend on means and spreads, has changed
    too (Fisher's z; the p-value is the larger of both), and where it is surer to have changed than each of its columns.
    """
    functions = sides[0].functions
    first, second, p_values = (np.concatenate(parts) for parts in zip(*products, strict=True))
    column = functions.inputs[functions.function_owner]
    apart = np.flatnonzero(column[first] != column[second])
    if not len(apart):
        return ()
    first, second, p_values = first[apart], second[apart], p_values[apart]
    before, after = (correlations(side, first, second) for side in sides)
    p_values = np.maximum(p_values, fisher(before, after))
    low, high = np.sort([column[first], column[second]], axis=0)
    pair, group, sizes = np.unique(low * len(functions.axes) + high, return_inverse=True, return_counts=True)
    order = np.lexsort((p_values, group))
    surest = order[np.searchsorted(group[order], np.arange(len(pair)))]
    found = np.maximum(sidak_all(p_values[surest], sizes.astype(float)), SMALLEST_P)
    found = np.where(found < np.minimum(alone[low[surest]], alone[high[surest]]), found, 1.0)
    adjusted = holm(found)
    # Of pairs that are equally sure, those that changed more come first.
    change = np.abs(after.values - before.values)[surest]
    chosen = np.lexsort((-change, found))[:MAX_PAIRS]
    chosen = chosen[found[chosen] < 1.0]
    # What is made of a score is shown as the score.
    scores = np.concatenate([np.arange(len(functions.columns)), functions.numbers])
    one, two = scores[first[surest[chosen]]], scores[second[surest[chosen]]]
    straight = fisher(*(correlations(side, one, two) for side in sides)) < CLEAR
    straight |= second[surest[chosen]] < len(functions.columns)
    columns = counts_of(sides[0])
    return tuple(
        _finding(schema, sides, columns, places, p_values, is_straight=is_straight)
        for places, p_values, is_straight in zip(
            zip(one.tolist(), two.tolist(), strict=True),
            zip(found[chosen].tolist(), adjusted[chosen].tolist(), strict=True),
            straight.tolist(),
            strict=True,
        )
    )


def _finding(
    schema: Schema,
    sides: tuple[Side, Side],
    columns: Sequence[ColumnCounts],
    places: tuple[int, int],
    p_values: tuple[float, float],
    *,
    is_straight: bool,
) -> PairFinding:
    one, two = places
    before, after = (_side(side, one, two) for side in sides)
    functions = sides[0].functions
    first, second = functions.owner[functions.columns[[one, two]]].tolist()
    categories = category_at(schema, functions, one), category_at(schema, functions, two)
    ticks = tuple(
        tuple(columns[place].values_at(TICKS).tolist()) if functions.is_number[place] else ()
        for place in (first, second)
    )
    change = abs(after.correlation - before.correlation)
    names = schema.names[first], schema.names[second]
    return PairFinding(*names, *p_values, change, is_straight, before, after, categories, (ticks[0], ticks[1]))


def _side(side: Side, one: int, two: int) -> PairSide:
    """Two scores on one side: their means over the rows that have both, their spreads over those that have each."""
    functions = side.functions
    units = [_unit(functions, place) for place in (one, two)]
    found = correlations(side, np.array([one]), np.array([two]))
    owner = functions.function_owner
    means = side.means_with[one, owner[two]], side.means_with[two, owner[one]]
    spreads = np.sqrt(np.maximum(np.diag(side.covariance)[[one, two]], 0.0))
    return PairSide(
        int(found.n_rows[0]),
        float(np.clip(found.values[0], -1.0, 1.0)),
        (float(means[0] / units[0]), float(means[1] / units[1])),
        (float(spreads[0] / units[0]), float(spreads[1] / units[1])),
    )


def _unit(functions: Functions, place: int) -> float:
    return STEPS if functions.is_number[functions.owner[functions.columns[place]]] else CATEGORY_STEPS
