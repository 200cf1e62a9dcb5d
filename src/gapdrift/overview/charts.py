"""SVG charts of many windows: tracks of p-values and effect sizes, heat maps of columns, sparklines."""

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import groupby

from gapdrift.overview.points import SIDES, ColumnPoint, Timeline, WindowPoint, group_points
from gapdrift.results.report.palette import HEAT_STEPS
from gapdrift.results.report.svg import axis_labels, element, figure, label, point, steps, ticks
from gapdrift.results.report.words import format_p_number, format_percent, shorten
from gapdrift.results.result import Histogram

__all__ = ["draw_column", "draw_heat", "draw_ridges", "draw_sparkline", "draw_track"]

WIDTH = 960.0
LEFT, RIGHT = 132.0, 14.0
TRACK_HEIGHT, EFFECT_HEIGHT, GAP, AXIS_HEIGHT = 150.0, 34.0, 20.0, 30.0
ROW_HEIGHT = 18.0
MAX_SLOTS = 240
"""Largest number of places side by side; more windows share places."""

MAX_ROWS = 40
"""Largest number of columns in a heat map; those that changed most are shown."""

DEEPEST = 9.0
"""p-values below 1e-9 are drawn at 1e-9."""

WIDE_SLOT = 6.0
"""Cells of a heat map that are wider have a gap between them; narrower ones of one colour are drawn as one."""

FULL_EFFECT = 0.5
"""Effect size of the darkest colour: Cohen's large effect."""

Link = Callable[[WindowPoint], str]
"""Address of the report of a window; empty if it has none."""


def draw_track(timeline: Timeline, side: str, link: Link) -> str:
    """Track of one side over the windows: p-values on a log scale with the zones, and effect sizes below.

    Parameters
    ----------
    timeline : Timeline
    side : {"values", "missing", "concept"}
    link : callable
    """
    points = group_points(timeline.points, MAX_SLOTS)
    depth = _depth(timeline)
    height = 10.0 + TRACK_HEIGHT + GAP + EFFECT_HEIGHT + AXIS_HEIGHT
    effects_top = 10.0 + TRACK_HEIGHT + GAP
    effects = [getattr(window, f"{side}_effect") or 0.0 for window in points]
    content = (
        _zones(timeline, depth)
        + _p_grid(depth)
        + _alarm_line(timeline, depth)
        + _effect_bars(effects, effects_top)
        + _window_axis(points, effects_top + EFFECT_HEIGHT)
        + _p_marks(points, side, depth, link)
    )
    alarms = sum(window.alarm for window in timeline.points)
    detail = f"{len(timeline.points)} windows, {alarms} of them in the warning or drift zone."
    labels = _p_labels(depth) + _side_labels(f"effect {_highest(effects):.2g}", "0", effects_top, EFFECT_HEIGHT)
    return _framed(height, f"{SIDES[side]}: p-value of each window", content, labels, detail=detail, kind="chart track")


def _framed(height: float, title: str, content: str, labels: str, *, detail: str = "", kind: str = "chart") -> str:
    """Picture whose labels on the left stay in sight where a small screen shows a part of it."""
    picture = figure((WIDTH, height), title, content + labels, detail=detail, kind=kind)
    return f'<div class="framed">{picture}{_side(labels, height)}</div>'


def _side(labels: str, height: float) -> str:
    """Labels of a picture once more, to lie over its left end on a small screen."""
    ground = element("rect", width=LEFT - 2.0, height=height, kind="side-ground")
    return f'<svg class="chart side" viewBox="0 0 {LEFT:g} {height:g}" aria-hidden="true">{ground}{labels}</svg>'


