"""Results: the records that detectors return.

A `DriftResult` holds a `Finding` about the values and one about what is missing, a `FeatureFinding` for each column,
with its `Histogram`, and a `BinFinding` for each region of similar rows. It can be shown as text, JSON, Markdown, an
HTML page or a chart.
"""

from gapdrift.results.result import BinFinding, DriftResult, FeatureFinding, Finding, Histogram

__all__ = ["BinFinding", "DriftResult", "FeatureFinding", "Finding", "Histogram"]
