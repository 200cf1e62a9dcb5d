"""The laws of counting: merge, zero, order of rows and columns, chunks, threads, refitting."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gapdrift as gd
from experiments.distributions import DRIFTS

DETECTORS = {"MDLFWF": gd.MDLFWF, "DriftDetector": gd.DriftDetector}
WINDOW = DRIFTS["gaussian-mean"].sample(300, severity=4, missing=0.2, rng=9)


@pytest.fixture(scope="module", params=DETECTORS.values(), ids=DETECTORS)
def fitted(request):
    drift = DRIFTS["gaussian-mean"]
    return request.param(random_state=0).fit(drift.sample(500, severity=0, missing=0.2, rng=1))


def same(one, two, tolerance=1e-9):
    assert one.n_rows == two.n_rows
    assert one.notes == two.notes
    for name, array in one.sums.items():
        np.testing.assert_allclose(array, two.sums[name], rtol=0, atol=tolerance)


@settings(max_examples=20, deadline=None)
@given(cut=st.integers(0, 300))
def test_count_of_the_whole_is_the_sum_of_the_parts(fitted, cut):
    same(fitted.count(WINDOW), fitted.count(WINDOW[:cut]) + fitted.count(WINDOW[cut:]))


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_row_order_does_not_matter(fitted, seed):
    order = np.random.default_rng(seed).permutation(len(WINDOW))
    same(fitted.count(WINDOW), fitted.count(WINDOW[order]))


def test_a_row_counts_alone_as_it_counts_in_a_crowd(fitted):
    same(fitted.count(WINDOW), sum(fitted.count(WINDOW[[row]]) for row in range(len(WINDOW))))


def test_no_rows_are_zero(fitted):
    nothing = fitted.count(WINDOW[:0])
    same(nothing, nothing.zero())
    same(fitted.count(WINDOW) + nothing, fitted.count(WINDOW))


def test_each_row_weighs_one(fitted):
    sums = fitted.count(WINDOW).sums
    if isinstance(fitted, gd.MDLFWF):
        assert sums["weights"].sum() == pytest.approx(len(WINDOW))
        np.testing.assert_allclose(sums["products"].sum(axis=0), sums["weights"])
        return
    starts = fitted.reference_.functions.starts
    assert np.add.reduceat(sums["cells"], starts[:-1]).tolist() == [len(WINDOW)] * WINDOW.shape[1]
    assert sums["regions"].sum() == len(WINDOW)
    observed = np.diag(sums["products"])[-WINDOW.shape[1] :]
    assert observed.tolist() == (~np.isnan(WINDOW)).sum(axis=0).tolist()


def test_test_of_evidence_is_test_of_rows(fitted):
    assert fitted.test(fitted.count(WINDOW)) == fitted.test(WINDOW)


@pytest.mark.parametrize("make", DETECTORS.values(), ids=DETECTORS)
def test_column_order_does_not_matter(make, rng):
    frame = pd.DataFrame(WINDOW, columns=list("abcd")).assign(e=rng.choice(["x", "y"], len(WINDOW)))
    detector = make(random_state=0).fit(frame)
    same(detector.count(frame), detector.count(frame[list("edcba")]))


def test_chunks_do_not_matter(fitted, monkeypatch):
    whole = fitted.count(WINDOW)
    monkeypatch.setattr("gapdrift.detectors.mdlfwf.reference.COUNTED_ROWS", 7)
    for limit, rows in {"CHUNK": 7, "EXACT_ROWS": 3, "ENCODED_ROWS": 50}.items():
        monkeypatch.setattr(f"gapdrift.counting.counter.{limit}", rows)
    same(fitted.count(WINDOW), whole)


@pytest.mark.parametrize("make", DETECTORS.values(), ids=DETECTORS)
def test_threads_do_not_matter(make, gaussian_drift):
    reference = gaussian_drift.sample(300, severity=0, missing=0.2, rng=1)
    one = make(random_state=0, n_jobs=1).fit(reference)
    two = make(random_state=0, n_jobs=2).fit(reference)
    same(one.set_params(n_jobs=2).count(WINDOW), one.set_params(n_jobs=1).count(WINDOW))
    same(two.count(WINDOW), one.count(WINDOW))


@pytest.mark.parametrize("make", DETECTORS.values(), ids=DETECTORS)
def test_refit_is_a_fresh_fit(make, gaussian_drift):
    first = gaussian_drift.sample(200, severity=0, missing=0.2, rng=1)
    second = gaussian_drift.sample(300, severity=8, missing=0.1, rng=2)
    again = make(random_state=0).fit(first).fit(second)
    fresh = make(random_state=0).fit(second)
    assert again.test(WINDOW) == fresh.test(WINDOW)
    same(again.evidence_, fresh.evidence_, tolerance=0)


@pytest.mark.parametrize("make", DETECTORS.values(), ids=DETECTORS)
def test_same_seed_same_bits(make, gaussian_drift):
    reference = gaussian_drift.sample(200, severity=0, missing=0.2, rng=1)
    one, two = (make(random_state=5).fit(reference).test(WINDOW) for _ in range(2))
    assert one.to_json() == two.to_json()


def test_wholly_missing_rows_count_alone_as_in_a_crowd(rng):
    rows = rng.multivariate_normal([0, 5], [[1, 0.9], [0.9, 1]], 500)
    rows = np.column_stack([rows, 5 * np.exp(rows[:, 0])])
    rows[rng.random(rows.shape) < 0.3] = np.nan
    gone = np.full((20, 3), np.nan)
    for detector in (gd.MDLFWF(random_state=3, n_bins=20), gd.DriftDetector(random_state=3)):
        detector.fit(rows)
        same(detector.count(np.vstack([gone, rows])), detector.count(gone) + detector.count(rows), 1e-7)


@pytest.mark.parametrize("kind", DRIFTS)
@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_p_values_do_not_depend_on_how_sums_were_added_up(detector, kind, rng):
    """Sums in another order differ in their last digits; so may p-values, and no more."""
    drift = DRIFTS[kind]
    fitted = detector(random_state=0).fit(drift.sample(300, severity=0, missing=0.2, rng=1))
    window = drift.sample(300, severity=2, missing=0.2, rng=2)
    whole = fitted.test(window)
    for n_parts in (2, 30):
        parts = np.array_split(rng.permutation(len(window)), n_parts)
        again = fitted.test(sum(fitted.count(window[part]) for part in parts))
        assert again.p_value == pytest.approx(whole.p_value, rel=1e-9)
        for one, two in zip(whole.features, again.features, strict=True):
            assert two.p_value == pytest.approx(one.p_value, rel=1e-9)
