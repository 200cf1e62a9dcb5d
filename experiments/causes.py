"""Checks of what causes the differences to the paper: `python -m experiments.causes CHECK`.

How much the paper's detection ratios at severities 5 and 8 depend on chance: `references`, on which reference was
drawn; `starts`, on the start of k-means; `masks`, on the cells hidden for learning; `trees`, on the random tree of
QuantTree. What the distances of Experiment 1 depend on: `columns`, on the
number of columns with missing values; `constants`, on the number by which missing values are replaced; `shares`, on the
share of missing cells. Experiment 4: `real`, how far the two populations of the real data differ; `pools`, what k-means
finds of them with other seeds of the scripts' generator.

What libraries of 2019 did otherwise than today's: `kmeans`, the first centres of k-means; `ties`, the order in which
equally long edges of MWW are tried; `signs`, the axes along which ME draws its first locations, whose signs the library
of linear algebra decides.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from scipy.stats import chi2, ks_2samp
from sklearn.cluster import KMeans

from experiments.baselines import FriedmanRafsky, MeanEmbedding, QuantTree
from experiments.baselines._ascent import ascend, paired_statistic, scripts_rows
from experiments.catalogue import path_of
from experiments.clustering import fit_scripted_partition
from experiments.configurations import fit_distances
from experiments.detection import ALPHA, KINDS, N_ROWS
from experiments.distributions import DISTRIBUTIONS
from experiments.experiment2 import N_BINS, TOP_Q
from experiments.experiment4 import N_BINS as REAL_BINS
from experiments.protocols import protocol_of
from experiments.real import (
    DIRECTIONS,
    SCRIPTED_SETS,
    SCRIPTS_SEED,
    SETS,
    data_folder,
    draw_rows,
    load,
    scripted_rows,
)
from experiments.running import read_rows
from experiments.samples import Sample, draw_drift
from experiments.scripted import REFERENCE, draw_distribution, draw_scripted
from experiments.tables import DISTRIBUTIONS as TABLE_NAMES
from experiments.tables import PUBLISHED as PUBLISHED_TABLES
from gapdrift._typing import Matrix, Vector
from gapdrift.inference.pearson import pearson
from gapdrift.models.partition import Partition, fit_partition

__all__ = [
    "distance_error",
    "errors_of_pools",
    "missing_share",
    "populations_apart",
    "ratio_of_reference",
    "ratio_of_start",
    "ratios_of_mask",
    "ratios_of_signs",
    "ratios_of_tree",
]

SEVERITIES = (5, 8)
N_REPEATS = 15
N_MASKS = 3
CONSTANTS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
PUBLISHED = protocol_of("published")


def ratio_of_reference(kind: str, severity: float, number: int, n_windows: int = 25) -> float:
    """Share of windows of one severity in which configuration 1 (complete data) finds drift, by one reference.

    Examples
    --------
    >>> [ratio_of_reference("gaussian-covariance", severity, 0, n_windows=4) for severity in (0, 10)]
    [0.0, 1.0]
    """
    rng = np.random.default_rng([number, KINDS.index(kind)])
    reference = draw_drift(kind, 0, N_ROWS, PUBLISHED, rng)
    windows = (draw_drift(kind, severity, N_ROWS, PUBLISHED, rng) for _ in range(n_windows))
    return _first_configuration(reference, windows, rng)


def ratio_of_start(kind: str, severity: int, number: int, n_windows: int = 100) -> float:
    """The same for the paper's own reference and windows, with another start of k-means.

    Examples
    --------
    >>> [ratio_of_start("gaussian-covariance", severity, 0, n_windows=4) for severity in (0, 10)]
    [0.0, 1.0]
    """
    reference = draw_scripted(kind, 0, REFERENCE, N_ROWS, PUBLISHED)
    windows = (draw_scripted(kind, severity, window, N_ROWS, PUBLISHED) for window in range(n_windows))
    return _first_configuration(reference, windows, np.random.default_rng(number))


def ratios_of_mask(
    kind: str, severities: Iterable[int], number: int, n_windows: int = 100
) -> dict[str, dict[int, float]]:
    """The same for each configuration and severity, with distances that were learned with other cells hidden."""
    rng = np.random.default_rng(0)
    reference = draw_scripted(kind, 0, REFERENCE, N_ROWS, PUBLISHED)
    fitted = fit_distances(reference, PUBLISHED, rng, n_bins=N_BINS, top_q=TOP_Q, mask_seed=number)
    found: dict[str, dict[int, float]] = {}
    for severity in severities:
        windows = [draw_scripted(kind, severity, window, N_ROWS, PUBLISHED) for window in range(n_windows)]
        alarms = [fitted.alarms(window, rng, ALPHA) for window in windows]
        for name in alarms[0]:
            found.setdefault(name, {})[severity] = float(np.mean([each[name] for each in alarms]))
    return found


def ratios_of_tree(kind: str, number: int, n_windows: int = 50) -> list[float]:
    """The same for QuantTree on the paper's own complete reference and windows, with another seed of its own.

    Examples
    --------
    >>> len(ratios_of_tree("uniform-mean", 0, n_windows=2)) == len(SEVERITIES)
    True
    """
    rng = np.random.default_rng(number)
    reference = draw_scripted(kind, 0, REFERENCE, N_ROWS, PUBLISHED).complete
    fitted = QuantTree.as_published(N_ROWS).fit(reference, np.random.RandomState(number))
    found = []
    for severity in SEVERITIES:
        windows = (draw_scripted(kind, severity, place, N_ROWS, PUBLISHED).complete for place in range(n_windows))
        found.append(float(np.mean([fitted.test(window, rng).rejects(ALPHA) for window in windows])))
    return found


def ratios_of_signs(kind: str, number: int, n_windows: int = 50) -> list[float]:
    """The same for ME, with other signs of the axes along which its first locations are drawn.

    Examples
    --------
    >>> len(ratios_of_signs("gaussian-mean", 0, n_windows=2)) == len(SEVERITIES)
    True
    """
    reference, first = (draw_scripted(kind, 0, place, N_ROWS, PUBLISHED).complete for place in (REFERENCE, 0))
    chosen = scripts_rows(N_ROWS)
    signs = np.random.default_rng(number) if number else None
    locations = ascend(reference[chosen], first[chosen], MeanEmbedding().n_locations, signs)
    found = []
    for severity in SEVERITIES:
        windows = (draw_scripted(kind, severity, place, N_ROWS, PUBLISHED).complete for place in range(n_windows))
        p_values = [chi2.sf(paired_statistic(reference, rows, locations), len(locations.points)) for rows in windows]
        found.append(float(np.mean(np.array(p_values) < ALPHA)))
    return found


def missing_share(kind: str, method: str, metric: str = "MAE") -> tuple[float, float, float]:
    """Share of missing cells that the paper's errors of values tell, its relative deviation, and that of our errors.

    Parameters
    ----------
    kind : str
        A distribution of Experiment 1.
    method : str
        A simple imputation.
    metric : str, default "MAE"

    Notes
    -----
    An error over all cells is the error of the missing ones times their share: the paper's mean over our error of
    missing cells is that share, and its deviation between data sets is at least that of the share.
    """
    short = {long: name for name, long in TABLE_NAMES.items()}[kind]
    rows = read_rows(PUBLISHED_TABLES / "table_value_errors.csv")
    (printed,) = [row for row in rows if row["distribution"] == short and row["metric"] == metric]
    mean, deviation = float(printed[f"{method}_mean"]), float(printed[f"{method}_sd"])
    ours = {
        row["metric"]: row
        for row in read_rows(path_of("experiment1", "published"))
        if row["distribution"] == kind and row["what"] == "value" and row["method"] == method
    }
    own = float(ours[metric]["deviation"]) / float(ours[metric]["mean"])
    return mean / float(ours[f"{metric} of gaps"]["mean"]), deviation / mean, own


def distance_error(kind: str, number: float, n_missing_columns: int = 5, n_sets: int = 5) -> float:
    """Mean absolute error of the distances of Experiment 1 if missing values are replaced by one number.

    Examples
    --------
    >>> abs(distance_error("poisson", 0.0, n_sets=1) - 21.252) < 0.5  # of Table 2
    True
    """
    errors = []
    for place in range(n_sets):
        sample = draw_distribution(kind, place, N_ROWS)
        missing = np.isnan(sample.with_missing) & (np.arange(sample.with_missing.shape[1]) < n_missing_columns)
        filled = np.where(missing, number, sample.complete)
        errors.append(np.abs(pdist(filled) - pdist(sample.complete)).mean())
    return float(np.mean(errors))


def populations_apart(name: str, n_samples: int = 20) -> tuple[float, float]:
    """Largest Kolmogorov-Smirnov distance of a column between the two populations, and within the first.

    Parameters
    ----------
    name : str
        A name in `experiments.real.SETS`.
    n_samples : int, default 20
        Samples of 1,000 rows on each side.
    """
    real = load(name, str(data_folder()))
    rng = np.random.default_rng(0)
    found = []
    for other in (1, 0):
        sides = [np.concatenate([draw_rows(real, place, rng) for _ in range(n_samples)]) for place in (0, other)]
        columns = zip(*(real.values[rows].T for rows in sides), strict=True)
        found.append(max(float(ks_2samp(one, two).statistic) for one, two in columns))
    return found[0], found[1]


def _first_configuration(reference: Sample, windows: Iterable[Sample], rng: np.random.Generator) -> float:
    return _alarms(fit_partition(reference.complete, N_BINS, rng), reference, windows)


def _alarms(partition: Partition, reference: Sample, windows: Iterable[Sample]) -> float:
    """Share of windows in which Pearson's test of a partition finds drift."""
    before = _count_nearest(partition, reference.complete)
    alarms = [pearson(before, _count_nearest(partition, window.complete)).p_value < ALPHA for window in windows]
    return float(np.mean(alarms))


