"""SVG charts of the two distributions of a column: the reference is filled, the window is a line or striped."""

import math
import unicodedata
from collections.abc import Iterator, Sequence
from html import escape

from gapdrift.results.report.histogram import CategoryShares, list_categories, name_intervals
from gapdrift.results.report.svg import axis_labels, element, figure, label, steps, ticks
from gapdrift.results.report.words import format_number_within, format_percent, shorten
from gapdrift.results.result import Histogram, PairFinding, PairSide

__all__ = ["HATCH", "draw_distribution", "draw_pair", "draw_shares", "draw_spark"]

SPARK_SIZE = (132.0, 30.0)
CHART_WIDTH, CHART_HEIGHT = 420.0, 216.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 12.0, 10.0, 42.0
ROW_HEIGHT, NAME_WIDTH = 36.0, 118.0
PAIR_WIDTH, PAIR_HEIGHT = 420.0, 300.0

REACH = 3.2
"""Standard deviations of the reference to which a chart of two columns reaches."""

TWO_THIRDS = 1.48
"""Radius, in standard deviations, of the ellipse that holds two thirds of normal rows."""

HATCH = (
    '<svg class="defs" width="0" height="0" aria-hidden="true"><defs>'
    '<pattern id="stripes" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="5" height="5" class="stripe-ground"/><rect width="2.4" height="5" class="stripe"/>'
    "</pattern></defs></svg>"
)
"""Pattern of the window's bars, so that they can be told from the reference's without colour."""


def draw_spark(histogram: Histogram) -> str:
    """Small chart of both distributions, for a row of a table (a sparkline)."""
    width, height = SPARK_SIZE
    sides = _shares_of_sides(histogram)
    highest = max(max(side, default=0.0) for side in sides) or 1.0
    shares = [[share / highest for share in side] for side in sides]
    draw = _spark_categories if histogram.labels else _spark_steps
    ground = element("path", d=f"M0 {height - 0.5:g}H{width:g}", kind="axis")
    title = "Distribution in reference (filled) and window (line)"
    return figure(SPARK_SIZE, title, ground + draw(shares, width, height - 1.0), kind="spark")


def draw_distribution(column: str, histogram: Histogram) -> str:
    """Large chart of both distributions of a column."""
    return _draw_categories(column, histogram) if histogram.labels else _draw_numbers(column, histogram)


def draw_shares(before: float, after: float, full_width: float) -> str:
    """Two bars, one above the other; a share of ``full_width`` fills the width."""
    width = 160.0
    bars = "".join(
        element("rect", x=0.0, y=y, width=max(width * share / full_width, 0.8), height=9.0, rx=1.5, kind=kind)
        for y, share, kind in ((1.0, before, "reference"), (13.0, after, "window-bar"))
        if share
    )
    title = f"Reference {format_percent(before)}, window {format_percent(after)}"
    return figure((width, 23.0), title, bars or element("path", d="M0 11.5H1", kind="axis"), kind="shares")


def draw_pair(pair: PairFinding) -> str:
    """Chart of two columns on both sides: where two thirds of their rows lie, or how strongly they are related."""
    title = f"{shorten(pair.first)} and {shorten(pair.second)}, reference against window"
    detail = (
        f"Correlation {pair.reference.correlation:.2f} in the reference, {pair.window.correlation:.2f} in the window."
    )
    if all(pair.ticks):
        return figure((PAIR_WIDTH, PAIR_HEIGHT), title, _pair_plot(pair), detail=detail, kind="chart")
    return figure((PAIR_WIDTH, 96.0), title, _correlation_bars(pair), detail=detail, kind="chart")


