"""Records to JSON and arrays, and back: the types that a file may name, and nothing else.

A frozen dataclass becomes an object with its name under ``type`` and its fields; reading follows the types of the
fields, so a file decides which values there are but never what is made of them. Every type is checked as soon as it
is read (`gapdrift.persistence.soundness`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType, NoneType, UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from gapdrift.counting.bulk import Bulk
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.profile import Layout, Profile
from gapdrift.detectors.drift.reference import ConditionalReference
from gapdrift.detectors.mdlfwf.distance import ImputedDistance, LearnedDistance, TrainingPairs
from gapdrift.detectors.mdlfwf.reference import FuzzyReference
from gapdrift.detectors.mdlfwf.regressors import (
    LinearPredictor,
    Recipe,
    Refit,
    StoredRegressor,
    TreeEnsemble,
    make_regressor,
    recipe_of,
    restore,
    store,
)
from gapdrift.errors import GapdriftError, StorageError
from gapdrift.inference.contrast import Shape
from gapdrift.models.gaussian import DenseGaussian, FactorGaussian
from gapdrift.models.hot_deck import EmpiricalResiduals, GaussianResiduals
from gapdrift.models.imputation import ChainedRegressions, ConstantFill, FittedImputer
from gapdrift.models.normal_scores import Scores
from gapdrift.models.partition import Partition
from gapdrift.persistence.archive import Package, pack
from gapdrift.persistence.soundness import CHECKS, check_reference
from gapdrift.results.result import BinFinding, DriftResult, FeatureFinding, Finding, Histogram
from gapdrift.tables.histograms import HistogramAxis
from gapdrift.tables.schema import Column, Schema

__all__ = ["Reader", "pack_detector", "pack_record", "read_settings"]

MAX_DEPTH = 40
"""Records within records, at most."""

MAX_INTEGER = 2**63

PLAIN = frozenset({str, bool, int, float, NoneType})

DETECTORS = MappingProxyType(
    {
        "gapdrift.detectors.drift.detector.DriftDetector": "DriftDetector",
        "gapdrift.detectors.mdlfwf.detector.MDLFWF": "MDLFWF",
    }
)
"""Classes of detectors that can be stored; classes derived from them may differ in ways that no file tells."""

INFINITE = frozenset({(Shape, "kurtosis")})
"""Arrays in which infinity has a meaning."""

Reference = ConditionalReference | FuzzyReference


@dataclass(frozen=True, eq=False)
class StoredDistance:
    """A `LearnedDistance` as it is written: its regressor in a form that can be."""

    regressor: StoredRegressor
    imputers: tuple[FittedImputer, ...]
    error: float
    importances: NDArray[np.float64]
    scale: float


@dataclass(frozen=True)
class Form:
    """How one type is written and read.

    Parameters
    ----------
    hints : mapping of str to type
        Fields that are written.
    take : function
        From a value to a record with these fields.
    make : function
        From these fields to a value.
    """

    hints: Mapping[str, Any]
    take: Callable[[Any], Any]
    make: Callable[..., Any]


def _form(record: type, take: Callable[[Any], Any] = lambda value: value, make: Any = None) -> Form:
    known = get_type_hints(record)
    return Form({item.name: known[item.name] for item in fields(record)}, take, record if make is None else make)


def _take_distance(model: LearnedDistance) -> StoredDistance:
    stored = store(model.regressor, model.pairs, len(model.importances))
    return StoredDistance(stored, model.imputers, model.error, model.importances, model.scale)


def _make_distance(regressor: StoredRegressor, **rest: Any) -> LearnedDistance:
    restored, pairs = restore(regressor)
    return LearnedDistance(regressor=restored, pairs=pairs, **rest)


class _Handed(dict[str, NDArray[np.float64]]):
    """Arrays that are handed over one by one: evidence copies them, and all of them twice would be too many."""

    def items(self) -> Any:
        for name in list(self):
            yield name, self.pop(name)


def _make_evidence(sums: dict[str, NDArray[np.float64]], **rest: Any) -> Evidence:
    handed = _Handed(sums)
    sums.clear()
    return Evidence(sums=handed, **rest)


FORMS: Mapping[type, Form] = MappingProxyType(
    {
        cls: _form(cls)
        for cls in (
            BinFinding,
            Bulk,
            ChainedRegressions,
            Column,
            ConditionalReference,
            ConstantFill,
            DenseGaussian,
            DriftResult,
            EmpiricalResiduals,
            FactorGaussian,
            FeatureFinding,
            Finding,
            FuzzyReference,
            GaussianResiduals,
            HistogramAxis,
            Histogram,
            ImputedDistance,
            Layout,
            LinearPredictor,
            Partition,
            Profile,
            Recipe,
            Refit,
            Schema,
            Scores,
            Shape,
            TrainingPairs,
            TreeEnsemble,
        )
    }
    | {
        Evidence: _form(Evidence, make=_make_evidence),
        LearnedDistance: _form(StoredDistance, _take_distance, _make_distance),
    }
)
"""The types that a file may name."""

ALIASES: Mapping[Any, Any] = MappingProxyType({FittedImputer: ConstantFill | ChainedRegressions})
"""Protocols, and the types of ours that fulfil them."""


def _lone_rows(sizes: NDArray[np.intp] | None) -> str:
    """Why bins hold a row of the reference, or nothing: the centre of a single row is that row."""
    if sizes is not None and sizes.min(initial=2) > 1:
        return ""
    return (
        "has a bin of a single reference row, whose centre is that row. Use fewer bins (n_bins of MDLFWF) or more rows"
    )


ROWS_HELD: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {
        Partition: lambda partition: _lone_rows(partition.sizes),
        Profile: lambda profile: _lone_rows(profile.bin_rows),
    }
)
"""Types that may hold rows of the reference, or what gives them back: functions that say why one does, or nothing.

