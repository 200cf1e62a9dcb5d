"""QuantTree (Boracchi et al. 2018): a histogram of bins of equal probability whose null needs no distribution."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.baselines._seam import Outcome, Rng, as_sample
from gapdrift._typing import Matrix
from gapdrift._validation import check_choice, check_count, check_nonnegative
from gapdrift.errors import ParameterError

__all__ = [
    "Cut",
    "FittedQuantTree",
    "Interval",
    "QuantTree",
    "bin_sizes",
    "build",
    "build_scripted",
    "count_in_intervals",
    "count_rows",
    "null_statistics",
    "principal_axes",
    "statistic",
    "turn",
]

Counter = Callable[[Matrix, np.random.Generator], NDArray[np.intp]]

NULL_SEED = 2018
"""Seed of the simulated null distribution, which depends on three numbers only, so that every process has the same."""


class Cut(NamedTuple):
    """One bin: the rows not yet in a bin that lie in a tail of one column.

    A row that equals ``value`` draws a uniform number, and lies below or above the cut as this number lies below or
    above ``tie``.
    """

    column: int
    below: bool
    value: float
    tie: float


def bin_sizes(n_rows: int, n_bins: int) -> tuple[int, ...]:
    """Number of reference rows in each bin: as equal as whole numbers allow.

    Examples
    --------
    >>> bin_sizes(10, 4)
    (2, 3, 2, 3)
    """
    sizes, left = [], n_rows
    for bins_left in range(n_bins, 0, -1):
        sizes.append(round(left / bins_left))
        left -= sizes[-1]
    return tuple(sizes)


def principal_axes(rows: Matrix) -> Matrix:
    """Directions in which rows vary most, from most to least, as rows of a matrix.

    Notes
    -----
    An axis and its opposite are as good, but not to a tree that takes lower or upper tails. As in scikit-learn of
    2019, the row that lies farthest out along an axis lies on its positive side.

    Examples
    --------
    >>> import numpy as np
    >>> principal_axes(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 5.0]]))[0]
    array([0., 1.])
    """
    along, _, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    farthest = along[np.abs(along).argmax(axis=0), np.arange(along.shape[1])]
    return np.asarray(axes * np.where(farthest < 0, -1.0, 1.0)[:, None])


def turn(rows: Matrix, axes: Matrix) -> Matrix:
    """Rows in the coordinates of these axes.

    Examples
    --------
    >>> import numpy as np
    >>> turn(np.array([[1.0, 2.0]]), np.array([[0.0, 1.0]]))
    array([[2.]])
    """
    # Not a product of matrices, whose rounding changes with the number of rows: equal rows must stay equal.
    return np.asarray(np.einsum("ij,kj->ik", rows, axes, optimize=False))


def build(reference: Matrix, n_bins: int, rng: np.random.Generator) -> tuple[Cut, ...]:
    """Cuts of all bins but the last, which is what the others leave.

    Parameters
    ----------
    reference : (rows, columns) array
    n_bins : int
    rng : numpy.random.Generator

    Notes
    -----
    Each bin takes a column at random and its lower or upper tail at random: of the rows not yet in a bin, those up to
    the L-th smallest or from the L-th largest. With continuous columns the bin's share of the probability that is left
    is Beta(L, rows left - L + 1), whatever the distribution (Boracchi et al. 2018, Theorem 1). Ties are broken at
    random, each row by a number of its own, so that this holds for discrete columns too.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> cuts = build(rng.random((100, 2)), 4, rng)
    >>> [cut.column in (0, 1) and 0 < cut.value < 1 for cut in cuts]
    [True, True, True]
    """
    cuts, rest = [], reference
    for size in bin_sizes(len(reference), n_bins)[:-1]:
        column, below = int(rng.integers(reference.shape[1])), bool(rng.integers(2))
        values, ties = rest[:, column], rng.random(len(rest))
        order = np.lexsort((ties, values))
        inside = order[:size] if below else order[-size:]
        edge = inside[-1] if below else inside[0]
        cuts.append(Cut(column, below, float(values[edge]), float(ties[edge])))
        rest = np.delete(rest, inside, axis=0)
    return tuple(cuts)


def count_rows(cuts: tuple[Cut, ...], rows: Matrix, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows in each bin.

    Returns
    -------
    counts : (len(cuts) + 1,) array

    Examples
    --------
    >>> import numpy as np
    >>> cuts = (Cut(column=0, below=True, value=1.5, tie=0.5), Cut(column=0, below=False, value=3.5, tie=0.5))
    >>> count_rows(cuts, np.array([[0.0], [1.0], [2.0], [4.0]]), np.random.default_rng(0)).tolist()
    [2, 1, 1]
    """
    counts, rest = [], rows
    for cut in cuts:
        values = rest[:, cut.column]
        inside = values < cut.value if cut.below else values > cut.value
        equal = np.flatnonzero(values == cut.value)
        if len(equal):
            draws = rng.random(len(equal))
            inside[equal] = draws <= cut.tie if cut.below else draws >= cut.tie
        counts.append(int(np.count_nonzero(inside)))
        rest = rest[~inside]
    return np.array([*counts, len(rest)])


