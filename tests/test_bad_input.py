"""One test for each kind of bad input: an error of ours, or a stated rule with a warning in the result."""

import math

import numpy as np
import pandas as pd
import pytest

import gapdrift as gd

N = 200


@pytest.fixture
def table(rng):
    frame = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N), "c": rng.choice(["x", "y"], N)})
    return frame.mask(rng.random(frame.shape) < 0.1)


def detector(**settings):
    return gd.MDLFWF(**({"random_state": 0, "max_pairs": 1_000} | settings))


def check(result, *words):
    """A sound result that mentions the words in its warnings."""
    assert 0 < result.p_value <= 1
    assert not any(math.isnan(number) for number in (result.values.statistic, result.values.effect_size))
    assert result.to_json()
    text = " ".join(result.warnings)
    for word in words:
        assert word in text
    return result


def test_empty_reference():
    with pytest.raises(gd.InputError, match="empty"):
        detector().fit(pd.DataFrame())


def test_empty_window(table):
    result = check(detector().fit(table).test(table.head(0)), "no rows")
    assert (result.drift, result.p_value) == (None, 1.0)


def test_one_row(table):
    with pytest.raises(gd.InputError, match=r"1 row\(s\), expected at least 20"):
        detector().fit(table.head(1))
    check(detector().fit(table).test(table.head(1)), "fewer than 5")


def test_one_column(table):
    assert check(detector().fit(table[["a"]]).test(table[["a"]])).drift is False
    assert check(detector().fit(table[["c"]]).test(table[["c"]])).drift is False


def test_all_values_missing(table):
    with pytest.raises(gd.InputError, match="values to compare"):
        detector().fit(table.mask(table.isna() | True))
    check(detector().fit(table).test(table.mask(table.isna() | True)))


def test_wholly_missing_column(table):
    fitted = detector().fit(table.assign(b=np.nan))
    check(fitted.test(table.assign(b=np.nan)), "'b' has no value in the reference")
    check(fitted.test(table), "'b' has values here but none in the reference")
    check(detector().fit(table).test(table.assign(b=np.nan)))


def test_wholly_missing_row(table):
    gone = table.copy()
    gone.iloc[:5] = np.nan
    assert check(detector().fit(gone).test(gone)).n_window == N
    assert detector().fit(gone).count(gone).sums["weights"].sum() == pytest.approx(N)


def test_no_complete_row(table):
    holes = table.copy()
    holes.iloc[::2, 0] = np.nan
    holes.iloc[1::2, 1] = np.nan
    check(detector().fit(holes).test(holes), "Only 0 of 200 reference rows are complete")


def test_infinite_values(table):
    with pytest.raises(gd.InputError, match="'a' has 1 infinite"):
        detector().fit(table.assign(a=[np.inf] + [0.0] * (N - 1)))
    with pytest.raises(gd.InputError, match="'a' has 200 infinite"):
        detector().fit(table).test(table.assign(a=-np.inf))


def test_huge_values(table):
    with pytest.raises(gd.InputError, match=r"1e\+300"):
        detector().fit(table.assign(a=1e300))
    check(detector().fit(table).test(table.assign(a=9e99)))


def test_huge_but_allowed_reference(table):
    check(detector().fit(table.assign(a=table["a"] * 1e99)).test(table))


def test_constant_column(table):
    check(detector().fit(table.assign(a=1.0)).test(table.assign(a=1.0)))


def test_everything_constant():
    rows = np.ones((N, 2))
    result = check(detector().fit(rows).test(rows), "one bin")
    assert result.drift is None


def test_strings_in_a_number_column(table):
    with pytest.raises(gd.SchemaError, match="'a' holds text"):
        detector().fit(table).test(table.assign(a="high"))


def test_missing_column(table):
    with pytest.raises(gd.SchemaError, match=r"lacks.*'b'"):
        detector().fit(table).test(table.drop(columns="b"))


def test_extra_column(table):
    check(detector().fit(table).test(table.assign(d=1)), "'d' is not in the reference")


def test_duplicate_names(table):
    twice = pd.concat([table, table[["a"]]], axis=1)
    with pytest.raises(gd.InputError, match="'a' stand more than once"):
        detector().fit(twice)
    with pytest.raises(gd.InputError, match="'a' stand more than once"):
        detector().fit(table).test(twice)


def test_mixed_types(table):
    mixed = table.assign(a=pd.Series([1, "one"] * (N // 2), dtype=object))
    with pytest.raises(gd.InputError, match="int, str"):
        detector().fit(mixed)


def test_unseen_category(table):
    result = check(detector().fit(table).test(table.assign(c="z")), "'c' has values that the reference")
    assert result.n_window == N


def test_window_before_fit(table):
    for ask in (detector().test, detector().count):
        with pytest.raises(gd.NotFittedError, match="fit"):
            ask(table)
    with pytest.raises(gd.NotFittedError):
        _ = detector().evidence_


def test_gaps_in_the_target(table):
    fitted = detector(target="c").fit(table)
    assert check(fitted.test(table)).features[2].missing_window > 0


def test_q_above_k(table):
    check(detector(n_bins=2, top_q=5).fit(table).test(table), "all bins are considered")


@pytest.mark.parametrize("alpha", [0, 1, -1, 2, math.nan, None])
def test_alpha_out_of_range(table, alpha):
    with pytest.raises(gd.ParameterError, match="alpha"):
        detector(alpha=alpha).fit(table)
    fitted = detector().fit(table)
    with pytest.raises(gd.ParameterError, match="alpha"):
        fitted.set_params(alpha=alpha).test(table)


@pytest.mark.parametrize("n_rows", [20, 49])
def test_fewer_than_50_rows(table, n_rows):
    check(detector().fit(table.head(n_rows)).test(table), "fewer than the 50 for each")


def test_more_bins_than_rows(table):
    with pytest.raises(gd.InputError, match="n_bins is 300"):
        detector(n_bins=300).fit(table)


@pytest.mark.parametrize("dtype", ["float32", "int8", "object"])
def test_array_types(rng, dtype):
    rows = (rng.normal(size=(N, 3)) * 20).astype(dtype)
    assert check(detector().fit(rows).test(rows)).drift is False


def test_masked_array(rng):
    rows = np.ma.array(rng.normal(size=(N, 3)), mask=rng.random((N, 3)) < 0.1)
    result = check(detector().fit(rows).test(rows))
    assert result.features[0].missing_window == pytest.approx(rows.mask[:, 0].mean())


def test_gaps_after_a_fit_without(rng):
    rows = rng.normal(size=(N, 2))
    gaps = rows.copy()
    gaps[:20, 1] = np.nan
    check(detector().fit(rows).test(gaps), "'x1' has gaps here but none in the reference")


def test_no_gaps_after_a_fit_with(table):
    assert check(detector().fit(table).test(table.dropna())).n_window == len(table.dropna())


def test_evidence_of_another_detector(table):
    evidence = detector().fit(table).count(table)
    other = detector().fit(table.head(100))
    with pytest.raises(gd.EvidenceError, match="Count the window with this detector"):
        other.test(evidence)


def test_what_is_no_table():
    for thing in ([1, 2], "file.csv", None, 3):
        with pytest.raises(gd.InputError, match="expected a pandas"):
            detector().fit(thing)
