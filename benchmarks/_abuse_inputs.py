"""Inputs that nobody should give, and some that are fine: tables of every library, and files in every state."""

import bz2
import datetime
import decimal
import gzip
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["CONTAINERS", "draw_columns", "draw_options", "write_file"]

Rng = np.random.Generator
Columns = dict[str, list[Any]]

NAMES = (
    *(
        "a",
        "b",
        "size",
        "x y",
        "",
        " ",
        "1",
        "näme",
        "日本",
        "a,b",
        'q"q',
        "line\nbreak",
        "\x1b[31mred",
        "a.b",
        "__index_level_0__",
    ),
    *(
        "Unnamed: 0",
        "None",
        "nan",
        "=1+1",
        "very long " * 30,
        "\u202eback",
        "emoji 🙂",
        "tab\t",
        "%s {0}",
        "<b>",
        "\ud800",
    ),
)


def _numbers(rng: Rng, n: int) -> list[Any]:
    return list(rng.normal(size=n))


def _integers(rng: Rng, n: int) -> list[Any]:
    return [int(value) for value in rng.integers(-5, 6, n)]


def _keys(_rng: Rng, n: int) -> list[Any]:
    return list(range(n))


def _extreme(rng: Rng, n: int) -> list[Any]:
    return [float(rng.choice([0.0, -0.0, 1e308, -1e308, 5e-324, 1e100, 1.0])) for _ in range(n)]


def _infinite(rng: Rng, n: int) -> list[Any]:
    return [float(rng.choice([np.inf, -np.inf, np.nan, 1.0, 2.0])) for _ in range(n)]


def _large_integers(rng: Rng, n: int) -> list[Any]:
    return [int(rng.integers(0, 10)) * 2**62 for _ in range(n)]


def _texts(rng: Rng, n: int) -> list[Any]:
    return [str(rng.choice(["red", "green", "blue", "", " ", "NA", "None"])) for _ in range(n)]


def _many_texts(rng: Rng, n: int) -> list[Any]:
    return [f"word {rng.integers(0, max(n, 1))}" for _ in range(n)]


def _odd_texts(rng: Rng, n: int) -> list[Any]:
    return [
        str(rng.choice(["\x00", "\x1b[0m", "🙂", "é", "e\u0301", "\u202e", "a\nb", '"', ",;\t|", "1e5", "0x1F"]))
        for _ in range(n)
    ]


def _booleans(rng: Rng, n: int) -> list[Any]:
    return [bool(value) for value in rng.integers(0, 2, n)]


def _dates(rng: Rng, n: int) -> list[Any]:
    return [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=int(hours)) for hours in rng.integers(0, 999, n)]


def _date_texts(rng: Rng, n: int) -> list[Any]:
    return [str(rng.choice(["2024-01-31", "31.12.2024", "12/31/2024", "10-12", "08/10", "soon"])) for _ in range(n)]


def _decimals(rng: Rng, n: int) -> list[Any]:
    return [decimal.Decimal(int(value)) / 8 for value in rng.integers(-99, 99, n)]


def _bytes(rng: Rng, n: int) -> list[Any]:
    return [bytes([int(value)]) for value in rng.integers(0, 256, n)]


def _nothing(_rng: Rng, n: int) -> list[Any]:
    return [None] * n


def _one_value(_rng: Rng, n: int) -> list[Any]:
    return [7.5] * n


def _mixed(rng: Rng, n: int) -> list[Any]:
    kinds = [1, 2.5, "text", None, True, b"x", datetime.date(2024, 1, 1)]
    return [kinds[int(place)] for place in rng.integers(0, len(kinds), n)]


def _lists(rng: Rng, n: int) -> list[Any]:
    return [[int(value)] for value in rng.integers(0, 3, n)]


def _durations(rng: Rng, n: int) -> list[Any]:
    return [datetime.timedelta(seconds=int(value)) for value in rng.integers(0, 99, n)]


def _complex(rng: Rng, n: int) -> list[Any]:
    return [complex(value, 1) for value in rng.normal(size=n)]


KINDS: Mapping[str, Callable[[Rng, int], list[Any]]] = {
    "numbers": _numbers,
    "integers": _integers,
    "keys": _keys,
    "extreme numbers": _extreme,
    "infinite numbers": _infinite,
    "large integers": _large_integers,
    "texts": _texts,
    "many texts": _many_texts,
    "odd texts": _odd_texts,
    "booleans": _booleans,
    "dates": _dates,
    "dates as text": _date_texts,
    "decimals": _decimals,
    "bytes": _bytes,
    "nothing": _nothing,
    "one value": _one_value,
    "mixed": _mixed,
    "lists": _lists,
    "durations": _durations,
    "complex": _complex,
}
PLAIN = ("numbers", "integers", "texts", "booleans", "many texts", "one value", "nothing", "dates as text")
ROWS = (0, 1, 2, 9, 20, 60, 60, 200, 200, 500)
WIDTHS = (1, 1, 2, 3, 5, 8, 40)


