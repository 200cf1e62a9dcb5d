import json
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import gapdrift as gd
from gapdrift.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("batches")
    rng = np.random.default_rng(0)
    day = np.repeat(np.arange(40), 60)
    when = [datetime(2024, 1, 1) + timedelta(days=int(number), minutes=int(row % 60)) for row, number in enumerate(day)]
    x = 2.0 * rng.normal(size=40)[day] + rng.normal(size=len(day))
    table = pd.DataFrame(
        {"when": when, "shop": [f"s{number % 8}" for number in day], "x": x, "y": x + rng.normal(size=len(day))}
    )
    table[day < 35].to_csv(place / "history.csv", index=False)
    table[day == 35].to_csv(place / "window.csv", index=False)
    table[day == 36].assign(x=lambda each: each.x + 40.0).to_csv(place / "moved.csv", index=False)
    return place


def exit_code(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


def run(capsys, *arguments):
    code = exit_code(*arguments)
    return code, capsys.readouterr().out


def test_fit_and_test_with_days(folder, capsys):
    stored = folder / "days.gapdrift"
    code, out = run(
        capsys, "fit", folder / "history.csv", "-o", stored, "--every", "1d", "--time-column", "when", "--no-rows"
    )
    assert (code, "Saved" in out) == (0, True)
    code, out = run(capsys, "test", stored, folder / "window.csv", "--json", "--html", folder / "report.html")
    result = json.loads(out)
    assert result["drift"] is False
    assert result["usual"]["rows_p_value"] < 1e-6 < result["usual"]["p_value"]
    assert result["usual"]["n_batches"] == 35
    page = (folder / "report.html").read_text()
    assert "Among the usual batches" in page
    code, out = run(capsys, "test", stored, folder / "moved.csv", "--fail-on-drift")
    assert code == 3
    assert "differ more than batches of the reference usually do" in out


def test_compare_with_a_column_and_with_seasons(folder, capsys):
    code, out = run(capsys, "compare", folder / "history.csv", folder / "window.csv", "--batch", "shop")
    assert (code, "than its 8 batches (shop)" in out) == (0, True)
    options = ("--every", "1d", "--time-column", "when", "--season", "week")
    code, out = run(capsys, "compare", folder / "history.csv", folder / "window.csv", *options)
    assert (code, "than its 35 batches (1d)" in out) == (0, True)


def test_settings_that_do_not_go_together(folder, capsys):
    both = ("--batch", "shop", "--every", "1d")
    assert exit_code("compare", folder / "history.csv", folder / "window.csv", *both) == 1
    assert "Leave one of them out" in capsys.readouterr().err
    few = ("--every", "1d", "--time-column", "when", "--reference-rows", "500")
    assert exit_code("fit", folder / "history.csv", "-o", folder / "x.gapdrift", *few) == 1
    assert "--reference-rows" in capsys.readouterr().err


def test_a_large_reference_is_read_in_chunks(folder, capsys, monkeypatch):
    monkeypatch.setattr("gapdrift.execution.MAX_LEARNED", 1_000)
    monkeypatch.setattr("gapdrift.cli._work.MAX_LEARNED", 1_000)
    stored = folder / "chunks.gapdrift"
    options = ("--every", "1d", "--time-column", "when", "--reference-rows", "1000")
    assert exit_code("fit", folder / "history.csv", "-o", stored, *options) == 0
    capsys.readouterr()
    detector = gd.load(stored)
    assert (len(detector.usual_.table), detector.evidence_.n_rows) == (35, 2_100)
