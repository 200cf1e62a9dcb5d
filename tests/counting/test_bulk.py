"""Counting in bulk: exact where it says so, additive, and in agreement with the model it comes from."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gapdrift as gd
from gapdrift.counting.bulk import _book, _counter, _reading
from gapdrift.counting.bulk._gaps import GapFiller
from gapdrift.counting.bulk._lookup import N_CELLS, UNIT, look_up_scores, make_lookup
from gapdrift.detectors.drift import reference as conditional_reference
from gapdrift.models.gaussian import expected_values
from gapdrift.models.hot_deck import EmpiricalResiduals
from gapdrift.models.normal_scores import fit_scores
from gapdrift.tables.encoding import Encoded, encode

N_ROWS = 3_000


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch):
    monkeypatch.setattr(conditional_reference, "LARGE", 2_000)
    monkeypatch.setattr(conditional_reference, "LEARNED", 2_500)
    monkeypatch.setattr(conditional_reference, "CLUSTERED", 1_500)
    # As in a process that has not loaded machine code.
    _reading._compiled.cache_clear()


def correlated(n_rows, n_columns, seed, rate=0.2):
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(0).normal(size=(n_columns, n_columns)) / np.sqrt(n_columns)
    rows = rng.normal(size=(n_rows, n_columns)) @ mix + 0.5 * rng.normal(size=(n_rows, n_columns))
    rows[rng.random(rows.shape) < rate] = np.nan
    return rows


def mixed(n_rows, seed):
    """Numbers, ties, a heavy tail, categories, a column without values."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "plain": base + 0.3 * rng.normal(size=n_rows),
            "ties": np.rint(base + rng.normal(size=n_rows)),
            "heavy": np.exp(4.0 * rng.normal(size=n_rows)),
            "level": np.where(base + rng.normal(size=n_rows) > 0, "high", "low"),
            "many": rng.choice([f"level {place}" for place in range(30)], size=n_rows),
            "nothing": np.full(n_rows, np.nan),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.2)


def narrow(n_rows, seed):
    return correlated(n_rows, 6, seed)


def wide(n_rows, seed):
    return correlated(n_rows, 25, seed)


KINDS = pytest.mark.parametrize("make", [narrow, wide, mixed])


@pytest.fixture
def detector():
    return gd.DriftDetector(random_state=0).fit(correlated(N_ROWS, 6, 1))


@pytest.fixture
def mixed_detector():
    return gd.DriftDetector(random_state=0).fit(mixed(N_ROWS, 1))


def test_large_references_count_in_bulk(detector):
    assert detector.reference_.bulk is not None
    assert set(detector.evidence_.sums) == {"statistics", "scatter", "hidden", "cells"}
    assert detector.evidence_.n_rows == N_ROWS
    assert any("2,500 of them, drawn at random, were learned from" in note for note in detector.warnings_)
    small = gd.DriftDetector(random_state=0).fit(correlated(500, 6, 1))
    assert small.reference_.bulk is None


@KINDS
def test_evidence_adds_up_however_rows_are_cut(make):
    detector = gd.DriftDetector(random_state=0).fit(make(N_ROWS, 1))
    assert detector.reference_.bulk is not None
    window = make(1_000, 2)
    whole = detector.count(window)
    rows = encode(window, detector.reference_.schema)
    for cuts in ([0, 1, 2, 400, 1_000], [0, 999, 1_000]):
        parts = [Encoded(rows.values[a:b], rows.missing[a:b]) for a, b in pairwise(cuts)]
        total = sum(detector.count(part) for part in parts)
        assert total.n_rows == 1_000
        for name, array in whole.sums.items():
            assert total.sums[name] == pytest.approx(array, rel=1e-12, abs=1e-9), name
        assert detector.test(total).p_value == pytest.approx(detector.test(whole).p_value, rel=1e-9)


@KINDS
def test_sums_are_those_of_the_statistics_of_single_rows(make):
    reference = gd.DriftDetector(random_state=0).fit(make(N_ROWS, 1)).reference_
    rows = encode(make(700, 2), reference.schema)
    found = reference._counter.sums([rows], len(rows))
    statistics = reference._counter.statistics(rows)
    assert found["statistics"] == pytest.approx(statistics.sum(axis=0), rel=1e-9, abs=1e-7)
    expected = statistics[:, reference.profile.layout.location]
    assert found["scatter"] == pytest.approx(expected.T @ expected, rel=1e-9, abs=1e-7)
    assert statistics[:, reference.profile.layout.bins].sum(axis=1) == pytest.approx(np.ones(700))
    assert statistics[:, reference.profile.layout.bins].min() >= 0


