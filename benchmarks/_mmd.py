"""Quadratic MMD with a Gaussian kernel of median width and a permutation null, to compare with."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

__all__ = ["mmd_p_value"]


def mmd_p_value(
    reference: NDArray[np.float64],
    window: NDArray[np.float64],
    rng: np.random.Generator,
    permutations: int = 200,
) -> float:
    """Permutation p-value of the quadratic MMD of two complete samples.

    Notes
    -----
    Kernel exp(-|x - y|^2 / 2 w^2), w the median distance of the joint sample. With signs s = 1/m on one side and
    -1/n on the other the (biased) statistic is s' K s; all permutations are one matrix product.
    """
    joint = np.vstack([reference, window])
    squares = squareform(pdist(joint, "sqeuclidean"))
    width = np.median(squares[np.triu_indices(len(joint), k=1)])
    kernel = np.exp(-squares / (2.0 * width))
    signs = np.r_[np.full(len(reference), 1 / len(reference)), np.full(len(window), -1 / len(window))]
    shuffled = np.stack([signs, *(rng.permutation(signs) for _ in range(permutations))])
    statistics = np.einsum("ij,ij->i", shuffled @ kernel, shuffled)
    return float(np.mean(statistics >= statistics[0] - 1e-15))
