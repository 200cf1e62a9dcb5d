"""Normal distribution of a few factors and noise: for many columns."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gapdrift.models.gaussian.patterns import (
    BLOCK_CELLS,
    Block,
    Booleans,
    Floats,
    Integers,
    Patterns,
    apply,
    cut,
    find_patterns,
    inverse,
    products,
)

__all__ = ["FactorGaussian", "conditional_factors", "factor_blocks", "fit_factor"]

MAX_RANK = 24
"""Factors at most."""

SMALLEST_STRENGTH = 0.02
"""Least variance of a factor at the start: from zero an EM does not move."""


@dataclass(frozen=True)
class FactorGaussian:
    """Normal distribution whose columns depend on each other through a few factors only.

    Parameters
    ----------
    mean : array of shape (columns,)
    loadings : array of shape (columns, rank)
    noise : array of shape (columns,)
        Variance of each column that the factors leave unexplained.

    Notes
    -----
    x = mean + loadings z + e with z ~ N(0, I) and e ~ N(0, diag(noise)).
    """

    mean: Floats
    loadings: Floats
    noise: Floats

    @property
    def covariance(self) -> Floats:
        """Covariance of shape (columns, columns): loadings loadings' + diag(noise)."""
        return self.loadings @ self.loadings.T + np.diag(self.noise)


def fit_factor(standard: Floats, rank: int | None, ridge: float, max_iter: int, tol: float) -> FactorGaussian:
    """The penalised maximum likelihood fit to standardised values, by EM.

    Notes
    -----
    Only the factors are latent: a missing cell says nothing, so steps are larger than those of an EM that also
    fills missing cells. The more columns, the closer principal components are to the factors, and the sooner EM may
    stop: with 1,000 columns, ten times the steps bring the fit less than 0.5 % closer to the truth.
    """
    patterns = find_patterns(np.isnan(standard))
    order = np.argsort(patterns.index, kind="stable")
    patterns = Patterns(patterns.missing, patterns.index[order])
    standard = standard[order]
    observed = (~np.isnan(standard)).astype(np.float64)
    zeroed = np.where(np.isnan(standard), 0.0, standard)
    model = _start_factor(zeroed, observed, rank)
    enough = tol * (1.0 + len(model.mean) / 200.0)
    for _ in range(max_iter):
        previous = model
        model = _factor_step(model, zeroed, observed, patterns, ridge)
        # Loadings may go on turning within a plane of equal factors; the noise does not see that.
        moved = np.stack([model.noise - previous.noise, model.mean - previous.mean])
        if np.sqrt(np.square(moved).mean(axis=1)).max() < enough:
            break
    return model


def _start_factor(zeroed: Floats, observed: Floats, rank: int | None) -> FactorGaussian:
    """Start values: principal components of the correlation matrix.

    Notes
    -----
    Independent columns have correlation matrices with eigenvalues up to (1 + sqrt(columns / rows))^2 (Marchenko and
    Pastur). Factors above that are kept, at least one. With a share q of cells observed, two columns meet in rows q^2
    rows.
    """
    n_rows, n_columns = zeroed.shape
    largest = min(n_rows, n_columns, MAX_RANK if rank is None else rank)
    eigenvalues, eigenvectors = _leading_components(zeroed, observed, max(1, largest))
    if rank is None:
        n_pairs = max(1.0, n_rows * (observed.sum() / max(1, observed.size)) ** 2)
        edge = (1.0 + np.sqrt(n_columns / n_pairs)) ** 2
        rank = max(1, int(np.sum(eigenvalues > edge)))
    strength = np.maximum(eigenvalues[:rank] - 1.0, SMALLEST_STRENGTH)
    loadings = eigenvectors[:, :rank] * np.sqrt(strength)
    noise = np.maximum(1.0 - np.square(loadings).sum(axis=1), 0.1)
    return FactorGaussian(np.zeros(n_columns), loadings, noise)


