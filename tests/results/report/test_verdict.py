import dataclasses

import pytest

from gapdrift.results.report.verdict import render_facts
from tests.results.report.conftest import Page


@pytest.mark.parametrize("kind", ["undetermined", "mdlfwf empty"])
def test_undetermined_pages_say_why(results, kind):
    result = results[kind]
    page = Page(result.to_html())
    assert result.values.reason in page.all("main")[0]["text"]
    assert "Nothing can be said yet" in page.all("h1")[0]["text"]
    assert page.all("mark") == []


def test_facts_without_an_effect_size(results):
    result = results["drift"]
    assert "; effect " in render_facts(result)
    bare = dataclasses.replace(result, values=dataclasses.replace(result.values, effect_size=None), missingness=None)
    assert "effect" not in render_facts(bare)
    assert ">differ<" in render_facts(bare)
