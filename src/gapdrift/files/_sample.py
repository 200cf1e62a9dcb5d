"""A uniform sample of rows too many to hold."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["sample_rows"]

Numbers = NDArray[np.float64]


def sample_rows(chunks: Iterable[Any], most: int, rng: np.random.Generator) -> tuple[Any, int]:
    """At most so many rows of all chunks, each equally likely, in their order.

    Parameters
    ----------
    chunks : iterable of pyarrow.Table
    most : int
    rng : numpy.random.Generator

    Returns
    -------
    sample : pyarrow.Table
        All rows where they are no more than ``most``.
    n_rows : int
        Of all chunks.

    Notes
    -----
    Each row draws a number; the rows with the smallest ones stay. The sample does not depend on where the
    chunks were cut.

    Examples
    --------
    >>> import pyarrow as pa
    >>> chunks = [pa.table({"a": range(0, 60)}), pa.table({"a": range(60, 100)})]
    >>> sample, n_rows = sample_rows(chunks, 5, np.random.default_rng(0))
    >>> len(sample), n_rows
    (5, 100)
    """
    import pyarrow as pa  # noqa: PLC0415

    kept: list[Any] = []
    draws: Numbers = np.empty(0)
    n_rows = 0
    for chunk in chunks:
        n_rows += len(chunk)
        fresh = rng.random(len(chunk))
        # A row with a larger number than the sample already has can never stay.
        chosen = fresh < (draws.max() if len(draws) >= most else 1.0)
        kept.append(chunk.filter(pa.array(chosen)))
        draws = np.concatenate([draws, fresh[chosen]])
        if len(draws) > 2 * most:
            kept, draws = _smallest(kept, draws, most)
    kept, _ = _smallest(kept, draws, most)
    return kept[0], n_rows


def _smallest(tables: list[Any], draws: Numbers, most: int) -> tuple[list[Any], Numbers]:
    import pyarrow as pa  # noqa: PLC0415

    table = pa.concat_tables(tables, promote_options="permissive")
    if len(draws) <= most:
        return [table], draws
    places = np.sort(np.argpartition(draws, most - 1)[:most])
    return [table.take(pa.array(places)).combine_chunks()], draws[places]
