"""Drift detection for tables with missing values."""

from typing import TYPE_CHECKING

from gapdrift._lazy import attach
from gapdrift._version import __version__ as __version__

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
        "StorageError": "gapdrift.errors",
        "datasets": "gapdrift.datasets",
        "load": "gapdrift.storage",
        "save": "gapdrift.storage",
    },
)
