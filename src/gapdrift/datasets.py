"""A table to try things on, and functions that hide values: completely at random, at random, and not at random.

Every function takes an ``rng`` (a numpy Generator or an integer seed) and states the probability law it draws from.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from gapdrift._random import as_rng
from gapdrift._typing import Matrix, Vector
from gapdrift._validation import check_count, check_number
from gapdrift.errors import ParameterError
from gapdrift.tables.missingness import check_rates, draw_mask

__all__ = ["hide_mar", "hide_mcar", "hide_mnar", "stations"]

Rng = np.random.Generator | int


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
    """Values with cells missing at random: which cells depends on one column that stays observed.

    Parameters
    ----------
    values : (rows, columns) array
    rates : float or (columns,) array
        Expected rates; the rate of the driver is taken as 0.
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
    """Values with cells missing not at random: which cells depends on the hidden values themselves.

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
    temperature is -0.8, or 0 with drift; pressure is Gaussian (1013, 7); wind is log-normal (1.5, 0.5); sky is clear,
    cloudy or rain, and rain is more frequent when pressure is low.

    Examples
    --------
    >>> list(stations(3, 0))
    ['temperature', 'humidity', 'pressure', 'wind', 'sky']
    """
    rng = as_rng(rng)
    n_rows = check_count("n_rows", n_rows, 0) or 0
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
