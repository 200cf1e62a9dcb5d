"""What the published ratios depend on by luck: the reference, the start of k-means, the cells hidden for learning.

Run `python -m experiments.luck references`, `starts` or `masks`: ratios of alarms at severities 5 and 8.
"""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from experiments.configurations import count_nearest, fit_configurations
from experiments.detection import ALPHA, KINDS, N_ROWS
from experiments.experiment2 import N_BINS, TOP_Q
from experiments.learning import learn_scripted
from experiments.protocols import protocol_of
from experiments.samples import Sample, draw_drift
from experiments.scripted import REFERENCE, draw_scripted
from gapdrift.hypothesis import pearson
from gapdrift.partition import fit_partition

__all__ = ["ratio_of_reference", "ratio_of_start", "ratios_of_mask"]

SEVERITIES = (5, 8)
N_REPEATS = 15
N_MASKS = 3
PUBLISHED = protocol_of("published")


def ratio_of_reference(kind: str, severity: float, number: int, n_windows: int = 25) -> float:
    """Ratio of windows of one severity that configuration 1, without gaps and learning, calls drift: by one reference.

    Examples
    --------
    >>> 0.0 <= ratio_of_reference("uniform-mean", 5, 0, n_windows=2) <= 1.0
    True
    """
    rng = np.random.default_rng([number, KINDS.index(kind)])
    reference = draw_drift(kind, 0, N_ROWS, PUBLISHED, rng)
    windows = (draw_drift(kind, severity, N_ROWS, PUBLISHED, rng) for _ in range(n_windows))
    return _first_configuration(reference, windows, rng)


def ratio_of_start(kind: str, severity: int, number: int, n_windows: int = 100) -> float:
    """The same by the paper's own reference and windows, with another start of k-means.

    Examples
    --------
    >>> 0.0 <= ratio_of_start("uniform-mean", 5, 0, n_windows=2) <= 1.0
    True
    """
    reference = draw_scripted(kind, 0, REFERENCE, N_ROWS, PUBLISHED)
    windows = (draw_scripted(kind, severity, window, N_ROWS, PUBLISHED) for window in range(n_windows))
    return _first_configuration(reference, windows, np.random.default_rng(number))


def ratios_of_mask(
    kind: str, severities: Iterable[int], number: int, n_windows: int = 100
) -> dict[str, dict[int, float]]:
    """Ratio of each configuration and severity, where distances were learned with other cells hidden."""
    rng = np.random.default_rng(0)
    reference = draw_scripted(kind, 0, REFERENCE, N_ROWS, PUBLISHED)
    learn = partial(learn_scripted, mask_seed=number)
    # With the library's own settings its detector, which is not asked here, is fitted in a second.
    fitted = fit_configurations(reference, PUBLISHED, rng, n_bins=N_BINS, top_q=TOP_Q, learn=learn)
    fitted = replace(fitted, detector=None)
    found: dict[str, dict[int, float]] = {}
    for severity in severities:
        windows = [draw_scripted(kind, severity, window, N_ROWS, PUBLISHED) for window in range(n_windows)]
        alarms = [fitted.alarms(window, rng, ALPHA) for window in windows]
        for name in alarms[0]:
            found.setdefault(name, {})[severity] = float(np.mean([each[name] for each in alarms]))
    return found


def _first_configuration(reference: Sample, windows: Iterable[Sample], rng: np.random.Generator) -> float:
    partition = fit_partition(reference.complete, N_BINS, rng)
    before = count_nearest(partition, reference.complete)
    alarms = [pearson(before, count_nearest(partition, window.complete)).p_value < ALPHA for window in windows]
    return float(np.mean(alarms))


def main() -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.luck", description=__doc__)
    parser.add_argument("of", choices=("references", "starts", "masks"))
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=KINDS)
    options = parser.parse_args()
    for kind in options.kind:
        if options.of == "masks":
            for number in range(N_MASKS):
                for name, ratios in ratios_of_mask(kind, SEVERITIES, number).items():
                    print(f"{kind:20} mask {number}, configuration {name:4}", ratios, flush=True)  # noqa: T201
            continue
        ratio = ratio_of_reference if options.of == "references" else ratio_of_start
        for severity in SEVERITIES:
            found = np.sort([ratio(kind, severity, number) for number in range(N_REPEATS)])
            print(f"{kind:20} severity {severity}: {found[0]:.2f} {np.median(found):.2f} {found[-1]:.2f}")  # noqa: T201


if __name__ == "__main__":
    main()
