"""False alarms of `DriftDetector` with large references.

Each trial draws a fresh reference of 10,000 rows, a fifth of the cells missing, and tests windows of several sizes:
with the same gaps, with none, and with half of the cells missing. Kinds: eight columns of numbers, counts, a heavy
tail, a threshold and many zeros; four columns of few whole numbers; heavy tails; twenty dependent columns; categories;
and, where there is real data (`GAPDRIFT_DATA`), rows drawn from each set of at least 50,000 (`--only real`).

Bars: with the same gaps the verdict alarms in 3 to 7 % of the trials at alpha 0.05 and in 0.4 to 2 % at 0.01; with
other gaps `values` alarms in at most 7 %. A bar is missed where the count could not come (1 time in 1,000) from any
rate inside it. A run that was stopped goes on where it stopped.

With `--power`: three drifts of 1,000 rows in eight columns, and as many rows without drift, each against the same
10,000 reference rows, the first 9,999 and the first 9,998 of them. Bars: without drift the p-values of values and of
missingness move no more with the last row than with the row before, and no fewer drifts are found with it than
without it; both but for what happens by chance 1 time in 1,000. The notes have the shares found.

Run `python -m benchmarks.large --trials 200 --csv FILE`.
"""

import argparse
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, spearmanr

import gapdrift as gd
from benchmarks._report import Bar, finish, finish_rows
from benchmarks._trials import SURE, add_arguments, outside, run, select, write_csv
from benchmarks.calibration import data_folder, read

Matrix = NDArray[np.float64]
Rng = np.random.Generator

N_REFERENCE = 10_000
MANY = 50_000
RATE = 0.2
SWAPS = 20_000
LEAST_MOVE = 1e-6
ROUNDING = 1e-9
SIZES = (100, 1_000, 10_000, 100_000)
RATES = {"same gaps": 0.2, "no gaps": 0.0, "more gaps": 0.5}
PARTS = ("verdict", "values", "missingness")
COLUMNS = [f"{part} {alpha}" for part in PARTS for alpha in ("0.05", "0.01")]
HEADER = ("case", "rows", "gaps", "trials", *COLUMNS, "bars")
NULL = (("verdict", 0.05, 0.03, 0.07), ("verdict", 0.01, 0.004, 0.02))
CALM = (("values", 0.05, 0.0, 0.07),)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser, trials=4)
    parser.add_argument("--power", action="store_true", help="drift found, and p-values with one row more")
    arguments = parser.parse_args()
    if arguments.power:
        finish(power_bars(arguments.trials, arguments.seed, arguments.jobs))
        return
    kinds = select((*KINDS, *real_sets()), arguments.only)
    tasks = [(kind, seed) for seed in range(arguments.seed, arguments.seed + arguments.trials) for kind in kinds]
    journal = None if arguments.csv is None else arguments.csv.with_suffix(".part")
    found = run(work, tasks, arguments.jobs, journal)
    rows = []
    for kind in kinds:
        counts = np.sum([result for task, result in zip(tasks, found, strict=True) if task[0] == kind], axis=0)
        rows += list(rows_of(kind, counts, arguments.trials))
    write_csv(arguments.csv, HEADER, rows)
    finish_rows(HEADER, rows, sum(row[-1] != "ok" for row in rows))


def rows_of(kind: str, counts: Any, trials: int) -> Any:
    """Rows of the table for one kind."""
    for size, by_gaps in zip(SIZES, counts, strict=True):
        for gaps, alarms in zip(RATES, by_gaps, strict=True):
            bars = NULL if gaps == "same gaps" else CALM
            wrong = [
                f"{part} at {alpha}"
                for part, alpha, low, high in bars
                if outside(int(alarms[COLUMNS.index(f"{part} {alpha}")]), trials, low, high)
            ]
            shares = [f"{share:.4f}" for share in np.asarray(alarms) / trials]
            yield (kind, str(size), gaps, str(trials), *shares, "MISSED " + "; ".join(wrong) if wrong else "ok")


