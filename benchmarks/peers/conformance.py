"""Twelve awkward inputs, each with a window without drift and one with a large drift, and what is right for both.

A method that always or never alarms cannot look right: an input counts as *right* only if the calm window is called
calm and the other one drifted. It is *wrong* where a verdict is given and is not the right one, and an
*error* where the method raises, crashes, hangs or gives no verdict. A method that does not claim to take categories is
not given any: *numbers only*. Of a window of one row little can be said: there an error or no verdict is right, and
so is no alarm; only an alarm at the calm row is wrong.

The drift moves every column of numbers by two standard deviations, by turns up and down, and turns the category round,
so that any threshold sees it: in each column, and in what the correlations lead to expect of the others (all columns
up would follow them, and be rightly invisible to a method that looks for rows off the principal directions). The calm
window is typical: it is drawn until Kolmogorov and Smirnov find nothing (p > 0.3) in any column, sum or difference of
two, so that a test at level 0.05 is not called wrong for the one window in twenty at which it may alarm.

Before the twelve stands a control without gaps, which is not counted: a method that is not right there is not right
because of how it alarms, and its row says nothing about gaps.

An input belongs here only if one answer is right for every method, whether it watches gaps or not. Where gaps are on
one side only, this takes few of them: three against none happen by chance 1 time in 4, and no test may alarm at that.
Twelve against none, which these two inputs had at first, happen 1 time in 2,048: the gaps have changed, so that a
method that watches them has to alarm (`DriftDetector` does, and says that it was the gaps) and one that tests values
must not. Changes of gaps of that kind are not judged here but counted in the scenario `gaps`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import ks_2samp

__all__ = ["CONTROL", "INPUTS", "ROWS", "Input", "judge", "sides"]

ROWS = 1_000
_TYPICAL = 0.3
_DRIFT = np.array([2.0, -2.0, 2.0, -2.0])

Change = Callable[[pd.DataFrame, np.random.Generator, str], pd.DataFrame]


@dataclass(frozen=True)
class Input:
    """An awkward table: how it is made of a plain one, for each of the sides reference, calm and drifted."""

    name: str
    change: Change
    open_question: bool = False


def judge(calm: Mapping[str, Any], drifted: Mapping[str, Any], open_question: bool = False) -> str:
    """`right`, `wrong`, `error` or `numbers only`, from the answers to both windows.

    Parameters
    ----------
    calm, drifted : mapping
        Answers of an adapter.
    open_question : bool
        Whether so little can be said of such windows that only an alarm at the calm one is wrong.

    Examples
    --------
    >>> yes, no = {"drift": True, "error": None}, {"drift": False, "error": None}
    >>> judge(no, yes), judge(yes, yes), judge(no, no), judge(no, {"drift": None, "error": "ValueError: NaN"})
    ('right', 'wrong', 'wrong', 'error')
    """
    if any((answer["error"] or "").startswith("NumbersOnly") for answer in (calm, drifted)):
        return "numbers only"
    at_calm, at_drifted = (answer["drift"] if answer["error"] is None else None for answer in (calm, drifted))
    if at_calm is True or (at_drifted is False and not open_question):
        return "wrong"
    return "right" if open_question or None not in (at_calm, at_drifted) else "error"


def sides(case: Input, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Tables `reference`, `calm` and `drifted` of an input."""
    rng = np.random.default_rng([seed, [found.name for found in (*INPUTS, CONTROL)].index(case.name)])
    reference = _rows(rng)
    calm = _rows(rng)
    while not _typical(reference, calm):
        calm = _rows(rng)
    drifted = _rows(rng) + _DRIFT
    plain = {"reference": reference, "calm": calm, "drifted": drifted}
    return {side: case.change(_table(rows), rng, side) for side, rows in plain.items()}


def _rows(rng: np.random.Generator) -> NDArray[np.float64]:
    """Four columns with correlations of 0.5, all of variance 1."""
    return np.asarray(np.sqrt(0.5) * (rng.normal(size=(ROWS, 4)) + rng.normal(size=(ROWS, 1))))


def _typical(one: NDArray[np.float64], two: NDArray[np.float64]) -> bool:
    return all(ks_2samp(a, b).pvalue > _TYPICAL for a, b in zip(_views(one), _views(two), strict=True))


