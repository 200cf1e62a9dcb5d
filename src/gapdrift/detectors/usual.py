"""The usual variation between the batches of a reference: learned by `fit`, and what a window is judged by."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Matrix, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.errors import EvidenceError, InputError
from gapdrift.inference.batch_models import Block
from gapdrift.inference.batches import (
    MIN_BATCHES,
    BatchTable,
    Judgement,
    Variation,
    batches_needed,
    fit_variation,
    judge_window,
    stacked,
)
from gapdrift.inference.findings import holm
from gapdrift.persistence.records import stored
from gapdrift.results import BatchStrip, DriftResult, FeatureFinding, Finding, UsualVariation
from gapdrift.tables.batches import BatchPlan, label_rows, order_of_rows
from gapdrift.tables.frame import Table, join_tables
from gapdrift.tables.schema import Schema
from gapdrift.tables.seasons import SEASONS, SeasonTerms

__all__ = [
    "BatchCounter",
    "Statistics",
    "Usual",
    "UsualJudge",
    "joined_parts",
    "learn_usual",
    "usual_of",
    "with_calendar",
    "without_calendar",
]

Count = Callable[[Any, SeasonTerms | None], Evidence]
"""Evidence of the rows of a table, with the terms of a calendar."""

CALENDAR = "calendar"
"""Name of the sums of calendar terms in evidence."""

MIN_BATCH_ROWS = 10
"""Rows below which a batch is left out."""

MAX_PANES, MIN_PANES, PANE_ROWS = 64, 12, 20
"""Panes of dependent rows: at most, at least, and rows in each."""

CORRELATED = 0.2
"""Correlation of the means of consecutive panes above which they are merged in pairs."""

SHOWN_BATCHES, SHOWN_COLUMNS = 60, 12
"""Batches and columns in the strips of a result, at most."""

BATCHES_PER_TERM = 3
"""Batches for each calendar term, at least."""


class Statistics(Protocol):
    """What a detector compares of batches; see `gapdrift.detectors.drift.batches.BatchStatistics`."""

    @property
    def basis(self) -> Mapping[str, NDArray[np.float64]]:
        """What they are compared with."""
        ...

    def learn(self, parts: Iterable[Evidence]) -> tuple[dict[str, Matrix], dict[str, NDArray[np.float64]]]:
        """Statistics of batches that come one by one, by the names of their blocks, and the basis that they give."""
        ...

    def of(self, evidence: Evidence) -> Mapping[str, Vector]:
        """Statistics of one batch, infinite where it has none."""
        ...

    def blocks(self, *, as_panes: bool = False) -> tuple[Block, ...]:
        """How the statistics are compared."""
        ...

    def column_tests(self, judgement: Judgement) -> tuple[Vector | None, Vector]:
        """p-values of the values of input columns, if they are tested, and of their missing rates."""
        ...

    def shown(self, residuals: Mapping[str, Vector]) -> Sequence[tuple[int, str, int]]:
        """Input columns whose values can be shown, and the block and the place in it of what is shown of each."""
        ...


@stored
@dataclass(frozen=True, eq=False)
class Usual:
    """Batches of a reference, without their rows.

    Parameters
    ----------
    table : BatchTable
    basis : mapping of str to array
        What the statistics of batches are compared with.
    calendar : SeasonTerms or None
    as_panes : bool
        Whether batches are panes of dependent rows.
    unit : str
        What a batch is.
    notes : tuple of str
    """

    table: BatchTable
    basis: Mapping[str, NDArray[np.float64]]
    calendar: SeasonTerms | None
    as_panes: bool
    unit: str
    notes: tuple[str, ...] = ()

    def dated(self, evidence: Evidence) -> Evidence:
        """Evidence of the whole reference with the sums of its calendar terms, as those of windows have them."""
        if self.calendar is None:
            return evidence
        share = evidence.n_rows / self.table.n_rows.sum()
        terms = (self.table.calendar * self.table.n_rows[:, None]).sum(axis=0) * share
        return replace(evidence, sums={**evidence.sums, CALENDAR: terms})

    def with_parts(self, labelled: Iterable[tuple[str, Evidence]], statistics: Statistics) -> "Usual":
        """The same with more batches, compared on the same basis."""
        parts = [(label, part) for label, part in labelled if part.n_rows >= MIN_BATCH_ROWS]
        return replace(
            self, table=reduce(BatchTable.append, [_row(*each, self, statistics) for each in parts], self.table)
        )


class UsualJudge:
    """Judges windows by the usual variation.

    Parameters
    ----------
    usual : Usual
    statistics : Statistics
        On the basis of the batches.
    """

    def __init__(self, usual: Usual, statistics: Statistics) -> None:
        self.usual, self.statistics = usual, statistics

    @cached_property
    def variation(self) -> Variation:
        """Usual variation, learned when it is first asked for."""
        as_panes = self.usual.as_panes
        return fit_variation(self.usual.table, self.statistics.blocks(as_panes=as_panes), as_panes=as_panes)

    def among(self, evidence: Evidence) -> Judgement:
        """The window of some evidence, with its calendar, among the batches."""
        return judge_window(self.variation, _row("", evidence, self.usual, self.statistics))

    def judge(self, evidence: Evidence, plain: DriftResult) -> DriftResult:
        """Result whose verdict and p-values are about the usual variation.

        Parameters
        ----------
        evidence : Evidence
            Of the window, with its calendar.
        plain : DriftResult
            Against the rows of the reference, taken as independent.
        """
        judgement = self.among(evidence)
        features, strips = self._columns(plain, judgement)
        # Not where the difference from the rows is smaller than ``min_effect``.
        too_small = not plain.drift and plain.p_value < plain.alpha
        drift = None if plain.drift is None else judgement.p_value < plain.alpha and not too_small
        n_batches, needed = len(self.usual.table), batches_needed(plain.alpha)
        p_values = judgement.p_value, plain.p_value
        missingness = plain.missingness and self._finding(plain.missingness, judgement.missingness, judgement)
        return replace(
            plain,
            drift=drift,
            p_value=1.0 if plain.drift is None else judgement.p_value,
            values=self._finding(plain.values, judgement.values, judgement),
            missingness=missingness,
            features=features,
            warnings=(*plain.warnings, *self.usual.notes, *self._few_batches(plain.alpha), *self._alike_batches()),
            usual=UsualVariation(n_batches, self.usual.unit, *p_values, needed, strips),
        )

    def _finding(self, plain: Finding, p_value: float, judgement: Judgement) -> Finding:
        if not plain.determined:
            return plain
        of_values = plain.name == "values"
        names = [each.block.name for each in self.variation.blocks if each.block.of_values == of_values]
        parts = tuple(Finding(name, None, None, judgement.parts[name], None) for name in names)
        return Finding(plain.name, None, None, p_value, plain.effect_size, parts=parts)

    def _few_batches(self, alpha: float) -> tuple[str, ...]:
        n_batches, needed = len(self.usual.table), batches_needed(alpha)
        if n_batches >= needed or self.usual.as_panes:
            return ()
        return (
            f"The reference has {n_batches} batches, so that p-values below {1 / (n_batches + 1):.2g} rest on how "
            f"their scores fall off, not on ranks alone. For alpha {alpha:g}, {needed} batches are needed.",
        )

    def _alike_batches(self) -> tuple[str, ...]:
        """A note where batches that follow each other are alike: they are fewer than they seem."""
        alike = max((each.alike for each in self.variation.blocks), default=0.0)
        if not alike:
            return ()
        remedy = "" if self.usual.calendar else "take off what the calendar explains (season=...), "
        return (
            f"Consecutive batches are alike (correlation {alike:.2f}): {len(self.usual.table)} of them say less of "
            "what is usual than as many at random, and little of windows that come much later. Fit on a longer "
            f"history, {remedy}or add batches as they come (with_batches, or a monitor that adapts).",
        )

    def _columns(
        self, plain: DriftResult, judgement: Judgement
    ) -> tuple[tuple[FeatureFinding, ...], tuple[BatchStrip, ...]]:
        """Columns with their p-values, and strips of the batches: of the whole, and of some columns."""
        values, missing = self.statistics.column_tests(judgement)
        features = list(plain.features)
        for place, (own, adjusted) in enumerate(() if values is None else zip(values, holm(values), strict=True)):
            if features[place].p_value is not None:
                features[place] = replace(features[place], p_value=float(own), adjusted_p_value=float(adjusted))
        for place, pair in enumerate(zip(missing.tolist(), holm(missing).tolist(), strict=True)):
            if features[place].missing_p_value is not None:
                new = dict(zip(("missing_p_value", "adjusted_missing_p_value"), pair, strict=True))
                features[place] = replace(features[place], **new)
        unusual = -np.log10(np.clip(np.append(self.variation.unusual, judgement.p_value), 1e-300, 1.0))
        whole = BatchStrip("", "whole", _thinned(unusual[:-1]), float(unusual[-1]))
        strips = [*self._value_strips(plain, judgement, values), *self._missing_strips(plain, missing)]
        ordered = sorted(strips, key=lambda each: each[0])[:SHOWN_COLUMNS]
        return tuple(features), (whole, *(strip for _, strip in ordered))

    def _value_strips(
        self, plain: DriftResult, judgement: Judgement, values: Vector | None
    ) -> Iterator[tuple[float, BatchStrip]]:
        """Strips with the p-values that order them."""
        if values is None:
            return
        table, entries = self.usual.table, {each.block.name: each.entries for each in self.variation.blocks}
        terms = np.column_stack([np.ones(len(table)), table.calendar])
        for column, name, place in self.statistics.shown(judgement.residuals):
            margins, window = entries[name], float(judgement.residuals[name][place])
            assert margins is not None  # it has residuals
            batches = margins.residuals(table.blocks[name], terms, table.n_rows)[:, place]
            yield float(values[column]), BatchStrip(plain.features[column].name, "values", _thinned(batches), window)

    def _missing_strips(self, plain: DriftResult, missing: Vector) -> Iterator[tuple[float, BatchStrip]]:
        for column, feature in enumerate(plain.features):
            rates = self.usual.table.blocks["missing"][:, column]
            if rates.any() or feature.missing_window:
                strip = BatchStrip(feature.name, "missing", _thinned(rates), feature.missing_window)
                yield float(missing[column]), strip


def with_calendar(evidence: Evidence, calendar: SeasonTerms | None, table: Any) -> Evidence:
    """Evidence of the rows of a table with the sums of their calendar terms."""
    if calendar is None:
        return evidence
    return replace(evidence, sums={**evidence.sums, CALENDAR: calendar.sums(table)})


def without_calendar(evidence: Evidence) -> Evidence:
    """Evidence as the reference itself counts it."""
    if CALENDAR not in evidence.sums:
        return evidence
    return replace(evidence, sums={name: array for name, array in evidence.sums.items() if name != CALENDAR})


def calendar_of(plan: BatchPlan, n_batches: int | None) -> tuple[SeasonTerms | None, tuple[str, ...]]:
    """SeasonTerms for the seasons that are longer than a batch, and notes."""
    length = 0.0 if plan.span is None else plan.span.micros or plan.span.months * SEASONS["year"] / 12.0
    kept = tuple(season for season in plan.seasons if SEASONS[season] > 1.01 * length)
    dropped = [season for season in plan.seasons if season not in kept]
    notes = tuple(f"Season {season!r} is left out: batches of {plan.unit} are whole {season}s." for season in dropped)
    if not kept:
        return None, notes
    calendar = SeasonTerms(str(plan.time), kept, 1, plan.time_zone)
    if n_batches is not None:
        _check_terms(calendar, n_batches)
        if n_batches >= 4 * BATCHES_PER_TERM * (1 + calendar.n_terms):
            calendar = replace(calendar, harmonics=2)
    return calendar, notes


def _check_terms(calendar: SeasonTerms | None, n_batches: int) -> None:
    """Raise an `InputError` where batches are too few to learn seasons from."""
    if calendar is not None and n_batches < BATCHES_PER_TERM * (1 + calendar.n_terms):
        raise InputError(
            f"The reference has {n_batches} batches, which are too few for the season(s) "
            f"{', '.join(calendar.seasons)}: expected at least {BATCHES_PER_TERM * (1 + calendar.n_terms)}. Collect "
            "more, or leave seasons out."
        )


def _row(label: str, part: Evidence, usual: Usual, statistics: Statistics) -> BatchTable:
    """Table of one batch."""
    terms = _terms(part, usual.calendar)[None]
    return BatchTable(np.array([float(part.n_rows)]), terms, stacked([statistics.of(part)]), (label,))


def _terms(part: Evidence, calendar: SeasonTerms | None) -> Vector:
    """Means of the calendar terms of a batch."""
    if calendar is None:
        return np.zeros(0)
    if CALENDAR not in part.sums:
        raise EvidenceError(
            "Evidence of a batch has no calendar terms, but seasons are compared: count it with a detector that "
            "was fitted with the same season."
        )
    found: Vector = part.sums[CALENDAR] / part.n_rows
    return found


def usual_of(
    parts: Iterable[tuple[str, Evidence]],
    statistics: Statistics,
    calendar: SeasonTerms | None,
    unit: str,
    notes: tuple[str, ...] = (),
    *,
    as_panes: bool = False,
) -> Usual:
    """Usual variation of batches, one evidence at a time; too few batches raise an `InputError`."""
    labels, n_rows, terms, n_left_out = [], [], [], 0

    def large_enough() -> Iterator[Evidence]:
        nonlocal n_left_out
        for label, part in parts:
            if part.n_rows < MIN_BATCH_ROWS:
                n_left_out += 1
                continue
            labels.append(label)
            n_rows.append(float(part.n_rows))
            terms.append(_terms(part, calendar))
            yield part

    blocks, basis = statistics.learn(large_enough())
    if len(labels) < MIN_BATCHES:
        small = f" ({n_left_out} with fewer than {MIN_BATCH_ROWS} rows left out)" if n_left_out else ""
        raise InputError(
            f"The reference has {len(labels)} batch(es){small}, expected at least {MIN_BATCHES}, better 20. Collect "
            "more, or make the batches shorter."
        )
    if n_left_out:
        notes = (*notes, f"{n_left_out} batch(es) with fewer than {MIN_BATCH_ROWS} rows were left out.")
    table = BatchTable(np.array(n_rows), np.array(terms), blocks, tuple(labels))
    return Usual(table, basis, calendar, as_panes, unit, notes)


def learn_usual(plan: BatchPlan, table: Table | None, count: Count, statistics: Statistics) -> Usual:
    """Usual variation of the batches of a reference in memory.

    Parameters
    ----------
    plan : BatchPlan
    table : Table or None
        The reference; None where the plan has its parts.
    count : callable
    statistics : Statistics
    """
    if plan.parts is not None:
        calendar, notes = calendar_of(plan, len(plan.parts))
        counted = (part if isinstance(part, Evidence) else count(part, calendar) for part in plan.parts)
        labelled = ((f"batch {place}", part) for place, part in enumerate(counted))
        return usual_of(labelled, statistics, calendar, plan.unit, notes)
    assert table is not None
    if plan.in_order:
        return _learn_panes(plan, table, count, statistics)
    codes, labels = label_rows(table, plan)
    calendar, notes = calendar_of(plan, len(labels))
    ordered = table.take(np.argsort(codes, kind="stable"))
    limits = np.cumsum([0, *np.bincount(codes, minlength=len(labels))]).tolist()
    pieces = (count(ordered.slice(start, stop), calendar) for start, stop in pairwise(limits))
    return usual_of(zip(labels, pieces, strict=True), statistics, calendar, plan.unit, notes)


@dataclass(frozen=True)
class BatchEvidence:
    """Evidence of some rows, of all and batch by batch: it adds up, wherever the rows were counted.

    Parameters
    ----------
    whole : Evidence
        Of all rows.
    batches : mapping of str to Evidence
        Of the rows of each batch, by its label.
    notes : frozenset of str
        Sentences about how the rows were read.
    """

    whole: Evidence
    batches: Mapping[str, Evidence]
    notes: frozenset[str] = frozenset()

    def __add__(self, other: "BatchEvidence") -> "BatchEvidence":
        """Evidence of both sets of rows: those of one batch may be in both."""
        batches = dict(self.batches)
        for label, part in other.batches.items():
            batches[label] = batches[label] + part if label in batches else part
        return BatchEvidence(self.whole + other.whole, batches, self.notes | other.notes)

    def zero(self) -> "BatchEvidence":
        """Evidence of no rows, which changes nothing it is added to."""
        return BatchEvidence(self.whole.zero(), {})


class BatchCounter:
    """Counts the rows of chunks, batch by batch; it remembers nothing, so that chunks may be counted anywhere.

    Parameters
    ----------
    plan : BatchPlan
    count : callable
        Evidence of the rows of a table, with calendar terms.
    schema : Schema
    """

    def __init__(self, plan: BatchPlan, count: Count, schema: Schema) -> None:
        if plan.span is None and plan.column is None:
            raise InputError(
                "batches of rows that are not in memory have to be a column or a span of time: the rows come in "
                "chunks, in which labels and numbers of rows have no meaning. Or give a list of tables, or of evidence."
            )
        self.plan, self._count = plan, count
        # How many batches there are is not known before all rows were read: the finest seasons are those of few.
        self.calendar, self.notes = calendar_of(plan, None)
        # What the files are read like: the columns that say what batch a row is in have to be read.
        self.schema_ = schema
        self.ignored_columns_ = tuple(name for name in schema.ignored if name not in plan.columns)

    def count(self, chunk: Any) -> BatchEvidence:
        """Evidence of the rows of a chunk."""
        table = Table.read(chunk)
        if not table.n_rows:
            return BatchEvidence(self._count(table, self.calendar), {})
        codes, labels = label_rows(table, self.plan)
        parts = [self._count(table.take(np.flatnonzero(codes == code)), self.calendar) for code in range(len(labels))]
        return BatchEvidence(sum(parts, parts[0].zero()), dict(zip(labels, parts, strict=True)))

    def usual(self, batches: Mapping[str, Evidence], statistics: Statistics) -> Usual:
        """Usual variation of all batches."""
        _check_terms(self.calendar, len(batches))
        return usual_of(sorted(batches.items()), statistics, self.calendar, self.plan.unit, self.notes)


def joined_parts(plan: BatchPlan) -> Table:
    """Rows of all tables that are batches."""
    tables = [part for part in plan.parts or () if not isinstance(part, Evidence)]
    if not tables:
        raise InputError("The reference is None, and no batch is a table: there are no rows to learn from.")
    return join_tables([Table.read(table) for table in tables])


def _learn_panes(plan: BatchPlan, table: Table, count: Count, statistics: Statistics) -> Usual:
    """Panes of consecutive rows, merged in pairs as long as their means are correlated."""
    n_panes = min(table.n_rows // PANE_ROWS, MAX_PANES)
    if n_panes < MIN_PANES:
        raise InputError(
            f"The reference has {table.n_rows} rows, which are too few to tell how rows depend on each other: expected "
            f"at least {MIN_PANES * PANE_ROWS}. Collect more, or leave time out."
        )
    ordered = table.take(order_of_rows(table, str(plan.time)))
    limits = np.linspace(0, table.n_rows, n_panes + 1).astype(int)
    parts = [count(ordered.slice(start, stop), None) for start, stop in pairwise(limits.tolist())]
    correlation = _pane_correlation(parts, statistics)
    while correlation > CORRELATED and len(parts) // 2 >= MIN_PANES:
        parts = [one + two for one, two in zip(parts[::2], parts[1::2], strict=False)]
        correlation = _pane_correlation(parts, statistics)
    notes: tuple[str, ...] = ()
    if correlation > CORRELATED:
        notes = (
            f"Means of {parts[0].n_rows} consecutive rows are still correlated ({correlation:.2f}): rows change "
            "slowly, or days and weeks differ. Fit with batches as long as the windows will be.",
        )
    labelled = ((f"pane {place}", part) for place, part in enumerate(parts))
    return usual_of(labelled, statistics, None, plan.unit, notes, as_panes=True)


def _pane_correlation(parts: list[Evidence], statistics: Statistics) -> float:
    """Correlation of the statistics of consecutive panes: the upper quartile over those that vary."""
    found = np.array([np.concatenate(list(statistics.of(part).values())) for part in parts])
    scores = np.where(np.isfinite(found), found, 0.0)
    scores -= scores.mean(axis=0)
    squares = (scores**2).sum(axis=0)
    varies = squares > 1e-9
    if not varies.any():
        return 0.0
    products = (scores[1:] * scores[:-1]).sum(axis=0)[varies] / squares[varies]
    return float(np.quantile(products, 0.75))


def _thinned(values: Vector) -> tuple[float, ...]:
    """Values to show: all, or evenly spaced ones of their order."""
    if len(values) > SHOWN_BATCHES:
        values = np.sort(values)[np.linspace(0, len(values) - 1, SHOWN_BATCHES).astype(int)]
    return tuple(np.asarray(values, dtype=float).tolist())
