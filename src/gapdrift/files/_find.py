"""The files behind a path, a folder or a glob."""

import glob
import os
from pathlib import Path

from gapdrift.errors import InputError
from gapdrift.files._formats import all_endings, format_of

__all__ = ["find_files"]


def find_files(place: str, file_format: str | None) -> tuple[Path, ...]:
    """Files behind a path, a folder or a glob, sorted by name.

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
    matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))  # noqa: PTH207
    if not matches:
        what = "matches no file" if glob.has_magic(place) else "does not exist"
        raise InputError(f"{place} {what}. Give a file, a folder or a glob in quotes.")
    found = ((_files_in_folder(match, place, file_format) if match.is_dir() else (match,)) for match in matches)
    return tuple(file for files in found for file in files)


def _files_in_folder(folder: Path, place: str, file_format: str | None) -> tuple[Path, ...]:
    """Files with a known ending in a folder and its subfolders; raises an error if one of these cannot be opened."""

    def refuse(error: OSError) -> None:
        raise error

    walked = (Path(root) / name for root, _, names in os.walk(folder, onerror=refuse) for name in names)
    found = [file for file in walked if not _is_hidden(file.relative_to(folder)) and (file_format or format_of(file))]
    if not found:
        raise InputError(f"The folder {place} has no file with one of the endings {all_endings()}.")
    return tuple(sorted(found))


def _is_hidden(path: Path) -> bool:
    """Whether a file in a folder holds no data, like Spark's _SUCCESS and .crc files."""
    return any(part.startswith((".", "_")) for part in path.parts)
