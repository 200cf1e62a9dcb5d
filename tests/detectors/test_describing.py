"""Figures of columns are those that numpy and pandas find in the rows."""

import numpy as np
import pandas as pd
import pytest

from gapdrift.counting.counter import count_table
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.functions import fit_functions
from gapdrift.counting.regions import Regions
from gapdrift.counting.sums import Side
from gapdrift.detectors.describing import (
    NO_REGIONS,
    counts_of,
    describe_column,
    describe_regions,
    share_of_copies,
)
from gapdrift.detectors.drift.pairs import pair_findings
from gapdrift.tables.encoding import encode
from gapdrift.tables.schema import learn_schema

M, N = 2_000, 1_000


def table(rng, n_rows, *, moved=False):
    """Columns of every kind that is described in its own way."""
    levels = np.array(
        [f"{'new' if moved and each % 7 == 0 else 'old'} {each}" for each in rng.zipf(1.5, n_rows) % 3_000]
    )
    found = pd.DataFrame(
        {
            "near": rng.normal(0.3 if moved else 0.0, 1.0, n_rows),
            "skew": rng.lognormal(sigma=1.5, size=n_rows),
            "far": rng.normal(4_000.0 if moved else 0.0, 1_000.0 if moved else 1.0, n_rows),
            "counts": rng.poisson(9.0, n_rows).astype(float),
            "flag": rng.integers(0, 3 if moved else 2, n_rows) * 0.3,
            "constant": np.full(n_rows, 5.0) + (rng.normal(size=n_rows) if moved else 0.0),
            "mostly": np.where(rng.random(n_rows) < 0.999, 0.0, rng.normal(size=n_rows)),
            "levels": levels,
            "few": rng.choice(["a", "b", "c", "d"] if moved else ["a", "b", "c"], n_rows),
        }
    )
    found["mostly"] += np.where(np.arange(n_rows) < 14, np.arange(n_rows), 0.0)
    return found.mask(rng.random(found.shape) < 0.1)


class Case:
    """A reference and a window with their evidence."""

    def __init__(self, reference, window, regions=None):
        self.tables, self.schema = (reference, window), learn_schema(reference)
        rows = encode(reference, self.schema, pool_singletons=True)
        self.functions = fit_functions(rows, self.schema)
        evidence = [
            count_table(each, self.schema, self.functions, regions, pool_singletons=each is reference)
            for each in self.tables
        ]
        self.sides = tuple(Side(self.functions, each) for each in evidence)
        self.counts = dict(zip(self.schema.names, zip(*map(counts_of, self.sides), strict=True), strict=True))
        columns = dict(zip(self.schema.names, self.schema.columns, strict=True))
        self.features = {name: describe_column(columns[name], *both) for name, both in self.counts.items()}

    def values(self, name):
        return [each[name].dropna() for each in self.tables]


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    return Case(table(rng, M), table(rng, N, moved=True))


@pytest.mark.parametrize("name", ["near", "skew", "counts", "mostly"])
def test_shares_of_intervals_are_exact_where_the_reference_has_values(case, name):
    histogram, (reference, window) = case.features[name]["histogram"], case.values(name)
    edges, shown = np.array(histogram.edges), case.counts[name][0].axis.shown
    assert 12 <= len(edges) - 1 <= 24
    for shares, values in ((histogram.reference, reference), (histogram.window, window)):
        inside = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
        exact = np.bincount(inside, minlength=len(edges) - 1) / len(values)
        known = (edges[1:] < shown[-1] + 1e-9) & (edges[:-1] > shown[0] - 1e-9)
        np.testing.assert_allclose(np.array(shares)[known], exact[known], atol=1e-9)
        np.testing.assert_allclose(shares, exact, atol=0.005)
    assert (histogram.n_reference, histogram.n_window) == (len(reference), len(window))