def work(task: tuple[str, int]) -> list[list[list[int]]]:
    """Alarms of one reference: (sizes, rates, verdict, values and missingness at 0.05 and 0.01)."""
    kind, seed = task
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    make = KINDS[kind] if kind in KINDS else real(real_sets()[kind])
    detector = gd.DriftDetector(random_state=seed).fit(table(kind, hidden(make(N_REFERENCE, rng), RATE, rng)))
    return [
        [alarms(detector, table(kind, hidden(make(size, rng), rate, rng))) for rate in RATES.values()] for size in SIZES
    ]


def power_bars(trials: int, seed: int, jobs: int) -> list[Bar]:
    """Bars of continuity, for values and missingness, and bars of what is found, one for each drift."""
    p_values = np.array(run(window_p_values, [(number,) for number in range(seed, seed + trials)], jobs, None))
    calm = p_values[:, :, -1]
    parts = [continuity_bar(name, calm[:, :, place]) for place, name in enumerate(PARTS) if name != "verdict"]
    verdicts = p_values[:, :, :, PARTS.index("verdict")] < 0.05
    return parts + [found_bar(name, verdicts[:, :, place]) for place, name in enumerate(DRIFTS)]


def continuity_bar(name: str, p_values: Matrix) -> Bar:
    """Bar of how far p-values move with the last row, as a multiple of how far they move with the row before.

    Parameters
    ----------
    name
        Whose p-values.
    p_values : array of shape (trials, 3)
        By the number of reference rows: 9,998, 9,999 and 10,000.

    Notes
    -----
    Either step adds one row that was drawn like all others. If nothing else changes at 10,000 rows, the two moves of a
    trial are alike but for chance, and may be swapped. The figure is the geometric mean of their ratios, which no
    single window rules; the bound is what 1 of 1,000 random swaps exceeds (a randomisation test), so it needs no law
    of p-values and no number set by hand. Moves below a millionth count as a millionth.
    """
    before, last = np.abs(np.diff(p_values, axis=1)).T
    log_ratios = np.log(np.maximum(last, LEAST_MOVE) / np.maximum(before, LEAST_MOVE))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (SWAPS, len(last)))
    bound = float(np.exp(np.quantile(signs @ log_ratios / len(last), 1 - SURE) + ROUNDING))
    correlations = [float(spearmanr(p_values[:, place], p_values[:, place + 1]).statistic) for place in (1, 0)]
    note = (
        f"largest |difference| {last.max():.2g} and {before.max():.2g}, "
        f"rank correlation {correlations[0]:.4f} and {correlations[1]:.4f} of {len(last)} windows"
    )
    return Bar(f"{name}: move of p with row 10,000 over row 9,999", float(np.exp(log_ratios.mean())), "<=", bound, note)


def found_bar(name: str, found: NDArray[np.bool_]) -> Bar:
    """Bar of the trials in which a drift is found with 9,999 rows only."""
    fewer, more = found[:, 1], found[:, 2]
    lost, won = int((fewer & ~more).sum()), int((more & ~fewer).sum())
    note = f"found in {more.mean():.3f} of {len(found)} trials, with 9,999 rows in {fewer.mean():.3f}"
    return Bar(f"{name}: found with 9,999 rows only", lost, "<=", float(binom.ppf(1 - SURE, lost + won, 0.5)), note)


def window_p_values(task: tuple[int]) -> list[list[list[float]]]:
    """P-values of one reference: (numbers of its rows, drifts and a window without drift, parts)."""
    rng = np.random.default_rng([task[0], len(KINDS)])
    make = dependent(8)
    reference = hidden(make(N_REFERENCE, rng), RATE, rng)
    windows = [hidden(drift(make(1_000, rng), rng), RATE, rng) for drift in DRIFTS.values()]
    windows.append(hidden(make(1_000, rng), RATE, rng))
    detectors = [gd.DriftDetector(random_state=task[0]).fit(reference[: N_REFERENCE - less]) for less in (2, 1, 0)]
    return [[part_p_values(detector, window) for window in windows] for detector in detectors]


def move_mean(rows: Matrix, _rng: Rng) -> Matrix:
    rows[:, 2] += 0.11 * rows[:, 2].std()
    return rows


