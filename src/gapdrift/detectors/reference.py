"""Detectors that count and judge by a fitted reference, and that can be stored."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from os import PathLike
from types import MappingProxyType
from typing import Any, NoReturn, Protocol, Self

import numpy as np

from gapdrift import execution
from gapdrift._random import as_rng
from gapdrift._validation import check_count, check_share
from gapdrift._writing import write_file
from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.base import Detector
from gapdrift.errors import StorageError
from gapdrift.files import Reading
from gapdrift.persistence.codec import pack_record
from gapdrift.persistence.records import FORMS, expect, stored
from gapdrift.results import DriftResult
from gapdrift.tables.encoding import encode
from gapdrift.tables.frame import Table
from gapdrift.tables.schema import Schema

__all__ = ["Reference", "ReferenceDetector", "Setting", "cannot_be_stored", "compare_all_rows", "detector_fields"]


@stored
@dataclass(frozen=True)
class NameList:
    """A list among the settings of a stored detector; a tuple is stored as it is."""

    names: tuple[str | int, ...]


Setting = str | int | float | bool | None | tuple[str | int, ...] | NameList
"""A parameter of a detector, as it is stored."""


def detector_fields(reference: type, setting: Any = Setting) -> Mapping[str, Any]:
    """Fields of a stored detector, for its ``stored_fields``.

    Parameters
    ----------
    reference : type
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


class ReferenceDetector(Detector):
    """A detector that counts and judges by a fitted reference, and that can be saved."""

    n_jobs: int | None
    reference_: Reference
    reading_: Reading = Reading()
    """How the files were read that it was fitted on; windows are read in the same way."""
    itself_: str = ""
    """Digest of the reference's rows counted as a window, where they are counted otherwise as a reference."""

    def count_rows(self, table: Any) -> Evidence:
        """Evidence of the rows of one table in memory."""
        return self.reference_.count(table)

    def judge(self, evidence: Evidence, alpha: float) -> DriftResult:
        """Result of the evidence of a window, at a rate of false alarms.

        A category that the reference has once counts as unseen in the reference, and as itself in a window; and of a
        small reference only one half may be compared. The very rows of the reference are recognised, so that this
        makes no difference between them and themselves.
        """
        reference: Any = self.reference_
        if self.itself_ and _digest(evidence) == self.itself_:
            reference = replace(reference, evidence=replace(evidence, notes=reference.evidence.notes))
        result: DriftResult = reference.test(evidence, alpha)
        return result

    def check_rows(self, table: Any) -> None:
        """Raise an `InputError` where the rows of a table cannot be counted."""
        encode(table, self.reference_.schema)

    def extended(self, evidence: Evidence) -> Self:
        """Copy of this detector that compares windows with more rows than those of its reference."""
        larger = super().extended(evidence)
        reference: Any = self.reference_
        return larger._adopt(replace(reference, evidence=larger.evidence_))

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
    ) -> Self:
        """Fitted detector of what was read from a file."""
        own = (reference.n_bins, reference.missing_shares)
        expect((n_bins, missing_shares) == own, "bins and shares of missing cells as the reference has them")
        expect(set(settings) == set(signature(cls).parameters), f"the settings of {cls.__name__}")
        detector = cls(**{name: cls._read_setting(name, value) for name, value in settings.items()})
        detector._check_settings()
        as_rng(settings.get("random_state"))
        detector.reading_, detector.itself_ = reading, itself
        return detector._adopt(reference)

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

    def _fit(self, rows: Any, learn: Callable[[Any], Any], rng: np.random.Generator) -> Self:
        """Fit on rows in memory; of others a sample is learned from, and all are counted where they are."""
        engine = execution.engine_of(rows)
        self.reading_ = Reading()
        if engine is None:
            with self._limited_threads():
                return self._adopt(learn(rows))._recognise(rows)
        table, n_rows, again = engine.sample(rows, execution.MAX_LEARNED, rng)
        self.reading_ = getattr(again, "reading", Reading())
        with self._limited_threads():
            self._adopt(learn(table))
            self._recognise(table)
            if n_rows > len(table):
                compare_all_rows(self, engine.count(self.reference_.count, again, self), table)
        reference: Any = self.reference_
        return self._adopt(replace(reference, notes=(*execution.reading_notes(again), *reference.notes)))

    def _recognise(self, rows: Any) -> Self:
        """Remember what the rows of the reference are like when they are counted as a window."""
        has_singletons = any(column.singletons for column in self.schema_.columns)
        is_half = self.evidence_.n_rows < Table.read(rows).n_rows
        self.itself_ = _digest(self.reference_.count(rows)) if has_singletons or is_half else ""
        return self

    def _adopt(self, reference: Any) -> Self:
        """Take a reference that is fitted already."""
        self.reference_ = reference
        self.evidence_, self.warnings_ = reference.evidence, reference.notes
        schema: Schema = reference.schema
        self.ignored_columns_ = schema.ignored
        if schema.named:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif "feature_names_in_" in vars(self):
            del self.feature_names_in_
        # The ignored columns of an array have their places in it.
        self.n_features_in_ = len(schema.columns) + (0 if schema.named else len(schema.ignored))
        return self


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
    notes = (*reference.notes, execution.sample_note(evidence.n_rows, len(sample)))
    detector._adopt(replace(reference, evidence=replace(evidence, notes=frozenset()), notes=notes))


def _digest(evidence: Evidence) -> str:
    """Digest of sums to nine digits: the last ones depend on the order in which rows were added up."""
    digest = hashlib.sha256(str(evidence.n_rows).encode())
    for name, sums in sorted(evidence.sums.items()):
        scale = float(np.abs(sums).max(initial=0.0)) or 1.0
        digest.update(name.encode() + (np.round(sums / scale, 9) + 0.0).tobytes())
    return digest.hexdigest()


def cannot_be_stored(thing: Any) -> NoReturn:
    """Raise a `StorageError` that says what can be stored, and what to do with a detector of one's own."""
    raise StorageError(
        f"A {type(thing).__name__} cannot be stored, expected a fitted DriftDetector or MDLFWF, Evidence or a "
        "DriftResult. No file can tell what another class does, derived from these or not: of a detector of your own "
        "save the Evidence that it counts and the DriftResult that it returns, and fit it again where it is needed."
    )
