"""What the histograms of a column show: its medians, the category that changed most, whether the two look alike."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from gapdrift.results.report.ranking import has_changed_values
from gapdrift.results.report.words import ARROW, Name, Phrase, format_number_within, format_percent
from gapdrift.results.result import DriftResult, FeatureFinding, Histogram

__all__ = ["CategoryShares", "describe_change", "list_categories", "looks_alike", "name_intervals"]

MAX_DRAWN = 12
"""Largest number of categories that are drawn; the rarest share one bar."""

OTHERS = re.compile(r"\((?:([\d,]+) )?others\)")
"""Label of categories that are added up."""

CategoryShares = tuple[str, float, float]
"""A category with its share in the reference and in the window."""


def describe_change(feature: FeatureFinding, histogram: Histogram, result: DriftResult) -> Phrase:
    """What changed in a column, as far as its own distribution shows."""
    sides = {"reference": histogram.reference, "window": histogram.window}
    empty = [side for side, shares in sides.items() if not sum(shares)]
    if empty:
        return (f"No value in the {' and the '.join(empty)}.",)
    words = _category_change(histogram) if histogram.labels else _median_change(histogram)
    n_reference = histogram.n_reference or result.n_reference * (1.0 - feature.missing_reference)
    n_window = histogram.n_window or result.n_window * (1.0 - feature.missing_window)
    words = (*words, *_beyond(feature))
    if not looks_alike(histogram, n_reference, n_window):
        return words
    if not (result.drift and has_changed_values(feature, result.alpha)):
        return (*words, " The two look alike.")
    return (*words, " By itself it looks as before: what changed is how it is related to other columns.")


def _beyond(feature: FeatureFinding) -> Phrase:
    """How far the window reaches beyond the reference, and what is new in it."""
    if feature.n_new_categories:
        named = list(feature.new_categories.items())[:3]
        words: list[str | Name] = [" New: "]
        for place, (category, count) in enumerate(named):
            words += [", " if place else "", Name(category), f" ({count:,} cell{'' if count == 1 else 's'})"]
        rest = feature.n_new_categories - len(named)
        return (*(word for word in words if word != ""), f" and {rest:,} more." if rest else ".")
    before, after = feature.range_reference, feature.range_window
    if before is None or after is None or (before[0] <= after[0] and after[1] <= before[1]):
        return ()
    span = max(before[1], after[1]) - min(before[0], after[0])
    ranges = (
        f"{format_number_within(low, span)} to {format_number_within(high, span)}" for low, high in (before, after)
    )
    return (f" Range {f' {ARROW} '.join(ranges)}.",)


def name_intervals(histogram: Histogram) -> list[str]:
    """Intervals of a column of numbers in words; the outer ones include everything beyond them."""
    span = histogram.edges[-1] - histogram.edges[0]
    edges = [format_number_within(edge, span) for edge in histogram.edges]
    inner = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [f"up to {edges[1]}", *inner[1:-1], f"{edges[-2]} or more"] if len(inner) > 1 else inner


def list_categories(histogram: Histogram) -> list[CategoryShares]:
    """Categories that occur, with their shares; if there are more than `MAX_DRAWN`, the rarest are added up."""
    rows = list(zip(histogram.labels, histogram.reference, histogram.window, strict=True))
    present = [row for row in rows if row[1] or row[2]]
    if len(present) <= MAX_DRAWN:
        return present
    named = [row for row in present if not OTHERS.fullmatch(row[0])]
    kept = sorted(named, key=lambda row: -max(row[1:]))[: MAX_DRAWN - 1]
    rest = [row for row in present if row not in kept]
    return [*kept, (f"({_count(rest):,} others)", sum(row[1] for row in rest), sum(row[2] for row in rest))]


def _count(rows: Sequence[CategoryShares]) -> int:
    """Number of categories, those included that a row adds up."""
    found = [OTHERS.fullmatch(row[0]) for row in rows]
    return sum(int((match.group(1) or "1").replace(",", "")) if match else 1 for match in found)


def looks_alike(histogram: Histogram, n_reference: float, n_window: float) -> bool:
    """Whether two histograms of these numbers of observed cells differ by no more than chance explains.

    Notes
    -----
    They do if Pearson's chi-square statistic is at most three standard deviations above its mean. This only chooses
    the words of a caption; it is not a test, and the verdict does not use it.
    """
    if not (n_reference and n_window):
        return False
    pairs = [(p, q) for p, q in zip(histogram.reference, histogram.window, strict=True) if p or q]
    scale = (n_reference + n_window) / (1.0 / n_reference + 1.0 / n_window)
    statistic = sum((p - q) ** 2 * scale / (n_reference * p + n_window * q) for p, q in pairs)
    degrees_of_freedom = max(len(pairs) - 1, 1)
    return statistic <= degrees_of_freedom + 3.0 * math.sqrt(2.0 * degrees_of_freedom)


def _category_change(histogram: Histogram) -> Phrase:
    category, before, after = max(list_categories(histogram), key=lambda row: abs(row[2] - row[1]))
    return ("Largest change: ", Name(category), f" {format_percent(before)} {ARROW} {format_percent(after)}.")


def _median_change(histogram: Histogram) -> Phrase:
    """Medians of both sides or, if one of them lies in an outer interval, the interval that changed most."""
    before, after = (_median(histogram.edges, shares) for shares in (histogram.reference, histogram.window))
    if before is not None and after is not None:
        span = histogram.edges[-1] - histogram.edges[0]
        return (f"Median about {format_number_within(before, span)} {ARROW} {format_number_within(after, span)}.",)
    rows = zip(name_intervals(histogram), histogram.reference, histogram.window, strict=True)
    interval, one, two = max(rows, key=lambda row: abs(row[2] - row[1]))
    return (f"Largest change: {interval}, {format_percent(one)} {ARROW} {format_percent(two)}.",)


def _median(edges: Sequence[float], shares: Sequence[float]) -> float | None:
    """Median of a histogram; None if it lies in an outer interval, which has no limit."""
    half, below = 0.5 * sum(shares), 0.0
    for place, share in enumerate(shares):
        if share and below + share >= half:
            is_inside = 0 < place < len(shares) - 1
            return edges[place] + (edges[place + 1] - edges[place]) * (half - below) / share if is_inside else None
        below += share
    return None
