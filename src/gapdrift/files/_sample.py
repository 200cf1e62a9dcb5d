"""A uniform sample of more rows than fit into memory."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.errors import InputError

__all__ = ["sample_rows"]

Numbers = NDArray[np.float64]


def sample_rows(chunks: Iterable[Any], max_rows: int, rng: np.random.Generator) -> tuple[Any, int]:
    """Uniform sample of at most ``max_rows`` rows of all chunks, in their order; and the number of all rows.

    Notes
    -----
    Each row gets a random number, and the rows with the smallest numbers are kept. The sample does not depend on how
    the rows are divided into chunks.
    """
    import pyarrow as pa  # noqa: PLC0415

    kept: list[Any] = []
    draws: Numbers = np.empty(0)
    n_rows = 0
    for chunk in chunks:
        n_rows += len(chunk)
        fresh = rng.random(len(chunk))
        # A full sample cannot gain a row whose number is larger than all of its own.
        chosen = fresh < (draws.max() if len(draws) >= max_rows else 1.0)
        kept.append(chunk.filter(pa.array(chosen)))
        draws = np.concatenate([draws, fresh[chosen]])
        if len(draws) > 2 * max_rows:
            kept, draws = _keep_smallest(kept, draws, max_rows)
    kept, _ = _keep_smallest(kept, draws, max_rows)
    return kept[0], n_rows


def _keep_smallest(tables: list[Any], draws: Numbers, max_rows: int) -> tuple[list[Any], Numbers]:
    import pyarrow as pa  # noqa: PLC0415

    table = _concatenate(tables)
    if len(draws) <= max_rows:
        return [table], draws
    places = np.sort(np.argpartition(draws, max_rows - 1)[:max_rows])
    return [table.take(pa.array(places)).combine_chunks()], draws[places]


def _concatenate(tables: list[Any]) -> Any:
    """One table of all rows; a column whose type differs between tables becomes numbers or text."""
    import pyarrow as pa  # noqa: PLC0415

    for index, name in enumerate(tables[0].column_names):
        kinds = {table.schema.types[index] for table in tables} - {pa.null()}
        if len(kinds) > 1:
            common = _common_type(name, kinds)
            tables = [table.set_column(index, name, table.column(index).cast(common, safe=False)) for table in tables]
    return pa.concat_tables(tables, promote_options="permissive")


def _common_type(name: str, kinds: set[Any]) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    numbers = [any(check(kind) for check in is_number) for kind in kinds]
    texts = [any(check(kind) for check in is_text) for kind in kinds]
    if all(numbers):
        return pa.float64()
    if all(number or text for number, text in zip(numbers, texts, strict=True)):
        return pa.string()
    if all(pa.types.is_timestamp(kind) or pa.types.is_date(kind) for kind in kinds):
        return pa.timestamp("us")
    raise InputError(
        f"Column {name!r} has the types {', '.join(sorted(map(str, kinds)))} in different files, expected one. Write "
        "the files with the same types, or leave the column out of them."
    )
