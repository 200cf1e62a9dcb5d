"""The paper's distributions (Experiment 1) and drifts (Experiments 2 and 3).

Every function takes an ``rng`` (a numpy Generator, or an integer as its seed) and states the law it draws from.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from gapdrift._random import as_rng
from gapdrift._typing import Matrix, Vector
from gapdrift._validation import check_count, check_number
from gapdrift.datasets import Rng, hide_mcar
from gapdrift.errors import ParameterError

__all__ = [
    "DISTRIBUTIONS",
    "DRIFTS",
    "Distribution",
    "Drift",
    "categorical",
    "exponential",
    "gaussian",
    "poisson",
    "uniform",
]

POISSON_RATES = (49.0, 5.0, 8.0, 8.0, 44.0, 14.0, 24.0, 26.0)
"""Rates of the columns of the Poisson drifts, drawn once from 5 to 49 (the paper does not give its own)."""


def _size(n_rows: int, n_features: int) -> tuple[int, int]:
    return check_count("n_rows", n_rows, 0) or 0, check_count("n_features", n_features, 1) or 0


def uniform(n_rows: int, rng: Rng, *, n_features: int = 10) -> Matrix:
    """Independent uniform values from 0 to 1.

    Examples
    --------
    >>> uniform(5, 0).shape
    (5, 10)
    """
    return as_rng(rng).random(_size(n_rows, n_features))


def gaussian(n_rows: int, rng: Rng, *, n_features: int = 10) -> Matrix:
    """Independent Gaussian values with unit variance; each column's mean is drawn from 0 to 10.

    Examples
    --------
    >>> gaussian(5, 0).shape
    (5, 10)
    """
    rng = as_rng(rng)
    size = _size(n_rows, n_features)
    return rng.normal(rng.random(size[1]) * 10.0, 1.0, size)


def exponential(n_rows: int, rng: Rng, *, n_features: int = 10) -> Matrix:
    """Independent exponential values, each column standardised to mean 0 and variance 1.

    Examples
    --------
    >>> bool(abs(exponential(500, 0).mean()) < 1e-9)
    True
    """
    values = as_rng(rng).exponential(1.0, _size(n_rows, n_features))
    result: Matrix = (values - values.mean(axis=0)) / values.std(axis=0)
    return result


def poisson(n_rows: int, rng: Rng, *, n_features: int = 5) -> Matrix:
    """Independent Poisson values; each column's rate is a whole number drawn from 5 to 49.

    Examples
    --------
    >>> poisson(5, 0).shape
    (5, 5)
    """
    rng = as_rng(rng)
    size = _size(n_rows, n_features)
    return rng.poisson(rng.integers(5, 50, size[1]), size).astype(float)


def categorical(n_rows: int, rng: Rng) -> Matrix:
    """Five independent columns of 2, 2, 5, 5 and 10 categories, numbered from 0.

    The probabilities of the categories of a column are uniform random numbers divided by their sum.

    Examples
    --------
    >>> categorical(500, 0).max(axis=0).tolist()
    [1.0, 1.0, 4.0, 4.0, 9.0]
    """
    rng = as_rng(rng)
    n_rows, _ = _size(n_rows, 5)
    columns = []
    for n_categories in (2, 2, 5, 5, 10):
        weights = rng.random(n_categories)
        columns.append(rng.choice(n_categories, n_rows, p=weights / weights.sum()))
    return np.column_stack(columns).astype(float)


@dataclass(frozen=True)
class Distribution:
    """One distribution of the paper's Experiment 1.

    Parameters
    ----------
    draw : callable
        ``draw(n_rows, rng)`` returns (rows, columns).
    missing_columns : tuple of int
        Columns in which values are missing.

    Examples
    --------
    >>> import numpy as np
    >>> rows = DISTRIBUTIONS["poisson"].sample(500, missing=0.2, rng=0)
    >>> np.isnan(rows).sum(axis=0).tolist()
    [100, 100, 100, 0, 0]
    """

    draw: Callable[[int, np.random.Generator], Matrix]
    missing_columns: tuple[int, ...]

    def sample(self, n_rows: int, *, missing: float, rng: Rng) -> Matrix:
        """Rows with exactly ``int(missing x rows)`` missing cells in each of the `missing_columns`."""
        rng = as_rng(rng)
        values = self.draw(n_rows, rng)
        return hide_mcar(values, _rates(values.shape[1], self.missing_columns, missing), rng, exact=True)


def _rates(n_features: int, missing_columns: tuple[int, ...], missing: float) -> Vector:
    rates = np.zeros(n_features)
    rates[list(missing_columns)] = missing
    return rates


DISTRIBUTIONS: Mapping[str, Distribution] = MappingProxyType(
    {
        "uniform": Distribution(uniform, (0, 1, 2, 3, 4)),
        "gaussian": Distribution(gaussian, (0, 1, 2, 3, 4)),
        "exponential": Distribution(exponential, (0, 1, 2, 3, 4)),
        "poisson": Distribution(poisson, (0, 1, 2)),
        "categorical": Distribution(categorical, (0, 1, 2)),
    }
)
"""Paper: Table 1, as the authors' scripts draw it."""


