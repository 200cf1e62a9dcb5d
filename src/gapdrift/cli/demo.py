"""The point of this library in one table: what the usual ways with gaps make of three kinds of windows.

The usual ways are written here in a few lines each: the tested baselines belong to the experiments, which the package
must not know.
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

__all__ = ["SCENARIOS", "Line", "run_demo"]

Readings = Mapping[str, NDArray[Any]]

ROWS = 500
PERMUTATIONS = 200
ALPHA = 0.05
NUMBERS = ("temperature", "humidity", "pressure", "wind")

SCENARIOS: Mapping[str, Mapping[str, Any]] = {
    "nothing changed": {},
    "only more gaps": {"missing": 0.4},
    "humidity off temperature": {"drift": True},
}
"""What is done to the windows: nothing, gaps from 20 to 40 %, and a sensor that no longer follows the temperature."""


@dataclass(frozen=True)
class Line:
    """Alarms of one way with gaps: how many of the windows of each scenario.

    Parameters
    ----------
    method : str
    alarms : tuple of int
        One for each of `SCENARIOS`.
    right : tuple of bool
        Whether they are what they should be: few, few, and most.
    """

    method: str
    alarms: tuple[int, ...]
    right: tuple[bool, ...]


def run_demo(windows: int = 20, seed: int = 0) -> Iterator[Line]:
    """Lines of the table, one for each way with gaps, the library's own last.

    Parameters
    ----------
    windows : int, default 20
        Windows of 500 weather readings for each scenario, each against a reference of its own.
    seed : int, default 0
    """
    rng = np.random.default_rng(seed)
    draws = {
        name: [(stations(ROWS, rng), stations(ROWS, rng, **change)) for _ in range(windows)]
        for name, change in SCENARIOS.items()
    }
    for method, alarms in METHODS.items():
        counts = tuple(sum(alarms(_numbers(a), _numbers(b), rng) for a, b in pairs) for pairs in draws.values())
        yield Line(method, counts, _judge(counts, windows))
    results = [[_ours(reference, window) for reference, window in pairs] for pairs in draws.values()]
    values = tuple(sum(found[0] for found in scenario) for scenario in results)
    gaps = tuple(sum(found[1] for found in scenario) for scenario in results)
    yield Line("gapdrift: values", values, _judge(values, windows))
    yield Line("gapdrift: gaps", gaps, _judge(gaps, windows, moved=1))


def _judge(counts: tuple[int, ...], windows: int, moved: int = 2) -> tuple[bool, ...]:
    """Few alarms are at most a quarter of the windows, five times the rate asked for; most are three quarters."""
    return tuple(
        count >= 0.75 * windows if scenario == moved else count <= 0.25 * windows
        for scenario, count in enumerate(counts)
    )


def _ours(reference: Readings, window: Readings) -> tuple[bool, bool]:
    result = DriftDetector(ALPHA, 0).fit(reference).test(window)
    gaps = result.missingness
    return result.values.p_value < ALPHA, gaps is not None and gaps.p_value < ALPHA


def _numbers(readings: Readings) -> Matrix:
    return np.column_stack([readings[name] for name in NUMBERS]).astype(float)


def _ks_as_it_is(reference: Matrix, window: Matrix, _: np.random.Generator) -> bool:
    """Test each column, NaN and all: the p-value is NaN, and NaN is below nothing."""
    p_values = [ks_2samp(a, b).pvalue for a, b in zip(reference.T, window.T, strict=True)]
    return bool(np.min(p_values) < ALPHA / len(NUMBERS))


def _ks_observed(reference: Matrix, window: Matrix, _: np.random.Generator) -> bool:
    """Test each column by its observed cells (Bonferroni)."""
    pairs = zip(reference.T, window.T, strict=True)
    p_values = [ks_2samp(a[~np.isnan(a)], b[~np.isnan(b)]).pvalue for a, b in pairs]
    return bool(np.min(p_values) < ALPHA / len(NUMBERS))


def _mmd(reference: Matrix, window: Matrix, rng: np.random.Generator) -> bool:
    """Quadratic MMD, Gaussian kernel of median width, permutations; as it is, NaN and all."""
    joint = np.vstack([reference, window])
    joint = (joint - np.nanmean(joint, axis=0)) / np.nanstd(joint, axis=0)
    squares = cdist(joint, joint, "sqeuclidean")
    kernel = np.exp(-squares / np.median(squares))
    signs = np.repeat([1.0, -1.0], [len(reference), len(window)])
    shuffled = np.stack([signs, *(rng.permutation(signs) for _ in range(PERMUTATIONS))])
    statistics = np.einsum("ij,ij->i", shuffled @ kernel, shuffled)
    return bool(np.mean(statistics[1:] >= statistics[0]) < ALPHA)


def _mmd_filled(reference: Matrix, window: Matrix, rng: np.random.Generator) -> bool:
    """Fill gaps with the means of the reference first."""
    means = np.nanmean(reference, axis=0)
    return _mmd(np.where(np.isnan(reference), means, reference), np.where(np.isnan(window), means, window), rng)


def _mmd_complete(reference: Matrix, window: Matrix, rng: np.random.Generator) -> bool:
    """Drop incomplete rows first."""
    return _mmd(reference[~np.isnan(reference).any(axis=1)], window[~np.isnan(window).any(axis=1)], rng)


METHODS: Mapping[str, Callable[[Matrix, Matrix, np.random.Generator], bool]] = {
    "KS per column, NaN as they are": _ks_as_it_is,
    "KS per column, gaps left out": _ks_observed,
    "MMD, NaN as they are": _mmd,
    "MMD, gaps filled with means": _mmd_filled,
    "MMD, incomplete rows dropped": _mmd_complete,
}
"""The usual ways with gaps, by what they do."""
