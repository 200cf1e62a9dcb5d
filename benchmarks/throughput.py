"""Speed and memory of counting, as ratios inside one run on one thread.

Bars:

- `count` of 1,000,000 x 20 rows, 32 bins, 20 % missing in ten columns, takes at most 3 times as long as
  `KMeans.predict` of scikit-learn on the same matrix without gaps;
- from 10,000 to 10,000,000 rows the time per row stays within 20 %, and memory does not grow;
- of a Parquet file of 3,000,000 x 100 rows, 10 % missing, fit (sampled) and test together take at most 6 times the
  time that pyarrow needs to read it into memory, and stay under 1.5 GiB;
- with `--engines`: Dask and Spark on two workers take at most 1.5 times the local time for 10,000,000 rows, their start
  apart, and give the local p-value to 1e-9. Each counts the file once before it is timed: compilers of machine code
  belong to the start. The note says what the engine needs to hand the same rows to Python, where nothing is done.

`--profile` tells where the time goes at 1e4, 1e6 and 1e8 cells. Run `python -m benchmarks.throughput`; with
`--share 0.1` everything is ten times smaller. With numba installed (extra `fast`) rows are counted by machine code.
"""

import argparse
import cProfile
import json
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gapdrift as gd
from benchmarks._report import Bar, finish, say

Matrix = NDArray[np.float64]
CHUNK = 250_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="of the rows (default %(default)s)")
    parser.add_argument("--only", choices=("count", "rows", "parquet"), help="one group of bars")
    parser.add_argument("--engines", action="store_true", help="Dask and Spark as well")
    parser.add_argument("--profile", action="store_true", help="where the time goes, and no bars")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(CHILDREN[arguments.child[0]](*arguments.child[1:])))
        return
    if arguments.profile:
        show_profiles(arguments.share)
        return
    groups: dict[str, Callable[[float], list[Bar]]] = {"count": count_bars, "rows": row_bars, "parquet": parquet_bars}
    chosen = [arguments.only] if arguments.only else list(groups)
    bars = [bar for name in chosen for bar in groups[name](arguments.share)]
    finish(bars + (engine_bars(arguments.share) if arguments.engines else []))


def draw(n_rows: int, seed: int, n_columns: int = 20, n_gappy: int = 10, rate: float = 0.2) -> tuple[Matrix, Matrix]:
    """Dependent columns, complete and with gaps."""
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(n_columns).normal(size=(n_columns, n_columns)) / np.sqrt(n_columns)
    rows = rng.normal(size=(n_rows, n_columns)) @ mix + 0.5 * rng.normal(size=(n_rows, n_columns))
    gaps = rows.copy()
    gaps[:, :n_gappy][rng.random((n_rows, n_gappy)) < rate] = np.nan
    return rows, gaps