def _count_nearest(partition: Partition, rows: Matrix) -> Vector:
    """Number of rows that are nearest to the centre of each bin: (bins,)."""
    return np.bincount(partition.distances(rows).argmin(axis=1), minlength=len(partition)).astype(float)


def _span(ratios: NDArray[np.float64]) -> str:
    """Smallest, median and largest of sorted ratios."""
    return f"{ratios[0]:.2f} {np.median(ratios):.2f} {ratios[-1]:.2f}"


def _spans(ratio: Callable[[str, int, int], float], kinds: Iterable[str]) -> Iterator[str]:
    for kind in kinds:
        for severity in SEVERITIES:
            found = np.sort([ratio(kind, severity, number) for number in range(N_REPEATS)])
            yield f"{kind:20} severity {severity}: {_span(found)}"


def _masks(kinds: Iterable[str]) -> Iterator[str]:
    for kind in kinds:
        for number in range(N_MASKS):
            for name, ratios in ratios_of_mask(kind, SEVERITIES, number).items():
                yield f"{kind:20} mask {number}, configuration {name:4} {ratios}"


def _trees(kinds: Iterable[str]) -> Iterator[str]:
    for kind in kinds:
        found = np.sort([ratios_of_tree(kind, number) for number in range(N_REPEATS)], axis=0)
        for severity, ratios in zip(SEVERITIES, found.T, strict=True):
            yield f"{kind:20} severity {severity}: {_span(ratios)}"


