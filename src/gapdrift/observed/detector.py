"""The detector on observed cells: fit, count, test."""

import hashlib
import zlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gapdrift._random import as_rng
from gapdrift._threads import limit_threads
from gapdrift._typing import Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.drift.reference import CATEGORY_RULE, MIN_REFERENCE, MIN_WINDOW
from gapdrift.errors import InputError
from gapdrift.execution import MAX_LEARNED
from gapdrift.inference.combination import Component, combine, sidak, sidak_all
from gapdrift.inference.correlations import Correlations, fisher
from gapdrift.inference.findings import combine_verdict, holm
from gapdrift.inference.levels import cell_counts, with_levels
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.observed.blocks import largest
from gapdrift.observed.columns import ColumnTest, category_test, number_test
from gapdrift.observed.conditions import Conditions, conditions, pooled_variance, standard_correlation
from gapdrift.observed.counter import count
from gapdrift.observed.functions import Functions, fit_functions
from gapdrift.observed.location import location
from gapdrift.observed.missingness import patterns, rate_p_values, rates_together, smallest_rate
from gapdrift.observed.null import MAX_ROWS, ReferenceNull, fit_null, product_kinds, triple_places
from gapdrift.observed.products import entries_of, product_entries, products_together
from gapdrift.observed.sums import Side
from gapdrift.results import DriftResult, FeatureFinding, Finding
from gapdrift.tables.encoding import Encoded, encode
from gapdrift.tables.frame import Table
from gapdrift.tables.histograms import HistogramAxis, find_facts
from gapdrift.tables.schema import Schema, learn_schema

__all__ = ["ObservedDetector"]

N_DRAWS = 2_000

LOCATION_WEIGHT, INTERACTIONS_WEIGHT = 0.3, 0.4

MOVED = 0.05


@dataclass(frozen=True, eq=False)
class ObservedReference:
    """All that was learned."""

    schema: Schema
    functions: Functions
    null: ReferenceNull
    evidence: Evidence
    axes: tuple[HistogramAxis, ...]
    origin: str


class ObservedDetector:
    """Drift of observed cells."""

    def __init__(self, alpha: float = 0.05, random_state: Any = None) -> None:
        self.alpha, self.random_state = alpha, random_state

    def fit(self, reference: Any) -> Self:
        """Fit."""
        rng = as_rng(self.random_state)
        with limit_threads(1):
            table = Table.read(reference)
            schema = learn_schema(table, category_rule=CATEGORY_RULE)
            sample = table
            if table.n_rows > MAX_LEARNED:
                sample = table.take(np.sort(rng.choice(table.n_rows, MAX_LEARNED, replace=False, shuffle=False)))
            rows = encode(sample, schema, pool_singletons=True)
            if len(rows) < MIN_REFERENCE:
                raise InputError("few rows")
            functions = fit_functions(rows, schema)
            some = rows if len(rows) <= MAX_ROWS else rows.take(rng.choice(len(rows), MAX_ROWS, replace=False))
            codes = functions.codes(some)
            values, observed = functions.values(codes)
            order = rng.permutation(len(some))
            null = fit_null(functions, np.ascontiguousarray(values[order]), np.ascontiguousarray(observed[order]), codes)
            axes = tuple(
                HistogramAxis((), (), (*c.categories, "(other)") if c.kind == "category" else ()) for c in schema.columns
            )
            origin = hashlib.sha256(functions.fingerprint()).hexdigest()[:16]
            everything = rows if sample is table else encode(table, schema, pool_singletons=True)
            evidence = self._count(everything, functions, axes, schema, origin)
        self.reference_ = ObservedReference(schema, functions, null, evidence, axes, origin)
        return self

    @staticmethod
    def _count(rows: Encoded, functions: Functions, axes: Any, schema: Schema, origin: str) -> Evidence:
        facts = find_facts(rows, axes, schema.owner)
        return Evidence(len(rows), count(functions, rows), origin, rows.notes, facts)

    def count(self, table: Any) -> Evidence:
        """Evidence of rows."""
        own = self.reference_
        with limit_threads(1):
            return self._count(encode(table, own.schema), own.functions, own.axes, own.schema, own.origin)

    def test(self, window: Any) -> DriftResult:
        """Result."""
        evidence = window if isinstance(window, Evidence) else self.count(window)
        with limit_threads(1):
            return _test(self.reference_, evidence, self.alpha)


