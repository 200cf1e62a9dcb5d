from dataclasses import replace

import pytest

import gapdrift as gd
from gapdrift.results import BatchStrip, UsualVariation
from gapdrift.results.report.sections.usual import draw_strip
from tests.results.report.conftest import Page

STRIPS = (
    BatchStrip("", "whole", (0.1, 0.2, 0.5), 2.5),
    BatchStrip("temperature", "values", (-1.0, 0.0, 1.0), -4.0),
    BatchStrip("humidity", "missing", (0.1, 0.2, 0.1), 0.9),
    BatchStrip("wind", "values", (0.0, 0.0, 0.0), None),
)


@pytest.fixture(scope="module")
def result():
    plain = (
        gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, rng=0)).test(gd.datasets.stations(100, rng=1))
    )
    return replace(plain, usual=UsualVariation(52, "1w", 0.4, 1e-12, 19, STRIPS))


def test_the_window_is_marked_among_the_batches(result):
    page = Page(result.to_html())
    rows = page.rows("usual")
    assert len(rows) == 4
    assert "All columns" in rows[0][0]
    assert [row[3] for row in rows] == ["2.5", "-4.0", "90%", "no values"]
    section = page.section("usual")["text"]
    assert "different from the rows of the reference" in section
    assert "no more unusual than its 52 batches (1w)" in section


def test_both_p_values_are_told_everywhere(result):
    for text in (result.summary(), result.to_markdown(), result.to_html()):
        assert "52 batches" in text
    found = replace(result, drift=True, p_value=0.01, usual=replace(result.usual, p_value=0.01))
    assert "more than batches of the reference usually do" in found.summary()


def test_the_summary_marks_the_window_among_the_batches(result):
    lines = [line.split(": ", 1)[1] for line in result.summary().splitlines() if line.startswith("Batches | and")]
    assert lines[0] == f"|.|....|{'.' * 31}X all columns, more unusual to the right"
    assert lines[1].startswith("X") and lines[1].endswith("| temperature: values")
    assert lines[2].endswith("X humidity: missing cells")
    # A window without values has no mark.
    assert "X" not in lines[3]


def test_results_without_batches_have_no_such_section(results):
    assert 'id="usual"' not in results["gaps"].to_html()


def test_strips_of_equal_numbers():
    assert draw_strip(BatchStrip("x", "values", (0.0, 0.0), 0.0)).count("<rect") == 2
