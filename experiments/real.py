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

__all__ = ["DIRECTIONS", "SETS", "RealSet", "data_folder", "draw_rows", "load"]


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
