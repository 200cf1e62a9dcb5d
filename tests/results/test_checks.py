import dataclasses

import numpy as np
import pandas as pd
import pytest

import gapdrift as gd
from gapdrift.results import Limits, run_checks


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)

    def table(n_rows):
        return {
            "price": rng.gamma(2.0, 10.0, n_rows),
            "size": rng.normal(size=n_rows),
            "kind": rng.choice(["a", "b"], n_rows).astype(object),
            "flat": rng.integers(0, 2, n_rows).astype(float),
        }

    reference, window = table(400), table(300)
    window["price"][:200] = np.nan
    window["size"][0] = 1_000.0
    window["kind"][:30] = "c"
    window["flat"][:] = 1.0
    window["extra"] = np.zeros(300)
    for cells in window.values():
        cells[100:200] = cells[:100]
    return gd.compare(reference, window)


def failed(checks):
    return {(check.name, check.column) for check in checks if not check.passed}


def test_every_rule_that_is_broken_is_named(result):
    assert failed(result.checks) == {
        ("missing", "price"),
        ("range", "size"),
        ("categories", "kind"),
        ("constant", "flat"),
        ("duplicates", ""),
    }
    passed = [check.passed for check in result.checks]
    assert passed == sorted(passed)
    messages = {check.name: check.message for check in result.checks if not check.passed}
    assert "'c' (60)" in messages["categories"]
    assert messages["missing"].startswith("66.7 % of the cells are missing, expected at most 10 %")
    assert "33.3 % of the rows are copies" in messages["duplicates"]
    assert failed(run_checks(result, Limits(allow_new_columns=False))) - failed(result.checks) == {("columns", "")}


def test_a_window_like_its_reference_passes():
    rows = gd.datasets.stations(500, rng=0)
    assert not failed(gd.compare(rows, gd.datasets.stations(500, rng=1)).checks)


def test_columns_have_limits_of_their_own(result):
    own = {
        "price": {"max_missing": 0.7, "maximum": 1.0},
        "size": {"ignore": True},
        "kind": {"max_new_share": 0.5},
        "flat": {"allow_constant": True, "max_effect": 0.001},
    }
    found = failed(run_checks(result, Limits(max_duplicate_rise=1.0), own))
    assert found == {("range", "price"), ("effect", "flat")}
    assert not failed(run_checks(result, Limits(ignore=True)))


def test_limits_that_make_no_sense_are_refused(result):
    with pytest.raises(gd.errors.ParameterError, match="max_missing is 'half', expected a number"):
        Limits(max_missing="half")
    with pytest.raises(gd.errors.ParameterError, match="allow_constant is 1, expected true or false"):
        Limits(allow_constant=1)
    with pytest.raises(gd.errors.ParameterError, match="range_slack is None"):
        Limits(range_slack=None)
    with pytest.raises(gd.errors.ParameterError, match="column price has max_mising, expected some of max_missing"):
        run_checks(result, columns={"price": {"max_mising": 0.1}})
    with pytest.raises(gd.errors.ParameterError, match=r"limits for the column\(s\) cost, which were not compared"):
        run_checks(result, columns={"cost": {}})


def test_the_report_lists_what_failed(result):
    page = result.to_html()
    assert "Checks that failed" in page
    assert "duplicate rows" in page
    whole = dataclasses.replace(result, features=result.features[1:2], duplicates=None, warnings=())
    near = dataclasses.replace(whole.features[0], range_window=whole.features[0].range_reference)
    assert "checks passed with the default limits: columns" in dataclasses.replace(whole, features=(near,)).to_html()


@pytest.mark.parametrize("make", [gd.DriftDetector, gd.MDLFWF])
def test_every_check_is_there_for_every_column(make):
    rows, window = gd.datasets.stations(200, rng=0), gd.datasets.stations(200, rng=1)
    result = make(random_state=0).fit(rows).test(window)
    names = {(check.name, check.column) for check in result.checks}
    both = {("columns", ""), ("duplicates", "")}
    assert names >= both | {(name, column) for name in ("columns", "types", "missing", "categories") for column in rows}
    assert names >= {("range", "wind"), ("constant", "wind"), ("constant", "sky")}
    assert all(check.passed for check in result.checks)
    page = result.to_html()
    for word in ("columns", "types", "missing cells", "new values", "ranges", "constants", "duplicate rows"):
        assert word in page


def damaged(kind):
    window = gd.datasets.stations(200, rng=1)
    if kind == "absent":
        del window["wind"]
    elif kind == "text":
        window["wind"] = ["calm"] * 200
    elif kind == "dates":
        window["sky"] = np.full(200, np.datetime64("2024-01-01"))
    elif kind == "mixture":
        window["wind"] = [1.5, "calm"] * 100
    return window


@pytest.mark.parametrize(
    ("kind", "check"), [("absent", "columns"), ("text", "types"), ("dates", "types"), ("mixture", "types")]
)
@pytest.mark.parametrize("make", [gd.DriftDetector, gd.MDLFWF])
def test_what_does_not_match_is_an_error_or_a_check(make, kind, check):
    detector, column = make(random_state=0).fit(gd.datasets.stations(200, rng=0)), "sky" if kind == "dates" else "wind"
    with pytest.raises(gd.errors.InputError, match=f"'{column}'"):
        detector.test(damaged(kind))
    result = detector.test(damaged(kind), mismatch="check")
    assert {(check, column), ("missing", column)} == failed(result.checks)
    assert [feature.missing_window for feature in result.features if feature.name == column] == [1.0]
    few = {name: cells[:3] for name, cells in damaged(kind).items()}
    assert (check, column) in failed(detector.test(few, mismatch="check").checks)
    chunks = iter([damaged(kind), damaged(kind)])
    assert {(check, column), ("missing", column)} <= failed(detector.test(chunks, mismatch="check").checks)


def test_numbers_where_there_were_words_are_another_type():
    detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(200, rng=0))
    window = gd.datasets.stations(200, rng=1) | {"sky": np.arange(200) % 3}
    assert {("types", "sky"), ("categories", "sky")} == failed(detector.test(window).checks)
    with pytest.raises(gd.errors.ParameterError, match="mismatch is 'ignore', expected 'error' or 'check'"):
        detector.test(window, mismatch="ignore")


def test_cells_of_files_that_are_no_numbers_are_counted(tmp_path):
    rows = pd.DataFrame(gd.datasets.stations(200, rng=0))
    broken = rows.astype({"wind": object})
    broken.loc[:3, "wind"] = "broken"
    broken.to_csv(tmp_path / "a.csv", index=False)
    rows.to_csv(tmp_path / "b.csv", index=False)
    of_reference = gd.compare(tmp_path / "a.csv", tmp_path / "b.csv")
    assert ("types", "wind") not in failed(of_reference.checks)
    assert any(note.startswith("Reference: Column 'wind' has 4 cell(s)") for note in of_reference.warnings)
    assert ("types", "wind") in failed(gd.compare(tmp_path / "b.csv", tmp_path / "a.csv").checks)
