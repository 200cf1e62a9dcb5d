"""Options that several commands share."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

from gapdrift.files import FORMATS

__all__ = ["batch_options", "detector_options", "mismatch_option", "output_options", "reading_options"]

Command = Callable[..., Any]


def _combine(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """One decorator made from several, whose options are listed in the given order."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


reading_options = _combine(
    click.option(
        "--format",
        "file_format",
        type=click.Choice(list(FORMATS)),
        help="Format of the files, whatever their endings are.",
    ),
    click.option("--separator", metavar="CHAR", help="Separator of CSV files. Detected if not given."),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of CSV files. Detected if not given."),
    click.option("--encoding", metavar="NAME", help="Encoding of CSV files. Detected if not given."),
    click.option(
        "--missing",
        multiple=True,
        metavar="WORD",
        help="Another word or number that stands for a missing value, such as -200. Repeatable.",
    ),
)

detector_options = _combine(
    click.option("--target", metavar="COLUMN", help="Column with the label: is P(y | x) as before?"),
    click.option("--category", "categories", multiple=True, metavar="COLUMN", help="Categorical column. Repeatable."),
    click.option(
        "--number", "numbers", multiple=True, metavar="COLUMN", help="Column of numbers, in CSV files. Repeatable."
    ),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="Column to leave out. Repeatable."),
    click.option(
        "--alpha",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.05,
        show_default=True,
        help="Rate of false alarms.",
    ),
    click.option(
        "--min-effect",
        type=click.FloatRange(0),
        default=0.0,
        show_default=True,
        help="Smallest effect size that counts as drift.",
    ),
    click.option(
        "--detector",
        "method",
        type=click.Choice(["default", "mdlfwf"]),
        default="default",
        show_default=True,
        help="DriftDetector, or MDL-FWF as published.",
    ),
    click.option(
        "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of all random numbers."
    ),
    click.option(
        "--reference-rows",
        type=click.IntRange(20),
        default=20_000,
        show_default=True,
        help="Number of rows to learn from: a random sample of a larger reference. All its rows are compared.",
    ),
)

mismatch_option = click.option(
    "--mismatch",
    type=click.Choice(["error", "check"]),
    default="error",
    show_default=True,
    help="A window that lacks a column, or has one of another type: an error, or a check that fails in the report.",
)

batch_options = _combine(
    click.option("--batch", metavar="COLUMN", help="Column of batches: windows are judged by how they usually differ."),
    click.option("--every", metavar="TIME", help="Batches are spans of time, such as 1d, 1w or 1mo."),
    click.option(
        "--time-column",
        "time",
        metavar="COLUMN",
        help="Column with the times of rows. Without batches: rows depend on those just before them.",
    ),
    click.option(
        "--season",
        multiple=True,
        type=click.Choice(["day", "week", "year"]),
        help="What is usual follows this season. Repeatable.",
    ),
    click.option("--time-zone", metavar="NAME", help="Of days, weeks and months, such as Europe/Rome."),
)

output_options = _combine(
    click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write an HTML report."),
    click.option("--markdown", type=click.Path(dir_okay=False), metavar="FILE", help="Write a Markdown report."),
    click.option(
        "--save", type=click.Path(dir_okay=False), metavar="FILE", help="Write the result as a gapdrift file."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of sentences."),
    click.option("--fail-on-drift", is_flag=True, help="Exit with code 3 if there is drift."),
    click.option("--fail-on-undetermined", is_flag=True, help="Exit with code 4 if there is too little data to tell."),
)
