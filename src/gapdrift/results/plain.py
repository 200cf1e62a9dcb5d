"""Results out of the plain values that `DriftResult.to_dict` gives."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from gapdrift.errors import StorageError
from gapdrift.results.result import DriftResult

__all__ = ["result_from_dict"]


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
    try:
        made: DriftResult = _read(DriftResult, record)
        return made
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise StorageError(
            f"A stored result cannot be read ({error}): it is damaged, or another version of gapdrift wrote it."
        ) from error


def _read(hint: Any, node: Any) -> Any:
    """Value of a type, out of plain values."""
    origin = get_origin(hint)
    if origin in {Union, UnionType}:
        return _read_union(get_args(hint), node)
    if origin is tuple:
        return tuple(_read(get_args(hint)[0], item) for item in node)
    if origin is not None and isinstance(node, Mapping):
        return {str(name): _read(get_args(hint)[1], item) for name, item in node.items()}
    if is_dataclass(hint) and isinstance(hint, type):
        return hint(**{name: _read(kind, node[name]) for name, kind in _hints(hint) if name in node})
    return node


def _read_union(options: tuple[Any, ...], node: Any) -> Any:
    """Value of the one type of a union that the plain value can be."""
    if node is None:
        return None
    nested = [option for option in options if option is not NoneType and (is_dataclass(option) or get_origin(option))]
    wanted = list if isinstance(node, list) else Mapping if isinstance(node, Mapping) else None
    if wanted is None:
        return node
    fitting = [option for option in nested if (get_origin(option) is tuple) == (wanted is list)]
    return _read(fitting[0], node)


@cache
def _hints(kind: type) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((entry.name, hints[entry.name]) for entry in fields(kind))
