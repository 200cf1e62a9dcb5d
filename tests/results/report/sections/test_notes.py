from tests.results.report.conftest import Page


def test_many_notes_are_cut(results):
    assert "And 960 more" in Page(results["wide"].to_html()).section("notes")["text"]


def test_the_reason_of_the_verdict_is_not_repeated(results):
    result = results["undetermined"]
    assert result.values.reason in result.warnings
    keys = {section["attributes"]["id"] for section in Page(result.to_html()).all("section")}
    assert ("notes" in keys) == (len(result.warnings) > 1)
