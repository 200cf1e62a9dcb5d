"""The fitted reference of DriftDetector: composes schema, profile and tests; counts rows, tests evidence."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.counting.bulk import (
    CHUNK,
    Bulk,
    BulkCounter,
    OutOfRangeError,
    expected_products,
    fit_bulk,
    look_up_scores,
)
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.profile import Profile, fit_profile
from gapdrift.detectors.drift.describe import describe_bin
from gapdrift.errors import InputError
from gapdrift.inference.contrast import (
    SMALLEST_VARIANCE,
    Contrast,
    Shape,
    central_moments,
    compare,
    entry_p_values,
    power_sums,
)
from gapdrift.inference.findings import (
    FeatureTests,
    combine_verdict,
    holm,
    test_features,
    test_missingness,
    test_values,
)
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.models.gaussian import fitted_rows
from gapdrift.models.hot_deck import EmpiricalResiduals
from gapdrift.persistence.records import expect, expect_shape, expecting, stored
from gapdrift.results.result import BinFinding, DriftResult, FeatureFinding, Finding
from gapdrift.tables.encoding import LEVEL, Encoded, encode, plain_parts, probe_rows
from gapdrift.tables.frame import Table
from gapdrift.tables.histograms import Grid, count_cells, fit_grids, make_histogram
from gapdrift.tables.schema import LevelRule, Schema, learn_schema

__all__ = ["ConditionalReference", "ConditionalSettings", "fit_conditional_reference"]

Vector = NDArray[np.float64]

MIN_REFERENCE = 20
"""Reference rows below which nothing is fitted."""

MIN_WINDOW = 10
"""Window rows below which nothing is said."""

MIN_OBSERVED = 0.05
"""Share of observed cells of a window below which nothing is said of its values."""

MIN_BOOSTED = 60
"""Reference rows below which distances are not learned."""

ROWS_PER_COLUMN = 4
"""Reference rows for each matrix column below which the reference is split."""

COUNTED_ROWS = 1_024
"""Rows counted at once."""

LARGE = 10_000
"""Reference rows from which rows are counted in bulk."""

LEARNED = 20_000
"""Rows that such a reference is learned from, at most."""

CLUSTERED = 4_096
"""Rows that its bins are clusters of."""

BULK_DONORS = 4_096
"""Residuals among which a row then chooses."""

BULK_CHOICE = 1_024
"""Residuals among which rows with few observed values choose, at least."""

SAME_RATES = 0.02
"""Difference of the missing rates of a column up to which both sides have the same gaps."""

BY_CHANCE = 4.0
"""Standard deviations of that difference up to which they have them too."""

ENCODED_ROWS = 65_536
"""Rows of a large table encoded at once."""

LEVELS = LevelRule(12, 0.1)
"""Twelve levels have their own column; of more, those with a tenth of the rows, the rest in groups."""

MAX_SCATTER = 65_536
"""Bins x draws of a reference that is read from a file: as many cells are held in memory for each row counted."""

MAX_BINS = 1_024
"""Bins of such a reference that counts in bulk."""


@dataclass(frozen=True)
class ConditionalSettings:
    """Settings of DriftDetector, checked. Parameters are those of `gapdrift.DriftDetector`."""

    distance: str
    n_bins: int | None
    min_effect: float
    target: str | int | None
    categories: tuple[str | int, ...]
    ignore: tuple[str | int, ...]


@stored
@dataclass(frozen=True, eq=False)
class ConditionalReference:
    """All that DriftDetector learned from a reference.

    Parameters
    ----------
    schema : Schema
    profile : Profile
    shape : Shape
        Of the statistics of the reference's rows.
    grids : tuple of Grid
    evidence : Evidence
        Of the reference itself.
    origin : str
        Fingerprint.
    min_effect : float
    notes : tuple of str
    bulk : Bulk or None
        Of a large reference, whose windows are counted in bulk.
    """

    schema: Schema
    profile: Profile
    shape: Shape
    grids: tuple[Grid, ...]
    evidence: Evidence
    origin: str
    min_effect: float
    notes: tuple[str, ...]
    bulk: Bulk | None = None

    def count(self, table: Any) -> Evidence:
        """Evidence of the rows of a table."""
        if self.bulk is not None:
            return _count_bulk(self._counter, self.schema, self.origin, table)
        rows = encode(table, self.schema)
        return _count(self.profile, self.schema, self.grids, self.origin, rows)[0]

    def __getstate__(self) -> dict[str, Any]:
        """Fields alone: what counting has prepared is several times as large, and made anew where it is needed."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _counter(self) -> BulkCounter:
        assert self.bulk is not None
        return BulkCounter(self.profile, self.schema, self.grids, self.bulk.bits, self.bulk.radius)

    def test(self, window: Evidence, alpha: float) -> DriftResult:
        """Result of the evidence of a window against that of the reference."""
        window.check_like(self.evidence)
        if window.n_rows < MIN_WINDOW:
            return _undetermined(self, window, alpha)
        return _test(self, window, alpha)

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.profile.centres)

    @property
    def missing_shares(self) -> tuple[float, ...]:
        """Share of missing cells of each column of the reference."""
        counts = self.evidence.sums["statistics"][self.profile.layout.rates]
        return tuple((counts / self.evidence.n_rows).tolist())

    def check_stored(self) -> None:
        """Check what was read from a file: the parts fit together, and rows can be counted."""
        schema, profile = self.schema, self.profile
        expect(np.array_equal(profile.owner, schema.owner), "the columns of the schema")
        expect(profile.layout.rates.stop - profile.layout.rates.start == len(schema.columns), "gaps of all columns")
        expect(len(self.grids) == len(schema.columns), "a grid for each column")
        for grid, column in zip(self.grids, schema.columns, strict=True):
            grid.check_fits(column)
        expect(self.min_effect >= 0, "a min_effect from 0")
        size, square = profile.layout.patterns.stop, (len(schema.owner), len(schema.owner))
        expect_shape(self.shape.skewness, (size,), "skewness")
        shapes: dict[str, tuple[int, ...]] = {"statistics": (size,), "cells": (sum(map(len, self.grids)),)}
        if self.bulk is None:
            self.evidence.check_stored_sums(self.origin, shapes | {"products": (size, size)})
            self._check_rows()
        else:
            shapes |= {"scatter": square} | ({"hidden": square} if profile.direct else {})
            self.evidence.check_stored_sums(self.origin, shapes)
            self._check_bulk(self.bulk)

    def _check_rows(self) -> None:
        """Check that rows can be counted one by one."""
        residuals = self.profile.residuals
        n_draws = len(residuals.pulled if isinstance(residuals, EmpiricalResiduals) else residuals.draws)
        expect(0 < len(self.profile.centres) * n_draws <= MAX_SCATTER, "fewer bins and draws, but some")
        with expecting("a profile that counts"):
            found = self.profile.statistics(probe_rows(self.schema))
        size = self.profile.layout.patterns.stop
        expect(found.shape == (3, size) and np.isfinite(found).all(), "a profile that counts")

    def _check_bulk(self, bulk: Bulk) -> None:
        """Check that rows can be counted in bulk."""
        expect_shape(bulk.covariance, (self.profile.layout.patterns.stop, -1), "a covariance")
        expect_shape(bulk.bits, (len(self.profile.owner),), "bits of columns")
        residuals = self.profile.residuals
        expect(isinstance(residuals, EmpiricalResiduals) and self.profile.boosted is None, "residuals of rows")
        n_donors = len(residuals.pulled) if isinstance(residuals, EmpiricalResiduals) else 0
        few = 0 < n_donors <= MAX_SCATTER and 0 < len(self.profile.centres) <= MAX_BINS
        expect(few, "fewer bins and donors, but some")
        with expecting("a reference that counts"):
            # Evidence refuses sums that are not finite.
            self.count(probe_rows(self.schema))


