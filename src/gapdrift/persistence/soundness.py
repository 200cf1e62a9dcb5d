"""Whether the parts of what was read from a file fit together, so that it can be used like what was saved.

Types are checked by `persistence.state` before; here it is lengths, ranges and order. A checksum tells damage; this
tells files that were made up.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.counting.evidence import Evidence
from gapdrift.counting.profile import Layout, Profile
from gapdrift.detectors.drift.reference import ConditionalReference
from gapdrift.detectors.mdlfwf.distance import ImputedDistance, LearnedDistance, TrainingPairs
from gapdrift.detectors.mdlfwf.membership import MEMBERSHIPS
from gapdrift.detectors.mdlfwf.reference import FuzzyReference
from gapdrift.detectors.mdlfwf.regressors import LinearPredictor, TreeEnsemble
from gapdrift.errors import EvidenceError, ParameterError, StorageError
from gapdrift.inference.contrast import Shape
from gapdrift.models.gaussian import DenseGaussian, FactorGaussian
from gapdrift.models.hot_deck import EmpiricalResiduals, GaussianResiduals
from gapdrift.models.imputation import ChainedRegressions, ConstantFill
from gapdrift.models.normal_scores import Scores
from gapdrift.models.partition import Partition
from gapdrift.results import DriftResult, FeatureFinding, Finding, Histogram
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.histograms import N_INTERVALS, HistogramAxis
from gapdrift.tables.schema import Column, Schema

__all__ = ["CHECKS", "check_reference"]

MAX_COLUMNS = 20_000

MAX_CATEGORIES = 10_000

MAX_DENSE = 1_000
"""Columns of a full covariance: its inverse is held in memory."""

MAX_SCATTER = 65_536
"""Bins x draws of a profile: as many cells are held in memory for each row counted at once."""

MAX_STORED_BINS = 1_024
"""Bins of a reference that counts in bulk."""

MAX_WORK = 2_000_000
"""Bins x features of a learned distance, and columns x squared directions of a profile: cells held in memory."""


def expect(holds: Any, what: str) -> None:
    """Raise a StorageError where something does not hold."""
    if not holds:
        raise StorageError(f"The content of the file is not sound: expected {what}.")


def expect_shape(array: NDArray[Any], shape: tuple[int, ...], what: str) -> None:
    """Raise a StorageError where an array has another shape; -1 is any length."""
    fits = array.ndim == len(shape) and all(n in {-1, m} for n, m in zip(shape, array.shape, strict=True))
    expect(fits, f"the shape {shape} of {what}, not {array.shape}")


def expect_range(array: NDArray[Any], low: int, high: int, what: str) -> None:
    """Raise a StorageError where numbers are not from ``low`` up to, but not, ``high``."""
    expect(array.size == 0 or (array.min() >= low and array.max() < high), f"{what} from {low} to {high - 1}")


def check_column(column: Column) -> None:
    """Check a column: its kind, categories and groups."""
    expect(column.kind in {"number", "category", "empty"}, "a column of numbers, categories or without values")
    expect(
        column.kind == "category" or not (column.categories or column.singletons),
        "categories in columns of categories only",
    )
    expect(
        0 < column.n_groups <= MAX_CATEGORIES and len(column.categories) <= MAX_CATEGORIES,
        f"up to {MAX_CATEGORIES} categories",
    )
    expect(len(set(column.categories)) == len(column.categories), "different categories")


def check_schema(schema: Schema) -> None:
    """Check a schema: some column has values, and names differ."""
    expect(len(set(schema.names)) == len(schema.names), "different names of columns")
    expect(sum(column.width for column in schema.columns) <= MAX_COLUMNS, f"up to {MAX_COLUMNS} columns and categories")
    expect(any(column.width for column in schema.columns), "a column with values")


def check_evidence(evidence: Evidence) -> None:
    """Check evidence: rows can be counted in double precision."""
    expect(evidence.n_rows <= 2**53, "at most 2^53 rows")


def check_scores(scores: Scores) -> None:
    """Check scores: the knots of a map that rises."""
    for pair in scores.knots:
        if pair is not None:
            values, places = pair
            expect_shape(values, (-1,), "knots")
            expect(len(values) >= 2 and np.all(values[1:] > values[:-1]), "values of knots that rise")
            expect_shape(places, values.shape, "scores of knots")


def check_dense(model: DenseGaussian) -> None:
    """Check a normal distribution: its covariance has a root."""
    size = len(np.atleast_1d(model.mean))
    expect(size <= MAX_DENSE, f"up to {MAX_DENSE} columns of a full covariance")
    expect_shape(model.mean, (size,), "a mean")
    expect_shape(model.covariance, (size, size), "a covariance")
    with _sound("a covariance that is positive definite"):
        np.linalg.cholesky(model.covariance)


def check_factor(model: FactorGaussian) -> None:
    """Check a normal distribution of few factors: its noise is positive."""
    size = len(np.atleast_1d(model.mean))
    expect_shape(model.mean, (size,), "a mean")
    expect_shape(model.loadings, (size, -1), "loadings")
    expect_shape(model.noise, (size,), "noise")
    expect(np.all(model.noise > 0), "positive noise")


def check_shape_record(shape: Shape) -> None:
    """Check the shape of statistics: as many of each, and units that can be divided by."""
    size = len(np.atleast_1d(shape.skewness))
    for field in fields(shape):
        expect_shape(getattr(shape, field.name), (size,), field.name)
    expect(np.all(shape.unit > 0), "positive units")


def check_axis(axis: HistogramAxis) -> None:
    """Check an axis: edges that rise, or labels."""
    expect(not (axis.edges and axis.labels), "edges or labels, not both")
    expect(len(axis.edges) in {0, N_INTERVALS + 1}, f"{N_INTERVALS} intervals")
    rising = all(low <= high for low, high in pairwise(axis.edges))
    expect(not axis.edges or (rising and axis.edges[0] < axis.edges[-1]), "edges that rise")


def check_layout(layout: Layout) -> None:
    """Check a layout: blocks that follow each other."""
    blocks = [getattr(layout, field.name) for field in fields(layout)]
    expect(blocks[0].start == 0, "blocks of statistics from 0")
    expect(all(block.start <= block.stop for block in blocks), "blocks of statistics that do not go back")
    expect(all(one.stop == two.start for one, two in pairwise(blocks)), "blocks of statistics that follow each other")


def check_constant_fill(imputer: ConstantFill) -> None:
    """Check an imputer: one constant for each column."""
    expect_shape(imputer.constants, (-1,), "constants of an imputer")


def check_chain(imputer: ChainedRegressions) -> None:
    """Check an imputer: columns that exist, never predicted from themselves."""
    expect_shape(imputer.constants, (-1,), "constants of an imputer")
    n_columns, n_steps = len(imputer.constants), len(np.atleast_1d(imputer.columns))
    expect_shape(imputer.columns, (n_steps,), "steps of an imputer")
    expect_shape(imputer.neighbours, (n_steps, -1), "neighbours of an imputer")
    expect_shape(imputer.coefficients, imputer.neighbours.shape, "coefficients of an imputer")
    expect_shape(imputer.intercepts, (n_steps,), "intercepts of an imputer")
    expect_range(imputer.columns, 0, n_columns, "columns")
    expect_range(imputer.neighbours, 0, n_columns, "columns")


def check_linear(predictor: LinearPredictor) -> None:
    """Check a linear regression."""
    expect_shape(predictor.coefficients, (-1,), "coefficients")


def check_trees(trees: TreeEnsemble) -> None:
    """Check trees: every path through them ends."""
    n_nodes = len(np.atleast_1d(trees.feature))
    expect_shape(trees.feature, (n_nodes,), "features of nodes")
    expect_shape(trees.threshold, (n_nodes,), "thresholds of nodes")
    expect_shape(trees.children, (n_nodes, 2), "children of nodes")
    expect_shape(trees.value, (n_nodes,), "values of nodes")
    expect_shape(trees.bounds, (-1,), "bounds of trees")
    expect(len(trees.bounds) >= 2 and trees.bounds[0] == 0 and trees.bounds[-1] == n_nodes, "trees of all nodes")
    expect(np.all(np.diff(trees.bounds) > 0), "trees with nodes")
    expect(trees.n_features > 0 and trees.divisor != 0, "trees that ask for features")
    expect_range(trees.feature, 0, trees.n_features, "features")
    sizes = np.diff(trees.bounds)
    place = (np.arange(n_nodes) - np.repeat(trees.bounds[:-1], sizes))[:, None]
    leaf = (trees.children == place).all(axis=1)
    # A child that comes after its parent cannot lead back to it.
    onward = ((trees.children > place) & (trees.children < np.repeat(sizes, sizes)[:, None])).all(axis=1)
    expect(np.all(leaf | onward), "trees without circles")


def check_pairs(pairs: TrainingPairs) -> None:
    """Check training pairs: as many of each."""
    n_pairs = len(np.atleast_1d(pairs.distances))
    expect_shape(pairs.distances, (n_pairs,), "distances of pairs")
    expect_shape(pairs.imputed, (n_pairs, -1), "imputed distances of pairs")
    expect(0 <= pairs.n_indicators <= 2 * MAX_COLUMNS, "missing cells of pairs")
    expect_shape(pairs.packed_missing, (n_pairs, -(-pairs.n_indicators // 8)), "missing cells of pairs")


def check_learned(model: LearnedDistance) -> None:
    """Check a learned distance: errors and units that make sense."""
    expect(model.error >= 0 and model.scale > 0, "an error from 0 and a positive scale")
    expect(model.imputers, "an imputer")
    expect_shape(model.importances, (-1,), "importances")


def check_imputed(model: ImputedDistance) -> None:
    """Check an imputed distance."""
    expect(model.error >= 0, "an error from 0")
    expect_shape(model.importances, (-1,), "importances")


def check_empirical(residuals: EmpiricalResiduals) -> None:
    """Check residuals: as many columns everywhere."""
    expect_shape(residuals.precision, (-1, -1), "a precision")
    size = len(residuals.precision)
    expect_shape(residuals.precision, (size, size), "a precision")
    expect_shape(residuals.moments, (size, size), "moments")
    expect_shape(residuals.pulled, (-1, size), "donors")
    with _sound("a precision that is positive definite"):
        np.linalg.cholesky(residuals.precision)


def check_gaussian(residuals: GaussianResiduals) -> None:
    """Check residuals of a model: as many directions everywhere."""
    expect_shape(residuals.stretch, (-1,), "stretches")
    expect_shape(residuals.draws, (-1, len(residuals.stretch)), "draws")


def check_partition(partition: Partition) -> None:
    """Check bins: as many sizes as centres."""
    expect_shape(partition.centres, (-1, -1), "centres")
    if partition.sizes is not None:
        expect_shape(partition.sizes, (len(partition.centres),), "sizes of bins")


def check_profile(profile: Profile) -> None:
    """Check a profile: everything has the same columns, directions, bins and statistics."""
    expect_shape(profile.owner, (-1,), "owners of columns")
    size = len(profile.owner)
    expect(0 < size <= MAX_COLUMNS, f"up to {MAX_COLUMNS} columns and categories")
    expect_shape(profile.is_level, (size,), "marks of levels")
    expect_shape(profile.model.mean, (size,), "a mean")
    expect(len(profile.scores.knots) == size, "scores of all columns")
    expect_shape(profile.directions, (size, -1), "directions")
    n_directions = profile.directions.shape[1]
    expect(n_directions > 0 and (n_directions == size or not profile.direct), "directions")
    rank = profile.model.loadings.shape[1] if isinstance(profile.model, FactorGaussian) else 1
    expect(size * n_directions * max(n_directions, rank) <= MAX_WORK, "fewer columns, directions or factors")
    expect_shape(profile.centres, (-1, n_directions), "centres")
    check_partition(Partition(profile.centres, profile.bin_rows))
    _check_residuals(profile, size, n_directions)
    expect_shape(profile.products, (2, -1), "pairs of directions")
    expect_range(profile.products, 0, n_directions, "directions")
    n_columns = profile.layout.rates.stop - profile.layout.rates.start
    expect_range(profile.owner, 0, n_columns, "columns")
    expect_shape(profile.gap_pairs, (2, -1), "pairs of gaps")
    expect_range(profile.gap_pairs, 0, n_columns, "columns")
    sizes = (size, profile.products.shape[1], len(profile.centres), n_columns, profile.gap_pairs.shape[1] + 1)
    expect(profile.layout == Layout.of(*sizes), f"blocks of the sizes {sizes}")
    if profile.boosted is not None:
        _check_distance(profile.boosted, n_columns, size, len(profile.centres))


def _check_residuals(profile: Profile, size: int, n_directions: int) -> None:
    residuals = profile.residuals
    if isinstance(residuals, EmpiricalResiduals):
        expect_shape(residuals.precision, (size, size), "a precision")
    else:
        expect_shape(residuals.stretch, (n_directions,), "stretches")
        expect_shape(residuals.model.mean, (size,), "a mean")


def _check_distance(model: LearnedDistance | ImputedDistance, n_columns: int, size: int, n_bins: int) -> None:
    imputers = model.imputers if isinstance(model, LearnedDistance) else (model.imputer,)
    for imputer in imputers:
        expect_shape(getattr(imputer, "constants", np.empty(0)), (size,), "constants of an imputer")
    n_features = 2 * n_columns + len(imputers)
    expect(n_bins * n_features <= MAX_WORK, "fewer bins and columns")
    if isinstance(model, LearnedDistance):
        expect_shape(model.importances, (n_features,), "importances")
        found = _features_of(model)
        expect(found == n_features, f"a regressor of {n_features} features, not {found}")


def _features_of(model: LearnedDistance) -> int:
    if isinstance(model.regressor, LinearPredictor):
        return len(model.regressor.coefficients)
    if isinstance(model.regressor, TreeEnsemble):
        return model.regressor.n_features
    return 0 if model.pairs is None else model.pairs.n_indicators + model.pairs.imputed.shape[1]


def check_reference(reference: ConditionalReference | FuzzyReference) -> None:
    """Raise a StorageError where the parts of a fitted reference do not fit together, or it cannot count.

    Parameters
    ----------
    reference : ConditionalReference or FuzzyReference
    """
    expect(reference.evidence.n_rows > 0, "a reference with rows")
    expect(reference.origin == reference.evidence.origin, "evidence of its own reference")
    if isinstance(reference, ConditionalReference):
        _check_conditional(reference)
    else:
        _check_fuzzy(reference)


def _check_conditional(reference: ConditionalReference) -> None:
    schema, profile = reference.schema, reference.profile
    expect(np.array_equal(profile.owner, schema.owner), "the columns of the schema")
    expect(profile.layout.rates.stop - profile.layout.rates.start == len(schema.columns), "gaps of all columns")
    expect(len(reference.histogram_axes) == len(schema.columns), "an axis for each column")
    expect(all(map(_fits_axis, schema.columns, reference.histogram_axes)), "histogram axes of the columns")
    expect(reference.min_effect >= 0, "a min_effect from 0")
    size = profile.layout.patterns.stop
    expect_shape(reference.shape.skewness, (size,), "skewness")
    n_cells = sum(map(len, reference.histogram_axes))
    residuals = profile.residuals
    n_draws = len(residuals.pulled if isinstance(residuals, EmpiricalResiduals) else residuals.draws)
    if reference.bulk is None:
        expect(0 < len(profile.centres) * n_draws <= MAX_SCATTER, "fewer bins and draws, but some")
        _check_sums(reference.evidence, {"statistics": (size,), "products": (size, size), "cells": (n_cells,)})
        with _sound("a profile that counts"):
            found = profile.statistics(_probe(schema))
        expect(found.shape == (3, size) and np.isfinite(found).all(), "a profile that counts")
        return
    _check_bulk(reference.bulk, profile)
    square = (len(schema.owner), len(schema.owner))
    shapes = {"statistics": (size,), "scatter": square, "cells": (n_cells,)}
    shapes |= {"hidden": square} if profile.direct else {}
    _check_sums(reference.evidence, shapes)
    with _sound("a reference that counts"):
        sums = reference.count(_probe(schema)).sums
    expect(all(np.isfinite(array).all() for array in sums.values()), "a reference that counts")


def _check_bulk(bulk: Bulk, profile: Profile) -> None:
    size, n_columns = profile.layout.patterns.stop, len(profile.owner)
    expect_shape(bulk.covariance, (size, size), "a covariance")
    expect_shape(bulk.bits, (n_columns,), "bits of columns")
    expect(bulk.radius > 0 and bulk.n_learned > 0, "a radius and rows that were learned from")
    expect(bulk.n_worth > 1, "rows that know a covariance")
    residuals = profile.residuals
    expect(isinstance(residuals, EmpiricalResiduals) and profile.boosted is None, "residuals of rows")
    n_donors = len(residuals.pulled) if isinstance(residuals, EmpiricalResiduals) else 0
    expect(
        0 < n_donors <= MAX_SCATTER and 0 < len(profile.centres) <= MAX_STORED_BINS, "fewer bins and donors, but some"
    )


def _fits_axis(column: Column, axis: HistogramAxis) -> bool:
    if column.kind == "category":
        return axis.labels == (*column.categories, "(other)")
    return bool(axis.edges) == (column.kind == "number") and not axis.labels


def _check_fuzzy(reference: FuzzyReference) -> None:
    schema, n_bins = reference.schema, len(reference.partition)
    size, n_columns = len(schema.owner), len(schema.columns)
    expect(n_bins > 0, "bins")
    expect_shape(reference.partition.centres, (n_bins, size), "centres")
    expect(reference.membership in MEMBERSHIPS, f"a membership out of {', '.join(MEMBERSHIPS)}")
    expect(reference.top_q is None or reference.top_q > 0, "top_q from 1")
    expect_shape(reference.has_missing, (n_columns,), "marks of columns with missing cells")
    _check_sums(reference.evidence, {"weights": (n_bins,), "products": (n_bins, n_bins), "missing": (n_columns,)})
    _check_distance(reference.distance, n_columns, size, n_bins)
    rows = _probe(schema)
    with _sound("a distance that can be measured"):
        found = reference.distance.to_centres(rows.values, rows.missing, reference.partition.centres)
    expect(found.shape == (3, n_bins) and np.isfinite(found).all(), "a distance that can be measured")


def _check_sums(evidence: Evidence, shapes: dict[str, tuple[int, ...]]) -> None:
    expect({name: array.shape for name, array in evidence.sums.items()} == shapes, f"the sums {shapes}")


def _probe(schema: Schema) -> Encoded:
    """Three rows: one with every other column missing, one without gaps, one of nothing else."""
    missing = np.zeros((3, len(schema.columns)), dtype=bool)
    missing[0, ::2] = True
    missing[2] = True
    return Encoded(np.where(missing[:, schema.owner], np.nan, 0.0), missing)


@contextmanager
def _sound(what: str) -> Iterator[None]:
    """Turn what numpy says to numbers that make no sense into an error of ours."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (ValueError, LookupError, ArithmeticError, TypeError, ParameterError, EvidenceError) as error:
        raise StorageError(f"The content of the file is not sound: expected {what}.") from error