def draw_heat(timeline: Timeline, side: str, link_column: Callable[[str], str] = lambda _: "") -> str:
    """Heat map of columns by windows: effect sizes of their values, or their shares of missing cells."""
    points = group_points(timeline.points, MAX_SLOTS)
    names = _leading_columns(points, timeline.columns, side)
    height = ROW_HEIGHT * len(names) + AXIS_HEIGHT + 4.0
    content = (
        _heat_names(names, link_column)
        + _heat_cells(points, names, side, timeline.alarm_at)
        + _window_axis(points, ROW_HEIGHT * len(names) + 2.0)
        + _heat_hits(points, names, side)
    )
    what = "size of the change of values" if side == "values" else "share of missing cells"
    side = _heat_names(names, lambda _: "")
    picture = figure((WIDTH, height), f"{what.capitalize()}, column by window", content, kind="chart heatmap")
    return f'<div class="framed">{picture}{_side(side, height)}</div>'


def draw_sparkline(points: Sequence[WindowPoint], alarm_at: float) -> str:
    """Small chart of the p-values of the last windows, for a row of a table."""
    width, height = 160.0, 32.0
    shown = group_points(points, 60)
    depth = max(3.0, -math.log10(alarm_at) + 1.0)
    slot = width / max(len(shown), 1)
    line = height - 2.0 - (height - 4.0) * -math.log10(alarm_at) / depth
    marks = [element("path", d=f"M0 {point(line)}H{width:g}", kind="alarm-line")]
    for place, window in enumerate(shown):
        y = height - 2.0 - (height - 4.0) * min(_magnitude(window.p_value), depth) / depth
        marks.append(
            element("rect", x=place * slot, y=y, width=slot * 0.8, height=height - 1.0 - y, kind=f"zone {window.zone}")
        )
    title = f"p-values of the last {len(points)} windows; taller is less likely without drift"
    return figure((width, height), title, "".join(marks), kind="spark")


def _depth(timeline: Timeline) -> float:
    """Height of the axis in powers of ten: beyond the alarm line, and as far as the windows reach."""
    found = [p for window in timeline.points for p in _p_values(window)]
    deepest = max(map(_magnitude, found), default=0.0)
    return max(3.0, _magnitude(timeline.alarm_at) + 1.0, min(DEEPEST, math.ceil(deepest)))


def _p_values(window: WindowPoint) -> list[float]:
    """p-values of all sides that were tested."""
    return [p for p in (window.values_p, window.missing_p, window.concept_p) if p is not None]


def _magnitude(p_value: float) -> float:
    return min(DEEPEST, -math.log10(max(p_value, 1e-300)))


def _y(p_value: float, depth: float) -> float:
    return 10.0 + TRACK_HEIGHT * (1.0 - min(_magnitude(p_value), depth) / depth)


def _zones(timeline: Timeline, depth: float) -> str:
    alarm, warning = _y(timeline.alarm_at, depth), _y(timeline.warning_at, depth)
    inside = WIDTH - LEFT - RIGHT
    return element("rect", x=LEFT, y=10.0, width=inside, height=alarm - 10.0, kind="drift-zone") + element(
        "rect", x=LEFT, y=alarm, width=inside, height=max(warning - alarm, 0.0), kind="warning-zone"
    )


def _alarm_line(timeline: Timeline, depth: float) -> str:
    y = _y(timeline.alarm_at, depth)
    words = f"alarm: p < {format_p_number(timeline.alarm_at)}"
    line = element("path", d=f"M{LEFT:g} {point(y)}h{WIDTH - LEFT - RIGHT:g}", kind="alarm-line")
    return line + label(LEFT + 6.0, y - 5.0, words)


def _powers(depth: float) -> range:
    """Powers of ten that the axis of p-values names."""
    return range(0, int(depth) + 1, 1 if depth <= 5 else 2 if depth <= 8 else 3)


def _p_grid(depth: float) -> str:
    lines = (f"M{LEFT:g} {point(_y(10.0**-power, depth))}h{WIDTH - LEFT - RIGHT:g}" for power in _powers(depth))
    return element("path", d="".join(lines), kind="grid")


def _p_labels(depth: float) -> str:
    names = ("p = 1" if not power else f"1e-{power}" if power > 2 else f"{10.0**-power:g}" for power in _powers(depth))
    places = (_y(10.0**-power, depth) for power in _powers(depth))
    pairs = zip(names, places, strict=True)
    return "".join(label(LEFT - 8.0, y + 4.0, words, anchor="end") for words, y in pairs)


