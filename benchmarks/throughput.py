"""Speed and memory of counting, as ratios inside one run on one thread.

Each measurement has a process of its own; what is compared runs in turns, and the fastest of several rounds counts.
KMeans is scikit-learn's `KMeans.predict` with 32 clusters on the same rows without missing values. Groups (`--only`):

- `count`: `count` of 1,000,000 x 20 rows, 32 regions, 20 % missing in ten columns, a reference of 100,000 rows: at most
  2.5 times KMeans with the extra `fast` (numba), and at most 6 times in a process that cannot import numba;
- `references`: the same per row with references of 500, 2,000 and 9,999 rows: at most 10 times KMeans;
- `weather`: a row of the Australian weather (`GAPDRIFT_DATA`), 145,460 rows of 23 columns against 100,000 of them: at
  most 8 times a row of `count`;
- `wide`: fit and test, 600 x 40 rows on both sides, 26 % of the cells missing: at most half the time in which
  `HistGradientBoostingClassifier` fits 50 trees that tell the sides apart;
- `compare`: the command `gapdrift compare` on two Parquet files of 1,000,000 x 20 rows: at most 4 times as long as a
  process that reads both files with pyarrow, the start of Python included on both sides, and at most 512 MiB;
- `rows`: from 10,000 to 10,000,000 rows the time per row stays within 20 %, and memory does not grow;
- `parquet`: fit and test of Parquet files of 3,000,000 x 100 rows, 10 % missing: at most 6 times the time that pyarrow
  needs to read one of them into memory, and less than 1.5 GiB;
- `old`, which needs `--old PATH`, another checkout: `import gapdrift`, alone and with both detectors, takes at most 1.1
  times as long as there, and fit and test of 500 x 5 rows at most 1.5 times as long; the note has the cost of a row
  of `count` in both;
- `engines`, which runs only where it is asked for, by `--engines` or by name: Dask and Spark on two workers take at
  most 1.5 times the local time for 10,000,000 rows, their start apart, and give the local p-value to 1e-9. Each counts
  the file once before it is timed: compilers of machine code belong to the start. The note says what the engine
  needs to hand the same rows to Python, where nothing is done.

`--profile` shows where the time goes at 1e4, 1e6 and 1e8 cells. Run `python -m benchmarks.throughput`; with
`--share 0.1` windows and files have a tenth of the rows, which is enough to see that everything works.
"""

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks._processes import HERE, measure, run_alone, time_import
from benchmarks._report import Bar, finish, left_out, say

Group = Callable[[float], list[Bar]]

N_REFERENCE = 100_000
SMALL_REFERENCES = (500, 2_000, 9_999)
ROUNDS = 3
IMPORT_ROUNDS = 15
READ_BOTH = (
    sys.executable,
    "-c",
    "import sys, pyarrow as pa, pyarrow.parquet as pq; pa.set_cpu_count(1); "
    "tables = [pq.read_table(path, use_threads=False) for path in sys.argv[1:]]",
)
IMPORTS = {
    "import gapdrift, times old": "import gapdrift",
    "import of both detectors, times old": "import gapdrift; gapdrift.DriftDetector, gapdrift.MDLFWF",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="of the rows (default %(default)s)")
    parser.add_argument("--only", choices=(*GROUPS, "old", "engines"), nargs="+", help="groups of bars")
    parser.add_argument("--old", type=Path, metavar="PATH", help="beside the gapdrift of this checkout as well")
    parser.add_argument("--engines", action="store_true", help="Dask and Spark as well")
    parser.add_argument("--profile", action="store_true", help="where the time goes, and no bars")
    arguments = parser.parse_args()
    if arguments.old and not (arguments.old / "src" / "gapdrift" / "__init__.py").is_file():
        parser.error(f"--old {arguments.old} holds no src/gapdrift: name the root of a checkout")
    if "old" in (arguments.only or ()) and not arguments.old:
        parser.error("--only old needs a checkout to compare with: --old PATH")
    if arguments.profile:
        from benchmarks._profiles import show_profiles  # noqa: PLC0415

        show_profiles(arguments.share)
        return
    finish([bar for group in chosen_groups(arguments) for bar in group(arguments.share)])


