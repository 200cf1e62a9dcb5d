"""A uniform sample of more rows than fit into memory."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gapdrift._typing import Vector
from gapdrift.errors import InputError

__all__ = ["sample_rows"]


def join_arrow(tables: list[Any]) -> Any:
    """Arrow tables one below the other; a column whose type differs becomes numbers or text."""
    import pyarrow as pa  # noqa: PLC0415

    for index, name in enumerate(tables[0].column_names):
        kinds = {table.schema.types[index] for table in tables} - {pa.null()}
        if len(kinds) > 1:
            common = _common_type(name, kinds)
            tables = [table.set_column(index, name, table.column(index).cast(common, safe=False)) for table in tables]
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def sample_rows(
    chunks: Iterable[Any], max_rows: int, rng: np.random.Generator, join: Callable[[list[Any]], Any] = join_arrow
) -> tuple[Any, int]:
    """At most ``max_rows`` rows of all chunks, each equally likely, in their order; and the number of all rows.

    Notes
    -----
    Each row gets a random number, and the rows with the smallest numbers stay. The sample does not depend on how the
    rows are divided into chunks, which have ``len`` and ``take``; ``join`` puts several below each other.

    The generator only seeds another one: who hides cells by the numbers of ``default_rng(0)``, and fits with
    ``random_state=0``, would otherwise learn from the rows whose cells are hidden.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> chunks = [pa.table({"x": range(start, start + 50)}) for start in (0, 50)]
    >>> sample, n_rows = sample_rows(chunks, 10, np.random.default_rng(0))
    >>> len(sample), n_rows
    (10, 100)
    """
    rng = np.random.default_rng(rng.integers(2**63, size=4))
    kept: list[Any] = []
    draws: Vector = np.empty(0)
    n_rows = 0
    for chunk in chunks:
        n_rows += len(chunk)
        fresh = rng.random(len(chunk))
        # A row with a larger number than the sample already has can never stay.
        chosen = fresh < (draws.max() if len(draws) >= max_rows else 1.0)
        kept.append(chunk.take(np.flatnonzero(chosen)))
        draws = np.concatenate([draws, fresh[chosen]])
        if len(draws) > 2 * max_rows:
            smallest = np.sort(np.argsort(draws)[:max_rows])
            kept, draws = [join(kept).take(smallest)], draws[smallest]
    if not kept:
        raise InputError("The source gave no rows at all, expected tables to fit on. Was it read before?")
    return join(kept).take(np.sort(np.argsort(draws)[:max_rows])), n_rows


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
