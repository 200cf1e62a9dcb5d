"""Columns ranked by how they moved, and the distributions of the leading ones."""

from gapdrift.results.report.charts import draw_distribution, draw_spark
from gapdrift.results.report.histogram import change, intervals, levels
from gapdrift.results.report.markup import Cell, Head, name, phrase, table, text
from gapdrift.results.report.ranking import Record, has_moved_gaps, has_moved_values, rank_features
from gapdrift.results.report.sections._section import LEGEND, Section
from gapdrift.results.report.words import EFFECT_RULE, count, effect_word, format_p_value, missing_change, percent

__all__ = ["MAX_CHARTS", "MAX_ROWS", "MAX_SPARKS", "columns", "distributions"]

MAX_ROWS = 1_000
"""Columns listed."""

MAX_SPARKS = 40
"""Columns listed with a small chart."""

MAX_LONG_NAMES = 200
"""Columns whose names are told at length: a thousand long names would be a megabyte."""

MAX_CHARTS = 8
"""Columns drawn large."""

HEADS = (
    Head("Column", "text"),
    Head("Distribution", "", "picture"),
    Head("Effect size", "falling", "number"),
    Head("Adjusted p", "rising", "number"),
    Head("Missing", "falling", "number"),
)


def columns(record: Record) -> Section | None:
    """Table of all columns; nothing where single columns were not told."""
    ranked = rank_features(record)
    if not ranked:
        return None
    if all(feature["p_value"] is None for feature in ranked):
        said = "This detector tests the rows as a whole. It names no columns; the sections below tell where rows moved."
        return Section("columns", "Columns", f"<p>{said}</p>")
    rows = [_row(feature, record, place) for place, feature in enumerate(ranked[:MAX_ROWS])]
    notes = [f"Effect size: {EFFECT_RULE}.", *_cuts(len(ranked))]
    caption = "Columns, those that moved most first; missing: share of cells, reference to window"
    kind = "columns long" if len(rows) > 25 else "columns"
    body = f"{LEGEND}{table(caption, HEADS, rows, kind=kind)}<p class='fine'>{' '.join(notes)}</p>"
    return Section("columns", "Columns", body)


def distributions(record: Record) -> Section | None:
    """Large charts of the leading columns."""
    drawn = [feature for feature in rank_features(record) if feature["histogram"] is not None]
    drawn = [feature for feature in drawn if feature["p_value"] is not None][:MAX_CHARTS]
    if not drawn:
        return None
    cards = "\n".join(_card(feature, record) for feature in drawn)
    note = (
        "Share of the observed cells in each interval or level. The outermost intervals also hold what lies beyond "
        "them. The exact shares follow each chart."
    )
    return Section("distributions", "Distributions", f'<p>{note}</p>{LEGEND}<div class="cards">{cards}</div>')


def _cuts(n_columns: int) -> list[str]:
    notes = []
    if n_columns > MAX_SPARKS:
        notes.append(f"Small charts: the first {MAX_SPARKS} columns. Large charts: the first {MAX_CHARTS}.")
    if n_columns > MAX_ROWS:
        notes.append(f"Listed: the first {count(MAX_ROWS)} of {count(n_columns)} columns; the JSON has them all.")
    return notes


def _row(feature: Record, record: Record, place: int) -> list[Cell]:
    histogram = feature["histogram"]
    spark = draw_spark(histogram) if place < MAX_SPARKS and histogram is not None else ""
    called = name(feature["name"]) if place < MAX_LONG_NAMES else name(feature["name"], 32, full=False)
    effect, p_value = feature["effect_size"], feature["adjusted_p_value"]
    before, after = feature["missing_reference"], feature["missing_window"]
    return [
        Cell(called + _marks(feature, record)),
        Cell(spark, None, "picture"),
        Cell(
            "" if effect is None else f"{effect:.2f} <small class='word'>{effect_word(effect)}</small>",
            effect,
            "number",
        ),
        Cell("" if p_value is None else _p_value(p_value), p_value, "number"),
        Cell(_missing(before, after), after - before, "number"),
    ]


def _missing(before: float, after: float) -> str:
    words = text(missing_change(before, after))
    return words if before or after else f"<small>{words}</small>"


def _marks(feature: Record, record: Record) -> str:
    if not record["drift"]:
        return ""
    marks = "<mark>values moved</mark>" if has_moved_values(feature, record) else ""
    return marks + ("<mark class='gaps'>gaps moved</mark>" if has_moved_gaps(feature, record) else "")


def _p_value(p_value: float) -> str:
    return text(format_p_value(p_value).removeprefix("p ").removeprefix("= "))


def _card(feature: Record, record: Record) -> str:
    return (
        f'<figure class="card"><h3>{name(feature["name"])}</h3><p>{phrase(change(feature, record))}</p>'
        f"{draw_distribution(feature)}{_numbers(feature)}</figure>"
    )


def _numbers(feature: Record) -> str:
    histogram = feature["histogram"]
    if histogram["labels"]:
        rows = [(name(level), before, after) for level, before, after in levels(histogram)]
    else:
        words = [text(interval) for interval in intervals(histogram)]
        rows = list(zip(words, histogram["reference"], histogram["window"], strict=True))
    heads = (Head("Level" if histogram["labels"] else "Interval"), Head("Reference", "", "number"))
    cells = [[Cell(words), *(Cell(text(percent(share)), None, "number") for share in pair)] for words, *pair in rows]
    inner = table("Shares of observed cells", (*heads, Head("Window", "", "number")), cells, kind="small")
    return f"<details><summary>Numbers</summary>{inner}</details>"
