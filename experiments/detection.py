"""What Experiments 2 and 3 share: five kinds of drift, eleven severities, alarms of several methods."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from typing import Protocol as Interface

import numpy as np

import gapdrift as gd
from experiments.protocols import Protocol, protocol_of
from experiments.running import Rows
from experiments.samples import Sample, draw_drift
from experiments.scripted import draw_scripted

__all__ = ["ALPHA", "KINDS", "N_ROWS", "SEVERITIES", "Judge", "collect", "draw_sample", "plan", "rng_of", "watch"]

ALPHA = 0.05
KINDS = tuple(gd.datasets.DRIFTS)
N_ROWS = 500
SEVERITIES = tuple(range(11))

BLOCK = 20
"""Windows of one task where all have one reference."""

Task = list[Any]


class Judge(Interface):
    """Several methods, fitted on one reference."""

    def alarms(self, window: Sample, rng: np.random.Generator, alpha: float) -> dict[str, bool]:
        """Whether a window is drift, by each method."""
        ...


def plan(name: str, protocol: Protocol, trials: int, seed: int) -> list[Task]:
    """Tasks of a run: blocks of windows of one severity with one reference, or trials of all severities.

    Examples
    --------
    >>> len(plan("experiment2", protocol_of("sound"), 3, 0))
    15
    """
    if not protocol.one_reference:
        return [[name, protocol.name, seed, kind, trial] for kind in KINDS for trial in range(trials)]
    return [
        [name, protocol.name, seed, kind, severity, first, min(BLOCK, trials - first)]
        for kind in KINDS
        for severity in SEVERITIES
        for first in range(0, trials, BLOCK)
    ]


def rng_of(*numbers: int | str) -> np.random.Generator:
    """Generator of one place in an experiment, whatever was run before it."""
    return np.random.default_rng([KINDS.index(n) if isinstance(n, str) else n for n in numbers])


def draw_sample(
    kind: str, severity: int, number: int, protocol: Protocol, rng: np.random.Generator, seed: int
) -> Sample:
    """Window of an experiment by its number, or its reference."""
    if protocol.seeded_draws:
        return draw_scripted(kind, severity, number, N_ROWS, protocol, seed)
    return draw_drift(kind, severity, N_ROWS, protocol, rng)


def watch(task: Task, fit: Callable[[str, int, int], Judge]) -> dict[str, list[list[int]]]:
    """Severity, windows and alarms of each method.

    Parameters
    ----------
    task : list
        Of `plan`.
    fit : callable
        ``fit(kind, seed, trial)`` returns the methods fitted on a reference; trial -1 is the one for all windows.
    """
    _, name, seed, kind, *rest = task
    protocol = protocol_of(name)
    if protocol.one_reference:
        severity, first, count = rest
        judge, trials, severities = fit(kind, seed, -1), range(first, first + count), [severity]
    else:
        judge, trials, severities = fit(kind, seed, rest[0]), range(rest[0], rest[0] + 1), list(SEVERITIES)
    found: dict[str, list[list[int]]] = {}
    for severity in severities:
        alarms: dict[str, int] = {}
        for trial in trials:
            rng = rng_of(seed, kind, severity + 1, trial)
            window = draw_sample(kind, severity, trial, protocol, rng, seed)
            for method, alarm in judge.alarms(window, rng, ALPHA).items():
                alarms[method] = alarms.get(method, 0) + int(alarm)
        for method, count in alarms.items():
            found.setdefault(method, []).append([severity, len(trials), count])
    return found


def collect(tasks: Sequence[Task], results: Iterable[dict[str, list[list[int]]]]) -> Rows:
    """Table of a run: ratio of alarms by kind, severity and method."""
    totals: dict[tuple[str, int, str], list[int]] = {}
    for task, result in zip(tasks, results, strict=True):
        for method, entries in result.items():
            for severity, windows, alarms in entries:
                total = totals.setdefault((task[3], severity, method), [0, 0])
                total[0] += windows
                total[1] += alarms
    order = sorted(totals, key=lambda key: (KINDS.index(key[0]), key[2], key[1]))
    return [
        {
            "drift": kind,
            "method": method,
            "severity": severity,
            "windows": totals[kind, severity, method][0],
            "alarms": totals[kind, severity, method][1],
            "ratio": f"{totals[kind, severity, method][1] / totals[kind, severity, method][0]:.4f}",
        }
        for kind, severity, method in order
    ]
