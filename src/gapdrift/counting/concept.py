"""Sums over labelled rows that tell how the label depends on the other columns.

With p the functions of a row (`ConceptBasis`), w its weight and e its residuals (`ConceptModel`), the sums are those of

- 1: the labelled rows;
- w p p', which tells where on the functions the rows are;
- w p e, for each residual, which tells by what the label differs from what is expected of it there;
- w^2 p p' e^2, for each residual, the variance of that.

All of them once over labelled rows, and once over those that have every column that the label depends on. A row
without a label adds nothing, and neither does one that lacks a column that the label depends on and the reference
hardly ever lacks: nothing is known of the label of such rows.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Mask, Matrix, Vector
from gapdrift.models.concept import ConceptModel, LearnedRows
from gapdrift.models.concept_basis import tree_features

__all__ = ["concept_sums", "count_concept", "empty_concept"]

Sums = dict[str, NDArray[np.float64]]


def empty_concept(model: ConceptModel) -> Sums:
    """Sums over no rows."""
    size, n_outputs = len(model.basis.roles), model.n_outputs
    return {
        "concept_rows": np.zeros(2),
        "concept_gram": np.zeros((2, size, size)),
        "concept_scores": np.zeros((2, n_outputs, size)),
        "concept_squares": np.zeros((2, n_outputs, size, size)),
    }


def count_concept(model: ConceptModel, expected: Matrix, missing: Mask, labels: Matrix) -> Sums:
    """Sums over labelled rows of a window.

    Parameters
    ----------
    model : ConceptModel
    expected : (rows, columns) array
        Centred expected scores of all columns but the label.
    missing : (rows, input columns) array of bool
    labels : (rows, matrix columns of the label) array
    """
    if not len(labels):
        return empty_concept(model)
    functions = model.basis.functions(expected, missing)
    residuals = model.residuals(functions, tree_features(model.basis, expected, missing), labels)
    known, complete = model.known(missing), model.complete(missing)
    return concept_sums(LearnedRows(functions, model.weights(functions), residuals, residuals, known, complete))


def concept_sums(rows: LearnedRows) -> Sums:
    """Sums over rows whose residuals are known."""
    sides = [_sums_of(rows, rows.known), _sums_of(rows, rows.complete)]
    return {name: np.stack([side[name] for side in sides]) for name in sides[0]}


def _sums_of(rows: LearnedRows, chosen: Mask) -> Mapping[str, NDArray[np.float64]]:
    functions, weights = rows.functions[chosen], rows.weights[chosen]
    weighted: Matrix = functions * weights[:, None]
    squares: list[Vector] = [(weighted * honest[:, None] ** 2).T @ weighted for honest in rows.honest[chosen].T]
    return {
        "concept_rows": np.array(float(len(weights))),
        "concept_gram": weighted.T @ functions,
        "concept_scores": rows.residuals[chosen].T @ weighted,
        "concept_squares": np.array(squares),
    }
