"""Detectors that count and judge by a fitted reference, and that can be stored."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from inspect import signature
from os import PathLike
from types import MappingProxyType
from typing import Any, NoReturn, Protocol, Self

import numpy as np

from gapdrift import execution
from gapdrift._random import as_rng
from gapdrift._typing import Vector
from gapdrift._validation import check_count, check_share
from gapdrift._writing import write_file
from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.base import Detector
from gapdrift.detectors.usual import (
    BatchCounter,
    Statistics,
    Usual,
    UsualJudge,
    joined_parts,
    learn_usual,
    with_calendar,
    without_calendar,
)
from gapdrift.errors import InputError, ParameterError, StorageError
from gapdrift.files import Reading
from gapdrift.persistence.codec import pack_record
from gapdrift.persistence.records import FORMS, expect, stored
from gapdrift.results import DriftResult
from gapdrift.tables.batches import BatchPlan, check_plan
from gapdrift.tables.encoding import conform, encode
from gapdrift.tables.frame import Table
from gapdrift.tables.schema import Schema
from gapdrift.tables.seasons import SeasonTerms

__all__ = [
    "Reference",
    "ReferenceDetector",
    "Setting",
    "cannot_be_stored",
    "compare_all_rows",
    "detector_fields",
    "plan_batches",
]


@stored
@dataclass(frozen=True)
class NameList:
    """A list among the settings of a stored detector; a tuple is stored as it is."""

    names: tuple[str | int, ...]


Setting = str | int | float | bool | None | tuple[str | int, ...] | NameList
"""A parameter of a detector, as it is stored."""


def detector_fields(reference: Any, setting: Any = Setting) -> Mapping[str, Any]:
    """Fields of a stored detector, for its ``stored_fields``.

    Parameters
    ----------
    reference : type or union of types
        What the detector learns; has the properties ``n_bins`` and ``missing_shares``.
    setting : type
        What its parameters are stored as.
    """
    return MappingProxyType(
        {
            "settings": Mapping[str, setting],
            "n_bins": int,
            "missing_shares": tuple[float, ...],
            "reading": Reading,
            "itself": str,
            "reference": reference,
            "usual": Usual | None,
        }
    )


class Reference(Protocol):
    """What a fitted reference offers to its detector."""

    @property
    def schema(self) -> Schema:
        """Columns that take part, and how."""
        ...

    @property
    def evidence(self) -> Evidence:
        """Evidence of the reference itself."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about the reference."""
        ...

    def count(self, table: Any) -> Evidence:
        """Evidence of the rows of a table."""
        ...

    def count_own(self, table: Any) -> Evidence:
        """Evidence of rows of the reference itself."""
        ...

    def test(self, window: Evidence, alpha: float) -> DriftResult:
        """Result of the evidence of a window."""
        ...

    def batch_statistics(self, basis: Mapping[str, Vector] | None = None) -> Statistics:
        """What is compared of batches; on the basis of this reference, or of the one that they were learned by."""
        ...


