"""Results: the records that detectors return.

A `DriftResult` holds a `Finding` about the values and one about what is missing, a `FeatureFinding` for each column,
with its `Histogram`, and a `BinFinding` for each region of similar rows; where the reference is made of batches, also a
`UsualVariation`, the window among them, with a `BatchStrip` for each column. It can be shown as text, JSON, Markdown,
an HTML page or a chart.
"""

from gapdrift.results.result import BinFinding, DriftResult, FeatureFinding, Finding, Histogram
from gapdrift.results.sensitivity import ColumnSensitivity, Sensitivity
from gapdrift.results.usual import BatchStrip, UsualVariation

__all__ = [
    "BatchStrip",
    "BinFinding",
    "ColumnSensitivity",
    "DriftResult",
    "FeatureFinding",
    "Finding",
    "Histogram",
    "Sensitivity",
    "UsualVariation",
]
