import numpy as np
import pandas as pd
import pytest

import gapdrift as gd
from gapdrift.detectors.drift import labelled
from gapdrift.detectors.reference import compare_all_rows


def draw(seed, n_rows=400, change="", kind="number", unlabelled=0.2):
    """Three columns with missing cells, one of them categories, and a label that depends on two of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["a", "b"])
    if change == "x":
        frame["a"] += 1.0
    frame["c"] = rng.choice(["red", "blue", "green"], n_rows)
    mean = frame["a"] * (-1.0 if change == "concept" else 1.0) + (frame["c"] == "red")
    frame["y"] = mean + 0.5 * rng.normal(size=n_rows)
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


def test_without_a_target_there_is_no_concept(kind):
    rows = draw(0, kind=kind)
    found = gd.DriftDetector(random_state=0).fit(rows).test(rows)
    assert found.concept is None
    assert {part.name for part in found.values.parts} <= {
        "location", "dependence", "bins", "distributions", "interactions"
    }  # fmt: skip


def test_nothing_changed(fitted, kind):
    found = fitted.test(draw(1, kind=kind))
    assert found.drift is False
    assert found.concept.p_value > 0.05


def test_rows_of_the_reference_are_no_drift(fitted, kind):
    found = fitted.test(draw(0, kind=kind))
    assert found.drift is False
    assert found.concept.p_value > 0.5


def test_a_concept_that_changes_is_not_laid_to_the_covariates(fitted, kind):
    found = fitted.test(draw(2, change="concept", kind=kind))
    assert found.drift is True
    assert found.concept.p_value < 1e-9
    covariates, label = found.values.parts
    assert (covariates.name, label.name) == ("covariates", "label")
    assert covariates.p_value > 0.05
    assert found.concept.effect_size > 0.2


def test_covariates_that_move_are_not_laid_to_the_concept(fitted, kind):
    found = fitted.test(draw(4, change="x", kind=kind))
    covariates, label = found.values.parts
    assert found.drift is True
    assert covariates.p_value < 1e-9
    assert label.p_value < 0.01
    assert found.concept.p_value > 0.05


@pytest.mark.parametrize("column", [0, 7])
def test_wherever_the_column_stands_that_the_label_follows(column):
    """Few rows for many columns: of the last column alone no slope was known, and 11 of 12 windows alarmed."""

    def rows(seed, n_rows, shift=0.0):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n_rows, 8))
        x[:, column] += shift
        return np.column_stack([x, x[:, column] + 0.5 * rng.normal(size=n_rows)])

    found = [
        gd.DriftDetector(random_state=0, target=8).fit(rows([seed, 1], 60)).test(rows([seed, 2], 300, shift=0.7))
        for seed in range(8)
    ]
    assert sum(each.concept.p_value < 0.05 for each in found) <= 2


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_many_columns_that_move_are_not_laid_to_the_concept(missing):
    """The label follows 5 columns of 30, which shift: along 15 principal directions 7 of 8 windows alarmed."""

    def rows(seed, n_rows, shift=0.0):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n_rows, 30)) + 0.65 * rng.normal(size=(n_rows, 1))
        x[:, :5] += shift
        y = x[:, :5].sum(axis=1) / 2.0 + 0.5 * rng.normal(size=n_rows)
        return np.column_stack([np.where(rng.random(x.shape) < missing, np.nan, x), y])

    found = [
        gd.DriftDetector(random_state=0, target=30).fit(rows([seed, 1], 1_000)).test(rows([seed, 2], 500, shift=0.5))
        for seed in range(4)
    ]
    assert sum(each.concept.p_value < 0.05 for each in found) <= 1


def test_every_column_has_its_finding(fitted, kind):
    found = fitted.test(draw(4, change="x", kind=kind))
    assert [feature.name for feature in found.features] == ["a", "y", "b", "c"]
    label = found.features[1]
    assert label.tested
    assert not label.missing_tested
    assert label.missing_window == pytest.approx(draw(4, change="x", kind=kind)["y"].isna().mean())
    assert label.adjusted_p_value >= label.p_value
    assert label.histogram is not None
    assert fitted.reference_.missing_shares[1] == pytest.approx(draw(0, kind=kind)["y"].isna().mean())


def test_late_labels(fitted, kind):
    """Rows can be tested before their labels come; that labels are missing is no drift."""
    rows = draw(4, change="concept", kind=kind)
    early = fitted.test(rows.assign(y=None if kind == "class" else np.nan))
    assert early.drift is False
    assert not early.concept.determined
    assert any("Test rows again once they are labelled" in note for note in early.warnings)
    assert fitted.test(rows).concept.p_value < 1e-9


def test_rows_without_labels_add_nothing_to_the_concept(fitted, kind):
    rows = draw(5, kind=kind)
    every = fitted.count(rows)
    labelled = fitted.count(rows[rows["y"].notna()])
    for name in ("concept_rows", "concept_gram", "concept_scores", "concept_squares", "label_cells"):
        np.testing.assert_allclose(every.sums[name], labelled.sums[name], atol=1e-9)


def test_the_whole_is_the_sum_of_the_parts(fitted, kind):
    rows = draw(6, kind=kind)
    whole, parts = fitted.count(rows), sum(fitted.count(rows[start : start + 57]) for start in range(0, 400, 57))
    assert whole.n_rows == parts.n_rows
    for name, array in whole.sums.items():
        np.testing.assert_allclose(parts.sums[name], array, rtol=0, atol=1e-9)
    nothing = fitted.count(rows[:0])
    assert not any(array.any() for array in nothing.sums.values())
    assert fitted.test(whole) == fitted.test(rows)


def test_a_stored_detector_says_the_same(fitted, kind, tmp_path):
    fitted.save(tmp_path / "fitted.gapdrift")
    again = gd.load(tmp_path / "fitted.gapdrift")
    rows = draw(7, change="concept", kind=kind)
    assert again.test(rows) == fitted.test(rows)
    gd.save(again.test(rows), tmp_path / "result.gapdrift")
    assert gd.load(tmp_path / "result.gapdrift").concept == fitted.test(rows).concept


def test_too_small_an_effect_is_no_drift(kind):
    rows = draw(8, change="concept", kind=kind)
    found = gd.DriftDetector(random_state=0, target="y", min_effect=9.0).fit(draw(0, kind=kind)).test(rows)
    assert found.drift is False
    assert any("below min_effect 9" in note for note in found.warnings)


def test_a_monitor_sees_the_concept(fitted, kind):
    monitor = gd.Monitor(fitted, window=200, false_alarm_every=1_000)
    alarms = [
        alarm for part in (draw(9, kind=kind), draw(10, change="concept", kind=kind)) for alarm in monitor.update(part)
    ]
    assert alarms
    assert alarms[-1].result.concept.p_value < 1e-6


def test_all_rows_of_a_larger_reference_are_compared(fitted, kind):
    """Rows that were learned from are corrected once, however many others there are."""
    detector = gd.DriftDetector(random_state=0, target="y").fit(draw(0, kind=kind))
    parts = [detector.reference_.count(draw(seed, kind=kind)) for seed in (0, 11, 12)]
    compare_all_rows(detector, parts, draw(0, kind=kind))
    rows = draw(13, kind=kind)
    assert detector.reference_.covariates.evidence.n_rows == 1_200
    assert detector.test(rows).n_reference == 1_200
    more = fitted.extended(fitted.count(draw(11, kind=kind)) + fitted.count(draw(12, kind=kind)))
    for name, array in more.evidence_.sums.items():
        np.testing.assert_allclose(detector.evidence_.sums[name], array, atol=1e-9)
    assert detector.test(rows).concept.p_value == pytest.approx(more.test(rows).concept.p_value)


def test_windows_can_be_compared_with_each_other(fitted, kind):
    old, new = (fitted.count(draw(seed, change="concept", kind=kind)) for seed in (14, 15))
    assert fitted.compared_with(old).test(new).concept.p_value > 0.01
    assert fitted.compared_with(old).test(draw(16, kind=kind)).concept.p_value < 1e-9


def test_other_rows_are_compared_as_they_were_counted(fitted, kind):
    """What is corrected of the reference is not taken off from other rows, however many these are."""
    other, window = draw(14, 900, kind=kind), draw(16, change="concept", kind=kind)
    compared, beside = fitted.compared_with(fitted.count(other)), fitted.extended(fitted.count(other))
    assert compared.evidence_.sums["concept_corrections"] == fitted.count(window).sums["concept_corrections"] == 0.0
    assert beside.evidence_.sums["concept_corrections"] == fitted.evidence_.sums["concept_corrections"] == 1.0
    swapped = fitted.compared_with(fitted.count(window)).test(other).concept
    assert swapped.p_value == pytest.approx(compared.test(window).concept.p_value)


def test_a_reference_is_learned_from_in_one_piece_and_counted_in_many(fitted, kind, monkeypatch):
    monkeypatch.setattr(labelled, "ROWS_AT_ONCE", 100)
    again = gd.DriftDetector(random_state=0, target="y").fit(draw(0, kind=kind))
    assert again.evidence_.origin == fitted.evidence_.origin
    for name, sums in fitted.evidence_.sums.items():
        np.testing.assert_allclose(again.evidence_.sums[name], sums, rtol=1e-9, atol=1e-7, err_msg=name)


def test_less_noise_than_in_other_rows_is_found():
    """Of 300 rows that were learned from, 500 others are compared: more than were corrected, and none of them."""

    def rows(seed, n_rows, noise=0.5):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n_rows, 3))
        return np.column_stack([x, x[:, 0] + 0.5 * x[:, 1] + noise * rng.normal(size=n_rows)])

    detector = gd.DriftDetector(random_state=0, target=3).fit(rows(0, 300))
    compared = detector.compared_with(detector.count(rows(1, 500)))
    assert compared.test(rows(2, 500)).concept.p_value > 0.05
    assert compared.test(rows(3, 500, noise=0.35)).concept.p_value < 0.01


def test_other_rows_with_few_labels_say_nothing(fitted, kind):
    few = draw(14, kind=kind, unlabelled=0.0).assign(y=lambda rows: rows["y"].where(np.arange(len(rows)) < 15))
    found = fitted.compared_with(fitted.count(few)).test(draw(16, kind=kind)).concept
    assert not found.determined
    assert found.reason.startswith("15 row(s) of the reference have a label, expected at least 20")


@pytest.mark.parametrize("labels", ["few", "none", "same"])
def test_labels_of_the_reference_that_tell_nothing(labels):
    rows = draw(0)
    kept = {"few": rows["y"].where(np.arange(len(rows)) < 30), "none": np.nan, "same": 1.5}[labels]
    detector = gd.DriftDetector(random_state=0, target="y").fit(rows.assign(y=kept))
    found = detector.test(draw(1).assign(y=1.5))
    assert found.concept.reason.startswith("The reference has ")
    assert found.concept.p_value == 1.0
    assert found.drift in {True, False}


def test_a_window_that_is_too_small(fitted, kind):
    found = fitted.test(draw(1, 5, kind=kind))
    assert found.drift is None
    assert found.p_value == 1.0
    assert not found.concept.determined


def test_the_target_may_be_named_as_a_category():
    rows = draw(0).assign(y=lambda frame: (frame["y"] * 2).round())
    found = gd.DriftDetector(random_state=0, target="y", categories=["y"]).fit(rows).test(rows)
    assert found.features[1].histogram.labels


def test_a_target_alone_is_an_error():
    with pytest.raises(gd.errors.ParameterError, match="the only column"):
        gd.DriftDetector(target="y").fit(draw(0)[["y"]])


def test_batches_take_no_target():
    with pytest.raises(gd.errors.ParameterError, match="target is 'y', expected None with batches"):
        gd.DriftDetector(target="y").fit(draw(0), batches=50)


def test_few_rows_for_many_columns_are_split(rng):
    """One half of the covariates is learned from; labels are those of all rows."""
    rows = rng.normal(size=(120, 40))
    detector = gd.DriftDetector(random_state=0, target=0).fit(rows)
    assert detector.evidence_.n_rows == 60
    assert detector.evidence_.sums["label_cells"].sum() == 120
    assert detector.test(rng.normal(size=(120, 40))).concept.determined


def test_arrays(rng):
    rows = rng.normal(size=(300, 3))
    rows[:, 1] += rows[:, 0]
    detector = gd.DriftDetector(random_state=0, target=1).fit(rows)
    moved = rng.normal(size=(300, 3))
    assert detector.test(moved).concept.p_value < 1e-6


def test_reports_speak_of_the_label(fitted, kind):
    found = fitted.test(draw(2, change="concept", kind=kind))
    clause = "the label depends on the other columns in another way than in the reference"
    assert found.summary().startswith("DRIFT: ")
    assert clause in found.summary()
    assert clause in found.to_markdown()
    assert "Retrain what predicts the label" in found.to_markdown()
    assert "P(y | x)" in found.to_html()
    assert found.to_dict()["concept"]["name"] == "concept"
    assert "the label depends on the other columns as before" in fitted.test(draw(1, kind=kind)).to_markdown()
    assert (
        "The label depends on the other columns as before" in fitted.test(draw(4, change="x", kind=kind)).to_markdown()
    )
