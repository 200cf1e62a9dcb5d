import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gapdrift as gd
from gapdrift.streaming.panes import pack_rows, unpack_rows
from gapdrift.streaming.rows import Rows
from gapdrift.tables.frame import Table

COLUMNS = {
    "number": [1, None, 2.5],
    "flag": [True, None, False],
    "text": ["a", "b", None],
    "day": [dt.date(2024, 1, 31), None, dt.date(2024, 2, 1)],
}


def plain(rows):
    return {name: [None if cell != cell else cell for cell in column.tolist()] for name, column in rows.cells.items()}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, lambda table: pl.DataFrame(table, strict=False), pa.table])
def test_any_table_has_one_plain_form(make):
    rows = Rows.read(Table.read(make(COLUMNS)), list(COLUMNS))
    assert plain(rows) == COLUMNS | {"day": ["2024-01-31", None, "2024-02-01"]}
    assert plain(unpack_rows(pack_rows(rows))) == plain(rows)
    assert plain(rows.take([2])) == {"number": [2.5], "flag": [False], "text": [None], "day": ["2024-02-01"]}


def test_arrays_keep_all_their_columns():
    rows = Rows.read(Table.read(np.array([[1.0, np.nan], [2.0, 3.0]])), ["x1"])
    np.testing.assert_array_equal(rows.table(), [[1.0, np.nan], [2.0, 3.0]])
    mixed = Rows.read(Table.read(np.array([[1.0, "a"], [None, "b"]], dtype=object)), [])
    assert mixed.table().dtype == object
    assert mixed.table()[:, 1].tolist() == ["a", "b"]


def test_pieces_with_numbers_and_texts_become_texts():
    pieces = [{"c": ["a", None]}, {"c": [1, 2.5]}, {"c": [None, None]}, {"c": [True, None]}]
    joined = Rows.join([Rows.read(Table.read(piece), ["c"]) for piece in pieces])
    assert joined.cells["c"].tolist() == ["a", None, "1", "2.5", None, None, "True", None]
    numbers = Rows.join([Rows.read(Table.read(piece), ["c"]) for piece in pieces[1:]])
    assert Table.read(numbers.table()).column("c").kind == "number"


def test_a_category_may_come_as_text_and_as_numbers():
    """Each update is fine by itself, and so is the block that they are counted in."""
    detector = gd.DriftDetector(random_state=0).fit({"x": np.arange(100) % 7 * 1.5, "c": ["1", "2", "a", "b"] * 25})
    pieces = [{"x": np.arange(25) % 7 * 1.5, "c": cells} for cells in (["a"] * 25, [1.0] * 25, [None] * 25, [2] * 25)]
    monitor = gd.Monitor(detector, 100)
    windows = [window for piece in pieces for window in monitor.advance(piece)]
    assert [window.n_rows for window in windows] == [100]
    assert not any("does not have" in note for note in windows[0].result.warnings)