@pytest.mark.parametrize("name", ["near", "skew", "far", "counts"])
def test_quantiles_are_exact_to_the_width_of_a_code(case, name):
    shares = [0.0, 0.01, 0.25, 0.5, 0.9, 1.0]
    for counts, values in zip(case.counts[name], case.values(name), strict=True):
        found = counts.quantiles(shares)
        assert (found[0], found[-1]) == (values.min(), values.max())
        exact = np.quantile(values, shares, method="inverted_cdf")
        codes, limits = counts.axis.codes_of(exact), counts.limits
        assert np.all(found >= limits[codes] - 1e-9)
        assert np.all(found <= np.maximum(limits[codes + 1], exact) + 1e-9)


def test_a_window_far_away_is_drawn_where_it_is(case):
    histogram, (reference, window) = case.features["far"]["histogram"], case.values("far")
    edges = np.array(histogram.edges)
    for shares, values in ((histogram.reference, reference), (histogram.window, window)):
        assert edges[0] <= values.quantile(0.02)
        assert edges[-1] >= values.quantile(0.98)
        exact = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / len(values)
        assert np.abs(np.cumsum(shares) - np.cumsum(exact)).max() < 0.15
        assert sum(shares) == pytest.approx(1.0)


def test_few_numbers_and_categories_have_their_exact_counts(case):
    for name, labels, new in (("flag", ("0", "0.3", "0.6"), "0.6"), ("few", ("a", "b", "c", "d"), "d")):
        feature, (reference, window) = case.features[name], case.values(name)
        histogram = feature["histogram"]
        assert sorted(histogram.labels) == list(labels)
        assert histogram.new == (new,)
        counts = [each.map(str).str.removesuffix(".0").value_counts(normalize=True) for each in (reference, window)]
        for own, shares in zip(counts, (histogram.reference, histogram.window), strict=True):
            assert shares == pytest.approx([own.get(label, 0.0) for label in histogram.labels])
        n_new = round(counts[1][new] * len(window))
        assert feature["new_categories"] == {new: n_new}
        assert (feature["n_new_categories"], feature["n_new_cells"]) == (1, n_new)


def test_of_many_categories_the_most_frequent_are_named_and_so_are_new_ones(case):
    feature, (reference, window) = case.features["levels"], case.values("levels")
    histogram = feature["histogram"]
    for values, shares in ((reference, histogram.reference), (window, histogram.window)):
        often = values.value_counts(normalize=True)
        assert set(often.index[:10]) <= set(histogram.labels)
        named = dict(zip(histogram.labels, shares, strict=True))
        assert all(named[name] == pytest.approx(often.get(name, 0.0)) for name in histogram.labels[:-1])
        assert sum(shares) == pytest.approx(1.0)
    assert histogram.labels[-1].endswith("others)")
    new = window[~window.isin(reference)]
    assert (feature["n_new_cells"], feature["n_new_categories"]) == (len(new), new.nunique())
    assert all(count == (new == name).sum() for name, count in feature["new_categories"].items())


def test_ranges_and_observed_cells(case):
    reference, window = case.values("near")
    feature = case.features["near"]
    assert feature["range_reference"] == (reference.min(), reference.max())
    assert feature["range_window"] == (window.min(), window.max())
    assert (feature["observed_reference"], feature["observed_window"]) == (len(reference), len(window))
    assert case.features["few"]["range_window"] is None
    assert share_of_copies(*(side.evidence for side in case.sides)) == (0.0, 0.0)


def test_a_constant_column_is_one_bar_until_it_varies(case):
    constant = case.features["constant"]
    assert constant["histogram"].reference[constant["histogram"].labels.index("5")] == 1.0
    assert constant["n_new_cells"] == (case.values("constant")[1] != 5.0).sum()
    alone = Case(pd.DataFrame({"x": np.full(30, 5.0)}), pd.DataFrame({"x": np.full(30, np.nan)})).features["x"]
    assert (alone["histogram"].labels, alone["histogram"].window) == (("5",), (0.0,))


