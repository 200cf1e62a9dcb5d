"""What `benchmarks.throughput` measures, each in a process of its own that prints its figures as JSON.

Only the public interface of gapdrift is used, so that an older checkout can be measured as well.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import gapdrift as gd
from benchmarks._timing import Matrix, best, draw, in_turns, write_parquet

__all__ = ["CHUNK", "fit_detector", "main"]

CHUNK = 250_000
PYARROW_ROW_GROUP = 1_048_576
N_REFERENCE = 100_000


def main() -> None:
    """Make the measurement that the command line names, after the checkout whose gapdrift it is."""
    name, *arguments = sys.argv[2:]
    with threadpool_limits(1):
        print(json.dumps(MEASUREMENTS[name](*arguments)))


def fit_detector(rows: Matrix, n_reference: int = N_REFERENCE) -> gd.DriftDetector:
    """A detector with 32 regions that has counted some of these rows before, so that machine code is loaded."""
    detector = gd.DriftDetector(random_state=0, n_bins=32).fit(draw(n_reference, 0)[1])
    detector.count(rows[:100_000])
    return detector


def time_count(n_rows: str, n_reference: str) -> dict[str, float]:
    """Nanoseconds a row of `count`, of `KMeans.predict` on the rows without gaps, and whether numba was there."""
    from sklearn.cluster import KMeans  # noqa: PLC0415

    complete, incomplete = draw(int(n_rows), 1)
    detector = fit_detector(incomplete, int(n_reference))
    kmeans = KMeans(32, n_init=1, random_state=0).fit(complete[:20_000])
    seconds = in_turns([lambda: detector.count(incomplete), lambda: kmeans.predict(complete)])
    ours, theirs = (each / int(n_rows) * 1e9 for each in seconds)
    return {"ours": ours, "theirs": theirs, "numba": _numba_is_loaded()}


def time_weather(n_rows: str) -> dict[str, float]:
    """Nanoseconds a row of counting all of Australian weather, and so many drawn rows; empty without that data."""
    from benchmarks.calibration import data_folder  # noqa: PLC0415

    path = data_folder() / "weather_aus" / "weather_aus.parquet"
    if not path.is_file():
        return {}
    import pandas as pd  # noqa: PLC0415

    weather, drawn = pd.read_parquet(path), draw(int(n_rows), 1)[1]
    reference = weather.sample(N_REFERENCE, random_state=0)
    real = gd.DriftDetector(random_state=0, n_bins=32).fit(reference)
    detector = fit_detector(drawn)
    seconds = in_turns([lambda: real.count(weather), lambda: detector.count(drawn)])
    return {
        "rows": len(weather),
        "weather": seconds[0] / len(weather) * 1e9,
        "drawn": seconds[1] / len(drawn) * 1e9,
        "numba": _numba_is_loaded(),
    }


def time_wide() -> dict[str, float]:
    """Seconds of fit and test, 600 x 40 rows on both sides, and of boosted trees that tell the sides apart."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415

    reference, window = (draw(600, seed, 40, 40, 0.26)[1] for seed in (0, 1))
    rows, sides = np.vstack([reference, window]), np.repeat([0, 1], 600)
    trees = HistGradientBoostingClassifier(max_iter=50, early_stopping=False)
    compare = partial(_fit_and_test, reference, window)
    compare()
    ours, theirs = in_turns([compare, lambda: trees.fit(rows, sides)])
    return {"ours": ours, "theirs": theirs}


def time_small() -> dict[str, float]:
    """Seconds of fit and test, 500 x 5 rows on both sides, a fifth of the cells missing."""
    reference, window = (draw(500, seed, 5, 5, 0.2)[1] for seed in (0, 1))
    compare = partial(_fit_and_test, reference, window)
    compare()
    return {"seconds": best(compare, 20)}


def _fit_and_test(reference: Any, window: Any) -> gd.DriftResult:
    return gd.DriftDetector(random_state=0).fit(reference).test(window)


