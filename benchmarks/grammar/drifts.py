"""Drifts: families of changes, each with a strength, in tables whose cells are missing at random.

A family draws rows at a strength; strength 0 is the reference, so that both sides differ in nothing else.
`drawn_drift` draws sizes, widths and strengths; `fixed_drifts` has lines that were once not seen, by name.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr, ndtri

from benchmarks.grammar.marginals import Marginal
from benchmarks.grammar.tables import ARRAY, FRAME, as_table

__all__ = ["FAMILIES", "NAMING", "DriftCase", "Family", "drawn_drift", "drift_case", "fixed_drifts", "naming_drifts"]

Matrix = NDArray[np.float64]
Rng = np.random.Generator
MISSING = 0.2
FEWEST_ROWS, MOST_ROWS, MOST_COLUMNS = 200, 5_000, 30
N_CATEGORIES = 5


@dataclass(frozen=True)
class Family:
    """A kind of drift.

    Parameters
    ----------
    rows
        Rows at a strength, from numbers of rows and columns.
    scale
        Strength of a drawn case is about this, over the square root of the number of rows that two sides are worth.
    most
        The largest strength that there is.
    touched
        Columns whose law changes, or that share a dependence that does; None means all.
    fewest_columns
        That the change needs.
    categories
        Columns that hold categories.
    """

    rows: Callable[[int, int, float, Rng], Matrix]
    scale: float
    most: float = 0.95
    touched: tuple[int, ...] | None = (0,)
    fewest_columns: int = 1
    categories: tuple[int, ...] = ()


@dataclass(frozen=True)
class DriftCase:
    """A drift of a family: sizes, strength, rates of missing cells, and the share that must be found, if any."""

    name: str
    seed: int
    family: str
    n_reference: int
    n_window: int
    n_columns: int
    strength: float
    rates: tuple[float, ...]
    bracket: float | None = None

    def pair(self, trial: int) -> tuple[Matrix, Matrix, Matrix]:
        """Reference, window with drift and window without, all rows fresh; categories as codes."""
        rng = np.random.default_rng([self.seed, trial])
        sides = ((self.n_reference, 0.0), (self.n_window, self.strength), (self.n_window, 0.0))
        found = [self._rows(n_rows, strength, rng) for n_rows, strength in sides]
        return found[0], found[1], found[2]

    def _rows(self, n_rows: int, strength: float, rng: Rng) -> Matrix:
        rows = FAMILIES[self.family].rows(n_rows, self.n_columns, strength, rng)
        return np.where(rng.random(rows.shape) < self.rates, np.nan, rows)

    def table(self, rows: Matrix) -> Any:
        """Rows as a table: categories as text, in a frame."""
        kinds = [Marginal("category", N_CATEGORIES + 1.0)] * self.n_columns
        marginals = [
            kind if place in self.categories else Marginal("gaussian", 1.0) for place, kind in enumerate(kinds)
        ]
        return as_table(rows, np.isnan(rows), tuple(marginals), FRAME if self.categories else ARRAY)

    @property
    def categories(self) -> tuple[int, ...]:
        """Columns that hold categories."""
        return FAMILIES[self.family].categories

    @property
    def untouched(self) -> tuple[int, ...]:
        """Columns that have not changed, nor any dependence on them."""
        touched = FAMILIES[self.family].touched
        if self.family == "mean of few columns":
            touched = tuple(range(_few(self.n_columns)))
        return () if touched is None else tuple(place for place in range(self.n_columns) if place not in touched)

    def __str__(self) -> str:
        sizes = f"{self.n_reference:,} against {self.n_window:,} rows x {self.n_columns}"
        return f"{self.family} {self.strength:.3g}, {sizes}, {min(self.rates):.0%} to {max(self.rates):.0%} missing"


@cache
def drift_case(name: str) -> DriftCase:
    """The case of this name: a fixed one, or ``FAMILY SEED``."""
    known = {**fixed_drifts(), **naming_drifts()}
    if name in known:
        return known[name]
    family, seed = name.rsplit(" ", 1)
    return drawn_drift(family, int(seed))


def drawn_drift(name: str, seed: int) -> DriftCase:
    """The case of a family that a seed determines."""
    family = FAMILIES[name]
    number = zlib.crc32(name.encode())
    rng = np.random.default_rng([seed, number])
    sizes = np.exp(rng.uniform(np.log(FEWEST_ROWS), np.log(MOST_ROWS), 2))
    width = np.exp(rng.uniform(np.log(max(family.fewest_columns, 1)), np.log(MOST_COLUMNS)))
    factor = np.exp(rng.uniform(np.log(0.7), np.log(1.4)))
    strength = min(family.most, family.scale * factor * np.sqrt(np.sum(1 / sizes)))
    n_columns = int(np.rint(width))
    m, n = (int(size) for size in np.rint(sizes))
    return DriftCase(f"{name} {seed}", number + seed, name, m, n, n_columns, float(strength), (MISSING,) * n_columns)


def _few(n_columns: int) -> int:
    return -(-n_columns // 3)


def _base(n_rows: int, n_columns: int, rng: Rng, correlation: float = 0.3) -> Matrix:
    """Equicorrelated standard normal rows."""
    shared = np.sqrt(correlation) * rng.normal(size=(n_rows, 1))
    return np.asarray(shared + np.sqrt(1 - correlation) * rng.normal(size=(n_rows, n_columns)))


def _first(change: Callable[[Matrix, float, Rng], Matrix]) -> Callable[[int, int, float, Rng], Matrix]:
    """Rows whose first column is changed by a function of its values, where there is any strength."""

    def rows(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
        found = _base(n_rows, n_columns, rng)
        if strength:
            found[:, 0] = change(found[:, 0], strength, rng)
        return found

    return rows


def _mean(count: Callable[[int], int]) -> Callable[[int, int, float, Rng], Matrix]:
    def rows(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
        found = _base(n_rows, n_columns, rng)
        found[:, : count(n_columns)] += strength
        return found

    return rows


def _skewed(column: Matrix, skewness: float, _rng: Rng) -> Matrix:
    """The same mean and variance, and the shape of a gamma distribution."""
    shape = 4 / skewness**2
    return np.asarray((gammaincinv(shape, ndtr(column)) - shape) / np.sqrt(shape))


def _two_peaks(column: Matrix, distance: float, _rng: Rng) -> Matrix:
    variance = 1 + distance**2 + 2 * distance * np.sqrt(2 / np.pi)
    return np.asarray((column + distance * np.sign(column)) / np.sqrt(variance))


def _tails(column: Matrix, weight: float, _rng: Rng) -> Matrix:
    return np.asarray(np.sinh(weight * column) / np.sqrt(np.expm1(2 * weight**2) / 2))


def _some(change: Callable[[Matrix], Any]) -> Callable[[Matrix, float, Rng], Matrix]:
    """Change of a share of the cells."""
    return lambda column, share, rng: np.where(rng.random(len(column)) < share, change(column), column)


def _parity(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    """Whole numbers, of which some odd ones become even."""
    found = _base(n_rows, n_columns, rng)
    number = np.rint(4 * found[:, 0])
    found[:, 0] = number + np.mod(number, 2) * (rng.random(n_rows) < strength)
    return found


def _category_rows(n_rows: int, n_columns: int, rng: Rng, weights: Any) -> Matrix:
    """Rows whose first column is a category that depends on the others."""
    found = _base(n_rows, n_columns, rng)
    steps = np.cumsum(weights / np.sum(weights))[:-1]
    found[:, 0] = np.searchsorted(steps, ndtr(found[:, 0]), side="right")
    return found


def _category_shares(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    weights = np.ones(N_CATEGORIES) + strength * np.array([1.0, -1.0, 0.5, -0.5, 0.0])
    return _category_rows(n_rows, n_columns, rng, weights)


def _new_category(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    found = _category_rows(n_rows, n_columns, rng, np.ones(N_CATEGORIES))
    found[rng.random(n_rows) < strength, 0] = N_CATEGORIES
    return found


def _one_correlation(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    """Correlations of 0.5, but for one that falls."""
    covariance = np.full((n_columns, n_columns), 0.5) + 0.5 * np.eye(n_columns)
    covariance[0, 1] = covariance[1, 0] = 0.5 - strength
    return np.asarray(rng.normal(size=(n_rows, n_columns)) @ np.linalg.cholesky(covariance).T)


def _all_correlations(sign: float) -> Callable[[int, int, float, Rng], Matrix]:
    return lambda n_rows, n_columns, strength, rng: _base(n_rows, n_columns, rng, 0.4 + sign * strength)


def _circle(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    """Two columns come to lie on a circle, in a share of the rows."""
    found = _base(n_rows, n_columns, rng, 0.0)
    radius = np.linalg.norm(found[:, :2], axis=1, keepdims=True)
    chosen = rng.random((n_rows, 1)) < strength
    found[:, :2] *= np.where(chosen, np.sqrt(2) / radius, 1.0)
    return found


def _three_way(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    """The product of three columns that are independent in pairs gets positive, in a share of the rows."""
    found = _base(n_rows, n_columns, rng, 0.0)
    chosen = rng.random(n_rows) < strength
    found[chosen, 2] = np.abs(found[chosen, 2]) * np.sign(found[chosen, 0] * found[chosen, 1])
    return found


def _bent(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    """The second column, which has fallen and risen with the first one, now rises and falls in a share of the rows."""
    found = _base(n_rows, n_columns, rng, 0.0)
    sign = np.where(rng.random(n_rows) < strength, -1.0, 1.0)
    noise = found[:, 1] * np.sqrt(0.5)
    found[:, 1] = np.sqrt(0.5) * sign * ndtri(np.clip(2 * ndtr(np.abs(found[:, 0])) - 1, 1e-9, 1 - 1e-9)) + noise
    return found


def _heteroscedastic(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    found = _base(n_rows, n_columns, rng, 0.0)
    found[:, 1] *= np.exp(strength * (found[:, 0] - strength))
    return found


def _copula(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    """The copula of t(1) instead of the Gaussian one in a share of the rows."""
    found = _base(n_rows, n_columns, rng)
    heavy = found / np.abs(rng.normal(size=(n_rows, 1)))
    heavy = ndtri(np.clip(0.5 + np.arctan(heavy) / np.pi, 1e-9, 1 - 1e-9))
    return np.where(rng.random((n_rows, 1)) < strength, heavy, found)


def _category_by_number(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    """A category follows the absolute value of a number on which it did not depend, in a share of the rows."""
    found = _base(n_rows, n_columns, rng, 0.0)
    follows = np.floor(N_CATEGORIES * (2 * ndtr(np.abs(found[:, 1])) - 1))
    free = rng.integers(N_CATEGORIES, size=n_rows)
    found[:, 0] = np.where(rng.random(n_rows) < strength, np.minimum(follows, N_CATEGORIES - 1), free)
    return found


def _subgroup(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    """Two columns get correlated in one group, and as much the other way in the other group."""
    found = _base(n_rows, n_columns, rng, 0.0)
    group = rng.integers(2, size=n_rows)
    found[:, 0] = group
    sign = 2.0 * group - 1.0
    found[:, 2] = sign * strength * found[:, 1] + np.sqrt(1 - strength**2) * found[:, 2]
    return found


def _mixture(n_rows: int, n_columns: int, strength: float, rng: Rng) -> Matrix:
    """Three clusters, one of which becomes as much more frequent as another one becomes rarer."""
    centres = np.random.default_rng(n_columns).normal(size=(3, n_columns))
    shares = np.array([1.0, 1.0, 1.0]) / 3 + strength * np.array([1.0, -1.0, 0.0])
    return np.asarray(centres[rng.choice(3, n_rows, p=shares)] + rng.normal(size=(n_rows, n_columns)))


FAMILIES: dict[str, Family] = {
    "mean of one column": Family(_mean(lambda _: 1), 3.5),
    "mean of few columns": Family(_mean(_few), 2.4),
    "mean of all columns": Family(_mean(lambda n_columns: n_columns), 2.0, touched=None),
    "spread": Family(_first(lambda column, more, _: column * (1 + more)), 3.5),
    "skewness": Family(_first(_skewed), 15.0, most=2.0),
    "two peaks": Family(_first(_two_peaks), 3.0),
    "tails": Family(_first(_tails), 12.0),
    "heaping": Family(_first(_some(np.rint)), 3.5),
    "parity": Family(_parity, 10.0),
    "spike at the mean": Family(_first(_some(lambda _: 0.0)), 1.7),
    "new values": Family(_first(_some(lambda _: -9.0)), 0.9),
    "category shares": Family(_category_shares, 7.0, categories=(0,)),
    "new category": Family(_new_category, 0.65, categories=(0,)),
    "one correlation falls": Family(_one_correlation, 5.0, most=0.45, touched=(0, 1), fewest_columns=2),
    "all correlations fall": Family(_all_correlations(-1.0), 2.2, most=0.4, touched=None, fewest_columns=2),
    "all correlations rise": Family(_all_correlations(1.0), 3.0, most=0.5, touched=None, fewest_columns=2),
    "circle": Family(_circle, 5.5, touched=(0, 1), fewest_columns=2),
    "three-way": Family(_three_way, 12.0, touched=(0, 1, 2), fewest_columns=3),
    "bent otherwise": Family(_bent, 7.0, touched=(0, 1), fewest_columns=2),
    "heteroscedastic": Family(_heteroscedastic, 7.0, touched=(0, 1), fewest_columns=2),
    "t(1) copula": Family(_copula, 7.0, touched=None, fewest_columns=2),
    "category by number": Family(_category_by_number, 9.0, touched=(0, 1), fewest_columns=2, categories=(0,)),
    "within subgroups": Family(_subgroup, 11.0, touched=(0, 1, 2), fewest_columns=3, categories=(0,)),
    "mixture weights": Family(_mixture, 1.9, most=0.33, touched=None),
}
NAMING = ("neighbour moved", "independent column moved")
FAMILIES |= {
    NAMING[0]: Family(lambda n, d, strength, rng: _moved_first(_base(n, d, rng, 0.8), strength), 0.0),
    NAMING[1]: Family(lambda n, d, strength, rng: _moved_first(_base(n, d, rng, 0.0), strength), 0.0),
}


def _moved_first(rows: Matrix, strength: float) -> Matrix:
    rows[:, 0] += strength
    return rows


def _fixed(name: str, family: str, n_rows: int, n_columns: int, strength: float, bracket: float | None) -> DriftCase:
    rates = (MISSING,) * n_columns
    return DriftCase(name, zlib.crc32(name.encode()), family, n_rows, n_rows, n_columns, strength, rates, bracket)


@cache
def fixed_drifts() -> dict[str, DriftCase]:
    """Drifts that were hardly found once, by name, with the share that the best rival finds."""
    found = [
        _fixed("skewness", "skewness", 500, 4, 1.2, 0.50),
        _fixed("two peaks", "two peaks", 500, 4, 0.17, 0.50),
        _fixed("two peaks among ten", "two peaks", 500, 10, 0.25, None),
        _fixed("tails", "tails", 500, 4, 0.95, 0.75),
        _fixed("heaping", "heaping", 500, 4, 0.4, 1.00),
        _fixed("parity", "parity", 500, 4, 0.75, 0.85),
        _fixed("spike at the mean", "spike at the mean", 500, 4, 0.1, 0.40),
        _fixed("circle", "circle", 500, 4, 0.26, 0.40),
        _fixed("category by number, 5,000", "category by number", 5_000, 4, 0.2, 0.76),
        _fixed("three-way", "three-way", 1_000, 6, 0.8, None),
        _fixed("bent otherwise", "bent otherwise", 1_000, 6, 0.3, None),
        _fixed("one of six correlations", "one correlation falls", 1_000, 4, 0.11, 0.48),
    ]
    return {case.name: case for case in found}


@cache
def naming_drifts() -> dict[str, DriftCase]:
    """Drifts of one column beside an untouched one, by name: at these rates that one was once named as well."""
    rates = {NAMING[0]: ((0.2, 0.2), (0.5, 0.5)), NAMING[1]: ((0.2, 0.8), (0.2, 0.97))}
    found = [
        DriftCase(f"{family}, {pair[1]:.0%} missing", zlib.crc32(family.encode()), family, 1_000, 1_000, 2, 1.0, pair)
        for family, pairs in rates.items()
        for pair in pairs
    ]
    return {case.name: case for case in found}
