"""Where the time of counting goes, by function, and what a row costs that cannot be saved."""

import cProfile
import pstats
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import gapdrift as gd
from benchmarks._measurements import CHUNK, fit_detector, read_parquet
from benchmarks._timing import best, draw, write_parquet

__all__ = ["show_profiles"]


def show_profiles(share: float) -> None:
    """Print shares of the time of `count` by function, at three sizes, and the limits of a row."""
    with threadpool_limits(1):
        detector = fit_detector(draw(CHUNK, 1)[1])
        for n_cells in (1e4, 1e6, 1e8):
            show_profile(detector, n_cells, max(int(n_cells * share / 20), 100))
        show_limits(detector)


def show_profile(detector: gd.DriftDetector, n_cells: float, n_rows: int) -> None:
    """Print the eight functions in which counting so many rows spends most of its time."""
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


def show_limits(detector: gd.DriftDetector) -> None:
    """Print what a row costs beside what cannot be saved: reading it, its matrix products, decoding it."""
    complete, incomplete = draw(CHUNK, 1)
    part, centres = complete[:4_096], np.zeros((20, 32), dtype=np.float32)
    single = part.astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.parquet")
        write_parquet(path, CHUNK, 1, 20, 10, 0.2, CHUNK)
        decoding = best(lambda: read_parquet(path))
    seconds = {
        "counting": best(lambda: detector.count(incomplete)) / CHUNK,
        "reading it from memory once": best(incomplete.sum) / CHUNK,
        "its product with itself (BLAS)": best(lambda: part.T @ part, 50) / len(part),
        "its products with 32 centres (BLAS)": best(lambda: single @ centres, 50) / len(part),
        "decoding it from Parquet": decoding / CHUNK,
    }
    print("\na row of 20 columns")
    for name, each in seconds.items():
        print(f"  {each * 1e9:>6.0f} ns  {name}")
