"""``gapdrift monitor`` as a user runs it."""

import json
import random
import time

import numpy as np
import pandas as pd
import pytest

import gapdrift as gd
from gapdrift.history import History
from tests.forks import kill, start_command
from tests.forks import run_command as run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A saved reference and a stream of 6,000 rows, in three files, that changes at row 4,000."""
    folder = tmp_path_factory.mktemp("stream")
    gd.DriftDetector(random_state=0).fit(gd.datasets.stations(2_000, rng=0)).save(folder / "reference.gapdrift")
    calm = pd.DataFrame(gd.datasets.stations(4_000, rng=1))
    moved = pd.DataFrame(gd.datasets.stations(2_000, rng=2, drift=True))
    stream = pd.concat([calm, moved], ignore_index=True)
    stream.insert(0, "when", pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(6_000), unit="min"))
    stream.insert(0, "id", [f"row-{number}" for number in range(6_000)])
    (folder / "days").mkdir()
    for number in range(3):
        stream.iloc[2_000 * number : 2_000 * (number + 1)].to_csv(folder / "days" / f"{number}.csv", index=False)
    stream.to_parquet(folder / "stream.parquet")
    return folder


def test_alarms_are_shown_and_named(folder):
    done = run("monitor", folder / "reference.gapdrift", folder / "days", "--window", 500)
    assert done.returncode == 0
    *alarms, last = done.stdout.strip().splitlines()
    assert [line.split(":")[0] for line in alarms if "drift" in line] == [f"window {n}" for n in (8, 9, 10, 11)]
    assert all("humidity" in line for line in alarms if "drift" in line)
    assert last.startswith("Rows 0 to 5,999 (6,000). Windows:")
    assert done.stderr == ""


def test_a_sequential_monitor_tells_when_the_change_began(folder, tmp_path):
    options = ("--window", 500, "--sequential", "--history", tmp_path / "history.db")
    done = run("monitor", folder / "reference.gapdrift", folder / "days", *options)
    alarms = [line for line in done.stdout.splitlines() if ": drift" in line]
    assert [line.split(":")[0] for line in alarms] == [f"window {n}" for n in (8, 9, 10, 11)]
    assert "change at about window 8 (row 4000): values of" in alarms[0]
    with History(tmp_path / "history.db") as history:
        records = list(history.windows("default"))
    assert [record["change_row"] for record in records][8] == 4_000
    assert records[8]["evidence"] >= 1_000 > records[7]["evidence"]
    assert records[8]["since_change"]["drift"] is True


def test_windows_of_days_begin_at_midnight_of_the_time_zone(folder):
    options = ("--window", "1d", "--time-column", "when", "--time-zone", "Asia/Tokyo", "--extend", 1, "--all")
    done = run("monitor", folder / "reference.gapdrift", folder / "stream.parquet", *options)
    lines = [line for line in done.stdout.splitlines() if line.startswith("window")]
    assert [line.split("(")[1].split(")")[0] for line in lines[:2]] == [
        "2025-12-31 15:00:00 UTC",
        "2026-01-01 15:00:00 UTC",
    ]
    assert "rows 900 to 2339" in lines[1]


def test_exit_code_and_all_windows_as_json(folder):
    done = run(
        "monitor",
        folder / "reference.gapdrift",
        folder / "stream.parquet",
        "--window",
        500,
        "--json",
        "--fail-on-drift",
    )
    assert done.returncode == 3
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["index"] for record in records] == list(range(12))
    assert [record["zone"] == "drift" for record in records] == [index >= 8 for index in range(12)]


def test_windows_of_time_with_keys(folder, tmp_path):
    rows = pd.concat([pd.read_csv(folder / "days" / "0.csv")] * 2)
    rows.to_csv(tmp_path / "twice.csv", index=False)
    options = [
        "--window",
        "6h",
        "--time-column",
        "when",
        "--key-column",
        "id",
        "--lateness",
        "30d",
        "--flush",
        "--json",
    ]
    done = run("monitor", folder / "reference.gapdrift", tmp_path / "twice.csv", *options)
    assert done.returncode == 0
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(record["n_rows"] for record in records) == 2_000
    assert "2,000 row(s) duplicate not counted" in done.stderr
    assert records[0]["start"] == "2026-01-01T00:00:00+00:00"


def test_a_history_goes_on_at_the_next_row(folder, tmp_path):
    command = ["monitor", folder / "reference.gapdrift", folder / "days" / "[01].csv", "--window", 500]
    history = ["--history", tmp_path / "h.db", "--jsonl", tmp_path / "w.jsonl", "--prometheus", tmp_path / "m.prom"]
    assert run(*command, *history).returncode == 0
    command[2] = folder / "days"
    done = run(*command, *history)
    assert done.stdout.strip().splitlines()[-1].startswith("Rows 4,000 to 5,999 (2,000).")
    again = run(*command, *history)
    assert again.stdout == "No new rows. Windows: none.\n"
    with History(tmp_path / "h.db") as kept:
        records = list(kept.windows("default"))
    assert [record["index"] for record in records] == list(range(12))
    assert len((tmp_path / "w.jsonl").read_text().splitlines()) == 12
    assert "gapdrift_p_value" in (tmp_path / "m.prom").read_text()


def test_killed_at_random_it_gives_the_undisturbed_history(folder, tmp_path):
    """The command itself; `tests/test_history.py` kills the monitor behind it fifty times."""
    command = ["monitor", folder / "reference.gapdrift", folder / "days", "--window", 100, "--step", 50, "--history"]
    begun = time.monotonic()
    assert run(*command, tmp_path / "whole.db").returncode == 0
    taken, draw = time.monotonic() - begun, random.Random(0)
    for _ in range(4):
        process = start_command(*command, tmp_path / "broken.db")
        time.sleep(draw.uniform(0.0, taken / 2))
        kill(process)
    assert run(*command, tmp_path / "broken.db").returncode == 0
    with History(tmp_path / "whole.db") as one, History(tmp_path / "broken.db") as two:
        assert list(one.windows("default")) == list(two.windows("default"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--window", "5"], "window"),
        (["--window", "soon"], "window"),
        (["--window", "1h"], "time_column"),
        (["--window", "500", "--step", "600"], "step"),
        (["--window", "500", "--time-column", "nope"], "time_column"),
        (["--window", "500", "--webhook", "ftp://x"], "webhook"),
        (["--window", "500", "--history", "nonsense://x"], "nor an address such as postgresql"),
    ],
)
def test_errors(folder, arguments, message):
    done = run("monitor", folder / "reference.gapdrift", folder / "days", *arguments)
    assert done.returncode == 1
    assert message in done.stderr.lower()
