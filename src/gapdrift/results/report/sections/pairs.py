"""Section with the pairs of columns whose relation changed."""

from gapdrift.results.report.charts import draw_pair
from gapdrift.results.report.markup import escape_text, render_name
from gapdrift.results.report.sections._section import LEGEND, Report, Section
from gapdrift.results.report.words import ARROW, effect_word, format_count, format_p_number
from gapdrift.results.result import DriftResult, PairFinding

__all__ = ["changed_pairs", "make_pairs"]

MAX_DRAWN = 6
"""Largest number of pairs that are drawn."""


def changed_pairs(result: DriftResult) -> list[PairFinding]:
    """Pairs whose relation changed by more than chance allows; none if the verdict is not drift."""
    return [pair for pair in result.pairs if result.drift and pair.adjusted_p_value < result.alpha]


def make_pairs(report: Report) -> Section | None:
    """Charts of the pairs of columns whose relation changed; None if there are none."""
    changed = changed_pairs(report.result)
    if not changed:
        return None
    count = format_count(len(changed), "pair")
    lead = (
        f"{count} of columns went together otherwise than before, by more than chance allows, though each column by "
        "itself may look as before. An outline holds about two thirds of the rows; the axes show values of the "
        "reference that are equally far apart in ranks."
    )
    cards = "\n".join(map(_make_card, changed[:MAX_DRAWN]))
    rest = changed[MAX_DRAWN:]
    names = "; ".join(f"{render_name(pair.first)} and {render_name(pair.second)}" for pair in rest)
    more = f"<p class='fine'>Also changed: {names}.</p>" if rest else ""
    return Section("pairs", "How columns go together", f'<p>{lead}</p>{LEGEND}<div class="cards">{cards}</div>{more}')


def _make_card(pair: PairFinding) -> str:
    before, after = pair.reference, pair.window
    names = " and ".join(
        render_name(name) + (f" ({render_name(category)})" if category else "")
        for name, category in zip((pair.first, pair.second), pair.categories, strict=True)
    )
    change = f"{before.correlation:.2f} {ARROW} {after.correlation:.2f}"
    size = effect_word(pair.effect_size)
    what = (
        f"Correlation {change} ({size} change)."
        if pair.is_straight
        else f"No straight line: how far values lie from the middle goes together otherwise (correlation {change})."
    )
    rows = (
        ""
        if before.n_rows is None or after.n_rows is None
        else f"{before.n_rows:,} {ARROW} {after.n_rows:,} rows have both. "
    )
    # The p-value stays on one line.
    p_value = f"Adjusted p {format_p_number(pair.adjusted_p_value)}.".replace(" ", "&nbsp;").replace("<", "&lt;")
    words = f"{escape_text(f'{what} {rows}')} {p_value}"
    return f'<figure class="card"><h3>{names}</h3><p>{words}</p>{draw_pair(pair)}</figure>'
