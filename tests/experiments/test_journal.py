import json

import pytest

from experiments.journal import Journal
from experiments.running import run_tasks


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "run.jsonl"


def test_what_was_added_is_there_again(path):
    journal = Journal(path)
    journal.add(["a", 1], {"alarms": [1, 2]})
    journal.add(["b", 2], 0.1)
    again = Journal(path)
    assert ["a", 1] in again
    assert ["c", 1] not in again
    assert again.get(["a", 1]) == {"alarms": [1, 2]}
    assert again.get(["b", 2]) == 0.1


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_line_cut_short_is_not_there(path, cut):
    journal = Journal(path)
    journal.add("first", 1)
    whole = path.read_bytes()
    journal.add("second", {"x": 123456789})
    path.write_bytes(path.read_bytes()[: max(len(whole), len(path.read_bytes()) - cut)])
    again = Journal(path)
    assert "second" not in again
    again.add("second", {"x": 5})
    again.add("third", 3)
    assert Journal(path).get("second") == {"x": 5}
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_no_nan_is_written(path):
    with pytest.raises(ValueError, match="not JSON"):
        Journal(path).add("a", float("nan"))


def test_results_of_another_commit_can_be_made_anew(path):
    Journal(path, "old").add("first", 1)
    journal = Journal(path, "new")
    run_tasks(lambda _: 2, ["first", "second"], journal, 1)
    assert (journal.get("first"), journal.get("second")) == (1, 2)
    run_tasks(lambda _: 3, ["first", "second"], journal, 1, again=True)
    again = Journal(path)
    assert (again.get("first"), again.get("second")) == (3, 2)
    assert again.commit_of("first") == "new"
