"""Options that several commands share."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

from gapdrift.files import FORMATS

__all__ = ["detector_options", "output_options", "reading_options"]

Command = Callable[..., Any]


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """One decorator of several, whose options show in the given order."""
    return lambda command: reduce(lambda done, option: option(done), reversed(options), command)


reading_options = _together(
    click.option(
        "--format",
        "file_format",
        type=click.Choice(list(FORMATS)),
        help="Format of the files, whatever their ending says.",
    ),
    click.option("--separator", metavar="CHAR", help="Between the cells of CSV files; found out if not given."),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of CSV files; found out if not given."),
    click.option("--encoding", metavar="NAME", help="Of CSV files; UTF-8, UTF-16 or Latin-1 if not given."),
    click.option(
        "--missing",
        multiple=True,
        metavar="WORD",
        help="A further word or number that stands for a missing cell, such as -200. Repeatable.",
    ),
)

detector_options = _together(
    click.option("--target", metavar="COLUMN", help="Column with the label: compared as one more feature."),
    click.option("--category", "categories", multiple=True, metavar="COLUMN", help="Take as a category. Repeatable."),
    click.option(
        "--number", "numbers", multiple=True, metavar="COLUMN", help="Take as a number, in CSV files. Repeatable."
    ),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave out. Repeatable."),
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
        "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Same seed, same result."
    ),
    click.option(
        "--reference-rows",
        type=click.IntRange(20),
        default=20_000,
        show_default=True,
        help="Most rows to learn from; of a larger reference so many are drawn at random, and all are compared.",
    ),
)

output_options = _together(
    click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write a report to open or mail."),
    click.option("--markdown", type=click.Path(dir_okay=False), metavar="FILE", help="Write a report in Markdown."),
    click.option(
        "--save", type=click.Path(dir_okay=False), metavar="FILE", help="Write the result as a gapdrift file."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of sentences."),
    click.option("--fail-on-drift", is_flag=True, help="Leave with exit code 3 where there is drift."),
    click.option(
        "--fail-on-undetermined", is_flag=True, help="Leave with exit code 1 where there is too little data to say."
    ),
)
