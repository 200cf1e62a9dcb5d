import json

import numpy as np
import pandas as pd
import pytest
from benchmarks.grammar.nulls import null_case
from sklearn.base import clone

import gapdrift as gd
from experiments.distributions import DRIFTS


def detector(**settings):
    return gd.DriftDetector(**({"random_state": 0} | settings))


@pytest.fixture(scope="module")
def stations():
    return detector().fit(gd.datasets.stations(1_000, 0))


@pytest.fixture(scope="module")
def drifted(stations):
    return stations.test(gd.datasets.stations(1_000, 2, drift=True))


def test_dependence_drift_is_found_and_blamed(drifted):
    assert drifted.drift is True
    names = [part.name for part in drifted.values.parts]
    assert names == ["location", "dependence", "interactions", "distributions"]
    parts = {part.name: part.p_value for part in drifted.values.parts}
    assert parts["dependence"] < 1e-9 < parts["location"]
    named = [feature.name for feature in drifted.features if feature.adjusted_p_value < 0.05]
    assert named == ["temperature", "humidity"]
    assert drifted.missingness.p_value > 0.01


def test_effect_sizes_are_in_the_users_scale(stations):
    window = gd.datasets.stations(20_000, 5, missing=0.0)
    window["temperature"] = window["temperature"] + 6.0
    result = stations.test(window)
    temperature = result.features[0]
    assert temperature.name == "temperature"
    assert temperature.effect_size == pytest.approx(1.0, abs=0.25)


def test_gaps_alone_are_not_drift_of_values(stations):
    result = stations.test(gd.datasets.stations(1_000, 7, missing=0.5))
    assert result.values.p_value > 0.01
    assert result.missingness.p_value < 1e-9
    assert result.drift is True
    assert all(feature.adjusted_missing_p_value < 0.05 for feature in result.features)
    assert result.missingness.effect_size == pytest.approx(0.3, abs=0.05)
    assert result.summary().startswith("DRIFT: the missing values of the window differ")


def test_patterns_of_gaps_are_seen_where_rates_are_not(rng):
    rows = rng.normal(size=(1_000, 2))
    apart, together = rows.copy(), rows.copy()
    apart[rng.random(1_000) < 0.2, 0] = np.nan
    apart[rng.random(1_000) < 0.2, 1] = np.nan
    together[rng.random(1_000) < 0.2] = np.nan
    result = detector().fit(apart).test(together)
    parts = {part.name: part.p_value for part in result.missingness.parts}
    assert parts["patterns"] < 1e-6
    assert result.missingness.p_value < 1e-6


def test_nothing_missing_has_no_missingness(rng):
    rows = rng.normal(size=(500, 3))
    result = detector().fit(rows).test(rng.normal(size=(500, 3)))
    assert result.missingness is None
    assert result.p_value == result.values.p_value


def test_min_effect_ignores_what_is_too_small(rng):
    reference = rng.normal(size=(2_000, 2))
    window = rng.normal(0.15, 1, size=(10_000, 2))
    result = detector(min_effect=0.3).fit(reference).test(window)
    assert result.drift is False
    assert result.p_value < 0.05
    assert "min_effect" in result.warnings[-1]
    assert result.summary().startswith("No drift worth an alarm: the values")
    assert detector(min_effect=0.05).fit(reference).test(window).drift is True


def test_regions_speak_the_users_language(stations, drifted):
    for side in ("share_reference", "share_window"):
        shares = [getattr(entry, side) for entry in drifted.bins]
        # Rows without any observed cell are in no region.
        assert 0.995 < sum(shares) <= 1.0 + 1e-9
    moved = sorted(drifted.bins, key=lambda entry: -entry.contribution)[:3]
    assert all("about" in entry.description for entry in moved)
    assert sum("temperature" in entry.description or "humidity" in entry.description for entry in moved) >= 2
    for entry in drifted.bins:
        assert 980 < entry.centre["pressure"] < 1045
        # Of a region with hardly any value of a column nothing is told of it.
        assert entry.centre.get("sky", "clear") in {"clear", "cloudy", "rain", "(other)"}


def test_regions_are_not_shown_where_missing_rates_changed(stations):
    result = stations.test(gd.datasets.stations(1_000, 7, missing=0.5))
    assert not result.bins
    assert any("Regions of rows are not shown: missing rates changed" in warning for warning in result.warnings)


def test_a_category_that_turns_over_is_found(rng):
    table = {"x": rng.normal(size=200), "c": np.full(200, "a")}
    result = detector().fit(table).test({"x": rng.normal(size=200), "c": np.full(200, "b")})
    assert result.drift is True
    assert min(result.features, key=lambda feature: feature.p_value).name == "c"
    assert result.p_value > 0
    assert any("'c' has 1 value(s) that" in warning for warning in result.warnings)


