from tests.results.report.conftest import Page


def test_leading_columns_are_drawn_with_their_shares(results):
    result = results["drift"]
    page = Page(result.to_html())
    figures = page.all("figure")
    assert len(figures) == len(result.features)
    assert all("Median about" in each["text"] or "Largest change" in each["text"] for each in figures)
    heads = [head["text"] for head in page.all("th") if "details" in head["in"] and "thead" in head["in"]]
    assert set(heads) == {"Category", "Interval", "Reference", "Window"}


def test_no_distributions_without_tested_columns(results):
    page = Page(results["mdlfwf"].to_html())
    assert page.all("figure") == []
    assert "distributions" not in {section["attributes"]["id"] for section in page.all("section")}
