"""The fitted reference of DriftDetector: composes schema, profile and tests; counts rows, tests evidence."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Matrix, Vector
from gapdrift.counting.counter import CHUNK, Counter, OutOfRangeError, machine_code
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.profile import Profile, fit_profile
from gapdrift.detectors.distributions import column_facts, share_of_copies, sides_of
from gapdrift.detectors.drift.batches import BatchStatistics
from gapdrift.detectors.drift.describe import describe_bin, describe_pair
from gapdrift.detectors.drift.shapes import describe_statistics, known_entries, known_missing
from gapdrift.errors import InputError
from gapdrift.execution import MAX_LEARNED, sample_note
from gapdrift.inference.comparison import Comparison, make_comparison
from gapdrift.inference.contrast import Shape, entry_p_values
from gapdrift.inference.findings import (
    FeatureTests,
    combine_verdict,
    feature_tests,
    holm,
    missingness_finding,
    values_finding,
)
from gapdrift.inference.null import Null
from gapdrift.inference.observed import CrossedShape
from gapdrift.inference.observed_null import ObservedNull
from gapdrift.inference.pairs import pair_tests
from gapdrift.inference.parts import ROWS_PER_COLUMN, ROWS_PER_FACTOR_COLUMN
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.models.gaussian import has_factors
from gapdrift.models.partition import ObservedBins
from gapdrift.persistence.records import expect, expect_shape, expecting, stored
from gapdrift.results import BinFinding, DriftResult, FeatureFinding, Finding
from gapdrift.results.report.words import cut_text
from gapdrift.tables.encoding import Encoded, encode, new_values_note, numeric_chunks, probe_rows
from gapdrift.tables.facts import Facts, empty_facts
from gapdrift.tables.frame import Table
from gapdrift.tables.histograms import FactFinder, HistogramAxis, find_facts, fit_axes
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

ENCODED_ROWS = 65_536
"""Rows of a large table encoded at once."""

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
    """All that DriftDetector learned from a reference.

    Parameters
    ----------
    schema : Schema
    profile : Profile
    shape : Shape
        Of the statistics of the reference's rows.
    values_null, missing_null : Null
        How these statistics vary together.
    observed_null : ObservedNull
        What tests of observed cells say by chance.
    crossed_shape : CrossedShape
        Of the products of observed cells.
    histogram_axes : tuple of HistogramAxis
    observed_bins : ObservedBins
        What the observed cells of the rows in each bin hold, as normal scores: the words for bins.
    evidence : Evidence
        Of the reference itself.
    not_compared : Facts
        About rows that were learned from and are not compared: about none, or about one half of the reference.
    origin : str
        Fingerprint.
    min_effect : float
    notes : tuple of str
    """

    schema: Schema
    profile: Profile
    shape: Shape
    values_null: Null
    missing_null: Null
    observed_null: ObservedNull
    crossed_shape: CrossedShape
    histogram_axes: tuple[HistogramAxis, ...]
    observed_bins: ObservedBins
    evidence: Evidence
    not_compared: Facts
    origin: str
    min_effect: float
    notes: tuple[str, ...]

    def count(self, table: Any) -> Evidence:
        """Evidence of the rows of a table."""
        return _count(self._counter, self.schema, self.origin, table)

    def count_own(self, table: Any) -> Evidence:
        """Evidence of rows of the reference itself: categories that it has once count as unseen."""
        return _count(self._counter, self.schema, self.origin, table, pool_singletons=True)

    def expected(self, rows: Encoded) -> Matrix:
        """Centred expected scores of encoded rows: (rows, matrix columns)."""
        return self._counter.expected(rows)

    def __getstate__(self) -> dict[str, Any]:
        """Fields alone: what counting has prepared is several times as large, and made anew where it is needed."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def batch_statistics(self, basis: Mapping[str, Vector] | None = None) -> BatchStatistics:
        """What is compared of batches, on the basis of this reference or of the one that they were learned by."""
        own = BatchStatistics.basis_of(self.profile, self.evidence) if basis is None else basis
        return BatchStatistics(self.profile, self.histogram_axes, own)

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.profile.centres)

    @property
    def missing_shares(self) -> tuple[float, ...]:
        """Share of missing cells of each column of the reference."""
        return tuple((self.evidence.sums["missing"] / self.evidence.n_rows).tolist())

    def check_stored(self) -> None:
        """Check what was read from a file: the parts fit together, and rows can be counted."""
        schema, profile = self.schema, self.profile
        expect(np.array_equal(profile.owner, schema.owner), "the columns of the schema")
        expect(len(profile.entropy) == len(schema.columns), "missingness of all columns")
        expect(len(self.histogram_axes) == len(schema.columns), "a histogram for each column")
        for axis, column in zip(self.histogram_axes, schema.columns, strict=True):
            axis.check_fits(column)
        self.observed_bins.check_fits(self.n_bins, len(schema.owner))
        expect(self.min_effect >= 0, "a min_effect from 0")
        expect_shape(self.shape.skewness, (profile.layout.size,), "skewness")
        layout = profile.layout
        expect(np.isin(known_entries(profile), self.values_null.entries).all(), "the correlation of the values")
        expect(np.isin(known_missing(layout), self.missing_null.entries).all(), "the correlation of missingness")
        self.crossed_shape.check_fits(self._counter.crossed)
        expect(len(self.observed_null.is_known) == len(schema.columns), "what is known of all columns")
        expect(len(self.not_compared.tallies) == len(schema.columns), "facts about all columns")
        with expecting("a reference that counts"):
            counted = self.count(probe_rows(schema))
        self.evidence.check_stored_sums(self.origin, {name: array.shape for name, array in counted.sums.items()})

    @cached_property
    def _counter(self) -> Counter:
        return Counter(self.profile, self.histogram_axes)

    def comparison(self, window: Evidence) -> Comparison:
        """The evidence of a window beside that of the reference, ready to be tested."""
        return make_comparison(
            self.profile,
            (self.shape, self.crossed_shape),
            (self.values_null, self.missing_null, self.observed_null),
            self.histogram_axes,
            self.evidence,
            window,
        )

    def test(self, window: Evidence, alpha: float) -> DriftResult:
        """Result of the evidence of a window against that of the reference."""
        window.check_like(self.evidence)
        if window.n_rows < MIN_WINDOW:
            return _undetermined(self, window, alpha)
        return _test(self, window, alpha)


