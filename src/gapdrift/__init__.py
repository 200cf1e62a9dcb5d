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
    StorageError,
)
from gapdrift.evidence import Evidence
from gapdrift.mdlfwf import MDLFWF
from gapdrift.result import BinFinding, DriftResult, FeatureFinding, Finding, Histogram
from gapdrift.storage import load, save

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
    "StorageError",
    "datasets",
    "load",
    "save",
]
