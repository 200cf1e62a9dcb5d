"""A new reference from rows of the stream."""

from sklearn.base import clone

from gapdrift.detectors.base import Detector
from gapdrift.errors import GapdriftError, InputError
from gapdrift.streaming.rows import Rows

__all__ = ["refit"]


def refit(detector: Detector, rows: Rows) -> Detector:
    """Detector with the same settings, fitted on rows of the stream."""
    fresh: Detector = clone(detector)
    if rows.named and "ignore" in fresh.get_params():
        # The rows of a stream are stored without the ignored columns, so naming those would be an error.
        fresh.set_params(ignore=())
    try:
        fitted: Detector = fresh.fit(rows.table())
    except GapdriftError as error:
        raise InputError(str(error)) from error
    return fitted