@KINDS
def test_machine_code_gives_the_same(make, monkeypatch):
    pytest.importorskip("numba")
    reference = gd.DriftDetector(random_state=0).fit(make(N_ROWS, 1)).reference_
    rows = encode(make(2_000, 2), reference.schema)
    chunks = [rows] if rows.missing.shape[1] != rows.values.shape[1] else [rows.values]
    assert _reading.machine_code(0) is None
    by_numpy = reference._counter.sums(chunks, 0)
    monkeypatch.setattr(_reading, "COMPILED_ROWS", 0)
    assert _reading.machine_code(0) is not None
    compiled = reference._counter.sums(chunks, 0)
    for name, array in by_numpy.items():
        assert compiled[name] == pytest.approx(array, rel=1e-12, abs=1e-9), name


def test_expected_values_are_those_of_the_model(detector):
    profile = detector.reference_.profile
    assert isinstance(profile.residuals, EmpiricalResiduals)
    filler = GapFiller(profile.residuals)
    scores = np.random.default_rng(3).normal(size=(400, 6))
    scores[np.random.default_rng(4).random(scores.shape) < 0.4] = np.nan
    scores[0] = np.nan
    centred = np.rint((scores - profile.model.mean) / UNIT) * UNIT
    gaps = np.isnan(scores).T
    scores = np.where(gaps, 0.0, centred.T).astype(np.float32)
    filled = filler.fill(scores, gaps, filler.identify(np.ones(gaps.shape, dtype=np.uint16)))
    expected = expected_values(profile.model, centred + profile.model.mean) - profile.model.mean
    assert pytest.approx(expected, abs=UNIT) == filled.expected.T
    assert np.array_equal(filled.expected[~gaps], filled.completed[~gaps])
    assert not np.array_equal(filled.expected[gaps], filled.completed[gaps])


def test_the_book_saves_time_and_changes_nothing(monkeypatch):
    rows = correlated(N_ROWS, 12, 1, rate=0.5)
    detector = gd.DriftDetector(random_state=0).fit(rows)
    window = correlated(800, 12, 2, rate=0.5)
    expected = detector.count(window)
    monkeypatch.setattr(_book, "MAX_PATTERNS", 5)
    monkeypatch.setattr(_book, "MAX_GAPS", 2)
    bare = gd.DriftDetector(random_state=0).fit(rows)
    for name, array in bare.count(window).sums.items():
        assert array == pytest.approx(expected.sums[name], rel=1e-12, abs=1e-9), name


def test_a_row_chooses_the_same_residual_in_any_company(detector):
    window = correlated(300, 6, 5)
    one = detector.count(window[:1]).sums["statistics"]
    whole, rest = detector.count(window).sums["statistics"], detector.count(window[1:]).sums["statistics"]
    assert whole - rest == pytest.approx(one, abs=1e-9)


def test_a_row_of_levels_counts_the_same_in_any_company():
    rng = np.random.default_rng(0)
    base = rng.normal(size=N_ROWS)
    levels = {
        f"c{half}": np.clip(np.rint(base + rng.normal(size=N_ROWS)), -half, half).astype(int).astype(str)
        for half in (1, 2, 4)
    }
    frame = pd.DataFrame({"number": base, **levels}).mask(rng.random((N_ROWS, 4)) < 0.2)
    reference = gd.DriftDetector(random_state=0).fit(frame).reference_
    rows = encode(frame[frame["number"].isna()][:200], reference.schema)
    together = reference._counter.statistics(rows)
    for place in range(len(rows)):
        alone = Encoded(rows.values[place : place + 1], rows.missing[place : place + 1])
        assert reference._counter.statistics(alone)[0] == pytest.approx(together[place], abs=1e-9)


def test_few_rows_do_not_say_how_many_columns_vary_together():
    detector = gd.DriftDetector(random_state=0).fit(correlated(N_ROWS, 20, 1))
    p_values = [detector.test(correlated(60, 20, seed)).values.p_value for seed in range(2, 42)]
    # With a covariance of these 60 rows alone the half of them alarm.
    assert np.mean(np.array(p_values) < 0.05) <= 0.15


def test_rows_with_few_different_values_are_spread_over_bins(mixed_detector):
    reference = mixed_detector.reference_
    nearly_empty = mixed(50, 7)
    nearly_empty[["plain", "heavy", "ties"]] = np.nan
    rows = encode(nearly_empty, reference.schema)
    statistics = reference._counter.statistics(rows)
    shares = statistics[:, reference.profile.layout.bins]
    gaps = rows.missing.any(axis=1)
    assert ((shares[gaps] > 0).sum(axis=1) > 1).any()
    assert shares.sum(axis=1) == pytest.approx(np.ones(50))


