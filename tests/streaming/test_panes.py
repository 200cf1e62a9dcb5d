import numpy as np
import pytest

import gapdrift as gd
from gapdrift.streaming.panes import BLOCK_ROWS, Pane, WindowGrid, add_up
from gapdrift.streaming.rows import Rows
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.frame import Table
from tests.stream_rows import detector, part, rows


def plain(table):
    return Rows.read(Table.read(table), ["x", "y", "c"])


@pytest.mark.parametrize(
    ("start", "first", "closed"), [(0, None, 9), (4, 30, 25), (4, 12, 40), (0, 3, 3), (0, 0, 50), (7, None, 8)]
)
@pytest.mark.parametrize("grid", [WindowGrid(1, 1, 1), WindowGrid(1, 4, 1), WindowGrid(1, 5, 3)])
def test_runs_of_empty_windows_are_counted(grid, start, first, closed):
    naive = 0
    while start + naive * grid.step + grid.window <= min(closed, closed if first is None else first):
        naive += 1
    assert grid.empty_windows(start, first, closed) == naive


def test_blocks_do_not_depend_on_the_pieces():
    table = rows(2 * BLOCK_ROWS + 100, 1)
    whole, pieces = Pane(0), Pane(0)
    whole.add(plain(table), detector().count)
    for start in range(0, 2 * BLOCK_ROWS + 100, 37):
        pieces.add(plain(part(table, start, start + 37)), detector().count)
    assert sum(map(len, whole.waiting)) == sum(map(len, pieces.waiting)) == 100
    one, two = (pane.close(detector().count) for pane in (whole, pieces))
    assert one.n_rows == two.n_rows == 2 * BLOCK_ROWS + 100
    for name, sums in one.sums.items():
        np.testing.assert_array_equal(sums, two.sums[name])
    recount = detector().count(table)
    np.testing.assert_array_equal(one.sums["products"], recount.sums["products"])


def test_a_pane_comes_back_from_its_bytes():
    pane = Pane(-3)
    table = rows(BLOCK_ROWS + 10, 1)
    table["c"][0] = "violet"
    pane.add(plain(table), detector().count)
    pane.note_positions(5, 9)
    pane.note_positions(2, 3)
    again = Pane.unpack(pane.pack())
    assert (again.number, again.n_rows, again.first_row, again.last_row, again.closed) == (
        -3,
        BLOCK_ROWS + 10,
        2,
        9,
        False,
    )
    one, two = (each.close(detector().count) for each in (pane, again))
    assert one.notes == two.notes != frozenset()
    for name, sums in one.sums.items():
        np.testing.assert_array_equal(sums, two.sums[name])
    assert Pane.unpack(pane.pack()).closed


def test_damaged_bytes_are_an_error_of_ours():
    packed = Pane(1).pack()
    for wrong in (b"", b"x" * 50, packed[:-30]):
        with pytest.raises(gd.errors.HistoryError, match="history is damaged"):
            Pane.unpack(wrong)


def test_encoded_rows_of_another_schema_are_refused():
    with pytest.raises(gd.errors.SchemaError, match="Encode them with the same fitted detector"):
        detector().count(Encoded(np.zeros((3, 1)), np.zeros((3, 1), dtype=bool)))


def test_panes_add_up_in_order():
    parts = [detector().count(rows(20, seed)) for seed in range(3)]
    np.testing.assert_array_equal(add_up(parts).sums["products"], ((parts[0] + parts[1]) + parts[2]).sums["products"])
