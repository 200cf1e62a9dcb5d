"""Runs a benchmark and keeps what it prints in `benchmarks/results/`, with its command, the commit and the day.

The pages on what was measured are built from these files. A file holds several runs, one after the other; a run of the
same command takes the place of the one before. Code that is not committed is named as such.

Run `python -m benchmarks.record NAME [OPTIONS]`, where `python -m benchmarks.NAME [OPTIONS]` is the benchmark;
`--to FILE`, before the name, keeps it under another name than the benchmark's.
"""

import argparse
import datetime
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Recorded", "keep", "read_runs"]

RESULTS = Path(__file__).parent / "results"
_ROOT = Path(__file__).parents[1]
_MEASURED = ("src", "benchmarks/*.py", "experiments/*.py")
_STAMP = re.compile(r"# gapdrift at (?P<commit>\w+)(?P<changed>, changed)?, (?P<day>\d{4}-\d\d-\d\d)")


@dataclass(frozen=True)
class Recorded:
    """A command, the commit and the day of its run, and what it printed.

    Parameters
    ----------
    command : str
    commit : str
        Commit of gapdrift, shortened; `, changed` follows where files that are measured differed from it.
    day : str
        As 2026-11-16.
    output : str
    """

    command: str
    commit: str
    day: str
    output: str

    def to_text(self) -> str:
        """The run as it stands in a file."""
        return f"$ {self.command}\n# gapdrift at {self.commit}, {self.day}\n{self.output.rstrip()}\n"


def read_runs(path: Path) -> list[Recorded]:
    """Runs of a file, in their order; none where there is no file."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [_read(part) for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]


def _read(part: str) -> Recorded:
    command, stamp, output = (*part.split("\n", 2), "", "")[:3]
    found = _STAMP.fullmatch(stamp)
    if found is None:
        raise ValueError(f"The run of {command!r} has no line '# gapdrift at COMMIT, DAY' below its command.")
    return Recorded(command, found["commit"] + (found["changed"] or ""), found["day"], output.strip("\n"))


def keep(path: Path, run: Recorded) -> None:
    """Write a run into a file, in the place of the one with the same command, or after all others."""
    runs = {known.command: known for known in read_runs(path)} | {run.command: run}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(known.to_text() for known in runs.values()), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--to", metavar="FILE", help="name of the file, without its folder and ending")
    parser.add_argument("name", help="benchmark, such as fit")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="options of the benchmark")
    arguments = parser.parse_args()
    commit = _commit()
    command = ["-m", f"benchmarks.{arguments.name}", *arguments.options]
    done = subprocess.run([sys.executable, *command], stdout=subprocess.PIPE, text=True, check=False, cwd=_ROOT)
    print(done.stdout, end="")
    if done.returncode not in (0, 1) or not done.stdout.strip():
        sys.exit(f"Nothing was kept: the benchmark ended with {done.returncode}.")
    run = Recorded(shlex.join(["python", *command]), commit, datetime.date.today().isoformat(), done.stdout)
    keep(RESULTS / f"{arguments.to or arguments.name}.txt", run)
    sys.exit(done.returncode)


def _commit() -> str:
    """The commit of this folder, and whether what is measured differs from it."""
    short = _git("rev-parse", "--short", "HEAD").strip()
    return short + (", changed" if _git("status", "--porcelain", "--", *_MEASURED).strip() else "")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