def test_values_behind_scores_are_quantiles_of_the_reference(case):
    reference, _ = case.values("near")
    found = case.counts["near"][0].values_at([-2.0, 0.0, 1.0])
    np.testing.assert_allclose(found, np.quantile(reference, [0.02275, 0.5, 0.8413]), atol=0.1)
    assert case.counts["flag"][0].values_at([-1.0, 1.0]).tolist() == [0.0, 0.3]


def related(rng, n_rows, correlation):
    x, noise = rng.normal(size=(2, n_rows))
    y = correlation * x + np.sqrt(1.0 - correlation**2) * noise
    found = pd.DataFrame({"x": 100.0 + 10.0 * x, "y": np.exp(y), "z": rng.normal(size=n_rows)})
    found["k"] = np.where(rng.random(n_rows) < 0.5, "a", "b")
    return found.mask(rng.random(found.shape) < 0.2)


def test_a_pair_whose_correlation_changed(rng):
    case = Case(related(rng, M, 0.8), related(rng, N, 0.1))
    first, second = np.triu_indices(len(case.functions.function_owner), 1)
    columns = case.functions.inputs[case.functions.function_owner]
    p_values = np.where((columns[first] == 0) & (columns[second] == 1), 1e-9, 0.6)
    pair, *others = pair_findings(case.schema, case.sides, [(first, second, p_values)], np.ones(4))
    assert min(other.p_value for other in others) > 0.5
    assert (pair.first, pair.second, pair.is_straight, pair.categories) == ("x", "y", True, ("", ""))
    assert pair.p_value == pytest.approx(4e-9)
    for side, rows in zip((pair.reference, pair.window), case.tables, strict=True):
        both = rows[["x", "y"]].dropna()
        assert side.n_rows == len(both)
        assert side.correlation == pytest.approx(both["x"].corr(both["y"], method="spearman"), abs=0.04)
    assert pair.reference.spreads == pytest.approx((1.0, 1.0), abs=0.05)
    assert pair.ticks[0] == pytest.approx((80, 90, 100, 110, 120), abs=4.0)
    assert pair.ticks[1][2] == pytest.approx(1.0, abs=0.1)
    # Each column by itself is surer.
    assert pair_findings(case.schema, case.sides, [(first, second, p_values)], np.full(4, 1e-15)) == ()


def test_regions_are_told_in_words_where_missing_rates_did_not_change(rng):
    reference, window = related(rng, M, 0.0), related(rng, N, 0.0)
    schema = learn_schema(reference)
    functions = fit_functions(encode(reference, schema), schema)
    scores = np.zeros((2, len(functions.columns)), dtype=np.intp)
    scores[0, 0], scores[1, 0] = -32, 32
    scores[1, 3 + list(schema.columns[3].categories).index("b")] = 30
    regions = Regions(scores, np.ones(scores.shape, dtype=bool))
    case = Case(reference, window, regions)
    (low, high), notes = describe_regions(case.schema, regions, case.sides, np.ones(4))
    assert notes == ()
    assert low.centre["x"] == pytest.approx(90.0, abs=1.0)
    assert low.description.startswith("x low (about ")
    assert high.description.startswith("x high (about 1")
    assert high.description.endswith("k is b")
    assert low.share_reference + high.share_reference == pytest.approx(1.0 - reference.isna().all(axis=1).mean())
    assert low.contribution < 12.0
    assert describe_regions(case.schema, regions, case.sides, np.array([1.0, 0.002, 1.0, 1.0])) == ((), (NO_REGIONS,))


def test_evidence_without_facts_is_described_as_far_as_it_goes(case):
    bare = [Side(case.functions, Evidence(side.n_rows, side.evidence.sums)) for side in case.sides]
    for name, counts in zip(case.schema.names, zip(*map(counts_of, bare), strict=True), strict=True):
        column = case.schema.columns[case.schema.names.index(name)]
        found = describe_column(column, *counts)
        assert found["observed_window"] == case.features[name]["observed_window"]
        assert sum(found["histogram"].window) == pytest.approx(1.0)
