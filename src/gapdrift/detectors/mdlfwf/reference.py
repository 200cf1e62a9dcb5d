"""The fitted reference of MDL-FWF: composes encoding, distances, bins and memberships; counts and tests."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.mdlfwf.distance import (
    ImputedDistance,
    LearnedDistance,
    learn_distance,
    training_rates,
)
from gapdrift.detectors.mdlfwf.membership import MEMBERSHIPS, fuzzy_weights
from gapdrift.detectors.mdlfwf.regressors import Regressor
from gapdrift.errors import InputError
from gapdrift.inference.pearson import MIN_EXPECTED, expected_frequencies, pearson
from gapdrift.models.imputation import FittedImputer, Imputer, fit_imputers, impute
from gapdrift.models.partition import ROWS_PER_BIN, Partition, default_bins, fit_partition
from gapdrift.persistence.records import expect, expect_shape, expecting, stored
from gapdrift.results.result import BinFinding, DriftResult, FeatureFinding, Finding
from gapdrift.tables.encoding import Encoded, encode, probe_rows
from gapdrift.tables.missingness import missing_rates
from gapdrift.tables.schema import Schema, learn_schema

__all__ = ["MIN_ROWS", "FuzzyReference", "FuzzySettings", "fit_fuzzy_reference"]

Matrix = NDArray[np.float64]

MIN_ROWS = 20
"""Reference rows below which nothing is fitted: two bins of ten rows are the least Pearson's test bears."""

MIN_COMPLETE_PER_BIN = 5
"""Complete rows for each bin below which bins and distances are learned on imputed rows instead."""

PROBES = 8
"""Reference rows measured with cells hidden, to tell one distance model from another."""

COUNTED_ROWS = 16_384
"""Rows counted at once."""


@dataclass(frozen=True)
class FuzzySettings:
    """Settings of MDL-FWF, checked.

    Parameters are those of `gapdrift.MDLFWF`.
    """

    membership: str
    top_q: int | None
    n_bins: int | None
    n_splits: int
    regressor: Regressor | None
    imputers: tuple[str | Imputer, ...] | None
    distance: str
    pairs: str
    max_pairs: int | None
    target: str | int | None
    categories: tuple[str | int, ...]
    ignore: tuple[str | int, ...]


@stored
@dataclass(frozen=True, eq=False)
class FuzzyReference:
    """All that MDL-FWF learned from a reference.

    Parameters
    ----------
    schema : Schema
    partition : Partition
    distance : LearnedDistance or ImputedDistance
    membership : str
    top_q : int or None
    gaps : (input columns,) array of bool
        Columns that have gaps in the reference.
    evidence : Evidence
        Of the reference itself.
    origin : str
        Fingerprint.
    notes : tuple of str
    """

    schema: Schema
    partition: Partition
    distance: LearnedDistance | ImputedDistance
    membership: str
    top_q: int | None
    gaps: NDArray[np.bool_]
    evidence: Evidence
    origin: str
    notes: tuple[str, ...]

    def count(self, table: Any) -> Evidence:
        """Evidence of the rows of a table."""
        return _count(self, encode(table, self.schema))

    def test(self, window: Evidence, alpha: float) -> DriftResult:
        """Result of the evidence of a window against that of the reference."""
        window.check_like(self.evidence)
        finding = pearson(self.evidence.sums["weights"], window.sums["weights"])
        drift = finding.p_value < alpha if finding.determined else None
        return DriftResult(
            drift,
            finding.p_value,
            alpha,
            self.evidence.n_rows,
            window.n_rows,
            finding,
            None,
            _feature_findings(self, window),
            _bin_findings(self, window, finding),
            (*self.notes, *sorted(window.notes), *_doubts(self, window, finding)),
        )

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.partition)

    @property
    def missing_shares(self) -> tuple[float, ...]:
        """Share of missing cells of each column of the reference."""
        return tuple((self.evidence.sums["missing"] / self.evidence.n_rows).tolist())

    def check_stored(self) -> None:
        """Check what was read from a file: the parts fit together, and distances can be measured."""
        n_bins, size, n_columns = len(self.partition), len(self.schema.owner), len(self.schema.columns)
        expect(n_bins > 0, "bins")
        expect_shape(self.partition.centres, (n_bins, size), "centres")
        expect(self.membership in MEMBERSHIPS, f"a membership out of {', '.join(MEMBERSHIPS)}")
        expect(self.top_q is None or self.top_q > 0, "top_q from 1")
        expect_shape(self.gaps, (n_columns,), "marks of gaps")
        shapes = {"weights": (n_bins,), "products": (n_bins, n_bins), "missing": (n_columns,)}
        self.evidence.check_stored_sums(self.origin, shapes)
        self.distance.check_fits(n_columns, size, n_bins)
        rows = probe_rows(self.schema)
        with expecting("a distance that can be measured"):
            found = self.distance.to_centres(rows.values, rows.missing, self.partition.centres)
        expect(found.shape == (3, n_bins) and np.isfinite(found).all(), "a distance that can be measured")