def _leading_components(zeroed: Floats, observed: Floats, rank: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues (rank,) and eigenvectors (columns, rank) of the correlation.

    Notes
    -----
    Subspace iteration; the matrix itself is never built. A zero in place of each missing cell shrinks a covariance by
    the shares observed of both columns: the division by them undoes that; what it does to the diagonal is taken back.
    Columns that are hardly ever observed would bring in more noise than signal; theirs are left shrunk.
    """
    n_rows, n_columns = max(1, len(zeroed)), zeroed.shape[1]
    raised = zeroed / np.maximum(observed.sum(axis=0) / n_rows, 0.1)
    excess = (np.square(raised).sum(axis=0) / n_rows - 1.0)[:, None]
    # Where the iteration starts has no influence on where it ends.
    start = np.random.default_rng(0).standard_normal((n_columns, min(rank + 8, n_columns)))
    basis = np.linalg.qr(start)[0]
    for _ in range(8):
        basis = np.linalg.qr(raised.T @ (raised @ basis) / n_rows - excess * basis)[0]
    image = raised.T @ (raised @ basis) / n_rows - excess * basis
    eigenvalues, rotation = np.linalg.eigh(basis.T @ image)
    return eigenvalues[::-1][:rank], (basis @ rotation)[:, ::-1][:, :rank]


def _factor_step(
    model: FactorGaussian, zeroed: Floats, observed: Floats, patterns: Patterns, ridge: float
) -> FactorGaussian:
    """The model after one EM step; rows must come by rising pattern.

    Notes
    -----
    Each column is regressed on the expected factors over the rows where it is observed, with a penalty worth one row on
    its coefficients and one row of unit noise; both vanish as rows grow.
    """
    rank = model.loadings.shape[1]
    spread = conditional_factors(model, patterns.missing)
    pull = (zeroed - model.mean * observed) @ _precision_loadings(model)
    score = apply(spread, patterns.index, pull)
    design = np.column_stack([score, np.ones(len(score))])
    second = _second_moments(design, spread, patterns.index)
    gram = _symmetric(observed.T @ second, rank + 1) + np.eye(rank + 1)
    cross = zeroed.T @ design
    coefficients = products(inverse(gram), cross)
    residual = np.square(zeroed).sum(axis=0) - (coefficients * cross).sum(axis=1)
    noise = (residual + 1.0) / (observed.sum(axis=0) + 1.0) + ridge
    return FactorGaussian(coefficients[:, -1], coefficients[:, :-1], noise)


def _second_moments(design: Floats, spread: Floats, index: Integers) -> Floats:
    """Upper triangles of E[(z, 1) (z, 1)' | observed] of each row."""
    size = design.shape[1]
    upper = np.triu_indices(size)
    padded = np.zeros((len(spread), size, size))
    padded[:, :-1, :-1] = spread
    moments = padded[:, upper[0], upper[1]][index]
    moments += design[:, upper[0]] * design[:, upper[1]]
    return moments


def factor_blocks(patterns: Patterns, cells_each: int) -> Iterator[Block]:
    """Yield runs of incomplete patterns so short that `cells_each` cells for each are few."""
    step = max(1, BLOCK_CELLS // cells_each)
    n_patterns = len(patterns.missing)
    return cut(patterns, np.append(np.arange(1, n_patterns, step), n_patterns))


def _precision_loadings(model: FactorGaussian) -> Floats:
    """The loadings over the noise, (columns, rank): what a cell says about the factors."""
    return model.loadings / model.noise[:, None]


def conditional_factors(model: FactorGaussian, missing: Booleans) -> Floats:
    """The conditional covariance of the factors for each pattern: (patterns, rank, rank).

    Notes
    -----
    Cov[z | x_o] = (I + L_o' diag(noise_o)^-1 L_o)^-1: a sum over the observed columns, so one matrix product for all
    patterns.
    """
    rank = model.loadings.shape[1]
    upper = np.triu_indices(rank)
    products = _precision_loadings(model)[:, upper[0]] * model.loadings[:, upper[1]]
    precision = _symmetric((~missing).astype(np.float64) @ products, rank)
    precision[:, range(rank), range(rank)] += 1.0
    return inverse(precision)


def _symmetric(packed: Floats, size: int) -> Floats:
    """Full matrices (n, size, size) from their upper triangles (n, size (size + 1) / 2)."""
    position = np.empty((size, size), dtype=np.intp)
    upper = np.triu_indices(size)
    position[upper] = position.T[upper] = np.arange(packed.shape[1])
    return packed[:, position]
