import pytest

from gapdrift.results.report.histogram import change, intervals, levels, looks_alike
from gapdrift.results.report.words import plain

RECORD = {"drift": True, "alpha": 0.05, "n_reference": 1_000, "n_window": 1_000}


def make(reference, window, *, labels=(), edges=(), p_value=1.0):
    histogram = {"labels": labels, "edges": edges, "reference": reference, "window": window}
    return {"histogram": histogram, "missing_reference": 0.0, "missing_window": 0.0, "adjusted_p_value": p_value}


def test_medians():
    feature = make((0.1, 0.5, 0.3, 0.1), (0.1, 0.1, 0.7, 0.1), edges=(0.0, 1.0, 2.0, 3.0, 4.0))
    assert plain(change(feature, RECORD)) == "Median about 1.80 \N{RIGHTWARDS ARROW} 2.43."


def test_outer_intervals_have_no_median():
    feature = make((0.8, 0.1, 0.1), (0.2, 0.1, 0.7), edges=(0.0, 1.0, 2.0, 3.0))
    assert plain(change(feature, RECORD)) in {
        "Largest change: up to 1.00, 80% \N{RIGHTWARDS ARROW} 20%.",
        "Largest change: 2.00 or more, 10% \N{RIGHTWARDS ARROW} 70%.",
    }
    assert intervals(feature["histogram"]) == ["up to 1.00", "1.00 to 2.00", "2.00 or more"]


def test_levels():
    feature = make((0.5, 0.5, 0.0), (0.3, 0.7, 0.0), labels=("a", "b", "(other)"))
    assert plain(change(feature, RECORD)).startswith("Largest change: ")
    assert [row[0] for row in levels(feature["histogram"])] == ["a", "b"]


def test_rare_levels_are_taken_together():
    labels = tuple(f"level {place}" for place in range(64))
    rows = levels(make((1 / 64,) * 64, (1 / 64,) * 64, labels=labels)["histogram"])
    assert len(rows) == 12
    assert rows[-1][0] == "(53 more)"
    assert sum(row[1] for row in rows) == pytest.approx(1.0)


def test_a_side_without_values():
    feature = make((0.5, 0.5), (0.0, 0.0), edges=(0.0, 1.0, 2.0))
    assert plain(change(feature, RECORD)) == "No value in the window."


def test_what_changed_may_not_be_seen_alone(results):
    record = results["drift"].to_dict()
    told = {feature["name"]: plain(change(feature, record)) for feature in record["features"]}
    assert "how it goes with other columns" in told["humidity"]
    assert "The two look alike" in told["wind"]


def test_alike_depends_on_the_number_of_rows():
    feature = make((0.5, 0.5), (0.45, 0.55), labels=("a", "b"))
    assert looks_alike(feature, {**RECORD, "n_reference": 100, "n_window": 100})
    assert not looks_alike(feature, {**RECORD, "n_reference": 100_000, "n_window": 100_000})
