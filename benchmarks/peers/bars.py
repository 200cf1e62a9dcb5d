"""What must hold: much faster than every method that takes gaps, with more drift found and false alarms that hold."""

from collections.abc import Sequence

from scipy.stats import binom

from benchmarks._report import Bar
from benchmarks._trials import SURE
from benchmarks.peers.conformance import INPUTS
from benchmarks.peers.measuring import speed_task
from benchmarks.peers.methods import METHODS, Method
from benchmarks.peers.scenarios import Case, cases
from benchmarks.peers.tables import Alarms, alarms, conformance_table
from experiments.journal import Journal

__all__ = ["all_bars", "conformance_bars", "speed_bars", "verdict_bars"]

_TIMES = 10.0
_LARGE = 10_000
_LEVEL = 0.05
_OURS, *_PEERS = METHODS


def all_bars(journal: Journal, sizes: Sequence[int], trials: int) -> list[Bar]:
    """Bars of whatever the journal holds."""
    return [*speed_bars(journal, sizes), *verdict_bars(journal, trials), *conformance_bars(journal)]


def speed_bars(journal: Journal, sizes: Sequence[int]) -> list[Bar]:
    """How many times our processor seconds a multivariate method takes that answered with the gaps as they are.

    One that did not answer in time counts with what it had taken until then.
    """
    found = []
    for size in sizes:
        ours = speed_task(_OURS, size)
        if size < _LARGE or ours not in journal or journal.get(ours)["error"] is not None:
            continue
        for method in _candidates():
            task = speed_task(method, size)
            seconds = _seconds(journal.get(task)) if task in journal else None
            if seconds is not None:
                times = seconds / journal.get(ours)["cpu_seconds"]
                note = f"{journal.get(ours)['cpu_seconds']:.2f} s against {seconds:.2f} s"
                found.append(Bar(f"times faster, {size:,} rows, {method.title}", times, ">=", _TIMES, note))
    return found


def _candidates() -> list[Method]:
    return [method for method in _PEERS if method.multivariate and not method.filled]


def _seconds(answer: dict[str, object]) -> float | None:
    """Processor seconds of an answer, or until it was given up; none where the method refused."""
    error = answer["error"]
    if error is None or str(error).startswith("timeout"):
        return float(str(answer["cpu_seconds"]))
    return None


def verdict_bars(journal: Journal, trials: int) -> list[Bar]:
    """False alarms of ours, and detections beside each multivariate method with gaps whose false alarms hold."""
    calm = [case for case in cases() if case.scenario == "none"]
    ours = [alarms(journal, _OURS, case, trials) for case in calm]
    if not all(one.trials for one in ours):
        return []
    bars = [_rate_bar(f"false alarms, {_words(case)}", one.drift, one) for case, one in zip(calm, ours, strict=True)]
    for case in cases():
        one = alarms(journal, _OURS, case, trials)
        if case.scenario == "gaps" and one.trials:
            bars.append(_rate_bar(f"values alarm though only gaps move, {_words(case)}", one.values, one))
    return bars + [bar for method in _candidates() for bar in _detection_bars(journal, method, trials)]


def _words(case: Case) -> str:
    return f"{case.kind}, {case.rate:.0%}"


def _rate_bar(name: str, count: int, of: Alarms) -> Bar:
    return Bar(name, count / of.trials, "<=", _allowed(of.trials), f"{_LEVEL} and the scatter of {of.trials} trials")


def _allowed(trials: int) -> float:
    """Largest share of alarms that a test of the level shows by chance, but for 1 time in 1,000."""
    return float(binom.ppf(1 - SURE, trials, _LEVEL)) / trials


def _detection_bars(journal: Journal, method: Method, trials: int) -> list[Bar]:
    """One bar, over all drifts of values in tables with gaps; none for a method whose false alarms do not hold.

    Of ours only those trials count that the other method has made.
    """
    with_gaps = [case for case in cases() if case.rate and case.scenario != "gaps"]
    theirs = {case: alarms(journal, method, case, trials) for case in with_gaps}
    answered = [case for case in with_gaps if theirs[case].trials and not theirs[case].errors]
    null = [theirs[case] for case in answered if case.scenario == "none"]
    drifted = [case for case in answered if case.scenario != "none"]
    n_null, false = sum(one.trials for one in null), sum(one.drift for one in null)
    if not n_null or not drifted or false / n_null > _allowed(n_null):
        return []
    ours = sum(alarms(journal, _OURS, case, theirs[case].trials).drift for case in drifted)
    total = sum(theirs[case].trials for case in drifted)
    found = sum(theirs[case].drift for case in drifted)
    note = f"of {total} trials; its false alarms {false} of {n_null}"
    return [Bar(f"drift found, {method.title} below ours", found, "<", ours, note)]


def conformance_bars(journal: Journal) -> list[Bar]:
    """All awkward inputs are answered rightly."""
    rows = [row for row in conformance_table(journal).rows if row[0] == _OURS.title]
    return [Bar("awkward inputs answered rightly", float(row[1]), ">=", len(INPUTS)) for row in rows]
