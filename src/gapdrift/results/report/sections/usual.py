"""Section with the window among the usual batches of the reference."""

from gapdrift.results.report.markup import Cell, Head, escape_text, render_name, render_phrase, render_table
from gapdrift.results.report.sections._section import Report, Section
from gapdrift.results.report.sentences import say_usual
from gapdrift.results.report.svg import element, figure
from gapdrift.results.report.words import format_percent
from gapdrift.results.usual import BatchStrip

__all__ = ["draw_strip", "make_usual"]

KEY, TITLE = "usual", "Among the usual batches"

STRIP_SIZE = (260.0, 26.0)
MARGIN = 6.0

KINDS = {"whole": "how unusual, as a whole", "values": "values", "missing": "missing cells"}
"""What a strip shows."""

LEGEND = (
    '<p class="fine">Every bar is a batch of the reference, the long line is the window. As a whole: -log10 of the '
    "smallest weighted p-value, unusual batches to the right. Values: what differs most of the column's mean, spread "
    "or shares, in standard deviations between batches. Missing cells: their share.</p>"
)


def make_usual(report: Report) -> Section | None:
    """Strips of the batches with the window marked; None for a reference without batches."""
    usual = report.result.usual
    if usual is None:
        return None
    heads = [
        Head("Column", "text"),
        Head("Compared", "text"),
        Head("Batches and window"),
        Head("Window", "falling", "number"),
    ]
    rows = [
        [
            Cell(render_name(strip.name, full=False) if strip.name else "<strong>All columns</strong>"),
            Cell(KINDS[strip.kind]),
            Cell(draw_strip(strip)),
            Cell(escape_text(_window_text(strip)), strip.window, "number"),
        ]
        for strip in usual.strips
    ]
    table = render_table("Batches of the reference, and the window among them", heads, rows, kind="strips")
    return Section(KEY, TITLE, f"<p>{render_phrase(say_usual(report.result))}</p>{table}{LEGEND}")


def draw_strip(strip: BatchStrip) -> str:
    """A bar for each batch, and a longer line for the window.

    Examples
    --------
    >>> draw_strip(BatchStrip("price", "missing", (0.1, 0.2), 0.4)).count("<rect")
    2
    """
    width, height = STRIP_SIZE
    shown = [*strip.batches, *([] if strip.window is None else [strip.window])]
    low, high = min(shown, default=0.0), max(shown, default=1.0)
    room = (high - low) or 1.0

    def place(value: float) -> float:
        return MARGIN + (width - 2.0 * MARGIN) * (value - low) / room

    ground = element("path", d=f"M0 {height - 4.0:g}H{width:g}", kind="axis")
    bars = "".join(
        element("rect", x=place(value) - 0.8, y=9.0, width=1.6, height=height - 13.0, kind="reference")
        for value in strip.batches
    )
    mark = (
        ""
        if strip.window is None
        else element("path", d=f"M{place(strip.window):.1f} 1V{height:g}", kind="window-line")
    )
    n_below = sum(value < (strip.window or 0.0) for value in strip.batches)
    detail = f"{n_below} of {len(strip.batches)} batches are below the window."
    title = f"Batches and window: {strip.name or 'all columns'}, {KINDS[strip.kind]}"
    return figure(STRIP_SIZE, title, ground + bars + mark, detail=detail, kind="strip")


def _window_text(strip: BatchStrip) -> str:
    if strip.window is None:
        return "no values"
    return format_percent(strip.window) if strip.kind == "missing" else f"{strip.window:.1f}"
