"""How the columns of a window differ from those of its reference: sentences that are made here and read here.

Evidence carries sentences, so that they add up with it, and results show them as warnings. The checks of a result read
these, in order to tell which columns are new, have vanished, or hold another type.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "Mismatch",
    "read_mismatches",
    "say_absent",
    "say_new",
    "say_new_type",
    "say_not_numbers",
    "say_other_type",
    "say_unexpected",
]

NAME = r"Column (?P<column>'.*'|\".*\") "

PATTERNS = {
    "new": NAME + r"is not in the reference and was ignored\.",
    "unexpected": NAME + r"has values here but none in the reference: they are not compared\.",
    "absent": NAME + r"is not in the window: its cells count as missing\.",
    "type": NAME + r"holds [a-z ]+ here and [a-z]+ in the reference: .+\.",
    "cells": NAME + r"has (?P<count>[0-9,]+) cell\(s\) that are not numbers, such as .+: they count as missing\.",
}
"""How each sentence reads, by what it tells."""


@dataclass(frozen=True)
class Mismatch:
    """What a sentence tells of a column.

    Parameters
    ----------
    kind : str
        "new", "unexpected" (values where the reference has none), "absent", "type", or "cells" (some of another type).
    column : str
    sentence : str
    n_cells : int
        Cells of another type, where they were counted.
    """

    kind: str
    column: str
    sentence: str
    n_cells: int = 0


def say_new(column: str) -> str:
    """Sentence about a column that the reference does not have."""
    return f"Column {column!r} is not in the reference and was ignored."


def say_unexpected(column: str) -> str:
    """Sentence about values of a column that has none in the reference."""
    return f"Column {column!r} has values here but none in the reference: they are not compared."


def say_absent(column: str) -> str:
    """Sentence about a column that the window lacks."""
    return f"Column {column!r} is not in the window: its cells count as missing."


def say_other_type(column: str, found: str, expected: str) -> str:
    """Sentence about a column whose cells cannot be compared, since they are of another type."""
    return f"Column {column!r} holds {found} here and {expected} in the reference: its cells count as missing."


def say_new_type(column: str, found: str, expected: str) -> str:
    """Sentence about a column of categories that are of another type."""
    return f"Column {column!r} holds {found} here and {expected} in the reference: they are new categories."


def say_not_numbers(column: str, n_cells: int, example: object) -> str:
    """Sentence about cells of a column of numbers that hold something else."""
    return (
        f"Column {column!r} has {n_cells:,} cell(s) that are not numbers, such as {example!r}: they count as missing."
    )


def read_mismatches(sentences: Iterable[str]) -> list[Mismatch]:
    """What the sentences tell of columns; other sentences are left out.

    Examples
    --------
    >>> [(found.kind, found.column) for found in read_mismatches([say_new("x"), say_absent("y"), "Something else."])]
    [('new', 'x'), ('absent', 'y')]
    """
    found = []
    for sentence in sentences:
        for kind, pattern in PATTERNS.items():
            match = re.fullmatch(pattern, sentence, re.DOTALL)
            if match:
                column = str(ast.literal_eval(match["column"]))
                n_cells = int(match["count"].replace(",", "")) if kind == "cells" else 0
                found.append(Mismatch(kind, column, sentence, n_cells))
                break
    return found
