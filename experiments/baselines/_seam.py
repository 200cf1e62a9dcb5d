"""What all baselines share: their interface, the outcome of a test, the check of a sample."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from gapdrift._typing import Matrix
from gapdrift.errors import InputError, ParameterError

__all__ = ["Baseline", "FittedBaseline", "Outcome", "Rng", "as_sample", "first_window", "positive"]

Rng = np.random.Generator | np.random.RandomState
"""Generator of a fit; published settings draw by numpy's old one, as the scripts did."""

SMALLEST = float(np.finfo(float).tiny)


class Outcome(NamedTuple):
    """Statistic, p-value and, under a published protocol, the fixed threshold that decides instead.

    Examples
    --------
    >>> Outcome(3.0, 0.2).rejects(0.05), Outcome(40.0, 0.2, threshold=33.4).rejects(0.05)
    (False, True)
    """

    statistic: float
    p_value: float
    threshold: float | None = None

    def rejects(self, alpha: float) -> bool:
        """Whether the two samples differ: statistic above the threshold, or without one p-value at most alpha."""
        if self.threshold is not None:
            return self.statistic > self.threshold
        return self.p_value <= alpha


class FittedBaseline(Protocol):
    """A test against one reference."""

    def test(self, window: ArrayLike, rng: np.random.Generator) -> Outcome:
        """Statistic and p-value of a complete window."""
        ...

    def p_value(self, window: ArrayLike, rng: np.random.Generator) -> float:
        """P-value of a complete window, above 0 and at most 1."""
        ...


class Baseline(Protocol):
    """Settings of a two-sample test on complete data.

    ``first`` is the first window of a run. Only settings that keep something of it, as the published scripts do,
    read it; it is handed in, not remembered, so that an outcome never depends on which windows were tested before.
    """

    def fit(self, reference: ArrayLike, rng: Rng, first: ArrayLike | None = None) -> FittedBaseline:
        """Test against this reference."""
        ...


def as_sample(name: str, values: ArrayLike, *, n_columns: int | None = None, min_rows: int = 2) -> Matrix:
    """Rows as a matrix of finite numbers.

    Examples
    --------
    >>> as_sample("reference", [[1, 2], [3, 4]]).shape
    (2, 2)
    """
    try:
        sample = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"The {name} holds values that are not numbers; encode them first.") from error
    if sample.ndim != 2 or sample.shape[0] < min_rows or not sample.shape[1]:
        raise InputError(f"The {name} has the shape {sample.shape}, expected at least {min_rows} rows and one column.")
    if n_columns is not None and sample.shape[1] != n_columns:
        raise InputError(f"The {name} has {sample.shape[1]} columns, the reference has {n_columns}.")
    if not np.isfinite(sample).all():
        raise InputError(f"The {name} has missing or infinite values; these tests need complete rows: impute first.")
    return sample


def first_window(first: ArrayLike | None, n_columns: int, setting: str) -> Matrix:
    """The first window of a run, which a setting needs."""
    if first is None:
        raise ParameterError(f"{setting} keeps what the first window gave: pass it as fit(reference, rng, first=...).")
    return as_sample("first window", first, n_columns=n_columns)


def positive(p_value: Any) -> float:
    """P-value, kept above 0 and at most 1 in spite of rounding.

    Examples
    --------
    >>> 0 < positive(0.0) < 1e-300, positive(0.5)
    (True, 0.5)
    """
    return float(min(max(float(p_value), SMALLEST), 1.0))