def fit_conditional_reference(
    table: Any, settings: ConditionalSettings, rng: np.random.Generator
) -> ConditionalReference:
    """Reference of DriftDetector: schema, profile and own evidence.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, mapping of columns, or numpy array
    settings : ConditionalSettings
    rng : numpy.random.Generator

    Returns
    -------
    reference : ConditionalReference
    """
    schema = learn_schema(
        table, target=settings.target, categories=settings.categories, ignore=settings.ignore, levels=LEVELS
    )
    table = Table.read(table)
    if settings.distance == "closed-form" and table.n_rows >= LARGE:
        large = _fit_large(table, schema, settings, rng)
        if large is not None:
            return large
    rows = encode(table, schema, unsee_singles=True)
    if len(rows) < MIN_REFERENCE:
        raise InputError(
            f"The reference has {len(rows)} row(s), expected at least {MIN_REFERENCE}. Collect more, or join "
            "several windows into one reference."
        )
    if settings.distance == "boosted" and len(rows) < MIN_BOOSTED:
        raise InputError(
            f"The reference has {len(rows)} rows, expected at least {MIN_BOOSTED} to learn boosted distances. Collect "
            'more, or use distance="closed-form".'
        )
    learned, compared, notes = _split(rows, schema, rng)
    profile = fit_profile(learned, compared, schema, settings.distance, rng, n_bins=settings.n_bins)
    grids = fit_grids(rows, schema)
    origin = _fingerprint(schema, profile, grids)
    evidence, powers = _count(profile, schema, grids, origin, compared)
    return ConditionalReference(
        schema,
        profile,
        _shape(profile, powers, len(compared)),
        grids,
        evidence,
        origin,
        settings.min_effect,
        (*schema.notes, *notes),
    )


