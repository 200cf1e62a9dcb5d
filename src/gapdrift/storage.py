"""Fitted detectors, evidence and results to a versioned file, and back.

One zip file of JSON and plain arrays (`persistence.archive`), without pickle: reading one never runs code from it.
"""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gapdrift._random import as_rng
from gapdrift._threads import limit_threads
from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.base import ReferenceDetector
from gapdrift.detectors.drift.detector import DriftDetector
from gapdrift.detectors.drift.reference import ConditionalReference
from gapdrift.detectors.mdlfwf.detector import MDLFWF
from gapdrift.detectors.mdlfwf.reference import FuzzyReference
from gapdrift.errors import ParameterError, StorageError
from gapdrift.persistence.archive import FORMAT_VERSION, Package, reading, write_file
from gapdrift.persistence.state import Reader, pack_record, read_reference, read_settings
from gapdrift.results.result import DriftResult
from gapdrift.tables.schema import Schema

__all__ = ["describe", "dumps", "load", "loads", "save"]

Storable = ReferenceDetector | Evidence | DriftResult

RECORDS: Mapping[str, type] = MappingProxyType({"evidence": Evidence, "result": DriftResult})
"""What a file may hold besides a detector."""

DETECTORS: Mapping[str, tuple[type[ReferenceDetector], Any]] = MappingProxyType(
    {"DriftDetector": (DriftDetector, ConditionalReference), "MDLFWF": (MDLFWF, FuzzyReference)}
)
"""Detectors that a file may hold, and what each learns."""


def save(thing: Storable, path: str | PathLike[str], *, keep_rows: bool = True) -> None:
    """Write a fitted detector, evidence or a result to a file.

    The file appears as a whole or not at all: an older one of the same name stays until the new one is complete.

    Parameters
    ----------
    thing : fitted detector, Evidence or DriftResult
    path : str or path
    keep_rows : bool, default True
        False guarantees that no row of the reference is written, and raises a `StorageError` where the detector
        cannot do without.

    Examples
    --------
    >>> import tempfile
    >>> import gapdrift as gd
    >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, rng=0))
    >>> window = gd.datasets.stations(500, rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gd.save(detector, f"{folder}/stations.gapdrift")
    ...     loaded = gd.load(f"{folder}/stations.gapdrift")
    >>> loaded.test(window) == detector.test(window)
    True
    """
    write_file(path, dumps(thing, keep_rows=keep_rows))


def load(path: str | PathLike[str]) -> Any:
    """Detector, evidence or result out of a file.

    Parameters
    ----------
    path : str or path
        Of a file that `save` wrote.

    Returns
    -------
    thing : DriftDetector, MDLFWF, Evidence or DriftResult
        As it was saved, to the bit. A file that is absent, damaged, foreign or too new raises a `StorageError`; no
        file makes it run code or take more than 512 MiB of memory.

    Examples
    --------
    >>> import tempfile
    >>> import gapdrift as gd
    >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, rng=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gd.save(detector.count(gd.datasets.stations(100, rng=1)), f"{folder}/monday.gapdrift")
    ...     monday = gd.load(f"{folder}/monday.gapdrift")
    >>> monday.n_rows
    100
    """
    with _naming(path), reading(path) as package:
        return _read(package)


@contextmanager
def _naming(path: str | PathLike[str]) -> Iterator[None]:
    """Name the file in an error that does not."""
    try:
        yield
    except StorageError as error:
        if str(path) in str(error):
            raise
        raise StorageError(f"{path}: {error}") from error


def dumps(thing: Storable, *, keep_rows: bool = True) -> bytes:
    """Bytes of the file that `save` would write.

    Parameters
    ----------
    thing : fitted detector, Evidence or DriftResult
    keep_rows : bool, default True

    Returns
    -------
    data : bytes
        The same thing always gives the same bytes.

    Examples
    --------
    >>> from gapdrift import Evidence
    >>> loads(dumps(Evidence(3, {"weights": [1.0, 2.0]}))).n_rows
    3
    """
    if isinstance(thing, ReferenceDetector):
        return thing._to_bytes(keep_rows=keep_rows)
    for kind, cls in RECORDS.items():
        if type(thing) is cls:
            return pack_record(kind, thing)
    raise StorageError(f"A {type(thing).__name__} cannot be stored, expected a detector, Evidence or DriftResult.")


