"""Mean, scale and correlation of the statistics of batches, and how far a batch is from what is usual."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from gapdrift._typing import Indices, Matrix, Vector

__all__ = ["Block", "BlockModel", "Design", "design_of", "fit_block"]

SMALLEST_SHRINKAGE = 0.02
"""Share of the identity in a correlation matrix, at least: it has to be inverted."""

MIN_PRESENT = 5
"""Batches that have a statistic, at least, or it is not compared: what is usual of it is not known."""


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
        of them is about single columns only.
    of_values : bool
        Whether it belongs to the values, not to missingness.
    turn : (turned, statistics) array, optional
        The statistics are multiplied by it from the left before they are compared; `row_variance` is that of the
        turned ones. The largest is then that of what each statistic has beyond all others.
    upward : float
        Share of the false alarms that is spent on statistics that rise; one half where both directions are alike, 1
        where only rises count.
    """

    name: str
    row_variance: float | Vector
    together: float
    largest: float
    of_values: bool = True
    turn: Matrix | None = None
    upward: float = 0.5

    def turned(self, statistics: Matrix) -> Matrix:
        """Statistics as they are compared: (batches, statistics)."""
        return statistics if self.turn is None else statistics @ self.turn.T


class Design(NamedTuple):
    """Some batches, without those that are left out.

    Parameters
    ----------
    scored, kept : arrays of int
        Batches that are scored by those that are kept.
    terms : (batches, terms) array
        Calendar terms of those kept.
    information : (terms, terms) array
    n_rows : (batches,) array
    n_terms : int
        Number of independent terms.
    """

    scored: Indices
    kept: Indices
    terms: Matrix
    information: Matrix
    n_rows: Vector
    n_terms: int


@dataclass(frozen=True, eq=False)
class BlockModel:
    """Mean, scale and correlation of the statistics of a block over batches.

    Parameters
    ----------
    block : Block
    coefficients : (terms, statistics) array
        Of the calendar terms; the first is the mean.
    information : (terms, terms) array
        Inverse of the sums of products of the terms.
    n_rows : float
        Rows of a usual batch (harmonic mean).
    deviation : (statistics,) array
        Standard deviation of the residuals of a batch with as many rows; infinite where it is not known.
    between : (statistics,) array
        Share of their variance that does not shrink with the number of rows.
    longer : (statistics,) array
        Factor of the rest for many rows: above 1 where consecutive panes are correlated.
    directions, gains : (directions, statistics) and (directions,) arrays
        Principal directions of the correlation, and eigenvalues over its shrunken part.
    shrinkage : float
        Share of the identity in the correlation.
    freedom : (statistics,) array
        Degrees of freedom of the deviations.
    """

    block: Block
    coefficients: Matrix
    information: Matrix
    n_rows: float
    deviation: Vector
    between: Vector
    longer: Vector
    directions: Matrix
    gains: Vector
    shrinkage: float
    freedom: Vector

    def residuals(self, statistics: Matrix, terms: Matrix, n_rows: Vector) -> Matrix:
        """Differences from what is usual, over their standard deviations: (batches, statistics); 0 where missing."""
        usual = terms @ self.coefficients
        leverage = np.einsum("bi,ij,bj->b", terms, self.information, terms)[:, None]
        few = (self.n_rows / n_rows)[:, None]
        longer = 1.0 + (self.longer - 1.0) * np.clip(1.0 - few, 0.0, 1.0)
        variance = self.between + (1.0 - self.between) * few * longer + leverage * self.longer
        standardised: Matrix = np.nan_to_num((statistics - usual) / (self.deviation * np.sqrt(variance)))
        return standardised

    def together(self, residuals: Matrix) -> Vector:
        """Score of all statistics together, e' R^-1 e over their number: (batches,)."""
        found: Vector = (residuals * self._weighted(residuals)).sum(axis=1) / residuals.shape[1]
        return np.maximum(found, 0.0)

    def entries(self, residuals: Matrix) -> Matrix:
        """What is compared one by one: residuals, or what each statistic has beyond the others: (batches, statistics).

        Notes
        -----
        With A the turn over the deviations, an entry is (A' R^-1 e)_j / sqrt((A' R^-1 A)_jj): the best weights for a
        difference of this statistic alone.
        """
        if self.block.turn is None:
            return residuals
        back = self.block.turn / self.deviation[:, None]
        scale = np.sqrt(np.maximum(np.einsum("ij,ij->j", back, self._weighted(back.T).T), 1e-300))
        found: Matrix = self._weighted(residuals) @ back / scale
        return np.where(np.abs(back).max(axis=0) > 0, found, 0.0)

    def entry_p_values(self, entries: Matrix) -> Matrix:
        """p-values of single entries by Student's t: (batches, statistics)."""
        freedom = self.freedom if self.block.turn is None else float(self.freedom.min())
        upward = self.block.upward
        found = stdtr(freedom, -entries) / upward
        if upward < 1.0:
            found = np.minimum(found, stdtr(freedom, entries) / (1.0 - upward))
        bounded: Matrix = np.clip(found, 1e-300, 1.0)
        return bounded

    def _weighted(self, residuals: Matrix) -> Matrix:
        """R^-1 e for each row, R the shrunken correlation."""
        along = residuals @ self.directions.T
        weighted: Matrix = (residuals - (along * (self.gains / (1.0 + self.gains))) @ self.directions) / self.shrinkage
        return weighted

    @property
    def dimensions(self) -> float:
        """Number of independent statistics that vary as much together."""
        spectrum = self.shrinkage * (1.0 + np.pad(self.gains, (0, max(len(self.deviation) - len(self.gains), 0))))
        return float(spectrum.sum() ** 2 / (spectrum**2).sum())


