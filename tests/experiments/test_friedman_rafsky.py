import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform
from scipy.stats import norm

from experiments.baselines.friedman_rafsky import (
    FriedmanRafsky,
    edge_moments,
    neighbour_forest,
    run_moments,
    spanning_tree,
    statistic,
)
from tests.experiments import naive


def as_sets(edges):
    return {frozenset(edge) for edge in edges.tolist()}


def length(points, edges):
    return np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1).sum()


@pytest.mark.parametrize("n_columns", [1, 2, 7])
def test_tree_is_that_of_prim(n_columns, rng):
    points = rng.normal(size=(25, n_columns))
    edges, total = naive.prim(points)
    found = spanning_tree(points)
    assert as_sets(found) == edges
    assert length(points, found) == pytest.approx(total)


def test_tree_is_as_short_as_that_of_scipy(rng):
    points = rng.normal(size=(300, 4))
    expected = minimum_spanning_tree(squareform(pdist(points))).sum()
    assert length(points, spanning_tree(points)) == pytest.approx(expected)


def test_equal_rows_stay_in_the_tree(rng):
    points = rng.integers(0, 3, size=(40, 2)).astype(float)
    found = spanning_tree(points)
    assert length(points, found) == pytest.approx(naive.prim(points)[1])
    assert spans(found, 40)


def spans(edges, n_rows):
    reached, frontier = {0}, [0]
    neighbours = {row: set() for row in range(n_rows)}
    for start, end in edges.tolist():
        neighbours[start].add(end)
        neighbours[end].add(start)
    while frontier:
        for row in neighbours[frontier.pop()] - reached:
            reached.add(row)
            frontier.append(row)
    return len(reached) == n_rows and len(edges) == n_rows - 1


def test_forest_of_all_neighbours_is_the_tree(rng):
    points = rng.normal(size=(30, 3))
    assert as_sets(neighbour_forest(points, 29)) == naive.prim(points)[0]


def test_forest_keeps_equal_rows_unless_told_otherwise(rng):
    points = np.repeat(rng.normal(size=(20, 2)), 2, axis=0)
    assert spans(neighbour_forest(points, 10), 40)
    assert len(neighbour_forest(points, 10, zeros="lost")) == 19


def test_forest_of_a_graph_in_pieces_has_a_tree_in_each(rng):
    points = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 1000])
    assert len(neighbour_forest(points, 3)) <= 38
    outcome = FriedmanRafsky(graph="knn", n_neighbours=3).fit(points[::2], rng).test(points[1::2], rng)
    assert 0 < outcome.p_value <= 1


@pytest.mark.parametrize(("m", "n"), [(4, 4), (3, 5), (2, 2), (1, 4)])
def test_moments_are_those_of_all_permutations(m, n, rng):
    edges = spanning_tree(rng.normal(size=(m + n, 2)))
    assert edge_moments(edges, m, n) == pytest.approx(naive.edge_moments(edges, m, n))


def test_moments_of_a_forest_are_those_of_all_permutations():
    edges = np.array([[0, 1], [1, 2], [4, 5], [5, 6], [5, 7]])
    assert edge_moments(edges, 4, 4) == pytest.approx(naive.edge_moments(edges, 4, 4))


def test_moments_are_those_of_the_publication(rng):
    """Friedman and Rafsky (1979), Eq. (14), which is for trees."""
    m, n, total = 30, 45, 75
    edges = spanning_tree(rng.normal(size=(total, 3)))
    degrees = np.bincount(edges.ravel())
    sharing = np.sum(degrees * (degrees - 1)) / 2
    variance = (2 * m * n / (total * (total - 1))) * (
        (2 * m * n - total) / total
        + (sharing - total + 2) / ((total - 2) * (total - 3)) * (total * (total - 1) - 4 * m * n + 2)
    )
    assert edge_moments(edges, m, n) == pytest.approx((2 * m * n / total, variance))


def test_in_one_column_edges_are_runs_less_one(rng):
    points = rng.normal(size=(60, 1))
    labels = np.repeat([0, 1], 30)[np.argsort(points[:, 0])]
    runs = 1 + np.count_nonzero(np.diff(labels))
    edges = spanning_tree(points)
    assert statistic(edges, 30) == runs - 1
    mean, variance = edge_moments(edges, 30, 30)
    assert run_moments(30, 30) == pytest.approx((mean + 1, variance))


def test_score_is_standardised_and_one_sided(rng):
    x, y = rng.normal(size=(2, 40, 2))
    edges = np.array([list(edge) for edge in naive.prim(np.vstack([x, y]))[0]])
    mean, variance = edge_moments(edges, 40, 40)
    outcome = FriedmanRafsky().fit(x, rng).test(y, rng)
    assert outcome.statistic == pytest.approx((statistic(edges, 40) - mean) / np.sqrt(variance))
    assert outcome.p_value == pytest.approx(norm.cdf(outcome.statistic))
    published = FriedmanRafsky.as_published().fit(x, rng).test(y, rng)
    mean, variance = run_moments(40, 40)
    forest = neighbour_forest(np.vstack([x, y]), 10)
    runs = 80 - (len(forest) - statistic(forest, 40))
    assert published.statistic == pytest.approx((runs - mean) / np.sqrt(variance))


def test_a_star_has_nothing_to_permute():
    """All rows around one centre, samples of one size: the number of edges between them never changes."""
    angles = np.linspace(0, 2 * np.pi, 5, endpoint=False)
    points = np.vstack([[0, 0], np.c_[np.cos(angles), np.sin(angles)]])
    outcome = FriedmanRafsky().fit(points[:3], np.random.default_rng(0)).test(points[3:], np.random.default_rng(0))
    assert outcome == (0.0, 1.0, None)


def test_the_tree_of_tied_rows_does_not_know_the_samples(rng):
    """Of several minimal trees the rows' order takes one: shuffled, scores stay standardised; as given, they do not."""
    trials = 60

    def mean_score(settings):
        samples = (rng.poisson(3, size=(2, 200, 2)) for _ in range(trials))
        return np.mean([settings.fit(x, rng).test(y, rng).statistic for x, y in samples])

    bound = norm.ppf(1 - 5e-4) / np.sqrt(trials)
    assert abs(mean_score(FriedmanRafsky())) < bound
    assert abs(mean_score(FriedmanRafsky(graph="knn"))) < bound
    assert abs(mean_score(FriedmanRafsky(order="given"))) > bound


def test_ties_of_the_scripts_are_tried_in_the_order_of_an_unstable_sort(rng):
    """Another tree of the same length; without ties there is only one."""
    points = rng.poisson(5, size=(200, 3)).astype(float)

    def length(edges):
        return np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1).sum()

    def both(rows):
        forests = [neighbour_forest(rows, ties=ties) for ties in ("stable", "introsort")]
        return forests, [{frozenset(edge) for edge in forest.tolist()} for forest in forests]

    (stable, unstable), edges = both(points)
    assert length(stable) == pytest.approx(length(unstable))
    assert edges[0] != edges[1]
    _, edges = both(rng.normal(size=(200, 3)))
    assert edges[0] == edges[1]
