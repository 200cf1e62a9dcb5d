"""What a window of some rows will find: windows are drawn as codes, changed in one column, counted and tested."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.counting.counter import Counter
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.functions import CATEGORY_STEPS, STEPS, Functions
from gapdrift.counting.regions import Regions
from gapdrift.counting.sums import Side
from gapdrift.detectors.describing import ColumnCounts, counts_of
from gapdrift.inference.batches import BatchTable
from gapdrift.results.sensitivity import ColumnSensitivity

__all__ = ["CHANGES", "Wanted", "Windows", "column_sensitivity"]

CHANGES = ("values", "missing", "correlation")
"""What can be changed: the mean or the category of values, the missing rate, the correlation with another column."""

N_ROUNDS, N_WINDOWS = 5, 24
"""How often windows are drawn with changes of about the size that is looked for; and how many."""

N_UNCHANGED = 40
"""Windows without a change that tell what the reference has and normal scores do not."""

MAX_SAMPLE = 5_000
"""Rows of a sample that tells how a reference may differ from the truth, at most; what it tells is scaled down."""

MAX_SHIFT = 4.0
"""Largest shift that is tried, in standard deviations."""

MAX_CORRELATION = 0.999

RARE = 0.02
"""Share of the values below which a category is rare: it would be told as new."""

Codes = NDArray[np.uint16]

Change = Callable[[Codes, Matrix, np.random.Generator], None]
"""Changes codes, (input columns, rows), in place; it is given the normal scores behind them, (rows, input columns)."""


class Wanted(NamedTuple):
    """What is asked of each column; a partner is the column whose correlation is changed, None the one of most."""

    power: float
    alpha: float
    changes: Collection[str]
    partner: int | None
    seed: int


class Windows:
    """Draws evidence of windows as the reference would have it.

    Parameters
    ----------
    functions : Functions
    reference : Evidence
    n_rows : int
    regions : Regions, optional
    batches : BatchTable, optional
        With batches, a window has the mean scores and the missing rates of one of them.

    Notes
    -----
    Each input column has a normal score; categories stand in the order in which they go with other columns. Steps of
    a score go with it by a factor a, and those of two scores by a_i a_j r to the first order: r is the correlation of
    the observed cells over a_i a_j. Cells are missing at random.

    What normal scores do not tell, such as bent dependence and cells missing at some values, is added to the sums.

    The reference is a sample too: each window has a truth of its own, which differs from the reference in the ranks of
    each column, in correlations and in missing rates as another sample of its size does.
    """

    def __init__(
        self,
        functions: Functions,
        reference: Evidence,
        n_rows: int,
        regions: Regions | None = None,
        batches: BatchTable | None = None,
    ) -> None:
        side = Side(functions, reference)
        self.functions, self.regions, self.origin = functions, regions, reference.origin
        self.n_rows, self.n_reference, self.rates = n_rows, side.n_rows, side.missing / side.n_rows
        self.columns = counts_of(side)
        self.codes = [_ranked(column, None) for column in self.columns]
        size, owner = len(functions.columns), functions.function_owner[: len(functions.columns)]
        covariance, self.links = side.covariance[:size, :size], np.ones(len(functions.inputs))
        weights = np.equal.outer(np.arange(len(functions.inputs)), owner).astype(float)
        for row, place in enumerate(functions.inputs.tolist()):
            own = np.flatnonzero(owner == row)
            if len(own) > 1:
                weights[row, own] = np.linalg.svd(covariance[np.ix_(own, owner != row)])[0][:, 0]
            if len(own):
                chosen = np.isin(np.flatnonzero(functions.owner == place), functions.columns)
                steps = functions.axes[place].steps[:, chosen] @ weights[row, own]
                self.codes[place] = _ranked(self.columns[place], steps)
                self.links[row] = _link(steps, *self.codes[place])
        products = weights @ covariance @ weights.T
        spread = np.sqrt(np.maximum(np.diag(products), 1e-9)) * self.links
        self.latent = np.clip(products / np.outer(spread, spread), -MAX_CORRELATION, MAX_CORRELATION)
        np.fill_diagonal(self.latent, 1.0)
        self.root = _root(self.latent)
        self.batches = None if batches is None else self._effects(batches, weights / spread[:, None])
        self.misfit: dict[str, Matrix] = {}
        self.misfit = self._misfit(reference)

    def _misfit(self, reference: Evidence) -> dict[str, Matrix]:
        """What sums of windows without a change lack on the average, as far as chance does not explain it."""
        rng, found = np.random.default_rng(0), {}
        names, share = ("products", "triples"), self.n_rows / self.n_reference
        total, squares = ({name: np.zeros_like(reference.sums[name]) for name in names} for _ in range(2))
        for _ in range(N_UNCHANGED):
            drawn = self.draw(_nothing, rng)
            for name in names:
                total[name] += drawn.sums[name] / N_UNCHANGED
                squares[name] += drawn.sums[name] ** 2 / N_UNCHANGED
        for name in names:
            away = reference.sums[name] * share - total[name]
            chance = (squares[name] - total[name] ** 2) * (share + 1.0 / N_UNCHANGED)
            found[name] = away * np.maximum(1.0 - chance / np.maximum(away**2, 1e-9), 0.0)
        return found

    def _effects(self, batches: BatchTable, weights: Matrix) -> tuple[Matrix, Matrix]:
        """Mean scores of batches less those of all, without what chance explains; and missing rates."""
        is_number = self.functions.is_number[self.functions.owner[self.functions.columns]]
        known = np.isfinite(batches.blocks["location"])
        means = np.where(known, batches.blocks["location"], 0.0) * np.where(is_number, STEPS, CATEGORY_STEPS)
        away = np.where(known, means - means.sum(axis=0) / np.maximum(known.sum(axis=0), 1), 0.0) @ weights.T
        by_chance = np.mean(1.0 / batches.n_rows) / np.maximum(away.var(axis=0), 1e-9)
        return away * np.sqrt(np.maximum(1.0 - by_chance, 0.0)), batches.blocks["missing"]

    def draw(self, change: Change, rng: np.random.Generator) -> Evidence:
        """Evidence of one window with a change."""
        scores = rng.normal(size=(self.n_rows, len(self.columns)))
        rates = self._of_sample(scores, rng) if self.batches is None else self._of_batch(scores, *self.batches, rng)
        codes = np.array([self.coded(place, own) for place, own in enumerate(ndtr(scores.T))], dtype=np.uint16)
        change(codes, scores, rng)
        for place, (axis, rate) in enumerate(zip(self.functions.axes, rates.tolist(), strict=True)):
            codes[place, rng.random(self.n_rows) < rate] = axis.n_codes
        counter = Counter(self.functions, self.regions)
        counter.add_codes(codes)
        for name, lacking in self.misfit.items():
            counter.sums[name] += lacking
        return Evidence(self.n_rows, counter.sums, self.origin)

    def _of_sample(self, scores: Matrix, rng: np.random.Generator) -> Vector:
        """Missing rates of another sample of the reference's size; scores become what it tells of them."""
        inputs, n_drawn = self.functions.inputs, min(self.n_reference, MAX_SAMPLE)
        share = float(np.sqrt(n_drawn / self.n_reference))
        sample = rng.normal(size=(n_drawn, len(inputs))) @ self.root.T
        scores[:, inputs] @= _root((1.0 - share) * self.latent + share * np.corrcoef(sample, rowvar=False)).T
        for place, own in zip(inputs.tolist(), ndtr(sample.T), strict=True):
            seen = np.sort(own[: round(n_drawn * (1.0 - self.rates[place]))])
            ranks, levels = ndtr(scores[:, place]), np.linspace(0.0, 1.0, len(seen) + 2)
            moved = np.interp(ranks, levels, np.concatenate([[0.0], seen, [1.0]]))
            scores[:, place] = ndtri(ranks + share * (moved - ranks))
        found: Vector = rng.binomial(self.n_reference, self.rates) / self.n_reference
        return found

    def _of_batch(self, scores: Matrix, away: Matrix, rates: Matrix, rng: np.random.Generator) -> Vector:
        """Missing rates of one of the batches; scores become those around its means."""
        batch, within = rng.integers(len(away)), np.sqrt(np.maximum(1.0 - away.var(axis=0), 0.05))
        scores[:, self.functions.inputs] = scores[:, self.functions.inputs] @ self.root.T * within + away[batch]
        found: Vector = rates[batch]
        return found

    def coded(self, place: int, ranks: Vector) -> Indices:
        """Codes of one column with these ranks in the reference, from 0 to 1."""
        codes, ends = self.codes[place]
        found: Indices = codes[np.searchsorted(ends[:-1], ranks, side="right")]
        return found

    def partner(self, column: int, wanted: int | None) -> int | None:
        """Place among the inputs of the column of numbers that another goes with most, or of the one asked for."""
        places, is_number = self.functions.inputs, self.functions.is_number
        allowed = is_number[places] & (places != column) & ((wanted is None) | (places == wanted))
        if not (is_number[column] and column in places and allowed.any()):
            return None
        return int(np.where(allowed, np.abs(self.latent[places == column][0]), -1.0).argmax())

    def decoupled(self, column: int, partner: int, before: float, after: float) -> Change:
        """Change of the correlation of the scores of two columns."""

        def change(codes: Codes, scores: Matrix, _rng: np.random.Generator) -> None:
            rest = (scores[:, column] - before * scores[:, partner]) * np.sqrt((1.0 - after**2) / (1.0 - before**2))
            codes[column] = self.coded(column, ndtr(after * scores[:, partner] + rest))

        return change

    def recoded(self, column: int, code: int, share: float) -> Change:
        """Change that gives some share of the rows one code, which may be that of missing cells."""
        return lambda codes, _scores, rng: np.putmask(codes[column], rng.random(self.n_rows) < share, code)

    def shifted(self, column: int, amount: float) -> Change:
        """Change that adds a number to all values of a column.

        Ranks move as those of a smooth distribution: chance that made values frequent in the reference stays there.
        """
        own, (present, ends) = self.columns[column], self.codes[column]
        between = 0.5 * (own.limits[present[:-1] + 1] + own.limits[present[1:]])
        first, last = own.middles[present[[0, -1]]]
        values = np.concatenate([[2.0 * first - between[0]], between, [2.0 * last - between[-1]]])
        knots = np.unique([0, *np.searchsorted(ends, ndtr(np.linspace(-2.5, 2.5, 11))), len(ends)])
        values, ranks = values[knots], np.append(0.0, ends)[knots]

        def change(codes: Codes, scores: Matrix, _rng: np.random.Generator) -> None:
            moved = np.interp(ndtr(scores[:, column]), ranks, values) + amount
            beyond = (moved < values[0]) | (moved > values[-1])
            codes[column] = np.where(
                beyond, own.axis.codes_of(moved), self.coded(column, np.interp(moved, values, ranks))
            )

        return change

    def deviation(self, column: int) -> float:
        """Standard deviation of the values of a column of numbers."""
        own = self.columns[column]
        share = own.cells / own.n_observed
        return float(np.sqrt(share @ (own.middles - share @ own.middles) ** 2))


