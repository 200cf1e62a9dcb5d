"""What all detectors share: count and test by a fitted reference."""

from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from os import PathLike
from typing import Any, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator

from gapdrift._threads import limit_threads
from gapdrift._validation import check_count, check_share
from gapdrift._version import __version__
from gapdrift._writing import write_file
from gapdrift.counting.evidence import Evidence
from gapdrift.errors import NotFittedError
from gapdrift.execution import engine_of, gather
from gapdrift.persistence.state import pack_detector
from gapdrift.results.result import DriftResult
from gapdrift.tables.schema import Schema

__all__ = ["Detector"]


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
        write_file(path, self._to_bytes(keep_rows=keep_rows))

    def _to_bytes(self, *, keep_rows: bool = True) -> bytes:
        """Bytes of the file that `save` writes."""
        reference = self._fitted()
        self._check_settings()
        with limit_threads(None):
            return pack_detector(type(self), self.get_params(deep=False), reference, keep_rows=keep_rows)

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