def loads(data: bytes) -> Any:
    """Detector, evidence or result out of the bytes of a file.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    thing : DriftDetector, MDLFWF, Evidence or DriftResult
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise StorageError(f"The data is a {type(data).__name__}, expected bytes.")
    with reading(BytesIO(data)) as package:
        return _read(package)


def describe(path: str | PathLike[str]) -> dict[str, Any]:
    """What a file holds, in plain dicts, lists, numbers and strings; nothing is fitted or restored.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    description : dict
        ``kind``, ``format_version``, ``gapdrift_version`` and ``bytes``; for a detector its ``class``, ``settings``,
        ``origin``, the number of ``rows`` and ``bins``, ``columns`` (name, kind, number of levels, share of missing
        cells), ``ignored`` and ``warnings``; for evidence its ``rows``, ``origin`` and ``warnings``; for a result its
        ``drift``, ``p_value``, ``alpha``, rows and ``warnings``.

    Examples
    --------
    >>> import tempfile
    >>> import gapdrift as gd
    >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, rng=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     detector.save(f"{folder}/stations.gapdrift")
    ...     found = describe(f"{folder}/stations.gapdrift")
    >>> found["class"], found["rows"], found["columns"][0]["name"]
    ('DriftDetector', 500, 'temperature')
    """
    with _naming(path), reading(path) as package:
        manifest = package.manifest
        head = {
            "kind": manifest.kind,
            "format_version": FORMAT_VERSION,
            "gapdrift_version": manifest.version,
            "bytes": Path(path).stat().st_size,
        }
        try:
            return head | _DESCRIBERS[manifest.kind](package)
        # Only what is shown is looked at, and only as far as it is shown.
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"The content of the file is not sound: it cannot be described ({error!r}).") from error


def _read(package: Package) -> Any:
    kind = package.manifest.kind
    if kind == "detector":
        with limit_threads(None):
            return _read_detector(package)
    if kind not in RECORDS:
        raise StorageError(f"The file holds {kind[:40]!r}, expected a detector, evidence or a result.")
    reader = Reader(package)
    thing = reader.read(RECORDS[kind], package.manifest.content, kind)
    reader.finish()
    return thing


def _read_detector(package: Package) -> ReferenceDetector:
    content = package.manifest.content
    if not isinstance(content, dict) or set(content) != {"class", "settings", "reference"}:
        raise StorageError("The content of the file is not sound: expected the class, settings and reference.")
    if not isinstance(content["class"], str) or content["class"] not in DETECTORS:
        raise StorageError(f"The file holds an unknown detector, expected one of {', '.join(DETECTORS)}.")
    cls, learned = DETECTORS[content["class"]]
    settings = read_settings(content["settings"])
    if set(settings) != set(inspect.signature(cls).parameters):
        raise StorageError(f"The content of the file is not sound: expected the settings of {content['class']}.")
    detector = cls(**settings)
    try:
        detector._check_settings()
        as_rng(settings["random_state"])
    except ParameterError as error:
        raise StorageError(f"The content of the file is not sound: {error}") from error
    return detector._adopt(read_reference(package, learned))


def _describe_detector(package: Package) -> dict[str, Any]:
    content = package.manifest.content
    reference = content["reference"]
    evidence = reference["evidence"]
    schema: Schema = Reader(package).read(Schema, reference["schema"], "schema")
    missing = _missing_counts(package, reference)
    columns = [
        {
            "name": column.name,
            "kind": column.kind,
            "levels": len(column.levels),
            "missing": float(count) / max(int(evidence["n_rows"]), 1),
        }
        for column, count in zip(schema.columns, missing, strict=True)
    ]
    return {
        "class": content["class"],
        "settings": _shown_settings(content["settings"]),
        "origin": reference["origin"],
        "rows": evidence["n_rows"],
        "bins": _number_of_bins(package, reference),
        "columns": columns,
        "ignored": list(schema.ignored),
        "warnings": list(reference["notes"]),
    }


def _missing_counts(package: Package, reference: Mapping[str, Any]) -> list[float]:
    """Missing cells of each column in the reference."""
    sums = reference["evidence"]["sums"]
    if reference["type"] == "FuzzyReference":
        return [float(count) for count in package.array(sums["missing"]["array"])]
    start, stop = reference["profile"]["layout"]["rates"]
    return [float(count) for count in package.array(sums["statistics"]["array"])[start:stop]]


def _number_of_bins(package: Package, reference: Mapping[str, Any]) -> int:
    holder = reference["partition"] if reference["type"] == "FuzzyReference" else reference["profile"]
    return package.manifest.arrays[holder["centres"]["array"]][1][0]


def _shown_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as plain values: lists of names as such, a regressor by its name and own settings."""
    shown = {}
    for name, node in settings.items():
        listed = isinstance(node, dict) and len(node) == 1
        shown[name] = next(iter(node.values())) if listed else node
    return shown


def _describe_evidence(package: Package) -> dict[str, Any]:
    content = package.manifest.content
    return {"rows": content["n_rows"], "origin": content["origin"], "warnings": list(content["notes"])}


def _describe_result(package: Package) -> dict[str, Any]:
    shown = ("drift", "p_value", "alpha", "n_reference", "n_window", "warnings")
    return {name: package.manifest.content[name] for name in shown}


_DESCRIBERS = {"detector": _describe_detector, "evidence": _describe_evidence, "result": _describe_result}
