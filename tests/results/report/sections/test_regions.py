import dataclasses

import numpy as np

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
        assert entry.contribution > 8.0


def test_bins_without_contributions_are_ranked_by_their_change(results):
    result = results["drift"]
    bins = tuple(dataclasses.replace(entry, contribution=None) for entry in result.bins)
    rows = Page(dataclasses.replace(result, bins=bins).to_html()).rows("regions")
    changes = {entry.description: entry.share_window - entry.share_reference for entry in bins}
    assert changes[rows[0][0]] == max(changes.values())


def test_bins_without_a_description_are_described_by_their_centre(results):
    rows = Page(results["mdlfwf"].to_html()).rows("regions")
    assert all(row[0].startswith("around x0 ") for row in rows)
