"""Results out of the plain values that `DriftResult.to_dict` gives."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from gapdrift.errors import StorageError
from gapdrift.results.result import DriftResult

__all__ = ["read_plain", "result_from_dict"]

Kind = TypeVar("Kind")

Read = Callable[[Any], Any]


def result_from_dict(record: Mapping[str, Any]) -> DriftResult:
    """Result of the plain values that `DriftResult.to_dict` gave.

    Parameters
    ----------
    record : mapping
        A field that a later version added may be absent: it then has its default.

    Examples
    --------
    >>> import gapdrift as gd
    >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, rng=0))
    >>> result = detector.test(gd.datasets.stations(500, rng=1))
    >>> result_from_dict(result.to_dict()) == result
    True
    """
    return read_plain(DriftResult, record)


def read_plain(kind: type[Kind], record: Mapping[str, Any]) -> Kind:
    """Part of a result, such as a histogram, out of its plain values."""
    try:
        read: Any = _reader
        made: Kind = read(kind)(record)
        return made
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise StorageError(
            f"A stored result cannot be read ({error}): it is damaged, or another version of gapdrift wrote it."
        ) from error


@cache
def _reader(hint: Any) -> Read:
    """Function that makes a value of a type out of plain values."""
    origin = get_origin(hint)
    if origin in {Union, UnionType}:
        return _union_reader(get_args(hint))
    if origin is tuple:
        return _tuple_reader(_reader(get_args(hint)[0]))
    if origin is not None:
        return _mapping_reader(_reader(get_args(hint)[1]))
    return _record_reader(hint) if is_dataclass(hint) and isinstance(hint, type) else _as_it_is


def _as_it_is(node: Any) -> Any:
    return node


def _tuple_reader(read: Read) -> Read:
    return tuple if read is _as_it_is else lambda node: tuple(map(read, node))


def _mapping_reader(read: Read) -> Read:
    return lambda node: {str(name): read(item) for name, item in node.items()} if isinstance(node, Mapping) else node


def _record_reader(kind: type) -> Read:
    return lambda node: kind(**{name: read(node[name]) for name, read in _field_readers(kind) if name in node})


@cache
def _field_readers(kind: Any) -> list[tuple[str, Read]]:
    """Name and reader of each field; found when a record is read, since a record may hold others of its own type."""
    hints = get_type_hints(kind)
    return [(entry.name, _reader(hints[entry.name])) for entry in fields(kind)]


def _union_reader(options: tuple[Any, ...]) -> Read:
    """Function that makes a value of the one type of a union that a plain value can be."""
    nested = [option for option in options if option is not NoneType and (is_dataclass(option) or get_origin(option))]
    of_list = next((_reader(option) for option in nested if get_origin(option) is tuple), None)
    of_mapping = next((_reader(option) for option in nested if get_origin(option) is not tuple), None)

    def read(node: Any) -> Any:
        own = of_list if isinstance(node, list) else of_mapping if isinstance(node, Mapping) else _as_it_is
        if own is None:
            raise TypeError(f"a {type(node).__name__} is in a place for something else")
        return own(node)

    return read