def draw_columns(rng: Rng, *, tame: bool = False) -> tuple[dict[str, str], int]:
    """Names and kinds of columns, and a number of rows; tame ones hold mostly what may be compared."""
    width = int(rng.choice(WIDTHS))
    names = [str(name) for name in rng.choice(NAMES, min(width, len(NAMES)), replace=False)]
    names += [f"c{place}" for place in range(width - len(names))]
    if tame and rng.random() < 0.8:
        names = [f"c{place}" for place in range(width)]
    kinds = PLAIN if tame or rng.random() < 0.5 else tuple(KINDS)
    n_rows = int(rng.choice(ROWS[-5:] if tame else ROWS))
    return {name: str(rng.choice(kinds)) for name in names}, n_rows


def fill(kinds: Mapping[str, str], n_rows: int, rng: Rng) -> Columns:
    """Cells of columns, some of them missing."""
    columns = {name: KINDS[kind](rng, n_rows) for name, kind in kinds.items()}
    for cells in columns.values():
        share = rng.choice([0.0, 0.0, 0.2, 0.9])
        for place in np.flatnonzero(rng.random(n_rows) < share):
            cells[place] = None
    return columns


def _as_pandas(columns: Columns) -> Any:
    import pandas as pd  # noqa: PLC0415

    return pd.DataFrame({name: pd.Series(cells, dtype=None) for name, cells in columns.items()})


def _as_twice_named(columns: Columns) -> Any:
    frame = _as_pandas(columns)
    frame.columns = ["same"] * frame.shape[1]
    return frame


def _as_nullable(columns: Columns) -> Any:
    return _as_pandas(columns).convert_dtypes()


def _as_categories(columns: Columns) -> Any:
    return _as_pandas({name: [str(cell) for cell in cells] for name, cells in columns.items()}).astype("category")


def _as_polars(columns: Columns) -> Any:
    import polars as pl  # noqa: PLC0415

    return pl.DataFrame({name: pl.Series(name, cells, strict=False) for name, cells in columns.items()})


def _as_lazy(columns: Columns) -> Any:
    return _as_polars(columns).lazy()


def _as_arrow(columns: Columns) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.table({name: pa.array(cells) for name, cells in columns.items()})


def _as_batches(columns: Columns) -> Any:
    return _as_arrow(columns).to_reader(max_chunksize=7)


def _as_matrix(columns: Columns) -> Any:
    cells = list(columns.values())
    try:
        return np.array(cells, dtype=float).T
    except (TypeError, ValueError, OverflowError):
        matrix = np.empty((len(cells[0]) if cells else 0, len(cells)), dtype=object)
        for place, column in enumerate(cells):
            for row, cell in enumerate(column):
                matrix[row, place] = cell
        return matrix


def _as_masked(columns: Columns) -> Any:
    matrix = _as_matrix(columns)
    return np.ma.masked_array(matrix, mask=np.arange(matrix.size).reshape(matrix.shape) % 5 == 0)


def _as_vector(columns: Columns) -> Any:
    return _as_matrix(columns).reshape(-1)


def _as_records(columns: Columns) -> Any:
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _as_chunks(columns: Columns) -> Any:
    frame = _as_pandas(columns)
    return iter([frame[:5], frame[frame.columns[::-1]][5:]])


def _as_ragged(columns: Columns) -> Any:
    return {name: cells[place:] for place, (name, cells) in enumerate(columns.items())}


CONTAINERS: Mapping[str, Callable[[Columns], Any]] = {
    "pandas": _as_pandas,
    "pandas, nullable": _as_nullable,
    "pandas, categories": _as_categories,
    "pandas, one name for all": _as_twice_named,
    "polars": _as_polars,
    "polars, lazy": _as_lazy,
    "pyarrow": _as_arrow,
    "pyarrow, reader": _as_batches,
    "mapping": lambda columns: columns,
    "mapping, ragged": _as_ragged,
    "array": _as_matrix,
    "array, masked": _as_masked,
    "array, one dimension": _as_vector,
    "records": _as_records,
    "iterator": _as_chunks,
}


