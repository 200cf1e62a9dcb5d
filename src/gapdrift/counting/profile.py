"""A fitted profile of the reference: all that decides what a row contributes to evidence."""

import hashlib
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.statistics import Layout
from gapdrift.models.gaussian import (
    DensePrecision,
    FactorGaussian,
    GaussianModel,
    Precision,
    exact_precision,
    fit_gaussian,
    fitted_rows,
    precision_of,
)
from gapdrift.models.gaussian.filling import MAX_ENTRY, FactorPrecision, fill
from gapdrift.models.gaussian.patterns import find_patterns
from gapdrift.models.hot_deck import complete_rows, make_donors
from gapdrift.models.normal_scores import MAX_SCORE, N_CELLS, UNIT, NormalScores, ScoreTable, fit_normal_scores
from gapdrift.models.partition import ROWS_PER_BIN, Partition, fit_partition
from gapdrift.persistence.records import expect, expect_range, expect_shape, stored
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.schema import MAX_COLUMNS, Schema

__all__ = ["MAX_DEFAULT_BINS", "Profile", "add_to_digest", "fit_profile"]


MAX_DIRECT = 20
"""Matrix columns up to which rows are compared as they are; beyond, bins and the joint location test see them along
principal directions."""

N_DIRECTIONS = 15
"""Principal directions beyond that."""

LEAST_DIRECTION_VARIANCE = 0.05
"""Variance below which a principal direction is not looked at."""

LEAST_VARIANCE = 1e-4
"""Variance of a column's scores, at least: that which a copy of another column keeps beside it."""

FEWEST_TAUGHT = 20
"""Observed cells of a column below which others are not filled along it."""

MAX_PAIRED = 300
"""Matrix columns up to which all pairs are compared; beyond, all pairs among as many of them, drawn by a fixed seed."""

MAX_DEFAULT_BINS = 20
"""Bins by default, at most: one for every 50 reference rows."""

MAX_BINS = 256
"""Bins at most: the number of a bin and a distance then fit into one whole number of 31 bits."""

MAX_CLUSTERED = 4_096
"""Rows that the bins are clusters of, at most. Any bins make a sound test; these lie where rows are."""

MAX_MISSING_PAIRED = 20
"""Input columns, those whose missingness varies most, that are compared for being missing together."""

MEAN_STEPS = 20
"""Steps of EM for the mean of the half of a reference that was not learned from."""

MAX_DONORS = 4_096
"""Donors of residuals, at most."""

MAX_SPREAD = 8
"""Completions over which an incomplete row is spread, at most."""

SPREAD_ROWS = 40_000
"""Reference rows times completions, about: a small reference affords, and needs, more of them."""

N_AVERAGED = 1_024
"""Completions over which a row is spread that has too little observed to choose donors by."""


