"""Time and memory of `MDLFWF.fit`, and the time to import the package.

Bars, as ratios inside one run on one thread:

- the default settings are at least 60 times faster than the published ones at m = 500 and 1,000;
- from m = 1,000 to 50,000 the time of the default grows no faster than m^1.2;
- peak memory stays under 1 GiB;
- `import gapdrift` takes at most 1.5 times the time of `import sklearn.ensemble, narwhals`.

Run `python -m benchmarks.fit`; `--quick` leaves the published settings at m = 1,000 out (two minutes).
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import gapdrift as gd
from benchmarks._report import Bar, finish, say

DRIFT = gd.datasets.DRIFTS["gaussian-mean"]


@dataclass(frozen=True)
class Timing:
    """Seconds of the best run, and the peak memory of its process in MiB."""

    seconds: float
    mebibytes: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave the slowest measurement out")
    parser.add_argument("--one", nargs=2, metavar=("SETTINGS", "ROWS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure_here(arguments.one[0], int(arguments.one[1]))
        return
    finish(speed_bars((500,) if arguments.quick else (500, 1_000)) + growth_bars() + import_bars())


def measure_here(settings: str, n_rows: int) -> None:
    """Fit in this process; print seconds and peak memory."""
    import resource  # noqa: PLC0415

    rows = DRIFT.sample(n_rows, severity=0, missing=0.2, rng=0)
    make: Callable[[], gd.MDLFWF] = {
        "default": lambda: gd.MDLFWF(random_state=0),
        "published": lambda: gd.MDLFWF.as_published(random_state=0),
    }[settings]
    gd.MDLFWF(random_state=0).fit(rows[:100])  # first-use costs of the libraries belong to neither side
    repeats = 5 if settings == "default" and n_rows <= 5_000 else 1
    seconds = min(clock(lambda: make().fit(rows)) for _ in range(repeats))
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def clock(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(settings: str, n_rows: int) -> Timing:
    """Fit in a process of its own, on one thread, so that peak memory is its own."""
    say(f"fitting {settings} settings on {n_rows:,} rows")
    command = [sys.executable, "-m", "benchmarks.fit", "--one", settings, str(n_rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=one_thread())
    seconds, mebibytes = map(float, done.stdout.split())
    return Timing(seconds, mebibytes)


def one_thread() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def speed_bars(sizes: tuple[int, ...]) -> list[Bar]:
    bars = []
    for n_rows in sizes:
        fast, slow = measure("default", n_rows), measure("published", n_rows)
        note = f"{fast.seconds:.2f} s against {slow.seconds:.1f} s"
        bars.append(Bar(f"faster than published, m = {n_rows:,}", slow.seconds / fast.seconds, ">=", 60, note))
    return bars


def growth_bars() -> list[Bar]:
    sizes = (1_000, 5_000, 20_000, 50_000)
    timings = [measure("default", n_rows) for n_rows in sizes]
    exponent = np.log(timings[-1].seconds / timings[0].seconds) / np.log(sizes[-1] / sizes[0])
    note = ", ".join(f"{size:,}: {timing.seconds:.2f} s" for size, timing in zip(sizes, timings, strict=True))
    peak = max(timing.mebibytes for timing in timings)
    return [
        Bar("growth exponent, m = 1,000 to 50,000", float(exponent), "<=", 1.2, note),
        Bar("peak memory, MiB", peak, "<=", 1024, "of the whole process"),
    ]


def import_bars() -> list[Bar]:
    ours, theirs = (import_time(code) for code in ("import gapdrift", "import sklearn.ensemble, narwhals"))
    return [Bar("import time, ratio", ours / theirs, "<=", 1.5, f"{ours:.2f} s against {theirs:.2f} s")]


def import_time(code: str) -> float:
    say(f"timing {code}")
    command = [sys.executable, "-c", code]
    return min(clock(lambda: subprocess.run(command, check=True, env=one_thread())) for _ in range(7))


if __name__ == "__main__":
    main()
