"""The real data of Experiment 4: two populations each, which differ a little."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gapdrift._typing import Indices, Matrix

__all__ = ["DIRECTIONS", "SCRIPTED_SETS", "SETS", "RealSet", "data_folder", "draw_rows", "load", "scripted_rows"]


N_ROWS = 1_000
DIRECTIONS = ("a", "b")
"""Direction a: the reference is drawn from the first population; b: from the second."""

INSECTS = ("flies", "aedes", "tarsalis", "quinx", "fruit")


@dataclass(frozen=True)
class RealSet:
    """One data set.

    Parameters
    ----------
    values : (rows, columns) array
    populations : pair of tuples of (rows to draw from, number of rows)
        Where the 1,000 rows of a sample are drawn from.
    missing_columns : mapping of str to tuple of int
        Columns with missing values, by direction.
    """

    values: Matrix
    populations: tuple[tuple[tuple[Indices, int], ...], ...]
    missing_columns: Mapping[str, tuple[int, ...]]


SETS = ("higgs", "arabic", "insects")
"""Real-I, Real-II and Real-III of the paper's Tables 9 and 10."""

SCRIPTED_SETS = ("arabic", "insects")
"""Sets whose files are public with the scripts, so that the authors' windows can be drawn again."""

SCRIPTS_SEED = 2
"""Seed of numpy's old generator with which the scripts draw the rows of all windows."""

SCRIPTED_WINDOWS = 500
"""Windows of each kind that the scripts draw."""


def data_folder() -> Path:
    """Folder named by GAPDRIFT_DATA, or the one beside the repository."""
    return Path(os.environ.get("GAPDRIFT_DATA", Path(__file__).parents[2] / "shared" / "data"))


@cache
def load(name: str, folder: str) -> RealSet:
    """One of the data sets `SETS`; ends the program if its file is absent."""
    return {"higgs": _higgs, "arabic": _arabic, "insects": _insects}[name](Path(folder))


def draw_rows(real: RealSet, population: int, rng: np.random.Generator, used: Indices | None = None) -> Indices:
    """Positions of the rows of a sample: none twice, and none of those already used."""
    taken = np.zeros(len(real.values), dtype=bool)
    if used is not None:
        taken[used] = True
    parts = [rng.choice(rows[~taken[rows]], number, replace=False) for rows, number in real.populations[population]]
    return rng.permutation(np.concatenate(parts))


@dataclass(frozen=True, eq=False)
class ScriptedRows:
    """Positions of the rows of one direction, as the scripts draw them.

    Parameters
    ----------
    reference : (1000,) array
    windows : (windows, 2, 1000) array
        Without drift and with it.
    """

    reference: Indices
    windows: Indices


@cache
def scripted_rows(name: str, folder: str, seed: int = 0, n_windows: int = SCRIPTED_WINDOWS) -> dict[str, ScriptedRows]:
    """Rows of reference and windows, by direction.

    Parameters
    ----------
    name : str
        One of `SCRIPTED_SETS`.
    folder : str
        Of the data.
    seed : int, default 0
        0 gives the windows of the paper.
    n_windows : int, default 500

    Notes
    -----
    Arabic digits: both pools are shuffled, the first 1,000 rows of each are the references and leave their pool; for
    each window both pools are shuffled again, once for each direction. Insects: the rows of each class are shuffled,
    the first ones are the reference; each window shuffles the rest of each class and takes the first ones.
    """
    real = load(name, folder)
    state = np.random.RandomState(SCRIPTS_SEED + seed)
    draw = {"arabic": _shuffled_pools, "insects": _shuffled_classes}[name]
    return draw(real, state, n_windows)


