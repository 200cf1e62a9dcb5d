"""The detectors, as scikit-learn estimators, and the base class for detectors of your own."""

from typing import TYPE_CHECKING

from gapdrift._lazy import attach

if TYPE_CHECKING:
    from gapdrift.detectors.base import Detector
    from gapdrift.detectors.comparing import compare
    from gapdrift.detectors.drift.detector import DriftDetector
    from gapdrift.detectors.gate import DriftGate, DriftWarning
    from gapdrift.detectors.mdlfwf.detector import MDLFWF

__all__ = ["MDLFWF", "Detector", "DriftDetector", "DriftGate", "DriftWarning", "compare"]

__getattr__, __dir__ = attach(
    __name__,
    {
        "MDLFWF": "gapdrift.detectors.mdlfwf.detector",
        "Detector": "gapdrift.detectors.base",
        "DriftDetector": "gapdrift.detectors.drift.detector",
        "DriftGate": "gapdrift.detectors.gate",
        "DriftWarning": "gapdrift.detectors.gate",
        "compare": "gapdrift.detectors.comparing",
    },
)
