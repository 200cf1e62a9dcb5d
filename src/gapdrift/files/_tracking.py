"""Rows of files that are new since the last run. Files are recognised by their content, whatever their names are."""

import codecs
import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapdrift.errors import InputError
from gapdrift.files._csv import COMPRESSIONS, has_all_cells
from gapdrift.files._digests import Digests, row_digests
from gapdrift.files._table_files import Fitted, Progress, TableFiles, check_same_columns

__all__ = ["FileChanges", "FileTracker", "KnownFile"]

SETTLED_SECONDS = 3600.0
"""A file that was not written to for so long is taken to be finished, even if its last line has no line break."""

END_BYTES = 64 * 1024
"""Bytes at the head and at the tail of a file that are compared to see whether it has changed."""

BLOCK_BYTES = 1 << 20

MIN_MOVED_BYTES = 1024
"""With less content than this, only a file with the same inode is taken for a known one under another name."""

MIN_DISTINCT_SHARE = 0.5
"""With a smaller share of different rows, the rows of a rewritten file cannot be told from those counted before."""

MAX_INODE = 2**63 - 1
"""Databases have no larger integers."""

MAX_NAMED = 5
"""Most files that one note names."""


@dataclass(frozen=True)
class KnownFile:
    """A file whose rows were counted, entirely or in part.

    Parameters
    ----------
    number : int
        Number in its stream.
    path : str
        Absolute path.
    size, modified, inode : int
        Size in bytes, time of the last change in nanoseconds, and inode number, as they were when it was last read.
    fingerprint : str
        Digest of its first and last bytes.
    n_bytes : int
    content : str
        Length and digest of its (uncompressed) content.
    n_rows : int
        Number of rows that were counted or recognised.
    is_complete : bool
        Whether no row was left for a later run.
    is_present : bool
        Whether the last run found it.
    replaces : int, optional
        Number of the file that had this path before, until all rows of this one have been compared with it.

    Examples
    --------
    >>> day = KnownFile(0, "/days/1.csv", 90, 0, 7, "5f", 90, "90 5f", n_rows=20, is_complete=True, is_present=True)
    >>> day.n_rows
    20
    """

    number: int
    path: str
    size: int
    modified: int
    inode: int
    fingerprint: str
    n_bytes: int
    content: str
    n_rows: int = 0
    is_complete: bool = False
    is_present: bool = True
    replaces: int | None = None


@dataclass
class FileChanges:
    """What has to be stored about files since the last changes were stored.

    Parameters
    ----------
    files : dict of int to KnownFile
        Files that are new or have changed, by number.
    dropped : set of int
        Numbers of files to forget.
    without_digests : set of int
        Numbers of files whose digests of rows are no longer needed.
    digests : list of tuple of int, int and array
        Number of a file, position of a row in it, and digests of the rows from there on.

    Examples
    --------
    >>> bool(FileChanges()), bool(FileChanges(dropped={3}))
    (False, True)
    """

    files: dict[int, KnownFile] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    without_digests: set[int] = field(default_factory=set)
    digests: list[tuple[int, int, Digests]] = field(default_factory=list)

    @property
    def without_rows(self) -> set[int]:
        """Numbers of files whose digests of rows are to be removed."""
        return self.without_digests | self.dropped

    def __bool__(self) -> bool:
        """Return whether there is anything to store."""
        return bool(self.files or self.dropped or self.without_digests or self.digests)


@dataclass(frozen=True)
class _Content:
    """What a file holds at the moment: where it is, how long it is, and digests of its beginnings."""

    path: Path
    size: int
    modified: int
    inode: int
    fingerprint: str
    n_bytes: int
    n_line_bytes: int
    last_line: bytes
    digest: str
    beginnings: Mapping[int, str]

    @property
    def key(self) -> str:
        return _key(self.path)

    @property
    def is_settled(self) -> bool:
        return time.time() - self.modified / 1e9 > SETTLED_SECONDS

    def begins_with(self, known: KnownFile) -> bool:
        return self.beginnings.get(known.n_bytes) == known.content

    def continues(self, known: KnownFile) -> bool:
        """Whether this is a known file under another name."""
        enough = known.n_bytes >= MIN_MOVED_BYTES or known.inode == self.inode
        return known.n_rows > 0 and enough and self.begins_with(known)