class Interval(NamedTuple):
    """One bin of the published scripts: the rows not yet in a bin with ``low`` < value of the column <= ``high``."""

    column: int
    low: float
    high: float


def build_scripted(reference: Matrix, n_bins: int, state: np.random.RandomState) -> tuple[Interval, ...]:
    """Bins of the published scripts, all but the last, which is what the others leave.

    Parameters
    ----------
    reference : (rows, columns) array
    n_bins : int
    state : numpy.random.RandomState
        Draws as many numbers as the scripts do: two for each bin but the last, and one for that.

    Notes
    -----
    L rows leave with each bin, but its edge is the next one of the rows that stay: a lower tail ends at the (L + 1)-th
    smallest value, included, and so holds L + 1 rows of the reference, an upper one begins at the L-th largest, not
    included, and holds L - 1.

    Examples
    --------
    >>> build_scripted(np.arange(10.0)[:, None], 2, np.random.RandomState(1))
    (Interval(column=0, low=5.0, high=inf),)
    """
    bins, rest = [], reference
    lowest, highest = np.full(reference.shape[1], -np.inf), np.full(reference.shape[1], np.inf)
    for size in bin_sizes(len(reference), n_bins)[:-1]:
        column = int(state.randint(reference.shape[1]))
        order = np.argsort(rest[:, column], kind="stable")
        below = not state.randint(2)
        edge = float(rest[order[size if below else -size], column])
        bins.append(
            Interval(column, float(lowest[column]), edge) if below else Interval(column, edge, float(highest[column]))
        )
        (lowest if below else highest)[column] = edge
        rest = np.delete(rest, order[:size] if below else order[-size:], axis=0)
    state.randint(reference.shape[1])
    return tuple(bins)


def count_in_intervals(bins: tuple[Interval, ...], rows: Matrix) -> NDArray[np.intp]:
    """Rows in each bin of the published scripts: (bins + 1,).

    Examples
    --------
    >>> tails = Interval(0, -np.inf, 1.0), Interval(0, 3.0, np.inf)
    >>> count_in_intervals(tails, np.array([[1.0], [3.0], [4.0]])).tolist()
    [1, 1, 1]
    """
    counts, rest = [], rows
    for column, low, high in bins:
        inside = (low < rest[:, column]) & (rest[:, column] <= high)
        counts.append(int(np.count_nonzero(inside)))
        rest = rest[~inside]
    return np.array([*counts, len(rest)])


def statistic(counts: NDArray[np.intp]) -> Matrix:
    """Pearson statistic of counts (..., bins) against equal shares.

    Notes
    -----
    sum of (count - n / K)^2 / (n / K), written so that equal counts give equal numbers to the bit.

    Examples
    --------
    >>> import numpy as np
    >>> float(statistic(np.array([10, 20, 30])))
    10.0
    """
    total = counts.sum(axis=-1)
    squares = (counts.astype(np.int64) ** 2).sum(axis=-1)
    return np.asarray((squares * counts.shape[-1] - total**2) / total)


@lru_cache(maxsize=64)
def null_statistics(n_reference: int, n_window: int, n_bins: int, simulations: int = 100_000) -> Matrix:
    """Sorted statistics of windows without drift, for any distribution.

    Parameters
    ----------
    n_reference, n_window, n_bins : int
    simulations : int, default=100_000

    Returns
    -------
    statistics : (simulations,) array, read-only

    Notes
    -----
    The law is that of a univariate uniform reference. Its bins have probabilities in proportion to the spacings of
    sorted uniform numbers, which are drawn directly: independent Gamma(size) variables, one per bin, the last with one
    spacing more, divided by their sum. The window's counts are multinomial.

    Examples
    --------
    >>> import numpy as np
    >>> bool(30 < np.quantile(null_statistics(500, 500, 10, 2000), 0.95) < 37)
    True
    """
    rng = np.random.default_rng([NULL_SEED, n_reference, n_window, n_bins])
    spacings = np.array(bin_sizes(n_reference, n_bins), dtype=float)
    spacings[-1] += 1
    gammas = rng.standard_gamma(spacings, size=(simulations, n_bins))
    counts = rng.multinomial(n_window, gammas / gammas.sum(axis=1, keepdims=True))
    statistics = np.sort(statistic(counts))
    statistics.flags.writeable = False
    return statistics


