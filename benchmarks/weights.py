"""The weights of the tests of values, beside others: shares of drawn drifts that each choice of weights finds.

Every trial of a drift drawn from `benchmarks.grammar` has a fresh reference, a window with drift and one without. The
tests are made once; each choice of weights combines the same p-values. A choice finds a drift where its p-value is at
most that which 5 % of all windows without drift reach, so that all are compared at the same measured level. Bar: no
other choice finds more than 0.02 more, on average over the families. Drifts of the seeds 5000 to 5007 were looked at
when choosing; any others were not.

Run ``python -m benchmarks.weights --seed 6000``.
"""

import argparse
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import gapdrift as gd
from benchmarks._report import Bar, finish
from benchmarks._trials import add_arguments, run
from benchmarks.grammar.drifts import FAMILIES, NAMING, DriftCase, drift_case
from gapdrift.detectors.drift.reference import DriftReference
from gapdrift.inference import findings

CHOICES: dict[str, dict[str, float]] = {
    "as they are": {},
    "all equal": {"location": 1.0, "interactions": 1.0},
    "location half": {"location": 0.5},
    "location first": {"location": 2.0},
    "without location": {"location": 0.0},
    "dependence first": {"dependence": 2.0},
    "dependence half": {"dependence": 0.5},
    "distributions first": {"distributions": 2.0},
    "distributions half": {"distributions": 0.5},
    "interactions like others": {"interactions": 1.0},
}
"""Weights that differ from those of `gapdrift.inference.findings.WEIGHTS`."""

MARGIN = 0.02
LEVEL = 0.05


def p_values_of(case: DriftCase, trial: int) -> list[list[float]]:
    """p-value of each choice, for the window with drift and the one without."""
    reference, *windows = (case.table(rows) for rows in case.pair(trial))
    detector = gd.DriftDetector(random_state=trial).fit(reference)
    return [weighted(detector, window) for window in windows]


def weighted(detector: gd.DriftDetector, window: object) -> list[float]:
    """p-value of the values of a window by each choice."""
    reference = detector.reference_
    assert isinstance(reference, DriftReference)
    comparison = reference.comparison(detector.count(window))
    found = []
    for weights in CHOICES.values():
        with patch.dict(findings.WEIGHTS, weights):
            found.append(findings.values_finding(comparison).p_value)
    return found


def work(task: tuple[str, int, int]) -> list[list[list[float]]]:
    """p-values of some trials of one case."""
    name, start, stop = task
    return [p_values_of(drift_case(name), trial) for trial in range(start, stop)]


def shares_found(families: list[str], p_values: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Share of drifts found by each choice, of each family, at the same measured level."""
    limits = np.quantile(p_values[:, 1], LEVEL, axis=0)
    found = p_values[:, 0] <= limits
    names = np.array(families)
    return {family: found[names == family].mean(axis=0) for family in dict.fromkeys(families)}


def main() -> None:
    """Print what each choice of weights finds; exit with 1 where another one is better."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser, 4)
    parser.add_argument("--cases", type=int, default=10, help="drawn drifts of each family (default %(default)s)")
    arguments = parser.parse_args()
    families = [name for name in FAMILIES if name not in NAMING]
    names = [f"{family} {arguments.seed + case}" for family in families for case in range(arguments.cases)]
    tasks = [(name, 0, arguments.trials) for name in names]
    results = run(work, tasks, arguments.jobs)
    p_values = np.array([trial for result in results for trial in result])
    per_trial = [name.rsplit(" ", 1)[0] for name in names for _ in range(arguments.trials)]
    found = shares_found(per_trial, p_values)
    means = np.mean(list(found.values()), axis=0)
    levels = (p_values[:, 1] <= LEVEL).mean(axis=0)
    own = means[0]
    bars = []
    for place, choice in enumerate(CHOICES):
        worst = min(found, key=lambda family: found[family][place])
        note = f"level {levels[place]:.3f}; least of {worst}: {found[worst][place]:.2f}"
        bars.append(Bar(choice, means[place], "<=", own + MARGIN, note))
    finish(bars)


if __name__ == "__main__":
    main()
