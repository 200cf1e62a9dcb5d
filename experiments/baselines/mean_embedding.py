"""Mean-embedding test (Jitkrittum et al. 2016): mean kernel values at a few locations made to tell samples apart."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist
from scipy.stats import chi2

from experiments.baselines._ascent import Locations, ascend, paired_statistic, scripts_rows
from experiments.baselines._seam import Outcome, Rng, as_sample, first_window, positive
from gapdrift._typing import Matrix
from gapdrift._validation import check_choice, check_count, check_nonnegative
from gapdrift.errors import InputError

__all__ = ["FittedMeanEmbedding", "Locations", "MeanEmbedding", "optimise", "statistic", "statistic_and_gradient"]

GRID = 2.0 ** np.linspace(-1.5, 2.0, 8)
"""Starting widths, in medians of the distances."""
MAX_WIDTH_RATIO = 16.0
"""The width stays within this factor of the median distance."""


def statistic(x: Matrix, y: Matrix, locations: Locations, regularisation: float = 1e-5) -> float:
    """Regularised Hotelling statistic of the mean kernel values at the locations.

    Parameters
    ----------
    x : (m, columns) array
    y : (n, columns) array
    locations : Locations
    regularisation : float, default=1e-5

    Notes
    -----
    Jitkrittum et al. (2016), Eq. (1): h d' (S + gI)^-1 d with d the difference of the mean kernel values. There the
    rows are paired; here S = h (S_x / m + S_y / n), h the harmonic mean of m and n, which is the same in expectation
    where m = n, needs no pairs and allows samples of different sizes. Without drift it tends to chi-square(J).

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> locations = Locations(np.zeros((1, 2)), 1.0)
    >>> statistic(rows[:100], rows[100:], locations) < 4 < statistic(rows[:100], rows[100:] + 1, locations)
    True
    """
    kernel_x, kernel_y = (_kernel(cdist(rows, locations.points, "sqeuclidean"), locations.width) for rows in (x, y))
    return _hotelling(kernel_x, kernel_y, regularisation)[0]


def statistic_and_gradient(
    x: Matrix, y: Matrix, locations: Locations, regularisation: float = 1e-5
) -> tuple[float, Locations]:
    """Statistic and its derivatives by the locations' points and by the logarithm of the width.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> value, slope = statistic_and_gradient(rows[:100], rows[100:], Locations(np.zeros((3, 2)) + np.eye(3, 2), 1.0))
    >>> slope.points.shape
    (3, 2)
    """
    points, width = locations
    squares = [cdist(rows, points, "sqeuclidean") for rows in (x, y)]
    kernels = [_kernel(part, width) for part in squares]
    value, towards = _hotelling(kernels[0], kernels[1], regularisation)
    slope_points, slope_width = np.zeros_like(points), 0.0
    balance = _harmonic(len(x), len(y))
    for rows, square, kernel, sign in zip((x, y), squares, kernels, (1.0, -1.0), strict=True):
        # dT/dk of each kernel value: through the means (sign), and through the covariance of its own sample.
        spread = (kernel - kernel.mean(axis=0)) @ towards
        by_kernel = 2.0 * balance / len(rows) * (sign - balance / (len(rows) - 1) * spread)[:, None] * towards
        by_exponent = by_kernel * kernel / width**2
        slope_points += by_exponent.T @ rows - by_exponent.sum(axis=0)[:, None] * points
        slope_width += float((by_exponent * square).sum())
    return value, Locations(slope_points, slope_width)


def optimise(
    x: Matrix,
    y: Matrix,
    n_locations: int,
    rng: Rng,
    *,
    regularisation: float = 1e-5,
    max_iter: int = 100,
) -> Locations:
    """Locations and width at which the statistic of two samples is large: a bound on the power grows with it.

    Parameters
    ----------
    x : (m, columns) array
    y : (n, columns) array
    n_locations : int
    rng : numpy.random.Generator
    regularisation : float, default=1e-5
    max_iter : int, default=100
        Steps of L-BFGS-B.

    Notes
    -----
    The points start as draws from a Gaussian fitted to each sample in turn, the width at the best of a grid around the
    median distance. Points stay within a deviation of the rows' range.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 1
    >>> optimise(x, y, 3, rng).points.shape
    (3, 2)
    """
    joint = np.vstack([x, y])
    median = float(np.median(pdist(joint))) or 1.0
    deviation = joint.std(axis=0)
    points = np.vstack([_gaussian_like((x, y)[i % 2], rng) for i in range(n_locations)])
    start = max(
        (Locations(points, median * scale) for scale in GRID), key=lambda at: statistic(x, y, at, regularisation)
    )
    # Columns of any scale are moved in units of their deviation; constant ones are not moved.
    unit = np.where(deviation > 0, deviation, 1.0)
    lowest, highest = (joint.min(axis=0) - deviation) / unit, (joint.max(axis=0) + deviation) / unit
    bounds = [*zip(np.tile(lowest, n_locations), np.tile(highest, n_locations), strict=True)]
    bounds.append((np.log(median / MAX_WIDTH_RATIO), np.log(median * MAX_WIDTH_RATIO)))

    def unpack(packed: NDArray[np.float64]) -> Locations:
        return Locations(packed[:-1].reshape(points.shape) * unit, float(np.exp(packed[-1])))

    def descend(packed: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = statistic_and_gradient(x, y, unpack(packed), regularisation)
        return -value, -np.r_[(slope.points * unit).ravel(), slope.width]

    packed = np.clip(np.r_[(points / unit).ravel(), np.log(start.width)], *np.array(bounds).T)
    found = minimize(descend, packed, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": max_iter})
    return unpack(found.x)


@dataclass(frozen=True)
class MeanEmbedding:
    """Settings of the mean-embedding test.

    Parameters
    ----------
    n_locations : int, default=5
    split : {"half", "tenth"}, default="half"
        "half": locations from a random half of the rows of each sample, test on the other half. "tenth", a published
        quirk: locations from a tenth of the rows, test on all, those included.
    locations : {"each", "first"}, default="each"
        Published quirk: the locations of the first window serve all later ones.
    climb : {"L-BFGS-B", "ascent"}, default="L-BFGS-B"
        How locations are found. "ascent", of the published scripts: plain gradient ascent from fixed seeds; rows are
        then taken in pairs, and the test has no regularisation (`experiments.baselines._ascent`).
    regularisation : float, default=1e-5
    max_iter : int, default=100

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> fitted = MeanEmbedding().fit(rng.normal(size=(200, 3)), rng)
    >>> fitted.p_value(rng.normal(size=(200, 3)), rng) > 0.05 > fitted.p_value(rng.normal(size=(200, 3)) + 1, rng)
    True
    """

    n_locations: int = 5
    split: Literal["half", "tenth"] = "half"
    locations: Literal["each", "first"] = "each"
    climb: Literal["L-BFGS-B", "ascent"] = "L-BFGS-B"
    regularisation: float = 1e-5
    max_iter: int = 100

    def __post_init__(self) -> None:
        check_count("n_locations", self.n_locations, 1)
        check_choice("split", self.split, ("half", "tenth"))
        check_choice("locations", self.locations, ("each", "first"))
        # Gradient ascent reuses the rows of one tenth for all windows; no other way was published.
        reused = self.split == "tenth" and self.locations == "first"
        check_choice("climb", self.climb, ("L-BFGS-B", "ascent") if reused else ("L-BFGS-B",))
        check_nonnegative("regularisation", self.regularisation)
        check_count("max_iter", self.max_iter, 1)

    @classmethod
    def as_published(cls) -> "MeanEmbedding":
        """Settings of the published scripts.

        Examples
        --------
        >>> MeanEmbedding.as_published().split
        'tenth'
        """
        return cls(split="tenth", locations="first", climb="ascent")

    @property
    def min_rows(self) -> int:
        """Smallest number of rows of a sample: each of its parts needs more rows than there are locations."""
        return (self.n_locations + 2) * (2 if self.split == "half" else 10)

    def fit(self, reference: ArrayLike, rng: Rng, first: ArrayLike | None = None) -> "FittedMeanEmbedding":
        """Test against this reference."""
        rows = as_sample("reference", reference, min_rows=self.min_rows)
        if self.locations == "each":
            return FittedMeanEmbedding(self, rows)
        start = first_window(first, rows.shape[1], 'locations="first"')
        if self.climb == "ascent":
            chosen = scripts_rows(_common_rows(rows, start))
            return FittedMeanEmbedding(self, rows, ascend(rows[chosen], start[chosen], self.n_locations))
        return FittedMeanEmbedding(
            self, rows, self._optimise(_split(rows, self, rng)[0], _split(start, self, rng)[0], rng)
        )

    def _optimise(self, x: Matrix, y: Matrix, rng: Rng) -> Locations:
        return optimise(x, y, self.n_locations, rng, regularisation=self.regularisation, max_iter=self.max_iter)


@dataclass(frozen=True, eq=False)
class FittedMeanEmbedding:
    """A reference and, if they are kept, the locations optimised on the first window."""

    settings: MeanEmbedding
    reference: Matrix
    kept: Locations | None = None

    def test(self, window: ArrayLike, rng: np.random.Generator) -> Outcome:
        """Statistic and p-value of a complete window."""
        settings = self.settings
        rows = as_sample("window", window, n_columns=self.reference.shape[1], min_rows=settings.min_rows)
        if settings.climb == "ascent" and self.kept is not None:
            _common_rows(self.reference, rows)
            found = paired_statistic(self.reference, rows, self.kept)
            return Outcome(found, positive(chi2.sf(found, settings.n_locations)))
        (x_train, x), (y_train, y) = (_split(part, settings, rng) for part in (self.reference, rows))
        locations = self.kept or settings._optimise(x_train, y_train, rng)
        found = statistic(x, y, locations, settings.regularisation)
        return Outcome(found, positive(chi2.sf(found, settings.n_locations)))

    def p_value(self, window: ArrayLike, rng: np.random.Generator) -> float:
        """P-value of a complete window."""
        return self.test(window, rng).p_value


def _common_rows(reference: Matrix, window: Matrix) -> int:
    """Number of rows of both samples, which form pairs."""
    if len(reference) != len(window):
        raise InputError(
            f"The window has {len(window)} rows, the reference {len(reference)}: expected as many, to pair them."
        )
    return len(reference)


def _split(rows: Matrix, settings: MeanEmbedding, rng: Rng) -> tuple[Matrix, Matrix]:
    """Rows for the optimisation of the locations, and rows for the test."""
    shuffled = rows[rng.permutation(len(rows))]
    if settings.split == "half":
        return shuffled[: len(rows) // 2], shuffled[len(rows) // 2 :]
    return shuffled[: len(rows) // 10], rows


def _gaussian_like(rows: Matrix, rng: Rng) -> Matrix:
    mixed = rng.normal(size=len(rows)) / np.sqrt(len(rows))
    centre = rows.mean(axis=0)
    return np.asarray(centre + mixed @ (rows - centre))


def _kernel(squares: Matrix, width: float) -> Matrix:
    return np.asarray(np.exp(squares / (-2.0 * width * width)))


def _harmonic(m: int, n: int) -> float:
    return 2.0 * m * n / (m + n)


def _hotelling(kernel_x: Matrix, kernel_y: Matrix, regularisation: float) -> tuple[float, Matrix]:
    """Statistic, and the direction S^-1 d of the largest difference."""
    m, n = len(kernel_x), len(kernel_y)
    balance = _harmonic(m, n)
    difference = kernel_x.mean(axis=0) - kernel_y.mean(axis=0)
    covariance = balance * (_covariance(kernel_x) / m + _covariance(kernel_y) / n)
    direction = np.linalg.solve(covariance + regularisation * np.eye(len(difference)), difference)
    return float(balance * difference @ direction), direction


def _covariance(values: Matrix) -> Matrix:
    centred = values - values.mean(axis=0)
    return np.asarray(centred.T @ centred / (len(values) - 1))
