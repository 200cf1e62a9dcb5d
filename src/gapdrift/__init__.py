"""Drift detection for tables with missing values."""

from typing import TYPE_CHECKING

from gapdrift._lazy import attach
from gapdrift._version import __version__ as __version__

if TYPE_CHECKING:
    from gapdrift import client, datasets, detectors, errors, files, history, results, sinks, streaming
    from gapdrift.counting.evidence import Evidence
    from gapdrift.detectors.comparing import compare
    from gapdrift.detectors.drift.detector import DriftDetector
    from gapdrift.detectors.gate import DriftGate
    from gapdrift.detectors.mdlfwf.detector import MDLFWF
    from gapdrift.errors import GapdriftError
    from gapdrift.results.result import DriftResult
    from gapdrift.storage import load, save
    from gapdrift.streaming.evaluation import evaluate_stream
    from gapdrift.streaming.monitor import Monitor
    from gapdrift.streaming.windows import WindowResult

__all__ = [
    "MDLFWF",
    "DriftDetector",
    "DriftGate",
    "DriftResult",
    "Evidence",
    "GapdriftError",
    "Monitor",
    "WindowResult",
    "client",
    "compare",
    "datasets",
    "detectors",
    "errors",
    "evaluate_stream",
    "files",
    "history",
    "load",
    "results",
    "save",
    "sinks",
    "streaming",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "MDLFWF": "gapdrift.detectors.mdlfwf.detector",
        "DriftDetector": "gapdrift.detectors.drift.detector",
        "DriftGate": "gapdrift.detectors.gate",
        "DriftResult": "gapdrift.results.result",
        "Evidence": "gapdrift.counting.evidence",
        "GapdriftError": "gapdrift.errors",
        "Monitor": "gapdrift.streaming.monitor",
        "WindowResult": "gapdrift.streaming.windows",
        "compare": "gapdrift.detectors.comparing",
        "client": "gapdrift.client",
        "datasets": "gapdrift.datasets",
        "detectors": "gapdrift.detectors",
        "errors": "gapdrift.errors",
        "evaluate_stream": "gapdrift.streaming.evaluation",
        "files": "gapdrift.files",
        "history": "gapdrift.history",
        "load": "gapdrift.storage",
        "results": "gapdrift.results",
        "save": "gapdrift.storage",
        "sinks": "gapdrift.sinks",
        "streaming": "gapdrift.streaming",
    },
)
