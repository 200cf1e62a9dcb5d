import pytest

from docs._tools.terminal import ROOT, check_run_by, check_times, run_crontab, run_dry


def test_a_crontab_is_run_with_its_own_variables_only(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "known")
    run_crontab('PATH=/usr/bin:/bin\n# every night\n0 3 * * *  echo "$PATH$SECRET" > out.txt\n', tmp_path)
    assert (tmp_path / "out.txt").read_text() == "/usr/bin:/bin\n"


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        ("0 25 * * * true", ValueError, "'25' is no field of a crontab from 0 to 23"),
        ("0 3 * * true", ValueError, "five fields"),
        ("0 3 * * * date +%F", ValueError, "cron ends a command at '%'"),
        ("0 3 * * * exit 3", RuntimeError, "exit code 3"),
    ],
)
def test_crontabs_that_are_wrong(tmp_path, line, error, words):
    with pytest.raises(error, match=words):
        run_crontab(line, tmp_path)


def test_fields_of_a_crontab():
    check_times(["*/5", "0-6,22", "1,15", "*", "1-5"])


@pytest.mark.parametrize(
    "command",
    ["make test", "python -m benchmarks.grammar 'drawn 3' --trials 100  # one", "pytest tests/docs/test_links.py"],
)
def test_dry_runs(command):
    run_dry(command)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("make nothing", "No rule"),
        ("python -m benchmarks.grammar 'drawn 3' --tries 100", "unrecognized arguments: --tries"),
        ("python -m benchmarks.nothing", "No module named"),
        ("pytest tests/docs/test_nothing.py", "not found"),
    ],
)
def test_dry_runs_fail_where_a_real_one_would(command, words):
    with pytest.raises(RuntimeError, match=words):
        run_dry(command)


def test_what_cannot_be_run_dry():
    with pytest.raises(ValueError, match="only make, pytest and python -m"):
        run_dry("rm -r site")


def test_commands_that_a_script_runs():
    assert (ROOT / ".ci/run").exists()
    check_run_by("make test   # eight minutes", ".ci/run")
    with pytest.raises(ValueError, match="does not run 'make engine'"):
        check_run_by("make engine", ".ci/run")
