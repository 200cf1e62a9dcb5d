"""Batches, seasons and dependent rows: false alarms, planted faults beside rivals, independent rows, many batches.

A task is one fresh reference of batches drawn at random (or, "in order", of consecutive ones, with windows that follow
them; "by season" with the season of a year taken off) and ten windows that are other batches, each untouched and with
three faults planted in one column: decoupled from the others (its values permuted within the batch), shifted by two
standard deviations between batches, its missing cells tripled.

Rivals see the same batches: NannyML's rule (Jensen-Shannon distance of each column, and missing shares, within three
standard deviations of the reference's chunks) and popmon's (pulls of means, standard deviations, quartiles and missing
shares). Hotelling's T-squared is that of the batches' means, before cells were hidden where the stream is generated.
The thresholds of all three are moved until they alarm as often on untouched windows as the detector does.

A fault has to be found twice as often as by both rules: the bar is missed wherever one of them finds more than half.
Windows "in order" follow the reference without a break: beside the alarms of all ten stand those of the first three,
before the season has moved on.
"""

import argparse
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

import gapdrift as gd
from benchmarks._trials import add_arguments, outside, read_journal, run, select, write_csv
from experiments.distributions import DRIFTS
from gapdrift.detectors.usual import UsualJudge

Matrix = NDArray[np.float64]

WINDOWS = 10
FIRST = 3
FAULTS = ("untouched", "decoupled", "shifted", "missing")
BATCHES = (10, 20, 50)
REAL = ("beijing", "weather", "air")
STREAMS = ("ar 0.5", "ar 0.9", "shifts", "day", "year")
SEASONAL = " by season"
ALPHA = 0.05
SENSITIVITY_WINDOWS = 4


# Data -----------------------------------------------------------------------------------------------------------------


def _data(name: str) -> pd.DataFrame:
    folder = os.environ.get("GAPDRIFT_DATA")
    if folder is None:
        sys.exit("GAPDRIFT_DATA is not set: it names the folder with the real data sets. Use --only to leave them out.")
    return pd.read_parquet(Path(folder) / name)


@cache
def real_batches(source: str, *, dated: bool = False) -> list[list[pd.DataFrame]]:
    """Batches of a real set in the order of time, for each station; with their times ("when") if they are dated."""
    if source == "beijing":
        table = _data("beijing_air_3")
        parts = [part.drop(columns=["station"]) for _, part in table.groupby("station", observed=True)]
        return [_cut(part, "timestamp", "W", dated=dated) for part in parts]
    if source == "weather":
        table = _data("weather_aus")
        parts = [part.drop(columns=["Location"]) for _, part in table.groupby("Location", observed=True)]
        return [cut for cut in (_cut(part, "Date", "M", dated=dated) for part in parts) if len(cut) > 70]
    return [_cut(_data("air_quality_uci"), "timestamp", "W", dated=dated)]


def _cut(table: pd.DataFrame, time_column: str, period: str, *, dated: bool) -> list[pd.DataFrame]:
    ordered = table.sort_values(time_column)
    parts = [part for _, part in ordered.groupby(ordered[time_column].dt.to_period(period))]
    usual = np.median([len(part) for part in parts])
    full = [part.reset_index(drop=True) for part in parts if len(part) > 0.8 * usual]
    return [part.rename(columns={time_column: "when"}) if dated else part.drop(columns=[time_column]) for part in full]


