import numpy as np
import pytest

from gapdrift.counting.label_model import MAX_CLASSES, fit_concept
from gapdrift.models.concept_basis import (
    CELL,
    CONSTANT,
    CURVE,
    MISSING,
    SLOPE,
    ConceptBasis,
    choose_basis,
    choose_coordinates,
    tree_features,
    with_cells,
)
from tests import naive

COLUMNS, IS_CATEGORY = np.arange(3), np.array([False, False, True])


def learn(rng, n_rows=400, missing=0.1, is_number=True, labels=None):
    expected = rng.normal(size=(n_rows, 3))
    hidden = rng.random((n_rows, 3)) < missing
    if labels is None:
        labels = expected[:, :1] + np.abs(expected[:, 1:2]) + 0.3 * rng.normal(size=(n_rows, 1))
    return (
        fit_concept(expected, hidden, labels, COLUMNS, COLUMNS, IS_CATEGORY, rng, is_number=is_number),
        expected,
        hidden,
    )


def test_functions_of_a_row(rng):
    basis = ConceptBasis(3, COLUMNS[:2], np.array([True, False]), True, True, True, np.array([0, 2]))
    expected, missing = rng.normal(size=(5, 3)), rng.random((5, 3)) < 0.5
    found = basis.functions(expected, missing)
    for row in range(5):
        naively = naive.concept_functions(expected[row, :2], (True, False), missing[row, [0, 2]])
        assert found[row] == pytest.approx(naively)
    assert basis.roles.tolist() == [CONSTANT, *[SLOPE] * 2, *[CURVE] * 3, *[MISSING] * 6]


