"""Test of the outermost numbers of a column: values that one side has beyond all of the other.

A histogram has what lies beyond the reference in its last cell, among many values that are as they were. Codes such as
-9 or 999 for what is not known, other units and limits of sensors show at the ends first.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from gapdrift._typing import Vector
from gapdrift.inference.columns import ColumnTest, less_surely
from gapdrift.inference.combination import sidak
from gapdrift.tables.facts import Facts, Tally, tally_threshold
from gapdrift.tables.histograms import HistogramAxis

__all__ = ["extremes_test", "with_extremes"]

Cells = list[tuple[float, int]]

EXTREMES_SHARE = 0.1
"""Share of the false alarms of a column of numbers that its outermost values have."""

NO_CHANCE = 0.001
"""Probability of any value beyond the other side below which that share costs nothing."""

ALARMS = 0.001
"""p-value that outermost values must be able to reach for a column to be tested by them alone."""


def with_extremes(
    tests: Sequence[ColumnTest | None],
    axes: tuple[HistogramAxis, ...],
    counts: Sequence[tuple[Vector, Vector]],
    facts: tuple[Facts | None, Facts | None],
    explained: Vector,
) -> list[ColumnTest | None]:
    """Tests of columns, with those of the outermost values of numbers.

    Parameters
    ----------
    tests : sequence of ColumnTest or None
        Of each input column.
    axes : tuple of HistogramAxis
    counts : sequence of (array, array)
        Of the cells of each column in the reference and in the window.
    facts : pair of Facts or None
        Of reference and window.
    explained : (input columns,) array
        Standard deviations that changed conditions of missing values may explain.
    """
    reference, window = facts
    if reference is None or window is None:
        return list(tests)
    found = list(tests)
    for place, (test, axis) in enumerate(zip(tests, axes, strict=True)):
        sides = reference.tallies[place], window.tallies[place]
        # Of values that are too many to be kept, the outermost need not be among those that are.
        is_whole = all(tally_threshold(tally) is None for tally in sides)
        if test is not None and axis.edges and is_whole:
            sizes = float(counts[place][0].sum()), float(counts[place][1].sum())
            p_value, chance = extremes_test(sides, sizes, all_values=bool(axis.values))
            p_value = float(less_surely(np.array([p_value]), explained[place])[0])
            if test.can_alarm:
                left = 1.0 if chance < NO_CHANCE else 1.0 - EXTREMES_SHARE
                p_value = min(sidak(test.p_value, 1.0 / left), sidak(p_value, 1.0 / EXTREMES_SHARE))
                found[place] = test._replace(p_value=p_value)
            elif _can_alarm(sides, sizes, all_values=bool(axis.values)):
                found[place] = test._replace(p_value=p_value, can_alarm=True)
    return found


def extremes_test(tallies: tuple[Tally, Tally], sizes: tuple[float, float], *, all_values: bool) -> tuple[float, float]:
    """p-value of how many values one side has beyond all of the other, at either end; and the chance that any are.

    Parameters
    ----------
    tallies : pair of mappings of str to int
        Counts of reference and window: of values, or of cells beyond the histogram, 1, 2, ... above and -1, -2, ...
        below.
    sizes : pair of float
        Observed values of reference and window.
    all_values : bool
        Whether the tallies have all values.

    Returns
    -------
    p_value : float
    chance : float
        Probability that there are any such values where nothing changed, given how many values are outermost on both
        sides together: none to speak of where many share the largest and the smallest one, as those of ordinals do.

    Notes
    -----
    Where nothing changed all orders of the values of both sides are equally likely, so that the k outermost are all
    among the n of one side, and none of the m of the other, with probability n! (m + n - k)! / ((n - k)! (m + n)!),
    whatever their distribution. Half of the probability of exactly k is left out (mid-p), and both sides and both ends
    are looked at. Values that fall into one cell are ties: they count only where the other side has none of them.

    Examples
    --------
    Twelve values of -9 among 100, beyond the last interval of the histogram, and one of 100 values of the reference:

    >>> before, after = {"-1": 1}, {"-1": 1, "-40": 12}
    >>> p_value, _ = extremes_test((before, after), (100.0, 100.0), all_values=False)
    >>> p_value < 0.001
    True
    """
    above, below = ([_end(tally, sign, all_values=all_values) for tally in tallies] for sign in (1.0, -1.0))
    ends = [(_end_p_value(one, two, sizes), _end_chance([*one, *two], sizes)) for one, two in (above, below)]
    return sidak(min(p_value for p_value, _ in ends), len(ends)), sum(chance for _, chance in ends)


def _end(tally: Tally, sign: float, *, all_values: bool) -> Cells:
    """Places at one end, the larger the further out, and how many values each has."""
    cells = [(sign * float(name), count) for name, count in tally.items()]
    return cells if all_values else [(place, count) for place, count in cells if place > 0.0]


def _end_p_value(reference: Cells, window: Cells, sizes: tuple[float, float]) -> float:
    m, n = sizes
    of_reference, of_window = _beyond(reference, window), _beyond(window, reference)
    k, own = (of_reference, m) if of_reference else (of_window, n)
    if not k:
        return 1.0
    tail = 0.5 * (_all_on_one_side(k, own, m + n) + _all_on_one_side(k + 1, own, m + n))
    return min(2.0 * tail, 1.0)


def _end_chance(cells: Cells, sizes: tuple[float, float]) -> float:
    """Probability that all outermost values of both sides together are of one side."""
    furthest = max((place for place, _ in cells), default=-np.inf)
    k = sum(count for place, count in cells if place == furthest)
    return sum(_all_on_one_side(k, own, sum(sizes)) for own in sizes) if k else 0.0


def _can_alarm(tallies: tuple[Tally, Tally], sizes: tuple[float, float], *, all_values: bool) -> bool:
    """Whether outermost values could give a small p-value, given how often each occurs on both sides together.

    Values that are alike go beyond the other side all at once: of a flag that three rows have, three at most.
    """
    for sign in (1.0, -1.0):
        together: Counter[float] = Counter()
        for tally in tallies:
            for place, count in _end(tally, sign, all_values=all_values):
                together[place] += count
        reached = np.cumsum([together[place] for place in sorted(together, reverse=True)])
        for own in sizes:
            most = int(reached[reached <= own].max(initial=0))
            if most and 2.0 * _all_on_one_side(most, own, sum(sizes)) <= ALARMS:
                return True
    return False


def _beyond(own: Cells, other: Cells) -> int:
    """Values that lie further out than all of the other side."""
    furthest = max((place for place, _ in other), default=-np.inf)
    return sum(count for place, count in own if place > furthest)


def _all_on_one_side(k: int, n_own: float, n_all: float) -> float:
    """Probability that the k outermost of all values are among those of one side."""
    if k > n_own:
        return 0.0
    own, everything = (gammaln(size + 1.0) - gammaln(size - k + 1.0) for size in (n_own, n_all))
    return float(np.exp(own - everything))
