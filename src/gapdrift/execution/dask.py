"""Engine for Dask DataFrames: rows are counted where their partitions are."""

from itertools import pairwise
from typing import Any

import numpy as np

from gapdrift._threads import limit_threads
from gapdrift.errors import InputError
from gapdrift.execution import Count, Counted, Fitted

__all__ = ["DaskEngine"]

FAN_IN = 8
"""Number of partial sums that one task adds up."""


class DaskEngine:
    """Engine that counts each partition in a task of its own and adds up the sums in the order of the partitions.

    If a worker is lost, the scheduler runs its task again. No row can be counted twice, since only the result of the
    finished task is added up.
    """

    def count(self, count: Count[Counted], rows: Any, like: Fitted) -> list[Counted]:
        """Evidence of all partitions, added up; an empty list if there are no partitions."""
        import dask  # noqa: PLC0415

        _check_table(rows)
        kept = rows[[name for name in rows.columns if str(name) not in like.ignored_columns_]]
        # The function becomes one node of the task graph, instead of a copy in each task.
        shared = dask.delayed(count, pure=False, traverse=False)
        parts = [dask.delayed(_count_partition)(shared, part) for part in kept.to_delayed()]
        while len(parts) > FAN_IN:
            parts = [dask.delayed(_add_up)(parts[start : start + FAN_IN]) for start in range(0, len(parts), FAN_IN)]
        return [dask.delayed(_add_up)(parts).compute()] if parts else []

    def sample(self, rows: Any, max_rows: int, rng: np.random.Generator) -> tuple[Any, int, Any]:
        """At most ``max_rows`` rows, drawn uniformly, the number of all rows, and the rows themselves."""
        import dask  # noqa: PLC0415
        import pandas as pd  # noqa: PLC0415

        _check_table(rows)
        parts = rows.to_delayed()
        sizes = np.array(dask.compute(*(dask.delayed(len)(part) for part in parts)), dtype=np.intp)
        n_rows = int(sizes.sum())
        chosen = np.sort(rng.choice(n_rows, max_rows, replace=False)) if n_rows > max_rows else np.arange(n_rows)
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        places = [chosen[(chosen >= start) & (chosen < stop)] - start for start, stop in pairwise(bounds.tolist())]
        taken = dask.compute(*(dask.delayed(_take)(part, place) for part, place in zip(parts, places, strict=True)))
        return pd.concat(taken, ignore_index=True), n_rows, rows


def _check_table(rows: Any) -> None:
    """Raise an `InputError` for a Dask collection that is no table."""
    # A series has columns, too: its own name.
    if not hasattr(rows, "columns") or rows.ndim != 2:
        raise InputError(
            f"Got a Dask {type(rows).__name__}, expected a Dask DataFrame. Use to_frame() of a series, or "
            "dask.dataframe.from_dask_array for an array."
        )


def _count_partition(count: Count[Counted], part: Any) -> Counted:
    with limit_threads(1):
        return count(part)


def _add_up(parts: list[Any]) -> Any:
    return sum(parts[1:], parts[0])


def _take(part: Any, places: Any) -> Any:
    return part.iloc[places]
