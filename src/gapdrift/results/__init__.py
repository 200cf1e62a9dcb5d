"""Results: the records that detectors return.

A `DriftResult` holds a `Finding` about the values and one about what is missing, a `FeatureFinding` for each column,
with its `Histogram`, a `PairFinding` for each pair of columns whose relation differs, with a `PairSide` for each side,
and a `BinFinding` for each region of similar rows. It can be shown as text, JSON, Markdown, an HTML page or a chart.
"""

from gapdrift.results.result import (
    BinFinding,
    DriftResult,
    FeatureFinding,
    Finding,
    Histogram,
    PairFinding,
    PairSide,
)

__all__ = ["BinFinding", "DriftResult", "FeatureFinding", "Finding", "Histogram", "PairFinding", "PairSide"]