def _nothing(_codes: Codes, _scores: Matrix, _rng: np.random.Generator) -> None:
    """No change."""


def _root(correlation: Matrix) -> Matrix:
    """Matrix that turns independent scores into those with a correlation, or with the nearest that there can be."""
    values, vectors = np.linalg.eigh(np.atleast_2d(correlation))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    found: Matrix = root / np.linalg.norm(root, axis=1, keepdims=True)
    return found


def _ranked(column: ColumnCounts, steps: Vector | None) -> tuple[Indices, Vector]:
    """Codes that occur, those of categories in the order of their steps, and the share of the values up to each."""
    codes = np.flatnonzero(column.cells)
    if steps is not None and not len(column.axis.edges):
        codes = codes[np.argsort(steps[codes], kind="stable")]
    return (codes, np.cumsum(column.cells[codes]) / column.n_observed) if len(codes) else (np.zeros(1, int), np.ones(1))


def _link(steps: Vector, codes: Indices, ends: Vector) -> float:
    """Correlation of a normal score with the steps of its codes."""
    density, share, own = (
        np.exp(-0.5 * ndtri(ends) ** 2) / np.sqrt(2.0 * np.pi),
        np.diff(ends, prepend=0.0),
        steps[codes],
    )
    variance = max(float(share @ (own - share @ own) ** 2), 1e-9)
    return max(float(-own @ np.diff(density, prepend=0.0) / np.sqrt(variance)), 0.1)


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
            return np.asarray(-ndtri(np.clip(found, 1e-30, 1.0 - 1e-9)))

        return _smallest(deviates_at, first, largest, wanted)

    functions, rate, first = windows.functions, float(windows.rates[column]), 4.0 / np.sqrt(windows.n_rows)
    found = ColumnSensitivity(names[column], None, None, rate, None)
    if "missing" in wanted.changes:
        unseen, start = functions.axes[column].n_codes, 2.0 * first * np.sqrt(rate * (1.0 - rate) + 0.01)
        left = max(1.0 - rate, 1e-9)
        more = search(lambda size: windows.recoded(column, unseen, size / left), start, left)
        found = replace(found, missing=None if more is None else rate + more)
    codes, ends = windows.codes[column]
    if len(codes) < 2:
        return found
    if "values" in wanted.changes and functions.is_number[column]:
        unit = windows.deviation(column)
        shift = search(lambda size: windows.shifted(column, size * unit), first, MAX_SHIFT)
        found = replace(found, shift=None if shift is None else shift * unit, shift_in_deviations=shift)
    elif "values" in wanted.changes:
        shares = np.diff(ends, prepend=0.0)
        least = int(codes[np.argmin(np.where(shares > RARE, shares, 1.0))])
        found = replace(found, shift=search(lambda size: windows.recoded(column, least, size), 0.5 * first, 1.0))
    partner = windows.partner(column, wanted.partner) if "correlation" in wanted.changes else None
    if partner is not None:
        place, own = int(functions.inputs[partner]), int(np.searchsorted(functions.inputs, column))
        before, link = float(windows.latent[own, partner]), float(windows.links[own] * windows.links[partner])

        def moved(size: float) -> float:
            return float(np.clip(before - np.copysign(size, before), -MAX_CORRELATION, MAX_CORRELATION))

        size = search(lambda size: windows.decoupled(column, place, before, moved(size)), first, abs(before) + 0.99)
        after = None if size is None else link * moved(size)
        found = replace(found, partner=names[place], correlation_before=link * before, correlation=after)
    return found


def _smallest(deviates_at: Callable[[Vector], Vector], first: float, largest: float, wanted: Wanted) -> float | None:
    """Size of a change at which the power is the one asked for; None where it is not even at the largest.

    Notes
    -----
    p-values as normal deviates rise with the size in about a straight line. A line through those of windows with sizes
    around the one that is looked for, and how they are spread around it, tell more than the alarms at each size.
    """
    alarm, size = -float(ndtri(wanted.alpha)), min(first, largest)
    sizes, found = np.zeros(0), np.zeros(0)
    for _ in range(N_ROUNDS):
        own = np.minimum(size * np.linspace(0.6, 1.3, N_WINDOWS), largest)
        sizes, found = np.append(sizes, own), np.append(found, deviates_at(own))
        near = (sizes > 0.5 * size) & (sizes < 1.5 * size)
        slope = float(np.polyfit(sizes[near], found[near], 1)[0])
        low = np.quantile(found[near] - slope * sizes[near], 1.0 - wanted.power)
        most = min(2.0 * size, 1.5 * largest)
        size = float(np.clip((alarm - low) / slope, 0.4 * size, most)) if slope > 0.0 else most
    return size if size <= largest else None
