"""HTML pieces: escaped text, names, phrases and tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from gapdrift.results.report.words import Name, Phrase, effect_word, put_on_one_line, replace_invisible, shorten

__all__ = [
    "Cell",
    "Head",
    "allow_breaks",
    "escape_text",
    "render_effect",
    "render_name",
    "render_phrase",
    "render_table",
]

MAX_FULL_NAME = 120
"""Letters of a shortened name that are shown when the reader points at it."""


@dataclass(frozen=True)
class Head:
    """Heading of a table's column.

    Parameters
    ----------
    label : str
    sort : {"", "text", "rising", "falling"}
        How the reader can sort the table by it: not at all, as text, or as numbers, in this direction first.
    kind : str
        CSS class of the column.
    """

    label: str
    sort: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Cell:
    """Cell of a table.

    Parameters
    ----------
    html : str
    key : float or None
        Number by which it is sorted; None comes last. A column of text is sorted by the text itself.
    kind : str
        CSS class.
    """

    html: str
    key: float | None = None
    kind: str = ""


def escape_text(words: str) -> str:
    """Text on one line, escaped for an element or an attribute."""
    return escape(put_on_one_line(words))


def render_name(words: str, most: int = 48, *, full: bool = True) -> str:
    """Name of a column or category; if it is shortened, pointing at it shows more, unless ``full`` is false."""
    short = shorten(words, most)
    more = f' title="{escape(shorten(words, MAX_FULL_NAME))}"' if full and len(put_on_one_line(words)) > most else ""
    return f'<bdi class="name"{more}>{allow_breaks(escape(short))}</bdi>'


def allow_breaks(words: str) -> str:
    """Escaped text in which a line may break after an underscore."""
    return words.replace("_", "_<wbr>")


def render_phrase(pieces: Phrase) -> str:
    """Phrase with its names marked up.

    Examples
    --------
    >>> render_phrase(("Values of ", Name("a<b"), "."))
    'Values of <bdi class="name">a&lt;b</bdi>.'
    """
    return "".join(
        render_name(piece.text) if isinstance(piece, Name) else escape(replace_invisible(piece)) for piece in pieces
    )


def render_effect(effect_size: float | None) -> str:
    """Effect size as a number and a word; empty if there is none."""
    return "" if effect_size is None else f"{effect_size:.2f} <small class='word'>{effect_word(effect_size)}</small>"


def render_table(caption: str, heads: Sequence[Head], rows: Sequence[Sequence[Cell]], *, kind: str = "") -> str:
    """Table that can be scrolled if it is wider than the page; the first cell of each row is its heading.

    Parameters
    ----------
    caption : str
    heads : sequence of Head
    rows : sequence of sequences of Cell
    kind : str
        CSS class.
    """
    label = escape_text(caption)
    top = "".join(_render_head(head) for head in heads)
    body = "\n".join(f"<tr>{''.join(_render_cell(cell, place) for place, cell in enumerate(row))}</tr>" for row in rows)
    printed = '<p class="fine printed">On paper: the first 40 rows.</p>' if "long" in kind else ""
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0"><table class="{kind}">'
        f"<caption><span>{label}</span></caption><thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>{printed}"
    )


def _render_head(head: Head) -> str:
    sort = f' data-sort="{head.sort}"' if head.sort else ""
    return f'<th scope="col"{_class_attribute(head.kind)}{sort}>{escape_text(head.label)}</th>'


def _render_cell(cell: Cell, place: int) -> str:
    key = "" if cell.key is None else f' data-key="{cell.key:.6g}"'
    tag, scope = ("td", "") if place else ("th", ' scope="row"')
    return f"<{tag}{scope}{_class_attribute(cell.kind)}{key}>{cell.html}</{tag}>"


def _class_attribute(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
