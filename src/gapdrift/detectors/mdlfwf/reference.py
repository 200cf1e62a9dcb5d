"""The fitted reference of MDL-FWF, which counts and tests rows by their distances to bins and their memberships."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.counter import count_cells
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.fact_finder import find_facts
from gapdrift.counting.functions import Functions, fit_functions
from gapdrift.counting.sums import Side
from gapdrift.detectors.describing import counts_of, describe_column, share_of_copies
from gapdrift.detectors.mdlfwf.batches import FuzzyBatchStatistics
from gapdrift.detectors.mdlfwf.distance import ImputedDistance, LearnedDistance, learn_distance, training_rates
from gapdrift.detectors.mdlfwf.membership import MEMBERSHIPS, fuzzy_weights
from gapdrift.detectors.mdlfwf.regressors import Regressor
from gapdrift.errors import InputError
from gapdrift.inference.mean_weights import compare_mean_weights
from gapdrift.inference.pearson import MIN_EXPECTED, expected_frequencies, pearson
from gapdrift.models.imputation import FittedImputer, Imputer, fit_imputers, impute
from gapdrift.models.partition import (
    ROWS_PER_BIN,
    Partition,
    bins_of_others,
    default_n_bins,
    fit_partition,
    observe_bins,
)
from gapdrift.persistence.records import expect, expect_shape, expecting, stored
from gapdrift.results import BinFinding, DriftResult, FeatureFinding, Finding
from gapdrift.tables.encoding import Encoded, encode, probe_rows
from gapdrift.tables.missingness import missing_rates
from gapdrift.tables.schema import Schema, learn_schema

__all__ = ["MIN_ROWS", "TESTS", "FuzzyReference", "FuzzySettings", "fit_fuzzy_reference"]

MIN_ROWS = 20
"""Smallest number of reference rows: Pearson's test needs at least two bins of ten rows."""

MIN_COMPLETE_PER_BIN = 5
"""With fewer complete rows for each bin than this, bins and distances are learned on imputed rows instead."""

FINGERPRINT_ROWS = 8
"""Reference rows whose predicted distances, with cells hidden, enter the fingerprint."""

COUNTED_ROWS = 16_384
"""Number of rows that are counted at once."""


def _pearson(reference: Evidence, window: Evidence) -> Finding:
    return pearson(reference.sums["weights"], window.sums["weights"])


def _wald(reference: Evidence, window: Evidence) -> Finding:
    one, two = ((side.sums["weights"], side.sums["products"]) for side in (reference, window))
    return compare_mean_weights(one, two, reference.n_rows, window.n_rows)


TESTS: Mapping[str, Callable[[Evidence, Evidence], Finding]] = MappingProxyType({"pearson": _pearson, "wald": _wald})
"""Tests of the frequencies of bins by the name that users give."""


