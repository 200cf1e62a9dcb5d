import numpy as np

import gapdrift as gd
from tests.results.report.conftest import Page


def test_leading_columns_are_drawn_with_their_shares(results):
    result = results["drift"]
    page = Page(result.to_html())
    figures = [each for each in page.all("figure") if "observed cells" in each["text"]]
    assert len(figures) == len(result.features)
    assert all("Median about" in each["text"] or "Largest change" in each["text"] for each in figures)
    heads = [head["text"] for head in page.all("th") if "details" in head["in"] and "thead" in head["in"]]
    assert set(heads) == {"Category", "Interval", "Reference", "Window"}


def test_no_distributions_without_tested_columns(results):
    page = Page(results["mdlfwf"].to_html())
    assert page.all("figure") == []
    assert "distributions" not in {section["attributes"]["id"] for section in page.all("section")}


def test_what_is_new_and_what_lies_beyond_is_said_beside_the_chart():
    rng = np.random.default_rng(0)
    reference = {"size": rng.normal(size=300), "colour": rng.choice(["red", "blue"], 300).astype(object)}
    window = {"size": rng.normal(50.0, 1.0, 300), "colour": rng.choice(["red", "green"], 300).astype(object)}
    page = Page(gd.compare(reference, window).to_html())
    texts = {each["children"][0]["text"]: each["text"] for each in page.all("figure")}
    n_green = int(np.sum(window["colour"] == "green"))
    assert f"New: green ({n_green} cells)." in texts["colour"]
    assert "new" in [each["text"] for each in page.all("text") if each["attributes"].get("class") == "new"]
    assert "Range " in texts["size"]
    assert "300 \N{RIGHTWARDS ARROW} 300 observed cells" in texts["size"]
    # The values of the window are not all in the last interval.
    shares = gd.compare(reference, window).features[0].histogram.window
    assert sum(share > 0 for share in shares) > 1
