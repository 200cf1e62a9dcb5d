from itertools import product

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from gapdrift.counting.concept import concept_sums, count_concept
from gapdrift.inference.concept import concept_finding
from gapdrift.counting.label_model import LearnedRows, fit_concept


def draw(rng, n_rows, shift=0.0, change="", missing=0.0, scale=1.0):
    """Rows whose label is the sum of two columns; expected scores are those observed, and 0 where missing."""
    x = scale * rng.normal(size=(n_rows, 2)) + np.array([shift, 0.0])
    y = x.sum(axis=1) + 0.5 * (2.0 if change == "spread" else 1.0) * rng.normal(size=n_rows)
    y += {"level": 0.3 * np.ones(n_rows), "slopes": -0.5 * x[:, 1]}.get(change, np.zeros(n_rows))
    hidden = rng.random((n_rows, 2)) < missing
    return np.where(hidden, 0.0, x), hidden, y[:, None]


def find(rng, *windows, n_rows=400, reference_missing=0.0):
    """Findings of windows against a fresh reference."""
    rows = draw(rng, n_rows, missing=reference_missing)
    model, learned = fit_concept(*rows, np.arange(2), np.arange(2), np.zeros(2, dtype=bool), rng, is_number=True)
    reference, counted = concept_sums(learned), count_concept(model, *rows)
    sums = [count_concept(model, *draw(rng, n_rows, **window)) for window in windows]
    return [concept_finding(model.basis.roles, reference, counted, each, is_number=True) for each in sums]


@pytest.mark.parametrize("change", ["level", "slopes", "spread"])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_changes_are_found_and_named(rng, change, shift):
    (found,) = find(rng, {"change": change, "shift": shift})
    assert found.p_value < 1e-4
    assert min(found.parts, key=lambda part: part.p_value).name == change


def test_effect_of_a_level_is_in_standard_deviations_of_the_label(rng):
    (found,) = find(rng, {"change": "level"}, n_rows=4_000)
    assert found.parts[0].name == "level"
    assert found.parts[0].effect_size == pytest.approx(0.3 / np.sqrt(2.25), abs=0.04)


def test_covariates_that_move_are_no_change_of_the_concept():
    """At most as many alarms as chance allows at twice the level, 1 time in 1,000."""
    windows = [{"missing": 0.2} | window for window in ({}, {"shift": 1.0}, {"missing": 0.5}, {"scale": 1.6})]
    found = [find(np.random.default_rng(seed), *windows, n_rows=300, reference_missing=0.2) for seed in range(12)]
    alarms = sum(each.p_value < 0.05 for findings in found for each in findings)
    assert alarms <= binom.isf(1e-3, 48, 0.1)


STEEP = {
    "classes by a steep curve": lambda x, rng: rng.random(len(x)) < expit(6.0 * np.tanh(2.0 * x[:, 0])),
    "bends": lambda x, rng: np.sin(2.0 * x[:, 0]) + 0.3 * rng.normal(size=len(x)),
    "squares": lambda x, rng: x[:, 0] ** 2 + 0.3 * np.exp(0.5 * x[:, 0]) * rng.normal(size=len(x)),
    "products": lambda x, rng: x[:, 0] * x[:, 1] + 0.3 * rng.exponential(size=len(x)),
}


def test_what_predictions_miss_is_no_change_where_rows_move():
    """Large windows whose rows shift, scatter more and less: without cells and dispersion 26 of 96 alarmed."""
    moves = [(1.0, 0.7), (0.0, 1.7), (0.0, 0.6)]
    alarms = 0
    for seed, law in product(range(8), STEEP):
        rng = np.random.default_rng([seed, 5])
        sides = [rng.normal(size=(600, 2)), *(rng.normal(size=(2_400, 2)) * scale + shift for shift, scale in moves)]
        rows = [(x, np.zeros(x.shape, dtype=bool), STEEP[law](x, rng).astype(float)[:, None]) for x in sides]
        is_number = law != "classes by a steep curve"
        if not is_number:
            rows = [(x, hidden, np.hstack([y, 1.0 - y])) for x, hidden, y in rows]
        alarms += sum(found.p_value < 0.05 for found in findings_of(rows, rng, is_number=is_number))
    assert alarms <= binom.isf(1e-3, 96, 0.05)


def findings_of(rows, rng, *, is_number):
    """Findings of windows, given as expected scores, missing cells and labels, against the first of them."""
    model, learned = fit_concept(
        *rows[0], np.arange(2), np.arange(2), np.zeros(2, dtype=bool), rng, is_number=is_number
    )
    reference, counted = concept_sums(learned), count_concept(model, *rows[0])
    sums = [count_concept(model, *window) for window in rows[1:]]
    return [concept_finding(model.basis.roles, reference, counted, each, is_number=is_number) for each in sums]


def test_rows_that_moved_too_far_are_not_compared(rng):
    near, far = find(rng, {"shift": 2.0}, {"shift": 3.0, "change": "level"})
    assert near.determined
    assert not far.determined
    assert "have moved by" in far.reason


def test_few_complete_rows_are_compared_by_few_functions():
    """Cells come to be missing where the reference has all: what is observed of such rows says another thing of y."""
    windows = [{"missing": rate, "shift": 0.5} for rate in (0.3, 0.5)]
    found = [find(np.random.default_rng(seed), *windows, n_rows=300) for seed in range(20)]
    alarms = sum(each.determined and each.p_value < 0.05 for findings in found for each in findings)
    assert alarms <= binom.isf(1e-3, 40, 0.05)


def test_where_the_reference_has_no_rows_nothing_is_compared():
    """A window that lies wholly elsewhere: the functions of both sides have no direction in common."""
    eye, zero = np.eye(2), np.zeros((2, 2))
    rows = {"concept_rows": np.full(2, 50.0), "concept_scores": np.ones((2, 1, 2))}
    sides = [
        rows | {"concept_gram": np.stack([gram, gram]), "concept_squares": np.stack([gram, gram])[:, None]}
        for gram in (50 * np.outer(eye[0], eye[0]), 50 * np.outer(eye[1], eye[1]) + zero)
    ]
    found = concept_finding(np.array([0, 1]), sides[0], sides[0], sides[1], is_number=False)
    assert not found.determined
    assert "same values" in found.reason


def test_too_few_labels(rng):
    functions, residuals = np.ones((10, 1)), rng.normal(size=(10, 1))
    sums = concept_sums(LearnedRows(functions, np.ones(10), residuals, residuals, *np.ones((2, 10), dtype=bool)))
    enough = {name: 4.0 * array for name, array in sums.items()}
    for reference, window, side in ((enough, sums, "window"), (sums, enough, "reference")):
        found = concept_finding(np.zeros(1, dtype=int), reference, reference, window, is_number=False)
        assert (found.p_value, found.effect_size) == (1.0, None)
        assert found.reason.startswith(f"10 row(s) of the {side} have a label, expected at least 20")
