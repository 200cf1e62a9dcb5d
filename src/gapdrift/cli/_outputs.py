"""Outputs that would destroy what a command reads are refused before anything is done."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gapdrift.errors import InputError
from gapdrift.files import list_files
from gapdrift.files._formats import format_of

__all__ = ["check_outputs"]

OUTPUTS = ("html", "markdown", "save", "output", "jsonl", "prometheus", "history")
"""Options that name a file to write."""


def check_outputs(inputs: Sequence[str], options: Mapping[str, Any]) -> None:
    """Raise an `InputError` if a file to write is one of those to read, or if two of them are the same.

    Parameters
    ----------
    inputs : sequence of str
        Files, folders and globs that the command reads.
    options : mapping
        Options of the command.
    """
    outputs = {name: Path(options[name]) for name in OUTPUTS if options.get(name) and "://" not in options[name]}
    read = [file for place in inputs for file in list_files(place, options.get("file_format"))] if outputs else []
    folders = [Path(place) for place in inputs if Path(place).is_dir()]
    for name, output in outputs.items():
        if any(_is_same(output, file) for file in read):
            raise InputError(f"{_option(name)} would overwrite {output}, which is read. Name another file.")
        if any(folder.resolve() in output.resolve().parents for folder in folders) and format_of(output):
            raise InputError(
                f"{_option(name)} would write {output} into a folder that is read, and its ending is that of a table: "
                "the next run would read it. Name a file elsewhere."
            )
        other = next((key for key, path in outputs.items() if key < name and _is_same(output, path)), None)
        if other is not None:
            raise InputError(f"{_option(other)} and {_option(name)} both name {output}. Name two files.")


def _option(name: str) -> str:
    return f"--{name}"


def _is_same(path: Path, other: Path) -> bool:
    try:
        is_device = path.exists() and not path.is_file()
        return not is_device and (path.resolve() == other.resolve() or (path.exists() and path.samefile(other)))
    except (OSError, RuntimeError, ValueError):
        return False