def chosen_groups(arguments: argparse.Namespace) -> list[Group]:
    """Groups of bars that were named; without names all, those that an option asks for included."""
    groups = dict(GROUPS)
    if arguments.old:
        groups["old"] = partial(old_bars, checkout=arguments.old.resolve())
    if arguments.engines or "engines" in (arguments.only or ()):
        groups["engines"] = engine_bars
    return [groups[name] for name in arguments.only or groups]


def count_bars(share: float) -> list[Bar]:
    n_rows = int(1_000_000 * share)
    say("count without numba")
    plain = measure("count", n_rows, N_REFERENCE, numba=False)
    bars = [count_bar("count without fast, times KMeans", plain, 6.0)]
    if numba_is_installed("count"):
        say("count with numba")
        bars.insert(0, count_bar("count with fast, times KMeans", measure("count", n_rows, N_REFERENCE), 2.5))
    return bars


def reference_bars(share: float) -> list[Bar]:
    if not numba_is_installed("references"):
        return []
    n_rows, bars = int(200_000 * share), []
    for n_reference in SMALL_REFERENCES:
        say(f"count with a reference of {n_reference:,} rows")
        compiled, plain = (measure("count", n_rows, n_reference, numba=numba) for numba in (True, False))
        name = f"count, reference of {n_reference:,} rows, times KMeans"
        bars.append(count_bar(name, compiled, 10.0, f"; without fast {plain['ours'] / plain['theirs']:.3g} times"))
    return bars


def count_bar(name: str, found: dict[str, float], bound: float, more: str = "") -> Bar:
    """Bar of a row of `count` in terms of a row of `KMeans.predict`."""
    note = f"{found['ours']:.0f} ns a row, KMeans.predict {found['theirs']:.0f} ns{unless_numba(found)}{more}"
    return Bar(name, found["ours"] / found["theirs"], "<=", bound, note)


def unless_numba(found: dict[str, float]) -> str:
    """Words for the note where rows were counted without numba, installed or not."""
    return "" if found["numba"] else ", numba not loaded"


def weather_bars(share: float) -> list[Bar]:
    say("counting weather_aus")
    found = measure("weather", int(1_000_000 * share))
    if not found:
        left_out("weather", "There is no weather_aus/weather_aus.parquet below the folder that GAPDRIFT_DATA names.")
        return []
    note = f"{found['weather']:.0f} ns a row of {found['rows']:,}, {found['drawn']:.0f} ns{unless_numba(found)}"
    return [Bar("weather_aus, times a row of count", found["weather"] / found["drawn"], "<=", 8.0, note)]


def wide_bars(_share: float) -> list[Bar]:
    say("fit and test of 600 x 40 rows")
    found, plain = (measure("wide", numba=numba) for numba in (True, False))
    note = f"{found['ours']:.3f} s, trees {found['theirs']:.3f} s; without fast {plain['ours'] / plain['theirs']:.3g}"
    return [Bar("fit and test 600 x 40, times boosted trees", found["ours"] / found["theirs"], "<=", 0.5, note)]


def compare_bars(share: float) -> list[Bar]:
    with tempfile.TemporaryDirectory() as folder:
        paths = write_pair("write narrow", folder, int(1_000_000 * share))
        say("gapdrift compare")
        rounds = [
            (run_alone(sys.executable, "-m", "gapdrift", "compare", *paths, "--json"), run_alone(*READ_BOTH, *paths))
            for _ in range(ROUNDS)
        ]
    ours, theirs = (min(each.seconds for each in side) for side in zip(*rounds, strict=True))
    note = f"{ours:.2f} s, reading {theirs:.2f} s"
    return [
        Bar("gapdrift compare of Parquet files, times reading both", ours / theirs, "<=", 4.0, note),
        Bar("its peak memory, MiB", max(both[0].mebibytes for both in rounds), "<=", 512.0),
    ]


