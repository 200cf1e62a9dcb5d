"""The parts ``drawn``, ``table`` and ``kept`` of `benchmarks.calibration`: null cases of `benchmarks.grammar`.

Drawn cases, and then the worst tenth of them again with fresh trials; fixed cases; drawn ones that ever failed. One
trial is a fit on a fresh reference and a test of a fresh window. The judged p-value is that of the verdict, and that of
`values` where the missing cells changed. A trial that raises an error or stays undetermined fails.

A run goes on from the table that one before it has left, even one that was stopped by ``--minutes``: tallies add up.
Rows of other trials are measured anew. So are those of other code, but for cases whose first trials give the same
p-values as they did then, but for rounding: what changed does not touch them.
"""

import argparse
import csv
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.stats import binom

import gapdrift as gd
from benchmarks._report import Bar, finish, say
from benchmarks._trials import SURE, code_of, run, write_csv
from benchmarks.grammar.nulls import NullCase, drawn, fixed, keep, kept, null_case
from gapdrift.results.result import Finding

__all__ = ["PARTS", "Tally", "add_arguments", "measure", "run_part", "tally", "trial_record", "worst"]

PARTS = ("drawn", "table", "kept")
CHUNK = 10
# Trials that start this far apart have nothing in common: those of other phases, and those of other seeds.
AGAIN = 1_000_000_000
FAR = 1_000
ENOUGH = 500
RESULTS = Path(__file__).with_name("results")
HEADER = (
    "case",
    "phase",
    "first trial",
    "trials",
    "0.05",
    "0.01",
    "judged",
    "errors and undetermined",
    "smallest p-value in alarms",
    "seconds",
    "code",
    "first p-values",
    "description",
)
CHECK = "check"
"""Phase in which the first trials of rows of other code are made again."""

ROUNDING = 1e-3
"""Share of a p-value by which it may differ between machines."""

CHECKED = 3
"""Trials that must give the same p-values as before for a row of other code to stand."""


@dataclass(frozen=True)
class Tally:
    """What the trials of one case came to.

    Parameters
    ----------
    name, phase
        Which case, and which of its trials: ``drawn``, ``again``, ``table`` or ``kept``.
    first, trials
        The first of them, and how many.
    at_05, at_01
        Trials with a judged p-value of at most 0.05 and 0.01.
    failures
        Why trials came to nothing, with numbers of trials.
    findings
        Names of the findings with the smallest p-value in trials that alarm at 0.05, with numbers of trials.
    seconds
        Mean processor time of fit and test.
    first_p_values
        Judged p-values of the first trials, as text: the same ones again show that no change of code touches the case.
    """

    name: str
    phase: str
    first: int
    trials: int
    at_05: int
    at_01: int
    failures: Counter[str]
    findings: Counter[str]
    seconds: float = 0.0
    first_p_values: str = ""

    def __add__(self, other: "Tally") -> "Tally":
        """Tally of the trials of both, those of the other after these."""
        trials = self.trials + other.trials
        return Tally(
            self.name,
            self.phase,
            self.first,
            trials,
            self.at_05 + other.at_05,
            self.at_01 + other.at_01,
            self.failures + other.failures,
            self.findings + other.findings,
            (self.seconds * self.trials + other.seconds * other.trials) / max(trials, 1),
            self.first_p_values if self.trials else other.first_p_values,
        )

    @property
    def share(self) -> float:
        """Share of trials that alarm at 0.05."""
        return self.at_05 / self.trials

    def surprise(self) -> float:
        """The smallest probability of a count at least so far off, if the level were exact; 0 where trials failed."""
        if self.failures:
            return 0.0
        tails = (
            binom.sf(self.at_05 - 1, self.trials, 0.05),
            binom.cdf(self.at_05, self.trials, 0.05),
            binom.sf(self.at_01 - 1, self.trials, 0.01),
        )
        return float(min(tails))

    def row(self) -> tuple[str, ...]:
        """Row of the table."""
        shares = (f"{self.at_05 / self.trials:.4f}", f"{self.at_01 / self.trials:.4f}")
        case = null_case(self.name)
        named = (_counts(self.failures), _counts(self.findings))
        figures = (str(self.first), str(self.trials), *shares)
        made = f"{self.seconds:.2f}", code_of(), self.first_p_values
        return (self.name, self.phase, *figures, case.judged, *named, *made, str(case))


