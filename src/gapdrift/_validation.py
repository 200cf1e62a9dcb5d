"""Checks of settings, made once, at the edge."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from gapdrift.errors import ParameterError

__all__ = ["check_choice", "check_columns", "check_count", "check_share"]


def check_share(name: str, value: Any) -> float:
    """Number strictly between 0 and 1.

    Examples
    --------
    >>> check_share("alpha", 0.05)
    0.05
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < 1:
        raise ParameterError(f"{name} is {value!r}, expected a number between 0 and 1 (both excluded).")
    return float(value)


def check_count(name: str, value: Any, least: int, *, optional: bool = False) -> int | None:
    """Whole number from ``least``, or None where that is allowed.

    Examples
    --------
    >>> check_count("n_bins", 10, 2)
    10
    """
    if optional and value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
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
    if isinstance(value, str) or not all(isinstance(item, str | int) for item in value):
        raise ParameterError(
            f"{name} is {value!r}, expected a list of column names (or positions, in arrays)."
        )
    return tuple(value)
