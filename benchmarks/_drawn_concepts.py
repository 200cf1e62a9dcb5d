"""The part ``drawn`` of `benchmarks.concept`: false alarms where P(x) moves and P(y | x) does not, in drawn cases."""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gapdrift as gd
from benchmarks._report import Bar, finish
from benchmarks._trials import run, write_csv
from benchmarks.grammar.concepts import drawn_concept

__all__ = ["add_arguments", "run_part", "work"]

HEADER = ("case", "trials", "determined", "0.05", "0.01", "smallest p-value in alarms", "errors", "move", "description")
RESULTS = Path(__file__).with_name("results")
HIGHEST = {0.05: 0.07, 0.01: 0.03}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the drawn cases."""
    parser.add_argument("--cases", type=int, default=300, help="drawn cases (default %(default)s)")


def run_part(arguments: argparse.Namespace) -> None:
    """Measure drawn cases, print the worst of them and the bars; exit with 1 where one is missed."""
    path = arguments.csv or RESULTS / "concept-drawn.csv"
    tasks = [(seed, arguments.trials) for seed in range(arguments.seed, arguments.seed + arguments.cases)]
    journal = path.with_suffix(".part")
    found = run(work, tasks, arguments.jobs, journal)
    rows = [row_of(seed, records) for (seed, _), records in zip(tasks, found, strict=True)]
    write_csv(path, HEADER, rows)
    journal.unlink(missing_ok=True)
    for row in sorted(rows, key=lambda row: -int(row[3]))[:15]:
        print(f"{row[3]} and {row[4]} of {row[2]:>3}: {row[0]}, {row[-1]} [{row[5]}] {row[6]}".rstrip())
    finish(bars(rows))


def work(task: tuple[int, int]) -> list[dict[str, Any]]:
    """Records of the trials of a case."""
    seed, trials = task
    return [record_of(seed, trial) for trial in range(trials)]


def record_of(seed: int, trial: int) -> dict[str, Any]:
    """P-value of the concept, and which of its parts is surest; why there is none, where there is none."""
    reference, window = drawn_concept(seed).pair(trial)
    try:
        concept = gd.DriftDetector(random_state=trial, target="y").fit(reference).test(window).concept
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:100]}
    if concept is None or not concept.determined:
        return {}
    return {"p": concept.p_value, "surest": min(concept.parts, key=lambda part: part.p_value).name}


def row_of(seed: int, records: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Row of a case: trials, those in which the concept was determined, and alarms at both levels."""
    case, some = drawn_concept(seed), [record for record in records if "p" in record]
    alarms = [str(sum(record["p"] <= alpha for record in some)) for alpha in HIGHEST]
    surest = Counter(record["surest"] for record in some if record["p"] <= 0.05)
    errors = Counter(record["error"] for record in records if "error" in record)
    texts = ("; ".join(f"{name} {count}" for name, count in counter.most_common()) for counter in (surest, errors))
    return (case.name, str(len(records)), str(len(some)), *alarms, *texts, case.move, str(case))


def bars(rows: Sequence[tuple[str, ...]]) -> list[Bar]:
    """Bars: the mean share of alarms at both levels, and no errors."""
    determined = sum(int(row[2]) for row in rows)
    note = f"{determined:,} of {sum(int(row[1]) for row in rows):,} trials are determined"
    found = [Bar("cases with errors", sum(bool(row[6]) for row in rows), "<=", 0)]
    for place, (alpha, highest) in enumerate(HIGHEST.items(), 3):
        mean = sum(int(row[place]) for row in rows) / max(determined, 1)
        found.append(Bar(f"mean of drawn cases at {alpha}", round(mean, 4), "<=", highest, note))
    return found
