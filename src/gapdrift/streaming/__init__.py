"""Streams: a monitor of windows of rows, runs with a history and sinks, and evaluation against known changes."""

from typing import TYPE_CHECKING

from gapdrift._lazy import attach

if TYPE_CHECKING:
    from gapdrift.streaming.evaluation import ChangeFound, StreamEvaluation, evaluate_stream
    from gapdrift.streaming.monitor import Monitor
    from gapdrift.streaming.runner import RunSummary, run_monitor
    from gapdrift.streaming.windows import WindowResult

__all__ = ["ChangeFound", "Monitor", "RunSummary", "StreamEvaluation", "WindowResult", "evaluate_stream", "run_monitor"]

__getattr__, __dir__ = attach(
    __name__,
    {
        "ChangeFound": "gapdrift.streaming.evaluation",
        "Monitor": "gapdrift.streaming.monitor",
        "RunSummary": "gapdrift.streaming.runner",
        "StreamEvaluation": "gapdrift.streaming.evaluation",
        "WindowResult": "gapdrift.streaming.windows",
        "evaluate_stream": "gapdrift.streaming.evaluation",
        "run_monitor": "gapdrift.streaming.runner",
    },
)
