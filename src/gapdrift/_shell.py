"""What all detectors share: count and test by a fitted reference."""

from typing import Any, Protocol

from sklearn.base import BaseEstimator

from gapdrift._threads import limit_threads
from gapdrift._validation import check_count, check_share
from gapdrift.errors import NotFittedError
from gapdrift.evidence import Evidence
from gapdrift.result import DriftResult
from gapdrift.schema import Schema

__all__ = ["Detector"]


class Reference(Protocol):
    """What a fitted reference offers to its detector."""

    @property
    def schema(self) -> Schema:
        """Columns of the reference."""
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
            Any number of rows, none included.

        Returns
        -------
        evidence : Evidence
        """
        reference = self._fitted()
        with limit_threads(check_count("n_jobs", self.n_jobs, 1, optional=True)):
            return reference.count(chunk)

    def test(self, window: Any, *, alpha: float | None = None) -> DriftResult:
        """Result of a window against the reference.

        Parameters
        ----------
        window : pandas, polars or pyarrow table, mapping of columns, numpy array, or Evidence
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
            return reference.test(evidence, level)

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
