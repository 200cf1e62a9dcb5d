"""Experiment 4, real data: false alarms and missed drifts, both directions (Tables 9 and 10)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from experiments import competitors, configurations
from experiments.configurations import CONFIGURATIONS
from experiments.detection import ALPHA, FittedMethods, Task
from experiments.experiment2 import BINS_ONLY, settings_of
from experiments.protocols import Protocol, protocol_of
from experiments.real import DIRECTIONS, SCRIPTED_SETS, SETS, RealSet, data_folder, draw_rows, load, scripted_rows
from experiments.running import Rows
from experiments.samples import MISSING_RATE, Sample, hide
from experiments.scripted import hide_scripted
from gapdrift._typing import Indices

__all__ = ["NAME", "draw_window", "table_rows", "tasks", "work"]

NAME = "experiment4"
N_BINS = 20
TOP_Q = 2
WINDOWS_PER_TASK = 10

SCRIPT_SEED = 1
"""Seed of numpy's old generator before each method of the scripts: of QuantTree's trees, and of the hidden cells."""

MISSING_SEED = 0
"""Seed of the missing cells of the reference and of every window."""

GROUPS = (*BINS_ONLY, *competitors.GROUPS, "distances")


@dataclass(frozen=True)
class _Fitted:
    """Methods of one group fitted on one reference, and the rows of that reference."""

    methods: FittedMethods
    used: Indices


def tasks(protocol: Protocol, trials: int, seed: int) -> list[Task]:
    """Tasks of a run: some windows with one reference, or single trials, each with a reference of its own."""
    block = WINDOWS_PER_TASK if protocol.one_reference else 1
    return [
        [NAME, protocol.name, seed, name, direction, first, min(block, trials - first), group]
        for group in GROUPS
        for name in (*SCRIPTED_SETS, "higgs")
        for direction in DIRECTIONS
        for first in range(0, trials, block)
    ]


def work(task: Task) -> dict[str, list[int]]:
    """Windows, alarms without drift and alarms with drift, of each method."""
    _, protocol_name, seed, name, direction, first, count, group = task
    protocol = protocol_of(protocol_name)
    found: dict[str, list[int]] = {}
    for trial in range(first, first + count):
        fitted = _fit(protocol_name, name, direction, seed, -1 if protocol.one_reference else trial, group)
        for drifted in (0, 1):
            rng = _rng(seed, name, direction, trial + 1, drifted + 1)
            window = draw_window(name, direction, drifted, trial, protocol, rng, seed, fitted.used)[0]
            for method, alarm in fitted.methods.alarms(window, rng, ALPHA).items():
                entry = found.setdefault(CONFIGURATIONS.get(method, method), [count, 0, 0])
                entry[1 + drifted] += int(alarm)
    return found


def _rng(seed: int, name: str, direction: str, *numbers: int) -> np.random.Generator:
    return np.random.default_rng([seed, SETS.index(name), DIRECTIONS.index(direction), *numbers])


def draw_window(
    name: str,
    direction: str,
    drifted: int,
    number: int,
    protocol: Protocol,
    rng: np.random.Generator,
    seed: int = 0,
    used: Indices | None = None,
) -> tuple[Sample, Indices]:
    """Sample of a data set and its rows: a window that shares no row with the reference, or the reference itself.

    Parameters
    ----------
    name : str
        Of the data set.
    direction : str
    drifted : int
        0 or 1.
    number : int
        Of the window, or -1 for the reference; the scripts' own rows have their numbers.
    protocol : Protocol
    rng : numpy.random.Generator
        For what the scripts do not draw: HIGGS, whose file is not theirs, and everything under another protocol.
    seed : int, default 0
    used : array or None
        Rows of the reference.
    """
    real = load(name, str(data_folder()))
    if protocol.seeded_draws and name in SCRIPTED_SETS:
        drawn = scripted_rows(name, str(data_folder()), seed)[direction]
        rows = drawn.reference if number < 0 else drawn.windows[number, drifted]
    else:
        rows = draw_rows(real, (DIRECTIONS.index(direction) + drifted) % 2, rng, used)
    return _with_missing(real, rows, direction, protocol, rng), rows


def _with_missing(real: RealSet, rows: Indices, direction: str, protocol: Protocol, rng: np.random.Generator) -> Sample:
    values, columns = real.values[rows], real.missing_columns[direction]
    if protocol.repeated_missing_rows:
        rates = dict.fromkeys(columns, MISSING_RATE)
        return Sample(values, hide_scripted(values, rates, np.random.RandomState(MISSING_SEED)))
    return Sample(values, hide(values, columns, protocol, rng))


@lru_cache(maxsize=2)
def _fit(protocol_name: str, name: str, direction: str, seed: int, trial: int, group: str) -> _Fitted:
    protocol = protocol_of(protocol_name)
    rng = _rng(seed, name, direction, trial + 1, 0)
    reference, used = draw_window(name, direction, 0, -1, protocol, rng, seed)
    if group in competitors.GROUPS:
        first = draw_window(name, direction, 0, 0, protocol, rng, seed, used)[0]
        names = competitors.GROUPS[group]
        return _Fitted(competitors.fit_competitors(reference, protocol, rng, names, first, SCRIPT_SEED), used)
    if group in BINS_ONLY:
        return _Fitted(BINS_ONLY[group](reference, protocol, rng, n_bins=N_BINS), used)
    settings: dict[str, Any] = settings_of(protocol)
    if protocol.ordered_pairs:
        settings["mask_seed"] = SCRIPT_SEED
    return _Fitted(configurations.fit_distances(reference, protocol, rng, n_bins=N_BINS, top_q=TOP_Q, **settings), used)


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
