"""The part ``drawn`` of `benchmarks.power`: drifts drawn from `benchmarks.grammar`, beside rivals on the same rows.

Every trial has a fresh reference, a window with drift and one without. A method finds a drift where its p-value is at
most that which 5 % of all windows without drift reach: all methods are compared at the same measured level.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

import gapdrift as gd
from benchmarks._report import Bar, finish
from benchmarks._rivals import RIVALS, rival_p_values
from benchmarks._trials import SURE, run, write_csv
from benchmarks.grammar.drifts import FAMILIES, NAMING, DriftCase, drift_case, fixed_drifts, naming_drifts

__all__ = ["PARTS", "Shares", "add_arguments", "run_part", "shares", "work"]

PARTS = ("drawn", "lines", "naming")
METHODS = ("gapdrift", *RIVALS)
ALPHA = 0.05
CHUNK = 5
RESULTS = Path(__file__).with_name("results")
LEVEL_NAMES = [f"{method} level" for method in METHODS]
HEADER = ("case", "family", "trials", *METHODS, *LEVEL_NAMES, "named falsely", "bracket", "description")

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Shares:
    """What the trials of one case came to.

    Parameters
    ----------
    case
        Which.
    trials
        How many.
    found
        Share of windows with drift that each method finds, at the same measured level.
    levels
        Share of windows without drift in which each method has a p-value of at most 0.05.
    named_falsely
        Trials in which an untouched column is named.
    errors
        Trials in which the detector raised an error.
    """

    case: DriftCase
    trials: int
    found: Matrix
    levels: Matrix
    named_falsely: int
    errors: int

    def row(self) -> tuple[str, ...]:
        """Row of the table."""
        case = self.case
        figures = [f"{share:.3f}" for share in (*self.found, *self.levels)]
        named = f"{self.named_falsely / self.trials:.3f}" if case.untouched else ""
        bracket = "" if case.bracket is None else f"{case.bracket:.2f}"
        return (case.name, case.family, str(self.trials), *figures, named, bracket, str(case))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the drawn drifts."""
    parser.add_argument("--cases", type=int, default=6, help="drawn drifts of each family (default %(default)s)")
    parser.add_argument("--rows", type=int, default=0, help="only drawn drifts with at most so many rows in all")
    parser.add_argument("--families", default="", help="only families whose name contains this")


def run_part(arguments: argparse.Namespace) -> None:
    """Measure drawn and fixed drifts, print them and the bars; exit with 1 where one is missed."""
    path = arguments.csv or RESULTS / f"{arguments.only}-drifts.csv"
    names: list[str] = []
    if arguments.only == "drawn":
        chosen = [family for family in FAMILIES if family not in NAMING and arguments.families in family]
        names += [name for family in chosen for name in drawn_names(family, arguments)]
    if arguments.only in {"drawn", "lines"}:
        names += [name for name in fixed_drifts() if arguments.families in name]
    if arguments.only in {"drawn", "naming"}:
        names += list(naming_drifts())
    firsts = range(0, arguments.trials, CHUNK)
    tasks = [(name, first, min(CHUNK, arguments.trials - first)) for first in firsts for name in names]
    results = run(work, tasks, arguments.jobs, path.with_suffix(".part"))
    found = shares(names, tasks, results)
    write_csv(path, HEADER, [each.row() for each in found])
    path.with_suffix(".part").unlink(missing_ok=True)
    show(found)
    finish(bars(found))


def drawn_names(family: str, arguments: argparse.Namespace) -> list[str]:
    """Names of drawn drifts of a family, those with too many rows left out."""
    found: list[str] = []
    seed = arguments.seed
    while len(found) < arguments.cases:
        case = drift_case(f"{family} {seed}")
        if not arguments.rows or case.n_reference + case.n_window <= arguments.rows:
            found.append(case.name)
        seed += 1
    return found


def work(task: tuple[str, int, int]) -> list[list[list[float]]]:
    """P-values of some trials of a case: of each method with and without drift; last, whether a name is false."""
    name, first, trials = task
    return [trial_of(drift_case(name), trial) for trial in range(first, first + trials)]


def trial_of(case: DriftCase, trial: int) -> list[list[float]]:
    """P-values of one trial, with drift and without, for each method; then whether an untouched column is named."""
    reference, *windows = case.pair(trial)
    ours = [our_p_value(case, trial, reference, window) for window in windows]
    rows = [[p_value for p_value, _ in ours]]
    if case.family not in NAMING:
        rng = np.random.default_rng([case.seed, trial, 1])
        rivals = [rival_p_values(reference, window, case.categories, rng) for window in windows]
        rows += [[each[method] for each in rivals] for method in RIVALS]
    else:
        rows += [[1.0, 1.0]] * len(RIVALS)
    return [*rows, [float(falsely) for _, falsely in ours]]


