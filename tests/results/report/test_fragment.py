import re

import pytest

from gapdrift.results.report.assets import read_asset
from tests.results.report.conftest import Page


@pytest.mark.parametrize("kind", ["drift", "gaps", "none", "small", "undetermined", "mdlfwf", "odd", "wide"])
def test_the_notebook_shows_verdict_and_leading_columns(results, kind):
    html = results[kind]._repr_html_()
    page = Page(html)
    assert page.unclosed == []
    assert page.open == []
    assert page.elements[0]["attributes"]["class"] == "gapdrift-result"
    assert len(html) < 60_000
    assert not [element for element in page.elements if {"id", "style", "href", "src"} & set(element["attributes"])]
    assert page.all("script") == []


def test_many_columns_are_counted(results):
    page = Page(results["wide"]._repr_html_())
    assert len([row for row in page.all("tr") if "tbody" in row["in"]]) == 8
    assert "and 992 more columns" in page.elements[0]["text"]


def test_the_style_reaches_nothing_else():
    style = re.sub(r"\{[^}]*\}", "{}", read_asset("notebook.css"))
    selectors = [part.strip() for rule in style.split("{}") for part in rule.split(",") if part.strip()]
    assert selectors
    assert all(selector.startswith(".gapdrift-result") for selector in selectors)
