"""Rows to time, and times that other work on the machine disturbs least."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Matrix", "best", "draw", "in_turns", "write_parquet"]

Matrix = NDArray[np.float64]
FEWEST_ROUNDS = 3


def draw(n_rows: int, seed: int, n_columns: int = 20, n_gappy: int = 10, rate: float = 0.2) -> tuple[Matrix, Matrix]:
    """Rows of dependent columns, complete and with values missing from the first ``n_gappy`` columns."""
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(n_columns).normal(size=(n_columns, n_columns)) / np.sqrt(n_columns)
    complete = rng.normal(size=(n_rows, n_columns)) @ mix + 0.5 * rng.normal(size=(n_rows, n_columns))
    incomplete = complete.copy()
    incomplete[:, :n_gappy][rng.random((n_rows, n_gappy)) < rate] = np.nan
    return complete, incomplete


def write_parquet(
    path: str, n_rows: int, seed: int, n_columns: int, n_gappy: int, rate: float, rows_per_group: int
) -> None:
    """Write such rows as a Parquet file, one row group at a time."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    schema = pa.schema([(f"c{index}", pa.float64()) for index in range(n_columns)])
    with pq.ParquetWriter(Path(path), schema) as writer:
        for number, start in enumerate(range(0, n_rows, rows_per_group)):
            size = min(rows_per_group, n_rows - start)
            values = draw(size, 1_000 * (seed + 1) + number, n_columns, n_gappy, rate)[1]
            columns = [pa.array(column, from_pandas=True) for column in values.T]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=rows_per_group)


def best(work: Callable[[], Any], times: int = 5) -> float:
    """Seconds of the fastest of several runs: the others were disturbed by what else the machine does."""
    return min(_clock(work) for _ in range(times))


def in_turns(works: Sequence[Callable[[], Any]], rounds: int = 10, seconds: float = 20.0) -> list[float]:
    """Seconds of the fastest run of each piece of work.

    The pieces run in turns, so that what else the machine does slows all of them. There are no more rounds after
    ``seconds`` have passed, but three at least.
    """
    start = time.perf_counter()
    found: list[list[float]] = []
    while len(found) < rounds and (len(found) < FEWEST_ROUNDS or time.perf_counter() - start < seconds):
        found.append([_clock(work) for work in works])
    return [min(times) for times in zip(*found, strict=True)]


def _clock(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
