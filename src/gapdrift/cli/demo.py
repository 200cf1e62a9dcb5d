"""The demonstration: how the usual ways to treat missing values fare on three kinds of windows, beside gapdrift.

The usual ways are written here in a few lines each, because the package must not import the experiments, which have
tested baselines.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import ks_2samp

from gapdrift._typing import Matrix
from gapdrift.datasets import stations
from gapdrift.detectors.drift.detector import DriftDetector

__all__ = ["SCENARIOS", "MethodAlarms", "run_demo"]

Readings = Mapping[str, NDArray[Any]]

ROWS = 500
PERMUTATIONS = 200
ALPHA = 0.05
NUMBERS = ("temperature", "humidity", "pressure", "wind")

SCENARIOS: Mapping[str, Mapping[str, Any]] = {
    "nothing changed": {},
    "only more missing": {"missing": 0.4},
    "humidity off temperature": {"drift": True},
}
"""How windows differ from the reference: not at all, 40 % instead of 20 % missing, or a failed humidity sensor."""


@dataclass(frozen=True)
class MethodAlarms:
    """How many windows of each scenario one method raises an alarm for.

    Parameters
    ----------
    method : str
    alarms : tuple of int
        Number of alarms in each of `SCENARIOS`.
    right : tuple of bool
        Whether each number is as it should be.
    """

    method: str
    alarms: tuple[int, ...]
    right: tuple[bool, ...]


def run_demo(windows: int = 20, seed: int = 0) -> Iterator[MethodAlarms]:
    """Alarms of each method, those of gapdrift last.

    Parameters
    ----------
    windows : int, default 20
        Number of windows of 500 weather readings in each scenario, each with a reference of its own.
    seed : int, default 0
    """
    rng = np.random.default_rng(seed)
    draws = {
        name: [(stations(ROWS, rng), stations(ROWS, rng, **change)) for _ in range(windows)]
        for name, change in SCENARIOS.items()
    }
    for method, raises_alarm in METHODS.items():
        counts = tuple(sum(raises_alarm(_numbers(a), _numbers(b), rng) for a, b in pairs) for pairs in draws.values())
        yield MethodAlarms(method, counts, _are_right(counts, windows))
    results = [[_gapdrift(reference, window) for reference, window in pairs] for pairs in draws.values()]
    values = tuple(sum(found[0] for found in scenario) for scenario in results)
    missing = tuple(sum(found[1] for found in scenario) for scenario in results)
    yield MethodAlarms("gapdrift: values", values, _are_right(values, windows))
    yield MethodAlarms("gapdrift: missing values", missing, _are_right(missing, windows, changed=1))


def _are_right(counts: tuple[int, ...], windows: int, changed: int = 2) -> tuple[bool, ...]:
    """Whether alarms are right: at least 3/4 of the windows that changed raise one, and at most 1/4 of the others."""
    return tuple(
        count >= 0.75 * windows if scenario == changed else count <= 0.25 * windows
        for scenario, count in enumerate(counts)
    )


def _gapdrift(reference: Readings, window: Readings) -> tuple[bool, bool]:
    result = DriftDetector(ALPHA, 0).fit(reference).test(window)
    missingness = result.missingness
    return result.values.p_value < ALPHA, missingness is not None and missingness.p_value < ALPHA


def _numbers(readings: Readings) -> Matrix:
    return np.column_stack([readings[name] for name in NUMBERS]).astype(float)


def _ks_as_it_is(reference: Matrix, window: Matrix, _: np.random.Generator) -> bool:
    """Test each column including its NaN: the p-value is NaN, which is never below alpha."""
    p_values = [ks_2samp(a, b).pvalue for a, b in zip(reference.T, window.T, strict=True)]
    return bool(np.min(p_values) < ALPHA / len(NUMBERS))


def _ks_observed(reference: Matrix, window: Matrix, _: np.random.Generator) -> bool:
    """Test the observed cells of each column (Bonferroni)."""
    pairs = zip(reference.T, window.T, strict=True)
    p_values = [ks_2samp(a[~np.isnan(a)], b[~np.isnan(b)]).pvalue for a, b in pairs]
    return bool(np.min(p_values) < ALPHA / len(NUMBERS))


def _mmd(reference: Matrix, window: Matrix, rng: np.random.Generator) -> bool:
    """Permutation test of the quadratic MMD, with a Gaussian kernel of median width and including NaN."""
    joint = np.vstack([reference, window])
    joint = (joint - np.nanmean(joint, axis=0)) / np.nanstd(joint, axis=0)
    squares = cdist(joint, joint, "sqeuclidean")
    kernel = np.exp(-squares / np.median(squares))
    signs = np.repeat([1.0, -1.0], [len(reference), len(window)])
    shuffled = np.stack([signs, *(rng.permutation(signs) for _ in range(PERMUTATIONS))])
    statistics = np.einsum("ij,ij->i", shuffled @ kernel, shuffled)
    return bool(np.mean(statistics[1:] >= statistics[0]) < ALPHA)


def _mmd_filled(reference: Matrix, window: Matrix, rng: np.random.Generator) -> bool:
    """Fill missing values with the means of the reference first."""
    means = np.nanmean(reference, axis=0)
    return _mmd(np.where(np.isnan(reference), means, reference), np.where(np.isnan(window), means, window), rng)


def _mmd_complete(reference: Matrix, window: Matrix, rng: np.random.Generator) -> bool:
    """Drop incomplete rows first."""
    return _mmd(reference[~np.isnan(reference).any(axis=1)], window[~np.isnan(window).any(axis=1)], rng)


METHODS: Mapping[str, Callable[[Matrix, Matrix, np.random.Generator], bool]] = {
    "KS per column, NaN as they are": _ks_as_it_is,
    "KS per column, NaN left out": _ks_observed,
    "MMD, NaN as they are": _mmd,
    "MMD, NaN filled with means": _mmd_filled,
    "MMD, incomplete rows dropped": _mmd_complete,
}
"""The usual ways to treat missing values, by what they do."""
