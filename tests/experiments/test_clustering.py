import numpy as np
import pytest
from sklearn.cluster import KMeans

from experiments.clustering import fit_scripted_partition, scripted_start


def test_starts_follow_one_generator(rng):
    """The first centre is drawn by randint, each further one out of 2 + log(bins) candidates."""
    rows = rng.normal(size=(60, 2))
    state, drawn = np.random.RandomState(3), np.random.RandomState(3)
    for _ in range(2):
        start = scripted_start(rows, 5, state)
        np.testing.assert_array_equal(start[0], rows[drawn.randint(60)])
        for number in range(1, 5):
            squares = np.array([min(((row - centre) ** 2).sum() for centre in start[:number]) for row in rows])
            places = [int(np.argmax(np.cumsum(squares) >= share * squares.sum())) for share in drawn.random_sample(3)]

            def left(place, squares=squares):
                return np.minimum(squares, ((rows - rows[place]) ** 2).sum(axis=1)).sum()

            np.testing.assert_array_equal(start[number], rows[min(places, key=left)])


def test_bins_are_the_best_of_ten_runs_of_k_means(rng):
    rows = rng.normal(size=(200, 3)) + 100.0
    centres = fit_scripted_partition(rows, 8).centres
    squares = ((rows[:, None] - centres[None]) ** 2).sum(axis=2)
    labels = squares.argmin(axis=1)
    np.testing.assert_allclose(centres, [rows[labels == label].mean(axis=0) for label in range(8)])
    assert squares.min(axis=1).sum() == pytest.approx(KMeans(8, n_init=50, random_state=0).fit(rows).inertia_, rel=0.03)
    np.testing.assert_array_equal(fit_scripted_partition(rows, 8).centres, centres)
