"""The usual variation between batches, and how a window compares with it.

A batch is one vector of statistics. They vary more from batch to batch than the rows of one batch let expect: days
differ. A window is judged in two ways, which share the false alarms:

- each *entry* by itself, by Student's t against the other batches, so that a gross fault never hides;
- all statistics of a kind together, and their largest, scored by their own covariance between batches. That score is
  compared with those of the batches, each of which was scored by the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, NamedTuple

import numpy as np
from scipy.special import fdtrc, fdtri, stdtr

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.inference.batch_models import Block, BlockModel, Margins, fit_block, fit_margins
from gapdrift.inference.combination import sidak_all
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.inference.tails import ScoreTail, fit_tail
from gapdrift.persistence.records import INFINITE, expect, expect_shape, stored

__all__ = [
    "MIN_BATCHES",
    "BatchTable",
    "Block",
    "Judgement",
    "Variation",
    "batches_needed",
    "fit_variation",
    "judge_window",
    "stacked",
]

MIN_BATCHES = 5
"""Batches below which nothing is learned of their variation."""

MAX_FOLDS = 64
"""Batches up to which each is left out by itself, to be scored by the others."""

FEW_FOLDS = 16
"""Folds of more batches: leaving out some more of many changes nothing."""

CORRELATED = 0.3
"""Mean correlation of neighbouring batches above which they are alike, at least."""

KNOWN = 5.0
"""How many batches it counts for that scores should decline as those of normal variables do."""

MISSING_SHARE = 0.3
"""Share of the false alarms of scores that is spent on missingness.

