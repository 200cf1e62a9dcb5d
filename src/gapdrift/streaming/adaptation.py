"""A new reference from rows of the stream."""

from sklearn.base import clone

from gapdrift.detectors.base import Detector
from gapdrift.errors import GapdriftError, InputError
from gapdrift.streaming.rows import Rows

__all__ = ["refit"]


def refit(detector: Detector, rows: Rows) -> Detector:
    """Detector with the same settings, fitted on rows that were kept.

    Examples
    --------
    >>> import numpy as np
    >>> import gapdrift as gd
    >>> draw = np.random.default_rng(0).normal
    >>> detector = gd.DriftDetector(random_state=0).fit({"x": draw(size=100)})
    >>> refit(detector, Rows({"x": draw(3.0, size=50)}, named=True)).evidence_.n_rows
    50
    """
    fresh: Detector = clone(detector)
    if rows.named and "ignore" in fresh.get_params():
        # The columns to be ignored are not among those that were kept.
        fresh.set_params(ignore=())
    try:
        fitted: Detector = fresh.fit(rows.table())
    except GapdriftError as error:
        raise InputError(str(error)) from error
    return fitted
