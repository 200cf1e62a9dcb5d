"""Drift found by `DriftDetector`, with a fresh reference in every trial, beside MMD and `MDLFWF`.

Five kinds of drift x severities 1 to 10, 500 rows on both sides, 20 % missing, alpha 0.05. The same rows are given
complete to MMD (median kernel, 200 permutations) and to `DriftDetector`.

Bars: average detection of `DriftDetector` with gaps at least 0.08 above MMD without; mean absolute difference to
itself without gaps at most 0.03; the two features named first are the drifted ones in at least 95 % of the detections
at severity 8; without drift any feature is named in at most 5 % of the trials. With `--published N` also: at least 0.25
above the authors' own detector (`experiments.as_published`), which takes half a minute for each of its N references of
each kind.

With `--fewer N` also: the same detector on complete data that lacks a fifth of the rows instead of the cells.

`--only drawn`: `--cases` drifts of each of 24 families, drawn from `benchmarks.grammar` (20 % missing, 1 to 30 columns,
200 to 5,000 rows), beside MMD, energy distance, boosted trees and columnwise tests on the same rows, at the same
measured level. Bars: on average at least 0.10 above the best rival; no family more than 0.10 below its best rival;
drifts that were once hardly found (alone: `--only lines`) at least what the best rival finds less 0.05; an untouched
column named in at most 6 % of the trials (alone, where this once went wrong: `--only naming`).

With `--csv FILE` a run that was stopped goes on where it stopped.
Run `python -m benchmarks.power --trials 1000 --published 4 --fewer 200 --csv FILE`.
"""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

import gapdrift as gd
from benchmarks import _drawn_drifts
from benchmarks._report import Bar, finish
from benchmarks._trials import SURE, add_arguments, run, select, write_csv
from experiments.as_published import PublishedDetector
from experiments.baselines import MMD
from experiments.distributions import DRIFTS

KINDS = tuple(DRIFTS)
SEVERITIES = tuple(range(11))
METHODS = ("with gaps", "values with gaps", "complete", "MMD complete", "named", "false name")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser, trials=0)
    _drawn_drifts.add_arguments(parser)
    parser.add_argument("--published", type=int, default=0, help="references for the authors' own detector")
    parser.add_argument("--fewer", type=int, default=0, help="trials of complete data with a fifth of the rows less")
    arguments = parser.parse_args()
    if arguments.only in _drawn_drifts.PARTS:
        arguments.trials = arguments.trials or 40
        _drawn_drifts.run_part(arguments)
    arguments.trials = arguments.trials or 8
    kinds = select(KINDS, arguments.only)
    seeds = range(arguments.seed, arguments.seed + arguments.trials)
    tasks: list[tuple[str, str, int]] = [("ours", kind, seed) for kind in kinds for seed in seeds]
    tasks += [("published", kind, seed) for kind in kinds for seed in seeds[: arguments.published]]
    tasks += [("fewer", kind, seed) for kind in kinds for seed in seeds[: arguments.fewer]]
    journal = arguments.csv.with_suffix(".part") if arguments.csv else None
    found = run(work, tasks, arguments.jobs, journal)
    ours = {kind: mean_of(tasks, found, "ours", kind) for kind in kinds}
    theirs = {kind: mean_of(tasks, found, "published", kind) for kind in kinds if arguments.published}
    rows = table(ours, theirs)
    header = ("drift", "severity", *METHODS[:4], "MDLFWF published")
    write_csv(arguments.csv, header, rows)
    if journal:
        journal.unlink(missing_ok=True)
    print("  ".join(header))
    for row in rows:
        print(f"{row[0]:20} {row[1]:>4}", *(f"{cell:>12}" for cell in row[2:]))
    if arguments.fewer:
        known = {kind: mean_of(tasks, found, "ours", kind, arguments.fewer) for kind in kinds}
        less = {kind: mean_of(tasks, found, "fewer", kind) for kind in kinds}
        show_fewer(known, less, arguments.fewer)
    finish(bars(ours, theirs, arguments.trials))


def show_fewer(ours: dict[str, Any], less: dict[str, Any], trials: int) -> None:
    """Print what a loss of rows, instead of cells, does to the detector: what there is to lose."""
    pairs = [(ours[kind][1:, 2], less[kind][1:]) for kind in ours]
    away = float(np.mean([np.abs(one - two).mean() for one, two in pairs]))
    mean = float(np.mean([two.mean() for _, two in pairs]))
    print(f"complete, four fifths of the rows: {mean:.3f}; difference to all rows {away:.3f} ({trials} trials)")


