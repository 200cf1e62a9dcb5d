import numpy as np
import pytest

import gapdrift as gd
from experiments.configurations import CONFIGURATIONS, fit_configurations, unclipped_weights
from experiments.protocols import PROTOCOLS
from experiments.samples import draw_drift
from gapdrift.detectors.mdlfwf.membership import fuzzy_weights
from gapdrift.inference.pearson import pearson

SOUND = PROTOCOLS["sound"]


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    reference = draw_drift("gaussian-mean", 0, 500, SOUND, rng)
    return reference, fit_configurations(reference, SOUND, np.random.default_rng(1), n_bins=10, top_q=3)


@pytest.mark.parametrize(
    ("number", "settings"),
    [
        ("3", {"membership": "crisp"}),
        ("4.1", {"membership": "gaussian", "top_q": None}),
        ("4.2", {"membership": "triangular", "top_q": None}),
        ("5.1", {"membership": "gaussian", "top_q": 3}),
        ("5.2", {"membership": "triangular", "top_q": 3}),
    ],
)
def test_configurations_are_those_of_the_library(fitted, number, settings):
    reference, found = fitted
    window = draw_drift("gaussian-mean", 6, 500, SOUND, np.random.default_rng(2))
    detector = gd.MDLFWF(n_bins=10, random_state=np.random.default_rng(1), **settings).fit(reference.with_missing)
    np.testing.assert_allclose(found.counts[number], detector.evidence_.sums["weights"])
    alarms = found.alarms(window, np.random.default_rng(3), 0.05)
    assert alarms[number] == detector.test(window.with_missing).drift


def test_the_first_configuration_is_k_means_and_chi_square(fitted):
    reference, found = fitted
    counts = np.bincount(found.complete.distances(reference.complete).argmin(axis=1), minlength=10)
    np.testing.assert_array_equal(found.counts["1"], counts)
    window = draw_drift("gaussian-mean", 9, 500, SOUND, np.random.default_rng(2))
    seen = np.bincount(found.complete.distances(window.complete).argmin(axis=1), minlength=10)
    p_value = pearson(counts.astype(float), seen.astype(float)).p_value
    for alpha in (p_value * 1.01, p_value * 0.99):
        assert found.alarms(window, np.random.default_rng(0), alpha)["1"] == (p_value < alpha)


def test_all_configurations_count_all_rows(fitted):
    assert set(fitted[1].counts) == set(CONFIGURATIONS)
    assert all(counts.sum() == pytest.approx(500) for counts in fitted[1].counts.values())


def test_unclipped_triangles_prefer_the_far_bins_of_the_nearest():
    weights = unclipped_weights(np.array([[1.0, 1.2, 4.0, 9.0]]), 0.5, top_q=3)
    assert weights.argmax() == 2
    assert weights[0, 3] == 0.0
    assert weights.sum() == pytest.approx(1.0)


def test_unclipped_triangles_that_overlap_are_those_of_the_library():
    distances = np.array([[1.0, 1.2, 1.7], [3.0, 2.5, 2.9]])
    np.testing.assert_allclose(unclipped_weights(distances, 0.5, top_q=2), fuzzy_weights(distances, 0.5, top_q=2))
