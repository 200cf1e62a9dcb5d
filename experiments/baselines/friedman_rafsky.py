"""Multivariate Wald-Wolfowitz test (Friedman and Rafsky 1979) with the minimum spanning tree; "MWW" in the paper."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.neighbors import NearestNeighbors

from experiments.baselines._seam import SMALLEST, Outcome, Rng, as_sample, positive
from gapdrift._typing import Matrix
from gapdrift._validation import check_choice, check_count

__all__ = [
    "FittedFriedmanRafsky",
    "FriedmanRafsky",
    "edge_moments",
    "neighbour_forest",
    "run_moments",
    "spanning_tree",
    "statistic",
]

Edges = NDArray[np.intp]


def spanning_tree(points: Matrix) -> Edges:
    """Edges of a minimum spanning tree of Euclidean distances, as pairs of rows.

    Returns
    -------
    edges : (rows - 1, 2) array

    Notes
    -----
    Prim's algorithm with one vectorised step per row: O(rows^2) and ten times faster than sorting all distances.
    Distances of 0 are distances like any other. Where several trees are minimal the order of the rows decides.

    Examples
    --------
    >>> import numpy as np
    >>> spanning_tree(np.array([[0.0], [5.0], [1.0], [1.0]])).tolist()
    [[0, 2], [2, 3], [2, 1]]
    """
    squares = cdist(points, points, "sqeuclidean")
    nearest = squares[0].copy()
    neighbour = np.zeros(len(points), dtype=np.intp)
    edges = np.empty((len(points) - 1, 2), dtype=np.intp)
    nearest[0] = np.inf
    outside = np.ones(len(points), dtype=bool)
    outside[0] = False
    for step in range(len(edges)):
        row = int(nearest.argmin())
        edges[step] = neighbour[row], row
        outside[row] = False
        nearest[row] = np.inf
        closer = (squares[row] < nearest) & outside
        nearest[closer] = squares[row][closer]
        neighbour[closer] = row
    return edges


def neighbour_forest(
    points: Matrix,
    n_neighbours: int = 10,
    *,
    zeros: Literal["kept", "lost"] = "kept",
    ties: Literal["stable", "introsort"] = "stable",
) -> Edges:
    """Edges of a minimum spanning forest of the nearest-neighbour graph, as pairs of rows.

    Parameters
    ----------
    points : (rows, columns) array
    n_neighbours : int, default=10
    zeros : {"kept", "lost"}, default="kept"
        "lost": edges of length 0, between equal rows, vanish, as they do where a sparse matrix takes 0 for "no edge".
    ties : {"stable", "introsort"}, default="stable"
        Order in which equally long edges are tried, which decides between minimal trees: that of the rows, or, as in
        scipy of 2019, that in which numpy's introsort leaves them.

    Notes
    -----
    A graph of several components has one tree in each, and so fewer edges than rows - 1.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [0.0], [1.0], [9.0], [9.5]])
    >>> len(neighbour_forest(points, 1)), len(neighbour_forest(points, 1, zeros="lost"))
    (3, 2)
    """
    count = min(n_neighbours, len(points) - 1)
    distances, rows = NearestNeighbors(n_neighbors=count).fit(points).kneighbors()
    if zeros == "kept":
        # Sparse graphs take 0 for "no edge"; this is smaller than every other distance.
        distances = np.maximum(distances, SMALLEST)
    starts = np.arange(len(points) + 1) * count
    lengths = distances.ravel()
    # Numbers of this type are never sorted by vector instructions, which leave ties in another order.
    order = np.argsort(lengths.astype(np.longdouble), kind="stable" if ties == "stable" else "quicksort")
    ranks = np.empty(len(lengths))
    ranks[order] = np.arange(1.0, len(lengths) + 1)
    graph = csr_array((ranks, rows.ravel(), starts), shape=(len(points), len(points)))
    tree = minimum_spanning_tree(graph).tocoo()
    kept = lengths[order[tree.data.astype(np.intp) - 1]] > 0
    return np.stack([tree.row[kept], tree.col[kept]], axis=1).astype(np.intp)


def statistic(edges: Edges, n_first: int) -> int:
    """Number of edges between the samples, the first of which has the rows below ``n_first``.

    Examples
    --------
    >>> import numpy as np
    >>> statistic(np.array([[0, 1], [1, 2], [2, 3]]), 2)
    1
    """
    return int(np.count_nonzero((edges < n_first).sum(axis=1) == 1))


def edge_moments(edges: Edges, n_first: int, n_second: int) -> tuple[float, float]:
    """Mean and variance of the number of edges between the samples over all ways to permute the rows.

    Notes
    -----
    Friedman and Rafsky (1979), Eq. (13) and (14), written for any graph: of E edges, C pairs share a row. An edge
    lies between the samples with probability p = 2mn / N(N-1), two that share a row both with p / 2, two that do not
    with q = 4m(m-1)n(n-1) / N(N-1)(N-2)(N-3).

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = edge_moments(np.array([[0, 1], [1, 2], [2, 3]]), 2, 2)
    >>> round(mean, 3), round(variance, 3)
    (2.0, 0.667)
    """
    m, n, total, count = n_first, n_second, n_first + n_second, len(edges)
    degrees = np.bincount(edges.ravel(), minlength=total).astype(float)
    sharing = float((degrees * (degrees - 1)).sum())  # ordered pairs: 2C
    crossing = 2 * m * n / (total * (total - 1))
    both = 4 * m * (m - 1) * n * (n - 1) / (total * (total - 1) * (total - 2) * max(total - 3, 1))
    mean = count * crossing
    variance = mean + sharing * crossing / 2 + (count * (count - 1) - sharing) * both - mean**2
    return mean, max(variance, 0.0)


def run_moments(n_first: int, n_second: int) -> tuple[float, float]:
    """Mean and variance of the number of runs of one column (Wald and Wolfowitz 1940), whatever the tree.

    Examples
    --------
    >>> run_moments(2, 2)
    (3.0, 0.6666666666666666)
    """
    product, total = 2 * n_first * n_second, n_first + n_second
    return product / total + 1, product * (product - total) / (total**2 * (total - 1))


@dataclass(frozen=True)
class FriedmanRafsky:
    """Settings of the multivariate Wald-Wolfowitz test.

    Parameters
    ----------
    graph : {"exact", "knn"}, default="exact"
        Minimum spanning tree of all distances, or minimum spanning forest of the nearest-neighbour graph.
    n_neighbours : int, default=10
    moments : {"tree", "runs"}, default="tree"
        Permutation mean and variance given the tree, or, a published quirk, those of the runs of one column.
        With "runs" the statistic is the number of rows less the edges within a sample.
    zeros : {"kept", "lost"}, default="kept"
        Published quirk: edges between equal rows vanish from the nearest-neighbour graph.
    ties : {"stable", "introsort"}, default="stable"
        Published quirk: equally long edges of the nearest-neighbour graph are tried in the order of an unstable sort.
    order : {"random", "given"}, default="random"
        Which of several minimal trees is taken depends on the order of the rows. "random" shuffles the joint sample;
        "given", a published quirk, has the reference's rows first, so that the tree may know the samples.

    Notes
    -----
    One sided: few edges between the samples are evidence; p = Phi((edges - mean) / deviation). Where no permutation
    changes the number of edges p = 1.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> fitted = FriedmanRafsky().fit(rng.normal(size=(100, 3)), rng)
    >>> fitted.p_value(rng.normal(size=(100, 3)), rng) > 0.05 > fitted.p_value(rng.normal(size=(100, 3)) + 1, rng)
    True
    """

    graph: Literal["exact", "knn"] = "exact"
    n_neighbours: int = 10
    moments: Literal["tree", "runs"] = "tree"
    zeros: Literal["kept", "lost"] = "kept"
    ties: Literal["stable", "introsort"] = "stable"
    order: Literal["random", "given"] = "random"

    def __post_init__(self) -> None:
        check_choice("graph", self.graph, ("exact", "knn"))
        check_count("n_neighbours", self.n_neighbours, 1)
        check_choice("moments", self.moments, ("tree", "runs"))
        check_choice("zeros", self.zeros, ("kept", "lost") if self.graph == "knn" else ("kept",))
        check_choice("ties", self.ties, ("stable", "introsort") if self.graph == "knn" else ("stable",))
        check_choice("order", self.order, ("random", "given"))

    @classmethod
    def as_published(cls) -> "FriedmanRafsky":
        """Settings of the published scripts.

        Examples
        --------
        >>> FriedmanRafsky.as_published().graph
        'knn'
        """
        return cls(graph="knn", moments="runs", zeros="lost", ties="introsort", order="given")

    def fit(
        self,
        reference: ArrayLike,
        rng: Rng,  # noqa: ARG002
        first: ArrayLike | None = None,  # noqa: ARG002
    ) -> "FittedFriedmanRafsky":
        """Test against this reference."""
        return FittedFriedmanRafsky(self, as_sample("reference", reference))


@dataclass(frozen=True, eq=False)
class FittedFriedmanRafsky:
    """A reference to join with windows."""

    settings: FriedmanRafsky
    reference: Matrix

    def test(self, window: ArrayLike, rng: np.random.Generator) -> Outcome:
        """Standardised number of edges between the samples and its p-value."""
        rows = as_sample("window", window, n_columns=self.reference.shape[1])
        m, n = len(self.reference), len(rows)
        edges = self._edges(np.vstack([self.reference, rows]), rng)
        if self.settings.moments == "runs":
            count, (mean, variance) = m + n - len(edges) + statistic(edges, m), run_moments(m, n)
        else:
            count, (mean, variance) = statistic(edges, m), edge_moments(edges, m, n)
        # Variances that are 0 in exact numbers come out as rounding of terms of the size of mean^2.
        if variance <= 1e-12 * (1 + mean**2):
            return Outcome(0.0, 1.0)
        score = float((count - mean) / np.sqrt(variance))
        return Outcome(score, positive(norm.cdf(score)))

    def p_value(self, window: ArrayLike, rng: np.random.Generator) -> float:
        """P-value of a complete window, one sided."""
        return self.test(window, rng).p_value

    def _edges(self, points: Matrix, rng: np.random.Generator) -> Edges:
        shuffled = self.settings.order == "random"
        order = rng.permutation(len(points)) if shuffled else np.arange(len(points))
        if self.settings.graph == "exact":
            return order[spanning_tree(points[order])]
        settings = self.settings
        forest = neighbour_forest(points[order], settings.n_neighbours, zeros=settings.zeros, ties=settings.ties)
        return order[forest]