class ReferenceDetector(Detector):
    """A detector that counts and judges by a fitted reference, and that can be saved."""

    n_jobs: int | None
    reference_: Reference
    reading_: Reading = Reading()
    """How the files were read that it was fitted on; windows are read in the same way."""
    itself_: str = ""
    """Digest of the reference's rows counted as a window, where they are counted otherwise as a reference."""
    usual_: Usual | None = None
    _is_tolerant: bool = False
    _judge: UsualJudge | None = None

    def count_rows(self, table: Any) -> Evidence:
        """Evidence of the rows of one table in memory."""
        if not self._is_tolerant:
            return self._dated(self.reference_.count(table), table)
        rows, notes = conform(table, self.reference_.schema)
        evidence = self.reference_.count(rows)
        return self._dated(replace(evidence, notes=evidence.notes | notes), rows)

    def _dated(self, evidence: Evidence, table: Any) -> Evidence:
        """Evidence with the calendar terms of its rows, where there are seasons."""
        return evidence if self._calendar is None else with_calendar(evidence, self._calendar, table)

    def _undated(self, evidence: Evidence) -> Evidence:
        """Evidence without the calendar terms of its rows."""
        return evidence if self._calendar is None else without_calendar(evidence)

    def test(self, window: Any, *, alpha: float | None = None, mismatch: str = "error") -> DriftResult:
        """Result of a window against the reference.

        Parameters
        ----------
        window : pandas, polars or pyarrow table, mapping of columns, numpy array, or Evidence
            Or rows that are not in memory, as in `count`.
        alpha : float, optional
            Rate of false alarms of this test. None means that of the detector.
        mismatch : {"error", "check"}, default "error"
            What becomes of a window that lacks a column of the reference, or has one of another type. "error" raises a
            `gapdrift.errors.SchemaError`. With "check" its cells count as missing, ``result.checks`` has a check that
            failed, and all other columns are compared. (`tolerant` counts evidence in this way.)

        Examples
        --------
        >>> import gapdrift as gd
        >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, rng=0))
        >>> window = gd.datasets.stations(500, rng=1)
        >>> del window["wind"]
        >>> result = detector.test(window, mismatch="check")
        >>> [check.message for check in result.checks if check.name == "columns" and not check.passed]
        ["Column 'wind' is not in the window: its cells count as missing."]
        """
        if mismatch not in {"error", "check"}:
            raise ParameterError(f"mismatch is {mismatch!r}, expected 'error' or 'check'.")
        self.check_fitted()
        if mismatch == "check" and not isinstance(window, Evidence):
            window = self.tolerant().count(window)
        return super().test(window, alpha=alpha)

    def tolerant(self) -> Self:
        """Copy of this detector for which a column that rows lack, or that holds another type, counts as missing.

        The evidence that it counts says so, and the checks of a result show it.

        Examples
        --------
        >>> import gapdrift as gd
        >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, rng=0))
        >>> evidence = detector.tolerant().count({"wind": [1.0, 2.0], "sky": ["clear", "rain"]})
        >>> sorted(evidence.notes)[0]
        "Column 'humidity' is not in the window: its cells count as missing."
        """
        self.check_fitted()
        other = copy(self)
        other._is_tolerant = True
        return other

    def judge(self, evidence: Evidence, alpha: float) -> DriftResult:
        """Result of the evidence of a window, at a rate of false alarms.

        With batches, drift and p-values are about the usual variation between them.

        A category that the reference has once counts as unseen in the reference, and as itself in a window. The very
        rows of the reference are recognised, so that this makes no difference between them and themselves.
        """
        window, reference = self._undated(evidence), self.reference_
        if self.itself_ and _digest(window) == self.itself_:
            own: Any = reference
            reference = replace(own, evidence=replace(window, notes=own.evidence.notes))
        plain = reference.test(window, alpha)
        if self.usual_ is None or plain.drift is None:
            return plain
        if self._judge is None or self._judge.usual is not self.usual_:
            self._judge = UsualJudge(self.usual_, self.reference_.batch_statistics(self.usual_.basis))
        return self._judge.judge(evidence, plain)

    def check_rows(self, table: Any) -> None:
        """Raise an `InputError` where the rows of a table cannot be counted."""
        encode(table, self.reference_.schema)
        if self._calendar is not None:
            self._calendar.sums(table)

    def with_batches(self, parts: Sequence[Any]) -> Self:
        """A copy of this detector that knows more batches of the usual variation.

        Parameters
        ----------
        parts : sequence of tables or Evidence
            One for each batch. What was counted by `count` need not be counted again.

        Examples
        --------
        >>> import gapdrift as gd
        >>> history = gd.datasets.stations(1_000, rng=0)
        >>> detector = gd.DriftDetector(random_state=0).fit(history, batches=100)
        >>> window = detector.count(gd.datasets.stations(100, rng=1))
        >>> detector.test(window).usual.n_batches, detector.with_batches([window]).test(window).usual.n_batches
        (10, 11)
        """
        self.check_fitted()
        if self.usual_ is None:
            raise InputError("This detector was fitted without batches: call fit(reference, batches=...) first.")
        counted = [part if isinstance(part, Evidence) else self.count(part) for part in parts]
        for part in counted:
            self.evidence_.check_like(part)
        statistics, first = self.reference_.batch_statistics(self.usual_.basis), len(self.usual_.table)
        labelled = [(f"batch {first + place}", part) for place, part in enumerate(counted)]
        other = copy(self)
        other.usual_ = self.usual_.with_parts(labelled, statistics)
        return other

    @property
    def time_column_(self) -> str | None:
        """Column that windows must have besides those that are compared: it holds their times; None without seasons."""
        return None if self._calendar is None else self._calendar.time_column

    @property
    def _calendar(self) -> SeasonTerms | None:
        return None if self.usual_ is None else self.usual_.calendar

    def compared_with(self, evidence: Evidence) -> Self:
        """Copy of this detector that compares windows with other rows than those of its reference."""
        other = super().compared_with(evidence)
        reference: Any = self.reference_
        return other._adopt(replace(reference, evidence=self._undated(evidence)))

    @property
    def schema_(self) -> Schema:
        """Columns that take part, and how."""
        return self.reference_.schema

    def save(self, path: str | PathLike[str], *, keep_rows: bool = True) -> None:
        """Write this fitted detector to a file that `gapdrift.load` reads.

        Parameters
        ----------
        path : str or path
            An older file of this name stays until the new one is complete.
        keep_rows : bool, default True
            False guarantees that no row of the reference is written, and raises a `StorageError` where the detector
            cannot do without.
        """
        if type(self) not in FORMS:
            cannot_be_stored(self)
        write_file(path, pack_record("detector", self, keep_rows=keep_rows))

    def to_stored(self) -> dict[str, Any]:
        """Settings and reference as a file holds them, and what it tells of the reference without restoring it."""
        self.check_fitted()
        reference: Any = self.reference_
        self._check_settings()
        settings = self.get_params(deep=False).items()
        return {
            "settings": {name: self._write_setting(name, value) for name, value in settings},
            "n_bins": reference.n_bins,
            "missing_shares": reference.missing_shares,
            "reading": self.reading_,
            "itself": self.itself_,
            "reference": reference,
            "usual": self.usual_,
        }

    @classmethod
    def from_stored(
        cls,
        settings: Mapping[str, Any],
        n_bins: int,
        missing_shares: tuple[float, ...],
        reading: Reading,
        itself: str,
        reference: Any,
        usual: Usual | None,
    ) -> Self:
        """Fitted detector of what was read from a file."""
        own = (reference.n_bins, reference.missing_shares)
        expect((n_bins, missing_shares) == own, "bins and shares of missing cells as the reference has them")
        expect(set(settings) == set(signature(cls).parameters), f"the settings of {cls.__name__}")
        detector = cls(**{name: cls._read_setting(name, value) for name, value in settings.items()})
        detector._check_settings()
        as_rng(settings.get("random_state"))
        detector.reading_, detector.itself_ = reading, itself
        detector.usual_ = usual
        detector._adopt(reference)
        if usual is not None:
            _check_usual(usual, detector)
        return detector

    def _write_setting(self, name: str, value: Any) -> Any:
        """Parameter as a file holds it: a number, a word, or names."""
        # A generator has gone on since; the fit that it was for is over.
        if isinstance(value, np.random.Generator | np.random.RandomState):
            return None
        if isinstance(value, list | tuple):
            if not all(isinstance(item, str | int | np.integer) and not isinstance(item, bool) for item in value):
                kinds = ", ".join(sorted({type(item).__name__ for item in value}))
                raise StorageError(f"{name} holds {kinds}, which cannot be stored, expected names.")
            return NameList(tuple(value)) if isinstance(value, list) else value
        if value is not None and not isinstance(value, str | bool | int | float | np.generic):
            raise StorageError(
                f"{name} is a {type(value).__name__}, which cannot be stored, expected a number, text or names."
            )
        return value

    @classmethod
    def _read_setting(cls, _name: str, value: Any) -> Any:
        return list(value.names) if isinstance(value, NameList) else value

    def _check_settings(self) -> Any:
        """Settings for a fit; those out of their range raise a `ParameterError`."""
        check_share("alpha", self.alpha)
        check_count("n_jobs", self.n_jobs, 1, optional=True)

    def _fit(
        self, rows: Any, learn: Callable[[Any], Any], rng: np.random.Generator, plan: BatchPlan | None = None
    ) -> Self:
        """Fit on rows in memory; of others a sample is learned from, and all are counted where they are."""
        self.usual_, self.reading_, self.itself_ = None, Reading(), ""
        if plan is not None:
            return self._fit_batches(rows, learn, rng, plan)
        engine = execution.engine_of(rows)
        if engine is None:
            with self._limited_threads():
                return self._adopt(learn(rows))._recognise(rows)
        table, n_rows, again = engine.sample(rows, execution.MAX_LEARNED, rng.spawn(1)[0])
        self.reading_ = getattr(again, "reading", Reading())
        with self._limited_threads():
            self._adopt(learn(table))
            self._recognise(table)
            if n_rows > len(table):
                compare_all_rows(self, engine.count(self.reference_.count, again, self), table)
        return self._note_reading(again)

    def _note_reading(self, rows: Any) -> Self:
        """Add what was noted while rows that are not in memory were read."""
        reference: Any = self.reference_
        return self._adopt(replace(reference, notes=(*execution.reading_notes(rows), *reference.notes)))

    def _recognise(self, rows: Any) -> Self:
        """Remember what the rows of the reference are like when they are counted as a window."""
        has_singletons = any(column.singletons for column in self.schema_.columns)
        self.itself_ = _digest(self.reference_.count(rows)) if has_singletons else ""
        return self

    def _fit_batches(self, rows: Any, learn: Callable[[Any], Any], rng: np.random.Generator, plan: BatchPlan) -> Self:
        """Fit on rows that are divided into batches."""
        engine = execution.engine_of(rows)
        with self._limited_threads():
            if engine is None:
                table = None if rows is None else Table.read(rows)
                self._adopt(learn(joined_parts(plan) if table is None else table))
                self.usual_ = learn_usual(plan, table, self._count_batch, self.reference_.batch_statistics())
                return self._adopt(self.reference_)
            sample, n_rows, again = engine.sample(rows, execution.MAX_LEARNED, rng.spawn(1)[0])
            self.reading_ = getattr(again, "reading", Reading())
            self._adopt(learn(sample))
            counter = BatchCounter(plan, self._count_batch, self.reference_.schema)
            nothing = counter.count(Table.read(sample).slice(0, 0))
            found = sum(engine.count(counter.count, again, counter), nothing)
            if n_rows > len(sample):
                compare_all_rows(self, [without_calendar(found.whole)], sample)
            self.usual_ = counter.usual(found.batches, self.reference_.batch_statistics())
            return self._note_reading(again)

    def _count_batch(self, table: Any, calendar: SeasonTerms | None) -> Evidence:
        # As windows are counted: they are compared with batches.
        return with_calendar(self.reference_.count(table), calendar, table)

    def _adopt(self, reference: Any) -> Self:
        """Take a reference that is fitted already."""
        self.reference_ = reference
        self.evidence_, self.warnings_ = reference.evidence, reference.notes
        schema: Schema = reference.schema
        self.ignored_columns_ = schema.ignored
        if self.usual_ is not None:
            self.warnings_ = (*self.warnings_, *self.usual_.notes)
            self.ignored_columns_ = tuple(name for name in schema.ignored if name != self.time_column_)
            self.evidence_ = self.usual_.dated(reference.evidence)
        if schema.named:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif "feature_names_in_" in vars(self):
            del self.feature_names_in_
        # The ignored columns of an array have their places in it.
        self.n_features_in_ = len(schema.columns) + (0 if schema.named else len(schema.ignored))
        return self


