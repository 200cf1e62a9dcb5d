"""Drift detection for tables with missing values."""

from typing import TYPE_CHECKING

from gapdrift._lazy import attach

if TYPE_CHECKING:
    from gapdrift import datasets
    from gapdrift.detector import DriftDetector
    from gapdrift.errors import (
        EvidenceError,
        GapdriftError,
        InputError,
        NotFittedError,
        ParameterError,
        SchemaError,
    )
    from gapdrift.evidence import Evidence
    from gapdrift.mdlfwf import MDLFWF
    from gapdrift.result import BinFinding, DriftResult, FeatureFinding, Finding, Histogram

__all__ = [
    "MDLFWF",
    "BinFinding",
    "DriftDetector",
    "DriftResult",
    "Evidence",
    "EvidenceError",
    "FeatureFinding",
    "Finding",
    "GapdriftError",
    "Histogram",
    "InputError",
    "NotFittedError",
    "ParameterError",
    "SchemaError",
    "datasets",
]

__version__ = "0.1.0"

__getattr__, __dir__ = attach(
    __name__,
    {
        "MDLFWF": "gapdrift.mdlfwf",
        "BinFinding": "gapdrift.result",
        "DriftDetector": "gapdrift.detector",
        "DriftResult": "gapdrift.result",
        "Evidence": "gapdrift.evidence",
        "EvidenceError": "gapdrift.errors",
        "FeatureFinding": "gapdrift.result",
        "Finding": "gapdrift.result",
        "GapdriftError": "gapdrift.errors",
        "Histogram": "gapdrift.result",
        "InputError": "gapdrift.errors",
        "NotFittedError": "gapdrift.errors",
        "ParameterError": "gapdrift.errors",
        "SchemaError": "gapdrift.errors",
        "datasets": "gapdrift.datasets",
    },
)