class FileTracker:
    r"""Reader of the rows of files that are not in a history yet.

    Parameters
    ----------
    files : TableFiles
    known : sequence of KnownFile
        Files of the history.
    digests_of : callable
        Returns the digests of the rows of a known file, given its number.

    Attributes
    ----------
    notes : list of str
        Sentences about files that were moved, rewritten, vanished, or are not complete yet.
    empty_files : list of str
        New files without a row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import gapdrift as gd
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "day.csv"
    >>> _ = path.write_text("x\n" + "1\n2\n" * 10)
    >>> detector = gd.DriftDetector(random_state=0).fit(path)
    >>> tracker = gd.files.FileTracker(gd.files.open_files(path), [], lambda number: ...)
    >>> sum(len(table) for table in tracker.tables(detector))
    20
    >>> [file.n_rows for file in tracker.changes().files.values()]
    [20]
    """

    def __init__(self, files: TableFiles, known: Sequence[KnownFile], digests_of: Callable[[int], Digests]) -> None:
        self._files, self._digests_of = files, digests_of
        self._known = {one.number: one for one in known}
        self._next_number = max(self._known, default=-1) + 1
        self._changes = FileChanges()
        self.notes: list[str] = []
        self.empty_files: list[str] = []

    def tables(self, like: Fitted, progress: Progress | None = None) -> Iterator[Any]:
        """Tables of the new rows, in the order of the files; what they change is in `changes` when they come."""
        convert = self._files.converter(like)
        names: list[str] | None = None
        for content, known in self._plan():
            for table in self._new_rows(content, known, progress):
                names = names or table.column_names
                check_same_columns(names, table.column_names, content.path)
                yield convert(table.select(names))

    def changes(self) -> FileChanges:
        """What has to be stored since the last call."""
        changes, self._changes = self._changes, FileChanges()
        return changes

    def _plan(self) -> Iterator[tuple[_Content, KnownFile]]:
        """Files with rows to read, in their order, each with what is known of it by now."""
        paths = [Path(os.path.abspath(path)) for path in self._files.paths]  # noqa: PTH100
        if self._known:
            yield from self._match(paths)
            return
        # With nothing to be recognised, each file is looked at when its turn comes.
        for path in paths:
            content = self._look_at(path)
            if content is not None:
                self._note_copy(content)
                yield content, self._begun(content, None)

    def _match(self, paths: list[Path]) -> list[tuple[_Content, KnownFile]]:
        replaced = {one.replaces for one in self._known.values()}
        by_path = {one.path: one for one in self._known.values() if one.number not in replaced}
        contents = [
            content
            for path in paths
            if (known := by_path.get(_key(path))) is None or not self._is_unchanged(path, known)
            if (content := self._look_at(path)) is not None
        ]
        there = {_key(path) for path in paths}
        grown = self._match_by_path(contents, by_path)
        # A known file that is still where it was cannot have moved.
        still = there - {content.key for content in contents} | set(grown)
        moved = self._match_by_content(contents, [one for one in by_path.values() if one.path not in still], grown)
        matched = grown | moved
        taken = {one.number for one in matched.values()}
        self._note_vanished(
            [one for one in by_path.values() if one.path not in there and one.is_present and one.number not in taken]
        )
        return [(content, self._place_of(content, matched, by_path, taken)) for content in contents]

    def _match_by_path(self, contents: list[_Content], by_path: dict[str, KnownFile]) -> dict[str, KnownFile]:
        """Known files that are where they were and begin as they did."""
        known = {content.key: by_path.get(content.key) for content in contents}
        starts = {content.key: content.begins_with for content in contents}
        return {path: one for path, one in known.items() if one is not None and starts[path](one)}

    def _match_by_content(
        self, contents: list[_Content], free: list[KnownFile], grown: dict[str, KnownFile]
    ) -> dict[str, KnownFile]:
        """Known files that have another name now."""
        moved = {}
        for content in contents:
            known = next((one for one in free if content.continues(one)), None)
            if known is not None and content.key not in grown:
                free.remove(known)
                moved[content.key] = known
                self.notes.append(
                    f"{Path(known.path).name} is now {content.path.name}: its rows are not counted again."
                )
        return moved

    def _place_of(
        self, content: _Content, matched: dict[str, KnownFile], by_path: dict[str, KnownFile], taken: set[int]
    ) -> KnownFile:
        """What is known of a file by now: continued, in the place of another, or new."""
        path = content.key
        if path in matched:
            return self._updated(matched[path], content)
        before = by_path.get(path)
        if before is not None and before.number not in taken:
            return self._begun(content, before)
        self._note_copy(content)
        return self._begun(content, None)

    def _is_unchanged(self, path: Path, known: KnownFile) -> bool:
        """Whether a file is as it was when it was last read, and has no row that was left for later."""
        found = path.stat()
        same = (found.st_size, found.st_mtime_ns) == (known.size, known.modified)
        return same and known.is_complete and known.is_present and _fingerprint(path) == known.fingerprint

    def _look_at(self, path: Path) -> _Content | None:
        """Content of a file; None for a compressed file that is still being written."""
        offsets = sorted({one.n_bytes for one in self._known.values()})
        try:
            return _read_content(path, offsets, self._files.reading.encoding, is_text=self._files.is_text)
        except OSError as error:
            if time.time() - path.stat().st_mtime > SETTLED_SECONDS:
                raise InputError(f"{path} cannot be read: {error}.") from error
            self._note_unfinished(path, str(error).splitlines()[0])
            return None

    def _begun(self, content: _Content, replaced: KnownFile | None) -> KnownFile:
        number, self._next_number = self._next_number, self._next_number + 1
        known = KnownFile(
            number,
            content.key,
            *(content.size, content.modified, content.inode, content.fingerprint, content.n_bytes, content.digest),
            replaces=None if replaced is None else replaced.number,
        )
        return self._remember(known)

    def _updated(self, known: KnownFile, content: _Content) -> KnownFile:
        return self._remember(
            replace(
                known,
                path=content.key,
                size=content.size,
                modified=content.modified,
                inode=content.inode,
                fingerprint=content.fingerprint,
                n_bytes=content.n_bytes,
                content=content.digest,
                is_complete=False,
                is_present=True,
            )
        )

    def _remember(self, known: KnownFile) -> KnownFile:
        self._known[known.number] = self._changes.files[known.number] = known
        return known

    def _new_rows(self, content: _Content, known: KnownFile, progress: Progress | None) -> Iterator[Any]:
        """Tables of the rows that were not counted before; remembers them before each table is handed out."""
        limit, before = self._n_readable(content), self._counted_before(known)
        n_seen = n_new = 0
        try:
            for table in self._files.read(content.path, limit, progress) if limit else ():
                rows = table.slice(min(max(known.n_rows - n_seen, 0), len(table)))
                n_seen += len(table)
                if len(rows):
                    digests = row_digests(rows)
                    self._changes.digests.append((known.number, known.n_rows, digests))
                    known = self._remember(replace(known, n_rows=known.n_rows + len(rows)))
                    places = _unmatched(digests, before)
                    n_new += len(places)
                    if len(places):
                        yield rows.take(places)
        except InputError as error:
            # A Parquet or Feather file can be read only when its end has been written.
            if self._files.is_text or content.is_settled:
                raise
            self._note_unfinished(content.path, str(error))
            return
        self._finish(known, content, limit, n_new)

    def _n_readable(self, content: _Content) -> int:
        """Number of bytes that end with a whole line; in a format without lines, all."""
        if not content.last_line.strip(b"\x00\r\n "):
            return content.n_bytes
        if content.is_settled and has_all_cells(content.path, self._files.reading.dialect, content.last_line):
            return content.n_bytes
        self.notes.append(
            f"The last line of {content.path.name} has no line break: it will be counted when it is complete."
        )
        return content.n_line_bytes

    def _counted_before(self, known: KnownFile) -> "Counter[int] | None":
        """Digests of rows that the file had before it was rewritten, less those found in it so far.

        None for a file that is not rewritten, or whose rows cannot be told from each other.
        """
        before: Counter[int] = Counter()
        number = known.replaces
        while number is not None:
            digests = self._digests_of(number)
            before |= Counter(digests.tolist())
            number = self._known[number].replaces
        if known.replaces is None or len(before) < MIN_DISTINCT_SHARE * before.total():
            return None
        return before - Counter(self._digests_of(known.number).tolist() if known.n_rows else [])

    def _finish(self, known: KnownFile, content: _Content, limit: int, n_new: int) -> None:
        """Remember that all rows of a file that can be read were, and forget what it replaced."""
        name, is_complete = content.path.name, limit == content.n_bytes
        if known.replaces is not None:
            self.notes.append(
                f"{name} was rewritten after it had been counted: {n_new:,} of its {known.n_rows:,} rows are new and "
                "were counted. Rows that are no longer in it stay counted."
            )
        elif not known.n_rows and is_complete:
            self.empty_files.append(name)
            self.notes.append(f"{name} has no rows.")
        number = known.replaces
        while number is not None:
            self._changes.dropped.add(number)
            self._changes.files.pop(number, None)
            number = self._known.pop(number).replaces
        self._remember(replace(known, is_complete=is_complete, replaces=None))

    def _note_copy(self, content: _Content) -> None:
        same = [one for one in self._known.values() if one.n_rows and one.content == content.digest and one.is_present]
        if same:
            self.notes.append(
                f"{content.path.name} has the same content as {Path(same[0].path).name}, which is still there: its "
                "rows were counted too."
            )

    def _note_vanished(self, gone: list[KnownFile]) -> None:
        for known in gone:
            self._changes.without_digests.add(known.number)
            self._remember(replace(known, is_present=False))
        if gone:
            names = [Path(known.path).name for known in gone]
            more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
            self.notes.append(f"Vanished since they were counted: {', '.join(names[:MAX_NAMED])}{more}.")

    def _note_unfinished(self, path: Path, reason: str) -> None:
        self.notes.append(f"{path.name} is still being written and waits for the next run ({reason.rstrip('.')}).")


