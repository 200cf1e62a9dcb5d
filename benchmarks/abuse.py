"""Inputs drawn at random, to the library and to the command line: nothing foreign, no NaN, no hang, no flood of memory.

``python -m benchmarks.abuse`` runs 1,200 cases, each determined by its seed, in a process of their own that is started
anew where it hangs. A run that was stopped goes on from its journal. ``python -m benchmarks.abuse --case 17`` runs one
case here, so that an error shows where it came from.
"""

import argparse
import contextlib
import io
import json
import math
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._abuse_inputs import CONTAINERS, as_container, draw_columns, draw_options, fill, write_file
from benchmarks._processes import HERE, environment
from benchmarks._report import Bar, finish, say

CASES = 1_200
MAX_SECONDS = 60.0
"""Seconds of the processor that a case may take: on a busy machine the clock tells about the others."""

MAX_CLOCK = 600.0
"""Seconds by the clock after which a case hangs, whatever it does."""

MAX_MEBIBYTES = 2_048.0
JOURNAL = HERE / "benchmarks" / "results" / "abuse.part"
OUTCOMES = ("result", "undetermined", "own error", "foreign error", "NaN", "hang", "memory")


class NotANumberError(Exception):
    """A number that a result must not hold."""


def run_case(seed: int) -> dict[str, Any]:
    """What one case is, and what came of it."""
    found: dict[str, Any] = {"seed": seed, "side": "library" if seed % 2 else "command line", "detail": ""}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        try:
            what, outcome = draw_case(seed, Path(folder))
            return found | {"what": what, "outcome": outcome}
        except NotANumberError as error:
            return found | {"what": "", "outcome": "NaN", "detail": str(error)}
        except BaseException as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            detail = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
            return found | {"what": "", "outcome": "foreign error", "detail": detail[:300]}


def draw_case(seed: int, folder: Path) -> tuple[str, str]:
    """Container or command of a case, and what came of it; what is foreign is raised."""
    rng = np.random.default_rng([20_26, seed])
    # What was added later has numbers of its own, so that a seed means the input that it meant before.
    more = np.random.default_rng([20_26, seed, 1])
    return (_library_case if seed % 2 else _command_case)(rng, more, folder)


def _library_case(rng: np.random.Generator, more: np.random.Generator, folder: Path) -> tuple[str, str]:
    import gapdrift as gd  # noqa: PLC0415

    kinds, n_rows = draw_columns(rng, tame=rng.random() < 0.6)
    container = str(rng.choice(list(CONTAINERS)))
    reference = as_container(container, fill(kinds, n_rows, rng))
    if rng.random() < 0.1:
        kinds = dict(list(kinds.items())[1:]) or kinds
    window = as_container(container, fill(kinds, int(rng.choice([0, 5, 30, 200])), rng))
    make = gd.MDLFWF if rng.random() < 0.15 else gd.DriftDetector
    options = draw_options(rng, list(kinds))
    if make is gd.MDLFWF:
        options.pop("min_effect", None)
    entry, mismatch = str(more.choice(["fit", "fit", "gate", "compare"])), str(more.choice(["error", "check"]))
    try:
        if entry == "compare" and make is gd.DriftDetector:
            return container, _outcome(gd.compare(reference, window, mismatch=mismatch, **options))
        if entry == "gate":
            return container, _use_gate(gd.DriftGate(make(**options)), reference, window)
        return container, _use(make(**options).fit(reference), window, rng, mismatch, folder)
    except gd.GapdriftError as error:
        _check_words(str(error))
        return container, "own error"


def _use_gate(gate: Any, reference: Any, window: Any) -> str:
    """Outcome of a step of a pipeline, which passes on what came in."""
    if gate.fit_transform(reference) is not reference or gate.transform(window) is not window:
        raise RuntimeError("The rows that came out of the gate are not those that went in.")
    return _outcome(gate.result_)


def _outcome(result: Any) -> str:
    _check_numbers(result.to_dict())
    return "undetermined" if result.drift is None else "result"