What is named here is not written with ``keep_rows=False``.
"""


@dataclass
class Writer:
    """Writes records as JSON, and collects their arrays.

    Parameters
    ----------
    keep_rows : bool
        Whether types that hold rows of the reference may be written.
    """

    keep_rows: bool = True
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def write(self, value: Any, path: str, depth: int = 0) -> Any:
        """JSON of a value; ``path`` names its arrays."""
        if depth > MAX_DEPTH:
            raise StorageError(f"{path[:80]} holds records within records more than {MAX_DEPTH} deep.")
        if isinstance(value, np.ndarray):
            return self._write_array(value, path)
        if isinstance(value, slice | frozenset | tuple | Mapping):
            return self._write_items(value, path, depth)
        plain = value.item() if isinstance(value, np.generic) else value
        return plain if type(plain) in PLAIN else self._write_record(plain, path, depth)

    def _write_items(self, value: Any, path: str, depth: int) -> Any:
        if isinstance(value, slice):
            return [value.start, value.stop]
        if isinstance(value, frozenset):
            return sorted(value)
        if isinstance(value, tuple):
            return [self.write(item, f"{path}.{index}", depth + 1) for index, item in enumerate(value)]
        entries = enumerate(value.items())
        return {key: self.write(item, f"{path}.{_part(key, place)}", depth + 1) for place, (key, item) in entries}

    def _write_array(self, array: NDArray[Any], path: str) -> dict[str, str]:
        name = f"{path}.npy"
        wide = np.int64 if np.issubdtype(array.dtype, np.signedinteger) else array.dtype
        self.arrays[name] = array.astype(wide, copy=False)
        return {"array": name}

    def _write_record(self, value: Any, path: str, depth: int) -> dict[str, Any]:
        cls = type(value)
        if cls not in FORMS:
            raise StorageError(
                f"{path} is a {cls.__name__}, which cannot be stored. Of imputers those named by a text can, of "
                "regressors None and some of scikit-learn's (see docs/storage.md)."
            )
        held = "" if self.keep_rows or cls not in ROWS_HELD else ROWS_HELD[cls](value)
        if held:
            raise StorageError(f"With keep_rows=False nothing is written: {path} {held}.")
        record = FORMS[cls].take(value)
        return {"type": cls.__name__} | {
            name: self.write(getattr(record, name), f"{path}.{name}", depth + 1) for name in FORMS[cls].hints
        }


@dataclass
class Reader:
    """Reads records from JSON and the arrays of a file; each array is used once.

    Parameters
    ----------
    package : Package
    """

    package: Package
    used: set[str] = field(default_factory=set)

    def read(self, hint: Any, node: Any, path: str, depth: int = 0) -> Any:
        """Value of a type, out of JSON; ``path`` is for messages."""
        if depth > MAX_DEPTH:
            _refuse(path, f"records at most {MAX_DEPTH} deep")
        hint = ALIASES.get(hint, hint)
        origin = get_origin(hint)
        if origin in self.READERS:
            return self.READERS[origin](self, hint, node, path, depth)
        if hint in PLAIN:
            return _plain(hint, node, path)
        if hint is slice:
            return slice(*self._read_tuple(tuple[int, int], node, path, depth))
        return self._read_record(hint, node, path, depth)

    def finish(self) -> None:
        """Check that nothing was left over."""
        unused = set(self.package.manifest.arrays) - self.used
        if unused:
            raise StorageError(f"The file has the array {sorted(unused)[0]!r}, which belongs to nothing.")

    def _read_union(self, hint: Any, node: Any, path: str, depth: int) -> Any:
        options = get_args(hint)
        for option in options:
            if _fits(option, node):
                return self.read(option, node, path, depth)
        return _refuse(path, f"one of {', '.join(map(_name_of, options))}")

    def _read_mapping(self, hint: Any, node: Any, path: str, depth: int) -> dict[str, Any]:
        entries = _of_type(dict, node, path).items()
        value = get_args(hint)[1]
        return {key: self.read(value, item, f"{path}.{key[:40]}", depth + 1) for key, item in entries}

    def _read_set(self, hint: Any, node: Any, path: str, depth: int) -> frozenset[Any]:
        return frozenset(self._read_tuple(tuple[get_args(hint)[0], ...], node, path, depth))  # type: ignore[misc]

    def _read_tuple(self, hint: Any, node: Any, path: str, depth: int) -> tuple[Any, ...]:
        hints = get_args(hint)
        items = _of_type(list, node, path)
        if len(hints) == 2 and hints[1] is ...:
            hints = hints[:1] * len(items)
        if len(hints) != len(items):
            _refuse(path, f"{len(hints)} entries")
        pairs = enumerate(zip(hints, items, strict=True))
        return tuple([self.read(kind, item, f"{path}.{index}", depth + 1) for index, (kind, item) in pairs])

    def _read_array(self, hint: Any, node: Any, path: str, _depth: int) -> NDArray[Any]:
        kind = get_args(get_args(hint)[1])[0]
        name = node.get("array") if isinstance(node, dict) and len(node) == 1 else None
        if not isinstance(name, str) or name not in self.package.manifest.arrays or name in self.used:
            _refuse(path, "an array of its own")
        self.used.add(str(name))
        array = self.package.array(str(name))
        wanted = np.dtype(np.int64 if kind is np.intp else kind)
        if array.dtype != wanted:
            _refuse(path, f"an array of {wanted}, not {array.dtype}")
        return array.astype(kind, copy=False)

    def _read_record(self, cls: type, node: Any, path: str, depth: int) -> Any:
        record = _of_type(dict, node, path)
        form = FORMS[cls]
        if record.get("type") != cls.__name__ or set(record) != {"type", *form.hints}:
            _refuse(path, f"a {cls.__name__} with {', '.join(form.hints)}")
        read = {name: self.read(hint, record[name], f"{path}.{name}", depth + 1) for name, hint in form.hints.items()}
        _check_finite(cls, read, path)
        try:
            value = form.make(**read)
        except StorageError:
            raise
        except GapdriftError as error:
            raise StorageError(f"The content of the file is not sound: {error}") from error
        check = CHECKS.get(cls)
        if check is not None:
            check(value)
        return value

    READERS: ClassVar[Mapping[Any, Callable[..., Any]]] = MappingProxyType(
        {
            Union: _read_union,
            UnionType: _read_union,
            Mapping: _read_mapping,
            frozenset: _read_set,
            np.ndarray: _read_array,
            tuple: _read_tuple,
        }
    )


def pack_record(kind: str, value: Evidence | DriftResult) -> bytes:
    """File of evidence or of a result.

    Parameters
    ----------
    kind : str
    value : Evidence or DriftResult

    Returns
    -------
    data : bytes
    """
    writer = Writer()
    content = writer.write(value, kind)
    return pack(kind, content, writer.arrays)


def pack_detector(cls: type, settings: Mapping[str, Any], reference: Any, *, keep_rows: bool) -> bytes:
    """File of a fitted detector.

    Parameters
    ----------
    cls : type
        Of the detector.
    settings : mapping of str to object
        Its parameters.
    reference : ConditionalReference or FuzzyReference
    keep_rows : bool
        Whether what holds rows of the reference may be written.

    Returns
    -------
    data : bytes
    """
    name = DETECTORS.get(f"{cls.__module__}.{cls.__qualname__}")
    if name is None:
        raise StorageError(f"A {cls.__name__} cannot be stored, expected one of {', '.join(DETECTORS.values())}.")
    writer = Writer(keep_rows)
    content = {
        "class": name,
        "settings": {key: _write_setting(key, value) for key, value in settings.items()},
        "reference": writer.write(reference, "reference"),
    }
    return pack("detector", content, writer.arrays)


def read_reference(package: Package, cls: type[Reference]) -> Reference:
    """Fitted reference of a stored detector."""
    reader = Reader(package)
    reference: Reference = reader.read(cls, package.manifest.content["reference"], "reference")
    reader.finish()
    check_reference(reference)
    return reference


def read_settings(record: Any) -> dict[str, Any]:
    """Parameters of a stored detector.

    Parameters
    ----------
    record : object
        JSON.

    Returns
    -------
    settings : dict of str to object
    """
    return {key: _read_setting(key, node) for key, node in _of_type(dict, record, "settings").items()}


def _write_setting(name: str, value: Any) -> Any:
    """JSON of a parameter: numbers, words, lists of them, regressors."""
    # A generator has gone on since; the fit that it was for is over.
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_write_entry(name, item) for item in value]}
    recipe = recipe_of(value)
    return {"regressor": recipe.name, "settings": dict(recipe.settings)}


def _write_entry(name: str, item: Any) -> str | int:
    if isinstance(item, str):
        return str(item)
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        return int(item)
    raise StorageError(f"{name} holds a {type(item).__name__}, which cannot be stored, expected names.")


def _read_setting(name: str, node: Any) -> Any:
    path = f"settings.{name[:40]}"
    if node is None or type(node) in {str, bool, float}:
        return node
    if type(node) is int:
        return _plain(int, node, path)
    record = _of_type(dict, node, path)
    if set(record) == {"regressor", "settings"}:
        settings = _of_type(dict, record["settings"], path)
        plain = {key: _scalar(value, path) for key, value in settings.items()}
        return make_regressor(Recipe(_of_type(str, record["regressor"], path), plain))
    for kind in (list, tuple):
        if set(record) == {kind.__name__}:
            items = _of_type(list, record[kind.__name__], path)
            if not all(type(item) in {str, int} for item in items):
                _refuse(path, "names")
            return kind(items)
    return _refuse(path, "a setting")


def _scalar(node: Any, path: str) -> Any:
    if type(node) not in PLAIN:
        _refuse(path, "plain settings of a regressor")
    return node


def _part(key: Any, index: int) -> str:
    """Part of an array's name for an entry of a mapping: its key where that is a plain word."""
    if not isinstance(key, str):
        raise StorageError(f"A mapping has the key {key!r}, expected text.")
    return key if key.isascii() and key.isidentifier() and len(key) <= 40 else str(index)