def _slots(points: Sequence[object]) -> float:
    return (WIDTH - LEFT - RIGHT) / max(len(points), 1)


def _p_marks(points: Sequence[WindowPoint], side: str, depth: float, link: Link) -> str:
    """Line through the p-values, a mark on each, and a place to point at that links to the report."""
    slot, drawn, hits = _slots(points), [], []
    for place, window in enumerate(points):
        x, p_value = LEFT + slot * (place + 0.5), getattr(window, f"{side}_p")
        if p_value is not None:
            drawn.append((place, x, _y(p_value, depth), _side_zone(window, side)))
        height = TRACK_HEIGHT + GAP + EFFECT_HEIGHT
        hit = element("rect", _tip(window, side), x=x - slot / 2, y=10.0, width=slot, height=height, kind="hit")
        address = link(window)
        hits.append(f'<a href="{escape(address)}" aria-label="Window {window.place}">{hit}</a>' if address else hit)
    return _lines(drawn) + "".join(_mark(x, y, zone, min(slot * 0.4, 3.6)) for _, x, y, zone in drawn) + "".join(hits)


def _side_zone(window: WindowPoint, side: str) -> str:
    """Zone of one side: that of the window for the sides that led to it, calm for the others."""
    own, tested = getattr(window, f"{side}_p"), _p_values(window)
    # The verdict combines the sides at about an equal share of its rate each.
    led = not window.alarm or own <= len(tested) * window.p_value or own <= min(tested)
    return window.zone if led else "calm"


def _lines(drawn: list[tuple[int, float, float, str]]) -> str:
    """Lines through neighbouring marks; where a window has no test, the line is broken."""
    pieces = []
    for _, run in groupby(enumerate(drawn), key=lambda pair: pair[1][0] - pair[0]):
        stops = [f"{point(x)} {point(y)}" for _, (_, x, y, _) in run]
        if len(stops) > 1:
            pieces.append(f"M{'L'.join(stops)}")
    return element("path", d="".join(pieces), kind="track-line") if pieces else ""


def _mark(x: float, y: float, zone: str, size: float) -> str:
    """Mark of a window; zones differ in shape, not only in colour."""
    if zone == "drift":
        big = size + 1.6
        d = f"M{point(x)} {point(y - big)}l{point(big)} {point(1.8 * big)}h{point(-2 * big)}Z"
        return element("path", d=d, kind="zone drift")
    if zone == "warning":
        half = point(size + 1.0)
        d = f"M{point(x)} {point(y - size - 1.0)}l{half} {half}l-{half} {half}l-{half} -{half}Z"
        return element("path", d=d, kind="zone warning")
    return element("circle", cx=x, cy=y, r=max(size * 0.75, 1.0), kind=f"zone {zone}")


def _highest(effects: Sequence[float]) -> float:
    """Effect size at the top of an axis."""
    return max([FULL_EFFECT, *effects])


def _effect_bars(effects: Sequence[float], top: float) -> str:
    slot, bottom, highest = _slots(effects), top + EFFECT_HEIGHT, _highest(effects)
    bars = [element("path", d=f"M{LEFT:g} {point(bottom)}h{WIDTH - LEFT - RIGHT:g}", kind="axis")]
    for place, effect in enumerate(effects):
        tall = EFFECT_HEIGHT * effect / highest
        if tall >= 0.05:
            x = LEFT + slot * (place + 0.15)
            bars.append(element("rect", x=x, y=bottom - tall, width=slot * 0.7, height=tall, kind="effect"))
    return "".join(bars)


def _window_axis(points: Sequence[WindowPoint], y: float) -> str:
    """Numbers or times of some windows, below a chart."""
    slot, marks = _slots(points), []
    every = max(1, math.ceil(len(points) / 8))
    for place in range(0, len(points), every):
        x = LEFT + slot * (place + 0.5)
        marks.append(element("path", d=f"M{point(x)} {point(y)}v4", kind="axis"))
        marks.append(label(x, y + 18.0, _moment(points[place]), anchor="middle"))
    return "".join(marks)


