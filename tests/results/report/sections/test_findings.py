import dataclasses

import numpy as np
import pytest

import gapdrift as gd
from gapdrift.results.report.sections.findings import MEANINGS
from gapdrift.results.report.sentences import ASPECTS
from tests.results.report.conftest import Page


def heads(page):
    tables = [element for element in page.all("table") if element["attributes"]["class"] == "tests"]
    return [head["text"] for head in tables[0]["children"][1]["children"][0]["children"]]


def test_tests_are_listed_with_their_parts(results):
    names = [row[0] for row in Page(results["drift"].to_html()).rows("tests")]
    of_values = ["location", "dependence", "interactions", "distributions"]
    assert names == ["values", *of_values, "missingness", "rates", "patterns", "conditions"]


def test_one_test_shows_all_its_numbers(results):
    page = Page(results["mdlfwf"].to_html())
    finding = results["mdlfwf"].values
    (row,) = page.rows("tests")
    assert heads(page) == ["Test", "What it compares", "Statistic", "Degrees of freedom", "p-value", "Effect size"]
    assert row[0] == "pearson"
    assert row[2:4] == [f"{finding.statistic:.4g}", str(finding.degrees_of_freedom)]
    assert row[5].startswith(f"{finding.effect_size:.2f} ")


def test_what_a_test_does_not_have_is_left_empty(results):
    parts = (
        gd.results.Finding("location", 12.5, 3, 0.01, 0.2),
        gd.results.Finding("dependence", None, None, 0.5, None),
    )
    values = gd.results.Finding("values", None, None, 0.02, 0.3, parts=parts)
    page = Page(dataclasses.replace(results["drift"], values=values, missingness=None).to_html())
    whole, location, dependence = page.rows("tests")
    assert whole[2:] == ["", "", "p = 0.02", "0.30 medium"]
    assert location[2:] == ["12.5", "3", "p = 0.01", "0.20 small"]
    assert dependence[2:] == ["", "", "p = 0.5", ""]


def test_quantities_that_no_test_has_take_no_column(results):
    values = gd.results.Finding("values", None, None, 0.02, 0.3)
    page = Page(dataclasses.replace(results["drift"], values=values, missingness=None).to_html())
    assert heads(page) == ["Test", "What it compares", "p-value", "Effect size"]
    page = Page(results["undetermined"].to_html())
    assert heads(page) == ["Test", "What it compares", "p-value"]
    assert page.rows("tests")[0][2] == "not tested"


@pytest.mark.parametrize("as_panes", [False, True])
def test_every_test_of_batches_is_explained(as_panes):
    rng = np.random.default_rng(0)
    history = {"x": rng.normal(size=400), "y": np.where(rng.random(400) < 0.2, np.nan, 1.0), "z": rng.normal(size=400)}
    batches = {"time": "z"} if as_panes else {"batches": 40}
    result = gd.DriftDetector(random_state=0).fit(history, **batches).test(history)
    assert result.usual is not None
    assert {part.name for part in result.values.parts} <= set(MEANINGS) & set(ASPECTS)
    assert {part.name for part in result.missingness.parts} <= set(MEANINGS)


def test_every_test_of_rows_is_explained(results):
    result = results["drift"]
    assert {part.name for part in result.values.parts} <= set(MEANINGS) & set(ASPECTS)
    assert {part.name for part in result.missingness.parts} <= set(MEANINGS)
