"""Numbers, p-values, effect sizes and names as people read them: one wording for every kind of report."""

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "ARROW",
    "EFFECT_RULE",
    "Name",
    "Phrase",
    "cut_text",
    "describe_chance",
    "effect_word",
    "format_count",
    "format_missing_change",
    "format_number",
    "format_number_within",
    "format_p_number",
    "format_p_value",
    "format_percent",
    "join_names",
    "put_on_one_line",
    "replace_invisible",
    "shorten",
]

EFFECT_WORDS = ((0.5, "large"), (0.3, "medium"), (0.1, "small"))
"""Smallest effect size for each word: Cohen's conventions for correlations, used for every unit."""

EFFECT_RULE = "large from 0.5, medium from 0.3, small from 0.1, very small below"

ARROW = "\N{RIGHTWARDS ARROW}"
"""Sign between a number of the reference and that of the window."""

MAX_LETTERS = 300
"""Letters of a note, a setting or its value."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
ISOLATE, POP = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"
RIGHT_TO_LEFT = {"R", "AL"}
DIRECTION_MARKS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@dataclass(frozen=True)
class Name:
    """Name of a column inside a phrase, which each kind of report marks up in its own way."""

    text: str


Phrase = tuple[str | Name, ...]
"""Pieces of a sentence: fixed text, and names that the user chose."""


def join_names(names: Iterable[str], most: int = 3) -> Phrase:
    """Names joined by commas and "and"; those beyond ``most`` are only counted.

    Examples
    --------
    >>> join_names(["a", "b", "c"], most=1)
    (Name(text='a'), ' and ', '2 more columns')
    """
    names = list(names)
    rest = len(names) - most
    pieces: list[str | Name] = [Name(name) for name in names[:most]]
    if rest > 0:
        pieces.append(format_count(rest, "more column"))
    separators = ["", *[", "] * (len(pieces) - 2), " and "]
    return tuple(part for sep, piece in zip(separators, pieces, strict=False) for part in (sep, piece) if part != "")


def put_on_one_line(text: str) -> str:
    r"""Text on one line, without characters that control the terminal or the direction of writing.

    Examples
    --------
    >>> put_on_one_line("two\nlines"), put_on_one_line("a\x00b") == "a\N{REPLACEMENT CHARACTER}b"
    ('two lines', True)
    """
    return " ".join(replace_invisible(text).split())


def cut_text(text: str, most: int = MAX_LETTERS) -> str:
    """Text on one line, with an ellipsis after ``most`` letters if it is longer."""
    line = put_on_one_line(text)
    return line if len(line) <= most else f"{line[:most]}\N{HORIZONTAL ELLIPSIS}"


def replace_invisible(text: str) -> str:
    """Text in which characters that cannot be shown are replaced; spaces are kept."""
    return "".join(_replace_letter(letter) for letter in text)


def shorten(name: str, most: int = 48) -> str:
    r"""Name on one line, shortened in the middle if it is long, and isolated if it is written from right to left.

    Examples
    --------
    >>> shorten("a" * 30 + "b" * 30, 11)
    'aaaaa…bbbbb'
    >>> shorten(" "), shorten("")
    ('(blank)', '(blank)')
    """
    text = put_on_one_line(name) or "(blank)"
    if len(text) > most:
        half = (most - 1) // 2
        text = f"{text[:half]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"
    is_right_to_left = any(unicodedata.bidirectional(letter) in RIGHT_TO_LEFT for letter in text)
    return f"{ISOLATE}{text}{POP}" if is_right_to_left else text


def format_percent(share: float) -> str:
    """Share in percent; it is 0% or 100% only if it is exactly that.

    Examples
    --------
    >>> [format_percent(share) for share in (0.0, 0.0002, 0.034, 0.5, 0.9999, 1.0)]
    ['0%', '<0.1%', '3.4%', '50%', '>99.9%', '100%']
    """
    if 0.0 < share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1.0:
        return ">99.9%"
    return f"{share:.1%}" if 0.0 < share < 0.0995 or 0.9905 <= share < 1.0 else f"{share:.0%}"


def format_missing_change(before: float, after: float) -> str:
    """Shares of missing cells, from the reference to the window.

    Examples
    --------
    >>> format_missing_change(0.1, 0.22), format_missing_change(0.0, 0.0)
    ('10% \N{RIGHTWARDS ARROW} 22%', 'none')
    """
    return f"{format_percent(before)} {ARROW} {format_percent(after)}" if before or after else "none"


def format_number(value: float) -> str:
    """Number with four significant digits.

    Examples
    --------
    >>> format_number(1013.26), format_number(-0.00001), format_number(2.5e100), format_number(1234567)
    ('1013', '-1e-05', '2.5e+100', '1,235,000')
    """
    size = abs(value)
    if size >= 10_000 and size < 1e9:
        return f"{float(f'{value:.4g}'):,.0f}"
    return f"{value:.4g}"


def format_number_within(value: float, span: float) -> str:
    """Number with enough digits to distinguish it from others in a range of width ``span``.

    Examples
    --------
    >>> [format_number_within(*pair) for pair in ((0.06728, 6.0), (22063.4, 80_000.0), (1_000_000.25, 1.0))]
    ['0.07', '22,063', '1,000,000.25']
    >>> format_number_within(1.084e90, 4e90), format_number_within(3.0, 0.0)
    ('1.08e+90', '3')
    >>> format_number_within(-0.001, 6.0)
    '0.00'
    """
    size = abs(value)
    if not span > 0.0:
        return format_number(value)
    if max(size, span) >= 1e7 or max(size, span) < 1e-4:
        return f"{value:.{min(15, max(3, round(math.log10(max(size, span) / span)) + 3))}g}"
    decimals = min(9, max(0, math.ceil(-math.log10(span)) + 2))
    # What rounds to -0 is 0.
    return f"{round(value, decimals) + 0.0:{',' if size >= 10_000 else ''}.{decimals}f}"


def format_count(number: int, noun: str = "") -> str:
    """Whole number with separators, followed by the noun that it counts, in the singular or plural.

    Examples
    --------
    >>> format_count(1000000), format_count(1, "row"), format_count(2000, "row")
    ('1,000,000', '1 row', '2,000 rows')
    """
    plural = "" if number == 1 else "s"
    return f"{number:,} {noun}{plural}" if noun else f"{number:,}"


def format_p_value(p_value: float) -> str:
    """p-value inside a sentence.

    Examples
    --------
    >>> format_p_value(0.0312), format_p_value(1e-30)
    ('p = 0.031', 'p < 1e-9')
    """
    number = format_p_number(p_value)
    return f"p {number}" if number.startswith("<") else f"p = {number}"


def format_p_number(p_value: float) -> str:
    """p-value under a heading that says what it is."""
    if p_value < 1e-9:
        return "< 1e-9"
    return f"{p_value:.2g}" if p_value < 0.995 else f"{p_value:.2f}"


def describe_chance(p_value: float) -> str:
    """How often chance alone gives a p-value this small, in words.

    Examples
    --------
    >>> [describe_chance(p) for p in (1e-12, 0.00052, 0.031, 0.43, 1.0)]
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
    return next((word for least, word in EFFECT_WORDS if effect_size >= least), "very small")


def _replace_letter(letter: str) -> str:
    if letter.isspace():
        return " "
    harmful = (
        unicodedata.category(letter) in {"Cc", "Cs"}
        or unicodedata.bidirectional(letter) in DIRECTION_MARKS
        or letter in "\u200e\u200f\u061c"
    )
    return REPLACEMENT if harmful else letter