def best(work: Callable[[], Any], times: int = 5) -> float:
    """Seconds of the fastest of several runs: others are disturbed by what else the machine does."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def count_bars(share: float) -> list[Bar]:
    from sklearn.cluster import KMeans  # noqa: PLC0415
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    say("count against KMeans.predict")
    n_rows = int(1_000_000 * share)
    complete, gaps = draw(n_rows, 1)
    detector = gd.DriftDetector(random_state=0, n_bins=32).fit(draw(100_000, 0)[1])
    with threadpool_limits(1):
        means = KMeans(32, n_init=1, random_state=0).fit(complete[:20_000])
        detector.count(gaps[:100_000])
        # In turns: what else the machine does then slows both.
        rounds = [(best(lambda: means.predict(complete), 1), best(lambda: detector.count(gaps), 1)) for _ in range(10)]
    theirs, ours = map(min, zip(*rounds, strict=True))
    note = f"{ours / n_rows * 1e9:.0f} ns a row, {theirs / n_rows * 1e9:.0f} ns for KMeans.predict"
    return [Bar("count, times KMeans.predict", ours / theirs, "<=", 3.0, note)]


def row_bars(share: float) -> list[Bar]:
    """Time per row by rounds over all numbers of rows; memory of each in a process of its own."""
    sizes = [int(size * share) for size in (10_000, 100_000, 1_000_000, 10_000_000)]
    say("counting rows")
    times = child("rows", *sizes)
    peaks = {str(size): child("memory", size)["peak"] for size in sizes[-2:]}
    note = ", ".join(f"{int(size):,}: {each:.0f} ns" for size, each in times.items())
    grown = " and ".join(f"{peak:.0f} MiB" for peak in peaks.values())
    return [
        Bar("time per row, largest over smallest", max(times.values()) / min(times.values()), "<=", 1.2, note),
        Bar("memory, 10,000,000 rows over 1,000,000", max(peaks.values()) / min(peaks.values()), "<=", 1.1, grown),
    ]


def count_rows(*sizes: str) -> dict[str, float]:
    """Nanoseconds a row of counting so many rows, the least of several rounds."""
    detector, chunk = _warm()
    found = dict.fromkeys(sizes, float("inf"))
    for _ in range(5):
        for size in sizes:
            n_rows = int(size)
            repeats = max(1, min(500_000 // n_rows, 20))
            seconds = best(partial(_count_chunks, detector, chunk, n_rows), repeats)
            found[size] = min(found[size], seconds / n_rows * 1e9)
    return found


def measure_memory(size: str) -> dict[str, float]:
    detector, chunk = _warm()
    _count_chunks(detector, chunk, int(size))
    return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _warm() -> tuple[gd.DriftDetector, Matrix]:
    """A detector that has counted before, and rows to count."""
    detector = gd.DriftDetector(random_state=0, n_bins=32).fit(draw(100_000, 0)[1])
    detector.count(draw(100_000, 2)[1])
    return detector, draw(CHUNK, 1)[1]


def _count_chunks(detector: gd.DriftDetector, chunk: Matrix, n_rows: int) -> None:
    detector.count(_chunks(chunk, n_rows))


def _chunks(chunk: Matrix, n_rows: int) -> Iterator[Matrix]:
    """So many rows, in chunks that are there already: the time of making them is not counted."""
    for start in range(0, n_rows, len(chunk)):
        yield chunk[: n_rows - start]


def parquet_bars(share: float) -> list[Bar]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{name}.parquet") for name in ("reference", "window")]
        for seed, path in enumerate(paths):
            write_parquet(path, int(3_000_000 * share), seed, 100, 100, 0.1)
        say("reading")
        reading = child("read", paths[1])
        say("fit and test")
        ours = child("parquet", *paths)
    note = f"{ours['seconds']:.1f} s, reading {reading['seconds']:.1f} s; fit {ours['fit']:.1f} s"
    return [
        Bar("fit and test of a Parquet file, times reading it", ours["seconds"] / reading["seconds"], "<=", 6.0, note),
        Bar("its peak memory, MiB", ours["peak"], "<", 1536.0),
    ]


def write_parquet(path: str, n_rows: int, seed: int, n_columns: int, n_gappy: int, rate: float) -> None:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    writer: Any = None
    for number, start in enumerate(range(0, n_rows, CHUNK)):
        say(f"writing {Path(path).name}, row {start:,}")
        values = draw(min(CHUNK, n_rows - start), 1_000 * (seed + 1) + number, n_columns, n_gappy, rate)[1]
        columns = [pa.array(column, from_pandas=True) for column in values.T]
        table = pa.table(columns, names=[f"c{index}" for index in range(n_columns)])
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def read_parquet(path: str) -> dict[str, float]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    pa.set_cpu_count(1)
    start = time.perf_counter()
    pq.read_table(path, use_threads=False)
    return {"seconds": time.perf_counter() - start}


def compare_parquet(reference: str, window: str) -> dict[str, float]:
    import pyarrow as pa  # noqa: PLC0415

    pa.set_cpu_count(1)
    start = time.perf_counter()
    detector = gd.DriftDetector(random_state=0).fit(reference)
    fitted = time.perf_counter()
    result = detector.test(window)
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": end - start, "fit": fitted - start, "peak": peak, "p_value": result.p_value}


def engine_bars(share: float) -> list[Bar]:
    bars = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "window.parquet")
        write_parquet(path, int(10_000_000 * share), 1, 20, 10, 0.2)
        say("local")
        local = child("local", path)
        for engine in ("dask", "spark"):
            say(engine)
            found = child(engine, path)
            note = f"{found['seconds']:.1f} s, local {local['seconds']:.1f} s; handing over {found['floor']:.1f} s"
            bars.append(
                Bar(f"{engine} on two workers, times local", found["seconds"] / local["seconds"], "<=", 1.5, note)
            )
            away = abs(found["p_value"] / local["p_value"] - 1.0)
            bars.append(Bar(f"p-value of {engine}, relative difference", away, "<=", 1e-9))
    return bars


def _fitted() -> gd.DriftDetector:
    rows = draw(100_000, 0)[1]
    return gd.DriftDetector(random_state=0).fit({f"c{index}": column for index, column in enumerate(rows.T)})


def test_local(path: str) -> dict[str, float]:
    return _test_twice(_fitted(), path)


def _test_twice(detector: gd.DriftDetector, rows: Any) -> dict[str, float]:
    """Seconds and p-value of a second test; the first warms up."""
    detector.test(rows)
    start = time.perf_counter()
    result = detector.test(rows)
    return {"seconds": time.perf_counter() - start, "p_value": result.p_value}


def test_dask(path: str) -> dict[str, float]:
    import dask.dataframe as dd  # noqa: PLC0415
    from dask.distributed import Client, LocalCluster  # noqa: PLC0415

    detector = _fitted()
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster):
        frame = dd.read_parquet(path, split_row_groups=True)
        found = _test_twice(detector, frame)
        return found | {"floor": best(lambda: frame.map_partitions(len, meta=int).compute(), 1)}


def test_spark(path: str) -> dict[str, float]:
    from pyspark.sql import SparkSession  # noqa: PLC0415

    detector = _fitted()
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    builder = builder.config("spark.pyspark.python", sys.executable).config("spark.driver.memory", "4g")
    session = builder.getOrCreate()
    frame = session.read.parquet(path)
    found = _test_twice(detector, frame)
    found["floor"] = best(lambda: frame.mapInArrow(_only_count, "n long").collect(), 1)
    session.stop()
    return found


def _only_count(batches: Iterator[Any]) -> Iterator[Any]:
    """Rows of a partition, which are taken over and not looked at."""
    import pyarrow as pa  # noqa: PLC0415

    yield pa.RecordBatch.from_arrays([pa.array([sum(map(len, batches))])], names=["n"])


def show_profiles(share: float) -> None:
    """Where the time of a count goes, by function, at three sizes."""
    detector = gd.DriftDetector(random_state=0, n_bins=32).fit(draw(100_000, 0)[1])
    detector.count(draw(100_000, 2)[1])
    for n_cells in (1e4, 1e6, 1e8):
        n_rows = max(int(n_cells * share / 20), 100)
        chunk = draw(min(n_rows, CHUNK), 1)[1]
        watch, repeats = cProfile.Profile(), max(1, 10_000 // n_rows)
        for profiled in (False, True):
            start = time.perf_counter()
            for _ in range(repeats if profiled else 1):
                if profiled:
                    watch.enable()
                detector.count(chunk[: n_rows - first] for first in range(0, n_rows, len(chunk)))
                watch.disable()
        seconds = (time.perf_counter() - start) / repeats
        print(f"\n{n_cells:.0e} cells, {n_rows:,} rows: {seconds:.4f} s, {seconds / n_rows * 1e9:.0f} ns a row")
        stats: dict[Any, Any] = vars(pstats.Stats(watch))["stats"]
        by_function = sorted(((entry[2] / repeats, place[2]) for place, entry in stats.items()), reverse=True)
        for own, name in by_function[:8]:
            print(f"  {own / seconds:>6.1%}  {name}")
    show_limits(detector)


def show_limits(detector: gd.DriftDetector) -> None:
    """What a row costs, beside what cannot be saved: reading it, its matrix products, decoding it."""
    complete, gaps = draw(CHUNK, 1)
    part, centres = complete[:4_096], np.zeros((20, 32), dtype=np.float32)
    single = part.astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.parquet")
        write_parquet(path, CHUNK, 1, 20, 10, 0.2)
        decoding = best(lambda: read_parquet(path))
    seconds = {
        "counting": best(lambda: detector.count(gaps)) / CHUNK,
        "reading it from memory once": best(gaps.sum) / CHUNK,
        "its product with itself (BLAS)": best(lambda: part.T @ part, 50) / len(part),
        "its products with 32 centres (BLAS)": best(lambda: single @ centres, 50) / len(part),
        "decoding it from Parquet": decoding / CHUNK,
    }
    print("\na row of 20 columns")
    for name, each in seconds.items():
        print(f"  {each * 1e9:>6.0f} ns  {name}")


def child(name: str, *arguments: Any) -> dict[str, float]:
    """What one measurement prints, made in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.throughput", "--child", name, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


CHILDREN: dict[str, Callable[..., dict[str, float]]] = {
    "rows": count_rows,
    "memory": measure_memory,
    "read": read_parquet,
    "parquet": compare_parquet,
    "local": test_local,
    "dask": test_dask,
    "spark": test_spark,
}

if __name__ == "__main__":
    main()