def fit_drift_reference(table: Any, settings: DriftSettings, rng: np.random.Generator) -> DriftReference:
    """Reference of DriftDetector: schema, profile, null distribution and own evidence."""
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
    learned, compared, split = _split(sample, rows, schema, rng)
    profile = fit_profile(learned, compared, schema, rng, n_rows=table.n_rows, n_bins=settings.n_bins)
    histogram_axes = fit_axes(rows, schema)
    counter = Counter(profile, histogram_axes)
    described = describe_statistics(profile, counter, compared, rng)
    origin = _fingerprint(schema, profile, histogram_axes)
    if sample is not table or described.sums is None:
        evidence = _count(counter, schema, origin, table if sample is not table else compared, pool_singletons=True)
    else:
        evidence = Evidence(len(compared), described.sums, origin, compared.notes)
    if sample is table:
        evidence = replace(evidence, facts=find_facts(compared, histogram_axes, schema.owner))
    not_compared = find_facts(learned, histogram_axes, schema.owner) if split else empty_facts(len(schema.columns))
    reference = DriftReference(
        schema,
        profile,
        described.shape,
        described.values_null,
        described.missing_null,
        described.observed_null,
        described.crossed_shape,
        histogram_axes,
        described.observed_bins,
        evidence,
        not_compared,
        origin,
        settings.min_effect,
        (*schema.notes, *notes, *split),
    )
    # The same that it would make for its first window.
    vars(reference)["_counter"] = counter
    return reference


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


