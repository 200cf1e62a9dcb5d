import dataclasses

from tests.results.report.conftest import Page


def test_many_notes_are_cut(results):
    result = dataclasses.replace(results["none"], warnings=tuple(f"Note {number}." for number in range(1_000)))
    assert "And 960 more" in Page(result.to_html()).section("notes")["text"]


def test_what_many_columns_have_in_common_is_told_once(results):
    text = Page(results["wide"].to_html()).section("notes")["text"]
    assert "Each of the columns 'column 0', 'column 1', 'column 2', 'column 3' and 996 more has values" in text


def test_the_reason_of_the_verdict_is_not_repeated(results):
    result = results["undetermined"]
    assert result.values.reason in result.warnings
    keys = {section["attributes"]["id"] for section in Page(result.to_html()).all("section")}
    assert ("notes" in keys) == (len(result.warnings) > 1)
