import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers import bars, conformance, measuring, tables
from benchmarks.peers.__main__ import chosen
from benchmarks.peers.environments import PEERS, Environment, Peer, prepare
from benchmarks.peers.measuring import Run, conformance_task, speed_task, verdict_task
from benchmarks.peers.methods import METHODS, OURS
from benchmarks.peers.scenarios import DEPENDENCE, MEAN_SHIFT, Case, cases, draw, moved_rate, write_pair
from benchmarks.peers.tables import Table, alarms, markdown, put_between_marks
from benchmarks.peers.worker import Worker, failure

from experiments.journal import Journal

FAKE = """
    import json, os, sys, time
    print(json.dumps({"ready": []}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if command["method"] == "crash":
            print("the last words", file=sys.stderr, flush=True)
            os._exit(3)
        if command["method"] == "hang":
            time.sleep(60)
        answer = {"drift": command["method"] == "alarm", "p_value": None, "seconds": 0.5, "cpu_seconds": 0.5,
                  "peak_mib": 1.0, "error": None, "details": {"process": os.getpid()}}
        with open(command["log"], "a") as file:
            file.write("asked\\n")
        print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def adapter(tmp_path):
    path = tmp_path / "fake_adapter.py"
    path.write_text(textwrap.dedent(FAKE))
    return path


@pytest.fixture
def worker(adapter):
    with Worker(Path(sys.executable), adapter, timeout=5.0, memory_gib=4.0) as found:
        yield found


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journal.part")


def answered(drift, seconds=1.0, **details):
    return {
        **failure(""),
        "drift": drift,
        "seconds": seconds,
        "cpu_seconds": seconds,
        "peak_mib": 9.0,
        "error": None,
        "warnings": [],
    } | {"details": details}


def is_running(stat):
    """Whether a process, by its file under /proc, has not ended."""
    try:
        return ") Z " not in stat.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


class TestWorker:
    def test_one_process_answers_all_commands(self, worker, tmp_path):
        commands = [{"method": name, "log": str(tmp_path / "log")} for name in ("alarm", "calm")]
        one, two = map(worker.ask, commands)
        assert (one["drift"], two["drift"]) == (True, False)
        assert one["details"] == two["details"]

    def test_a_crash_is_an_answer_and_the_next_command_is_heard(self, worker, tmp_path):
        error = worker.ask({"method": "crash"})["error"]
        assert error == "crash: the process ended with 3: the last words"
        assert worker.ask({"method": "alarm", "log": str(tmp_path / "log")})["drift"] is True

    def test_a_process_that_hangs_is_an_answer_too(self, adapter, tmp_path):
        with Worker(Path(sys.executable), adapter, timeout=5.0, memory_gib=4.0) as worker:
            worker.ask({"method": "calm", "log": str(tmp_path / "log")})
            worker._timeout = 0.3
            answer = worker.ask({"method": "hang"})
            assert answer == {**failure("timeout: no answer within 0.3 s"), "cpu_seconds": answer["cpu_seconds"]}
            assert 0 <= answer["cpu_seconds"] < 0.3
            worker._timeout = 5.0
            assert worker.ask({"method": "calm", "log": str(tmp_path / "log")})["drift"] is False

    def test_an_adapter_that_does_not_start_is_an_answer(self, tmp_path):
        broken = tmp_path / "broken_adapter.py"
        broken.write_text("import a_library_that_is_not_there")
        with Worker(Path(sys.executable), broken, timeout=5.0, memory_gib=4.0) as worker:
            error = worker.ask({"method": "alarm"})["error"]
            assert error.startswith("does not start: the process ended with 1: ModuleNotFoundError")
            broken.unlink()
            assert worker.ask({"method": "alarm"})["error"] == error

    def test_children_end_with_their_process(self, tmp_path):
        parent = tmp_path / "parent_adapter.py"
        parent.write_text(
            "import subprocess, sys\n"
            "print('{}', flush=True)\n"
            "sys.stdin.readline()\n"
            "child = subprocess.Popen(['sleep', '60'])\n"
            f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
            "child.wait()\n"
        )
        with Worker(Path(sys.executable), parent, timeout=2.0, memory_gib=4.0) as worker:
            assert worker.ask({"method": "hang"})["error"].startswith("timeout")
        child = Path("/proc") / (tmp_path / "child").read_text() / "stat"
        # A signal is sent at once and takes effect soon after.
        deadline = time.monotonic() + 10.0
        while is_running(child) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_running(child)

    def test_no_interpreter_is_an_answer(self, adapter, tmp_path):
        with Worker(tmp_path / "nowhere" / "python", adapter, timeout=5.0, memory_gib=4.0) as worker:
            assert worker.ask({"method": "alarm"})["error"].startswith("crash: ")


class TestRun:
    @pytest.fixture
    def asked(self, monkeypatch):
        """Commands that reached a peer, which always answers calmly."""
        commands = []

        class Fake:
            def __init__(self, *args):
                pass

            def __enter__(self):
                return self

            def __exit__(self, *args):
                pass

            def ask(self, command, warm_up=False):
                if not warm_up:
                    commands.append(command)
                return answered(False) if "KSample" not in command["method"] else failure("ValueError: NaN")

        monkeypatch.setattr(measuring, "Worker", Fake)
        monkeypatch.setattr(measuring, "prepare", lambda peer: Environment(Path(sys.executable)))
        monkeypatch.setattr(measuring, "cases", lambda: [Case("numbers", "none", 0.2)])
        monkeypatch.setattr(measuring, "VERDICT_ROWS", 20)
        return commands

    def run(self, journal):
        return Run(journal, 5.0, 4.0, lambda text: None)

    def test_a_run_goes_on_with_what_its_journal_lacks(self, asked, journal):
        methods = METHODS[:2]
        self.run(journal).verdicts(methods, trials=3)
        assert len(asked) == 6
        again = Journal(journal.path)
        self.run(again).verdicts(methods, trials=4)
        assert len(asked) == 8

    def test_what_fails_three_times_is_not_tried_on(self, asked, journal):
        method = next(method for method in METHODS if "KSample" in method.name)
        self.run(journal).verdicts([method], trials=10)
        assert len(asked) == 3
        found = alarms(journal, method, Case("numbers", "none", 0.2), 10)
        assert (found.trials, found.share(10)) == (0, "error")

    def test_a_slow_method_makes_fewer_trials(self, asked, journal):
        Run(journal, 5.0, 4.0, lambda text: None, seconds=2.5).verdicts(METHODS[:1], trials=10)
        assert len(asked) == 3
        assert alarms(journal, METHODS[0], Case("numbers", "none", 0.2), 10).share(10) == "0.00 of 3"

    def test_the_larger_sizes_of_what_was_too_slow_are_not_tried(self, asked, journal):
        journal.add(speed_task(METHODS[0], 100), failure("timeout: no answer within 5 s"))
        self.run(journal).speed(METHODS[:1], [100, 200])
        assert asked == []
        assert journal.get(speed_task(METHODS[0], 200))["error"] == "not tried: too much for it at 100 rows"

    def test_a_peer_that_was_not_installed_says_why_in_every_row(self, asked, journal, monkeypatch):
        monkeypatch.setattr(measuring, "prepare", lambda peer: Environment(Path("x"), "ERROR: no such version"))
        self.run(journal).speed(METHODS[1:2], [50])
        assert journal.get(speed_task(METHODS[1], 50))["error"] == "not installed: ERROR: no such version"

    def test_other_versions_are_another_method(self, monkeypatch):
        before = speed_task(METHODS[1], 50)
        monkeypatch.setitem(measuring.PEERS, METHODS[1].peer, Peer(METHODS[1].peer, ("another==1.0",)))
        assert speed_task(METHODS[1], 50) != before


class TestEnvironments:
    def test_ours_is_the_running_interpreter(self):
        assert prepare(PEERS[OURS]) == Environment(Path(sys.executable))

    def test_what_could_not_be_installed_is_remembered(self, tmp_path, monkeypatch):
        calls = []

        def fails(command):
            calls.append(command)
            return "ERROR: no matching distribution" if "pip" in command else ""

        monkeypatch.setattr("benchmarks.peers.environments._run", fails)
        peer = Peer("absent", ("absent==0.0",))
        for _ in range(2):
            assert prepare(peer, tmp_path).error == "ERROR: no matching distribution"
        assert len(calls) == 2
        prepare(Peer("absent", ("absent==0.1",)), tmp_path)
        assert len(calls) == 4

    def test_every_peer_is_pinned_and_has_an_adapter(self):
        for peer in PEERS.values():
            assert peer.adapter.is_file()
            assert all("==" in requirement for requirement in peer.requirements)
        assert {method.peer for method in METHODS} == set(PEERS)

    def test_no_two_rows_have_one_title(self):
        assert len({method.title for method in METHODS}) == len(METHODS)

    def test_an_unknown_peer_ends_the_program(self):
        with pytest.raises(SystemExit, match="no peer is called nobody"):
            chosen("nobody")
        assert {method.peer for method in chosen("river")} == {OURS, "river"}


class TestScenarios:
    def test_without_gaps_there_are_none_to_move(self):
        assert {case.scenario for case in cases() if not case.rate} == {"none", "mean", "dependence"}

    def test_a_trial_is_the_same_again_and_others_differ(self):
        case = Case("mixed", "both", 0.2)
        one, again, other = (draw(case, 50, seed)[0] for seed in (3, 3, 4))
        assert one.equals(again)
        assert not one.equals(other)

    def test_only_the_first_column_has_more_gaps(self):
        reference, window = draw(Case("mixed", "gaps", 0.2), 5_000, seed=0)
        assert np.allclose(reference.isna().mean(), 0.2, atol=0.03)
        assert np.allclose(window.isna().mean(), [moved_rate(0.2), 0.2, 0.2, 0.2, 0.2], atol=0.03)

    def test_drifts_are_of_their_size(self):
        _, moved = draw(Case("numbers", "mean", 0.0), 200_000, seed=0)
        assert np.allclose(moved.mean(), [MEAN_SHIFT, 0, 0, 0], atol=0.01)
        _, loose = draw(Case("numbers", "dependence", 0.0), 200_000, seed=0)
        assert loose.corr().iloc[0, 1] == pytest.approx(DEPENDENCE, abs=0.01)
        assert loose.corr().iloc[2, 3] == pytest.approx(0.5, abs=0.01)
        assert np.allclose(loose.std(), 1, atol=0.01)

    def test_sizes_are_those_of_80_percent_power(self):
        from scipy.stats import chi2, ncx2

        inverse = np.linalg.inv(np.full((4, 4), 0.5) + 0.5 * np.eye(4))
        mean = 500 * MEAN_SHIFT**2 * inverse[0, 0]
        change = 500 * (0.5 - DEPENDENCE) ** 2 * (inverse[0, 0] * inverse[1, 1] + inverse[0, 1] ** 2)
        assert ncx2.sf(chi2.isf(0.05, 4), 4, mean) == pytest.approx(0.8, abs=0.01)
        assert ncx2.sf(chi2.isf(0.05, 10), 10, change) == pytest.approx(0.8, abs=0.01)


class TestConformance:
    yes, no, none, error = answered(True), answered(False), answered(None), failure("ValueError: NaN")
    numbers_only = failure("NumbersOnly: 'x1' holds object")

    @pytest.mark.parametrize(
        ("calm", "drifted", "expected", "expected_if_open"),
        [
            (no, yes, "right", "right"),
            (yes, yes, "wrong", "wrong"),
            (no, no, "wrong", "right"),
            (yes, no, "wrong", "wrong"),
            (error, error, "error", "right"),
            (none, none, "error", "right"),
            (yes, error, "wrong", "wrong"),
            (error, no, "wrong", "right"),
            (no, error, "error", "right"),
            (numbers_only, numbers_only, "numbers only", "numbers only"),
        ],
    )
    def test_judgement(self, calm, drifted, expected, expected_if_open):
        assert conformance.judge(calm, drifted) == expected
        assert conformance.judge(calm, drifted, open_question=True) == expected_if_open

    def test_inputs_are_what_their_names_say(self, tmp_path):
        made = {case.name: conformance.sides(case) for case in conformance.INPUTS}
        assert len(made) == 12
        assert not any(table.isna().any(axis=None) for table in conformance.sides(conformance.CONTROL).values())
        assert made["one NaN in the window"]["calm"].isna().sum().sum() == 1
        assert not made["NaN only in the window"]["reference"].isna().any(axis=None)
        assert made["NaN only in the window"]["calm"].isna().sum().sum() == 3
        assert made["NaN only in the reference"]["reference"].isna().sum().sum() == 3
        assert not made["NaN only in the reference"]["drifted"].isna().any(axis=None)
        assert made["a column all NaN"]["calm"]["x1"].isna().all()
        assert made["rows all NaN"]["calm"].isna().all(axis=1).sum() == 50
        assert len(made["no complete row"]["reference"].dropna()) == 0
        assert made["a constant column"]["calm"]["x1"].nunique() == 1
        assert str(made["integers with gaps"]["calm"]["x1"].dtype) == "Int64"
        new = made["a new level"]
        assert [(table["x1"] == "d").sum() for table in new.values()] == [0, 1, conformance.ROWS // 2]
        assert len(made["a window of one row"]["drifted"]) == 1
        for name, sides in made.items():
            write_pair(tmp_path / name, sides["reference"], sides["drifted"])

    def test_twelve_gaps_against_none_are_a_change_of_gaps_and_said_to_be_one(self):
        import gapdrift as gd

        sides = conformance.sides(conformance.CONTROL)
        holes = np.zeros((conformance.ROWS, 4), dtype=bool)
        for column in range(4):
            holes[column * 3 : column * 3 + 3, column] = True
        result = gd.DriftDetector(random_state=0).fit(sides["reference"].mask(holes)).test(sides["calm"])
        assert result.drift
        assert result.values.p_value > 0.05
        assert result.missingness.p_value < 0.005


class TestTables:
    def test_markdown_keeps_cells_apart(self):
        assert markdown(Table("t", ("a", "b"), (("x|y", "<class>"),))).splitlines()[-1] == "| x\\|y | &lt;class> |"

    def test_words_around_the_tables_stay(self, tmp_path):
        page = tmp_path / "page.md"
        page.write_text("before\n<!-- t -->\nold\n<!-- /t -->\nafter\n")
        for _ in range(2):
            put_between_marks(page, {"t": "| new |"})
            assert page.read_text() == "before\n<!-- t -->\n| new |\n<!-- /t -->\nafter\n"

    @pytest.mark.parametrize("text", ["", "<!-- t -->", "<!-- /t --> <!-- t -->", "<!-- t --><!-- t --><!-- /t -->"])
    def test_a_page_without_its_marks_is_an_error(self, tmp_path, text):
        page = tmp_path / "page.md"
        page.write_text(text)
        with pytest.raises(ValueError, match="must have the marks"):
            put_between_marks(page, {"t": "new"})
        assert page.read_text() == text

    def test_the_docs_have_the_marks_of_all_tables(self, journal):
        page = (Path(__file__).parents[2] / "docs" / "evidence" / "peers.md").read_text()
        made = [tables.method_table(), tables.speed_table(journal, [10]), *tables.verdict_tables(journal, 1)]
        for table in (*made, tables.conformance_table(journal), tables.error_table(journal)):
            assert page.count(f"<!-- {table.name} -->") == page.count(f"<!-- /{table.name} -->") == 1

    def test_an_empty_journal_makes_empty_tables(self, journal):
        made = [
            tables.speed_table(journal, [10]),
            *tables.verdict_tables(journal, 5),
            tables.conformance_table(journal),
        ]
        assert {markdown(table) for table in made} == {"Not measured yet."}

    def test_shares_count_answers_only(self, journal):
        case = Case("numbers", "none", 0.2)
        for seed, answer in enumerate((answered(True, values=0.01), answered(False, values=0.4), failure("crash: x"))):
            journal.add(verdict_task(METHODS[0], case, seed), answer)
        found = alarms(journal, METHODS[0], case, 10)
        assert (found.trials, found.drift, found.values, found.errors) == (2, 1, 1, ("crash: x",))
        assert found.share(2) == "0.50"
        assert found.share(10) == "0.50 of 2"

    def test_what_is_said_with_a_wrong_verdict_is_shown_once(self, journal):
        warned = {**answered(True), "warnings": ["the column is empty"]}
        for case in conformance.INPUTS[:2]:
            journal.add(conformance_task(METHODS[0], case, "calm"), warned)
            journal.add(conformance_task(METHODS[0], case, "drifted"), failure("ValueError: NaN"))
        title, first = METHODS[0].title, conformance.INPUTS[0].name
        assert tables.error_table(journal).rows == (
            (title, first, "warning: the column is empty"),
            (title, first, "ValueError: NaN"),
        )

    def test_conformance_counts_what_is_right(self, journal):
        for index, case in enumerate(conformance.INPUTS):
            journal.add(conformance_task(METHODS[0], case, "calm"), answered(index == 0))
            journal.add(conformance_task(METHODS[0], case, "drifted"), answered(True))
        row = tables.conformance_table(journal).rows[0]
        assert row[:7] == (METHODS[0].title, "11", "1", "0", "0", "", "wrong")
        assert [bar.reached for bar in bars.conformance_bars(journal)] == [False]


class TestBars:
    candidate = next(method for method in METHODS[1:] if method.multivariate and not method.filled)
    univariate = next(method for method in METHODS if not method.multivariate)

    def test_time_is_held_against_multivariate_methods_with_gaps_at_large_sizes(self, journal):
        for size, ours, theirs in ((1_000, 1.0, 1.0), (10_000, 1.0, 9.0), (100_000, 1.0, 11.0)):
            journal.add(speed_task(METHODS[0], size), answered(False, ours))
            journal.add(speed_task(self.candidate, size), answered(False, theirs))
            journal.add(speed_task(self.univariate, size), answered(False, 0.1))
        found = bars.speed_bars(journal, [1_000, 10_000, 100_000])
        assert [(bar.figure, bar.reached) for bar in found] == [(9.0, False), (11.0, True)]

    def test_a_timeout_counts_with_the_time_taken_and_a_refusal_not_at_all(self, journal):
        others = [method for method in METHODS[1:] if method.multivariate and not method.filled][:2]
        journal.add(speed_task(METHODS[0], 10_000), answered(False, 2.0))
        given_up = {**failure("timeout: no answer within 120 s"), "cpu_seconds": 100.0}
        journal.add(speed_task(others[0], 10_000), given_up)
        journal.add(speed_task(others[1], 10_000), failure("ValueError: Input contains NaN"))
        assert [bar.figure for bar in bars.speed_bars(journal, [10_000])] == [50.0]

    def fill(self, journal, method, false, found, trials=20):
        for case in cases():
            count = found if case.scenario in {"mean", "dependence", "both"} else false
            for seed in range(trials):
                alarm = seed < count
                journal.add(verdict_task(method, case, seed), answered(alarm, values=0.001 if alarm else 0.5))

    def test_more_must_be_found_than_by_those_whose_false_alarms_hold(self, journal):
        self.fill(journal, METHODS[0], false=1, found=15)
        self.fill(journal, self.candidate, false=1, found=15)
        last = bars.verdict_bars(journal, 20)[-1]
        assert self.candidate.title in last.name
        assert not last.reached

    def test_those_that_always_alarm_are_not_compared_with(self, journal):
        self.fill(journal, METHODS[0], false=1, found=15)
        self.fill(journal, self.candidate, false=20, found=20)
        found = bars.verdict_bars(journal, 20)
        assert all(bar.reached for bar in found)
        assert not any(self.candidate.title in bar.name for bar in found)

    def test_our_own_false_alarms_must_hold(self, journal):
        self.fill(journal, METHODS[0], false=8, found=20)
        assert not any(bar.reached for bar in bars.verdict_bars(journal, 20))
