"""Fitted detectors, evidence and results to a versioned file, and back.

One zip file of JSON and plain arrays (`persistence.archive`), without pickle: reading one never runs code from it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gapdrift._threads import limit_threads
from gapdrift._writing import write_file
from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.drift.detector import DriftDetector
from gapdrift.detectors.mdlfwf.detector import MDLFWF
from gapdrift.detectors.reference import cannot_be_stored
from gapdrift.errors import StorageError
from gapdrift.files import Reading
from gapdrift.persistence.archive import FORMAT_VERSION, Package, reading
from gapdrift.persistence.codec import Reader, pack_record, read_record
from gapdrift.persistence.records import expect
from gapdrift.results import DriftResult
from gapdrift.tables.schema import Schema

__all__ = ["Storable", "describe", "dumps", "load", "loads", "save"]

Storable = DriftDetector | MDLFWF | Evidence | DriftResult
"""What a file may hold."""

KINDS: Mapping[type, str] = MappingProxyType(
    {DriftDetector: "detector", MDLFWF: "detector", Evidence: "evidence", DriftResult: "result"}
)
"""What the manifest of a file calls them."""


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


def load(path: str | PathLike[str]) -> Storable:
    """Detector, evidence or result out of a file.

    Parameters
    ----------
    path : str or path
        Of a file that `save` wrote.

    Returns
    -------
    thing : DriftDetector, MDLFWF, Evidence or DriftResult
        As it was saved, to the bit. A file that is absent, damaged, foreign or of another version raises a
        `StorageError`; no file makes it run code or take more than 512 MiB of memory.

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
    if type(thing) not in KINDS:
        cannot_be_stored(thing)
    return pack_record(KINDS[type(thing)], thing, keep_rows=keep_rows)


def loads(data: bytes) -> Storable:
    """Detector, evidence or result out of the bytes of a file.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    thing : DriftDetector, MDLFWF, Evidence or DriftResult

    Examples
    --------
    >>> from gapdrift import Evidence
    >>> loads(dumps(Evidence(3, {"weights": [1.0, 2.0]}))).sums["weights"].tolist()
    [1.0, 2.0]
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
        ``reading`` (options of the files it was fitted on), ``origin``, the number of ``rows`` and ``bins``,
        ``columns`` (name, kind, number of categories, share of missing cells), ``ignored`` and ``warnings``; for
        evidence its ``rows``, ``origin`` and ``warnings``; for a result its ``drift``, ``p_value``, ``alpha``, rows
        and ``warnings``.

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


def _read(package: Package) -> Storable:
    kind = package.manifest.kind
    if kind not in KINDS.values():
        raise StorageError(f"The file holds {kind[:40]!r}, expected a detector, evidence or a result.")
    with limit_threads(None):
        thing: Storable = read_record(package, Storable)
    expect(KINDS[type(thing)] == kind, f"{kind}, as the manifest says")
    return thing


def _describe_detector(package: Package) -> dict[str, Any]:
    content = package.manifest.content
    reference = content["reference"]
    schema: Schema = Reader(package).read(Schema, reference["schema"], "schema")
    columns = [
        {"name": column.name, "kind": column.kind, "categories": len(column.categories), "missing": float(share)}
        for column, share in zip(schema.columns, content["missing_shares"], strict=True)
    ]
    return {
        "class": content["type"],
        "settings": {name: _show_setting(node) for name, node in content["settings"].items()},
        "reading": Reader(package).read(Reading, content["reading"], "reading").said(),
        "origin": reference["origin"],
        "rows": reference["evidence"]["n_rows"],
        "bins": content["n_bins"],
        "columns": columns,
        "ignored": list(schema.ignored),
        "warnings": list(reference["notes"]),
    }


def _show_setting(node: Any) -> Any:
    """Setting as a plain value: names as a list, a regressor by its name and own settings."""
    if not isinstance(node, dict):
        return node
    return node["names"] if "names" in node else {"name": node["name"], "settings": node["settings"]}


def _describe_evidence(package: Package) -> dict[str, Any]:
    content = package.manifest.content
    return {"rows": content["n_rows"], "origin": content["origin"], "warnings": list(content["notes"])}


def _describe_result(package: Package) -> dict[str, Any]:
    shown = ("drift", "p_value", "alpha", "n_reference", "n_window", "warnings")
    return {name: package.manifest.content[name] for name in shown}


_DESCRIBERS = {"detector": _describe_detector, "evidence": _describe_evidence, "result": _describe_result}
