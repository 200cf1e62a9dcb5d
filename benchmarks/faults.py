"""Gross faults among weekly batches: whether a detector that knows 52 weeks of sensors finds one bad week at 0.001.

For each station of Beijing the reference is every third week of the first three years, and the windows are the weeks of
the fourth: untouched, and with one fault each. Missing cells are those that the sensors left. Half of a column, or all
of it, goes missing where no week of the reference lacks more than a fifth of it: a week without a sensor is nothing new
to a reference that has such weeks. Three of the untouched weeks, all that are found at 0.001, have faults of their own:
at Dingling O3 is missing for a week, and SO2 repeats one value all week, twice.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import gapdrift as gd

YEARS, EVERY = 3, 3
LEAST_FOUND, MOST_ALARMS, MOST_SURE_ALARMS = 0.95, 0.06, 0.02
SHARE_MISSING = 0.2

Fault = Callable[[pd.DataFrame, list[str], np.random.Generator], pd.DataFrame]


def _hidden(week: pd.DataFrame, columns: list[str], share: float, rng: np.random.Generator) -> pd.DataFrame:
    """Week with a share of the cells of one column missing."""
    name = str(rng.choice(columns))
    return week.assign(**{name: week[name].astype(object).where(rng.random(len(week)) >= share).infer_objects()})


def _stuck(week: pd.DataFrame, _columns: list[str], rng: np.random.Generator) -> pd.DataFrame:
    """Week in which one sensor repeats its first value; rain does so in most weeks."""
    usable = [name for name in week.columns if week[name].dtype.kind == "f" and name != "RAIN" and week[name].count()]
    name = str(rng.choice(usable))
    return week.assign(**{name: week[name].where(week[name].isna(), week[name].dropna().iloc[0])})


FAULTS: dict[str, Fault] = {
    "untouched": lambda week, _columns, _rng: week,
    "pressure in kPa": lambda week, _columns, _rng: week.assign(PRES=week.PRES / 10.0),
    "temperature in F": lambda week, _columns, _rng: week.assign(TEMP=1.8 * week.TEMP + 32.0),
    "CO / 1000": lambda week, _columns, _rng: week.assign(CO=week.CO / 1000.0),
    "sensor stuck all week": _stuck,
    "categories in lower case": lambda week, _columns, _rng: week.assign(wd=week.wd.astype(object).str.lower()),
    "half of a column missing": lambda week, columns, rng: _hidden(week, columns, 0.5, rng),
    "column wholly missing": lambda week, columns, rng: _hidden(week, columns, 1.0, rng),
}


def stations() -> list[list[pd.DataFrame]]:
    """Whole weeks of each station."""
    folder = os.environ.get("GAPDRIFT_DATA")
    if folder is None:
        sys.exit("GAPDRIFT_DATA is not set: it names the folder with the real data sets.")
    table = pd.read_parquet(Path(folder) / "beijing_air_3").sort_values("timestamp")
    found = []
    for _, own in table.groupby("station", observed=True):
        parts = [part for _, part in own.groupby(own.timestamp.dt.to_period("W")) if len(part) == 168]
        found.append([part.drop(columns=["station", "timestamp"]).reset_index(drop=True) for part in parts])
    return found


def measure(seed: int) -> dict[str, list[float]]:
    """p-values of the windows of all stations, by their fault."""
    found: dict[str, list[float]] = {name: [] for name in FAULTS}
    for number, weeks in enumerate(stations()):
        n_first = 52 * YEARS
        reference, windows = weeks[:n_first:EVERY], weeks[n_first:]
        history = pd.concat(week.assign(week=place) for place, week in enumerate(reference))
        detector = gd.DriftDetector(random_state=0).fit(history, batches="week")
        rng = np.random.default_rng([seed, number])
        worst = pd.DataFrame([week.isna().mean() for week in reference]).max()
        columns = [str(name) for name in worst.index[worst <= SHARE_MISSING]]
        for week in windows:
            for name, fault in FAULTS.items():
                found[name].append(detector.test(fault(week, columns, rng)).p_value)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    missed = 0
    print(f"{'window':26}{'windows':>8}{'0.05':>8}{'0.001':>8}  bar")
    for name, p_values in measure(parser.parse_args().seed).items():
        often, surely = (float(np.mean(np.array(p_values) < alpha)) for alpha in (0.05, 0.001))
        short: Any = often > MOST_ALARMS or surely > MOST_SURE_ALARMS if name == "untouched" else surely < LEAST_FOUND
        missed += bool(short)
        print(f"{name:26}{len(p_values):8}{often:8.3f}{surely:8.3f}  {'MISSED' if short else 'ok'}")
    print(f"{missed} bar(s) missed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
