"""Records to JSON and arrays, and back, by the fields of their types.

A record becomes an object with the name of its type under ``type`` and its fields. Reading follows the annotations of
the fields: a file decides which values there are, but never what is made of them.
"""

import json
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, ClassVar, Self, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from gapdrift.errors import GapdriftError, StorageError
from gapdrift.persistence.archive import Package, pack
from gapdrift.persistence.records import FORMS, PLAIN, UNIONS, unmarked

__all__ = ["Reader", "Writer", "pack_plain", "pack_record", "read_record", "unpack_plain"]

MAX_DEPTH = 40
"""Records within records, at most."""

MAX_INTEGER = 2**63


def pack_record(kind: str, value: Any, *, keep_rows: bool = True) -> bytes:
    """File of a record.

    Parameters
    ----------
    kind : str
        What it is, for the manifest; the names of its arrays begin with it.
    value : object
        Of a type declared with `gapdrift.persistence.records.stored`.
    keep_rows : bool, default True
        Whether records that hold rows of the reference may be written.
    """
    writer = Writer(keep_rows)
    content = writer.write(value, kind)
    return pack(kind, content, writer.arrays)


def read_record(package: Package, hint: Any) -> Any:
    """Record out of an opened file; nothing in the file may be left over.

    Parameters
    ----------
    package : Package
    hint : type
        Stored type that is expected, or a union of some.
    """
    reader = Reader(package)
    value = reader.read(hint, package.manifest.content, package.manifest.kind)
    reader.finish()
    return value


