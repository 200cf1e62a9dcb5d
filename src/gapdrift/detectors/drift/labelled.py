"""The fitted reference of DriftDetector with a label: P(x), P(y) and P(y | x) apart."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Mask, Matrix, Vector
from gapdrift.counting.concept import concept_sums, count_concept
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.profile import Profile, add_to_digest
from gapdrift.detectors.distributions import Side, column_facts
from gapdrift.detectors.drift.batches import BatchStatistics
from gapdrift.detectors.drift.reference import (
    CATEGORY_RULE,
    ENCODED_ROWS,
    MIN_WINDOW,
    DriftReference,
    DriftSettings,
    effect_unit,
    fit_drift_reference,
)
from gapdrift.errors import ParameterError
from gapdrift.execution import MAX_LEARNED
from gapdrift.inference.concept import concept_finding
from gapdrift.inference.findings import holm
from gapdrift.inference.label import SHARES, combine_findings, label_finding, values_with_label
from gapdrift.models.concept import MIN_LABELLED, ConceptModel, fit_concept
from gapdrift.models.concept_basis import MIN_CLASS
from gapdrift.persistence.records import expect, expecting, stored
from gapdrift.results import DriftResult, FeatureFinding, Finding
from gapdrift.tables.encoding import Encoded, encode, probe_rows
from gapdrift.tables.facts import Facts, empty_facts
from gapdrift.tables.frame import Table
from gapdrift.tables.histograms import HistogramAxis, count_categories, find_facts, fit_axes
from gapdrift.tables.schema import Schema, learn_schema

__all__ = ["LabelledReference", "fit_labelled_reference"]


class _Rows(NamedTuple):
    """Encoded rows, the label apart."""

    covariates: Encoded
    label: Encoded

    @property
    def labelled(self) -> Mask:
        """Whether rows have a label: (rows,)."""
        return ~self.label.missing[:, 0]


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
    axis : HistogramAxis
        Of the label.
    concept : ConceptModel or None
        None where the labels of the reference are too few, or all the same.
    correction : Evidence
        Of no rows, added once to that of the reference: sums over the rows that were learned from, each predicted by a
        model of the others, less the sums that counting these rows gives.
    evidence : Evidence
        Of the reference itself, corrected; or of other rows that windows are compared with.
    origin : str
        Fingerprint.
    notes : tuple of str
    """

    schema: Schema
    place: int
    covariates: DriftReference
    axis: HistogramAxis
    concept: ConceptModel | None
    correction: Evidence
    evidence: Evidence
    origin: str
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        """Let the covariates be compared with all rows of the evidence."""
        own = self.covariates
        shared = replace(own, evidence=_part_of(self.evidence, own))
        # What the covariates have prepared for counting is theirs, whatever they are compared with.
        vars(shared).update({name: value for name, value in vars(own).items() if name not in vars(shared)})
        object.__setattr__(self, "covariates", shared)

    def __getstate__(self) -> dict[str, Any]:
        """Fields alone, as those of the covariates."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def batch_statistics(self, basis: Mapping[str, Vector] | None = None) -> BatchStatistics:
        """What is compared of batches: of the covariates."""
        return self.covariates.batch_statistics(basis)

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.covariates.n_bins

    @property
    def missing_shares(self) -> tuple[float, ...]:
        """Share of missing cells of each column of the reference."""
        shares = list(self.covariates.missing_shares)
        shares.insert(self.place, _missing_share(self.evidence))
        return tuple(shares)

    def count(self, table: Any) -> Evidence:
        """Evidence of the rows of a table."""
        return self._count(table, pool_singletons=False)

    def count_own(self, table: Any) -> Evidence:
        """Evidence of rows of the reference itself: categories that it has once count as unseen."""
        return self._count(table, pool_singletons=True)

    def _count(self, table: Any, *, pool_singletons: bool) -> Evidence:
        parts = _encoded(table, self.schema, self.place, self.covariates.schema, pool_singletons=pool_singletons)
        return reduce(add, map(self._count_rows, parts))

    def _count_rows(self, rows: "_Rows") -> Evidence:
        own, label = self.covariates.count(rows.covariates), self.count_labels(rows)
        return _joined(own, label, self.origin)

    def count_labels(self, rows: "_Rows") -> Evidence:
        """Evidence of rows that is about their labels."""
        labelled = rows.labelled
        labels = rows.label.values[labelled]
        sums = {
            "label_cells": _label_cells(self.axis, labels),
            "label_missing": np.array([float(len(labelled) - labelled.sum())]),
        }
        if self.concept is not None:
            chosen = Encoded(rows.covariates.values[labelled], rows.covariates.missing[labelled])
            sums |= count_concept(self.concept, self.covariates.expected(chosen), chosen.missing, labels)
            sums["concept_corrections"] = np.zeros(1)
        owner = np.zeros(labels.shape[1], dtype=np.intp)
        facts = find_facts(rows.label, (self.axis,), owner)
        return Evidence(len(labelled), sums, self.origin, rows.label.notes, facts)

    def check_stored(self) -> None:
        """Check what was read from a file: the parts fit together, and rows can be counted."""
        columns = self.schema.columns
        expect(0 <= self.place < len(columns), "a label among the columns")
        self.axis.check_fits(columns[self.place])
        others = (*columns[: self.place], *columns[self.place + 1 :])
        expect(self.covariates.schema.columns == others, "all columns but the label among the covariates")
        if self.concept is not None:
            self._check_concept(self.concept)
        with expecting("a reference that counts"):
            counted = self.count(probe_rows(self.schema))
        shapes = {name: array.shape for name, array in counted.sums.items()}
        self.evidence.check_stored_sums(self.origin, shapes)
        expect(self.correction.origin == self.origin and self.correction.n_rows == 0, "a correction of this reference")
        expect({name: array.shape for name, array in self.correction.sums.items()} == shapes, f"the sums {shapes}")

    def _check_concept(self, concept: ConceptModel) -> None:
        column, profile = self.schema.columns[self.place], self.covariates.profile
        expect((concept.label_scores is not None) == (column.kind == "number"), "a model of this label")
        expect(concept.classes.size == 0 or concept.classes.max() < column.width, "classes of the label")
        expect(concept.basis.n_columns == len(profile.owner), "functions of all columns")
        expect(len(concept.matters) == len(profile.entropy), "all columns that may matter")

    def test(self, window: Evidence, alpha: float) -> DriftResult:
        """Result of the evidence of a window against that of the reference."""
        window.check_like(self.evidence)
        found = self.covariates.test(_part_of(window, self.covariates), alpha)
        label = label_finding(self.axis, self.evidence.sums["label_cells"], window.sums["label_cells"])
        values = values_with_label(replace(found.values, name="covariates"), label)
        concept = self._test_concept(window)
        p_value, drift, notes = self._decide((values, concept, found.missingness), window, alpha)
        own = set(self.covariates.notes)
        rest = [note for note in found.warnings if note not in own]
        return replace(
            found,
            drift=drift,
            p_value=p_value,
            values=values,
            concept=concept,
            features=self._features(found.features, label, window),
            warnings=(*self.notes, *dict.fromkeys([*rest, *notes])),
        )

    def _test_concept(self, window: Evidence) -> Finding:
        if self.concept is None:
            n_labels = float(self.evidence.sums["label_cells"].sum())
            reason = (
                f"The reference has {n_labels:.0f} label(s), expected at least {MIN_LABELLED} that are not all the "
                f"same (of classes, one with {MIN_CLASS} rows or more, and as many rows of others): what the label "
                "depends on could not be learned."
            )
            return Finding("concept", None, None, 1.0, None, reason=reason)
        is_number = self.concept.label_scores is not None
        sums = self.evidence.sums
        # Of other rows than those of the reference nothing was corrected.
        n_corrections = float(sums["concept_corrections"][0])
        counted = {name: sums[name] - n_corrections * self.correction.sums[name] for name in sums}
        return concept_finding(self.concept.basis.roles, sums, counted, window.sums, is_number=is_number)

    def _decide(
        self, findings: tuple[Finding | None, ...], window: Evidence, alpha: float
    ) -> tuple[float, bool | None, tuple[str, ...]]:
        """p-value, verdict, and sentences about it; a difference smaller than ``min_effect`` is no drift."""
        tested = tuple(finding for finding in findings if finding is not None and finding.determined)
        reasons = tuple(finding.reason for finding in findings if finding is not None and finding.reason)
        values = findings[0]
        assert values is not None
        if window.n_rows < MIN_WINDOW or not tested:
            return 1.0, None, reasons
        p_value = combine_findings(tested, SHARES)
        if p_value >= alpha:
            return p_value, False if values.determined else None, reasons
        effects = [finding.effect_size or 0.0 for finding in tested if finding.p_value < alpha]
        largest, least = max(effects, default=0.0), self.covariates.min_effect
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
        found = [*covariates[: self.place], self._label_feature(label, window), *covariates[self.place :]]
        adjusted = holm(np.array([feature.p_value for feature in found]))
        return tuple(
            replace(feature, adjusted_p_value=float(p_value) if feature.tested else 1.0)
            for feature, p_value in zip(found, adjusted, strict=True)
        )

    def _label_feature(self, label: Finding, window: Evidence) -> FeatureFinding:
        column, sides = self.schema.columns[self.place], [_label_side(side) for side in (self.evidence, window)]
        return FeatureFinding(
            column.name,
            _missing_share(self.evidence),
            _missing_share(window),
            label.p_value,
            effect_size=label.effect_size or 0.0,
            tested=label.determined,
            effect_unit=effect_unit(column.kind, by_product=False) if label.determined else "",
            observed_reference=sides[0].n_observed,
            observed_window=sides[1].n_observed,
            **column_facts(self.axis, sides[0], sides[1]),
        )


def fit_labelled_reference(table: Any, settings: DriftSettings, rng: np.random.Generator) -> LabelledReference:
    """Reference of DriftDetector with a label: covariates, label, and how the one depends on the others."""
    assert settings.target is not None
    source = Table.read(table)
    schema = learn_schema(
        source,
        target=settings.target,
        categories=settings.categories,
        ignore=settings.ignore,
        category_rule=CATEGORY_RULE,
    )
    name = source.name_of(settings.target)
    if len(schema.columns) == 1:
        raise ParameterError(
            f"target names {name!r}, the only column that is compared. Name no target, or compare more columns."
        )
    others = tuple(column for column in settings.categories if source.name_of(column) != name)
    without = replace(settings, target=None, categories=others, ignore=(*settings.ignore, settings.target))
    covariates = fit_drift_reference(source, without, rng)
    place = schema.names.index(name)
    labelled = ~source.column(name).missing
    sample = _sample_labelled(labelled, rng)
    labels_alone = _only(schema, place)
    (rows,) = _encoded(source.take(sample), schema, place, covariates.schema, pool_singletons=True)
    axis = fit_axes(encode(source, labels_alone, pool_singletons=True), labels_alone)[0]
    learned = _learn(rows, covariates, rng, is_number=schema.columns[place].kind == "number")
    model, corrections = learned or (None, {})
    digest = hashlib.sha256(repr((covariates.origin, schema.columns[place], axis)).encode())
    add_to_digest(digest, model)
    origin = digest.hexdigest()[:16]
    own_notes = [note for note in covariates.notes if note not in covariates.schema.notes]
    notes = (*schema.notes, *own_notes)
    evidence = covariates.evidence
    draft = LabelledReference(schema, place, covariates, axis, model, evidence, evidence, origin, notes)
    # Where rows are few the covariates compare one half of them, and the label all.
    parts = _encoded(source, schema, place, covariates.schema, pool_singletons=True)
    counted = _joined(evidence, reduce(add, map(draft.count_labels, parts)), origin)
    nothing = counted.zero()
    correction = replace(nothing, sums=dict(nothing.sums) | corrections)
    return replace(draft, correction=correction, evidence=counted + correction)


def _sample_labelled(labelled: Mask, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows with a label that the concept is learned from."""
    rows = np.flatnonzero(labelled)
    if len(rows) > MAX_LEARNED:
        rows = np.sort(rng.choice(rows, MAX_LEARNED, replace=False, shuffle=False))
    return rows


