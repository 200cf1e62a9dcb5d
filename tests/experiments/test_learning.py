from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from experiments import learning
from experiments.boosting import fit_huber_boosting
from experiments.learning import distances_between, learn_scripted, pair_features
from gapdrift.models.imputation import fit_imputers, impute
from tests import naive


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(learning, "fit_huber_boosting", partial(fit_huber_boosting, n_trees=100))


def sample(n_rows=120):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, 3))
    rows[rng.permutation(n_rows)[: n_rows // 5], 0] = np.nan
    return rows


def test_pairs_are_ordered_and_folds_are_halves(monkeypatch):
    # Of 96 complete rows 19 lose a cell: 361 pairs, each row with itself among them.
    seen = []

    def spy(features, distances):
        seen.append((features, distances))
        return fit_huber_boosting(features, distances, n_trees=5)

    monkeypatch.setattr(learning, "fit_huber_boosting", spy)
    learn_scripted(sample(), rng=np.random.default_rng(0))
    whole, distances = seen[-1]
    assert [len(features) for features, _ in seen] == [180, 181, 361]
    assert (distances == 0.0).sum() == 19
    square = distances.reshape(19, 19)
    np.testing.assert_allclose(square, square.T)
    np.testing.assert_array_equal(whole[:, 0], 1.0)  # the only column with gaps, of both rows
    np.testing.assert_array_equal(whole[:, 3], 1.0)


def test_distances_are_learned():
    rows = sample(400)
    model = learn_scripted(rows, rng=np.random.default_rng(0))
    complete = rows[~np.isnan(rows).any(axis=1)]
    assert 0.0 < model.error < pdist(complete).std()
    incomplete = np.isnan(rows).any(axis=1)
    distances = model.to_centres(rows[incomplete], np.isnan(rows[incomplete]), np.zeros((1, 3)))
    known = np.linalg.norm(rows[incomplete][:, 1:], axis=1)
    assert np.corrcoef(distances.ravel(), known)[0, 1] > 0.8


def test_pairs_can_be_sampled_and_the_error_left_out():
    model = learn_scripted(sample(), with_error=False, max_pairs=50, rng=np.random.default_rng(0))
    assert np.isnan(model.error)
    assert model.importances.sum() == pytest.approx(1.0)


def test_pair_features_equal_the_algorithm(rng):
    rows = sample()
    missing, imputers = np.isnan(rows), fit_imputers(None, rows, rng)
    filled = [impute(imputer, rows) for imputer in imputers]
    first, second = np.arange(0, 60), np.arange(60, 120)
    fast = pair_features(
        missing[first], missing[second], [table[first] for table in filled], [table[second] for table in filled]
    )
    slow = [
        naive.pair_features(missing[i], missing[j], [table[i] for table in filled], [table[j] for table in filled])
        for i, j in zip(first, second, strict=True)
    ]
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


def test_complete_pairs_are_exact(rng, monkeypatch):
    rows = sample()
    model = learn_scripted(rows, with_error=False, rng=rng)
    first, second = np.triu_indices(len(rows), k=1)
    found = distances_between(model, rows, np.isnan(rows), first, second)
    complete = ~np.isnan(rows[first] + rows[second]).any(axis=1)
    exact = np.linalg.norm(rows[first] - rows[second], axis=1)
    np.testing.assert_allclose(found[complete], exact[complete], rtol=1e-12)
    monkeypatch.setattr(learning, "CHUNK_PAIRS", 1_000)
    np.testing.assert_array_equal(distances_between(model, rows, np.isnan(rows), first, second), found)
