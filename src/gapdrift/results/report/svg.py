"""SVG elements, and the ticks and labels of axes."""

import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise

__all__ = ["axis_labels", "element", "figure", "label", "point", "steps", "ticks"]


def element(tag: str, content: str = "", **attributes: float | str) -> str:
    """SVG element; numbers are rounded to a tenth, ``kind`` is the class, underscores become hyphens.

    Examples
    --------
    >>> element("rect", x=1, width=2.04, kind="bar")
    '<rect x="1" width="2" class="bar"/>'
    """
    names = {"kind": "class"}
    given = "".join(
        f' {names.get(name, name.replace("_", "-"))}="{_value(value)}"' for name, value in attributes.items()
    )
    return f"<{tag}{given}>{content}</{tag}>" if content else f"<{tag}{given}/>"


def figure(size: tuple[float, float], title: str, content: str, *, detail: str = "", kind: str = "") -> str:
    """Picture with a text alternative.

    Parameters
    ----------
    size : tuple of float
        Width and height of the drawing, which the page may scale.
    title : str
        What it shows, in plain text.
    content : str
        SVG.
    detail : str
        What the picture shows, in more detail.
    kind : str
        CSS class.
    """
    width, height = size
    words = escape(title)
    more = f"<desc>{escape(detail)}</desc>" if detail else ""
    return (
        f'<svg class="{kind}" role="img" aria-label="{words}" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}"><title>{words}</title>{more}{content}</svg>'
    )


def label(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "") -> str:
    """Text at a point of the drawing."""
    extra = {"kind": kind} if kind else {}
    return element("text", escape(words), x=x, y=y, text_anchor=anchor, **extra)


def steps(heights: Sequence[float], left: float, width: float, bottom: float, tall: float) -> str:
    """Path data of a step line over equal intervals, heights being shares of ``tall``.

    Examples
    --------
    >>> steps([0.5, 1.0], 0, 10, 20, 20)
    'M0 20V10H5V0H10V20'
    """
    slot = width / len(heights)
    walk = "".join(
        f"V{point(bottom - tall * height)}H{point(left + slot * (place + 1))}" for place, height in enumerate(heights)
    )
    return f"M{point(left)} {point(bottom)}{walk}V{point(bottom)}"


def point(value: float) -> str:
    """Coordinate, rounded to a tenth."""
    return f"{round(value, 1) + 0.0:g}"


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from ``low`` to ``high``; only ``low`` if the two are too close together.

    Examples
    --------
    >>> ticks(0.0, 0.31), ticks(-3.0, 34.0)
    ([0.0, 0.1, 0.2, 0.3], [0.0, 10.0, 20.0, 30.0])
    """
    span = high - low
    if not span > 1e-9 * max(abs(low), abs(high)):
        return [low]
    rough = span / most
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1.0, 2.0, 5.0, 10.0) if size * factor >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


def axis_labels(places: Sequence[float]) -> list[str]:
    """Numbers of an axis as text, with enough digits to distinguish them.

    Examples
    --------
    >>> axis_labels([0.0, 0.5, 1.0]), axis_labels([2004.0, 2005.0]), axis_labels([0.0, 2e100])
    (['0.0', '0.5', '1.0'], ['2004', '2005'], ['0', '2e+100'])
    """
    largest = max((abs(place) for place in places), default=0.0)
    step = min((abs(b - a) for a, b in pairwise(places)), default=largest) or 1.0
    if largest >= 1e7 or 0.0 < largest < 1e-4:
        digits = max(1, min(15, round(math.log10(largest / step)) + 2))
        return [f"{place:.{digits}g}" for place in places]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    comma = "," if largest >= 10_000 else ""
    return [f"{place + 0.0:{comma}.{min(decimals, 6)}f}" for place in places]


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else point(value)
