"""How a label depends on the other columns, learned on a reference.

A row is described by a few functions of its expected scores and missing cells. The label is predicted by a weighted
sum of them and by boosted trees that are fitted to what the sum leaves over. What neither predicts, the residual, has
the same mean at the same values of the other columns as long as the label depends on them as before.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.special import fdtrc

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.models.concept_basis import (
    KNEES,
    MIN_CLASS,
    ConceptBasis,
    choose_basis,
    choose_coordinates,
    seldom_missing,
    tree_features,
    with_cells,
)
from gapdrift.models.forest import Forest, from_histogram_boosting
from gapdrift.models.normal_scores import NormalScores, fit_normal_scores
from gapdrift.persistence.records import StoredAs, expect, expect_range, expect_shape, stored

__all__ = ["ConceptModel", "LearnedRows", "fit_concept"]

MIN_LABELLED = 40
"""Labelled rows of the reference below which nothing is learned."""

MAX_CLASSES = 4
"""Classes that are looked at, each against all others: the most frequent ones."""

MAX_LEVERAGE = 2.0
"""Rows weigh one up to so many times the mean leverage; beyond, a row's weight falls with its leverage."""

N_FOLDS = 2
"""Trees are fitted to the rows of all folds but one."""

N_TREES, LEARNING_RATE, N_LEAVES, LEAF_ROWS = 60, 0.08, 12, 20
"""Settings of the boosted trees."""

MAX_SPREAD_SQUARE = 9.0
"""Squared residuals are cut off at so many times their mean."""

MATTERS = 0.05
"""p-value of a column's F test below which rows without this column are incomplete."""

SHUFFLED_ROWS, SHUFFLED_COLUMNS = 1_000, 40
"""Rows and columns, at most, of which cells are exchanged to see whether a column helps to predict the label."""

SHUFFLED_SCORE, SHUFFLED_LOSS = 2.5, 0.01
"""A column helps where the mean squared error grows by so many standard errors, and by this share of itself."""

SMALLEST_RIDGE = 1e-6
"""Added to the diagonal of mean products, so that they can be inverted where a column is a copy of another."""


@stored
@dataclass(frozen=True, eq=False)
class ConceptModel:
    """What is expected of the label, given the other columns.

    Parameters
    ----------
    basis : ConceptBasis
    label_scores : NormalScores or None
        Of a label that is a number.
    classes : (n,) array of int
        Matrix columns of a label that is a category: the classes that are looked at, each against all others.
    leverage : (functions, functions) array
        Inverse of the mean products of the functions, over their number.
    coefficients : (outputs, functions) array
        Of the numbers that the label is turned into.
    trees : tuple of tuples of Forest
        For each fold, one for each output.
    cap : float
        At which the squared residuals of a number are cut off.
    spread : (functions,) array
        Coefficients of these squares.
    matters : (input columns,) array of bool
        Columns that the label depends on.
    needed : (input columns,) array of bool
        Those of them that the reference hardly ever lacks: it has no rows to learn from what the label is without them.
    """

    basis: ConceptBasis
    label_scores: NormalScores | None
    classes: Indices
    leverage: Matrix
    coefficients: Matrix
    trees: tuple[tuple[Annotated[Any, StoredAs(Forest)], ...], ...]
    cap: float
    spread: Vector
    matters: Mask
    needed: Mask

    @property
    def n_outputs(self) -> int:
        """Number of residuals of a row: two of a number, the second one about its spread; one of each class."""
        return 2 if self.label_scores is not None else len(self.classes)

    def outputs(self, labels: Matrix) -> Matrix:
        """Numbers that labels are turned into: (rows, outputs).

        Parameters
        ----------
        labels : (rows, matrix columns of the label) array
            Without missing ones.
        """
        return _outputs(self.label_scores, self.classes, labels)

    def weights(self, functions: Matrix) -> Vector:
        """Weight of each row: at most one, and less where the reference has few rows like it."""
        leverage = ((functions @ self.leverage) * functions).sum(axis=1)
        weights: Vector = MAX_LEVERAGE / np.maximum(leverage, MAX_LEVERAGE)
        return weights

    def residuals(self, functions: Matrix, features: Matrix, labels: Matrix) -> Matrix:
        """Residuals of rows that nothing was learned from: (rows, n_outputs).

        Parameters
        ----------
        functions : (rows, functions) array
        features : (rows, features) array
            From `tree_features`.
        labels : (rows, matrix columns of the label) array
        """
        rest = self.outputs(labels) - functions @ self.coefficients.T
        folds = [rest - np.column_stack([tree.predict(features) for tree in fold]) for fold in self.trees]
        mean = np.asarray(np.mean(folds, axis=0))
        if self.label_scores is None:
            return mean
        squares = np.mean([np.minimum(fold**2, self.cap) for fold in folds], axis=0)
        return np.hstack([mean, squares - (functions @ self.spread)[:, None]])

    def complete(self, missing: Mask) -> Mask:
        """Whether rows have all columns that the label depends on: (rows,)."""
        return np.asarray(~missing[:, self.matters].any(axis=1))

    def known(self, missing: Mask) -> Mask:
        """Whether the reference has rows that lack the same columns, of those that the label depends on: (rows,)."""
        return np.asarray(~missing[:, self.needed].any(axis=1))

    def check_stored(self) -> None:
        """Check what was read from a file: functions, outputs and trees fit together."""
        size, n_features = len(self.basis.roles), self.basis.n_columns + len(self.basis.missing)
        n_predicted = 1 if self.label_scores is not None else len(self.classes)
        expect(1 <= n_predicted <= MAX_CLASSES, f"up to {MAX_CLASSES} classes")
        expect(self.label_scores is None or len(self.label_scores.knots) == 1, "one label")
        expect_shape(self.leverage, (size, size), "leverage")
        expect_shape(self.coefficients, (n_predicted, size), "coefficients")
        expect_shape(self.spread, (size,), "coefficients of the spread")
        expect_shape(self.matters, (-1,), "columns that matter")
        expect_shape(self.needed, self.matters.shape, "columns that are needed")
        expect_range(self.basis.missing, 0, len(self.matters), "missing cells that are functions")
        expect(len(self.trees) == N_FOLDS, f"trees of {N_FOLDS} folds")
        for fold in self.trees:
            fits = all(getattr(tree, "n_features", n_features) == n_features for tree in fold)
            expect(len(fold) == n_predicted and fits, "trees for each output")


