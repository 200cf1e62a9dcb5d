"""The runs by name: their tasks, the work of one task, and the table of the results."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import experiment1, experiment2, experiment3, experiment4
from experiments.journal import Journal
from experiments.protocols import Protocol, protocol_of
from experiments.running import RESULTS, Rows, provenance, run_tasks, write_rows

__all__ = ["RUNS", "Run", "execute", "path_of"]


@dataclass(frozen=True)
class Run:
    """One run.

    Parameters
    ----------
    title : str
    tasks : callable
        ``tasks(protocol, trials, seed)``.
    work : callable
        Of one task, in a process of its own.
    table_rows : callable
        ``table_rows(tasks, results)``.
    trials : dict of str to int
        Of a full run, by protocol.
    quick : dict of str to int
        Of a run that only shows that everything works.
    """

    title: str
    tasks: Callable[[Protocol, int, int], list[Any]]
    work: Callable[[Any], Any]
    table_rows: Callable[[list[Any], list[Any]], Rows]
    trials: dict[str, int]
    quick: dict[str, int]


def _run(title: str, module: Any, published: int, sound: int, quick: int) -> Run:
    """Run of a module with so many trials under each protocol."""
    quickly = {"published": quick, "sound": quick}
    return Run(title, module.tasks, module.work, module.table_rows, {"published": published, "sound": sound}, quickly)


RUNS = {
    "experiment1": _run("Errors of values and distances (tables values and 2, figure 7)", experiment1, 20, 20, 1),
    "experiment2": _run("Ablation: seven configurations (table 3, figure 8, correlations)", experiment2, 500, 100, 2),
    "experiment3": _run(
        "Competitors: MWW, QuantTree, ME, MMD (tables 4 and 5, figure 9, correlations)", experiment3, 500, 100, 2
    ),
    "experiment4": _run("Real data, both directions (tables 9 and 10)", experiment4, 50, 50, 1),
}


def path_of(name: str, protocol: str, folder: Path = RESULTS) -> Path:
    """Table of a run."""
    return folder / protocol / f"{name}.csv"


def execute(
    name: str,
    protocol: str,
    *,
    trials: int,
    seed: int,
    jobs: int,
    folder: Path,
    command: list[str],
    quick: bool = False,
) -> Path:
    """Run one experiment under one protocol, from where it stopped, and write its table."""
    run = RUNS[name]
    tasks = run.tasks(protocol_of(f"{protocol}-quick" if quick else protocol), trials, seed)
    path = path_of(name, protocol, folder)
    journal = Journal(path.with_suffix(".jsonl"))
    results = run_tasks(run.work, tasks, journal, jobs)
    write_rows(path, run.table_rows(tasks, results), provenance(command, seed))
    return path
