"""The machinery of the abuse benchmark, and a few of its cases."""

import json

import pytest

from benchmarks import abuse

ONCE_FAILED = (12, 32, 52, 63, 133, 149, 192, 304, 328, 376, 603)
"""Cases that failed when they were first run."""


@pytest.mark.parametrize("seed", [*range(16), *ONCE_FAILED])
def test_drawn_cases(seed):
    found = abuse.run_case(seed)
    assert found["outcome"] in {"result", "undetermined", "own error"}, found["detail"]


def test_a_run_goes_on_from_its_journal_and_misses_bars_where_cases_fail(tmp_path, monkeypatch, capsys):
    ran = []

    class Worker:
        def run(self, seed):
            ran.append(seed)
            outcome = "hang" if seed == 3 else "result"
            return {"seed": seed, "side": "library", "what": "", "outcome": outcome, "detail": "no end"}

        def close(self):
            pass

    monkeypatch.setattr(abuse, "Worker", Worker)
    journal = tmp_path / "abuse.part"
    journal.write_text(json.dumps(Worker().run(0)) + "\n{half a line")
    found = abuse.run_all(5, journal)
    assert ran == [0, 1, 2, 3, 4]
    bars = {bar.name: bar.reached for bar in abuse.show(found)}
    assert (bars["hang"], bars["foreign error"], bars["cases"]) == (False, True, False)
    assert "case 3: hang, no end" in capsys.readouterr().out


@pytest.mark.parametrize(
    "node", [{"p_value": 0.0}, {"p_value": 1.5}, {"a": [float("nan")]}, {"a": {"b": float("inf")}}]
)
def test_numbers_that_no_result_may_hold(node):
    with pytest.raises(abuse.NotANumberError):
        abuse._check_numbers(node)


def test_a_worker_that_hangs_is_started_anew(monkeypatch):
    monkeypatch.setattr(abuse, "MAX_CLOCK", 0.0)
    worker = abuse.Worker()
    assert worker.run(1)["outcome"] == "hang"
    worker.close()