@stored
@dataclass(frozen=True, eq=False)
class Profile:
    """What decides the statistics of a row, fitted on a reference.

    Parameters
    ----------
    scores : NormalScores
    mean : (columns,) array
        Of the scores, by the Gaussian model.
    precision : DensePrecision or FactorPrecision
        Inverse of the model's covariance.
    moments : (columns, columns) array or None
        Mean of x x' over the completed, centred reference; None where columns are many.
    donors : (donors, columns) array
        P d of the donors d: complete rows like those of the reference.
    owner : (columns,) array of int
        Input column behind each matrix column.
    is_category : (columns,) array of bool
        Whether a matrix column is one of a category.
    entropy : (input columns,) array
        Collision entropy of one observed value, in bits: -log2 of the chance that two rows have the same.
    directions : (columns, directions) array
        Along which rows are put into bins; the identity where columns are few.
    centres : (bins, directions) array
    bin_rows : (bins,) array of int
        Rows that each centre is the mean of.
    paired : (n_paired,) array of int
        Matrix columns whose pairs are compared.
    missing_paired : (n_missing_paired,) array of int
        Input columns that are compared for being missing together.
    n_spread : int
        Completions over which an incomplete row is spread.
    n_learned : int
        Rows that the Gaussian model was fitted to.
    apart : bool
        Whether these are other rows than those that windows are compared with.
    """

    scores: NormalScores
    mean: Vector
    precision: Precision
    moments: Matrix | None
    donors: Matrix
    owner: Indices
    is_category: Mask
    entropy: Vector
    directions: Matrix
    centres: Matrix
    bin_rows: Indices
    paired: Indices
    missing_paired: Indices
    n_spread: int
    n_learned: int
    apart: bool

    def holds_rows(self) -> str:
        """Why the profile holds a row of the reference, or nothing."""
        return Partition(self.centres, self.bin_rows).holds_rows()

    def check_stored(self) -> None:
        """Check what was read from a file: all parts have the same columns, directions and bins."""
        expect_shape(self.owner, (-1,), "owners of columns")
        size, n_inputs = len(self.owner), len(np.atleast_1d(self.entropy))
        expect(0 < size <= MAX_COLUMNS, f"up to {MAX_COLUMNS} columns and categories")
        expect_range(self.owner, 0, n_inputs, "owners of columns")
        expect(len(self.scores.knots) == size, "scores of all columns")
        for name, shape in {"mean": (size,), "is_category": (size,), "entropy": (n_inputs,)}.items():
            expect_shape(getattr(self, name), shape, name)
        expect(np.abs(self.mean).max() <= MAX_SCORE, f"means up to {MAX_SCORE}")
        expect_shape(self.donors, (-1, size), "donors")
        expect(0 < len(self.donors) <= MAX_DONORS, f"up to {MAX_DONORS} donors")
        expect(np.abs(self.donors).max() <= MAX_ENTRY, f"donors up to {MAX_ENTRY:g}")
        self._check_precision(size)
        expect_shape(self.directions, (size, -1), "directions")
        expect(self.directions.shape[1] <= MAX_DIRECT, f"up to {MAX_DIRECT} directions")
        expect_shape(self.centres, (-1, self.directions.shape[1]), "centres")
        expect(0 < len(self.centres) <= MAX_BINS, f"up to {MAX_BINS} bins")
        Partition(self.centres, self.bin_rows).check_stored()
        _check_places(self.paired, size, MAX_PAIRED)
        _check_places(self.missing_paired, n_inputs, MAX_MISSING_PAIRED)
        expect(self.n_spread in {2**power for power in range(10)}, "completions that are a power of two")
        expect(self.n_learned > 0, "rows that were learned from")

    def _check_precision(self, size: int) -> None:
        dense = isinstance(self.precision, DensePrecision)
        width = len(self.precision.matrix) if isinstance(self.precision, DensePrecision) else len(self.precision.noise)
        expect(width == size, "a precision of all columns")
        expect(dense == (self.moments is not None), "moments with a full precision only")
        if self.moments is not None:
            expect_shape(self.moments, (size, size), "moments")

    @cached_property
    def layout(self) -> Layout:
        """Where each kind of statistic stands in a vector of all of them."""
        return Layout.of(
            len(self.owner), len(self.paired), len(self.centres), len(self.entropy), len(self.missing_paired)
        )

    @cached_property
    def score_table(self) -> ScoreTable:
        """Scores less the model's mean, by the cells of axes."""
        return self.scores.table.centred(self.mean)

    @property
    def direct(self) -> bool:
        """Whether rows are compared as they are, not along principal directions."""
        return len(self.owner) <= MAX_DIRECT

    def fingerprint(self) -> bytes:
        """Digest of every number that decides what a row contributes."""
        digest = hashlib.sha256()
        add_to_digest(digest, self)
        return digest.digest()


def _check_places(places: Indices, n_columns: int, most: int) -> None:
    """Check what was read from a file: some columns, each once and in order."""
    expect_shape(places, (-1,), "paired columns")
    expect_range(places, 0, n_columns, "paired columns")
    expect(len(places) <= most and np.all(np.diff(places) > 0), "different paired columns, in order")


