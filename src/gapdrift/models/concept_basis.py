"""Functions of a row by which it is described how a label depends on the other columns."""

from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.models.forest import Forest, join_trees
from gapdrift.persistence.records import expect, expect_range, expect_shape, stored

__all__ = [
    "CELL",
    "CONSTANT",
    "CURVE",
    "KNEES",
    "MIN_CLASS",
    "MISSING",
    "SLOPE",
    "ConceptBasis",
    "choose_basis",
    "choose_coordinates",
    "seldom_missing",
    "tree_features",
    "with_cells",
]

CONSTANT, SLOPE, CURVE, MISSING, CELL = range(5)
"""Roles of the functions: the constant, coordinates, bends and products of them, missing cells, cells of rows."""

MIN_CLASS = 10
"""Rows of a class, or with a missing cell, below which it is not looked at."""

ROWS_PER_FUNCTION = 8
"""Labelled rows of the reference for each function of a row, at least, where there are bends and products."""

FEWEST_ROWS_PER_FUNCTION = 5
"""The same of coordinates and missing cells alone, and with cells, which take off what others do not follow."""

MAX_SQUARES = 15_000
"""Entries of the sums of squares, about: they decide how many functions there are."""

KNEES = (-1.0, 1.0)
"""Scores beyond which a column may have another slope."""

MAX_COORDINATE = 4.0
"""Coordinates are cut off at this."""

MAX_CELLS = 24
"""Cells of rows, at most."""

ROWS_PER_CELL, FEWEST_IN_CELL = 15, 10
"""Labelled rows of the reference for each cell on average, and in each cell, at least."""

COORDINATE_WEIGHT = 0.5
"""Weight of coordinates, beside that of predictions, in how alike the rows of a cell are."""


@stored
@dataclass(frozen=True, eq=False)
class ConceptBasis:
    """Functions of a row by which the dependence of the label is described.

    Parameters
    ----------
    n_columns : int
        Matrix columns of a row.
    columns : (coordinates,) array of int
        Those whose expected scores are its coordinates.
    is_number : (coordinates,) array of bool
        Coordinates that may bend.
    bends, products, crossed : bool
        Whether there are bends, products of two coordinates, and products of missing cells and coordinates.
    missing : (n,) array of int
        Input columns whose missing cells are functions.
    cells : Forest or None
        One tree that tells the cell of a row; each cell but the first has a function.
    """

    n_columns: int
    columns: Indices
    is_number: Mask
    bends: bool
    products: bool
    crossed: bool
    missing: Indices
    cells: Forest | None = None

    @property
    def roles(self) -> Indices:
        """Role of each function."""
        n = len(self.columns)
        sizes = {
            CONSTANT: 1,
            SLOPE: n,
            CURVE: self.bends * len(KNEES) * int(self.is_number.sum()) + self.products * n * (n - 1) // 2,
            MISSING: len(self.missing) * (1 + self.crossed * n),
            CELL: max(self.n_cells - 1, 0),
        }
        return np.repeat(list(sizes), list(sizes.values()))

    @property
    def n_cells(self) -> int:
        """Number of cells of rows."""
        return 0 if self.cells is None else int(self.cells.value.max()) + 1

    def coordinates(self, expected: Matrix) -> Matrix:
        """Coordinates of some rows, cut off: (rows, coordinates)."""
        return np.asarray(np.clip(expected[:, self.columns], -MAX_COORDINATE, MAX_COORDINATE))

    def functions(self, expected: Matrix, missing: Mask) -> Matrix:
        """Functions of some rows: (rows, functions).

        Parameters
        ----------
        expected : (rows, columns) array
            Centred expected scores.
        missing : (rows, input columns) array of bool
        """
        place = self.coordinates(expected)
        parts = [np.ones((len(place), 1)), place]
        if self.bends:
            numbers = place[:, self.is_number]
            parts += [np.maximum(np.sign(knee) * (numbers - knee), 0.0) for knee in KNEES]
        if self.products:
            first, second = np.triu_indices(place.shape[1], 1)
            parts.append(place[:, first] * place[:, second])
        absent = missing[:, self.missing].astype(float)
        parts.append(absent)
        if self.crossed:
            parts.append((absent[:, :, None] * place[:, None, :]).reshape(len(place), -1))
        if self.cells is not None:
            cell = self.cells.predict(tree_features(self, expected, missing))
            parts.append((cell[:, None] == np.arange(1, self.n_cells)).astype(float))
        return np.hstack(parts)

    def check_stored(self) -> None:
        """Check what was read from a file: as many coordinates in all parts."""
        expect_shape(self.columns, (-1,), "coordinates")
        expect_range(self.columns, 0, self.n_columns, "coordinates")
        expect_shape(self.is_number, self.columns.shape, "coordinates that bend")
        expect_shape(self.missing, (-1,), "missing cells that are functions")
        if self.cells is not None:
            expect(self.cells.n_features == self.n_columns + len(self.missing), "cells of these columns")
            is_leaf = (self.cells.children == np.arange(len(self.cells.value))[:, None]).all(axis=1)
            cells = np.sort(self.cells.value[is_leaf])
            one_each = len(cells) <= MAX_CELLS and np.array_equal(cells, np.arange(len(cells)))
            expect(one_each and len(self.cells.roots) == 1, f"a number for each of up to {MAX_CELLS} cells, from 0 on")
        expect(len(self.roles) <= isqrt(MAX_SQUARES), f"up to {isqrt(MAX_SQUARES)} functions")


