"""The fitted reference of DriftDetector: composes schema, functions and tests; counts rows, tests evidence."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapdrift._threads import limit_threads
from gapdrift._typing import Mask, Vector
from gapdrift.counting.counter import count_table
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.functions import Functions, fit_functions
from gapdrift.counting.regions import Regions, default_n_regions, fit_regions
from gapdrift.counting.sums import Side
from gapdrift.detectors.describing import (
    counts_of,
    describe_column,
    describe_regions,
    share_of_copies,
)
from gapdrift.detectors.drift.batches import BatchStatistics
from gapdrift.detectors.drift.pairs import pair_findings
from gapdrift.errors import InputError
from gapdrift.execution import MAX_LEARNED, sample_note
from gapdrift.inference.comparison import Comparison, compare
from gapdrift.inference.findings import (
    FeatureTests,
    combine_verdict,
    feature_tests,
    holm,
    missingness_finding,
    values_finding,
)
from gapdrift.inference.missingness import rate_p_values
from gapdrift.inference.null import MAX_ROWS, ReferenceNull, fit_null
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.persistence.records import expect, expecting, stored
from gapdrift.results import DriftResult, FeatureFinding, Finding
from gapdrift.results.report.words import cut_text
from gapdrift.tables.encoding import encode, new_values_note, probe_rows
from gapdrift.tables.frame import Table
from gapdrift.tables.order import consecutive_rows_note
from gapdrift.tables.schema import CategoryRule, Schema, learn_schema

__all__ = ["DriftReference", "DriftSettings", "effect_unit", "fit_drift_reference"]

MIN_REFERENCE = 20
"""Reference rows below which nothing is fitted."""

MIN_WINDOW = 10
"""Window rows below which nothing is said."""

MIN_OBSERVED = 0.05
"""Share of observed cells of a window below which nothing is said of its values."""

MAX_FITTED = 5_000
"""Columns and categories that are fitted, at most: more would take minutes and gigabytes, even of a few rows."""

MAX_NAMED = 5
"""New categories of a column that a note names, at most: the most frequent ones."""

CATEGORY_RULE = CategoryRule(12, 0.1)
"""Twelve categories have their own column; of more, those with a tenth of the rows, the rest in groups."""


@dataclass(frozen=True)
class DriftSettings:
    """Settings of DriftDetector, checked.

    Parameters are those of `gapdrift.DriftDetector`, and whether users are told that consecutive rows are alike.
    """

    n_bins: int | None
    min_effect: float
    target: str | int | None
    categories: tuple[str | int, ...]
    ignore: tuple[str | int, ...]
    told_of_order: bool = True


@stored
@dataclass(frozen=True, eq=False)
class DriftReference:
    """All that DriftDetector learned from a reference. No row of it is kept.

    Parameters
    ----------
    schema : Schema
    functions : Functions
        What decides how a row counts.
    regions : Regions
        Which rows are alike, to explain a result.
    null : ReferenceNull
        How statistics vary where nothing changed.
    evidence : Evidence
        Of the reference itself.
    origin : str
        Fingerprint.
    min_effect : float
    notes : tuple of str
    """

    schema: Schema
    functions: Functions
    regions: Regions
    null: ReferenceNull
    evidence: Evidence
    origin: str
    min_effect: float
    notes: tuple[str, ...]

    def count(self, table: Any) -> Evidence:
        """Evidence of the rows of a table."""
        return count_table(table, self.schema, self.functions, self.regions, self.origin)

    def count_own(self, table: Any) -> Evidence:
        """Evidence of rows of the reference itself: categories that it has once count as unseen."""
        return count_table(table, self.schema, self.functions, self.regions, self.origin, pool_singletons=True)

    def batch_statistics(self, basis: Mapping[str, Vector] | None = None) -> BatchStatistics:
        """What is compared of batches, on the basis of this reference or of the one that they were learned by."""
        own = BatchStatistics.basis_of(self.functions, self.evidence) if basis is None else basis
        return BatchStatistics(self.functions, own)

    @property
    def n_bins(self) -> int:
        """Number of regions."""
        return len(self.regions)

    @property
    def missing_shares(self) -> tuple[float, ...]:
        """Share of missing cells of each column of the reference."""
        return tuple((Side(self.functions, self.evidence).missing / self.evidence.n_rows).tolist())

    def check_stored(self) -> None:
        """Check what was read from a file: the parts fit together, and rows can be counted."""
        schema, functions = self.schema, self.functions
        functions.check_fits(schema)
        self.regions.check_fits(functions)
        self.null.check_fits(functions)
        expect(self.min_effect >= 0, "a min_effect from 0")
        with expecting("a reference that counts"):
            counted = self.count(probe_rows(schema))
        self.evidence.check_stored_sums(self.origin, {name: array.shape for name, array in counted.sums.items()})

    def comparison(self, window: Evidence) -> Comparison:
        """All tests of the evidence of a window against that of the reference."""
        categories = tuple(column.categories if column.kind == "category" else () for column in self.schema.columns)
        sides = Side(self.functions, self.evidence), Side(self.functions, window)
        with limit_threads(1):
            return compare(self.null, sides, categories)

    def p_value(self, window: Evidence) -> float:
        """p-value of the verdict, without anything else."""
        comparison = self.comparison(window)
        return combine_verdict(values_finding(comparison), missingness_finding(comparison))

    def test(self, window: Evidence, alpha: float) -> DriftResult:
        """Result of the evidence of a window against that of the reference."""
        window.check_like(self.evidence)
        if window.n_rows < MIN_WINDOW:
            return _undetermined(self, window, alpha)
        return _test(self, window, alpha)


def fit_drift_reference(table: Any, settings: DriftSettings, rng: np.random.Generator) -> DriftReference:
    """Reference of DriftDetector: schema, functions, null distribution and own evidence."""
    schema = learn_schema(
        table,
        target=settings.target,
        categories=settings.categories,
        ignore=settings.ignore,
        category_rule=CATEGORY_RULE,
    )
    _check_width(schema)
    table = Table.read(table)
    sample, notes = _sample(table, rng)
    rows = encode(sample, schema, pool_singletons=True)
    if len(rows) < MIN_REFERENCE:
        raise InputError(
            f"The reference has {len(rows)} row(s), expected at least {MIN_REFERENCE}. Collect more, or join "
            "several windows into one reference."
        )
    notes = (*notes, *consecutive_rows_note(rows, schema)) if settings.told_of_order else notes
    functions = fit_functions(rows, schema)
    some = rows.take(rng.permutation(len(rows))[:MAX_ROWS])
    codes = functions.codes(some)
    n_regions = default_n_regions(table.n_rows) if settings.n_bins is None else settings.n_bins
    # Sums in single precision by two threads differ in digits that a result shows.
    with limit_threads(1):
        regions = fit_regions(functions, codes, n_regions, rng)
        null = fit_null(functions, codes[:, rng.permutation(codes.shape[1])])
    origin = _fingerprint(schema, functions, regions)
    evidence = count_table(table, schema, functions, regions, origin, pool_singletons=True)
    return DriftReference(
        schema, functions, regions, null, evidence, origin, settings.min_effect, (*schema.notes, *notes)
    )


def _check_width(schema: Schema) -> None:
    width = len(schema.owner)
    if width > MAX_FITTED:
        raise InputError(
            f"The reference has {width:,} columns and categories to compare, expected at most {MAX_FITTED:,}: more "
            "would take minutes and gigabytes. Leave some out (ignore), compare groups of columns one by one, or put a "
            "few principal components in their place."
        )


def _sample(table: Table, rng: np.random.Generator) -> tuple[Table, tuple[str, ...]]:
    """Rows to learn from: all, or a uniform sample of them; and notes."""
    if table.n_rows <= MAX_LEARNED:
        return table, ()
    chosen = np.sort(rng.choice(table.n_rows, MAX_LEARNED, replace=False, shuffle=False))
    return table.take(chosen), (sample_note(table.n_rows, MAX_LEARNED),)


def _fingerprint(schema: Schema, functions: Functions, regions: Regions) -> str:
    """Short text that differs where counts would."""
    digest = hashlib.sha256(repr((schema.named, schema.columns)).encode())
    digest.update(functions.fingerprint() + regions.centres.tobytes())
    return digest.hexdigest()[:16]


def _undetermined(reference: DriftReference, window: Evidence, alpha: float) -> DriftResult:
    reason = f"The window has {window.n_rows} row(s), expected at least {MIN_WINDOW}."
    finding = Finding("values", None, None, 1.0, None, reason=reason)
    notes = (*reference.notes, *sorted(window.notes), reason)
    return DriftResult(None, 1.0, alpha, reference.evidence.n_rows, window.n_rows, finding, warnings=notes)


def _test(reference: DriftReference, window: Evidence, alpha: float) -> DriftResult:
    comparison = reference.comparison(window)
    values = _hardly_seen(values_finding(comparison), comparison)
    missingness = missingness_finding(comparison)
    p_value = combine_verdict(values, missingness)
    drift, notes = _decide(reference, values, missingness, p_value, alpha)
    features = _features(reference, comparison, feature_tests(comparison))
    noted = {new_values_note(feature.name) for feature in features if feature.n_new_categories}
    alone = np.array([1.0 if test is None else test.p_value for test in comparison.columns])
    products = [(each.functions[0], each.functions[1], each.p_values) for each in (comparison.pairs, comparison.others)]
    regions, region_notes = describe_regions(
        reference.schema, reference.regions, comparison.sides, rate_p_values(comparison.sides)
    )
    return DriftResult(
        drift,
        p_value,
        alpha,
        reference.evidence.n_rows,
        window.n_rows,
        values,
        missingness,
        features,
        regions,
        (
            *reference.notes,
            *sorted(window.notes - noted),
            *_empty_notes(reference, comparison),
            *_explained_notes(reference, comparison, alpha),
            *_new_notes(reference, features, alpha),
            *region_notes,
            *notes,
        ),
        pairs=pair_findings(reference.schema, comparison.sides, products, alone),
        duplicates=share_of_copies(reference.evidence, window),
    )


def _new_notes(reference: DriftReference, features: Iterable[FeatureFinding], alpha: float) -> tuple[str, ...]:
    """Sentences about values that are new, with their counts.

    Some of many rare categories are new in every window: they are worth a word where the column changed.
    """
    notes = []
    for column, feature in zip(reference.schema.columns, features, strict=True):
        if feature.n_new_categories and (not column.pooled or feature.adjusted_p_value < alpha):
            named = list(feature.new_categories.items())[:MAX_NAMED]
            rest = feature.n_new_categories - len(named)
            words = ", ".join(f"{cut_text(name, 48)!r} ({count:,})" for name, count in named)
            more = f" and {rest:,} more" if rest else ""
            new = f"{feature.n_new_categories:,} value(s) that the reference does not have"
            notes.append(f"Column {feature.name!r} has {new}, in {feature.n_new_cells:,} cell(s): {words}{more}.")
    return tuple(notes)


def _empty_notes(reference: DriftReference, comparison: Comparison) -> tuple[str, ...]:
    columns = zip(reference.schema.columns, _is_empty(comparison), strict=True)
    return tuple(
        f"Column {column.name!r} has no value in the window: only its missing values are compared."
        for column, empty in columns
        if empty and column.kind != "empty"
    )


def _explained_notes(reference: DriftReference, comparison: Comparison, alpha: float) -> tuple[str, ...]:
    """Sentences about columns whose difference may be one of the cells that are missing, and not of the values."""
    return tuple(
        f"Column {column.name!r} differs, but its cells are missing at other values than before, which may explain all "
        "of it: whether its values changed cannot be told."
        for column, is_explained in zip(reference.schema.columns, _is_explained(comparison, alpha), strict=True)
        if is_explained
    )


def _is_explained(comparison: Comparison, alpha: float) -> Mask:
    """Columns that differ by no more than changed conditions of missing cells may explain: (input columns,)."""
    return np.array(
        [test is not None and test.unguarded < alpha <= test.p_value for test in comparison.columns], dtype=bool
    )


def _hardly_seen(values: Finding, comparison: Comparison) -> Finding:
    """The finding of the values, undetermined where the window has next to none."""
    window = comparison.sides[1]
    has_values = np.unique(window.functions.owner)
    observed = 1.0 - float(window.missing[has_values].mean()) / window.n_rows if len(has_values) else 0.0
    if observed >= MIN_OBSERVED:
        return values
    reason = f"Only {observed:.1%} of the window's cells are observed: nothing can be said of its values."
    return Finding("values", None, None, 1.0, None, reason=reason)


def _is_empty(comparison: Comparison) -> Mask:
    """Whether a window has no value of an input column: (input columns,)."""
    window = comparison.sides[1]
    return np.asarray(window.missing >= window.n_rows)


def _decide(
    reference: DriftReference, values: Finding, missingness: Finding | None, p_value: float, alpha: float
) -> tuple[bool | None, tuple[str, ...]]:
    """Verdict, and sentences about it: a difference smaller than ``min_effect`` is no drift."""
    notes = () if values.determined else (values.reason,)
    if not values.determined and (missingness is None or p_value >= alpha):
        return None, notes
    if p_value >= alpha:
        return False, ()
    alarms = [finding for finding in (values, missingness) if finding is not None and finding.p_value < alpha]
    largest = max((finding.effect_size or 0.0 for finding in alarms), default=0.0)
    if largest >= reference.min_effect:
        return True, notes
    note = f"A difference was found, but its effect size {largest:.3g} is below min_effect {reference.min_effect:g}."
    return False, (*notes, note)


def _features(reference: DriftReference, comparison: Comparison, tests: FeatureTests) -> tuple[FeatureFinding, ...]:
    sides = comparison.sides
    missing_p = np.maximum(rate_p_values(sides), SMALLEST_P)
    empty = _is_empty(comparison)
    p_values = np.where(empty, 1.0, tests.p_values)
    missing_adjusted, adjusted = holm(missing_p), holm(p_values)
    undetermined = empty | _is_explained(comparison, 0.05)
    before, after = (counts_of(side) for side in sides)
    found = []
    for index, column in enumerate(reference.schema.columns):
        tested = column.kind != "empty" and not bool(undetermined[index])
        found.append(
            FeatureFinding(
                column.name,
                float(sides[0].missing[index] / sides[0].n_rows),
                float(sides[1].missing[index] / sides[1].n_rows),
                float(p_values[index]) if tested else 1.0,
                float(adjusted[index]) if tested else 1.0,
                float(tests.effects[index]) if tested else 0.0,
                float(missing_p[index]),
                float(missing_adjusted[index]),
                tested=tested,
                missing_tested=True,
                has_many=column.pooled,
                effect_unit=effect_unit(column.kind, by_product=bool(tests.by_product[index])) if tested else "",
                **describe_column(column, before[index], after[index]),
            )
        )
    return tuple(found)


def effect_unit(kind: str, *, by_product: bool) -> str:
    """What an effect size of a column is measured in."""
    if by_product:
        return "correlation"
    return "share of values" if kind == "category" else "standard deviations"