class LearnedRows(NamedTuple):
    """Labelled rows of the reference, as they are compared with windows.

    Parameters
    ----------
    functions : (rows, functions) array
    weights : (rows,) array
    residuals, honest : (rows, outputs) arrays
        By trees that did not see the row; the honest ones by coefficients that did not see it either.
    known, complete : (rows,) arrays of bool
    """

    functions: Matrix
    weights: Vector
    residuals: Matrix
    honest: Matrix
    known: Mask
    complete: Mask


def fit_concept(
    expected: Matrix,
    missing: Mask,
    labels: Matrix,
    columns: Indices,
    owner: Indices,
    is_category: Mask,
    rng: np.random.Generator,
    *,
    is_number: bool,
) -> tuple[ConceptModel, LearnedRows] | None:
    """Model of the label, and the rows it was learned from; None where labels are too few, or all the same.

    Parameters
    ----------
    expected : (rows, columns) array
        Centred expected scores of labelled rows.
    missing : (rows, input columns) array of bool
    labels : (rows, matrix columns of the label) array
    columns : (n,) array of int
        Matrix columns by whose expected scores the label may be described.
    owner : (matrix columns,) array of int
        Input column behind each of them.
    is_category : (matrix columns,) array of bool
    rng : numpy.random.Generator
    is_number : bool
        Whether the label is a number.

    Notes
    -----
    With P the functions of the rows and W their weights, the coefficients of an output y are those of least squares,
    (P'WP)^-1 P'Wy. Trees are fitted to what they leave over on all folds but one, and predict that one. Cells of
    rows that are alike become functions as well, and the coefficients are fitted again. A residual e has the leverage
    h = w p'(P'WP)^-1 p: e / (1 - h) is what coefficients that have not seen the row leave over.
    """
    classes = np.zeros(0, dtype=np.intp) if is_number else _choose_classes(labels)
    n_outputs = 2 if is_number else len(classes)
    if len(labels) < MIN_LABELLED or not n_outputs or (is_number and np.ptp(labels) == 0.0):
        return None
    scores = fit_normal_scores(labels, np.array([True])) if is_number else None
    outputs = _outputs(scores, classes, labels)
    chosen = choose_coordinates(expected, outputs, columns, n_outputs)
    basis = choose_basis(missing, len(owner), chosen, ~is_category[chosen], n_outputs)
    draft = _draft(basis, scores, classes, expected, missing)
    trees, rest, predicted, matters = _predict(draft, expected, missing, outputs, owner, rng)
    model = _draft(with_cells(draft.basis, expected, missing, predicted, n_outputs), scores, classes, expected, missing)
    functions = model.basis.functions(expected, missing)
    weights = model.weights(functions)
    solve = _solve(functions, weights)
    coefficients = solve @ rest
    residuals = rest - functions @ coefficients
    honest = residuals / np.maximum(1.0 - (functions * solve.T).sum(axis=1), 0.2)[:, None]
    cap, spread = 0.0, np.zeros(functions.shape[1])
    if is_number:
        cap = MAX_SPREAD_SQUARE * float(np.average(honest[:, 0] ** 2, weights=weights))
        squares = np.minimum(honest**2, cap)
        spread = (solve @ squares)[:, 0]
        left = squares - (functions @ spread)[:, None]
        residuals, honest = np.hstack([residuals, left]), np.hstack([honest, left])
    needed = matters & seldom_missing(missing) & (len(matters) <= SHUFFLED_COLUMNS)
    model = replace(model, coefficients=coefficients.T, trees=trees, cap=cap, spread=spread)
    model = replace(model, matters=matters, needed=needed)
    return model, LearnedRows(functions, weights, residuals, honest, model.known(missing), model.complete(missing))


