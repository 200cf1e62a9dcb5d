"""gapdrift beside the other libraries that detect drift, on the same Parquet files, each in its own environment.

Three parts: *speed* (seconds and peak memory by size, four columns, 20 % missing), *verdicts* (alarms without drift,
with drift of values, of gaps and of both, at 0, 5, 20 and 50 % missing, 1,000 rows) and *conformance* (twelve awkward
inputs: right, wrong, error).

Bars: at 10,000 rows and above every multivariate method that takes gaps needs at least 10 times our processor time, all
with one thread, which is what the clock shows where nothing else runs; our false
alarms hold, as do those of `values` where only gaps move; and where such a method's false alarms hold too, ours finds
more drift. A rate is held against its bar only where chance would put it there less often than 1 time in 1,000.

Every answer is written to a journal, and a run that was stopped goes on with what it lacks, as does one that is asked
for more trials or seconds; the tables show whatever the journal holds. `--fresh` starts anew. The environments are
made in `.bench/` when they are first needed.
"""

import argparse
import sys
from pathlib import Path

from benchmarks._report import finish, say
from benchmarks._trials import write_csv
from benchmarks.peers import bars, tables
from benchmarks.peers.environments import PEERS
from benchmarks.peers.measuring import Run
from benchmarks.peers.methods import METHODS, OURS, Method
from experiments.journal import Journal

_ROOT = Path(__file__).parents[2]
_RESULTS = _ROOT / "benchmarks" / "results"
_PAGE = _ROOT / "docs" / "evidence" / "peers.md"
PARTS = ("conformance", "speed", "verdicts")


def main() -> None:
    arguments = parse()
    journal_path = arguments.journal or arguments.csv / "peers-journal.part"
    if arguments.fresh:
        journal_path.unlink(missing_ok=True)
    journal = Journal(journal_path)
    methods = chosen(arguments.only)
    run = Run(journal, arguments.timeout, arguments.memory, say, arguments.seconds)
    parts = PARTS if arguments.part == "all" else (arguments.part,)
    if "conformance" in parts:
        run.conformance(methods)
    if "speed" in parts:
        run.speed(methods, arguments.sizes)
    if "verdicts" in parts:
        run.verdicts(methods, arguments.trials)
    report(journal, arguments)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help=f"peers, by commas: {', '.join(PEERS)}; gapdrift is always there")
    parser.add_argument(
        "--sizes", type=numbers, default=[1_000, 10_000, 100_000], help="rows (default 1000,10000,100000)"
    )
    parser.add_argument("--trials", type=int, default=40, help="trials of each situation (default %(default)s)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=20.0,
        help="processor seconds of a method for the trials of one situation (default %(default)s)",
    )
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--csv", type=Path, default=_RESULTS, help="folder of the CSV files")
    parser.add_argument("--journal", type=Path, help="file of all answers (default peers-journal.part in that folder)")
    parser.add_argument("--page", type=Path, default=_PAGE, help="page whose tables are made anew")
    parser.add_argument("--timeout", type=float, default=60.0, help="processor seconds for one command (default 60)")
    parser.add_argument(
        "--memory", type=float, default=8.0, help="GiB that a process may allocate (default %(default)s)"
    )
    parser.add_argument("--fresh", action="store_true", help="forget the journal")
    return parser.parse_args()


def numbers(text: str) -> list[int]:
    return sorted(int(part) for part in text.split(","))


def chosen(only: str) -> list[Method]:
    """Methods of the peers that were asked for, and ours."""
    names = [name for name in only.split(",") if name]
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        sys.exit(f"--only: no peer is called {', '.join(unknown)}; there are {', '.join(PEERS)}")
    return [method for method in METHODS if not names or method.peer in {OURS, *names}]


def report(journal: Journal, arguments: argparse.Namespace) -> None:
    """Print and write the tables; exit with 1 where a bar is missed."""
    speed = tables.speed_table(journal, arguments.sizes)
    verdicts = tables.verdict_table(journal, arguments.trials)
    conformance = tables.conformance_table(journal)
    errors = tables.error_table(journal)
    for table in (speed, verdicts, conformance, errors):
        write_csv(arguments.csv / f"peers-{table.name}.csv", table.header, table.rows)
    shown = [tables.method_table(), speed, *tables.verdict_tables(journal, arguments.trials), conformance, errors]
    tables.put_between_marks(arguments.page, {table.name: tables.markdown(table) for table in shown})
    for table in shown[1:]:
        print(f"{table.name}\n\n{tables.markdown(table)}\n")
    found = bars.all_bars(journal, arguments.sizes, arguments.trials)
    if not found:
        sys.exit("nothing was measured that a bar could be held against")
    finish(found)


if __name__ == "__main__":
    main()
