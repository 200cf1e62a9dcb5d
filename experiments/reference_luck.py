"""How much one reference decides: configuration 1, without gaps and learning, on several references of each kind.

Run `python -m experiments.reference_luck`: least, median and largest ratio of alarms at severities 5 and 8.
"""

import numpy as np

from experiments.configurations import count_nearest
from experiments.detection import ALPHA, KINDS, N_ROWS
from experiments.experiment2 import N_BINS
from experiments.protocols import protocol_of
from experiments.samples import draw_drift
from gapdrift.hypothesis import pearson
from gapdrift.partition import fit_partition

__all__ = ["ratio"]

N_REFERENCES = 15
N_WINDOWS = 25


def ratio(kind: str, severity: float, reference: int, n_windows: int = N_WINDOWS) -> float:
    """Ratio of windows of one severity that configuration 1 calls drift, by one reference.

    Examples
    --------
    >>> 0.0 <= ratio("uniform-mean", 5, 0, n_windows=2) <= 1.0
    True
    """
    protocol = protocol_of("published")
    rng = np.random.default_rng([reference, KINDS.index(kind)])
    rows = draw_drift(kind, 0, N_ROWS, protocol, rng).complete
    partition = fit_partition(rows, N_BINS, rng)
    before = count_nearest(partition, rows)
    windows = (draw_drift(kind, severity, N_ROWS, protocol, rng).complete for _ in range(n_windows))
    return float(np.mean([pearson(before, count_nearest(partition, window)).p_value < ALPHA for window in windows]))


def main() -> None:
    """Print the table."""
    for kind in KINDS:
        for severity in (5, 8):
            found = np.sort([ratio(kind, severity, reference) for reference in range(N_REFERENCES)])
            print(f"{kind:20} severity {severity}: {found[0]:.2f} {np.median(found):.2f} {found[-1]:.2f}")  # noqa: T201


if __name__ == "__main__":
    main()