def our_p_value(case: DriftCase, trial: int, reference: Matrix, window: Matrix) -> tuple[float, bool]:
    """P-value of the verdict, NaN where there is an error, and whether an untouched column is named."""
    try:
        detector = gd.DriftDetector(alpha=ALPHA, random_state=trial).fit(case.table(reference))
        result = detector.test(case.table(window))
    except Exception:
        return np.nan, False
    return result.p_value, names_falsely(case, result)


def names_falsely(case: DriftCase, result: gd.DriftResult) -> bool:
    """Whether a column is named that has not changed, nor any dependence on it."""
    found = [result.features[place].adjusted_p_value for place in case.untouched]
    return any(p_value is not None and p_value <= ALPHA for p_value in found)


def shares(names: Sequence[str], tasks: Sequence[tuple[str, int, int]], results: Sequence[Any]) -> list[Shares]:
    """Shares of each case, at thresholds that make all methods alarm as often where there is no drift."""
    records: dict[str, list[Any]] = {name: [] for name in names}
    for task, result in zip(tasks, results, strict=True):
        records[task[0]] += result
    arrays = {name: np.array(rows) for name, rows in records.items()}
    limits = thresholds(arrays)
    found = []
    for name, rows in arrays.items():
        drift, calm = rows[:, :-1, 0] <= limits, rows[:, :-1, 1] <= ALPHA
        counts = int(rows[:, -1, 0].sum()), int(np.isnan(rows).any(axis=(1, 2)).sum())
        found.append(Shares(drift_case(name), len(rows), drift.mean(axis=0), calm.mean(axis=0), *counts))
    return found


def thresholds(arrays: dict[str, Any]) -> Matrix:
    """P-value of each method that 5 % of all windows without drift reach."""
    calm = [rows[:, :-1, 1] for name, rows in arrays.items() if drift_case(name).family not in NAMING]
    if not calm:
        return np.full(len(METHODS), ALPHA)
    return np.asarray(np.nanquantile(np.vstack(calm), ALPHA, axis=0, method="lower"))


def by_family(found: Sequence[Shares]) -> dict[str, Matrix]:
    """Mean share that each method finds of the drawn drifts of each family."""
    drawn = [each for each in found if each.case.name not in {**fixed_drifts(), **naming_drifts()}]
    families = dict.fromkeys(each.case.family for each in drawn)
    return {f: np.mean([each.found for each in drawn if each.case.family == f], axis=0) for f in families}


def bars(found: Sequence[Shares]) -> list[Bar]:
    """Bars of the mean, of families, of lines and of false names."""
    families = by_family(found)
    bars = [Bar("trials with errors", sum(each.errors for each in found), "<=", 0)]
    if families:
        mean = np.mean(list(families.values()), axis=0)
        best = RIVALS[int(np.argmax(mean[1:]))]
        note = ", ".join(f"{method} {share:.3f}" for method, share in zip(METHODS, mean, strict=True))
        bars.append(
            Bar(f"mean of drawn drifts above the best rival, {best}", mean[0] - mean[1:].max(), ">=", 0.10, note)
        )
    for family, each in families.items():
        best = RIVALS[int(np.argmax(each[1:]))]
        note = f"{each[0]:.3f}, {best} {each[1:].max():.3f}"
        # Shares of sixty windows that are 0.10 apart are so but for the last binary digit.
        above = round(float(each[0] - each[1:].max()), 9)
        bars.append(Bar(f"{family}: above the best rival", above, ">=", -0.10, note))
    bars += [line_bar(each) for each in found if each.case.name in fixed_drifts()]
    return bars + [naming_bar(each) for each in found if each.case.untouched]


def line_bar(each: Shares) -> Bar:
    """Bar of a line: what the best rival found once, or finds here where that is not known, less 0.05."""
    best = float(each.found[1:].max())
    note = f"best rival {best:.3f} of {each.trials} trials"
    bound = best if each.case.bracket is None else each.case.bracket
    return Bar(f"line {each.case.name}", float(each.found[0]), ">=", round(bound - 0.05, 3), note)


def naming_bar(each: Shares) -> Bar:
    """Bar of false names, which with few trials is what chance explains."""
    chance = float(binom.ppf(1 - SURE, each.trials, ALPHA)) / each.trials
    bound = 0.06 if each.trials >= 500 else max(0.06, chance)
    return Bar(f"named falsely: {each.case.name}", each.named_falsely / each.trials, "<=", bound)


def show(found: Sequence[Shares]) -> None:
    """Print the share that each method finds, by case."""
    print(*(f"{method:>13}" for method in METHODS), " false names  case")
    for each in found:
        cells = [f"{share:>13.3f}" for share in each.found]
        print(*cells, f"{each.named_falsely / each.trials:>12.3f}  {each.case.name}: {each.case}")
    levels = [each.levels for each in found if each.case.family not in NAMING]
    if levels:
        named = zip(METHODS, np.mean(levels, axis=0), strict=True)
        print("alarms without drift at 0.05:", ", ".join(f"{method} {share:.3f}" for method, share in named))
