"""Bins and histograms in the user's own columns, units and words."""

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Vector
from gapdrift.counting.profile import Profile
from gapdrift.results import Histogram
from gapdrift.results.report.words import format_number_within, shorten
from gapdrift.tables.encoding import ONE_HOT
from gapdrift.tables.histograms import HistogramAxis
from gapdrift.tables.schema import Schema

__all__ = ["describe_bin", "make_histogram"]

NOTABLE = 0.5
"""Standard deviations from the mean at which a number is worth a word."""

MAX_WORDS = 3


def make_histogram(axis: HistogramAxis, reference: Vector, window: Vector) -> Histogram | None:
    """Histogram of one column on both sides, as shares of the observed cells; None without values in the reference.

    Parameters
    ----------
    axis : HistogramAxis
    reference, window : (counts,) arrays
        Number of cells in each interval or category.
    """
    if not len(axis):
        return None
    before, after = (counts / max(counts.sum(), 1.0) for counts in (reference, window))
    return Histogram(axis.labels, axis.edges, tuple(before.tolist()), tuple(after.tolist()))


def describe_bin(profile: Profile, schema: Schema, centre: NDArray[np.float64]) -> tuple[dict[str, float | str], str]:
    """Centre of a bin by column, and the columns that set it apart, in words.

    A number is in its own unit; of a category, the value that is most raised is named.
    """
    away = profile.directions @ centre
    scores = profile.mean + away
    place: dict[str, float | str] = {}
    words: list[tuple[float, str]] = []
    for index, column in enumerate(schema.columns):
        entries = np.flatnonzero(schema.owner == index)
        if column.kind == "number":
            value = _value_of(profile, int(entries[0]), float(scores[entries[0]]))
            place[column.name] = value
            side = "high" if away[entries[0]] > 0 else "low"
            about = format_number_within(value, _span(profile, int(entries[0])))
            words.append((abs(float(away[entries[0]])), f"{shorten(column.name)} {side} (about {about})"))
        elif column.kind == "category":
            strongest = int(away[entries].argmax())
            place[column.name] = column.category_at(strongest)
            strength = float(away[entries].max()) / ONE_HOT
            words.append((2.0 * strength, f"{shorten(column.name)} is {shorten(column.category_at(strongest))}"))
    words.sort(key=lambda word: -word[0])
    notable = [text for strength, text in words[:MAX_WORDS] if strength >= NOTABLE]
    return place, ", ".join(notable) or "near the middle of every column"


def _value_of(profile: Profile, column: int, score: float) -> float:
    """Number behind a score: the map of the reference read backwards."""
    knots = profile.scores.knots[column]
    if knots is None:
        return score
    values, scores = knots
    constant = scores[0] >= scores[-1]
    return float(values[1]) if constant else float(np.interp(score, scores, values))


def _span(profile: Profile, column: int) -> float:
    """Range of a column of numbers in the reference."""
    knots = profile.scores.knots[column]
    return 0.0 if knots is None else float(knots[0][-1] - knots[0][0])