def _use(detector: Any, window: Any, rng: np.random.Generator, mismatch: str, folder: Path) -> str:
    """Outcome of one of the ways to use a fitted detector."""
    import gapdrift as gd  # noqa: PLC0415

    way = str(rng.choice(["test", "reports", "saved", "monitor"]))
    if way == "monitor":
        for one in gd.Monitor(detector, window=20).advance(window):
            _check_numbers(one.to_dict())
        return "result"
    if way == "saved":
        detector.save(folder / "detector.gapdrift")
        detector = gd.load(folder / "detector.gapdrift")
    result = detector.test(window, mismatch=mismatch)
    if way == "reports":
        result.to_html(folder / "report.html")
        result.to_markdown()
        result.summary()
        result.to_json()
        for part in ("features", "bins", "pairs"):
            result.to_frame(part)
    return _outcome(result)


def _command_case(rng: np.random.Generator, more: np.random.Generator, folder: Path) -> tuple[str, str]:
    kinds, n_rows = draw_columns(rng, tame=rng.random() < 0.7)
    columns = fill(kinds, n_rows, rng)
    is_plain = rng.random() < 0.7
    paths = [
        write_file(folder / "reference", columns, rng, is_plain=is_plain),
        write_file(folder / "window", columns, rng, is_plain=is_plain and rng.random() < 0.5),
    ]
    options = _reading_options(rng, list(kinds))
    mismatch = ["--mismatch", "check"] if more.random() < 0.5 else []
    detector = ["--detector", "mdlfwf"] if more.random() < 0.1 else []
    command = str(rng.choice(["compare", "test", "monitor"]))
    if command == "compare":
        reports = ["--html", str(folder / "r.html"), "--markdown", str(folder / "r.md")] if rng.random() < 0.3 else []
        return command, _run_command(["compare", *map(str, paths), *options, *mismatch, *detector, *reports, "--json"])
    saved = str(folder / "reference.gapdrift")
    outcome = _run_command(["fit", str(paths[0]), "-o", saved, *options, *detector])
    if outcome != "result":
        return "fit", outcome
    if command == "test":
        return command, _run_command(["test", saved, str(paths[1]), *mismatch, "--json"])
    history = ["--window", "20", "--history", str(folder / "h.db"), "--jsonl", str(folder / "w.jsonl"), "--json"]
    _run_command(["monitor", saved, str(paths[1]), *history])
    return command, _run_command(["monitor", saved, str(paths[1]), *history])


def _reading_options(rng: np.random.Generator, names: list[str]) -> list[str]:
    options: list[str] = []
    choices = {
        "--separator": [",", ";", "\\t", "ab", ""],
        "--decimal": [",", "."],
        "--encoding": ["utf-8", "latin-1", "utf-16", "utf-32", "ascii", "base64", "punycode", "idna", "nonsense"],
        "--missing": ["-200", "?", "", "nan"],
        "--number": [*names, "absent"],
        "--category": [*names, "absent"],
        "--ignore": [*names, "absent"],
        "--format": ["csv", "parquet", "feather"],
        "--reference-rows": ["20", "50"],
    }
    for option, values in choices.items():
        if rng.random() < 0.05:
            options += [option, str(rng.choice(values))]
    return [word.encode("utf-8", "replace").decode() for word in options]


def _run_command(arguments: list[str]) -> str:
    """Outcome of a command, run in this process."""
    from gapdrift.cli import main  # noqa: PLC0415

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as left:
            code = left.code
    if "This is a bug" in err.getvalue() or "Traceback" in err.getvalue():
        raise RuntimeError(err.getvalue().strip()[:300])
    _check_words(err.getvalue())
    if code == 1:
        return "own error"
    for line in out.getvalue().splitlines() if "--json" in arguments and arguments[0] == "monitor" else ():
        _check_numbers(json.loads(line))
    if "--json" in arguments and arguments[0] != "monitor":
        found = json.loads(out.getvalue())
        _check_numbers(found)
        return "undetermined" if found["drift"] is None else "result"
    return "undetermined" if code == 4 else "result"


def _check_numbers(node: Any, name: str = "") -> None:
    """Raise an error for NaN or infinity anywhere, and for a p-value that is none."""
    if isinstance(node, dict):
        for key, value in node.items():
            _check_numbers(value, str(key))
    elif isinstance(node, list | tuple):
        for value in node:
            _check_numbers(value, name)
    elif isinstance(node, float) and not math.isfinite(node):
        raise NotANumberError(f"{name} is {node}")
    elif name.endswith("p_value") and node is not None and not 0 < node <= 1:
        raise NotANumberError(f"{name} is {node}, expected a number above 0 and up to 1")


