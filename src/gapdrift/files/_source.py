"""Where rows come from: files by path, folder or glob, read in chunks."""

import glob
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gapdrift.errors import InputError
from gapdrift.files._csv import CODECS, CsvFormat, read_csv

__all__ = ["CHUNK_ROWS", "CsvFormat", "Source", "open_source"]

CHUNK_ROWS = 65_536
"""Rows of a chunk, at most."""

BUFFER = 1 << 20
"""Bytes read at once of each column of a Parquet file."""

ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".parq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
}

ROW_NUMBERS = re.compile(r"__index_level_\d+__")
"""Names under which pandas writes an index that has none."""

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Source:
    r"""Files of one format, to be read in chunks as often as needed.

    Parameters
    ----------
    paths : tuple of Path
        In the order in which they are read: sorted by name.
    format : {"csv", "parquet", "feather"}
    csv : CsvFormat
        How to read CSV files.
    notes : set of str
        Sentences about what was assumed while reading.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.csv")
    >>> _ = path.write_text("size;colour\n1,5;red\n;blue\n")
    >>> [chunk.to_pydict() for chunk in open_source(str(path)).chunks()]
    [{'size': ['1.5', None], 'colour': ['red', 'blue']}]
    """

    paths: tuple[Path, ...]
    format: str
    csv: CsvFormat
    notes: set[str] = field(default_factory=set, compare=False)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.paths)

    def chunks(self, start: int = 0, progress: Progress | None = None) -> Iterator[Any]:
        """Tables of the rows from number ``start`` on, in order; cells of CSV files are text.

        Parameters
        ----------
        start : int, default 0
            Rows to skip.
        progress : callable, optional
            Called with the number of bytes read after each chunk.

        Yields
        ------
        chunk : pyarrow.Table
            With columns of one order and one set of names.
        """
        names: list[str] | None = None
        left = start
        for path in self.paths:
            for raw, n_bytes in self._read(path):
                table = self._plain(raw, path)
                names = names or table.column_names
                _check_same(names, table.column_names, path)
                skipped = min(left, len(table))
                left -= skipped
                if skipped < len(table) or not len(table):
                    yield table.slice(skipped).select(names)
                if progress is not None:
                    progress(n_bytes)
        if left:
            raise InputError(
                f"The files have {start - left:,} rows, expected at least the {start:,} that were read before. Give "
                "the same files in the same order, with new ones after them."
            )

    def _read(self, path: Path) -> Iterator[tuple[Any, int]]:
        import pyarrow as pa  # noqa: PLC0415

        reader = {"csv": self._read_csv, "parquet": _read_parquet, "feather": _read_feather}[self.format]
        try:
            yield from reader(path)
        except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise InputError(f"{path} cannot be read as {self.format}: {_first_line(error)}") from error
        except (OSError, UnicodeError, EOFError) as error:
            raise InputError(f"{path!a} cannot be read: {_first_line(error)}") from error

    def _read_csv(self, path: Path) -> Iterator[tuple[Any, int]]:
        return read_csv(path, self.csv, self.notes)

    def _plain(self, table: Any, path: Path) -> Any:
        """Table without row numbers that were written along, and without types that few functions take."""
        numbers = [name for name in table.column_names if not name.strip() or ROW_NUMBERS.fullmatch(name)]
        for name in numbers:
            self.notes.add(f"{path.name} has a column {name!r} of row numbers or without a name: it was ignored.")
        return _simple(table.drop_columns(numbers) if len(numbers) < table.num_columns else table)


def open_source(place: str, *, kind: str | None = None, csv: CsvFormat | None = None) -> Source:
    """Files behind a path, a folder or a glob.

    Parameters
    ----------
    place : str
        A file, a folder (all files of a known ending in it and below it), or a glob such as ``day-*.parquet``.
    kind : {"csv", "parquet", "feather"}, optional
        Format whatever the ending says.
    csv : CsvFormat, optional
        What is known of CSV files; the rest is found by looking at them.

    Returns
    -------
    source : Source
    """
    _require_pyarrow()
    paths = _find(place, kind)
    formats = {kind or _format_of(path) for path in paths}
    if len(formats) > 1:
        raise InputError(
            f"{place} has files of the formats {', '.join(sorted(str(name) for name in formats))}, expected one. Name "
            "one of them by a glob such as '*.parquet'."
        )
    found = formats.pop()
    if found is None:
        raise InputError(
            f"{paths[0]} has none of the endings {', '.join(ENDINGS)} (CSV also compressed: {', '.join(CODECS)}). "
            "Name the format with --format."
        )
    return Source(paths, found, csv or CsvFormat())


def _require_pyarrow() -> None:
    try:
        import pyarrow as pa  # noqa: F401, PLC0415
    except ImportError as error:
        raise InputError("Reading files needs pyarrow: pip install 'gapdrift[cli]'.") from error