@dataclass(frozen=True)
class FuzzySettings:
    """Checked settings of MDL-FWF; the parameters are those of `gapdrift.MDLFWF`."""

    membership: str
    top_q: int | None
    test: str
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
    """Everything that MDL-FWF learned from a reference.

    Parameters
    ----------
    schema : Schema
    partition : Partition
    distance : LearnedDistance or ImputedDistance
    membership : str
    top_q : int or None
    frequency_test : str
        A name in `TESTS`.
    has_missing : (input columns,) array of bool
        Whether a column has missing cells in the reference.
    functions : Functions
        By whose codes cells are counted, to be shown and checked; they are not tested.
    evidence : Evidence
        Evidence of the reference itself.
    origin : str
        Fingerprint of everything that decides how rows are counted.
    notes : tuple of str
        Sentences for the user.
    """

    schema: Schema
    partition: Partition
    distance: LearnedDistance | ImputedDistance
    membership: str
    top_q: int | None
    frequency_test: str
    has_missing: Mask
    functions: Functions
    evidence: Evidence
    origin: str
    notes: tuple[str, ...]

    def count(self, table: Any) -> Evidence:
        """Evidence of the rows of a table."""
        return _count(self, encode(table, self.schema))

    def count_own(self, table: Any) -> Evidence:
        """Evidence of rows of the reference itself."""
        return self.count(table)

    def test(self, window: Evidence, alpha: float) -> DriftResult:
        """Result of comparing the evidence of a window with that of the reference."""
        window.check_like(self.evidence)
        finding = TESTS[self.frequency_test](self.evidence, window)
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
            (*self.notes, *sorted(window.notes), *_test_notes(self, window, finding)),
            duplicates=share_of_copies(self.evidence, window),
        )

    def batch_statistics(self, _basis: Mapping[str, Vector] | None = None) -> FuzzyBatchStatistics:
        """What is compared of batches; it needs no basis."""
        return FuzzyBatchStatistics(self.functions)

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.partition)

    @property
    def missing_shares(self) -> tuple[float, ...]:
        """Share of missing cells of each column of the reference."""
        return tuple((Side(self.functions, self.evidence).missing / self.evidence.n_rows).tolist())

    def check_stored(self) -> None:
        """Check what was read from a file: the parts fit together, and distances can be measured."""
        n_bins, size, n_columns = len(self.partition), len(self.schema.owner), len(self.schema.columns)
        expect(n_bins > 0, "bins")
        expect_shape(self.partition.centres, (n_bins, size), "centres")
        expect(self.membership in MEMBERSHIPS, f"a membership among {', '.join(MEMBERSHIPS)}")
        expect(self.top_q is None or self.top_q > 0, "top_q from 1")
        expect(self.frequency_test in TESTS, f"a test among {', '.join(TESTS)}")
        expect_shape(self.has_missing, (n_columns,), "marks of missing values")
        self.functions.check_fits(self.schema)
        shapes = {"weights": (n_bins,), "products": (n_bins, n_bins), "cells": (self.functions.starts[-1],)}
        shapes |= {"bin_totals": (n_bins, size), "bin_cells": (n_bins, size)}
        self.evidence.check_stored_sums(self.origin, shapes)
        self.distance.check_fits(n_columns, size, n_bins)
        rows = probe_rows(self.schema)
        with expecting("a distance that can be measured"):
            found = self.distance.to_centres(rows.values, rows.missing, self.partition.centres)
        expect(found.shape == (3, n_bins) and np.isfinite(found).all(), "a distance that can be measured")


def fit_fuzzy_reference(table: Any, settings: FuzzySettings, rng: np.random.Generator) -> FuzzyReference:
    """Reference of MDL-FWF: schema, imputers, bins, distance model and the evidence of its own rows.

    Notes
    -----
    Bins and distances are learned on the complete rows. If these are fewer than 20, or fewer than five for each bin,
    all rows are used instead, completed by the last of the imputers, and a note says so.
    """
    schema = learn_schema(table, target=settings.target, categories=settings.categories, ignore=settings.ignore)
    rows = encode(table, schema)
    n_bins, notes = _choose_bins(len(rows), settings)
    imputers = fit_imputers(settings.imputers, rows.values, rng)
    completed, completion_notes = _completed_rows(rows, imputers, n_bins, settings)
    partition = fit_partition(completed, n_bins, rng)
    distance = _fit_distance(completed, rows, schema, imputers, partition, settings, rng)
    notes = (*schema.notes, *notes, *completion_notes, *_bin_notes(partition, n_bins, settings))
    notes += _rate_notes(rows, schema) if settings.distance == "learned" else ()
    has_missing: Mask = np.any(rows.missing, axis=0)
    functions = fit_functions(rows, schema)
    origin = _fingerprint(schema, functions, partition, distance, settings, rows)
    uncounted = FuzzyReference(
        schema,
        partition,
        distance,
        settings.membership,
        settings.top_q,
        settings.test,
        has_missing,
        functions,
        Evidence(0, {}),
        origin,
        notes,
    )
    bins = None
    if settings.test == "wald":
        complete = ~np.isnan(rows.values).any(axis=1)
        bins = bins_of_others(completed, partition, rng)[complete if len(completed) == len(rows) else slice(None)]
    return replace(uncounted, evidence=_count(uncounted, rows, bins))