def _only(schema: Schema, place: int) -> Schema:
    """Schema of one column, which ignores all others."""
    others = (*schema.names[:place], *schema.names[place + 1 :], *schema.ignored)
    return Schema((schema.columns[place],), others, schema.named)


def _learn(
    rows: _Rows, covariates: DriftReference, rng: np.random.Generator, *, is_number: bool
) -> tuple[ConceptModel, dict[str, NDArray[np.float64]]] | None:
    """Model of the label, and the correction of sums over the rows it was learned from."""
    profile = covariates.profile
    expected, missing, labels = covariates.expected(rows.covariates), rows.covariates.missing, rows.label.values
    of_columns = _coordinates(profile), profile.owner, profile.is_category
    learned = fit_concept(expected, missing, labels, *of_columns, rng, is_number=is_number)
    if learned is None:
        return None
    model, own = learned
    counted, found = count_concept(model, expected, missing, labels), concept_sums(own)
    corrections = {name: array - counted[name] for name, array in found.items()}
    return model, corrections | {"concept_corrections": np.ones(1)}


def _coordinates(profile: Profile) -> NDArray[np.intp]:
    """Matrix columns by which the label may be described: each category without its first value, which others tell."""
    repeated = np.concatenate([[True], profile.owner[1:] != profile.owner[:-1]]) & profile.is_category
    return np.flatnonzero(~repeated)


