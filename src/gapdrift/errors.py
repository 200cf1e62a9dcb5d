"""The errors that gapdrift raises.

Every message says what was wrong, what was given, what was expected and what to do::

    GapdriftError
    ├── InputError            (ValueError)  a table cannot be used
    │   └── SchemaError                     a table's columns do not match those of the reference
    ├── ParameterError        (ValueError)  a setting is out of its range
    ├── EvidenceError         (ValueError)  evidence does not belong together
    ├── StorageError          (ValueError)  a file cannot be written or read
    ├── HistoryError                        a history cannot be read, written or continued
    ├── SinkError                           a sink did not accept a record
    │   └── RefusedError                    ... and never will
    ├── ServiceError                        a service refused a request, or could not be reached
    ├── DriftError                          rows drifted where that was to be an error
    └── NotFittedError        (ValueError, AttributeError)  a method was called before ``fit``
"""

from typing import Any

__all__ = [
    "DriftError",
    "EvidenceError",
    "GapdriftError",
    "HistoryError",
    "InputError",
    "NotFittedError",
    "ParameterError",
    "RefusedError",
    "SchemaError",
    "ServiceError",
    "SinkError",
    "StorageError",
]


class GapdriftError(Exception):
    """Base class of every error that gapdrift raises on purpose.

    Examples
    --------
    >>> import numpy as np
    >>> import gapdrift as gd
    >>> try:
    ...     gd.MDLFWF().fit(np.empty((0, 2)))
    ... except gd.GapdriftError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(GapdriftError, ValueError):
    """A table that cannot be used.

    Examples
    --------
    >>> import gapdrift as gd
    >>> try:
    ...     gd.compare({"x": [1.0, 2.0]}, {"x": []})
    ... except gd.errors.InputError as error:
    ...     print(type(error).__name__)
    InputError
    """


class SchemaError(InputError):
    """A table whose columns do not match those of the reference.

    Examples
    --------
    >>> import gapdrift as gd
    >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(100, rng=0))
    >>> try:
    ...     detector.test({"temperature": [12.5, 13.0]})
    ... except gd.errors.SchemaError as error:
    ...     print(type(error).__name__)
    SchemaError
    """


class ParameterError(GapdriftError, ValueError):
    """A setting that is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> import gapdrift as gd
    >>> try:
    ...     gd.MDLFWF(alpha=2).fit(np.zeros((100, 1)))
    ... except gd.errors.ParameterError as error:
    ...     print(error)
    alpha is 2, expected a number between 0 and 1 (both excluded).
    """


class EvidenceError(GapdriftError, ValueError):
    """Evidence that does not belong together, or to this reference.

    Examples
    --------
    >>> import gapdrift as gd
    >>> june, july = (gd.DriftDetector(random_state=0).fit(gd.datasets.stations(200, rng=seed)) for seed in (0, 1))
    >>> try:
    ...     july.test(june.count(gd.datasets.stations(100, rng=2)))
    ... except gd.errors.EvidenceError as error:
    ...     print(type(error).__name__)
    EvidenceError
    """


class StorageError(GapdriftError, ValueError):
    """A file that cannot be written or read: absent, damaged, not gapdrift's, too new, or of what cannot be stored.

    It is not an OSError, even if the operating system refused: the message says what to do, and the system's own error
    is its ``__cause__``.

    Examples
    --------
    >>> import gapdrift as gd
    >>> try:
    ...     gd.load("absent.gapdrift")
    ... except gd.errors.StorageError as error:
    ...     print(error)
    Cannot read 'absent.gapdrift': No such file or directory.
    """


class HistoryError(GapdriftError):
    """A history that cannot be read, written or continued.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import gapdrift as gd
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "alarms.db"
    >>> _ = path.write_text("no database")
    >>> try:
    ...     gd.history.History(path)
    ... except gd.errors.HistoryError as error:
    ...     print(type(error).__name__)
    HistoryError
    """


class SinkError(GapdriftError):
    """A sink that did not accept a record. Raised by a sink of your own, it asks for another try.

    Examples
    --------
    >>> from gapdrift.errors import SinkError
    >>> class Chat:
    ...     name = "chat"
    ...
    ...     def emit(self, record):
    ...         raise SinkError("The chat did not answer within 10 s.")
    ...
    ...     def close(self):
    ...         pass
    """


class RefusedError(SinkError):
    """A record that a sink will never accept: it is parked, and the next ones are sent.

    Examples
    --------
    >>> from gapdrift.errors import RefusedError, SinkError
    >>> issubclass(RefusedError, SinkError)
    True
    """


class DriftError(GapdriftError):
    """Rows that drifted where drift was to be an error: in a `gapdrift.DriftGate`.

    Attributes
    ----------
    result : DriftResult

    Examples
    --------
    >>> import gapdrift as gd
    >>> gate = gd.DriftGate(on_drift="raise").fit(gd.datasets.stations(300, rng=0))
    >>> try:
    ...     gate.transform(gd.datasets.stations(300, rng=1, drift=True))
    ... except gd.errors.DriftError as error:
    ...     print(error.result.drift)
    True
    """

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


class ServiceError(GapdriftError):
    """A service that refused a request, or that could not be reached.

    Attributes
    ----------
    code : int or None
        Status code of its answer; None if there was none.

    Examples
    --------
    >>> ServiceError("drift.example.org answered 403: Not allowed.", 403).code
    403
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class NotFittedError(GapdriftError, ValueError, AttributeError):
    """A detector that was used before ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> import gapdrift as gd
    >>> try:
    ...     gd.MDLFWF().test(np.zeros((100, 1)))
    ... except gd.errors.NotFittedError as error:
    ...     print(error)
    This MDLFWF has no reference yet: call fit(reference) first.
    """
