"""Drift detection for tables with missing values."""

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
)
from gapdrift.evaluation import ChangeFound, StreamEvaluation, evaluate_stream
from gapdrift.evidence import Evidence
from gapdrift.mdlfwf import MDLFWF
from gapdrift.monitor import Monitor
from gapdrift.result import BinFinding, DriftResult, FeatureFinding, Finding, Histogram
from gapdrift.windows import WindowResult

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
    "StreamEvaluation",
    "WindowResult",
    "datasets",
    "evaluate_stream",
]

__version__ = "0.1.0"
