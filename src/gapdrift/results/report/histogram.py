"""What the two histograms of a column say: where its middle lies, which level moved, whether they look alike."""

import math
from collections.abc import Sequence
from itertools import pairwise

from gapdrift.results.report.ranking import Record, has_moved_values
from gapdrift.results.report.words import Name, Phrase, number_within, percent

__all__ = ["change", "intervals", "levels", "looks_alike"]

MAX_LEVELS = 12
"""Levels of a category that are drawn; the others are drawn as one."""


def change(feature: Record, record: Record) -> Phrase:
    """What moved in a column, as far as its own distribution tells."""
    histogram = feature["histogram"]
    empty = [side for side in ("reference", "window") if not sum(histogram[side])]
    if empty:
        return (f"No value in the {' and the '.join(empty)}.",)
    words = _level_change(histogram) if histogram["labels"] else _median_change(histogram)
    if not looks_alike(feature, record):
        return words
    if not (record["drift"] and has_moved_values(feature, record)):
        return (*words, " The two look alike.")
    return (*words, " Seen alone it looks as before: what changed is how it goes with other columns.")


def intervals(histogram: Record) -> list[str]:
    """Words for the intervals of a column of numbers; the outer ones take what lies beyond."""
    limits = histogram["edges"]
    edges = [number_within(edge, limits[-1] - limits[0]) for edge in limits]
    inner = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [f"up to {edges[1]}", *inner[1:-1], f"{edges[-2]} or more"] if len(inner) > 1 else inner


def levels(histogram: Record) -> list[tuple[str, float, float]]:
    """Levels of a category with their shares, those on neither side left out, the rarest taken together."""
    rows = list(zip(histogram["labels"], histogram["reference"], histogram["window"], strict=True))
    seen = [row for row in rows if row[1] or row[2]]
    if len(seen) <= MAX_LEVELS:
        return seen
    kept = sorted(seen, key=lambda row: -max(row[1:]))[: MAX_LEVELS - 1]
    rest = [row for row in seen if row not in kept]
    return [*kept, (f"({len(rest)} more)", sum(row[1] for row in rest), sum(row[2] for row in rest))]


def looks_alike(feature: Record, record: Record) -> bool:
    """Whether the two histograms differ by no more than counts of this size scatter.

    Notes
    -----
    Pearson's chi-square of the two, at most three of its standard deviations above its mean. A word for a caption,
    not a test: the verdict does not use it.
    """
    histogram = feature["histogram"]
    m = record["n_reference"] * (1.0 - feature["missing_reference"])
    n = record["n_window"] * (1.0 - feature["missing_window"])
    if not (m and n):
        return False
    pairs = [(p, q) for p, q in zip(histogram["reference"], histogram["window"], strict=True) if p or q]
    scale = 1.0 / m + 1.0 / n
    statistic = sum((p - q) ** 2 * (m + n) / ((m * p + n * q) * scale) for p, q in pairs)
    freedom = max(len(pairs) - 1, 1)
    return bool(statistic <= freedom + 3.0 * math.sqrt(2.0 * freedom))


def _level_change(histogram: Record) -> Phrase:
    level, before, after = max(levels(histogram), key=lambda row: abs(row[2] - row[1]))
    return ("Largest change: ", Name(level), f" {percent(before)} \N{RIGHTWARDS ARROW} {percent(after)}.")


def _median_change(histogram: Record) -> Phrase:
    """Medians of both sides; the interval that changed most where a median lies in an outer one."""
    before, after = (_median(histogram["edges"], histogram[side]) for side in ("reference", "window"))
    if before is not None and after is not None:
        span = histogram["edges"][-1] - histogram["edges"][0]
        return (f"Median about {number_within(before, span)} \N{RIGHTWARDS ARROW} {number_within(after, span)}.",)
    rows = zip(intervals(histogram), histogram["reference"], histogram["window"], strict=True)
    words, one, two = max(rows, key=lambda row: abs(row[2] - row[1]))
    return (f"Largest change: {words}, {percent(one)} \N{RIGHTWARDS ARROW} {percent(two)}.",)


def _median(edges: Sequence[float], shares: Sequence[float]) -> float | None:
    """Middle of a histogram; None in an outer interval, which has no end."""
    half, below = 0.5 * sum(shares), 0.0
    for place, share in enumerate(shares):
        if share and below + share >= half:
            inside = 0 < place < len(shares) - 1
            return edges[place] + (edges[place + 1] - edges[place]) * (half - below) / share if inside else None
        below += share
    return None