def test_scores_by_table_are_near_the_exact_ones():
    rng = np.random.default_rng(0)
    columns = [
        rng.normal(size=5_000),
        np.exp(5.0 * rng.normal(size=5_000)),
        np.rint(3.0 * rng.normal(size=5_000)),
        1e9 + rng.normal(size=5_000),
        np.where(rng.random(5_000) < 0.5, 0.0, rng.standard_cauchy(5_000)),
        np.full(5_000, 7.0),
    ]
    values = np.column_stack(columns)
    values[::7] = np.nan
    scores = fit_scores(values, np.ones(len(columns), dtype=bool))
    exact, found = scores.transform(values), look_up_scores(scores, values)
    assert np.array_equal(np.isnan(exact), np.isnan(found))
    away = np.abs(exact - found)
    assert np.nanquantile(away, 0.99, axis=0).max() < 0.05
    # Ties, and a constant, have their exact scores.
    assert np.nanmax(away[:, [2, 5]]) < UNIT
    other = np.full((1, len(columns)), 8.0)
    assert look_up_scores(scores, other)[0, 5] == pytest.approx(1.0, abs=UNIT)


def test_numbers_beyond_the_grid_fall_into_its_outer_cells():
    scores = fit_scores(np.arange(100.0)[:, None], np.array([True]))
    lookup = make_lookup(scores)
    far = np.array([[-1e99, 1e99, np.nan]])
    keys = lookup.keys(far, np.isnan(far))
    assert keys.tolist() == [[0, N_CELLS - 1, 0]]


@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_out_of_range_are_named(detector, compiled, monkeypatch):
    if compiled:
        pytest.importorskip("numba")
        monkeypatch.setattr(_reading, "COMPILED_ROWS", 0)
    for bad, words in ((np.inf, "infinite"), (1e200, "1e\\+200")):
        window = correlated(50, 6, 2)
        window[3, 4] = bad
        with pytest.raises(gd.errors.InputError, match=f"Column 'x4'.*{words}"):
            detector.count(window)


def test_machine_code_is_used_for_few_rows_once_it_is_loaded():
    pytest.importorskip("numba")
    assert _reading.machine_code(10) is None
    code = _reading.machine_code(_reading.COMPILED_ROWS)
    assert _reading.machine_code(10) is code is not None


@pytest.mark.parametrize("error", [ImportError("No module named 'numba'"), RuntimeError("cannot cache function")])
def test_without_machine_code_rows_are_counted_by_numpy(error, detector, monkeypatch):
    window = correlated(500, 6, 2)
    expected = detector.count(window)

    def refuse(_name):
        raise error

    monkeypatch.setattr(_reading, "import_module", refuse)
    monkeypatch.setattr(_reading, "COMPILED_ROWS", 0)
    assert _reading.machine_code(10) is None
    for name, array in detector.count(window).sums.items():
        assert array.tolist() == expected.sums[name].tolist(), name


@pytest.mark.parametrize("n_bins", [32, 100])
def test_the_first_of_equally_near_bins_is_taken(n_bins):
    code = pytest.importorskip("gapdrift.counting.bulk._compiled")
    rng = np.random.default_rng(0)
    distances = rng.integers(-(2**20), 2**20, size=(500, n_bins)).astype(np.float32)
    distances[:, rng.integers(n_bins, size=3)] = -(2.0**22)
    squares = rng.integers(2, size=n_bins).astype(np.float32)
    nearest = np.empty(500, dtype=np.intp)
    code.find_nearest(distances, squares, nearest)
    assert nearest.tolist() == (distances + squares).argmin(axis=1).tolist()


def test_places_are_whole_and_within_reach():
    code = pytest.importorskip("gapdrift.counting.bulk._compiled")
    rows = np.random.default_rng(0).normal(scale=3.0, size=(400, 5)).astype(np.float32)
    places = _counter.to_places(rows, 64.0, 256.0)
    assert places.tolist() == np.clip(np.floor(rows.astype(float) * 64.0 + 0.5), -256, 256).tolist()
    code.place_rows(rows, np.float32(64.0), np.float32(256.0))
    assert rows.tolist() == places.tolist()