def _unmatched(digests: Digests, before: "Counter[int] | None") -> Any:
    """Positions of the rows that are not among those counted before, each of which matches one row."""
    if before is None:
        return np.arange(len(digests))
    places = []
    for place, digest in enumerate(digests.tolist()):
        if before[digest] > 0:
            before[digest] -= 1
        else:
            places.append(place)
    return np.array(places, dtype=np.intp)


def _key(path: Path) -> str:
    """Path as text that a database accepts, even if the name is not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _fingerprint(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(END_BYTES)
        file.seek(max(path.stat().st_size - END_BYTES, 0))
        return hashlib.sha256(head + file.read(END_BYTES)).hexdigest()


def _read_content(path: Path, offsets: Sequence[int], encoding: str | None, *, is_text: bool) -> _Content:
    """Content of a file, read once; the digests of its beginnings are taken at some offsets."""
    import pyarrow as pa  # noqa: PLC0415

    found = path.stat()
    codec = COMPRESSIONS.get(path.suffix.lower()) if is_text else None
    digest, left = hashlib.sha256(), [offset for offset in offsets if offset]
    beginnings = {0: digest.hexdigest()}
    n_bytes = n_line_bytes = 0
    line_break, last_line = b"", b""
    with pa.input_stream(str(path), compression=codec) as stream:
        while block := bytes(stream.read(BLOCK_BYTES)):
            line_break = line_break or _line_break(block, encoding)
            start = 0
            while left and left[0] <= n_bytes + len(block):
                stop = left.pop(0) - n_bytes
                digest.update(block[start:stop])
                beginnings[n_bytes + stop], start = digest.hexdigest(), stop
            digest.update(block[start:])
            end = _after_last(block, line_break) if is_text else 0
            last_line = block[end:] if end else last_line + block
            n_line_bytes = n_bytes + end if end else n_line_bytes
            n_bytes += len(block)
    return _Content(
        path,
        *(found.st_size, found.st_mtime_ns, found.st_ino & MAX_INODE, _fingerprint(path), n_bytes, n_line_bytes),
        last_line if is_text else b"",
        digest.hexdigest(),
        beginnings,
    )


def _line_break(block: bytes, encoding: str | None) -> bytes:
    """Bytes of a line break, in the encoding that was said or that the first bytes of a file say."""
    marks = {
        codecs.BOM_UTF32_LE: "utf-32-le",
        codecs.BOM_UTF32_BE: "utf-32-be",
        codecs.BOM_UTF16_LE: "utf-16-le",
        codecs.BOM_UTF16_BE: "utf-16-be",
    }
    marked = next((name for mark, name in marks.items() if block.startswith(mark)), None)
    given = codecs.lookup(encoding).name if encoding else "utf-8"
    used = marked or (given if given in marks.values() else "utf-8")
    return "\r".encode(used) if b"\r" in block and b"\n" not in block else "\n".encode(used)


def _after_last(block: bytes, line_break: bytes) -> int:
    """Position after the last line break in a block; 0 without one."""
    place = block.rfind(line_break)
    while place > 0 and place % len(line_break):
        place = block.rfind(line_break, 0, place + len(line_break) - 1)
    return place + len(line_break) if place >= 0 else 0