def pack_plain(value: Any) -> bytes:
    """Bytes of a record for a database of one's own: made several times as fast as a file, without its checksums."""
    writer = Writer()
    content = writer.write(value, "record")
    arrays = {name: np.ascontiguousarray(array) for name, array in writer.arrays.items()}
    head = {"content": content, "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()]}
    return zlib.compress(b"\n".join([json.dumps(head).encode(), *(array.tobytes() for array in arrays.values())]), 1)


def unpack_plain(data: bytes, hint: Any) -> Any:
    """Record from the bytes of `pack_plain`; damage raises a `StorageError`."""
    try:
        head, _, body = zlib.decompress(data).partition(b"\n")
        facts = json.loads(head)
        arrays, start = {}, 0
        for name, kind, shape in facts["arrays"]:
            arrays[name] = np.frombuffer(body, kind, math.prod(shape), start).reshape(shape)
            start += arrays[name].nbytes + 1
        if start != max(len(body) + 1, 1) and facts["arrays"]:
            raise ValueError("more bytes than arrays")
        kept: Any = _Arrays(arrays)
        return Reader(kept).read(hint, facts["content"], "record")
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError("A stored record cannot be read: it is damaged.") from error


@dataclass(frozen=True)
class _Arrays:
    """Arrays by their names, as a `Reader` asks an opened file for them."""

    arrays: Mapping[str, NDArray[Any]]

    @property
    def manifest(self) -> Self:
        return self

    def array(self, name: str) -> NDArray[Any]:
        return self.arrays[name]


@dataclass
class Writer:
    """Writes records as JSON, and collects their arrays.

    Parameters
    ----------
    keep_rows : bool
        Whether records that hold rows of the reference may be written.
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
                f"{path} is a {cls.__name__}, which cannot be stored. The table of what cannot be saved, in "
                "docs/reference/storage.md, says what to use instead."
            )
        held = "" if self.keep_rows or not hasattr(value, "holds_rows") else value.holds_rows()
        if held:
            raise StorageError(f"With keep_rows=False nothing is written: {path} {held}.")
        values = FORMS[cls].take(value)
        return {"type": cls.__name__} | {
            name: self.write(values[name], f"{path}.{name}", depth + 1) for name in FORMS[cls].hints
        }


@dataclass
class Reader:
    """Reads records from JSON and the arrays of a file; each array is used once."""

    package: Package
    used: set[str] = field(default_factory=set)

    def read(self, hint: Any, node: Any, path: str, depth: int = 0) -> Any:
        """Value of a type, out of JSON; ``path`` is for messages."""
        if depth > MAX_DEPTH:
            _refuse(path, f"records at most {MAX_DEPTH} deep")
        hint, infinite, origin = _kind(hint)
        if origin is np.ndarray:
            return self._read_array(hint, node, path, infinite=infinite)
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
        for option in get_args(hint):
            if _fits(option, node):
                return self.read(option, node, path, depth)
        return _refuse(path, f"one of {', '.join(map(_name_of, get_args(hint)))}")

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

    def _read_array(self, hint: Any, node: Any, path: str, *, infinite: bool) -> NDArray[Any]:
        kind = _cell_type(hint)
        name = node.get("array") if isinstance(node, dict) and len(node) == 1 else None
        if not isinstance(name, str) or name not in self.package.manifest.arrays or name in self.used:
            _refuse(path, "an array of its own")
        self.used.add(str(name))
        array = self.package.array(str(name))
        wanted = np.dtype(np.int64 if kind is np.intp else kind)
        if array.dtype != wanted:
            _refuse(path, f"an array of {wanted}, not {array.dtype}")
        if np.isnan(array).any() if infinite else not np.isfinite(array).all():
            _refuse(path, "finite numbers")
        return array.astype(kind, copy=False)

    def _read_record(self, cls: type, node: Any, path: str, depth: int) -> Any:
        record, form = _of_type(dict, node, path), FORMS[cls]
        if record.get("type") != cls.__name__ or set(record) != {"type", *form.hints}:
            _refuse(path, f"a {cls.__name__} with {', '.join(form.hints)}")
        read = {name: self.read(hint, record[name], f"{path}.{name}", depth + 1) for name, hint in form.hints.items()}
        try:
            return form.make(read)
        except StorageError:
            raise
        except GapdriftError as error:
            raise StorageError(f"The content of the file is not sound: {error}") from error

    READERS: ClassVar[Mapping[Any, Callable[..., Any]]] = MappingProxyType(
        {Union: _read_union, UnionType: _read_union, Mapping: _read_mapping, frozenset: _read_set, tuple: _read_tuple}
    )


@cache
def _kind(hint: Any) -> tuple[Any, bool, Any]:
    """Type that is stored for an annotation, whether it may be infinite, and what it is a kind of."""
    stored, infinite = unmarked(hint)
    return stored, infinite, get_origin(stored)


@cache
def _cell_type(hint: Any) -> Any:
    """Type of the cells of an array."""
    return get_args(get_args(hint)[1])[0]


def _part(key: Any, index: int) -> str:
    """Part of an array's name for an entry of a mapping: its key where that is a plain word."""
    if not isinstance(key, str):
        raise StorageError(f"A mapping has the key {key!r}, expected text.")
    return key if key.isascii() and key.isidentifier() and len(key) <= 40 else str(index)


def _fits(option: Any, node: Any) -> bool:
    """Whether a node looks like one of the types of a union, which all look different."""
    option, _ = unmarked(option)
    origin = get_origin(option)
    if origin in UNIONS:
        return any(_fits(part, node) for part in get_args(option))
    if option in PLAIN:
        return type(node) is option or (option is float and type(node) is int)
    if origin in {tuple, frozenset} or option is slice:
        return isinstance(node, list)
    if origin is np.ndarray:
        return isinstance(node, dict) and "array" in node
    return isinstance(node, dict) and (origin is Mapping or node.get("type") == option.__name__)


def _plain(kind: type, node: Any, path: str) -> Any:
    """Text, number, truth value or None; a whole number will do for any number."""
    if type(node) is int and kind in {int, float}:
        if abs(node) >= MAX_INTEGER:
            _refuse(path, "a number below 2^63")
        return kind(node)
    return _of_type(kind, node, path)


def _of_type(kind: Any, node: Any, path: str) -> Any:
    if type(node) is not kind:
        _refuse(path, f"{_name_of(kind)}, not {_name_of(type(node))}")
    return node


def _refuse(path: str, expected: str) -> Any:
    raise StorageError(f"The content of the file is not sound: {path[:120]} is not as expected: {expected}.")


def _name_of(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))