def _split(
    table: Table, rows: Encoded, schema: Schema, rng: np.random.Generator
) -> tuple[Encoded, Encoded, tuple[str, ...]]:
    """Rows to learn the profile from, rows to compare a window with, and notes.

    Both are all rows, unless columns are many for the rows, or for what is observed of them: a model then fits the
    rows it was learned from better than any others, and would take every window for drift. One half is learned from,
    the other compared. A few factors follow the noise of these rows sooner than a full covariance does, which is drawn
    towards independence.
    """
    wanted = ROWS_PER_FACTOR_COLUMN if has_factors(rows.values) else ROWS_PER_COLUMN
    if len(schema.owner) * wanted <= len(rows) * (1.0 - rows.missing.mean()):
        return rows, rows, ()
    order = rng.permutation(len(rows))
    half = len(rows) // 2
    note = (
        f"The reference has {len(rows)} rows for {len(schema.owner)} columns and categories: one half was learned "
        "from, the other is compared with windows."
    )
    # Encoded anew: what is tallied of categories is that of each half.
    halves = [encode(table.take(np.sort(part)), schema, pool_singletons=True) for part in (order[:half], order[half:])]
    return halves[0], halves[1], (note,)


def _count(counter: Counter, schema: Schema, origin: str, table: Any, *, pool_singletons: bool = False) -> Evidence:
    """Evidence of the rows of a table, encoded a part at a time."""
    if isinstance(table, Encoded):
        rows = encode(table, schema)
        facts = find_facts(rows, counter.histogram_axes, schema.owner)
        return Evidence(len(rows), counter.count([rows], len(rows)), origin, rows.notes, facts)
    source = Table.read(table)
    notes: set[str] = set()

    def parts(finder: FactFinder, *, plain: bool) -> Iterator[Encoded | Matrix]:
        for start in range(0, max(source.n_rows, 1), ENCODED_ROWS):
            part = source.slice(start, start + ENCODED_ROWS) if source.n_rows > ENCODED_ROWS else source
            chunks: Iterable[Encoded | Matrix] | None = numeric_chunks(part, schema, notes, CHUNK) if plain else None
            if chunks is None:
                rows = encode(part, schema, pool_singletons=pool_singletons)
                notes.update(rows.notes)
                chunks = [rows]
            for chunk in chunks:
                yield chunk
                finder.add(chunk)

    def count(*, plain: bool) -> Evidence:
        finder = FactFinder(counter.histogram_axes, schema.owner, machine_code(source.n_rows))
        sums = counter.count(parts(finder, plain=plain), source.n_rows)
        return Evidence(source.n_rows, sums, origin, frozenset(notes), finder.facts())

    try:
        return count(plain=True)
    except OutOfRangeError:
        # Encoding says which number it is.
        return count(plain=False)


def _fingerprint(schema: Schema, profile: Profile, histogram_axes: tuple[HistogramAxis, ...]) -> str:
    """Short text that differs where counts would."""
    digest = hashlib.sha256(repr((schema.named, schema.columns, histogram_axes)).encode())
    digest.update(profile.fingerprint())
    return digest.hexdigest()[:16]


def _undetermined(reference: DriftReference, window: Evidence, alpha: float) -> DriftResult:
    reason = f"The window has {window.n_rows} row(s), expected at least {MIN_WINDOW}."
    finding = Finding("values", None, None, 1.0, None, reason=reason)
    notes = (*reference.notes, *sorted(window.notes), reason)
    return DriftResult(None, 1.0, alpha, reference.evidence.n_rows, window.n_rows, finding, warnings=notes)


