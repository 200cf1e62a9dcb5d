"""What a detector has to offer, and what detectors with a fitted reference share.

`Detector` is public: a class that derives from it runs in `gapdrift.Monitor`, on files, streams, Dask and Spark.
"""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from gapdrift._threads import limit_threads
from gapdrift._validation import check_count, check_share
from gapdrift._version import __version__
from gapdrift.counting.evidence import Evidence
from gapdrift.errors import NotFittedError
from gapdrift.execution import engine_of
from gapdrift.results import DriftResult

__all__ = ["Detector"]


class Detector(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of all detectors, and of your own.

    A detector offers three methods. Whatever derives from this class then has `count` and `test`, for tables in
    memory and elsewhere, and runs in `gapdrift.Monitor`, with a history and with sinks.

    - ``fit(reference)`` learns the reference and returns the detector. It sets ``evidence_``, and
      ``feature_names_in_`` or, for a reference without names, ``n_features_in_``.
    - ``count_rows(table)`` returns the `Evidence` of the rows of one table. What a row contributes depends on that
      row and on what ``fit`` learned, so that evidence adds up.
    - ``judge(evidence, alpha)`` returns the `DriftResult` of the evidence of a window.

    Parameters of the constructor are stored under their own names, as scikit-learn expects; one of them is ``alpha``.

    Attributes
    ----------
    alpha : float
        Rate of false alarms of `test`.
    evidence_ : Evidence
        Evidence of the reference.
    feature_names_in_ : (columns,) array of str
        Names of the columns that a window must have. A detector that was fitted on an array has none.
    n_features_in_ : int
        Number of the columns that a window must have.
    ignored_columns_ : tuple of str
        Columns of the reference that take no part; windows may have them. The default is none.
    warnings_ : tuple of str
        Sentences for the user about the reference. The default is none.

    Examples
    --------
    A detector of the mean of one column, by the normal approximation:

    >>> import math
    >>> import numpy as np
    >>> import gapdrift as gd
    >>> from gapdrift.detectors import Detector
    >>> class MeanDetector(Detector):
    ...     def __init__(self, column, alpha=0.05):
    ...         self.column = column
    ...         self.alpha = alpha
    ...
    ...     def fit(self, reference, y=None):
    ...         self.feature_names_in_ = np.array([self.column], dtype=object)
    ...         self.evidence_ = self.count_rows(reference)
    ...         return self
    ...
    ...     def count_rows(self, table):
    ...         cells = np.asarray(table[self.column], dtype=float)
    ...         known = cells[~np.isnan(cells)]
    ...         return gd.Evidence(len(cells), {"moments": [len(known), known.sum(), (known**2).sum()]})
    ...
    ...     def judge(self, evidence, alpha):
    ...         (n, total, squares), (m, other, _) = (e.sums["moments"] for e in (self.evidence_, evidence))
    ...         shift = (other / m - total / n) / math.sqrt(squares / n - (total / n) ** 2)
    ...         z = shift / math.sqrt(1 / n + 1 / m)
    ...         p = math.erfc(abs(z) / math.sqrt(2))
    ...         values = gd.results.Finding(
    ...             name="mean", statistic=z, degrees_of_freedom=1, p_value=p, effect_size=abs(shift)
    ...         )
    ...         return gd.DriftResult(
    ...             drift=p < alpha,
    ...             p_value=p,
    ...             alpha=alpha,
    ...             n_reference=self.evidence_.n_rows,
    ...             n_window=evidence.n_rows,
    ...             values=values,
    ...         )
    >>> rng = np.random.default_rng(0)
    >>> detector = MeanDetector("x").fit({"x": rng.normal(size=1_000)})
    >>> detector.test({"x": rng.normal(size=500)}).drift
    False
    >>> monitor = gd.Monitor(detector, window=100)
    >>> [window.zone for window in monitor.advance({"x": np.r_[rng.normal(size=200), rng.normal(3, size=100)]})]
    ['calm', 'calm', 'drift']
    """

    alpha: float = 0.05
    evidence_: Evidence
    feature_names_in_: NDArray[Any]
    n_features_in_: int
    ignored_columns_: tuple[str, ...] = ()
    warnings_: tuple[str, ...] = ()

    @abstractmethod
    def fit(self, reference: Any, y: None = None) -> Self:
        """Learn a reference."""

    @abstractmethod
    def count_rows(self, table: Any) -> Evidence:
        """Evidence of the rows of one table in memory.

        Parameters
        ----------
        table : object
            As the user gave it to `count` or `test`. A `gapdrift.Monitor` gives a dict of arrays where the detector
            has ``feature_names_in_``, and a 2-d array where it has none.
        """

    @abstractmethod
    def judge(self, evidence: Evidence, alpha: float) -> DriftResult:
        """Result of the evidence of a window, at a rate of false alarms."""

    def check_rows(self, table: Any) -> None:
        """Raise an `InputError` where the rows of a table cannot be counted.

        A monitor asks before it takes rows. By default the rows are counted; override it where there is a faster way.
        """
        self.count_rows(table)

    def count(self, chunk: Any) -> Evidence:
        """Evidence of some rows; the evidence of several chunks adds up.

        Parameters
        ----------
        chunk : pandas, polars or pyarrow table, mapping of columns, or numpy array
            Any number of rows, including none. Rows that are not in memory are counted where they are: a path of
            CSV, Parquet or other files (or `gapdrift.files.open_files`), anything with the Arrow stream interface
            (a pyarrow dataset or reader, a DuckDB relation, an Ibis table), a polars LazyFrame, an iterator of
            tables, a Dask or Spark DataFrame.
        """
        self.check_fitted()
        engine = engine_of(chunk)
        with self._limited_threads():
            if engine is None:
                return self.count_rows(chunk)
            return sum(engine.count(self.count_rows, chunk, self), self.evidence_.zero())

    def test(self, window: Any, *, alpha: float | None = None) -> DriftResult:
        """Result of a window against the reference.

        Parameters
        ----------
        window : pandas, polars or pyarrow table, mapping of columns, numpy array, or Evidence
            Or rows that are not in memory, as in `count`.
        alpha : float, optional
            Rate of false alarms of this test. None means that of the detector.
        """
        self.check_fitted()
        rate = check_share("alpha", self.alpha if alpha is None else alpha)
        evidence = window if isinstance(window, Evidence) else self.count(window)
        self.evidence_.check_like(evidence)
        with self._limited_threads():
            result = self.judge(evidence, rate)
        return replace(result, settings=self.plain_settings())

    def extended(self, evidence: Evidence) -> Self:
        """Copy of this detector that compares windows with more rows than those of its reference.

        What was learned stays as it is, the usual variation between batches as well (see ``with_batches`` for it); only
        the evidence of the reference grows.

        Parameters
        ----------
        evidence : Evidence
            Of rows that are known to be as the reference, counted by this detector.

        Examples
        --------
        >>> import gapdrift as gd
        >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(1_000, rng=0))
        >>> detector.extended(detector.count(gd.datasets.stations(500, rng=1))).evidence_.n_rows
        1500
        """
        self.check_fitted()
        return self.compared_with(self.evidence_ + evidence)

    def compared_with(self, evidence: Evidence) -> Self:
        """Copy of this detector that compares windows with other rows than those of its reference.

        What was learned stays as it is.

        Parameters
        ----------
        evidence : Evidence
            Of the rows to compare with, counted by this detector.

        Examples
        --------
        >>> import gapdrift as gd
        >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(1_000, rng=0))
        >>> monday, tuesday = (detector.count(gd.datasets.stations(500, rng=day)) for day in (3, 4))
        >>> detector.compared_with(monday).test(tuesday).drift
        False
        """
        self.check_fitted()
        self.evidence_.check_like(evidence)
        other = copy(self)
        other.evidence_ = evidence
        return other

    def plain_settings(self) -> dict[str, Any]:
        """Class, version and parameters as plain values, without ``n_jobs``, which influences no result."""
        given = self.get_params(deep=False)
        plain = {name: _as_plain(value) for name, value in given.items() if name != "n_jobs"}
        return {"detector": type(self).__name__, "version": __version__, **plain}

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` was called."""
        return "evidence_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: missing values and text are welcome, sparse matrices are not."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.target_tags.required = False
        return tags

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say of what only a fitted detector has that `fit` comes first."""
            if name.endswith("_") and not name.startswith("_"):
                self.check_fitted()
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    def check_fitted(self) -> None:
        """Raise a `NotFittedError` where `fit` was not called."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} has no reference yet: call fit(reference) first.")

    def _limited_threads(self) -> Any:
        return limit_threads(check_count("n_jobs", getattr(self, "n_jobs", None), 1, optional=True))


def _as_plain(value: Any) -> Any:
    """Value that JSON can hold; an object is described by the name of its type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return tuple(_as_plain(item) for item in value)
    plain = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value))
    return value if plain else type(value).__name__
