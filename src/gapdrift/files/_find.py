"""The files behind a path, a folder or a glob."""

import glob
import os
import re
from pathlib import Path
from typing import Any

from gapdrift.errors import InputError
from gapdrift.files._formats import FORMATS, ROTATED, all_endings, format_of

__all__ = ["find_files", "reading_order"]


def find_files(place: str, file_format: str | None) -> tuple[Path, ...]:
    """Files behind a path, a folder or a glob, in the order of their names (see `reading_order`).

    Parameters
    ----------
    place : str
    file_format : str or None
        None takes only files with a known ending from a folder; otherwise all its files are taken.
    """
    try:
        return _find(place, file_format)
    except OSError as error:
        raise InputError(f"{place!a} cannot be read: {error.strerror or error}.") from error


def _find(place: str, file_format: str | None) -> tuple[Path, ...]:
    path = Path(place).expanduser()
    if path.is_dir():
        return _files_in_folder(path, place, file_format)
    if path.exists():
        return (path,)
    matches = [Path(match) for match in glob.glob(str(path), recursive=True)]  # noqa: PTH207
    if not matches:
        what = "matches no file" if glob.has_magic(place) else "does not exist"
        raise InputError(f"{place} {what}. Give a file, a folder or a glob in quotes.")
    found = ((_files_in_folder(match, place, file_format) if match.is_dir() else (match,)) for match in matches)
    return tuple(sorted({file for files in found for file in files}, key=reading_order))


def _files_in_folder(folder: Path, place: str, file_format: str | None) -> tuple[Path, ...]:
    """Files with a known ending in a folder and its subfolders; raises an error if one of these cannot be opened."""

    def refuse(error: OSError) -> None:
        raise error

    walked = (Path(root) / name for root, _, names in os.walk(folder, onerror=refuse) for name in names)
    found = [file for file in walked if not _is_hidden(file.relative_to(folder)) and (file_format or format_of(file))]
    if not found:
        raise InputError(f"The folder {place} has no file with one of the endings {all_endings()}.")
    return tuple(sorted(found, key=reading_order))


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