def _fit_large(
    table: Table, schema: Schema, settings: ConditionalSettings, rng: np.random.Generator
) -> ConditionalReference | None:
    """Reference that counts in bulk: learned from a uniform sample of the rows, compared by all of them.

    None where columns or gaps are so many that the model has factors: what gaps hide is then not taken from rows.
    """
    sample = table
    if table.n_rows > LEARNED:
        sample = table.take(np.sort(rng.choice(table.n_rows, LEARNED, replace=False, shuffle=False)))
    rows = encode(sample, schema, unsee_singles=True)
    profile = fit_profile(
        rows,
        rows,
        schema,
        settings.distance,
        rng,
        n_bins=settings.n_bins,
        n_donors=BULK_DONORS,
        look_up=look_up_scores,
        max_clustered=CLUSTERED,
    )
    if not isinstance(profile.residuals, EmpiricalResiduals):
        return None
    grids = fit_grids(rows, schema)
    bulk, powers, counter = fit_bulk(profile, schema, grids, rows, fitted_rows(len(rows), len(schema.owner)))
    origin = _fingerprint(schema, profile, grids)
    evidence = _count_bulk(counter, schema, origin, table, unsee_singles=True)
    notes = schema.notes
    if table.n_rows > LEARNED:
        rule = f"{LEARNED:,} of them, drawn at random, were learned from, all are compared."
        notes = (*notes, f"The reference has {table.n_rows:,} rows: {rule}")
    shape = _shape(profile, powers, len(rows))
    reference = ConditionalReference(schema, profile, shape, grids, evidence, origin, settings.min_effect, notes, bulk)
    # The same that it would make for its first window.
    vars(reference)["_counter"] = counter
    return reference


def _count_bulk(
    counter: BulkCounter, schema: Schema, origin: str, table: Any, *, unsee_singles: bool = False
) -> Evidence:
    """Evidence of the rows of a table, encoded a part at a time."""
    if isinstance(table, Encoded):
        rows = encode(table, schema)
        return Evidence(len(rows), counter.sums([rows], len(rows)), origin, rows.notes)
    source = Table.read(table)
    notes: set[str] = set()

    def parts(*, plain: bool) -> Iterator[Encoded | NDArray[np.float64]]:
        for start in range(0, max(source.n_rows, 1), ENCODED_ROWS):
            part = source.slice(start, start + ENCODED_ROWS) if source.n_rows > ENCODED_ROWS else source
            matrices = plain_parts(part, schema, notes, CHUNK) if plain else None
            if matrices is not None:
                yield from matrices
                continue
            rows = encode(part, schema, unsee_singles=unsee_singles)
            notes.update(rows.notes)
            yield rows

    try:
        sums = counter.sums(parts(plain=True), source.n_rows)
    except OutOfRangeError:
        # Encoding says which number it is.
        sums = counter.sums(parts(plain=False), source.n_rows)
    return Evidence(source.n_rows, sums, origin, frozenset(notes))


def _split(rows: Encoded, schema: Schema, rng: np.random.Generator) -> tuple[Encoded, Encoded, tuple[str, ...]]:
    """Rows to learn the profile from, rows to compare a window with, and notes.

    Both are all rows, unless columns are many for the rows: a model then fits the rows it was learned from better
    than any others, and would take every window for drift. One half is learned from, the other compared.
    """
    if len(schema.owner) * ROWS_PER_COLUMN <= len(rows):
        return rows, rows, ()
    order = rng.permutation(len(rows))
    half = len(rows) // 2
    note = (
        f"The reference has {len(rows)} rows for {len(schema.owner)} columns and levels: one half was learned from, "
        "the other is compared with windows."
    )
    return _take(rows, order[:half]), _take(rows, order[half:]), (note,)


