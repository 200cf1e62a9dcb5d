"""Mean, scale and correlation of the statistics of batches, and how far a batch is from what is usual."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from gapdrift._typing import Matrix, Vector

__all__ = ["Block", "BlockModel", "Margins", "fit_block", "fit_margins"]

SMALLEST_SHRINKAGE = 0.02
"""Share of the identity in a correlation matrix, at least: it has to be inverted."""

MIN_PRESENT = 5
"""Batches that have a statistic, at least, or it is not compared: what is usual of it is not known."""


@dataclass(frozen=True, eq=False)
class Block:
    """How statistics of one kind are compared.

    Parameters
    ----------
    name : str
    row_variance : float
        Variance of the statistic of one row, at least: that of independent rows.
    together, largest : float
        Weights of the score of all statistics together and of the largest one, which are judged by those of batches; 0
        leaves it out.
    unseen : float or (statistics,) array, optional
        Each statistic is also judged by itself, as if one more batch had been off by this: the fewer batches there are,
        the less is known of odd ones. None if it is not judged by itself.
    of_values : bool
        Whether it belongs to the values, not to missingness.
    turn : (turned, statistics) array, optional
        The statistics are multiplied by it from the left before they are scored. The largest is then that of what each
        has beyond all others.
    rises : bool
        Whether only statistics that rise are scored.
    """

    name: str
    row_variance: float
    together: float = 0.0
    largest: float = 0.0
    unseen: float | Vector | None = None
    of_values: bool = True
    turn: Matrix | None = None
    rises: bool = False

    def turned(self, statistics: Matrix, centre: Vector) -> Matrix:
        """Statistics as they are scored; where a batch has none, the turn takes the mean of all."""
        if self.turn is None:
            return statistics
        return np.where(np.isfinite(statistics), statistics, centre) @ self.turn.T


@dataclass(frozen=True, eq=False)
class Margins:
    """Mean and scale of statistics over batches, each by itself.

    Parameters
    ----------
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
    freedom : (statistics,) array
        Degrees of freedom of the deviations.
    """

    coefficients: Matrix
    information: Matrix
    n_rows: float
    deviation: Vector
    between: Vector
    longer: Vector
    freedom: Vector

    def residuals(self, statistics: Matrix, terms: Matrix, n_rows: Vector) -> Matrix:
        """Differences from what is usual, over their standard deviations: (batches, statistics); 0 where unknown."""
        leverage = np.einsum("bi,ij,bj->b", terms, self.information, terms)[:, None]
        few = (self.n_rows / n_rows)[:, None]
        longer = 1.0 + (self.longer - 1.0) * np.clip(1.0 - few, 0.0, 1.0)
        variance = self.between + (1.0 - self.between) * few * longer + leverage * self.longer
        known = np.isfinite(statistics)
        away = np.where(known, statistics, 0.0) - terms @ self.coefficients
        standardised: Matrix = np.where(known, away / (self.deviation * np.sqrt(variance)), 0.0)
        return standardised


@dataclass(frozen=True, eq=False)
class BlockModel:
    """What is usual of the scored statistics of a block, and how they go together.

    Parameters
    ----------
    block : Block
    centre : (statistics,) array
        Means over batches.
    margins : Margins
        Of the turned statistics.
    directions, gains : (directions, statistics) and (directions,) arrays
        Principal directions of the correlation, and eigenvalues over its shrunken part.
    shrinkage : float
        Share of the identity in the correlation.
    """

    block: Block
    centre: Vector
    margins: Margins
    directions: Matrix
    gains: Vector
    shrinkage: float

    def residuals(self, statistics: Matrix, terms: Matrix, n_rows: Vector) -> Matrix:
        """Differences of the turned statistics from what is usual, over their standard deviations."""
        return self.margins.residuals(self.block.turned(statistics, self.centre), terms, n_rows)

    def together(self, residuals: Matrix) -> Vector:
        """Score of all statistics together, e' R^-1 e over their number: (batches,)."""
        found: Vector = (residuals * self._weighted(residuals)).sum(axis=1) / residuals.shape[1]
        return np.maximum(found, 0.0)

    def single_p_values(self, residuals: Matrix) -> Matrix:
        """p-values of single statistics, or of what each has beyond the others, by Student's t.

        Notes
        -----
        With A the turn over the deviations, what a statistic has beyond the others is (A' R^-1 e)_j /
        sqrt((A' R^-1 A)_jj): the best weights for a difference of this statistic alone.
        """
        freedom: Vector | float = self.margins.freedom
        if self.block.turn is not None:
            back = self.block.turn / self.margins.deviation[:, None]
            scale = np.sqrt(np.maximum(np.einsum("ij,ij->j", back, self._weighted(back.T).T), 1e-300))
            moved = np.abs(back).max(axis=0, initial=0.0) > 0
            residuals, freedom = np.where(moved, self._weighted(residuals) @ back / scale, 0.0), self.freedom
        found = stdtr(freedom, -residuals) if self.block.rises else 2.0 * stdtr(freedom, -np.abs(residuals))
        bounded: Matrix = np.clip(found, 1e-300, 1.0)
        return bounded

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the statistic that the most batches have."""
        return float(self.margins.freedom.max())

    @property
    def dimensions(self) -> float:
        """Number of independent statistics that vary as much together."""
        size = len(self.margins.deviation)
        spectrum = self.shrinkage * (1.0 + np.pad(self.gains, (0, max(size - len(self.gains), 0))))
        return max(float(spectrum.sum() ** 2 / (spectrum**2).sum()), 1.0)

    def _weighted(self, residuals: Matrix) -> Matrix:
        """R^-1 e for each row, R the shrunken correlation."""
        along = residuals @ self.directions.T
        weighted: Matrix = (residuals - (along * (self.gains / (1.0 + self.gains))) @ self.directions) / self.shrinkage
        return weighted


def fit_margins(
    statistics: Matrix,
    terms: Matrix,
    n_rows: Vector,
    row_variance: float,
    unseen: float | Vector = 0.0,
    *,
    as_panes: bool,
) -> tuple[Margins, Matrix]:
    """What is usual of statistics, and the standardised residuals of the batches themselves.

    Parameters
    ----------
    statistics : (batches, statistics) array
        Infinite where a batch has none: it takes the mean of the others, and does not count.
    terms : (batches, terms) array
        Calendar terms, after a first column of 1.
    n_rows : (batches,) array
    row_variance, unseen : float or (statistics,) array
        As of `Block`.
    as_panes : bool
        Whether all variance shrinks with the number of rows.
    """
    n_known = np.isfinite(statistics).sum(axis=0)
    filled = np.where(np.isfinite(statistics), statistics, _centre(statistics))
    information = np.asarray(np.linalg.pinv(terms.T @ terms, rcond=1e-9, hermitian=True), dtype=np.float64)
    freedom = np.maximum(n_known - int(np.linalg.matrix_rank(information, hermitian=True)), 1).astype(float)
    coefficients = information @ (terms.T @ filled)
    residuals = filled - terms @ coefficients
    usual_rows = float(len(n_rows) / (1.0 / n_rows).sum())
    floor, odd = row_variance / usual_rows, np.square(unseen)
    variance = np.maximum(((residuals**2).sum(axis=0) + odd) / freedom, floor)
    between = np.zeros_like(variance) if as_panes else 1.0 - floor / variance
    scaled = residuals / np.sqrt(between + (1.0 - between) * (usual_rows / n_rows)[:, None])
    deviation = np.sqrt(np.maximum(((scaled**2).sum(axis=0) + odd) / freedom, floor))
    deviation = np.where(n_known < min(MIN_PRESENT, len(statistics)), np.inf, deviation)
    longer = _long_run(scaled) if as_panes else np.ones_like(variance)
    return Margins(coefficients, information, usual_rows, deviation, between, longer, freedom), scaled / deviation


def fit_block(statistics: Matrix, terms: Matrix, n_rows: Vector, block: Block, *, as_panes: bool) -> BlockModel:
    """What is usual of a block; parameters as of `fit_margins`."""
    centre = _centre(statistics)
    turned = block.turned(statistics, centre)
    margins, standardised = fit_margins(turned, terms, n_rows, block.row_variance, as_panes=as_panes)
    return BlockModel(block, centre, margins, *_shrunken_correlation(standardised, len(terms) - terms.shape[1]))


def _centre(statistics: Matrix) -> Vector:
    known = np.isfinite(statistics)
    centre: Vector = np.where(known, statistics, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return centre


def _shrunken_correlation(standardised: Matrix, freedom: int) -> tuple[Matrix, Vector, float]:
    """Principal directions of a correlation, eigenvalues over the share of the identity, and this share.

    It is shrunk by what squared correlations have by chance (oracle approximating shrinkage, Chen and others 2010).
    """
    size, freedom = standardised.shape[1], max(freedom, 1)
    if size < 2:
        return np.zeros((0, size)), np.zeros(0), 1.0
    # The smaller of both products has the same eigenvalues.
    wide = standardised.shape[0] < size
    values, vectors = np.linalg.eigh(standardised @ standardised.T if wide else standardised.T @ standardised)
    kept = values > 1e-10 * max(float(values[-1]), 1e-300)
    values, vectors = values[kept], vectors[:, kept]
    directions = (vectors / np.sqrt(values)).T @ standardised if wide else vectors.T
    values = values / freedom
    trace, squares = float(values.sum()), float((values**2).sum())
    room = squares - trace**2 / size
    wanted = ((1.0 - 2.0 / size) * squares + trace**2) / ((freedom + 1.0 - 2.0 / size) * room) if room > 0 else 1.0
    shrinkage = float(np.clip(wanted, SMALLEST_SHRINKAGE, 1.0))
    return directions, (1.0 - shrinkage) * values / shrinkage, shrinkage


def _long_run(residuals: Matrix) -> Vector:
    """Variance of long means over that of independent panes: Bartlett-weighted correlations of consecutive panes."""
    variance = np.maximum((residuals**2).sum(axis=0), 1e-300)
    lags = int(np.ceil(len(residuals) ** (1 / 3)))
    total = np.ones(residuals.shape[1])
    for lag in range(1, min(lags, len(residuals) - 1) + 1):
        products = (residuals[lag:] * residuals[:-lag]).sum(axis=0) / variance
        total += 2.0 * (1.0 - lag / (lags + 1.0)) * products
    return np.maximum(total, 1.0)
