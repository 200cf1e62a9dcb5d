"""What Experiments 2 and 3 share: five kinds of drift, eleven severities, alarms of several methods."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from typing import Protocol as Interface

import numpy as np

from experiments.distributions import DRIFTS
from experiments.protocols import Protocol, protocol_of
from experiments.running import Rows
from experiments.samples import Sample, draw_drift
from experiments.scripted import draw_scripted

__all__ = [
    "ALPHA",
    "KINDS",
    "N_ROWS",
    "SEVERITIES",
    "FittedMethods",
    "alarm_rows",
    "count_alarms",
    "draw_sample",
    "make_tasks",
    "rng_of",
]

ALPHA = 0.05
KINDS = tuple(DRIFTS)
N_ROWS = 500
SEVERITIES = tuple(range(11))

WINDOWS_PER_TASK = 20
"""Windows of one task if all windows have one reference."""

Task = list[Any]


class FittedMethods(Interface):
    """Several methods, fitted on one reference."""

    def alarms(self, window: Sample, rng: np.random.Generator, alpha: float) -> dict[str, bool]:
        """Whether each method finds drift in a window."""
        ...


def make_tasks(name: str, protocol: Protocol, trials: int, seed: int, groups: Iterable[str]) -> list[Task]:
    """Tasks of a run: some windows of one severity, if there is one reference; otherwise trials of all severities.

    Each is of one group of methods, so that methods that have changed can be run again alone.

    Examples
    --------
    >>> len(make_tasks("experiment2", protocol_of("sound"), 3, 0, ["bins", "distances"]))
    30
    """
    if not protocol.one_reference:
        return [
            [name, protocol.name, seed, kind, trial, group]
            for group in groups
            for kind in KINDS
            for trial in range(trials)
        ]
    return [
        [name, protocol.name, seed, kind, severity, first, min(WINDOWS_PER_TASK, trials - first), group]
        for group in groups
        for kind in KINDS
        for severity in SEVERITIES
        for first in range(0, trials, WINDOWS_PER_TASK)
    ]


def rng_of(*numbers: int | str) -> np.random.Generator:
    """Random generator that depends only on these numbers and names, not on what was run before."""
    return np.random.default_rng([KINDS.index(n) if isinstance(n, str) else n for n in numbers])


def draw_sample(
    kind: str, severity: int, number: int, protocol: Protocol, rng: np.random.Generator, seed: int
) -> Sample:
    """Sample of an experiment: a window, given by its number, or the reference."""
    if protocol.seeded_draws:
        return draw_scripted(kind, severity, number, N_ROWS, protocol, seed)
    return draw_drift(kind, severity, N_ROWS, protocol, rng)


def count_alarms(task: Task, fit: Callable[[str, int, int, str], FittedMethods]) -> dict[str, list[list[int]]]:
    """Severity, number of windows and number of alarms of each method.

    Parameters
    ----------
    task : list
        A task of `make_tasks`.
    fit : callable
        ``fit(kind, seed, trial, group)`` returns the methods of a group fitted on a reference; trial -1 means one for
        all windows.
    """
    _, name, seed, kind, *rest, group = task
    protocol = protocol_of(name)
    if protocol.one_reference:
        severity, first, count = rest
        methods, trials, severities = fit(kind, seed, -1, group), range(first, first + count), [severity]
    else:
        methods, trials, severities = fit(kind, seed, rest[0], group), range(rest[0], rest[0] + 1), list(SEVERITIES)
    found: dict[str, list[list[int]]] = {}
    for severity in severities:
        alarms: dict[str, int] = {}
        for trial in trials:
            rng = rng_of(seed, kind, severity + 1, trial)
            window = draw_sample(kind, severity, trial, protocol, rng, seed)
            for method, alarm in methods.alarms(window, rng, ALPHA).items():
                alarms[method] = alarms.get(method, 0) + int(alarm)
        for method, count in alarms.items():
            found.setdefault(method, []).append([severity, len(trials), count])
    return found


def alarm_rows(tasks: Sequence[Task], results: Iterable[dict[str, list[list[int]]]]) -> Rows:
    """Rows of a run's table: ratio of alarms by kind of drift, severity and method."""
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