def _moment(window: WindowPoint) -> str:
    return str(window.index) if window.start is None else window.start[5:16].replace("T", " ")


def _tip(window: WindowPoint, side: str) -> str:
    when = "" if window.start is None else f", from {window.start[:16].replace('T', ' ')}"
    name = f"Window{'s' if window.n_windows > 1 else ''} {window.place}{when}: {window.zone}"
    facts = []
    for key, title in SIDES.items():
        p_value, effect = getattr(window, f"{key}_p"), getattr(window, f"{key}_effect")
        if p_value is not None and (key == side or p_value < 0.05):
            size = "" if effect is None else f", effect {effect:.2f}"
            facts.append(f"{title.lower()} p {format_p_number(p_value)}{size}")
    rows = "no rows" if not window.n_rows else f"{window.n_rows:,} rows"
    return f"<title>{escape('; '.join([name, rows, *facts]))}</title>"


def _leading_columns(points: Sequence[WindowPoint], names: list[str], side: str) -> list[str]:
    """Columns of a heat map: all of them or, if they are many, those that changed most; in the order of the table."""
    if len(names) <= MAX_ROWS:
        return names
    largest = dict.fromkeys(names, 0.0)
    for window in points:
        for column in window.columns:
            largest[column.name] = max(largest[column.name], _change(column, side))
    kept = set(sorted(names, key=lambda name: -largest[name])[:MAX_ROWS])
    return [name for name in names if name in kept]


def _change(column: ColumnPoint, side: str) -> float:
    return column.effect_size or 0.0 if side == "values" else abs(column.missing - column.missing_reference)


def _heat_names(names: list[str], link_column: Callable[[str], str]) -> str:
    rows = []
    for place, name in enumerate(names):
        text = label(LEFT - 8.0, ROW_HEIGHT * (place + 0.72), shorten(name, 18), anchor="end", kind="category")
        address = link_column(name)
        rows.append(f'<a href="{escape(address)}">{text}</a>' if address else text)
    return "".join(rows)


def _heat_cells(points: Sequence[WindowPoint], names: list[str], side: str, alpha: float) -> str:
    """Cells as one path for each colour, and a dot on each column that changed."""
    rows: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
    row_of, slot = {name: place for place, name in enumerate(names)}, _slots(points)
    dots = []
    for place, window in enumerate(points):
        for column in window.columns:
            if column.name not in rows:
                continue
            heat = _heat_step(column, side)
            rows[column.name].append((place, heat))
            p_value = column.p_value if side == "values" else column.missing_p_value
            if p_value is not None and p_value < alpha:
                across, down = LEFT + slot * (place + 0.5), ROW_HEIGHT * (row_of[column.name] + 0.5)
                dots.append(element("circle", cx=across, cy=down, r=min(2.2, slot / 3.0), kind=f"t{heat}"))
    paths: dict[int, list[str]] = {}
    for name, cells in rows.items():
        top = f"{point(ROW_HEIGHT * row_of[name] + 1)}h"
        for first, length, heat in _runs(cells, joined=slot <= WIDE_SLOT):
            width = slot * (length - 0.06 * (slot > WIDE_SLOT))
            cell = f"M{point(LEFT + slot * first)} {top}{width:.2f}v{ROW_HEIGHT - 2:g}h{-width:.2f}Z"
            paths.setdefault(heat, []).append(cell)
    drawn = [element("path", d="".join(cells), kind=f"f{heat}") for heat, cells in sorted(paths.items())]
    return "".join(drawn) + "".join(dots)


def _runs(cells: Sequence[tuple[int, int]], *, joined: bool) -> Iterator[tuple[int, int, int]]:
    """First place, length and colour of neighbouring cells of one colour, or of each cell by itself.

    Examples
    --------
    >>> list(_runs([(0, 3), (1, 3), (3, 3), (4, 0)], joined=True))
    [(0, 2, 3), (3, 1, 3), (4, 1, 0)]
    """
    if not joined:
        yield from ((place, 1, heat) for place, heat in cells)
        return
    for (offset, heat), run in groupby(enumerate(cells), key=lambda pair: (pair[1][0] - pair[0], pair[1][1])):
        first, *rest = (number for number, _ in run)
        yield first + offset, 1 + len(rest), heat


