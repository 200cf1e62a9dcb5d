import numpy as np
import pytest
from sklearn.cluster import KMeans

from gapdrift._random import draw_seed
from gapdrift.models import partition as module
from gapdrift.models.partition import Partition, default_n_bins, fit_partition


def test_is_scikit_learns_kmeans(rng):
    values = rng.normal(size=(500, 3))
    seed = draw_seed(np.random.default_rng(5))
    expected = KMeans(10, n_init=10, random_state=seed).fit(values)
    partition = fit_partition(values, 10, np.random.default_rng(5))
    np.testing.assert_array_equal(partition.centres, expected.cluster_centers_)
    np.testing.assert_array_equal(partition.distances(values).argmin(axis=1), expected.predict(values))


def test_fewer_places_than_bins():
    values = np.repeat([[0.0], [5.0]], 30, axis=0)
    assert sorted(fit_partition(values, 4, np.random.default_rng(0)).centres.ravel()) == [0.0, 5.0]


def test_large_offsets_lose_nothing():
    partition = Partition(np.array([[1e9], [1e9 + 1]]))
    np.testing.assert_array_equal(partition.distances(np.array([[1e9 + 0.75]])), [[0.75, 0.25]])


@pytest.mark.parametrize(("n_rows", "n_bins"), [(20, 2), (149, 2), (150, 3), (10_000, 200), (10**7, 200)])
def test_default_bins(n_rows, n_bins):
    assert default_n_bins(n_rows) == n_bins


def test_bins_of_others_are_made_without_the_rows_assigned(rng):
    """Each half is assigned to bins of the other; k-means goes on from the centres there are."""
    rows = rng.normal(size=(63, 2)) * 1e200
    learned = fit_partition(rows, 4, rng)
    found = module.bins_of_others(rows, learned, np.random.default_rng(5))
    order = np.random.default_rng(5).permutation(63)
    for half, other in ((order[:32], order[32:]), (order[32:], order[:32])):
        run = KMeans(4, init=learned.centres / 1e200, n_init=1).fit(rows[half] / 1e200)
        np.testing.assert_array_equal(found[other], run.predict(rows[other] / 1e200))


def test_many_or_very_few_rows_keep_their_bins(rng, monkeypatch):
    rows = rng.normal(size=(200, 2))
    learned = fit_partition(rows, 4, rng)
    nearest = learned.distances(rows).argmin(axis=1)
    np.testing.assert_array_equal(module.bins_of_others(rows[:7], learned, rng), nearest[:7])
    monkeypatch.setattr(module, "MAX_ROWS_RESTARTED", 100)
    np.testing.assert_array_equal(module.bins_of_others(rows, learned, rng), nearest)
