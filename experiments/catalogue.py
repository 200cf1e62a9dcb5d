"""The runs by name: their tasks, the work of one task, and the table of the results."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import experiment1, experiment2, experiment3, experiment4
from experiments.journal import Journal
from experiments.protocols import Protocol, protocol_of
from experiments.running import RESULTS, Rows, commit_of_code, provenance, run_tasks, write_rows

__all__ = ["RUNS", "Run", "execute", "path_of"]


@dataclass(frozen=True)
class Run:
    """One run.

    Parameters
    ----------
    title : str
    tasks : callable
        ``tasks(protocol, trials, seed)``; the last entry of a task is the group of methods that it runs.
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
    "experiment2": _run("Ablation: seven configurations (table 3, figure 8, correlations)", experiment2, 500, 200, 2),
    "experiment3": _run(
        "Competitors: MWW, QuantTree, ME, MMD (tables 4 and 5, figure 9, correlations)", experiment3, 500, 100, 2
    ),
    "experiment4": _run("Real data, both directions (tables 9 and 10)", experiment4, 500, 50, 1),
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
    groups: Sequence[str] = (),
    again: bool = False,
) -> Path:
    """Run one experiment under one protocol, from where it stopped, and write the table of what is finished.

    Parameters
    ----------
    name, protocol : str
    trials, seed, jobs : int
    folder : Path
        Of the results.
    command : list of str
        As the user gave it, for the record.
    quick : bool, default False
        Whether distances are learned on few pairs.
    groups : sequence of str
        Groups of methods to run; without any, all.
    again : bool, default False
        Whether results of other commits of the code are made anew, one by one.
    """
    run = RUNS[name]
    tasks = run.tasks(protocol_of(f"{protocol}-quick" if quick else protocol), trials, seed)
    path = path_of(name, protocol, folder)
    journal = Journal(path.with_suffix(".jsonl"), _clean_commit(folder))
    chosen = [task for task in tasks if not groups or task[-1] in groups]
    run_tasks(run.work, chosen, journal, jobs, again=again)
    finished = [task for task in tasks if task in journal]
    rows = run.table_rows(finished, [journal.get(task) for task in finished])
    write_rows(path, rows, provenance(command, seed, tasks, journal, lambda task: task[-1]))
    return path


def _clean_commit(folder: Path) -> str:
    """Commit of the code; ends the program where results of code that is not committed would go among the others."""
    commit = commit_of_code()
    if folder.resolve() == RESULTS.resolve() and not re.fullmatch("[0-9a-f]+", commit):
        sys.exit(
            f"The code is at {commit}: what is not committed cannot be run again. Commit it, or name another folder "
            "for the results by --results."
        )
    return commit
