import argparse
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmarks._processes import measure, run_alone, time_import
from benchmarks._timing import draw, in_turns, write_parquet

from benchmarks import throughput


def options(**given):
    return argparse.Namespace(**{"only": None, "old": None, "engines": False} | given)


def test_work_is_done_in_turns():
    done = []
    seconds = in_turns([lambda: done.append("one"), lambda: done.append("two")], rounds=4)
    assert done == ["one", "two"] * 4
    assert len(seconds) == 2
    assert min(seconds) >= 0.0


def test_slow_work_is_done_three_times():
    done = []
    in_turns([lambda: done.append("one")], rounds=10, seconds=0.0)
    assert len(done) == 3


def test_only_the_first_columns_lack_values():
    complete, incomplete = draw(5_000, 0)
    missing = np.isnan(incomplete)
    assert np.array_equal(complete[~missing], incomplete[~missing])
    assert not missing[:, 10:].any()
    assert abs(missing[:, :10].mean() - 0.2) < 0.01


def test_files_have_missing_cells_and_row_groups(tmp_path):
    path = tmp_path / "rows.parquet"
    write_parquet(str(path), 1_000, 0, 4, 2, 0.5, 400)
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(index).num_rows for index in range(3)] == [400, 400, 200]
    assert [column.null_count > 0 for column in file.read().columns] == [True, True, False, False]


def test_groups_by_name_and_by_option():
    groups = throughput.GROUPS
    assert throughput.chosen_groups(options()) == list(groups.values())
    assert throughput.chosen_groups(options(only=["wide", "count"])) == [groups["wide"], groups["count"]]
    assert throughput.chosen_groups(options(only=["engines"])) == [throughput.engine_bars]
    assert len(throughput.chosen_groups(options(old=Path(), engines=True))) == len(groups) + 2


def test_a_row_is_counted_without_numba():
    found = measure("count", 2_000, 300, numba=False)
    assert found["ours"] > 0.0
    assert found["theirs"] > 0.0
    assert not found["numba"]


def test_another_gapdrift_than_the_one_named_is_not_measured(tmp_path):
    with pytest.raises(SystemExit, match="expected it below"):
        measure("small", checkout=tmp_path)


def test_bars_of_absent_data_are_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GAPDRIFT_DATA", str(tmp_path))
    assert throughput.weather_bars(0.001) == []
    assert "Left out: weather." in capsys.readouterr().out


def test_peak_memory_is_that_of_the_command():
    done = run_alone(sys.executable, "-c", "rows = b'x' * (600 << 20)")
    assert done.mebibytes >= 600
    assert done.seconds > 0.0


def test_a_command_that_fails_ends_the_run():
    with pytest.raises(SystemExit, match="no such thing"):
        run_alone(sys.executable, "-c", "raise ValueError('no such thing')")


def test_an_import_takes_time():
    assert 0.0 < time_import("import json", Path.cwd()) < 60.0
