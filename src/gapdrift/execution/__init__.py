"""Where rows are when they are not in memory: in files, in streams, on Dask or Spark.

Evidence adds up, so all that an engine has to do is to map ``count`` over chunks and to add up what comes back. Nothing
but the fitted reference travels to the workers, and nothing but sums comes back.
"""

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, Protocol

import numpy as np

from gapdrift.counting.evidence import Evidence

__all__ = ["MAX_REFERENCE", "Count", "Engine", "engine_of", "gather", "sample_notes"]

MAX_REFERENCE = 100_000
"""Rows of a reference that are brought into memory, at most."""

Count = Callable[[Any], Evidence]


class Engine(Protocol):
    """What an engine offers."""

    def count(self, count: Count, rows: Any, ignored: tuple[str, ...]) -> list[Evidence]:
        """Evidence of the chunks of rows, in their order."""
        ...

    def sample(self, rows: Any, most: int, rng: np.random.Generator) -> tuple[Any, int]:
        """At most so many rows, drawn uniformly, as a table in memory; and the number of all rows."""
        ...


def engine_of(rows: Any) -> Engine | None:
    """Engine that has the rows; None for a table in memory.

    Parameters
    ----------
    rows : object

    Returns
    -------
    engine : Engine or None

    Examples
    --------
    >>> import numpy as np
    >>> engine_of(np.zeros((3, 2))) is None
    True
    >>> type(engine_of(iter([np.zeros((3, 2))]))).__name__
    'LocalEngine'
    """
    library = type(rows).__module__.partition(".")[0]
    if library == "pyspark" and hasattr(rows, "mapInArrow"):
        from gapdrift.execution.spark import SparkEngine  # noqa: PLC0415

        return SparkEngine()
    if library in {"dask", "dask_expr"} and hasattr(rows, "to_delayed"):
        from gapdrift.execution.dask import DaskEngine  # noqa: PLC0415

        return DaskEngine()
    arrow = library == "pyarrow" and type(rows).__name__.endswith(("Dataset", "Scanner", "RecordBatchReader"))
    if arrow or isinstance(rows, str | PathLike | Iterator):
        from gapdrift.execution.local import LocalEngine  # noqa: PLC0415

        return LocalEngine()
    return None


def gather(rows: Any, rng: np.random.Generator) -> tuple[Any, tuple[str, ...]]:
    """Rows to fit on, in memory, and notes about them.

    Parameters
    ----------
    rows : object
        A table in memory is returned as it is; of others `MAX_REFERENCE` rows, drawn uniformly.
    rng : numpy.random.Generator

    Returns
    -------
    table : object
    notes : tuple of str
    """
    engine = engine_of(rows)
    if engine is None:
        return rows, ()
    table, n_rows = engine.sample(rows, MAX_REFERENCE, rng)
    return table, sample_notes(n_rows, len(table))


def sample_notes(n_rows: int, n_kept: int) -> tuple[str, ...]:
    """What the user is told of a reference of so many rows of which some stand for all.

    Examples
    --------
    >>> sample_notes(2_000, 500)
    ('The reference has 2,000 rows: 500 of them, drawn at random, stand for all.',)
    >>> sample_notes(500, 500)
    ()
    """
    if n_kept == n_rows:
        return ()
    return (f"The reference has {n_rows:,} rows: {n_kept:,} of them, drawn at random, stand for all.",)