def tree_features(basis: ConceptBasis, expected: Matrix, missing: Mask) -> Matrix:
    """What trees see of a row: expected scores, and what is missing."""
    return np.hstack([expected, missing[:, basis.missing]])


def seldom_missing(missing: Mask) -> Mask:
    """Input columns of which hardly any cell is missing, so that nothing is known of such rows: (input columns,)."""
    return np.asarray(missing.sum(axis=0) < MIN_CLASS)


def choose_coordinates(expected: Matrix, outputs: Matrix, columns: Indices, n_outputs: int) -> Indices:
    """These columns; where rows are few, or columns many, those that have the largest correlations with the label.

    A column that the label follows and that is left out would look like another level where it moves; so it would along
    principal directions, which do not span what a label follows.

    Parameters
    ----------
    expected : (rows, columns) array
    outputs : (rows, predicted numbers) array
        What labels are turned into.
    columns : (n,) array of int
    n_outputs : int
        Residuals of a row.
    """
    most = _most_functions(len(expected), n_outputs, FEWEST_ROWS_PER_FUNCTION) - 1
    # Of very many, so that there is room for missing cells and cells.
    most = min(most, _most_functions(len(expected), n_outputs, 1) // 2)
    if len(columns) <= most:
        return columns
    correlations = _largest_correlations(_standardised(outputs), _standardised(expected[:, columns]))
    return columns[np.sort(np.argsort(-correlations, kind="stable")[:most])]


def choose_basis(missing: Mask, n_columns: int, columns: Indices, is_number: Mask, n_outputs: int) -> ConceptBasis:
    """As many kinds of functions as there are rows for; cells come later.

    Parameters
    ----------
    missing : (rows, input columns) array of bool
    n_columns : int
        Matrix columns.
    columns : (coordinates,) array of int
        Those that are coordinates.
    is_number : (coordinates,) array of bool
        Coordinates that may bend.
    n_outputs : int
        Residuals of a row.
    """
    most, most_without_bends = (
        _most_functions(len(missing), n_outputs, rows) for rows in (ROWS_PER_FUNCTION, FEWEST_ROWS_PER_FUNCTION)
    )
    absent = np.flatnonzero(~seldom_missing(missing) & ~seldom_missing(~missing))
    basis = ConceptBasis(n_columns, columns, is_number, False, False, False, absent[:0])
    richer: list[tuple[dict[str, Any], int]] = [
        ({"missing": absent}, most_without_bends),
        ({"bends": True}, most),
        ({"products": True}, most),
        ({"crossed": len(absent) > 0}, most),
    ]
    for change, allowed in richer:
        wider = replace(basis, **change)
        basis = wider if len(wider.roles) <= allowed else basis
    return basis


def _most_functions(n_rows: int, n_outputs: int, rows_per_function: int) -> int:
    return max(min(n_rows // rows_per_function, isqrt(MAX_SQUARES // n_outputs)), 3)


def with_cells(basis: ConceptBasis, expected: Matrix, missing: Mask, predicted: Matrix, n_outputs: int) -> ConceptBasis:
    """The basis with cells of rows for which alike labels are predicted at alike places; as it is where rows are few.

    Parameters
    ----------
    basis : ConceptBasis
    expected : (rows, columns) array
    missing : (rows, input columns) array of bool
    predicted : (rows, predicted numbers) array
        Each by a model that did not see the label of the row, or hardly: cells chosen by the labels themselves would
        follow their noise.
    n_outputs : int
        Residuals of a row.

    Notes
    -----
    Where the other columns move, what a prediction is wrong by at some place counts more or less than before, and
    looks like another slope. A constant for each cell takes off what is wrong there on both sides alike. The cells are
    the leaves of one tree that makes predictions and coordinates, these by how much predictions follow them, alike.
    """
    most = _most_functions(len(expected), n_outputs, FEWEST_ROWS_PER_FUNCTION)
    n_cells = min(MAX_CELLS, most - len(basis.roles) + 1, len(expected) // ROWS_PER_CELL)
    if n_cells < 2:
        return basis
    # Of scikit-learn's trees only those who have a label pay for the import.
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415

    one, other = _standardised(predicted), _standardised(basis.coordinates(expected))
    target = np.hstack([one, COORDINATE_WEIGHT * np.sqrt(_largest_correlations(one, other)) * other])
    features = tree_features(basis, expected, missing)
    grown = DecisionTreeRegressor(max_leaf_nodes=n_cells, min_samples_leaf=FEWEST_IN_CELL, random_state=0)
    tree = grown.fit(features, target).tree_
    is_leaf = tree.children_left < 0
    number = np.zeros(tree.node_count)
    number[is_leaf] = np.arange(np.count_nonzero(is_leaf))
    nodes = (tree.feature, tree.threshold, tree.children_left, tree.children_right, number)
    return replace(basis, cells=join_trees([nodes], features.shape[1], single_precision=True))


def _standardised(columns: Matrix) -> Matrix:
    return np.asarray((columns - columns.mean(axis=0)) / np.maximum(columns.std(axis=0), 1e-9))


def _largest_correlations(one: Matrix, other: Matrix) -> Vector:
    """Largest correlation, in magnitude, of each column of the other with a column of the one; both standardised."""
    return np.asarray(np.abs(one.T @ other / len(one)).max(axis=0))
