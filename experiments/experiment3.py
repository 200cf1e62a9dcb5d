"""Experiment 3, the competitors: complete and imputed data, five drifts (Tables 4 and 5, Fig. 9)."""

from functools import lru_cache, partial
from typing import Any

from experiments.competitors import GROUPS, Competitors, fit_competitors
from experiments.detection import Task, alarm_rows, count_alarms, draw_sample, make_tasks, rng_of
from experiments.protocols import Protocol, protocol_of
from experiments.running import Rows
from experiments.scripted import REFERENCE

__all__ = ["NAME", "table_rows", "tasks", "work"]

NAME = "experiment3"


def tasks(protocol: Protocol, trials: int, seed: int) -> list[Task]:
    """Tasks of a run."""
    return make_tasks(NAME, protocol, trials, seed, GROUPS)


def work(task: Task) -> dict[str, list[list[int]]]:
    """Severity, windows and alarms of each method."""
    return count_alarms(task, partial(_fit, task[1]))


@lru_cache(maxsize=2)
def _fit(protocol_name: str, kind: str, seed: int, trial: int, group: str) -> Competitors:
    protocol = protocol_of(protocol_name)
    rng = rng_of(seed, kind, 0, trial + 1)
    reference = draw_sample(kind, 0, REFERENCE, protocol, rng, seed)
    first = draw_sample(kind, 0, 0, protocol, rng, seed)
    return fit_competitors(reference, protocol, rng, GROUPS[group], first)


def table_rows(done: list[Task], results: list[Any]) -> Rows:
    """Table of a run."""
    return alarm_rows(done, results)
