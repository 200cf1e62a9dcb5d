"""Drift detection for tables with missing values."""

from typing import TYPE_CHECKING

from gapdrift._lazy import attach
from gapdrift._version import __version__ as __version__

if TYPE_CHECKING:
    from gapdrift import datasets
    from gapdrift.counting.evidence import Evidence
    from gapdrift.detectors.drift.detector import DriftDetector
    from gapdrift.detectors.mdlfwf.detector import MDLFWF
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
    from gapdrift.results.result import BinFinding, DriftResult, FeatureFinding, Finding, Histogram
    from gapdrift.storage import load, save
    from gapdrift.streaming.evaluation import ChangeFound, StreamEvaluation, evaluate_stream
    from gapdrift.streaming.monitor import Monitor
    from gapdrift.streaming.windows import WindowResult

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
        "MDLFWF": "gapdrift.detectors.mdlfwf.detector",
        "BinFinding": "gapdrift.results.result",
        "ChangeFound": "gapdrift.streaming.evaluation",
        "DriftDetector": "gapdrift.detectors.drift.detector",
        "DriftResult": "gapdrift.results.result",
        "Evidence": "gapdrift.counting.evidence",
        "EvidenceError": "gapdrift.errors",
        "FeatureFinding": "gapdrift.results.result",
        "Finding": "gapdrift.results.result",
        "GapdriftError": "gapdrift.errors",
        "Histogram": "gapdrift.results.result",
        "HistoryError": "gapdrift.errors",
        "InputError": "gapdrift.errors",
        "Monitor": "gapdrift.streaming.monitor",
        "NotFittedError": "gapdrift.errors",
        "ParameterError": "gapdrift.errors",
        "SchemaError": "gapdrift.errors",
        "SinkError": "gapdrift.errors",
        "StorageError": "gapdrift.errors",
        "StreamEvaluation": "gapdrift.streaming.evaluation",
        "WindowResult": "gapdrift.streaming.windows",
        "datasets": "gapdrift.datasets",
        "evaluate_stream": "gapdrift.streaming.evaluation",
        "load": "gapdrift.storage",
        "save": "gapdrift.storage",
    },
)
