import numpy as np
import pytest

import gapdrift as gd
from gapdrift.detectors.distributions import Side, make_histogram
from gapdrift.tables.histograms import HistogramAxis

REFERENCE_ROWS, WINDOW_ROWS = 2_000, 1_000


def table(rng, n_rows, *, moved=False):
    """Columns whose window lies elsewhere, and of every kind that is drawn in its own way."""
    drawn = rng.zipf(1.5, n_rows) % 3_000
    levels = np.array([f"{'new' if moved and level % 7 == 0 else 'old'} {level}" for level in drawn])
    return {
        "far": rng.normal(4_000.0 if moved else 0.0, 1_000.0 if moved else 1.0, n_rows),
        "near": rng.normal(1.0 if moved else 0.0, 1.0, n_rows),
        "tails": rng.standard_cauchy(n_rows),
        "flag": rng.integers(0, 3 if moved else 2, n_rows).astype(float),
        "constant": np.full(n_rows, 5.0) + (rng.normal(size=n_rows) if moved else 0.0),
        "levels": levels.astype(object),
        "few": rng.choice(["a", "b", "c", "d"] if moved else ["a", "b", "c"], n_rows).astype(object),
    }


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    reference, window = table(rng, REFERENCE_ROWS), table(rng, WINDOW_ROWS, moved=True)
    window["near"][:100] = np.nan
    result = gd.compare(reference, window)
    return reference, window, {feature.name: feature for feature in result.features}, result


@pytest.mark.parametrize("name", ["far", "near", "tails", "constant"])
def test_the_axis_covers_the_values_of_both_sides(case, name):
    reference, window, features, _ = case
    histogram = features[name].histogram
    for shares, values in ((histogram.reference, reference[name]), (histogram.window, window[name])):
        present = values[~np.isnan(values)]
        low, high = np.quantile(present, [0.02, 0.98])
        assert histogram.edges[0] <= low
        assert histogram.edges[-1] >= high
        # Cells that are far outside are about as wide as an interval.
        inside = np.clip(present, histogram.edges[0], histogram.edges[-1])
        exact = np.histogram(inside, histogram.edges)[0] / len(present)
        assert np.abs(np.cumsum(shares) - np.cumsum(exact)).max() < (0.12 if name == "far" else 0.015)
        assert sum(shares) == pytest.approx(1.0)


def test_numbers_and_ranges_are_those_of_the_observed_cells(case):
    reference, window, features, _ = case
    near = features["near"]
    assert near.histogram.n_reference == REFERENCE_ROWS
    assert near.histogram.n_window == WINDOW_ROWS - 100
    assert near.range_reference == (reference["near"].min(), reference["near"].max())
    assert near.range_window == (np.nanmin(window["near"]), np.nanmax(window["near"]))
    assert features["few"].range_window is None


def test_a_column_of_two_values_is_drawn_as_such_and_a_third_is_named(case):
    _, window, features, _ = case
    histogram = features["flag"].histogram
    assert histogram.labels == ("0", "1", "2")
    assert histogram.new == ("2",)
    assert histogram.window == pytest.approx([np.mean(window["flag"] == value) for value in (0, 1, 2)])
    assert features["flag"].new_categories == {"2": int(np.sum(window["flag"] == 2))}


def test_a_constant_column_is_one_bar(case):
    reference = case[0]
    again = gd.compare(reference, reference)
    constant = next(feature for feature in again.features if feature.name == "constant").histogram
    assert (constant.labels, constant.reference, constant.window) == (("5",), (1.0,), (1.0,))


def test_of_many_categories_the_most_frequent_are_named_and_so_are_new_ones(case):
    reference, window, features, result = case
    histogram = features["levels"].histogram
    for side, shares in ((reference, histogram.reference), (window, histogram.window)):
        names, counts = np.unique(side["levels"].astype(str), return_counts=True)
        for name, count in zip(names, counts, strict=True):
            if name in histogram.labels:
                assert shares[histogram.labels.index(name)] == pytest.approx(count / len(side["levels"]))
        top = names[np.argsort(-counts)[:10]]
        assert set(top) <= set(histogram.labels)
        assert sum(shares) == pytest.approx(1.0)
    assert histogram.labels[-1].endswith("others)")
    known = set(reference["levels"])
    new = [name for name in window["levels"] if name not in known]
    feature = features["levels"]
    assert (feature.n_new_cells, feature.n_new_categories) == (len(new), len(set(new)))
    assert all(count == new.count(name) for name, count in feature.new_categories.items())
    assert any("'levels' has" in note and f"'new 7' ({new.count('new 7')})" in note for note in result.warnings)


def test_a_new_category_of_a_few_is_named_with_its_count(case):
    _, window, features, result = case
    n_new = int(np.sum(window["few"] == "d"))
    assert features["few"].histogram.new == ("d",)
    note = f"Column 'few' has 1 value(s) that the reference does not have, in {n_new} cell(s): 'd' ({n_new})."
    assert note in result.warnings
    assert "Column 'few' has values that the reference does not have." not in result.warnings


def test_a_side_without_values_has_shares_of_zero():
    axis = HistogramAxis((), (), ("red", "(other)"))
    none = Side(np.zeros(2), {}, np.inf, -np.inf)
    histogram = make_histogram(axis, Side(np.array([3.0, 0.0]), {}, np.inf, -np.inf), none)
    assert (histogram.labels, histogram.reference, histogram.window) == (("red",), (1.0,), (0.0,))
    assert make_histogram(HistogramAxis((), (), ()), none, none) is None
