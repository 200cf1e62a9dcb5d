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


def default(**settings):
    return gd.DriftDetector(**({"random_state": 0} | settings))


BOTH = pytest.mark.parametrize("make", [detector, default], ids=["MDLFWF", "DriftDetector"])


def check(result, *words):
    """A sound result that mentions the words in its warnings."""
    assert 0 < result.p_value <= 1
    numbers = (result.values.statistic, result.values.effect_size)
    assert not any(math.isnan(number) for number in numbers if number is not None)
    assert result.to_json()
    text = " ".join(result.warnings)
    for word in words:
        assert word in text
    return result


@BOTH
def test_empty_reference(make):
    with pytest.raises(gd.errors.InputError, match="empty"):
        make().fit(pd.DataFrame())


@BOTH
def test_empty_window(make, table):
    result = check(make().fit(table).test(table.head(0)))
    assert "no rows" in result.warnings[-1] or "0 row(s)" in result.warnings[-1]
    assert (result.drift, result.p_value) == (None, 1.0)


def test_one_row(table):
    with pytest.raises(gd.errors.InputError, match=r"1 row\(s\), expected at least 20"):
        detector().fit(table.head(1))
    check(detector().fit(table).test(table.head(1)), "fewer than 5")


@BOTH
def test_one_column(make, table):
    assert check(make().fit(table[["a"]]).test(table[["a"]])).drift is False
    assert check(make().fit(table[["c"]]).test(table[["c"]])).drift is False


@BOTH
def test_all_values_missing(make, table):
    with pytest.raises(gd.errors.InputError, match="values to compare"):
        make().fit(table.mask(table.isna() | True))
    check(make().fit(table).test(table.mask(table.isna() | True)))


@BOTH
def test_wholly_missing_column(make, table):
    fitted = make().fit(table.assign(b=np.nan))
    check(fitted.test(table.assign(b=np.nan)), "'b' has no value in the reference")
    check(fitted.test(table), "'b' has values here but none in the reference")
    check(make().fit(table).test(table.assign(b=np.nan)))


@BOTH
def test_wholly_missing_row(make, table):
    gone = table.copy()
    gone.iloc[:5] = np.nan
    assert check(make().fit(gone).test(gone)).n_window == N
    assert make().fit(gone).count(gone).n_rows == N


def test_no_complete_row(table):
    holes = table.copy()
    holes.iloc[::2, 0] = np.nan
    holes.iloc[1::2, 1] = np.nan
    check(detector().fit(holes).test(holes), "Only 0 of 200 reference rows are complete")


@BOTH
def test_infinite_values(make, table):
    with pytest.raises(gd.errors.InputError, match="'a' has 1 infinite"):
        make().fit(table.assign(a=[np.inf] + [0.0] * (N - 1)))
    with pytest.raises(gd.errors.InputError, match="'a' has 200 infinite"):
        make().fit(table).test(table.assign(a=-np.inf))


@BOTH
def test_huge_values(make, table):
    with pytest.raises(gd.errors.InputError, match=r"1e\+300"):
        make().fit(table.assign(a=1e300))
    check(make().fit(table).test(table.assign(a=9e99)))


def test_huge_but_allowed_reference(table):
    check(detector().fit(table.assign(a=table["a"] * 1e99)).test(table))


@BOTH
def test_constant_column(make, table):
    check(make().fit(table.assign(a=1.0)).test(table.assign(a=1.0)))


def test_everything_constant():
    rows = np.ones((N, 2))
    result = check(detector().fit(rows).test(rows), "one bin")
    assert result.drift is None


@BOTH
def test_strings_in_a_number_column(make, table):
    with pytest.raises(gd.errors.SchemaError, match="'a' holds text"):
        make().fit(table).test(table.assign(a="high"))


@BOTH
def test_missing_column(make, table):
    with pytest.raises(gd.errors.SchemaError, match=r"lacks.*'b'"):
        make().fit(table).test(table.drop(columns="b"))


@BOTH
def test_extra_column(make, table):
    check(make().fit(table).test(table.assign(d=1)), "'d' is not in the reference")


