"""The commands of the command line with their options, from the parser itself."""

import inspect
import re

import click

from docs._tools.figures import markdown
from gapdrift.cli._app import app


def describe_all() -> str:
    """All commands, as Markdown."""
    context = click.Context(app, info_name="gapdrift")
    names = app.list_commands(context)
    return "\n".join(
        describe(name, command) for name in names if (command := app.get_command(context, name)) is not None
    )


def describe(name: str, command: click.Command) -> str:
    """One command: what it does, its arguments and its options."""
    context = click.Context(command, info_name=f"gapdrift {name}")
    text = inspect.cleandoc(command.help or "").split("\f")[0].replace("\b", "")
    usage = " ".join(command.collect_usage_pieces(context))
    records = [
        record
        for option in command.get_params(context)
        if not isinstance(option, click.Argument) and (record := option.get_help_record(context))
    ]
    cells = [[f"`{_cell(left)}`", _cell(right)] for left, right in records]
    examples = re.sub(r"^\s*Examples:\s*", "", inspect.cleandoc(command.epilog or "").replace("\b", ""))
    shown = f"\n```text\n{inspect.cleandoc(examples)}\n```\n" if examples else ""
    options = markdown(["option", "meaning"], cells)
    return f"### gapdrift {name}\n\n{text}\n\nUsage: `gapdrift {name} {usage}`\n\n{options}{shown}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
