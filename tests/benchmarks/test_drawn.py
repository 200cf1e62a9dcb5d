import argparse
import json
import time
from collections import Counter

import numpy as np
import pytest
from benchmarks._drawn_nulls import Tally
from benchmarks._trials import run, without_words
from benchmarks.grammar import nulls
from benchmarks.grammar.drifts import drift_case

from benchmarks import _drawn_drifts, _drawn_nulls, _rivals


def tally_of(seed, at_05, at_01=0, trials=500, failures=(), phase="again"):
    return Tally(f"drawn {seed}", phase, 0, trials, at_05, at_01, Counter(failures), Counter())


def _slowly(number):
    time.sleep(0.1)
    return number


class TestNulls:
    def test_the_worst_tenth_has_both_sides_and_failures(self):
        calm = [tally_of(seed, 3, trials=60) for seed in range(27)]
        bad = [tally_of(27, 30, trials=60), tally_of(28, 3, trials=60, failures=["error"])]
        silent = tally_of(29, 0, trials=300)
        assert set(_drawn_nulls.worst([*calm, *bad, silent])) == {"drawn 27", "drawn 28", "drawn 29"}

    @pytest.mark.parametrize(
        ("at_05", "at_01", "fails"), [(25, 5, False), (50, 15, False), (51, 5, True), (30, 16, True)]
    )
    def test_a_case_fails_above_the_bars(self, at_05, at_01, fails):
        assert bool(_drawn_nulls.failure(tally_of(0, at_05, at_01))) == fails

    def test_bars_are_reached_where_every_case_holds_its_level(self):
        drawn = [tally_of(seed, 3, trials=60, phase="drawn") for seed in range(20)]
        again = [tally_of(seed, 25, 5) for seed in range(2)]
        assert all(bar.reached for bar in _drawn_nulls.bars({"drawn": drawn, "again": again}))

    @pytest.mark.parametrize("again", [[(51, 5)], [(30, 16)], [(45, 5)] * 4, [(5, 0)] * 4])
    def test_bars_are_missed_where_the_worst_are_too_far_off(self, again):
        drawn = [tally_of(seed, 3, trials=60, phase="drawn") for seed in range(20)]
        tallies = {"drawn": drawn, "again": [tally_of(seed, *counts) for seed, counts in enumerate(again)]}
        assert not all(bar.reached for bar in _drawn_nulls.bars(tallies))

    def test_with_few_trials_a_bar_is_what_chance_explains(self):
        few = _drawn_nulls.highest_bar("name", [tally_of(0, 3, trials=20)], 0.05, 0.07, 12)
        many = _drawn_nulls.highest_bar("name", [tally_of(0, 36)], 0.05, 0.07, 12)
        assert few.reached
        assert not many.reached

    def test_a_few_trials_of_every_case_come_first_and_then_the_cheapest_cases(self):
        found = _drawn_nulls.in_order(["a", "b", "c"], range(0, 30, 10), {"a": 5.0, "b": 0.1, "c": 1.0})
        assert found[:3] == [("a", 0), ("b", 0), ("c", 0)]
        assert found[3:] == [("b", 10), ("b", 20), ("c", 10), ("c", 20), ("a", 10), ("a", 20)]

    def test_a_phase_is_summed_up(self):
        text = _drawn_nulls.summary("drawn", [tally_of(0, 50, 5), tally_of(1, 0)])
        assert text == "drawn: 2 cases of 500 trials: 0.0500 at 0.05, 0.0050 at 0.01; highest 0.100, drawn 0"

    def test_records_become_a_tally(self):
        records = [{"verdict": 0.04, "smallest": "bins"}, {"verdict": 0.5, "smallest": "rates"}, {"failed": "error"}]
        name = next(name for name, case in nulls.fixed().items() if case.judged == "verdict")
        found = _drawn_nulls.tally(name, "table", 0, records)
        assert (found.trials, found.at_05, found.at_01) == (3, 1, 0)
        assert found.findings == {"bins": 1}
        assert found.failures == {"error": 1}

    def test_a_stopped_run_goes_on_from_its_journal(self, tmp_path):
        name = "5 to 70 %, bent"
        path = tmp_path / "found.csv"
        _drawn_nulls.measure([name], "table", 0, 2, 1, path)
        journal = _drawn_nulls.journal_of(path, "table")
        (line,) = journal.read_text().splitlines()
        task, records = json.loads(line)
        journal.write_text(json.dumps([task, [{"values": 0.02, "smallest": "noted"}] * 2]) + "\n" + line[:20])
        found = _drawn_nulls.measure([name], "table", 0, 2, 1, path)[0]
        assert len(records) == 2
        assert found.findings == {"noted": 2}

    def test_the_table_is_written_after_each_phase(self, tmp_path, monkeypatch):
        def measure(names, phase, *_, **__):
            if phase == "again":
                raise KeyboardInterrupt
            return [Tally(name, phase, 0, 60, 3, 0, Counter(), Counter()) for name in names]

        monkeypatch.setattr(_drawn_nulls, "measure", measure)
        path = tmp_path / "found.csv"
        options = {
            "only": "drawn",
            "csv": path,
            "seed": 5,
            "cases": 3,
            "trials": 60,
            "again": 500,
            "rows": 0,
            "jobs": 1,
            "minutes": None,
        }
        with pytest.raises(KeyboardInterrupt):
            _drawn_nulls.run_part(argparse.Namespace(**options))
        assert [line.split(",")[:2] for line in path.read_text().splitlines()[1:]] == [
            [f"drawn {seed}", "drawn"] for seed in (5, 6, 7)
        ]

    def test_what_is_noted_of_a_later_phase_outlasts_an_earlier_one(self, tmp_path, monkeypatch):
        """A run that was stopped among the trials of the worst tenth passes all drawn cases before it goes on."""
        path = tmp_path / "drawn-nulls.csv"
        journal = _drawn_nulls.journal_of(path, "again")
        journal.write_text("noted\n")

        def measure(names, phase, *_, **__):
            if phase == "again":
                raise KeyboardInterrupt
            return [Tally(name, phase, 0, 60, 3, 0, Counter(), Counter()) for name in names]

        monkeypatch.setattr(_drawn_nulls, "measure", measure)
        options = {"only": "drawn", "csv": path, "seed": 5, "cases": 3, "trials": 60, "again": 500, "rows": 0}
        with pytest.raises(KeyboardInterrupt):
            _drawn_nulls.run_part(argparse.Namespace(**options, jobs=1, minutes=None))
        assert journal.read_text() == "noted\n"

    def test_a_run_goes_on_from_the_table_of_code_that_gives_the_same(self, tmp_path, monkeypatch):
        path = tmp_path / "table-nulls.csv"
        named = {"5 to 70 %, bent": nulls.fixed()["5 to 70 %, bent"]}
        monkeypatch.setattr(_drawn_nulls, "fixed", lambda: named)
        noted = [{"values": 0.004, "verdict": 0.3, "smallest": "noted", "seconds": 0.5}, {"failed": "no; reason"}]
        monkeypatch.setattr(_drawn_nulls, "run", lambda work, tasks, *_: [noted * (task[2] // 2) for task in tasks])
        options = {"only": "table", "csv": path, "seed": 3, "again": 10, "jobs": 1, "minutes": None}

        def trials():
            with pytest.raises(SystemExit):
                _drawn_nulls.run_part(argparse.Namespace(**options))
            (found,) = _drawn_nulls.read_tallies(path).values()
            return found

        found = trials()
        assert (found.first, found.trials, found.at_05, found.at_01) == (3_000, 10, 5, 5)
        assert found.findings == {"noted": 5}
        options["again"] = 30
        monkeypatch.setattr(_drawn_nulls, "run", lambda work, tasks, *_: [[noted[0]] * task[2] for task in tasks])
        found = trials()
        assert (found.trials, found.at_05, found.findings["noted"]) == (30, 25, 25)
        monkeypatch.setattr(_drawn_nulls, "code_of", lambda: "other")
        assert found.first_p_values == "0.004 none 0.004"
        assert not _drawn_nulls.read_tallies(path)

        def rounded(_, tasks, *__):
            return [[{**noted[0], "values": 0.004003}, noted[1], noted[0]][: task[2]] for task in tasks]

        monkeypatch.setattr(_drawn_nulls, "run", rounded)
        (kept,) = _drawn_nulls.read_tallies(path).values()
        assert (kept.trials, kept.at_05) == (30, 25)

    def test_a_run_that_is_stopped_in_time_leaves_a_table(self, tmp_path, monkeypatch):
        path = tmp_path / "table-nulls.csv"
        monkeypatch.setattr(_drawn_nulls, "run", lambda work, tasks, *_: [[{"verdict": 0.3}] * 10, *[None] * 9])
        monkeypatch.setattr(
            _drawn_nulls,
            "fixed",
            lambda: dict([next((n, c) for n, c in nulls.fixed().items() if c.judged == "verdict")]),
        )
        options = {"only": "table", "csv": path, "seed": 3, "again": 100, "jobs": 1, "minutes": 0.0}
        with pytest.raises(SystemExit, match=r"10 of 100 trials\. Run it again"):
            _drawn_nulls.run_part(argparse.Namespace(**options))
        assert [each.trials for each in _drawn_nulls.read_tallies(path).values()] == [10]

    def test_no_task_is_begun_when_time_is_up(self):
        assert run(abs, [-1, -2], 1, until=time.monotonic() - 1.0) == [None, None]

    def test_tasks_that_are_left_have_no_result(self):
        found = run(_slowly, list(range(40)), 1, until=time.monotonic() + 0.5)
        n_done = sum(each is not None for each in found)
        assert 0 < n_done < 40
        assert found[:n_done] == list(range(n_done))

    def test_figures_stand_when_only_words_change(self):
        source = '''"""Module."""\nA = "text"\n"""What A is."""\ndef f(x):\n    """Double."""\n    return 2 * x\n'''
        reworded = '''A = "text"  # said here\ndef f(x):\n    """Twice x."""\n\n    return 2 * x\n'''
        assert without_words(source) == without_words(reworded)
        assert without_words(source) != without_words(source.replace("2 * x", "3 * x"))
        assert without_words(source) != without_words(source.replace('"text"', '"word"'))

    def test_failing_seeds_are_kept_once(self, tmp_path, monkeypatch):
        path = tmp_path / "kept.csv"
        path.write_text("seed,reason,description\n")
        monkeypatch.setattr(nulls, "KEPT", path)
        nulls.keep({"drawn 3": "too many"})
        nulls.keep({"drawn 3": "again", "drawn 4": "error"})
        assert nulls.kept() == {name: str(nulls.null_case(name)) for name in ("drawn 3", "drawn 4")}


class TestDrifts:
    def test_methods_are_compared_at_the_same_measured_level(self):
        """A method whose p-values are ten times too small finds no more for it."""
        rng = np.random.default_rng(0)
        p_values = rng.random((200, len(_drawn_drifts.METHODS), 2))
        p_values[:, :, 0] /= 4
        p_values[:, 1] = p_values[:, 0] / 10
        rows = np.concatenate([p_values, np.zeros((200, 1, 2))], axis=1)
        name = "skewness 0"
        found = _drawn_drifts.shares([name], [(name, 0, 200)], [rows.tolist()])[0]
        assert found.found[0] == found.found[1] == pytest.approx(0.2, abs=0.1)
        assert found.levels[0] < 0.1
        assert found.levels[1] > 0.4

    def test_columns_that_share_a_changed_dependence_are_touched(self):
        assert drift_case("one correlation falls 1").untouched[:1] != (0,)
        assert 1 not in drift_case("one correlation falls 1").untouched
        assert drift_case("all correlations rise 1").untouched == ()

    def test_a_trial_has_a_p_value_of_every_method_with_and_without_drift(self):
        case = drift_case("one of six correlations")
        rows = np.array(_drawn_drifts.trial_of(case, 0))
        assert rows.shape == (len(_drawn_drifts.METHODS) + 1, 2)
        assert ((rows >= 0) & (rows <= 1)).all()


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3, 200, 3))
    rows[:, :, 1] = rng.integers(3, size=(3, 200))
    rows[1, :, 0] += 1.5
    rows[rng.random(rows.shape) < 0.2] = np.nan
    return rows


def test_rivals_find_a_plain_shift_and_nothing_where_there_is_none(samples):
    reference, moved, calm = samples
    found = _rivals.rival_p_values(reference, moved, (1,), np.random.default_rng(1))
    assert set(found) == set(_rivals.RIVALS)
    assert max(found.values()) < 0.01
    assert min(_rivals.rival_p_values(reference, calm, (1,), np.random.default_rng(1)).values()) > 0.005


def test_energy_distance_and_mmd_are_those_of_the_loops(samples):
    one, two = _rivals.filled(samples[0][:30], samples[1][:40], (1,))
    both = np.vstack([one, two])
    distances = np.linalg.norm(both[:, None] - both, axis=2)
    labels = np.repeat([True, False], [30, 40])
    order = np.random.default_rng(2)
    chosen = [labels, *(order.permutation(labels.astype(np.float32)) == 1 for _ in range(_rivals.PERMUTATIONS))]
    width = 2 * np.median(distances[np.triu_indices(70, 1)] ** 2)
    p_values = []
    for kernel in (np.exp(-(distances**2) / width), -distances):
        statistics = [kernel[z][:, z].mean() + kernel[~z][:, ~z].mean() - 2 * kernel[z][:, ~z].mean() for z in chosen]
        p_values.append(np.mean(np.array(statistics) >= statistics[0] - 1e-9))
    found = _rivals.kernel_tests(one, two, np.random.default_rng(2))
    np.testing.assert_allclose(found, p_values, atol=0.006)
