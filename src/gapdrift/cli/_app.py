"""The commands and their arguments. Everything that computes is imported when a command runs."""

from typing import Any

import click

from gapdrift import __version__
from gapdrift._text import printable
from gapdrift.cli._options import batch_options, detector_options, mismatch_option, output_options, reading_options
from gapdrift.cli._print import say

__all__ = ["app"]

DETECTOR_OPTIONS = ("target", "categories", "ignore", "alpha", "min_effect", "method", "numbers", "reference_rows")
BATCH_OPTIONS = ("batch", "every", "time", "season", "time_zone")
READING_OPTIONS = ("file_format", "separator", "decimal", "encoding", "missing")
OUTPUT_OPTIONS = ("html", "markdown", "save", "as_json", "fail_on_drift", "fail_on_undetermined")


def _examples(*lines: str) -> str:
    """Examples for the end of a command's help, which click does not rewrap."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


class _Command(click.Command):
    """A command that refuses empty texts: a variable of a script that is unset must not turn an option off."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        for parameter in self.params:
            if ctx.params.get(parameter.name or "") == "":
                raise click.BadParameter("it is empty. Is a variable of your script unset?", ctx, parameter)
        return rest


class _Commands(click.Group):
    command_class = _Command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_examples(
        "gapdrift demo",
        "gapdrift compare january.parquet february.parquet --html report.html",
        "gapdrift fit january.csv -o january.gapdrift",
        "gapdrift test january.gapdrift february.csv --fail-on-drift",
        "gapdrift monitor january.gapdrift 'days/*.parquet' --window 5000 --history alarms.db",
    ),
)
@click.version_option(__version__, prog_name="gapdrift", message="%(prog)s %(version)s")
def app() -> None:
    """Drift detection for tables with missing values.

    Compares a window with a reference, both with missing values, and tells a change of the values from a change of
    what is missing.
    Reads CSV (also compressed), Parquet and other files (see --format of a command), folders and globs of them, in
    chunks.

    Exit codes: 0 done, 1 error, 3 drift (with --fail-on-drift), 4 undetermined (with --fail-on-undetermined, and always
    if there were no rows to compare).
    """


@app.command(
    epilog=_examples(
        "gapdrift compare monday.csv tuesday.csv",
        "gapdrift compare 'year/2024-*.parquet' year/2025-01.parquet --html report.html",
        "gapdrift compare a.csv b.csv --missing -200 --ignore id --category shop --target sold",
        "gapdrift compare a.parquet b.parquet --json --fail-on-drift | jq .p_value",
    )
)
@click.argument("reference")
@click.argument("window")
@detector_options
@batch_options
@mismatch_option
@reading_options
@output_options
def compare(reference: str, window: str, **options: Any) -> None:
    """Compare WINDOW with REFERENCE: files, folders or globs (in quotes)."""
    from gapdrift.cli._outputs import check_outputs  # noqa: PLC0415
    from gapdrift.cli._work import compare as work  # noqa: PLC0415

    check_outputs((reference, window), options)
    result = work(reference, window, _reading_options(options), _detector_settings(options), options["mismatch"])
    _finish(result, (reference, window), options)


@app.command(
    epilog=_examples(
        "gapdrift fit january.parquet -o january.gapdrift",
        "gapdrift fit january.csv -o january.gapdrift --no-rows",
        "gapdrift fit 'year/*.parquet' -o weeks.gapdrift --every 1w --time-column when --season year",
        "gapdrift fit sales.csv -o shops.gapdrift --batch shop",
    )
)
@click.argument("reference")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), metavar="FILE", help="File to write.")
@click.option("--no-rows", is_flag=True, help="Refuse to write any row of the reference.")
@detector_options
@batch_options
@reading_options
def fit(reference: str, output: str, no_rows: bool, **options: Any) -> None:
    """Learn REFERENCE and save it to one file, without pickle."""
    from gapdrift.cli._outputs import check_outputs  # noqa: PLC0415
    from gapdrift.cli._work import fit_reference  # noqa: PLC0415

    check_outputs((reference,), {**options, "output": output})
    detector, notes = fit_reference(reference, _reading_options(options), _detector_settings(options))
    detector.save(output, keep_rows=not no_rows)
    say(f"Saved {output}: {detector.evidence_.n_rows:,} rows, {detector.n_features_in_} columns.")
    for note in (*notes, *detector.warnings_):
        say(f"Note: {note}")


