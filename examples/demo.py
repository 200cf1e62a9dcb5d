"""A sensor fails, a fifth of the cells is missing, and no single column shows it.

Run by `make demo`; it needs the core of gapdrift only and ends with a verdict and a report to open.
"""

import sys
from pathlib import Path

import numpy as np

import gapdrift as gd

REPORT = Path("demo-report.html")


def main() -> None:
    """Fit a reference, test three windows, write the report of the last."""
    reference = gd.datasets.stations(1_000, 0)
    numbers = np.column_stack([reference[name] for name in ("temperature", "humidity", "pressure", "wind")])
    sky = np.array([cell is None for cell in reference["sky"]])
    complete = int((~np.isnan(numbers).any(axis=1) & ~sky).sum())
    print(f"Reference: 1,000 weather readings, 20 % of the cells missing, {complete} rows complete.\n")

    detector = gd.DriftDetector(random_state=0).fit(reference)
    print("Window 1, nothing has changed:")
    print(detector.test(gd.datasets.stations(1_000, 1)).summary(), end="\n\n")

    print("Window 2, only the gaps have changed, from a fifth of the cells to a third:")
    print(detector.test(gd.datasets.stations(1_000, 3, missing=0.33)).summary(), end="\n\n")

    print("Window 3, the humidity sensor no longer follows the temperature:")
    result = detector.test(gd.datasets.stations(1_000, 2, drift=True))
    print(result.summary(), end="\n\n")

    result.to_html(REPORT)
    print(f"Report to open: {REPORT.resolve()}")
    sys.exit(0 if result.drift else 1)


if __name__ == "__main__":
    main()
