"""The usual variation between batches, and how a window compares with it.

A batch is one vector of statistics. They vary more from batch to batch than the rows of one batch let expect: days
differ. A window is therefore scored by its distance from the batches' mean in the metric of their own covariance, and
that score is compared with those of the batches, each of which was scored by the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc, fdtri, stdtr

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.inference.batch_models import Block, BlockModel, design_of, fit_block
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.inference.tails import ScoreTail, fit_tail
from gapdrift.persistence.records import expect, expect_shape, stored

__all__ = [
    "MIN_BATCHES",
    "BatchTable",
    "Block",
    "Judgement",
    "Variation",
    "batches_needed",
    "fit_variation",
    "judge_window",
    "student_p_values",
]

MIN_BATCHES = 5
"""Batches below which nothing is learned of their variation."""

MAX_FOLDS = 64
"""Of more batches than this, several are left out at once to score them by the others."""

FEW_FOLDS, MANY_BATCHES = 16, 500
"""Folds where batches are so many that leaving out more of them changes nothing."""

CORRELATED = 0.3
"""Mean correlation of neighbouring batches above which they are alike, at least."""

KNOWN = 5.0
"""How many batches it counts for that scores should decline as those of normal variables do."""

MISSING_SHARE = 0.3
"""Share of the false alarms that a verdict by batches spends on missingness.

More than that of a verdict by rows: with few batches no p-value is so small that it would survive a tenth."""


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
        Statistics by the name of their block; NaN where a batch has none.
    labels : tuple of str
        What the batches are called.
    """

    n_rows: Vector
    calendar: Matrix
    blocks: Mapping[str, Matrix]
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


class ScoredBlock(NamedTuple):
    """A block with its model, and how the scores of its batches decline.

    Parameters
    ----------
    block : Block
    model : BlockModel
        Of all batches.
    scale : float
        Of the score of all statistics together: its median over batches is that of an F distribution.
    tails : tuple of two ScoreTail
        Of that score, and of the largest entry.
    p_values : (batches, 2) array
        Of both scores of each batch, among the others.
    alike : float
        Correlation of consecutive batches, 0 where there is none.
    """

    block: Block
    model: BlockModel
    scale: float
    tails: tuple[ScoreTail, ScoreTail]
    p_values: Matrix
    alike: float


@dataclass(frozen=True, eq=False)
class Variation:
    """Usual variation between batches.

    Parameters
    ----------
    blocks : tuple of ScoredBlock
    unusual : (batches,) array
        How unusual each batch is among the others: the smaller, the more.
    whole, values, missingness : ScoreTail
        How often batches are as unusual.
    """

    blocks: tuple[ScoredBlock, ...]
    unusual: Vector
    whole: ScoreTail
    values: ScoreTail
    missingness: ScoreTail

    def block(self, name: str) -> ScoredBlock:
        """Block of a name."""
        return next(scored for scored in self.blocks if scored.block.name == name)