def _encoded(table: Any, schema: Schema, place: int, covariates: Schema, *, pool_singletons: bool) -> Iterator[_Rows]:
    """Rows of a table, encoded a part at a time."""
    if isinstance(table, Encoded):
        yield _apart(encode(table, schema), schema, place)
        return
    source, label = Table.read(table), _only(schema, place)
    for start in range(0, max(source.n_rows, 1), ENCODED_ROWS):
        part = source.slice(start, start + ENCODED_ROWS) if source.n_rows > ENCODED_ROWS else source
        own = encode(part, covariates, pool_singletons=pool_singletons)
        yield _Rows(own, encode(part, label, pool_singletons=pool_singletons))


def _apart(rows: Encoded, schema: Schema, place: int) -> _Rows:
    """Encoded rows, the label apart; what categories add to the hash of a row stays with the covariates."""
    own = schema.owner == place
    tallies = list(rows.tallies)
    label = (tallies.pop(place),) if tallies else ()
    covariates = Encoded(
        rows.values[:, ~own], np.delete(rows.missing, place, axis=1), rows.notes, tuple(tallies), rows.codes
    )
    return _Rows(covariates, Encoded(rows.values[:, own], rows.missing[:, [place]], tallies=label))


def _joined(covariates: Evidence, label: Evidence, origin: str) -> Evidence:
    """Evidence of rows from that of both parts: the facts of the label come last."""
    sums, notes = {**covariates.sums, **label.sums}, covariates.notes | label.notes
    one, two = covariates.facts, label.facts
    if one is None or two is None:
        return Evidence(covariates.n_rows, sums, origin, notes)
    ends = (np.append(one.smallest, two.smallest), np.append(one.largest, two.largest))
    facts = Facts(*ends, (*one.tallies, *two.tallies), one.hashes, one.copies)
    return Evidence(covariates.n_rows, sums, origin, notes, facts)