def check_finding(finding: Finding) -> None:
    """Check a finding: probabilities are probabilities."""
    expect(0 < finding.p_value <= 1, "a p-value above 0, at most 1")


def check_histogram(histogram: Histogram) -> None:
    """Check a histogram: as many shares as intervals or labels."""
    n_cells = len(histogram.labels) or max(len(histogram.edges) - 1, 0)
    expect(len(histogram.reference) == n_cells == len(histogram.window), "as many shares as intervals")


def check_feature(feature: FeatureFinding) -> None:
    """Check the finding of a column: shares and probabilities."""
    expect(0 <= feature.missing_reference <= 1 and 0 <= feature.missing_window <= 1, "shares of gaps from 0 to 1")
    p_values = (
        feature.p_value,
        feature.adjusted_p_value,
        feature.missing_p_value,
        feature.adjusted_missing_p_value,
    )
    expect(all(p is None or 0 < p <= 1 for p in p_values), "p-values above 0, at most 1")


def check_result(result: DriftResult) -> None:
    """Check a result: probabilities and rows."""
    expect(0 < result.p_value <= 1 and 0 < result.alpha < 1, "a p-value above 0, at most 1")
    expect(result.n_reference >= 0 and result.n_window >= 0, "rows from 0")


CHECKS: dict[type, Callable[[Any], None]] = {
    ChainedRegressions: check_chain,
    Column: check_column,
    ConstantFill: check_constant_fill,
    DenseGaussian: check_dense,
    DriftResult: check_result,
    EmpiricalResiduals: check_empirical,
    Evidence: check_evidence,
    FactorGaussian: check_factor,
    FeatureFinding: check_feature,
    Finding: check_finding,
    GaussianResiduals: check_gaussian,
    HistogramAxis: check_axis,
    Histogram: check_histogram,
    ImputedDistance: check_imputed,
    Layout: check_layout,
    LearnedDistance: check_learned,
    LinearPredictor: check_linear,
    Partition: check_partition,
    Profile: check_profile,
    Schema: check_schema,
    Scores: check_scores,
    Shape: check_shape_record,
    TrainingPairs: check_pairs,
    TreeEnsemble: check_trees,
}
"""What is checked of each type as soon as it has been read."""
