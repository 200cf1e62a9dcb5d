"""Pairs of Parquet files that every method is given: what drifts, how much is missing, and what is right.

Four columns of a normal distribution whose correlations are all 0.5; the second kind of table has a category as well,
a fifth such column cut into three levels. Gaps are completely at random. A fresh reference is drawn in every trial.

========== ============================================= ================================================
scenario   what happens                                  right
========== ============================================= ================================================
none       nothing                                       no alarm
mean       the first column moves by 0.122               alarm
dependence the correlation of the first two columns      alarm, though no column by itself has moved
           falls from 0.5 to 0.391
gaps       the first column has gaps more often          no alarm of a test of values; gapdrift: `values`
                                                         calm and `missingness` alarmed
both       mean and gaps                                 alarm
========== ============================================= ================================================

The sizes are such that the classical tests for normal rows find them in 80 % of the cases with 1,000 complete rows on
both sides at level 0.05: Hotelling's for the mean (non-centrality 11.94 with 4 degrees of freedom), the likelihood
ratio for covariances (16.24 with 10).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = [
    "CORRELATION",
    "DEPENDENCE",
    "KINDS",
    "MEAN_SHIFT",
    "RATES",
    "SCENARIOS",
    "Case",
    "cases",
    "draw",
    "write_pair",
]

SCENARIOS = ("none", "mean", "dependence", "gaps", "both")
RATES = (0.0, 0.05, 0.2, 0.5)
KINDS = ("numbers", "mixed")
CORRELATION = 0.5
MEAN_SHIFT = 0.122
DEPENDENCE = 0.391
_LEVELS = np.array(["low", "middle", "high"], dtype=object)


@dataclass(frozen=True)
class Case:
    """One situation: kind of table, what happens, and the share of cells that are missing."""

    kind: str
    scenario: str
    rate: float


def cases() -> list[Case]:
    """All situations: numbers at every rate, mixed tables at 20 %; without gaps there are none to move."""
    found = [Case("numbers", scenario, rate) for rate in RATES for scenario in SCENARIOS]
    found += [Case("mixed", scenario, 0.2) for scenario in SCENARIOS]
    return [case for case in found if case.rate or case.scenario not in {"gaps", "both"}]


def moved_rate(rate: float) -> float:
    """Missing rate of the first column after its gaps have drifted: twice as high, and 75 % instead of 50 %."""
    return 2 * rate if rate < 0.5 else 0.75


def draw(case: Case, n_rows: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Reference and window of one trial.

    Parameters
    ----------
    case : Case
    n_rows : int
        Of each side.
    seed : int
        Of the trial; values and gaps have generators of their own, so that the rows are the same at every rate.
    """
    number = [KINDS.index(case.kind), SCENARIOS.index(case.scenario)]
    values, gaps = (np.random.default_rng([seed, *number, part]) for part in range(2))
    n_columns = 4 if case.kind == "numbers" else 5
    rates = np.full(n_columns, case.rate)
    before = _sample(values, n_rows, n_columns, "none")
    after = _sample(values, n_rows, n_columns, case.scenario)
    reference = _table(_hide(before, rates, gaps))
    if case.scenario in {"gaps", "both"}:
        rates[0] = moved_rate(case.rate)
    return reference, _table(_hide(after, rates, gaps))


def write_pair(folder: Path, reference: Any, window: Any) -> dict[str, str]:
    """Write both sides; returns their paths, as a command of an adapter has them."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {"reference": folder / "reference.parquet", "window": folder / "window.parquet"}
    for table, path in zip((reference, window), paths.values(), strict=True):
        table.to_parquet(path, index=False)
    return {side: str(path) for side, path in paths.items()}


def _sample(rng: np.random.Generator, n_rows: int, n_columns: int, scenario: str) -> NDArray[np.float64]:
    correlation = np.full((n_columns, n_columns), CORRELATION)
    np.fill_diagonal(correlation, 1.0)
    if scenario == "dependence":
        correlation[0, 1] = correlation[1, 0] = DEPENDENCE
    rows = rng.normal(size=(n_rows, n_columns)) @ np.linalg.cholesky(correlation).T
    if scenario in {"mean", "both"}:
        rows[:, 0] += MEAN_SHIFT
    return np.asarray(rows)


def _hide(rows: NDArray[np.float64], rates: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    return np.where(rng.random(rows.shape) < rates, np.nan, rows)


def _table(rows: NDArray[np.float64]) -> pd.DataFrame:
    """Numbers as x0 to x3; a fifth column becomes a category of three levels, whose gaps are None."""
    table = pd.DataFrame(rows[:, :4], columns=["x0", "x1", "x2", "x3"])
    if rows.shape[1] == 5:
        table["level"] = _LEVELS[np.digitize(np.nan_to_num(rows[:, 4]), (-0.5, 0.5))]
        table.loc[np.isnan(rows[:, 4]), "level"] = None
    return table