def _part_of(evidence: Evidence, covariates: DriftReference) -> Evidence:
    """What evidence tells of the covariates alone."""
    sums = {name: evidence.sums[name] for name in covariates.evidence.sums}
    facts, n_columns = evidence.facts, len(covariates.schema.columns)
    if facts is not None:
        ends = (facts.smallest[:n_columns], facts.largest[:n_columns])
        facts = Facts(*ends, facts.tallies[:n_columns], facts.hashes, facts.copies)
    return Evidence(evidence.n_rows, sums, covariates.origin, evidence.notes, facts)


def _label_side(evidence: Evidence) -> Side:
    facts = evidence.facts or empty_facts(1)
    return Side(evidence.sums["label_cells"], facts.tallies[-1], float(facts.smallest[-1]), float(facts.largest[-1]))


def _label_cells(axis: HistogramAxis, labels: Matrix) -> Vector:
    """Labels of each cell of the histogram."""
    if axis.labels:
        return count_categories(labels, axis)
    if not axis.edges:
        return np.zeros(0)
    return np.bincount(axis.cells_of(labels[:, 0]), minlength=len(axis)).astype(float)


def _missing_share(evidence: Evidence) -> float:
    """Share of rows without a label."""
    absent, present = float(evidence.sums["label_missing"][0]), float(evidence.sums["label_cells"].sum())
    return absent / max(absent + present, 1.0)