def mean_of(
    tasks: list[tuple[str, str, int]], found: list[Any], what: str, kind: str, first: int | None = None
) -> NDArray[np.float64]:
    chosen = [result for task, result in zip(tasks, found, strict=True) if task[:2] == (what, kind)][:first]
    return np.asarray(np.nanmean(np.array(chosen), axis=0))


def table(ours: dict[str, Any], theirs: dict[str, Any]) -> list[tuple[str, ...]]:
    rows = []
    for kind, shares in ours.items():
        for severity in SEVERITIES:
            published = f"{theirs[kind][severity]:.3f}" if kind in theirs else ""
            rows.append((kind, str(severity), *(f"{shares[severity, i]:.3f}" for i in range(4)), published))
    return rows


def bars(ours: dict[str, Any], theirs: dict[str, Any], trials: int) -> list[Bar]:
    shares = np.stack(list(ours.values()))
    gaps, values, complete, mmd = (float(shares[:, 1:, i].mean()) for i in range(4))
    differences = np.abs(shares[:, 1:, 0] - shares[:, 1:, 2])
    named = float(shares[:, 8, 4].min())
    false_names = float(shares[:, 0, 5].mean())
    n_null = trials * len(ours)
    chance = f"and the scatter of {trials} trials"
    allowed = float(binom.ppf(1 - SURE, n_null, 0.05)) / n_null
    averages = f"{gaps:.3f} (values alone {values:.3f}), complete {complete:.3f}, MMD complete {mmd:.3f}"
    found = [
        Bar("above MMD on complete data", gaps - mmd, ">=", 0.08, averages),
        Bar("difference to itself on complete data", float(differences.mean()), "<=", 0.03),
        Bar("both drifted features named first, least of five", named, ">=", 0.95, "severity 8"),
        Bar("false naming without drift", false_names, "<=", allowed, f"0.05 {chance}"),
    ]
    if theirs:
        published = float(np.mean([theirs[kind][1:].mean() for kind in theirs]))
        found.append(Bar("above MDLFWF as published", gaps - published, ">=", 0.25, f"{published:.3f}"))
    return found


def work(task: tuple[str, str, int]) -> NDArray[np.float64]:
    what, kind, seed = task
    return {"ours": ours_of, "published": published_of, "fewer": fewer_of}[what](kind, seed)


def samples(kind: str, seed: int) -> tuple[Any, Any, list[tuple[Any, Any]]]:
    """Reference complete and with gaps, and the windows of all severities likewise."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    drift = DRIFTS[kind]

    def draw(severity: float) -> tuple[Any, Any]:
        rows = drift.sample(500, severity=severity, missing=0, rng=rng)
        rates = np.isin(np.arange(rows.shape[1]), drift.missing_columns) * 0.2
        return rows, gd.datasets.hide_mcar(rows, rates, rng)

    complete, gaps = draw(0)
    return complete, gaps, [draw(severity) for severity in SEVERITIES]


def ours_of(kind: str, seed: int) -> NDArray[np.float64]:
    complete, gaps, windows = samples(kind, seed)
    with_gaps = gd.DriftDetector(random_state=seed).fit(gaps)
    without = gd.DriftDetector(random_state=seed).fit(complete)
    rng = np.random.default_rng(seed)
    mmd = MMD().fit(complete, rng)
    shares = np.full((len(SEVERITIES), len(METHODS)), np.nan)
    for severity, (rows, holes) in enumerate(windows):
        result = with_gaps.test(holes)
        names = {f.name for f in result.features if f.adjusted_p_value < result.alpha}
        first = sorted(result.features, key=lambda feature: feature.p_value)[:2]
        right = {feature.name for feature in first} == {"x0", "x1"}
        shares[severity] = [
            bool(result.drift),
            result.values.p_value < result.alpha,
            bool(without.test(rows).drift),
            mmd.p_value(rows, rng) < 0.05,
            right if result.values.p_value < result.alpha else np.nan,
            bool(names) if severity == 0 else bool(names - {"x0", "x1"}),
        ]
    return shares


def published_of(kind: str, seed: int) -> NDArray[np.float64]:
    _, gaps, windows = samples(kind, seed)
    detector = PublishedDetector().fit(gaps)
    return np.array([float(detector.finds_drift(holes)) for _, holes in windows])


def fewer_of(kind: str, seed: int) -> NDArray[np.float64]:
    """Whether each severity is found in complete data of which a fifth of the rows is left out, on both sides."""
    complete, _, windows = samples(kind, seed)
    detector = gd.DriftDetector(random_state=seed).fit(complete[:400])
    return np.array([float(bool(detector.test(rows[:400]).drift)) for rows, _ in windows])


if __name__ == "__main__":
    main()
