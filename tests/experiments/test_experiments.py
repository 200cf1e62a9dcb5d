"""The experiments as they are run: by name, in processes, killed and resumed."""

import csv
import json
import time
from pathlib import Path

import numpy as np
import pytest

from experiments import __main__ as command
from experiments import catalogue, experiment3
from experiments.catalogue import RUNS, path_of
from experiments.detection import KINDS, SEVERITIES
from experiments.protocols import PROTOCOLS
from experiments.real import DIRECTIONS, SCRIPTED_SETS, SETS, draw_rows, load, scripted_rows
from experiments.running import write_rows
from experiments.tables import TABLES
from tests.forks import kill, run_command, start_command

ROOT = Path(__file__).parents[2]


def test_a_run_killed_at_random_gives_the_same_table(tmp_path):
    arguments = ["run", "experiment2", "--protocol", "sound", "--trials", "6", "--jobs", "1"]
    arguments += ["--methods", "bins", "--results"]
    module = "experiments.__main__"
    begun = time.monotonic()
    whole = run_command(*arguments, tmp_path / "whole", cwd=ROOT, module=module)
    taken = time.monotonic() - begun
    assert whole.returncode == 0, whole.stderr
    assert whole.stderr == ""
    rng = np.random.default_rng(0)
    broken = tmp_path / "broken"
    for _ in range(4):
        process = start_command(*arguments, broken, cwd=ROOT, module=module)
        time.sleep(float(rng.uniform(0.0, taken / 2)))
        kill(process)
    assert run_command(*arguments, broken, cwd=ROOT, module=module).returncode == 0
    paths = [path_of("experiment2", "sound", folder) for folder in (tmp_path / "whole", broken)]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert (whole.stdout.strip(),) == (str(paths[0]),)


def test_everything_has_a_name(capsys):
    command.main(["list"])
    shown = capsys.readouterr().out
    for name in (*RUNS, *TABLES, "7", "8", "9"):
        assert f" {name} " in shown


def test_a_table_before_its_run_says_what_to_do(tmp_path):
    with pytest.raises(SystemExit, match="Run 'python -m experiments run"):
        command.main(["table", "3", "--results", str(tmp_path)])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_same_seed_gives_the_same_result(protocol):
    run = RUNS["experiment3"]
    task = run.tasks(PROTOCOLS[protocol], 1, 7)[0]
    first = run.work(task)
    experiment3._fit.cache_clear()  # else the second run would not fit anything
    assert run.work(task) == first


def test_blocks_do_not_matter():
    """A window's outcome depends on its number, not on the block it was run in."""
    run = RUNS["experiment3"]
    whole = run.work(["experiment3", "published", 3, "gaussian-mean", 4, 0, 4, "QuantTree-ME-MMD"])
    parts = [
        run.work(["experiment3", "published", 3, "gaussian-mean", 4, first, 2, "QuantTree-ME-MMD"]) for first in (0, 2)
    ]
    for method, ((_, windows, alarms),) in whole.items():
        assert windows == 4
        assert alarms == sum(part[method][0][2] for part in parts)


@pytest.mark.real_data
@pytest.mark.parametrize("name", SETS)
def test_real_populations(real_data, name, rng):
    real = load(name, str(real_data))
    first = draw_rows(real, 0, rng)
    second = draw_rows(real, 1, rng, first)
    assert len(first) == len(second) == 1_000
    assert not set(first) & set(second)
    assert np.isfinite(real.values).all()


def test_published_tables_have_the_papers_shape():
    shapes = {"table_3_ablation": 7, "table_4_complete": 7, "table_5_missing": 7, "correlations_with_complete": 12}
    for name, rows in shapes.items():
        with (ROOT / "experiments" / "published" / f"{name}.csv").open() as file:
            assert len(list(csv.DictReader(file))) == rows


