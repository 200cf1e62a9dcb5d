"""The baselines once more, slow and obvious."""

import itertools

import numpy as np


def mmd(x, y, width):
    """Unbiased squared MMD by loops over pairs."""

    def kernel(a, b):
        return np.exp(-sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) / (2 * width**2))

    within_x = [kernel(a, b) for i, a in enumerate(x) for j, b in enumerate(x) if i != j]
    within_y = [kernel(a, b) for i, a in enumerate(y) for j, b in enumerate(y) if i != j]
    between = [kernel(a, b) for a in x for b in y]
    return np.mean(within_x) + np.mean(within_y) - 2 * np.mean(between)


def prim(points):
    """Edges and total length of a minimum spanning tree: grow it by the shortest edge that leads out."""
    inside, edges, total = {0}, set(), 0.0
    while len(inside) < len(points):
        outward = [
            (np.sqrt(sum((p - q) ** 2 for p, q in zip(points[i], points[j], strict=True))), i, j)
            for i in inside
            for j in range(len(points))
            if j not in inside
        ]
        length, start, end = min(outward)
        inside.add(end)
        edges.add(frozenset((start, end)))
        total += length
    return edges, total


def edge_moments(edges, n_first, n_second):
    """Mean and variance of the edges between the samples over every choice of the first sample's rows."""
    counts = [
        sum((start in chosen) != (end in chosen) for start, end in edges)
        for chosen in itertools.combinations(range(n_first + n_second), n_first)
    ]
    return np.mean(counts), np.var(counts)


def bin_of(cuts, row):
    """Bin of a row without ties: the first cut that holds it."""
    for number, cut in enumerate(cuts):
        if row[cut.column] <= cut.value if cut.below else row[cut.column] >= cut.value:
            return number
    return len(cuts)


def paired_mean_embedding(x, y, points, width, regularisation):
    """Jitkrittum et al. (2016), Eq. (1), with rows in pairs."""

    def features(rows):
        return np.array([[np.exp(-np.sum((row - point) ** 2) / (2 * width**2)) for point in points] for row in rows])

    differences = features(x) - features(y)
    covariance = np.cov(differences.T) + regularisation * np.eye(len(points))
    mean = differences.mean(axis=0)
    return len(x) * mean @ np.linalg.inv(covariance) @ mean