def _pair_plot(pair: PairFinding) -> str:
    left, width, top, tall = 64.0, PAIR_WIDTH - 64.0 - 14.0, 10.0, PAIR_HEIGHT - 10.0 - 44.0
    bottom = top + tall

    def place(x: float, y: float) -> tuple[float, float]:
        across, up = (min(max(value, -REACH), REACH) / (2.0 * REACH) + 0.5 for value in (x, y))
        return left + width * across, bottom - tall * up

    drawn = []
    for score, words in zip(range(-2, 3), _tick_labels(pair.ticks[0]), strict=True):
        x, _ = place(score, 0.0)
        drawn += [
            element("path", d=f"M{x:.1f} {top:g}V{bottom:g}", kind="grid"),
            label(x, bottom + 16.0, words, anchor="middle"),
        ]
    for score, words in zip(range(-2, 3), _tick_labels(pair.ticks[1]), strict=True):
        _, y = place(0.0, score)
        drawn += [
            element("path", d=f"M{left:g} {y:.1f}h{width:g}", kind="grid"),
            label(left - 6.0, y + 4.0, words, anchor="end"),
        ]
    for side, kind in ((pair.reference, "reference-area"), (pair.window, "window-line")):
        points = (place(*point) for point in _ellipse(side))
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z"
        drawn.append(element("path", d=path, kind=kind))
    drawn.append(
        label(left + width / 2.0, PAIR_HEIGHT - 8.0, shorten(pair.first, 40), anchor="middle", kind="axis-name")
    )
    name = escape(shorten(pair.second, 32))
    x, y = 12.0, top + tall / 2.0
    drawn.append(
        element("text", name, x=x, y=y, text_anchor="middle", kind="axis-name", transform=f"rotate(-90 {x:g} {y:g})")
    )
    return "".join(drawn)


def _ellipse(side: PairSide, n_points: int = 48) -> Iterator[tuple[float, float]]:
    """Points around two thirds of the rows, were they normal: in standard deviations of the reference."""
    (x, y), (wide, high), r = side.means, side.spreads, side.correlation
    for step in range(n_points):
        angle = 2.0 * math.pi * step / n_points
        across, up = math.cos(angle), r * math.cos(angle) + math.sqrt(1.0 - r * r) * math.sin(angle)
        yield x + TWO_THIRDS * wide * across, y + TWO_THIRDS * high * up


def _tick_labels(values: Sequence[float]) -> list[str]:
    span = max(values) - min(values)
    # Next to 0 a number would be written as -0.0.
    rounded = [0.0 if abs(value) < 0.005 * span else value for value in values]
    return [format_number_within(value, 10.0 * span) for value in rounded]


def _correlation_bars(pair: PairFinding) -> str:
    """Two bars from the middle, from -1 on the left to 1 on the right."""
    left, width = 14.0, PAIR_WIDTH - 28.0
    middle = left + width / 2.0
    drawn = []
    for score in (-1.0, -0.5, 0.0, 0.5, 1.0):
        x = middle + width / 2.0 * score
        drawn += [element("path", d=f"M{x:.1f} 4V72", kind="grid"), label(x, 88.0, f"{score:g}", anchor="middle")]
    sides = ((12.0, pair.reference, "reference"), (42.0, pair.window, "window-bar"))
    for y, side, kind in sides:
        length = width / 2.0 * side.correlation
        drawn.append(
            element("rect", x=min(middle, middle + length), y=y, width=max(abs(length), 1.0), height=20.0, kind=kind)
        )
    return "".join(drawn)


def _draw_categories(column: str, histogram: Histogram) -> str:
    rows = list_categories(histogram)
    new = frozenset(histogram.new)
    detail = " ".join(
        f"{shorten(category)}: {format_percent(before)} against {format_percent(after)}."
        for category, before, after in rows
    )
    title = f"Categories of {shorten(column)}, reference against window"
    return figure(
        (CHART_WIDTH, ROW_HEIGHT * len(rows) + 6.0), title, _category_rows(rows, new), detail=detail, kind="chart"
    )


def _draw_numbers(column: str, histogram: Histogram) -> str:
    intervals = name_intervals(histogram)
    first, second = (intervals[shares.index(max(shares))] for shares in (histogram.reference, histogram.window))
    detail = f"Most frequent: {first} in the reference, {second} in the window."
    title = f"Distribution of {shorten(column)}, reference against window"
    plot = _number_plot(histogram, intervals, shorten(column))
    return figure((CHART_WIDTH, CHART_HEIGHT), title, plot, detail=detail, kind="chart")


def _shares_of_sides(histogram: Histogram) -> list[list[float]]:
    if not histogram.labels:
        return [list(histogram.reference), list(histogram.window)]
    rows = list_categories(histogram)
    return [[row[1] for row in rows], [row[2] for row in rows]]


def _spark_steps(shares: list[list[float]], width: float, height: float) -> str:
    first, second = (steps(side, 0.0, width, height, height - 2.0) for side in shares)
    return element("path", d=f"{first}Z", kind="reference-area") + element("path", d=second, kind="window-line")