@dataclass(frozen=True)
class QuantTree:
    """Settings of the QuantTree test with the Pearson statistic.

    Parameters
    ----------
    n_bins : int or None, default=None
        None means one bin for every 50 rows of the reference, at least 2, as in the paper.
    pca : bool, default=False
        Turn the columns onto the principal axes of the reference first, as the published scripts do. The axes fit the
        reference better than a window, so that the null no longer holds: with 500 rows of independent Gaussian columns
        a significance level of 0.05 gave 0.07 false alarms with 4 columns, 0.15 with 10 and 0.70 with 50.
    threshold : float or None, default=None
        Fixed threshold that decides in place of the p-value.
    bins : {"exact", "scripts"}, default="exact"
        "scripts", a published quirk: bins that hold a row more or less than they should, see `build_scripted`; ``rng``
        is then a ``RandomState``.
    simulations : int, default=100_000
        Of the null.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> fitted = QuantTree(n_bins=5).fit(rng.normal(size=(200, 3)), rng)
    >>> fitted.test(rng.normal(size=(200, 3)) + 1, rng).rejects(alpha=0.05)
    True
    """

    n_bins: int | None = None
    pca: bool = False
    threshold: float | None = None
    bins: Literal["exact", "scripts"] = "exact"
    simulations: int = 100_000

    def __post_init__(self) -> None:
        check_count("n_bins", self.n_bins, 2, optional=True)
        check_choice("bins", self.bins, ("exact", "scripts"))
        check_count("simulations", self.simulations, 100)
        if self.threshold is not None:
            check_nonnegative("threshold", self.threshold)

    @classmethod
    def as_published(cls, n_rows: int) -> "QuantTree":
        """Settings of the published scripts for samples of 500 or 1000 rows.

        Examples
        --------
        >>> QuantTree.as_published(500).threshold
        33.4
        """
        thresholds = {500: 33.4, 1000: 59.96}
        if n_rows not in thresholds:
            raise ParameterError(f"n_rows is {n_rows!r}, expected 500 or 1000: others have no published threshold.")
        return cls(pca=True, threshold=thresholds[n_rows], bins="scripts")

    def fit(self, reference: ArrayLike, rng: Rng, first: ArrayLike | None = None) -> "FittedQuantTree":  # noqa: ARG002
        """Test against this reference."""
        rows = as_sample("reference", reference)
        n_bins = max(len(rows) // 50, 2) if self.n_bins is None else self.n_bins
        if len(rows) < n_bins:
            raise ParameterError(
                f"n_bins is {n_bins} for {len(rows)} rows of the reference, expected at most one each."
            )
        axes = principal_axes(rows) if self.pca else np.eye(rows.shape[1])
        return FittedQuantTree(self, self._counter(turn(rows, axes), n_bins, rng), n_bins, axes, len(rows))

    def _counter(self, rows: Matrix, n_bins: int, rng: Rng) -> Counter:
        """Function that counts the rows of a window in bins made of these rows."""
        if self.bins == "exact":
            if not isinstance(rng, np.random.Generator):
                raise ParameterError(f"rng is a {type(rng).__name__}, expected a numpy Generator to draw the bins.")
            return partial(count_rows, build(rows, n_bins, rng))
        if not isinstance(rng, np.random.RandomState):
            raise ParameterError(
                f'rng is a {type(rng).__name__}, expected a RandomState, by which bins="scripts" draws.'
            )
        bins = build_scripted(rows, n_bins, rng)
        return lambda window, _: count_in_intervals(bins, window)


@dataclass(frozen=True, eq=False)
class FittedQuantTree:
    """The bins of a reference, and the axes onto which it was rotated."""

    settings: QuantTree
    count: Counter
    n_bins: int
    axes: Matrix
    n_reference: int

    def test(self, window: ArrayLike, rng: np.random.Generator) -> Outcome:
        """Pearson statistic of the window's counts and its p-value."""
        rows = as_sample("window", window, n_columns=self.axes.shape[1], min_rows=1)
        found = float(statistic(self.count(turn(rows, self.axes), rng)))
        null = null_statistics(self.n_reference, len(rows), self.n_bins, self.settings.simulations)
        above = len(null) - int(np.searchsorted(null, found, side="left"))
        return Outcome(found, (1 + above) / (len(null) + 1), self.settings.threshold)

    def p_value(self, window: ArrayLike, rng: np.random.Generator) -> float:
        """P-value of a complete window."""
        return self.test(window, rng).p_value