def fit_fuzzy_reference(table: Any, settings: FuzzySettings, rng: np.random.Generator) -> FuzzyReference:
    """Reference of MDL-FWF: schema, imputers, bins, distance model and own evidence.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, mapping of columns, or numpy array
    settings : FuzzySettings
    rng : numpy.random.Generator

    Returns
    -------
    reference : FuzzyReference

    Notes
    -----
    Bins and distances are learned on complete rows. Where these are fewer than five for each bin, or than
    20 in all, they are learned on all rows as the last imputer of the pool fills them, and a note says so.
    """
    schema = learn_schema(table, target=settings.target, categories=settings.categories, ignore=settings.ignore)
    rows = encode(table, schema)
    n_bins, notes = _choose_bins(len(rows), settings)
    imputers = fit_imputers(settings.imputers, rows.values, rng)
    solid, more = _solid_rows(rows, imputers, n_bins, settings)
    partition = fit_partition(solid, n_bins, rng)
    distance = _fit_distance(solid, rows, schema, imputers, partition, settings, rng)
    notes = (*schema.notes, *notes, *more, *_after_notes(partition, n_bins, settings))
    gaps: NDArray[np.bool_] = np.any(rows.missing, axis=0)
    parts = (schema, partition, distance, settings.membership, settings.top_q, gaps)
    notes += _rate_notes(rows, schema) if settings.distance == "learned" else ()
    origin = _fingerprint(schema, partition, distance, settings, rows)
    blank = FuzzyReference(*parts, Evidence(0, {}), origin, notes)
    return FuzzyReference(*parts, _count(blank, rows), origin, notes)


def _choose_bins(n_rows: int, settings: FuzzySettings) -> tuple[int, tuple[str, ...]]:
    if n_rows < MIN_ROWS:
        raise InputError(
            f"The reference has {n_rows} row(s), expected at least {MIN_ROWS}. Collect more, or join "
            "several windows into one reference."
        )
    n_bins = default_bins(n_rows) if settings.n_bins is None else settings.n_bins
    if n_bins > n_rows:
        raise InputError(f"n_bins is {n_bins} but the reference has only {n_rows} rows. Ask for fewer bins.")
    if n_rows < n_bins * ROWS_PER_BIN:
        note = (
            f"The reference has {n_rows} rows for {n_bins} bins: fewer than the {ROWS_PER_BIN} for each that "
            "Pearson's test is held to need."
        )
        return n_bins, (note,)
    return n_bins, ()


def _solid_rows(
    rows: Encoded, imputers: tuple[FittedImputer, ...], n_bins: int, settings: FuzzySettings
) -> tuple[Matrix, tuple[str, ...]]:
    """Rows without NaN to learn from, and a note where they are imputed ones."""
    complete = rows.values[~np.isnan(rows.values).any(axis=1)]
    if settings.distance == "imputed":
        return impute(imputers[-1], rows.values), ()
    if len(complete) >= max(MIN_ROWS, MIN_COMPLETE_PER_BIN * n_bins):
        return complete, ()
    note = (
        f"Only {len(complete)} of {len(rows)} reference rows are complete: bins and distances were learned "
        "on imputed rows, and the distance error is too small."
    )
    return impute(imputers[-1], rows.values), (note,)


def _fit_distance(
    solid: Matrix,
    rows: Encoded,
    schema: Schema,
    imputers: tuple[FittedImputer, ...],
    partition: Partition,
    settings: FuzzySettings,
    rng: np.random.Generator,
) -> LearnedDistance | ImputedDistance:
    if settings.distance == "imputed":
        return ImputedDistance(imputers[-1])
    # A column without any value has no cell to hide; its rate of 1 must not drown the others.
    compared = np.isin(np.arange(len(schema.columns)), schema.owner)
    rates = np.zeros(len(schema.columns))
    rates[compared] = training_rates(missing_rates(rows.missing[:, compared]))
    return learn_distance(
        solid,
        rates,
        schema.owner,
        imputers,
        regressor=settings.regressor,
        n_splits=settings.n_splits,
        max_pairs=settings.max_pairs,
        centres=partition.centres if settings.pairs == "centres" else None,
        rng=rng,
    )


def _rate_notes(rows: Encoded, schema: Schema) -> tuple[str, ...]:
    compared = np.isin(np.arange(len(schema.columns)), schema.owner)
    rates = missing_rates(rows.missing[:, compared])
    if np.array_equal(training_rates(rates), rates):
        return ()
    return ("The reference has few gaps: distances were learned with cells hidden at higher rates than its own.",)