def _views(rows: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    pairs = [rows[:, a] + sign * rows[:, b] for a, b in combinations(range(4), 2) for sign in (1, -1)]
    return [*rows.T, *pairs]


def _table(rows: NDArray[np.float64]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["x0", "x1", "x2", "x3"])


def _hidden(table: pd.DataFrame, rng: np.random.Generator, rate: float = 0.1) -> pd.DataFrame:
    return table.mask(rng.random(table.shape) < rate)


def _three_cells(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Three gaps in all, in different columns: too few to be a change of gaps, see above."""
    holes = np.zeros(table.shape, dtype=bool)
    holes[rng.choice(len(table), 3, replace=False), [0, 1, 2]] = True
    return table.mask(holes)


def _as_it_is(table: pd.DataFrame, _rng: np.random.Generator, _side: str) -> pd.DataFrame:
    return table


def _one_nan(table: pd.DataFrame, rng: np.random.Generator, side: str) -> pd.DataFrame:
    if side != "reference":
        table.iloc[int(rng.integers(len(table))), 0] = np.nan
    return table


def _window_only(table: pd.DataFrame, rng: np.random.Generator, side: str) -> pd.DataFrame:
    return table if side == "reference" else _three_cells(table, rng)


def _reference_only(table: pd.DataFrame, rng: np.random.Generator, side: str) -> pd.DataFrame:
    return _three_cells(table, rng) if side == "reference" else table


def _empty_column(table: pd.DataFrame, _rng: np.random.Generator, _side: str) -> pd.DataFrame:
    return table.assign(x1=np.nan)


def _empty_rows(table: pd.DataFrame, rng: np.random.Generator, _side: str) -> pd.DataFrame:
    holes = np.zeros(table.shape, dtype=bool)
    holes[rng.choice(len(table), 50, replace=False)] = True
    return table.mask(holes)


def _no_complete_row(table: pd.DataFrame, rng: np.random.Generator, _side: str) -> pd.DataFrame:
    holes = rng.integers(4, size=len(table))[:, None] == np.arange(4)
    return table.mask(holes)


def _constant(table: pd.DataFrame, rng: np.random.Generator, _side: str) -> pd.DataFrame:
    return _hidden(table.assign(x1=7.0), rng)


def _integers(table: pd.DataFrame, rng: np.random.Generator, _side: str) -> pd.DataFrame:
    counts = (10 * table["x1"]).round().astype("Int64").mask(rng.random(len(table)) < 0.1)
    return _hidden(table, rng).assign(x1=counts)


def _category(table: pd.DataFrame, rng: np.random.Generator, side: str) -> pd.DataFrame:
    """Levels in the same numbers on both sides, so that the calm window is typical in them as well."""
    counts = (100, 200, 700) if side == "drifted" else (700, 200, 100)
    levels = rng.permutation(np.repeat(["a", "b", "c"], counts))
    hidden = _hidden(table, rng)
    return hidden.assign(x1=pd.Series(levels, dtype=object).mask(rng.random(len(table)) < 0.1, None))


def _new_level(table: pd.DataFrame, rng: np.random.Generator, side: str) -> pd.DataFrame:
    """One row of a level that the reference does not have; half of the rows where there is drift."""
    with_levels = _category(table, rng, "reference")
    new = {"reference": 0, "calm": 1, "drifted": len(table) // 2}[side]
    with_levels.loc[: new - 1, "x1"] = "d"
    return with_levels


def _one_row(table: pd.DataFrame, rng: np.random.Generator, side: str) -> pd.DataFrame:
    hidden = _hidden(table, rng)
    return hidden if side == "reference" else hidden.iloc[:1]


def _duplicates(table: pd.DataFrame, rng: np.random.Generator, _side: str) -> pd.DataFrame:
    hidden = _hidden(table, rng)
    return hidden.assign(x2=hidden["x1"])


INPUTS: tuple[Input, ...] = (
    Input("one NaN in the window", _one_nan),
    Input("NaN only in the window", _window_only),
    Input("NaN only in the reference", _reference_only),
    Input("a column all NaN", _empty_column),
    Input("rows all NaN", _empty_rows),
    Input("no complete row", _no_complete_row),
    Input("a constant column", _constant),
    Input("integers with gaps", _integers),
    Input("a category with gaps", _category),
    Input("a new level", _new_level),
    Input("a window of one row", _one_row, open_question=True),
    Input("two equal columns", _duplicates),
)
"""All awkward inputs, in the order of the table."""

CONTROL = Input("nothing missing", _as_it_is)
"""What every method should answer rightly."""