def _choose_bins(n_rows: int, settings: FuzzySettings) -> tuple[int, tuple[str, ...]]:
    if n_rows < MIN_ROWS:
        raise InputError(
            f"The reference has {n_rows} row(s), expected at least {MIN_ROWS}. Collect more, or join "
            "several windows into one reference."
        )
    n_bins = default_n_bins(n_rows) if settings.n_bins is None else settings.n_bins
    if n_bins > n_rows:
        raise InputError(f"n_bins is {n_bins} but the reference has only {n_rows} rows. Ask for fewer bins.")
    if n_rows < n_bins * ROWS_PER_BIN:
        note = (
            f"The reference has {n_rows} rows for {n_bins} bins: fewer than the {ROWS_PER_BIN} for each that "
            "Pearson's test is said to need."
        )
        return n_bins, (note,)
    return n_bins, ()


def _completed_rows(
    rows: Encoded, imputers: tuple[FittedImputer, ...], n_bins: int, settings: FuzzySettings
) -> tuple[Matrix, tuple[str, ...]]:
    """Rows without missing values to learn from, and a note if they had to be imputed."""
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
    completed: Matrix,
    rows: Encoded,
    schema: Schema,
    imputers: tuple[FittedImputer, ...],
    partition: Partition,
    settings: FuzzySettings,
    rng: np.random.Generator,
) -> LearnedDistance | ImputedDistance:
    if settings.distance == "imputed":
        return ImputedDistance(imputers[-1])
    has_values = _has_values(schema)
    rates = np.zeros(len(schema.columns))
    rates[has_values] = training_rates(missing_rates(rows.missing[:, has_values]))
    return learn_distance(
        completed,
        rates,
        schema.owner,
        imputers,
        regressor=settings.regressor,
        n_splits=settings.n_splits,
        max_pairs=settings.max_pairs,
        centres=partition.centres if settings.pairs == "centres" else None,
        rng=rng,
    )


def _has_values(schema: Schema) -> Mask:
    """Whether each input column has values; one without has none to hide, and its missing rate of 1 would mislead."""
    return np.isin(np.arange(len(schema.columns)), schema.owner)


def _rate_notes(rows: Encoded, schema: Schema) -> tuple[str, ...]:
    rates = missing_rates(rows.missing[:, _has_values(schema)])
    if np.array_equal(training_rates(rates), rates):
        return ()
    return ("Few values of the reference are missing: distances were learned with cells hidden at higher rates.",)


def _bin_notes(partition: Partition, n_bins: int, settings: FuzzySettings) -> tuple[str, ...]:
    notes = []
    if len(partition) < n_bins:
        notes.append(f"The reference has too few different rows for {n_bins} bins: {len(partition)} are used.")
    if settings.top_q is not None and settings.top_q > len(partition):
        notes.append(f"top_q is {settings.top_q} with {len(partition)} bins: all bins are considered.")
    return tuple(notes)


def _count(reference: FuzzyReference, rows: Encoded, bins: Indices | None = None) -> Evidence:
    """Evidence of rows; the bins of the complete ones can be given."""
    n_bins = len(reference.partition)
    weights, products = np.zeros(n_bins), np.zeros((n_bins, n_bins))
    totals, cells = (np.zeros((n_bins, rows.values.shape[1])) for _ in range(2))
    for start in range(0, len(rows), COUNTED_ROWS):
        part = slice(start, start + COUNTED_ROWS)
        row_weights = _row_weights(reference, rows.values[part], rows.missing[part])
        if bins is not None:
            complete = ~np.isnan(rows.values[part]).any(axis=1)
            own, bins = bins[: complete.sum()], bins[complete.sum() :]
            row_weights[complete] = np.eye(n_bins)[own]
        weights += row_weights.sum(axis=0)
        products += row_weights.T @ row_weights
        observed = ~np.isnan(rows.values[part])
        totals += row_weights.T @ np.where(observed, rows.values[part], 0.0)
        cells += row_weights.T @ observed
    newly_missing = rows.missing.any(axis=0) & ~reference.has_missing
    names = [name for name, new in zip(reference.schema.names, newly_missing, strict=True) if new]
    notes = {f"Column {name!r} has missing values here but none in the reference." for name in names}
    sums = {"weights": weights, "products": products, "cells": count_cells(reference.functions, rows)}
    sums |= {"bin_totals": totals, "bin_cells": cells}
    return Evidence(len(rows), sums, reference.origin, rows.notes | notes, find_facts(reference.functions, rows))


