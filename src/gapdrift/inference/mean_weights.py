"""Wald's test of the mean weights of bins, with the covariance that the weights themselves show."""

import numpy as np
from scipy.special import fdtrc

from gapdrift._typing import Matrix, Vector
from gapdrift.inference.counts import SMALLEST_EIGENVALUE
from gapdrift.inference.pearson import SMALLEST_P, why_not
from gapdrift.results import Finding

__all__ = ["compare_mean_weights"]

MIN_DEVIATION = 1e-5
"""A bin whose weights vary less than this from row to row is left out."""


def compare_mean_weights(
    reference: tuple[Vector, Matrix], window: tuple[Vector, Matrix], n_reference: int, n_window: int
) -> Finding:
    """Wald's (Hotelling's) test of the mean weights of the rows of two samples.

    Parameters
    ----------
    reference, window : pairs of a (bins,) and a (bins, bins) array
        Sums of the rows' weights w, and of their products w w'.
    n_reference, n_window : int
        Rows of each sample.

    Returns
    -------
    finding : Finding
        ``contributions`` are the squared standardised differences of the single bins. With fewer than two bins in use,
        or too few rows, no test is possible: ``reason`` says why, ``p_value`` is 1, and statistic, degrees of freedom
        and effect size are None.

    Notes
    -----
    T = d' S^-1 d / (1/m + 1/n) on the non-null space of S, of rank r, where d is the difference of the mean weights
    and S their covariance within the samples, with f = m + n - 2 degrees of freedom: T (f + 1 - r) / (f r) is
    distributed as F(r, f + 1 - r). Weights of whole rows, one bin each, give S the form that Pearson's test assumes,
    and nearly its p-value. Weights that a row divides among bins vary less than that: Pearson's test then expects more
    variation than there is, and finds less. The effect size is the total variation distance, as of Pearson's test.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> one, two = rng.dirichlet([4, 4, 4], 200), rng.dirichlet([5, 4, 4], 200)  # weights of rows in three bins
    >>> sums = [(rows.sum(axis=0), rows.T @ rows) for rows in (one, two)]
    >>> finding = compare_mean_weights(*sums, 200, 200)
    >>> finding.degrees_of_freedom, finding.p_value < 0.05
    (2, True)
    """
    totals = np.array([reference[0].sum(), window[0].sum()])
    covariance = _within(reference, n_reference) + _within(window, n_window)
    freedom = n_reference + n_window - 2
    deviation = np.sqrt(np.clip(np.diag(covariance), 0.0, None) / max(freedom, 1))
    used = np.flatnonzero(deviation > MIN_DEVIATION)
    reason = why_not(totals, len(used))
    if not reason and freedom < len(used):
        reason = (
            f"There are {n_reference + n_window} rows for {len(used)} bins: too few to tell how their weights vary."
        )
    if reason:
        return Finding("wald", None, None, 1.0, None, reason=reason)
    difference = reference[0] / n_reference - window[0] / n_window
    scores = difference[used] / deviation[used] / np.sqrt(1.0 / n_reference + 1.0 / n_window)
    correlation = covariance[np.ix_(used, used)] / freedom / np.outer(deviation[used], deviation[used])
    values, vectors = np.linalg.eigh(correlation)
    kept = values > SMALLEST_EIGENVALUE
    rank = int(kept.sum())
    statistic = float((((scores @ vectors)[kept]) ** 2 / values[kept]).sum())
    p_value = float(fdtrc(rank, freedom + 1 - rank, statistic * (freedom + 1 - rank) / (freedom * rank)))
    contributions = np.zeros(len(difference))
    contributions[used] = scores**2
    effect = 0.5 * float(np.abs(difference).sum())
    return Finding("wald", statistic, rank, max(p_value, SMALLEST_P), effect, tuple(contributions.tolist()))


def _within(sums: tuple[Vector, Matrix], n_rows: int) -> Matrix:
    """Sum of squares and products about the mean: (bins, bins)."""
    weights, products = sums
    return np.asarray(products - np.outer(weights, weights) / max(n_rows, 1))
