import re

import pytest

from tests.results.report.conftest import Page


def section(page, key):
    return next(element for element in page.all("section") if element["attributes"]["id"] == key)


def rows_of(page, key):
    """Cells of the tables' bodies of a section, as text."""
    inside = [
        (row, [cell["text"] for cell in row["children"]])
        for row in page.all("tr")
        if "tbody" in row["in"] and "details" not in row["in"]
    ]
    body = section(page, key)
    found = []

    def walk(element):
        for child in element["children"]:
            found.extend(cells for row, cells in inside if row is child)
            walk(child)

    walk(body)
    return found


def test_columns_that_moved_come_first_and_are_marked(results):
    rows = rows_of(Page(results["drift"].to_html()), "columns")
    assert {row[0] for row in rows[:2]} == {"temperaturevalues moved", "humidityvalues moved"}
    assert len(rows) == 5
    features = {feature.name: feature for feature in results["drift"].features}
    for row in rows:
        feature = next(feature for name, feature in features.items() if row[0].startswith(name))
        assert ("values moved" in row[0]) == (feature.adjusted_p_value < 0.05)
        assert ("gaps moved" in row[0]) == (feature.adjusted_missing_p_value < 0.05)
    assert re.fullmatch(r"0\.\d\d (medium|small|large)", rows[0][2])


def test_nothing_is_marked_where_there_is_no_drift(results):
    for kind in ("none", "small", "undetermined"):
        assert Page(results[kind].to_html()).all("mark") == []


def test_the_map_of_gaps_shows_shares_and_changes(results):
    page = Page(results["gaps"].to_html())
    rows = rows_of(page, "gaps")
    assert len(rows) == 5
    assert all("gaps moved" in row[0] for row in rows)
    changes = [float(row[3].removesuffix(" pt")) for row in rows]
    assert changes == sorted(changes, reverse=True)
    first = results["gaps"].features[0]
    told = {row[0].removesuffix("gaps moved"): row for row in rows}[first.name]
    assert told[1:3] == [f"{first.missing_reference:.0%}", f"{first.missing_window:.0%}"]
    heat = [cell["attributes"]["class"] for cell in page.all("td") if "heat" in cell["attributes"].get("class", "")]
    assert len(heat) == 2 * len(rows)
    assert set(heat[::2]) <= {"heat h2", "heat h3"}
    assert set(heat[1::2]) <= {"heat h6", "heat h7"}


def test_regions_gained_and_lost(results):
    result = results["drift"]
    rows = rows_of(Page(result.to_html()), "regions")
    told = {entry.description: entry for entry in result.bins}
    changes = [told[row[0]].share_window - told[row[0]].share_reference for row in rows]
    assert changes[0] > 0 > changes[-1]
    assert sorted(changes, key=lambda change: change < 0) == changes


def test_tests_are_listed_with_their_parts(results):
    rows = rows_of(Page(results["drift"].to_html()), "tests")
    assert [row[0] for row in rows] == [
        "values",
        "location",
        "dependence",
        "bins",
        "missingness",
        "rates",
        "patterns",
    ]
    (row,) = rows_of(Page(results["mdlfwf"].to_html()), "tests")
    finding = results["mdlfwf"].values
    assert row[0] == "pearson"
    assert row[3] == str(finding.degrees_of_freedom)


def test_the_published_method_tells_gaps_without_tests(results):
    page = Page(results["mdlfwf"].to_html())
    assert "names no columns" in section(page, "columns")["text"]
    assert "does not test whether the gaps changed" in section(page, "gaps")["text"]
    assert page.all("figure") == []


def test_settings_are_told(results):
    text = section(Page(results["small"].to_html()), "origin")["text"]
    for words in ("detectorDriftDetector", "min_effect2", "distanceclosed-form", "random_state0"):
        assert words in text.replace("\n", "")


def test_many_notes_are_cut(results):
    text = section(Page(results["wide"].to_html()), "notes")["text"]
    assert "And 960 more" in text


@pytest.mark.parametrize("kind", ["undetermined", "mdlfwf empty"])
def test_undetermined_pages_say_why_and_show_no_empty_sections(results, kind):
    result = results[kind]
    page = Page(result.to_html())
    assert result.values.reason in page.all("main")[0]["text"]
    assert "Nothing can be said yet" in page.all("h1")[0]["text"]
    assert page.all("mark") == []


def test_an_empty_column_is_told_by_its_gaps(results):
    page = Page(results["odd"].to_html())
    row = next(row for row in rows_of(page, "gaps") if row[0].startswith("empty"))
    assert row[1:3] == ["100%", "100%"]