Part = tuple[Component | None, float, Finding | None]


def _uniform(seed: int) -> Vector:
    return np.random.default_rng(seed).random(N_DRAWS)


def _component(name: str, p_value: float | None, seed: int) -> Component | None:
    return None if p_value is None else Component(name, p_value, _uniform(seed))


def _test(reference: ObservedReference, window: Evidence, alpha: float) -> DriftResult:
    n_rows = reference.evidence.n_rows, window.n_rows
    if window.n_rows < MIN_WINDOW:
        nothing = Finding("values", None, None, 1.0, None, reason="few rows")
        return DriftResult(None, 1.0, alpha, *n_rows, nothing)
    sides = Side(reference.functions, reference.evidence), Side(reference.functions, window)
    null = reference.null.as_rare_as(pooled_variance(sides))
    correlation = standard_correlation(null, sides)
    changed = conditions(null, sides, correlation)
    columns = _columns(reference, sides, changed)
    where = location(null, sides, correlation, changed)
    owner = reference.functions.function_owner
    explained = changed.explained(owner, 1.0 / np.maximum(sides[0].n_own, 1) + 1.0 / np.maximum(sides[1].n_own, 1))
    kinds = product_kinds(reference.functions, null.products)
    entries = [product_entries(null, sides, *kind) for kind in kinds]
    away = [np.maximum(explained[first], explained[second]) for first, second in kinds]
    together = products_together(null, sides, explained)
    three, away_three = _triples(reference, null, sides, explained)
    alarming = [test for test in columns if test is not None and test.can_alarm]
    distributions = None
    if alarming:
        number = _independent_columns(reference, correlation, len(alarming))
        distributions = sidak(min(test.p_value for test in alarming), number)
    parts = [
        _part(
            "location",
            [
                ("largest", None if where is None else largest(where.entries, null.shares[0], where.explained), 0.5),
                ("together", None if where is None else where.together.p_value, 0.5),
            ],
            LOCATION_WEIGHT,
        ),
        _part(
            "dependence",
            [
                ("largest", largest(entries[0], null.shares[1], away[0]), 0.5),
                ("together", None if together is None else together.p_value, 0.5),
            ],
            1.0,
        ),
        _part(
            "interactions",
            [
                ("pairs", largest(entries[1], null.shares[2], away[1]), 0.5),
                ("triples", largest(three, null.shares[3], away_three), 0.5),
            ],
            INTERACTIONS_WEIGHT,
        ),
        _part("distributions", [("largest", distributions, 1.0)], 1.0),
    ]
    values = _finding("values", parts)
    missingness, rates = _missingness(reference, sides, changed)
    p_value = combine_verdict(values, missingness)
    drift: bool | None = p_value < alpha
    if not values.determined and (missingness is None or p_value >= alpha):
        drift = None
    features = _features(reference, sides, columns, (kinds, entries, away), (three, away_three), rates)
    return DriftResult(drift, p_value, alpha, *n_rows, values, missingness, features)


def _part(name: str, tests: list[tuple[str, float | None, float]], weight: float) -> Part:
    seeds = zlib.crc32(name.encode())
    made = [_component(each, p_value, seeds + place) for place, (each, p_value, _) in enumerate(tests)]
    whole = combine(name, [(component, share) for component, (*_, share) in zip(made, tests, strict=True)])
    if whole is None:
        return None, weight, None
    leaves = tuple(_leaf(f"{name} {part.name}", part.p_value) for part in made if part is not None)
    return whole, weight, Finding(name, None, None, max(whole.p_value, SMALLEST_P), 0.0, parts=leaves)