def errors_of_pools(name: str, number: int, n_windows: int = 50) -> list[float]:
    """Type-I and Type-II error of k-means on complete real data, direction a and then b, by a seed of the scripts.

    Parameters
    ----------
    name : str
        A name in `experiments.real.SCRIPTED_SETS`.
    number : int
        Seed of the generator; 2 in the scripts.
    n_windows : int, default 50
    """
    folder = str(data_folder())
    values, drawn = load(name, folder).values, scripted_rows(name, folder, number - SCRIPTS_SEED, n_windows)
    errors = []
    for direction in DIRECTIONS:
        reference = Sample(values[drawn[direction].reference], values[drawn[direction].reference])
        partition = fit_scripted_partition(reference.complete, REAL_BINS)
        windows = values[drawn[direction].windows]
        alarms = [_alarms(partition, reference, (Sample(rows, rows) for rows in windows[:, side])) for side in (0, 1)]
        errors += [alarms[0], 1.0 - alarms[1]]
    return errors


def _pools(_: Iterable[str]) -> Iterator[str]:
    for name in SCRIPTED_SETS:
        found = np.array([errors_of_pools(name, number) for number in range(N_REPEATS)])
        for place, error in enumerate(("a Type-I", "a Type-II", "b Type-I", "b Type-II")):
            own, others = found[SCRIPTS_SEED, place], np.sort(np.delete(found[:, place], SCRIPTS_SEED))
            yield f"{name:8} {error:10} {own:.2f} with the scripts' seed; with others {_span(others)}"


