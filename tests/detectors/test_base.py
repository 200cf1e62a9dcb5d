"""A detector of somebody else, and what scikit-learn expects of ours."""

import json
import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import gapdrift as gd
from gapdrift.detectors import Detector
from gapdrift.history import History
from gapdrift.sinks import JsonLines
from gapdrift.streaming import run_monitor
from tests.stream_rows import cut, join, rows, timed, told


class MeanDetector(Detector):
    """The mean of one column, by the normal approximation. It knows nothing of gapdrift but its public names."""

    def __init__(self, column="x", alpha=0.05):
        self.column = column
        self.alpha = alpha

    def fit(self, reference, y=None):
        self.feature_names_in_ = np.array([self.column], dtype=object)
        self.evidence_ = self.count_rows(reference)
        return self

    def count_rows(self, table):
        try:
            cells = np.asarray(table[self.column], dtype=float)
        except ValueError as error:
            raise gd.errors.InputError(f"Column {self.column!r} holds text, expected numbers.") from error
        known = cells[~np.isnan(cells)]
        return gd.Evidence(len(cells), {"moments": [len(known), known.sum(), (known**2).sum()]})

    def judge(self, evidence, alpha):
        n, total, squares = self.evidence_.sums["moments"]
        m, other, _ = evidence.sums["moments"]
        shift = (other / m - total / n) / math.sqrt(squares / n - (total / n) ** 2)
        z = shift / math.sqrt(1 / n + 1 / m)
        p = max(math.erfc(abs(z) / math.sqrt(2)), 1e-300)
        values = gd.results.Finding(name="mean", statistic=z, degrees_of_freedom=1, p_value=p, effect_size=abs(shift))
        return gd.DriftResult(
            drift=p < alpha,
            p_value=p,
            alpha=alpha,
            n_reference=self.evidence_.n_rows,
            n_window=evidence.n_rows,
            values=values,
        )


class FirstColumns(MeanDetector):
    """The mean of the first column of an array: columns have no names."""

    def fit(self, reference, y=None):
        self.n_features_in_ = reference.shape[1]
        self.evidence_ = self.count_rows(reference)
        return self

    def count_rows(self, table):
        return super().count_rows({self.column: table[:, 0]})


STREAM = join(rows(200, 1), rows(200, 2, shift=3.0))


@pytest.fixture(scope="module")
def mean():
    return MeanDetector().fit(rows(1_000, 0))


def test_tests_of_tables_evidence_and_iterators(mean):
    window = rows(300, 3)
    result = mean.test(window, alpha=0.01)
    assert (result.drift, result.alpha, result.n_window) == (False, 0.01, 300)
    assert result.settings["detector"] == "MeanDetector"
    assert mean.test(mean.count(window)).p_value == result.p_value
    assert mean.test(iter(cut(window, [100]))).n_window == 300
    assert mean.test(rows(300, 3, shift=1.0)).drift
    with pytest.raises(gd.errors.EvidenceError):
        mean.test(gd.Evidence(3, {"other": [1.0]}))
    with pytest.raises(gd.errors.ParameterError, match="alpha is 2"):
        mean.test(window, alpha=2)


def test_an_unfitted_one_says_so():
    for ask in (lambda d: d.test(rows(50, 0)), lambda d: d.count(rows(50, 0)), lambda d: d.evidence_, gd.Monitor):
        with pytest.raises(gd.errors.NotFittedError, match="This MeanDetector has no reference yet"):
            ask(MeanDetector())


def test_in_a_monitor_and_evaluated(mean):
    windows = gd.Monitor(mean, 50).advance(STREAM)
    assert [window.zone for window in windows] == ["calm"] * 4 + ["drift"] * 4
    assert windows[0].result.warnings == ()
    assert windows[0].n_rows == 50
    found = gd.evaluate_stream(windows, [200])
    assert (found.false_alarms, found.missed, found.changes[0].delay_windows) == (0, 0, 1)
    one_by_one = gd.Monitor(mean, 50)
    pieces = [one_by_one.advance(piece) for piece in cut(STREAM, range(1, 400, 7))]
    assert told(window for part in pieces for window in part) == told(windows)


def test_in_a_monitor_of_times_with_single_rows(mean):
    monitor = gd.Monitor(mean, "1min", time_column="time")
    windows = monitor.advance(timed(130, 1))
    assert [window.n_rows for window in windows] == [60, 60]
    single = gd.Monitor(mean, 50)
    alarms = [alarm for x in np.full(50, 9.0) for alarm in single.update({"x": x})]
    assert [alarm.zone for alarm in alarms] == ["drift"]


def test_rows_that_it_cannot_count_are_refused_before_any_is_taken(mean):
    monitor = gd.Monitor(mean, 50)
    monitor.advance(rows(10, 1))
    with pytest.raises(gd.errors.InputError, match="holds text"):
        monitor.advance({"x": ["a", "b"]})
    with pytest.raises(gd.errors.SchemaError, match=r"lack the column\(s\) 'x'"):
        monitor.advance({"y": [1.0]})
    assert monitor.position == 10
    assert monitor.advance(rows(40, 2))[0].n_rows == 50