def plan_batches(reference: Any, batches: Any, time: Any, season: Any, time_zone: Any) -> BatchPlan | None:
    """Plan of the batches of a reference, as `fit` was told; None where it is not made of batches."""
    if batches is None and time is None and time_zone is None and not season:
        return None
    in_memory = reference is not None and execution.engine_of(reference) is None
    table = Table.read(reference) if in_memory else None
    return check_plan(table, batches, time, season, time_zone)


def compare_all_rows(detector: ReferenceDetector, parts: Iterable[Evidence], sample: Any) -> None:
    """Give a detector that was fitted on a sample of its reference the evidence of all rows.

    Parameters
    ----------
    detector : ReferenceDetector
    parts : iterable of Evidence
        Of all rows, counted as those of a window.
    sample : table
        The rows that were learned from. Among them, a category that occurs once counts as unseen; in the others, a
        category that the sample has once may be frequent, and counts as what it is.
    """
    reference: Any = detector.reference_
    evidence = sum(parts, reference.evidence.zero())
    if any(column.singletons for column in reference.schema.columns):
        detector.itself_ = _digest(evidence)
        own, plain = reference.count_own(sample), reference.count(sample)
        sums = {name: total + own.sums[name] - plain.sums[name] for name, total in evidence.sums.items()}
        evidence = replace(evidence, sums=sums)
    # Of rows that were learned from, a reference may know what others tell of them.
    evidence += getattr(reference, "correction", evidence.zero())
    notes = (*reference.notes, execution.sample_note(evidence.n_rows, len(sample)))
    detector._adopt(replace(reference, evidence=replace(evidence, notes=frozenset()), notes=notes))


