"""Speed, memory, calibration and power: each prints a table and exits non-zero when a bar is missed."""

import os

import gapdrift as gd

if os.environ.get("GAPDRIFT_CORE") == "observed":  # the core that is being built, beside the present one
    from gapdrift.observed.detector import ObservedDetector

    gd.DriftDetector = ObservedDetector  # type: ignore[misc,assignment]
