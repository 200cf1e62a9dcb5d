"""Artificial data for trials and measurements: the paper's distributions and drifts, and ways to hide values.

Every function takes an ``rng`` (a numpy Generator, or an integer as its seed) and states the law it draws from.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from gapdrift._random import as_rng
from gapdrift._typing import Matrix, Vector
from gapdrift._validation import check_count, check_number
from gapdrift.errors import ParameterError
from gapdrift.tables.missingness import check_rates, draw_mask

__all__ = [
    "DISTRIBUTIONS",
    "DRIFTS",
    "Distribution",
    "Drift",
    "categorical",
    "exponential",
    "gaussian",
    "hide_mar",
    "hide_mcar",
    "hide_mnar",
    "poisson",
    "stations",
    "uniform",
]

Rng = np.random.Generator | int

POISSON_RATES = (49.0, 5.0, 8.0, 8.0, 44.0, 14.0, 24.0, 26.0)
"""Rates of the columns of the Poisson drifts, drawn once from 5 to 49 (the paper does not give its own)."""


# Missing values


def hide_mcar(values: ArrayLike, rates: ArrayLike, rng: Rng, *, exact: bool = False) -> Matrix:
    """Values with cells missing completely at random.

    Parameters
    ----------
    values : (rows, columns) array
    rates : float or (columns,) array
    rng : numpy.random.Generator or int
    exact : bool, default False
        Whether exactly ``int(rate x rows)`` cells of each column are hidden, as in the paper's experiments, instead of
        each cell independently.

    Returns
    -------
    values : (rows, columns) array, NaN where missing

    Notes
    -----
    Law: P(cell of column j is missing) = rate_j, whatever the values.

    Examples
    --------
    >>> import numpy as np
    >>> int(np.isnan(hide_mcar(np.zeros((10, 2)), [0.0, 0.5], 0, exact=True)).sum())
    5
    """
    table, column_rates, rng = _prepare(values, rates, rng)
    if not exact:
        return np.where(draw_mask(len(table), column_rates, rng), np.nan, table)
    for column, rate in enumerate(column_rates):
        table[rng.permutation(len(table))[: int(rate * len(table))], column] = np.nan
    return table


def hide_mar(values: ArrayLike, rates: ArrayLike, rng: Rng, *, driver: int = 0, strength: float = 2.0) -> Matrix:
    """Values with cells missing at random: which ones depends on one column that stays observed.

    Parameters
    ----------
    values : (rows, columns) array
    rates : float or (columns,) array
        Expected rates; that of the driver counts as 0.
    rng : numpy.random.Generator or int
    driver : int, default 0
        Column that decides which cells of the others are missing.
    strength : float, default 2
        Change of the log odds of being missing for one standard deviation of the driver.

    Returns
    -------
    values : (rows, columns) array, NaN where missing

    Notes
    -----
    Law: P(cell i of column j is missing) = 1 / (1 + exp(-(a_j + strength z_i))), where z_i is the driver, standardised
    in this table, and a_j is such that the mean over the rows is rate_j.

    Examples
    --------
    >>> import numpy as np
    >>> missing = np.isnan(hide_mar(np.arange(2000.0).reshape(-1, 1) * [1, 1], 0.3, 0))
    >>> bool(missing[1000:, 1].mean() > 2 * missing[:1000, 1].mean()), int(missing[:, 0].sum())
    (True, 0)
    """
    table, column_rates, rng = _prepare(values, rates, rng)
    if isinstance(driver, bool) or not isinstance(driver, int) or not 0 <= driver < table.shape[1]:
        raise ParameterError(f"driver is {driver!r}, expected a column from 0 to {table.shape[1] - 1}.")
    column_rates[driver] = 0.0
    log_odds = check_number("strength", strength) * _standardise(table[:, [driver]])
    return _hide_by_log_odds(table, np.repeat(log_odds, table.shape[1], axis=1), column_rates, rng)


def hide_mnar(values: ArrayLike, rates: ArrayLike, rng: Rng, *, strength: float = 2.0) -> Matrix:
    """Values with cells missing not at random: which ones depends on the hidden values themselves.

    Parameters
    ----------
    values : (rows, columns) array
    rates : float or (columns,) array
        Expected rates.
    rng : numpy.random.Generator or int
    strength : float, default 2
        Change of the log odds of being missing for one standard deviation of the value.

    Returns
    -------
    values : (rows, columns) array, NaN where missing

    Notes
    -----
    Law: P(cell i of column j is missing) = 1 / (1 + exp(-(a_j + strength z_ij))), where z_ij is the value, standardised
    in its column, and a_j is such that the mean over the rows is rate_j.

    Examples
    --------
    >>> import numpy as np
    >>> missing = np.isnan(hide_mnar(np.arange(2000.0).reshape(-1, 1), 0.3, 0))
    >>> bool(missing[1000:].mean() > 2 * missing[:1000].mean())
    True
    """
    table, column_rates, rng = _prepare(values, rates, rng)
    return _hide_by_log_odds(table, check_number("strength", strength) * _standardise(table), column_rates, rng)


def _prepare(values: ArrayLike, rates: ArrayLike, rng: Rng) -> tuple[Matrix, Vector, np.random.Generator]:
    try:
        table: Matrix = np.array(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan))
    except (TypeError, ValueError) as error:
        raise ParameterError("values holds cells that are not numbers, expected a matrix of numbers.") from error
    if table.ndim != 2:
        raise ParameterError(f"values has {table.ndim} dimension(s), expected 2 (rows, columns).")
    return table, check_rates(rates, table.shape[1]), as_rng(rng)


def _standardise(values: Matrix) -> Matrix:
    """Columns minus their mean, divided by their standard deviation; 0, which is the mean, where missing."""
    present = ~np.isnan(values)
    n_present = np.maximum(present.sum(axis=0), 1)
    centred = np.where(present, values - np.where(present, values, 0.0).sum(axis=0) / n_present, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / n_present)
    result: Matrix = centred / np.where(deviation > 0, deviation, 1.0)
    return result


def _hide_by_log_odds(table: Matrix, log_odds: Matrix, rates: Vector, rng: np.random.Generator) -> Matrix:
    """Table with cells hidden by their log odds, to which each column adds the constant that gives its rate."""
    if not len(table):
        return table
    bound = 50.0 + np.abs(log_odds).max(axis=0)
    low, high = -bound, bound
    for _ in range(80):
        middle = (low + high) / 2.0
        too_few = expit(log_odds + middle).mean(axis=0) < rates
        low, high = np.where(too_few, middle, low), np.where(too_few, high, middle)
    probabilities = np.where((rates > 0) & (rates < 1), expit(log_odds + high), rates)
    return np.where(rng.random(table.shape) < probabilities, np.nan, table)


# Distributions of Experiment 1


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
    return _standardise(as_rng(rng).exponential(1.0, _size(n_rows, n_features)))


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


# A table for the demonstration


def stations(n_rows: int, rng: Rng, *, drift: bool = False, missing: float = 0.2) -> dict[str, NDArray[Any]]:
    """Readings of a weather station: four columns of numbers and one of categories, with missing values.

    Parameters
    ----------
    n_rows : int
    rng : numpy.random.Generator or int
    drift : bool, default False
        Whether the humidity sensor has failed: it no longer follows the temperature. Every column keeps its
        distribution, so no test of single columns can find it.
    missing : float, default 0.2
        Share of cells that are missing, completely at random.

    Returns
    -------
    table : dict of str to (rows,) array

    Notes
    -----
    Law: temperature is Gaussian (mean 15, standard deviation 6); humidity is Gaussian (65, 12) and its correlation with
    temperature is -0.8, with drift 0; pressure is Gaussian (1013, 7); wind is log-normal (1.5, 0.5); sky is clear,
    cloudy or rain, and the lower the pressure, the more often rain.

    Examples
    --------
    >>> list(stations(3, 0))
    ['temperature', 'humidity', 'pressure', 'wind', 'sky']
    """
    rng = as_rng(rng)
    n_rows, _ = _size(n_rows, 5)
    temperature, noise, pressure, wind = rng.normal(size=(4, n_rows))
    correlation = 0.0 if drift else -0.8
    p_rain = expit(-1.0 - pressure)
    uniform_sky = rng.random(n_rows)
    columns: dict[str, NDArray[Any]] = {
        "temperature": 15.0 + 6.0 * temperature,
        "humidity": 65.0 + 12.0 * (correlation * temperature + np.sqrt(1.0 - correlation**2) * noise),
        "pressure": 1013.0 + 7.0 * pressure,
        "wind": np.exp(1.5 + 0.5 * wind),
        "sky": np.where(uniform_sky < p_rain, "rain", np.where(uniform_sky < (1.0 + p_rain) / 2.0, "cloudy", "clear")),
    }
    hidden = draw_mask(n_rows, check_rates(missing, 5), rng)
    for name, hidden_rows in zip(columns, hidden.T, strict=True):
        columns[name] = columns[name].astype(object if name == "sky" else float)
        columns[name][hidden_rows] = None if name == "sky" else np.nan
    return columns


# Drifts of Experiments 2 and 3


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
