"""Tasks run in several processes, with every result saved at once; tables, with a record of how they were made."""

import csv
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import metadata
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from experiments.journal import Journal

__all__ = ["RESULTS", "Rows", "commit_of_code", "provenance", "read_rows", "run_tasks", "write_rows"]

Rows = list[dict[str, Any]]

RESULTS = Path(__file__).parent / "results"
"""Where results are kept."""

PACKAGES = ("gapdrift", "numpy", "scipy", "scikit-learn", "torch")


def run_tasks(
    work: Callable[[Any], Any], tasks: Sequence[Any], journal: Journal, jobs: int, *, again: bool = False
) -> None:
    """Run the tasks that the journal lacks.

    Parameters
    ----------
    work : callable
        Must be defined at the top of a module, so that other processes can import it.
    tasks : sequence
        Lists of numbers and words.
    journal : Journal
    jobs : int
        Number of processes, of one thread each.
    again : bool, default False
        Whether tasks are run again whose results another commit of the code made.
    """
    left = [task for task in tasks if task not in journal or (again and journal.commit_of(task) != journal.commit)]
    start = time.monotonic()
    _show(0, len(left), start)
    if jobs == 1:
        with threadpool_limits(1):
            for done, task in enumerate(left, 1):
                journal.add(task, work(task))
                _show(done, len(left), start)
    else:
        _run_apart(work, left, journal, jobs, start)


def _run_apart(work: Callable[[Any], Any], left: list[Any], journal: Journal, jobs: int, start: float) -> None:
    with ProcessPoolExecutor(jobs, initializer=_one_thread) as pool:
        futures = {pool.submit(work, task): task for task in left}
        for done, future in enumerate(as_completed(futures), 1):
            journal.add(futures[future], future.result())
            _show(done, len(left), start)


def _one_thread() -> None:
    threadpool_limits(1)


def _show(done: int, total: int, start: float) -> None:
    """Show a progress bar on a terminal, and nothing elsewhere."""
    if not sys.stderr.isatty() or not total:
        return
    share = done / total
    left = f"{(time.monotonic() - start) / done * (total - done):,.0f} s left" if done else ""
    bar = "#" * int(30 * share)
    end = "\n" if done == total else ""
    print(f"\r\033[K[{bar:<30}] {done} of {total} {left}", end=end, file=sys.stderr, flush=True)


def provenance(
    command: Sequence[str], seed: int, tasks: Sequence[Any], journal: Journal, group_of: Callable[[Any], str]
) -> dict[str, Any]:
    """How a table was made: command, commits, seed and versions, without the time, so that it can be reproduced.

    ``results`` has for each group of methods how many of its tasks are finished, of how many, and by which commits of
    the code.
    """
    groups: dict[str, Any] = {}
    for task in tasks:
        group = groups.setdefault(group_of(task), {"tasks": 0, "finished": 0, "commits": {}})
        group["tasks"] += 1
        if task in journal:
            group["finished"] += 1
            commit = journal.commit_of(task)
            group["commits"][commit] = group["commits"].get(commit, 0) + 1
    return {
        "command": " ".join(["python -m experiments", *command]),
        "results": groups,
        "seed": seed,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def commit_of_code() -> str:
    """Commit of the code, marked as dirty if anything but the results differs from it."""
    git = ["git", "-C", str(Path(__file__).parent)]
    changed = [*git, "diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)experiments/results"]
    try:
        done = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip() + ("-dirty" if subprocess.run(changed, check=False).returncode else "")


def write_rows(path: Path, rows: Rows, source: Mapping[str, Any] | None = None) -> None:
    """Write a table, whole or not at all, and beside it how it was made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    with draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    draft.replace(path)
    if source is not None:
        path.with_suffix(".json").write_text(json.dumps(source, indent=2) + "\n", encoding="utf-8")


def read_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a table; ends the program if the table does not exist yet."""
    if not path.is_file():
        sys.exit(f"{path} is not there. Run 'python -m experiments run ...' first; 'list' shows the names.")
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
