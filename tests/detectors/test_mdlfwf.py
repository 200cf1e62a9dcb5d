import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import KNNImputer
from sklearn.linear_model import LinearRegression

import gapdrift as gd
from experiments.distributions import DRIFTS
from gapdrift.detectors.mdlfwf.distance import learn_distance
from gapdrift.detectors.mdlfwf.membership import MEMBERSHIPS
from tests import naive

CONFIGURATIONS = {
    "2 imputed": {"distance": "imputed", "imputers": ["iterative"], "membership": "crisp"},
    "3 crisp": {"membership": "crisp"},
    "4.1 gaussian": {"membership": "gaussian", "top_q": None},
    "4.2 triangular": {"membership": "triangular", "top_q": None},
    "5.1 gaussian top q": {"membership": "gaussian", "top_q": 3},
    "5.2 triangular top q": {"membership": "triangular", "top_q": 3},
}


@pytest.mark.parametrize("settings", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_nothing_missing_is_kmeans_and_chi_square(settings, gaussian_drift):
    reference = gaussian_drift.sample(500, severity=0, missing=0, rng=1)
    window = gaussian_drift.sample(400, severity=5, missing=0, rng=2)
    detector = gd.MDLFWF(random_state=0, **settings).fit(reference)
    result = detector.test(window)
    kmeans = KMeans(10, init=detector.centres_, n_init=1, max_iter=1).fit(reference)
    kmeans.cluster_centers_ = detector.centres_
    table = [np.bincount(kmeans.predict(rows), minlength=10) for rows in (reference, window)]
    expected = chi2_contingency(table)
    np.testing.assert_array_equal(detector.evidence_.sums["weights"], table[0])
    np.testing.assert_array_equal(detector.count(window).sums["weights"], table[1])
    assert result.values.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert result.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert result.values.degrees_of_freedom == 9


def test_complete_reference_bins_are_those_of_kmeans(gaussian_drift):
    """The centres are scikit-learn's own, to the bit, for the seed that the generator gives."""
    reference = gaussian_drift.sample(500, severity=0, missing=0, rng=1)
    detector = gd.MDLFWF(distance="imputed", imputers=["mean"], random_state=3).fit(reference)
    seed = int(np.random.default_rng(3).integers(2**31))
    expected = KMeans(10, n_init=10, random_state=seed).fit(reference)
    np.testing.assert_array_equal(detector.centres_, expected.cluster_centers_)


@pytest.mark.parametrize("settings", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_every_configuration_finds_a_large_drift(settings, gaussian_drift):
    detector = gd.MDLFWF(random_state=0, **settings)
    detector.fit(gaussian_drift.sample(500, severity=0, missing=0.2, rng=1))
    moved = gaussian_drift.sample(500, severity=10, missing=0.2, rng=2)
    moved[:, :2] += 0.5
    assert detector.test(moved).drift is True
    assert detector.evidence_.sums["weights"].sum() == pytest.approx(500)


def test_complete_rows_are_crisp_beside_incomplete_ones(fitted, gaussian_drift):
    rows = gaussian_drift.sample(500, severity=0, missing=0.2, rng=5)
    gaps = np.isnan(rows).any(axis=1)
    counted = fitted.count(rows).sums["weights"] - fitted.count(rows[gaps]).sums["weights"]
    np.testing.assert_allclose(counted, np.round(counted), atol=1e-9)
    assert counted.sum() == pytest.approx((~gaps).sum())


def test_false_alarms_do_not_exceed_alpha():
    """Pearson on fuzzy frequencies is too cautious; it must not be too bold: 60 windows at alpha 0.05.

    99.9 % of the time a rate of 0.05 gives at most 9 alarms in 60.
    """
    drift = DRIFTS["gaussian-mean"]
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        detector = gd.MDLFWF(random_state=seed, regressor=LinearRegression(), max_pairs=2_000)
        detector.fit(drift.sample(300, severity=0, missing=0.2, rng=rng))
        alarms += detector.test(drift.sample(300, severity=0, missing=0.2, rng=rng)).drift
    assert alarms <= 9


def test_parameters_follow_scikit_learn():
    detector = gd.MDLFWF(membership="gaussian", top_q=2, random_state=4)
    assert detector.get_params()["membership"] == "gaussian"
    copy = clone(detector.set_params(alpha=0.01))
    assert copy.get_params() == detector.get_params()
    assert not hasattr(copy, "reference_")
    assert "top_q=2" in repr(detector)


def test_the_published_settings():
    detector = gd.MDLFWF.with_published_regressor(alpha=0.1, n_splits=3)
    assert isinstance(detector.regressor, GradientBoostingRegressor)
    assert (detector.regressor.loss, detector.regressor.n_estimators) == ("huber", 500)
    assert (detector.max_pairs, detector.n_splits, detector.alpha) == (None, 3, 0.1)


def test_fit_keeps_what_it_was_given(gaussian_drift):
    rows = gaussian_drift.sample(200, severity=0, missing=0.2, rng=1)
    copy = rows.copy()
    regressor = LinearRegression()
    gd.MDLFWF(regressor=regressor, imputers=["mean", KNNImputer()], random_state=0).fit(rows)
    np.testing.assert_array_equal(rows, copy)
    assert not hasattr(regressor, "coef_")


def test_fitted_attributes(fitted):
    assert fitted.centres_.shape == (10, 4)
    assert fitted.distance_error_ > 0
    assert fitted.feature_importances_.shape == (2 * 4 + 5,)
    assert fitted.evidence_.n_rows == 500
    assert fitted.warnings_ == ()


def test_pairs_with_centres(gaussian_drift):
    rows = gaussian_drift.sample(300, severity=0, missing=0.2, rng=1)
    detector = gd.MDLFWF(pairs="centres", random_state=0).fit(rows)
    assert detector.test(rows).drift is False


def test_result_as_json(fitted, gaussian_drift):
    result = fitted.test(gaussian_drift.sample(500, severity=5, missing=0.2, rng=3))
    record = json.loads(result.to_json(indent=2))
    assert record == result.to_dict()
    assert record["p_value"] == result.p_value == result.values.p_value
    assert len(record["bins"]) == 10
    assert sum(entry["share_window"] for entry in record["bins"]) == pytest.approx(1.0)
    assert sum(entry["contribution"] for entry in record["bins"]) == pytest.approx(result.values.statistic)
    assert [entry["name"] for entry in record["features"]] == ["x0", "x1", "x2", "x3"]


def test_bins_speak_the_users_language(rng):
    table = pd.DataFrame({"price": rng.normal(100, 5, 300), "colour": rng.choice(["red", "blue"], 300)})
    result = gd.MDLFWF(random_state=0).fit(table).test(table)
    assert len(result.bins) == 6
    for entry in result.bins:
        assert 80 < entry.centre["price"] < 120
        assert entry.centre["colour"] in {"red", "blue"}


def test_target_takes_part(rng):
    features = pd.DataFrame({"x": rng.normal(size=400)})
    reference = features.assign(label=(features["x"] > 0).astype(int))
    flipped = features.assign(label=(features["x"] <= 0).astype(int))
    detector = gd.MDLFWF(target="label", random_state=0).fit(reference)
    assert detector.test(reference).drift is False
    assert detector.test(flipped).drift is True
    assert gd.MDLFWF(ignore=["label"], random_state=0).fit(reference).test(flipped).drift is False


def test_summary_tells_all(fitted, gaussian_drift):
    calm = fitted.test(gaussian_drift.sample(500, severity=0, missing=0.2, rng=2)).summary()
    assert calm.startswith("No drift found")
    assert "x0 22% -> " in calm
    nothing = fitted.test(np.empty((0, 4))).summary()
    assert nothing.startswith("UNDETERMINED: The window has no rows.")
    few = fitted.test(gaussian_drift.sample(20, severity=0, missing=0.2, rng=2)).summary()
    assert "Note: 10 bin(s) expect fewer than 5 rows" in few


@pytest.mark.parametrize(
    "settings",
    [
        {"membership": "round"},
        {"membership": None},
        {"top_q": 0},
        {"top_q": 1.5},
        {"n_bins": 1},
        {"n_bins": True},
        {"n_bins": 301},
        {"n_splits": 1},
        {"n_splits": None},
        {"regressor": "boosting"},
        {"imputers": "mean"},
        {"imputers": ["magic"]},
        {"imputers": []},
        {"alpha": 0},
        {"alpha": 1.0},
        {"alpha": -0.5},
        {"alpha": float("nan")},
        {"alpha": "0.05"},
        {"random_state": -1},
        {"random_state": "seed"},
        {"distance": "far"},
        {"pairs": "all"},
        {"max_pairs": 3},
        {"target": "label"},
        {"categories": "colour"},
        {"ignore": ["nothing"]},
        {"n_jobs": 0},
    ],
    ids=str,
)
def test_bad_settings(settings, gaussian_drift):
    rows = gaussian_drift.sample(300, severity=0, missing=0.2, rng=1)
    with pytest.raises(gd.GapdriftError, match=next(iter(settings))):
        gd.MDLFWF(**settings).fit(rows)


@pytest.mark.parametrize("state", [7, np.int64(7), np.random.default_rng(7), np.random.RandomState(7), None])
def test_random_states(state, gaussian_drift):
    rows = gaussian_drift.sample(100, severity=0, missing=0.2, rng=1)
    assert gd.MDLFWF(random_state=state, regressor=LinearRegression()).fit(rows).centres_.shape == (2, 4)


@pytest.mark.parametrize("membership", sorted(MEMBERSHIPS))
@pytest.mark.parametrize("top_q", [None, 1, 3])
def test_count_equals_the_algorithm_row_by_row(membership, top_q, gaussian_drift):
    """Alg. 2 in loops: the fitted imputers, regressor and centres, everything else from the paper."""
    reference = gaussian_drift.sample(200, severity=0, missing=0.2, rng=1)
    window = gaussian_drift.sample(30, severity=5, missing=0.3, rng=2)
    detector = gd.MDLFWF(membership=membership, top_q=top_q, n_bins=5, random_state=0).fit(reference)
    model = detector.reference_.distance
    frequencies = np.zeros(5)
    for row in window:
        missing = np.isnan(row)
        if not missing.any():
            frequencies[np.argmin([np.linalg.norm(row - centre) for centre in detector.centres_])] += 1
            continue
        distances = []
        for centre in detector.centres_:
            filled = [imputer.transform(np.vstack([row, np.zeros(4)]))[0] for imputer in model.imputers]
            features = naive.pair_features(missing, [False] * 4, filled, [centre] * len(filled))
            features[-len(filled) :] = [distance / model.scale for distance in features[-len(filled) :]]
            distances.append(max(model.regressor.predict([features])[0], 0.0) * model.scale)
        frequencies += naive.weights([distances], model.error, membership, top_q)[0]
    np.testing.assert_allclose(detector.count(window).sums["weights"], frequencies, atol=1e-9)


def test_settings_reach_the_fit(gaussian_drift, monkeypatch):
    rows = gaussian_drift.sample(200, severity=0, missing=0.2, rng=1)
    seen = {}

    def spy(values, rates, owner, imputers, **settings):
        seen.update(settings, rates=rates, n_imputers=len(imputers))
        return learn_distance(values, rates, owner, imputers, **settings)

    monkeypatch.setattr("gapdrift.detectors.mdlfwf.reference.learn_distance", spy)
    gd.MDLFWF(n_splits=3, max_pairs=123, pairs="centres", imputers=["mean", "zero"], random_state=0).fit(rows)
    assert (seen["n_splits"], seen["max_pairs"], seen["n_imputers"]) == (3, 123, 2)
    assert seen["centres"] is not None
    np.testing.assert_allclose(seen["rates"], np.isnan(rows).mean(axis=0))


def test_imputed_distance_takes_the_last_of_the_pool(gaussian_drift):
    rows = gaussian_drift.sample(200, severity=0, missing=0.2, rng=1)
    detector = gd.MDLFWF(distance="imputed", imputers=["zero", "mean"], random_state=0).fit(rows)
    np.testing.assert_allclose(detector.reference_.distance.imputer.constants, np.nanmean(rows, axis=0))


def test_open_seeds_of_the_regressor_are_drawn(gaussian_drift):
    rows = gaussian_drift.sample(100, severity=0, missing=0.2, rng=1)
    errors = {
        gd.MDLFWF(regressor=RandomForestRegressor(5), max_pairs=500, random_state=0).fit(rows).distance_error_
        for _ in range(2)
    }
    assert len(errors) == 1


def test_large_references_are_sampled(rng):
    rows = rng.normal(size=(3_500, 2))
    rows[rng.random(rows.shape) < 0.01] = np.nan
    detector = gd.MDLFWF(regressor=LinearRegression(), max_pairs=2_000, random_state=0).fit(rows)
    assert detector.evidence_.n_rows == 3_500


def test_fitted_detectors_travel(fitted, gaussian_drift):
    window = gaussian_drift.sample(100, severity=5, missing=0.2, rng=4)
    assert pickle.loads(pickle.dumps(fitted)).test(window) == fitted.test(window)


def test_centres_cannot_be_edited(fitted):
    with pytest.raises(ValueError, match="read-only"):
        fitted.centres_[0] = 0.0


def test_wald_judges_the_same_frequencies(gaussian_drift):
    reference = gaussian_drift.sample(500, severity=0, missing=0.2, rng=1)
    window = gaussian_drift.sample(500, severity=6, missing=0.2, rng=2)
    published, repaired = (gd.MDLFWF(random_state=0, test=test).fit(reference) for test in ("pearson", "wald"))
    evidence = [detector.count(window) for detector in (published, repaired)]
    np.testing.assert_array_equal(evidence[0].sums["weights"], evidence[1].sums["weights"])
    results = [detector.test(each) for detector, each in zip((published, repaired), evidence, strict=True)]
    assert [result.values.name for result in results] == ["pearson", "wald"]
    assert results[1].p_value < results[0].p_value
    halves = repaired.count(window[:200]) + repaired.count(window[200:])
    np.testing.assert_allclose(halves.sums["products"], evidence[1].sums["products"])


def test_wald_counts_the_reference_as_if_it_were_fresh(gaussian_drift):
    """Rows near the border of their bin may fall beyond it, once the bin is made without them."""
    reference = gaussian_drift.sample(500, severity=0, missing=0.1, rng=1)
    published, repaired = (gd.MDLFWF(random_state=0, test=test).fit(reference) for test in ("pearson", "wald"))
    np.testing.assert_array_equal(published.centres_, repaired.centres_)
    counts = [detector.evidence_.sums["weights"] for detector in (published, repaired)]
    assert counts[0].sum() == pytest.approx(500.0)
    assert counts[1].sum() == pytest.approx(500.0)
    moved = np.abs(counts[0] - counts[1])
    assert 1.0 <= moved.max() < 20.0
    np.testing.assert_allclose(moved, np.round(moved), atol=1e-9)  # incomplete rows count as before


def test_wald_with_few_complete_rows(gaussian_drift):
    """Bins are then made of imputed rows; only those that are complete are counted without themselves."""
    rows = gaussian_drift.sample(200, severity=0, missing=0.7, rng=1)
    detector = gd.MDLFWF(random_state=0, test="wald").fit(rows)
    assert detector.evidence_.sums["weights"].sum() == pytest.approx(200.0)
    assert 0 < detector.test(gaussian_drift.sample(200, severity=0, missing=0.7, rng=2)).p_value <= 1


def test_the_test_is_a_parameter_beside_the_method():
    detector = gd.MDLFWF(test="wald")
    assert detector.get_params()["test"] == "wald"
    assert clone(detector).get_params()["test"] == "wald"
    assert detector.set_params(test="pearson", top_q=2).frequency_test == "pearson"
    assert callable(detector.test)
    assert "test='wald'" in repr(gd.MDLFWF(test="wald"))
    with pytest.raises(gd.errors.ParameterError, match="test is 'chi', expected"):
        gd.MDLFWF(test="chi").fit(np.zeros((50, 2)))


def test_a_window_without_rows_is_undetermined_by_wald(gaussian_drift):
    detector = gd.MDLFWF(random_state=0, test="wald").fit(gaussian_drift.sample(200, severity=0, missing=0.2, rng=1))
    result = detector.test(np.empty((0, 4)))
    assert result.drift is None
    assert "no rows" in result.warnings[-1]