def design_of(terms: Matrix, n_rows: Vector, scored: Indices, left_out: Indices) -> Design:
    """Batches without some of them.

    Parameters
    ----------
    terms : (batches, terms) array
        Of all batches.
    n_rows : (batches,) array
    scored, left_out : arrays of int
        Those that are scored by the others, and all that are left out for it.
    """
    kept = np.delete(np.arange(len(terms)), left_out)
    chosen = terms[kept]
    information = np.asarray(np.linalg.pinv(chosen.T @ chosen, rcond=1e-9, hermitian=True), dtype=np.float64)
    rank = int(np.linalg.matrix_rank(chosen)) if chosen.shape[1] > 1 else 1
    return Design(scored, kept, chosen, information, n_rows[kept], rank)


def fit_block(statistics: Matrix, design: Design, block: Block, *, as_panes: bool) -> BlockModel:
    """Model of the turned statistics of the batches that a design keeps."""
    # A batch without a value of a statistic is no evidence of it: it takes the mean of the others, and does not count.
    present = np.isfinite(statistics)
    n_present = present.sum(axis=0)
    means = np.where(present, statistics, 0.0).sum(axis=0) / np.maximum(n_present, 1)
    filled = np.where(present, statistics, means)
    terms, information, n_rows = design.terms, design.information, design.n_rows
    freedom = np.maximum(n_present - design.n_terms, 1).astype(float)
    coefficients = information @ (terms.T @ filled)
    residuals = filled - terms @ coefficients
    usual_rows = float(len(n_rows) / (1.0 / n_rows).sum())
    floor = np.broadcast_to(np.asarray(block.row_variance, dtype=float), means.shape) / usual_rows
    variance = np.maximum((residuals**2).sum(axis=0) / freedom, floor)
    between = np.zeros_like(variance) if as_panes else 1.0 - floor / variance
    few = (usual_rows / n_rows)[:, None]
    scaled = residuals / np.sqrt(between + (1.0 - between) * few)
    deviation = np.sqrt(np.maximum((scaled**2).sum(axis=0) / freedom, floor))
    deviation = np.where(n_present < min(MIN_PRESENT, len(statistics)), np.inf, deviation)
    shrinkage, gains, directions = _shrunken_correlation(scaled / deviation, len(n_rows) - design.n_terms)
    longer = _long_run(scaled) if as_panes else np.ones_like(variance)
    return BlockModel(
        block,
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
    size, freedom = standardised.shape[1], max(freedom, 1)
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