def _spark_categories(shares: list[list[float]], width: float, height: float) -> str:
    slot = width / max(len(shares[0]), 1)
    bar = min(slot * 0.36, 14.0)
    bars = []
    for place, pair in enumerate(zip(*shares, strict=True)):
        middle = slot * (place + 0.5)
        for x, share, kind in zip((middle - bar - 0.5, middle + 0.5), pair, ("reference", "window-box"), strict=True):
            tall = (height - 2.0) * share
            bars.append(element("rect", x=x, y=height - tall, width=bar, height=tall, kind=kind) if share else "")
    return "".join(bars)


def _number_plot(histogram: Histogram, intervals: list[str], name: str) -> str:
    sides = _shares_of_sides(histogram)
    highest = max(max(side) for side in sides) or 1.0
    width, tall, bottom = CHART_WIDTH - LEFT - RIGHT, CHART_HEIGHT - TOP - BOTTOM, CHART_HEIGHT - BOTTOM
    first, second = (steps([share / highest for share in side], LEFT, width, bottom, tall) for side in sides)
    slot = width / len(intervals)
    hits = "".join(
        element("rect", _tooltip(*row), x=LEFT + slot * place, y=TOP, width=slot, height=tall, kind="hit")
        for place, row in enumerate(zip(intervals, *sides, strict=True))
    )
    return (
        _share_axis(highest, width, tall, bottom)
        + element("path", d=f"{first}Z", kind="reference-area")
        + element("path", d=first, kind="reference-line")
        + element("path", d=second, kind="window-line")
        + _number_axis(histogram.edges[0], histogram.edges[-1], width, bottom)
        + label(LEFT + width / 2.0, CHART_HEIGHT - 6.0, name, anchor="middle", kind="axis-name")
        + hits
    )


def _share_axis(highest: float, width: float, tall: float, bottom: float) -> str:
    lines = []
    places = ticks(0.0, 100.0 * highest, 4)
    for place, words in zip(places, axis_labels(places), strict=True):
        y = bottom - tall * place / (100.0 * highest)
        lines.append(element("path", d=f"M{LEFT:g} {y:.1f}h{width:g}", kind="grid"))
        lines.append(label(LEFT - 6.0, y + 4.0, f"{words}%", anchor="end"))
    return "".join(lines)


def _number_axis(low: float, high: float, width: float, bottom: float) -> str:
    places = ticks(low, high)
    if max(map(len, axis_labels(places)), default=0) > 8:
        places = ticks(low, high, 2)
    marks = [element("path", d=f"M{LEFT:g} {bottom:g}h{width:g}", kind="axis")]
    for place, words in zip(places, axis_labels(places), strict=True):
        x = LEFT + width * ((place - low) / (high - low) if high > low else 0.5)
        marks.append(element("path", d=f"M{x:.1f} {bottom:g}v4", kind="axis"))
        marks.append(label(x, bottom + 17.0, words, anchor="middle"))
    return "".join(marks)


def _category_rows(rows: list[CategoryShares], new: frozenset[str]) -> str:
    highest = max(max(row[1:]) for row in rows) if rows else 1.0
    width = CHART_WIDTH - NAME_WIDTH - 52.0
    drawn = []
    for place, (category, before, after) in enumerate(rows):
        top = ROW_HEIGHT * place + 4.0
        middle = top + (12.0 if category in new else 18.0)
        drawn.append(label(NAME_WIDTH - 8.0, middle, _shorten_to_fit(category), anchor="end", kind="category"))
        if category in new:
            drawn.append(label(NAME_WIDTH - 8.0, top + 25.0, "new", anchor="end", kind="new"))
        for y, share, kind in ((top, before, "reference"), (top + 14.0, after, "window-bar")):
            length = width * share / (highest or 1.0)
            bar = element("rect", x=NAME_WIDTH, y=y, width=length, height=12.0, rx=1.5, kind=kind) if share else ""
            drawn += [bar, label(NAME_WIDTH + length + 6.0, y + 10.0, format_percent(share))]
        tooltip = _tooltip(shorten(category), before, after)
        drawn.append(element("rect", tooltip, x=0.0, y=top - 4.0, width=CHART_WIDTH, height=ROW_HEIGHT, kind="hit"))
    return "".join(drawn)


def _shorten_to_fit(category: str, most: int = 16) -> str:
    """Name of a category, shortened to fit beside its bars; wide letters count twice."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in category[:most])
    return shorten(category, max(most - wide, 5))


def _tooltip(words: str, before: float, after: float) -> str:
    return element("title", escape(f"{words}: reference {format_percent(before)}, window {format_percent(after)}"))