def _heat_step(column: ColumnPoint, side: str) -> int:
    share = (column.effect_size or 0.0) / FULL_EFFECT if side == "values" else column.missing
    return min(HEAT_STEPS, math.ceil(HEAT_STEPS * min(share, 1.0) - 1e-9))


def _heat_hits(points: Sequence[WindowPoint], names: list[str], side: str) -> str:
    slot, height = _slots(points), ROW_HEIGHT * len(names)
    return "".join(
        element("rect", _heat_tip(window, side), x=LEFT + slot * place, y=0.0, width=slot, height=height, kind="hit")
        for place, window in enumerate(points)
    )


def _heat_tip(window: WindowPoint, side: str) -> str:
    leading = sorted(window.columns, key=lambda column: -_change(column, side))[:4]
    if side == "values":
        words = [f"{shorten(c.name, 24)} {c.effect_size:.2f}" for c in leading if c.effect_size is not None]
    else:
        words = [f"{shorten(c.name, 24)} {format_percent(c.missing)}" for c in leading]
    return f"<title>{escape(f'Window {window.place}: ' + (', '.join(words) or 'nothing compared'))}</title>"


def draw_column(timeline: Timeline, name: str) -> str:
    """One column over the windows: the size of its change, and its share of missing cells beside the reference's."""
    points = group_points(timeline.points, MAX_SLOTS)
    cells = [next((column for column in window.columns if column.name == name), None) for window in points]
    slot, tall, gap = _slots(points), 90.0, 34.0
    bottoms = (10.0 + tall, 10.0 + 2.0 * tall + gap)
    highest = _highest([cell.effect_size or 0.0 for cell in cells if cell is not None])
    labels = _side_labels(f"effect {highest:.2g}", "0", bottoms[0] - tall, tall)
    labels += _side_labels("missing 100%", "0%", bottoms[1] - tall, tall)
    axes = (f"M{LEFT:g} {point(bottom)}h{WIDTH - LEFT - RIGHT:g}" for bottom in bottoms)
    drawn = [element("path", d="".join(axes), kind="axis")]
    for place, cell in enumerate(cells):
        if cell is None:
            continue
        x, changed = LEFT + slot * (place + 0.15), timeline.alarm_at
        for share, bottom, p_value in (
            ((cell.effect_size or 0.0) / highest, bottoms[0], cell.p_value),
            (cell.missing, bottoms[1], cell.missing_p_value),
        ):
            kind = "zone drift" if p_value is not None and p_value < changed else "effect"
            height = max(tall * share, 0.4)
            drawn.append(element("rect", x=x, y=bottom - height, width=slot * 0.7, height=height, kind=kind))
    known = [cell for cell in cells if cell is not None]
    if known:
        y = bottoms[1] - tall * known[-1].missing_reference
        drawn.append(element("path", d=f"M{LEFT:g} {point(y)}h{WIDTH - LEFT - RIGHT:g}", kind="reference-level"))
    hits = "".join(
        element(
            "rect",
            _column_tip(window, cell),
            x=LEFT + slot * place,
            y=10.0,
            width=slot,
            height=bottoms[1] - 10.0,
            kind="hit",
        )
        for place, (window, cell) in enumerate(zip(points, cells, strict=True))
    )
    content = "".join(drawn) + _window_axis(points, bottoms[1]) + hits
    return _framed(bottoms[1] + AXIS_HEIGHT, f"{shorten(name)} over time", content, labels, kind="chart track")