def time_rows(*sizes: str) -> dict[str, float]:
    """Nanoseconds a row of counting so many rows, the least of several rounds."""
    chunk = draw(CHUNK, 1)[1]
    detector = fit_detector(chunk)
    found = dict.fromkeys(sizes, float("inf"))
    for _ in range(5):
        for size in sizes:
            n_rows = int(size)
            repeats = max(1, min(500_000 // n_rows, 20))
            seconds = best(partial(_count_chunks, detector, chunk, n_rows), repeats)
            found[size] = min(found[size], seconds / n_rows * 1e9)
    return found


def measure_memory(size: str) -> dict[str, float]:
    """Peak memory in MiB of a process that counts so many rows."""
    chunk = draw(CHUNK, 1)[1]
    _count_chunks(fit_detector(chunk), chunk, int(size))
    return {"mebibytes": _peak()}


def _count_chunks(detector: gd.DriftDetector, chunk: Matrix, n_rows: int) -> None:
    detector.count(_chunks(chunk, n_rows))


def _chunks(chunk: Matrix, n_rows: int) -> Iterator[Matrix]:
    """So many rows, in chunks that are there already: the time of making them is not counted."""
    for start in range(0, n_rows, len(chunk)):
        yield chunk[: n_rows - start]


def write_wide(path: str, n_rows: str, seed: str) -> dict[str, float]:
    """Write a Parquet file of 100 columns, a tenth of the cells missing."""
    write_parquet(path, int(n_rows), int(seed), 100, 100, 0.1, CHUNK)
    return {}


def write_chunks(path: str, n_rows: str, seed: str) -> dict[str, float]:
    """Write a Parquet file of 20 columns, a fifth of ten of them missing, in row groups that workers can share."""
    write_parquet(path, int(n_rows), int(seed), 20, 10, 0.2, CHUNK)
    return {}


def write_narrow(path: str, n_rows: str, seed: str) -> dict[str, float]:
    """Write a Parquet file of 20 columns, a fifth of ten of them missing, in row groups as large as pyarrow's own."""
    write_parquet(path, int(n_rows), int(seed), 20, 10, 0.2, PYARROW_ROW_GROUP)
    return {}


def read_parquet(path: str) -> dict[str, float]:
    """Seconds that pyarrow needs to read a file into memory."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    pa.set_cpu_count(1)
    return {"seconds": best(lambda: pq.read_table(path, use_threads=False), 1)}


def compare_parquet(reference: str, window: str) -> dict[str, float]:
    """Seconds of fit and of fit and test from Parquet files, and the peak memory in MiB."""
    import pyarrow as pa  # noqa: PLC0415

    pa.set_cpu_count(1)
    start = time.perf_counter()
    detector = gd.DriftDetector(random_state=0).fit(reference)
    fitted = time.perf_counter()
    detector.test(window)
    end = time.perf_counter()
    return {"seconds": end - start, "fit": fitted - start, "mebibytes": _peak()}


def time_local(path: str) -> dict[str, float]:
    return _test_twice(_fit_named(), path)


def time_dask(path: str) -> dict[str, float]:
    import dask.dataframe as dd  # noqa: PLC0415
    from dask.distributed import Client, LocalCluster  # noqa: PLC0415

    detector = _fit_named()
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster):
        frame = dd.read_parquet(path, split_row_groups=True)
        found = _test_twice(detector, frame)
        return found | {"floor": best(lambda: frame.map_partitions(len, meta=int).compute(), 1)}


def time_spark(path: str) -> dict[str, float]:
    from pyspark.sql import SparkSession  # noqa: PLC0415

    os.environ["PYSPARK_PYTHON"] = sys.executable
    detector = _fit_named()
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    session = builder.config("spark.driver.memory", "4g").getOrCreate()
    frame = session.read.parquet(path)
    found = _test_twice(detector, frame)
    found["floor"] = best(lambda: frame.mapInArrow(_only_count, "n long").collect(), 1)
    session.stop()
    return found


def _only_count(batches: Iterator[Any]) -> Iterator[Any]:
    """Number of rows of a partition, which are handed over and not looked at."""
    import pyarrow as pa  # noqa: PLC0415

    yield pa.RecordBatch.from_arrays([pa.array([sum(map(len, batches))])], names=["n"])


def _fit_named() -> gd.DriftDetector:
    rows = draw(N_REFERENCE, 0)[1]
    return gd.DriftDetector(random_state=0).fit({f"c{index}": column for index, column in enumerate(rows.T)})


def _test_twice(detector: gd.DriftDetector, rows: Any) -> dict[str, float]:
    """Seconds and p-value of a second test; the first warms up."""
    detector.test(rows)
    start = time.perf_counter()
    result = detector.test(rows)
    return {"seconds": time.perf_counter() - start, "p_value": result.p_value}


def _numba_is_loaded() -> bool:
    return sys.modules.get("numba") is not None


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


MEASUREMENTS: dict[str, Callable[..., dict[str, float]]] = {
    "count": time_count,
    "weather": time_weather,
    "wide": time_wide,
    "small": time_small,
    "rows": time_rows,
    "memory": measure_memory,
    "write wide": write_wide,
    "write narrow": write_narrow,
    "write chunks": write_chunks,
    "read": read_parquet,
    "parquet": compare_parquet,
    "local": time_local,
    "dask": time_dask,
    "spark": time_spark,
}
