import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import gapdrift as gd
from gapdrift.detectors import DriftWarning


@pytest.fixture(scope="module")
def rows():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=list("abc"))


@pytest.mark.parametrize("kind", ["pandas", "array"])
def test_rows_go_through_a_pipeline_unchanged_and_the_last_are_recorded(rows, kind):
    table = rows if kind == "pandas" else rows.to_numpy()
    model = make_pipeline(gd.DriftGate(), LinearRegression()).fit(table, rows.sum(axis=1))
    gate = model[0]
    assert gate.result_ is None
    moved = table + 3.0
    assert gate.transform(moved) is moved
    assert gate.result_.drift
    assert model.predict(table[:100]) == pytest.approx(rows.sum(axis=1)[:100])
    assert gate.result_.n_window == 100
    assert not gate.result_.drift
    names = ["a", "b", "c"] if kind == "pandas" else ["x0", "x1", "x2"]
    assert gate.get_feature_names_out().tolist() == names


def test_columns_of_mappings_and_of_arrow_tables_keep_their_names(rows):
    for table in (rows.to_dict("list"), pa.Table.from_pandas(rows)):
        gate = gd.DriftGate().fit(table)
        assert gate.get_feature_names_out().tolist() == ["a", "b", "c"]
        assert gate.transform(table) is table


def test_a_gate_can_stop_rows_or_warn(rows):
    gate = gd.DriftGate(gd.DriftDetector(random_state=1, alpha=0.01), on_drift="raise").fit(rows)
    with pytest.raises(gd.errors.DriftError, match="DRIFT: the values") as caught:
        gate.transform(rows + 3.0)
    assert caught.value.result is gate.result_
    assert gate.result_.alpha == 0.01
    assert gate.transform(rows[:200]) is not None
    with pytest.warns(DriftWarning, match="DRIFT: the values"):
        clone(gate).set_params(on_drift="warn").fit(rows).transform(rows + 3.0)


def test_too_few_rows_go_through(rows):
    gate = gd.DriftGate(on_drift="raise").fit(rows)
    assert len(gate.transform(rows[:2] + 9.0)) == 2
    assert gate.result_.drift is None


def test_the_detector_that_was_given_stays_unfitted(rows):
    detector = gd.DriftDetector(random_state=0)
    gd.DriftGate(detector).fit(rows)
    assert not detector.__sklearn_is_fitted__()


def test_errors_say_what_to_do(rows):
    with pytest.raises(gd.errors.NotFittedError, match="call fit first"):
        gd.DriftGate().transform(rows)
    with pytest.raises(gd.errors.ParameterError, match="on_drift is 'stop', expected one of"):
        gd.DriftGate(on_drift="stop").fit(rows)
    with pytest.raises(gd.errors.ParameterError, match="detector is a str"):
        gd.DriftGate("default").fit(rows)


@pytest.mark.parametrize("fitted", [False, True])
def test_a_stream_is_refused_before_it_is_used_up(rows, fitted):
    gate, stream = gd.DriftGate(), iter([rows])
    with pytest.raises(gd.errors.InputError, match="got a list_iterator, expected a table in memory"):
        gate.fit(rows).transform(stream) if fitted else gate.fit(stream)
    assert next(stream) is rows


def test_a_table_that_is_a_mapping_has_names(rows):
    columns = {name: rows[name].to_numpy() for name in rows}
    assert gd.DriftGate().fit(columns).get_feature_names_out().tolist() == ["a", "b", "c"]


def test_rows_that_are_no_table_get_our_error(rows):
    with pytest.raises(gd.errors.InputError, match=r"1 dimension\(s\)"):
        gd.DriftGate().fit(rows["a"].to_numpy())
