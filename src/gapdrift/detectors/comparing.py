"""One call that compares two tables."""

from typing import Any

from gapdrift._random import RandomState
from gapdrift.detectors.drift.detector import DriftDetector
from gapdrift.results import DriftResult

__all__ = ["compare"]


def compare(
    reference: Any,
    window: Any,
    *,
    alpha: float = 0.05,
    random_state: RandomState = 0,
    mismatch: str = "error",
    **settings: Any,
) -> DriftResult:
    """Result of a window against a reference, in one call.

    Parameters
    ----------
    reference, window : pandas, polars or pyarrow table, mapping of columns, or numpy array
        Or rows that are not in memory, as in `gapdrift.DriftDetector.count`: a path of CSV, Parquet or other files, a
        DuckDB relation, a polars LazyFrame, and so on.
    alpha : float, default 0.05
        Rate of false alarms.
    random_state : int, numpy Generator, RandomState or None, default 0
        A number, so that the same tables give the same result; a detector has None by default.
    mismatch : {"error", "check"}, default "error"
        Whether a window that lacks a column, or has one of another type, is an error or fails a check of the result.
    **settings
        Further parameters of `gapdrift.DriftDetector`: ``target``, ``categories``, ``ignore``, ``min_effect``, ...

    Notes
    -----
    The same as ``DriftDetector(...).fit(reference).test(window)``. Fit a detector yourself to compare several windows
    with one reference.

    Examples
    --------
    >>> import gapdrift as gd
    >>> june, july = gd.datasets.stations(500, rng=0), gd.datasets.stations(500, rng=2, drift=True)
    >>> gd.compare(june, july).drift
    True
    """
    detector = DriftDetector(alpha=alpha, random_state=random_state, **settings)
    return detector.fit(reference).test(window, mismatch=mismatch)
