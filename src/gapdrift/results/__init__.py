"""What a test found: the records that detectors return.

A `DriftResult` holds a `Finding` of the values and one of what is missing, a `FeatureFinding` for each column, with
its `Histogram`, and a `BinFinding` for each region of similar rows. It shows itself as text, JSON, Markdown, an HTML
page and a chart.
"""

from gapdrift.results.result import BinFinding, DriftResult, FeatureFinding, Finding, Histogram

__all__ = ["BinFinding", "DriftResult", "FeatureFinding", "Finding", "Histogram"]
