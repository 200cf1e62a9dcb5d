"""Samples as the authors' scripts draw them: from the same laws, with the same seeds and the same generator.

The scripts seed numpy's old generator before every sample, with 0 for the reference and then with 1, 2, ... for the
windows, 500 for each severity, so the samples behind the paper's tables can be drawn again. Missing cells are drawn
after seeding once more. Much of those tables depends on which reference was drawn (`experiments.causes`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from experiments.distributions import DRIFTS
from experiments.protocols import Protocol
from experiments.samples import MISSING_RATE, Sample, amount_of
from gapdrift._typing import Matrix

__all__ = ["REFERENCE", "draw_distribution", "draw_scripted", "hide_scripted"]

State = np.random.RandomState

WINDOWS_PER_SEVERITY = 500
"""Windows of each severity in the scripts, which determine the seed of a window."""

REFERENCE = -1
"""Number that stands for the reference instead of a window."""

SEEDS_PER_RUN = 1_000_000
"""Seeds reserved for each value of ``--seed``; the paper's samples have ``--seed 0``."""

N_CATEGORIES = (2, 2, 5, 5, 10)
"""Number of categories of each categorical column of Experiment 1."""

N_MISSING_COLUMNS = 5
"""Number of columns with missing values in Experiment 1."""


def draw_scripted(kind: str, severity: int, number: int, n_rows: int, protocol: Protocol, seed: int = 0) -> Sample:
    """Sample of one kind of drift (Experiments 2 and 3).

    Parameters
    ----------
    kind : str
        A name in `experiments.distributions.DRIFTS`.
    severity : int
        From 0 to 10.
    number : int
        Number of the window, or `REFERENCE`.
    n_rows : int
    protocol : Protocol
    seed : int, default 0
        0 gives the samples of the paper.

    Examples
    --------
    >>> from experiments.protocols import PROTOCOLS
    >>> reference = draw_scripted("uniform-mean", 0, REFERENCE, 500, PROTOCOLS["published"])
    >>> reference.complete[0, :3].round(4)  # the first numbers after numpy.random.seed(0)
    array([0.5488, 0.7152, 0.6028])
    """
    base = seed * SEEDS_PER_RUN
    own = base if number == REFERENCE else base + severity * WINDOWS_PER_SEVERITY + number + 1
    rows = _DRAWS[kind](base, own, n_rows, amount_of(kind, severity, protocol))
    return Sample(rows, _with_missing(rows, DRIFTS[kind].missing_columns, own))


def draw_distribution(kind: str, number: int, n_rows: int, seed: int = 0) -> Sample:
    """Data set of Experiment 1; the parameters of its distribution are drawn with the first data set.

    The first five columns have missing values, as in the scripts. The paper's text says three for the Poisson and the
    categorical columns, but then imputation by zeros would have distance errors of 12.5 (Poisson) and 0.34
    (categorical). The paper's table has 21.25 and 1.39, and five columns give 21.19 and 1.38.

    Parameters
    ----------
    kind : str
        A name in `experiments.distributions.DISTRIBUTIONS`.
    number : int
        Number of the data set.
    n_rows : int
    seed : int, default 0

    Examples
    --------
    >>> int(np.isnan(draw_distribution("poisson", 1, 500).with_missing).sum())
    500
    """
    base = seed * SEEDS_PER_RUN
    first, own = State(base), State(base + number)
    state = first if number == 0 else own
    rows: Any
    if kind == "uniform":
        rows = own.uniform(size=(n_rows, 10))
    elif kind == "gaussian":
        mean = first.rand(10) * 10
        rows = state.multivariate_normal(mean, np.eye(10), n_rows)
    elif kind == "exponential":
        scale = first.random_sample(10)
        rows = StandardScaler().fit_transform(state.exponential(scale, (n_rows, 10)))
    elif kind == "poisson":
        rates = first.randint(5, 50, 5)
        rows = state.poisson(rates, (n_rows, 5)).astype(float)
    else:
        shares = [first.rand(n_categories) for n_categories in N_CATEGORIES]
        drawn = [state.choice(len(share), n_rows, p=share / share.sum()) for share in shares]
        rows = np.column_stack(drawn).astype(float)
    return Sample(rows, _with_missing(rows, range(N_MISSING_COLUMNS), base + number))


def hide_scripted(rows: Matrix, rates: Mapping[int, float], state: State) -> Matrix:
    """Rows with the same number of cells of each column missing, the columns one after the other.

    Examples
    --------
    >>> np.isnan(hide_scripted(np.zeros((10, 2)), {1: 0.3}, np.random.RandomState(0))).sum(axis=0)
    array([0, 3])
    """
    hidden = rows.copy()
    for column, rate in rates.items():
        hidden[state.permutation(len(rows))[: int(rate * len(rows))], column] = np.nan
    return hidden


def _with_missing(rows: Matrix, columns: Iterable[int], seed: int) -> Matrix:
    return hide_scripted(rows, dict.fromkeys(columns, MISSING_RATE), State(seed))


def _uniform_mean(_: int, own: int, n_rows: int, amount: float) -> Matrix:
    rows = State(own).uniform(size=(n_rows, 10))
    rows[:, :2] += amount
    return rows


def _gaussian_start(base: int, own: int) -> tuple[Matrix, State]:
    """Means, which are drawn with the reference's seed, and the generator for the rows."""
    first = State(base)
    mean = first.rand(4) * 10
    return mean, first if own == base else State(own)


def _gaussian_mean(base: int, own: int, n_rows: int, amount: float) -> Matrix:
    mean, state = _gaussian_start(base, own)
    rows = state.multivariate_normal(mean, np.eye(4), n_rows)
    rows[:, :2] += amount
    return rows


def _gaussian_covariance(base: int, own: int, n_rows: int, amount: float) -> Matrix:
    mean, state = _gaussian_start(base, own)
    if own == base:
        return state.multivariate_normal(mean, np.eye(4), n_rows)
    # A window is drawn without drift, loses cells, and is then drawn again from where the generator stands after that.
    state = State(own)
    for _ in DRIFTS["gaussian-covariance"].missing_columns:
        state.permutation(n_rows)
    covariance = np.eye(4)
    covariance[0, 1] = covariance[1, 0] = amount
    return state.multivariate_normal(mean, covariance, n_rows)


def _poisson_start(base: int, own: int, n_columns: int) -> tuple[NDArray[np.int64], State]:
    """Rates, which are drawn with the reference's seed, and the generator for the rows."""
    first = State(base)
    rates = first.randint(5, 50, n_columns)
    return rates, first if own == base else State(own)


def _poisson_mean(base: int, own: int, n_rows: int, amount: float) -> Matrix:
    rates, state = _poisson_start(base, own, 8)
    shifted = rates.astype(float)
    shifted[:2] += amount
    return state.poisson(shifted, (n_rows, 8)).astype(float)


def _poisson_rho(base: int, own: int, n_rows: int, amount: float) -> Matrix:
    rates, state = _poisson_start(base, own, 6)
    rows = state.poisson(rates, (n_rows, 6)).astype(float)
    apart = [state.poisson(rates[0] * (1 - amount), n_rows) for _ in range(2)]
    rows[:, :2] = np.column_stack(apart) + state.poisson(rates[0] * amount, n_rows)[:, None]
    return rows


_DRAWS: dict[str, Callable[[int, int, int, float], Matrix]] = {
    "uniform-mean": _uniform_mean,
    "gaussian-mean": _gaussian_mean,
    "gaussian-covariance": _gaussian_covariance,
    "poisson-mean": _poisson_mean,
    "poisson-rho": _poisson_rho,
}
