"""Checks of settings, made once, where users hand them over."""

import math
import os
from collections.abc import Collection, Sequence
from numbers import Integral, Real
from typing import Any

from gapdrift.errors import ParameterError

__all__ = ["check_choice", "check_columns", "check_count", "check_nonnegative", "check_number", "check_share", "shown"]


def check_share(name: str, value: Any) -> float:
    """Value as a float strictly between 0 and 1; anything else raises a ParameterError."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ParameterError(f"{name} is {shown(value)}, expected a number between 0 and 1 (both excluded).")
    return float(value)


def check_count(name: str, value: Any, minimum: int, *, optional: bool = False) -> int | None:
    """Value as an int from ``minimum`` to a billion, or None if ``optional``."""
    if optional and value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or not minimum <= int(value) <= 10**9:
        also = " or None" if optional else ""
        raise ParameterError(f"{name} is {shown(value)}, expected a whole number from {minimum}{also}.")
    return int(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Value that is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"{name} is {shown(value)}, expected one of {', '.join(map(repr, choices))}.")
    return value


def check_columns(name: str, value: Sequence[str | int]) -> tuple[str | int, ...]:
    """Names or positions of columns, as a tuple."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, str | Integral) for item in value):
        raise ParameterError(f"{name} is {shown(value)}, expected a list of column names (or positions, in arrays).")
    return tuple(item if isinstance(item, str) else int(item) for item in value)


def check_nonnegative(name: str, value: Any) -> float:
    """Value as a finite float that is not negative."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise ParameterError(f"{name} is {shown(value)}, expected a finite number that is not negative.")
    return float(value)


def check_number(name: str, value: Any) -> float:
    """Value as a finite float."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(float(value)):
        raise ParameterError(f"{name} is {shown(value)}, expected a finite number.")
    return float(value)


def shown(value: Any) -> str:
    """A value as a message shows it: a path by its name, not by its type.

    Examples
    --------
    >>> from pathlib import Path
    >>> shown(Path("day.csv")), shown(0.5)
    ("'day.csv'", '0.5')
    """
    return repr(os.fspath(value)) if isinstance(value, os.PathLike) else repr(value)
