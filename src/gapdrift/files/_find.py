"""The files behind a path, a folder or a glob."""

import glob
import os
import re
import stat
from pathlib import Path
from typing import Any

from gapdrift._writing import copy_pipe
from gapdrift.errors import InputError
from gapdrift.files._formats import FORMATS, ROTATED, all_endings, ending_of, format_of

__all__ = ["as_place", "find_files", "list_files", "reading_order"]

STANDARD_INPUT = Path("/dev/stdin")
DESCRIPTORS = (Path("/dev/fd"), Path("/proc/self/fd"))
"""Folders of open files, whose names say nothing about what they hold."""


def as_place(place: Any) -> str:
    """Text of a path, a folder or a glob; anything else, and an empty text, raises an `InputError`."""
    try:
        where = os.fsdecode(place)
    except TypeError:
        where = ""
    if not where.strip() or "\0" in where:
        raise InputError(f"The place of the files is {place!r}, expected a file, a folder or a glob.")
    return where


def find_files(place: str, file_format: str | None, owner: object) -> tuple[Path, ...]:
    """Files behind a path, a folder or a glob, in the order of their names (see `reading_order`).

    Parameters
    ----------
    place : str
        "-" means the standard input.
    file_format : str or None
        None takes only files with a known ending from a folder; otherwise all its files are taken.
    owner : object
        Copies of pipes are removed when it is.
    """
    try:
        found = (STANDARD_INPUT,) if place == "-" else _find(place, file_format)
        return tuple(_readable(path, owner) for path in found)
    except (OSError, RuntimeError) as error:
        raise InputError(f"{place!a} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def list_files(place: str, file_format: str | None = None) -> tuple[Path, ...]:
    r"""Files behind a path, a folder or a glob, as `find_files` finds them; none if they cannot be found.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("b.csv", "a.csv"):
    ...     _ = (folder / name).write_text("x\n1\n")
    >>> [path.name for path in list_files(str(folder))], list_files("absent-*.csv")
    (['a.csv', 'b.csv'], ())
    """
    try:
        return () if place == "-" else _find(as_place(place), file_format)
    except (OSError, RuntimeError, ValueError):
        return ()


def _readable(path: Path, owner: object) -> Path:
    """The path itself, or that of a copy of what comes out of a pipe."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) and path.parent not in DESCRIPTORS and path != STANDARD_INPUT:
        return path
    if stat.S_ISCHR(mode) and not path.samefile(os.devnull):
        what = "a terminal" if path == STANDARD_INPUT else "a device"
        raise InputError(f"{path} is {what}, expected a file, a folder, a glob or a pipe.")
    return copy_pipe(path, owner, ending_of)


def _find(place: str, file_format: str | None) -> tuple[Path, ...]:
    path = Path(place).expanduser()
    if path.is_dir():
        return _files_in_folder(path, place, file_format)
    if path.exists():
        return (path,)
    if path.is_symlink():
        raise InputError(f"{place} is a link to {path.readlink()}, which does not exist. Give a file that does.")
    matches = [Path(match) for match in glob.glob(str(path), recursive=True)]  # noqa: PTH207
    if not matches:
        what = "matches no file" if glob.has_magic(place) else "does not exist"
        raise InputError(f"{place} {what}. Give a file, a folder or a glob in quotes.")
    found = ((_files_in_folder(match, place, file_format) if match.is_dir() else (match,)) for match in matches)
    files = sorted({file for files in found for file in files}, key=reading_order)
    return tuple(_check_link(file) for file in files)


def _check_link(file: Path) -> Path:
    if file.is_symlink() and not file.exists():
        raise InputError(
            f"{file} is a link to {file.readlink()}, which does not exist. Remove it, or name other files."
        )
    return file


def _files_in_folder(folder: Path, place: str, file_format: str | None) -> tuple[Path, ...]:
    """Files with a known ending in a folder and its subfolders; raises an error if one of these cannot be opened."""

    def refuse(error: OSError) -> None:
        raise error

    walked = (Path(root) / name for root, _, names in os.walk(folder, onerror=refuse) for name in names)
    found = [file for file in walked if not _is_hidden(file.relative_to(folder)) and (file_format or format_of(file))]
    if not found:
        raise InputError(f"The folder {place} has no file with one of the endings {all_endings()}.")
    return tuple(_check_link(file) for file in sorted(found, key=reading_order))


def _is_hidden(path: Path) -> bool:
    """Whether a file in a folder holds no data, like Spark's _SUCCESS and .crc files."""
    return any(part.startswith((".", "_")) for part in path.parts)


def reading_order(path: Path) -> tuple[Any, ...]:
    """Key by which files are sorted: numbers in names count as numbers, and of a rotated log the oldest comes first.

    Examples
    --------
    >>> names = ["day-10.csv", "day-9.csv", "log.csv", "log.csv.1", "log.csv.2.gz"]
    >>> [path.name for path in sorted(map(Path, names), key=reading_order)]
    ['day-9.csv', 'day-10.csv', 'log.csv.2.gz', 'log.csv.1', 'log.csv']
    """
    compressions = {ending for known in FORMATS.values() for ending in known.compressions}
    bare = path.with_suffix("") if path.suffix.lower() in compressions else path
    rotated = ROTATED.search(bare.name)
    name = ROTATED.sub("", bare.name) if rotated and format_of(path) else bare.name
    age = 0
    if rotated and format_of(path):
        # A number counts back from the current file; a date counts forward, and every date is before the current file.
        age = -int(rotated[1]) if rotated[1] else int(rotated[2]) - 10**11
    return tuple(map(_by_numbers, (*path.parent.parts, name))), age, path.name


def _by_numbers(text: str) -> list[Any]:
    """Text, number, text, ..., as lists that can be compared with each other."""
    return [int(part) if index % 2 else part for index, part in enumerate(re.split(r"([0-9]+)", text))]