def _outputs(scores: NormalScores | None, classes: Indices, labels: Matrix) -> Matrix:
    if scores is not None:
        return scores.transform(labels)
    return np.asarray(labels[:, classes] > 0.0, dtype=float)


def _draft(
    basis: ConceptBasis, scores: NormalScores | None, classes: Indices, expected: Matrix, missing: Mask
) -> ConceptModel:
    """Model with functions and leverages of rows, and without coefficients and trees."""
    functions = basis.functions(expected, missing)
    leverage = np.linalg.inv(_mean_products(functions)) / functions.shape[1]
    nothing = np.zeros((0, functions.shape[1])), (), 0.0, np.zeros(functions.shape[1])
    no_column = np.zeros(missing.shape[1], dtype=bool)
    return ConceptModel(basis, scores, classes, leverage, *nothing, no_column, no_column)


def _predict(
    draft: ConceptModel, expected: Matrix, missing: Mask, outputs: Matrix, owner: Indices, rng: np.random.Generator
) -> tuple[tuple[tuple[Any, ...], ...], Matrix, Matrix, Mask]:
    """Trees of each fold, outputs less predictions by trees that did not see the row, predictions, and what matters."""
    basis, features = draft.basis, tree_features(draft.basis, expected, missing)
    functions = basis.functions(expected, missing)
    weights = draft.weights(functions)
    solve = _solve(functions, weights)
    trees, rest, folds = _fit_trees(features, outputs - functions @ (solve @ outputs), outputs, rng)
    coefficients = solve @ rest
    residuals = rest - functions @ coefficients
    matters = _matters(functions, coefficients, residuals, weights, basis, owner, missing.shape[1])
    others = [folds != fold for fold in range(N_FOLDS)]
    # In-sample coefficients follow the noise of every column.
    honest = [_solve(functions[rows], weights[rows]) @ rest[rows] for rows in others]
    matters |= _helps_to_predict(basis, expected, missing, outputs, honest, trees, folds, owner, rng)
    return trees, rest, outputs - residuals, matters


def _solve(functions: Matrix, weights: Vector) -> Matrix:
    """From outputs of rows to their coefficients: (functions, rows)."""
    inverse = np.linalg.inv(_mean_products(functions, weights) * len(functions))
    return np.asarray(inverse @ (functions * weights[:, None]).T)


def _choose_classes(labels: Matrix) -> Indices:
    """Matrix columns of the classes that are looked at: the first of two, of more the most frequent ones."""
    counts = np.count_nonzero(labels > 0.0, axis=0)
    order = np.argsort(-counts, kind="stable")
    often = order[counts[order] >= MIN_CLASS]
    if not len(often) or counts[often[0]] > len(labels) - MIN_CLASS:
        return np.zeros(0, dtype=np.intp)
    return np.asarray(often[:1] if np.count_nonzero(counts) == 2 else often[:MAX_CLASSES], dtype=np.intp)


def _mean_products(functions: Matrix, weights: Vector | None = None) -> Matrix:
    weighted = functions if weights is None else functions * weights[:, None]
    mean = weighted.T @ functions / len(functions)
    return np.asarray(mean + SMALLEST_RIDGE * max(float(np.trace(mean)) / len(mean), 1.0) * np.eye(len(mean)))


