"""Checks of settings, made once, at the edge."""

from collections.abc import Collection, Sequence
from numbers import Real
from typing import Any

import numpy as np

from gapdrift.errors import ParameterError

__all__ = ["check_choice", "check_columns", "check_count", "check_effect", "check_number", "check_share"]


def check_share(name: str, value: Any) -> float:
    """Number strictly between 0 and 1.

    Examples
    --------
    >>> check_share("alpha", 0.05)
    0.05
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ParameterError(f"{name} is {value!r}, expected a number between 0 and 1 (both excluded).")
    return float(value)


def check_count(name: str, value: Any, least: int, *, optional: bool = False) -> int | None:
    """Whole number from ``least`` to a billion, or None where that is allowed.

    Examples
    --------
    >>> check_count("n_bins", 10, 2)
    10
    """
    if optional and value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= 10**9:
        also = " or None" if optional else ""
        raise ParameterError(f"{name} is {value!r}, expected a whole number from {least}{also}.")
    return int(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """One of several words.

    Examples
    --------
    >>> check_choice("membership", "crisp", ["crisp", "gaussian"])
    'crisp'
    """
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"{name} is {value!r}, expected one of {', '.join(map(repr, choices))}.")
    return value


def check_columns(name: str, value: Sequence[str | int]) -> tuple[str | int, ...]:
    """Names or positions of columns.

    Examples
    --------
    >>> check_columns("ignore", ["id"])
    ('id',)
    """
    listed = isinstance(value, list | tuple) and all(isinstance(item, str | int | np.integer) for item in value)
    if not listed:
        raise ParameterError(f"{name} is {value!r}, expected a list of column names (or positions, in arrays).")
    return tuple(item if isinstance(item, str) else int(item) for item in value)


def check_effect(name: str, value: Any) -> float:
    """Finite number from 0.

    Examples
    --------
    >>> check_effect("min_effect", 0.1)
    0.1
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        raise ParameterError(f"{name} is {value!r}, expected a number from 0.")
    return float(value)


def check_number(name: str, value: Any) -> float:
    """Finite number.

    Examples
    --------
    >>> check_number("strength", 2)
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ParameterError(f"{name} is {value!r}, expected a finite number.")
    return float(value)
