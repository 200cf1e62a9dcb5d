"""Bins in the user's own columns, units and words."""

import numpy as np

from gapdrift.counting.profile import Profile
from gapdrift.inference.pairs import PairTest
from gapdrift.models.partition import ObservedBins
from gapdrift.results import PairFinding, PairSide
from gapdrift.results.report.words import format_number_within, shorten
from gapdrift.tables.encoding import ONE_HOT
from gapdrift.tables.schema import Column, Schema

__all__ = ["describe_bin", "describe_pair"]

NOTABLE = 0.5
"""Standard deviations from the mean at which a number is worth a word."""

MAX_WORDS = 3

TICKS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Scores at which the values of a pair of columns are shown."""


def describe_bin(
    profile: Profile, schema: Schema, observed: ObservedBins, bin_number: int
) -> tuple[dict[str, float | str], str]:
    """Values of the rows in a bin by column, and the columns that set it apart, in words.

    A number is in its own unit; of a category, the value that is most raised is named. Both are those of observed
    cells: a column of which the rows in the bin have next to none is left out.

    Parameters
    ----------
    profile : Profile
    schema : Schema
    observed : ObservedBins
        In normal scores.
    bin_number : int
    """
    scores, is_seen = observed.means[bin_number], observed.is_seen[bin_number]
    away = scores - observed.overall
    place: dict[str, float | str] = {}
    strength = np.zeros(len(schema.columns))
    starts = np.searchsorted(schema.owner, np.arange(len(schema.columns) + 1)).tolist()
    for index, column in enumerate(schema.columns):
        own = slice(starts[index], starts[index + 1])
        if column.kind == "empty" or not is_seen[own].all():
            continue
        if column.kind == "number":
            place[column.name] = _value_of(profile, own.start, float(scores[own.start]))
            strength[index] = abs(away[own.start])
        else:
            place[column.name] = column.category_at(int(away[own].argmax()))
            strength[index] = 2.0 * away[own].max() / ONE_HOT
    order = np.argsort(-strength, kind="stable")[:MAX_WORDS].tolist()
    words = [
        _describe_column(profile, schema.columns[index], starts[index], place, float(away[starts[index]]))
        for index in order
        if strength[index] >= NOTABLE
    ]
    return place, ", ".join(words) or ("near the middle of every column" if place else "hardly any cell observed")


def describe_pair(profile: Profile, schema: Schema, test: PairTest) -> PairFinding:
    """Finding about two columns, with their names, categories, and values in their own units."""
    before, after = (PairSide(*side) for side in (test.reference, test.window))
    starts = [int(np.searchsorted(schema.owner, column)) for column in test.columns]
    columns = [schema.columns[column] for column in test.columns]
    categories, ticks = [], []
    for column, place, start in zip(columns, test.places, starts, strict=True):
        is_number = column.kind == "number"
        categories.append("" if is_number else column.category_at(place - start))
        ticks.append(tuple(_value_of(profile, place, score) for score in TICKS) if is_number else ())
    return PairFinding(
        columns[0].name,
        columns[1].name,
        test.p_value,
        test.adjusted_p_value,
        abs(after.correlation - before.correlation),
        test.is_straight,
        before,
        after,
        (categories[0], categories[1]),
        (ticks[0], ticks[1]),
    )


def _describe_column(profile: Profile, column: Column, start: int, place: dict[str, float | str], away: float) -> str:
    value, name = place[column.name], shorten(column.name)
    if isinstance(value, str):
        return f"{name} is {shorten(value)}"
    return f"{name} {'high' if away > 0 else 'low'} (about {format_number_within(value, _span(profile, start))})"


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
