import dataclasses

import gapdrift as gd
from gapdrift.results.report.summary import render_summary

BARE = gd.DriftResult(True, 0.01, 0.05, 100, 50, gd.results.Finding("values", None, None, 0.01, None))


def with_values(*numbers, **more):
    return dataclasses.replace(BARE, values=gd.results.Finding("chi", *numbers, **more))


def test_lines_say_what_is_there():
    assert "Test: chi, p = 0.01." in render_summary(with_values(None, None, 0.01, None))
    assert "Test: chi, p = 0.01, effect size 0.20." in render_summary(with_values(None, None, 0.01, 0.2))
    assert "Test: chi, statistic 4.0." in render_summary(with_values(4.0, None, 0.01, None))
    assert "statistic 4.0 with 1 degree of freedom, effect size 0.20." in render_summary(with_values(4.0, 1, 0.01, 0.2))
    assert "statistic 4.0 with 2 degrees of freedom." in render_summary(with_values(4.0, 2, 0.01, None))


def test_parts_are_in_one_line():
    parts = (gd.results.Finding("location", None, None, 0.02, 0.1), gd.results.Finding("dependence", 3.0, 2, 0.5, None))
    assert "Chi: p = 0.01 (location p = 0.02, dependence p = 0.5)." in render_summary(
        with_values(None, None, 0.01, None, parts=parts)
    )


def test_a_finding_without_a_test_has_no_line():
    lines = render_summary(with_values(None, None, 1.0, None, reason="Too little.")).splitlines()
    assert [line.split(":")[0] for line in lines] == ["DRIFT", "Rows"]


def test_many_columns_are_counted(results):
    line = next(line for line in results["wide"].summary().splitlines() if line.startswith("Columns whose values"))
    assert line.endswith("and 42 more.")


def test_checks_that_failed_are_told_once_and_those_beyond_a_few_are_counted():
    window = gd.datasets.stations(300, rng=1)
    del window["wind"]
    reference = gd.datasets.stations(300, rng=0)
    lines = gd.compare(reference, window, mismatch="check").summary().splitlines()
    absent = "Column 'wind' is not in the window: its cells count as missing."
    assert [line for line in lines if absent in line] == [f"Check failed: {absent}"]
    assert "Check failed: wind: 100 % of the cells are missing, expected at most 30 %." in lines
    fuller = gd.datasets.stations(300, rng=1, missing=0.6)
    fuller["sky"] = ["lava"] * 300
    lines = gd.compare(reference, fuller).summary().splitlines()
    assert [line for line in lines if line.startswith("Checks failed: ")] == ["Checks failed: 1 more."]
    assert not [line for line in gd.compare(reference, reference).summary().splitlines() if "failed" in line]


def test_many_notes_leave_the_verdict_on_the_screen():
    lines = render_summary(dataclasses.replace(BARE, warnings=tuple(f"Note {n}." for n in range(20)))).splitlines()
    assert len(lines) == 16
    assert lines[-1] == "Notes: 8 more; the JSON has them all."