def _digest(evidence: Evidence) -> str:
    """Digest of sums to nine digits: the last ones depend on the order in which rows were added up."""
    digest = hashlib.sha256(str(evidence.n_rows).encode())
    for name, sums in sorted(evidence.sums.items()):
        scale = float(np.abs(sums).max(initial=0.0)) or 1.0
        digest.update(name.encode() + (np.round(sums / scale, 9) + 0.0).tobytes())
    return digest.hexdigest()


def _check_usual(usual: Usual, detector: ReferenceDetector) -> None:
    """Check what was read from a file: batches of the statistics that the detector compares."""
    reference: Any = detector.reference_
    basis = {name: array.shape for name, array in reference.batch_statistics().basis.items()}
    expect({name: array.shape for name, array in usual.basis.items()} == basis, "the basis of the statistics")
    statistics: Any = reference.batch_statistics(usual.basis)
    own = statistics.of(detector.reference_.evidence)
    shapes = {name: block.shape[1:] for name, block in usual.table.blocks.items()}
    expect(shapes == {name: array.shape for name, array in own.items()}, "batches of the detector's statistics")
    n_terms = 0 if usual.calendar is None else usual.calendar.n_terms
    expect(usual.table.calendar.shape[1] == n_terms, "calendar terms of the seasons")


def cannot_be_stored(thing: Any) -> NoReturn:
    """Raise a `StorageError` that says what can be stored, and what to do with a detector of one's own."""
    raise StorageError(
        f"A {type(thing).__name__} cannot be stored, expected a fitted DriftDetector or MDLFWF, Evidence or a "
        "DriftResult. No file can tell what another class does, derived from these or not: of a detector of your own "
        "save the Evidence that it counts and the DriftResult that it returns, and fit it again where it is needed."
    )