def _check_finite(cls: type, read: Mapping[str, Any], path: str) -> None:
    for name, value in read.items():
        if isinstance(value, np.ndarray) and value.dtype == float:
            wrong = np.isnan(value) if (cls, name) in INFINITE else ~np.isfinite(value)
            if wrong.any():
                _refuse(f"{path}.{name}", "finite numbers")


def _of_type(kind: Any, node: Any, path: str) -> Any:
    if type(node) is not kind:
        _refuse(path, f"{_name_of(kind)}, not {_name_of(type(node))}")
    return node


def _fits(option: Any, node: Any) -> bool:
    """Whether a node looks like one of the types of a union, which all look different."""
    if option in PLAIN:
        return type(node) is option or (option is float and type(node) is int)
    origin = get_origin(option)
    if origin is tuple:
        return isinstance(node, list)
    label, key = (None, "array") if origin is np.ndarray else (option.__name__, "type")
    return isinstance(node, dict) and key in node and (label is None or node[key] == label)


def _plain(kind: type, node: Any, path: str) -> Any:
    """Text, number, truth value or None; a whole number will do for any number."""
    if type(node) is int and kind in {int, float}:
        if abs(node) >= MAX_INTEGER:
            _refuse(path, "a number below 2^63")
        return kind(node)
    return _of_type(kind, node, path)


def _refuse(path: str, expected: str) -> Any:
    raise StorageError(f"The content of the file is not sound: {path[:120]} is not as expected: {expected}.")


def _name_of(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))