def test_a_constant_that_changes_is_found(rng):
    table = {"x": rng.normal(size=200), "k": np.ones(200)}
    result = detector().fit(table).test({"x": rng.normal(size=200), "k": np.full(200, 2.0)})
    assert result.drift is True
    assert min(result.features, key=lambda feature: feature.p_value).name == "k"


def test_result_as_json(drifted):
    record = json.loads(drifted.to_json())
    assert record == drifted.to_dict()
    assert record["values"]["parts"][0]["name"] == "location"
    assert record["features"][0]["histogram"]["edges"]
    assert record["features"][4]["histogram"]["labels"]


def test_summary_names_the_columns(drifted):
    text = drifted.summary()
    assert text.startswith("DRIFT: the values")
    assert "temperature" in text
    assert "Columns whose values changed: temperature, humidity." in text
    assert "dependence p < 1e-9" in text


def test_no_complete_row_and_half_of_the_cells(rng):
    mixing = rng.normal(size=(8, 8))

    def draw(shift=0.0):
        rows = rng.normal(size=(600, 8)) @ mixing
        rows[:, 0] += shift
        rows[rng.random(rows.shape) < 0.5] = np.nan
        rows[np.arange(600), rng.integers(8, size=600)] = np.nan
        return rows

    fitted = detector().fit(draw())
    assert fitted.test(draw()).p_value > 0.001
    assert fitted.test(draw(shift=4.0)).drift is True


@pytest.mark.parametrize(("n_rows", "n_columns"), [(100, 120), (400, 500)])
def test_more_columns_than_rows(rng, n_rows, n_columns):
    """All rows of the reference are compared, and products of 300 columns at most."""
    loadings = rng.normal(size=(n_columns, 3))

    def draw(shift=0.0):
        rows = rng.normal(size=(n_rows, 3)) @ loadings.T + rng.normal(size=(n_rows, n_columns)) + shift
        return np.where(rng.random(rows.shape) < 0.1, np.nan, rows)

    fitted = detector().fit(draw())
    assert fitted.evidence_.n_rows == n_rows
    assert fitted.test(draw()).p_value > 0.001
    assert fitted.test(draw(shift=1.0)).drift is True


def test_duplicate_columns_and_ties(rng):
    def draw():
        first = np.round(rng.normal(size=400))
        rows = np.column_stack([first, first, first, np.ones(400), rng.random(400) < 0.02])
        return np.where(rng.random(rows.shape) < 0.2, np.nan, rows)

    result = detector().fit(draw()).test(draw())
    assert result.p_value > 0.001


def test_false_alarms_hold():
    """200 fresh references, 20 % missing, alpha 0.05: between 2 and 21 alarms, 99.9 % of the time at a rate of 0.05."""
    drift = DRIFTS["gaussian-mean"]
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 77])
        fitted = detector(random_state=seed).fit(drift.sample(300, severity=0, missing=0.2, rng=rng))
        alarms += fitted.test(drift.sample(300, severity=0, missing=0.2, rng=rng)).drift
    assert 2 <= alarms <= 21


def test_parameters_follow_scikit_learn():
    copy = clone(detector(alpha=0.01, min_effect=0.1, n_bins=7))
    assert copy.get_params()["min_effect"] == 0.1
    assert not hasattr(copy, "reference_")


@pytest.mark.parametrize(
    "settings",
    [
        {"alpha": 0},
        {"alpha": None},
        {"random_state": "seed"},
        {"n_bins": 1},
        {"min_effect": -1},
        {"min_effect": float("inf")},
        {"target": "label"},
        {"categories": "colour"},
        {"ignore": ["nothing"]},
        {"n_jobs": 0},
    ],
    ids=str,
)
def test_bad_settings(settings, rng):
    with pytest.raises(gd.errors.ParameterError, match=next(iter(settings))):
        gd.DriftDetector(**settings).fit(rng.normal(size=(50, 2)))


@pytest.mark.parametrize("feature", [None, "humidity", "sky"])
def test_plots(drifted, feature, tmp_path):
    figure = drifted.plot(feature)
    figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5_000
    texts = [text.get_text() for axes in figure.axes for text in axes.get_yticklabels()]
    if feature is None:
        assert texts[4] in {"temperature", "humidity"}


def test_plot_of_what_is_not_there(drifted, fitted, gaussian_drift):
    with pytest.raises(gd.errors.ParameterError, match="'price'"):
        drifted.plot("price")
    plain = fitted.test(gaussian_drift.sample(100, severity=0, missing=0.2, rng=1))
    assert plain.plot().axes
    assert plain.plot("x0").axes


