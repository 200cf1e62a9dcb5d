"""A fitted profile of the reference: from a row to the statistics that are summed up and tested.

What a row contributes depends on that row and on the profile only: its expected scores (location), their expected
products (dependence), the probabilities of the bins (joint distribution), and its gaps (rates and patterns).
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from gapdrift.detectors.mdlfwf.distance import LearnedDistance, learn_distance, training_rates
from gapdrift.detectors.mdlfwf.membership import fuzzy_weights
from gapdrift.models.gaussian import (
    FactorGaussian,
    GaussianModel,
    Patterns,
    expected_values,
    find_patterns,
    fit_gaussian,
)
from gapdrift.models.hot_deck import N_DONORS, EmpiricalResiduals, Residuals, complete_rows, fit_residuals
from gapdrift.models.imputation import fit_imputers
from gapdrift.models.normal_scores import Scores, fit_scores
from gapdrift.models.partition import ROWS_PER_BIN, Partition, fit_partition
from gapdrift.persistence.records import expect, expect_range, expect_shape, stored
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.missingness import missing_rates
from gapdrift.tables.schema import MAX_COLUMNS, Schema

__all__ = ["Layout", "Profile", "bin_probabilities", "fit_profile", "gap_statistics"]

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]

MAX_DIRECT = 20
"""Matrix columns up to which products of the columns themselves are taken; beyond, of principal directions."""

N_DIRECTIONS = 15
"""Principal directions beyond that."""

MAX_BINS = 20
"""Bins at most, one for every 50 reference rows."""

MAX_GAP_COLUMNS = 20
"""Columns, those with the most variable gaps, whose gaps are compared in pairs."""

SMALLEST_VARIANCE = 0.05
"""Variance below which a principal direction is not looked at."""

MAX_WORK = 2_000_000
"""Columns x squared directions of a profile that is read from a file: cells held in memory."""


@stored
@dataclass(frozen=True)
class Layout:
    """Where each block stands in a vector of statistics.

    Parameters
    ----------
    location, dependence, bins, rates, patterns : slice
    """

    location: slice
    dependence: slice
    bins: slice
    rates: slice
    patterns: slice

    @classmethod
    def of(cls, *sizes: int) -> "Layout":
        """Layout of five blocks of the given sizes, one after the other."""
        ends = np.cumsum([0, *sizes]).tolist()
        return cls(*(slice(start, stop) for start, stop in pairwise(ends)))

    def check_stored(self) -> None:
        """Check what was read from a file: blocks that follow each other."""
        blocks = [getattr(self, field.name) for field in fields(self)]
        expect(blocks[0].start == 0, "blocks of statistics from 0")
        expect(all(block.start <= block.stop for block in blocks), "blocks of statistics that do not go back")
        follow = all(one.stop == two.start for one, two in pairwise(blocks))
        expect(follow, "blocks of statistics that follow each other")


@stored
@dataclass(frozen=True)
class Profile:
    """Map from rows to statistics, fitted on a reference.

    Parameters
    ----------
    scores : Scores
    owner : (columns,) array
        Input column behind each matrix column.
    is_level : (columns,) array of bool
        Whether a matrix column is a level of a category.
    model : GaussianModel
        Of the scores.
    directions : (columns, d) array
        The identity where columns are few.
    direct : bool
        Whether the directions are the columns themselves.
    residuals : Residuals
    centres : (bins, d) array
    bin_rows : (bins,) array or None
        Rows that each centre is the mean of.
    boosted : LearnedDistance or None
        Where distances to the centres are learned instead of in closed form.
    products : (2, n_products) array
        Pairs of directions whose products are taken.
    gap_pairs : (2, n_pairs) array
        Pairs of input columns whose common gaps are counted.
    layout : Layout
    """

    scores: Scores
    owner: Indices
    is_level: Mask
    model: GaussianModel
    directions: Matrix
    direct: bool
    residuals: Residuals
    centres: Matrix
    bin_rows: Indices | None
    boosted: LearnedDistance | None
    products: Indices
    gap_pairs: Indices
    layout: Layout

    def statistics(self, rows: Encoded) -> Matrix:
        """Statistics of each row: (rows, statistics)."""
        values = self.scores.transform(rows.values)
        patterns = find_patterns(np.isnan(values))
        location = expected_values(self.model, values) - self.model.mean
        along = location if self.direct else location @ self.directions
        first, second = self.products
        lost = self.residuals.lost_products(patterns, self.directions)
        dependence = along[:, first] * along[:, second] + lost[:, first, second][patterns.index]
        bins = self._memberships(values, rows.missing, along, patterns)
        return np.column_stack([location, dependence, bins, gap_statistics(rows.missing, self.gap_pairs)])

    def _memberships(self, values: Matrix, missing: Mask, along: Matrix, patterns: Patterns) -> Matrix:
        if self.boosted is None:
            scatter = self.residuals.scatter(patterns, self.directions, self.centres)
            return bin_probabilities(along, self.centres, scatter, patterns.index)
        distances = cdist(along, self.centres)
        gaps = patterns.index > 0
        places = self.model.mean + self.centres @ self.directions.T
        distances[gaps] = self.boosted.to_centres(values[gaps], missing[gaps], places)
        error = np.where(gaps, self.boosted.error, 0.0)
        return fuzzy_weights(distances, error, membership="gaussian")

    def holds_rows(self) -> str:
        """Why the profile holds a row of the reference, or nothing."""
        return Partition(self.centres, self.bin_rows).holds_rows()

    def check_stored(self) -> None:
        """Check what was read from a file: all parts have the same columns, directions, bins and statistics."""
        expect_shape(self.owner, (-1,), "owners of columns")
        size = len(self.owner)
        expect(0 < size <= MAX_COLUMNS, f"up to {MAX_COLUMNS} columns and levels")
        expect_shape(self.is_level, (size,), "marks of levels")
        expect_shape(self.model.mean, (size,), "a mean")
        expect(len(self.scores.knots) == size, "scores of all columns")
        expect_shape(self.directions, (size, -1), "directions")
        n_directions = self.directions.shape[1]
        expect(n_directions > 0 and (n_directions == size or not self.direct), "directions")
        rank = self.model.loadings.shape[1] if isinstance(self.model, FactorGaussian) else 1
        expect(size * n_directions * max(n_directions, rank) <= MAX_WORK, "fewer columns, directions or factors")
        expect_shape(self.centres, (-1, n_directions), "centres")
        Partition(self.centres, self.bin_rows).check_stored()
        self._check_residuals(size, n_directions)
        self._check_statistics(size, n_directions)

    def _check_residuals(self, size: int, n_directions: int) -> None:
        if isinstance(self.residuals, EmpiricalResiduals):
            expect_shape(self.residuals.precision, (size, size), "a precision")
        else:
            expect_shape(self.residuals.stretch, (n_directions,), "stretches")
            expect_shape(self.residuals.model.mean, (size,), "a mean")

    def _check_statistics(self, size: int, n_directions: int) -> None:
        expect_shape(self.products, (2, -1), "pairs of directions")
        expect_range(self.products, 0, n_directions, "directions")
        n_columns = self.layout.rates.stop - self.layout.rates.start
        expect_range(self.owner, 0, n_columns, "columns")
        expect_shape(self.gap_pairs, (2, -1), "pairs of gaps")
        expect_range(self.gap_pairs, 0, n_columns, "columns")
        sizes = (size, self.products.shape[1], len(self.centres), n_columns, self.gap_pairs.shape[1] + 1)
        expect(self.layout == Layout.of(*sizes), f"blocks of the sizes {sizes}")
        if self.boosted is not None:
            self.boosted.check_fits(n_columns, size, len(self.centres))


def fit_profile(
    rows: Encoded,
    compared: Encoded,
    schema: Schema,
    distance: str,
    rng: np.random.Generator,
    *,
    n_bins: int | None = None,
    n_donors: int = N_DONORS,
    look_up: Callable[[Scores, Matrix], Matrix] | None = None,
    max_clustered: int | None = None,
) -> Profile:
    """Profile of a reference.

    Parameters
    ----------
    rows : Encoded
        Rows that the profile is learned from.
    compared : Encoded
        Rows that windows are compared with: the same ones, or the other half of a split reference. What gaps hide
        is taken from them, so that a window with more gaps is no further from them than one without.
    schema : Schema
    distance : {"closed-form", "boosted"}
    rng : numpy.random.Generator
    n_bins : int, optional
        Bins; by default one for every 50 rows, at most 20.
    n_donors : int, default 128
        Rows whose residuals stand for hidden parts.
    look_up : callable, optional
        How numbers get their scores; by default by `Scores.transform`. A model fits only the scores it was learned
        from: their rounding alone would show where rates of gaps differ.
    max_clustered : int, optional
        Rows that the bins are clusters of, drawn at random; by default all. Any bins make a sound test: these need to
        lie where rows are, no more.

    Returns
    -------
    profile : Profile
    """
    is_level = np.array([schema.columns[index].kind == "category" for index in schema.owner], dtype=bool)
    scores = fit_scores(rows.values, ~is_level)
    values = scores.transform(rows.values) if look_up is None else look_up(scores, rows.values)
    model = fit_gaussian(values, rng=rng)
    directions, direct = _choose_directions(model)
    completed = complete_rows(model, values, rng)
    filled = completed + model.mean
    hidden = completed
    if compared is not rows:
        others = scores.transform(compared.values)
        model = replace(model, mean=model.mean + complete_rows(model, others, rng).mean(axis=0))
        hidden = complete_rows(model, others, rng)
    residuals = fit_residuals(model, hidden, directions, rng, schema.owner, n_donors)
    wanted = int(np.clip(len(values) // ROWS_PER_BIN, 2, MAX_BINS)) if n_bins is None else n_bins
    partition = _cluster(completed @ directions, wanted, rng, max_clustered)
    centres, bin_rows = partition.centres, partition.sizes
    boosted = _boost(values, rows.missing, filled, schema, rng) if distance == "boosted" else None
    products = np.array(np.triu_indices(directions.shape[1]))
    pairs = _choose_gap_pairs(rows.missing)
    layout = Layout.of(len(is_level), products.shape[1], len(centres), rows.missing.shape[1], pairs.shape[1] + 1)
    return Profile(
        scores,
        schema.owner,
        is_level,
        model,
        directions,
        direct,
        residuals,
        centres,
        bin_rows,
        boosted,
        products,
        pairs,
        layout,
    )


def _cluster(points: Matrix, n_bins: int, rng: np.random.Generator, max_rows: int | None) -> Partition:
    """Bins of rows, or of a sample of them where there are many: starts of k-means then differ little."""
    if max_rows is None:
        return fit_partition(points, n_bins, rng, starts=3)
    size = min(len(points), max(max_rows, ROWS_PER_BIN * n_bins))
    chosen = np.sort(rng.choice(len(points), size, replace=False, shuffle=False))
    return fit_partition(points[chosen], n_bins, rng, starts=1)


def _boost(
    values: Matrix, missing: Mask, completed: Matrix, schema: Schema, rng: np.random.Generator
) -> LearnedDistance:
    """Distances learned on the completed scores of the reference (Alg. 1 of the paper)."""
    return learn_distance(
        completed,
        training_rates(missing_rates(missing)),
        schema.owner,
        fit_imputers(None, values, rng),
        regressor=None,
        n_splits=5,
        max_pairs=10_000,
        centres=None,
        rng=rng,
    )


def _choose_directions(model: GaussianModel) -> tuple[Matrix, bool]:
    n_columns = len(model.mean)
    if n_columns <= MAX_DIRECT:
        return np.eye(n_columns), True
    values, vectors = np.linalg.eigh(model.covariance)
    n_kept = int(np.clip(np.sum(values > SMALLEST_VARIANCE), 2, N_DIRECTIONS))
    return np.ascontiguousarray(vectors[:, ::-1][:, :n_kept]), False


def _choose_gap_pairs(missing: Mask) -> Indices:
    rates = missing.mean(axis=0)
    chosen = np.sort(np.argsort(-rates * (1.0 - rates), kind="stable")[:MAX_GAP_COLUMNS])
    first, second = np.triu_indices(len(chosen), k=1)
    return np.stack([chosen[first], chosen[second]])


def bin_probabilities(along: Matrix, centres: Matrix, scatter: Matrix, pattern: Indices) -> Matrix:
    """Probability of each bin for each row: the share of its possible positions that are nearest to the centre.

    A row's possible positions are its expected one plus each scattered residual; |y - c|^2 - |y|^2 is linear in y,
    so a residual enters by its products with the centres, ``scatter`` (patterns, residuals, bins).
    """
    squares = (centres**2).sum(axis=1)
    base: Matrix = squares - 2.0 * along @ centres.T
    weights: Matrix = np.zeros(base.shape)
    complete = pattern == 0
    weights[complete, base[complete].argmin(axis=1)] = 1.0
    noise = (-2.0 * scatter).astype(np.float32)
    for chunk in np.array_split(np.flatnonzero(~complete), max(1, int((~complete).sum()) // 1_000)):
        nearest = (base[chunk].astype(np.float32)[:, None, :] + noise[pattern[chunk]]).argmin(axis=2)
        for bin_ in range(len(centres)):
            weights[chunk, bin_] = (nearest == bin_).mean(axis=1)
    return weights


def gap_statistics(missing: Mask, pairs: Indices) -> Matrix:
    """Indicators of gaps, of common gaps, and the squared number of gaps of the row."""
    gaps = missing.astype(float)
    number = gaps.sum(axis=1)
    return np.column_stack([gaps, gaps[:, pairs[0]] * gaps[:, pairs[1]], number**2])
