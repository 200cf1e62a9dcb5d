"""Numbers, p-values, effect sizes and names as people read them: one wording for every kind of report."""

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "EFFECT_RULE",
    "Name",
    "Phrase",
    "chance",
    "clean",
    "count",
    "effect_word",
    "format_p_value",
    "listed",
    "missing_change",
    "number",
    "number_within",
    "percent",
    "plain",
    "shown",
    "visible",
]

EFFECT_STEPS = ((0.5, "large"), (0.3, "medium"), (0.1, "small"))
"""Least effect size of each word: Cohen's conventions for correlations, one rule for every unit."""

EFFECT_RULE = "large from 0.5, medium from 0.3, small from 0.1, very small below"

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
ISOLATE, POP = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"
RIGHT_TO_LEFT = {"R", "AL"}
DIRECTION_MARKS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@dataclass(frozen=True)
class Name:
    """Name of a column inside a phrase, so that each format can set it off in its own way.

    Examples
    --------
    >>> Name("price").text
    'price'
    """

    text: str


Phrase = tuple[str | Name, ...]
"""Pieces of a sentence: text of ours and names of the user's."""


def plain(phrase: Phrase) -> str:
    """Phrase as plain text.

    Examples
    --------
    >>> plain(("The values of ", Name("price"), " differ."))
    'The values of price differ.'
    """
    return "".join(shown(piece.text) if isinstance(piece, Name) else visible(piece) for piece in phrase)


def listed(names: Iterable[str], most: int = 3) -> Phrase:
    """Names with commas and an "and"; those beyond ``most`` are counted only.

    Examples
    --------
    >>> plain(listed(["a", "b", "c"])), plain(listed(["a", "b", "c", "d", "e"]))
    ('a, b and c', 'a, b, c and 2 more columns')
    """
    names = list(names)
    rest = len(names) - most
    pieces: list[str | Name] = [Name(name) for name in names[:most]]
    if rest > 0:
        pieces.append(f"{rest:,} more column{'s' if rest > 1 else ''}")
    joints = ["", *[", "] * (len(pieces) - 2), " and "]
    return tuple(part for joint, piece in zip(joints, pieces, strict=False) for part in (joint, piece) if part != "")


def clean(text: str) -> str:
    r"""Text on one line, in which nothing is invisible but harmful: control and direction marks are replaced.

    Examples
    --------
    >>> clean("two\nlines"), clean("a\x00b") == "a\N{REPLACEMENT CHARACTER}b"
    ('two lines', True)
    """
    return " ".join(visible(text).split())


def visible(text: str) -> str:
    """Text with its spaces as they are, in which every letter can be shown.

    Examples
    --------
    >>> visible(" and ")
    ' and '
    """
    return "".join(_visible(letter) for letter in text)


def shown(name: str, most: int = 48) -> str:
    r"""Name on one line, cut in the middle where it is long; set apart where it runs from right to left.

    Examples
    --------
    >>> shown("a" * 30 + "b" * 30, 11)
    'aaaaa…bbbbb'
    >>> shown(" "), shown("")
    ('(blank)', '(blank)')
    """
    text = clean(name) or "(blank)"
    if len(text) > most:
        half = (most - 1) // 2
        text = f"{text[:half]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"
    turns = any(unicodedata.bidirectional(letter) in RIGHT_TO_LEFT for letter in text)
    return f"{ISOLATE}{text}{POP}" if turns else text


def percent(share: float) -> str:
    """Share in percent, never rounded to nothing or to all.

    Examples
    --------
    >>> [percent(share) for share in (0.0, 0.0002, 0.034, 0.5, 0.9999, 1.0)]
    ['0%', '<0.1%', '3.4%', '50%', '>99.9%', '100%']
    """
    if 0.0 < share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1.0:
        return ">99.9%"
    return f"{share:.1%}" if 0.0 < share < 0.0995 or 0.9905 <= share < 1.0 else f"{share:.0%}"


def missing_change(before: float, after: float) -> str:
    """Shares of missing cells of reference and window.

    Examples
    --------
    >>> missing_change(0.1, 0.22), missing_change(0.0, 0.0)
    ('10% \N{RIGHTWARDS ARROW} 22%', 'none')
    """
    return f"{percent(before)} \N{RIGHTWARDS ARROW} {percent(after)}" if before or after else "none"


def number(value: float) -> str:
    """Number with four significant digits.

    Examples
    --------
    >>> number(1013.26), number(-0.00001), number(2.5e100), number(1234567)
    ('1013', '-1e-05', '2.5e+100', '1,235,000')
    """
    size = abs(value)
    if size >= 10_000 and size < 1e9:
        return f"{float(f'{value:.4g}'):,.0f}"
    return f"{value:.4g}"


def number_within(value: float, span: float) -> str:
    """Number with as many digits as tell it apart from others within a range of width ``span``.

    Examples
    --------
    >>> number_within(0.06728, 6.0), number_within(22063.4, 80_000.0), number_within(1_000_000.25, 1.0)
    ('0.07', '22,063', '1,000,000.25')
    >>> number_within(1.084e90, 4e90), number_within(3.0, 0.0)
    ('1.08e+90', '3')
    """
    size = abs(value)
    if not span > 0.0:
        return number(value)
    if max(size, span) >= 1e7 or max(size, span) < 1e-4:
        return f"{value:.{min(15, max(3, round(math.log10(max(size, span) / span)) + 3))}g}"
    decimals = min(9, max(0, math.ceil(-math.log10(span)) + 2))
    return f"{value + 0.0:{',' if size >= 10_000 else ''}.{decimals}f}"


def count(rows: int) -> str:
    """Whole number with separators.

    Examples
    --------
    >>> count(1000000)
    '1,000,000'
    """
    return f"{rows:,}"


def format_p_value(p_value: float) -> str:
    """p-value for people.

    Examples
    --------
    >>> format_p_value(0.0312), format_p_value(1e-30)
    ('p = 0.031', 'p < 1e-9')
    """
    if p_value < 1e-9:
        return "p < 1e-9"
    return f"p = {p_value:.2g}" if p_value < 0.995 else f"p = {p_value:.2f}"


def chance(p_value: float) -> str:
    """How often chance alone goes so far, in words.

    Examples
    --------
    >>> [chance(p) for p in (1e-12, 0.00052, 0.031, 0.43, 1.0)]
    ['fewer than 1 in a million', 'about 1 in 1,900', 'about 1 in 32', 'about 43 in 100', 'nearly all']
    """
    if p_value < 1e-6:
        return "fewer than 1 in a million"
    if p_value < 0.2:
        return f"about 1 in {float(f'{1.0 / p_value:.2g}'):,.0f}"
    return f"about {100.0 * p_value:.0f} in 100" if p_value < 0.985 else "nearly all"


def effect_word(effect_size: float) -> str:
    """Effect size in a word: large from 0.5, medium from 0.3, small from 0.1, very small below.

    Examples
    --------
    >>> [effect_word(effect) for effect in (0.05, 0.1, 0.3, 0.5)]
    ['very small', 'small', 'medium', 'large']
    """
    return next((word for least, word in EFFECT_STEPS if effect_size >= least), "very small")


def _visible(letter: str) -> str:
    if letter.isspace():
        return " "
    harmful = (
        unicodedata.category(letter) in {"Cc", "Cs"}
        or unicodedata.bidirectional(letter) in DIRECTION_MARKS
        or letter in "\u200e\u200f\u061c"
    )
    return REPLACEMENT if harmful else letter