def generated(source: str, n_batches: int, n_rows: int, rng: np.random.Generator) -> list[pd.DataFrame]:
    """Complete batches of a stream with four columns, and the hours of its rows."""
    kind = source.removesuffix(" gaps")
    n_all = n_batches * n_rows
    mixing = np.array([[1.0, 0.6, 0.3, 0.0], [0.0, 0.8, 0.4, 0.0], [0.0, 0.0, 0.85, 0.5], [0.0, 0.0, 0.0, 0.86]])
    noise = rng.normal(size=(n_all, 4))
    if kind.startswith("ar"):
        phi = float(kind.split()[1])
        for row in range(1, n_all):
            noise[row] = phi * noise[row - 1] + np.sqrt(1.0 - phi**2) * noise[row]
    values = noise @ mixing
    hours = np.arange(n_all, dtype=float)
    if kind in {"shifts", "day", "year"}:
        values += np.repeat(0.7 * rng.normal(size=(n_batches, 4)) @ mixing, n_rows, axis=0)
    if kind == "day":
        hours *= 6.0 / n_rows  # a batch is a quarter of a day
        values[:, :2] += 1.5 * np.sin(2 * np.pi * hours / 24.0)[:, None]
    if kind == "year":
        hours *= 7 * 24.0 / n_rows  # a batch is a week
        values[:, :2] += 1.5 * np.sin(2 * np.pi * hours / (24.0 * 365.2425))[:, None]
    table = pd.DataFrame(values, columns=list("abcd"))
    if kind in {"day", "year"}:
        table.insert(0, "when", pd.Timestamp("2020-01-01") + pd.to_timedelta(hours, unit="h").round("s"))
    return [table.iloc[start : start + n_rows].reset_index(drop=True) for start in range(0, n_all, n_rows)]


def hide(batch: pd.DataFrame, share: float, rng: np.random.Generator) -> pd.DataFrame:
    """Batch with a share of the cells missing."""
    if not share:
        return batch
    hidden = batch.copy()
    for name in _numbers(batch):
        hidden.loc[rng.random(len(batch)) < share, name] = np.nan
    return hidden


def _numbers(batch: pd.DataFrame) -> list[str]:
    return [name for name in batch.columns if batch[name].dtype.kind == "f"]


# Faults ---------------------------------------------------------------------------------------------------------------


def plant(batch: pd.DataFrame, reference: list[pd.DataFrame], fault: str, rng: np.random.Generator) -> pd.DataFrame:
    """Batch with a fault in one of its columns of numbers."""
    if fault == "untouched":
        return batch
    usable = [name for name in _numbers(batch) if batch[name].notna().sum() > 10 and batch[name].nunique() > 8]
    if not usable:
        return batch
    name = str(rng.choice(usable))
    changed = batch.copy()
    column = changed[name].to_numpy(copy=True)
    if fault == "decoupled":
        column = rng.permutation(column)
    elif fault == "shifted":
        means = np.array([part[name].mean() for part in reference])
        column = column + 2.0 * np.nanstd(means, ddof=1) * rng.choice([-1.0, 1.0])
    else:
        usual = np.mean([part[name].isna().mean() for part in reference])
        own = float(batch[name].isna().to_numpy().mean())
        rate = 3.0 * max(own, float(usual), 0.01)
        short = rate - own
        column[rng.random(len(column)) < short] = np.nan
    changed[name] = column.astype(np.dtype(str(batch[name].dtype)))
    return changed


# Rivals ---------------------------------------------------------------------------------------------------------------


