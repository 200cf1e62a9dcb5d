from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gapdrift as gd
from gapdrift.counting.label_model import N_PAIRS, ridge_regression
from gapdrift.detectors.drift.labelled import LabelledReference
from gapdrift.errors import ParameterError
from gapdrift.inference.concept import Scores, concept_finding


def draw(seed, n_rows=400, change="", kind="number", unlabelled=0.2):
    """Three columns with missing cells, one of them categories, and a label that depends on two of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["a", "b"])
    if change == "x":
        frame["a"] += 1.0
    frame["c"] = rng.choice(["red", "blue", "green"], n_rows)
    mean = frame["a"] * (-1.0 if change == "concept" else 1.0) + (frame["c"] == "red")
    frame["y"] = mean + (0.8 if change == "noise" else 0.5) * rng.normal(size=n_rows)
    if kind == "class":
        frame["y"] = np.where(frame["y"] > 0.3, "yes", "no")
    frame["y"] = frame["y"].mask(rng.random(n_rows) < unlabelled)
    return frame.assign(**{name: frame[name].mask(rng.random(n_rows) < 0.1) for name in "abc"})[["a", "y", "b", "c"]]


@pytest.fixture(scope="module", params=["number", "class"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(kind):
    return gd.DriftDetector(random_state=0, target="y").fit(draw(0, kind=kind))


def compared_with(detector, evidence, window) -> float:
    reference: LabelledReference = replace(detector.reference_, evidence=evidence)
    return reference.test(window, 0.05).concept.p_value


@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_changed(fitted, kind, seed):
    found = fitted.test(draw(seed, kind=kind))
    assert found.drift is False
    assert found.concept.p_value > 0.05


def test_a_concept_that_changes_is_not_laid_to_the_covariates(fitted, kind):
    found = fitted.test(draw(2, change="concept", kind=kind))
    assert found.drift is True
    assert found.concept.p_value < 1e-9
    covariates, label = found.values.parts
    assert (covariates.name, label.name) == ("covariates", "label")
    assert covariates.p_value > 0.05
    assert label.p_value > 0.05
    assert found.concept.effect_size > 0.2


def test_covariates_that_move_are_not_laid_to_the_concept(fitted, kind):
    found = fitted.test(draw(4, change="x", kind=kind))
    covariates, label = found.values.parts
    assert covariates.p_value < 1e-9
    assert label.p_value < 0.01
    assert found.concept.p_value > 0.05
    assert [feature.name for feature in found.features] == ["a", "y", "b", "c"]
    assert found.features[1].missing_window == pytest.approx(draw(4, change="x", kind=kind)["y"].isna().mean())


def test_more_noise_is_a_spread_of_a_number():
    detector = gd.DriftDetector(random_state=0, target="y").fit(draw(0))
    parts = {part.name: part.p_value for part in detector.test(draw(5, change="noise")).concept.parts}
    assert parts["spread"] < 1e-3
    assert parts["level"] > 0.01


def test_the_whole_is_the_sum_of_the_parts_to_the_bit(fitted, kind):
    rows = draw(6, kind=kind)
    whole, parts = fitted.count(rows), sum(fitted.count(rows[start : start + 57]) for start in range(0, 400, 57))
    for name, array in whole.sums.items():
        np.testing.assert_array_equal(parts.sums[name], array)
        np.testing.assert_array_equal(array, np.rint(array))
    assert not any(array.any() for array in fitted.count(rows[:0]).sums.values())
    assert fitted.test(whole) == fitted.test(rows)


def test_rows_without_a_label_add_nothing_to_the_concept(fitted, kind):
    rows = draw(6, kind=kind)
    every, labelled = fitted.count(rows), fitted.count(rows[rows["y"].notna()])
    for name in ("concept_products", "concept_scores", "concept_squares"):
        np.testing.assert_array_equal(every.sums[name], labelled.sums[name])
    assert every.sums["concept_products"][0, 0, 0] == N_PAIRS * rows["y"].notna().sum()


def test_late_labels(fitted, kind):
    """Rows can be tested before their labels come; that labels are missing is no drift."""
    found = fitted.test(draw(4, kind=kind).assign(y=None if kind == "class" else np.nan))
    assert found.drift is False
    assert "Test rows again once they are labelled" in found.concept.reason
    assert found.concept.reason in found.warnings


def test_windows_can_be_compared_with_each_other(fitted, kind):
    old, new = (fitted.count(draw(seed, change="concept", kind=kind)) for seed in (14, 15))
    assert compared_with(fitted, old, new) > 0.01
    assert compared_with(fitted, old, fitted.count(draw(16, kind=kind))) < 1e-9


def test_the_reference_is_counted_and_corrected(fitted, kind):
    """Rows that were learned from are predicted by models of the others."""
    own, counted = fitted.reference_, fitted.reference_.count_own(draw(0, kind=kind))
    for name, array in (counted + own.correction).sums.items():
        np.testing.assert_array_equal(own.evidence.sums[name], array)
    assert own.correction.sums["concept_scores"].any()
    assert not own.correction.sums["products"].any()


@pytest.mark.parametrize("labels", ["few", "none", "same"])
def test_labels_of_the_reference_that_tell_nothing(labels):
    rows = draw(0)
    kept = {"few": rows["y"].where(np.arange(len(rows)) < 30), "none": np.nan, "same": 1.5}[labels]
    found = gd.DriftDetector(random_state=0, target="y").fit(rows.assign(y=kept)).test(draw(1).assign(y=1.5))
    assert found.concept.reason.startswith("The reference has ")
    assert found.drift in {True, False}


def test_rows_that_moved_and_lack_what_matters_say_nothing():
    """Each of the columns that the label follows is missing in half of the rows: complete ones are too few."""

    def rows(seed, scale=1.0):
        rng = np.random.default_rng(seed)
        x = scale * (rng.normal(size=(400, 5)) + rng.normal(size=(400, 1)))
        y = x.sum(axis=1) + 0.5 * rng.normal(size=400)
        return np.column_stack([np.where(rng.random(x.shape) < 0.5, np.nan, x), y])

    detector = gd.DriftDetector(random_state=0, target=5).fit(rows(0))
    assert detector.test(rows(1)).concept.p_value > 0.05
    assert "The other columns moved" in detector.test(rows(2, scale=2.0)).concept.reason


def test_a_target_alone_is_an_error():
    with pytest.raises(ParameterError, match="the only column that is compared"):
        gd.DriftDetector(random_state=0, target="y").fit(draw(0)[["y"]])


def test_ridge_regression_finds_the_slopes():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=(2_000, 2)), np.ones(2_000)])
    intercepts, slopes = ridge_regression(x, (3.0 + x @ [2.0, 0.0, 5.0] + 0.1 * rng.normal(size=2_000))[:, None])
    np.testing.assert_allclose(slopes[:, 0], [2.0, 0.0, 0.0], atol=0.01)
    np.testing.assert_allclose(intercepts, 8.0, atol=0.01)


def test_scores_given_others_are_a_partial_regression():
    """U is N d with coefficients that differ by d, and given others tells of its own coefficient alone."""
    rng = np.random.default_rng(0)
    known = np.cov(rng.normal(size=(3, 50)) + rng.normal(size=50))
    scores = Scores(known @ [0.0, 2.0, 1.0], known, known, 100.0)
    alone = scores.given(np.array([1]), np.array([0, 2]))
    np.testing.assert_allclose(alone.difference / alone.known[0, 0], [2.0])


def test_few_labels_of_other_rows(fitted, kind):
    few = draw(14, kind=kind, unlabelled=0.0).assign(y=lambda rows: rows["y"].where(np.arange(len(rows)) < 15))
    model, sums = fitted.reference_.concept, fitted.count(few).sums
    found = concept_finding(model, sums, fitted.count(draw(16, kind=kind)).sums)
    assert found.reason.startswith("15 row(s) of the reference have a label, expected at least 20")
