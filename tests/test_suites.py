import pandas as pd
import pytest

import gapdrift as gd
from gapdrift.cli import main
from gapdrift.suites import load_suite, run_suite

pytest_plugins = ["pytester"]


@pytest.fixture
def folder(tmp_path):
    pd.DataFrame(gd.datasets.stations(300, rng=0)).to_csv(tmp_path / "june.csv", index=False)
    pd.DataFrame(gd.datasets.stations(300, rng=1)).to_csv(tmp_path / "july.csv", index=False)
    pd.DataFrame(gd.datasets.stations(300, rng=2, drift=True)).to_csv(tmp_path / "drifted.csv", index=False)
    return tmp_path


def write(folder, text="", window="july.csv"):
    path = folder / "suite.yml"
    path.write_text(f"reference: june.csv\nwindow: {window}\n{text}")
    return path


def test_a_suite_passes_or_names_what_failed(folder):
    assert run_suite(load_suite(write(folder))).passed
    strict = "columns:\n  wind: {maximum: 3, max_missing: 0.9}\n"
    outcome = run_suite(load_suite(write(folder, strict)))
    assert [(check.name, check.column) for check in outcome.checks if not check.passed] == [("range", "wind")]
    drifted = run_suite(load_suite(write(folder, window="drifted.csv")))
    assert [check.name for check in drifted.checks if not check.passed] == ["drift"]
    assert run_suite(load_suite(write(folder, "drift: false\n", "drifted.csv"))).passed


def test_columns_that_vanished_and_other_types_are_failed_checks(folder):
    rows = pd.read_csv(folder / "july.csv")
    suite = load_suite(write(folder, "settings: {alpha: 0.01}\n"))

    def failed(window):
        return {(check.name, check.column) for check in run_suite(suite, window).checks if not check.passed}

    # Which cells are missing has changed as well; the other columns are compared all the same.
    assert failed(rows.drop(columns="wind")) == {("columns", "wind"), ("missing", "wind"), ("drift", "")}
    assert failed(rows.assign(wind="calm")) == {("types", "wind"), ("missing", "wind"), ("drift", "")}


def test_a_saved_detector_is_a_reference(folder):
    gd.DriftDetector(random_state=0).fit(folder / "june.csv").save(folder / "june.gapdrift")
    path = folder / "saved.yml"
    path.write_text("reference: june.gapdrift\nwindow: july.csv\n")
    assert run_suite(load_suite(path)).passed
    path.write_text("reference: june.gapdrift\nwindow: july.csv\nsettings: {alpha: 0.1}\n")
    with pytest.raises(gd.errors.ParameterError, match="a saved detector has its own"):
        run_suite(load_suite(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colums: {}", "has colums, expected some of reference"),
        ("drift: maybe", "'maybe' as drift, expected true or false"),
        ("limits: [1]", r"\[1\] as limits, expected names with values"),
        ("columns: {wind: {max: 1}}", "column wind of .* has max, expected some of max_missing"),
        ("limits: {max_missing: much}", "max_missing is 'much', expected a number"),
    ],
)
def test_mistakes_in_a_suite_are_named(folder, text, message):
    with pytest.raises(gd.errors.ParameterError, match=message):
        load_suite(write(folder, text))


def test_files_that_are_no_suite(folder):
    (folder / "broken.yml").write_text("a: [")
    with pytest.raises(gd.errors.InputError, match="is no YAML"):
        load_suite(folder / "broken.yml")
    (folder / "list.yml").write_text("- a")
    with pytest.raises(gd.errors.ParameterError, match="holds a list, expected reference"):
        load_suite(folder / "list.yml")
    with pytest.raises(gd.errors.InputError, match="cannot be read"):
        load_suite(folder / "absent.yml")
    (folder / "empty.yml").write_text("window: july.csv")
    with pytest.raises(gd.errors.ParameterError, match="None as its reference"):
        load_suite(folder / "empty.yml")
    with pytest.raises(gd.errors.ParameterError, match="Expected parameters of DriftDetector"):
        run_suite(load_suite(write(folder, "settings: {alhpa: 1}")))


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(["check", *map(str, arguments)])
    return left.value.code


def test_the_command_says_what_failed_by_its_exit_code(folder, capsys):
    assert run(write(folder)) == 0
    assert "checks passed." in capsys.readouterr().out
    assert run(write(folder), "--window", folder / "drifted.csv") == 3
    assert "FAIL drift: DRIFT: the values" in capsys.readouterr().out
    pd.read_csv(folder / "july.csv").head(3).to_csv(folder / "few.csv", index=False)
    assert run(write(folder, window="few.csv")) == 4
    assert "UNDETERMINED" in capsys.readouterr().out


def test_the_fixture_fails_a_test_where_a_table_drifted(pytester):
    pytester.makepyfile(
        """
        import gapdrift as gd

        JUNE = gd.datasets.stations(300, rng=0)

        def test_calm(assert_no_drift):
            assert assert_no_drift(JUNE, gd.datasets.stations(300, rng=1), alpha=0.01).n_window == 300

        def test_drift(assert_no_drift):
            detector = gd.DriftDetector(random_state=0).fit(JUNE)
            assert_no_drift(detector, gd.datasets.stations(300, rng=2, drift=True))

        def test_limit(assert_no_drift):
            assert_no_drift(JUNE, gd.datasets.stations(300, rng=1), limits={"max_missing": 0.01})
        """
    )
    # Installed, the plugin is loaded already.
    plugins = ("no:gapdrift", "gapdrift.pytest_plugin", "no:cacheprovider")
    outcome = pytester.runpytest_inprocess(*(word for plugin in plugins for word in ("-p", plugin)))
    outcome.assert_outcomes(passed=1, failed=2)
    outcome.stdout.fnmatch_lines(["*DRIFT: the values of the window differ*", "*sky: *cells are missing*"])
