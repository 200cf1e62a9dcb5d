"""Drift detection for tables with missing values."""

from gapdrift import datasets
from gapdrift._version import __version__ as __version__
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
