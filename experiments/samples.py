"""Samples of the experiments: complete, with missing values, and imputed."""

from dataclasses import dataclass

import numpy as np

import gapdrift as gd
from experiments.chained import fit_chained
from experiments.distributions import DRIFTS
from experiments.protocols import Protocol
from gapdrift._typing import Matrix
from gapdrift.models.imputation import FittedImputer, fit_imputers, impute

__all__ = ["MISSING_RATE", "Sample", "amount_of", "draw_drift", "fill", "fit_iterative", "hide"]


MISSING_RATE = 0.2
"""Share of missing cells in the columns that have any, in all experiments."""


@dataclass(frozen=True)
class Sample:
    """Complete rows, and the same rows with missing values.

    Parameters
    ----------
    complete : (rows, columns) array
    with_missing : (rows, columns) array, NaN where missing
    """

    complete: Matrix
    with_missing: Matrix


def draw_drift(kind: str, severity: float, n_rows: int, protocol: Protocol, rng: np.random.Generator) -> Sample:
    """Sample of one kind of drift (Experiments 2 and 3).

    Parameters
    ----------
    kind : str
        A name in `experiments.distributions.DRIFTS`.
    severity : float
        From 0 to 10.
    n_rows : int
    protocol : Protocol
    rng : numpy.random.Generator

    Examples
    --------
    >>> from experiments.protocols import PROTOCOLS
    >>> rng = np.random.default_rng(0)
    >>> sample = draw_drift("poisson-mean", 3, 20_000, PROTOCOLS["published"], rng)
    >>> abs(sample.complete.mean(axis=0)[1] - 5.0) < 0.1  # severity 3 is no drift there
    np.True_
    """
    drift = DRIFTS[kind]
    rows = drift.draw(n_rows, amount_of(kind, severity, protocol), rng)
    return Sample(rows, hide(rows, drift.missing_columns, protocol, rng))


def amount_of(kind: str, severity: float, protocol: Protocol) -> float:
    """Amount of a drift at a severity from 0 to 10."""
    amount = severity / 10.0 * DRIFTS[kind].max_amount
    return float(int(amount)) if protocol.truncated_poisson and kind == "poisson-mean" else amount


def hide(rows: Matrix, columns: tuple[int, ...], protocol: Protocol, rng: np.random.Generator) -> Matrix:
    """Rows with a fifth of the cells of some columns missing."""
    rates = np.isin(np.arange(rows.shape[1]), columns) * MISSING_RATE
    return gd.datasets.hide_mcar(rows, rates, rng, exact=protocol.exact_missing_counts)


def fit_iterative(rows: Matrix, rng: np.random.Generator) -> FittedImputer:
    """Iterative imputation (10 rounds), fitted on rows: the competitors' samples are filled by it."""
    (imputer,) = fit_imputers(["iterative"], rows, rng)
    return imputer


def fill(window: Matrix, imputer: FittedImputer, protocol: Protocol) -> Matrix:
    """Window with its missing values filled, by an imputer fitted on the reference or on the window itself."""
    return impute(fit_chained(window) if protocol.impute_each_sample else imputer, window)