def _kmeans(kinds: Iterable[str], n_windows: int = 100) -> Iterator[str]:
    """Ratios of configuration 1 by bins of either kind of start, and their distance to the first row of Table 3."""
    found: dict[str, list[list[float]]] = {"2019": [], "today": []}
    for kind in kinds:
        reference = draw_scripted(kind, 0, REFERENCE, N_ROWS, PUBLISHED)
        bins = {
            "2019": fit_scripted_partition(reference.complete, N_BINS),
            "today": Partition(KMeans(N_BINS, n_init=10, random_state=0).fit(reference.complete).cluster_centers_),
        }
        for name, partition in bins.items():
            ratios = []
            for severity in range(11):
                windows = [draw_scripted(kind, severity, place, N_ROWS, PUBLISHED) for place in range(n_windows)]
                ratios.append(_alarms(partition, reference, windows))
            found[name].append(ratios)
            yield f"{kind:20} {name:6} {' '.join(f'{ratio:.2f}' for ratio in ratios)}"
    (printed,) = [row for row in read_rows(PUBLISHED_TABLES / "table_3_ablation.csv") if row["method"] == "1. Complete"]
    for name, lines in found.items():
        away = np.mean(lines, axis=0) - [float(printed[f"severity_{severity}"]) for severity in range(11)]
        yield f"{'mean':20} {name:6} mean distance to Table 3 {np.abs(away).mean():.3f} ({n_windows} windows)"


def _ties(_: Iterable[str], n_windows: int = 50) -> Iterator[str]:
    """Mean scores of MWW on counts, with either order of equally long edges."""
    for kind in ("poisson-mean", "poisson-rho"):
        reference = draw_scripted(kind, 0, REFERENCE, N_ROWS, PUBLISHED).complete
        for ties in ("introsort", "stable"):
            fitted = replace(FriedmanRafsky.as_published(), ties=ties).fit(reference, np.random.default_rng(0))
            for severity in SEVERITIES:
                windows = (draw_scripted(kind, severity, place, N_ROWS, PUBLISHED) for place in range(n_windows))
                tests = [fitted.test(window.complete, np.random.default_rng(0)) for window in windows]
                score, ratio = np.mean([(test.statistic, test.rejects(ALPHA)) for test in tests], axis=0)
                yield f"{kind:13} {ties:10} severity {severity}: mean score {score:.3f}, found {ratio:.2f}"


def _signs(kinds: Iterable[str]) -> Iterator[str]:
    for kind in kinds:
        found = np.array([ratios_of_signs(kind, number) for number in range(N_REPEATS)])
        for place, severity in enumerate(SEVERITIES):
            own, others = found[0, place], np.sort(found[1:, place])
            yield f"{kind:20} severity {severity}: {own:.2f} with the signs here; with others {_span(others)}"


def _shares(_: Iterable[str]) -> Iterator[str]:
    for kind in DISTRIBUTIONS:
        for method in ("zero", "mean", "most_frequent"):
            share, relative, own = missing_share(kind, method)
            yield f"{kind:12} {method:14} share {share:.3f}; relative deviation {relative:.3f} (paper) {own:.3f} (here)"


def _columns(_: Iterable[str]) -> Iterator[str]:
    for kind in DISTRIBUTIONS:
        three, five = (distance_error(kind, 0.0, n_missing_columns) for n_missing_columns in (3, 5))
        yield f"{kind:12} zeros, three columns {three:.3f}, five {five:.3f}"


def _constants(_: Iterable[str]) -> Iterator[str]:
    for kind in DISTRIBUTIONS:
        errors = (f"{number:g}: {distance_error(kind, number):.3f}" for number in CONSTANTS)
        yield f"{kind:12} {', '.join(errors)}"


def _real(_: Iterable[str]) -> Iterator[str]:
    for name in SETS:
        between, within = populations_apart(name)
        yield f"{name:8} largest distance of a column between populations {between:.3f}, within one {within:.3f}"


CHECKS: dict[str, Callable[[Iterable[str]], Iterator[str]]] = {
    "references": partial(_spans, ratio_of_reference),
    "starts": partial(_spans, ratio_of_start),
    "masks": _masks,
    "trees": _trees,
    "columns": _columns,
    "constants": _constants,
    "shares": _shares,
    "kmeans": _kmeans,
    "ties": _ties,
    "signs": _signs,
    "real": _real,
    "pools": _pools,
}


def main() -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.causes", description=__doc__)
    parser.add_argument("of", choices=CHECKS)
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=KINDS, help="of drift")
    options = parser.parse_args()
    for line in CHECKS[options.of](options.kind):
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