def row_bars(share: float) -> list[Bar]:
    """Bars of time per row, by rounds over all numbers of rows, and of memory, each in a process of its own."""
    sizes = [int(size * share) for size in (10_000, 100_000, 1_000_000, 10_000_000)]
    say("counting rows")
    times = measure("rows", *sizes)
    peaks = [measure("memory", size)["mebibytes"] for size in sizes[-2:]]
    note = ", ".join(f"{int(size):,}: {each:.0f} ns" for size, each in times.items())
    grown = " and ".join(f"{peak:.0f} MiB" for peak in peaks)
    return [
        Bar("time per row, largest over smallest", max(times.values()) / min(times.values()), "<=", 1.2, note),
        Bar(f"memory, {sizes[-1]:,} rows over {sizes[-2]:,}", max(peaks) / min(peaks), "<=", 1.1, grown),
    ]


def parquet_bars(share: float) -> list[Bar]:
    with tempfile.TemporaryDirectory() as folder:
        paths = write_pair("write wide", folder, int(3_000_000 * share))
        say("reading")
        reading = measure("read", paths[1])
        say("fit and test")
        ours = measure("parquet", *paths)
    note = f"{ours['seconds']:.1f} s, reading {reading['seconds']:.1f} s; fit {ours['fit']:.1f} s"
    return [
        Bar("fit and test of a Parquet file, times reading it", ours["seconds"] / reading["seconds"], "<=", 6.0, note),
        Bar("its peak memory, MiB", ours["mebibytes"], "<", 1536.0),
    ]


def write_pair(measurement: str, folder: str, n_rows: int) -> list[str]:
    """Paths of a reference and a window, written with so many rows each."""
    paths = [str(Path(folder) / f"{name}.parquet") for name in ("reference", "window")]
    for seed, path in enumerate(paths):
        say(f"writing {Path(path).name}")
        measure(measurement, path, n_rows, seed)
    return paths


def old_bars(share: float, checkout: Path) -> list[Bar]:
    bars = []
    for name, code in IMPORTS.items():
        say(name)
        rounds = [[time_import(code, each) for each in (HERE, checkout)] for _ in range(IMPORT_ROUNDS)]
        new, old = (min(side) for side in zip(*rounds, strict=True))
        bars.append(Bar(name, new / old, "<=", 1.1, f"{new * 1e3:.0f} ms, old {old * 1e3:.0f} ms"))
    say("fit and test of 500 x 5 rows")
    new, old = beside("small", "seconds", checkout)
    say("count")
    row, old_row = beside("count", "ours", checkout, int(1_000_000 * share), N_REFERENCE)
    note = f"{new * 1e3:.1f} ms, old {old * 1e3:.1f} ms; a row of count {row:.0f} ns, old {old_row:.0f} ns"
    return [*bars, Bar("fit and test 500 x 5, times old", new / old, "<=", 1.5, note)]


def beside(name: str, figure: str, checkout: Path, *arguments: int) -> tuple[float, float]:
    """The least of a figure over several measurements, of this checkout and of another one in turns."""
    rounds = [[measure(name, *arguments, checkout=each)[figure] for each in (HERE, checkout)] for _ in range(ROUNDS)]
    new, old = (min(side) for side in zip(*rounds, strict=True))
    return new, old


def engine_bars(share: float) -> list[Bar]:
    bars = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "window.parquet")
        say("writing window.parquet")
        measure("write chunks", path, int(10_000_000 * share), 1)
        say("local")
        local = measure("local", path)
        for engine in ("dask", "spark"):
            say(engine)
            found = measure(engine, path)
            note = f"{found['seconds']:.1f} s, local {local['seconds']:.1f} s; handing over {found['floor']:.1f} s"
            ratio = found["seconds"] / local["seconds"]
            away = abs(found["p_value"] / local["p_value"] - 1.0)
            bars.append(Bar(f"{engine} on two workers, times local", ratio, "<=", 1.5, note))
            bars.append(Bar(f"p-value of {engine}, relative difference", away, "<=", 1e-9))
    return bars


def numba_is_installed(group: str) -> bool:
    """Whether numba is there; where not, a sentence says that bars are left out."""
    installed = importlib.util.find_spec("numba") is not None
    if not installed:
        left_out(f"{group} with fast", "numba is not installed: pip install 'gapdrift[fast]'.")
    return installed


GROUPS: dict[str, Group] = {
    "count": count_bars,
    "references": reference_bars,
    "weather": weather_bars,
    "wide": wide_bars,
    "compare": compare_bars,
    "rows": row_bars,
    "parquet": parquet_bars,
}

if __name__ == "__main__":
    main()
