import dataclasses

from gapdrift.results.report.sections.pairs import changed_pairs
from tests.results.report.conftest import Page


def test_the_pair_that_changed_is_drawn(results):
    result = results["drift"]
    (pair, *_) = changed_pairs(result)
    assert {pair.first, pair.second} == {"temperature", "humidity"}
    page = Page(result.to_html())
    (section,) = (each for each in page.all("section") if each["attributes"]["id"] == "pairs")
    assert "Correlation" in section["text"]
    assert "rows have both" in section["text"]
    figures = [each for each in page.all("figure") if "rows have both" in each["text"]]
    assert len(figures) == len(changed_pairs(result))


def test_pairs_without_change_are_not_shown(results):
    assert not changed_pairs(results["none"])
    assert 'id="pairs"' not in results["none"].to_html()


def test_a_relation_to_a_category_is_two_bars(results):
    result = results["drift"]
    first = dataclasses.replace(result.pairs[0], categories=("", "rain"), ticks=(result.pairs[0].ticks[0], ()))
    bent = dataclasses.replace(first, is_straight=False)
    page = Page(dataclasses.replace(result, pairs=(first, bent)).to_html())
    texts = [each["text"] for each in page.all("figure") if "rows have both" in each["text"]]
    assert "rain" in texts[0]
    assert "No straight line" in texts[1]


def test_many_pairs_are_named_but_not_drawn(results):
    result = results["drift"]
    pairs = tuple(dataclasses.replace(result.pairs[0], first=f"column {place}") for place in range(9))
    page = Page(dataclasses.replace(result, pairs=pairs).to_html())
    assert len([each for each in page.all("figure") if "rows have both" in each["text"]]) == 6
    assert "Also changed: " in page.all("main")[0]["text"]