def draw_ridges(histograms: Sequence[tuple[str, Histogram]], name: str) -> str:
    """Distributions of a column in several windows, one above the other on one axis, each over the reference's."""
    # Curves may reach into the row above them; bars of categories may not.
    row, tall = 34.0, 28.0 if any(one.labels for _, one in histograms) else 44.0
    rows = [(title, *_on_one_axis([one for _, one in histograms], histogram)) for title, histogram in histograms]
    highest = max((max((*before, *after), default=0.0) for _, before, after, *_ in rows), default=0.0) or 1.0
    drawn, labels = [], []
    for place, (title, before, after, left, width) in enumerate(rows):
        bottom = tall + row * place + 8.0
        first, second = (steps([one / highest for one in side], left, width, bottom, tall) for side in (before, after))
        drawn += [
            element("path", d=f"{first}Z", kind="reference-area"),
            element("path", d=second, kind="window-line"),
            element("path", d=f"M{LEFT:g} {point(bottom)}h{WIDTH - LEFT - RIGHT:g}", kind="grid"),
        ]
        labels.append(label(LEFT - 8.0, bottom - 2.0, title, anchor="end"))
    last = tall + row * max(len(histograms) - 1, 0) + 8.0
    content = "".join(drawn) + _ridge_axis([one for _, one in histograms], last)
    return _framed(last + AXIS_HEIGHT, f"Distributions of {shorten(name)}", content, "".join(labels))


def _on_one_axis(histograms: Sequence[Histogram], own: Histogram) -> tuple[list[float], list[float], float, float]:
    """Heights of both sides of a histogram, and where it begins and how wide it is on the axis that all of them share.

    Intervals of histograms differ in width, so that heights are densities; categories are shares.
    """
    inside = WIDTH - LEFT - RIGHT
    if own.labels:
        names = _all_labels(histograms)
        before, after = (dict(zip(own.labels, side, strict=True)) for side in (own.reference, own.window))
        return [before.get(n, 0.0) for n in names], [after.get(n, 0.0) for n in names], LEFT, inside
    low, high = _bounds(histograms)
    scale = inside / (high - low) if high > low else 0.0
    left, width = LEFT + (own.edges[0] - low) * scale, (own.edges[-1] - own.edges[0]) * scale or inside
    density = len(own.reference) / width
    return [density * share for share in own.reference], [density * share for share in own.window], left, width


def _all_labels(histograms: Sequence[Histogram]) -> list[str]:
    return list(dict.fromkeys(name for histogram in histograms for name in histogram.labels))


def _bounds(histograms: Sequence[Histogram]) -> tuple[float, float]:
    """Ends of the axis that histograms of numbers share."""
    edges = [histogram.edges for histogram in histograms if histogram.edges]
    return min(own[0] for own in edges), max(own[-1] for own in edges)


def _ridge_axis(histograms: Sequence[Histogram], y: float) -> str:
    width, names = WIDTH - LEFT - RIGHT, _all_labels(histograms)
    if names:
        slot = width / len(names)
        every = max(1, math.ceil(len(names) / 8))
        return "".join(
            label(LEFT + slot * (place + 0.5), y + 18.0, shorten(name, 14), anchor="middle")
            for place, name in enumerate(names)
            if place % every == 0
        )
    low, high = _bounds(histograms)
    places = ticks(low, high)
    return "".join(
        label(LEFT + width * ((place - low) / (high - low) if high > low else 0.5), y + 18.0, words, anchor="middle")
        for place, words in zip(places, axis_labels(places), strict=True)
    )


def _side_labels(highest: str, lowest: str, top: float, tall: float) -> str:
    """Labels of the two ends of an axis."""
    upper = label(LEFT - 8.0, top + 10.0, highest, anchor="end")
    return upper + label(LEFT - 8.0, top + tall, lowest, anchor="end")


def _column_tip(window: WindowPoint, cell: ColumnPoint | None) -> str:
    if cell is None:
        return f"<title>{escape(f'Window {window.place}: no rows')}</title>"
    effect = "not tested" if cell.effect_size is None else f"effect {cell.effect_size:.2f}"
    return f"<title>{escape(f'Window {window.place}: {effect}, {format_percent(cell.missing)} missing')}</title>"
