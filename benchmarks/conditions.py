"""Values of `DriftDetector` where missing cells change: calm where nothing else does, and drift found all the same.

- calm: six laws and four changes of what is missing (MCAR becomes MAR, by another column or by its size; MAR at 10 %
  becomes MAR at 40 %, likewise), and kinds of tables in which selection is hard to see. Bar: `values` alarms at 0.05 in
  at most 10 % of the trials (beyond what chance explains).
- drift: one of five columns is shifted by half a standard deviation, spread 1.5 times as wide, or decoupled from the
  others, while its rate goes from 10 to 25 % at random, or its cells come to be missing by another column. Bar: shift
  and spread are found at least 0.8 times as often as where nothing changes of what is missing.

Run `python -m benchmarks.conditions --trials 100 --jobs 2`.
"""

import argparse
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom

import gapdrift as gd
from benchmarks._report import Bar, finish
from benchmarks._trials import SURE, add_arguments, run, select, write_csv
from benchmarks.grammar.dependence import Dependence
from benchmarks.grammar.marginals import Marginal
from benchmarks.grammar.missing import AT_RANDOM, BY_ANOTHER, BY_ANOTHER_SIZE, Missing
from benchmarks.grammar.tables import ARRAY, FRAME, Law, as_table

Matrix = NDArray[np.float64]
Rng = np.random.Generator
Sides = tuple[Any, Any]
CHUNK = 5
N_CALM, N_DRIFT = 6_000, 1_500
GAUSSIAN = Marginal("gaussian", 1.0)
MIXED = tuple(
    Marginal(*each)
    for each in (("gaussian", 1.0), ("log-normal", 1.5), ("ordinal", 5), ("category", 4), ("zero-inflated", 0.5))
)
LAWS = {
    "equicorrelated": ((GAUSSIAN,) * 5, Dependence("equicorrelated", 0.5)),
    "bent": ((GAUSSIAN,) * 4, Dependence("bent", 0.8)),
    "heteroscedastic": ((GAUSSIAN,) * 4, Dependence("heteroscedastic", 0.8)),
    "t(1) copula": ((GAUSSIAN,) * 4, Dependence("t(1) copula", 0.5)),
    "mixed": (MIXED, Dependence("equicorrelated", 0.5)),
    "25 log-normal": ((Marginal("log-normal", 1.0),) * 25, Dependence("equicorrelated", 0.5)),
}
CHANGES = {
    "MCAR to MAR": ((AT_RANDOM, 0.4), (BY_ANOTHER, 0.4)),
    "MCAR to MAR by size": ((AT_RANDOM, 0.4), (BY_ANOTHER_SIZE, 0.4)),
    "MAR 10 to 40 %": ((BY_ANOTHER, 0.1), (BY_ANOTHER, 0.4)),
    "MAR by size 10 to 40 %": ((BY_ANOTHER_SIZE, 0.1), (BY_ANOTHER_SIZE, 0.4)),
}
DRIFTS = ("shift", "spread", "decoupled")
GAPS = {
    "unchanged": ((AT_RANDOM, 0.1), (AT_RANDOM, 0.1)),
    "rates 10 to 25 %": ((AT_RANDOM, 0.1), (AT_RANDOM, 0.25)),
    "MAR 10 to 40 %": ((BY_ANOTHER, 0.1), (BY_ANOTHER, 0.4)),
    "MCAR to MAR": ((AT_RANDOM, 0.4), (BY_ANOTHER, 0.4)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser, trials=40)
    arguments = parser.parse_args()
    names = select(tuple(cases()), arguments.only)
    firsts = range(arguments.seed, arguments.seed + arguments.trials, CHUNK)
    tasks = [(name, first, min(CHUNK, arguments.seed + arguments.trials - first)) for first in firsts for name in names]
    results = run(work, tasks, arguments.jobs)
    found = {name: np.zeros(2) for name in names}
    for (name, *_), counts in zip(tasks, results, strict=True):
        found[name] += counts
    shares = {name: count / arguments.trials for name, count in found.items()}
    for name, (at_05, at_01) in shares.items():
        print(f"{at_05:.3f} {at_01:.3f}  {name}")
    rows = [(name, str(arguments.trials), *(f"{share:.3f}" for share in each)) for name, each in shares.items()]
    write_csv(arguments.csv, ("case", "trials", "0.05", "0.01"), rows)
    finish(bars(shares, arguments.trials))


def bars(shares: dict[str, Any], trials: int) -> list[Bar]:
    """Bars of calm cases and of drifts, each beside its own where nothing changes of what is missing."""
    calm = [name for name in shares if name.startswith("calm")]
    allowed = float(binom.ppf(1 - SURE, trials, 0.10)) / trials
    found = [
        Bar(name, float(shares[name][0]), "<=", allowed, f"0.10 and the scatter of {trials} trials") for name in calm
    ]
    for drift in DRIFTS[:2]:
        usual = shares.get(f"drift {drift}, unchanged")
        for gaps in list(GAPS)[1:]:
            each = shares.get(f"drift {drift}, {gaps}")
            if usual is not None and each is not None:
                found.append(Bar(f"{drift}, {gaps}", float(each[0]), ">=", round(0.8 * float(usual[0]), 3)))
    return found


def work(task: tuple[str, int, int]) -> NDArray[np.int64]:
    """Alarms of `values` at 0.05 and 0.01 in some trials."""
    name, first, trials = task
    counts = np.zeros(2, dtype=np.int64)
    for seed in range(first, first + trials):
        reference, window = cases()[name](np.random.default_rng([seed, list(cases()).index(name)]))
        result = gd.DriftDetector(random_state=seed).fit(reference).test(window)
        counts += np.array([result.values.p_value < alpha for alpha in (0.05, 0.01)])
    return counts


@cache
def cases() -> dict[str, Callable[[Rng], Sides]]:
    """All cases by name."""
    found: dict[str, Callable[[Rng], Sides]] = {}
    for law in LAWS:
        for change in CHANGES:
            found[f"calm {law}, {change}"] = _calm(law, change)
    found["calm by a sum of 50"] = _by_sum
    found["calm by a product of two"] = _by_product
    found["calm station of sensors"] = _by_station
    for drift in DRIFTS:
        for gaps in GAPS:
            found[f"drift {drift}, {gaps}"] = _drifting(drift, gaps)
    return found


def _calm(law: str, change: str) -> Callable[[Rng], Sides]:
    def draw(rng: Rng) -> Sides:
        marginals, dependence = LAWS[law]
        form = FRAME if law == "mixed" else ARRAY
        sides = []
        for mechanism, rate in CHANGES[change]:
            latents, values = Law(marginals, dependence).draw(N_CALM, rng)
            rates = (0.0, *(rate,) * (len(marginals) - 1))
            sides.append(as_table(values, Missing(mechanism, rates).mask(latents, rng), marginals, form))
        return sides[0], sides[1]

    return draw


def _hide(values: Matrix, column: int | slice, driver: Matrix | None, rate: float, rng: Rng) -> Matrix:
    """Values with cells of some columns missing: at random, or by the rank of a driver."""
    if driver is None:
        chance = np.full(len(values), rate)
    else:
        ranked = (np.argsort(np.argsort(driver)) + 0.5) / len(driver)
        chance = np.clip(2.0 * rate * expit(8.0 * (ranked - 0.5)), 0.0, 1.0)
    values = values.copy()
    values[rng.random(len(values)) < chance, column] = np.nan
    return values


def _by_sum(rng: Rng) -> Sides:
    """One column is the sum of 50 weak ones, and comes to be missing by that sum."""
    sides = []
    for selected in (False, True):
        weak = rng.normal(size=(N_CALM, 50))
        total = weak.sum(axis=1) / np.sqrt(50.0)
        rows = np.column_stack([total + 0.3 * rng.normal(size=N_CALM), weak])
        sides.append(_hide(rows, 0, total if selected else None, 0.3, rng))
    return sides[0], sides[1]


def _by_product(rng: Rng) -> Sides:
    """One of five columns follows the product of two others, and comes to be missing by it."""
    sides = []
    for selected in (False, True):
        rows = rng.normal(size=(N_CALM, 5))
        product = rows[:, 1] * rows[:, 2]
        rows[:, 0] = 0.8 * product + 0.6 * rows[:, 0]
        sides.append(_hide(rows, 0, product if selected else None, 0.3, rng))
    return sides[0], sides[1]


def _by_station(rng: Rng) -> Sides:
    """Ten sensors of one station come to be missing together at high levels: nobody can tell."""
    sides = []
    for selected in (False, True):
        level = rng.normal(size=(N_CALM, 1))
        rows = 0.9 * level + 0.44 * rng.normal(size=(N_CALM, 10))
        sides.append(_hide(rows, slice(None), level[:, 0] if selected else None, 0.2, rng))
    return sides[0], sides[1]


def _drifting(drift: str, gaps: str) -> Callable[[Rng], Sides]:
    def draw(rng: Rng) -> Sides:
        dependence, sides = Dependence("equicorrelated", 0.5), []
        for (mechanism, rate), drifted in zip(GAPS[gaps], (False, True), strict=True):
            latents = dependence.latents(N_DRIFT, 5, rng)
            hidden = Missing(mechanism, (0.0, rate, rate, rate, rate)).mask(latents, rng)
            if drifted:
                latents = _drifted(latents, drift, rng)
            sides.append(np.where(hidden, np.nan, latents))
        return sides[0], sides[1]

    return draw


def _drifted(rows: Matrix, drift: str, rng: Rng) -> Matrix:
    rows = rows.copy()
    if drift == "shift":
        rows[:, 1] += 0.5
    elif drift == "spread":
        rows[:, 1] *= 1.5
    else:
        rows[:, 1] = rng.normal(size=len(rows))
    return rows


if __name__ == "__main__":
    main()
