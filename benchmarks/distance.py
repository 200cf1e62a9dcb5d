"""Distance errors of the paper's Experiment 1: closed form against boosted trees and their five imputers.

500 rows of each of five distributions, 10, 20 and 40 % of the cells of some columns missing, RMSE over all pairs of
rows; "one-hot" takes the levels of the categorical one as categories. Bar: the closed form is at most the boosted
distance (defaults of `MDLFWF`) in each of the eighteen cases.

Run `python -m benchmarks.distance --trials 5`.
"""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._report import finish_rows
from benchmarks._trials import add_arguments, run, select, write_csv
from experiments.closed_form import fit_closed_form
from experiments.distributions import DISTRIBUTIONS
from experiments.learning import distances_between
from gapdrift.datasets import hide_mcar
from gapdrift.detectors.mdlfwf.distance import learn_distance
from gapdrift.models.imputation import IMPUTERS, fit_imputers, impute
from gapdrift.tables.encoding import encode
from gapdrift.tables.schema import learn_schema

METHODS = ("closed form", "boosted", *IMPUTERS)
RATES = (0.1, 0.2, 0.4)
KINDS = (*DISTRIBUTIONS, "one-hot")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser, trials=5)
    arguments = parser.parse_args()
    cases = [(kind, rate) for kind in select(KINDS, arguments.only) for rate in RATES]
    seeds = range(arguments.seed, arguments.seed + arguments.trials)
    tasks = [(kind, rate, seed) for kind, rate in cases for seed in seeds]
    errors = np.array(run(work, tasks, arguments.jobs)).reshape(len(cases), len(seeds), -1).mean(axis=1)
    header = ("distribution", "missing", *METHODS, "bar")
    rows = [
        (kind, f"{rate:.0%}", *(f"{error:.4f}" for error in row), "ok" if row[0] <= row[1] else "MISSED")
        for (kind, rate), row in zip(cases, errors, strict=True)
    ]
    write_csv(arguments.csv, header, rows)
    finish_rows(header, rows, sum(row[-1] != "ok" for row in rows))


def work(task: tuple[str, float, int]) -> list[float]:
    """RMSE of each method on one data set."""
    kind, rate, seed = task
    rng = np.random.default_rng([seed, KINDS.index(kind), int(rate * 100)])
    values, gaps, missing, rates, owner = draw(kind, rate, rng)
    first, second = np.triu_indices(len(values), k=1)
    truth = np.linalg.norm(values[first] - values[second], axis=1)
    imputers = fit_imputers(None, gaps, rng)
    complete = gaps[~missing.any(axis=1)]
    boosted = learn_distance(
        complete,
        rates,
        owner,
        imputers,
        regressor=None,
        n_splits=5,
        max_pairs=10_000,
        centres=None,
        rng=rng,
    )
    filled = [impute(imputer, gaps) for imputer in imputers]
    guesses = [
        fit_closed_form(gaps).between(gaps, first, second),
        distances_between(boosted, gaps, missing, first, second),
        *(np.linalg.norm(table[first] - table[second], axis=1) for table in filled),
    ]
    return [float(np.sqrt(np.mean((guess - truth) ** 2))) for guess in guesses]


def draw(kind: str, rate: float, rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
    """Values, values with gaps, missing cells, rates and owners; "one-hot" takes the levels as categories."""
    distribution = DISTRIBUTIONS["categorical" if kind == "one-hot" else kind]
    values = distribution.draw(500, rng)
    rates = np.isin(np.arange(values.shape[1]), distribution.missing_columns) * rate
    gaps = hide_mcar(values, rates, rng, exact=True)
    if kind != "one-hot":
        return values, gaps, np.isnan(gaps), rates, np.arange(values.shape[1])
    columns = list(range(values.shape[1]))
    schema = learn_schema(values, categories=columns)
    rows = encode(gaps, schema)
    return encode(values, schema).values, rows.values, rows.missing, rates, schema.owner


if __name__ == "__main__":
    main()