def as_container(name: str, columns: Columns) -> Any:
    """Columns in a container; as a mapping where its own library cannot hold them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return CONTAINERS[name](columns)
        except Exception:
            return dict(columns)


def draw_options(rng: Rng, names: list[str]) -> dict[str, Any]:
    """Settings of a detector, most of them sound."""
    options: dict[str, Any] = {"random_state": 0}
    if rng.random() < 0.2:
        options["alpha"] = float(rng.choice([0.01, 0.5, 0.0, 1.0, np.nan]))
    if rng.random() < 0.15:
        options["min_effect"] = float(rng.choice([0.1, 5.0, -1.0, np.inf]))
    for option in ("categories", "ignore"):
        if rng.random() < 0.15:
            options[option] = [str(rng.choice([*names, "absent"]))]
    if rng.random() < 0.15:
        options["target"] = str(rng.choice([*names, "absent"]))
    return options


ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-32", "utf-16-le", "shift_jis", "utf-7")
SEPARATORS = (",", ",", ";", "\t", "|", ":")
DAMAGES = (
    "none",
    "none",
    "none",
    "none",
    "cut",
    "flipped",
    "zero bytes",
    "quote",
    "ragged",
    "empty",
    "header",
    "no end",
)


def write_file(path: Path, columns: Columns, rng: Rng, *, is_plain: bool) -> Path:
    """Write columns as a file of some format, encoding and state of damage, or as a plain one; its path."""
    if is_plain:
        path = path.with_name(f"{path.name}.csv")
        path.write_bytes(_csv_text(columns, ",", "\n", quoted=True).encode("utf-8", "replace"))
        return path
    kind = str(rng.choice(["csv", "csv", "csv", "csv.gz", "csv.bz2", "parquet", "feather", "csv.1", "dat"]))
    path = path.with_name(f"{path.name}.{kind}")
    data = _table_bytes(columns, kind) if kind in {"parquet", "feather"} else _csv_bytes(columns, rng)
    damage = str(rng.choice(DAMAGES))
    if not kind.endswith((".gz", ".bz2")):
        data = _damaged(data, damage, rng)
    packers: dict[str, Callable[[bytes], bytes]] = {"csv.gz": gzip.compress, "csv.bz2": bz2.compress}
    packed = packers[kind](data) if kind in packers else data
    path.write_bytes(_damaged(packed, damage, rng) if kind.endswith((".gz", ".bz2")) else packed)
    return path


def _csv_bytes(columns: Columns, rng: Rng) -> bytes:
    separator, encoding = str(rng.choice(SEPARATORS)), str(rng.choice(ENCODINGS))
    text = _csv_text(columns, separator, str(rng.choice(["\n", "\r\n"])), quoted=rng.random() < 0.8)
    return text.encode(encoding, "replace")


def _csv_text(columns: Columns, separator: str, line_break: str, *, quoted: bool) -> str:
    def cell(value: Any) -> str:
        text = "" if value is None else str(value)
        needs = any(mark in text for mark in (separator, '"', "\n", "\r"))
        return '"' + text.replace('"', '""') + '"' if needs and quoted else text

    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return line_break.join(separator.join(map(cell, row)) for row in rows) + line_break


def _table_bytes(columns: Columns, kind: str) -> bytes:
    import io  # noqa: PLC0415

    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import feather, parquet  # noqa: PLC0415

    target = io.BytesIO()
    texts = {name: [None if cell is None else str(cell) for cell in cells] for name, cells in columns.items()}
    try:
        table = pa.table({name: pa.array(cells) for name, cells in columns.items()})
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        table = pa.table(
            {name.encode("utf-8", "replace").decode(): [None] * len(cells) for name, cells in texts.items()}
        )
    parquet.write_table(table, target) if kind == "parquet" else feather.write_feather(table, target)
    return target.getvalue()


def _damaged(data: bytes, damage: str, rng: Rng) -> bytes:
    place = int(rng.integers(0, len(data))) if data else 0
    cases: dict[str, Callable[[], bytes]] = {
        "cut": lambda: data[:place],
        "flipped": lambda: data[:place] + bytes([data[place] ^ 0x5A]) + data[place + 1 :] if data else data,
        "zero bytes": lambda: data[:place] + b"\x00\x00" + data[place:],
        "quote": lambda: data[:place] + b'"' + data[place:],
        "ragged": lambda: data + b"1,2,3,4,5,6,7,8,9\n",
        "empty": lambda: b"",
        "header": lambda: data[: data.find(b"\n") + 1],
        "no end": lambda: data.rstrip(b"\n"),
    }
    return cases.get(damage, lambda: data)()
