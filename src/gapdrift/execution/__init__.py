"""Where rows are when they are not in memory: in files, in streams, on Dask or Spark.

Evidence adds up, so an engine only has to apply ``count`` to each chunk and to add up what comes back. Only the fitted
reference travels to the workers, and only sums come back. A new engine is a module with a class that keeps the protocol
`Engine`, and one more entry in `ENGINES`. The rows say which engine counts them: one that reaches rows of a kind that
another has already, in another way, needs a type of its own for them.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from os import PathLike
from typing import Any, Protocol, TypeVar

import numpy as np

__all__ = ["MAX_LEARNED", "Count", "Counted", "Engine", "Fitted", "engine_of", "reading_notes", "sample_note"]

MAX_LEARNED = 20_000
"""Most rows of a reference that are brought into memory to learn from; all are counted where they are."""

Counted = TypeVar("Counted")
"""What is counted of rows: `Evidence`, or that of several batches. It adds up."""

Count = Callable[[Any], Counted]


class Fitted(Protocol):
    """What an engine asks of the detector that rows are counted for; text files are read by its ``schema_``, if any."""

    ignored_columns_: tuple[str, ...]


class Engine(Protocol):
    """What an engine offers: to count rows where they are, and to fetch a sample of them."""

    def count(self, count: Count[Counted], rows: Any, like: Fitted) -> Iterable[Counted]:
        """Evidence of the chunks of rows, in their order; neighbours may be added up already.

        Parameters
        ----------
        count : callable
            Returns the evidence of a table in memory, and changes nothing: it may be pickled to travel to workers, or
            be called by several threads, and be called again where a worker was lost.
        rows : object
            What the user gave.
        like : Fitted
            Detector that the rows are counted for: its ignored columns need not be read.
        """
        ...

    def sample(self, rows: Any, max_rows: int, rng: np.random.Generator) -> tuple[Any, int, Any]:
        """At most ``max_rows`` rows, drawn uniformly, in memory; the number of all rows; all rows, for `count`."""
        ...


def _is_chunked(rows: Any) -> bool:
    """Whether rows are files, Arrow datasets or streams, lazy tables, or an iterator of tables."""
    library, name = _library(rows), type(rows).__name__
    if isinstance(rows, str | PathLike | Iterator) or (library == "gapdrift" and name == "TableFiles"):
        return True
    if library == "pyarrow":
        return name.endswith(("Dataset", "Scanner", "RecordBatchReader", "RecordBatch"))
    if library == "polars":
        return name == "LazyFrame"
    return hasattr(type(rows), "__arrow_c_stream__") and library not in IN_MEMORY


IN_MEMORY = frozenset({"cudf", "modin", "narwhals", "numpy", "pandas"})
"""Libraries whose tables are in memory, although they offer the Arrow stream interface."""


def _is_dask(rows: Any) -> bool:
    return _library(rows) in {"dask", "dask_expr"} and hasattr(rows, "to_delayed")


def _is_spark(rows: Any) -> bool:
    return _library(rows) == "pyspark" and hasattr(rows, "mapInArrow")


def _library(rows: Any) -> str:
    return type(rows).__module__.partition(".")[0]


ENGINES: tuple[tuple[Callable[[Any], bool], str, str], ...] = (
    (_is_spark, "gapdrift.execution.spark", "SparkEngine"),
    (_is_dask, "gapdrift.execution.dask", "DaskEngine"),
    (_is_chunked, "gapdrift.execution.local", "LocalEngine"),
)
"""How each engine's rows are recognised, and where its class is: it is imported when such rows come."""


def engine_of(rows: Any) -> Engine | None:
    """Engine that has the rows; None for a table in memory.

    Examples
    --------
    >>> engine_of(np.zeros((3, 2))) is None
    True
    >>> type(engine_of(iter([np.zeros((3, 2))]))).__name__
    'LocalEngine'
    """
    for recognises, module, name in ENGINES:
        if recognises(rows):
            engine: Engine = getattr(import_module(module), name)()
            return engine
    return None


def reading_notes(rows: Any) -> tuple[str, ...]:
    """Sentences about how the rows of a reference were read, once they have been: of files there are some."""
    notes: tuple[str, ...] = rows.notes if type(rows).__name__ == "TableFiles" else ()
    return tuple(f"Reference: {note}" for note in notes)


def sample_note(n_rows: int, n_learned: int) -> str:
    """Sentence for the user about a reference of which a sample was learned from.

    Examples
    --------
    >>> sample_note(2_000, 500)
    'The reference has 2,000 rows: 500 of them, drawn at random, were learned from, all are compared.'
    """
    rule = "drawn at random, were learned from, all are compared"
    return f"The reference has {n_rows:,} rows: {n_learned:,} of them, {rule}."
