"""The file format: one zip of a JSON manifest and plain arrays, sealed by a checksum.

Knows bytes, JSON and arrays only; what they mean is the business of `persistence.codec`. Nothing that comes from a file
is trusted: sizes are compared with limits before anything is unpacked or allocated, and every way in which a file can
be wrong ends in a `StorageError`. ``docs/reference/storage.md`` describes the format for readers in other languages.
"""

import hashlib
import io
import json
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite, prod
from os import PathLike
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gapdrift._version import __version__
from gapdrift._writing import as_path, reason_of
from gapdrift.errors import StorageError

__all__ = ["FORMAT_VERSION", "Manifest", "Package", "pack", "read_manifest", "reading"]

FORMAT = "gapdrift"

FORMAT_VERSION = 9
"""Raised whenever what is written changes: each version of gapdrift reads files of one version of the format."""

MANIFEST = "manifest.json"

SEAL = b"gapdrift sha256 "
"""Start of the zip comment; the SHA-256 of all bytes before it, as 64 hexadecimal digits, ends the file."""

DIGITS = 64

MAX_FILE = 200 * 2**20
"""Bytes of a file."""

MAX_MANIFEST = 8 * 2**20
"""Bytes of the manifest."""

MAX_NODES = 500_000
"""Values in the manifest: each takes up to a hundred bytes of memory, however short it is written."""

MAX_CELLS = 128 * 2**20
"""Bytes of all arrays together."""

MAX_ARRAY = 64 * 2**20
"""Bytes of one array: a square of 2,900 statistics, the products of a table with 1,250 columns."""

MAX_ARRAYS = 16_384

MAX_NAME = 120
"""Characters of the name of an array."""

MAX_DIRECTORY = 2 * 2**20
"""Bytes of the zip's list of members: Python takes about fifteen times as many to read it."""

READ_BYTES = 2**20

DTYPES = {"<f8": np.dtype("<f8"), "<i8": np.dtype("<i8"), "|b1": np.dtype("?"), "|u1": np.dtype("u1")}
"""Types of arrays: numbers that mean the same on every machine, and no Python objects."""

END = struct.Struct("<4s4H2LH")
"""End record of a zip: signature, four counts, size and place of the list of members, length of the comment."""

LOCAL = struct.Struct("<4s22x2H")
"""Start of a member of a zip: signature, and the lengths of its name and of what else is before its content."""

ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every member: the same content gives the same bytes."""

Array = NDArray[Any]


@dataclass(frozen=True)
class Manifest:
    """What a file says of itself.

    Parameters
    ----------
    kind : str
        What is stored.
    version : str
        Version of gapdrift that wrote the file.
    content : object
        Dicts, lists, strings, finite numbers, booleans and None.
    arrays : mapping of str to (dtype, shape, SHA-256) triples
    """

    kind: str
    version: str
    content: Any
    arrays: Mapping[str, tuple[str, tuple[int, ...], str]]


@dataclass(frozen=True)
class Package:
    """An opened file: its manifest, and arrays that are read when they are asked for."""

    manifest: Manifest
    members: zipfile.ZipFile
    handle: IO[bytes]

    def array(self, name: str) -> Array:
        """Array of this name, read into memory of its own."""
        dtype, shape, digest = self.manifest.arrays[name]
        header = npy_header(dtype, shape)
        # The length of a header is divided by 64, so that the cells after it lie as numpy likes them.
        content = np.empty(len(header) + prod(shape) * DTYPES[dtype].itemsize, "u1")
        _fill(self.handle, self.members.getinfo(name), content)
        if content[: len(header)].tobytes() != header:
            raise StorageError(f"The array {name!r} does not have the type and shape that the manifest says.")
        array = content[len(header) :].view(DTYPES[dtype]).reshape(shape)
        if hashlib.sha256(array.data if array.size else b"").hexdigest() != digest:
            raise StorageError(f"The array {name!r} does not have the checksum that the manifest says.")
        if array.dtype == bool and array.size and int(array.view("u1").max()) > 1:
            raise StorageError(f"The array {name!r} of booleans has bytes other than 0 and 1.")
        return array


def pack(kind: str, content: Any, arrays: Mapping[str, Array]) -> bytes:
    """File that holds some content and its arrays; the same ones always give the same bytes.

    Parameters
    ----------
    kind : str
    content : object
        Dicts with string keys, lists, strings, finite numbers, booleans and None.
    arrays : mapping of str to array
        Of float64, int64, bool or uint8. Names end in ``.npy``.

    Examples
    --------
    >>> data = pack("example", {"answer": 42}, {"numbers.npy": np.arange(3)})
    >>> with reading(io.BytesIO(data)) as package:
    ...     package.manifest.content, package.array("numbers.npy")
    ({'answer': 42}, array([0, 1, 2]))
    """
    members, described = {}, {}
    for name, array in arrays.items():
        # Asking for C order would make a number, which has no dimension, a vector.
        plain = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        if plain.dtype.str not in DTYPES:
            raise StorageError(f"The array {name!r} has the type {plain.dtype}, expected one of {', '.join(DTYPES)}.")
        cells = plain.tobytes()
        digest = hashlib.sha256(cells).hexdigest()
        described[name] = {"dtype": plain.dtype.str, "shape": list(plain.shape), "sha256": digest}
        members[name] = npy_header(plain.dtype.str, plain.shape) + cells
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "gapdrift_version": __version__,
        "kind": kind,
        "content": content,
        "arrays": described,
    }
    manifest = _write_json(head)
    _check_arrays(_read_arrays(described))
    data = seal({MANIFEST: manifest, **members})
    if len(data) > MAX_FILE:
        raise StorageError(f"The file would have {len(data):,} bytes, expected at most {MAX_FILE:,}.")
    return data


def seal(members: Mapping[str, bytes]) -> bytes:
    """Zip file of some members that ends with the checksum of everything before it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, allowZip64=False, compresslevel=6) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, ZIP_EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
        archive.comment = SEAL + b"0" * DIGITS
    body = buffer.getvalue()[:-DIGITS]
    return body + hashlib.sha256(body).hexdigest().encode()


