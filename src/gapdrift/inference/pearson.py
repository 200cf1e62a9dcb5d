"""Pearson's chi-square test of the frequencies of bins."""

import numpy as np
from scipy.special import chdtrc

from gapdrift._typing import Matrix, Vector
from gapdrift.results import Finding

__all__ = ["MIN_EXPECTED", "SMALLEST_P", "expected_frequencies", "pearson", "why_not"]

MIN_EXPECTED = 5.0
"""Expected frequency below which Pearson's approximation is doubtful (Box et al.)."""

SMALLEST_P = float(np.finfo(float).tiny)
"""A p-value is never exactly 0: smaller ones than this are not told apart."""


def pearson(reference: Vector, window: Vector) -> Finding:
    """Pearson's chi-square test of two frequency vectors.

    Parameters
    ----------
    reference, window : (bins,) arrays
        Frequencies, fuzzy or whole.

    Returns
    -------
    finding : Finding
        ``contributions`` are those of the bins to the statistic. With fewer than two bins in use, or no row on a
        side, no test is possible: ``reason`` says why, ``p_value`` is 1, and statistic, degrees of freedom and effect
        size are None.

    Notes
    -----
    The statistic is the sum of (O - E)^2 / E over the 2 x K table, E = row total x column total / total,
    with (2 - 1)(K - 1) degrees of freedom; no continuity correction. A bin that is empty on both sides
    has no expected frequency: it is left out and costs its degree of freedom. The effect size is the
    total variation distance, half the sum of |p - q|: the share of rows that would have to move.

    Examples
    --------
    >>> finding = pearson(np.array([30.0, 20.0]), np.array([20.0, 30.0]))
    >>> finding.statistic, finding.degrees_of_freedom, round(finding.p_value, 4)
    (4.0, 1, 0.0455)
    """
    table = np.vstack([reference, window])
    totals = table.sum(axis=1, keepdims=True)
    expected = expected_frequencies(reference, window)
    used = np.all(expected > SMALLEST_P, axis=0)
    reason = why_not(totals.ravel(), int(used.sum()))
    if reason:
        return Finding("pearson", None, None, 1.0, None, reason=reason)
    contributions = np.zeros(table.shape[1])
    contributions[used] = ((table - expected)[:, used] ** 2 / expected[:, used]).sum(axis=0)
    statistic, degrees = float(contributions.sum()), int(used.sum()) - 1
    effect = 0.5 * float(np.abs(np.subtract(*(table / totals))).sum())
    p_value = max(float(chdtrc(degrees, statistic)), SMALLEST_P)
    return Finding("pearson", statistic, degrees, p_value, effect, tuple(contributions.tolist()))


def expected_frequencies(reference: Vector, window: Vector) -> Matrix:
    """Frequencies expected where both sides have one distribution: (2, bins)."""
    totals = np.array([reference.sum(), window.sum()])
    expected: Matrix = np.outer(totals, reference + window) / max(float(totals.sum()), 1.0)
    return expected


def why_not(totals: Vector, n_used: int) -> str:
    """Reason why the frequencies of bins cannot be compared, or nothing.

    Parameters
    ----------
    totals : (2,) array
        Sums of the frequencies of reference and window.
    n_used : int
        Number of bins in use.

    Examples
    --------
    >>> why_not(np.array([20.0, 0.0]), 2)
    'The window has no rows.'
    """
    # The weights of one row sum to 1 but for rounding.
    if totals[0] < 0.5:
        return "The reference has no rows."
    if totals[1] < 0.5:
        return "The window has no rows."
    return "All rows are in one bin." if n_used < 2 else ""
