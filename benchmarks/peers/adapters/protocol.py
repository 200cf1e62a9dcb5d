"""What all adapters share: one JSON command a line on stdin, one JSON answer a line on stdout.

A command is ``{"reference": path, "window": path, "method": name, "fill": bool, "alpha": float, "seed": int}``, the
paths those of Parquet files. The answer is ``{"drift": bool or null, "p_value": float or null, "seconds": ...,
"cpu_seconds": ..., "peak_mib": ..., "error": null or "Type: first line", "warnings": [...], "details": {...}}``; the
seconds are those of fitting and testing, without reading the files; the warnings are the first lines of those that
Python's `warnings` were given. Nothing here needs more than pandas and pyarrow, which every environment has.
"""

import contextlib
import json
import math
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

__all__ = ["Answer", "any_column", "columns", "numbers", "present", "serve"]


@dataclass(frozen=True)
class Answer:
    """Verdict of one test; no verdict where the method itself says that it has none."""

    drift: bool | None
    p_value: float | None = None
    details: dict[str, Any] = field(default_factory=dict)


class NumbersOnly(TypeError):  # noqa: N818  (its name is what the tables say)
    """A method was given a category, which it does not claim to take: the adapter says so in its place."""


Method = Callable[[pd.DataFrame, pd.DataFrame, float, int], Answer]


def serve(methods: dict[str, Method]) -> None:
    """Answer commands until stdin ends; what the libraries print goes to stderr.

    The first argument of the script, if any, is the number of bytes it may allocate.
    """
    for limit in map(int, sys.argv[1:2]):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    say(answers, {"ready": sorted(methods)})
    for line in sys.stdin:
        say(answers, answer(methods, json.loads(line)))


def say(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def answer(methods: dict[str, Method], command: dict[str, Any]) -> dict[str, Any]:
    """Run one command; whatever the library raises is part of the answer."""
    reference, window = (pd.read_parquet(command[side]) for side in ("reference", "window"))
    forget_peak()
    cpu, wall = processor(), time.perf_counter()
    found, error = Answer(None), None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        try:
            if command.get("fill"):
                reference, window = filled(reference, window)
            found = methods[command["method"]](reference, window, command["alpha"], command["seed"])
        except Exception as problem:
            kind = MemoryError if isinstance(problem, MemoryError) else type(problem)
            error = f"{kind.__name__}: {first_line(problem)}"
    seconds = time.perf_counter() - wall
    return {
        "drift": None if found.drift is None else bool(found.drift),
        "p_value": plain(found.p_value),
        "seconds": seconds,
        "cpu_seconds": processor() - cpu,
        "peak_mib": peak(),
        "error": error,
        "warnings": list(dict.fromkeys(first_line(one.message) for one in said)),
        "details": {name: plain(value) for name, value in found.details.items()},
    }


def plain(value: Any) -> Any:
    """A number that JSON can hold; NaN is no number."""
    if value is None or isinstance(value, bool | str):
        return value
    return None if math.isnan(value) else float(value)


def first_line(problem: BaseException | str) -> str:
    """First line of a message that says something; the address of an object does not."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    telling = [line for line in lines if " object at 0x" not in line]
    return (telling or lines or [""])[0][:200]


def filled(reference: pd.DataFrame, window: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Gaps filled with the reference's means, and most frequent levels: what users of a method without gaps do.

    Whole numbers become floating ones before, because their means are none.
    """
    whole = {name: float for name, column in reference.items() if pd.api.types.is_integer_dtype(column)}
    reference, window = reference.astype(whole), window.astype(whole)
    fill = {
        name: column.mean() if pd.api.types.is_numeric_dtype(column) else next(iter(column.mode()), "missing")
        for name, column in reference.items()
    }
    return reference.fillna(fill), window.fillna(fill)


def numbers(table: pd.DataFrame) -> Any:
    """Matrix of a table of numbers, for methods that take nothing else."""
    for name, column in table.items():
        if not pd.api.types.is_numeric_dtype(column):
            raise NumbersOnly(f"{name!r} holds {column.dtype}")
    return table.to_numpy(dtype=float, na_value=float("nan"))


def columns(reference: pd.DataFrame, window: pd.DataFrame) -> list[tuple[Any, Any]]:
    """Pairs of columns of numbers, for methods that take one at a time."""
    return list(zip(numbers(reference).T, numbers(window).T, strict=True))


def present(column: Any) -> Any:
    """Entries of a column that are there, in their order."""
    return column[column == column]  # NaN is what differs from itself


def any_column(p_values: list[float], alpha: float) -> Answer:
    """Verdict of tests of single columns, by Bonferroni: the smallest p-value times their number."""
    known = [float(p) for p in p_values if not math.isnan(p)]
    smallest = min(1.0, min(known) * len(p_values)) if known else None
    return Answer(
        smallest is not None and smallest < alpha, smallest, {"columns_without_p_value": len(p_values) - len(known)}
    )


def forget_peak() -> None:
    """Start the peak of memory anew, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def processor() -> float:
    """Seconds of the processor that this process took, and the others that it has started (frouros permutes in one)."""
    ended = sum(os.times()[2:4])
    running = sum(sum(map(int, stat(folder)[11:15])) for folder in others()) / os.sysconf("SC_CLK_TCK")
    return time.process_time() + ended + running


def others() -> list[Path]:
    """Folders of /proc of the other processes of this group, whose leader the benchmark has made this one."""
    found = [path.parent for path in Path("/proc").glob("[0-9]*/stat") if path.parent.name != str(os.getpid())]
    return [folder for folder in found if stat(folder)[2] == str(os.getpgrp())]


def stat(folder: Path) -> list[str]:
    """Fields of a process from its state on; zeros where it has just ended."""
    with contextlib.suppress(OSError):
        return (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return ["0"] * 50


def peak() -> float:
    """Largest resident memory in MiB since it was last forgotten, else since the start."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