@contextmanager
def reading(source: io.BytesIO | str | PathLike[str]) -> Iterator[Package]:
    """Context in which a file, or the bytes of one, is open and its manifest is read.

    Parameters
    ----------
    source : io.BytesIO, str or path

    Yields
    ------
    package : Package
        Its checksum is right, and it holds exactly the members that its manifest lists.
    """
    with _opened(source) as handle:
        _check_seal(handle)
        _check_directory(handle)
        with _trouble():
            archive = zipfile.ZipFile(handle)
        with archive:
            sizes = _member_sizes(archive)
            manifest = read_manifest(_read_small(archive, sizes))
            _check_members(manifest, sizes)
            yield Package(manifest, archive, handle)


def npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """First bytes of a ``.npy`` file: written and compared, never interpreted."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}"
    # The format asks for a length that 64 divides, and a line feed at the end.
    padded = text + " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded.encode("latin-1")


def read_manifest(data: bytes) -> Manifest:
    """Manifest from its JSON."""
    record = _read_json(data)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StorageError("This zip file was not written by gapdrift: its manifest does not name the format.")
    found, version = record.get("format_version"), record.get("gapdrift_version")
    if type(found) is not int or not isinstance(version, str) or len(version) > MAX_NAME:
        raise StorageError("The manifest does not say in which version of the format it is written.")
    if found != FORMAT_VERSION:
        what = f"Install gapdrift {version} or later" if found > FORMAT_VERSION else "Fit or count again, and save that"
        raise StorageError(
            f"The file has version {found} of the format and was written by gapdrift {version}; this is gapdrift "
            f"{__version__}, which reads version {FORMAT_VERSION}. {what}."
        )
    if set(record) != {"format", "format_version", "gapdrift_version", "kind", "content", "arrays"}:
        raise StorageError(f"The manifest has the entries {sorted(record)}, which are not those of version {found}.")
    if not isinstance(record["kind"], str):
        raise StorageError("The manifest does not say what is stored.")
    arrays = _read_arrays(record["arrays"])
    _check_arrays(arrays)
    return Manifest(record["kind"], version, record["content"], arrays)


def _write_json(record: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(record, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise StorageError(f"The content cannot be written as JSON: {error}.") from error
    data = text.encode("ascii")
    _check_manifest_size(data)
    return data


def _read_json(data: bytes) -> Any:
    _check_manifest_size(data)
    try:
        return json.loads(
            data.decode("ascii"), object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite
        )
    except StorageError:
        raise
    # Long digits are a ValueError, deep nesting a RecursionError.
    except (ValueError, RecursionError) as error:
        raise StorageError(f"The manifest cannot be read: {type(error).__name__}.") from error


def _check_manifest_size(data: bytes) -> None:
    nodes = sum(map(data.count, (b"[", b"{", b",")))
    if len(data) > MAX_MANIFEST or nodes > MAX_NODES:
        raise StorageError(
            f"The manifest has {len(data):,} bytes and about {nodes:,} values, expected at most {MAX_MANIFEST:,} and "
            f"{MAX_NODES:,}. Leave out columns."
        )


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise StorageError("The manifest has an entry twice.")
    return record


def _refuse_constant(text: str) -> None:
    raise StorageError(f"The manifest has the number {text}, expected finite ones.")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        _refuse_constant(text[:40])
    return number


def _read_arrays(record: Any) -> dict[str, tuple[str, tuple[int, ...], str]]:
    """Type, shape and checksum of each array that a manifest lists."""
    if not isinstance(record, dict) or len(record) > MAX_ARRAYS:
        raise StorageError(f"The manifest does not list its arrays, expected up to {MAX_ARRAYS:,} of them.")
    arrays = {}
    for name, entry in record.items():
        sound = (
            len(name) <= MAX_NAME
            and name.endswith(".npy")
            and name.isascii()
            and all(part.isidentifier() or part.isdigit() for part in name.split("."))
            and isinstance(entry, dict)
            and set(entry) == {"dtype", "shape", "sha256"}
            and isinstance(entry["dtype"], str)
            and isinstance(entry["shape"], list)
            and isinstance(entry["sha256"], str)
        )
        if not sound:
            raise StorageError(f"The manifest describes the array {name[:MAX_NAME]!r} in a way that is not known.")
        arrays[name] = (entry["dtype"], tuple(entry["shape"]), entry["sha256"])
    return arrays


def _check_arrays(arrays: Mapping[str, tuple[str, tuple[int, ...], str]]) -> None:
    total = 0
    for name, (dtype, shape, _) in arrays.items():
        plain = all(type(length) is int and 0 <= length <= MAX_ARRAY for length in shape)
        if dtype not in DTYPES or not plain or len(shape) > 4:
            raise StorageError(f"The array {name!r} has the type {dtype[:20]!r} and the shape {str(shape)[:100]}.")
        # A length of zero must not hide others that are too large for any array.
        size = prod(max(length, 1) for length in shape) * DTYPES[dtype].itemsize
        total += size
        if size > MAX_ARRAY or total > MAX_CELLS:
            raise StorageError(
                f"The arrays take more memory than is read: {name!r} has {size:,} bytes, expected at most "
                f"{MAX_ARRAY:,} for one and {MAX_CELLS:,} for all. Leave out columns."
            )


@contextmanager
def _opened(source: io.BytesIO | str | PathLike[str]) -> Iterator[IO[bytes]]:
    if isinstance(source, io.BytesIO):
        yield source
        return
    path = as_path(source)
    try:
        # A pipe would be waited for, and a device never ends.
        regular = stat.S_ISREG(path.stat().st_mode)
        handle = path.open("rb") if regular else None
    except (OSError, ValueError) as error:
        raise StorageError(f"Cannot read {str(path)!r}: {reason_of(error)}.") from error
    if handle is None:
        raise StorageError(f"Cannot read {str(path)!r}: it is {'a folder' if path.is_dir() else 'no regular file'}.")
    with handle:
        yield handle


def _check_seal(handle: IO[bytes]) -> None:
    """Check that the last bytes are the checksum of all others: no changed byte gets past this."""
    with _trouble():
        size = handle.seek(0, os.SEEK_END)
        handle.seek(0)
        start = handle.read(30 + len(MANIFEST))
    if size == 0:
        raise StorageError("The file is empty, expected one that gapdrift saved.")
    if not start.startswith(b"PK\x03\x04") or start[30:] != MANIFEST.encode():
        raise StorageError("The file was not saved by gapdrift, or its beginning is damaged.")
    if size > MAX_FILE:
        raise StorageError(f"The file has {size:,} bytes, expected at most {MAX_FILE:,}.")
    digest, left = hashlib.sha256(), size - DIGITS
    with _trouble():
        handle.seek(0)
        while left > 0 and (chunk := handle.read(min(READ_BYTES, left))):
            digest.update(chunk)
            left -= len(chunk)
        ending = handle.read(DIGITS + 1)
    if ending != digest.hexdigest().encode():
        raise StorageError("The file is damaged or incomplete: its checksum is wrong. Save it, or copy it, again.")


def _check_directory(handle: IO[bytes]) -> None:
    """Check the end record, so that reading the list of members takes little memory."""
    with _trouble():
        size = handle.seek(0, os.SEEK_END)
        start = size - DIGITS - len(SEAL) - END.size
        handle.seek(max(start - 20, 0))
        locator = handle.read(20)[:4]
        record = handle.read(END.size + len(SEAL))
    sound = len(record) == END.size + len(SEAL) and record.endswith(SEAL) and locator != b"PK\x06\x07"
    fields = END.unpack(record[: END.size]) if sound else (b"", 0, 0, 0, 0, 0, 0, 0)
    signature, disk, first, here, total, length, place, comment = fields
    if (
        signature != b"PK\x05\x06"
        or (disk, first, here) != (0, 0, total)
        or total > MAX_ARRAYS + 1
        or length > MAX_DIRECTORY
        or place + length != start
        or comment != len(SEAL) + DIGITS
    ):
        raise StorageError("The zip file does not end as those of gapdrift do.")


def _member_sizes(archive: zipfile.ZipFile) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for member in archive.infolist():
        plain = member.compress_type in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} and not member.flag_bits & 1
        if not plain or member.filename in sizes:
            raise StorageError(f"The member {member.filename[:MAX_NAME]!r} is encrypted, there twice, or unknown.")
        sizes[member.filename] = member.file_size
    return sizes


def _read_small(archive: zipfile.ZipFile, sizes: Mapping[str, int]) -> bytes:
    size = sizes.get(MANIFEST, 0)
    if not 0 < size <= MAX_MANIFEST:
        raise StorageError(f"The manifest has {size:,} bytes, expected 1 to {MAX_MANIFEST:,}.")
    with _trouble(), archive.open(MANIFEST) as member:
        data = member.read(size + 1)
    if len(data) != size:
        raise StorageError("The manifest is shorter than its zip file says.")
    return data


def _check_members(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    expected = {MANIFEST: sizes[MANIFEST]}
    for name, (dtype, shape, _) in manifest.arrays.items():
        expected[name] = len(npy_header(dtype, shape)) + prod(shape) * DTYPES[dtype].itemsize
    if expected != dict(sizes):
        wrong = sorted(set(expected.items()) ^ set(sizes.items()))[0][0]
        raise StorageError(f"The member {wrong[:MAX_NAME]!r} is not what the manifest says.")


def _fill(handle: IO[bytes], member: zipfile.ZipInfo, content: Array) -> None:
    """Read a member into an array of as many bytes as it must have, a chunk at a time.

    `zipfile` takes longer to open a member than these few steps take to read a small one, and evidence, which a service
    reads hundreds of times a second, has many.
    """
    done = checksum = 0
    with _trouble():
        for chunk in _chunks(handle, member):
            if done + len(chunk) > len(content):
                raise StorageError("An array is longer than the manifest says.")
            content[done : done + len(chunk)] = np.frombuffer(chunk, "u1")
            done, checksum = done + len(chunk), zlib.crc32(chunk, checksum)
    if done < len(content):
        raise StorageError("An array is shorter than the manifest says.")
    if checksum != member.CRC:
        raise StorageError("An array does not have the checksum that the zip file says.")


def _chunks(handle: IO[bytes], member: zipfile.ZipInfo) -> Iterator[bytes]:
    """Bytes of a member, a few at a time however much they were compressed."""
    handle.seek(member.header_offset)
    signature, name_length, extra_length = LOCAL.unpack(handle.read(LOCAL.size))
    if signature != b"PK\x03\x04" or handle.read(name_length) != member.orig_filename.encode("ascii"):
        raise StorageError(f"The member {member.filename[:MAX_NAME]!r} is not where the zip file says.")
    handle.seek(extra_length, os.SEEK_CUR)
    unpack = zlib.decompressobj(-zlib.MAX_WBITS) if member.compress_type == zipfile.ZIP_DEFLATED else None
    left = member.compress_size
    while left > 0 and (packed := handle.read(min(READ_BYTES, left))):
        left -= len(packed)
        while packed:
            chunk = packed if unpack is None else unpack.decompress(packed, READ_BYTES)
            packed = b"" if unpack is None else unpack.unconsumed_tail
            if not chunk:
                break
            yield chunk
    if unpack is not None and not unpack.eof:
        # What a few last bits become may not have fitted into the chunk before.
        yield unpack.flush()


@contextmanager
def _trouble() -> Iterator[None]:
    """Turn whatever reading a zip file can raise into an error of ours."""
    try:
        yield
    except StorageError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ArithmeticError,
        LookupError,
        ValueError,
        OSError,
    ) as error:
        raise StorageError(f"The file cannot be read: {reason_of(error)}.") from error
