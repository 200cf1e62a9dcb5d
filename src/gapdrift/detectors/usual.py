"""The usual variation between the batches of a reference: learned by `fit`, and what a window is judged by."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.errors import EvidenceError, InputError
from gapdrift.inference.batches import (
    MIN_BATCHES,
    BatchTable,
    Block,
    Judgement,
    Variation,
    batches_needed,
    fit_variation,
    judge_window,
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
    def basis(self) -> Mapping[str, Vector]:
        """What of the reference they are compared with."""
        ...

    def of(self, evidence: Evidence) -> Mapping[str, Vector]:
        """Statistics of one batch, by the names of their blocks."""
        ...

    def within(self, evidence: Evidence) -> Mapping[str, NDArray[np.float64]]:
        """Sums of products within one batch."""
        ...

    def blocks(
        self, within: Mapping[str, NDArray[np.float64]], n_rows: float, *, as_panes: bool = False
    ) -> tuple[Block, ...]:
        """How the statistics are compared."""
        ...

    def column_tests(self, variation: Variation, residuals: Mapping[str, Vector]) -> tuple[Vector | None, Vector]:
        """p-values of the values of input columns, if they are tested, and of their missing rates."""
        ...

    def shown(self, residuals: Mapping[str, Vector]) -> Sequence[tuple[int, int]]:
        """Input columns whose values can be shown, and the place in the block "columns" of what is shown of each."""
        ...


@stored
@dataclass(frozen=True, eq=False)
class Usual:
    """Batches of a reference, without their rows.

    Parameters
    ----------
    table : BatchTable
    within : mapping of str to array
        Sums of products within batches, over all of them.
    basis : mapping of str to array
        What of the reference the statistics of batches were compared with.
    calendar : SeasonTerms or None
    as_panes : bool
        Whether batches are panes of dependent rows.
    unit : str
        What a batch is.
    notes : tuple of str
    """

    table: BatchTable
    within: Mapping[str, NDArray[np.float64]]
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

    def append(self, other: "Usual") -> "Usual":
        """Batches of both."""
        within = {name: array + other.within[name] for name, array in self.within.items()}
        return replace(self, table=self.table.append(other.table), within=within)


class UsualJudge:
    """Judges windows by the usual variation.

    Parameters
    ----------
    usual : Usual
    statistics : Statistics
    """

    def __init__(self, usual: Usual, statistics: Statistics) -> None:
        self.usual, self.statistics = usual, statistics

    @cached_property
    def variation(self) -> Variation:
        """Usual variation, learned when it is first asked for."""
        usual = self.usual
        blocks = self.statistics.blocks(usual.within, float(usual.table.n_rows.sum()), as_panes=usual.as_panes)
        return fit_variation(usual.table, blocks, as_panes=usual.as_panes)

    def judge(self, evidence: Evidence, plain: DriftResult) -> DriftResult:
        """Result whose verdict and p-values are about the usual variation.

        Parameters
        ----------
        evidence : Evidence
            Of the window, with its calendar.
        plain : DriftResult
            Against the rows of the reference, taken as independent.
        """
        judgement = judge_window(self.variation, table_of([evidence], self.statistics, self.usual.calendar, ("",)))
        values = _finding(plain.values, judgement.values, judgement, self.variation, of_values=True)
        missingness = plain.missingness and _finding(
            plain.missingness, judgement.missingness, judgement, self.variation, of_values=False
        )
        features, strips = self._columns(plain, judgement)
        usual = UsualVariation(
            len(self.usual.table),
            self.usual.unit,
            judgement.p_value,
            plain.p_value,
            batches_needed(plain.alpha),
            (_whole_strip(judgement), *strips),
        )
        return replace(
            plain,
            drift=_verdict(plain, judgement.p_value),
            p_value=1.0 if plain.drift is None else judgement.p_value,
            values=values,
            missingness=missingness,
            features=features,
            warnings=(*plain.warnings, *self.usual.notes, *self._few_batches(plain.alpha), *self._alike_batches()),
            usual=usual,
        )

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
        alike = max((scored.alike for scored in self.variation.blocks), default=0.0)
        if not alike:
            return ()
        remedy = "" if self.usual.calendar else "take off what the calendar explains (season=...), "
        return (
            f"Consecutive batches are alike (correlation {alike:.2f}): {len(self.usual.table)} of them say less of "
            "what is usual than as many at random, and little of windows that come much later. Fit on a longer "
            f"history, {remedy}or add batches as they come (with_batches, or a monitor that adapts).",
        )

    def _columns(self, plain: DriftResult, judgement: Judgement) -> tuple[tuple[FeatureFinding, ...], list[BatchStrip]]:
        values, missing = self.statistics.column_tests(self.variation, judgement.residuals)
        found = []
        for index, feature in enumerate(plain.features):
            changed = feature
            if values is not None and feature.p_value is not None:
                adjusted = float(holm(values)[index])
                changed = replace(changed, p_value=float(values[index]), adjusted_p_value=adjusted)
            if feature.missing_p_value is not None:
                adjusted = float(holm(missing)[index])
                changed = replace(changed, missing_p_value=float(missing[index]), adjusted_missing_p_value=adjusted)
            found.append(changed)
        return tuple(found), self._strips(plain, judgement, values, missing)

    def _strips(
        self, plain: DriftResult, judgement: Judgement, values: Vector | None, missing: Vector
    ) -> list[BatchStrip]:
        """Strips of the columns with the smallest p-values, at most some."""
        table, strips = self.usual.table, []
        if values is not None:
            scored = self.variation.block("columns")
            terms = np.column_stack([np.ones(len(table)), table.calendar])
            usual = scored.model.residuals(table.blocks["columns"], terms, table.n_rows)
            for column, place in self.statistics.shown(judgement.residuals):
                window = float(judgement.residuals["columns"][place])
                strip = BatchStrip(plain.features[column].name, "values", _thinned(usual[:, place]), window)
                strips.append((float(values[column]), strip))
        for column, feature in enumerate(plain.features):
            rates = np.sin(table.blocks["rates"][:, column]) ** 2
            if rates.any() or feature.missing_window:
                strip = BatchStrip(feature.name, "missing", _thinned(rates), feature.missing_window)
                strips.append((float(missing[column]), strip))
        return [strip for _, strip in sorted(strips, key=lambda each: each[0])[:SHOWN_COLUMNS]]


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


def table_of(
    parts: Sequence[Evidence], statistics: Statistics, calendar: SeasonTerms | None, labels: Sequence[str]
) -> BatchTable:
    """Table of batches out of their evidence."""
    found = [statistics.of(part) for part in parts]
    terms = np.zeros((len(parts), 0))
    if calendar is not None:
        absent = [part for part in parts if CALENDAR not in part.sums]
        if absent:
            raise EvidenceError(
                "Evidence of a batch has no calendar terms, but seasons are compared: count it with a detector that "
                "was fitted with the same season."
            )
        terms = np.array([part.sums[CALENDAR] / part.n_rows for part in parts])
    blocks = {name: np.array([each[name] for each in found]) for name in found[0]}
    return BatchTable(np.array([float(part.n_rows) for part in parts]), terms, blocks, tuple(labels))


def usual_of(
    parts: Iterable[tuple[str, Evidence]], statistics: Statistics, calendar: SeasonTerms | None, unit: str
) -> tuple[Usual | None, int]:
    """Usual variation of batches, one evidence at a time, and how many were left out for having too few rows."""
    tables, labels, n_left_out = [], [], 0
    within: dict[str, NDArray[np.float64]] = {}
    for label, part in parts:
        if part.n_rows < MIN_BATCH_ROWS:
            n_left_out += 1
            continue
        tables.append(table_of([part], statistics, calendar, (label,)))
        labels.append(label)
        for name, products in statistics.within(part).items():
            within[name] = within.get(name, np.zeros_like(products)) + products
    if not tables:
        return None, n_left_out
    joined = BatchTable(
        np.concatenate([table.n_rows for table in tables]),
        np.concatenate([table.calendar for table in tables]),
        {name: np.concatenate([table.blocks[name] for table in tables]) for name in tables[0].blocks},
        tuple(labels),
    )
    return Usual(joined, within, dict(statistics.basis), calendar, as_panes=False, unit=unit), n_left_out


def learn_usual(
    plan: BatchPlan, table: Table | None, count: Callable[[Any, SeasonTerms | None], Evidence], statistics: Statistics
) -> Usual:
    """Usual variation of the batches of a reference in memory.

    Parameters
    ----------
    plan : BatchPlan
    table : Table or None
        The reference; None where the plan has its parts.
    count : callable
        Evidence of the rows of a table, with the terms of a calendar.
    statistics : Statistics
    """
    if plan.parts is not None:
        calendar, notes = calendar_of(plan, len(plan.parts))
        parts = (
            (f"batch {place}", part if isinstance(part, Evidence) else count(part, calendar))
            for place, part in enumerate(plan.parts)
        )
        return checked_usual(*usual_of(parts, statistics, calendar, plan.unit), notes)
    assert table is not None
    if plan.in_order:
        return _learn_panes(plan, table, count, statistics)
    codes, labels = label_rows(table, plan)
    calendar, notes = calendar_of(plan, len(labels))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(labels)))
    ordered = table.take(order)
    slices = zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
    parts = (
        (label, count(ordered.slice(start, stop), calendar))
        for label, (start, stop) in zip(labels, slices, strict=True)
    )
    return checked_usual(*usual_of(parts, statistics, calendar, plan.unit), notes)


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

    def __init__(self, plan: BatchPlan, count: Callable[[Any, SeasonTerms | None], Evidence], schema: Schema) -> None:
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
        found = usual_of(sorted(batches.items()), statistics, self.calendar, self.plan.unit)
        return checked_usual(*found, self.notes)


def joined_parts(plan: BatchPlan) -> Table:
    """Rows of all tables that are batches."""
    tables = [part for part in plan.parts or () if not isinstance(part, Evidence)]
    if not tables:
        raise InputError("The reference is None, and no batch is a table: there are no rows to learn from.")
    return join_tables([Table.read(table) for table in tables])


def checked_usual(usual: Usual | None, n_left_out: int, notes: tuple[str, ...] = ()) -> Usual:
    """Usual variation with its notes; too few batches raise an `InputError`."""
    n_batches = 0 if usual is None else len(usual.table)
    if usual is None or n_batches < MIN_BATCHES:
        small = f" ({n_left_out} with fewer than {MIN_BATCH_ROWS} rows left out)" if n_left_out else ""
        raise InputError(
            f"The reference has {n_batches} batch(es){small}, expected at least {MIN_BATCHES}, better 20. Collect "
            "more, or make the batches shorter."
        )
    if n_left_out:
        notes = (*notes, f"{n_left_out} batch(es) with fewer than {MIN_BATCH_ROWS} rows were left out.")
    return replace(usual, notes=notes)


def _learn_panes(
    plan: BatchPlan, table: Table, count: Callable[[Any, SeasonTerms | None], Evidence], statistics: Statistics
) -> Usual:
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
    usual, _ = usual_of(labelled, statistics, None, plan.unit)
    assert usual is not None
    return replace(usual, as_panes=True, notes=notes)


def _pane_correlation(parts: list[Evidence], statistics: Statistics) -> float:
    """Correlation of the statistics of consecutive panes: the upper quartile over those that vary."""
    found = [np.concatenate(list(statistics.of(part).values())) for part in parts]
    scores = np.nan_to_num(np.array(found))
    scores = scores - scores.mean(axis=0)
    squares = (scores**2).sum(axis=0)
    varies: Indices = np.flatnonzero(squares > 1e-9)
    if not len(varies):
        return 0.0
    products = (scores[1:] * scores[:-1]).sum(axis=0)[varies] / squares[varies]
    return float(np.quantile(products, 0.75))


def _verdict(plain: DriftResult, p_value: float) -> bool | None:
    """Whether the window is unusual; not where the difference from the rows is smaller than ``min_effect``."""
    if plain.drift is None:
        return None
    too_small = not plain.drift and plain.p_value < plain.alpha
    return p_value < plain.alpha and not too_small


def _finding(plain: Finding, p_value: float, judgement: Judgement, variation: Variation, *, of_values: bool) -> Finding:
    if not plain.determined:
        return plain
    found = [scored.block.name for scored in variation.blocks if scored.block.of_values == of_values]
    names = [name for name in found if name in judgement.parts]
    parts = tuple(Finding(name, None, None, judgement.parts[name], None) for name in names)
    return Finding(plain.name, None, None, p_value, plain.effect_size, parts=parts)


def _whole_strip(judgement: Judgement) -> BatchStrip:
    unusual = -np.log10(np.clip(judgement.unusual, 1e-300, 1.0))
    return BatchStrip("", "whole", _thinned(unusual[:-1]), float(unusual[-1]))


def _thinned(values: Vector) -> tuple[float, ...]:
    """Values to show: all, or evenly spaced ones of their order."""
    if len(values) > SHOWN_BATCHES:
        values = np.sort(values)[np.linspace(0, len(values) - 1, SHOWN_BATCHES).astype(int)]
    return tuple(np.asarray(values, dtype=float).tolist())
