"""Two-sample tests to compare with, on rows with missing cells: each returns a p-value.

Rows are numbers; categories are codes in the columns that are named. Missing cells are filled with the mean of both
sides for MMD and the energy distance; the other two take rows as they are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from scipy.stats import chi2_contingency, ks_2samp, norm

__all__ = ["RIVALS", "rival_p_values"]

Matrix = NDArray[np.float64]
PERMUTATIONS = 199
BLOCK = 1_000
FOLDS = 5
RIVALS = ("MMD", "energy", "boosted trees", "KS")


def rival_p_values(one: Matrix, two: Matrix, categories: tuple[int, ...], rng: np.random.Generator) -> dict[str, float]:
    """P-values of all rivals for two samples."""
    mmd, energy = kernel_tests(*filled(one, two, categories), rng)
    seed = int(rng.integers(2**31))
    return {
        "MMD": mmd,
        "energy": energy,
        "boosted trees": boosted_trees(one, two, categories, seed),
        "KS": columnwise(one, two, categories),
    }


def filled(one: Matrix, two: Matrix, categories: tuple[int, ...]) -> tuple[Matrix, Matrix]:
    """Both samples with categories one-hot, standardised, missing cells filled with the mean."""
    both = np.vstack([one, two])
    columns = []
    for place, column in enumerate(both.T):
        missing = np.isnan(column)
        codes = np.unique(column[~missing]) if place in categories else np.array([np.nan])
        for code in codes:
            values = column if np.isnan(code) else np.where(missing, np.nan, column == code)
            spread = np.nanstd(values) or 1.0
            columns.append(np.where(missing, 0.0, (values - np.nanmean(values)) / spread))
    matrix = np.column_stack(columns)
    return matrix[: len(one)], matrix[len(one) :]


def kernel_tests(one: Matrix, two: Matrix, rng: np.random.Generator) -> tuple[float, float]:
    """P-values of MMD (Gaussian kernel, median width) and of the energy distance, by the same permutations.

    Notes
    -----
    With z = 1 for rows of the first sample, the sums over pairs within and between samples follow from z'Kz, z'K1 and
    1'K1, for all permutations at once; K is made in blocks of rows, so that memory stays small.
    """
    rows = np.vstack([one, two]).astype(np.float32)
    labels = np.repeat(np.array([1, 0], dtype=np.float32), [len(one), len(two)])
    chosen = np.column_stack([labels, *(rng.permutation(labels) for _ in range(PERMUTATIONS))])
    some = rows[rng.choice(len(rows), min(len(rows), BLOCK), replace=False)]
    scale = 2 * float(np.median(pdist(some, "sqeuclidean"))) or 1.0
    within, edges, totals = (np.zeros((2, chosen.shape[1])) for _ in range(3))
    for start in range(0, len(rows), BLOCK):
        squares = np.maximum(_squared_distances(rows[start : start + BLOCK], rows), 0)
        for place, kernel in enumerate((np.exp(squares / -scale), -np.sqrt(squares))):
            products, part = kernel @ chosen, chosen[start : start + BLOCK]
            within[place] += np.sum(part * products, axis=0, dtype=np.float64)
            edges[place] += part.T @ kernel.sum(axis=1, dtype=np.float64)
            totals[place] += kernel.sum(dtype=np.float64)
    sums = zip(within, edges, totals, strict=True)
    mmd, energy = (_p_value(*each, len(one), len(two)) for each in sums)
    return mmd, energy


def _squared_distances(some: Any, rows: Any) -> Any:
    return np.sum(some**2, axis=1)[:, None] + np.sum(rows**2, axis=1) - 2 * some @ rows.T


def _p_value(within: Matrix, edge: Matrix, total: Matrix, m: int, n: int) -> float:
    """Share of permutations, the samples as they are being one of them, with at least so large a statistic."""
    statistics = within / m**2 + (total - 2 * edge + within) / n**2 - 2 * (edge - within) / (m * n)
    return float(np.mean(statistics >= statistics[0] - 1e-9 * abs(statistics[0])))


def boosted_trees(one: Matrix, two: Matrix, categories: tuple[int, ...], seed: int) -> float:
    """P-value of boosted trees that tell the samples apart: their AUC on rows they were not fitted on.

    Notes
    -----
    If both samples follow one law, the AUC of a fold is that of random ranks: mean 1/2, variance
    (m + n + 1) / (12 m n). The folds' standardised values are added. What one fold happens to have, the trees of the
    other folds learn, and the other way round, so that two folds are alike: the variance of the sum is twice that of
    independent ones (exactly so where scores are linear in the rows they were learned from).
    """
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415
    from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415

    rows, sides = np.vstack([one, two]), np.repeat([0, 1], [len(one), len(two)])
    scores = []
    for fit, hold in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(rows, sides):
        trees = HistGradientBoostingClassifier(
            max_iter=50, early_stopping=False, categorical_features=list(categories) or None, random_state=seed
        )
        chances = trees.fit(rows[fit], sides[fit]).predict_proba(rows[hold])[:, 1]
        n = int(sides[hold].sum())
        m = len(hold) - n
        scores.append((roc_auc_score(sides[hold], chances) - 0.5) / np.sqrt((m + n + 1) / (12 * m * n)))
    return float(norm.sf(np.sum(scores) / np.sqrt(2 * FOLDS)))


def columnwise(one: Matrix, two: Matrix, categories: tuple[int, ...]) -> float:
    """Smallest p-value of the columns' observed cells (Kolmogorov-Smirnov, or chi-square), by Bonferroni."""
    p_values = []
    for place, (first, second) in enumerate(zip(one.T, two.T, strict=True)):
        observed = first[~np.isnan(first)], second[~np.isnan(second)]
        p_values.append(_chi_square(*observed) if place in categories else ks_2samp(*observed).pvalue)
    return float(min(1.0, len(p_values) * min(p_values)))


def _chi_square(one: Matrix, two: Matrix) -> float:
    codes = np.unique(np.concatenate([one, two]))
    table = [[np.count_nonzero(side == code) for code in codes] for side in (one, two)]
    return float(chi2_contingency(table).pvalue) if len(codes) > 1 else 1.0