def _take(rows: Encoded, chosen: NDArray[np.intp]) -> Encoded:
    places = np.sort(chosen)
    return Encoded(rows.values[places], rows.missing[places])


def _shape(profile: Profile, powers: NDArray[np.float64], n_rows: int) -> Shape:
    layout = profile.layout
    variance, skewness, kurtosis = central_moments(powers, n_rows)
    indicator = np.zeros(len(variance), dtype=bool)
    # A column that was constant in the reference is an indicator too: of any other value.
    indicator[layout.location] = profile.is_level | (variance[layout.location] <= SMALLEST_VARIANCE)
    indicator[layout.rates.start : layout.patterns.stop - 1] = True
    unit, offset = np.ones(len(indicator)), np.zeros(len(indicator))
    unit[layout.location] = np.where(profile.is_level, LEVEL, 1.0)
    offset[layout.location] = profile.model.mean
    return Shape(skewness, kurtosis, indicator, unit, offset, _degenerate(profile, powers[0] / n_rows, variance))


def _degenerate(profile: Profile, mean: Vector, variance: Vector) -> NDArray[np.bool_]:
    """Products that say nothing of their own.

    The square of a column with two values hardly varies, so that noise of second order would rule it; products
    within one category repeat its frequencies.
    """
    block = profile.layout.dependence
    first, second = profile.products
    flat = (first == second) & (variance[block] < 0.2 * mean[block] ** 2)
    if profile.direct:
        flat |= (profile.owner[first] == profile.owner[second]) & profile.is_level[first]
    degenerate = np.zeros(len(mean), dtype=bool)
    degenerate[block] = flat
    return degenerate


def _count(
    profile: Profile, schema: Schema, grids: tuple[Grid, ...], origin: str, rows: Encoded
) -> tuple[Evidence, NDArray[np.float64]]:
    """Evidence of rows, and the sums of the first four powers of their statistics."""
    size = profile.layout.patterns.stop
    powers, products = np.zeros((4, size)), np.zeros((size, size))
    for start in range(0, len(rows), COUNTED_ROWS):
        part = slice(start, start + COUNTED_ROWS)
        statistics = profile.statistics(Encoded(rows.values[part], rows.missing[part]))
        powers += power_sums(statistics)
        products += statistics.T @ statistics
    totals = {"statistics": powers[0], "products": products, "cells": count_cells(rows, schema, grids)}
    return Evidence(len(rows), totals, origin, rows.notes), powers


def _fingerprint(schema: Schema, profile: Profile, grids: tuple[Grid, ...]) -> str:
    """Short text that differs where counts would."""
    error = None if profile.boosted is None else profile.boosted.error
    digest = hashlib.sha256(repr((schema.named, schema.columns, grids, error)).encode())
    for array in (profile.model.mean, profile.model.covariance, profile.centres):
        digest.update(array.tobytes())
    for pair in profile.scores.knots:
        for knots in pair or ():
            digest.update(knots.tobytes())
    return digest.hexdigest()[:16]


def _undetermined(reference: ConditionalReference, window: Evidence, alpha: float) -> DriftResult:
    reason = f"The window has {window.n_rows} row(s), expected at least {MIN_WINDOW}."
    finding = Finding("values", 0.0, 0, 1.0, 0.0, reason=reason)
    notes = (*reference.notes, *sorted(window.notes), reason)
    return DriftResult(None, 1.0, alpha, reference.evidence.n_rows, window.n_rows, finding, warnings=notes)


