"""Counting: exact where it says so, additive, and equal to loops written from the documentation."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gapdrift as gd
from gapdrift.counting import averaged, counter, patterns
from gapdrift.counting.counter import Counter
from gapdrift.counting.filling import EXTRA_STEPS
from gapdrift.counting.statistics import squares_of, sums_of
from gapdrift.detectors.drift import reference as drift_reference
from gapdrift.errors import InputError, ParameterError, SchemaError
from gapdrift.models.gaussian import expected_values, fill, find_patterns
from gapdrift.models.gaussian.dense import DenseGaussian
from gapdrift.models.normal_scores import UNIT
from gapdrift.tables.encoding import Encoded, encode
from tests import naive
from tests.counting.conftest import KINDS, N_ROWS, correlated, mixed

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def same(found, expected):
    """Sums of rounded statistics are exact: the same to the bit, in whatever order they were added up."""
    for name, array in expected.items():
        assert np.array_equal(found[name], array), name


def test_all_rows_of_a_reference_are_counted(detector):
    assert detector.evidence_.n_rows == N_ROWS
    assert any("2,500 of them, drawn at random, were learned from" in note for note in detector.warnings_)


@pytest.mark.parametrize("kind", ["narrow", "wide", "mixed"])
def test_statistics_equal_loops_from_the_documentation(kind, fitted):
    reference = fitted[kind].reference_
    rows = encode(KINDS[kind](40, 3), reference.schema)
    layout, profile = reference.profile.layout, reference.profile
    expected, squares, moved = np.zeros(layout.size), np.zeros(layout.size), 0.0
    for values, missing in zip(rows.values, rows.missing, strict=True):
        parts = naive.row_statistics(profile, values, missing)
        row = np.concatenate(parts)
        sums = reference._counter.count([Encoded(values[None], missing[None])], 1)
        found = sums_of(layout, sums)
        # Expected scores are rounded to whole units.
        others = np.delete(np.arange(layout.size), layout.bins)
        assert found[others] == pytest.approx(row[others], abs=20 * UNIT)
        assert found[layout.bins].sum() == pytest.approx(1.0)
        moved += np.abs(found[layout.bins] - row[layout.bins]).sum() / 2.0
        expected += found
        # Squares of products take what the model hides instead of what the reference does.
        squares += sums_of(layout, sums, hidden="conditional") ** 2
    # Positions are rounded to whole steps, which moves a few completions that lie between two bins.
    assert moved < 0.05 * len(rows)
    whole = reference._counter.count([rows], len(rows))
    assert sums_of(layout, whole) == pytest.approx(expected, rel=1e-9, abs=1e-7)
    few = np.delete(np.arange(layout.size), layout.dependence)
    assert squares_of(layout, whole)[few] == pytest.approx(squares[few], rel=1e-9, abs=1e-7)
    # Squared scores have lost their last digits.
    products = layout.dependence
    assert squares_of(layout, whole)[products] == pytest.approx(squares[products], rel=0.01, abs=0.02)


def test_a_rare_value_takes_nothing_off_the_squares_of_other_columns():
    """Its score is some fifty standard deviations, beside which the square of an entry of a category is nothing."""
    rng = np.random.default_rng(0)
    table = {
        "rare": np.where(np.arange(2_500) == 7, 1.0, 0.0),
        "colour": rng.choice(["red", "green", "blue"], 2_500),
        "size": rng.choice(["small", "large"], 2_500),
    }
    reference = gd.DriftDetector(random_state=0).fit(table).reference_
    scores = reference.expected(encode(table, reference.schema))
    first, second = reference.profile.layout.pairs
    expected = ((scores[:, first] * scores[:, second]) ** 2).sum(axis=0)
    assert np.abs(scores).max() > 45.0
    found = squares_of(reference.profile.layout, reference.evidence.sums)[reference.profile.layout.dependence]
    assert found == pytest.approx(expected, rel=0.02, abs=0.02)


@EVERY_KIND
def test_evidence_adds_up_however_rows_are_cut(kind, fitted):
    detector, window = fitted[kind], KINDS[kind](1_000 if kind != "factors" else 200, 2)
    whole = detector.count(window)
    rows = encode(window, detector.reference_.schema)
    for cuts in ([0, 1, 2, 90, len(rows)], [0, len(rows) - 1, len(rows)]):
        parts = [Encoded(rows.values[a:b], rows.missing[a:b]) for a, b in pairwise(cuts)]
        total = sum(detector.count(part) for part in parts)
        assert total.n_rows == len(rows)
        # What is hidden is a product of such sums.
        rounded = set(whole.sums) if kind == "factors" else {"hidden"}
        same(total.sums, {name: array for name, array in whole.sums.items() if name not in rounded})
        for name in rounded:
            assert total.sums[name] == pytest.approx(whole.sums[name], rel=1e-9, abs=1e-9), name
        # Parts of encoded rows have no names of rare categories; `tests/tables/test_facts.py` cuts tables.
        total = replace(total, facts=whole.facts)
        assert detector.test(total).p_value == pytest.approx(detector.test(whole).p_value, rel=1e-9)


@EVERY_KIND
def test_sums_are_those_of_the_statistics_of_single_rows(kind, fitted):
    reference = fitted[kind].reference_
    rows = encode(KINDS[kind](150, 2), reference.schema)
    found = reference._counter.count([rows], len(rows))
    each = reference._counter.rows(rows)
    assert found["location"] == pytest.approx(each.location.sum(axis=0), rel=1e-9, abs=1e-7)
    assert found["bins"] == pytest.approx(each.bins.sum(axis=0), rel=1e-9, abs=1e-7)
    assert found["bin_products"] == pytest.approx(each.bins.T @ each.bins, rel=1e-9, abs=1e-7)
    # What patterns hide is rounded to 2^-24.
    assert found["hidden"] == pytest.approx(each.hidden.sum(axis=0), rel=1e-6, abs=150 * 2.0**-24)
    assert each.bins.sum(axis=1) == pytest.approx(np.ones(150))
    assert set(each.sums) == set(found)
    for name, array in found.items():
        assert each.sums[name].tolist() == array.tolist(), name
    assert found["missing"].tolist() == rows.missing.sum(axis=0).tolist()


@EVERY_KIND
def test_machine_code_gives_the_same(kind, fitted, monkeypatch):
    pytest.importorskip("numba")
    reference = fitted[kind].reference_
    rows = encode(KINDS[kind](2_000 if kind != "factors" else 200, 2), reference.schema)
    chunks = [rows] if rows.missing.shape[1] != rows.values.shape[1] else [rows.values]
    assert counter.machine_code(0) is None
    by_numpy = reference._counter.count(chunks, 0)
    monkeypatch.setattr(counter, "COMPILED_ROWS", 0)
    assert counter.machine_code(0) is not None
    compiled = reference._counter.count(chunks, 0)
    for name, array in by_numpy.items():
        assert np.array_equal(compiled[name], array), name


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.7])
def test_filling_is_the_same_to_the_bit_in_machine_code(rate, fitted):
    code = pytest.importorskip("gapdrift.counting.compiled")
    filler = fitted["narrow"].reference_._counter.filler
    rng = np.random.default_rng(3)
    scores = np.rint(rng.normal(size=(3_000, 6)) / UNIT) * UNIT
    missing = rng.random(scores.shape) < rate
    scores[missing] = 0.0
    codes = patterns.pattern_codes(missing)
    (by_numpy,) = filler.fill(scores.copy(), codes, lambda rows: missing[rows], filler.totals())
    index = filler.kept_patterns().find(codes)
    arrays = filler.kept_patterns().arrays
    code.fill_rows(scores, index, arrays, filler.precision.matrix, UNIT, EXTRA_STEPS, np.zeros((6, 6)))
    assert np.array_equal(by_numpy.expected, scores)
    exact = fill(filler.precision, find_patterns(missing), np.where(missing, 0.0, scores))
    assert by_numpy.expected == pytest.approx(exact, abs=UNIT / 2)


def test_expected_values_are_those_of_the_model(fitted):
    profile = fitted["narrow"].reference_.profile
    model = DenseGaussian(profile.mean, np.linalg.inv(profile.precision.matrix))
    rows = encode(correlated(300, 6, 5), fitted["narrow"].reference_.schema)
    scores = profile.scores.transform(rows.values)
    expected = expected_values(model, scores) - profile.mean
    assert fitted["narrow"].reference_._counter.rows(rows).location == pytest.approx(expected, abs=2 * UNIT)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_cache_of_patterns_changes_nothing(compiled, monkeypatch):
    """Not even the last bit, whether a pattern is kept, was met before, or has no more room."""
    if compiled:
        pytest.importorskip("numba")
        monkeypatch.setattr(counter, "COMPILED_ROWS", 0)
    rows = correlated(N_ROWS, 12, 1, rate=0.5)
    profile = gd.DriftDetector(random_state=0).fit(rows).reference_
    window = encode(correlated(800, 12, 2, rate=0.5), profile.schema)
    fresh = Counter(profile.profile, profile.histogram_axes)
    sums = fresh.count([window], len(window))
    same(fresh.count([window], len(window)), sums)
    first = profile._counter.rows(window)
    profile._counter.count([encode(rows, profile.schema)], len(rows))
    again = profile._counter.rows(window)
    monkeypatch.setattr(patterns, "MAX_PATTERNS", 5)
    monkeypatch.setattr(patterns, "MAX_MISSING", 2)
    same(Counter(profile.profile, profile.histogram_axes).count([window], len(window)), sums)
    bare = Counter(profile.profile, profile.histogram_axes).rows(window)
    for other in (again, bare):
        assert np.array_equal(first.location, other.location)
        assert np.array_equal(first.bins, other.bins)


def test_a_row_counts_the_same_in_any_company(mixed_detector):
    reference = mixed_detector.reference_
    frame = mixed(600, 5)
    rows = encode(frame[frame["plain"].isna()][:100], reference.schema)
    together = reference._counter.rows(rows)
    for place in range(len(rows)):
        alone = reference._counter.rows(_row(rows, place))
        assert np.array_equal(alone.location[0], together.location[place])
        assert np.array_equal(alone.bins[0], together.bins[place])


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
    shares = reference._counter.rows(rows).bins
    incomplete = rows.missing.any(axis=1)
    steps = shares[incomplete] * averaged.N_AVERAGED
    assert np.array_equal(steps, np.rint(steps))
    assert ((shares[incomplete] > 0).sum(axis=1) > 2).any()


@pytest.mark.parametrize("n_columns", [12, 70])
def test_what_is_kept_of_nearly_empty_rows_changes_nothing(n_columns, monkeypatch):
    """Residuals of one pattern are found once for all donors, or for the donors of one row where they are not kept."""
    rng = np.random.default_rng(0)
    flags = (rng.random((890, n_columns)) < 0.4).astype(float)
    reference = gd.DriftDetector(random_state=0).fit(np.where(rng.random((800, n_columns)) < 0.9, np.nan, flags[90:]))
    reference, window = reference.reference_, np.full((90, n_columns), np.nan)
    # Three patterns that many rows have, and one that a single row has.
    for first in range(3):
        window[first::3, first : first + 4] = flags[first:90:3, first : first + 4]
    window[4, :2] = 1.0
    rows = encode(window, reference.schema)
    found = Counter(reference.profile, reference.histogram_axes)
    kept = found.rows(rows, hidden=False).bins
    assert (len(found.averaged._moves) > 0) == (len(found.averaged._shares) > 0) == (n_columns == 12)
    again = found.rows(rows, hidden=False).bins
    monkeypatch.setattr(averaged, "MAX_ROWS", 0)
    monkeypatch.setattr(averaged, "MAX_CELLS", 0)
    bare = Counter(reference.profile, reference.histogram_axes).rows(rows, hidden=False).bins
    assert np.array_equal(kept, again)
    assert np.array_equal(kept, bare)
    for place in (0, 4):
        alone = Counter(reference.profile, reference.histogram_axes).rows(_row(rows, place)).bins[0]
        assert np.array_equal(kept[place], alone)
    assert (kept * reference.profile.n_spread % 1.0 > 0.0).any()


def _row(rows, place):
    return Encoded(rows.values[place : place + 1], rows.missing[place : place + 1])


def test_rows_with_one_pattern_hide_what_they_hide_one_by_one(fitted):
    reference = fitted["factors"].reference_
    rows = encode(KINDS["factors"](60, 2), reference.schema)
    rows.missing[:40] = rows.missing[np.arange(40) % 4]
    np.nan_to_num(rows.values, copy=False)
    whole = reference._counter.count([rows], len(rows))
    single = [reference._counter.count([_row(rows, place)], 1) for place in range(len(rows))]
    for name in ("hidden", "squares"):
        assert whole[name] == pytest.approx(sum(part[name] for part in single), rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_out_of_range_are_named(detector, compiled, monkeypatch):
    if compiled:
        pytest.importorskip("numba")
        monkeypatch.setattr(counter, "COMPILED_ROWS", 0)
    for bad, words in ((np.inf, "infinite"), (1e200, "1e\\+200")):
        window = correlated(50, 6, 2)
        window[3, 4] = bad
        with pytest.raises(InputError, match=f"Column 'x4'.*{words}"):
            detector.count(window)


def test_machine_code_is_used_for_few_rows_once_it_is_loaded():
    pytest.importorskip("numba")
    assert counter.machine_code(10) is None
    code = counter.machine_code(counter.COMPILED_ROWS)
    assert counter.machine_code(10) is code is not None


@pytest.mark.parametrize("error", [ImportError("No module named 'numba'"), RuntimeError("cannot cache function")])
def test_without_machine_code_rows_are_counted_by_numpy(error, detector, monkeypatch):
    window = correlated(500, 6, 2)
    expected = detector.count(window)

    def refuse(_name):
        raise error

    monkeypatch.setattr(counter, "import_module", refuse)
    monkeypatch.setattr(counter, "COMPILED_ROWS", 0)
    assert counter.machine_code(10) is None
    for name, array in detector.count(window).sums.items():
        assert array.tolist() == expected.sums[name].tolist(), name


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
    monkeypatch.setattr(drift_reference, "ENCODED_ROWS", 300)
    encoded = []
    monkeypatch.setattr(drift_reference, "encode", lambda *args, **_: encoded.append(args))
    same(detector.count(made).sums, expected.sums)
    assert not encoded


def test_what_is_said_of_columns_is_said_of_floats_too():
    frame = pd.DataFrame(correlated(N_ROWS, 3, 1), columns=list("abc"))
    detector = gd.DriftDetector(random_state=0).fit(frame)
    window = pd.DataFrame(correlated(200, 4, 2), columns=list("abcd"))
    assert any("'d'" in note for note in detector.test(window).warnings)
    with pytest.raises(SchemaError, match="lacks the column"):
        detector.count(window[["a", "d"]])
    with pytest.raises(SchemaError, match="no names"):
        detector.count(window.to_numpy()[:, :3])
    with pytest.raises(InputError, match="Column 'b' has 1 infinite"):
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
    with pytest.raises(ParameterError, match="at most 256"):
        gd.DriftDetector(n_bins=1_000).fit(correlated(100, 2, 0))


def test_chunks_of_any_size(detector, monkeypatch):
    window = correlated(1_000, 6, 2)
    expected = detector.count(window)
    reference = detector.reference_
    monkeypatch.setattr(counter, "CHUNK", 37)
    small = Counter(reference.profile, reference.histogram_axes)
    same(small.count([encode(window, reference.schema)], 1_000), expected.sums)


def test_evidence_of_another_fit_is_refused(detector):
    """Detectors that differ in their donors alone count differently."""
    rows = correlated(N_ROWS, 6, 1)
    others = [gd.DriftDetector(random_state=seed).fit(rows[:400]) for seed in (1, 2)]
    assert others[0].evidence_.origin != others[1].evidence_.origin
    assert gd.DriftDetector(random_state=0).fit(rows).evidence_.origin == detector.evidence_.origin
