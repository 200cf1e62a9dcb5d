"""Results: the records that detectors return.

A `DriftResult` holds a `Finding` about the values and one about what is missing, a `FeatureFinding` for each column,
with its `Histogram`, a `PairFinding` for each pair of columns whose relation differs, with a `PairSide` for each side,
and a `BinFinding` for each region of similar rows; where the reference is made of batches, also a `UsualVariation`, the
window among them, with a `BatchStrip` for each column. It can be shown as text, JSON, Markdown, HTML or a chart.
"""

from gapdrift.results.checks import Check, Limits, run_checks
from gapdrift.results.result import (
    BinFinding,
    DriftResult,
    FeatureFinding,
    Finding,
    Histogram,
    PairFinding,
    PairSide,
)
from gapdrift.results.sensitivity import ColumnSensitivity, Sensitivity
from gapdrift.results.usual import BatchStrip, UsualVariation

__all__ = [
    "BatchStrip",
    "BinFinding",
    "Check",
    "ColumnSensitivity",
    "DriftResult",
    "FeatureFinding",
    "Finding",
    "Histogram",
    "Limits",
    "PairFinding",
    "PairSide",
    "Sensitivity",
    "UsualVariation",
    "run_checks",
]