More than that of a verdict by rows: with few batches no p-value is so small that it would survive a tenth."""

ENTRY_SHARE = 0.2
"""Share of the false alarms that is spent on entries: a gross fault is far beyond any share of alpha."""

MOST_FREEDOM = 9.0
"""Degrees of freedom of an entry in a verdict, at most: batches have heavy tails."""


@stored
@dataclass(frozen=True, eq=False)
class BatchTable:
    """Batches, one a row: all that is kept of them.

    Parameters
    ----------
    n_rows : (batches,) array
    calendar : (batches, terms) array
        Means over the rows of a batch of the terms of the seasons; no columns without seasons.
    blocks : mapping of str to (batches, statistics) array
        Statistics by the name of their block; infinite where a batch has none.
    labels : tuple of str
        What the batches are called.
    """

    n_rows: Vector
    calendar: Matrix
    blocks: Mapping[str, Annotated[Matrix, INFINITE]]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self.n_rows)

    def append(self, other: "BatchTable") -> "BatchTable":
        """Batches of both tables."""
        return BatchTable(
            np.concatenate([self.n_rows, other.n_rows]),
            np.concatenate([self.calendar, other.calendar]),
            {name: np.concatenate([block, other.blocks[name]]) for name, block in self.blocks.items()},
            (*self.labels, *other.labels),
        )

    def check_stored(self) -> None:
        """Check what was read from a file: as many of each."""
        expect_shape(self.n_rows, (-1,), "rows of batches")
        n_batches = len(self.n_rows)
        expect(n_batches >= MIN_BATCHES and self.n_rows.min() > 0, f"at least {MIN_BATCHES} batches with rows")
        expect_shape(self.calendar, (n_batches, -1), "calendar terms")
        expect(self.calendar.shape[1] <= 64, "few calendar terms")
        for name, block in self.blocks.items():
            expect_shape(block, (n_batches, -1), f"the block {name}")
        expect(len(self.labels) == n_batches, "a label for each batch")


class UsualBlock(NamedTuple):
    """What is usual of a block.

    Parameters
    ----------
    block : Block
    entries : Margins or None
        Of statistics that are judged by themselves.
    model : BlockModel or None
        Of statistics that are scored.
    scale : float
        Of the score of all statistics together: its median over batches is that of an F distribution.
    tails : tuple of ScoreTail
        How the scores of batches decline: of those with a weight.
    p_values : (batches,) array
        Of each batch among the others.
    alike : float
        Correlation of consecutive batches, 0 where there is none.
    """

    block: Block
    entries: Margins | None
    model: BlockModel | None = None
    scale: float = 1.0
    tails: tuple[ScoreTail, ...] = ()
    p_values: Vector = np.ones(1)
    alike: float = 0.0

    @property
    def weight(self) -> float:
        """Weight of its scores."""
        return self.block.together + self.block.largest

    def among(self, scores: Matrix) -> Vector:
        """p-value of a window by its scores."""
        return self.least([tail.p_values(column) for tail, column in zip(self.tails, scores.T, strict=True)])

    def least(self, p_values: list[Vector]) -> Vector:
        """p-value of batches out of those of their scores."""
        weights = [weight for weight in (self.block.together, self.block.largest) if weight]
        return _smallest([p * sum(weights) / weight for p, weight in zip(p_values, weights, strict=True)])


class Variation(NamedTuple):
    """Usual variation between batches.

    Parameters
    ----------
    blocks : tuple of UsualBlock
    values, missingness : ScoreTail
        How often batches are as unusual.
    unusual : (batches,) array
        How unusual each batch is among the others: the smaller, the more.
    """

    blocks: tuple[UsualBlock, ...]
    values: ScoreTail
    missingness: ScoreTail
    unusual: Vector


class Judgement(NamedTuple):
    """A window among the batches.

    Parameters
    ----------
    p_value, values, missingness : float
    parts : mapping of str to float
        p-values of single blocks.
    residuals : mapping of str to (statistics,) array
        Of entries: differences from what is usual, over their standard deviations.
    entries, single : mapping of str to (statistics,) array
        p-values of entries, and of scored statistics one by one: what each has beyond all others.
    """

    p_value: float
    values: float
    missingness: float
    parts: Mapping[str, float]
    residuals: Mapping[str, Vector]
    entries: Mapping[str, Vector]
    single: Mapping[str, Vector]


def stacked(found: Sequence[Mapping[str, Vector]]) -> dict[str, Matrix]:
    """Statistics of batches one below the other, by the names of their blocks."""
    return {name: np.array([each[name] for each in found]) for name in found[0]} if found else {}


def batches_needed(alpha: float) -> int:
    """Number of batches with which a rank alone reaches a significance level.

    Examples
    --------
    >>> batches_needed(0.05), batches_needed(0.001)
    (19, 999)
    """
    return int(np.ceil(round(1.0 / alpha, 6))) - 1


def fit_variation(table: BatchTable, blocks: tuple[Block, ...], *, as_panes: bool = False) -> Variation:
    """Usual variation between batches.

    Parameters
    ----------
    table : BatchTable
        In the order of time, where there is one.
    blocks : tuple of Block
    as_panes : bool, default False
        Whether batches are consecutive panes of dependent rows: all their variance shrinks with the number of rows of a
        window. Otherwise what independent rows do not explain is taken as common to all rows of a batch.

    Notes
    -----
    With x_b the calendar terms of batch b and r_b its residuals, S = sum r_b r_b' / (N - q). The part of its diagonal
    that independent rows explain shrinks with the number of rows of a window; the rest does not. An entry has the
    variance (sum r_bj^2 + d_j^2) / (N - q), d_j what one more batch may be off by. The scores of a window are
    e' V^-1 e / (1 + h), h its leverage, and the largest residual. Every batch is scored in the same way by the others,
    without its neighbours where consecutive batches are alike: a window has neighbours on one side at most.
    """
    terms = np.column_stack([np.ones(len(table)), table.calendar])
    some = [block for block in blocks if table.blocks[block.name].shape[1]]
    found = tuple(_learn(table.blocks[block.name], block, terms, table.n_rows, as_panes=as_panes) for block in some)
    sides = _sides([(each.block.of_values, each.weight, each.p_values) for each in found if each.tails])
    scores = [np.broadcast_to(-np.log(p_values), len(table)) for p_values in sides]
    # What is combined was kept from declining too fast already: once more would spend half of the false alarms.
    values, missing = (fit_tail(each, KNOWN, never_faster=False) for each in scores)
    own = _either(values.own_p_values(scores[0]), missing.own_p_values(scores[1]), MISSING_SHARE)
    return Variation(found, values, missing, own)


def judge_window(variation: Variation, window: BatchTable) -> Judgement:
    """A window, as a table of one batch, among the batches."""
    terms = np.column_stack([np.ones(1), window.calendar])
    residuals, entries, single = dict[str, Vector](), dict[str, Vector](), dict[str, Vector]()
    parts, scored, gross = dict[str, float](), [], []
    for each in variation.blocks:
        name, statistics = each.block.name, window.blocks[each.block.name]
        if each.entries is not None:
            residuals[name] = each.entries.residuals(statistics, terms, window.n_rows)[0]
            entries[name] = 2.0 * stdtr(each.entries.freedom, -np.abs(residuals[name]))
            cautious = 2.0 * stdtr(np.minimum(each.entries.freedom, MOST_FREEDOM), -np.abs(residuals[name]))
            least = sidak_all(cautious.min(keepdims=True), max(float(np.count_nonzero(residuals[name])), 1.0))
            gross.append((each.block.of_values, 1.0, least))
            parts[name] = _bounded(least)
        if each.model is not None:
            away = each.model.residuals(statistics, terms, window.n_rows)
            single[name] = each.model.single_p_values(away)[0]
            p_value = each.among(_exponents(each.model, each.scale, away))
            scored.append((each.block.of_values, each.weight, p_value))
            parts[name] = min(parts.get(name, 1.0), _bounded(p_value))
    tails = variation.values, variation.missingness
    sides = [
        _either(tail.p_values(-np.log(score)), fault, ENTRY_SHARE)
        for tail, score, fault in zip(tails, _sides(scored), _sides(gross), strict=True)
    ]
    whole, values, missing = map(_bounded, (_either(sides[0], sides[1], MISSING_SHARE), *sides))
    return Judgement(whole, values, missing, parts, residuals, entries, single)


def _alikeness(statistics: Matrix, terms: Matrix) -> float:
    """Correlation of consecutive batches, the mean over statistics; 0 where it is no larger than chance explains."""
    present = np.isfinite(statistics)
    means = np.where(present, statistics, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    filled = np.where(present, statistics, means)
    residuals = filled - terms @ (np.linalg.pinv(terms) @ filled)
    squares = (residuals**2).sum(axis=0)
    varies = squares > 1e-12
    if not varies.any():
        return 0.0
    products = (residuals[1:, varies] * residuals[:-1, varies]).sum(axis=0) / squares[varies]
    found = float(products.mean())
    return found if found > max(CORRELATED, 1.5 / np.sqrt(len(terms))) else 0.0


def _folds(n_batches: int, reach: int) -> Iterator[tuple[Indices, Indices]]:
    """Batches that are scored together, and those that are kept to score them."""
    for scored in np.array_split(np.arange(n_batches), n_batches if n_batches <= MAX_FOLDS else FEW_FOLDS):
        left_out = np.arange(max(int(scored[0]) - reach, 0), min(int(scored[-1]) + reach + 1, n_batches))
        yield scored, np.delete(np.arange(n_batches), left_out)


def _learn(statistics: Matrix, block: Block, terms: Matrix, n_rows: Vector, *, as_panes: bool) -> UsualBlock:
    """What is usual of a block, and the scores of batches by the others."""
    entries = None
    if block.unseen is not None:
        entries, _ = fit_margins(statistics, terms, n_rows, block.row_variance, block.unseen, as_panes=as_panes)
    usual = UsualBlock(block, entries)
    if not usual.weight:
        return usual
    alike = 0.0 if as_panes else _alikeness(statistics, terms)
    model = fit_block(statistics, terms, n_rows, block, as_panes=as_panes)
    # A window comes later than all batches: it is as far from most of them as a batch is from those beyond a quarter.
    parts = []
    for scored, kept in _folds(len(terms), len(terms) // 4 if alike else 0):
        others = fit_block(statistics[kept], terms[kept], n_rows[kept], block, as_panes=as_panes)
        away = others.residuals(statistics[scored], terms[scored], n_rows[scored])
        parts.append(np.column_stack([others.together(away), others.single_p_values(away).min(axis=1)]))
    together, least = np.concatenate(parts).T
    scale = max(float(np.median(together)) / float(fdtri(model.dimensions, model.freedom, 0.5)), 1e-9)
    scores = _weighted_exponents(model, scale, together, least)
    tails = tuple(fit_tail(column, KNOWN) for column in scores.T)
    usual = usual._replace(model=model, scale=scale, tails=tails, alike=alike)
    own = [tail.own_p_values(column) for tail, column in zip(usual.tails, scores.T, strict=True)]
    return usual._replace(p_values=usual.least(own))


def _exponents(model: BlockModel, scale: float, residuals: Matrix) -> Matrix:
    return _weighted_exponents(model, scale, model.together(residuals), model.single_p_values(residuals).min(axis=1))


def _weighted_exponents(model: BlockModel, scale: float, together: Vector, least: Vector) -> Matrix:
    """Scores with a weight, minus the logarithms of what would be p-values of one normal entry: (batches, scores)."""
    of_all = fdtrc(model.dimensions, model.freedom, together / scale)
    found = [of_all] * (model.block.together > 0) + [least] * (model.block.largest > 0)
    return -np.log(np.clip(np.column_stack(found), 1e-300, 1.0))


def _sides(parts: list[tuple[bool, float, Vector]]) -> tuple[Vector, Vector]:
    """Smallest weighted p-value of values, and of missingness; each part says of which, and its weight."""
    found = []
    for side in (True, False):
        chosen = [(weight, part) for of_values, weight, part in parts if of_values == side]
        total = sum(weight for weight, _ in chosen)
        found.append(_smallest([part * total / weight for weight, part in chosen]))
    return found[0], found[1]


def _smallest(p_values: list[Vector]) -> Vector:
    return reduce(np.minimum, p_values, np.ones(1))


def _either(one: Vector, two: Vector, share: float) -> Vector:
    """p-value of two, of which the second spends a share of the false alarms (Sidak)."""
    least = np.minimum(one / (1.0 - share), two / share)
    spent = np.minimum(np.outer([1.0 - share, share], least), 1.0 - 1e-12)
    found: Vector = -np.expm1(np.log1p(-spent).sum(axis=0))
    return found


def _bounded(p_value: Vector) -> float:
    return float(np.clip(p_value[0], SMALLEST_P, 1.0))
