"""Repeated trials in several processes, with progress, a CSV and binomial bounds."""

import argparse
import ast
import csv
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom
from threadpoolctl import threadpool_limits

import gapdrift as gd

__all__ = [
    "SURE",
    "add_arguments",
    "code_of",
    "outside",
    "read_csv",
    "read_journal",
    "run",
    "select",
    "without_words",
    "write_csv",
]

SURE = 1e-3
"""A rate is held against a bar only where chance alone would put it there less often than this."""


OF_LABELS = {"concept", "concept_basis", "concepts", "label", "labelled"}
"""Modules that are used where there is a label."""


def add_arguments(parser: argparse.ArgumentParser, trials: int) -> None:
    """Options that all simulations share."""
    parser.add_argument("--trials", type=int, default=trials, help="trials of each case (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default %(default)s)")
    parser.add_argument("--csv", type=Path, help="write the table to this file as well")
    parser.add_argument("--only", default="", help="only cases whose name contains this, or one of these, by commas")


def select(names: Sequence[str], only: str) -> list[str]:
    """Names that contain one of the words, which are separated by commas; ends the program where there is none."""
    chosen = [name for name in names if any(word in name for word in only.split(","))]
    if not chosen:
        sys.exit(f"--only {only!r} fits none of: {', '.join(names)}")
    return chosen


def outside(count: int, trials: int, low: float, high: float) -> bool:
    """Whether a count is incompatible with every rate from ``low`` to ``high``."""
    too_few = binom.cdf(count, trials, low) < SURE
    too_many = binom.sf(count - 1, trials, high) < SURE
    return bool(too_few or too_many)


def run(
    work: Callable[[Any], Any],
    tasks: Sequence[Any],
    jobs: int,
    journal: Path | None = None,
    until: float | None = None,
) -> list[Any]:
    """Results of ``work`` on each task, in order, by several processes of one thread each.

    With a journal each result is written down as it comes, and a run that was stopped goes on with the tasks the
    journal lacks; results are then lists of numbers. A line that was cut short counts as not written. No task is begun
    when `time.monotonic` is past ``until``; the result of those that are left is None.
    """
    known = read_journal(journal)
    results = [known.get(json.dumps(task)) for task in tasks]
    start = time.monotonic()
    is_late = until is not None and start > until
    open_tasks = [index for index, result in enumerate(results) if result is None and not is_late]
    with ProcessPoolExecutor(jobs, initializer=_one_thread) as pool:
        futures = {pool.submit(work, tasks[index]): index for index in open_tasks}
        for done, future in enumerate(as_completed(futures), 1):
            if until is not None and time.monotonic() > until:
                for each in futures:
                    each.cancel()
            if future.cancelled():
                continue
            index = futures[future]
            results[index] = future.result()
            _note(journal, tasks[index], results[index])
            _show(done, len(open_tasks), time.monotonic() - start)
    return results


def read_journal(path: Path | None) -> dict[str, Any]:
    """Results by their tasks, as JSON, of a journal; none where there is no file."""
    if path is None or not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return dict(json.loads(line) for line in lines if line.endswith("]\n"))


def _note(path: Path | None, task: Any, result: Any) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([json.dumps(task), np.asarray(result).tolist()]) + "\n")


def _one_thread() -> None:
    """Keep the numerical libraries of a worker to one thread: two workers with two each stand in each other's way."""
    threadpool_limits(1)


@cache
def code_of() -> str:
    """First digits of a checksum of the code that the figures are of: that of the detector, and of the grammar.

    Docstrings and comments are left out, no figure depends on them, and so is what only tables with a label need: none
    of those that are measured here have one.
    """
    root = Path(__file__).parent
    measured = [Path(gd.__file__).parent / name for name in ("counting", "detectors", "inference", "models", "tables")]
    files = [file for folder in [*measured, root / "grammar"] for file in sorted(folder.rglob("*.py"))]
    files = [file for file in files if file.stem not in OF_LABELS]
    return hashlib.sha256("".join(without_words(file.read_text("utf-8")) for file in files).encode()).hexdigest()[:10]


def without_words(source: str) -> str:
    """Syntax tree of Python source as text, without docstrings and comments."""
    return ast.dump(_WithoutDocstrings().visit(ast.parse(source)))


class _WithoutDocstrings(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node


def write_csv(path: Path | None, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table, where a path is given."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def read_csv(path: Path | None) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Rows of a table written before, by their first three cells; none where there is no file."""
    if path is None or not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [tuple(row) for row in csv.reader(file)][1:]
    return {row[:3]: row for row in rows}


def _show(done: int, total: int, seconds: float) -> None:
    if sys.stderr.isatty():
        left = seconds / done * (total - done)
        end = "\n" if done == total else ""
        print(f"\r\033[K{done} of {total} tasks, {left:,.0f} s left", end=end, file=sys.stderr, flush=True)