@pytest.mark.parametrize(("n_rows", "kinds"), [(60, 3), (200, 4), (2_000, 4)])
def test_few_rows_have_few_functions(rng, n_rows, kinds):
    (model, _), _, _ = learn(rng, n_rows, missing=0.3)
    roles = model.basis.roles
    assert np.count_nonzero(roles != CELL) <= max(n_rows // (8 if CURVE in roles else 5), 3)
    assert len(roles) <= max(n_rows // 5, 3)
    assert len(set(roles) - {CELL}) <= kinds
    assert SLOPE in roles


def test_few_rows_have_the_coordinates_that_the_label_follows(rng):
    columns, expected = np.delete(np.arange(21), 5), rng.normal(size=(50, 21))
    outputs = expected[:, [3, 17]] + 0.1 * rng.normal(size=(50, 2))
    chosen = choose_coordinates(expected, outputs, columns, 2).tolist()
    assert len(chosen) == 9
    assert chosen == sorted(set(chosen) & set(columns.tolist()))
    assert {3, 17} <= set(chosen)
    more = rng.normal(size=(105, 21))
    assert choose_coordinates(more, more[:, :1], columns, 2) is columns


def test_cells_are_functions_of_the_rows_in_them(rng):
    (model, _), expected, hidden = learn(rng)
    basis = model.basis
    cell = basis.cells.predict(tree_features(basis, expected, hidden)).astype(int)
    found = basis.functions(expected, hidden)[:, basis.roles == CELL]
    assert found.shape[1] == basis.n_cells - 1 > 5
    assert [np.flatnonzero(row).tolist() for row in found] == [[c - 1] if c else [] for c in cell]
    assert np.bincount(cell).min() >= 10


def test_rows_of_a_cell_have_like_predictions(rng):
    """The label follows the size of one column alone: cells divide that column, on both sides of its middle."""
    expected, hidden = rng.normal(size=(1_000, 3)), np.zeros((1_000, 3), dtype=bool)
    basis = with_cells(choose_basis(hidden, 3, COLUMNS, ~IS_CATEGORY, 1), expected, hidden, np.abs(expected[:, :1]), 1)
    cell = basis.cells.predict(tree_features(basis, expected, hidden)).astype(int)
    within = np.array([expected[cell == each].std(axis=0) for each in range(basis.n_cells)])
    assert within[:, 0].mean() < 0.3 < within[:, 1:].mean(axis=0).min()


def test_the_label_is_predicted(rng):
    (model, rows), _, _ = learn(rng)
    assert model.n_outputs == 2
    # Noise of 0.3 is a third of a standard deviation of the label, and missing cells hide nothing here.
    assert np.average(rows.honest[:, 0] ** 2, weights=rows.weights) < 0.25
    assert np.abs(rows.functions.T @ (rows.weights[:, None] * rows.residuals)).max() < 0.02 * len(rows.weights)


def test_honest_residuals_are_those_of_a_fit_without_the_row(rng):
    (_, rows), _, _ = learn(rng, 120, missing=0.0)
    kept = np.arange(120) != 7
    root = np.sqrt(rows.weights)
    # What the trees leave over, up to a sum of functions, which residuals do not depend on.
    functions, outcome = root[:, None] * rows.functions, root * rows.residuals[:, 0]
    coefficients = np.linalg.lstsq(functions[kept], outcome[kept], rcond=None)[0]
    assert rows.honest[7, 0] == pytest.approx(rows.residuals[7, 0] - rows.functions[7] @ coefficients, abs=1e-3)


def test_rows_far_away_weigh_less(rng):
    (model, _), expected, hidden = learn(rng, missing=0.0)
    near = model.weights(model.basis.functions(np.zeros((1, 3)), hidden[:1]))
    far = model.weights(model.basis.functions(np.full((1, 3), 4.0), hidden[:1]))
    assert near == 1.0
    assert far < 0.5
    functions = model.basis.functions(expected, hidden)
    assert np.all(model.weights(functions) <= 1.0)


def test_columns_that_matter(rng):
    (model, _), _, hidden = learn(rng, 2_000)
    assert model.matters.tolist()[:2] == [True, True]
    assert np.array_equal(model.complete(hidden), ~hidden[:, model.matters].any(axis=1))


@pytest.mark.parametrize("bend", [np.abs, lambda x: np.sin(4.0 * x), lambda x: x**2])
def test_columns_matter_that_no_slope_shows(rng, bend):
    expected = rng.normal(size=(1_000, 3))
    hidden = rng.random((1_000, 3)) < 0.1
    labels = bend(expected[:, :1]) + 0.5 * rng.normal(size=(1_000, 1))
    model, _ = fit_concept(expected, hidden, labels, COLUMNS, COLUMNS, IS_CATEGORY, rng, is_number=True)
    assert model.matters.tolist() == [True, False, False]


def test_rows_are_not_known_that_lack_what_the_reference_always_has(rng):
    expected, hidden = rng.normal(size=(400, 3)), rng.random((400, 3)) < [0.0, 0.2, 0.0]
    labels = expected[:, :2].sum(axis=1, keepdims=True) + 0.3 * rng.normal(size=(400, 1))
    model, _ = fit_concept(expected, hidden, labels, COLUMNS, COLUMNS, IS_CATEGORY, rng, is_number=True)
    assert model.needed.tolist() == [True, False, False]
    assert model.known(~np.eye(3, dtype=bool)).tolist() == [True, False, False]
    assert model.known(np.eye(3, dtype=bool)).tolist() == [False, True, True]


@pytest.mark.parametrize(("n_classes", "n_outputs"), [(2, 1), (3, 3), (9, MAX_CLASSES)])
def test_classes(rng, n_classes, n_outputs):
    labels = np.eye(n_classes)[rng.integers(n_classes, size=600)]
    (model, rows), expected, hidden = learn(rng, 600, is_number=False, labels=labels)
    assert model.n_outputs == len(model.classes) == n_outputs
    functions = model.basis.functions(expected, hidden)
    found = model.residuals(functions, tree_features(model.basis, expected, hidden), labels)
    assert found.shape == rows.residuals.shape
    assert np.abs(found).max() < 2.0


def test_labels_that_tell_nothing(rng):
    assert learn(rng, 39)[0] is None
    assert learn(rng, 100, labels=np.ones((100, 1)))[0] is None
    rare = np.zeros((100, 2))
    rare[:, 0], rare[:5, 0], rare[:5, 1] = 1.0, 0.0, 1.0
    assert learn(rng, 100, is_number=False, labels=rare)[0] is None


def test_trees_that_have_no_record_predict_themselves(rng, monkeypatch):
    monkeypatch.setattr("gapdrift.counting.label_model.from_histogram_boosting", lambda _: None)
    (model, _), _, _ = learn(rng, 100)
    assert type(model.trees[0][0]).__name__ == "HistGradientBoostingRegressor"
