import dataclasses

import numpy as np
from scipy.stats import chi2

import gapdrift as gd
from tests.results.report.conftest import Page


def moved():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1_000, 2))
    return gd.compare(rows[:500], rows[500:] + np.array([1.0, 0.0]))


def test_regions_gained_and_lost():
    result = moved()
    rows = Page(result.to_html()).rows("regions")
    bins = {entry.description: entry for entry in result.bins}
    changes = [bins[row[0]].share_window - bins[row[0]].share_reference for row in rows]
    assert changes[0] > 0 > changes[-1]
    assert sorted(changes, key=lambda change: change < 0) == changes


def test_regions_that_differ_by_chance_are_not_shown(results):
    assert Page(results["none"].to_html()).rows("regions") == []
    assert "None of them gained or lost rows by more than chance allows." in results["none"].to_html()
    result = moved()
    for row in Page(result.to_html()).rows("regions"):
        entry = next(entry for entry in result.bins if entry.description == row[0])
        assert entry.contribution > chi2.isf(result.alpha / len(result.bins), 1)


def test_bins_without_contributions_are_ranked_by_their_change(results):
    result = results["drift"]
    bins = tuple(dataclasses.replace(entry, contribution=None) for entry in result.bins)
    rows = Page(dataclasses.replace(result, bins=bins).to_html()).rows("regions")
    changes = {entry.description: entry.share_window - entry.share_reference for entry in bins}
    assert changes[rows[0][0]] == max(changes.values())


def test_bins_without_a_description_are_described_by_their_centre(results):
    rows = Page(results["mdlfwf"].to_html()).rows("regions")
    assert all(row[0].startswith("around x0 ") for row in rows)


def hidden_partner():
    """Two columns that go together, of which the second is observed only where the first is below 0."""
    rng = np.random.default_rng(3)
    first = rng.normal(size=2_000)
    second = first + 0.1 * rng.normal(size=2_000)
    return {"first": first, "second": np.where(first < 0.0, second, np.nan), "third": rng.normal(size=2_000)}


def test_words_about_regions_are_about_observed_cells():
    table = hidden_partner()
    half = [{name: cells[part] for name, cells in table.items()} for part in (slice(1_000), slice(1_000, None))]
    result = gd.DriftDetector(random_state=0).fit(half[0]).test(half[1])
    above = [entry for entry in result.bins if entry.centre.get("first", 0.0) > 0.7]
    below = [entry for entry in result.bins if entry.centre.get("first", 0.0) < -0.7]
    assert above
    assert below
    # What is never observed there is not told, however sure a model is of it.
    assert all("second" not in entry.centre and "second" not in entry.description for entry in above)
    assert all(abs(entry.centre["second"] - entry.centre["first"]) < 0.4 for entry in below)


def test_a_column_that_is_hardly_observed_is_not_told():
    rng = np.random.default_rng(4)
    table = {"seen": rng.normal(size=400), "rare": np.where(np.arange(400) < 4, rng.normal(size=400), np.nan)}
    result = gd.compare(table, table)
    assert all(set(entry.centre) == {"seen"} for entry in result.bins)