def _check_words(message: str) -> None:
    """Raise an error for a message that shows how a library writes its objects, or commands a terminal."""
    for words in ("PosixPath(", "<class '", "object at 0x", "\x1b"):
        if words in message:
            raise RuntimeError(f"The message shows {words!r}: {message[:200]!r}")


def work() -> None:
    """Run the cases whose seeds come on the standard input, and print what came of each as a line of JSON."""
    import gapdrift  # noqa: F401, PLC0415

    answers = sys.stdout
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        start = time.process_time()
        found = run_case(int(line))
        found["seconds"] = time.process_time() - start
        found["mebibytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        answers.write(json.dumps(found) + "\n")
        answers.flush()


class Worker:
    """A process that runs cases, started anew where it hangs or dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, seed: int) -> dict[str, Any]:
        """What came of a case."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{seed}\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], MAX_CLOCK)
        line = process.stdout.readline() if ready else ""
        if line:
            found: dict[str, Any] = json.loads(line)
            if found["mebibytes"] > MAX_MEBIBYTES:
                self.close()
                found |= {"outcome": "memory", "detail": f"{found['mebibytes']:.0f} MiB"}
            elif found["seconds"] > MAX_SECONDS:
                found |= {"outcome": "hang", "detail": f"{found['seconds']:.0f} s of the processor"}
            return found
        self.close()
        outcome = "foreign error" if ready else "hang"
        side = "library" if seed % 2 else "command line"
        return {"seed": seed, "side": side, "what": "", "outcome": outcome, "detail": "the process died" * bool(ready)}

    def _start(self) -> "subprocess.Popen[str]":
        """A process that has imported gapdrift, whose time is not that of a case."""
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.abuse", "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(HERE),
        )
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def run_all(n_cases: int, journal: Path) -> list[dict[str, Any]]:
    """What came of all cases: those of the journal, and the others, which are added to it."""
    done = {found["seed"]: found for found in _read_journal(journal)}
    worker = Worker()
    journal.parent.mkdir(exist_ok=True)
    with journal.open("a") as file:
        for seed in range(n_cases):
            if seed not in done:
                say(f"{seed} of {n_cases} cases")
                done[seed] = worker.run(seed)
                file.write(json.dumps(done[seed]) + "\n")
                file.flush()
    worker.close()
    return [done[seed] for seed in range(n_cases)]


def _read_journal(journal: Path) -> Iterator[dict[str, Any]]:
    for line in journal.read_text().splitlines() if journal.exists() else ():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def show(found: list[dict[str, Any]]) -> list[Bar]:
    """Print the table of outcomes and every case that failed; return the bars."""
    sides = ("library", "command line")
    print(f"{'':14}" + "".join(f"{side:>14}" for side in sides))
    counts = Counter((one["side"], one["outcome"]) for one in found)
    for outcome in OUTCOMES:
        print(f"{outcome:14}" + "".join(f"{counts[side, outcome]:>14,}" for side in sides))
    failed = OUTCOMES[3:]
    for one in found:
        if one["outcome"] in failed:
            print(f"case {one['seed']}: {one['outcome']}, {one['detail']}")
    totals = Counter(one["outcome"] for one in found)
    n_judged = totals["result"] + totals["undetermined"]
    return [
        Bar("cases", len(found), ">=", 1_000),
        Bar("cases that were judged", n_judged / max(len(found), 1), ">=", 0.25, "else little is tried"),
        *(Bar(outcome, totals[outcome], "<=", 0) for outcome in failed),
    ]


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    parser.add_argument("--case", type=int, help="run this one here, with its traceback")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work()
    elif given.case is not None:
        found = run_case(given.case)
        print(json.dumps(found, indent=2))
        if found["outcome"] == "foreign error":
            os.environ["GAPDRIFT_DEBUG"] = "1"
            with tempfile.TemporaryDirectory() as folder:
                draw_case(given.case, Path(folder))
    else:
        outcomes = run_all(given.cases, given.journal)
        given.journal.unlink()
        finish(show(outcomes))


if __name__ == "__main__":
    main()
