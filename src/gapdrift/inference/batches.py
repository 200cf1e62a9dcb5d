"""The usual variation between batches, and how a window compares with it.

A batch is one vector of statistics. They vary more from batch to batch than the rows of one batch let expect: days
differ. A window is therefore scored by its distance from the batches' mean in the metric of their own covariance, and
that score is ranked among those of the batches, each of which was scored by the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc, fdtri, stdtr

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.inference.pearson import SMALLEST_P
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
    "rank_p_value",
    "student_p_values",
]

MIN_BATCHES = 5
"""Batches below which nothing is learned of their variation."""

MAX_FOLDS = 64
"""Of more batches than this, several are left out at once to score them by the others."""

FEW_FOLDS, MANY_BATCHES = 16, 500
"""Folds where batches are so many that leaving out more of them changes nothing."""

SMALLEST_SHRINKAGE = 0.02
"""Share of the identity in a correlation matrix, at least: it has to be inverted."""

SECOND_FREEDOMS = (300.0, 100.0, 50.0, 30.0, 20.0, 15.0, 10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.0)
"""Degrees of freedom that the tail of a score may have: the fewer, the heavier."""

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


@dataclass(frozen=True, eq=False)
class Block:
    """How the statistics of a block are compared.

    Parameters
    ----------
    name : str
    row_variance : float or (statistics,) array
        Variance of the statistic of one row, at least: that of independent rows.
    together, largest : float
        Weights of the score of all statistics together and of the largest one; 0 leaves it out, and a block with two
        of them tells of single columns only.
    of_values : bool
        Whether it belongs to the values, not to missingness.
    turn : (statistics, statistics) array, optional
        The statistics are multiplied by it from the left before they are compared.
    """

    name: str
    row_variance: float | Vector
    together: float
    largest: float
    of_values: bool = True
    turn: Matrix | None = None

    def turned(self, statistics: Matrix) -> Matrix:
        """Statistics as they are compared: (batches, statistics)."""
        return statistics if self.turn is None else statistics @ self.turn.T


class Tail(NamedTuple):
    """Distribution of a score: the largest of some independent F, scaled.

    Parameters
    ----------
    one, two : float
        Degrees of freedom of F.
    scale : float
    number : float
        Of those whose largest it is; 1 for a single score.
    """

    one: float
    two: float
    scale: float
    number: float

    def p_values(self, scores: Vector) -> Vector:
        """Probability of a larger score, for each score."""
        single = np.minimum(fdtrc(self.one, self.two, scores / self.scale), 1.0 - 1e-12)
        found: Vector = np.maximum(-np.expm1(self.number * np.log1p(-single)), 1e-300)
        return found


@dataclass(frozen=True, eq=False)
class BlockModel:
    """Mean, scale and correlation of the statistics of a block over batches.

    Parameters
    ----------
    coefficients : (terms, statistics) array
        Of the calendar terms; the first is the mean.
    information : (terms, terms) array
        Inverse of the sums of products of the terms.
    n_rows : float
        Rows of a usual batch (harmonic mean).
    deviation : (statistics,) array
        Standard deviation of the residuals of a batch with as many rows.
    between : (statistics,) array
        Share of their variance that does not shrink with the number of rows.
    longer : (statistics,) array
        Factor of the rest for many rows: above 1 where consecutive panes are correlated.
    directions, gains : (directions, statistics) and (directions,) arrays
        Principal directions of the correlation, and eigenvalues over its shrunken part.
    shrinkage : float
        Share of the identity in the correlation.
    freedom : int
        Degrees of freedom of the deviations.
    """

    coefficients: Matrix
    information: Matrix
    n_rows: float
    deviation: Vector
    between: Vector
    longer: Vector
    directions: Matrix
    gains: Vector
    shrinkage: float
    freedom: int

    def residuals(self, statistics: Matrix, terms: Matrix, n_rows: Vector) -> Matrix:
        """Differences from what is usual, over their standard deviations: (batches, statistics); 0 where missing."""
        usual = terms @ self.coefficients
        leverage = np.einsum("bi,ij,bj->b", terms, self.information, terms)[:, None]
        few = (self.n_rows / n_rows)[:, None]
        longer = 1.0 + (self.longer - 1.0) * np.clip(1.0 - few, 0.0, 1.0)
        variance = self.between + (1.0 - self.between) * few * longer + leverage * self.longer
        standardised: Matrix = np.nan_to_num((statistics - usual) / (self.deviation * np.sqrt(variance)))
        return standardised

    def scores(self, residuals: Matrix) -> Matrix:
        """Score of all statistics together, and of the largest one: (batches, 2)."""
        along = residuals @ self.directions.T
        explained = (along**2 * (self.gains / (1.0 + self.gains))).sum(axis=1)
        together = ((residuals**2).sum(axis=1) - explained) / self.shrinkage / residuals.shape[1]
        return np.column_stack([np.maximum(together, 0.0), (residuals**2).max(axis=1)])

    @property
    def dimensions(self) -> float:
        """Number of independent statistics that vary as much together."""
        spectrum = self.shrinkage * (1.0 + np.pad(self.gains, (0, max(len(self.deviation) - len(self.gains), 0))))
        return float(spectrum.sum() ** 2 / (spectrum**2).sum())


class Design(NamedTuple):
    """Some batches, without those that are left out.

    Parameters
    ----------
    left_out, kept : arrays of int
    terms : (batches, terms) array
        Calendar terms of those kept.
    information : (terms, terms) array
    n_rows : (batches,) array
    freedom : int
        Batches less independent terms.
    """

    left_out: Indices
    kept: Indices
    terms: Matrix
    information: Matrix
    n_rows: Vector
    freedom: int


class ScoredBlock(NamedTuple):
    """A block with its model, and the scores of its batches by the others.

    Parameters
    ----------
    block : Block
    model : BlockModel
        Of all batches.
    folds : list of BlockModel
        Of all batches but those of a fold.
    scores : (batches, 2) array
        Of each batch, by the model without its fold.
    """

    block: Block
    model: BlockModel
    folds: list[BlockModel]
    scores: Matrix


@dataclass(frozen=True, eq=False)
class Variation:
    """Usual variation between batches: their blocks, and the number of the fold that each batch is in: (batches,)."""

    blocks: tuple[ScoredBlock, ...]
    fold_of: Indices

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
        Differences from what is usual, over their standard deviations.
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
    blocks : tuple of Block
    as_panes : bool, default False
        Whether batches are consecutive panes of dependent rows: all their variance shrinks with the number of rows of a
        window. Otherwise what independent rows do not explain is taken as common to all rows of a batch.

    Notes
    -----
    With x_b the calendar terms of batch b and r_b its residuals, S = sum r_b r_b' / (N - q). The part of its diagonal
    that independent rows explain shrinks with the number of rows of a window; the rest does not. The correlation is
    shrunk towards the identity (oracle approximating shrinkage, Chen and others 2010). The score of a window is
    e' V^-1 e / (1 + h), h its leverage; every batch is scored in the same way by the others.
    """
    terms = np.column_stack([np.ones(len(table)), table.calendar])
    designs = [_design(terms, table.n_rows, out) for out in (np.zeros(0, dtype=np.intp), *_folds(len(table)))]
    some = [block for block in blocks if table.blocks[block.name].shape[1]]
    scored = tuple(_score_block(table, block, terms, designs, as_panes=as_panes) for block in some)
    fold_of = np.zeros(len(table), dtype=np.intp)
    for fold, out in enumerate(_folds(len(table))):
        fold_of[out] = fold
    return Variation(scored, fold_of)