@pytest.mark.parametrize("kind", ["pandas", "nullable", "single", "arrow", "polars", "mapping"])
def test_columns_of_floats_are_counted_as_they_are_and_otherwise_encoded(kind, monkeypatch):
    frame = pd.DataFrame(correlated(N_ROWS, 6, 1), columns=list("abcdef"))
    detector = gd.DriftDetector(random_state=0).fit(frame)
    window = pd.DataFrame(correlated(1_000, 6, 2).astype(np.float32).astype(float), columns=list("abcdef"))
    kinds = {
        "pandas": lambda: window[list("fedcba")],
        "nullable": window.convert_dtypes,
        "single": lambda: window.astype(np.float32),
        "arrow": lambda: pa.Table.from_pandas(window, preserve_index=False),
        "polars": lambda: pytest.importorskip("polars").from_pandas(window),
        "mapping": lambda: {name: window[name].to_numpy() for name in window},
    }
    made = kinds[kind]()
    expected = detector.count(encode(window, detector.reference_.schema))
    monkeypatch.setattr(conditional_reference, "ENCODED_ROWS", 300)
    encoded = []
    monkeypatch.setattr(conditional_reference, "encode", lambda *args, **_: encoded.append(args))
    for name, array in detector.count(made).sums.items():
        assert array == pytest.approx(expected.sums[name], rel=1e-12, abs=1e-9), name
    assert not encoded


def test_what_is_said_of_columns_is_said_of_floats_too():
    frame = pd.DataFrame(correlated(N_ROWS, 3, 1), columns=list("abc"))
    detector = gd.DriftDetector(random_state=0).fit(frame)
    window = pd.DataFrame(correlated(200, 4, 2), columns=list("abcd"))
    assert any("'d'" in note for note in detector.test(window).warnings)
    with pytest.raises(gd.errors.SchemaError, match="lacks the column"):
        detector.count(window[["a", "d"]])
    with pytest.raises(gd.errors.SchemaError, match="no names"):
        detector.count(window.to_numpy()[:, :3])
    with pytest.raises(gd.errors.InputError, match="Column 'b' has 1 infinite"):
        detector.count(window.assign(b=np.where(np.arange(200) == 7, np.inf, 0.5)))


def test_histograms_and_rates_are_counted(mixed_detector):
    window = mixed(900, 3)
    result = mixed_detector.test(window)
    for feature in result.features:
        assert feature.missing_window == pytest.approx(window[feature.name].isna().mean())
    level = next(feature for feature in result.features if feature.name == "level")
    shares = window["level"].value_counts(normalize=True)
    assert level.histogram.window[level.histogram.labels.index("high")] == pytest.approx(shares["high"])


def test_no_rows(detector, mixed_detector):
    assert detector.count(np.empty((0, 6))).n_rows == 0
    assert mixed_detector.count(mixed(5, 0).head(0)).n_rows == 0
    assert detector.test(np.empty((0, 6))).drift is None


def test_what_changed_is_found_and_nothing_else(detector):
    calm = [detector.test(correlated(1_000, 6, seed)).drift for seed in range(100, 120)]
    # More than five in twenty come by chance three times in ten thousand.
    assert sum(calm) <= 5
    fewer = [detector.test(correlated(1_000, 6, seed, rate=0.0)) for seed in range(200, 220)]
    assert sum(result.values.p_value < 0.05 for result in fewer) <= 5
    assert max(result.missingness.p_value for result in fewer) < 1e-6
    moved = correlated(2_000, 6, 13)
    moved[:, 2] += 0.3
    result = detector.test(moved)
    assert result.values.p_value < 1e-6
    best = min(result.features, key=lambda feature: feature.adjusted_p_value)
    assert best.name == "x2"


def test_a_stored_detector_counts_the_same(detector, mixed_detector, tmp_path):
    for fitted, window in ((detector, correlated(400, 6, 2)), (mixed_detector, mixed(400, 2))):
        fitted.save(tmp_path / "reference.gapdrift")
        loaded = gd.load(tmp_path / "reference.gapdrift")
        one, two = fitted.count(window), loaded.count(window)
        for name, array in one.sums.items():
            assert np.array_equal(array, two.sums[name]), name
        assert loaded.test(two).p_value == fitted.test(one).p_value


def test_what_travels_does_not_grow_by_counting(detector):
    window = correlated(1_000, 6, 2)
    before = pickle.dumps(detector.reference_)
    expected = detector.count(window)
    after = pickle.dumps(detector.reference_)
    assert len(after) == len(before)
    for name, array in pickle.loads(after).count(window).sums.items():
        assert array.tolist() == expected.sums[name].tolist(), name


def test_n_bins():
    detector = gd.DriftDetector(random_state=0, n_bins=32).fit(correlated(N_ROWS, 6, 1))
    assert len(detector.test(correlated(500, 6, 2)).bins) == 32
    with pytest.raises(gd.errors.ParameterError, match="at most 256"):
        gd.DriftDetector(n_bins=1_000).fit(correlated(100, 2, 0))


def test_chunks_of_any_size(detector, monkeypatch):
    window = correlated(1_000, 6, 2)
    expected = detector.count(window)
    monkeypatch.setattr(_counter, "CHUNK", 37)
    for name, array in detector.count(window).sums.items():
        assert array == pytest.approx(expected.sums[name], rel=1e-12, abs=1e-9), name