def _after_notes(partition: Partition, n_bins: int, settings: FuzzySettings) -> tuple[str, ...]:
    notes = []
    if len(partition) < n_bins:
        notes.append(f"The reference has only {len(partition)} different place(s) for {n_bins} bins: so many are used.")
    if settings.top_q is not None and settings.top_q > len(partition):
        notes.append(f"top_q is {settings.top_q} with {len(partition)} bins: all bins are considered.")
    return tuple(notes)


def _count(reference: FuzzyReference, rows: Encoded) -> Evidence:
    n_bins = len(reference.partition)
    weights, products = np.zeros(n_bins), np.zeros((n_bins, n_bins))
    for start in range(0, len(rows), COUNTED_ROWS):
        part = slice(start, start + COUNTED_ROWS)
        shares = _memberships(reference, rows.values[part], rows.missing[part])
        weights += shares.sum(axis=0)
        products += shares.T @ shares
    new_gaps = rows.missing.any(axis=0) & ~reference.gaps
    names = [name for name, new in zip(reference.schema.names, new_gaps, strict=True) if new]
    notes = {f"Column {name!r} has gaps here but none in the reference." for name in names}
    sums = {"weights": weights, "products": products, "missing": rows.missing.sum(axis=0)}
    return Evidence(len(rows), sums, reference.origin, rows.notes | notes)


def _memberships(reference: FuzzyReference, values: Matrix, missing: NDArray[np.bool_]) -> Matrix:
    """Weights (rows, bins): a complete row is in one bin, an incomplete one in several."""
    incomplete = np.isnan(values).any(axis=1)
    weights = np.empty((len(values), len(reference.partition)))
    exact = reference.partition.distances(values[~incomplete])
    weights[~incomplete] = fuzzy_weights(exact, 0.0, membership="crisp")
    if incomplete.any():
        model = reference.distance
        distances = model.to_centres(values[incomplete], missing[incomplete], reference.partition.centres)
        weights[incomplete] = fuzzy_weights(
            distances, model.error, membership=reference.membership, top_q=reference.top_q
        )
    return weights


def _fingerprint(
    schema: Schema,
    partition: Partition,
    distance: LearnedDistance | ImputedDistance,
    settings: FuzzySettings,
    rows: Encoded,
) -> str:
    """Short text that differs where counts would: rows are measured with all cells hidden, and one column each."""
    text = repr((schema.named, schema.columns, settings.membership, settings.top_q, distance.error))
    hidden = np.eye(PROBES, len(schema.columns), k=-1, dtype=bool)
    hidden[0] = True
    known = np.where(np.isnan(rows.values), 0.0, rows.values)[:PROBES]
    probes = distance.to_centres(np.where(hidden[:, schema.owner], np.nan, known), hidden, partition.centres)
    return hashlib.sha256(text.encode() + partition.centres.tobytes() + probes.tobytes()).hexdigest()[:16]


def _feature_findings(reference: FuzzyReference, window: Evidence) -> tuple[FeatureFinding, ...]:
    after = window.sums["missing"] / max(window.n_rows, 1)
    return tuple(
        FeatureFinding(name, rate, float(new))
        for name, rate, new in zip(reference.schema.names, reference.missing_shares, after, strict=True)
    )


def _bin_findings(reference: FuzzyReference, window: Evidence, finding: Finding) -> tuple[BinFinding, ...]:
    before = reference.evidence.sums["weights"] / reference.evidence.n_rows
    after = window.sums["weights"] / max(window.n_rows, 1)
    return tuple(
        BinFinding(describe_centre(centre, reference.schema), float(old), float(new), share)
        for centre, old, new, share in zip(
            reference.partition.centres, before, after, finding.contributions, strict=True
        )
    )


def describe_centre(centre: NDArray[np.float64], schema: Schema) -> dict[str, float | str]:
    """Centre in the user's own columns: numbers as they are, a category by its strongest level."""
    described: dict[str, float | str] = {}
    for index, column in enumerate(schema.columns):
        entries = centre[schema.owner == index]
        if column.kind == "number":
            described[column.name] = float(entries[0])
        elif column.kind == "category":
            described[column.name] = column.level_at(int(entries.argmax()))
    return described


def _doubts(reference: FuzzyReference, window: Evidence, finding: Finding) -> tuple[str, ...]:
    """Sentences about a test that is impossible or doubtful."""
    if not finding.determined:
        return (finding.reason,)
    expected = expected_frequencies(reference.evidence.sums["weights"], window.sums["weights"])
    few = int((expected[:, expected.sum(axis=0) > 0].min(axis=0) < MIN_EXPECTED).sum())
    if not few:
        return ()
    return (f"{few} bin(s) expect fewer than {MIN_EXPECTED:g} rows on a side: the p-value is approximate.",)