def _counts(counter: Counter[str]) -> str:
    return "; ".join(f"{name.replace(';', ',')} {count}" for name, count in counter.most_common())


def _counter(text: str) -> Counter[str]:
    """Counter of what `_counts` wrote."""
    pairs = [part.rsplit(" ", 1) for part in text.split("; ") if part]
    return Counter({name: int(count) for name, count in pairs})


def read_tallies(path: Path | None, jobs: int = 1) -> dict[tuple[str, str, int], Tally]:
    """Tallies of a table that stand, by case, phase and first trial; none where there is no file.

    Those of the same code do, and those of other code whose first trials, made anew by so many processes, give the same
    p-values.
    """
    if path is None or not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = [_tally_of(row) for row in rows if row.get("code") == code_of()]
    others = [_tally_of(row) for row in rows if row.get("code") != code_of() and row.get("first p-values")]
    found += _unchanged(others, jobs, journal_of(path, CHECK))
    return {(each.name, each.phase, each.first): each for each in found}


def _unchanged(tallies: Sequence[Tally], jobs: int, journal: Path) -> list[Tally]:
    """Those whose first trials give the same p-values by the present code; these trials are noted in the journal."""
    if not tallies:
        return []
    tasks = [(each.name, each.first, min(CHECKED, each.trials)) for each in tallies]
    say(f"{len(tallies)} cases were measured by other code; are their first trials the same?")
    again = run(work, tasks, jobs, journal)
    same = [e for e, records in zip(tallies, again, strict=True) if _alike(e.first_p_values, _first(e.name, records))]
    say(f"{len(same)} are, {len(tallies) - len(same)} are measured anew")
    return same


def _first(name: str, records: Sequence[dict[str, Any]]) -> str:
    """Judged p-values of the first trials as text, without the digits that rounding touches."""
    judged = null_case(name).judged
    return " ".join(f"{record[judged]:.6g}" if judged in record else "none" for record in records[:CHECKED])


def _alike(before: str, after: str) -> bool:
    """Whether p-values as text are the same but for what machines round in their own way."""
    one, two = before.split(), after.split()
    if len(one) != len(two) or [each == "none" for each in one] != [each == "none" for each in two]:
        return False
    pairs = [(float(p), float(q)) for p, q in zip(one, two, strict=True) if p != "none"]
    return all(abs(p - q) <= ROUNDING * max(p, q) for p, q in pairs)


