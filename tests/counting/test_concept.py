import numpy as np
import pytest

from gapdrift.counting.concept import concept_sums, count_concept, empty_concept
from gapdrift.counting.label_model import LearnedRows, fit_concept
from tests import naive


@pytest.fixture(scope="module")
def learned():
    rng = np.random.default_rng(3)
    expected, missing = rng.normal(size=(200, 2)), rng.random((200, 2)) < 0.2
    labels = expected[:, :1] + rng.normal(size=(200, 1))
    columns, is_category = np.arange(2), np.zeros(2, dtype=bool)
    model, _ = fit_concept(expected, missing, labels, columns, columns, is_category, rng, is_number=True)
    return model, expected, missing, labels


def test_sums_are_those_of_loops(rng):
    functions, weights = rng.normal(size=(6, 3)), rng.random(6)
    residuals, known, complete = rng.normal(size=(6, 2)), np.arange(6) != 2, np.array([1, 1, 0, 1, 0, 1], dtype=bool)
    found = concept_sums(LearnedRows(functions, weights, residuals, residuals, known, complete))
    for side, chosen in enumerate((known, complete)):
        naively = naive.concept_sums(functions[chosen], weights[chosen], residuals[chosen])
        for name, array in zip(("concept_gram", "concept_scores", "concept_squares"), naively, strict=True):
            np.testing.assert_allclose(found[name][side], array)
    assert found["concept_rows"].tolist() == [5, 4]


def test_sums_of_parts_add_up(learned):
    model, *rows = learned
    whole = count_concept(model, *rows)
    first, second = (count_concept(model, *(part[cut] for part in rows)) for cut in (slice(77), slice(77, None)))
    for name, array in whole.items():
        np.testing.assert_allclose(first[name] + second[name], array, atol=1e-9)


def test_no_rows_are_zero(learned):
    model, *rows = learned
    nothing = count_concept(model, *(part[:0] for part in rows))
    whole = count_concept(model, *rows)
    for name, array in empty_concept(model).items():
        assert not array.any()
        assert nothing[name].shape == array.shape == whole[name].shape


def test_residuals_average_the_folds(learned):
    """A row of a window is predicted by both folds; a squared residual is the mean of both squares."""
    model, expected, missing, labels = learned
    functions = model.basis.functions(expected[:4], missing[:4])
    features = np.hstack([expected[:4], missing[:4][:, model.basis.missing]])
    rest = model.outputs(labels[:4])[:, 0] - functions @ model.coefficients[0]
    folds = [rest - fold[0].predict(features) for fold in model.trees]
    found = model.residuals(functions, features, labels[:4])
    assert found[:, 0] == pytest.approx(np.mean(folds, axis=0))
    squares = np.mean([np.minimum(fold**2, model.cap) for fold in folds], axis=0)
    assert found[:, 1] == pytest.approx(squares - functions @ model.spread)
