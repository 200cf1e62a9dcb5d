"""Regression trees as a plain record: without pickle, and without scikit-learn to predict."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.errors import StorageError
from gapdrift.persistence.records import expect, expect_range, expect_shape, stored

__all__ = ["Forest", "from_histogram_boosting", "join_trees"]

MAX_TREE_NODES = 2_500_000
"""Largest number of nodes of all trees that are stored: 100 MB, three quarters of what a file may hold."""

MAX_STEPS = 100_000
"""Largest trees x levels that are stored: the prediction for a pair takes as many steps, about a millisecond."""

NODES_AT_ONCE = 30_000
"""Trees x pairs that go down one level at once."""

OUTPUTS = ("sum", "mean", "exp")
"""What a forest predicts: the sum of its trees, their mean, or the exponential of the sum."""


@stored
@dataclass(frozen=True, eq=False)
class Forest:
    """Regression trees whose predictions are added up.

    Parameters
    ----------
    n_features : int
    single_precision : bool
        Whether features are rounded to single precision before they are compared.
    start : float
        Added to the sum of the trees.
    output : str
        One of `OUTPUTS`.
    roots : (trees,) array
        First node of each tree.
    feature : (nodes,) array
        Feature that a node compares; 0 in a leaf.
    threshold : (nodes,) array
        A pair goes to the first child of a node if its feature is at most this, otherwise to the second.
    children : (nodes, 2) array
        They come after their parent; those of a leaf are the leaf itself.
    value : (nodes,) array
        What a leaf predicts.

    Notes
    -----
    Trees are added in their order, as scikit-learn does. Predictions are those of scikit-learn to the bit, except that
    the last digits of a `GradientBoostingRegressor` may differ on processors that multiply and add in one step (ARM).
    """

    n_features: int
    single_precision: bool
    start: float
    output: str
    roots: Indices
    feature: Indices
    threshold: Vector
    children: Indices
    value: Vector

    def predict(self, X: Matrix) -> Vector:
        """Distances of pairs: (pairs,)."""
        cells = np.asarray(X, dtype=np.float32 if self.single_precision else float).ravel()
        first_cell = np.arange(len(X)) * self.n_features
        total = np.full(len(X), self.start)
        at_once = NODES_AT_ONCE // max(len(X), 1) + 1
        for start in range(0, len(self.roots), at_once):
            leaves = self._leaves(cells, first_cell, self.roots[start : start + at_once])
            # One tree after the other: the order decides the last digits.
            for values in self.value.take(leaves):
                total += values
        if self.output == "mean":
            total /= len(self.roots)
        return np.exp(total) if self.output == "exp" else total

    def _leaves(self, cells: Any, first_cell: Indices, roots: Indices) -> Indices:
        """Leaf that each pair ends in: (trees, pairs)."""
        nodes, children = np.repeat(roots[:, None], len(first_cell), axis=1), self.children.ravel()
        while self._is_inner.take(nodes).any():
            is_greater = cells.take(first_cell + self.feature.take(nodes)) > self.threshold.take(nodes)
            nodes = children.take(2 * nodes + is_greater)
        return nodes

    @cached_property
    def _is_inner(self) -> Mask:
        """Whether a node has children: (nodes,)."""
        is_inner: Mask = np.any(self.children != np.arange(len(self.children))[:, None], axis=1)
        return is_inner

    def to_stored(self) -> dict[str, Any]:
        """Fields as they are written, once they are known to be few enough to be read."""
        self._check_size()
        return vars(self)

    def check_stored(self) -> None:
        """Check what was read from a file: every way through a tree ends in a leaf, after not too many steps."""
        n_nodes = len(np.atleast_1d(self.feature))
        for array in (self.feature, self.threshold, self.value):
            expect_shape(array, (n_nodes,), "features, thresholds and values of nodes")
        expect_shape(self.children, (n_nodes, 2), "children of nodes")
        expect_shape(self.roots, (-1,), "roots of trees")
        expect(self.output in OUTPUTS, f"an output out of {', '.join(OUTPUTS)}")
        expect(len(self.roots) > 0, "trees")
        expect_range(self.feature, 0, self.n_features, "features")
        parents, children = np.flatnonzero(self._is_inner), self.children[self._is_inner]
        expect((children > parents[:, None]).all(), "children after their parents")
        reached = np.sort(np.concatenate([self.roots, children.ravel()]))
        expect(np.array_equal(reached, np.arange(n_nodes)), "trees in which one way leads to each node")
        self._check_size()

    def _check_size(self) -> None:
        """Raise a StorageError where there are too many nodes, or too many steps to the leaves."""
        n_levels, nodes = 0, self.roots
        while len(nodes) and n_levels * len(self.roots) <= MAX_STEPS:
            n_levels += 1
            nodes = self.children[nodes[self._is_inner[nodes]]].ravel()
        if n_levels * len(self.roots) > MAX_STEPS or len(self.feature) > MAX_TREE_NODES:
            raise StorageError(
                f"The regressor has {len(self.roots):,} trees with {len(self.feature):,} nodes on {n_levels:,} or more "
                f"levels, expected at most {MAX_TREE_NODES:,} nodes and {MAX_STEPS:,} trees x levels. Use fewer or "
                "smaller trees (max_depth, max_leaf_nodes), or a smaller max_pairs."
            )


def from_histogram_boosting(regressor: Any) -> Forest:
    """Forest of a fitted HistGradientBoostingRegressor, read from its private attributes."""
    trees = [tree.nodes for (tree,) in regressor._predictors]
    if any(tree["is_categorical"].any() for tree in trees):
        raise ValueError("Splits by category have no threshold.")
    names = ("feature_idx", "num_threshold", "left", "right", "value")
    nodes = [tuple(tree[name] for name in names) for tree in trees]
    start = regressor._baseline_prediction.item()
    output = "exp" if regressor.loss in {"gamma", "poisson"} else "sum"
    return join_trees(nodes, regressor.n_features_in_, single_precision=False, start=start, output=output)


def join_trees(
    trees: list[Any], n_features: int, *, single_precision: bool, start: float = 0.0, output: str = "sum"
) -> Forest:
    """Forest of trees, each given by features, thresholds, left and right children (0 or less in a leaf) and values."""
    feature, threshold, left, right, value = (np.concatenate(arrays) for arrays in zip(*trees, strict=True))
    sizes = [len(tree[0]) for tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    is_leaf = left <= 0
    children = np.column_stack([left, right]) + np.repeat(roots, sizes)[:, None]
    children[is_leaf] = np.flatnonzero(is_leaf)[:, None]
    feature, threshold = np.where(is_leaf, 0, feature), np.where(is_leaf, 0.0, threshold)
    return Forest(n_features, single_precision, start, output, roots, feature, threshold, children, value)