def judge_window(variation: Variation, window: BatchTable) -> Judgement:
    """A window, as a table of one batch, among the batches.

    Notes
    -----
    Window and batches are treated alike: every batch is compared with the window by a model that knows neither of them
    (jackknife+, Barber and others 2021), and the tails of the scores are those of all of them.
    """
    terms = np.column_stack([np.ones(1), window.calendar])
    n_batches = len(variation.fold_of)
    residuals, parts = {}, []
    for scored in variation.blocks:
        statistics = scored.block.turned(window.blocks[scored.block.name])
        residuals[scored.block.name] = scored.model.residuals(statistics, terms, window.n_rows)[0]
        own = [model.scores(model.residuals(statistics, terms, window.n_rows)) for model in scored.folds]
        scores = np.concatenate([scored.scores, *own])
        parts.append((scored.block, _p_values(scores, scored.model, n_batches)))
    values, missing = (_least(parts, of_values=side) for side in (True, False))
    whole = np.minimum(values / (1.0 - MISSING_SHARE), missing / MISSING_SHARE)
    found = [_compared(each, variation.fold_of) for each in (whole, values, missing)]
    by_block = {
        block.name: _bounded(float(np.median(_combined(block, part)[n_batches:])))
        for block, part in parts
        if block.together + block.largest
    }
    p_value, of_values, of_missing = (_bounded(rank_p_value(others, own)) for others, own in found)
    return Judgement(p_value, of_values, of_missing, by_block, np.append(*found[0]), residuals)


