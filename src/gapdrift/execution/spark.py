"""Engine for Spark DataFrames: rows are counted where their partitions are."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapdrift._threads import limit_threads
from gapdrift.errors import InputError
from gapdrift.execution import Count, Counted, Fitted
from gapdrift.files import CHUNK_ROWS

__all__ = ["SparkEngine"]


class SparkEngine:
    """Engine that counts each partition in one of Spark's Python workers; only its sums return to the driver.

    If a worker is lost, Spark runs its task again. No row can be counted twice, since a task hands over its sums only
    when it is finished.
    """

    def count(self, count: Count[Counted], rows: Any, like: Fitted) -> list[Counted]:
        """Evidence of the partitions that have rows, in their order."""
        # Columns get plain names first: Spark takes a name with a dot for the path of a nested field.
        plain = rows.toDF(*(f"c{place}" for place in range(len(rows.columns))))
        ignored = like.ignored_columns_
        names = {f"c{place}": name for place, name in enumerate(rows.columns) if name not in ignored}
        counted = plain.select(*names).mapInArrow(_Worker(count, tuple(names.values())), "place int, evidence binary")
        collected = sorted(_collect(counted), key=lambda row: int(row["place"]))
        # Our own workers have just written these bytes; nothing from a file is ever unpickled.
        return [pickle.loads(row["evidence"]) for row in collected]

    def sample(self, rows: Any, max_rows: int, rng: np.random.Generator) -> tuple[Any, int, Any]:
        """At most ``max_rows`` rows, drawn uniformly, the number of all rows, and the rows themselves."""
        drawn, n_rows = rows, int(rows.count())
        if n_rows > max_rows:
            # Spark draws each row independently, so the number of rows varies: draw a few more than needed.
            share = min(1.0, (max_rows + 6.0 * max_rows**0.5) / n_rows)
            drawn = rows.sample(withReplacement=False, fraction=share, seed=int(rng.integers(2**31)))
        table = drawn.toArrow()
        if len(table) > max_rows:
            table = table.take(np.sort(rng.choice(len(table), max_rows, replace=False)))
        return table, n_rows, rows


@dataclass(frozen=True)
class _Worker:
    """Function that is sent to Spark's workers, with the function that counts rows and the names of the columns."""

    count: Count[Any]
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the evidence of a partition, or nothing if it has no rows."""
        import pyarrow as pa  # noqa: PLC0415
        from pyspark import TaskContext  # noqa: PLC0415

        total: Any = None
        with limit_threads(1):
            for table in _join_batches(batches):
                evidence = self.count(table.rename_columns(list(self.names)))
                total = evidence if total is None else total + evidence
        if total is not None:
            context = TaskContext.get()
            place = 0 if context is None else context.partitionId()
            columns = [pa.array([place], pa.int32()), pa.array([pickle.dumps(total)], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, names=["place", "evidence"])


def _join_batches(batches: Iterator[Any]) -> Iterator[Any]:
    """Tables made from several of Spark's small batches, which are faster to count."""
    import pyarrow as pa  # noqa: PLC0415

    waiting, n_rows = [], 0
    for batch in batches:
        waiting.append(batch)
        n_rows += len(batch)
        if n_rows >= CHUNK_ROWS:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, n_rows = [], 0
    if n_rows:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _collect(frame: Any) -> list[Any]:
    try:
        return list(frame.collect())
    except Exception as error:
        if "No module named 'gapdrift'" in str(error):
            raise InputError(
                "Spark's workers cannot import gapdrift. Install it where they run, and name that interpreter by "
                "the variable PYSPARK_PYTHON (spark-submit: --conf spark.pyspark.python) before the session starts."
            ) from error
        raise
