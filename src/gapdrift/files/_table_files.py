"""Files that hold a table, read in chunks."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gapdrift._text import install_hint
from gapdrift._validation import check_choice
from gapdrift.errors import InputError, ParameterError
from gapdrift.files._cells import NONE, CellConverter, converter_like, infer_kinds
from gapdrift.files._find import as_place, find_files
from gapdrift.files._formats import FORMATS, all_endings, format_of
from gapdrift.files._reading import Reading
from gapdrift.files._sample import sample_rows
from gapdrift.tables.frame import quote
from gapdrift.tables.schema import Schema

__all__ = ["Fitted", "Progress", "TableFiles", "check_same_columns", "open_files"]

MAX_INFERENCE_ROWS = 100_000
"""Largest number of rows from which the kinds of the columns of CSV files are inferred."""

PANDAS_INDEX = re.compile(r"__index_level_\d+__")
"""Names that pandas gives to an index without a name."""

Progress = Callable[[int], None]
"""Function that is called after each chunk, with the number of bytes read."""


class Fitted(Protocol):
    """A fitted detector, of which only the schema matters here."""

    @property
    def schema_(self) -> Schema:
        """Columns that are compared, and how."""
        ...


class TableFiles:
    r"""Files of one format with the same columns, to be read in chunks as often as needed. Made by `open_files`.

    Parameters
    ----------
    paths : tuple of Path
        In the order in which they are read: sorted by name, numbers in names as numbers.
    file_format : str
        A name in `FORMATS`.
    reading : Reading
        What was said about how to read them.
    owner : object, optional
        Kept as long as the files are: copies of pipes are removed with it.

    Attributes
    ----------
    paths : tuple of Path
    file_format : str
    reading : Reading

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import gapdrift as gd
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for day in (10, 9):
    ...     _ = (folder / f"day-{day}.csv").write_text("x,y\n1,a\n,b\n")
    >>> files = gd.files.open_files(folder)
    >>> files.file_format, [path.name for path in files.paths]
    ('csv', ['day-9.csv', 'day-10.csv'])
    """

    def __init__(self, paths: tuple[Path, ...], file_format: str, reading: Reading, owner: object = None) -> None:
        self.paths, self.file_format, self.reading = paths, file_format, reading
        self._format = FORMATS[file_format]
        self._owner = owner
        self._notes: set[str] = set()
        self._converter = CellConverter()

    @property
    def is_text(self) -> bool:
        """Whether the files are text (CSV)."""
        return self._format.is_text

    @property
    def size(self) -> int:
        """Number of bytes in all files."""
        return sum(path.stat().st_size for path in self.paths)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was assumed or left out in what has been read so far."""
        return (*sorted(self._notes), *self._converter.notes())

    def tables(
        self,
        like: Fitted | None = None,
        *,
        progress: Progress | None = None,
    ) -> Iterator[Any]:
        """Tables of all rows, in order.

        Parameters
        ----------
        like : fitted DriftDetector or MDLFWF, optional
            Cells are read as in its reference. Without a detector, the kinds of the columns of CSV files are inferred
            from their own cells, which reads the files twice.
        progress : callable, optional
            Called after each chunk, with the number of bytes read.

        Yields
        ------
        table : pyarrow.Table
            In a CSV column of numbers, a cell that is not a number is missing; `notes` says how many there are.
        """
        convert = self.converter(like)
        if like is not None and self.is_text and all(_is_empty(path) for path in self.paths):
            self._notes.add(f"{self.paths[0].name} is empty: it does not even have a first line with names.")
            yield _no_rows(like.schema_)
            return
        for chunk in self.chunks(progress):
            yield convert(chunk)

    def sample(self, max_rows: int, rng: np.random.Generator, *, progress: Progress | None = None) -> tuple[Any, int]:
        """At most ``max_rows`` rows, drawn uniformly in one pass, and the number of all rows.

        Parameters
        ----------
        max_rows : int
        rng : numpy.random.Generator
        progress : callable, optional
        """
        drawn, n_all = sample_rows(self.chunks(progress=progress), max_rows, rng)
        self._check_numbers(drawn.column_names)
        self._converter = self._infer_converter(drawn)
        return self._converter(drawn), n_all

    def chunks(self, progress: Progress | None = None) -> Iterator[Any]:
        """Tables of all rows, not converted: the cells of CSV files are text."""
        names: list[str] | None = None
        for path in self.paths:
            for table in self.read(path, progress=progress):
                names = names or table.column_names
                check_same_columns(names, table.column_names, path)
                yield table.select(names)

    def read(self, path: Path, limit: int | None = None, progress: Progress | None = None) -> Iterator[Any]:
        """Tables of the rows of one file, not converted.

        Parameters
        ----------
        path : Path
        limit : int, optional
            Number of bytes to read of a CSV file that is still being written.
        progress : callable, optional
        """
        for raw, n_bytes in self._read(path, limit):
            yield self._without_row_numbers(raw, path)
            if progress is not None:
                progress(n_bytes)

    def converter(self, like: Fitted | None) -> CellConverter:
        """Converter of the cells of all files, whose notes become those of the files."""
        self._converter = self._make_converter(like)
        return self._converter

    def _make_converter(self, like: Fitted | None) -> CellConverter:
        if like is None:
            rng = np.random.default_rng(0)
            drawn = sample_rows(self.chunks(), MAX_INFERENCE_ROWS, rng)[0] if self._format.is_text else None
            return self._infer_converter(drawn)
        schema = getattr(like, "schema_", None)
        if not isinstance(schema, Schema):
            raise ParameterError(
                f"like is a {type(like).__name__}, expected a fitted DriftDetector or MDLFWF. Leave it out, and name "
                "the columns of numbers instead."
            )
        reading = self.reading.over(getattr(like, "reading_", Reading()))
        return converter_like(schema, reading.missing, reading.numbers, is_text=self._format.is_text)

    def _infer_converter(self, drawn: Any) -> CellConverter:
        missing, numbers = self.reading.missing, self.reading.numbers
        if drawn is None or not self._format.is_text:
            return CellConverter(dict.fromkeys(numbers, "number"), missing)
        bare = CellConverter(missing=(*missing, NONE))(drawn)
        return CellConverter(infer_kinds(bare, numbers), missing, is_text=True)

    def _check_numbers(self, names: Sequence[str]) -> None:
        absent = [column for column in self.reading.numbers if column not in names]
        if absent:
            raise InputError(
                f"The column(s) {quote(absent)} were named as numbers, which the files do not have. They have: "
                f"{quote(names)}."
            )

    def _read(self, path: Path, limit: int | None) -> Iterator[tuple[Any, int]]:
        import pyarrow as pa  # noqa: PLC0415

        try:
            yield from self._format.read(path, self.reading.dialect, self._notes, limit)
        except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise InputError(f"{path} cannot be read as {self.file_format}: {self._first_line(error)}") from error
        except (OSError, UnicodeError, EOFError) as error:
            raise InputError(f"{str(path)!a} cannot be read: {self._first_line(error)}") from error

    def _first_line(self, error: Exception) -> str:
        """The first line of another library's message, with the format's advice if there is any."""
        line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return " ".join([line, *(advice for words, advice in self._format.advice.items() if words in line)])

    def _without_row_numbers(self, table: Any, path: Path) -> Any:
        """Table without columns of row numbers, and without types that few functions of pyarrow accept."""
        numbers = [name for name in table.column_names if not name.strip() or PANDAS_INDEX.fullmatch(name)]
        for name in numbers:
            self._notes.add(f"{path.name} has a column {name!r} of row numbers or without a name: it was ignored.")
        return _with_common_types(table.drop_columns(numbers) if len(numbers) < table.num_columns else table)