def _compared(unusual: Vector, fold_of: Indices) -> tuple[Vector, float]:
    """Batches as unusual as they are beside the window, and the window: each by the model without the batch's fold."""
    batches, window = unusual[: len(fold_of)], unusual[len(fold_of) :]
    usual = float(np.median(window))
    return batches / window[fold_of] * usual, usual


def rank_p_value(others: Vector, own: float) -> float:
    """p-value of one score among others that were made in the same way; the smallest is the most unusual.

    Parameters
    ----------
    others : (scores,) array
        About uniform, at least near 0.
    own : float

    Notes
    -----
    (k + f) / (N + 1), k the number of others below it and f its place between its two neighbours. It is uniform where
    all are alike and uniform, and its rank is right whatever their distribution is. Below 1 / (N + 1) it is the power
    of its ratio to the smallest by which the lower half of the others falls off, at most 1 (Hill).

    Examples
    --------
    >>> round(rank_p_value(np.array([0.2, 0.4, 0.6, 0.8]), 0.02), 6)
    0.02
    >>> round(rank_p_value(np.array([0.2, 0.4, 0.6, 0.8]), 0.5), 6)
    0.5
    """
    ordered = np.concatenate([[0.0], np.sort(others), [max(1.0, 1.5 * float(others.max(initial=0.0)), own)]])
    first, last = (int(np.searchsorted(ordered[1:-1], own, side=side)) for side in ("left", "right"))
    low, high = ordered[first], ordered[last + 1]
    # Equal scores share their places: the p-value is that of the last of them.
    share = (own - low) / (high - low) if last == first and high > low else 1.0
    if last == 0:
        share = (own / high) ** _tail_power(ordered[1:-1])
    return float((last + share) / (len(others) + 1))


