"""The page of a history: state, timeline, heat maps, windows, and the reports of the most important ones."""

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from string import Template

from gapdrift._version import __version__
from gapdrift.overview.assets import page_style
from gapdrift.overview.charts import draw_heat, draw_track
from gapdrift.overview.points import Timeline, WindowPoint
from gapdrift.overview.words import SHORT, describe_state, summarise, zone_counts
from gapdrift.results.report.assets import read_asset
from gapdrift.results.report.charts import HATCH
from gapdrift.results.report.html import content_hash
from gapdrift.results.report.markup import Cell, Head, escape_text, render_name, render_table
from gapdrift.results.report.sections import SECTIONS
from gapdrift.results.report.sections._section import Report
from gapdrift.results.report.verdict import render_facts, render_verdict
from gapdrift.results.report.words import format_count, format_p_number
from gapdrift.results.result import DriftResult

__all__ = ["render_charts", "render_history", "render_report", "render_state", "render_windows"]

LISTED = 200
"""Largest number of windows in the table of a page."""

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>$title</title>
<style>$style</style>
</head>
<body>
<a class="skip" href="#main">Skip to the windows</a>
<header class="top wide"><p class="brand">$title</p><button id="theme" type="button" hidden>Dark theme</button></header>
<main id="main" class="wide" tabindex="-1">
$hatch
$body
</main>
<footer class="wide"><p>gapdrift $version: drift detection for tables with missing values.</p></footer>
<p id="status" class="quiet" role="status"></p>
<script>$script</script>
</body>
</html>
""")

ZONE_LEGEND = (
    '<p class="legend" aria-label="Zones"><span class="state calm">calm</span><span class="state warning">warning'
    '</span><span class="state drift">drift</span><span class="state undetermined">undetermined</span></p>'
)

Link = Callable[[WindowPoint], str]


def render_history(timelines: Sequence[Timeline], reports: Mapping[tuple[str, int], DriftResult], title: str) -> str:
    """HTML page of all streams of a history, which needs no other file and no network.

    Parameters
    ----------
    timelines : sequence of Timeline
    reports : mapping of (stream, window) to DriftResult
        Results whose full reports the page holds; each window among them links to its report.
    title : str
    """
    style, script = page_style(), read_asset("script.js")
    body = "\n".join(_render_stream(timeline, place, reports) for place, timeline in enumerate(timelines))
    return PAGE.substitute(
        policy=f"default-src 'none'; style-src '{content_hash(style)}'; script-src '{content_hash(script)}'; "
        "base-uri 'none'; form-action 'none'",
        title=escape_text(title),
        style=style,
        script=script,
        hatch=HATCH,
        body=body,
        version=escape_text(__version__),
    )


def render_state(timeline: Timeline, heading: str = "h1") -> str:
    """State of a stream in a sentence, and its facts."""
    zone, sentence = describe_state(timeline)
    counts = zone_counts(timeline.points)
    latest = timeline.points[-1] if timeline.points else None
    facts = [
        ("Windows", format_count(timeline.n_windows), _span_words(timeline)),
        ("In the drift zone", format_count(counts["drift"]), f"p < {format_p_number(timeline.alarm_at)}"),
        ("In the warning zone", format_count(counts["warning"]), f"p < {format_p_number(timeline.warning_at)}"),
        ("Rows shown", format_count(sum(window.n_rows for window in timeline.points)), ""),
    ]
    if latest is not None:
        facts.append(("Latest p-value", escape(format_p_number(latest.p_value)), f"window {latest.place}"))
    items = "".join(
        f"<div><dt>{name}</dt><dd>{value}</dd>{f'<dd class=note>{escape(note)}</dd>' if note else ''}</div>"
        for name, value, note in facts
    )
    return (
        f'<div class="verdict {zone}"><p class="badge">{zone.capitalize()}</p> {render_name(timeline.name)}'
        f"<{heading}>{escape_text(sentence)}</{heading}></div>"
        f'<dl class="facts many">{items}</dl>'
    )


def render_charts(
    timeline: Timeline, link: Link, link_column: Callable[[str], str] = lambda _: "", prefix: str = ""
) -> str:
    """Timeline and heat maps of a stream."""
    if not timeline.points:
        return '<p class="fine">No window has been decided yet.</p>'
    tracks = "".join(_plate(title, draw_track(timeline, side, link)) for side, title in timeline.sides.items())
    maps = _plate("Size of the change of values", draw_heat(timeline, "values", link_column), HEAT_LEGENDS["values"])
    maps += _plate("Share of missing cells", draw_heat(timeline, "missing", link_column), HEAT_LEGENDS["missing"])
    has_columns = bool(timeline.columns)
    return _section(f"{prefix}timeline", "Timeline", ZONE_LEGEND + tracks) + (
        _section(f"{prefix}columns", "Columns over time", maps) if has_columns else ""
    )


def render_windows(timeline: Timeline, link: Link, prefix: str = "") -> str:
    """Table of the latest windows, the last one first."""
    shown = list(reversed(timeline.points))[:LISTED]
    heads = [Head("Window"), Head("When" if any(w.start for w in shown) else "Rows"), Head("Zone", "text")]
    for side in timeline.sides:
        heads += [Head(f"p, {SHORT[side]}", "rising", "number"), Head("Effect", "falling", "number")]
    heads.append(Head("Columns that changed"))
    rows = [_window_row(window, timeline, link) for window in shown]
    caption = "The latest windows, the last one first" if len(shown) == LISTED else "All windows, the last one first"
    table = render_table(caption, heads, rows, kind="long") if rows else '<p class="fine">None yet.</p>'
    return _section(f"{prefix}windows", "Windows", table)


HEAT_LEGENDS = {
    "values": '<p class="legend"><span><i class="swatch h0"></i>no change</span><span><i class="swatch h4"></i>effect '
    '0.2</span><span><i class="swatch h10"></i>0.5 or more</span><span>A dot marks a column that changed '
    "significantly.</span></p>",
    "missing": '<p class="legend"><span><i class="swatch h0"></i>none missing</span><span><i class="swatch h5"></i>half'
    '</span><span><i class="swatch h10"></i>all missing</span><span>A dot marks a share that changed significantly.'
    "</span></p>",
}


def _span_words(timeline: Timeline) -> str:
    shown = sum(window.n_windows for window in timeline.points)
    return f"the last {shown:,} are shown" if shown < timeline.n_windows else ""


def _plate(title: str, chart: str, legend: str = "") -> str:
    name = escape(title)
    return f'<div class="plate" role="region" aria-label="{name}" tabindex="0"><h3>{name}</h3>{legend}{chart}</div>'


def _section(key: str, title: str, body: str) -> str:
    return f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{title}</h2>{body}</section>'


def _window_row(window: WindowPoint, timeline: Timeline, link: Link) -> list[Cell]:
    address = link(window)
    name = f'<a href="{escape(address)}">{window.place}</a>' if address else window.place
    where = window.start[:16].replace("T", " ") if window.start else _rows_words(window)
    names = window.changed(timeline.alarm_at)
    changed = ", ".join(render_name(column, 30) for column in names[:4]) + (
        f" and {len(names) - 4} more" if len(names) > 4 else ""
    )
    new = " <mark>new reference</mark>" if window.adapted else ""
    return [
        Cell(name),
        Cell(escape(where)),
        Cell(f'<span class="state {window.zone}">{window.zone}</span>{new}'),
        *(cell for side in timeline.sides for cell in _side_cells(window, side)),
        Cell(changed),
    ]


def _rows_words(window: WindowPoint) -> str:
    return (
        "no rows"
        if window.first_row is None or window.last_row is None
        else f"{window.first_row:,} to {window.last_row:,}"
    )


def _side_cells(window: WindowPoint, side: str) -> tuple[Cell, Cell]:
    return _p_cell(getattr(window, f"{side}_p")), _effect_cell(getattr(window, f"{side}_effect"))


def _p_cell(p_value: float | None) -> Cell:
    return Cell("" if p_value is None else escape(format_p_number(p_value)), p_value, "number")


def _effect_cell(effect: float | None) -> Cell:
    return Cell("" if effect is None else f"{effect:.2f}", effect, "number")


def _render_stream(timeline: Timeline, place: int, reports: Mapping[tuple[str, int], DriftResult]) -> str:
    """State, charts, table and embedded reports of one stream; ``place`` keeps the ids of streams apart."""
    prefix = f"s{place}-"

    def link(window: WindowPoint) -> str:
        return f"#{prefix}w{window.index}" if (timeline.name, window.index) in reports else ""

    own = {index: result for (stream, index), result in sorted(reports.items()) if stream == timeline.name}
    note = (
        f'<p class="fine">{escape_text(summarise(timeline))} {format_count(len(own), "full report")} of alarms and of '
        "the latest windows are in this page: follow the links. <code>gapdrift history FILE --window N --html F</code> "
        "writes that of any window.</p>"
    )
    return (
        render_state(timeline, "h1" if not place else "h2")
        + render_charts(timeline, link, prefix=prefix)
        + render_windows(timeline, link, prefix)
        + note
        + "".join(_embed(result, f"{prefix}w{index}", f"{prefix}windows", index) for index, result in own.items())
    )


def render_report(result: DriftResult) -> str:
    """Verdict, facts and sections of a full report, for a page that has the reports' style and `HATCH`."""
    report = Report(result, {}, "")
    sections = [section for make in SECTIONS if (section := make(report)) is not None]
    links = "".join(f'<li><a href="#{section.key}">{section.title}</a></li>' for section in sections)
    contents = f'<nav aria-label="Sections"><ul>{links}</ul></nav>'
    return render_verdict(result) + render_facts(result) + contents + "".join(section.html() for section in sections)


def _embed(result: DriftResult, key: str, back: str, index: int) -> str:
    """Full report inside another page, shown when a link leads to it; its ids begin with ``key``."""
    inner = re.sub(r'(\s(?:id|aria-labelledby|for)="|href="#)', rf"\g<1>{key}-", render_report(result))
    for above, below in (("h2", "h3"), ("h1", "h2")):
        inner = inner.replace(f"<{above}", f"<{below}").replace(f"</{above}>", f"</{below}>")
    return (
        f'<section class="report" id="{key}" tabindex="-1" aria-label="Report of window {index}"><p class="back">'
        f'<a href="#{back}">Back to the windows</a></p><h2>Window {index}</h2>{inner}</section>'
    )
