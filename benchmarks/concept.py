"""`result.concept` of `DriftDetector(target=...)`: false alarms where P(y | x) is as before, and changes of it found.

Each trial draws a fresh reference of five columns with a label, and windows of as many rows:

- *nothing* has changed; *x 0.5* and *x 1*: means of three columns moved by so many standard deviations; *x wider*: all
  columns scatter by half as much again; *x unrelated*: they are independent of each other; *rates*: other shares of the
  cells of x are missing; *labels*: labels are missing at other values of x;
- P(y | x) has changed: *slopes* of two columns; *subgroup*: the sign in a fifth of the rows; *flips*: a tenth of the
  labels exchanged; *level*: one constant added.

Beside it, on the same rows: boosted trees that take missing cells, fitted to a half of the reference, and a
Kolmogorov-Smirnov test of their residuals (*ks*), or a test of their mean loss (*loss*: squared error, or the share of
wrong classes, as monitors of a model's error do), other half against window.

Bars: `concept` alarms in at most 7 % of the windows of each case, and of all cases together, where P(y | x) is as
before, at alpha 0.05 (missed where chance alone would do it less than once in 1,000 times); over all cases it finds at
least as many changes as the better of the two rivals.

`--only drawn`: `--cases` cases drawn from `benchmarks.grammar.concepts`, in which the other columns move (shift,
scatter more or less, lose their dependence, are selected) and the label depends on them as before. Bars: over all cases
at most 7 % alarms at 0.05 and 3 % at 0.01, and no errors.

Run `python -m benchmarks.concept --trials 200 --csv FILE`. A run that was stopped goes on where it stopped.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr
from scipy.stats import ks_2samp, norm
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import gapdrift as gd
from benchmarks import _drawn_concepts
from benchmarks._report import finish_rows
from benchmarks._trials import add_arguments, outside, run, select, write_csv

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Rng = np.random.Generator

ALPHA = 0.05
HIGHEST = 0.07
METHODS = ("concept", "ks", "loss")
SAME = ("nothing", "x 0.5", "x 1", "x wider", "x unrelated", "rates", "labels")
CHANGED = ("slopes", "subgroup", "flips", "level")
HEADER = ("case", "window", "trials", *METHODS, "bars")

CORRELATED = np.eye(5)
CORRELATED[:3, :3] += 0.4 * (1.0 - np.eye(3))
ROOT = np.linalg.cholesky(CORRELATED)
MOVES = np.array([1.0, 0.5, 0.0, -1.0, 0.0])
"""Columns that move with P(x), in units of the shift."""


@dataclass(frozen=True)
class Case:
    """A reference: its concept, its label, its rows and its missing cells.

    Parameters
    ----------
    mean : str
        One of `MEANS`.
    label : {"number", "uneven", "two", "rare", "three"}
        A number with even or uneven noise; two classes, one of them rare; three classes.
    n_rows : int
    missing : float
        Share of missing cells of x; *rates* doubles it, at most to a half, or takes 0.3 off.
    unlabelled : float
        Share of missing labels.
    by_x : bool
        Whether labels are missing at high values of the second column.
    """

    mean: str = "linear"
    label: str = "number"
    n_rows: int = 1_000
    missing: float = 0.2
    unlabelled: float = 0.0
    by_x: bool = False


MEANS: dict[str, Callable[[Matrix], Vector]] = {
    "linear": lambda x: x @ np.array([0.6, -0.4, 0.3, 0.2, 0.0]),
    "bent": lambda x: 0.8 * np.abs(x[:, 0]) + 0.5 * np.sin(2.0 * x[:, 1]) + 0.3 * x[:, 3],
    "product": lambda x: 0.7 * x[:, 0] * x[:, 1] + 0.4 * x[:, 2],
    "step": lambda x: 1.0 * (x[:, 0] > 0.5) * (x[:, 3] > 0.0) + 0.4 * x[:, 1],
}

CASES = {
    "linear complete": Case(missing=0.0),
    "linear": Case(),
    "linear half missing": Case(missing=0.5),
    "bent complete": Case("bent", missing=0.0),
    "bent": Case("bent"),
    "bent half missing": Case("bent", missing=0.5),
    "product": Case("product"),
    "step": Case("step"),
    "uneven noise": Case(label="uneven"),
    "two classes": Case(label="two"),
    "two classes bent": Case("bent", "two"),
    "rare class": Case(label="rare"),
    "three classes": Case(label="three"),
    "half of the labels": Case(unlabelled=0.5),
    "half of the labels by x": Case(unlabelled=0.5, by_x=True),
    "a twentieth of the labels": Case(n_rows=5_000, unlabelled=0.95),
    "a twentieth of the labels by x": Case("bent", n_rows=5_000, unlabelled=0.95, by_x=True),
    "linear 200 rows": Case(n_rows=200),
    "two classes 200 rows": Case(label="two", n_rows=200),
    "linear 5000 rows": Case(n_rows=5_000),
    "bent 5000 rows": Case("bent", n_rows=5_000),
    "two classes 5000 rows": Case("bent", "two", n_rows=5_000),
    "linear 20000 rows": Case(n_rows=20_000),
    "bent 20000 rows": Case("bent", n_rows=20_000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser, trials=0)
    _drawn_concepts.add_arguments(parser)
    parser.add_argument("--max-rows", type=int, default=20_000, help="leave out larger cases (default %(default)s)")
    arguments = parser.parse_args()
    if arguments.only == "drawn":
        arguments.trials = arguments.trials or 5
        _drawn_concepts.run_part(arguments)
    arguments.trials = arguments.trials or 40
    names = [name for name in select(tuple(CASES), arguments.only) if CASES[name].n_rows <= arguments.max_rows]
    tasks = [(name, seed) for seed in range(arguments.seed, arguments.seed + arguments.trials) for name in names]
    journal = None if arguments.csv is None else arguments.csv.with_suffix(".part")
    found = run(work, tasks, arguments.jobs, journal)
    counts = {
        name: np.sum([result for task, result in zip(tasks, found, strict=True) if task[0] == name], axis=0)
        for name in names
    }
    rows, missed = rows_of(counts, arguments.trials)
    write_csv(arguments.csv, HEADER, rows)
    if journal is not None:
        journal.unlink(missing_ok=True)
    finish_rows(HEADER, rows, missed)


def rows_of(counts: dict[str, Any], trials: int) -> tuple[list[Any], int]:
    """Rows of the table, and how many bars are missed."""
    rows, missed = [], 0
    for name, by_window in counts.items():
        for window, alarms in zip((*SAME, *CHANGED), by_window, strict=True):
            wrong = window in SAME and outside(int(alarms[0]), trials, 0.0, HIGHEST)
            rows.append((name, window, trials, *_rates(alarms, trials), "missed" if wrong else "ok"))
            missed += wrong
    table, total = np.sum(list(counts.values()), axis=0), trials * len(counts)
    for window, alarms in zip((*SAME, *CHANGED), table, strict=True):
        wrong = window in SAME and outside(int(alarms[0]), total, 0.0, HIGHEST)
        rows.append(("all cases", window, total, *_rates(alarms, total), "missed" if wrong else "ok"))
        missed += wrong
    found = table[len(SAME) :].mean(axis=0)
    wrong = bool(found[0] < found[1:].max())
    rows.append(("all cases", "changed", total, *_rates(found, total), "missed" if wrong else "ok"))
    return rows, missed + wrong


def _rates(alarms: Any, trials: int) -> list[str]:
    return [f"{count / trials:.3f}" for count in alarms]


def work(task: tuple[str, int]) -> list[list[int]]:
    """Whether each method alarms, for each window."""
    name, seed = task
    case, rng = CASES[name], np.random.default_rng([seed, *name.encode()])
    reference = draw(case, "nothing", rng)
    detector = gd.DriftDetector(random_state=seed, target="y").fit(reference)
    model = Rival(reference, rng)
    found = []
    for window in (*SAME, *CHANGED):
        rows = draw(case, window, rng)
        concept = detector.test(rows).concept
        assert concept is not None
        p_values = concept.p_value, model.ks(rows), model.loss(rows)
        found.append([int(p_value < ALPHA) for p_value in p_values])
    return found


def draw(case: Case, window: str, rng: Rng) -> pd.DataFrame:
    """Rows of a case, changed as the name of the window says."""
    root = {"x wider": 1.5 * ROOT, "x unrelated": np.eye(5)}.get(window, ROOT)
    x = rng.normal(size=(case.n_rows, 5)) @ root.T
    if window in {"x 0.5", "x 1"}:
        x += float(window[2:]) * MOVES
    labels = draw_labels(case, window, x, rng)
    share = case.missing
    if window == "rates":
        share = min(2.0 * share, 0.5) if share < 0.5 else 0.2
    unlabelled = np.full(len(x), case.unlabelled)
    if case.by_x or window == "labels":
        high = expit(2.0 * x[:, 1] * (-1.0 if case.by_x and window == "labels" else 1.0))
        unlabelled = np.minimum(2.0 * max(case.unlabelled, 0.25) * high, 0.98)
    frame = pd.DataFrame(np.where(rng.random(x.shape) < share, np.nan, x), columns=list("abcde"))
    frame["y"] = labels
    frame.loc[rng.random(len(x)) < unlabelled, "y"] = np.nan
    return frame


def draw_labels(case: Case, window: str, x: Matrix, rng: Rng) -> Any:
    """Labels of some rows: numbers, or classes as text."""
    mean = MEANS[case.mean](x)
    if window == "slopes":
        mean = mean + 0.25 * x[:, 0] - 0.15 * x[:, 2]
    if window == "subgroup":
        mean = np.where(x[:, 4] > 0.84, -mean, mean)
    if window == "level":
        mean = mean + 0.15
    if case.label in {"number", "uneven"}:
        noise = np.exp(0.5 * x[:, 0]) if case.label == "uneven" else 1.0
        labels = mean + 0.7 * noise * rng.normal(size=len(x))
    else:
        offset = {"two": 0.0, "rare": -3.2, "three": -0.5}[case.label]
        first = rng.random(len(x)) < expit(1.5 * mean + offset)
        labels = first.astype(float)
        if case.label == "three":
            labels += (rng.random(len(x)) < ndtr(x[:, 3])) & ~first
    if window == "flips":
        chosen = np.flatnonzero(rng.random(len(x)) < 0.1)
        labels[chosen] = rng.permutation(labels)[: len(chosen)]
    return (
        labels
        if case.label in {"number", "uneven"}
        else np.array(["no", "yes", "maybe"], dtype=object)[labels.astype(int)]
    )


class Rival:
    """Boosted trees fitted to a half of the labelled reference, and their residuals on the other half."""

    def __init__(self, reference: pd.DataFrame, rng: Rng) -> None:
        rows = reference[reference["y"].notna()]
        half = rng.permutation(len(rows)) < len(rows) // 2
        self.is_number = rows["y"].dtype.kind == "f"
        kind = HistGradientBoostingRegressor if self.is_number else HistGradientBoostingClassifier
        self.model = kind(max_iter=60, early_stopping=False, random_state=0).fit(
            rows.loc[half, list("abcde")], rows.loc[half, "y"]
        )
        self.before = self._residuals(rows[~half])

    def _residuals(self, rows: pd.DataFrame) -> tuple[Vector, Vector]:
        """Residuals, and losses, of labelled rows."""
        rows = rows[rows["y"].notna()]
        x, y = rows[list("abcde")], rows["y"].to_numpy()
        if self.is_number:
            residuals = y.astype(float) - self.model.predict(x)
            return residuals, residuals**2
        chances = self.model.predict_proba(x)
        classes = self.model.classes_
        residuals = (y == classes[0]).astype(float) - chances[:, 0]
        return residuals, (y != classes[chances.argmax(axis=1)]).astype(float)

    def ks(self, window: pd.DataFrame) -> float:
        """p-value of the residuals having one distribution."""
        return float(ks_2samp(self.before[0], self._residuals(window)[0]).pvalue)

    def loss(self, window: pd.DataFrame) -> float:
        """p-value of the mean losses being the same."""
        one, two = self.before[1], self._residuals(window)[1]
        deviation = np.sqrt(one.var() / len(one) + two.var() / len(two))
        return float(2.0 * norm.sf(abs(two.mean() - one.mean()) / max(deviation, 1e-12)))


if __name__ == "__main__":
    main()