class Judgement(NamedTuple):
    """A window among the batches.

    Parameters
    ----------
    p_value, values, missingness : float
    parts : mapping of str to float
        p-values of single blocks.
    unusual : (batches + 1,) array
        How unusual each batch, and last the window, is among all: the smaller, the more.
    residuals : mapping of str to (statistics,) array
        What is compared one by one: differences from what is usual, over their standard deviations.
    """

    p_value: float
    values: float
    missingness: float
    parts: Mapping[str, float]
    unusual: Vector
    residuals: Mapping[str, Vector]


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
    that independent rows explain shrinks with the number of rows of a window; the rest does not. The correlation is
    shrunk towards the identity (oracle approximating shrinkage, Chen and others 2010). The scores of a window are
    e' V^-1 e / (1 + h), h its leverage, and the largest entry; every batch is scored in the same way by the others,
    without its neighbours where consecutive batches are alike: a window has neighbours on one side at most.
    """
    terms = np.column_stack([np.ones(len(table)), table.calendar])
    turned = {block.name: block.turned(table.blocks[block.name]) for block in blocks}
    some = [block for block in blocks if turned[block.name].shape[1]]
    scored = tuple(_score_block(turned[block.name], block, terms, table.n_rows, as_panes=as_panes) for block in some)
    parts = [(each.block, each.p_values) for each in scored]
    values, missing = (_least(parts, of_values=side) for side in (True, False))
    whole = _joined(values, missing)
    # What is combined was kept from declining too fast already: once more would spend half of the false alarms.
    tails = (fit_tail(-np.log(each), KNOWN, never_faster=False) for each in (whole, values, missing))
    return Variation(scored, whole, *tails)


def judge_window(variation: Variation, window: BatchTable) -> Judgement:
    """A window, as a table of one batch, among the batches."""
    terms = np.column_stack([np.ones(1), window.calendar])
    residuals, parts = {}, []
    for scored in variation.blocks:
        statistics = scored.block.turned(window.blocks[scored.block.name])
        away = scored.model.residuals(statistics, terms, window.n_rows)
        residuals[scored.block.name] = scored.model.entries(away)[0]
        scores = _exponents(scored.model, away, scored.scale)
        found = [tail.p_values(column) for tail, column in zip(scored.tails, scores.T, strict=True)]
        parts.append((scored.block, np.column_stack(found)))
    values, missing = (_least(parts, of_values=side) for side in (True, False))
    whole = _joined(values, missing)
    weighted = [(block, part) for block, part in parts if block.together + block.largest]
    return Judgement(
        p_value=_among(variation.whole, whole),
        values=_among(variation.values, values),
        missingness=_among(variation.missingness, missing),
        parts={block.name: _bounded(float(_combined(block, part)[0])) for block, part in weighted},
        unusual=np.append(variation.unusual, whole),
        residuals=residuals,
    )


def _among(tail: ScoreTail, least: Vector) -> float:
    """p-value of how unusual a window is, among batches."""
    return _bounded(float(tail.p_values(-np.log(least))[0]))


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


def _folds(n_batches: int, reach: int) -> list[tuple[Indices, Indices]]:
    """Batches that are scored together, and those left out for it: first none, then each once."""
    n_folds = n_batches if n_batches <= MAX_FOLDS else FEW_FOLDS if n_batches > MANY_BATCHES else MAX_FOLDS
    none = np.zeros(0, dtype=np.intp)
    found = [(none, none)]
    for scored in np.array_split(np.arange(n_batches), n_folds):
        left_out = np.arange(max(int(scored[0]) - reach, 0), min(int(scored[-1]) + reach + 1, n_batches))
        found.append((scored, left_out))
    return found


def _score_block(statistics: Matrix, block: Block, terms: Matrix, n_rows: Vector, *, as_panes: bool) -> ScoredBlock:
    """Block with its model, and the scores of batches by the others."""
    alike = 0.0 if as_panes else _alikeness(statistics, terms)
    # A window comes later than all batches: it is as far from most of them as a batch is from those beyond a quarter.
    reach = len(terms) // 4 if alike else 0
    designs = [design_of(terms, n_rows, *fold) for fold in _folds(len(terms), reach)]
    model = fit_block(statistics, designs[0], block, as_panes=as_panes)
    together, least = np.zeros(len(terms)), np.ones(len(terms))
    for design in designs[1:]:
        others = fit_block(statistics[design.kept], design, block, as_panes=as_panes)
        places = design.scored
        away = others.residuals(statistics[places], terms[places], n_rows[places])
        together[places] = others.together(away)
        least[places] = others.entry_p_values(others.entries(away)).min(axis=1)
    scale = max(float(np.median(together)) / float(fdtri(*_freedoms(model), 0.5)), 1e-9)
    scores = np.column_stack([_f_exponents(model, together, scale), -np.log(least)])
    one, two = (fit_tail(column, KNOWN) for column in scores.T)
    p_values = np.column_stack([one.own_p_values(scores[:, 0]), two.own_p_values(scores[:, 1])])
    return ScoredBlock(block, model, scale, (one, two), p_values, alike)


def _exponents(model: BlockModel, residuals: Matrix, scale: float) -> Matrix:
    """Both scores of batches, minus the logarithms of what would be p-values of one normal entry: (batches, 2)."""
    least = model.entry_p_values(model.entries(residuals)).min(axis=1)
    return np.column_stack([_f_exponents(model, model.together(residuals), scale), -np.log(least)])


def _freedoms(model: BlockModel) -> tuple[float, float]:
    """Degrees of freedom of the F distribution of the score of all statistics together."""
    return max(model.dimensions, 1.0), float(model.freedom.max())


def _f_exponents(model: BlockModel, together: Vector, scale: float) -> Vector:
    found: Vector = -np.log(np.clip(fdtrc(*_freedoms(model), together / scale), 1e-300, 1.0))
    return found


def _joined(values: Vector, missing: Vector) -> Vector:
    joined: Vector = np.minimum(values / (1.0 - MISSING_SHARE), missing / MISSING_SHARE)
    return joined


def _combined(block: Block, part: Matrix) -> Vector:
    """p-value of a block out of those of its two scores: (batches,)."""
    total = block.together + block.largest
    found = [part[:, place] * total / weight for place, weight in enumerate((block.together, block.largest)) if weight]
    least: Vector = np.minimum.reduce(found)
    return least


def _least(parts: list[tuple[Block, Matrix]], *, of_values: bool) -> Vector:
    """Smallest weighted p-value of the blocks of one side: (batches,)."""
    weighted = [(block, part) for block, part in parts if block.together + block.largest]
    chosen = [(block, part) for block, part in weighted if block.of_values == of_values]
    total = sum(block.together + block.largest for block, _ in chosen)
    found = [_combined(block, part) * total / (block.together + block.largest) for block, part in chosen]
    least: Vector = np.minimum.reduce(found) if found else np.ones(len(parts[0][1]))
    return least


def student_p_values(residuals: Vector, freedom: Vector | float) -> Vector:
    """Two-sided p-values of standardised residuals, whose deviations have some degrees of freedom."""
    found: Vector = np.maximum(2.0 * stdtr(freedom, -np.abs(residuals)), SMALLEST_P)
    return found


def _bounded(p_value: float) -> float:
    return float(min(max(p_value, SMALLEST_P), 1.0))
