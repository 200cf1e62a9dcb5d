"""Time and memory of fits, and the time to import the package.

Bars, as ratios inside one run on one thread:

- `MDLFWF` by default is at least 60 times faster than with the published settings at m = 500 and 1,000, and
  `DriftDetector` at least 300 times at m = 500;
- from m = 1,000 to 50,000 the time of `MDLFWF` grows no faster than m^1.2;
- peak memory of those fits stays under 1 GiB;
- `DriftDetector` fits 1,000,000 x 20 rows, 20 % missing, in time linear in the rows (exponent from 100,000 at most
  1.1), and fits and tests 3,000 x 1,000 with 10 % missing within 60 s;
- importing both detectors takes at most 1.5 times the time of `import sklearn.ensemble, narwhals`;
- `gapdrift --help` takes less than twice the time of `python -c "import numpy"`.

Run `python -m benchmarks.fit`; `--quick` leaves the published settings at m = 1,000 out (two minutes).
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gapdrift as gd
from benchmarks._report import Bar, finish, say
from experiments.distributions import DRIFTS

DRIFT = DRIFTS["gaussian-mean"]
NULL: dict[str, Any] = {"severity": 0, "missing": 0.2, "rng": 0}


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
    sizes = (500,) if arguments.quick else (500, 1_000)
    finish(speed_bars(sizes) + growth_bars() + size_bars() + import_bars())


def measure_here(settings: str, n_rows: int) -> None:
    """Fit in this process; print seconds and peak memory."""
    import resource  # noqa: PLC0415

    wide = settings in {"large", "wide"}
    rows = factors(n_rows, 20 if settings == "large" else 1_000) if wide else DRIFT.sample(n_rows, **NULL)
    work: Callable[[], object] = {
        "default": lambda: gd.MDLFWF(random_state=0).fit(rows),
        "published": lambda: gd.MDLFWF.with_published_regressor(random_state=0).fit(rows),
        "detector": lambda: gd.DriftDetector(random_state=0).fit(rows),
        "large": lambda: gd.DriftDetector(random_state=0).fit(rows),
        "wide": lambda: gd.DriftDetector(random_state=0).fit(rows).test(rows[::-1]),
    }[settings]
    for detector in (gd.MDLFWF(random_state=0), gd.DriftDetector(random_state=0)):
        detector.fit(DRIFT.sample(100, **NULL))  # first-use costs of the libraries belong to no side
    repeats = 5 if settings in {"default", "detector"} and n_rows <= 5_000 else 1
    seconds = min(clock(work) for _ in range(repeats))
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def factors(n_rows: int, n_columns: int) -> NDArray[np.float64]:
    """Rows of a few common factors: 20 columns with 20 % missing, more with 10 %."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(5, n_columns))
    rows = rng.normal(size=(n_rows, 5)) @ loadings + rng.normal(size=(n_rows, n_columns))
    rows[rng.random(rows.shape) < (0.2 if n_columns == 20 else 0.1)] = np.nan
    return rows


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
        bars.append(Bar(f"MDLFWF faster than published, m = {n_rows:,}", slow.seconds / fast.seconds, ">=", 60, note))
        if n_rows == 500:
            ours = measure("detector", n_rows)
            note = f"{ours.seconds:.3f} s against {slow.seconds:.1f} s"
            bars.append(Bar("DriftDetector faster than published", slow.seconds / ours.seconds, ">=", 300, note))
    return bars


def size_bars() -> list[Bar]:
    some, many = measure("large", 100_000), measure("large", 1_000_000)
    exponent = np.log10(many.seconds / some.seconds)
    wide = measure("wide", 3_000)
    note = f"{some.seconds:.1f} s and {many.seconds:.1f} s, {many.mebibytes:,.0f} MiB with the data"
    return [
        Bar("DriftDetector growth, 100,000 to 1,000,000 x 20", float(exponent), "<=", 1.1, note),
        Bar("DriftDetector fit and test, 3,000 x 1,000, s", wide.seconds, "<=", 60, f"{wide.mebibytes:,.0f} MiB"),
    ]


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
    codes = (
        "import gapdrift; gapdrift.DriftDetector, gapdrift.MDLFWF",
        "import sklearn.ensemble, narwhals",
        "import sys; sys.argv = ['gapdrift', '--help']; from gapdrift.cli import main; main()",
        "import numpy",
    )
    ours, theirs, start, numpy = np.array([[import_time(code) for code in codes] for _ in range(7)]).min(axis=0)
    return [
        Bar("import time, ratio", float(ours / theirs), "<=", 1.5, f"{ours:.2f} s against {theirs:.2f} s"),
        Bar("gapdrift --help over import numpy", float(start / numpy), "<", 2, f"{start:.2f} s against {numpy:.2f} s"),
    ]


def import_time(code: str) -> float:
    say(f"timing {code}")
    command = [sys.executable, "-c", code]
    return clock(lambda: subprocess.run(command, check=True, env=one_thread(), stdout=subprocess.DEVNULL))


if __name__ == "__main__":
    main()