def _tally_of(row: dict[str, str]) -> Tally:
    trials = int(row["trials"])
    at_05, at_01 = (round(float(row[level]) * trials) for level in ("0.05", "0.01"))
    failures, findings = _counter(row["errors and undetermined"]), _counter(row["smallest p-value in alarms"])
    first, seconds = int(row["first trial"]), float(row["seconds"])
    p_values = row.get("first p-values") or ""
    return Tally(row["case"], row["phase"], first, trials, at_05, at_01, failures, findings, seconds, p_values)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the drawn cases."""
    parser.add_argument("--cases", type=int, default=300, help="drawn cases (default %(default)s)")
    parser.add_argument("--again", type=int, default=ENOUGH, help="trials of the worst tenth (default %(default)s)")
    parser.add_argument("--rows", type=int, default=0, help="only drawn cases with at most so many rows in all")
    parser.add_argument("--minutes", type=float, help="stop after so many; the next run goes on from the table")


def run_part(arguments: argparse.Namespace) -> None:
    """Measure drawn, fixed and kept cases, print the worst of them and the bars; exit with 1 where one is missed.

    The table is written after each phase, and when time is up.
    """
    path = arguments.csv or RESULTS / f"{arguments.only}-nulls.csv"
    until = None if arguments.minutes is None else time.monotonic() + 60.0 * arguments.minutes
    first = FAR * arguments.seed
    before = read_tallies(path, arguments.jobs)
    tallies: dict[str, list[Tally]] = {}

    def measured(phase: str, names: Sequence[str], start: int, trials: int) -> None:
        found = measure(names, phase, start, trials, arguments.jobs, path, known=before, until=until)
        tallies[phase] = found
        before.update({(each.name, phase, start): each for each in found})
        # A night may be too short for the phases that follow.
        later = [each for each in before.values() if each.phase not in tallies]
        all_found = [*(each for phase in tallies.values() for each in phase if each.trials), *later]
        write_csv(path, HEADER, [each.row() for each in all_found])
        for name in (CHECK, phase):
            journal_of(path, name).unlink(missing_ok=True)
        done = sum(each.trials for each in found)
        if done < trials * len(names):
            sys.exit(f"{phase}: time is up after {done:,} of {trials * len(names):,} trials. Run it again to go on.")

    if arguments.only == "drawn":
        names = drawn_names(arguments.cases, arguments.seed, arguments.rows)
        measured("drawn", names, first, arguments.trials)
        measured("again", worst(tallies["drawn"]), first + AGAIN, arguments.again)
    elif arguments.only == "table":
        measured("table", tuple(fixed()), first, arguments.again)
    else:
        measured("kept", tuple(kept()), first + 2 * AGAIN, arguments.again)
    found = [each for phase in tallies.values() for each in phase]
    show([each for each in found if each.phase != "drawn"])
    keep({each.name: reason for each in tallies.get("again", []) if (reason := failure(each))})
    finish(bars(tallies))


def journal_of(path: Path, phase: str) -> Path:
    """Where trials of a phase are noted as they come; those of other phases, and of other code, are noted elsewhere."""
    return path.with_suffix(f".{phase}.{code_of()}.part")


def drawn_names(n_cases: int, seed: int, most_rows: int) -> tuple[str, ...]:
    """Names of drawn cases from a seed on, those with too many rows left out."""
    names: list[str] = []
    while len(names) < n_cases:
        case = drawn(seed)
        if not most_rows or case.n_reference + case.n_window <= most_rows:
            names.append(case.name)
        seed += 1
    return tuple(names)


def measure(
    names: Sequence[str],
    phase: str,
    start: int,
    trials: int,
    jobs: int,
    csv: Path | None,
    *,
    known: Mapping[tuple[str, str, int], Tally] = MappingProxyType({}),
    until: float | None = None,
) -> list[Tally]:
    """Tallies of these cases; what is known, or in the journal beside the CSV, is not measured again.

    Past ``until`` those that are not finished have fewer trials.
    """
    before = {name: known.get((name, phase, start), _no_trials(name, phase, start)) for name in names}
    before = {name: each if each.trials <= trials else _no_trials(name, phase, start) for name, each in before.items()}
    tasks = [
        (name, first, min(CHUNK, start + trials - first))
        for name, first in in_order(names, range(start, start + trials, CHUNK), _seconds(known.values()))
        if first >= start + before[name].trials
    ]
    say(f"{phase}: {len(names)} cases")
    found = run(work, tasks, jobs, journal_of(csv, phase) if csv else None, until)
    records: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    stopped: set[str] = set()
    for task, result in zip(tasks, found, strict=True):
        if result is None:
            stopped.add(task[0])
        elif task[0] not in stopped:
            records[task[0]] += result
    tallies = [
        before[name] + tally(name, phase, start + before[name].trials, records[name]) if records[name] else before[name]
        for name in names
    ]
    print(summary(phase, tallies), flush=True)
    return tallies


def in_order(names: Sequence[str], firsts: Sequence[int], seconds: Mapping[str, float]) -> list[tuple[str, int]]:
    """Cases and first trials in the order in which they are measured: a few of every case, then the cheapest cases.

    So the worst of them show early, and a run that is stopped has finished as many as it could.
    """
    cheapest = sorted(names, key=lambda name: seconds.get(name, 0.0))
    return [(name, firsts[0]) for name in names] + [(name, first) for name in cheapest for first in firsts[1:]]


def _seconds(tallies: Iterable[Tally]) -> dict[str, float]:
    """Processor time of one trial of each case."""
    return {each.name: each.seconds for each in tallies if each.trials}


def _no_trials(name: str, phase: str, first: int) -> Tally:
    return Tally(name, phase, first, 0, 0, 0, Counter(), Counter())


def summary(phase: str, tallies: Sequence[Tally]) -> str:
    """Sentence about the cases of a phase: how often they alarm on average, and the highest."""
    some = [each for each in tallies if each.trials]
    if not some:
        return f"{phase}: no trial of {len(tallies)} cases"
    mean_05, mean_01 = np.mean([(each.at_05 / each.trials, each.at_01 / each.trials) for each in some], axis=0)
    highest = max(some, key=lambda each: each.share)
    numbers = sorted({each.trials for each in some})
    trials = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    cases, means = f"{len(some)} cases of {trials} trials", f"{mean_05:.4f} at 0.05, {mean_01:.4f} at 0.01"
    return f"{phase}: {cases}: {means}; highest {highest.share:.3f}, {highest.name}"


def work(task: tuple[str, int, int]) -> list[dict[str, Any]]:
    """Records of some trials of a case."""
    name, first, trials = task
    return [trial_record(null_case(name), trial) for trial in range(first, first + trials)]


def trial_record(case: NullCase, trial: int) -> dict[str, Any]:
    """P-values of one trial and the finding with the smallest one; or why there are none."""
    reference, window = case.pair(trial)
    start = time.process_time()
    try:
        result = gd.DriftDetector(alpha=0.05, random_state=trial).fit(reference).test(window)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"[:100]}
    gaps = result.missingness
    if result.drift is None or (case.judged == "values" and not result.values.determined):
        return {"failed": f"undetermined: {' '.join(result.warnings)}"[:100]}
    judged = [result.values] if gaps is None or case.judged == "values" else [result.values, gaps]
    smallest = min((part for finding in judged for part in leaves(finding)), key=lambda part: part.p_value).name
    p_values = {"verdict": result.p_value, "values": result.values.p_value}
    seconds = time.process_time() - start
    return {**p_values, "missingness": gaps.p_value if gaps else 1.0, "smallest": smallest, "seconds": seconds}


def leaves(finding: Finding) -> list[Finding]:
    """The tests that were combined into a finding and are no combinations themselves; or itself."""
    return [leaf for part in finding.parts for leaf in leaves(part)] or [finding]


def tally(name: str, phase: str, first: int, records: Sequence[dict[str, Any]]) -> Tally:
    """Tally of the records of one case."""
    judged = null_case(name).judged
    p_values = [record.get(judged, 1.0) for record in records]
    counts = [sum(p <= alpha for p in p_values) for alpha in (0.05, 0.01)]
    failures = Counter(record["failed"] for record in records if "failed" in record)
    findings = Counter(record["smallest"] for record in records if record.get(judged, 1.0) <= 0.05)
    seconds = float(np.mean([record.get("seconds", 0.0) for record in records]))
    first_ones = _first(name, records)
    return Tally(name, phase, first, len(records), counts[0], counts[1], failures, findings, seconds, first_ones)


def worst(tallies: Sequence[Tally]) -> tuple[str, ...]:
    """Names of the tenth of the cases that are furthest from their level, on either side."""
    ordered = sorted(tallies, key=Tally.surprise)
    return tuple(each.name for each in ordered[: -(-len(ordered) // 10)])


def failure(each: Tally) -> str:
    """Why a case fails; empty where it does not."""
    reasons = []
    if each.failures:
        reasons.append(f"{sum(each.failures.values())} of {each.trials} trials: {next(iter(each.failures))}")
    if each.at_05 > max(0.10 * each.trials, most_by_chance(each.trials, 0.05, 1)):
        reasons.append(f"{each.share:.3f} of {each.trials} trials at 0.05")
    if each.at_01 > max(0.03 * each.trials, most_by_chance(each.trials, 0.01, 1)):
        reasons.append(f"{each.at_01 / each.trials:.3f} of {each.trials} trials at 0.01")
    return "; ".join(reasons)


def most_by_chance(trials: int, alpha: float, n_cases: int) -> int:
    """The largest count among so many cases that chance explains, 1 time in 1,000, where the level is exact."""
    return int(binom.ppf(1 - SURE / n_cases, trials, alpha))


def bars(tallies: dict[str, list[Tally]]) -> list[Bar]:
    """Bars of all cases that were measured."""
    found = [each for phase in tallies.values() for each in phase]
    failed = [each for each in found if each.failures]
    bars = [Bar("cases with errors or undetermined trials", len(failed), "<=", 0, ", ".join(e.name for e in failed))]
    if drawn_ones := tallies.get("drawn"):
        bars += mean_bars(drawn_ones)
        bars += again_bars(tallies["again"], len(drawn_ones))
    if tallies.get("table"):
        bars.append(highest_bar("highest of fixed cases", tallies["table"], 0.05, 0.07, len(tallies["table"])))
    if tallies.get("kept"):
        bars.append(highest_bar("highest of kept cases", tallies["kept"], 0.05, 0.10, len(tallies["kept"])))
        bars.append(highest_bar("highest of kept cases", tallies["kept"], 0.01, 0.03, len(tallies["kept"])))
    return bars


def mean_bars(tallies: Sequence[Tally]) -> list[Bar]:
    """Bars of the mean over all drawn cases; with few trials they are what chance explains."""
    mean = float(np.mean([each.share for each in tallies]))
    trials = sum(each.trials for each in tallies)
    low, high = (float(binom.ppf(tail, trials, 0.05)) / trials for tail in (SURE, 1 - SURE))
    note = f"{len(tallies)} cases; chance explains {low:.3f} to {high:.3f}"
    name = "mean of drawn cases at 0.05"
    return [Bar(name, mean, ">=", min(0.035, low), note), Bar(name, mean, "<=", max(0.055, high), note)]


def again_bars(again: Sequence[Tally], n_cases: int) -> list[Bar]:
    """Bars of the worst tenth: none much too high, and few outside 0.02 to 0.08."""
    low, high = 0.02, 0.08
    if again[0].trials < ENOUGH:
        low = min(low, float(binom.ppf(SURE / n_cases, again[0].trials, 0.05)) / again[0].trials)
        high = max(high, most_by_chance(again[0].trials, 0.05, n_cases) / again[0].trials)
    out = [each.name for each in again if not low <= each.share <= high]
    return [
        highest_bar("highest of the worst tenth", again, 0.05, 0.10, n_cases),
        highest_bar("highest of the worst tenth", again, 0.01, 0.03, n_cases),
        Bar(f"of the worst tenth outside {low:.3g} to {high:.3g}", len(out), "<=", 3, ", ".join(out)),
    ]


def highest_bar(name: str, tallies: Sequence[Tally], alpha: float, bound: float, n_cases: int) -> Bar:
    """Bar of the highest share at an alpha, and beside it what chance explains among so many cases.

    With fewer than 500 trials the bar is at least what chance explains.
    """
    by_count = {each.name: each.at_05 if alpha == 0.05 else each.at_01 for each in tallies}
    highest, trials = max(by_count, key=lambda key: by_count[key]), tallies[0].trials
    chance = most_by_chance(trials, alpha, n_cases) / trials
    note = f"{highest}; chance explains {chance:.3g} among {n_cases} cases of {trials} trials"
    bound = bound if trials >= ENOUGH else max(bound, chance)
    return Bar(f"{name} at {alpha}", by_count[highest] / trials, "<=", bound, note)


def show(tallies: Sequence[Tally]) -> None:
    """Print the cases, those that alarm most first."""
    for each in sorted(tallies, key=lambda each: -each.at_05):
        name, phase, _, trials, at_05, at_01, judged, failures, findings, *_, text = each.row()
        print(f"{at_05} {at_01} {judged:7} of {trials:>4} {phase:6} {name}: {text} [{findings}] {failures}".rstrip())
