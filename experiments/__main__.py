"""Run experiments, and show their tables and figures: ``python -m experiments list``."""

import argparse
import os
import sys
from pathlib import Path

from experiments.catalogue import RUNS, execute
from experiments.figures import FIGURES, draw
from experiments.protocols import PROTOCOLS
from experiments.report import write_report
from experiments.running import RESULTS, write_rows
from experiments.tables import TABLES

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Do what the arguments say."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    if getattr(options, "data", None):
        os.environ["GAPDRIFT_DATA"] = str(options.data)
    options.do(options, given)


def _list(*_: object) -> None:
    for name, run in RUNS.items():
        full = ", ".join(f"{trials} {protocol}" for protocol, trials in run.trials.items())
        print(f"run    {name:16} {run.title}; trials of a full run: {full}")
    for name, maker in TABLES.items():
        print(f"table  {name:16} {(maker.__doc__ or '').strip()}")
    for name, maker in FIGURES.items():
        print(f"figure {name:16} {(maker.__doc__ or '').strip()}")


def _run(options: argparse.Namespace, given: list[str]) -> None:
    names = list(RUNS) if options.name == "all" else [options.name]
    for name in names:
        for protocol in _protocols(options.protocol):
            planned = RUNS[name].quick if options.quick else RUNS[name].trials
            trials = options.trials or planned[protocol]
            path = execute(
                name,
                protocol,
                trials=trials,
                seed=options.seed,
                jobs=options.jobs,
                folder=options.results,
                command=given,
                quick=options.quick,
                groups=options.methods,
                again=options.again,
            )
            print(path)


def _table(options: argparse.Namespace, _: object) -> None:
    for name in TABLES if options.name == "all" else [options.name]:
        for protocol in _protocols(options.protocol):
            table = TABLES[name](protocol, options.results)
            rows = [dict(zip(_columns(table.header), row, strict=True)) for row in table.rows]
            if rows:
                write_rows(options.results / protocol / f"table-{name}.csv", rows)
            print(f"\n{table.title}\n\n{table.to_markdown()}")


def _columns(header: tuple[str, ...]) -> list[str]:
    return [name or "source" for name in header]


def _figure(options: argparse.Namespace, _: object) -> None:
    for name in FIGURES if options.name == "all" else [options.name]:
        for protocol in _protocols(options.protocol):
            print(draw(name, protocol, options.results))


def _report(options: argparse.Namespace, _: object) -> None:
    print(write_report(options.results, options.output))


def _protocols(name: str) -> list[str]:
    return list(PROTOCOLS) if name == "both" else [name]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(required=True)
    shown = commands.add_parser("list", help="show the names of runs, tables and figures")
    shown.set_defaults(do=_list)
    run = commands.add_parser("run", help="run an experiment, from where it stopped")
    run.add_argument("name", choices=[*RUNS, "all"])
    run.add_argument("--trials", type=_positive, help="windows, trials or data sets; those of a full run if not given")
    run.add_argument("--quick", action="store_true", help="few trials, to see that everything works")
    run.add_argument("--methods", nargs="+", default=(), metavar="GROUP", help="groups of methods, all if not given")
    run.add_argument("--again", action="store_true", help="make results of other commits of the code anew")
    run.add_argument("--jobs", type=_positive, default=2, help="processes (default %(default)s)")
    run.add_argument("--data", type=Path, help="folder with the real data (default GAPDRIFT_DATA)")
    run.add_argument("--seed", type=int, default=0, help="default %(default)s")
    run.set_defaults(do=_run)
    table = commands.add_parser("table", help="print a table, published and reproduced side by side")
    table.add_argument("name", choices=[*TABLES, "all"])
    table.set_defaults(do=_table)
    figure = commands.add_parser("figure", help="draw a figure")
    figure.add_argument("name", choices=[*FIGURES, "all"])
    figure.set_defaults(do=_figure)
    for command in (run, table, figure):
        command.add_argument("--protocol", choices=[*PROTOCOLS, "both"], default="both")
    report = commands.add_parser("report", help="put all tables into one document")
    report.add_argument("--output", type=Path, default=Path("docs/evidence/reproduction.md"))
    report.set_defaults(do=_report)
    for command in (run, table, figure, report):
        command.add_argument("--results", type=Path, default=RESULTS, help="folder of results (default %(default)s)")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1")
    return number


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        # Whoever reads, such as head, has seen enough; what is left to write goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
