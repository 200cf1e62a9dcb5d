import numpy as np
import pytest
from sklearn.cluster import KMeans

from gapdrift._random import draw_seed
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