def _shuffled_pools(real: RealSet, state: np.random.RandomState, n_windows: int) -> dict[str, ScriptedRows]:
    pools = [np.concatenate([rows for rows, _ in population]) for population in real.populations]
    for pool in pools:
        state.shuffle(pool)
    references = [pool[:N_ROWS].copy() for pool in pools]
    pools = [pool[N_ROWS:] for pool in pools]
    windows = np.empty((len(DIRECTIONS), n_windows, 2, N_ROWS), dtype=np.intp)
    for number in range(n_windows):
        for direction in range(len(DIRECTIONS)):
            for pool in pools:
                state.shuffle(pool)
            for drifted in range(2):
                windows[direction, number, drifted] = pools[(direction + drifted) % 2][:N_ROWS]
    return {name: ScriptedRows(references[place], windows[place]) for place, name in enumerate(DIRECTIONS)}


def _shuffled_classes(real: RealSet, state: np.random.RandomState, n_windows: int) -> dict[str, ScriptedRows]:
    classes = [rows.copy() for rows, _ in real.populations[0]]
    for rows in classes:
        state.shuffle(rows)
    sizes = [[number for _, number in population] for population in real.populations]
    references = [_first_of(classes, numbers) for numbers in sizes]
    rests = [[rows[number:].copy() for rows, number in zip(classes, numbers, strict=True)] for numbers in sizes]
    windows = np.empty((len(DIRECTIONS), n_windows, 2, N_ROWS), dtype=np.intp)
    for number in range(n_windows):
        for direction, rest in enumerate(rests):
            for drifted in range(2):
                for rows in rest:
                    state.shuffle(rows)
                chosen = _first_of(rest, sizes[(direction + drifted) % 2])
                state.shuffle(chosen)
                windows[direction, number, drifted] = chosen
    return {name: ScriptedRows(references[place], windows[place]) for place, name in enumerate(DIRECTIONS)}


def _first_of(classes: list[Indices], numbers: list[int]) -> Indices:
    return np.concatenate([rows[:number] for rows, number in zip(classes, numbers, strict=True)])


def _read(folder: Path, name: str) -> Any:
    path = folder / name / f"{name}.parquet"
    if not path.is_file():
        sys.exit(f"{path} is not there. Name the folder with the data by --data or GAPDRIFT_DATA.")
    import pandas as pd  # noqa: PLC0415

    return pd.read_parquet(path)


def _higgs(folder: Path) -> RealSet:
    frame = _read(folder, "higgs_phi4")
    label = frame["label"].to_numpy()
    populations = tuple(((np.flatnonzero(label == kind), N_ROWS),) for kind in (0, 1))
    columns = (0, 1, 2, 3)
    return RealSet(frame.drop(columns="label").to_numpy(float), populations, {"a": columns, "b": columns})


def _arabic(folder: Path) -> RealSet:
    """Men say 0 to 4 and women 5 to 9; in the second population men say 9 too, as in the authors' scripts."""
    frame = _read(folder, "arabic_digit_sex")
    sex, digit = frame["sex"].to_numpy(), frame["digit"].to_numpy()

    def speakers(women: tuple[int, ...]) -> tuple[tuple[Indices, int], ...]:
        sexes = ("female" if number in women else "male" for number in range(10))
        return tuple(
            (np.flatnonzero((sex == who) & (digit == number)), N_ROWS // 10) for number, who in enumerate(sexes)
        )

    populations = speakers((5, 6, 7, 8, 9)), speakers((5, 6, 7, 8))
    missing_columns = {"a": (3, 4, 16, 25), "b": (1, 3, 4, 12, 16, 19)}
    return RealSet(frame.drop(columns=["sex", "digit"]).to_numpy(float), populations, missing_columns)


def _insects(folder: Path) -> RealSet:
    """200 of each of five kinds, against 160, 180, 200, 220 and 240, as in the authors' scripts."""
    frame = _read(folder, "insects_liu")
    kind = frame["class"].to_numpy()
    rows = [np.flatnonzero(kind == name) for name in INSECTS]
    populations = tuple(tuple(zip(rows, numbers, strict=True)) for numbers in ((200,) * 5, (160, 180, 200, 220, 240)))
    missing_columns = {"a": (2, 5, 13, 18), "b": (1, 3, 4, 16, 32, 47)}
    return RealSet(frame.drop(columns="class").to_numpy(float), populations, missing_columns)