def test_without_names(gaussian_drift):
    reference = gaussian_drift.sample(1_000, severity=0, missing=0.2, rng=0)
    monitor = gd.Monitor(FirstColumns().fit(reference), 100)
    stream = gaussian_drift.sample(300, severity=0, missing=0.2, rng=1) + np.repeat([0.0, 0.0, 5.0], 100)[:, None]
    assert [window.zone for window in monitor.advance(stream)] == ["calm", "calm", "drift"]


def test_with_a_history_and_sinks_and_a_new_reference(mean, tmp_path):
    """Stopped after each piece and begun again: the windows are those of an undisturbed run."""
    undisturbed = gd.Monitor(mean, 50, adapt=2).advance(STREAM)
    assert [window.adapted for window in undisturbed] == [False] * 5 + [True] + [False] * 2
    assert [window.zone for window in undisturbed[6:]] == ["calm"] * 2
    for stop in (120, 290, 330, 400):
        with History(tmp_path / "history.db") as history:
            run_monitor(
                gd.Monitor(mean, 50, adapt=2),
                [{name: column[:stop] for name, column in STREAM.items()}],
                history=history,
                sinks=[JsonLines(tmp_path / "windows.jsonl")],
            )
    with History(tmp_path / "history.db") as history:
        records = list(history.windows())
    assert [record | {"decided_at": 0} for record in records] == [
        json.loads(json.dumps({"id": f"default/{window.index}", "stream": "default", **window.to_dict()}))
        | {"decided_at": 0}
        for window in undisturbed
    ]
    lines = (tmp_path / "windows.jsonl").read_text().splitlines()
    assert [json.loads(line)["index"] for line in lines] == list(range(8))


def test_another_detector_is_told_from_it(mean, tmp_path):
    with History(tmp_path / "history.db") as history:
        history.begin(gd.Monitor(mean, 50))
        for other in (MeanDetector().fit(rows(900, 0)), MeanDetector("y").fit(rows(1_000, 0))):
            with pytest.raises(gd.errors.HistoryError, match="was begun with the detector"):
                history.begin(gd.Monitor(other, 50))
        history.begin(gd.Monitor(clone(mean).set_params(alpha=0.01).fit(rows(1_000, 0)), 50))


def test_what_a_monitor_cannot_use():
    class Shapeless(MeanDetector):
        def fit(self, reference, y=None):
            self.evidence_ = self.count_rows(reference)
            return self

    with pytest.raises(gd.errors.ParameterError, match="neither feature_names_in_ nor n_features_in_"):
        gd.Monitor(Shapeless().fit(rows(50, 0)))
    with pytest.raises(gd.errors.ParameterError, match=r"derives from gapdrift\.detectors\.Detector"):
        gd.Monitor(object())
    with pytest.raises(gd.errors.StorageError, match="cannot be stored"):
        gd.save(MeanDetector().fit(rows(50, 0)), "never.gapdrift")


@pytest.mark.parametrize("make", [gd.DriftDetector, gd.MDLFWF])
def test_columns_that_a_window_must_have(make):
    table = rows(100, 0) | {"id": [f"row {place}" for place in range(100)]}
    detector = make(random_state=0, ignore=["y"]).fit(table)
    assert list(detector.feature_names_in_) == ["x", "c"]
    assert detector.n_features_in_ == 2
    assert set(detector.ignored_columns_) == {"y", "id"}
    detector.test({name: table[name] for name in detector.feature_names_in_})
    detector.set_params(ignore=[1]).fit(np.random.default_rng(0).normal(size=(100, 3)))
    assert detector.n_features_in_ == 3
    assert not hasattr(detector, "feature_names_in_")


@pytest.mark.parametrize("make", [gd.DriftDetector, gd.MDLFWF])
def test_alpha_and_random_state_come_first_and_the_rest_by_name(make):
    detector = make(0.01, 7)
    assert (detector.alpha, detector.random_state) == (0.01, 7)
    with pytest.raises(TypeError):
        make(0.01, 7, 20)


EXPECTED_FAILURES = {
    "check_n_features_in_after_fitting": "fits on 15 rows: a reference has at least 20",
    "check_fit2d_1sample": "expects scikit-learn's words about one sample: ours say how many rows are needed",
    "check_fit2d_1feature": "fits on 10 rows: a reference has at least 20",
    "check_estimators_empty_data_messages": "expects scikit-learn's words about no features: ours speak of columns",
}

OF_MDLFWF = {
    "check_no_attributes_set_in_init": "its parameter `test` is kept under another name: there is a method `test`",
}


@parametrize_with_checks(
    [gd.DriftDetector(random_state=0), gd.MDLFWF(random_state=0)],
    expected_failed_checks=lambda estimator: (
        EXPECTED_FAILURES | (OF_MDLFWF if isinstance(estimator, gd.MDLFWF) else {})
    ),
)
def test_what_scikit_learn_expects(estimator, check):
    check(estimator)
