"""A step of scikit-learn's pipelines that tests the rows it passes on."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone

from gapdrift._validation import check_choice
from gapdrift.detectors.base import Detector
from gapdrift.detectors.drift.detector import DriftDetector
from gapdrift.errors import DriftError, InputError, NotFittedError, ParameterError
from gapdrift.execution import engine_of
from gapdrift.results import DriftResult
from gapdrift.tables.frame import Table

__all__ = ["DriftGate", "DriftWarning"]

ACTIONS = ("record", "warn", "raise")


class DriftWarning(UserWarning):
    """Rows that drifted went through a `DriftGate`.

    Examples
    --------
    >>> import warnings
    >>> import gapdrift as gd
    >>> gate = gd.DriftGate(on_drift="warn").fit(gd.datasets.stations(300, rng=0))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = gate.transform(gd.datasets.stations(300, rng=1, drift=True))
    >>> [warning.category.__name__ for warning in caught]
    ['DriftWarning']
    """


class DriftGate(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Step of a scikit-learn pipeline that passes rows through unchanged, and tests them for drift on the way.

    ``fit`` learns the rows that the pipeline is trained on as the reference. Whenever the pipeline is then applied,
    the rows are tested against it.

    Parameters
    ----------
    detector : Detector, optional
        Copied before it is fitted. The default is ``DriftDetector(random_state=0)``.
    on_drift : {"record", "warn", "raise"}, default "record"
        What happens if the rows drifted: the result is kept as ``result_`` in any case; "warn" issues a `DriftWarning`
        as well, "raise" raises a `gapdrift.errors.DriftError`, which has the result, and no row goes through.

    Attributes
    ----------
    detector_ : Detector
        Fitted.
    result_ : DriftResult or None
        Of the rows that came last; None before any came. Too few rows to tell are undetermined, and go through.

    Notes
    -----
    The rows of ``fit`` and ``fit_transform`` are not tested: they are the reference. Rows are those of a table in
    memory: a stream would be used up by the test, and nothing would be left for the next step.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> import gapdrift as gd
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(500, 3))
    >>> model = make_pipeline(gd.DriftGate(), SimpleImputer(), LinearRegression()).fit(rows, rows.sum(axis=1))
    >>> _ = model.predict(rng.normal(size=(200, 3)))
    >>> model[0].result_.drift
    False
    >>> _ = model.predict(rng.normal(2, 1, size=(200, 3)))
    >>> model[0].result_.drift
    True
    """

    result_: DriftResult | None

    def __init__(self, detector: Detector | None = None, *, on_drift: str = "record") -> None:
        self.detector = detector
        self.on_drift = on_drift

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """The gate itself, with the rows as its reference."""
        check_choice("on_drift", self.on_drift, ACTIONS)
        if self.detector is not None and not isinstance(self.detector, Detector):
            raise ParameterError(f"detector is a {type(self.detector).__name__}, expected a detector of gapdrift.")
        table = _read_table(X)
        self.detector_ = (DriftDetector(random_state=0) if self.detector is None else clone(self.detector)).fit(X)
        self.n_features_in_ = len(table.names)
        if table.named:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif "feature_names_in_" in vars(self):
            del self.feature_names_in_
        self.result_ = None
        return self

    def fit_transform(self, X: Any, y: Any = None, **_parameters: Any) -> Any:
        """The rows, which become the reference."""
        self.fit(X, y)
        return X

    def transform(self, X: Any) -> Any:
        """The rows, once they are tested."""
        if "detector_" not in vars(self):
            raise NotFittedError("This DriftGate has no reference yet: call fit first.")
        _read_table(X)
        result = self.detector_.test(X)
        self.result_ = result
        if result.drift and self.on_drift == "raise":
            raise DriftError(result.summary(), result)
        if result.drift and self.on_drift == "warn":
            warnings.warn(result.summary().partition("\n")[0], DriftWarning, stacklevel=2)
        return X

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns, which are those that came in."""
        if input_features is not None:
            return np.asarray(input_features, dtype=object)
        names = getattr(self, "feature_names_in_", None)
        return np.array([f"x{place}" for place in range(self.n_features_in_)], dtype=object) if names is None else names

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: as the detectors, missing values and text are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = False
        return tags


def _read_table(rows: Any) -> Table:
    """Table of rows in memory; an error for others, some of which can be read only once."""
    if engine_of(rows) is not None:
        raise InputError(
            f"A DriftGate got a {type(rows).__name__}, expected a table in memory that it can pass on. Collect its "
            "rows first, or test them with the detector itself."
        )
    return Table.read(rows)
