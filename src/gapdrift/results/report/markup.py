"""HTML pieces: escaped text, names, phrases and tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from gapdrift.results.report.words import Name, Phrase, clean, shown, visible

__all__ = ["Cell", "Head", "breakable", "name", "phrase", "table", "text"]

MAX_FULL_NAME = 120
"""Letters of a cut name that are told when it is pointed at."""


@dataclass(frozen=True)
class Head:
    """Heading of a table's column.

    Parameters
    ----------
    label : str
    sort : {"", "text", "rising", "falling"}
        How its cells are sorted, where they can be: as text, or as numbers in this direction first.
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
        What it is sorted by; None comes last. Text is sorted as it stands.
    kind : str
        CSS class.
    """

    html: str
    key: float | None = None
    kind: str = ""


def text(words: str) -> str:
    """Text for an element or an attribute.

    Examples
    --------
    >>> text('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'
    """
    return escape(clean(words))


def name(words: str, most: int = 48, *, full: bool = True) -> str:
    """Name of a column or level; where it is cut, pointing at it tells more, unless ``full`` is false."""
    short = shown(words, most)
    more = f' title="{escape(shown(words, MAX_FULL_NAME))}"' if full and len(clean(words)) > most else ""
    return f'<bdi class="name"{more}>{breakable(escape(short))}</bdi>'


def breakable(words: str) -> str:
    """Escaped text that may go on in a new line after an underscore."""
    return words.replace("_", "_<wbr>")


def phrase(pieces: Phrase) -> str:
    """Phrase with its names set off.

    Examples
    --------
    >>> phrase(("Values of ", Name("a<b"), "."))
    'Values of <bdi class="name">a&lt;b</bdi>.'
    """
    return "".join(name(piece.text) if isinstance(piece, Name) else escape(visible(piece)) for piece in pieces)


def table(caption: str, heads: Sequence[Head], rows: Sequence[Sequence[Cell]], *, kind: str = "") -> str:
    """Table in a box of its own that scrolls where it is wider than the page; the first cell of a row names it.

    Parameters
    ----------
    caption : str
    heads : sequence of Head
    rows : sequence of sequences of Cell
    kind : str
        CSS class.

    Returns
    -------
    html : str
    """
    label = text(caption)
    top = "".join(_head(head) for head in heads)
    body = "\n".join(f"<tr>{''.join(_cell(cell, place) for place, cell in enumerate(row))}</tr>" for row in rows)
    printed = '<p class="fine printed">On paper: the first 40 rows.</p>' if "long" in kind else ""
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0"><table class="{kind}">'
        f"<caption><span>{label}</span></caption><thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>{printed}"
    )


def _head(head: Head) -> str:
    sort = f' data-sort="{head.sort}"' if head.sort else ""
    return f'<th scope="col"{_class(head.kind)}{sort}>{text(head.label)}</th>'


def _cell(cell: Cell, place: int) -> str:
    key = "" if cell.key is None else f' data-key="{cell.key:.6g}"'
    tag, scope = ("td", "") if place else ("th", ' scope="row"')
    return f"<{tag}{scope}{_class(cell.kind)}{key}>{cell.html}</{tag}>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