@app.command(
    epilog=_examples(
        "gapdrift test january.gapdrift february.parquet",
        "gapdrift test january.gapdrift 'incoming/*.csv.gz' --html report.html --fail-on-drift",
    )
)
@click.argument("reference")
@click.argument("window")
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Rate of false alarms. The default is that of the saved detector.",
)
@mismatch_option
@reading_options
@output_options
def test(reference: str, window: str, alpha: float | None, **options: Any) -> None:
    """Test WINDOW against a REFERENCE saved by 'gapdrift fit'."""
    from gapdrift.cli._outputs import check_outputs  # noqa: PLC0415
    from gapdrift.cli._work import judge_files, load_detector  # noqa: PLC0415

    check_outputs((reference, window), options)
    settings = {"alpha": alpha, "mismatch": options["mismatch"]}
    result = judge_files(load_detector(reference), window, _reading_options(options), **settings)
    _finish(result, (reference, window), options)


@app.command(
    epilog=_examples(
        "gapdrift check suite.yml",
        "gapdrift check suite.yml --window incoming/today.csv",
    )
)
@click.argument("suite", type=click.Path(exists=True, dir_okay=False))
@click.option("--window", metavar="FILES", help="Files to check instead of those that the suite names.")
def check(suite: str, window: str | None) -> None:
    """Check a window by a SUITE, a YAML file of limits: exit code 3 if a check fails, 4 if nothing can be said."""
    from gapdrift.cli import ExitCode  # noqa: PLC0415
    from gapdrift.suites import load_suite, run_suite  # noqa: PLC0415

    outcome = run_suite(load_suite(suite), window)
    failed = [check for check in outcome.checks if not check.passed]
    for found in failed:
        click.echo(printable(f"FAIL {found.name} {found.column}: {found.message}".replace(" :", ":")))
    click.echo(f"{len(outcome.checks) - len(failed)} of {len(outcome.checks)} checks passed.")
    if failed:
        click.get_current_context().exit(ExitCode.DRIFT)
    if outcome.result.drift is None:
        click.echo(printable(outcome.result.summary().partition("\n")[0]))
        click.get_current_context().exit(ExitCode.UNDETERMINED)


@app.command(
    epilog=_examples(
        "gapdrift monitor january.gapdrift stream.parquet --window 5000",
        "gapdrift monitor january.gapdrift 'days/*.csv' --window 1d --time-column when --lateness 2h",
        "gapdrift monitor january.gapdrift stream.csv --window 1000 --history alarms.db   # continues after a crash",
        "gapdrift monitor january.gapdrift stream.csv --window 1000 --prometheus drift.prom --jsonl log.jsonl",
    )
)
@click.argument("reference")
@click.argument("stream")
@click.option(
    "--window",
    required=True,
    metavar="N|TIME",
    help="Rows in a window, or a time such as 1h, 1w or 1mo (with --time-column).",
)
@click.option("--step", metavar="N|TIME", help="From one window to the next. Below --window, windows overlap.")
@click.option(
    "--false-alarm-every",
    type=click.FloatRange(2),
    default=1000,
    show_default=True,
    help="Average number of windows without drift per false alarm.",
)
@click.option("--sequential", is_flag=True, help="Let evidence accumulate over windows, and estimate when drift began.")
@click.option("--warning-every", type=click.FloatRange(1), help="The same for warnings. The default is a tenth.")
@click.option("--time-column", metavar="COLUMN", help="Column with the time of each row.")
@click.option("--time-zone", metavar="ZONE", help="Time zone of days, weeks and months, such as Europe/Rome.")
@click.option("--lateness", metavar="TIME", help="How late a row may come, such as 10min.")
@click.option(
    "--key-column", metavar="COLUMN", help="Column with a key. A row with the key of an earlier one is not counted."
)
@click.option(
    "--adapt", type=click.IntRange(1), metavar="N", help="After N drift windows in a row, learn a new reference."
)
@click.option(
    "--extend",
    type=click.IntRange(0),
    metavar="N",
    help="Add a calm window to the reference once N windows after it were calm.",
)
@click.option("--flush", is_flag=True, help="Also decide windows of time that are not over when the stream ends.")
@click.option("--history", metavar="FILE|URL", help="Database of windows, from which a stopped run continues.")
@click.option("--stream-name", default="default", show_default=True, help="Name in the history and in the records.")
@click.option("--jsonl", metavar="FILE", type=click.Path(dir_okay=False), help="Append each window as a line of JSON.")
@click.option(
    "--prometheus", metavar="FILE", type=click.Path(dir_okay=False), help="Write metrics as a Prometheus textfile."
)
@click.option("--webhook", metavar="URL", help="Post warnings and alarms as JSON.")
@click.option(
    "--webhook-timeout",
    type=click.FloatRange(0, min_open=True),
    default=10,
    show_default=True,
    help="Seconds that one attempt to post may take.",
)
@click.option(
    "--webhook-retries",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="Further attempts after a failure that may be temporary.",
)
@click.option("--json", "as_json", is_flag=True, help="Print each window as a line of JSON.")
@click.option("--all", "everything", is_flag=True, help="Print calm windows too.")
@click.option("--fail-on-drift", is_flag=True, help="Exit with code 3 if a window of this run has drift.")
@click.option(
    "--fail-on-undetermined", is_flag=True, help="Exit with code 4 if a window of this run has too little data to tell."
)
@reading_options
def monitor(reference: str, stream: str, **options: Any) -> None:
    """Watch the rows of STREAM, window by window, against a REFERENCE saved by 'gapdrift fit'.

    STREAM is a file, a folder or a glob; files are read in the order of their names.
    """
    from gapdrift.cli._outputs import check_outputs  # noqa: PLC0415
    from gapdrift.cli._watch import watch  # noqa: PLC0415

    check_outputs((reference, stream), options)
    code = watch(reference, stream, _reading_options(options), options)
    click.get_current_context().exit(code)


