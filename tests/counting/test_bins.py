import numpy as np
import pytest

import gapdrift as gd
from gapdrift.counting.bins import BinTable, choose_donors, make_bin_table, memberships, nearest


@pytest.mark.parametrize("kind", ["narrow", "wide", "mixed", "factors"])
def test_whole_steps_find_the_nearest_centre(kind, fitted):
    profile = fitted[kind].reference_.profile
    table = make_bin_table(profile)
    positions = np.random.default_rng(0).normal(size=(2_000, len(profile.owner)))
    found = nearest(table.distances(table.steps(positions)))
    away = ((positions @ profile.directions)[:, None] - profile.centres) ** 2
    exact = away.sum(axis=2)
    worse = exact[np.arange(2_000), found] - exact.min(axis=1)
    # A step is a small part of a standard deviation: only rows between two centres may go to the other one.
    assert (worse > 0).mean() < 0.05
    assert worse.max() < 0.1 * np.median(exact.min(axis=1))
    assert np.abs(table.distances(table.steps(1e6 * positions))).max() < 2**23


def test_steps_are_whole_and_within_reach():
    table = BinTable(64.0, 256.0, np.zeros((5, 2), np.float32), np.zeros(2, np.float32))
    rows = np.random.default_rng(0).normal(scale=3.0, size=(400, 5))
    steps = table.steps(rows)
    assert steps.tolist() == np.clip(np.floor(rows * 64.0 + 0.5), -256, 256).tolist()


@pytest.mark.parametrize("n_bins", [2, 32, 256])
def test_the_first_of_equally_near_bins_is_taken(n_bins):
    code = pytest.importorskip("gapdrift.counting.compiled")
    rng = np.random.default_rng(0)
    distances = rng.integers(-(2**20), 2**20, size=(500, n_bins)).astype(np.float32)
    distances[:, rng.integers(n_bins, size=3)] = -(2.0**22)
    squares = rng.integers(2, size=n_bins).astype(np.float32)
    keys = np.empty(n_bins, dtype=np.int32)
    expected = (distances + squares).argmin(axis=1).tolist()
    assert [code.nearest(distances[row], squares, keys) for row in range(500)] == expected
    table = BinTable(1.0, 2.0**23, np.eye(n_bins, dtype=np.float32), squares)
    assert nearest(table.distances(distances)).tolist() == expected


def test_donors_are_evenly_spaced_and_start_anywhere():
    identity = np.random.default_rng(0).integers(2**63, size=20_000, dtype=np.uint64)
    chosen = choose_donors(identity, 100, 4)
    assert np.array_equal((chosen - chosen[:, :1]) % 100, np.tile([0, 25, 50, 75], (20_000, 1)))
    counts = np.bincount(chosen[:, 0], minlength=100)
    # 200 are expected of each; six deviations are 85.
    assert np.abs(counts - 200).max() < 85


def test_memberships_are_shares_of_completions():
    table = BinTable(1.0, 256.0, np.array([[-2.0, 2.0]], np.float32), np.array([1.0, 1.0], np.float32))
    positions = np.array([[0.0], [3.0]], np.float32)
    residuals = np.array([[1.0], [-2.0], [-3.0], [1.0], [1.0], [1.0], [1.0], [-9.0]], np.float32)
    assert memberships(table, table.distances(positions), residuals, 4).tolist() == [[0.5, 0.5], [0.75, 0.25]]
    # Of two centres that are equally near the first is taken.
    assert nearest(table.distances(positions)).tolist() == [0, 0]


def test_bins_do_not_lie_where_the_rows_of_the_reference_happen_to_be():
    """Their shares of the reference would vary less, or more, than those of a window do."""
    own, others = np.random.default_rng(0).normal(size=(2, 500, 20))
    profile = gd.DriftDetector(n_bins=50, random_state=0).fit(own).reference_.profile
    away = [((rows[:, None] - profile.centres) ** 2).sum(axis=2).min(axis=1).mean() for rows in (own, others)]
    assert away[0] > 0.95 * away[1]