def _test(reference: ConditionalReference, window: Evidence, alpha: float) -> DriftResult:
    own, profile = reference.evidence, reference.profile
    contrast = compare(
        (own.n_rows, window.n_rows),
        (own.sums["statistics"], window.sums["statistics"]),
        _products(reference, window),
        reference.shape,
    )
    if reference.bulk is not None:
        contrast = replace(contrast, n_known=reference.bulk.n_learned)
    shares = [side.sums["statistics"][profile.layout.bins] / side.n_rows for side in (own, window)]
    pooled = (shares[0] * own.n_rows + shares[1] * window.n_rows) / contrast.n_rows
    careful = contrast.less(_reference_error(profile, own, window, reference.bulk))
    values, null = test_values(careful, profile, pooled, _knowing_products(reference, window))
    values = _hardly_seen(values, profile, window)
    tests = _only_seen(test_features(careful, profile, null, np.abs(contrast.difference)), profile, window)
    gaps = test_missingness(contrast, profile)
    moved = float(0.5 * np.abs(shares[1] - shares[0]).sum())
    if values.determined:
        values = replace(values, effect_size=max(moved, float(tests.effects.max(initial=0.0))))
    if gaps is not None:
        gaps = replace(gaps, effect_size=float(np.abs(contrast.difference[profile.layout.rates]).max(initial=0.0)))
    p_value = combine_verdict(values, gaps)
    drift, notes = _decide(reference, values, gaps, p_value, alpha)
    return DriftResult(
        drift,
        p_value,
        alpha,
        own.n_rows,
        window.n_rows,
        values,
        gaps,
        _features(reference, window, contrast, holm(tests.p_values), tests.p_values, tests.effects),
        _bins(reference, shares, contrast),
        (*reference.notes, *sorted(window.notes), *_empty_notes(reference, window), *notes),
    )


