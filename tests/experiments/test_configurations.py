import numpy as np
import pytest

import gapdrift as gd
from experiments.as_published import PublishedDetector, unclipped_weights
from experiments.clustering import fit_scripted_partition
from experiments.configurations import CONFIGURATIONS, WALD, fit_bins, fit_complete_wald, fit_distances
from experiments.protocols import PROTOCOLS
from experiments.samples import draw_drift
from gapdrift.detectors.mdlfwf.membership import fuzzy_weights
from gapdrift.inference.mean_weights import compare_mean_weights
from gapdrift.inference.pearson import pearson
from gapdrift.models.imputation import fit_imputers, impute

PUBLISHED, SOUND = PROTOCOLS["published"], PROTOCOLS["sound"]


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    reference = draw_drift("gaussian-mean", 0, 500, SOUND, rng)
    return reference, fit_distances(reference, SOUND, np.random.default_rng(1), n_bins=10, top_q=3)


@pytest.mark.parametrize(
    ("number", "settings"),
    [
        ("3", {"membership": "crisp"}),
        ("4.1", {"membership": "gaussian", "top_q": None}),
        ("4.2", {"membership": "triangular", "top_q": None}),
        ("5.1", {"membership": "gaussian", "top_q": 3}),
        ("5.2", {"membership": "triangular", "top_q": 3}),
        (WALD, {"test": "wald"}),
    ],
)
def test_configurations_are_those_of_the_library(fitted, number, settings):
    reference, found = fitted
    window = draw_drift("gaussian-mean", 6, 500, SOUND, np.random.default_rng(2))
    detector = gd.MDLFWF(n_bins=10, random_state=np.random.default_rng(1), **settings).fit(reference.with_missing)
    np.testing.assert_allclose(found.reference[number].weights, detector.evidence_.sums["weights"])
    np.testing.assert_allclose(found.reference[number].products, detector.evidence_.sums["products"])
    alarms = found.alarms(window, np.random.default_rng(3), 0.05)
    assert alarms[number] == detector.test(window.with_missing).drift


@pytest.mark.parametrize("protocol", [PUBLISHED, SOUND], ids=lambda protocol: protocol.name)
def test_the_first_configuration_is_k_means_and_chi_square(protocol):
    reference = draw_drift("gaussian-mean", 0, 500, protocol, np.random.default_rng(0))
    found = fit_bins(reference, protocol, np.random.default_rng(1), n_bins=10)
    if protocol.scripted_bins:
        np.testing.assert_array_equal(found.complete.centres, fit_scripted_partition(reference.complete, 10).centres)
    counts = np.bincount(found.complete.distances(reference.complete).argmin(axis=1), minlength=10)
    np.testing.assert_array_equal(found.reference["1"].weights, counts)
    window = draw_drift("gaussian-mean", 9, 500, protocol, np.random.default_rng(2))
    seen = np.bincount(found.complete.distances(window.complete).argmin(axis=1), minlength=10)
    p_value = pearson(counts.astype(float), seen.astype(float)).p_value
    for alpha in (p_value * 1.01, p_value * 0.99):
        assert found.alarms(window, np.random.default_rng(0), alpha)["1"] == (p_value < alpha)


def test_wald_of_complete_data_has_the_bins_of_the_first_configuration():
    reference = draw_drift("gaussian-mean", 0, 500, PUBLISHED, np.random.default_rng(0))
    found = fit_complete_wald(reference, PUBLISHED, np.random.default_rng(1), n_bins=10)
    expected = fit_bins(reference, PUBLISHED, np.random.default_rng(1), n_bins=10).complete
    np.testing.assert_array_equal(found.partition.centres, expected.centres)
    window = draw_drift("gaussian-mean", 6, 500, PUBLISHED, np.random.default_rng(2))
    counts = np.bincount(expected.distances(window.complete).argmin(axis=1), minlength=10).astype(float)
    p_value = compare_mean_weights(found.reference[1:], (counts, np.diag(counts)), 500, 500).p_value
    for alpha in (p_value * 1.01, p_value * 0.99):
        alarms = found.alarms(window, np.random.default_rng(0), alpha)
        assert alarms == {f"{WALD} complete": p_value < alpha}


def test_all_configurations_count_all_rows(fitted):
    assert set(fitted[1].reference) == set(CONFIGURATIONS) - {"1", "2"} | {WALD}
    assert all(counts.weights.sum() == pytest.approx(500) for counts in fitted[1].reference.values())


def test_the_authors_detector_is_configuration_five():
    """Fitted alone or with the other configurations, it finds the same."""
    reference = draw_drift("gaussian-mean", 0, 500, PUBLISHED, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    found = fit_distances(reference, PUBLISHED, rng, n_bins=10, top_q=3, max_pairs=400)
    for membership, number in (("triangular", "5.2"), ("gaussian", "5.1")):
        alone = PublishedDetector(membership, max_pairs=400).fit(reference.with_missing)
        np.testing.assert_allclose(alone.counts_, found.reference[number].weights)
        for severity in (0, 10):
            window = draw_drift("gaussian-mean", severity, 500, PUBLISHED, np.random.default_rng(severity))
            assert alone.finds_drift(window.with_missing) == found.alarms(window, rng, 0.05)[number]


def test_the_authors_distances_depend_on_the_rows_beside():
    """Imputers are fitted on each sample, and the centre is the first of a pair."""
    reference = draw_drift("gaussian-mean", 0, 500, PUBLISHED, np.random.default_rng(0)).with_missing
    distances = PublishedDetector(max_pairs=400).fit(reference).distances_
    rows = reference[np.isnan(reference).any(axis=1)]
    whole, part = distances.to_centres(rows), distances.to_centres(rows[:100])
    assert whole.shape == (len(rows), 10)
    assert not np.allclose(whole[:100], part)
    seen = []
    model = type("Spy", (), {"predict": lambda _, features: seen.append(features) or features[:, -1]})()
    spied = type(distances)(distances.partition, type(distances.model)(model, (), 1.0, np.empty(0)))
    spied.to_centres(rows)
    np.testing.assert_array_equal(seen[0][:, :4], 0.0)
    np.testing.assert_array_equal(seen[0][::10, 4:8], np.isnan(rows))
    for number, imputer in enumerate(fit_imputers(["zero", "mean", "median", "most_frequent"], rows, rng=None)):
        expected = np.linalg.norm(impute(imputer, rows) - distances.partition.centres[3], axis=1)
        np.testing.assert_allclose(seen[0][3::10, 8 + number], expected)


def test_unclipped_triangles_prefer_the_far_bins_of_the_nearest():
    weights = unclipped_weights(np.array([[1.0, 1.2, 4.0, 9.0]]), 0.5, top_q=3)
    assert weights.argmax() == 2
    assert weights[0, 3] == 0.0
    assert weights.sum() == pytest.approx(1.0)


def test_unclipped_triangles_that_overlap_are_those_of_the_library():
    distances = np.array([[1.0, 1.2, 1.7], [3.0, 2.5, 2.9]])
    np.testing.assert_allclose(unclipped_weights(distances, 0.5, top_q=2), fuzzy_weights(distances, 0.5, top_q=2))