def _fit_trees(
    features: Matrix, rest: Matrix, outputs: Matrix, rng: np.random.Generator
) -> tuple[tuple[tuple[Any, ...], ...], Matrix, Indices]:
    """Trees of each fold, outputs less predictions by trees that did not see the row, and the fold of each row."""
    # Of scikit-learn's trees only those who have a label pay for the import.
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415

    folds = rng.permutation(np.arange(len(features)) % N_FOLDS)
    left, found = outputs.copy(), []
    for fold in range(N_FOLDS):
        own = folds == fold
        trees = []
        for output in range(rest.shape[1]):
            boosted = HistGradientBoostingRegressor(
                max_iter=N_TREES,
                learning_rate=LEARNING_RATE,
                max_leaf_nodes=N_LEAVES,
                min_samples_leaf=LEAF_ROWS,
                l2_regularization=1.0,
                early_stopping=False,
                random_state=0,
            ).fit(features[~own], rest[~own, output])
            tree = _as_record(boosted, features)
            left[own, output] -= tree.predict(features[own])
            trees.append(tree)
        found.append(tuple(trees))
    return tuple(found), left, folds


def _as_record(boosted: Any, features: Matrix) -> Any:
    """Forest that predicts what boosted trees predict; the trees themselves where their attributes are not as known."""
    try:
        record = from_histogram_boosting(boosted)
        same = np.allclose(record.predict(features[:100]), boosted.predict(features[:100]), rtol=1e-9)
    except (AttributeError, LookupError, TypeError, ValueError):
        same = False
    return record if same else boosted


def _matters(
    functions: Matrix,
    coefficients: Matrix,
    residuals: Matrix,
    weights: Vector,
    basis: ConceptBasis,
    owner: Indices,
    n_inputs: int,
) -> Mask:
    """Input columns whose slopes or bends the label follows, by an F test: (input columns,)."""
    inputs = owner[basis.columns]
    of_function = np.concatenate([[-1], inputs, *([inputs[basis.is_number]] * (len(KNEES) * basis.bends))])
    inverse = np.linalg.inv(_mean_products(functions, weights) * len(functions))
    freedom = len(functions) - functions.shape[1]
    found = np.zeros(n_inputs, dtype=bool)
    variance = (weights[:, None] * residuals**2).sum(axis=0) / freedom
    for column in np.unique(inputs):
        own = np.flatnonzero(of_function == column)
        for output in range(coefficients.shape[1]):
            b = coefficients[own, output]
            ratio = b @ np.linalg.pinv(inverse[np.ix_(own, own)]) @ b / max(variance[output], 1e-12) / len(own)
            found[column] |= bool(fdtrc(len(own), freedom, ratio) < MATTERS)
    return found


def _helps_to_predict(
    basis: ConceptBasis,
    expected: Matrix,
    missing: Mask,
    outputs: Matrix,
    coefficients: list[Matrix],
    trees: tuple[tuple[Any, ...], ...],
    folds: Indices,
    owner: Indices,
    rng: np.random.Generator,
) -> Mask:
    """Input columns without which predictions are clearly worse: (input columns,).

    The cells of a column are exchanged between rows, and squared errors are compared before and after. Each row is
    predicted by the coefficients and trees of the other fold. This finds bends, steps and products that slopes do not
    show. Very many columns are not tried.
    """
    if missing.shape[1] > SHUFFLED_COLUMNS:
        return np.zeros(missing.shape[1], dtype=bool)
    chosen = np.sort(rng.permutation(len(outputs))[:SHUFFLED_ROWS])
    rows, hidden, folds = expected[chosen], missing[chosen], folds[chosen]

    def losses(rows: Matrix, hidden: Mask) -> Matrix:
        functions, features = basis.functions(rows, hidden), tree_features(basis, rows, hidden)
        left = outputs[chosen]
        for fold, (forests, own_coefficients) in enumerate(zip(trees, coefficients, strict=True)):
            own = folds == fold
            left[own] -= functions[own] @ own_coefficients
            left[own] -= np.column_stack([forest.predict(features[own]) for forest in forests])
        return np.asarray(left**2)

    before, order = losses(rows, hidden), rng.permutation(len(chosen))
    found = np.zeros(missing.shape[1], dtype=bool)
    for column in range(len(found)):
        own = owner == column
        exchanged, absent = rows.copy(), hidden.copy()
        exchanged[:, own], absent[:, column] = rows[order][:, own], hidden[order, column]
        more = losses(exchanged, absent) - before
        error = np.maximum(more.std(axis=0) / np.sqrt(len(more)), 1e-12)
        least = np.maximum(SHUFFLED_SCORE * error, SHUFFLED_LOSS * before.mean(axis=0))
        found[column] = bool((more.mean(axis=0) > least).any())
    return found
