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
        HistoryError,
        InputError,
        NotFittedError,
        ParameterError,
        SchemaError,
        SinkError,
        StorageError,
    )
    from gapdrift.evaluation import ChangeFound, StreamEvaluation, evaluate_stream
    from gapdrift.evidence import Evidence
    from gapdrift.mdlfwf import MDLFWF
    from gapdrift.monitor import Monitor
    from gapdrift.result import BinFinding, DriftResult, FeatureFinding, Finding, Histogram
    from gapdrift.storage import load, save
    from gapdrift.streams.windows import WindowResult

__all__ = [
    "MDLFWF",
    "BinFinding",
    "ChangeFound",
    "DriftDetector",
    "DriftResult",
    "Evidence",
    "EvidenceError",
    "FeatureFinding",
    "Finding",
    "GapdriftError",
    "Histogram",
    "HistoryError",
    "InputError",
    "Monitor",
    "NotFittedError",
    "ParameterError",
    "SchemaError",
    "SinkError",
    "StorageError",
    "StreamEvaluation",
    "WindowResult",
    "datasets",
    "evaluate_stream",
    "load",
    "save",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "MDLFWF": "gapdrift.mdlfwf",
        "BinFinding": "gapdrift.result",
        "ChangeFound": "gapdrift.evaluation",
        "DriftDetector": "gapdrift.detector",
        "DriftResult": "gapdrift.result",
        "Evidence": "gapdrift.evidence",
        "EvidenceError": "gapdrift.errors",
        "FeatureFinding": "gapdrift.result",
        "Finding": "gapdrift.result",
        "GapdriftError": "gapdrift.errors",
        "Histogram": "gapdrift.result",
        "HistoryError": "gapdrift.errors",
        "InputError": "gapdrift.errors",
        "Monitor": "gapdrift.monitor",
        "NotFittedError": "gapdrift.errors",
        "ParameterError": "gapdrift.errors",
        "SchemaError": "gapdrift.errors",
        "SinkError": "gapdrift.errors",
        "StorageError": "gapdrift.errors",
        "StreamEvaluation": "gapdrift.evaluation",
        "WindowResult": "gapdrift.streams.windows",
        "datasets": "gapdrift.datasets",
        "evaluate_stream": "gapdrift.evaluation",
        "load": "gapdrift.storage",
        "save": "gapdrift.storage",
    },
)
