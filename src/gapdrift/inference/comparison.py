"""Evidence of a window beside that of a reference: all tests of it, each made once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.counting.functions import STEPS
from gapdrift.counting.sums import Side
from gapdrift.inference.blocks import Entries, Moments, entries_of
from gapdrift.inference.columns import ColumnTest, category_counts, category_test, number_test, with_many_categories
from gapdrift.inference.location import Location, location
from gapdrift.inference.missingness import Conditions, conditions, pooled_variance, standard_correlation
from gapdrift.inference.null import ReferenceNull
from gapdrift.inference.products import product_entries, product_kinds, products_together, triple_places

__all__ = ["Comparison", "Products", "compare"]


@dataclass(frozen=True, eq=False)
class Products:
    """Tests of the products of functions, entry by entry.

    Parameters
    ----------
    functions : tuple of (entries,) arrays of int
        The two or three functions of each product.
    entries : Entries
    difference : (entries,) array
        In products of standard deviations of the reference.
    explained : (entries,) array
        Standard deviations that changed conditions of missing cells may explain.
    """

    functions: tuple[Indices, ...]
    entries: Entries
    difference: Vector
    explained: Vector

    @property
    def p_values(self) -> Vector:
        """p-value of each product; 1 where it is not well known."""
        return np.where(self.entries.weights > 0.5, self.entries.p_values(self.explained), 1.0)


@dataclass(frozen=True, eq=False)
class Comparison:
    """All tests of a window against a reference.

    Parameters
    ----------
    null : ReferenceNull
    sides : pair of Side
        Reference and window.
    correlation : (functions, functions) array
        Of both sides together.
    conditions : Conditions
    columns : tuple of ColumnTest or None
        Of each input column; None where too little is observed.
    location : Location or None
    pairs, others, triples : Products
        Products of two u, of two functions of which one is w, and of three u.
    together : Moments or None
        Whitened sum of the products of two u.
    """

    null: ReferenceNull
    sides: tuple[Side, Side]
    correlation: Matrix
    conditions: Conditions
    columns: tuple[ColumnTest | None, ...]
    location: Location | None
    pairs: Products
    others: Products
    triples: Products
    together: Moments | None

    @property
    def products(self) -> tuple[Products, Products, Products]:
        """All products."""
        return self.pairs, self.others, self.triples


def compare(null: ReferenceNull, sides: tuple[Side, Side], categories: Sequence[Sequence[str]]) -> Comparison:
    """Comparison of two sides.

    Parameters
    ----------
    null : ReferenceNull
    sides : pair of Side
    categories : sequence of sequences of str
        Of each input column, the categories with a code of their own; empty for numbers.
    """
    null = null.as_rare_as(pooled_variance(sides))
    correlation = standard_correlation(sides)
    changed = conditions(null, sides, correlation)
    scale = sum((1.0 / np.maximum(side.n_own, 1.0) for side in sides), np.zeros(1))
    explained = changed.explained(sides[0].functions.function_owner, scale)
    pairs, others = (
        _products(null, sides, kind, explained) for kind in product_kinds(sides[0].functions, null.products)
    )
    return Comparison(
        null,
        sides,
        correlation,
        changed,
        _columns(sides, changed, categories),
        location(null, sides, correlation, changed),
        pairs,
        others,
        _triples(null, sides, explained),
        products_together(null.known, null.products, null.product_sum, sides, explained),
    )


def _products(
    null: ReferenceNull, sides: tuple[Side, Side], kind: tuple[Indices, Indices], explained: Vector
) -> Products:
    first, second = kind
    # The rows with both are selected twice.
    away = explained[first] + explained[second]
    return Products(kind, *product_entries(null.functions.variance, null.products, sides, *kind), away)


def _triples(null: ReferenceNull, sides: tuple[Side, Side], explained: Vector) -> Products:
    functions = sides[0].functions
    pair, third = triple_places(functions)
    first, second = functions.pairs[0][pair], functions.pairs[1][pair]
    means, rows = zip(*(side.of_three(pair, third) for side in sides), strict=True)
    away = explained[first] + explained[second] + explained[third]
    difference = means[1] - means[0]
    return Products((first, second, third), entries_of(difference, null.triples, *rows), difference / STEPS**3, away)


def _columns(
    sides: tuple[Side, Side], changed: Conditions, categories: Sequence[Sequence[str]]
) -> tuple[ColumnTest | None, ...]:
    functions, found = sides[0].functions, []
    scale = sum((1.0 / np.maximum(side.n_rows - side.missing, 1.0) for side in sides), np.zeros(1))
    explained = np.zeros(len(functions.axes))
    explained[functions.inputs] = changed.explained(np.arange(len(functions.inputs)), scale[functions.inputs])
    for place, (axis, own) in enumerate(zip(functions.axes, categories, strict=True)):
        before, after = (side.cells(place) for side in sides)
        if functions.is_number[place]:
            found.append(number_test(before, after, axis.steps[:, 0] / STEPS, float(explained[place])))
            continue
        tallies = [None if side.evidence.facts is None else side.evidence.facts.tallies[place] for side in sides]
        test = category_test(*category_counts(own, (before, after), tallies), float(explained[place]))
        found.append(with_many_categories(test, own, tallies, float(explained[place])))
    return tuple(found)
