"""Laws of continuity: nothing small switches a test on or off.

Averaged over 20 seeds, the logarithm of a p-value of the values below 1e-5 moves by less than a third of itself, or by
less than 1.5 where that is more. Exempt is the one switch by width: products of three end at ten columns.
"""

import numpy as np
import pytest

import gapdrift as gd

N_SEEDS = 20


def rows(kind, n_rows, n_columns, size, rng):
    """Rows whose columns go together, drifted in one of three ways, with a tenth of the cells missing."""
    correlation = 0.3 + size * (kind == "correlations")
    found = np.sqrt(1.0 - correlation) * rng.normal(size=(n_rows, n_columns))
    found += np.sqrt(correlation) * rng.normal(size=(n_rows, 1))
    found[:, :2] = found[:, :2] * (1.0 + size * (kind == "spread")) + size * (kind == "shift")
    return np.where(rng.random(found.shape) < 0.1, np.nan, found)


def with_noise(drifted, n_columns, rng):
    """The same rows beside independent columns, as many as there are then columns."""
    noise = rng.normal(size=(len(drifted), n_columns - drifted.shape[1]))
    return np.hstack([drifted, np.where(rng.random(noise.shape) < 0.1, np.nan, noise)])


def fit(reference):
    return gd.DriftDetector(random_state=0).fit(reference)


def logarithm(detector, window):
    return np.log10(detector.test(window).values.p_value)


def check(logarithms):
    """Check the law, given logarithms of p-values: (seeds, steps)."""
    means = np.mean(logarithms, axis=0)
    assert means.max() < -5.0, "the law is about p-values below 1e-5"
    moved = np.abs(np.diff(means))
    allowed = np.maximum(np.abs(means[:-1]) / 3.0, 1.5)
    assert (moved < allowed).all(), means.round(2)


@pytest.mark.parametrize(("kind", "size"), [("correlations", 0.12), ("shift", 0.25)])
def test_one_percent_more_missing_cells_of_a_column(kind, size):
    found = []
    for seed in range(N_SEEDS):
        rng = np.random.default_rng([seed, 1])
        detector = fit(rows(kind, 1_000, 10, 0.0, rng))
        window, drawn = rows(kind, 1_000, 10, size, rng), rng.random(1_000)
        found.append([])
        for share in (0.0, 0.01, 0.02, 0.03):
            window[drawn < share, 0] = np.nan
            found[-1].append(logarithm(detector, window))
    check(found)


@pytest.mark.parametrize("n_columns", [11, 20, 40])
def test_a_column_of_noise_more(n_columns):
    found = []
    for seed in range(N_SEEDS):
        rng = np.random.default_rng([seed, 2])
        reference, window = (with_noise(rows("shift", 700, 8, size, rng), n_columns + 1, rng) for size in (0.0, 0.4))
        found.append([logarithm(fit(reference[:, :n]), window[:, :n]) for n in (n_columns, n_columns + 1)])
    check(found)


@pytest.mark.parametrize(
    ("kind", "size", "n_rows"),
    [("correlations", 0.35, 100), ("shift", 0.7, 200), ("spread", 0.4, 500), ("correlations", 0.15, 2_000)],
)
def test_a_reference_that_is_larger_by_a_tenth(kind, size, n_rows):
    found = []
    for seed in range(N_SEEDS):
        rng = np.random.default_rng([seed, 3])
        n_more = n_rows + n_rows // 10
        reference, window = rows(kind, n_more, 8, 0.0, rng), rows(kind, 1_000, 8, size, rng)
        found.append([logarithm(fit(reference[:n]), window) for n in (n_rows, n_more)])
    check(found)
