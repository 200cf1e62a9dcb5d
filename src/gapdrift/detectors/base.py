"""What all detectors share: count and test by a fitted reference."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from math import isfinite
from os import PathLike
from types import MappingProxyType
from typing import Any, NoReturn, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator

from gapdrift._random import as_rng
from gapdrift._threads import limit_threads
from gapdrift._validation import check_count, check_share
from gapdrift._version import __version__
from gapdrift._writing import write_file
from gapdrift.counting.evidence import Evidence
from gapdrift.errors import NotFittedError, StorageError
from gapdrift.execution import engine_of, gather
from gapdrift.persistence.codec import pack_record
from gapdrift.persistence.records import FORMS, expect, stored
from gapdrift.results import DriftResult
from gapdrift.tables.schema import Schema

__all__ = ["Detector", "Setting", "cannot_be_stored", "detector_fields"]


@stored
@dataclass(frozen=True)
class NameList:
    """A list among the settings of a stored detector; a tuple is stored as it is.

    Parameters
    ----------
    names : tuple of str or int
    """

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

    Returns
    -------
    fields : mapping of str to type
    """
    return MappingProxyType(
        {
            "settings": Mapping[str, setting],
            "n_bins": int,
            "missing_shares": tuple[float, ...],
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

    def test(self, window: Evidence, alpha: float) -> DriftResult:
        """Result of the evidence of a window."""
        ...


class Detector(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator that counts and tests by its fitted reference."""

    alpha: float
    n_jobs: int | None
    reference_: Reference

    def count(self, chunk: Any) -> Evidence:
        """Evidence of some rows; evidence of several chunks adds up.

        Parameters
        ----------
        chunk : pandas, polars or pyarrow table, mapping of columns, or numpy array
            Any number of rows, none included. Rows that are not in memory are counted where they are: a path of
            Parquet or Feather files, a pyarrow dataset or record batch reader, an iterator of tables, a Dask or
            Spark DataFrame.

        Returns
        -------
        evidence : Evidence
        """
        reference = self._fitted()
        engine = engine_of(chunk)
        with limit_threads(check_count("n_jobs", self.n_jobs, 1, optional=True)):
            if engine is None:
                return reference.count(chunk)
            return sum(engine.count(reference.count, chunk, reference.schema.ignored), reference.evidence.zero())

    def test(self, window: Any, *, alpha: float | None = None) -> DriftResult:
        """Result of a window against the reference.

        Parameters
        ----------
        window : pandas, polars or pyarrow table, mapping of columns, numpy array, or Evidence
            Or rows that are not in memory, as in `count`.
        alpha : float, optional
            Rate of false alarms of this test; None is that of the detector.

        Returns
        -------
        result : DriftResult
        """
        reference = self._fitted()
        level = check_share("alpha", self.alpha if alpha is None else alpha)
        evidence = window if isinstance(window, Evidence) else self.count(window)
        with limit_threads(check_count("n_jobs", self.n_jobs, 1, optional=True)):
            result = reference.test(evidence, level)
        return replace(result, settings=_settings(self))

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
        reference: Any = self._fitted()
        self._check_settings()
        settings = self.get_params(deep=False).items()
        return {
            "settings": {name: self._write_setting(name, value) for name, value in settings},
            "n_bins": reference.n_bins,
            "missing_shares": reference.missing_shares,
            "reference": reference,
        }

    @classmethod
    def from_stored(
        cls, settings: Mapping[str, Any], n_bins: int, missing_shares: tuple[float, ...], reference: Any
    ) -> Self:
        """Fitted detector of what was read from a file."""
        own = (reference.n_bins, reference.missing_shares)
        expect((n_bins, missing_shares) == own, "bins and shares of missing cells as the reference has them")
        expect(set(settings) == set(signature(cls).parameters), f"the settings of {cls.__name__}")
        detector = cls(**{name: cls._read_setting(name, value) for name, value in settings.items()})
        detector._check_settings()
        as_rng(settings.get("random_state"))
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
        """Fit on rows that are brought into memory first, all of them or a sample."""
        table, notes = gather(rows, rng)
        with limit_threads(check_count("n_jobs", self.n_jobs, 1, optional=True)):
            reference = learn(table)
        return self._adopt(replace(reference, notes=(*reference.notes, *notes)) if notes else reference)

    def _adopt(self, reference: Any) -> Self:
        """Take a reference that is fitted already."""
        self.reference_ = reference
        return self

    @property
    def evidence_(self) -> Evidence:
        """Evidence of the reference itself."""
        return self._fitted().evidence

    @property
    def warnings_(self) -> tuple[str, ...]:
        """Sentences about the reference: columns ignored, rows too few, rules applied."""
        return self._fitted().notes

    def _fitted(self) -> Reference:
        if "reference_" not in vars(self):
            raise NotFittedError(f"This {type(self).__name__} has no reference yet: call fit(reference) first.")
        return self.reference_


def cannot_be_stored(thing: Any) -> NoReturn:
    """Raise a `StorageError` that says what can be stored, and what to do with a detector of one's own."""
    raise StorageError(
        f"A {type(thing).__name__} cannot be stored, expected a fitted DriftDetector or MDLFWF, Evidence or a "
        "DriftResult. No file can tell what another class does, derived from these or not: of a detector of your own "
        "save the Evidence that it counts and the DriftResult that it returns, and fit it again where it is needed."
    )


def _settings(detector: Detector) -> dict[str, Any]:
    """What decides a detector's results, as plain values; threads do not."""
    given = {name: _as_plain(value) for name, value in detector.get_params(deep=False).items() if name != "n_jobs"}
    return {"detector": type(detector).__name__, "version": __version__, **given}


def _as_plain(value: Any) -> Any:
    """Value that JSON can hold; an object is told by the name of its type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return tuple(_as_plain(item) for item in value)
    plain = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value))
    return value if plain else type(value).__name__