def test_plot_without_matplotlib(drifted, monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "gapdrift.results.report.chart", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "gapdrift.results.report.chart", raising=False)
    with pytest.raises(gd.GapdriftError, match=r"\[plot\]"):
        drifted.plot()


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["titanic", "air_quality_uci", "weather_aus"])
def test_real_tables_first_half_against_second(real_data, name):
    frame = pd.read_parquet(real_data / name / f"{name}.parquet").iloc[:4_000]
    half = len(frame) // 2
    result = detector().fit(frame.iloc[:half]).test(frame.iloc[half:])
    assert 0 < result.p_value <= 1
    assert result.to_json()
    assert result.to_html()


@pytest.mark.real_data
def test_loans_are_blamed_right(real_data):
    frame = pd.read_parquet(real_data / "nannyml_car_loan_dq" / "nannyml_car_loan_dq.parquet").drop(columns="part")
    fitted = detector().fit(frame.iloc[:5_000])
    assert fitted.test(frame.iloc[40_000:45_000]).p_value > 0.001
    # From row 50,000 on, size_of_downpayment has a level that it did not have before, in 0.8 % of the rows.
    unseen = fitted.test(frame.iloc[60_000:65_000])
    assert min(unseen.features, key=lambda feature: feature.p_value).name == "size_of_downpayment"
    assert any("'size_of_downpayment' has 1 value(s) that" in warning for warning in unseen.warnings)
    result = fitted.test(frame.iloc[80_000:85_000])
    values = {feature.name for feature in result.features if feature.adjusted_p_value < 1e-6}
    gaps = {feature.name for feature in result.features if feature.adjusted_missing_p_value < 1e-6}
    assert values >= {"car_value", "loan_length"}
    assert gaps == {"salary_range", "driver_tenure"}


def test_too_few_rows_say_nothing_of_gaps(stations):
    result = stations.test(gd.datasets.stations(9, 5))
    assert result.drift is None
    assert "Missing values" not in result.summary()
    assert result.summary().count("9 row(s)") == 1
    page = result.to_html()
    assert 'id="missing"' not in page
    assert "Where rows lie" not in page


@pytest.mark.parametrize(("m", "n"), [(200, 10), (1_000, 10), (5_000, 50)])
@pytest.mark.parametrize("before", ["constant", "rare", "unseen"])
def test_gross_drift_of_a_level_is_found_in_small_windows(rng, m, n, before):
    levels = {"constant": np.full(m, "a"), "rare": np.where(np.arange(m) % 50, "a", "b"), "unseen": np.full(m, "a")}
    reference = {"x": rng.normal(size=m), "y": rng.normal(size=m), "c": levels[before]}
    window = {"x": rng.normal(size=n), "y": rng.normal(size=n), "c": np.full(n, "b" if before == "rare" else "z")}
    assert detector().fit(reference).test(window).drift is True


def test_values_are_as_rare_as_they_are_on_both_sides(rng):
    """A reference that happens to have 20 of 300 rows off the constant, a window that has 50 or 10 of 5,000."""

    def draw(n_rows, n_other):
        rows = rng.normal(size=(n_rows, 2))
        rows[n_other:, 1] = 0.0
        return rows

    fitted = detector().fit(draw(300, 20)).reference_
    own = fitted.functions.function_owner == 1
    alike, rarer, rarest = (
        fitted.comparison(fitted.count(draw(5_000, n_other))).location.entries.weights for n_other in (333, 50, 10)
    )
    assert alike.tolist() == [1.0] * 4
    assert (rarer[own] < 0.5).all()
    assert rarest[own].tolist() == [0.0] * 2
    assert rarest[~own].tolist() == [1.0] * 2


def test_a_constant_that_moves_both_ways_is_found(rng):
    reference = np.column_stack([np.full(200, 5.0), rng.normal(size=(200, 2))])
    window = np.column_stack([5.0 + 10.0 * rng.normal(size=100), rng.normal(size=(100, 2))])
    assert detector().fit(reference).test(window).drift is True


@pytest.mark.parametrize(("n_columns", "n_rows"), [(100, 300), (8, 24), (350, 400)])
def test_gaps_alone_are_not_drift_of_values_where_rows_are_few(rng, n_columns, n_rows):
    loadings = rng.normal(size=(2, n_columns))

    def draw(rate):
        rows = rng.normal(size=(n_rows, 2)) @ loadings + rng.normal(size=(n_rows, n_columns))
        return np.where(rng.random(rows.shape) < rate, np.nan, rows)

    fitted = detector().fit(draw(0.2))
    assert fitted.test(draw(0.5)).values.p_value > 1e-3
    nothing = fitted.test(np.full((n_rows, n_columns), np.nan))
    assert not nothing.values.determined
    assert nothing.drift is True


