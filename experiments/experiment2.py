"""Experiment 2, the ablation: seven configurations of MDL-FWF on five drifts (Table 3, Fig. 8)."""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from experiments.configurations import GROUPS, fit_bins, fit_complete_wald, fit_distances
from experiments.detection import FittedMethods, Task, alarm_rows, count_alarms, draw_sample, make_tasks, rng_of
from experiments.protocols import Protocol, protocol_of
from experiments.running import Rows
from experiments.scripted import REFERENCE

__all__ = ["BINS_ONLY", "NAME", "settings_of", "table_rows", "tasks", "work"]

NAME = "experiment2"
N_BINS = 10
TOP_Q = 3

BINS_ONLY: Mapping[str, Callable[..., FittedMethods]] = {"bins": fit_bins, "complete-wald": fit_complete_wald}
"""Functions that fit the groups of configurations without learned distances."""

QUICK_PAIRS = 2_000
"""Pairs that distances are learned on where not all of them are."""


def settings_of(protocol: Protocol) -> dict[str, Any]:
    """Settings of the learned distances: all pairs or few, or, where each trial has a fit, the library's own."""
    return {"max_pairs": None if protocol.all_pairs else QUICK_PAIRS} if protocol.ordered_pairs else {}


def tasks(protocol: Protocol, trials: int, seed: int) -> list[Task]:
    """Tasks of a run."""
    return make_tasks(NAME, protocol, trials, seed, GROUPS)


def work(task: Task) -> dict[str, list[list[int]]]:
    """Severity, windows and alarms of each configuration."""
    return count_alarms(task, partial(_fit, task[1]))


@lru_cache(maxsize=2)
def _fit(protocol_name: str, kind: str, seed: int, trial: int, group: str) -> FittedMethods:
    protocol = protocol_of(protocol_name)
    rng = rng_of(seed, kind, 0, trial + 1)
    reference = draw_sample(kind, 0, REFERENCE, protocol, rng, seed)
    if group in BINS_ONLY:
        return BINS_ONLY[group](reference, protocol, rng, n_bins=N_BINS)
    return fit_distances(reference, protocol, rng, n_bins=N_BINS, top_q=TOP_Q, **settings_of(protocol))


def table_rows(done: list[Task], results: list[Any]) -> Rows:
    """Table of a run."""
    return alarm_rows(done, results)
