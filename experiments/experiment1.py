"""Experiment 1, distances: errors of values and of distances of nine methods (Table 2, the table of values, Fig. 7)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.closed_form import fit_closed_form
from experiments.detection import Task
from experiments.distributions import DISTRIBUTIONS
from experiments.experiment2 import settings_of
from experiments.learning import distances_between, learn_scripted
from experiments.protocols import Protocol, protocol_of
from experiments.running import Rows
from experiments.samples import Sample, hide
from experiments.scripted import draw_distribution
from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.detectors.mdlfwf.distance import LearnedDistance, learn_distance
from gapdrift.models.imputation import IMPUTERS, FittedImputer, Imputer, fit_imputers, impute
from gapdrift.tables.missingness import missing_rates

__all__ = ["DISTANCES", "NAME", "VALUES", "table_rows", "tasks", "work"]

NAME = "experiment1"
N_ROWS = 500
NETWORK_SETS = 10
"""Data sets of each distribution on which MIDAS and GAIN are trained: they take longer than everything else."""
VALUES = (*IMPUTERS, "MIDAS", "GAIN")
"""Methods that impute values."""
DISTANCES = (*VALUES, "MDL", "closed form")
"""Methods that estimate distances."""


def tasks(protocol: Protocol, trials: int, seed: int) -> list[Task]:
    """Tasks of a run: one data set each."""
    return [[NAME, protocol.name, seed, kind, trial, "all"] for kind in DISTRIBUTIONS for trial in range(trials)]


def work(task: Task) -> dict[str, Any]:
    """Errors of each method on one data set, and the feature importances of MDL."""
    _, protocol_name, seed, kind, trial, _ = task
    protocol = protocol_of(protocol_name)
    rng = np.random.default_rng([seed, list(DISTRIBUTIONS).index(kind), trial])
    sample = _draw(kind, trial, protocol, rng, seed)
    truth, rows = sample.complete, sample.with_missing
    imputers = _imputers(rows, rng, networks=trial < NETWORK_SETS)
    filled = {name: impute(imputer, rows) for name, imputer in imputers.items()}
    values = {name: _value_errors(table, truth, rows) for name, table in filled.items()}
    first, second = np.triu_indices(N_ROWS, k=1)
    exact = _distances(truth, first, second)
    learned = _learn(rows, protocol, rng)
    guesses = {name: _distances(table, first, second) for name, table in filled.items()}
    guesses["MDL"] = distances_between(learned, rows, np.isnan(rows), first, second)
    guesses["closed form"] = fit_closed_form(rows).between(rows, first, second)
    distances = {name: _errors(guess - exact) for name, guess in guesses.items()}
    return {"values": values, "distances": distances, "importances": learned.importances.tolist()}


def _draw(kind: str, trial: int, protocol: Protocol, rng: np.random.Generator, seed: int) -> Sample:
    if protocol.seeded_draws:
        return draw_distribution(kind, trial, N_ROWS, seed)
    distribution = DISTRIBUTIONS[kind]
    truth = distribution.draw(N_ROWS, rng)
    return Sample(truth, hide(truth, distribution.missing_columns, protocol, rng))


def _imputers(rows: Matrix, rng: np.random.Generator, *, networks: bool) -> dict[str, FittedImputer]:
    from experiments.networks import GAIN, MIDAS  # noqa: PLC0415

    seeds = [int(seed) for seed in rng.integers(2**31, size=2)]
    trained = [MIDAS(random_state=seeds[0]), GAIN(random_state=seeds[1])] if networks else []
    pool: list[str | Imputer] = [*IMPUTERS, *trained]
    return dict(zip(VALUES[: len(pool)], fit_imputers(pool, rows, rng), strict=True))


def _learn(rows: Matrix, protocol: Protocol, rng: np.random.Generator) -> LearnedDistance:
    if protocol.ordered_pairs:
        max_pairs = settings_of(protocol)["max_pairs"]
        learned = learn_scripted(rows, with_error=False, max_pairs=max_pairs, rng=rng)
        return replace(learned, imputers=fit_imputers(None, rows, rng))
    missing = np.isnan(rows)
    settings = {"regressor": None, "n_splits": 5, "max_pairs": 10_000, **settings_of(protocol)}
    return learn_distance(
        rows[~missing.any(axis=1)],
        missing_rates(missing),
        np.arange(rows.shape[1]),
        fit_imputers(None, rows, rng),
        centres=None,
        rng=rng,
        **settings,
    )


def _distances(table: Matrix, first: Indices, second: Indices) -> Vector:
    return np.asarray(np.linalg.norm(table[first] - table[second], axis=1))


def _errors(differences: Vector) -> list[float]:
    """Mean absolute error and root of the mean squared error."""
    return [float(np.mean(np.abs(differences))), float(np.sqrt(np.mean(differences**2)))]


def _value_errors(filled: Matrix, truth: Matrix, rows: Matrix) -> list[float]:
    """Both errors over all cells of the columns with missing values, and over the missing cells only."""
    missing = np.isnan(rows)
    return [*_errors((filled - truth)[:, missing.any(axis=0)]), *_errors((filled - truth)[missing])]


def table_rows(done: Sequence[Task], results: Iterable[dict[str, Any]]) -> Rows:
    """Rows of a run's table: mean and deviation of each error over the data sets, and MDL's feature importances."""
    entries: dict[tuple[str, str, str, str], list[float]] = {}
    for task, result in zip(done, results, strict=True):
        for method, errors in result["values"].items():
            for metric, error in zip(("MAE", "RMSE", "MAE of gaps", "RMSE of gaps"), errors, strict=True):
                entries.setdefault((task[3], "value", metric, method), []).append(error)
        for method, errors in result["distances"].items():
            for metric, error in zip(("MAE", "RMSE"), errors, strict=True):
                entries.setdefault((task[3], "distance", metric, method), []).append(error)
        for name, share in _named_importances(result["importances"]).items():
            entries.setdefault((task[3], "importance", name, "MDL"), []).append(share)
    return [
        {
            "distribution": kind,
            "what": what,
            "metric": metric,
            "method": method,
            "sets": len(errors),
            "mean": f"{np.mean(errors):.6g}",
            "deviation": f"{np.std(errors):.6g}",
        }
        for (kind, what, metric, method), errors in entries.items()
    ]


def _named_importances(shares: Sequence[float]) -> dict[str, float]:
    """Importances of the pair features under the names of the paper's Fig. 7."""
    n_cells = len(shares) - len(IMPUTERS)
    names = [*(f"f{place}" for place in range(1, n_cells + 1)), *IMPUTERS]
    return dict(zip(names, shares, strict=True))