def loosen(rows: Matrix, rng: Rng) -> Matrix:
    """Take a third of a column out of its dependence on the others."""
    chosen = rng.random(len(rows)) < 0.3
    rows[chosen, 3] = rng.permutation(rows[chosen, 3])
    return rows


def split(rows: Matrix, rng: Rng) -> Matrix:
    """Bring a quarter of a column to two places."""
    chosen = rng.random(len(rows)) < 0.25
    rows[chosen, 4] = 0.55 * rows[:, 4].std() * np.sign(rows[chosen, 4])
    return rows


def alarms(detector: gd.DriftDetector, window: Any) -> list[int]:
    return [int(p < alpha) for p in part_p_values(detector, window) for alpha in (0.05, 0.01)]


def part_p_values(detector: gd.DriftDetector, window: Any) -> list[float]:
    """P-values of the verdict, of values and of missingness."""
    result = detector.test(window)
    return [result.p_value, result.values.p_value, result.missingness.p_value if result.missingness else 1.0]


def hidden(rows: Any, rate: float, rng: Rng) -> Any:
    gaps = rng.random(rows.shape) < rate
    return np.where(gaps, np.nan, rows) if isinstance(rows, np.ndarray) else rows.mask(gaps)


def table(kind: str, rows: Matrix) -> Any:
    """Categories as text; numbers as they are."""
    if kind != "categories":
        return rows
    columns: dict[str, Any] = {"number": rows[:, 0]}
    for place, column in enumerate(rows.T[1:]):
        text = np.char.add("level ", np.nan_to_num(column, nan=0.0).astype(int).astype(str)).astype(object)
        text[np.isnan(column)] = None
        columns[f"c{place}"] = text
    return columns


def mixed(n_rows: int, rng: Rng) -> Matrix:
    rows = dependent(8)(n_rows, rng)
    rows[:, 1] = np.exp(1.5 * rows[:, 1])
    rows[:, 2] = np.rint(2.0 * rows[:, 2])
    rows[:, 3] = rows[:, 3] > 0.5
    rows[:, 4] = np.maximum(rows[:, 4], 0.0)
    return rows


def few_values(n_rows: int, rng: Rng) -> Matrix:
    return np.rint(0.8 * (rng.normal(size=(n_rows, 1)) + rng.normal(size=(n_rows, 4))))


def heavy(n_rows: int, rng: Rng) -> Matrix:
    return rng.standard_t(2, size=(n_rows, 4)) @ (np.eye(4) + 0.5 * np.eye(4, k=1))


def dependent(n_columns: int) -> Callable[[int, Rng], Matrix]:
    loadings = np.random.default_rng(n_columns).normal(size=(n_columns, n_columns)) / np.sqrt(n_columns)
    return lambda n_rows, rng: (
        rng.normal(size=(n_rows, n_columns)) @ loadings + 0.5 * rng.normal(size=(n_rows, n_columns))
    )


def categories(n_rows: int, rng: Rng) -> Matrix:
    base = rng.normal(size=n_rows)
    levels = [np.clip(np.rint(base + rng.normal(size=n_rows)) + half, 0, 2 * half) for half in (1, 2, 4)]
    return np.column_stack([base, *levels])


@cache
def real_sets() -> dict[str, str]:
    """Paths of the real sets with many rows, by their names."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    paths = {f"real {path.stem}": str(path) for path in sorted(data_folder().glob("*/*.parquet"))}
    return {name: path for name, path in paths.items() if pq.ParquetFile(path).metadata.num_rows >= MANY}


def real(path: str) -> Callable[[int, Rng], Any]:
    """Draws of rows of a real set, each by itself."""
    return lambda n_rows, rng: read(path).iloc[rng.integers(len(read(path)), size=n_rows)].reset_index(drop=True)


KINDS: dict[str, Callable[[int, Rng], Matrix]] = {
    "mixed": mixed,
    "few values": few_values,
    "heavy tails": heavy,
    "twenty columns": dependent(20),
    "categories": categories,
}

DRIFTS: dict[str, Callable[[Matrix, Rng], Matrix]] = {"mean": move_mean, "dependence": loosen, "shape": split}

if __name__ == "__main__":
    main()