def test_a_constant_column_among_thousands_of_rows(rng):
    """It says nothing, and leaves the other columns as they are."""

    def draw(n_rows, shift=0.0):
        rows = rng.normal(size=(n_rows, 12)) @ mixing + 3.0 * rng.normal(size=(n_rows, 1)) + shift
        rows[:, 0] = 7.0
        return np.where(rng.random(rows.shape) < 0.05, np.nan, rows)

    mixing = rng.normal(size=(12, 12))
    fitted = detector().fit(draw(20_000))
    found = fitted.test(draw(200))
    assert found.p_value > 0.001
    assert found.features[0].effect_size == 0.0
    assert fitted.test(draw(200, 1.0)).p_value < 1e-3


def test_new_categories_beside_many_columns(rng):
    """Groups of rare categories are those of all rows; what the reference has is nothing new."""

    def draw(n_rows):
        numbers = rng.poisson(1.5, size=(n_rows, 30)).astype(float)
        table = {f"n{place}": np.where(rng.random(n_rows) < 0.5, np.nan, numbers[:, place]) for place in range(30)}
        return table | {"c": rng.choice([f"level {k}" for k in range(40)], n_rows)}

    fitted = detector().fit(draw(200))
    facts = fitted.evidence_.facts
    assert sum(facts.tallies[30].values()) == 200
    window = draw(60)
    window["n0"] = np.r_[[40.0, 41.0, 42.0], np.ones(57)]
    result = fitted.test(window)
    assert result.features[0].range_window == (1.0, 42.0)
    assert result.features[0].n_new_categories == 3
    assert result.features[30].n_new_categories == 0
    for feature in result.features:
        assert sum(feature.histogram.reference) == pytest.approx(1.0)


def test_few_rows_of_many_columns_are_no_drift_of_outermost_values():
    case = null_case("drawn 611805")
    for trial in (7_000_002, 7_000_003, 7_000_006):
        reference, window = case.pair(trial)
        assert gd.DriftDetector(random_state=trial).fit(reference).test(window).values.p_value > 1e-3


def test_evidence_in_other_units_is_refused(rng):
    rows = rng.normal(size=(300, 3))
    one, two = detector().fit(rows), detector().fit(np.exp(rows) * 1000)
    with pytest.raises(gd.errors.EvidenceError):
        one.test(two.count(rows))


@pytest.mark.parametrize("scale", [1e-308, 1e-250, 1e90])
def test_any_unit_will_do(rng, scale):
    result = detector().fit(rng.normal(size=(100, 2)) * scale).test(rng.normal(size=(50, 2)))
    assert 0 < result.p_value <= 1
    assert result.to_json()


def test_charts_of_odd_names_and_of_nothing(stations, rng, tmp_path):
    assert stations.test(gd.datasets.stations(5, 0)).plot().axes
    with pytest.raises(gd.errors.ParameterError, match="undetermined"):
        stations.test(gd.datasets.stations(5, 0)).plot("sky")
    table = {"$a_{$": rng.normal(size=100), "b" * 400: rng.choice(["$\\frac{1}$", "\ud800"], 100)}
    result = detector().fit(table).test(table)
    for name in (None, *table):
        result.plot(name).savefig(tmp_path / "plot.png") if name != "b" * 400 else result.plot(name)
    assert result.to_html(tmp_path / "page.html")


def test_a_column_without_a_value_in_the_window_is_not_blamed(rng):
    shared = rng.normal(size=(2_000, 1))
    rows = shared + 0.3 * rng.normal(size=(2_000, 4))
    reference, window = rows[:1_000], rows[1_000:] + 2.0
    window[:, 3] = np.nan
    result = gd.DriftDetector(random_state=0).fit(reference).test(window)
    assert result.drift
    assert [feature.tested for feature in result.features] == [True, True, True, False]
    assert all(feature.adjusted_p_value < 1e-6 for feature in result.features[:3])
    assert result.features[3].effect_size == 0.0
    assert result.features[3].adjusted_missing_p_value < 1e-6
    assert "Column 'x3' has no value in the window: only its missing values are compared." in result.warnings


def test_a_column_that_moves_does_not_drag_others_along(rng):
    mixing = np.array([[1, 0.8, 0, 0], [0, 0.6, 0, 0], [0, 0, 1, 0.5], [0, 0, 0, 0.8]])
    reference, window = (rng.normal(size=(2_000, 4)) @ mixing for _ in range(2))
    window[:, 0] += 3.0
    result = gd.DriftDetector(random_state=0).fit(reference).test(window)
    assert [feature.adjusted_p_value < 0.05 for feature in result.features] == [True, False, False, False]


def test_a_table_that_is_too_wide_says_so_at_once():
    with pytest.raises(gd.errors.InputError, match=r"has 5,001 columns and categories.*at most 5,000.*ignore"):
        detector().fit(np.random.default_rng(0).normal(size=(30, 5_001)))
