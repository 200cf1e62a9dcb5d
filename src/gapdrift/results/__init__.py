"""What a test found, and how it is shown."""

from typing import TYPE_CHECKING

from gapdrift._lazy import attach

if TYPE_CHECKING:
    from gapdrift.results.result import BinFinding, DriftResult, FeatureFinding, Finding, Histogram

__all__ = ["BinFinding", "DriftResult", "FeatureFinding", "Finding", "Histogram"]

__getattr__, __dir__ = attach(__name__, dict.fromkeys(__all__, "gapdrift.results.result"))
