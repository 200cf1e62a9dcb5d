"""What a window of some rows will find: windows are drawn as codes, changed in one column, counted and tested."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.observed.counter import add, zeros
from gapdrift.observed.describing import ColumnCounts, counts_of
from gapdrift.observed.functions import Functions
from gapdrift.observed.sums import Side
from gapdrift.results.sensitivity import ColumnSensitivity

__all__ = ["CHANGES", "Wanted", "Windows", "column_sensitivity"]

CHANGES = ("values", "missing", "correlation")
"""What can be changed: the mean or the category of values, the missing rate, the correlation with another column."""

N_TRIES, N_FIRST = 6, 12
"""Sizes of a change that are tried, at most, to come near the one that is looked for; and windows of each."""

N_ROUNDS, N_WINDOWS = 2, 48
"""How often windows are drawn around that size; and how many."""

MAX_SHIFT = 4.0
"""Largest shift that is tried, in standard deviations."""

MAX_CORRELATION = 0.999

MAX_SAMPLE = 5_000
"""Rows of a sample that tells how a reference may differ from the truth, at most; what it tells is scaled down."""

RARE = 0.02
"""Share of the rows below which a category is rare."""

Codes = NDArray[np.uint16]

Change = Callable[[Codes, Matrix, np.random.Generator], None]
"""Changes codes, (input columns, rows), in place; it is also given the normal scores behind them."""


class Windows:
    """Draws evidence of windows as the reference would have it.

    Parameters
    ----------
    functions : Functions
    reference : Evidence
    n_rows : int

    Notes
    -----
    Each input column has a normal score, and these have the correlation of the observed cells; that of a category
    puts its categories in the order in which they go with the other columns. Cells are missing at random. A step
    function of a score z goes with z by a factor a, and two of them by a_i a_j r (to the first order), so that r is
    their correlation over a_i a_j.

    The reference is a sample too. Each window is drawn from a truth of its own, which differs from the reference as
    another sample of its size does: in the ranks of each column, in correlations and in missing rates.
    """

    def __init__(self, functions: Functions, reference: Evidence, n_rows: int) -> None:
        side = Side(functions, reference)
        self.functions, self.origin, self.n_rows, self.n_reference = functions, reference.origin, n_rows, side.n_rows
        self.columns, self.rates = counts_of(side), side.missing / max(side.n_rows, 1)
        size, n_columns = len(functions.inputs), len(functions.columns)
        covariance, owner = side.covariance[:n_columns, :n_columns], functions.function_owner[:n_columns]
        weights, self.links = np.zeros((size, n_columns)), np.zeros(size)
        # Of each column: its codes that occur, in the order of its score, and the ranks up to which each goes.
        self.codes: list[tuple[Indices, Vector]] = [_ranked(column, None) for column in self.columns]
        for row, place in enumerate(functions.inputs.tolist()):
            own = np.flatnonzero(owner == row)
            if len(own):
                weights[row, own] = np.linalg.svd(covariance[np.ix_(own, owner != row)])[0][:, 0] if len(own) > 1 else 1
                chosen = np.isin(np.flatnonzero(functions.owner == place), functions.columns)
                steps = functions.axes[place].steps[:, chosen] @ weights[row, own]
                self.codes[place] = _ranked(self.columns[place], steps)
                self.links[row] = _link(steps, *self.codes[place])
        products = weights @ covariance @ weights.T
        spread = np.sqrt(np.maximum(np.diag(products), 1e-9))
        self.correlation = np.clip(products / np.outer(spread, spread), -1.0, 1.0)
        latent = self.correlation / np.maximum(np.outer(self.links, self.links), 1e-9)
        latent = np.clip(latent, -MAX_CORRELATION, MAX_CORRELATION)
        np.fill_diagonal(latent, 1.0)
        self.root = _root(latent)

    def draw(self, change: Change, rng: np.random.Generator) -> Evidence:
        """Evidence of one window with a change."""
        axes, places = self.functions.axes, self.functions.inputs
        n_drawn = min(self.n_reference, MAX_SAMPLE)
        share = np.sqrt(n_drawn / self.n_reference)
        sample = rng.normal(size=(n_drawn, len(places))) @ self.root.T
        root = _root((1.0 - share) * self.root @ self.root.T + share * np.corrcoef(sample, rowvar=False))
        scores = rng.normal(size=(self.n_rows, len(axes)))
        scores[:, places] = scores[:, places] @ root.T
        for own, place in zip(ndtr(sample.T), places.tolist(), strict=True):
            # Ranks in the reference of the quantiles of that sample.
            seen = np.sort(own[: max(round(n_drawn * (1.0 - self.rates[place])), 1)])
            ranks = ndtr(scores[:, place])
            moved = np.interp(ranks, np.linspace(0.0, 1.0, len(seen) + 2), np.concatenate([[0.0], seen, [1.0]]))
            scores[:, place] = ndtri(ranks + share * (moved - ranks))
        codes = np.array([self.coded(place, ndtr(own)) for place, own in enumerate(scores.T)], dtype=np.uint16)
        change(codes, scores, rng)
        rates = rng.binomial(self.n_reference, self.rates) / self.n_reference
        missing = rng.random(codes.shape) < rates[:, None]
        sums = zeros(self.functions)
        add(self.functions, np.where(missing, [[axis.n_codes] for axis in axes], codes).astype(np.uint16), sums)
        return Evidence(self.n_rows, sums, self.origin)

    def coded(self, place: int, ranks: Vector) -> Indices:
        """Codes of one column with these ranks in the reference, from 0 to 1."""
        codes, ends = self.codes[place]
        return codes[np.searchsorted(ends[:-1], ranks, side="right")]

    def partner(self, column: int, wanted: int | None) -> int | None:
        """Column of numbers that another goes with most, or the one asked for; None where there is none."""
        places = self.functions.inputs
        allowed = self.functions.is_number[places] & (places != column) & ((wanted is None) | (places == wanted))
        if not (self.functions.is_number[column] and column in places and allowed.any()):
            return None
        row = np.abs(self.correlation[np.searchsorted(places, column)])
        return int(places[np.where(allowed, row, -1.0).argmax()])

    def pair(self, column: int, partner: int) -> tuple[float, float]:
        """Correlation of two columns, and what it is of that of their normal scores."""
        one, two = np.searchsorted(self.functions.inputs, [column, partner])
        return float(self.correlation[one, two]), float(self.links[one] * self.links[two])

    def decoupled(self, column: int, partner: int, size: float) -> Change:
        """Change of the correlation of two columns by so much, towards 0 and beyond."""
        before, link = self.pair(column, partner)
        before = float(np.clip(before / link, -MAX_CORRELATION, MAX_CORRELATION))
        after = float(np.clip(before - np.copysign(size, before), -MAX_CORRELATION, MAX_CORRELATION))

        def change(codes: Codes, scores: Matrix, _rng: np.random.Generator) -> None:
            rest = (scores[:, column] - before * scores[:, partner]) * np.sqrt((1.0 - after**2) / (1.0 - before**2))
            codes[column] = self.coded(column, ndtr(after * scores[:, partner] + rest))

        return change

    def shifted(self, place: int) -> tuple[Callable[[float], Change], float]:
        """Change of a column of numbers by some standard deviations, and its standard deviation.

        Ranks move as those of a smooth distribution: chance that made values frequent in the reference stays there.
        """
        column, (codes, ends) = self.columns[place], self.codes[place]
        low, high = column.limits[codes], column.limits[codes + 1]
        between, middle, share = 0.5 * (high[:-1] + low[1:]), 0.5 * (low + high), np.diff(ends, prepend=0.0)
        values = np.concatenate([[2.0 * middle[0] - between[0]], between, [2.0 * middle[-1] - between[-1]]])
        ranks = np.concatenate([[0.0], ends])
        knots = np.unique([0, *np.searchsorted(ranks[:-1], ndtr(np.linspace(-2.5, 2.5, 11))), len(ends)])
        values, ranks = values[knots], ranks[knots]
        deviation = float(np.sqrt(share @ (middle - share @ middle) ** 2))

        def change_of(size: float) -> Change:
            def change(codes: Codes, scores: Matrix, _rng: np.random.Generator) -> None:
                moved = np.interp(ndtr(scores[:, place]), ranks, values) + size * deviation
                beyond = (moved < values[0]) | (moved > values[-1])
                codes[place] = self.coded(place, np.interp(moved, values, ranks))
                codes[place, beyond] = np.searchsorted(column.axis.edges, moved[beyond], side="right")

            return change

        return change_of, deviation


def _root(correlation: Matrix) -> Matrix:
    """Matrix that turns independent scores into those with a correlation, or the next one that there can be."""
    values, vectors = np.linalg.eigh(np.atleast_2d(correlation))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    found: Matrix = root / np.linalg.norm(root, axis=1, keepdims=True)
    return found


def _ranked(column: ColumnCounts, steps: Vector | None) -> tuple[Indices, Vector]:
    """Codes that occur, in the order of their steps, and the share of the values up to each."""
    codes = np.flatnonzero(column.cells)
    if steps is not None and not len(column.axis.edges):
        codes = codes[np.argsort(steps[codes], kind="stable")]
    return (codes, np.cumsum(column.cells[codes]) / column.n_observed) if len(codes) else (np.zeros(1, int), np.ones(1))


def _link(steps: Vector, codes: Indices, ends: Vector) -> float:
    """Correlation of a normal score with the steps of its codes."""
    density = np.exp(-0.5 * ndtri(ends) ** 2) / np.sqrt(2.0 * np.pi)
    share, own = np.diff(ends, prepend=0.0), steps[codes]
    deviation = np.sqrt(max(float(share @ (own - share @ own) ** 2), 1e-9))
    return float(-own @ np.diff(density, prepend=0.0) / deviation)


class Wanted(NamedTuple):
    """What is asked of each column.

    Parameters
    ----------
    power, alpha : float
    changes : collection of str
        Some of `CHANGES`.
    partner : int or None
        Input column whose correlation with others is changed; None means the one that each goes with most.
    seed : int
        Of the windows.
    """

    power: float
    alpha: float
    changes: Collection[str]
    partner: int | None
    seed: int


def column_sensitivity(
    windows: Windows, p_value_of: Callable[[Evidence], float], names: Sequence[str], column: int, wanted: Wanted
) -> ColumnSensitivity:
    """Smallest changes of one input column that are found.

    Parameters
    ----------
    windows : Windows
    p_value_of : callable
        p-value of the evidence of a window.
    names : sequence of str
        Of the input columns.
    column : int
    wanted : Wanted
    """

    def search(change_of: Callable[[float], Change], first: float, largest: float) -> float | None:
        rng = np.random.default_rng(wanted.seed)

        def deviates_at(sizes: Vector) -> Vector:
            found = [p_value_of(windows.draw(change_of(size), rng)) for size in sizes.tolist()]
            return -ndtri(np.clip(found, 1e-30, 1.0 - 1e-9))

        return _smallest(deviates_at, first, largest, wanted)

    rate, first = float(windows.rates[column]), 4.0 / np.sqrt(windows.n_rows)
    found = ColumnSensitivity(names[column], None, None, rate, None)
    if "missing" in wanted.changes:
        start = 2.0 * first * np.sqrt(rate * (1.0 - rate) + 0.01)
        more = search(lambda size: _hide(windows, column, size / max(1.0 - rate, 1e-9)), start, 1.0 - rate)
        found = replace(found, missing=None if more is None else rate + more)
    codes, ends = windows.codes[column]
    if len(codes) < 2:
        return found
    if "values" in wanted.changes and not windows.functions.is_number[column]:
        shares = np.diff(ends, prepend=0.0)
        # To the rarest that is not so rare that it would be told as new.
        least = int(codes[np.argmin(np.where(shares > RARE, shares, 1.0))])
        found = replace(found, shift=search(lambda size: _recode(column, least, size), 0.5 * first, 1.0))
    elif "values" in wanted.changes:
        change_of, deviation = windows.shifted(column)
        shift = search(change_of, first, MAX_SHIFT)
        found = replace(found, shift=None if shift is None else shift * deviation, shift_in_deviations=shift)
    partner = windows.partner(column, wanted.partner) if "correlation" in wanted.changes else None
    if partner is not None:
        before, link = windows.pair(column, partner)
        after = search(lambda size: windows.decoupled(column, partner, size), first, abs(before) / link + 0.99)
        sign = 1.0 if before >= 0.0 else -1.0
        now = None if after is None else before - sign * after * link
        found = replace(found, partner=names[partner], correlation_before=before, correlation=now)
    return found


def _hide(windows: Windows, column: int, share: float) -> Change:
    """Change that hides some of the cells of a column."""

    def change(codes: Codes, _scores: Matrix, rng: np.random.Generator) -> None:
        codes[column, rng.random(codes.shape[1]) < share] = windows.functions.axes[column].n_codes

    return change


def _recode(column: int, code: int, share: float) -> Change:
    """Change that gives some of the rows one category."""

    def change(codes: Codes, _scores: Matrix, rng: np.random.Generator) -> None:
        codes[column, rng.random(codes.shape[1]) < share] = code

    return change


def _smallest(deviates_at: Callable[[Vector], Vector], first: float, largest: float, wanted: Wanted) -> float | None:
    """Size of a change at which the power is the one asked for; None where it is not even at the largest.

    Notes
    -----
    p-values as normal deviates rise with the size in about a straight line. A line through those of windows with sizes
    around the one that is looked for, and how they are spread around it, tell more than the alarms at each size.
    """
    alarm, size = -float(ndtri(wanted.alpha)), min(first, largest)
    goal = alarm + float(ndtri(wanted.power))
    for _ in range(N_TRIES):
        mean = float(deviates_at(np.full(N_FIRST, size)).mean())
        if abs(mean - goal) < 1.0:
            break
        size = min(size * float(np.clip(goal / max(mean, 0.1), 0.2, 2.0)), largest)
    sizes, found = np.zeros(0), np.zeros(0)
    for _ in range(N_ROUNDS):
        own = np.minimum(size * np.linspace(0.6, 1.3, N_WINDOWS), largest)
        sizes, found = np.append(sizes, own), np.append(found, deviates_at(own))
        slope, start = np.polyfit(sizes, found, 1)
        if slope <= 0.0:
            return None
        low = float(np.quantile(found - start - slope * sizes, 1.0 - wanted.power))
        size = float(np.clip((alarm - low - start) / slope, 0.5 * size, 1.5 * size))
    return size if size <= largest else None
