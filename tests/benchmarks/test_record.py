import pytest
from benchmarks.record import Recorded, keep, read_runs


def test_runs_are_read_as_they_were_kept_and_replaced_by_the_same_command(tmp_path):
    path = tmp_path / "results" / "fit.txt"
    old, other = (Recorded(f"python -m benchmarks.fit --{name}", "abc1234", "2026-11-15", "a\n\nb") for name in "xy")
    new = Recorded(old.command, "def5678, changed", "2026-11-16", "c")
    for run in (old, other, new):
        keep(path, run)
    assert read_runs(path) == [new, other]
    assert read_runs(tmp_path / "nothing.txt") == []


def test_a_run_without_its_commit_is_an_error(tmp_path):
    path = tmp_path / "fit.txt"
    path.write_text("$ python -m benchmarks.fit\n9 of 9 bars reached\n")
    with pytest.raises(ValueError, match="has no line '# gapdrift at COMMIT, DAY'"):
        read_runs(path)