def _tail_power(ordered: Vector) -> float:
    """Power of a small score that is proportional to its probability, at most 1: by the lower half of the others."""
    lower = ordered[: max(len(ordered) // 2, 1)]
    excess = float(np.mean(np.log(ordered[len(lower)] / np.maximum(lower, 1e-300)))) if len(ordered) > 2 else 1.0
    return 1.0 / max(excess, 1.0)


def _score_block(
    table: BatchTable, block: Block, terms: Matrix, designs: list[Design], *, as_panes: bool
) -> ScoredBlock:
    """Block with its model, and the scores of batches by the others."""
    statistics = block.turned(table.blocks[block.name])
    model = _fit_block(statistics, designs[0], block.row_variance, as_panes=as_panes)
    scores, folds = np.zeros((len(table), 2)), []
    for design in designs[1:]:
        others = _fit_block(statistics[design.kept], design, block.row_variance, as_panes=as_panes)
        out = design.left_out
        scores[out] = others.scores(others.residuals(statistics[out], terms[out], table.n_rows[out]))
        folds.append(others)
    return ScoredBlock(block, model, folds, scores)


def _folds(n_batches: int) -> list[Indices]:
    """Batches that are left out together: one by one where they are few."""
    n_folds = n_batches if n_batches <= MAX_FOLDS else FEW_FOLDS if n_batches > MANY_BATCHES else MAX_FOLDS
    return [np.arange(first, n_batches, n_folds) for first in range(n_folds)]


def _design(terms: Matrix, n_rows: Vector, left_out: Indices) -> Design:
    kept = np.delete(np.arange(len(terms)), left_out)
    chosen = terms[kept]
    information = np.asarray(np.linalg.pinv(chosen.T @ chosen, rcond=1e-9, hermitian=True), dtype=np.float64)
    rank = int(np.linalg.matrix_rank(chosen)) if chosen.shape[1] > 1 else 1
    return Design(left_out, kept, chosen, information, n_rows[kept], max(len(chosen) - rank, 1))


def _fit_block(statistics: Matrix, design: Design, row_variance: float | Vector, *, as_panes: bool) -> BlockModel:
    # A batch without a value of a statistic says nothing of it: it takes the mean of the others.
    present = np.isfinite(statistics)
    means = np.where(present, statistics, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    filled = np.where(present, statistics, means)
    terms, information, n_rows, freedom = design.terms, design.information, design.n_rows, design.freedom
    coefficients = information @ (terms.T @ filled)
    residuals = filled - terms @ coefficients
    usual_rows = float(len(n_rows) / (1.0 / n_rows).sum())
    floor = np.broadcast_to(np.asarray(row_variance, dtype=float), means.shape) / usual_rows
    variance = np.maximum((residuals**2).sum(axis=0) / freedom, floor)
    between = np.zeros_like(variance) if as_panes else 1.0 - floor / variance
    few = (usual_rows / n_rows)[:, None]
    scaled = residuals / np.sqrt(between + (1.0 - between) * few)
    deviation = np.sqrt(np.maximum((scaled**2).sum(axis=0) / freedom, floor))
    shrinkage, gains, directions = _shrunken_correlation(scaled / deviation, freedom)
    longer = _long_run(scaled) if as_panes else np.ones_like(variance)
    return BlockModel(
        coefficients,
        information,
        usual_rows,
        deviation,
        between,
        longer,
        directions,
        gains,
        shrinkage,
        freedom,
    )


def _shrunken_correlation(standardised: Matrix, freedom: int) -> tuple[float, Vector, Matrix]:
    """Share of the identity, and eigenvalues of the rest over it with their directions."""
    size = standardised.shape[1]
    if size < 2:
        return 1.0, np.zeros(0), np.zeros((0, size))
    spectrum, directions = _principal(standardised)
    spectrum = spectrum / freedom
    trace, squares = float(spectrum.sum()), float((spectrum**2).sum())
    room = squares - trace**2 / size
    wanted = ((1.0 - 2.0 / size) * squares + trace**2) / ((freedom + 1.0 - 2.0 / size) * room) if room > 0 else 1.0
    shrinkage = float(np.clip(wanted, SMALLEST_SHRINKAGE, 1.0))
    return shrinkage, (1.0 - shrinkage) * spectrum / shrinkage, directions


def _principal(standardised: Matrix) -> tuple[Vector, Matrix]:
    """Squared singular values above 0, and right singular vectors: the smaller product of the matrix is decomposed."""
    wide = standardised.shape[0] < standardised.shape[1]
    values, vectors = np.linalg.eigh(standardised @ standardised.T if wide else standardised.T @ standardised)
    kept = values > 1e-10 * max(float(values[-1]), 1e-300)
    values, vectors = values[kept], vectors[:, kept]
    return values, (vectors / np.sqrt(values)).T @ standardised if wide else vectors.T


def _long_run(residuals: Matrix) -> Vector:
    """Variance of long means over that of independent panes: Bartlett-weighted correlations of consecutive panes."""
    n_panes = len(residuals)
    variance = np.maximum((residuals**2).sum(axis=0), 1e-300)
    lags = int(np.ceil(n_panes ** (1 / 3)))
    total = np.ones(residuals.shape[1])
    for lag in range(1, min(lags, n_panes - 1) + 1):
        products = (residuals[lag:] * residuals[:-lag]).sum(axis=0) / variance
        total += 2.0 * (1.0 - lag / (lags + 1.0)) * products
    return np.maximum(total, 1.0)


def _fit_tails(scores: Matrix, model: BlockModel) -> tuple[Tail, Tail]:
    """Tails of both scores: their medians are those of the scores, and they fall off as slowly above them.

    The second degrees of freedom are those of the deviations, or fewer where the largest scores say so.
    """
    together, largest = (np.maximum(column, 1e-9) for column in scores.T)
    dimensions = round(max(model.dimensions, 1.0), 1)
    found = []
    for column, one, alone in ((together, dimensions, True), (largest, 1.0, False)):
        median = float(np.median(column))
        upper = np.sort(column)[len(column) // 2 :]
        excess = float(np.mean(np.log(upper / median)))
        candidates = [two for two in SECOND_FREEDOMS if two < model.freedom]
        options = [_tail_with(one, two, median, alone=alone) for two in (float(model.freedom), *candidates)]
        # From the lightest tail on: the first that falls off as slowly as the scores.
        slow = (tail for tail in options if _excess(tail.one, tail.two, round(float(np.log(tail.number)), 1)) >= excess)
        found.append(next(slow, options[-1]))
    return found[0], found[1]


def _tail_with(one: float, two: float, median: float, *, alone: bool) -> Tail:
    """Tail with some degrees of freedom and this median: of one scaled F, or of the largest of several."""
    if alone:
        return Tail(one, two, median / float(fdtri(one, two, 0.5)), 1.0)
    single = min(max(float(fdtrc(one, two, median)), 1e-9), 0.5)
    return Tail(one, two, 1.0, float(np.log(0.5) / np.log1p(-single)))


@lru_cache(maxsize=100_000)
def _excess(one: float, two: float, log_number: float) -> float:
    """Mean of the logarithms of scores above their median over the median, for the tail of these numbers."""
    levels = np.append((np.arange(40) + 0.5) / 80.0, 0.5)
    single = -np.expm1(np.log1p(-levels) / np.exp(log_number))
    drawn = np.log(np.maximum(fdtri(one, two, 1.0 - single), 1e-300))
    return float(np.mean(drawn[:-1] - drawn[-1]))


def _p_values(scores: Matrix, model: BlockModel, n_batches: int) -> Matrix:
    """p-values of both scores of batches, and of the window by each fold, by their tails: (batches + folds, 2)."""
    alike = np.concatenate([scores[:n_batches], np.median(scores[n_batches:], axis=0, keepdims=True)])
    tails = _fit_tails(alike, model)
    return np.column_stack([tail.p_values(column) for tail, column in zip(tails, scores.T, strict=True)])


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


def student_p_values(residuals: Vector, freedom: int) -> Vector:
    """Two-sided p-values of standardised residuals, whose deviations have some degrees of freedom."""
    found: Vector = np.maximum(2.0 * stdtr(freedom, -np.abs(residuals)), SMALLEST_P)
    return found


def _bounded(p_value: float) -> float:
    return float(min(max(p_value, SMALLEST_P), 1.0))
