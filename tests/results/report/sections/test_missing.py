from tests.results.report.conftest import Page


def test_the_map_shows_shares_and_changes(results):
    page = Page(results["gaps"].to_html())
    rows = page.rows("missing")
    assert len(rows) == 5
    assert all("missing values changed" in row[0] for row in rows)
    changes = [float(row[3].removesuffix(" pt")) for row in rows]
    assert changes == sorted(changes, reverse=True)
    first = results["gaps"].features[0]
    found = {row[0].removesuffix("missing values changed"): row for row in rows}[first.name]
    assert found[1:3] == [f"{first.missing_reference:.0%}", f"{first.missing_window:.0%}"]
    heat = [cell["attributes"]["class"] for cell in page.all("td") if "heat" in cell["attributes"].get("class", "")]
    assert len(heat) == 2 * len(rows)
    assert set(heat[::2]) <= {"heat h2", "heat h3"}
    assert set(heat[1::2]) <= {"heat h6", "heat h7"}


def test_a_detector_without_a_test_of_missingness(results):
    page = Page(results["mdlfwf"].to_html())
    assert "does not test whether the missing values changed" in page.section("missing")["text"]
    assert "Adjusted p" not in page.section("missing")["text"]


def test_nothing_missing(results):
    assert "Nothing is missing" in Page(results["one column"].to_html()).section("missing")["text"]


def test_an_empty_column_is_on_the_map(results):
    rows = Page(results["odd"].to_html()).rows("missing")
    assert next(row for row in rows if row[0].startswith("empty"))[1:3] == ["100%", "100%"]