@app.command(epilog=_examples("gapdrift plan january.gapdrift --rows 500"))
@click.argument("reference")
@click.option("--rows", "n_rows", required=True, type=click.IntRange(10), help="Rows of a window.")
@click.option(
    "--power",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="Probability with which a change is to be found.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Rate of false alarms. The default is that of the saved detector.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(reference: str, n_rows: int, power: float, alpha: float | None, as_json: bool) -> None:
    """Show the smallest changes that a window finds against a REFERENCE saved by 'gapdrift fit'."""
    import json  # noqa: PLC0415

    from gapdrift.cli._work import plan_window  # noqa: PLC0415

    found = plan_window(reference, n_rows, power, alpha)
    say(json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else found.summary())


@app.command(epilog=_examples("gapdrift inspect january.gapdrift", "gapdrift inspect january.gapdrift --json"))
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def inspect(file: str, as_json: bool) -> None:
    """Show what a gapdrift FILE holds."""
    import json  # noqa: PLC0415

    from gapdrift.cli._show import show_file  # noqa: PLC0415
    from gapdrift.storage import describe  # noqa: PLC0415

    found = describe(file)
    say(json.dumps(found, indent=2, allow_nan=False) if as_json else show_file(found))


@app.command(
    epilog=_examples(
        "gapdrift history alarms.db",
        "gapdrift history alarms.db --html history.html",
        "gapdrift history alarms.db --stream-name sales --window 17 --html window-17.html",
        "gapdrift history alarms.db --json | jq .zone",
    )
)
@click.argument("database", metavar="FILE|URL")
@click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Page to write, in one file.")
@click.option("--json", "as_json", is_flag=True, help="Print every window as a line of JSON.")
@click.option("--stream-name", help="Show this stream only.")
@click.option("--last", type=click.IntRange(1, 5000), default=500, show_default=True, help="Number of windows to show.")
@click.option("--window", type=click.IntRange(0), metavar="N", help="Show one window; --html writes its full report.")
def history(database: str, **options: Any) -> None:
    """Show the windows that 'gapdrift monitor --history' wrote to a database."""
    from gapdrift.cli._history import show_history  # noqa: PLC0415
    from gapdrift.cli._outputs import check_outputs  # noqa: PLC0415

    check_outputs((database,), options)
    show_history(database, options)


@app.command(
    epilog=_examples(
        "gapdrift serve alarms.db                        # look at a history",
        "gapdrift serve --demo                           # a service with a stream that drifts, to try it",
        "gapdrift serve --data gapdrift.db --port 8080   # a service",
        "gapdrift serve --data postgresql+psycopg://gapdrift@localhost/gapdrift --host 0.0.0.0",
    )
)
@click.argument("history", metavar="[HISTORY]", required=False)
@click.option("--data", metavar="FILE|URL", help="Database; gapdrift-service.db unless given, none is kept of --demo.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="0 means any free one.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Name under which it is reached. Repeatable.")
@click.option("--no-auth", is_flag=True, help="Nobody has to sign in. On this machine only.")
@click.option("--private-sinks", is_flag=True, help="Let alarms be sent to private addresses.")
@click.option("--behind-proxy", is_flag=True, help="Trust X-Forwarded-For and -Proto of a proxy on this machine.")
@click.option("--demo", is_flag=True, help="Fill a new database with a stream that drifts, without sign-in.")
@click.option("--log", type=click.Choice(["json", "off"]), default="json", show_default=True, help="Log to stderr.")
def serve(history: str | None, **options: Any) -> None:
    """Show HISTORY in the browser; without it, run the service: monitors, pages and an HTTP interface."""
    from gapdrift.cli._serve import serve_history, serve_monitors  # noqa: PLC0415

    if history is None:
        serve_monitors(options)
    else:
        serve_history(history, options)


@app.command(
    epilog=_examples(
        "GAPDRIFT_TOKEN=... gapdrift push https://drift.example.org sales orders 'days/*.parquet'",
        "gapdrift push http://127.0.0.1:8321 demo stations today.csv --rows",
    )
)
@click.argument("url")
@click.argument("project")
@click.argument("monitor")
@click.argument("place", metavar="FILES")
@click.option("--rows", is_flag=True, help="Send the rows of one CSV, Parquet or JSON file as they are.")
@click.option("--fail-on-drift", is_flag=True, help="Exit with code 3 if a window that is decided now has drift.")
@reading_options
def push(place: str, fail_on_drift: bool, **options: Any) -> None:
    """Count FILES here and push their evidence to a MONITOR of a service: no row leaves this machine.

    FILES are files, a folder or a glob, or a .gapdrift file of evidence. The token of the project is taken from the
    environment variable GAPDRIFT_TOKEN.
    """
    from gapdrift.cli import ExitCode  # noqa: PLC0415
    from gapdrift.cli._push import push_files  # noqa: PLC0415

    drifted = push_files(place, _reading_options(options), options)
    click.get_current_context().exit(ExitCode.DRIFT if drifted and fail_on_drift else ExitCode.DONE)


@app.command(epilog=_examples("gapdrift demo", "gapdrift demo --windows 100"))
@click.option("--windows", type=click.IntRange(1, 1000), default=20, show_default=True, help="Windows of each kind.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--html", type=click.Path(dir_okay=False), default="gapdrift-demo.html", show_default=True, help="Report to write."
)
def demo(windows: int, seed: int, html: str) -> None:
    """Compare the usual ways to treat missing values with gapdrift, on built-in data."""
    from gapdrift.cli._show import show_demo  # noqa: PLC0415

    show_demo(windows, seed, html)


@app.command(
    epilog=_examples(
        "gapdrift completion bash > ~/.local/share/bash-completion/completions/gapdrift",
        "gapdrift completion zsh > ~/.zfunc/_gapdrift",
        "gapdrift completion fish > ~/.config/fish/completions/gapdrift.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(app, {}, "gapdrift", "_GAPDRIFT_COMPLETE").source())


def _reading_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `gapdrift.files.open_files`."""
    if options["separator"] is not None:
        options["separator"] = options["separator"].replace("\\t", "\t")
    return {name: options[name] for name in READING_OPTIONS}


def _detector_settings(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in (*DETECTOR_OPTIONS, *BATCH_OPTIONS)} | {"random_state": options["seed"]}


def _finish(result: Any, sources: tuple[str, str], options: dict[str, Any]) -> None:
    from gapdrift.cli._show import show_result  # noqa: PLC0415

    code = show_result(result, sources, {name: options[name] for name in OUTPUT_OPTIONS})
    click.get_current_context().exit(code)