def _find(place: str, kind: str | None) -> tuple[Path, ...]:
    try:
        return _find_files(place, kind)
    except OSError as error:
        raise InputError(f"{place!a} cannot be read: {error.strerror or error}.") from error


def _find_files(place: str, kind: str | None) -> tuple[Path, ...]:
    path = Path(place).expanduser()
    if path.is_dir():
        return _inside(path, place, kind)
    if path.exists():
        return (path,)
    matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))  # noqa: PTH207
    if not matches:
        what = "fits no file" if glob.has_magic(place) else "does not exist"
        raise InputError(f"{place} {what}. Give a file, a folder or a glob in quotes.")
    return tuple(file for match in matches for file in (_inside(match, place, kind) if match.is_dir() else (match,)))


def _inside(folder: Path, place: str, kind: str | None) -> tuple[Path, ...]:
    """Files of a known ending in a folder and below it; a folder that cannot be opened is an error."""

    def refuse(error: OSError) -> None:
        raise error

    walked = (Path(root) / name for root, _, names in os.walk(folder, onerror=refuse) for name in names)
    found = [file for file in walked if not _hidden(file.relative_to(folder)) and (kind or _format_of(file))]
    if not found:
        raise InputError(f"The folder {place} has no file with one of the endings {', '.join(ENDINGS)}.")
    return tuple(sorted(found))


def _hidden(path: Path) -> bool:
    """Whether a file within a folder is bookkeeping, as Spark's _SUCCESS and .crc files are."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _format_of(path: Path) -> str | None:
    name = path.name.lower()
    for ending in CODECS:
        name = name.removesuffix(ending)
    compressed = name != path.name.lower()
    found = ENDINGS.get(Path(name).suffix)
    return found if found == "csv" or not compressed else None


def _read_parquet(path: Path) -> Iterator[tuple[Any, int]]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    size = path.stat().st_size
    # Without a buffer a whole column of a row group is read at once, and mapped memory stays until the end.
    with pq.ParquetFile(path, memory_map=False, buffer_size=BUFFER, pre_buffer=False) as file:
        n_rows = max(file.metadata.num_rows, 1)
        if not file.metadata.num_rows:
            yield file.schema_arrow.empty_table(), size
        for batch in file.iter_batches(batch_size=CHUNK_ROWS):
            yield pa.Table.from_batches([batch]), size * len(batch) // n_rows


def _read_feather(path: Path) -> Iterator[tuple[Any, int]]:
    import pyarrow as pa  # noqa: PLC0415

    size = path.stat().st_size
    with pa.OSFile(str(path)) as raw, pa.ipc.open_file(raw) as file:
        if not file.num_record_batches:
            yield file.schema.empty_table(), size
        for index in range(file.num_record_batches):
            batch = file.get_batch(index)
            for start in range(0, max(len(batch), 1), CHUNK_ROWS):
                part = batch.slice(start, CHUNK_ROWS)
                share = size * len(part) // max(len(batch), 1) // file.num_record_batches
                yield pa.Table.from_batches([part]), share


def _simple(table: Any) -> Any:
    """Table without views and run-end encoding."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    for index, kind in enumerate(table.schema.types):
        if pa.types.is_run_end_encoded(kind):
            chunks = [pc.run_end_decode(chunk) for chunk in table.column(index).chunks]
            table = table.set_column(index, table.column_names[index], pa.chunked_array(chunks, kind.value_type))
        elif kind in {pa.string_view(), pa.binary_view()}:
            plain = pa.string() if kind == pa.string_view() else pa.binary()
            table = table.set_column(index, table.column_names[index], table.column(index).cast(plain))
    return table


def _check_same(names: list[str], found: list[str], path: Path) -> None:
    if len(set(found)) < len(found):
        twice = sorted({name for name in found if found.count(name) > 1})
        raise InputError(f"{path} has the column(s) {', '.join(twice)} more than once, expected different names.")
    if set(names) != set(found):
        lacking = ", ".join(sorted(set(names) - set(found))) or "none"
        new = ", ".join(sorted(set(found) - set(names))) or "none"
        raise InputError(
            f"{path} has other columns than the files before it (lacking: {lacking}; new: {new}), expected the same in "
            "all. Compare them apart."
        )


def _first_line(error: Exception) -> str:
    """The first line of another library's message, with what to do where that is known."""
    line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    advice = {
        "invalid UTF8": " Name the encoding with --encoding, such as latin-1.",
        "Expected": " Does every line have as many cells as the first? Name the separator with --separator.",
        "Not an Arrow file": " Files of the Arrow stream format and of Feather 1 have to be written anew.",
    }
    return line + next((text for words, text in advice.items() if words in line), "")
