import dataclasses
import re

from tests.results.report.conftest import Page


def test_columns_that_changed_come_first_and_are_marked(results):
    rows = Page(results["drift"].to_html()).rows("columns")
    assert {row[0] for row in rows[:2]} == {"temperaturevalues changed", "humidityvalues changed"}
    assert len(rows) == 5
    features = {feature.name: feature for feature in results["drift"].features}
    for row in rows:
        feature = next(feature for name, feature in features.items() if row[0].startswith(name))
        assert ("values changed" in row[0]) == (feature.adjusted_p_value < 0.05)
        assert ("missing values changed" in row[0]) == (feature.adjusted_missing_p_value < 0.05)
    assert re.fullmatch(r"0\.\d\d (medium|small|large)", rows[0][2])


def test_nothing_is_marked_where_there_is_no_drift(results):
    for kind in ("none", "small", "undetermined"):
        assert Page(results[kind].to_html()).all("mark") == []


def test_a_detector_that_names_no_columns(results):
    page = Page(results["mdlfwf"].to_html())
    assert "names no columns" in page.section("columns")["text"]


def test_a_column_that_was_not_tested_has_empty_cells(results):
    result = results["drift"]
    untested = dataclasses.replace(result.features[0], p_value=1.0, adjusted_p_value=1.0, effect_size=0.0, tested=False)
    rows = Page(dataclasses.replace(result, features=(untested, *result.features[1:])).to_html()).rows("columns")
    assert next(row for row in rows if row[0].startswith(untested.name))[2:4] == ["", ""]