def fit_profile(
    rows: Encoded,
    compared: Encoded,
    schema: Schema,
    rng: np.random.Generator,
    *,
    n_rows: int,
    n_bins: int | None = None,
) -> Profile:
    """Profile of a reference.

    Parameters
    ----------
    rows : Encoded
        Rows that the profile is learned from.
    compared : Encoded
        Rows that windows are compared with: the same ones, or the other half of a split reference. Residuals are taken
        from them, so that a window with more missing values is no further from them than one without.
    schema : Schema
    rng : numpy.random.Generator
    n_rows : int
        Rows of the whole reference, of which these may be a sample.
    n_bins : int, optional
        Bins; by default one for every 50 rows, at most 20.
    """
    is_category = np.array([schema.columns[index].kind == "category" for index in schema.owner], dtype=bool)
    scores = fit_normal_scores(rows.values, ~is_category)
    values = scores.transform(rows.values)
    model = _sound(fit_gaussian(values, rng=rng), values)
    precision = _rounded(precision_of(model), scores, model.mean)
    completed = complete_rows(precision, values - model.mean, rng)
    mean, hidden = model.mean, completed
    if compared is not rows:
        others = scores.transform(compared.values)
        mean = _own_mean(precision, others, mean)
        hidden = complete_rows(precision, others - mean, rng)
    dense = isinstance(precision, DensePrecision)
    directions = _choose_directions(model)
    wanted = int(np.clip(len(values) // ROWS_PER_BIN, 2, MAX_DEFAULT_BINS)) if n_bins is None else n_bins
    points = completed @ directions
    if compared is rows:
        points = _gaussian_like(points, rng)
    partition = _cluster(points, wanted, rng)
    return Profile(
        scores,
        mean,
        precision,
        hidden.T @ hidden / len(hidden) if dense else None,
        _single(precision.multiply(make_donors(precision, hidden, schema.owner, MAX_DONORS, rng))),
        schema.owner,
        is_category,
        _collision_entropy(scores, rows, schema),
        directions,
        partition.centres,
        np.asarray(partition.sizes, dtype=np.intp),
        _choose_paired(len(is_category)),
        _choose_missing_paired(rows.missing),
        _choose_spread(n_rows),
        fitted_rows(len(values), len(is_category)),
        compared is not rows,
    )


def _sound(model: GaussianModel, values: Matrix) -> GaussianModel:
    """The model with some variance of every column, and no dependence on columns of which next to nothing was observed.

    The variance of a constant column among thousands of rows is next to none, and its inverse so large that the entries
    of all others would be rounded to nothing beside it. A handful of cells teaches slopes that are made of noise, along
    which a window that has the column would be filled.
    """
    few = (~np.isnan(values)).sum(axis=0) < FEWEST_TAUGHT
    if isinstance(model, FactorGaussian):
        noise = np.where(few, model.noise + (model.loadings**2).sum(axis=1), model.noise)
        return replace(model, loadings=np.where(few[:, None], 0.0, model.loadings), noise=noise)
    variance = np.maximum(np.diag(model.covariance), LEAST_VARIANCE)
    covariance = np.where(few | few[:, None], 0.0, model.covariance)
    np.fill_diagonal(covariance, variance)
    return replace(model, covariance=covariance)


def _rounded(precision: Precision, scores: NormalScores, mean: Vector) -> Precision:
    """A dense precision rounded so that its products with centred scores are exact."""
    if isinstance(precision, FactorPrecision):
        return precision
    largest = float(np.abs(scores.table.scores - mean[:, None]).max(initial=1.0)) + UNIT
    return exact_precision(precision, largest, UNIT)


def _single(donors: Matrix) -> Matrix:
    """Donors rounded to single precision, in which machine code keeps them."""
    return donors.astype(np.float32).astype(np.float64)


def _own_mean(precision: Precision, scores: Matrix, mean: Vector) -> Vector:
    """Mean of other rows than those that the model was learned from, by EM with its covariance: (columns,).

    Random completions would give a column that is constant in these rows a mean that none of them has.
    """
    missing = np.isnan(scores)
    patterns = find_patterns(missing)
    for _ in range(MEAN_STEPS):
        mean = mean + fill(precision, patterns, np.where(missing, 0.0, scores - mean)).mean(axis=0)
    return mean


def _gaussian_like(points: Matrix, rng: np.random.Generator) -> Matrix:
    """Gaussian points with the mean and the covariance of these.

    Clusters of the reference's own rows lie where these rows happen to be, and not those of a window. Of light tails
    their shares then vary less than by chance (Wald's statistic of 10 bins of 500 rows of 20 columns was 7.5 on average
    instead of 9); with heavy tails, few rows make up a cluster (10 of 10 windows of five answers to 164 questions
    alarmed).
    """
    covariance = np.atleast_2d(np.cov(points, rowvar=False))
    return rng.multivariate_normal(points.mean(axis=0), covariance, size=len(points), method="eigh")


def _cluster(points: Matrix, n_bins: int, rng: np.random.Generator) -> Partition:
    """Bins of rows, or of a sample of them where there are many: starts of k-means then differ little."""
    size = min(len(points), max(MAX_CLUSTERED, ROWS_PER_BIN * n_bins))
    if size == len(points):
        return fit_partition(points, n_bins, rng, n_starts=3)
    chosen = np.sort(rng.choice(len(points), size, replace=False, shuffle=False))
    return fit_partition(points[chosen], n_bins, rng, n_starts=1)


def _choose_directions(model: GaussianModel) -> Matrix:
    n_columns = len(model.mean)
    if n_columns <= MAX_DIRECT:
        return np.eye(n_columns)
    values, vectors = np.linalg.eigh(model.covariance)
    n_kept = int(np.clip(np.sum(values > LEAST_DIRECTION_VARIANCE), 2, N_DIRECTIONS))
    return np.ascontiguousarray(vectors[:, ::-1][:, :n_kept])


def _choose_spread(n_rows: int) -> int:
    """Completions of an incomplete row: a power of two, so that sums of shares are exact."""
    return int(2 ** np.floor(np.log2(np.clip(SPREAD_ROWS / n_rows, 1, MAX_SPREAD))))


def _choose_paired(n_columns: int) -> Indices:
    if n_columns <= MAX_PAIRED:
        return np.arange(n_columns)
    return np.sort(np.random.default_rng(n_columns).choice(n_columns, MAX_PAIRED, replace=False))


def _choose_missing_paired(missing: Mask) -> Indices:
    rates = missing.mean(axis=0)
    return np.sort(np.argsort(-rates * (1.0 - rates), kind="stable")[:MAX_MISSING_PAIRED])


def _collision_entropy(scores: NormalScores, rows: Encoded, schema: Schema) -> Vector:
    """Bits by which one observed value of each input column tells two rows apart: (input columns,)."""
    missing = np.ascontiguousarray(rows.missing[:, schema.owner].T)
    keys = scores.table.keys(np.array(rows.values.T, order="C"), missing)
    entropy = np.zeros(len(schema.columns))
    for column in range(len(schema.columns)):
        own = np.flatnonzero(schema.owner == column)
        if len(own):
            # One-hot columns hold one category together: its number, plus one, in the order of the columns.
            cells = (keys[own] * np.arange(1, len(own) + 1)[:, None]).sum(axis=0) if len(own) > 1 else keys[own[0]]
            entropy[column] = _collision_bits(cells[~missing[own[0]]])
    return entropy


def _collision_bits(cells: NDArray[Any]) -> float:
    """-log2 of the chance that two of some cells are the same."""
    counts, n_rows = np.bincount(cells.astype(np.intp)), len(cells)
    same = (counts * (counts - 1.0)).sum() / max(n_rows * (n_rows - 1.0), 1.0)
    return float(-np.log2(np.clip(same, 1.0 / N_CELLS, 1.0)))


def add_to_digest(digest: Any, value: Any) -> None:
    """Add a value to a digest: arrays by their bytes, records by their fields, the rest by what they print."""
    if isinstance(value, np.ndarray):
        digest.update(repr((value.shape, value.dtype.str)).encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, tuple):
        for item in value:
            add_to_digest(digest, item)
    elif hasattr(value, "__dataclass_fields__"):
        for item in fields(value):
            add_to_digest(digest, getattr(value, item.name))
    else:
        digest.update(repr(value).encode())