@BOTH
def test_duplicate_names(make, table):
    twice = pd.concat([table, table[["a"]]], axis=1)
    with pytest.raises(gd.errors.InputError, match="'a' occur more than once"):
        make().fit(twice)
    with pytest.raises(gd.errors.InputError, match="'a' occur more than once"):
        make().fit(table).test(twice)


@BOTH
def test_mixed_types(make, table):
    mixed = table.assign(a=pd.Series([1, "one"] * (N // 2), dtype=object))
    with pytest.raises(gd.errors.InputError, match="int, str"):
        make().fit(mixed)


@BOTH
def test_unseen_category(make, table):
    result = check(make().fit(table).test(table.assign(c="z")), "Column 'c' has ", " that the reference does not have")
    assert result.n_window == N


@BOTH
def test_window_before_fit(make, table):
    for ask in (make().test, make().count):
        with pytest.raises(gd.errors.NotFittedError, match="fit"):
            ask(table)
    with pytest.raises(gd.errors.NotFittedError):
        _ = make().evidence_


def test_gaps_in_the_target(table):
    fitted = detector(target="c").fit(table)
    assert check(fitted.test(table)).features[2].missing_window > 0


def test_q_above_k(table):
    check(detector(n_bins=2, top_q=5).fit(table).test(table), "all bins are considered")


@pytest.mark.parametrize("alpha", [0, 1, -1, 2, math.nan, None])
@BOTH
def test_alpha_out_of_range(make, table, alpha):
    with pytest.raises(gd.errors.ParameterError, match="alpha"):
        make(alpha=alpha).fit(table)
    fitted = make().fit(table)
    with pytest.raises(gd.errors.ParameterError, match="alpha"):
        fitted.set_params(alpha=alpha).test(table)


@pytest.mark.parametrize("n_rows", [20, 49])
def test_fewer_than_50_rows(table, n_rows):
    check(detector().fit(table.head(n_rows)).test(table), "fewer than the 50 for each")


def test_more_bins_than_rows(table):
    with pytest.raises(gd.errors.InputError, match="n_bins is 300"):
        detector(n_bins=300).fit(table)


@pytest.mark.parametrize("dtype", ["float32", "int8", "object"])
@BOTH
def test_array_types(make, rng, dtype):
    rows = (rng.normal(size=(N, 3)) * 20).astype(dtype)
    assert check(make().fit(rows).test(rows)).drift is False


@BOTH
def test_masked_array(make, rng):
    rows = np.ma.array(rng.normal(size=(N, 3)), mask=rng.random((N, 3)) < 0.1)
    result = check(make().fit(rows).test(rows))
    assert result.features[0].missing_window == pytest.approx(rows.mask[:, 0].mean())


def test_gaps_after_a_fit_without(rng):
    rows = rng.normal(size=(N, 2))
    incomplete = rows.copy()
    incomplete[:20, 1] = np.nan
    check(detector().fit(rows).test(incomplete), "'x1' has missing values here but none in the reference")


@BOTH
def test_no_gaps_after_a_fit_with(make, table):
    assert check(make().fit(table).test(table.dropna())).n_window == len(table.dropna())


@BOTH
def test_evidence_of_another_detector(make, table):
    evidence = make().fit(table).count(table)
    other = make().fit(table.head(100))
    with pytest.raises(gd.errors.EvidenceError, match="same fitted detector"):
        other.test(evidence)


@BOTH
def test_what_is_no_table(make):
    for thing in ([1, 2], None, 3):
        with pytest.raises(gd.errors.InputError, match="expected a pandas"):
            make().fit(thing)
    # A text is a path.
    with pytest.raises(gd.errors.InputError, match=r"no-such-file\.parquet does not exist"):
        make().fit("no-such-file.parquet")


def test_a_window_of_one_incomplete_row_has_a_row(rng):
    rows = rng.normal(size=(300, 4))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    fitted = detector().fit(rows)
    assert not any("no rows" in " ".join(fitted.test(rows[[row]]).warnings) for row in range(300))


@pytest.mark.parametrize("seed", range(20))
def test_twenty_rows_always_fit(seed):
    rows = np.random.default_rng(seed).normal(size=(20, 2))
    check(detector(random_state=seed, max_pairs=200).fit(rows).test(rows), "Few values of the reference are missing")


@pytest.mark.parametrize("scale", [1e-60, 1e-30, 1e38, 1e60])
def test_any_unit_will_do(rng, scale):
    rows = rng.normal(size=(N, 3))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    expected = detector().fit(rows).distance_error_
    assert detector().fit(rows * scale).distance_error_ / scale == pytest.approx(expected, rel=0.02)


def test_integers_beyond_float_precision(table):
    import pyarrow as pa

    stamps = 1_700_000_000_000_000_001 + np.random.default_rng(0).integers(0, 10**12, N)
    frame = pa.table({"a": table["a"].fillna(0.0).to_numpy(), "t": stamps})
    check(detector().fit(frame).test(frame))


@pytest.mark.parametrize("kind", ["array", "list", "gap", "object"])
def test_row_numbers_are_found_in_every_container(rng, kind):
    numbers = {
        "array": np.arange(N),
        "list": list(range(N)),
        "gap": [None, *range(1, N)],
        "object": np.arange(N).astype(object),
    }[kind]
    fitted = detector().fit({"a": rng.normal(size=N), "id": numbers})
    assert fitted.reference_.schema.ignored == ("id",)


def test_categories_in_other_clothes(table):
    reference = table.assign(c=np.where(np.arange(N) % 3, "True", "False"))
    fitted = detector().fit(reference)
    expected = fitted.count(reference).sums["weights"]
    as_bool = reference.assign(c=reference["c"] == "True")
    np.testing.assert_allclose(fitted.count(as_bool).sums["weights"], expected)
    np.testing.assert_allclose(fitted.count(as_bool.assign(c=as_bool["c"] * 1)).sums["weights"], expected)
    check(fitted.test(table.assign(c=pd.NaT)))


@BOTH
def test_a_date_cannot_be_the_target(make, table):
    when = table.assign(day=pd.Timestamp("2020-01-01"))
    with pytest.raises(gd.errors.ParameterError, match="'day' holds dates"):
        make(target="day").fit(when)
    with pytest.raises(gd.errors.ParameterError, match="'c'"):
        make(target="c", ignore=["c"]).fit(table)


class Bare:
    """A regressor with nothing but fit and predict."""

    def __init__(self, answer=lambda rows: np.ones(len(rows))):
        self.answer = answer

    def fit(self, X, y):
        self.fitted = True

    def predict(self, X):
        return self.answer(X)


def test_plain_regressors_will_do(table):
    check(detector(regressor=Bare()).fit(table).test(table))
    check(detector(regressor=Bare(lambda rows: np.ones((len(rows), 1)))).fit(table).test(table))


@pytest.mark.parametrize(
    "answer", [lambda rows: np.full(len(rows), np.nan), lambda rows: np.ones(3), lambda rows: None, lambda rows: "x"]
)
def test_useless_regressors_are_named(table, answer):
    with pytest.raises(gd.errors.ParameterError, match="Bare"):
        detector(regressor=Bare(answer)).fit(table)
    with pytest.raises(gd.errors.ParameterError, match="regressor"):
        detector(regressor=Bare).fit(table)


@pytest.mark.parametrize(
    ("n_rows", "sums"), [(-1, {}), ("3", {}), (1, {"weights": [np.nan]}), (1, {"weights": "x"}), (1, None)]
)
def test_bad_evidence(n_rows, sums):
    with pytest.raises(gd.errors.EvidenceError):
        gd.Evidence(n_rows, sums)


def test_evidence_of_other_imputers_is_refused(rng):
    rows = rng.normal([5, 0, 0], 1, size=(N, 3))
    one, two = (detector(distance="imputed", imputers=[name]).fit(rows) for name in ("mean", "zero"))
    with pytest.raises(gd.errors.EvidenceError):
        one.test(two.count(rows))


def test_durations_are_seconds(rng):
    from datetime import timedelta

    hours = rng.random(N) * 5
    for column in (
        (hours * 3600).astype("m8[s]"),
        [timedelta(hours=hour) for hour in hours],
        [np.timedelta64(int(hour * 3600), "s") for hour in hours],
    ):
        fitted = detector().fit({"a": rng.normal(size=N), "d": column})
        assert fitted.reference_.schema.ignored == ()
        assert 0 < fitted.centres_[:, 1].max() < 18_000
