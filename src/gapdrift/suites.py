"""Suites of checks, written as YAML files: what a window must keep, for continuous integration and nightly jobs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gapdrift._text import install_hint
from gapdrift.detectors.drift.detector import DriftDetector
from gapdrift.detectors.reference import ReferenceDetector
from gapdrift.errors import GapdriftError, InputError, ParameterError
from gapdrift.results import Check, DriftResult, Limits, run_checks
from gapdrift.storage import load

__all__ = ["Suite", "SuiteOutcome", "load_suite", "run_suite"]

KEYS = ("reference", "window", "drift", "settings", "limits", "columns")


@dataclass(frozen=True)
class Suite:
    """What a window must keep.

    Parameters
    ----------
    reference : str
        Files with the reference, or a detector that `gapdrift fit` saved (``.gapdrift``).
    window : str
        Files with the window.
    drift : bool, default True
        Whether drift fails the suite.
    settings : mapping
        Parameters of `gapdrift.DriftDetector`; not for a saved detector.
    limits : Limits
        Of the table and of all columns.
    columns : mapping of str to mapping
        Other limits of single columns.

    Examples
    --------
    >>> Suite("june.csv", "july.csv", columns={"price": {"minimum": 0}}).drift
    True
    """

    reference: str
    window: str
    drift: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class SuiteOutcome:
    """What came of a suite.

    Parameters
    ----------
    checks : tuple of Check
        Those that failed first.
    result : DriftResult

    Examples
    --------
    >>> import gapdrift as gd
    >>> result = gd.compare(gd.datasets.stations(300, rng=0), gd.datasets.stations(300, rng=1))
    >>> SuiteOutcome(tuple(result.checks), result).passed
    True
    """

    checks: tuple[Check, ...]
    result: DriftResult

    @property
    def passed(self) -> bool:
        """Whether all checks passed."""
        return all(check.passed for check in self.checks)


def load_suite(path: str | os.PathLike[str]) -> Suite:
    r"""Suite of a YAML file; its paths are relative to the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "suite.yml").write_text(
    ...     "reference: june.csv\nwindow: july.csv\nlimits: {max_missing_rise: 0.05}\n"
    ...     "columns:\n  price: {minimum: 0, max_missing: 0.2}\n"
    ... )
    >>> load_suite(folder / "suite.yml").columns
    {'price': {'minimum': 0, 'max_missing': 0.2}}
    """
    content = _read(path)
    where = os.fspath(path)
    unknown = [str(key) for key in content if key not in KEYS]
    if unknown:
        raise ParameterError(f"{where} has {', '.join(unknown)}, expected some of {', '.join(KEYS)}.")
    for key in ("reference", "window"):
        if not isinstance(content.get(key), str) or not content[key]:
            raise ParameterError(f"{where} has {content.get(key)!r} as its {key}, expected the path of files.")
    if not isinstance(content.get("drift", True), bool):
        raise ParameterError(f"{where} has {content['drift']!r} as drift, expected true or false.")
    parts = {key: _mapping(where, key, content.get(key)) for key in ("settings", "limits", "columns")}
    limits = Limits().changed(f"limits of {where}", parts["limits"])
    columns = {name: _mapping(where, f"columns: {name}", given) for name, given in parts["columns"].items()}
    for name, given in columns.items():
        limits.changed(f"column {name} of {where}", given)
    folder = Path(where).parent
    reference, window = (str(folder / content[key]) for key in ("reference", "window"))
    return Suite(reference, window, content.get("drift", True), parts["settings"], limits, columns)


def run_suite(suite: Suite, window: Any = None) -> SuiteOutcome:
    """Outcome of a suite.

    Parameters
    ----------
    suite : Suite
    window : object, optional
        Rows to check instead of the suite's own: whatever `gapdrift.DriftDetector.test` takes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import gapdrift as gd
    >>> reference = str(pathlib.Path(tempfile.mkdtemp()) / "june.gapdrift")
    >>> gd.DriftDetector(random_state=0).fit(gd.datasets.stations(300, rng=0)).save(reference)
    >>> outcome = run_suite(Suite(reference, "july.csv"), gd.datasets.stations(300, rng=1, drift=True))
    >>> outcome.passed, outcome.checks[0].name
    (False, 'drift')
    """
    detector = _detector(suite)
    result = detector.test(suite.window if window is None else window, mismatch="check")
    drift = Check("drift", "", not (suite.drift and result.drift), result.summary().partition("\n")[0])
    checks = (drift, *run_checks(result, suite.limits, suite.columns))
    return SuiteOutcome(tuple(sorted(checks, key=lambda check: check.passed)), result)


def _detector(suite: Suite) -> ReferenceDetector:
    if not suite.reference.endswith(".gapdrift"):
        try:
            detector = DriftDetector(**{"random_state": 0, **suite.settings})
        except TypeError as error:
            raise ParameterError(f"settings of the suite: {error}. Expected parameters of DriftDetector.") from error
        return detector.fit(suite.reference)
    if suite.settings:
        raise ParameterError(
            "settings belong to a reference that is fitted; a saved detector has its own. Leave them out."
        )
    saved = load(suite.reference)
    if not isinstance(saved, ReferenceDetector):
        raise InputError(f"{suite.reference} holds a {type(saved).__name__}, expected a fitted detector.")
    return saved


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        import yaml  # noqa: PLC0415
    except ImportError as error:
        raise GapdriftError(f"Suites need PyYAML: {install_hint('cli')}.") from error
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        raise InputError(f"{os.fspath(path)} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    except yaml.YAMLError as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(f"{os.fspath(path)} is no YAML: {first}.") from error
    if not isinstance(content, dict):
        raise ParameterError(f"{os.fspath(path)} holds a {type(content).__name__}, expected {', '.join(KEYS)}.")
    return content


def _mapping(where: str, key: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ParameterError(f"{where} has {value!r} as {key}, expected names with values.")
    return value
