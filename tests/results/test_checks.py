import dataclasses

import numpy as np
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
