"""How a type says that it can be stored: one decorator, in the module of the type itself.

The fields of a type say how it is written and read, its own method whether what was read makes sense. Nothing else
has to know it. `gapdrift.persistence.codec` does the writing and reading.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from gapdrift.errors import StorageError

__all__ = [
    "FORMS",
    "INFINITE",
    "PLAIN",
    "UNIONS",
    "Form",
    "StoredAs",
    "expect",
    "expect_range",
    "expect_shape",
    "expecting",
    "stored",
    "unmarked",
]

T = TypeVar("T", bound=type)

PLAIN = frozenset({str, bool, int, float, NoneType})
"""Types that are written as JSON has them."""

UNIONS = frozenset({Union, UnionType})

INFINITE = "infinite"
"""Marks an array in which infinity has a meaning: ``Annotated[NDArray[np.float64], INFINITE]``."""


@dataclass(frozen=True)
class StoredAs:
    """Marks a field whose type cannot be stored, such as a protocol, with the types that are: in ``Annotated``.

    Parameters
    ----------
    hint : type
        A stored type, or a union of some.
    """

    hint: Any


@dataclass(frozen=True)
class Form:
    """How one type is written and read."""

    cls: type

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """Types of the fields; found out late, since a type may name others that come after it, or itself."""
        hints: Mapping[str, Any] | None = getattr(self.cls, "stored_fields", None)
        if hints is None:
            known = get_type_hints(self.cls, include_extras=True)
            hints = {field.name: known[field.name] for field in fields(self.cls)}
        for name, hint in hints.items():
            if not _can_be_stored(hint):
                raise TypeError(
                    f"{self.cls.__name__}.{name} is annotated {hint}, which cannot be stored. See the docstring of "
                    "`stored` for the types that can."
                )
        return hints

    def take(self, value: Any) -> Mapping[str, Any]:
        """Values of the fields."""
        convert = getattr(value, "to_stored", None)
        return {name: getattr(value, name) for name in self.hints} if convert is None else convert()

    def make(self, values: Mapping[str, Any]) -> Any:
        """Record of these values, once they have been found to make sense together."""
        record = getattr(self.cls, "from_stored", self.cls)(**values)
        check = getattr(record, "check_stored", None)
        if check is not None:
            check()
        return record


FORMS: dict[type, Form] = {}
"""The types that can be stored, each registered by `stored`."""


def stored(cls: T) -> T:
    """Class that can be stored from now on: its records may be part of what `gapdrift.save` writes.

    Parameters
    ----------
    cls : type
        A frozen dataclass whose name no other stored class has. What is written, and what is expected when it is read,
        are its fields, annotated with

        - str, bool, int, float, None or slice,
        - ``NDArray`` of float64, intp, bool or uint8,
        - another stored class, or itself,
        - ``tuple``, ``frozenset``, ``Mapping`` from str, and unions of these.

    Notes
    -----
    A file decides which values there are, but never what is made of them. Before a record is made, each field has the
    type of its annotation, and arrays hold finite numbers. The rest is up to the class, which may have

    ``check_stored(self) -> None``
        Raises a `StorageError` where the fields make no sense together (lengths, ranges, order), best by `expect`,
        `expect_shape`, `expect_range` and `expecting`. Called as soon as a record has been read. Whatever passes must
        not crash later, loop for ever or take memory without limit: files may be made up.
    ``holds_rows(self) -> str``
        Why the record holds rows of the reference, as the end of a sentence that begins with its place; empty where it
        does not. Such a record is not written with ``keep_rows=False``.
    ``to_stored(self) -> Mapping[str, Any]`` and ``from_stored(cls, **values)``
        Convert a record to values of the annotated types, and (a class method) back. Where a field's own type cannot
        be stored, ``Annotated[Regressor, StoredAs(Forest)]`` says what it is converted to.
    ``stored_fields``
        Types of what is written, by name, for a class that is no dataclass.

    ``Annotated[NDArray[np.float64], INFINITE]`` lets an array hold infinity. A field that is added to a class is stored
    without more ado; raise ``FORMAT_VERSION`` then.

    Examples
    --------
    >>> @stored
    ... @dataclass(frozen=True, eq=False)
    ... class Thermometer:
    ...     place: str
    ...     degrees: NDArray[np.float64]
    ...
    ...     def check_stored(self) -> None:
    ...         expect_shape(self.degrees, (-1,), "degrees")
    ...         expect(self.degrees.min(initial=0.0) >= -273.15, "degrees from -273.15")
    >>> import io
    >>> from gapdrift.persistence.archive import reading
    >>> from gapdrift.persistence.codec import pack_record, read_record
    >>> data = pack_record("example", Thermometer("roof", np.array([3.5, -1.0])))
    >>> with reading(io.BytesIO(data)) as package:
    ...     read_record(package, Thermometer).degrees
    array([ 3.5, -1. ])
    >>> with reading(io.BytesIO(pack_record("example", Thermometer("roof", np.array([-300.0]))))) as package:
    ...     read_record(package, Thermometer)
    Traceback (most recent call last):
    ...
    gapdrift.errors.StorageError: The content of the file is not sound: expected degrees from -273.15.
    """
    if not hasattr(cls, "stored_fields") and not (is_dataclass(cls) and cls.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        raise TypeError(f"{cls.__name__} cannot be stored: expected a frozen dataclass, or `stored_fields`.")
    for other in list(FORMS):
        if other.__name__ == cls.__name__:
            if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(f"{cls.__name__} cannot be stored: {other.__module__} stores a type of this name.")
            # The same class, defined again: a module that was reloaded.
            del FORMS[other]
    FORMS[cls] = Form(cls)
    return cls


def expect(holds: Any, what: str) -> None:
    """Raise a StorageError where something does not hold."""
    if not holds:
        raise StorageError(f"The content of the file is not sound: expected {what}.")


def expect_shape(array: NDArray[Any], shape: tuple[int, ...], what: str) -> None:
    """Raise a StorageError where an array has another shape; -1 means any length."""
    fits = array.ndim == len(shape) and all(n in {-1, m} for n, m in zip(shape, array.shape, strict=True))
    expect(fits, f"the shape {shape} of {what}, not {array.shape}")


def expect_range(array: NDArray[Any], low: int, high: int, what: str) -> None:
    """Raise a StorageError where numbers are not from ``low`` up to, but not including, ``high``."""
    expect(array.size == 0 or (array.min() >= low and array.max() < high), f"{what} from {low} to {high - 1}")


@contextmanager
def expecting(what: str) -> Iterator[None]:
    """Turn what numpy says to numbers that make no sense into a StorageError."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (ValueError, LookupError, ArithmeticError, TypeError) as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"The content of the file is not sound: expected {what}.") from error


def unmarked(hint: Any) -> tuple[Any, bool]:
    """Type that is stored for an annotation, and whether it may be infinite."""
    if get_origin(hint) is not Annotated:
        return hint, False
    given, *marks = get_args(hint)
    return next((mark.hint for mark in marks if isinstance(mark, StoredAs)), given), INFINITE in marks


def _can_be_stored(hint: Any) -> bool:
    """Whether there is a rule for a type."""
    hint, _ = unmarked(hint)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is np.ndarray:
        return get_args(parts[1])[0] in {np.float64, np.intp, np.bool_, np.uint8}
    if origin in {tuple, frozenset, Mapping} | UNIONS:
        return all(part is ... or _can_be_stored(part) for part in parts)
    return hint in PLAIN or hint is slice or hint in FORMS
