"""p-values by how far the scores of others reach: ranks among them, and beyond the largest ones their own decline."""

from typing import NamedTuple

import numpy as np

from gapdrift._typing import Vector

__all__ = ["ScoreTail", "fit_tail"]

MIN_LARGEST = 10
"""Scores that the decline is learned from, at least, where they are not more than half of all."""


class ScoreTail(NamedTuple):
    """How scores decline.

    Parameters
    ----------
    ordered : (scores,) array
        In ascending order.
    n_largest : int
        Number of the largest ones, from which the decline was learned.
    anchor : float
        Score above which they lie.
    excess, number : float
        Sum of what they lie above it, and their number, both with what is known beforehand.
    """

    ordered: Vector
    n_largest: int
    anchor: float
    excess: float
    number: float

    def p_values(self, scores: Vector) -> Vector:
        """Probability that another score of the same kind is at least as large, for each score.

        Notes
        -----
        Up to the anchor these are ranks, (k + f) / (N + 1), where k of the N others are larger and f is the place
        between the two neighbours; equal scores take the last of their places. Beyond, with r the sum of n excesses
        over the anchor, (n / N) (1 + x / r)^-n: what the excess x of one more exponential variable has to expect.
        """
        ranks = self._ranks(scores)
        beyond = (self.n_largest + 0.5) / (len(self.ordered) + 1.0) * self._decline(scores, self.excess, self.number)
        found: Vector = np.where(scores > self.anchor, beyond, ranks)
        return np.clip(found, 1e-300, 1.0)

    def own_p_values(self, scores: Vector) -> Vector:
        """The same for the scores that it was learned from, each among the others."""
        n_scores = len(self.ordered)
        over = np.maximum(scores - self.anchor, 0.0)
        is_largest = scores > self.anchor
        excess, count = np.maximum(self.excess - over, 1e-9), np.maximum(self.number - is_largest, 1.0)
        beyond = (self.n_largest - 0.5) / n_scores * self._decline(scores, np.maximum(excess, count), count)
        n_at_least = n_scores - np.searchsorted(self.ordered, scores, side="left")
        return np.clip(np.where(is_largest, beyond, n_at_least / n_scores), 1e-300, 1.0)

    def _decline(self, scores: Vector, excess: float | Vector, count: float | Vector) -> Vector:
        declined: Vector = np.exp(-count * np.log1p(np.maximum(scores - self.anchor, 0.0) / excess))
        return declined

    def _ranks(self, scores: Vector) -> Vector:
        first, last = (np.searchsorted(self.ordered, scores, side=side) for side in ("left", "right"))
        n_scores = len(self.ordered)
        padded = np.concatenate([[self.ordered[0] - 1.0], self.ordered, [self.ordered[-1] + 1.0]])
        low, high = padded[first], padded[last + 1]
        place = np.clip((high - scores) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
        tied = last > first
        found: Vector = (n_scores - np.where(tied, first, last) + np.where(tied, 1.0, place)) / (n_scores + 1.0)
        return found


def fit_tail(scores: Vector, known: float, *, never_faster: bool = True) -> ScoreTail:
    """Decline of some scores, at least two: minus the logarithms of what is about uniform.

    Parameters
    ----------
    scores : (scores,) array
    known : float
        How many excesses of mean 1 what is known beforehand counts for.
    never_faster : bool, default True
        Whether the decline is never taken to be faster than that of excesses of mean 1.

    Examples
    --------
    >>> tail = fit_tail(-np.log((np.arange(20) + 0.5) / 20), known=5.0)
    >>> np.round(tail.p_values(-np.log(np.array([0.5, 0.05, 0.001]))), 3)
    array([0.501, 0.059, 0.003])
    """
    ordered = np.sort(scores)
    n_scores = len(ordered)
    n_largest = min(n_scores // 2, max(MIN_LARGEST, int(np.ceil(n_scores ** (2 / 3)))))
    anchor = float(0.5 * (ordered[n_scores - n_largest] + ordered[n_scores - n_largest - 1]))
    count = known + n_largest
    excess = known + float((ordered[n_scores - n_largest :] - anchor).sum())
    return ScoreTail(ordered, n_largest, anchor, max(excess, count) if never_faster else excess, count)
