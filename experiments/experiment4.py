"""Experiment 4, real data: false alarms and missed drifts, both directions (Tables 9 and 10)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from experiments.competitors import COMPETITORS, OURS, Competitors, fit_competitors
from experiments.configurations import CONFIGURATIONS, Configurations, fit_configurations
from experiments.detection import ALPHA, Task
from experiments.experiment2 import settings_of
from experiments.protocols import Protocol, protocol_of
from experiments.real import DIRECTIONS, SETS, RealSet, data_folder, draw_rows, load
from experiments.running import Rows
from experiments.samples import Sample, hide

__all__ = ["NAME", "table_rows", "tasks", "work"]

NAME = "experiment4"
N_BINS = 20
TOP_Q = 2
WINDOWS_PER_TASK = 5


@dataclass(frozen=True)
class _FittedMethods:
    """Competitors and configurations on one reference, and the rows of that reference."""

    competitors: Competitors
    configurations: Configurations
    used: Any

    def alarms(self, window: Sample, rng: np.random.Generator) -> dict[str, bool]:
        found = self.competitors.alarms(window, rng, ALPHA)
        for name, alarm in self.configurations.alarms(window, rng, ALPHA).items():
            found[CONFIGURATIONS.get(name, name)] = alarm
        return found


def tasks(protocol: Protocol, trials: int, seed: int) -> list[Task]:
    """Tasks of a run: some windows with one reference, or single trials, each with a reference of its own."""
    block = WINDOWS_PER_TASK if protocol.one_reference else 1
    return [
        [NAME, protocol.name, seed, name, direction, first, min(block, trials - first)]
        for name in SETS
        for direction in DIRECTIONS
        for first in range(0, trials, block)
    ]


def work(task: Task) -> dict[str, list[int]]:
    """Windows, alarms without drift and alarms with drift, of each method."""
    _, protocol_name, seed, name, direction, first, count = task
    protocol = protocol_of(protocol_name)
    real = load(name, str(data_folder()))
    found: dict[str, list[int]] = {}
    for trial in range(first, first + count):
        methods = _fit(protocol_name, name, direction, seed, -1 if protocol.one_reference else trial)
        for drifted in (0, 1):
            rng = _rng(seed, name, direction, trial + 1, drifted + 1)
            used = None if protocol.one_reference else methods.used
            window = _sample(real, direction, drifted, protocol, rng, used)[0]
            for method, alarm in methods.alarms(window, rng).items():
                entry = found.setdefault(method, [count, 0, 0])
                entry[1 + drifted] += int(alarm)
    return found


def _rng(seed: int, name: str, direction: str, *numbers: int) -> np.random.Generator:
    return np.random.default_rng([seed, SETS.index(name), DIRECTIONS.index(direction), *numbers])


def _sample(
    real: RealSet, direction: str, drifted: int, protocol: Protocol, rng: np.random.Generator, used: Any = None
) -> tuple[Sample, Any]:
    population = (DIRECTIONS.index(direction) + drifted) % 2
    rows = draw_rows(real, population, rng, used)
    missing_rng = np.random.default_rng(0) if protocol.repeated_missing_rows else rng
    values = real.values[rows]
    return Sample(values, hide(values, real.missing_columns[direction], protocol, missing_rng)), rows


@lru_cache(maxsize=2)
def _fit(protocol_name: str, name: str, direction: str, seed: int, trial: int) -> _FittedMethods:
    protocol = protocol_of(protocol_name)
    real = load(name, str(data_folder()))
    rng = _rng(seed, name, direction, trial + 1, 0)
    reference, used = _sample(real, direction, 0, protocol, rng)
    first = _sample(real, direction, 0, protocol, rng, used)[0]
    competitors = fit_competitors(reference, protocol, rng, (*COMPETITORS, OURS), first)
    configurations = fit_configurations(reference, protocol, rng, n_bins=N_BINS, top_q=TOP_Q, **settings_of(protocol))
    return _FittedMethods(competitors, configurations, used)


def table_rows(done: Sequence[Task], results: Iterable[dict[str, list[int]]]) -> Rows:
    """Table of a run: rates of false alarms and of missed drifts."""
    totals: dict[tuple[str, str, str], list[int]] = {}
    for task, result in zip(done, results, strict=True):
        for method, entry in result.items():
            total = totals.setdefault((task[3], task[4], method), [0, 0, 0])
            for place, number in enumerate(entry):
                total[place] += number
    order = sorted(totals, key=lambda key: (SETS.index(key[0]), key[1], key[2]))
    return [
        {
            "data": key[0],
            "direction": key[1],
            "method": key[2],
            "windows": totals[key][0],
            "false_alarms": totals[key][1],
            "found": totals[key][2],
            "type_1": f"{totals[key][1] / totals[key][0]:.4f}",
            "type_2": f"{1.0 - totals[key][2] / totals[key][0]:.4f}",
        }
        for key in order
    ]