def _leaf(name: str, p_value: float) -> Finding:
    return Finding(name, None, None, max(p_value, SMALLEST_P), 0.0)


def _finding(name: str, parts: list[Part]) -> Finding:
    whole = combine(name, [(component, weight) for component, weight, _ in parts])
    if whole is None:
        return Finding(name, None, None, 1.0, None, reason="No statistic varies enough to be tested.")
    found = tuple(part for *_, part in parts if part is not None)
    return Finding(name, None, None, max(whole.p_value, SMALLEST_P), 0.0, parts=found)


def _independent_columns(reference: ObservedReference, correlation: Vector, number: int) -> float:
    """Independent columns that so many are worth: tests of columns go together as squares of their correlations."""
    functions = reference.functions
    if number < 2:
        return 1.0
    own = correlation[: len(functions.columns), : len(functions.columns)]
    owner = functions.function_owner[: len(functions.columns)]
    n_inputs = len(functions.inputs)
    strongest = np.zeros((n_inputs, n_inputs))
    np.maximum.at(strongest, (owner[:, None], owner[None, :]), np.abs(own))
    values = np.maximum(np.linalg.eigvalsh(strongest**2), 0.0)
    return max(1.0, min(float(np.sqrt(values).sum() ** 2 / values.sum()) / n_inputs, 1.0) * number)


def _columns(reference: ObservedReference, sides: tuple[Side, Side], changed: Conditions) -> list[ColumnTest | None]:
    functions, found = reference.functions, []
    where = np.full(len(functions.axes), -1)
    where[functions.inputs] = np.arange(len(functions.inputs))
    explained = np.zeros(len(functions.axes))
    for place, axis in enumerate(functions.axes):
        before, after = (side.cells(place) for side in sides)
        if not axis.n_codes:
            found.append(None)
            continue
        scale = 1.0 / max(before.sum(), 1.0) + 1.0 / max(after.sum(), 1.0)
        if where[place] >= 0:
            explained[place] = changed.moved[where[place]] / np.sqrt(scale)
        if functions.is_number[place]:
            found.append(number_test(before, after, axis.steps[:, 0] / 32.0, explained[place]))
        else:
            found.append(None)
    labelled = [place for place, axis in enumerate(reference.axes) if axis.labels]
    if labelled:
        counts = [
            tuple(_by_label(reference.axes[place], side.cells(place)) for side in sides) for place in range(len(found))
        ]
        flat = [np.concatenate([pair[side] for pair in counts]) for side in (0, 1)]
        facts = reference.evidence.facts, sides[1].evidence.facts
        cells = cell_counts(reference.axes, (flat[0], facts[0]), (flat[1], facts[1]))
        tests = [
            category_test(*cells[place], explained[place]) if reference.axes[place].labels else None
            for place in range(len(found))
        ]
        old = [None if t is None else _Old(t.p_value, t.effect_size, t.p_value, t.can_alarm) for t in tests]
        old = with_levels(old, reference.axes, *facts, explained)
        for place in labelled:
            test = old[place]
            found[place] = None if test is None else ColumnTest(test.p_value, test.effect_size, test.can_alarm)
    return found


from gapdrift.inference.columns import ColumnTest as _Old  # noqa: E402


def _by_label(axis: HistogramAxis, counts: Vector) -> Vector:
    n_own = max(len(axis.labels) - 1, 0)
    return np.append(counts[:n_own], counts[n_own:].sum()) if axis.labels else np.zeros(0)


def _triples(reference: ObservedReference, null: ReferenceNull, sides: tuple[Side, Side], explained: Vector) -> tuple[Any, Vector]:
    functions = reference.functions
    pair, third = triple_places(functions)
    own, n_columns, n_inputs = functions.function_owner, len(functions.columns), len(functions.inputs)
    means, rows = [], []
    for side in sides:
        counts = side.triples[:, n_columns + n_inputs :][pair, own[third]] if len(pair) else np.zeros(0)
        means.append(side.triples[pair, third] / np.maximum(counts, 1.0) if len(pair) else np.zeros(0))
        rows.append(counts)
    found = entries_of(means[1] - means[0], null.triples, *rows)
    first, second = functions.pairs[0][pair], functions.pairs[1][pair]
    return found, np.maximum(np.maximum(explained[first], explained[second]), explained[third])