@pytest.mark.real_data
def test_windows_of_arabic_digits_are_those_of_the_scripts(real_data):
    """Both pools shuffled, references removed, both shuffled again for each direction of each window."""
    real = load("arabic", str(real_data))
    pools = [np.concatenate([rows for rows, _ in population]) for population in real.populations]
    state = np.random.RandomState(2)
    order = [state.permutation(len(pool)) for pool in pools]
    found = scripted_rows("arabic", str(real_data), n_windows=2)
    np.testing.assert_array_equal(found["a"].reference, pools[0][order[0][:1000]])
    np.testing.assert_array_equal(found["b"].reference, pools[1][order[1][:1000]])
    rest = [pool[each[1000:]] for pool, each in zip(pools, order, strict=True)]
    for number in range(2):
        for direction in (0, 1):
            rest = [rows[state.permutation(len(rows))] for rows in rest]
            for drifted in (0, 1):
                expected = rest[(direction + drifted) % 2][:1000]
                np.testing.assert_array_equal(found["ab"[direction]].windows[number, drifted], expected)


@pytest.mark.real_data
@pytest.mark.parametrize("name", SCRIPTED_SETS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_windows_share_no_row_with_the_reference(real_data, name, direction):
    real, place = load(name, str(real_data)), DIRECTIONS.index(direction)
    found = scripted_rows(name, str(real_data), n_windows=3)[direction]
    for window in found.windows:
        for drifted, rows in enumerate(window):
            assert len(set(rows.tolist())) == 1_000
            # The pools of the Arabic digits share nine of ten groups, so only windows without drift are kept apart.
            assert not (name == "insects" or not drifted) or not set(rows) & set(found.reference)
            allowed = np.concatenate([rows for rows, _ in real.populations[(place + drifted) % 2]])
            assert np.isin(rows, allowed).all()


def test_code_that_is_not_committed_cannot_write_among_the_results(monkeypatch):
    monkeypatch.setattr(catalogue, "commit_of_code", lambda: "0123abcd-dirty")
    with pytest.raises(SystemExit, match="Commit it, or name another folder"):
        command.main(["run", "experiment3", "--protocol", "sound", "--trials", "1", "--jobs", "1"])


def test_methods_can_be_run_alone_and_say_how_far_they_are(tmp_path):
    arguments = [
        "run",
        "experiment2",
        "--protocol",
        "sound",
        "--trials",
        "1",
        "--jobs",
        "1",
        "--results",
        str(tmp_path),
    ]
    command.main([*arguments, "--methods", "bins"])
    found = json.loads(path_of("experiment2", "sound", tmp_path).with_suffix(".json").read_text())["results"]
    assert found["bins"]["finished"] == found["bins"]["tasks"] == 5
    assert sum(found["bins"]["commits"].values()) == 5
    assert found["distances"] == {"tasks": 5, "finished": 0, "commits": {}}


def test_the_gain_of_the_repaired_test_is_averaged_in_several_ways(tmp_path):
    found = {"5.2": 0.2, "MDL-FWF-Wald": 0.5, "MDL-FWF-Wald complete": 0.75}
    rows = [
        {"drift": kind, "method": method, "severity": severity, "ratio": ratio * (severity > 5)}
        for kind in KINDS
        for severity in SEVERITIES
        for method, ratio in found.items()
    ]
    write_rows(path_of("experiment2", "sound", tmp_path), rows)
    table = TABLES["repaired"]("sound", tmp_path)
    gains = {name: (gain, complete) for name, _, _, gain, complete in table.rows}
    assert gains["no drift (false alarms), five kinds"] == ("+0.000", "0.000")
    assert gains["severity 6, five kinds"] == ("+0.300", "0.750")
    assert gains["severities 1 to 10, five kinds"] == ("+0.150", "0.375")
    assert gains["complete data find at least half, the published test less than 0.9"] == ("+0.300", "0.750")
    write_rows(path_of("experiment2", "sound", tmp_path), [row for row in rows if row["method"] == "5.2"])
    assert TABLES["repaired"]("sound", tmp_path).rows == ()
