"""Quadratic MMD (Gretton et al. 2012) with a Gaussian kernel of median width and a permutation null."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist, pdist, squareform

from experiments.baselines._seam import Outcome, Rng, as_sample, first_window
from gapdrift._typing import Matrix
from gapdrift._validation import check_choice, check_count
from gapdrift.errors import InputError

__all__ = [
    "MMD",
    "FittedMMD",
    "KeptNull",
    "median_width",
    "permuted_statistics",
    "scripts_null",
    "scripts_width",
    "statistic",
]

ROUNDING = 1e-12

SCRIPTS_SEED = 8273
"""Seed of the permutations of the published scripts."""


def median_width(x: Matrix, y: Matrix) -> float:
    """Median distance of the joint sample; 1 where more than half of the distances are 0.

    Examples
    --------
    >>> import numpy as np
    >>> median_width(np.array([[0.0], [1.0]]), np.array([[3.0]]))
    2.0
    """
    return _root_of_median(pdist(np.vstack([x, y]), "sqeuclidean"))


def scripts_width(x: Matrix, y: Matrix) -> float:
    """Width w for which exp(-d^2 / 2 w^2) is the kernel of the published scripts, exp(-d^2 / median distance).

    Notes
    -----
    The scripts hand the median of the distances *between* the samples to a kernel that expects a squared width
    without the factor 2, so that w = sqrt(median / 2).

    Examples
    --------
    >>> import numpy as np
    >>> scripts_width(np.array([[0.0]]), np.array([[8.0]]))
    2.0
    """
    return _scripts_width(cdist(x, y))


def statistic(x: Matrix, y: Matrix, width: float) -> float:
    """Unbiased squared MMD of two samples.

    Parameters
    ----------
    x : (m, columns) array
    y : (n, columns) array
    width : float
        w of the kernel k(a, b) = exp(-|a - b|^2 / 2 w^2).

    Notes
    -----
    Gretton et al. (2012), Eq. (3): mean of k over pairs i != j of x, the same of y, minus twice the mean over
    pairs of one x and one y.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(100, 2))
    >>> statistic(rows[:50], rows[50:], 1.0) < 0.02 < statistic(rows[:50], rows[50:] + 1, 1.0)
    True
    """
    within_x = _kernel(pdist(x, "sqeuclidean"), width).mean()
    within_y = _kernel(pdist(y, "sqeuclidean"), width).mean()
    return float(within_x + within_y - 2.0 * _kernel(cdist(x, y, "sqeuclidean"), width).mean())


def permuted_statistics(kernel: Matrix, n_first: int, permutations: int, rng: np.random.Generator) -> Matrix:
    """Unbiased squared MMD of the samples as they are, then of samples drawn by permuting the rows.

    Parameters
    ----------
    kernel : (m + n, m + n) array
        Kernel of the joint sample, the first sample's rows first, with a zero diagonal.
    n_first : int
        m.
    permutations : int
    rng : numpy.random.Generator

    Returns
    -------
    statistics : (permutations + 1,) array

    Notes
    -----
    With z = 1 for rows of the first sample, the sums over pairs are z'Kz within it, z'K1 - z'Kz between, and the rest
    within the second: one matrix product Z K gives those of all permutations.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = 1.0 - np.eye(4)
    >>> bool(np.allclose(permuted_statistics(kernel, 2, 3, np.random.default_rng(0)), 0))
    True
    """
    total = len(kernel)
    n_second = total - n_first
    labels = np.repeat([1.0, 0.0], [n_first, n_second])
    chosen = np.stack([labels, *(rng.permutation(labels) for _ in range(permutations))])
    products = chosen @ kernel
    within = np.einsum("ij,ij->i", products, chosen)
    rows = products.sum(axis=1)
    between = rows - within
    rest = kernel.sum() - 2.0 * rows + within
    pairs_first, pairs_second = n_first * (n_first - 1), n_second * (n_second - 1)
    return np.asarray(within / pairs_first + rest / pairs_second - 2.0 * between / (n_first * n_second))


def scripts_null(kernel: Matrix, n_rows: int, permutations: int, seed: int = SCRIPTS_SEED) -> Matrix:
    """Statistics of permuted samples as the published scripts compute them: (permutations,).

    Parameters
    ----------
    kernel : (2 n, 2 n) array
        Kernel of the joint sample with a zero diagonal; both samples have n rows.
    n_rows : int
        n.
    permutations : int
    seed : int
        Of numpy's old generator.

    Notes
    -----
    Unlike that of a window, the statistic of a permutation leaves out the pairs (x_i, y_i): it is a U-statistic of one
    sample of pairs.

    Examples
    --------
    >>> scripts_null(1.0 - np.eye(4), 2, 3).round(12).tolist()
    [0.0, 0.0, 0.0]
    """
    state = np.random.RandomState(seed)
    orders = np.stack([state.permutation(2 * n_rows) for _ in range(permutations)])
    chosen = np.zeros((permutations, 2 * n_rows))
    np.put_along_axis(chosen, orders[:, :n_rows], 1.0, axis=1)
    products = chosen @ kernel
    within = np.einsum("ij,ij->i", products, chosen)
    rows = products.sum(axis=1)
    between = rows - within - kernel[orders[:, :n_rows], orders[:, n_rows:]].sum(axis=1)
    rest = kernel.sum() - 2.0 * rows + within
    return np.asarray((within + rest - 2.0 * between) / (n_rows * (n_rows - 1)))


@dataclass(frozen=True)
class MMD:
    """Settings of the quadratic MMD test.

    Parameters
    ----------
    permutations : int, default=200
    kernel : {"median", "scripts"}, default="median"
        Kernel exp(-|a - b|^2 / 2 w^2). "median": w is the median distance (not its square) of the joint sample.
        "scripts": as in the published scripts, see `scripts_width`.
    width : {"joint", "first"}, default="joint"
        Published quirk: the width of the reference and the first window is kept.
    null : {"each", "first"}, default="each"
        Published quirk: the permutation null of the first window serves all later ones, with the permutations of the
        scripts, see `scripts_null`. Needs ``width="first"``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> fitted = MMD().fit(rng.normal(size=(100, 3)), rng)
    >>> fitted.p_value(rng.normal(size=(100, 3)), rng) > 0.05 > fitted.p_value(rng.normal(size=(100, 3)) + 1, rng)
    True
    """

    permutations: int = 200
    kernel: Literal["median", "scripts"] = "median"
    width: Literal["joint", "first"] = "joint"
    null: Literal["each", "first"] = "each"

    def __post_init__(self) -> None:
        check_count("permutations", self.permutations, 1)
        check_choice("kernel", self.kernel, ("median", "scripts"))
        check_choice("width", self.width, ("joint", "first"))
        # One null serves another window only if both were measured with one kernel.
        check_choice("null", self.null, ("each", "first") if self.width == "first" else ("each",))

    @classmethod
    def as_published(cls) -> "MMD":
        """Settings of the published scripts.

        Examples
        --------
        >>> MMD.as_published().permutations
        400
        """
        return cls(permutations=400, kernel="scripts", width="first", null="first")

    def fit(self, reference: ArrayLike, rng: Rng, first: ArrayLike | None = None) -> "FittedMMD":  # noqa: ARG002
        """Test against this reference."""
        rows = as_sample("reference", reference)
        fitted = FittedMMD(self, rows, pdist(rows, "sqeuclidean"))
        if self.width == "joint":
            return fitted
        start = first_window(first, rows.shape[1], 'width="first"')
        fitted = replace(fitted, width=(scripts_width if self.kernel == "scripts" else median_width)(rows, start))
        if self.null == "each":
            return fitted
        if len(start) != len(rows):
            raise InputError(f"The first window has {len(start)} rows, the reference {len(rows)}: expected as many.")
        null = scripts_null(fitted.joint_kernel(start), len(rows), self.permutations)
        return replace(fitted, kept=KeptNull(null, float(_kernel(fitted.squares, fitted.width or 1.0).mean())))


@dataclass(frozen=True, eq=False)
class KeptNull:
    """Permuted statistics of the first window, and the mean kernel within the reference, which no window changes."""

    statistics: Matrix
    within_reference: float


@dataclass(frozen=True, eq=False)
class FittedMMD:
    """A reference with the squared distances of its pairs and, where they are kept, the width and the null."""

    settings: MMD
    reference: Matrix
    squares: Matrix
    width: float | None = None
    kept: KeptNull | None = None

    def test(self, window: ArrayLike, rng: np.random.Generator) -> Outcome:
        """Statistic and p-value of a complete window."""
        rows = as_sample("window", window, n_columns=self.reference.shape[1])
        if self.kept is not None:
            found = self._statistic(rows, self.kept.within_reference)
            return Outcome(found, _share_above(self.kept.statistics, found))
        statistics = permuted_statistics(self.joint_kernel(rows), len(self.reference), self.settings.permutations, rng)
        return Outcome(float(statistics[0]), _share_above(statistics[1:], float(statistics[0])))

    def p_value(self, window: ArrayLike, rng: np.random.Generator) -> float:
        """P-value of a complete window: share of permutations, the window itself included, at or above it."""
        return self.test(window, rng).p_value

    def joint_kernel(self, window: Matrix) -> Matrix:
        """Kernel of the reference's rows and then the window's, with a zero diagonal."""
        between = cdist(self.reference, window, "sqeuclidean")
        within = pdist(window, "sqeuclidean")
        width = self._width(between, within)
        m, total = len(self.reference), len(self.reference) + len(window)
        kernel = np.empty((total, total))
        kernel[:m, :m] = squareform(_kernel(self.squares, width))
        kernel[:m, m:] = _kernel(between, width)
        kernel[m:, :m] = kernel[:m, m:].T
        kernel[m:, m:] = squareform(_kernel(within, width))
        return kernel

    def _width(self, between: Matrix, within: Matrix) -> float:
        if self.width is not None:
            return self.width
        if self.settings.kernel == "scripts":
            return _scripts_width(np.sqrt(between))
        return _root_of_median(np.concatenate([self.squares, between.ravel(), within]))

    def _statistic(self, window: Matrix, within_reference: float) -> float:
        width = self.width or 1.0
        n = len(window)
        # The kernel of each row with itself is 1.
        within_window = (_kernel(_squares(window, window), width).sum() - n) / (n * (n - 1))
        between = _kernel(_squares(self.reference, window), width).mean()
        return float(within_reference + within_window - 2.0 * between)


def _squares(x: Matrix, y: Matrix) -> Matrix:
    """Squared distances by one matrix product, which takes half the time of differences: (rows of x, rows of y)."""
    centre = x.mean(axis=0)
    x, y = x - centre, y - centre
    squares = x @ (-2.0 * y.T)
    squares += np.einsum("ij,ij->i", x, x)[:, None]
    squares += np.einsum("ij,ij->i", y, y)
    return np.asarray(np.maximum(squares, 0.0, out=squares))


def _kernel(squares: Matrix, width: float) -> Matrix:
    return np.asarray(np.exp(squares / (-2.0 * width * width)))


def _root_of_median(squares: Matrix) -> float:
    return float(np.sqrt(np.median(squares))) or 1.0


def _scripts_width(distances: Matrix) -> float:
    return float(np.sqrt(np.median(distances) / 2.0)) or 1.0


def _share_above(null: Matrix, found: float) -> float:
    # The statistics are differences of means of numbers up to 1: equal ones differ by rounding only.
    return float((1 + np.count_nonzero(null >= found - ROUNDING)) / (len(null) + 1))