def open_files(
    place: str | os.PathLike[str],
    *,
    file_format: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    numbers: Sequence[str] = (),
    like: Any = None,
) -> TableFiles:
    r"""Files behind a path, a folder or a glob: CSV (also compressed), Parquet or another format in `FORMATS`.

    No file is ever in memory as a whole. Needs pyarrow (extra ``cli``).

    Parameters
    ----------
    place : str or path
        A file, a folder (files with a known ending, also in subfolders), a glob such as ``day-*.parquet``, or a pipe;
        ``"-"`` is the standard input. What comes out of a pipe is recognised by its first bytes.
    file_format : str, optional
        Format of the files, whatever their endings are: a name in `gapdrift.files.FORMATS`, such as "csv".
    separator, decimal, encoding : str, optional
        Dialect of CSV files. What is not given is detected from their first lines.
    missing : sequence of str
        Further words or numbers that stand for a missing value, such as ``"-200"``.
    numbers : sequence of str
        Columns of CSV files that hold numbers, whatever their cells look like.
    like : fitted DriftDetector or MDLFWF, optional
        What is not said here is as it was said of the files that it was fitted on; its missing words and those given
        here are both used.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rows.csv").write_text("size;colour\n1,5;red\n?;blue\n")
    >>> files = open_files(folder / "rows.csv", missing=["?"])
    >>> [table.to_pydict() for table in files.tables()]
    [{'size': [1.5, None], 'colour': ['red', 'blue']}]

    A detector reads the files of a window as its reference was read:

    >>> import gapdrift as gd
    >>> _ = (folder / "january.csv").write_text("size\n" + "1.5\n2.5\nNA\n2.0\n" * 50)
    >>> _ = (folder / "february.csv").write_text("size\n" + "1.5\n2.5\nspoilt\n2.0\n" * 25)
    >>> detector = gd.DriftDetector(random_state=0).fit(open_files(folder / "january.csv"))
    >>> window = open_files(folder / "february.csv", like=detector)
    >>> detector.test(window).drift
    False
    >>> window.notes
    ("Column 'size' has 25 cell(s) that are not numbers, such as 'spoilt': they count as missing.",)
    """
    _require_pyarrow()
    if file_format is not None:
        check_choice("file_format", file_format, tuple(FORMATS))
    for name, words in (("missing", missing), ("numbers", numbers)):
        if isinstance(words, str):
            raise ParameterError(f"{name} is the text {words!r}, expected a list of texts such as [{words!r}].")
    said = Reading(file_format, separator, decimal, encoding, tuple(map(str, missing)), tuple(map(str, numbers)))
    reading = said.over(getattr(like, "reading_", Reading()))
    owner = _Owner()
    paths = find_files(as_place(place), file_format, owner)
    return TableFiles(paths, _format_of_all(paths, file_format, reading), reading, owner)