def _row_weights(reference: FuzzyReference, values: Matrix, missing: Mask) -> Matrix:
    """Weight of each bin for each row, (rows, bins): a complete row is in one bin, an incomplete one in several."""
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
    functions: Functions,
    partition: Partition,
    distance: LearnedDistance | ImputedDistance,
    settings: FuzzySettings,
    rows: Encoded,
) -> str:
    """Short text that differs between references that would count rows differently.

    It includes what the distance model predicts for a few reference rows: the first has all its cells hidden, each of
    the others has one column hidden.
    """
    text = repr((schema.named, schema.columns, settings.membership, settings.top_q, distance.error))
    hidden = np.eye(FINGERPRINT_ROWS, len(schema.columns), k=-1, dtype=bool)
    hidden[0] = True
    known = np.where(np.isnan(rows.values), 0.0, rows.values)[:FINGERPRINT_ROWS]
    probes = distance.to_centres(np.where(hidden[:, schema.owner], np.nan, known), hidden, partition.centres)
    learned = functions.fingerprint() + partition.centres.tobytes() + probes.tobytes()
    return hashlib.sha256(text.encode() + learned).hexdigest()[:16]


def _feature_findings(reference: FuzzyReference, window: Evidence) -> tuple[FeatureFinding, ...]:
    """What is known of each column, untested; empty for a window without rows, which has no shares."""
    if not window.n_rows:
        return ()
    sides = [Side(reference.functions, evidence) for evidence in (reference.evidence, window)]
    before, after = (side.missing / side.n_rows for side in sides)
    return tuple(
        FeatureFinding(
            column.name,
            float(before[index]),
            float(after[index]),
            has_many=column.pooled,
            **describe_column(column, *both),
        )
        for index, (column, *both) in enumerate(zip(reference.schema.columns, *map(counts_of, sides), strict=True))
    )


def _bin_findings(reference: FuzzyReference, window: Evidence, finding: Finding) -> tuple[BinFinding, ...]:
    """Shares of rows in each bin; empty for a window without rows, which has no shares."""
    if not window.n_rows:
        return ()
    own = reference.evidence
    before, after = own.sums["weights"] / own.n_rows, window.sums["weights"] / window.n_rows
    contributions = finding.contributions or (None,) * len(reference.partition)
    observed = observe_bins(own.sums["bin_totals"], own.sums["bin_cells"])
    return tuple(
        BinFinding(_describe_bin(means, reference.schema), float(old), float(new), contribution)
        for means, old, new, contribution in zip(observed, before, after, contributions, strict=True)
    )


def _describe_bin(means: Vector, schema: Schema) -> dict[str, float | str]:
    """Observed cells of the rows in a bin, by column: their mean, or the category that is most frequent there."""
    described: dict[str, float | str] = {}
    for index, column in enumerate(schema.columns):
        entries = means[schema.owner == index]
        if column.kind == "empty" or np.isnan(entries).any():
            continue
        described[column.name] = (
            float(entries[0]) if column.kind == "number" else column.category_at(int(entries.argmax()))
        )
    return described


def _test_notes(reference: FuzzyReference, window: Evidence, finding: Finding) -> tuple[str, ...]:
    """Sentences about a test that was impossible or is only approximate."""
    if not finding.determined:
        return (finding.reason,)
    expected = expected_frequencies(reference.evidence.sums["weights"], window.sums["weights"])
    n_small = int((expected[:, expected.sum(axis=0) > 0].min(axis=0) < MIN_EXPECTED).sum())
    if not n_small:
        return ()
    return (f"{n_small} bin(s) expect fewer than {MIN_EXPECTED:g} rows on a side: the p-value is approximate.",)
