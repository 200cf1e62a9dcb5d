"""The fitted reference of DriftDetector with a label: P(x), P(y) and P(y | x) apart."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Matrix, Vector
from gapdrift.counting.counter import count_cells
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.fact_finder import find_facts
from gapdrift.counting.functions import STEPS, Functions, fit_functions
from gapdrift.counting.label_model import ConceptModel, count_concept, fit_concept
from gapdrift.detectors.describing import ColumnCounts, describe_column
from gapdrift.detectors.drift.batches import BatchStatistics
from gapdrift.detectors.drift.reference import CATEGORY_RULE, DriftReference, DriftSettings, fit_drift_reference
from gapdrift.errors import ParameterError
from gapdrift.execution import MAX_LEARNED
from gapdrift.inference.columns import category_counts, category_test, number_test
from gapdrift.inference.combination import sidak
from gapdrift.inference.concept import concept_finding
from gapdrift.inference.findings import holm
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.persistence.records import expect, expecting, stored
from gapdrift.results import DriftResult, FeatureFinding, Finding
from gapdrift.tables.encoding import Encoded, encode, probe_rows
from gapdrift.tables.facts import Facts, empty_facts
from gapdrift.tables.frame import Table
from gapdrift.tables.schema import Schema, learn_schema

__all__ = ["LabelledReference", "fit_labelled_reference"]

SHARES = {"values": 0.5, "concept": 0.4, "missingness": 0.1}
"""Shares of the false alarms of a verdict; what was not tested leaves its share to the others."""

LABEL_SHARES = {"covariates": 0.8, "label": 0.2}
"""Shares of those of the values."""

ROWS_AT_ONCE = 16_384
"""Rows that are encoded and counted at once."""


class _Rows(NamedTuple):
    """Encoded rows, the label apart."""

    covariates: Encoded
    label: Encoded


@stored
@dataclass(frozen=True, eq=False)
class LabelledReference:
    """All that DriftDetector learned from a reference with a label.

    Parameters
    ----------
    schema : Schema
        Of all columns.
    place : int
        Of the label among them.
    covariates : DriftReference
        Of all columns but the label.
    label : Functions
        Of the label alone.
    concept : ConceptModel or None
        None where the labels of the reference are too few, or all the same.
    correction : Evidence
        Of no rows, added once to that of the reference: sums over the rows that were learned from, each predicted by
        models of the others, less the sums that counting these rows gives.
    evidence : Evidence
        Of the reference itself, corrected; or of other rows that windows are compared with.
    origin : str
        Fingerprint.
    notes : tuple of str
    """

    schema: Schema
    place: int
    covariates: DriftReference
    label: Functions
    concept: ConceptModel | None
    correction: Evidence
    evidence: Evidence
    origin: str
    notes: tuple[str, ...]

    @property
    def missing_shares(self) -> tuple[float, ...]:
        """Share of missing cells of each column of the reference."""
        shares = list(self._compared.missing_shares)
        shares.insert(self.place, _missing_share(self.evidence))
        return tuple(shares)

    @property
    def n_bins(self) -> int:
        """Number of regions."""
        return self.covariates.n_bins

    @property
    def _compared(self) -> DriftReference:
        """The covariates, with the evidence of the rows that windows are compared with."""
        return replace(self.covariates, evidence=_part_of(self.evidence, self.covariates))

    def batch_statistics(self, basis: Mapping[str, Vector] | None = None) -> BatchStatistics:
        """What is compared of batches: the covariates."""
        return self.covariates.batch_statistics(basis)

    def count(self, table: Any) -> Evidence:
        """Evidence of the rows of a table."""
        return self._count(table, pool_singletons=False)

    def count_own(self, table: Any) -> Evidence:
        """Evidence of rows of the reference itself: categories that it has once count as unseen."""
        return self._count(table, pool_singletons=True)

    def _count(self, table: Any, *, pool_singletons: bool) -> Evidence:
        parts = _parts(table, self.schema, self.place, pool_singletons=pool_singletons)
        return reduce(add, (self._joined(self.covariates.count(rows.covariates), rows) for rows in parts))

    def _joined(self, covariates: Evidence, rows: _Rows) -> Evidence:
        """Evidence of rows, of which that of the covariates is known; the facts of the label come last."""
        sums: dict[str, NDArray[np.float64]] = {**covariates.sums, "label_cells": count_cells(self.label, rows.label)}
        if self.concept is not None:
            sums |= count_concept(self.concept, *_labelled(self.covariates.functions, self.label, rows))
        one, two = covariates.facts, find_facts(self.label, rows.label)
        if one is not None:
            ends = np.append(one.smallest, two.smallest), np.append(one.largest, two.largest)
            one = Facts(*ends, (*one.tallies, *two.tallies), one.hashes, one.copies)
        return Evidence(covariates.n_rows, sums, self.origin, covariates.notes | rows.label.notes, one)

    def check_stored(self) -> None:
        """Check what was read from a file: the parts fit together, and rows can be counted."""
        columns = self.schema.columns
        expect(0 <= self.place < len(columns), "a label among the columns")
        others = (*columns[: self.place], *columns[self.place + 1 :])
        expect(self.covariates.schema.columns == others, "all columns but the label among the covariates")
        is_number = columns[self.place].kind == "number"
        expect(self.label.is_number.tolist() == [is_number], "functions of this label")
        if self.concept is not None:
            expect(self.concept.is_number == is_number, "a model of this label")
        with expecting("a reference that counts"):
            counted = self.count(probe_rows(self.schema))
        shapes = {name: array.shape for name, array in counted.sums.items()}
        self.evidence.check_stored_sums(self.origin, shapes)
        expect(self.correction.origin == self.origin and self.correction.n_rows == 0, "a correction of this reference")
        expect({name: array.shape for name, array in self.correction.sums.items()} == shapes, f"the sums {shapes}")

    def test(self, window: Evidence, alpha: float) -> DriftResult:
        """Result of the evidence of a window against that of the reference."""
        window.check_like(self.evidence)
        covariates = self._compared
        found: DriftResult = covariates.test(_part_of(window, covariates), alpha)
        label, concept = self._test_label(window), self._test_concept(window)
        values = _values(replace(found.values, name="covariates"), label)
        p_value, drift, notes = self._decide((values, concept, found.missingness), alpha)
        own = set(covariates.notes)
        return replace(
            found,
            drift=drift,
            p_value=p_value,
            values=values,
            concept=concept,
            features=self._features(found.features, label, window),
            warnings=(*self.notes, *dict.fromkeys([*(note for note in found.warnings if note not in own), *notes])),
        )

    def _test_label(self, window: Evidence) -> Finding:
        """Finding of P(y): the distribution of the labels that are there."""
        before, after = (_cells(side) for side in (self.evidence, window))
        if self.label.is_number[0]:
            test = number_test(before, after, self.label.axes[0].steps[:, 0] / STEPS, 0.0)
        else:
            tallies = [self._counts_of(side).tally for side in (self.evidence, window)]
            categories = self.schema.columns[self.place].categories
            test = category_test(*category_counts(categories, (before, after), tallies), 0.0)
        if test is None or not test.can_alarm:
            reason = f"{after.sum():.0f} row(s) of the window and {before.sum():.0f} of the reference have a label."
            return Finding("label", None, None, 1.0, None, reason=f"{reason} That is too few to compare them.")
        return Finding("label", None, None, max(test.p_value, SMALLEST_P), test.effect_size)

    def _test_concept(self, window: Evidence) -> Finding:
        if self.concept is None:
            reason = (
                f"The reference has {_cells(self.evidence).sum():.0f} label(s), expected at least 40 that are not all "
                "the same (of classes, 10 of one and 10 of others): what the label depends on could not be learned."
            )
            return Finding("concept", None, None, 1.0, None, reason=reason)
        return concept_finding(self.concept, self.evidence.sums, window.sums)

    def _decide(self, findings: tuple[Finding | None, ...], alpha: float) -> tuple[float, bool | None, tuple[str, ...]]:
        """p-value, verdict, and sentences about it; a difference smaller than ``min_effect`` is no drift."""
        tested = [finding for finding in findings if finding is not None and finding.determined]
        reasons = tuple(finding.reason for finding in findings if finding is not None and finding.reason)
        if not tested:
            return 1.0, None, reasons
        p_value = _combined(tested, SHARES)
        if p_value >= alpha:
            return p_value, False if findings[0] in tested else None, reasons
        largest = max((finding.effect_size or 0.0 for finding in tested if finding.p_value < alpha), default=0.0)
        least = self.covariates.min_effect
        if largest >= least:
            return p_value, True, reasons
        note = f"A difference was found, but its effect size {largest:.3g} is below min_effect {least:g}."
        return p_value, False, (*reasons, note)

    def _features(
        self, covariates: tuple[FeatureFinding, ...], label: Finding, window: Evidence
    ) -> tuple[FeatureFinding, ...]:
        """Findings of all columns, in their order; p-values are adjusted for the label as well."""
        if not covariates:
            return ()
        column, tested = self.schema.columns[self.place], label.determined
        unit = "share of values" if column.kind == "category" else "standard deviations"
        own = FeatureFinding(
            column.name,
            _missing_share(self.evidence),
            _missing_share(window),
            label.p_value,
            effect_size=label.effect_size or 0.0,
            tested=tested,
            effect_unit=unit if tested else "",
            **describe_column(column, self._counts_of(self.evidence), self._counts_of(window)),
        )
        found = [*covariates[: self.place], own, *covariates[self.place :]]
        adjusted = holm(np.array([feature.p_value for feature in found])).tolist()
        return tuple(
            replace(feature, adjusted_p_value=p_value if feature.tested else 1.0)
            for feature, p_value in zip(found, adjusted, strict=True)
        )

    def _counts_of(self, evidence: Evidence) -> ColumnCounts:
        """Counts of the label."""
        facts = evidence.facts or empty_facts(1)
        return ColumnCounts(self.label.axes[0], _cells(evidence), *facts.of_column(-1))


def fit_labelled_reference(table: Any, settings: DriftSettings, rng: np.random.Generator) -> LabelledReference:
    """Reference of DriftDetector with a label: covariates, label, and how the one depends on the others."""
    source = Table.read(table)
    target, categories, ignore = settings.target, settings.categories, settings.ignore
    assert target is not None  # a label is what this is about
    schema = learn_schema(source, target=target, categories=categories, ignore=ignore, category_rule=CATEGORY_RULE)
    name = source.name_of(target)
    if len(schema.columns) == 1:
        raise ParameterError(
            f"target names {name!r}, the only column that is compared. Name no target, or compare more columns."
        )
    others = tuple(column for column in categories if source.name_of(column) != name)
    without = replace(settings, target=None, categories=others, ignore=(*ignore, target))
    covariates, place = fit_drift_reference(source, without, rng), schema.names.index(name)
    labelled = np.flatnonzero(~source.column(name).missing)
    if len(labelled) > MAX_LEARNED:
        labelled = np.sort(rng.choice(labelled, MAX_LEARNED, replace=False, shuffle=False))
    rows = _apart(encode(source.take(labelled), schema, pool_singletons=True), schema, place)
    label = fit_functions(rows.label, Schema((schema.columns[place],), (), schema.named))
    known = _labelled(covariates.functions, label, rows)
    model, sums = fit_concept(covariates.functions, *known, rng, is_number=bool(label.is_number[0])) or (None, {})
    digest = hashlib.sha256(repr((covariates.origin, schema.columns[place])).encode() + label.fingerprint())
    if model is not None:
        digest.update(model.fingerprint())
    own_notes = [note for note in covariates.notes if note not in covariates.schema.notes]
    nothing = covariates.evidence.zero()
    draft = LabelledReference(
        schema, place, covariates, label, model, nothing, nothing, digest.hexdigest()[:16], (*schema.notes, *own_notes)
    )
    evidence = draft.count_own(source)
    counted = {} if model is None else count_concept(model, *known)
    corrections = {name: array - counted[name] for name, array in sums.items()}
    correction = replace(evidence.zero(), sums={**evidence.zero().sums, **corrections})
    return replace(draft, correction=correction, evidence=evidence + correction)


def _labelled(functions: Functions, label: Functions, rows: _Rows) -> tuple[Matrix, Matrix]:
    """[u | w | o] of the other columns, and functions of the label, of the rows that have one."""
    labelled = np.flatnonzero(~rows.label.missing[:, 0])
    block = np.hstack(functions.values(functions.codes(rows.covariates.take(labelled))))
    labels, _ = label.values(label.codes(rows.label.take(labelled)))
    return block.astype(float), labels.astype(float)


def _parts(table: Any, schema: Schema, place: int, *, pool_singletons: bool) -> Iterator[_Rows]:
    """Rows of a table, encoded a part at a time, the label apart."""
    source = table if isinstance(table, Encoded) else Table.read(table)
    if isinstance(source, Encoded) or source.n_rows <= ROWS_AT_ONCE:
        yield _apart(encode(source, schema, pool_singletons=pool_singletons), schema, place)
        return
    for start in range(0, source.n_rows, ROWS_AT_ONCE):
        yield from _parts(source.slice(start, start + ROWS_AT_ONCE), schema, place, pool_singletons=pool_singletons)


def _apart(rows: Encoded, schema: Schema, place: int) -> _Rows:
    """Encoded rows, the label apart; what categories add to the hash of a row stays with the covariates."""
    own, tallies = schema.owner == place, list(rows.tallies)
    label = (tallies.pop(place),) if tallies else ()
    others = np.delete(rows.missing, place, axis=1)
    covariates = Encoded(rows.values[:, ~own], others, rows.notes, tuple(tallies), rows.codes)
    return _Rows(covariates, Encoded(rows.values[:, own], rows.missing[:, [place]], tallies=label))


def _part_of(evidence: Evidence, covariates: DriftReference) -> Evidence:
    """What evidence tells of the covariates alone."""
    sums = {name: evidence.sums[name] for name in covariates.evidence.sums}
    facts, n_columns = evidence.facts, len(covariates.schema.columns)
    if facts is not None:
        ends = facts.smallest[:n_columns], facts.largest[:n_columns]
        facts = Facts(*ends, facts.tallies[:n_columns], facts.hashes, facts.copies)
    return Evidence(evidence.n_rows, sums, covariates.origin, evidence.notes, facts)


def _cells(evidence: Evidence) -> Vector:
    """How often each code of the label occurs, that of missing ones left out."""
    return evidence.sums["label_cells"][:-1]


def _missing_share(evidence: Evidence) -> float:
    """Share of rows without a label."""
    return float(evidence.sums["label_cells"][-1] / max(evidence.n_rows, 1))


def _values(covariates: Finding, label: Finding) -> Finding:
    """Finding of the values, which of P(x) and P(y) moved: ``parts`` are both."""
    parts = covariates, label
    if not covariates.determined:
        return Finding("values", None, None, 1.0, None, reason=covariates.reason, parts=parts)
    tested = [part for part in parts if part.determined]
    effect = max(part.effect_size or 0.0 for part in tested)
    return Finding("values", None, None, _combined(tested, LABEL_SHARES), effect, parts=parts)


def _combined(tested: list[Finding], shares: Mapping[str, float]) -> float:
    """p-value of some findings together, each with its share of the false alarms."""
    total = sum(shares[finding.name] for finding in tested)
    p_values = [sidak(finding.p_value, total / shares[finding.name]) for finding in tested]
    return max(min(p_values, default=1.0), SMALLEST_P)