class _Owner:
    """Whatever keeps the copies of pipes until nobody needs them."""


def _format_of_all(paths: Sequence[Path], said: str | None, reading: Reading) -> str:
    """Format that was said, that the endings say, or that was said of the reference, in this order."""
    found = {said or format_of(path) or reading.file_format for path in paths}
    if len(found) > 1:
        raise InputError(
            f"There are files of the formats {', '.join(sorted(str(name) for name in found))}, expected one. Name one "
            "of them by a glob such as '*.parquet'."
        )
    name = found.pop()
    if name is None:
        raise InputError(
            f"{paths[0]} has none of the endings {all_endings()}. Name its format: one of {', '.join(FORMATS)}."
        )
    return name


def _is_empty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


def _no_rows(schema: Schema) -> Any:
    """Table without rows that has the columns of a reference."""
    import pyarrow as pa  # noqa: PLC0415

    kinds = {"number": pa.float64()}
    return pa.table({column.name: pa.array([], kinds.get(column.kind, pa.string())) for column in schema.columns})


def _require_pyarrow() -> None:
    try:
        import pyarrow as pa  # noqa: F401, PLC0415
    except ImportError as error:
        raise InputError(f"Reading files needs pyarrow: {install_hint('cli')}.") from error


def _with_common_types(table: Any) -> Any:
    """Table without views and run-end encoding, which few functions of pyarrow accept."""
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


def check_same_columns(names: list[str], found: list[str], path: Path) -> None:
    """Raise an error if a file has other columns than those before it, or one of them twice."""
    if len(set(found)) < len(found):
        twice = sorted({name for name in found if found.count(name) > 1})
        raise InputError(f"{path} has the column(s) {', '.join(twice)} more than once, expected different names.")
    if set(names) != set(found):
        lacking = ", ".join(sorted(set(names) - set(found))) or "none"
        new = ", ".join(sorted(set(found) - set(names))) or "none"
        raise InputError(
            f"{path} has other columns than the files before it (lacking: {lacking}; new: {new}), expected the same in "
            "all. Compare them separately."
        )