def _products(reference: ConditionalReference, window: Evidence) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums of products of statistics, of the reference and of a window."""
    own = reference.evidence
    if reference.bulk is None:
        return own.sums["products"], window.sums["products"]
    return expected_products(reference.bulk, reference.profile, own, window)


def _knowing_products(reference: ConditionalReference, window: Evidence) -> int | None:
    """Rows that know the covariance of all products of columns; None is both sides.

    In bulk it is that of the reference's gaps, right for other gaps entry by entry, but not in every direction.
    """
    if reference.bulk is None:
        return None
    rates, own = reference.profile.layout.rates, reference.evidence
    one, two = (side.sums["statistics"][rates] / side.n_rows for side in (own, window))
    deviation = np.sqrt(np.clip(one * (1.0 - one), 0.0, None) * (1.0 / own.n_rows + 1.0 / window.n_rows))
    same = np.abs(one - two) <= np.maximum(SAME_RATES, BY_CHANCE * deviation)
    return reference.bulk.n_worth if same.all() else 0


def _empty_notes(reference: ConditionalReference, window: Evidence) -> tuple[str, ...]:
    columns = zip(reference.schema.columns, _is_empty(reference.profile, window), strict=True)
    return tuple(
        f"Column {column.name!r} has no value in the window: only its gaps are compared."
        for column, empty in columns
        if empty and column.kind != "empty"
    )


def _hardly_seen(values: Finding, profile: Profile, window: Evidence) -> Finding:
    """The finding of the values, undetermined where the window has next to none."""
    rates = window.sums["statistics"][profile.layout.rates] / window.n_rows
    observed = 1.0 - float(rates[np.unique(profile.owner)].mean())
    if observed >= MIN_OBSERVED:
        return values
    reason = f"Only {observed:.1%} of the window's cells are observed: nothing can be said of its values."
    return Finding("values", 0.0, 0, 1.0, 0.0, reason=reason)


def _only_seen(tests: FeatureTests, profile: Profile, window: Evidence) -> FeatureTests:
    """Tests of columns, without those of which the window has no value: what others say of them is not theirs."""
    empty = _is_empty(profile, window)
    return FeatureTests(np.where(empty, 1.0, tests.p_values), np.where(empty, 0.0, tests.effects))


def _is_empty(profile: Profile, window: Evidence) -> NDArray[np.bool_]:
    """Whether a window has no value of an input column: (input columns,)."""
    return np.asarray(window.sums["statistics"][profile.layout.rates] >= window.n_rows)


def _reference_error(profile: Profile, own: Evidence, window: Evidence, bulk: Bulk | None) -> Vector:
    """How much more the differences vary than the sums say, where the window has fewer gaps than the reference.

    With shares q and p of observed cells in reference and window, the mean of expected scores of a window varies
    by p v / n around a mean that the reference knows to v / (q m) only, and that enters by its share p: together
    v (p / n + p^2 / (q m)). The sums say v (q m + p n) / (m + n) x (1 / m + 1 / n), which is the same for p = q.
    A product of two columns is observed where both are. In bulk gaps are filled by what L < m rows taught: their error
    adds v (q - p)^2 / q x (1 / L - 1 / m). There a row is in one bin, whatever its gaps; a bin varies more only where
    the shares of gaps differ, by the error of what fills them.
    """
    layout, m, n = profile.layout, own.n_rows, window.n_rows
    shares = [1.0 - side.sums["statistics"][layout.rates] / side.n_rows for side in (own, window)]
    q, p = (np.maximum(share, 1e-6)[profile.owner] for share in shares)
    along = [(profile.directions**2).T @ share for share in (q, p)]
    first, second = profile.products
    pairs = [np.where(first == second, share[first], share[first] * share[second]) for share in along]
    ratio = np.ones(layout.patterns.stop)
    for block, (one, two) in {
        (layout.location.start, layout.location.stop): (q, p),
        (layout.dependence.start, layout.dependence.stop): pairs,
        (layout.bins.start, layout.bins.stop): (q.mean(), p.mean()),
    }.items():
        said = (one * m + two * n) / (m + n) * (1.0 / m + 1.0 / n)
        learned = 0.0 if bulk is None else (one - two) ** 2 / one * (1.0 / bulk.n_learned - 1.0 / m)
        ratio[slice(*block)] = (two / n + two**2 / (one * m) + learned) / said
    if bulk is not None:
        moved = min(float(np.abs(shares[0] - shares[1]).sum()), 1.0)
        crisp = 1.0 + moved**2 * (1.0 / bulk.n_learned + 1.0 / BULK_CHOICE) / (1.0 / m + 1.0 / n)
        ratio[layout.bins] = crisp
        # Of the columns themselves the covariance of the difference is known; see `gapdrift.counting.bulk`.
        ratio[layout.location if profile.direct else layout.dependence] = 1.0 if profile.direct else crisp
    return np.sqrt(np.maximum(ratio, 1.0))


def _decide(
    reference: ConditionalReference, values: Finding, gaps: Finding | None, p_value: float, alpha: float
) -> tuple[bool | None, tuple[str, ...]]:
    """Verdict, and sentences about it: a difference smaller than ``min_effect`` is no drift."""
    notes = () if values.determined else (values.reason,)
    if not values.determined and (gaps is None or p_value >= alpha):
        return None, notes
    if p_value >= alpha:
        return False, ()
    alarms = [f for f in (values, gaps) if f is not None and f.p_value < alpha]
    largest = max((finding.effect_size for finding in alarms), default=0.0)
    if largest >= reference.min_effect:
        return True, notes
    note = f"A difference was found, but its effect size {largest:.3g} is below min_effect {reference.min_effect:g}."
    return False, (*notes, note)


def _features(
    reference: ConditionalReference,
    window: Evidence,
    contrast: Contrast,
    adjusted: Vector,
    p_values: Vector,
    effects: Vector,
) -> tuple[FeatureFinding, ...]:
    layout, own = reference.profile.layout, reference.evidence
    before = own.sums["statistics"][layout.rates] / own.n_rows
    after = window.sums["statistics"][layout.rates] / window.n_rows
    gap_p = np.maximum(entry_p_values(contrast.part(layout.rates)), SMALLEST_P)
    gap_adjusted = holm(gap_p)
    ends = np.cumsum([len(grid) for grid in reference.grids])
    empty = _is_empty(reference.profile, window)
    found = []
    for index, (column, grid) in enumerate(zip(reference.schema.columns, reference.grids, strict=True)):
        cells = slice(int(ends[index]) - len(grid), int(ends[index]))
        tested = column.kind != "empty" and not empty[index]
        found.append(
            FeatureFinding(
                column.name,
                float(before[index]),
                float(after[index]),
                float(p_values[index]) if tested else None,
                float(adjusted[index]) if tested else None,
                float(effects[index]) if tested else None,
                float(gap_p[index]),
                float(gap_adjusted[index]),
                make_histogram(grid, own.sums["cells"][cells], window.sums["cells"][cells]),
            )
        )
    return tuple(found)


def _bins(reference: ConditionalReference, shares: list[Vector], contrast: Contrast) -> tuple[BinFinding, ...]:
    profile = reference.profile
    part = contrast.part(profile.layout.bins)
    variance = np.diag(part.covariance) * contrast.scale
    contributions = np.where(variance > 0, part.difference**2 / np.where(variance > 0, variance, 1.0), 0.0)
    found = []
    for index, centre in enumerate(profile.centres):
        place, words = describe_bin(profile, reference.schema, centre)
        sides = float(shares[0][index]), float(shares[1][index])
        found.append(BinFinding(place, *sides, float(contributions[index]), words))
    return tuple(found)