def _test(reference: DriftReference, window: Evidence, alpha: float) -> DriftResult:
    comparison = reference.comparison(window)
    tests = _only_seen(feature_tests(comparison), comparison)
    values = _hardly_seen(values_finding(comparison), comparison)
    missingness = missingness_finding(comparison)
    p_value = combine_verdict(values, missingness)
    drift, notes = _decide(reference, values, missingness, p_value, alpha)
    features = _features(reference, comparison, tests)
    noted = {new_values_note(feature.name) for feature in features if feature.n_new_categories}
    return DriftResult(
        drift,
        p_value,
        alpha,
        reference.evidence.n_rows,
        window.n_rows,
        values,
        missingness,
        features,
        _bins(reference, comparison),
        (
            *reference.notes,
            *sorted(window.notes - noted),
            *_empty_notes(reference, comparison),
            *_new_notes(reference, features, alpha),
            *notes,
        ),
        pairs=tuple(describe_pair(reference.profile, reference.schema, test) for test in pair_tests(comparison)),
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


def _hardly_seen(values: Finding, comparison: Comparison) -> Finding:
    """The finding of the values, undetermined where the window has next to none."""
    rates = comparison.missing_rates[1]
    observed = 1.0 - float(rates[np.unique(comparison.profile.owner)].mean())
    if observed >= MIN_OBSERVED:
        return values
    reason = f"Only {observed:.1%} of the window's cells are observed: nothing can be said of its values."
    return Finding("values", None, None, 1.0, None, reason=reason)


def _only_seen(tests: FeatureTests, comparison: Comparison) -> FeatureTests:
    """Tests of columns, without those of which the window has no value: what others say of them is not theirs."""
    empty = _is_empty(comparison)
    return FeatureTests(
        np.where(empty, 1.0, tests.p_values), np.where(empty, 0.0, tests.effects), tests.by_product & ~empty
    )


def _is_empty(comparison: Comparison) -> NDArray[np.bool_]:
    """Whether a window has no value of an input column: (input columns,)."""
    return np.asarray(comparison.window.sums["missing"] >= comparison.window.n_rows)


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
    own, window = comparison.reference, comparison.window
    before, after = comparison.missing_rates
    missing_p = np.maximum(entry_p_values(comparison.contrast.part(comparison.profile.layout.rates)), SMALLEST_P)
    missing_adjusted, adjusted = holm(missing_p), holm(tests.p_values)
    sides = [sides_of(reference.histogram_axes, evidence) for evidence in (own, window)]
    others = reference.not_compared if own is reference.evidence else empty_facts(len(reference.schema.columns))
    empty = _is_empty(comparison)
    found = []
    for index, (column, axis) in enumerate(zip(reference.schema.columns, reference.histogram_axes, strict=True)):
        tested = column.kind != "empty" and not bool(empty[index])
        found.append(
            FeatureFinding(
                column.name,
                float(before[index]),
                float(after[index]),
                float(tests.p_values[index]) if tested else 1.0,
                float(adjusted[index]) if tested else 1.0,
                float(tests.effects[index]) if tested else 0.0,
                float(missing_p[index]),
                float(missing_adjusted[index]),
                tested=tested,
                missing_tested=True,
                has_many=column.pooled,
                effect_unit=effect_unit(column.kind, by_product=bool(tests.by_product[index])) if tested else "",
                observed_reference=own.n_rows - round(own.sums["missing"][index]),
                observed_window=window.n_rows - round(window.sums["missing"][index]),
                **column_facts(axis, sides[0][index], sides[1][index], others.of_column(index)),
            )
        )
    return tuple(found)


def effect_unit(kind: str, *, by_product: bool) -> str:
    """What an effect size of a column is measured in."""
    if by_product:
        return "correlation"
    return "share of values" if kind == "category" else "standard deviations"


def _bins(reference: DriftReference, comparison: Comparison) -> tuple[BinFinding, ...]:
    profile, shares = reference.profile, comparison.shares
    part = comparison.contrast.part(profile.layout.bins)
    variance = part.variance * part.scale
    contributions = np.where(variance > 0, part.difference**2 / np.where(variance > 0, variance, 1.0), 0.0)
    found = []
    for index in range(reference.n_bins):
        place, words = describe_bin(profile, reference.schema, reference.observed_bins, index)
        sides = float(shares[0][index]), float(shares[1][index])
        found.append(BinFinding(place, *sides, float(contributions[index]), words))
    return tuple(found)