@dataclass(frozen=True)
class Drift:
    """One kind of drift of the paper's Experiments 2 and 3; it is in the first two columns.

    Parameters
    ----------
    draw : callable
        ``draw(n_rows, amount, rng)`` returns (rows, columns).
    max_amount : float
        Amount at severity 10; at severity s it is s tenths of that.
    missing_columns : tuple of int
        Columns in which values are missing.

    Examples
    --------
    >>> drift = DRIFTS["uniform-mean"]
    >>> complete = drift.sample(10_000, severity=10, missing=0, rng=0)
    >>> complete.mean(axis=0)[:3].round(2)
    array([0.65, 0.65, 0.5 ])
    """

    draw: Callable[[int, float, np.random.Generator], Matrix]
    max_amount: float
    missing_columns: tuple[int, ...]

    def sample(self, n_rows: int, *, severity: float, missing: float, rng: Rng) -> Matrix:
        """Rows with drift of a severity from 0 to 10; cells of the `missing_columns` are missing at a rate."""
        if not 0 <= check_number("severity", severity) <= 10:
            raise ParameterError(f"severity is {severity!r}, expected a number from 0 to 10.")
        rng = as_rng(rng)
        n_rows, _ = _size(n_rows, 1)
        values = self.draw(n_rows, severity / 10.0 * self.max_amount, rng)
        return hide_mcar(values, _rates(values.shape[1], self.missing_columns, missing), rng)


def _shift(values: Matrix, amount: float) -> Matrix:
    values[:, :2] += amount
    return values


def _uniform_mean(n_rows: int, amount: float, rng: np.random.Generator) -> Matrix:
    return _shift(rng.random((n_rows, 10)), amount)


def _gaussian_mean(n_rows: int, amount: float, rng: np.random.Generator) -> Matrix:
    return _shift(rng.normal(size=(n_rows, 4)), amount)


def _gaussian_covariance(n_rows: int, amount: float, rng: np.random.Generator) -> Matrix:
    values = rng.normal(size=(n_rows, 4))
    values[:, 1] = amount * values[:, 0] + np.sqrt(1.0 - amount**2) * values[:, 1]
    return values


def _poisson_mean(n_rows: int, amount: float, rng: np.random.Generator) -> Matrix:
    return _shift(rng.poisson(POISSON_RATES, (n_rows, 8)).astype(float), amount)


def _poisson_rho(n_rows: int, amount: float, rng: np.random.Generator) -> Matrix:
    rate = POISSON_RATES[0]
    values = rng.poisson(POISSON_RATES[:6], (n_rows, 6)).astype(float)
    shared = rng.poisson(rate * amount, (n_rows, 1))
    values[:, :2] = rng.poisson(rate * (1.0 - amount), (n_rows, 2)) + shared
    return values


DRIFTS: Mapping[str, Drift] = MappingProxyType(
    {
        "uniform-mean": Drift(_uniform_mean, 0.15, (0, 1, 2, 3, 4)),
        "gaussian-mean": Drift(_gaussian_mean, 0.35, (0, 1, 2, 3)),
        "gaussian-covariance": Drift(_gaussian_covariance, 0.8, (0, 1, 2, 3)),
        "poisson-mean": Drift(_poisson_mean, 2.5, (0, 1, 2, 3, 4)),
        "poisson-rho": Drift(_poisson_rho, 0.65, (2, 3, 4, 5)),
    }
)
"""The paper's five kinds of drift: in the mean of uniform, Gaussian and Poisson columns, in the covariance of Gaussian
columns, and in the share rho of a common Poisson part of two columns with the same rate. The Poisson mean is shifted by
real numbers; the authors' scripts truncate the shift to an integer."""