def _missingness(
    reference: ObservedReference, sides: tuple[Side, Side], changed: Conditions
) -> tuple[Finding | None, Vector]:
    p_values = rate_p_values(sides)
    smallest = smallest_rate(p_values, sides, 1.0)
    if smallest is None:
        return None, p_values
    together = rates_together(sides)
    parts = [
        _part(
            "rates",
            [("largest", smallest, 0.5), ("together", None if together is None else together.p_value, 0.5)],
            1.0,
        ),
        _part("patterns", [("largest", patterns(sides, 1.0), 1.0)], 0.5),
        _part("conditions", [("largest", changed.single, 0.5), ("together", changed.together, 0.5)], 0.5),
    ]
    return _finding("missingness", parts), p_values


def _features(
    reference: ObservedReference, sides: Any, columns: list[ColumnTest | None], products: Any, three: Any, rates: Vector
) -> tuple[FeatureFinding, ...]:
    functions = reference.functions
    own = np.array([1.0 if test is None else test.p_value for test in columns])
    effects = np.array([0.0 if test is None else test.effect_size for test in columns])
    found = own.copy()
    for kind, (p_values, involved) in enumerate(_relations(reference, sides, products, three)):
        size = len(own)
        surest, number = np.ones(size), np.bincount(involved.ravel(), minlength=size)
        for place in range(involved.shape[1]):
            column, rest = involved[:, place], np.delete(involved, place, axis=1)
            others = np.where(rest == column[:, None], 1.0, own[rest]).min(axis=1)
            laid = (p_values < others) & ((kind == 0) | (others > MOVED))
            np.minimum.at(surest, column, np.where(laid, p_values, 1.0))
        found = np.minimum(found, np.where(surest < 1.0, sidak_all(surest, np.maximum(number, 1).astype(float)), 1.0))
    found = np.maximum(np.array([sidak(float(p), 3.0) for p in found]), SMALLEST_P)
    adjusted, missing_adjusted = holm(found), holm(np.maximum(rates, SMALLEST_P))
    return tuple(
        FeatureFinding(
            column.name,
            float(sides[0].missing[place] / sides[0].n_rows),
            float(sides[1].missing[place] / sides[1].n_rows),
            float(found[place]),
            float(adjusted[place]),
            float(effects[place]),
            float(rates[place]),
            float(missing_adjusted[place]),
        )
        for place, column in enumerate(reference.schema.columns)
    )


def _relations(reference: ObservedReference, sides: Any, products: Any, three: Any) -> list[tuple[Vector, Any]]:
    """p-values of products, and the input columns that each is of: plain ones, others, and of three."""
    functions = reference.functions
    kinds, entries, away = products
    column = functions.inputs[functions.function_owner]
    found = []
    for kind, ((first, second), entry, explained) in enumerate(zip(kinds, entries, away, strict=True)):
        p_values = np.where(entry.weights > 0.5, entry.p_values(explained), 1.0)
        if kind == 0:
            sides_of = [
                Correlations(
                    side.covariance[first, second]
                    / np.sqrt(np.maximum(np.diag(side.covariance)[first] * np.diag(side.covariance)[second], 1e-9)),
                    side.rows[first, second],
                )
                for side in sides
            ]
            p_values = np.maximum(p_values, fisher(*sides_of))
        found.append((p_values, np.column_stack([column[first], column[second]])))
    pair, third = triple_places(functions)
    entry, explained = three
    if len(pair):
        first, second = functions.pairs[0][pair], functions.pairs[1][pair]
        p_values = np.where(entry.weights > 0.5, entry.p_values(explained), 1.0)
        found.append((p_values, np.column_stack([column[first], column[second], column[third]])))
    return found
