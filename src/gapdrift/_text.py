"""Text that is safe to print: names of columns and files may hold what a terminal takes for commands."""

import re

__all__ = ["install_hint", "printable"]

COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters except tab and line feed, marks that turn the direction of text, and halves of surrogate pairs."""


def printable(text: str) -> str:
    r"""Text in which whatever a terminal would obey is written as an escape sequence of Python.

    Examples
    --------
    >>> print(printable("red\x1b[31m\tand\nblue"))
    red\x1b[31m	and
    blue
    """
    return COMMANDS.sub(lambda found: ascii(found[0])[1:-1], text)


def install_hint(extra: str) -> str:
    """What to do where a library of one of gapdrift's extras is not installed, in the words of README and docs.

    Examples
    --------
    >>> install_hint("cli")
    "pip install '.[cli]' in gapdrift's source folder"
    """
    return f"pip install '.[{extra}]' in gapdrift's source folder"
