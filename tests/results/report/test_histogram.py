import dataclasses

import pytest

import gapdrift as gd
from gapdrift.results.report.histogram import describe_change, list_categories, looks_alike, name_intervals
from tests.results.report.plain import to_plain_text

RESULT = gd.DriftResult(True, 0.01, 0.05, 1_000, 1_000, gd.results.Finding("values", None, None, 0.01, 0.5))


def describe(histogram):
    feature = gd.results.FeatureFinding("x", 0.0, 0.0, 1.0, 1.0, 0.1, histogram=histogram, tested=True)
    return to_plain_text(describe_change(feature, histogram, RESULT))


def test_medians():
    histogram = gd.results.Histogram((), (0.0, 1.0, 2.0, 3.0, 4.0), (0.1, 0.5, 0.3, 0.1), (0.1, 0.1, 0.7, 0.1))
    assert describe(histogram) == "Median about 1.80 \N{RIGHTWARDS ARROW} 2.43."


def test_outer_intervals_have_no_median():
    histogram = gd.results.Histogram((), (0.0, 1.0, 2.0, 3.0), (0.8, 0.1, 0.1), (0.2, 0.1, 0.7))
    assert describe(histogram) in {
        "Largest change: up to 1.00, 80% \N{RIGHTWARDS ARROW} 20%.",
        "Largest change: 2.00 or more, 10% \N{RIGHTWARDS ARROW} 70%.",
    }
    assert name_intervals(histogram) == ["up to 1.00", "1.00 to 2.00", "2.00 or more"]


def test_categories():
    histogram = gd.results.Histogram(("a", "b", "(other)"), (), (0.5, 0.5, 0.0), (0.3, 0.7, 0.0))
    assert describe(histogram).startswith("Largest change: ")
    assert [row[0] for row in list_categories(histogram)] == ["a", "b"]


def test_rare_categories_are_taken_together():
    labels = tuple(f"category {place}" for place in range(64))
    rows = list_categories(gd.results.Histogram(labels, (), (1 / 64,) * 64, (1 / 64,) * 64))
    assert len(rows) == 12
    assert rows[-1][0] == "(53 others)"
    assert sum(row[1] for row in rows) == pytest.approx(1.0)


def test_a_side_without_values():
    assert describe(gd.results.Histogram((), (0.0, 1.0, 2.0), (0.5, 0.5), (0.0, 0.0))) == "No value in the window."


def test_a_change_may_not_show_in_the_column_alone(results):
    result = results["drift"]
    words = {
        feature.name: to_plain_text(describe_change(feature, feature.histogram, result)) for feature in result.features
    }
    assert "how it is related to other columns" in words["humidity"]
    assert "The two look alike" in words["wind"]
    calm = dataclasses.replace(result, drift=False)
    words = [to_plain_text(describe_change(feature, feature.histogram, calm)) for feature in result.features]
    assert not any("how it is related to other columns" in each for each in words)


def test_alike_depends_on_the_number_of_cells():
    histogram = gd.results.Histogram(("a", "b"), (), (0.5, 0.5), (0.45, 0.55))
    assert looks_alike(histogram, 100.0, 100.0)
    assert not looks_alike(histogram, 100_000.0, 100_000.0)
    assert not looks_alike(histogram, 100.0, 0.0)


def test_others_are_counted_once():
    labels = (*(f"category {place}" for place in range(29)), "(1,000 others)")
    shares = (*(0.02,) * 29, 0.42)
    rows = list_categories(gd.results.Histogram(labels, (), shares, shares))
    assert rows[-1][0] == "(1,018 others)"
    assert rows[-1][1] == pytest.approx(1.0 - 11 * 0.02)