class Rivals:
    """Scores of NannyML's and popmon's rules, and p-values of Hotelling's T-squared."""

    def __init__(self, reference: list[pd.DataFrame], complete: list[pd.DataFrame]) -> None:
        self.names = _numbers(reference[0])
        joined = pd.concat(reference)
        joined = joined.drop(columns=[name for name in self.names if joined[name].isna().all()])
        self.names = [name for name in self.names if name in joined.columns]
        self.edges = {name: np.unique(np.nanquantile(joined[name], np.linspace(0, 1, 11)[1:-1])) for name in self.names}
        self.shares = {name: self._histogram(joined[name].to_numpy(dtype=float), name) for name in self.names}
        self.distances = self._standardise([self._distance(part) for part in reference])
        self.profiles = self._standardise([self._profile(part) for part in reference])
        means = np.array([complete_means(part, self.names) for part in complete])
        self.mean, self.n = means.mean(axis=0), len(means)
        self.covariance = np.cov(means.T)

    @staticmethod
    def _standardise(rows: list[Matrix]) -> tuple[Matrix, Matrix]:
        table = np.array(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # columns without values
            return np.nanmean(table, axis=0), np.maximum(np.nanstd(table, axis=0), 1e-9)

    def _histogram(self, column: Matrix, name: str) -> Matrix:
        present = column[~np.isnan(column)]
        counts = np.bincount(np.searchsorted(self.edges[name], present), minlength=len(self.edges[name]) + 1)
        return np.asarray(counts / max(counts.sum(), 1))

    def _distance(self, part: pd.DataFrame) -> Matrix:
        found = []
        for name, column in zip(self.names, part[self.names].to_numpy(dtype=float).T, strict=True):
            one, two = self._histogram(column, name), self.shares[name]
            middle = 0.5 * (one + two)
            with np.errstate(divide="ignore", invalid="ignore"):
                terms = [np.nansum(each * np.log2(each / middle)) for each in (one, two)]
            found += [np.sqrt(max(0.5 * sum(terms), 0.0)), np.isnan(column).mean()]
        return np.array(found)

    def _profile(self, part: pd.DataFrame) -> Matrix:
        columns = part[self.names].to_numpy(dtype=float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # columns without values
            quartiles = np.nanquantile(columns, (0.25, 0.5, 0.75), axis=0)
            moments = np.nanmean(columns, axis=0), np.nanstd(columns, axis=0, ddof=1)
        return np.concatenate([*moments, *quartiles, np.isnan(columns).mean(axis=0)])

    def scores(self, window: pd.DataFrame) -> tuple[float, float]:
        """Largest pull by NannyML's and by popmon's statistics."""
        pulls = []
        for (mean, deviation), row in (
            (self.distances, self._distance(window)),
            (self.profiles, self._profile(window)),
        ):
            pulls.append(float(np.nanmax(np.abs(row - mean) / deviation)))
        return pulls[0], pulls[1]

    def hotelling(self, window: pd.DataFrame) -> float:
        """p-value of the window's means; 1 where batches are too few."""
        size = len(self.names)
        if self.n <= size + 1 or not np.isfinite(self.covariance).all():
            return 1.0
        away = complete_means(window, self.names) - self.mean
        statistic = float(away @ np.linalg.pinv(self.covariance) @ away) / (1.0 + 1.0 / self.n)
        return float(f_distribution.sf(statistic * (self.n - size) / (size * (self.n - 1)), size, self.n - size))


def complete_means(part: pd.DataFrame, names: list[str]) -> Matrix:
    """Means of the columns; a column without values has the mean 0."""
    return np.asarray(np.nan_to_num(part[names].mean().to_numpy(dtype=float)))


# Tasks ----------------------------------------------------------------------------------------------------------------


def measure(task: list[Any]) -> list[float]:
    """Numbers of one reference: for each window and fault p-value, p-value of rows, two pulls, Hotelling's p-value."""
    cell, n_batches, seed = task
    rng = np.random.default_rng([seed, n_batches, sum(map(ord, cell))])
    if cell == "independent":
        return _independent(n_batches, rng)
    if cell.startswith("panes"):
        return _panes(cell.removeprefix("panes "), rng)
    if cell.startswith("sensitivity"):
        return _sensitivity(cell.removeprefix("sensitivity "), rng)
    reference, windows = _draw(cell, n_batches, rng)
    gaps = 0.2 if cell.endswith("gaps") else 0.0
    season = "year" if SEASONAL in cell else next((each for each in ("day", "year") if cell.startswith(each)), ())
    shown = [hide(part, gaps, rng) for part in reference]
    settings: dict[str, Any] = {"time": "when", "season": season} if season else {}
    detector = gd.DriftDetector(random_state=int(rng.integers(2**31))).fit(None, batches=shown, **settings)
    rivals = Rivals(shown, reference)
    p_value_of = quick_p_values(detector)
    found = []
    for window in windows:
        for fault in FAULTS:
            planted = plant(hide(window, gaps, rng) if fault == "missing" else window, shown, fault, rng)
            seen = planted if fault == "missing" else hide(planted, gaps, rng)
            rows = 1.0
            if fault == "untouched":
                result = detector.test(seen)
                assert result.usual is not None
                p_value, rows = result.p_value, result.usual.rows_p_value
            else:
                p_value = p_value_of(seen)
            found += [p_value, rows, *rivals.scores(seen), rivals.hotelling(planted)]
    return found


def quick_p_values(detector: gd.DriftDetector) -> Callable[[pd.DataFrame], float]:
    """Function from a window to the p-value of `test`, without the comparison with the reference's rows beside it."""
    usual = detector.usual_
    assert usual is not None
    judge = UsualJudge(usual, detector.reference_.batch_statistics(usual.basis))

    def p_value_of(window: pd.DataFrame) -> float:
        return judge.among(detector.count(window)).p_value

    return p_value_of


def _draw(cell: str, n_batches: int, rng: np.random.Generator) -> tuple[list[pd.DataFrame], list[pd.DataFrame]]:
    """Batches of a reference, and windows."""
    dated = SEASONAL in cell
    source = cell.removesuffix(" in order").removesuffix(SEASONAL).removesuffix(" gaps")
    if source not in REAL:
        drawn = generated(source, n_batches + WINDOWS, 100, rng)
    else:
        stations = [part for part in real_batches(source, dated=dated) if len(part) > n_batches]
        drawn = stations[int(rng.integers(len(stations)))]
    if cell.endswith("in order"):
        start = int(rng.integers(max(len(drawn) - n_batches - WINDOWS, 0) + 1))
        chosen = np.arange(start, min(start + n_batches + WINDOWS, len(drawn)))
    else:
        chosen = rng.permutation(len(drawn))[: n_batches + WINDOWS]
    parts = [drawn[place] for place in chosen.tolist()]
    return parts[:n_batches], parts[n_batches:]


INDEPENDENT: dict[str, Callable[[Matrix], Matrix]] = {
    "untouched": lambda rows: rows,
    "mean": lambda rows: rows + 0.45 * np.eye(6)[0],
    "all means": lambda rows: rows + 0.25,
    "spread": lambda rows: rows * np.where(np.arange(6) == 0, 1.35, 1.0),
    "correlation": lambda rows: np.column_stack([0.8 * rows[:, 0] + 0.6 * rows[:, 1], rows[:, 1:]]),
}


def _independent(n_batches: int, rng: np.random.Generator) -> list[float]:
    rows = rng.normal(size=(n_batches * 100, 6))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    detector = gd.DriftDetector(random_state=int(rng.integers(2**31))).fit(rows, batches=100)
    found = []
    for _ in range(WINDOWS):
        for change in INDEPENDENT.values():
            window = change(rng.normal(size=(100, 6)))
            window[rng.random(window.shape) < 0.2] = np.nan
            result = detector.test(window)
            found += [result.p_value, result.usual.rows_p_value if result.usual is not None else 1.0]
    return found


def _panes(source: str, rng: np.random.Generator) -> list[float]:
    (stream,) = generated(source, 1, 5_000, rng)
    gaps = 0.2 if source.endswith("gaps") else 0.0
    history = hide(stream, gaps, rng).assign(order=np.arange(5_000))
    detector = gd.DriftDetector(random_state=int(rng.integers(2**31))).fit(history, time="order")
    found = []
    for _ in range(WINDOWS):
        (window,) = generated(source, 1, 600, rng)
        result = detector.test(hide(window.iloc[100:], gaps, rng))
        moved = detector.test(hide(window.iloc[100:] + 0.5, gaps, rng))
        found += [result.p_value, result.usual.rows_p_value if result.usual is not None else 1.0, moved.p_value]
    return found


def _sensitivity(kind: str, rng: np.random.Generator) -> list[float]:
    """Whether windows with the change that is found with probability 0.8 are found: of the first column.

    Power depends on the reference, whose mean is itself a chance: few windows of many references.
    """
    drift, is_mean = DRIFTS[kind], kind.endswith("mean")
    reference = drift.sample(500, severity=0, missing=0.2, rng=rng)
    detector = gd.DriftDetector(random_state=int(rng.integers(2**31))).fit(reference)
    changes = ["values"] if is_mean else ["correlation"]
    (column,) = detector.sensitivity(500, columns=["x0"], changes=changes, partner="x1").columns
    found = []
    for _ in range(SENSITIVITY_WINDOWS):
        if is_mean:
            window = drift.sample(500, severity=0, missing=0.2, rng=rng)
            shift = column.shift or 0.0
            window[:, 0] += _steps(shift, 500, rng) if kind.startswith("poisson") else shift
        else:
            change = abs((column.correlation or 0.0) - (column.correlation_before or 0.0))
            window = drift.sample(500, severity=min(10.0 * change / drift.max_amount, 10.0), missing=0.2, rng=rng)
        found.append(float(bool(detector.test(window).drift)))
    return found


def _steps(amount: float, n_rows: int, rng: np.random.Generator) -> Matrix:
    """Whole numbers with a mean: counts that are moved stay counts."""
    whole = np.floor(amount)
    return np.asarray(whole + (rng.random(n_rows) < amount - whole))


def many_batches() -> tuple[float, float]:
    """Seconds of one processor and GiB of a fit on 10,000 batches of 100 columns, and a test."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200_000, 100)).astype(np.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    detector = gd.DriftDetector(random_state=0).fit(rows, batches=20)
    detector.test(rng.normal(size=(20, 100)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return time.process_time() - start, (peak - before) / 2**20


# Report ---------------------------------------------------------------------------------------------------------------


def cells() -> list[tuple[str, int]]:
    """All cells: name and number of batches."""
    streams = [f"{name}{gaps}" for name in STREAMS for gaps in ("", " gaps")]
    found = [(name, n) for n in BATCHES for name in (*REAL, *streams)]
    found += [(f"{name} in order", n) for name in REAL for n in (20, 50)]
    found += [(f"beijing{SEASONAL} in order", 104), (f"weather{SEASONAL} in order", 60)]
    found += [("independent", 50), *((f"sensitivity {kind}", 0) for kind in DRIFTS)]
    return found + [(f"panes ar {phi}{gaps}", 0) for phi in (0.5, 0.9) for gaps in ("", " gaps")]


def report(cell: str, n_batches: int, results: list[list[float]]) -> tuple[list[list[Any]], int]:
    """Rows of the table of a cell, and how many bars it misses."""
    if cell == "independent":
        return _report_independent(n_batches, results)
    if cell.startswith("panes"):
        return _report_panes(cell, results)
    if cell.startswith("sensitivity"):
        return _report_sensitivity(cell, results)
    table = np.concatenate([np.reshape(each, (-1, len(FAULTS), 5)) for each in results])
    in_order = cell.endswith("in order")
    alarms = table[:, :, 0] < ALPHA
    count, trials = int(alarms[:, 0].sum()), len(table)
    short = outside(count, trials, *((0.0, 0.12) if in_order else (0.03, 0.08)))
    rows = f"rows {(table[:, 0, 1] < ALPHA).mean():.3f}"
    if in_order:
        first = np.concatenate([np.reshape(each, (-1, len(FAULTS), 5))[:FIRST, 0, 0] for each in results])
        rows += f", first {FIRST} windows {(first < ALPHA).mean():.3f}"
    lines: list[list[Any]] = [[cell, n_batches, "untouched", trials, f"{count / trials:.3f}", rows, _bar(short)]]
    missed = int(short)
    for place, fault in enumerate(FAULTS[1:], 1):
        ours = alarms[:, place].mean()
        limits = [np.quantile(table[:, 0, 2 + rival], 1.0 - max(count, 1) / trials) for rival in (0, 1)]
        nanny, popmon = ((table[:, place, 2 + rival] > limits[rival]).mean() for rival in (0, 1))
        limit = np.quantile(table[:, 0, 4], max(count, 1) / trials)
        level, hotelling = (table[:, 0, 4] < ALPHA).mean(), (table[:, place, 4] < limit).mean()
        short = ours < 2.0 * max(nanny, popmon) or ours < hotelling - 0.1
        others = f"NannyML {nanny:.3f}, popmon {popmon:.3f}, Hotelling {hotelling:.3f} (false alarms by F {level:.3f})"
        lines.append([cell, n_batches, fault, trials, f"{ours:.3f}", others, "" if in_order else _bar(short)])
        missed += int(short and not in_order)
    return lines, missed


def _report_sensitivity(cell: str, results: list[list[float]]) -> tuple[list[list[Any]], int]:
    found = np.mean(results, axis=1)
    power, error = float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found)))
    short = abs(power - 0.8) > 0.05 + 3.0 * error
    others = f"planned 0.8 (standard error {error:.3f}, {len(found)} references)"
    n_windows = sum(map(len, results))
    return [[cell, 0, "as planned", n_windows, f"{power:.3f}", others, _bar(short)]], int(short)


def _report_panes(cell: str, results: list[list[float]]) -> tuple[list[list[Any]], int]:
    table = np.concatenate([np.reshape(each, (-1, 3)) for each in results])
    rate, rows, power = (table < ALPHA).mean(axis=0)
    short = outside(int((table[:, 0] < ALPHA).sum()), len(table), 0.0, 0.08)
    others = f"rows {rows:.3f}, shifted {power:.3f}"
    return [[cell, 0, "untouched", len(table), f"{rate:.3f}", others, _bar(short)]], int(short)


def _report_independent(n_batches: int, results: list[list[float]]) -> tuple[list[list[Any]], int]:
    table = np.concatenate([np.reshape(each, (-1, len(INDEPENDENT), 2)) for each in results])
    lines: list[list[Any]] = []
    missed = 0
    for place, kind in enumerate(INDEPENDENT):
        ours, plain = (table[:, place] < ALPHA).mean(axis=0)
        count = int((table[:, place, 0] < ALPHA).sum())
        short = bool(ours < plain - 0.1) if place else outside(count, len(table), 0.03, 0.08)
        lines.append(
            ["independent", n_batches, kind, len(table), f"{ours:.3f}", f"plain test {plain:.3f}", _bar(short)]
        )
        missed += int(short)
    return lines, missed


def _bar(missed: bool) -> str:
    return "MISSED" if missed else "ok"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser, trials=30)
    parser.add_argument(
        "--journal",
        type=Path,
        help="results are written here as they come; a stopped run goes on, and --trials 0 reports what is there",
    )
    options = parser.parse_args()
    names = [f"{name} {n}" for name, n in cells()]
    chosen = select([*names, "many"], options.only)
    noted = [json.loads(task) for task in read_journal(options.journal)]
    lines: list[list[Any]] = []
    missed = 0
    for (cell, n_batches), name in zip(cells(), names, strict=True):
        if name not in chosen:
            continue
        tasks = [[cell, n_batches, options.seed + trial] for trial in range(options.trials)]
        if not tasks:
            tasks = [task for task in noted if task[:2] == [cell, n_batches]]
        if not tasks:
            continue
        more, short = report(cell, n_batches, run(measure, tasks, options.jobs, options.journal))
        for line in more:
            print("  ".join(map(str, line)), flush=True)
        lines, missed = [*lines, *more], missed + short
    if "many" in chosen and options.trials:
        seconds, memory = many_batches()
        short = int(seconds > 60 or memory > 1)
        line = ["many", 10_000, "100 columns", 1, f"{seconds:.1f} s", f"{memory:.2f} GiB", "MISSED" if short else "ok"]
        print("  ".join(map(str, line)), flush=True)
        lines, missed = [*lines, line], missed + short
    if options.csv is not None:
        write_csv(options.csv, ["cell", "batches", "window", "windows", "alarms", "others", "bar"], lines)
    print(f"{missed} bar(s) missed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
